"""Batches joined, so that what is done for each append is done less often."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

GROUP_BYTES: Final = 1 << 20
"""Bytes of batches that are appended in one call."""


def grouped(batches: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in larger pieces, each of whole batches."""
    parts: list[bytes] = []
    size = 0
    for batch in batches:
        parts.append(batch)
        size += len(batch)
        if size >= GROUP_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)
