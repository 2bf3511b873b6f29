"""Decode JSON texts to a column: many at once, and one by one where that is not sure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from kafkaspec.values.decoded import Code, Decoded, Decoder, Failure, PayloadError, read_each
from kafkaspec.values.definition import Definition
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
from kafkaspec.values.json_schema.text import parse, to_text
from kafkaspec.values.options import Bounds, Options
from kafkaspec.values.rows import bytes_of

_COLUMN: Final = "v"
_OPEN: Final = f'{{"{_COLUMN}":'.encode()
_CLOSE: Final = b"}\n"
_TABLE: Final = bytes.maketrans(b"\n\r", b"\t\t")
"""Ends of lines are blanks between tokens, and a tab within a string is an error as they are."""
_MOST_BYTES: Final = 64 << 20
"""Bytes that are parsed at once."""
_PARTS: Final = 16
_FEW: Final = 64
"""Rows that are read one by one where they cannot be read at once."""
_SAMPLE: Final = 256
"""Rows that are looked at for what the type has not."""
_MOST_NAMES: Final = 8
"""Names that are looked for in all rows."""

_Numbers = np.ndarray[Any, np.dtype[np.int64]]


class _UnsureError(Exception):
    """Rows may not be what pyarrow reads."""


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
        """Decode payloads: at once where the type allows it, else one by one."""
        bulk = self if self.shape.is_bulk else None
        return decode_rows(payloads, self.type, self.by_row, self.bounds, bulk)

    def decode_by_row(self, payloads: pa.Array) -> Decoded:
        return decode_rows(payloads, self.type, self.by_row, self.bounds)

    def at_once(self, rows: pa.Array) -> pa.Array:
        """Return the values of rows without nulls, or raise any error if one cannot be read so."""
        if not len(rows):
            return pa.array([], self.type)
        if pc.max(pc.binary_length(rows)).as_py() > self.bounds.items:
            raise _UnsureError
        rows.cast(pa.string())  # checks that it is UTF-8
        lines = pc.binary_join_element_wise(_OPEN, rows, _CLOSE, b"")
        data = bytes_of(lines)
        octets = data.to_pybytes()
        if octets.count(b"\n") > len(rows) or b"\r" in octets:
            data = pa.py_buffer(
                b"".join(line[:-1].translate(_TABLE) + b"\n" for line in lines.to_pylist())
            )
        table = pj.read_json(
            pa.BufferReader(data),
            read_options=pj.ReadOptions(use_threads=False, block_size=data.size + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=pa.schema([(_COLUMN, self.shape.known)]),
                newlines_in_values=False,
                unexpected_field_behavior="error",
            ),
        )
        values = table.column(_COLUMN).combine_chunks()
        if isinstance(values, pa.ChunkedArray):
            values = pa.concat_arrays(values.chunks)
        if len(values) != len(rows) or not _is_finite(values):
            raise _UnsureError
        return values.cast(self.type)

    def by_row(self, data: bytes) -> Any:
        return self.shape.of(parse(data, self.bounds))

    def doubtful(self, rows: pa.Array) -> pa.Array | None:
        """Return which rows may have properties that some rows have and the type has not.

        None if these are not known, or too many.
        """
        names: set[str] = set()
        for data in rows.take(pa.array(range(0, len(rows), len(rows) // _SAMPLE + 1))).to_pylist():
            try:
                self.shape.add_others(parse(data, self.bounds, exact=False), names)
            except PayloadError:
                continue
        if not 0 < len(names) <= _MOST_NAMES:
            return None
        masks = [pc.match_substring(rows, to_text(name).encode()) for name in names]
        return reduce(pc.or_, masks)


def decode_rows(
    payloads: pa.Array,
    type_: pa.DataType,
    by_row: Callable[[bytes], Any],
    bounds: Bounds,
    bulk: JsonDecoder | None = None,
) -> Decoded:
    """Decode payloads, many at once by ``bulk``.

    Rows that cannot be read so are divided, until few remain, which are read one by one.
    """
    rows = payloads.drop_null() if payloads.null_count else payloads
    numbers = np.flatnonzero(np.asarray(payloads.is_valid()))
    reading = _Reading(type_, by_row, bulk, bounds.output_bytes)
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
    bulk: JsonDecoder | None
    left: int
    failures: dict[int, Failure] = field(default_factory=dict)

    def pieces(self, rows: pa.Array, numbers: _Numbers) -> Iterator[pa.Array]:
        """Yield the values of rows that are not null, in order."""
        if not len(rows):
            return
        if self.left < width_of(self.type) * len(rows):
            failure = Failure(Code.BOUND, "the columns of the batch take more bytes than allowed")
            self.failures.update(dict.fromkeys(numbers.tolist(), failure))
            yield pa.nulls(len(rows), self.type)
            return
        is_small = rows.nbytes <= _MOST_BYTES
        values = None
        if is_small and self.bulk is not None:
            values = self._at_once(rows, self.bulk)
            if values is None and len(rows) > _FEW:
                values = self._apart(rows, numbers, self.bulk)
        if values is None and (len(rows) <= _FEW or (is_small and self.bulk is None)):
            values = self._one_by_one(rows, numbers)
        if values is not None:
            self.left -= values.nbytes
            yield values
            return
        step = -(-len(rows) // _PARTS)
        for start in range(0, len(rows), step):
            yield from self.pieces(rows.slice(start, step), numbers[start : start + step])

    def _at_once(self, rows: pa.Array, bulk: JsonDecoder) -> pa.Array | None:
        try:
            return bulk.at_once(rows)
        except Exception:  # any: the rows are read otherwise
            return None

    def _apart(self, rows: pa.Array, numbers: _Numbers, bulk: JsonDecoder) -> pa.Array | None:
        """Return the values of rows, of which doubtful ones are read one by one."""
        found = bulk.doubtful(rows)
        if found is None:
            return None
        mask = np.asarray(found)
        if 2 * mask.sum() > len(rows):
            return self._one_by_one(rows, numbers)
        values = self._at_once(rows.filter(pa.array(~mask)), bulk)
        if values is None:
            return None
        others = self._one_by_one(rows.filter(found), numbers[mask])
        places = np.where(mask, len(values) + np.cumsum(mask) - 1, np.cumsum(~mask) - 1)
        return pa.concat_arrays([values, others]).take(pa.array(places))

    def _one_by_one(self, rows: pa.Array, numbers: _Numbers) -> pa.Array:
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


def _is_finite(values: pa.Array) -> bool:
    """Return whether no number is infinite or none, which pyarrow reads and JSON does not have."""
    kind = values.type
    if pa.types.is_floating(kind):
        return pc.all(pc.is_finite(values)).as_py() is not False
    if pa.types.is_struct(kind):
        return all(_is_finite(values.field(place)) for place in range(kind.num_fields))
    if pa.types.is_list(kind):
        return _is_finite(values.values)
    return True


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
