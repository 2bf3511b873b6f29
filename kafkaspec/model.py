"""The record of the public API, the same for every magic, also for ``encode``."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

Buffer = bytes | bytearray | memoryview
"""An object that holds bytes to read."""

Headers = tuple[tuple[str, bytes | None], ...]
"""Headers in order, each a key and a value. A key that is not UTF-8 keeps its bytes as
surrogate escapes (PEP 383), so that nothing is lost."""

_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def java_text(key: bytes) -> str:
    """Return the key of a header as a Java consumer shows it.

    Each malformed sequence is one U+FFFD, and so is an encoded surrogate, of which Python makes
    three.
    """
    return _SURROGATE.sub(b"\xff", key).decode("utf-8", "replace")


class Record(NamedTuple):
    """One record of a log.

    Attributes:
        offset: absolute offset in the partition.
        timestamp: milliseconds since the Unix epoch as Kafka reports them (the append time where
            the batch says so), -1 for none.
        key: bytes or None.
        value: bytes, None for a tombstone.
        headers: pairs of key and value, ``()`` for none and always for magic 0 and 1.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
