"""Decode JSON texts to a column: in columns, and one by one what these are not sure of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.values.decoded import Code, Decoded, Decoder, Failure, PayloadError, read_each
from kafkaspec.values.definition import Definition
from kafkaspec.values.json_schema.columns import RowNumbers, column_reader
from kafkaspec.values.json_schema.schema import compile_schema
from kafkaspec.values.json_schema.shapes import (
    Array,
    BooleanShape,
    Integer,
    JsonText,
    NumberShape,
    Object,
    Shape,
    String,
)
from kafkaspec.values.json_schema.text import parse
from kafkaspec.values.options import Bounds, Options

_MOST_BYTES: Final = 64 << 20
"""Bytes that are parsed at once."""
_PARTS: Final = 16

Bulk = Callable[[pa.Array], tuple[pa.Array, RowNumbers]]
"""Reads rows without nulls: the values of those that it read, and the numbers of the others."""


@dataclass(frozen=True, slots=True)
class JsonRowDecoder:
    """Decodes JSON texts one by one, as many as the output may have; see ``RowDecoder``."""

    type: pa.DataType
    read: Callable[[bytes], Any]
    bounds: Bounds

    def decode(self, payloads: pa.Array) -> Decoded:
        return decode_rows(payloads, self.type, self.read, self.bounds)


@dataclass(frozen=True, slots=True)
class JsonDecoder:
    """Decodes JSON texts of one type."""

    shape: Shape
    bounds: Bounds

    @property
    def type(self) -> pa.DataType:
        return self.shape.type

    def decode(self, payloads: pa.Array) -> Decoded:
        """Decode payloads: in columns where the type allows it, else one by one."""
        reader = column_reader(self.shape, self.bounds.depth)
        bulk = None if reader is None else reader.read
        return decode_rows(payloads, self.type, self.by_row, self.bounds, bulk)

    def decode_by_row(self, payloads: pa.Array) -> Decoded:
        return decode_rows(payloads, self.type, self.by_row, self.bounds)

    def by_row(self, data: bytes) -> Any:
        return self.shape.of(parse(data, self.bounds))


def decode_rows(
    payloads: pa.Array,
    type_: pa.DataType,
    by_row: Callable[[bytes], Any],
    bounds: Bounds,
    bulk: Bulk | None = None,
) -> Decoded:
    """Decode payloads, many at once by ``bulk``, and those that it does not read one by one."""
    rows = payloads.drop_null() if payloads.null_count else payloads
    numbers = np.flatnonzero(np.asarray(payloads.is_valid()))
    reading = _Reading(type_, by_row, bulk, bounds.items, bounds.output_bytes)
    pieces = list(reading.pieces(rows, numbers))
    values = pa.concat_arrays(pieces) if pieces else pa.array([], type_)
    if len(rows) < len(payloads):
        places = np.zeros(len(payloads), np.int64)
        places[numbers] = np.arange(len(rows))
        values = values.take(pa.array(places, mask=np.asarray(payloads.is_null())))
    return Decoded(values, reading.failures)


@dataclass(slots=True)
class _Reading:
    """Reads the rows of one array; ``left`` bytes of columns may still be made."""

    type: pa.DataType
    by_row: Callable[[bytes], Any]
    bulk: Bulk | None
    most_bytes: int
    left: int
    failures: dict[int, Failure] = field(default_factory=dict)

    def pieces(self, rows: pa.Array, numbers: RowNumbers) -> Iterator[pa.Array]:
        """Yield the values of rows that are not null, in order."""
        if not len(rows):
            return
        if self.left < width_of(self.type) * len(rows):
            failure = Failure(Code.BOUND, "the columns of the batch take more bytes than allowed")
            self.failures.update(dict.fromkeys(numbers.tolist(), failure))
            yield pa.nulls(len(rows), self.type)
            return
        if len(rows) == 1 or rows.nbytes <= _MOST_BYTES:
            values = self._values(rows, numbers)
            self.left -= values.nbytes
            yield values
            return
        step = -(-len(rows) // _PARTS)
        for start in range(0, len(rows), step):
            yield from self.pieces(rows.slice(start, step), numbers[start : start + step])

    def _values(self, rows: pa.Array, numbers: RowNumbers) -> pa.Array:
        longest = pc.max(pc.binary_length(rows)).as_py()
        if self.bulk is None or longest > self.most_bytes:  # where there may be too many items
            return self._one_by_one(rows, numbers)
        values, others = self.bulk(rows)
        if not len(others):
            return values
        read = self._one_by_one(rows.take(pa.array(others)), numbers[others])
        if not len(values):
            return read
        mask = np.zeros(len(rows), np.bool_)
        mask[others] = True
        places = np.where(mask, len(values) + np.cumsum(mask) - 1, np.cumsum(~mask) - 1)
        return pa.concat_arrays([values, read]).take(pa.array(places))

    def _one_by_one(self, rows: pa.Array, numbers: RowNumbers) -> pa.Array:
        given = zip(numbers.tolist(), rows.to_pylist(), strict=True)
        return pa.array(read_each(given, self.by_row, self.failures), self.type)


def width_of(type_: pa.DataType) -> int:
    """Return bytes that a row takes at least in columns of a type."""
    if pa.types.is_struct(type_):
        return 1 + sum(width_of(type_.field(place).type) for place in range(type_.num_fields))
    try:
        width: int = type_.bit_width
    except ValueError:
        return 4
    return max(1, width // 8)


_INFERRED_FROM: Final = 1000
"""Payloads that a type is inferred from."""
_MOST_FIELDS: Final = 256
"""Properties that objects of one type have; those of more are not names but data."""


def text_decoder(bounds: Bounds) -> Decoder:
    """Return the decoder of any JSON, which stays text, and is checked."""

    def read(data: bytes) -> str:
        parse(data, bounds, exact=False)
        return data.decode()

    return JsonRowDecoder(pa.string(), read, bounds)


def compile_json(
    definition: Definition | None, options: Options, reader: Definition | None = None
) -> Decoder:
    """Return the decoder of JSON of a schema.

    Args:
        definition: the schema that the values were written with; None for any JSON, which stays
            text.
        options: how values become columns.
        reader: the schema whose columns are wanted. Properties are found by their names, so that
            values need not be of that schema.

    Raises:
        SchemaError: the schema cannot be read, or takes more than a limit allows.
    """
    wanted = reader or definition
    if wanted is None:
        return text_decoder(options.bounds)
    return JsonDecoder(compile_schema(wanted, options), options.bounds)


def infer_json(sample: pa.Array, options: Options) -> Decoder:
    """Return the decoder of JSON that looks like a sample.

    What differs within the sample, and objects without properties, stays JSON text, and so do
    properties that the sample does not have.
    """
    shape = shape_of(sample_values(sample, options.bounds))
    if isinstance(shape, JsonText):
        return text_decoder(options.bounds)
    return JsonDecoder(shape, options.bounds)


def sample_values(sample: pa.Array, bounds: Bounds) -> list[Any]:
    """Return the JSON values in a sample of payloads, without those that are none."""
    values = []
    for data in sample.drop_null().slice(0, _INFERRED_FROM).to_pylist():
        try:
            values.append(parse(data, bounds, exact=False))
        except PayloadError:
            continue
    return values


def shape_of(values: list[Any]) -> Shape:
    """Return the type of some JSON values."""
    found = [value for value in values if value is not None]
    kinds = {type(value) for value in found}
    if kinds == {dict}:
        names = list(dict.fromkeys(name for value in found for name in value))
        if not names or len(names) > _MOST_FIELDS:
            return JsonText(is_object=True)
        return Object(
            {name: shape_of([value[name] for value in found if name in value]) for name in names}
        )
    if kinds == {list}:
        return Array(shape_of([item for value in found for item in value]))
    if kinds == {int, float} or kinds == {float}:
        return NumberShape()
    scalars: dict[type, Callable[[], Shape]] = {bool: BooleanShape, int: Integer, str: String}
    return scalars[kinds.pop()]() if len(kinds) == 1 and kinds <= set(scalars) else JsonText()
