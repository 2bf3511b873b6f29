"""Compare whole entries, and the fields that no conversion knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain, groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple

from kafkaspec import compression as compressions
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model.recordbatch import TimestampType
from kafkaspec.codecs import Codec
from kafkaspec.codecs.native.core import Core
from kafkaspec.columns.memory import Columns, IntegerColumn, Layout
from kafkaspec.columns.reader import Reader
from kafkaspec.columns.wanted import BATCH_POSITION, BATCH_SIZE, POSITION, SIZE, Wanted
from kafkaspec.conversion.agreement import is_plain, own_names
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.columns import are_plain
from kafkaspec.conversion.fields import (
    RecordValues,
    carried,
    carried_record,
    entry_names,
    header_names,
    header_values,
    own_fields,
    record_values,
    values_of_messages,
)
from kafkaspec.conversion.report import Comparison
from kafkaspec.conversion.sides import CHUNK_BYTES, Sides
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import LOG_APPEND_TIME, Batch, held_payload
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import read_headers
from kafkaspec.log.legacy import LegacyBatch
from kafkaspec.log.segment import Segment
from kafkaspec.model import Buffer, Record
from kafkaspec.writing.editing import changed


class _Entry(NamedTuple):
    """An entry, for the comparison.

    Attributes:
        kind: its format.
        base_offset: first offset.
        num_records: number of records.
        compression: compression of the payload.
        payload: stored bytes of the records.
        values: fields that do not follow from others, in the order of ``_stored``.
    """

    kind: EntryKind
    base_offset: int
    num_records: int
    compression: int
    payload: Buffer
    values: tuple[Any, ...]


def compare_entries(sides: Sides, result: Comparison) -> bool:
    """Compare entry by entry, as long as each became one entry with the same records.

    Args:
        sides: both sides; only batches are compared here, since messages are faster to compare in
            columns.
        result: receives the differences of headers, and the number of records.

    Returns:
        Whether all entries were compared. If not, the records have to be compared.
    """
    if sides.choices.batch_bytes is not None:
        return False
    try:
        target = chain.from_iterable(map(_entries, sides.target().segments_from(None)))
        for entry in chain.from_iterable(map(_entries, sides.source())):
            if entry is None or (sides.kind or entry.kind) is not entry.kind:
                return False
            made = next(target, None)
            if made is None or made.kind is not entry.kind or not _same_payload(entry, made, sides):
                return False
            _compare_headers(sides, result, entry, made)
            result.records += entry.num_records
        return next(target, None) is None
    except KafkaSpecError:
        return False  # the comparison of records reports where and why


def _entries(segment: Segment) -> Iterator[_Entry | None]:
    """Yield the batches of a segment, from columns of headers if possible; None at a message."""
    for table in read_headers(segment):
        start = 0
        for magic, alike in groupby(table.magic):
            kind, stop = KINDS[magic], start + sum(1 for _ in alike)
            if not kind.has_record_sets:
                yield None
                return
            yield from _alike(table, kind, start, stop)
            start = stop


def _alike(table: HeaderTable, kind: EntryKind, start: int, stop: int) -> Iterator[_Entry]:
    """Yield batches of one kind."""
    place = f"{kind.payload}.{POSITION}", f"{kind.payload}.{SIZE}"
    wanted = (names.BASE_OFFSET, kind.count, names.COMPRESSION, *place, *_stored(kind))
    if any(field.optional for field in LAYOUTS[kind.key].fields) or not all(map(table.has, wanted)):
        read = attrgetter(*_stored(kind))
        for batch in map(table.batch, range(start, stop)):
            yield _Entry(
                kind,
                batch.base_offset,
                batch.num_records or 0,
                batch.compression,
                batch.payload or b"",
                read(batch.message),
            )
        return
    rows = zip(*(table.list(name)[start:stop] for name in wanted), strict=True)
    for first, count, codec, at, length, *values in rows:
        at -= table.start
        yield _Entry(kind, first, count, codec, table.buffer[at : at + length], tuple(values))


@cache
def _stored(kind: EntryKind) -> tuple[str, ...]:
    """Return the names of all fields of a header that do not follow from others."""
    return tuple(name for name in header_names(kind) if name != kind.payload)


def _same_payload(entry: _Entry, made: _Entry, sides: Sides) -> bool:
    if entry.num_records != made.num_records:
        return False
    one, other = bytes(entry.payload), bytes(made.payload)  # faster to compare than views
    if entry.compression == made.compression and one == other:
        return True
    return entry.num_records != 0 and _unpacked(entry, one, sides) == _unpacked(made, other, sides)


def _unpacked(entry: _Entry, payload: bytes, sides: Sides) -> bytes:
    if not entry.compression:
        return payload
    magic = entry.kind.magic
    return compressions.decompress(entry.compression, payload, magic=magic, **sides.bound)


def _compare_headers(sides: Sides, result: Comparison, entry: _Entry, made: _Entry) -> None:
    base_offset = entry.base_offset + sides.shift
    if sides.first is not None:
        base_offset = sides.first + result.records
    if made.base_offset != base_offset:
        result.differ(f"offset {entry.base_offset} became {made.base_offset}")
    if entry.values == made.values:
        return
    free = {names.COMPRESSION}
    if sides.choices.leader_epoch is not None:
        free.add(names.LEADER_EPOCH)
    for name, one, other in zip(_stored(entry.kind), entry.values, made.values, strict=True):
        if one != other and name not in free:
            result.differ(
                f"{name} of the batch with offset {entry.base_offset}: {one!r} became {other!r}"
            )


# -- fields that no conversion knows ---------------------------------------------------------------

_Found = dict[str, Any]
_HIDDEN: Final = "timestamp under the append time"


class _Run(NamedTuple):
    """Consecutive records with the same values in these fields."""

    rows: int
    values: _Found
    offset: int


def compare_own_fields(sides: Sides, result: Comparison) -> None:
    """Compare the fields of headers and records that no column has.

    Args:
        sides: input and output.
        result: receives the differences.

    Raises:
        KafkaSpecError: one side cannot be read.
    """
    source = _expected(sides)
    target = chain.from_iterable(_runs(item) for item in sides.target().segments_from(None))
    expected = made = _Run(0, {}, 0)
    while True:
        if not expected.rows:
            expected = next(source, _Run(0, {}, 0))
        if not made.rows:
            made = next(target, _Run(0, {}, 0))
        rows = min(expected.rows, made.rows)
        if not rows:
            return  # the comparison of columns has reported missing records
        if expected.values != made.values:
            for name in sorted(expected.values.keys() | made.values.keys()):
                one, other = expected.values.get(name), made.values.get(name)
                hidden = name == _HIDDEN and None in (one, other)  # messages have none
                if one != other and not hidden:
                    result.differ(
                        f"{name} of the record with offset {expected.offset}: {one!r} became"
                        f" {other!r}"
                    )
        expected = expected._replace(rows=expected.rows - rows)
        made = made._replace(rows=made.rows - rows)


def _expected(sides: Sides) -> Iterator[_Run]:
    low, high = sides.low, sides.choices.end_offset
    for part in sides.source():
        yield from _runs(part, sides.kind, low, high, sides.choices, control=sides.control)


def _runs(
    segment: Segment,
    target: EntryKind | None = None,
    low: int | None = None,
    high: int | None = None,
    choices: Choices | None = None,
    *,
    control: bool = True,
) -> Iterator[_Run]:
    """Yield the records of a segment.

    Args:
        segment: segment that contains the records.
        target: format of the output; fields that it has no place for are left out.
        low: smallest offset to compare, None for any.
        high: first offset not to compare, None for any.
        choices: the plan, for its range of timestamps; None for any.
        control: whether to compare control records.
    """
    timely = choices.takes if choices is not None and choices.by_time else None

    def taken(offset: int) -> bool:
        return (low is None or offset >= low) and (high is None or offset < high)

    core = segment.codec.core
    if core is None or timely is not None:
        parts: Iterable[tuple[int, int, _Run | None]] = [(0, segment.size, None)]
    else:
        wanted = Wanted(
            start_offset=low, end_offset=high, include_control=control, max_bytes=CHUNK_BYTES
        )
        reader = Reader(segment, (*_PLACES, *own_names(core)), wanted, layout=Layout.BINARY)
        parts = (_part(core, columns) for columns in reader)
    done = 0
    for start, end, run in parts:
        if run is not None:
            yield run
            continue
        if end <= done:  # another piece of the same entry
            continue
        done = end
        for batch in segment.batches(start):
            if control or not batch.is_control:
                yield from _runs_of(batch, target or batch.kind, taken, timely, segment.codec)
            if batch.end >= end:
                break


_PLACES: Final = (names.OFFSET, BATCH_POSITION, BATCH_SIZE)


def _part(core: Core, found: Columns) -> tuple[int, int, _Run | None]:
    """Return the bounds of the entries of some columns, and their run if all have only defaults."""
    offset, position, size = (_integers(found.columns[name]) for name in _PLACES)
    last = found.rows - 1
    place = found.start + position[0], found.start + position[last] + size[last]
    return *place, _Run(found.rows, {}, offset[0]) if is_plain(core, found) else None


def _integers(column: object) -> memoryview:
    assert isinstance(column, IntegerColumn)
    return column.integers


def _named(values: Iterable[tuple[str, Any]]) -> _Found:
    return {f"header.{name}": value for name, value in values}


def _runs_of(
    batch: Batch,
    target: EntryKind,
    taken: Callable[[int], bool],
    timely: Callable[[Batch, Record], bool] | None,
    codec: Codec,
) -> Iterator[_Run]:
    hidden = False
    if not batch.kind.has_record_sets:
        shared = _named(carried(header_values(batch.kind, batch.message), batch.kind, target))
        if not (batch.is_wrapper and target.has_record_sets):
            shared = {}  # each message has its own entry
        columns = timely is None and codec.core is not None and batch.is_wrapper
        if columns and isinstance(batch, LegacyBatch):
            assert codec.core is not None
            regular = batch.regular(held_payload(batch))
            if regular is not None and are_plain(codec.core, *regular, batch.kind, taken):
                yield _Run(regular[1].count, shared, regular[1].base_offset)
                return
        records = batch.records()
        own: Iterable[RecordValues] = values_of_messages(batch)
    else:
        if not batch.num_records:
            return
        shared = _named(carried(header_values(batch.kind, batch.message), batch.kind, target))
        if target.has_delete_horizons and batch.delete_horizon is not None:
            shared[f"header.{names.DELETE_HORIZON}"] = batch.delete_horizon
        message = batch.message
        appended = batch.timestamp_type == LOG_APPEND_TIME
        whole = timely is None and taken(batch.base_offset) and taken(batch.last_offset)
        if whole and not appended and not own_fields(batch.kind).record:
            yield _Run(batch.num_records, shared, batch.base_offset)
            return
        if appended:
            message = changed(message, {names.TIMESTAMP_TYPE: TimestampType.CREATE_TIME})
        payload = batch.decompressed()
        found = record_values(batch, message, payload, codec)
        hidden = appended and target.has_record_sets
        if whole and found is None and not hidden:
            yield _Run(batch.num_records, shared, batch.base_offset)
            return
        records = codec.decode_records(message, payload)
        own = found or [{}] * len(records)
    for record, some in zip(records, own, strict=True):
        if taken(record.offset) and (timely is None or timely(batch, record)):
            kept = carried_record(some, batch.kind, target)
            named = {f"record.{name}": kept[name] for name in kept.keys() - entry_names()}
            if not shared:
                around = some.keys() & entry_names()
                named |= _named((name, some[name]) for name in around)
            if hidden:  # in a batch with append time, records still have their own timestamps
                named[_HIDDEN] = record.timestamp
            yield _Run(1, shared | named, record.offset)
