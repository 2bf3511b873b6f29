"""The form of the payloads that Kafka's producers write, as the extension is told it."""

from __future__ import annotations

from typing import NamedTuple


class PayloadForm(NamedTuple):
    """The frames around the blocks in payloads of producers.

    Attributes:
        start: the bytes that a payload begins with.
        header: position of the first block.
        block: most bytes of output of a block; for zstd, the largest window.
    """

    start: bytes
    header: int
    block: int
