"""From record batches of ``kafkaspec.arrow`` to those that Spark takes."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.schema import TIMESTAMP_TYPES
from kafkaspec.errors import Reason, make_error
from kafkaspec.log.batch import NO_TIMESTAMP, NO_TIMESTAMP_TYPE
from kafkaspec.spark.partitions import Piece
from kafkaspec.spark.schema import HEADERS, TIMESTAMP, Output

_MICROSECONDS: Final = 1000
_LARGEST: Final = ((1 << 63) - 1) // _MICROSECONDS
"""Largest timestamp in ms that Spark has room for."""

_TYPE_IDS: Final = pa.array(
    [-1 if name == NO_TIMESTAMP_TYPE else i for i, name in enumerate(TIMESTAMP_TYPES)], pa.int32()
)
"""Kafka: ``TimestampType.id``."""


def spark_batch(batch: pa.RecordBatch, piece: Piece, output: Output) -> pa.RecordBatch:
    """The columns as Spark takes them.

    Raises:
        CorruptError: ``invalid_value``, a timestamp that Spark has no room for.
    """
    rows = batch.num_rows
    schema = output.schema
    made = []
    for field in schema:
        name = field.name
        if name == output.corrupt:
            made.append(pa.nulls(rows, field.type))
        elif name in _CONSTANTS:
            value = getattr(piece, _CONSTANTS[name])
            made.append(_constant(value, field.type, rows))
        else:
            values = batch.column(output.column(name).source)
            convert = _CONVERSIONS.get(name)
            if convert is not None:
                values = convert(values, piece)
            made.append(values if values.type == field.type else values.cast(field.type))
    return pa.RecordBatch.from_arrays(made, schema=schema)


_CONSTANTS: Final = {"topic": "topic", "partition": "partition", "file": "path"}


def finding(
    text: str, piece: Piece, offset: int | None, position: int | None, output: Output
) -> Any:
    """A row that says what could not be read, as a record batch."""
    known: dict[str, Any] = {
        "topic": piece.topic,
        "partition": piece.partition,
        "offset": offset,
        "file": piece.path,
        "position": position,
    }
    schema = output.schema
    made = []
    for field in schema:
        value = text if field.name == output.corrupt else known.get(field.name)
        made.append(pa.array([value], field.type))
    return pa.RecordBatch.from_arrays(made, schema=schema)


def _constant(value: Any, kind: pa.DataType, rows: int) -> pa.Array:
    return pa.nulls(rows, kind) if value is None else pa.repeat(pa.scalar(value, kind), rows)


def _timestamps(values: pa.Array, piece: Piece) -> pa.Array:
    """In microseconds; what Kafka has for none, -1, is a time of its own in Spark's source."""
    numbers = values.cast(pa.int64())
    if numbers.null_count:
        numbers = numbers.fill_null(NO_TIMESTAMP)
    try:
        return pc.multiply_checked(numbers, _MICROSECONDS).cast(TIMESTAMP)
    except pa.ArrowInvalid:
        beyond = pc.filter(numbers, pc.greater(pc.abs(numbers), _LARGEST))
        detail = f"Spark has no room for a timestamp of {beyond[0].as_py()} ms"
        raise make_error(Reason.INVALID_VALUE, detail, file=piece.path) from None


def _timestamp_types(values: pa.Array, piece: Piece) -> pa.Array:
    return _TYPE_IDS.take(values.indices)


def _headers(values: pa.Array, piece: Piece) -> pa.Array:
    """No headers are null, as in Spark's source."""
    pairs = values.values
    fields = [HEADERS.value_type.field(i) for i in range(HEADERS.value_type.num_fields)]
    children = pairs.flatten()
    items = pa.StructArray.from_arrays(children, fields=fields)
    empty = pc.equal(pc.list_value_length(values), 0)
    return pa.ListArray.from_arrays(values.offsets, items, type=HEADERS, mask=empty)


def _is_control(values: pa.Array, piece: Piece) -> pa.Array:
    return values.is_valid()


def _text(values: pa.Array, piece: Piece) -> pa.Array:
    return values.dictionary_decode()


_CONVERSIONS: Final[dict[str, Any]] = {
    "timestamp": _timestamps,
    "timestampType": _timestamp_types,
    "headers": _headers,
    "isControl": _is_control,
    "compression": _text,
}
