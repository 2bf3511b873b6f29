"""Walk through the headers of a segment, table by table, and skip batches because of them.

If an input is read in parts and batches are large, only the headers are read: see
``Reading.request_bytes``, and ``Codec.scan_file`` for a local file.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise, takewhile
from typing import Final

from kafkaspec.errors import KafkaSpecError
from kafkaspec.io.window import LEAST_SPARSE, Cursor
from kafkaspec.layout.framing import LARGEST_HEADER
from kafkaspec.log.batch import Batch
from kafkaspec.log.entries import Entries, entry_end
from kafkaspec.log.header_table import HeaderTable, of_batches, of_scan
from kafkaspec.model import Buffer

_FIRST: Final = 64
"""Number of headers of the first table if few may be enough; each next one has twice as many."""
HEADERS_AT_ONCE: Final = (1 << 12) - 8
"""Number of headers of a table that stays in the cache, in memory that is used again."""
_MOST: Final = (1 << 16) - 8
"""Not a power of two: columns that far apart would share a few lines of the cache."""
_WHOLE: Final = 1 << 14
"""Most entries at a time whose other bytes are needed too: their columns take a few MiB."""
_OBJECTS: Final = 256
"""Most messages at a time that the codec does not scan."""
_OBJECT_BYTES: Final = 1 << 20
"""Bytes of these messages, unless one has more."""


def header_tables(
    segment: Entries,
    position: int = 0,
    *,
    few: bool = False,
    end: int | None = None,
    most: int = _MOST,
    again: bool = False,
) -> Iterator[HeaderTable]:
    """Yield tables of headers from an entry on, as long as entries are regular.

    Args:
        segment: the segment; its codec reads the headers.
        few: whether the caller may stop soon.
        end: byte offset after the last entry to read, None for all.
        again: whether a table may take the memory of the one before it, which nobody reads any
            more.

    Yields:
        Tables. After the last one comes an entry that the codec does not scan, whatever is wrong
        with it, or the end.

    Raises:
        KafkaSpecError: ``changed``, ``unreadable``.
    """
    cursor = segment.cursor(sparse=True)
    position = max(position, segment.first)
    capacity = _FIRST if few else most
    stop = segment.size if end is None else end
    table: HeaderTable | None = None
    while position < stop:
        segment.check()
        spare = table if again else None
        table = _of_file(segment, cursor, position, capacity, stop)
        if table is None:
            buffer, start = cursor.at(position, LARGEST_HEADER)
            limit = stop - start
            buffer = buffer[:limit]
            table = scanned(segment, buffer, start, position, capacity, limit, spare)
            if table is None and limit > len(buffer):  # a kind that shows its header to its end
                table = _whole(segment, cursor, position, capacity, stop)
        if table is None:
            return
        yield table
        position = table.end
        capacity = min(2 * capacity, most)


def readable_headers(
    segment: Entries,
    position: int = 0,
    end: int | None = None,
    *,
    most: int = _MOST,
    again: bool = False,
) -> Iterator[HeaderTable | KafkaSpecError]:
    """Yield the headers of all entries that can be read, and the error of each other one.

    Args:
        segment: the segment; afterwards its ``tail`` says how it ends.
        end: byte offset after the last entry to read, None for all.
        again: as of ``header_tables``.

    Raises:
        KafkaSpecError: ``changed``, ``unreadable``.
    """
    yield from _walked(segment, position, segment.scan, end, most, again=again)


def _walked(
    segment: Entries,
    position: int,
    objects: Callable[[int], Iterable[Batch | KafkaSpecError]],
    end: int | None = None,
    most: int = _MOST,
    *,
    again: bool = False,
) -> Iterator[HeaderTable | KafkaSpecError]:
    scans = segment.format.has_columns
    while True:
        if scans:
            for table in header_tables(segment, position, end=end, most=most, again=again):
                yield table
                position = table.end
        if end is not None and position >= end:
            return
        items = objects(position)
        if end is not None:
            items = takewhile(partial(_is_before, end), items)
        for item in _grouped(items):
            if isinstance(item, KafkaSpecError):
                yield item
                continue
            yield of_batches(segment, item[0].data, item[0].position, item)
            position = item[-1].end
            if scans:
                break  # the codec may scan the next ones
        else:
            return


def _is_before(end: int, item: Batch | KafkaSpecError) -> bool:
    return item.position is None or item.position < end


def sound_headers(
    segment: Entries,
    position: int = 0,
    *,
    strict_tail: bool = False,
    most: int = _MOST,
    again: bool = False,
) -> Iterator[HeaderTable]:
    """Yield the headers of all entries; see ``readable_headers``.

    Args:
        strict_tail: whether what the segment's ``tail`` refuses is an error too.
        again: as of ``header_tables``.

    Raises:
        KafkaSpecError: an entry that cannot be parsed.
    """
    objects = segment.entries if strict_tail else segment.scan
    for item in _walked(segment, position, objects, most=most, again=again):
        if isinstance(item, KafkaSpecError):
            raise item
        yield item


def read_headers(segment: Entries, position: int = 0) -> Iterator[HeaderTable]:
    """Yield the headers of all entries, each table with all bytes of its entries.

    Checksums are not verified. At the end, ``segment.tail`` says why the log ends there, as after
    ``Segment.batches``.

    Raises:
        KafkaSpecError: an entry cannot be parsed; raised after the entries before it.
    """
    for item in _read(segment, position, segment.entries):
        assert not isinstance(item, KafkaSpecError)
        yield item


def readable_entries(segment: Entries, position: int = 0) -> Iterator[HeaderTable | KafkaSpecError]:
    """Yield what ``read_headers`` does, and the error of each entry that cannot be read.

    Raises:
        KafkaSpecError: ``changed``, ``unreadable``.
    """
    yield from _read(segment, position, segment.scan)


def _read(
    segment: Entries, position: int, objects: Callable[[int], Iterable[Batch | KafkaSpecError]]
) -> Iterator[HeaderTable | KafkaSpecError]:
    cursor = segment.cursor()
    position = max(position, segment.first)
    while position < segment.size:
        segment.check()
        table = _whole(segment, cursor, position, _WHOLE)
        if table is None:  # read some as objects, then try to scan again
            found = next(_grouped(objects(position)), None)
            if found is None:
                return
            if isinstance(found, KafkaSpecError):
                yield found
                end = entry_end(segment, position)
                if end is None:
                    return
                position = end
                continue
            buffer, start = cursor.at(position, found[-1].end - position)
            table = of_batches(segment, buffer, start, found)
        yield table
        position = table.end


def read_all_headers(segment: Entries) -> HeaderTable | None:
    """Return the headers of all entries of a segment in memory; None if it has no entries.

    Raises:
        KafkaSpecError: an entry cannot be parsed.
    """
    buffer, start = segment.cursor().at(0, segment.size)
    table = scanned(segment, buffer, start, segment.first)
    if table is not None and table.end == segment.size:
        return table
    batches = list(segment.entries())
    return of_batches(segment, buffer, start, batches) if batches else None


def _of_file(
    segment: Entries, cursor: Cursor, position: int, capacity: int, stop: int
) -> HeaderTable | None:
    """Return the headers of entries of an open file, of which nothing else is read.

    Few bytes are read faster with the rest: None.
    """
    file = None if stop - position <= LEAST_SPARSE else cursor.descriptor
    scan = None if file is None else segment.codec.scan_file(file, position, stop, capacity)
    return None if scan is None else of_scan(scan, segment, memoryview(b""), 0)


def _whole(
    segment: Entries, cursor: Cursor, position: int, capacity: int, stop: int | None = None
) -> HeaderTable | None:
    """Return the headers of entries whose bytes are there; None if the codec does not scan them."""
    buffer, start = segment.around(cursor, position)
    buffer = buffer if stop is None else buffer[: stop - start]
    return scanned(segment, buffer, start, position, capacity)


def scanned(
    segment: Entries,
    buffer: Buffer,
    start: int,
    position: int,
    capacity: int | None = None,
    limit: int | None = None,
    spare: HeaderTable | None = None,
) -> HeaderTable | None:
    """Return the headers of regular entries in a buffer; None if the codec does not scan the first.

    Args:
        start: position in the segment of the first byte of ``buffer``.
        capacity: number of entries, at most.
        spare: an earlier table that nobody reads any more, for its memory.
    """
    scan = segment.codec.scan(
        buffer,
        position - start,
        capacity=capacity,
        limit=limit,
        spare=None if spare is None else spare.scan,
    )
    if scan is None or not scan.count:
        return None
    return of_scan(scan, segment, memoryview(buffer), start)


def _grouped(items: Iterable[Batch | KafkaSpecError]) -> Iterator[Sequence[Batch] | KafkaSpecError]:
    """Yield batches, some messages at a time, and errors."""
    batches: list[Batch] = []
    try:
        for item in items:
            if isinstance(item, Batch):
                batches.append(item)
                size = item.end - batches[0].position
                many = len(batches) == _OBJECTS or size >= _OBJECT_BYTES
                if not (many or item.kind.has_record_sets):
                    continue
            if batches:
                yield batches
                batches = []
            if isinstance(item, KafkaSpecError):
                yield item
    except KafkaSpecError:
        if batches:
            yield batches
        raise
    if batches:
        yield batches


def divided(table: HeaderTable, most: int) -> Iterator[tuple[int, int]]:
    """Divide the entries of a table into ranges of at most so many bytes, or of one larger entry.

    Args:
        most: bytes of a range.

    Yields:
        Byte offsets of the first entry of a range and of the one after it.
    """
    places, first, end = table.position, 0, table.end
    while first < len(table):
        start = places[first]
        last = bisect_right(places, start + most, first) - 1
        if end <= start + most:
            last = len(table)
        last = max(last, first + 1)
        yield start, places[last] if last < len(table) else end
        first = last


def divided_around(
    table: HeaderTable, most: int, alone: Container[int]
) -> Iterator[tuple[int, int] | int]:
    """Divide the entries of a table as ``divided`` does, around those that stand alone.

    Args:
        most: bytes of a range.
        alone: byte offsets of entries.

    Yields:
        Ranges, and the byte offset of each entry that stands alone.
    """
    places = [*table.position, table.end]
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

    Returns:
        The byte offset of an entry, and the number of skipped entries before it. It is the first
        one that ends at or after ``offset``, or an earlier one that is not regular.

    Raises:
        KafkaSpecError: ``changed``, ``unreadable``.
    """
    return _skip(segment, position, offset, lambda table: table.last_offset)


def skip_older(segment: Entries, position: int, timestamp: int) -> tuple[int, int]:
    """Skip entries whose largest timestamp, by their headers, is below one. See ``skip``."""
    return _skip(segment, position, timestamp, lambda table: table.max_timestamp)


def _skip(
    segment: Entries, position: int, wanted: int, largest: Callable[[HeaderTable], Sequence[int]]
) -> tuple[int, int]:
    passed = 0
    for table in header_tables(segment, position, few=True):
        numbers = largest(table)
        if max(numbers) >= wanted:
            entry = next(entry for entry, number in enumerate(numbers) if number >= wanted)
            return table.position[entry], passed + entry
        passed += len(table)
        position = table.end
    return position, passed
