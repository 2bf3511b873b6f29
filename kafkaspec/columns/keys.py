"""Find records by their keys, in columns: without an object for a record that has another key."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from kafkaspec.columns.memory import (
    INLINE_BYTES,
    VIEW_BYTES,
    BytesColumn,
    Columns,
    Layout,
    set_bits,
)
from kafkaspec.columns.patterns import BytePattern
from kafkaspec.columns.reader import Reader
from kafkaspec.columns.wanted import BATCH_POSITION, Wanted
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import names
from kafkaspec.log.damage import ALWAYS_RAISED, broken_entry
from kafkaspec.log.lookup import Found
from kafkaspec.log.options import LOG_START, LogStart
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.options import checked
from kafkaspec.policy import OnError, report

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from kafkaspec.codecs.native.core import Core


@dataclass(frozen=True, slots=True)
class KeyTest:
    """Says whether a key is one of those that are looked for.

    Attributes:
        matches: whether a key is.
        patterns: each such key fits one of these, and few others do.
    """

    matches: Callable[[bytes], bool]
    patterns: Sequence[BytePattern]


_CHUNK_BYTES: Final = 1 << 20
"""A chunk whose columns are searched while the second cache holds them."""
_START: Final = struct.Struct("<i4s")
_PLACE: Final = struct.Struct("<ii")


@checked
def find_keys(
    log: Segment | Partition,
    keys: Sequence[bytes] | KeyTest,
    *,
    log_start: LogStart = LOG_START,
    on_error: OnError = "raise",
) -> Iterator[Found]:
    """Yield the records that have one of some keys, the newest first; control records do not count.

    Args:
        log: the log to search.
        keys: the keys, or what says whether a key is one.
        log_start: first offset that counts, of a partition.
        on_error: see ``kafkaspec.policy.OnError``.

    Raises:
        KafkaSpecError: a batch cannot be read.
    """
    if isinstance(log, Segment):
        yield from _of_segment(log, keys, None, on_error)
        return
    start = log.log_start_of(log_start)
    for path in reversed(log.paths_from(start, None)):
        with log.open_segment(path) as segment:
            yield from _of_segment(segment, keys, start, on_error)


def _of_segment(
    segment: Segment, keys: Sequence[bytes] | KeyTest, start: int | None, on_error: OnError
) -> Iterator[Found]:
    matches = _matches(keys)
    positions = batches_with(segment, keys, start_offset=start, on_error=on_error)
    for position in reversed(positions):
        batch = segment.batch_at(position)
        for record in reversed(list(batch.records())):
            counts = start is None or record.offset >= start
            if counts and record.key is not None and matches(record.key):
                yield Found("key", record.offset, segment.path, batch, record)


def batches_with(
    segment: Segment,
    keys: Sequence[bytes] | KeyTest,
    *,
    start_offset: int | None = None,
    on_error: OnError = "raise",
) -> array[int]:
    """Return the byte offsets of the entries that have records with some keys, in order.

    Args:
        segment: the segment to search.
        keys: the keys, or what says whether a key is one.
        start_offset: first offset that counts, None for all.
        on_error: see ``kafkaspec.policy.OnError``.

    Raises:
        KafkaSpecError: a batch cannot be read.
    """
    matches = _matches(keys)
    positions = array("q")
    for columns in _columns(segment, start_offset, on_error):
        for position in _found(segment.codec.core, columns, keys, matches):
            if not positions or positions[-1] != position:
                positions.append(position)
    return positions


def _columns(segment: Segment, start: int | None, on_error: OnError) -> Iterator[Columns]:
    position = 0
    while True:
        wanted = Wanted(start_offset=start, start_position=position, max_bytes=_CHUNK_BYTES)
        try:
            broken = partial(report, on_error)
            yield from Reader(segment, (names.KEY, BATCH_POSITION), wanted, broken=broken)
            return
        except KafkaSpecError as error:
            if error.reason in ALWAYS_RAISED:
                raise
            report(on_error, error)
            _, _, after = broken_entry(segment, position, error)
            if after is None:
                return
            position = after


def _matches(keys: Sequence[bytes] | KeyTest) -> Callable[[bytes], bool]:
    return keys.matches if isinstance(keys, KeyTest) else frozenset(keys).__contains__


def _found(
    core: Core | None,
    columns: Columns,
    keys: Sequence[bytes] | KeyTest,
    matches: Callable[[bytes], bool],
) -> Iterator[int]:
    """Yield the byte offset of the batch of each record that has a key, in order."""
    column = columns.bytes_column(names.KEY)
    if isinstance(keys, KeyTest) or columns.layout is not Layout.VIEW:
        likely = _likely(core, columns, column, keys)
        rows = [row for row, key in each_value(columns, column, likely) if matches(key)]
    else:
        rows = sorted(row for key in set(keys) for row in _equal(columns, column, key))
    positions = columns.integer_column(BATCH_POSITION).integers
    for row in rows:
        yield columns.start + positions[row]


def _likely(
    core: Core | None, columns: Columns, column: BytesColumn, keys: Sequence[bytes] | KeyTest
) -> Iterable[int] | None:
    """Return the rows whose keys fit a pattern, None if all may."""
    if core is None or columns.layout is not Layout.VIEW or not isinstance(keys, KeyTest):
        return None
    size = -(-columns.rows // 8)
    bits = 0
    for pattern in keys.patterns:
        found = pattern.rows_of(
            core, columns.layout, columns.rows, column.present, column.main, columns.sources
        )
        bits |= int.from_bytes(found, "little")
    return set_bits(bits, size)


def _equal(columns: Columns, column: BytesColumn, key: bytes) -> Iterator[int]:
    """Yield the rows with a key, by views: the bytes of one say its size and how the key begins."""
    main, end = column.main, columns.rows * VIEW_BYTES
    assert isinstance(main, bytearray)
    inline = len(key) <= INLINE_BYTES
    wanted = _START.pack(len(key), key[:4])
    if inline:
        wanted += key[4:].ljust(VIEW_BYTES - _START.size, b"\0")
    place = main.find(wanted, 0, end)
    while place >= 0:
        row, within = divmod(place, VIEW_BYTES)
        same = not within and _is_there(column, row)
        if same and (inline or _pointed_at(columns, main, place) == key):
            yield row
        place = main.find(wanted, place + (1 if within else VIEW_BYTES), end)


def each_value(
    columns: Columns, column: BytesColumn, rows: Iterable[int] | None = None
) -> Iterator[tuple[int, bytes]]:
    """Yield each row, or each of some, that has a value in a byte column, with the value."""
    main = memoryview(column.main).cast("B")
    some = range(columns.rows) if rows is None else rows
    there = (row for row in some if _is_there(column, row))
    if columns.layout is Layout.VIEW:
        yield from ((row, _pointed_at(columns, main, row * VIEW_BYTES)) for row in there)
        return
    ends, data = main.cast("i"), memoryview(column.data or b"").cast("B")
    for row in there:
        yield row, bytes(data[ends[row] : ends[row + 1]])


def _pointed_at(columns: Columns, main: Buffer, place: int) -> bytes:
    """Return the bytes of a view."""
    size, _ = _START.unpack_from(main, place)
    if size <= INLINE_BYTES:
        return bytes(memoryview(main)[place + 4 : place + 4 + size])
    number, start = _PLACE.unpack_from(main, place + _START.size)
    return bytes(memoryview(columns.sources[number])[start : start + size])


def _is_there(column: BytesColumn, row: int) -> bool:
    if not column.nulls or column.validity is None:
        return True
    return bool(memoryview(column.validity).cast("B")[row >> 3] >> (row & 7) & 1)
