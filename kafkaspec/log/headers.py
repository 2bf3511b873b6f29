"""Read the headers of a segment by columns, and skip batches because of them.

If an input is read in parts and batches are large, only the headers are read: see
``Reading.request_bytes``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import pairwise
from typing import Final

from kafkaspec.codecs import HeaderTable
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import names
from kafkaspec.layout.framing import LARGEST_HEADER
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import NO_TIMESTAMP, Batch
from kafkaspec.log.entries import Entries

RECORD_SETS: Final = frozenset(magic for magic, kind in KINDS.items() if kind.has_record_sets)
"""Magics of entries that all have the fields of a batch."""
_FIRST: Final = 64
"""Number of headers of the first table if few may be enough; each next one has twice as many."""
HEADERS_AT_ONCE: Final = (1 << 12) - 8
"""Number of headers of a table that stays in the cache, in memory that is used again."""
_MOST: Final = (1 << 16) - 8
"""Not a power of two: columns that far apart would share a few lines of the cache."""


def header_tables(
    segment: Entries,
    position: int = 0,
    *,
    few: bool = False,
    end: int | None = None,
    most: int = _MOST,
) -> Iterator[tuple[HeaderTable, int]]:
    """Yield tables of headers from an entry on, as long as entries are regular.

    Args:
        segment: the segment; its codec reads the headers.
        position: byte offset of an entry.
        few: whether the caller may stop soon.
        end: byte offset after the last entry to read, None for all.
        most: headers of a table.

    Yields:
        A table, and the byte offset that its positions count from. After the last table comes
        an entry that the codec does not scan, whatever is wrong with it, or the end.

    Raises:
        KafkaSpecError: ``changed``, ``unreadable``.
    """
    cursor = segment.cursor(sparse=True)
    capacity = _FIRST if few else most
    stop = segment.size if end is None else end
    while position < stop:
        segment.check()
        buffer, base = cursor.at(position, LARGEST_HEADER)
        limit = stop - base
        buffer = buffer[:limit]
        table = segment.codec.scan(buffer, position - base, limit=limit, capacity=capacity)
        if table is None and limit > len(buffer):  # a kind that shows its header to the end of it
            buffer, base = segment.around(cursor, position)
            buffer = buffer[: stop - base]
            table = segment.codec.scan(buffer, position - base, capacity=capacity)
        if table is None:
            return
        yield table, base
        position = base + table.position
        capacity = min(2 * capacity, most)


def readable_headers(
    segment: Entries, position: int = 0, end: int | None = None, *, most: int = _MOST
) -> Iterator[tuple[HeaderTable, int] | Batch | KafkaSpecError]:
    """Yield the headers of all entries that can be read, and the error of each other one.

    Args:
        segment: the segment; afterwards its ``tail`` says how it ends.
        position: byte offset of an entry.
        end: byte offset after the last entry to read, None for all.
        most: headers of a table.

    Yields:
        A table as from ``header_tables``; or alone an entry that the codec does not scan, or an
        error.

    Raises:
        KafkaSpecError: ``changed``, ``unreadable``.
    """
    while True:
        if segment.format.has_columns:
            for table, base in header_tables(segment, position, end=end, most=most):
                yield table, base
                position = base + table.position
        if end is not None and position >= end:
            return
        for item in segment.scan(position):
            yield item
            if isinstance(item, Batch):
                position = item.end
                if segment.format.has_columns:
                    break  # the codec may scan the next ones
        else:
            return


def sound_headers(
    segment: Entries, position: int = 0, *, most: int = _MOST
) -> Iterator[tuple[HeaderTable, int] | Batch]:
    """Yield the headers of all entries; see ``readable_headers``.

    Raises:
        KafkaSpecError: an entry that cannot be parsed.
    """
    for item in readable_headers(segment, position, most=most):
        if isinstance(item, KafkaSpecError):
            raise item
        yield item


def divided(table: HeaderTable, base: int, most: int) -> Iterator[tuple[int, int]]:
    """Divide the entries of a table into ranges of at most so many bytes, or of one larger entry.

    Args:
        table: the table.
        base: byte offset that its positions count from.
        most: bytes of a range.

    Yields:
        Byte offsets of the first entry of a range and of the one after it.
    """
    places, first = table.column("position"), 0
    while first < table.count:
        start = places[first]
        last = bisect_right(places, start + most, first) - 1
        if table.position <= start + most:
            last = table.count
        last = max(last, first + 1)
        yield base + start, base + (places[last] if last < table.count else table.position)
        first = last


def divided_around(
    table: HeaderTable, base: int, most: int, alone: Container[int]
) -> Iterator[tuple[int, int] | int]:
    """Divide the entries of a table as ``divided`` does, around those that stand alone.

    Args:
        table: the table.
        base: byte offset that its positions count from.
        most: bytes of a range.
        alone: byte offsets of entries.

    Yields:
        Ranges, and the byte offset of each entry that stands alone.
    """
    places = [base + place for place in (*table.column("position"), table.position)]
    start = places[0]
    for place, after in pairwise(places):
        if place in alone:
            if start < place:
                yield start, place
            yield place
            start = after
        elif start < place and after - start > most:
            yield start, place
            start = place
    if start < places[-1]:
        yield start, places[-1]


def skip(segment: Entries, position: int, offset: int) -> tuple[int, int]:
    """Skip entries that end below an offset. Only their headers are read.

    Args:
        segment: the segment.
        position: byte offset of the entry to begin with.
        offset: first wanted offset.

    Returns:
        The byte offset of an entry, and the number of skipped entries before it. It is the first
        one that ends at or after ``offset``, or an earlier one that is not regular.

    Raises:
        KafkaSpecError: ``changed``, ``unreadable``.
    """
    return _skip(segment, position, offset, last_offsets)


def skip_older(segment: Entries, position: int, timestamp: int) -> tuple[int, int]:
    """Skip entries whose largest timestamp, by their headers, is below one. See ``skip``."""
    return _skip(segment, position, timestamp, largest_timestamps)


def _skip(
    segment: Entries, position: int, wanted: int, largest: Callable[[HeaderTable], Sequence[int]]
) -> tuple[int, int]:
    passed = 0
    for table, base in header_tables(segment, position, few=True):
        numbers = largest(table)
        if max(numbers) >= wanted:
            entry = next(entry for entry, number in enumerate(numbers) if number >= wanted)
            return base + table.column("position")[entry], passed + entry
        passed += table.count
        position = base + table.position
    return position, passed


def last_offsets(table: HeaderTable) -> Sequence[int]:
    """Return the last offset of each entry; of a message of magic 0 or 1, its own."""
    lasts = table.column(names.LAST_OFFSET)
    if set(table.column(names.MAGIC)) <= RECORD_SETS:
        return lasts
    return [
        last if table.has(names.LAST_OFFSET, entry) else offset
        for entry, (offset, last) in enumerate(
            zip(table.column(names.BASE_OFFSET), lasts, strict=True)
        )
    ]


def largest_timestamps(table: HeaderTable) -> Sequence[int]:
    """Return the largest timestamp of each entry: of a message of magic 1, its own; of 0, none."""
    return list(_timestamps(table))


def _timestamps(table: HeaderTable) -> Iterator[int]:
    for entry, largest in enumerate(table.column(names.MAX_TIMESTAMP)):
        if table.has(names.MAX_TIMESTAMP, entry):
            yield largest
        elif table.has(names.TIMESTAMP, entry):
            yield table.column(names.TIMESTAMP)[entry]
        else:
            yield NO_TIMESTAMP
