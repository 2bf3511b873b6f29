"""Compare input and output in columns, with PyArrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.conversion.report import Comparison
from kafkaspec.conversion.sides import CHUNK_BYTES, Sides
from kafkaspec.log.columnar import Columnar, ColumnOptions

_MOST_AT_ONCE = 1 << 16


def compare_columns(sides: Sides, result: Comparison) -> None:
    """Compare both sides, a chunk at a time.

    Args:
        sides: input and output.
        result: receives the differences and the number of records.

    Raises:
        KafkaSpecError: one side cannot be read.
    """
    columns = result.columns
    source = _Rows(_expected(sides, columns))
    target = _Rows(_read(sides.target(), columns, include_control=True))
    while True:
        number = min(source.left(), target.left())
        if not number:
            break
        _compare(result, source.take(number), target.take(number))
    for name, rows in (("missing", source), ("too many", target)):
        while left := rows.left():
            offset = rows.take(left).column("offset")[0].as_py()
            result.differ(f"{left} records {name}, from offset {offset} on")


def _read(
    log: Columnar, columns: tuple[str, ...], **options: Unpack[ColumnOptions]
) -> pa.RecordBatchReader:
    options |= {"layout": "binary", "header_keys": "binary", "max_bytes": CHUNK_BYTES}
    return log.to_batches(columns, **options)


def _expected(sides: Sides, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Yield the records of the input as they must be in the output."""
    number = 0 if sides.first is None else sides.first
    for part in sides.source():
        reader = _read(
            part,
            columns,
            start_offset=sides.low,
            end_offset=sides.choices.end_offset,
            include_control=sides.control,
        )
        for batch in reader:
            if sides.choices.by_time:
                batch = _timely(batch, sides)
            if sides.first is not None:
                offsets = pa.array(range(number, number + batch.num_rows), pa.int64())
                number += batch.num_rows
                batch = _with(batch, "offset", offsets)
            elif sides.shift:
                moved = pc.add(batch.column("offset"), sides.shift)
                batch = _with(batch, "offset", moved)
            if sides.kind is not None and not sides.kind.has_timestamps:
                kind = batch.schema.field("timestamp").type
                batch = _with(batch, "timestamp", pa.nulls(batch.num_rows, kind))
            yield batch


def _timely(batch: pa.RecordBatch, sides: Sides) -> pa.RecordBatch:
    """Return the records in the range of timestamps, and all control records."""
    times = batch.column("timestamp").cast(pa.int64())
    taken = pc.is_valid(times)
    for bound, compare in (
        (sides.choices.start_timestamp, pc.greater_equal),
        (sides.choices.end_timestamp, pc.less),
    ):
        if bound is not None:
            taken = pc.and_(taken, pc.fill_null(compare(times, bound), False))
    if sides.control:
        taken = pc.or_(taken, pc.is_valid(batch.column("control_type")))
    return batch.filter(taken)


def _with(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    number = batch.schema.get_field_index(name)
    return batch.set_column(number, batch.schema.field(number), column)


class _Rows:
    """Takes any number of rows from record batches of any size."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = iter(batches)
        self._batch: pa.RecordBatch | None = None

    def left(self) -> int:
        """Return the number of rows that can be taken at once; 0 at the end."""
        while self._batch is None or not self._batch.num_rows:
            self._batch = next(self._batches, None)
            if self._batch is None:
                return 0
        return min(int(self._batch.num_rows), _MOST_AT_ONCE)

    def take(self, number: int) -> pa.RecordBatch:
        """Return the next ``number`` rows."""
        assert self._batch is not None
        taken = self._batch.slice(0, number)
        self._batch = self._batch.slice(number)
        return taken


def _compare(result: Comparison, expected: pa.RecordBatch, made: pa.RecordBatch) -> None:
    result.records += expected.num_rows
    for name in result.columns:
        left, right = expected.column(name), made.column(name)
        if left.equals(right):
            continue
        for row, (a, b) in enumerate(zip(left.to_pylist(), right.to_pylist(), strict=True)):
            if a != b:
                offset = expected.column("offset")[row].as_py()
                result.differ(f"{name} of the record with offset {offset}: {a!r} became {b!r}")
