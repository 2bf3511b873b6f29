"""The headers of a segment by columns, and what can be passed over because of them.

Of an input that is read in parts only the headers are read where batches are large: see
``Reading.request_bytes``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kafkaspec.codecs import HeaderTable
from kafkaspec.layout.framing import LARGEST_HEADER
from kafkaspec.log.batch import NO_TIMESTAMP
from kafkaspec.log.entries import Entries

_FIRST: Final = 64
"""Headers of the first table where few may be enough. Each one that follows has twice as many."""
_MOST: Final = (1 << 16) - 8
"""No power of two: columns that lie so far apart would share a few lines of the cache."""


def header_tables(
    segment: Entries, position: int = 0, *, few: bool = False
) -> Iterator[tuple[HeaderTable, int]]:
    """Tables of headers from an entry on, as long as entries are regular.

    Args:
        segment: whose codec reads them.
        position: byte offset of an entry.
        few: whether the caller may have enough of it soon.

    Yields:
        A table, and the byte offset that its positions count from. The entry behind the last table
        is one that the codec does not scan, whatever is wrong with it, or the end.

    Raises:
        KafkaSpecError: ``changed``, ``unreadable``.
    """
    cursor = segment.cursor(sparse=True)
    capacity = _FIRST if few else _MOST
    while position < segment.size:
        segment.check()
        buffer, base = cursor.at(position, LARGEST_HEADER)
        limit = segment.size - base
        table = segment.codec.scan(buffer, position - base, limit=limit, capacity=capacity)
        if table is None and limit > len(buffer):  # a kind that shows its header to the end of it
            buffer, base = segment.around(cursor, position)
            table = segment.codec.scan(buffer, position - base, capacity=capacity)
        if table is None:
            return
        yield table, base
        position = base + table.position
        capacity = min(2 * capacity, _MOST)


def skip(segment: Entries, position: int, offset: int) -> tuple[int, int]:
    """Pass over entries that end below an offset. Only their headers are looked at.

    Args:
        segment: where.
        position: byte offset of the entry to begin with.
        offset: the first one that is wanted.

    Returns:
        The byte offset of an entry, and how many in front of it were passed over. It is the first
        one that ends at or behind ``offset``, or one in front of that which is not regular.

    Raises:
        KafkaSpecError: ``changed``, ``unreadable``.
    """
    return _skip(segment, position, offset, _last_offsets)


def skip_older(segment: Entries, position: int, timestamp: int) -> tuple[int, int]:
    """Pass over entries whose largest timestamp, by their headers, is below one. See ``skip``."""
    return _skip(segment, position, timestamp, _largest_timestamps)


def _skip(
    segment: Entries, position: int, wanted: int, largest: Callable[[HeaderTable], Iterator[int]]
) -> tuple[int, int]:
    passed = 0
    for table, base in header_tables(segment, position, few=True):
        for entry, number in enumerate(largest(table)):
            if number >= wanted:
                return base + table.column("position")[entry], passed + entry
        passed += table.count
        position = base + table.position
    return position, passed


def _last_offsets(table: HeaderTable) -> Iterator[int]:
    """Of a message of magic 0 or 1 that is the offset of its entry."""
    entries = zip(table.column("base_offset"), table.column("last_offset"), strict=True)
    for entry, (offset, last_offset) in enumerate(entries):
        yield last_offset if table.has("last_offset", entry) else offset


def _largest_timestamps(table: HeaderTable) -> Iterator[int]:
    """Of a message of magic 1 that is its timestamp; one of magic 0 has none."""
    for entry, largest in enumerate(table.column("max_timestamp")):
        if table.has("max_timestamp", entry):
            yield largest
        elif table.has("timestamp", entry):
            yield table.column("timestamp")[entry]
        else:
            yield NO_TIMESTAMP
