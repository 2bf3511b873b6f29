"""Schemas of Kafka Connect as its JsonConverter writes them, and what they make of JSON.

Kafka: ``JsonConverter.asConnectSchema``, ``JsonConverter.convertToConnect``.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Iterable
from decimal import Context, Decimal, InvalidOperation
from typing import Any, Final

import pyarrow as pa

from kafkaspec.values.decoded import Code, PayloadError
from kafkaspec.values.definition import SchemaError
from kafkaspec.values.json_schema.shapes import (
    Array,
    BooleanShape,
    CoreForm,
    Dictionary,
    Integer,
    JsonKind,
    JsonText,
    NumberShape,
    Object,
    Shape,
    String,
    wrong,
)
from kafkaspec.values.json_schema.text import to_text
from kafkaspec.values.options import Bounds

_NAMES: Final = "org.apache.kafka.connect.data."
_INTEGERS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_NOT_FINITE: Final = {"NaN", "Infinity", "-Infinity"}
_MOST_DIGITS: Final = 76


def schema_shape(schema: Any, bounds: Bounds, level: int = 0) -> Shape:
    """Return the type that a schema describes; null is one of any JSON."""
    if schema is None:
        return JsonText()
    if level > bounds.depth:
        raise SchemaError(f"more than {bounds.depth} levels of nesting")
    if not isinstance(schema, dict):
        raise SchemaError("a schema is not an object")
    shape = _shape(schema, bounds, level)
    shape.required = schema.get("optional", False) is not True
    default = schema.get("default")
    if default is not None:
        try:
            shape.default = shape.read(default)
        except PayloadError as refused:
            raise SchemaError(f"a default is none of its type: {refused}") from None
    return shape


def _shape(schema: dict[str, Any], bounds: Bounds, level: int) -> Shape:
    kind = schema.get("type")
    logical = _LOGICAL.get((schema.get("name"), kind))
    if logical is not None:
        return logical(schema)
    if kind in _INTEGERS:
        return Integer(_INTEGERS[kind])
    match kind:
        case "boolean":
            return BooleanShape()
        case "float" | "float32":
            return _Floating(pa.float32())
        case "double" | "float64":
            return _Floating(pa.float64())
        case "string":
            return String()
        case "bytes":
            return _Base64()
        case "array":
            return Array(schema_shape(_part(schema, "items"), bounds, level + 1))
        case "map":
            keys = _part(schema, "keys")
            key = schema_shape(keys, bounds, level + 1)
            value = schema_shape(_part(schema, "values"), bounds, level + 1)
            is_text = isinstance(keys, dict) and keys.get("type") == "string"
            return Dictionary(value) if is_text else _Pairs(key, value)
        case "struct":
            fields = schema.get("fields")
            if not isinstance(fields, list):
                raise SchemaError("a struct has no fields")
            names = [each.get("field") if isinstance(each, dict) else None for each in fields]
            if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
                raise SchemaError("fields without a name, or two with the same name")
            return Struct(
                (str(name), schema_shape(each, bounds, level + 1))
                for name, each in zip(names, fields, strict=True)
            )
    raise SchemaError(f"no type {str(kind)[:40]!r} in Connect's schemas")


def _part(schema: dict[str, Any], name: str) -> Any:
    if not isinstance(found := schema.get(name), dict):
        raise SchemaError(f"{name} is not a schema")
    return found


class Struct(Object):
    """Structs: what a value has that is not a field is not read, as Kafka does not read it."""

    def __init__(self, fields: Iterable[tuple[str, Shape]]) -> None:
        found = dict(fields)
        super().__init__(found, rest=False)
        if not found:  # no column can be without one
            self.form = None
            self.type = pa.struct([pa.field("_empty", pa.bool_())])


class _Floating(NumberShape):
    """Floating-point numbers, of which those that are none are texts."""

    def read(self, value: Any) -> Any:
        if isinstance(value, str) and value in _NOT_FINITE:
            return float(value)
        return super().read(value)


class _Base64(Shape):
    type = pa.binary()
    form = CoreForm(JsonKind.BASE64)

    def read(self, value: Any) -> Any:
        return _octets(value)


def _octets(value: Any) -> bytes:
    if not isinstance(value, str):
        raise wrong("bytes in base64", value)
    try:
        return b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise PayloadError(Code.MALFORMED, "no base64") from None


class _Decimal(Shape):
    """Decimals of a scale: base64 of the unscaled integer, or numbers."""

    def __init__(self, schema: dict[str, Any]) -> None:
        scale = _scale(schema)
        self._scale = scale
        digits = 38 if abs(scale) <= 38 else _MOST_DIGITS
        if abs(scale) > _MOST_DIGITS:
            raise SchemaError(f"a scale of {scale}")
        self.type = pa.decimal128(digits, scale) if digits == 38 else pa.decimal256(digits, scale)
        self._digits = digits
        if digits == 38:
            self.form = CoreForm(JsonKind.DECIMAL, scale, high=True)
        self._context = Context(prec=2 * _MOST_DIGITS)

    def read(self, value: Any) -> Any:
        if isinstance(value, str):
            unscaled = int.from_bytes(_octets(value), "big", signed=True)
            if abs(unscaled) >= 10**self._digits:
                raise PayloadError(Code.RANGE, f"more than {self._digits} digits")
            return Decimal(unscaled).scaleb(-self._scale, self._context)
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise wrong("a decimal", value)
        number = value if isinstance(value, Decimal) else Decimal(str(value))
        try:
            exact = number.quantize(Decimal(1).scaleb(-self._scale), context=self._context)
        except InvalidOperation:
            raise PayloadError(Code.RANGE, f"more than {self._digits} digits") from None
        if exact != number or abs(exact.scaleb(self._scale, self._context)) >= 10**self._digits:
            raise PayloadError(Code.RANGE, f"{number} is not a decimal of scale {self._scale}")
        return exact


def _scale(schema: dict[str, Any]) -> int:
    parameters = schema.get("parameters")
    text = parameters.get("scale") if isinstance(parameters, dict) else None
    if not isinstance(text, str) or not text.removeprefix("-").isdecimal() or len(text) > 4:
        raise SchemaError("a decimal without a scale")
    return int(text)


class _Time(Integer):
    def __init__(self, kind: pa.DataType, bits: int, most: int | None = None) -> None:
        super().__init__(bits)
        self.type = kind
        self._most = most
        if most is not None:
            self.form = CoreForm(JsonKind.INTEGER, 0, most - 1)

    def read(self, value: Any) -> Any:
        number = super().read(value)
        if self._most is not None and not 0 <= number < self._most:
            raise PayloadError(Code.RANGE, f"{number} is not a time of a day")
        return number


class _Pairs(Shape):
    """Maps whose keys are not strings: arrays of pairs."""

    def __init__(self, key: Shape, value: Shape) -> None:
        self._key = key
        self._value = value
        self.type = pa.map_(key.type, value.type)
        if key.form is not None and key.form.kind in (JsonKind.INTEGER, JsonKind.STRING):
            self.form = CoreForm(JsonKind.PAIRS, parts=[("", key), ("", value)])

    def read(self, value: Any) -> Any:
        if not isinstance(value, list):
            raise wrong("an array of pairs", value)
        pairs = {}
        for place, pair in enumerate(value):
            if not isinstance(pair, list) or len(pair) != 2 or pair[0] is None:
                raise PayloadError(Code.MALFORMED, "an entry is not a pair of a key and a value")
            try:
                key = self._key.read(pair[0])
                pairs[to_text(pair[0])] = (key, self._value.of(pair[1]))
            except PayloadError as refused:
                refused.path.append(f"[{place}]")
                raise
        return list(pairs.values())


_LOGICAL: Final[dict[tuple[Any, Any], Callable[[dict[str, Any]], Shape]]] = {
    (f"{_NAMES}Decimal", "bytes"): _Decimal,
    (f"{_NAMES}Date", "int32"): lambda _: _Time(pa.date32(), 32),
    (f"{_NAMES}Time", "int32"): lambda _: _Time(pa.time32("ms"), 32, 86_400_000),
    (f"{_NAMES}Timestamp", "int64"): lambda _: _Time(pa.timestamp("ms", "UTC"), 64),
}
"""Types of logical types, by name and type."""
