"""Values of Connect's JsonConverter, each of which brings its schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.nested import nulls_of, rebuilt
from kafkaspec.values.decoded import Code, Decoded, PayloadError
from kafkaspec.values.definition import SchemaError
from kafkaspec.values.fixed.connect_schema import schema_shape
from kafkaspec.values.json_schema.columns import ColumnReader, RowNumbers, column_reader
from kafkaspec.values.json_schema.reading import decode_rows, shape_of
from kafkaspec.values.json_schema.shapes import JsonText, Shape
from kafkaspec.values.json_schema.text import parse, to_text
from kafkaspec.values.options import Bounds

SCHEMA: Final = "schema"
PAYLOAD: Final = "payload"
SAMPLE: Final = 1000
"""Values that the type of a column is decided from."""

_BEGIN: Final = f'{{"{SCHEMA}":'.encode()
_MIDDLE: Final = f',"{PAYLOAD}":'.encode()
_END: Final = b"}"
_SCHEMALESS: Final = "json"
_MOST_PREFIXES: Final = 16
"""Schemas whose rows are read in columns."""
_TRIED: Final = 8
"""Rows that are looked at for the next of them."""


@dataclass(frozen=True, slots=True)
class ConnectJsonDecoder:
    """Decodes values of the JsonConverter with schemas.

    Attributes:
        types: one type for the name of each schema. With several of them the column is a struct of
            nullable fields: the last part of a name, or all of it where two end alike.
        schemaless: the type of values without a schema.
        bounds: limits.
    """

    types: Mapping[str, pa.DataType]
    schemaless: Shape
    bounds: Bounds

    @property
    def type(self) -> pa.DataType:
        if not self.types:
            return self.schemaless.type
        if len(self.types) == 1:
            return next(iter(self.types.values()))
        return pa.struct([(self.field(name), kind) for name, kind in self.types.items()])

    def field(self, name: str) -> str:
        last = name.rpartition(".")[2]
        alike = sum(other.rpartition(".")[2] == last for other in self.types)
        return last if alike < 2 else name

    def decode(self, payloads: pa.Array) -> Decoded:
        """Decode payloads, those of one schema in columns; each schema is compiled once."""
        rows = _Rows(self)
        return decode_rows(payloads, self.type, rows.read, self.bounds, rows.bulk)

    def decode_by_row(self, payloads: pa.Array) -> Decoded:
        return decode_rows(payloads, self.type, _Rows(self).read, self.bounds)


def connect_decoder(sample: pa.Array | None, bounds: Bounds) -> ConnectJsonDecoder:
    """Return the decoder of values that look like a sample.

    Schemas of one name are versions: the column has the fields of all of them, and where types
    differ that of the last one. Without a sample the column has JSON text.
    """
    types: dict[str, pa.DataType] = {}
    bare: list[Any] = []
    rows = [] if sample is None else sample.drop_null().slice(0, SAMPLE).to_pylist()
    for data in rows:
        try:
            schema, payload = _framed(parse(data, bounds))
            shape = schema_shape(schema, bounds)
        except (PayloadError, SchemaError):
            continue
        if schema is None:
            bare.append(payload)
            continue
        name = _name_of(schema)
        types[name] = merged(types[name], shape.type) if name in types else shape.type
    schemaless = shape_of(bare) if bare else JsonText()
    if bare:
        types[_SCHEMALESS] = schemaless.type
    return ConnectJsonDecoder(types, schemaless, bounds)


def _name_of(schema: Mapping[str, Any]) -> str:
    return str(schema.get("name") or schema.get("type"))


_Read = Callable[[Any], Any]
"""Returns what Arrow takes for a payload, or refuses it."""


@dataclass(frozen=True, slots=True)
class _Way:
    """How payloads of one schema are read.

    Attributes:
        read: reads one.
        place: of several types, the field of the column that they have.
        columns: reads many, if they can be read so.
    """

    read: _Read
    place: str | None = None
    columns: ColumnReader | None = None

    def values(
        self, rows: pa.Array, prefix: bytes, kind: pa.DataType
    ) -> tuple[pa.Array, RowNumbers]:
        """Return the column of rows after a prefix, and the numbers of those that it has not."""
        assert self.columns is not None
        values, others = self.columns.read(rows, len(prefix), len(_END))
        if self.place is None:
            return fitted(values, kind), others
        own = pa.StructArray.from_arrays([values], [self.place])
        return fitted(own, kind), others


@dataclass(slots=True)
class _Rows:
    """Reads rows one by one, and keeps what it knows of their schemas."""

    decoder: ConnectJsonDecoder
    by_prefix: dict[bytes, _Way] = field(default_factory=dict)
    by_schema: dict[str, _Way] = field(default_factory=dict)
    last: bytes = b""

    def read(self, data: bytes) -> Any:
        bounds = self.decoder.bounds
        for prefix in (self.last, *self.by_prefix):
            if prefix and data.startswith(prefix) and data.endswith(_END):
                try:
                    value = parse(data[len(prefix) : -len(_END)], bounds)
                except PayloadError:
                    break  # explained by what follows
                self.last = prefix
                return self.by_prefix[prefix].read(value)
        schema, payload = _framed(parse(data, bounds))
        text = to_text(schema)
        way = self.by_schema.get(text)
        if way is None:
            way = self._way(schema)
            if len(self.by_schema) < bounds.decoders:
                self.by_schema[text] = way
                self._keep_prefix(data, text, way)
        return way.read(payload)

    def bulk(self, rows: pa.Array) -> tuple[pa.Array, RowNumbers]:
        """Read rows that begin alike in columns; see ``reading.Bulk``."""
        kind, left = self.decoder.type, np.arange(len(rows))
        pieces: list[pa.Array] = [pa.array([], kind)]
        places: list[RowNumbers] = []
        others: list[RowNumbers] = []
        closed = pc.ends_with(rows, pattern=_END)
        for _ in range(_MOST_PREFIXES):
            prefix = self._prefix(rows, left)
            if prefix is None:
                break
            found = np.asarray(pc.and_(pc.starts_with(rows, pattern=prefix), closed))
            chosen = left[found[left]]
            some = rows if len(chosen) == len(rows) else rows.take(pa.array(chosen))
            values, unsure = self.by_prefix[prefix].values(some, prefix, kind)
            pieces.append(values)
            places.append(np.delete(chosen, unsure))
            others.append(chosen[unsure])
            left = left[~found[left]]
        order = np.concatenate(places) if places else left[:0]
        values = pa.concat_arrays(pieces)
        if (np.diff(order) < 0).any():
            values = values.take(pa.array(np.argsort(order)))
        return values, np.sort(np.concatenate([left, *others]))

    def _prefix(self, rows: pa.Array, left: RowNumbers) -> bytes | None:
        """Return how one of the rows begins whose payloads can be read in columns."""
        for row in left[:_TRIED].tolist():
            data = rows[row].as_py()
            with suppress(PayloadError, UnicodeDecodeError):
                self.read(data)
            for prefix, way in self.by_prefix.items():
                if way.columns is not None and data.startswith(prefix) and data.endswith(_END):
                    return prefix
        return None

    def _way(self, schema: Any) -> _Way:
        types, schemaless = self.decoder.types, self.decoder.schemaless
        if not types:
            return _Way(JsonText().of)
        if schema is None:
            name, shape = _SCHEMALESS, schemaless
            refusal = "" if _SCHEMALESS in types else "no schema, unlike the column"
        else:
            try:
                shape = schema_shape(schema, self.decoder.bounds)
            except SchemaError as error:
                return _Way(_refusing(f"its schema: {error}"))
            name, refusal = _name_of(schema), ""
            if name not in types:
                refusal = f"its schema {name!r} is none of the column"
        refusal = refusal or misfit(shape.type, types[name])
        if refusal:
            return _Way(_refusing(refusal))
        columns = column_reader(shape, self.decoder.bounds.depth)
        if len(types) == 1:
            return _Way(shape.of, columns=columns)
        place = self.decoder.field(name)
        return _Way(lambda payload: {place: shape.of(payload)}, place, columns)

    def _keep_prefix(self, data: bytes, text: str, way: _Way) -> None:
        end = data.find(_MIDDLE)
        if data.startswith(_BEGIN) and end > 0:
            try:
                schema = orjson.loads(data[len(_BEGIN) : end])
            except orjson.JSONDecodeError:
                return
            if to_text(schema) == text:
                self.by_prefix[data[: end + len(_MIDDLE)]] = way


def _refusing(reason: str) -> _Read:
    def refuse(_: Any) -> Any:
        raise PayloadError(Code.RESOLUTION, reason)

    return refuse


def _framed(value: Any) -> tuple[Any, Any]:
    if not isinstance(value, dict) or value.keys() != {SCHEMA, PAYLOAD}:
        raise PayloadError(Code.NOT_FRAMED, f"no object of {SCHEMA} and {PAYLOAD}")
    return value[SCHEMA], value[PAYLOAD]


def merged(one: pa.DataType, two: pa.DataType) -> pa.DataType:
    """Return a type for values of two versions of a schema; the second one counts more."""
    if pa.types.is_struct(one) and pa.types.is_struct(two):
        fields = {each.name: each.type for each in one}
        for each in two:
            inner = fields.get(each.name)
            fields[each.name] = each.type if inner is None else merged(inner, each.type)
        return pa.struct(list(fields.items()))
    if pa.types.is_list(one) and pa.types.is_list(two):
        return pa.list_(merged(one.value_type, two.value_type))
    if pa.types.is_map(one) and pa.types.is_map(two):
        key = merged(one.key_type, two.key_type)
        return pa.map_(key, merged(one.item_type, two.item_type))
    return one if not misfit(two, one) else two


def fitted(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values of a type that has a place in another one, in that; see ``misfit``."""
    if values.type == kind:
        return values
    if pa.types.is_struct(kind):
        given = {each.name: values.field(place) for place, each in enumerate(values.type)}
        children = [
            fitted(given[each.name], each.type) if each.name in given
            else pa.nulls(len(values), each.type)
            for each in kind
        ]  # fmt: skip
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=nulls_of(values))
    if pa.types.is_nested(kind):
        return rebuilt(values, kind, lambda part, to: fitted(part, to.type), nulls_of(values))
    return values.cast(kind)


def misfit(given: pa.DataType, wanted: pa.DataType) -> str:
    """Return why values of a type have no place in a column of another, "" if they have."""
    if given == wanted:
        return ""
    if pa.types.is_struct(given) and pa.types.is_struct(wanted):
        inner = {each.name: each.type for each in wanted}
        for each in given:
            if each.name not in inner:
                return f"its field {each.name!r} is none of the column"
            if problem := misfit(each.type, inner[each.name]):
                return f"{each.name}: {problem}"
        return ""
    if pa.types.is_list(given) and pa.types.is_list(wanted):
        return misfit(given.value_type, wanted.value_type)
    if pa.types.is_map(given) and pa.types.is_map(wanted):
        return misfit(given.key_type, wanted.key_type) or misfit(given.item_type, wanted.item_type)
    for is_kind in (pa.types.is_signed_integer, pa.types.is_floating):
        if is_kind(given) and is_kind(wanted) and given.bit_width <= wanted.bit_width:
            return ""
    return f"{given} in a column of {wanted}"
