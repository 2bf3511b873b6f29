"""Comparison of whole entries, and of the fields that no conversion knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any, Final, NamedTuple

from kafkaspec._generated.python.model.recordbatch import TimestampType
from kafkaspec.codecs import Codec
from kafkaspec.conversion.columns import plain_rows
from kafkaspec.conversion.fields import (
    carried,
    carried_record,
    header_names,
    header_values,
    message_values,
    own_fields,
    record_values,
)
from kafkaspec.conversion.report import Comparison
from kafkaspec.conversion.sides import Sides
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import EntryKind, names
from kafkaspec.log.batch import LOG_APPEND_TIME, Batch
from kafkaspec.log.legacy import LegacyBatch
from kafkaspec.log.segment import Segment
from kafkaspec.model import Buffer
from kafkaspec.writing.editing import changed

_AT_ONCE: Final = 1 << 14
"""Number of messages to compare at once."""


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
        target = sides.target().batches()
        for batch in chain.from_iterable(part.batches() for part in sides.source()):
            kind = sides.kind or batch.kind
            if kind is not batch.kind or not kind.has_record_sets:
                return False
            made = next(target, None)
            if made is None or made.kind is not kind or not _same_payload(batch, made):
                return False
            _compare_headers(sides, result, batch, made)
            result.records += batch.num_records or 0
        return next(target, None) is None
    except KafkaSpecError:
        return False  # the comparison of records reports where and why


def _same_payload(batch: Batch, made: Batch) -> bool:
    if batch.num_records != made.num_records:
        return False
    if batch.compression == made.compression and _bytes(batch.payload) == _bytes(made.payload):
        return True
    return batch.num_records != 0 and _bytes(batch.decompressed()) == _bytes(made.decompressed())


def _bytes(payload: Buffer | None) -> bytes:
    """Return whether both are equal. Bytes are compared at once, views item by item."""
    return bytes(payload or b"")


def _compare_headers(sides: Sides, result: Comparison, batch: Batch, made: Batch) -> None:
    kind = batch.kind
    base_offset = batch.base_offset + sides.shift
    if sides.first is not None:
        base_offset = sides.first + result.records
    if made.base_offset != base_offset:
        result.differ(f"offset {batch.base_offset} became {made.base_offset}")
    read, fields = _stored(kind)
    before, after = read(batch.message), read(made.message)
    if before == after:
        return
    free = {names.COMPRESSION}
    if sides.choices.leader_epoch is not None:
        free.add(names.LEADER_EPOCH)
    for name, one, other in zip(fields, before, after, strict=True):
        if one != other and name not in free:
            result.differ(
                f"{name} of the batch with offset {batch.base_offset}: {one!r} became {other!r}"
            )


@cache
def _stored(kind: EntryKind) -> tuple[Callable[[Any], tuple[Any, ...]], tuple[str, ...]]:
    """Return a getter of all fields of a header that do not follow from others, and their names."""
    fields = tuple(name for name in header_names(kind) if name != kind.payload)
    return attrgetter(*fields), fields


# -- fields that no conversion knows ---------------------------------------------------------------

_Found = dict[str, Any]
_HIDDEN: Final = "timestamp under the append time"


class _Run(NamedTuple):
    """Consecutive records with the same such fields."""

    rows: int
    values: _Found
    offset: int


def compare_own_fields(sides: Sides, result: Comparison) -> None:
    """Compare the fields of headers and records that no column has.

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
        yield from _runs(part, sides.kind, low, high, control=sides.control)


def _runs(
    segment: Segment,
    target: EntryKind | None = None,
    low: int | None = None,
    high: int | None = None,
    *,
    control: bool = True,
) -> Iterator[_Run]:
    """Yield the records of a segment.

    Args:
        segment: segment that contains the records.
        target: format of the output; fields that it has no place for are left out.
        low: smallest offset that was taken, None for any.
        high: first offset that was not taken.
        control: whether control records were taken.
    """
    position = 0
    cursor = segment.cursor()

    def taken(offset: int) -> bool:
        return (low is None or offset >= low) and (high is None or offset < high)

    while position < segment.size:
        buffer, start = segment.around(cursor, position)
        table = segment.codec.scan(buffer, position - start, capacity=_AT_ONCE)
        rows = 0 if table is None else plain_rows(table)
        if table is not None and rows:
            offsets = [offset for offset in table.column(names.OFFSET)[:rows] if taken(offset)]
            if offsets:
                yield _Run(len(offsets), {}, offsets[0])
            last = rows - 1
            position = start + table.column("position")[last] + table.column("size")[last]
            continue
        end = position
        for batch in segment.batches(position):
            end = batch.end
            if control or not batch.is_control:
                yield from _runs_of(batch, target or batch.kind, taken, segment.codec)
            if not batch.kind.has_record_sets:
                break
        if end == position:
            return
        position = end


def _runs_of(
    batch: Batch, target: EntryKind, taken: Callable[[int], bool], codec: Codec
) -> Iterator[_Run]:
    hidden = False
    if not batch.kind.has_record_sets:
        messages = message_values(batch) if isinstance(batch, LegacyBatch) else None
        records = batch.records()
        own = messages or [{}] * len(records)
        shared: _Found = {}
    else:
        if not batch.num_records:
            return
        shared = {}
        if target.has_record_sets:
            values = carried(header_values(batch.kind, batch.message), batch.kind, target)
            shared = {f"header.{name}": value for name, value in values}
            if target.has_delete_horizons and batch.delete_horizon is not None:
                shared[f"header.{names.DELETE_HORIZON}"] = batch.delete_horizon
        message = batch.message
        appended = batch.timestamp_type == LOG_APPEND_TIME
        whole = taken(batch.base_offset) and taken(batch.last_offset)
        if whole and not appended and not own_fields(batch.kind).record:
            yield _Run(batch.num_records, shared, batch.base_offset)
            return
        if appended:
            message = changed(message, {names.TIMESTAMP_TYPE: TimestampType.CREATE_TIME})
        payload = batch.decompressed()
        records = codec.decode_records(message, payload)
        found = record_values(message, batch.kind, payload, records, codec)
        hidden = appended and target.has_record_sets
        if whole and found is None and not hidden:
            yield _Run(len(records), shared, batch.base_offset)
            return
        own = found or [{}] * len(records)
    for record, some in zip(records, own, strict=True):
        if taken(record.offset):
            kept = carried_record(some, batch.kind, target)
            named = {f"record.{name}": value for name, value in kept.items()}
            if hidden:  # in a batch with append time, records still have their own timestamps
                named[_HIDDEN] = record.timestamp
            yield _Run(1, shared | named, record.offset)
