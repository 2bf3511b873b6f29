"""Values of Connect's JsonConverter, each of which brings its schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import pyarrow as pa

from kafkaspec.values.decoded import Code, Decoded, PayloadError
from kafkaspec.values.definition import SchemaError
from kafkaspec.values.fixed.connect_schema import schema_shape
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
        """Decode payloads; each schema is compiled once."""
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


@dataclass(slots=True)
class _Rows:
    """Reads rows one by one, and keeps what it knows of their schemas."""

    decoder: ConnectJsonDecoder
    by_prefix: dict[bytes, _Read] = field(default_factory=dict)
    by_schema: dict[str, _Read] = field(default_factory=dict)
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
                return self.by_prefix[prefix](value)
        schema, payload = _framed(parse(data, bounds))
        text = to_text(schema)
        read = self.by_schema.get(text)
        if read is None:
            read = self._reader(schema)
            if len(self.by_schema) < bounds.decoders:
                self.by_schema[text] = read
                self._keep_prefix(data, text, read)
        return read(payload)

    def _reader(self, schema: Any) -> _Read:
        types, schemaless = self.decoder.types, self.decoder.schemaless
        if not types:
            return JsonText().of
        if schema is None:
            name, shape = _SCHEMALESS, schemaless
            refusal = "" if _SCHEMALESS in types else "no schema, unlike the column"
        else:
            try:
                shape = schema_shape(schema, self.decoder.bounds)
            except SchemaError as error:
                return _refusing(f"its schema: {error}")
            name, refusal = _name_of(schema), ""
            if name not in types:
                refusal = f"its schema {name!r} is none of the column"
        refusal = refusal or misfit(shape.type, types[name])
        if refusal:
            return _refusing(refusal)
        place = self.decoder.field(name)
        return (lambda payload: {place: shape.of(payload)}) if len(types) > 1 else shape.of

    def _keep_prefix(self, data: bytes, text: str, read: _Read) -> None:
        end = data.find(_MIDDLE)
        if data.startswith(_BEGIN) and end > 0:
            try:
                schema = orjson.loads(data[len(_BEGIN) : end])
            except orjson.JSONDecodeError:
                return
            if to_text(schema) == text:
                self.by_prefix[data[: end + len(_MIDDLE)]] = read


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
