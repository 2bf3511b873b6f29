"""The releases of the dump tool, and its options; imported by every ``dump``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from kafkaspec.model import Record
from kafkaspec.release import Release

if TYPE_CHECKING:
    from kafkaspec.codecs.native.core import Core
    from kafkaspec.columns.messages import MessageTexts

OLDEST: Final[Release] = (0, 8)
NEWEST: Final[Release] = (4, 4)
"""The last release that changed the text; later ones print the same as far as is known."""

OPTIONS_SINCE: Final[dict[str, Release]] = {
    "index-sanity-check": (0, 10),
    "skip-record-metadata": (2, 8),
    "max-bytes": (3, 3),
    "offsets-decoder": (0, 9),
    "transaction-log-decoder": (0, 11),
    "cluster-metadata-decoder": (2, 8),
    "remote-log-metadata-decoder": (3, 9),
    "share-group-state-decoder": (4, 0),
}
"""Options that the tool did not always have, with the first release that has them."""

Texts = tuple[str | None, str | None]
"""Of a key and of a payload, None where nothing is printed."""


class Parse(Protocol):
    """Makes text of the key and of the payload of records; None for no text."""

    def __call__(self, record: Record, /) -> Texts:
        """Return the texts of a record."""

    def texts(self, core: Core, /) -> MessageTexts | None:
        """Return what makes the texts of many records from columns, None if nothing does."""


OnFinding = Callable[[str], None]
"""Function that takes what is wrong with the data, and is not a line of the tool."""


@dataclass(frozen=True, kw_only=True)
class DumpOptions:
    """Options of the tool.

    Attributes:
        deep: ``--deep-iteration``: a line for each record.
        content: ``--print-data-log``: also their keys and payloads.
        skip_metadata: ``--skip-record-metadata``: only keys and payloads.
        max_bytes: ``--max-bytes``: no batches beyond; None for all.
        sanity_only: ``--index-sanity-check``.
        verify_only: ``--verify-index-only``.
        parse: makes text of keys and payloads; None for that of UTF-8.
    """

    deep: bool = False
    content: bool = False
    skip_metadata: bool = False
    max_bytes: int | None = None
    sanity_only: bool = False
    verify_only: bool = False
    parse: Parse | None = None
