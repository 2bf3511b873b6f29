"""Turn record batches of ``kafkaspec.arrow`` into those that Spark takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.arrays import constant
from kafkaspec.arrow.messages.topics import ERROR
from kafkaspec.arrow.schema import TIMESTAMP_TYPES
from kafkaspec.errors import Reason, make_error
from kafkaspec.log.batch import NO_TIMESTAMP, NO_TIMESTAMP_TYPE
from kafkaspec.shown import without_credentials
from kafkaspec.spark.parsing import LARGEST_LONG
from kafkaspec.spark.partitions import TaskPiece
from kafkaspec.spark.schema import HEADERS, TIMESTAMP, WantedColumns

_MICROSECONDS: Final = 1000
_LARGEST: Final = LARGEST_LONG // _MICROSECONDS

_TYPE_IDS: Final = pa.array(
    [-1 if name == NO_TIMESTAMP_TYPE else i for i, name in enumerate(TIMESTAMP_TYPES)], pa.int32()
)
"""Kafka: ``TimestampType.id``."""

_CONSTANTS: Final = {"topic": "topic", "partition": "partition", "file": "path"}
_SPARE: Final = 8
"""An eighth more than were asked for: record batches have about as many rows, not as many."""


class SparkColumns:
    """Makes the record batches of a piece.

    A column with one value is made once, and cut to the number of rows.
    """

    def __init__(self, piece: TaskPiece, output: WantedColumns) -> None:
        """Make the columns of a piece."""
        self._piece = piece
        self._output = output
        self._schema = output.schema
        self._repeated: dict[tuple[str, Any], pa.Array] = {}

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the columns as Spark takes them."""
        made = [self._column(field, batch) for field in self._schema]
        return self._output.renamed(pa.RecordBatch.from_arrays(made, schema=self._schema))

    def _column(self, field: pa.Field, batch: pa.RecordBatch) -> pa.Array:
        name = field.name
        if name == self._output.corrupt:
            if ERROR in batch.schema.names:  # of records whose messages do not decode
                return batch.column(ERROR)
            return self._constant(field, None, batch.num_rows)
        if name in _CONSTANTS:
            value = getattr(self._piece, _CONSTANTS[name])
            return self._constant(field, value, batch.num_rows)
        values = batch.column(self._output.column(name).source)
        if name == "timestampType":
            return self._timestamp_types(field, values)
        if name in _CONVERSIONS:
            values = _CONVERSIONS[name](values, self._piece)
        return values if values.type == field.type else values.cast(field.type)

    def _timestamp_types(self, field: pa.Field, values: pa.DictionaryArray) -> pa.Array:
        numbers = values.indices
        span = pc.min_max(numbers)
        low, high = span["min"].as_py(), span["max"].as_py()
        if low == high and low is not None:  # as in nearly every segment
            return self._constant(field, _TYPE_IDS[low].as_py(), len(numbers))
        return _TYPE_IDS.take(numbers)

    def _constant(self, field: pa.Field, value: Any, rows: int) -> pa.Array:
        """Return a column with the same value in all rows."""
        found = self._repeated.get((field.name, value))
        if found is None or len(found) < rows:
            found = constant(value, field.type, rows + rows // _SPARE)
            self._repeated[field.name, value] = found
        return found.slice(0, rows)


def finding(
    text: str, piece: TaskPiece, offset: int | None, position: int | None, output: WantedColumns
) -> Any:
    """Return a row that says what could not be read, as a record batch."""
    row = {
        "topic": piece.topic,
        "partition": piece.partition,
        "offset": offset,
        "file": without_credentials(piece.path),
        "position": position,
        output.corrupt: text,
    }
    return output.renamed(pa.RecordBatch.from_pylist([row], schema=output.schema))


def has_room(numbers: pa.Array) -> pa.Array:
    """Return whether Spark has room for each timestamp in ms."""
    return pc.and_(pc.less_equal(numbers, _LARGEST), pc.greater_equal(numbers, -_LARGEST))


def _timestamps(values: pa.Array, piece: TaskPiece) -> pa.Array:
    """Return timestamps in µs; Kafka's -1 for none is a time as in Spark's source."""
    numbers = values.view(pa.int64())
    if numbers.null_count:
        numbers = numbers.fill_null(NO_TIMESTAMP)
    try:
        return pc.multiply_checked(numbers, _MICROSECONDS).view(TIMESTAMP)
    except pa.ArrowInvalid:
        beyond = pc.filter(numbers, pc.invert(has_room(numbers)))
        detail = f"Spark has no room for a timestamp of {beyond[0].as_py()} ms"
        raise make_error(Reason.INVALID_VALUE, detail, file=piece.path) from None


def _headers(values: pa.Array, piece: TaskPiece) -> pa.Array:
    """Return headers; as in Spark's source, a record without any has null."""
    fields = [HEADERS.value_type.field(i) for i in range(HEADERS.value_type.num_fields)]
    items = pa.StructArray.from_arrays(values.flatten().flatten(), fields=fields)
    empty = pc.equal(pc.list_value_length(values), 0)
    # Rows from inside a batch are a slice, and pyarrow takes no mask beside offsets of a slice.
    offsets = pc.subtract(values.offsets, values.offsets[0])
    return pa.ListArray.from_arrays(offsets, items, type=HEADERS, mask=empty)


_CONVERSIONS: Final[dict[str, Callable[[Any, TaskPiece], pa.Array]]] = {
    "timestamp": _timestamps,
    "headers": _headers,
    "isControl": lambda values, _: values.is_valid(),
    "compression": lambda values, _: values.dictionary_decode(),
}
