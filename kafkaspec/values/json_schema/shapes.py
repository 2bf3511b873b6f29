"""Types of JSON values: in Arrow, of one value, and of what several schemas say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import IntEnum
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple
from uuid import UUID

import pyarrow as pa

from kafkaspec.values.decoded import Code, PayloadError
from kafkaspec.values.json_schema.text import to_text

REST: Final = "_rest"
"""Column with the properties that have no column, as JSON text."""

_EXACT: Final = 1 << 53  # integers up to here are exact as floating-point numbers
_WIDE_DIGITS: Final = 38
_DATE_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)"
)


class JsonKind(IntEnum):
    """How the extension reads values: the numbers are those of ``json_reader.h``."""

    NULL = 0
    BOOLEAN = 1
    INTEGER = 2
    NUMBER = 3
    STRING = 4
    TEXT = 5
    UUID = 6
    DATE = 7
    TIME = 8
    MOMENT = 9
    BASE64 = 10
    DECIMAL = 11
    STRUCT = 12
    LIST = 13
    MAP = 14
    PAIRS = 15
    TUPLE = 16


class CoreForm(NamedTuple):
    """How the extension reads values of a type.

    Attributes:
        kind: of values.
        low: the lowest integer; of decimals the scale.
        high: the highest integer; of decimals whether they are also base64; of structs whether
            the last part takes what has no other.
        parts: types of what is in the values, with the names of fields.
    """

    kind: JsonKind
    low: int = 0
    high: int = 0
    parts: Sequence[tuple[str, Shape]] = ()


class Shape:
    """A type of JSON values.

    Attributes:
        type: the Arrow type.
        form: how the extension reads such values as ``read`` does; None if it does not.
        required: whether null and absence are refused, where there is no default.
        default: what null and absence are read as.
    """

    type: pa.DataType
    form: CoreForm | None = None
    required: bool = False
    default: object = None

    def of(self, value: Any) -> Any:
        """Return what Arrow takes for a value or null."""
        if value is not None:
            return self.read(value)
        if self.default is None and self.required:
            raise PayloadError(Code.MISSING_REQUIRED, "null or absent, and not optional")
        return self.default

    def read(self, value: Any) -> Any:
        raise NotImplementedError


def wrong(expected: str, value: object) -> PayloadError:
    """Return the error for a value of another type."""
    kind = {dict: "an object", list: "an array", str: "a string", bool: "a truth value"}
    found = kind.get(type(value), "a number")
    return PayloadError(Code.MALFORMED, f"{found}, not {expected}")


class Integer(Shape):
    """Integers of some bits; a number with a fraction of zero is one."""

    _TYPES: ClassVar = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}

    def __init__(self, bits: int = 64) -> None:
        self.type = self._TYPES[bits]
        self._largest = (1 << (bits - 1)) - 1
        self.form = CoreForm(JsonKind.INTEGER, -self._largest - 1, self._largest)

    def read(self, value: Any) -> Any:
        number = value if type(value) is int else whole(value)
        if -self._largest - 1 <= number <= self._largest:
            return number
        raise PayloadError(Code.RANGE, f"{number} is not an integer of {self.type}")


class WideInteger(Shape):
    type = pa.decimal128(_WIDE_DIGITS, 0)
    form = CoreForm(JsonKind.DECIMAL)

    def read(self, value: Any) -> Any:
        number = value if type(value) is int else whole(value)
        if abs(number) < 10**_WIDE_DIGITS:
            return Decimal(number)
        raise PayloadError(Code.RANGE, f"an integer of more than {_WIDE_DIGITS} digits")


def whole(value: Any) -> int:
    """Return a number without a fraction as an integer, exactly."""
    if isinstance(value, Decimal):
        if value.adjusted() > _WIDE_DIGITS:
            raise PayloadError(Code.RANGE, f"{value} has more digits than an integer here can have")
        if value == value.to_integral_value():
            return int(value)
    elif isinstance(value, float) and value.is_integer():
        if abs(value) <= _EXACT:
            return int(value)
        raise PayloadError(Code.RANGE, f"{value} is not exact")
    elif type(value) is int:
        return value
    raise wrong("an integer", value)


class NumberShape(Shape):
    form = CoreForm(JsonKind.NUMBER)

    def __init__(self, kind: pa.DataType | None = None) -> None:
        self.type = kind or pa.float64()

    def read(self, value: Any) -> Any:
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            try:
                return float(value)
            except OverflowError:
                raise PayloadError(Code.RANGE, "a number beyond floating-point numbers") from None
        raise wrong("a number", value)


class _Plain(Shape):
    """Values of one type of JSON, which stay as they are."""

    def __init__(self, kind: type, type_: pa.DataType, own: JsonKind, expected: str) -> None:
        self.type = type_
        self.form = CoreForm(own)
        self._kind, self._expected = kind, expected

    def read(self, value: Any) -> Any:
        if isinstance(value, self._kind):
            return value
        raise wrong(self._expected, value)


BooleanShape: Final = partial(_Plain, bool, pa.bool_(), JsonKind.BOOLEAN, "a truth value")
String: Final = partial(_Plain, str, pa.string(), JsonKind.STRING, "a string")


class Formatted(Shape):
    """Text of a format that becomes another type."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.type, self._read, own = _FORMATS[name]
        self.form = CoreForm(own)

    def read(self, value: Any) -> Any:
        if not isinstance(value, str):
            raise wrong("a string", value)
        try:
            return self._read(value)
        except (ValueError, OverflowError):
            raise PayloadError(Code.MALFORMED, f"no {self._name}: {value[:40]!r}") from None


def _date_time(text: str) -> datetime:
    found = _DATE_TIME.fullmatch(text)
    if found is None:
        raise ValueError
    day, clock, fraction, zone = found.groups()
    micros = (fraction or "").ljust(6, "0")[:6]
    moment = datetime.fromisoformat(f"{day}T{clock}.{micros}{zone.upper()}")
    return moment.astimezone(UTC)


def _time(text: str) -> time:
    found = time.fromisoformat(text.upper().removesuffix("Z"))
    if found.tzinfo is not None:
        if found.utcoffset():
            raise ValueError
        found = found.replace(tzinfo=None)
    return found


_FORMATS: Final = {
    "date": (pa.date32(), date.fromisoformat, JsonKind.DATE),
    "time": (pa.time64("us"), _time, JsonKind.TIME),
    "date-time": (pa.timestamp("us", "UTC"), _date_time, JsonKind.MOMENT),
    "uuid": (pa.string(), lambda text: str(UUID(text)), JsonKind.UUID),
}
FORMATS: Final = frozenset(_FORMATS)
"""Formats that become types."""


class Null(Shape):
    type = pa.null()
    form = CoreForm(JsonKind.NULL)

    def read(self, value: Any) -> Any:
        raise wrong("null", value)


class JsonText(Shape):
    """Values of any type, or objects, as JSON text; ``is_free`` if the schema says nothing."""

    type = pa.string()
    form = CoreForm(JsonKind.TEXT)

    def __init__(self, *, is_object: bool = False, is_free: bool = False) -> None:
        self.is_object = is_object
        self.is_free = is_free

    def read(self, value: Any) -> Any:
        return to_text(value)


class Array(Shape):
    def __init__(self, item: Shape) -> None:
        self.item = item
        self.type = pa.list_(item.type)
        self.form = CoreForm(JsonKind.LIST, parts=[("", item)])

    def read(self, value: Any) -> Any:
        if not isinstance(value, list):
            raise wrong("an array", value)
        of = self.item.of
        items: list[Any] = []
        try:
            for item in value:
                items.append(of(item))
        except PayloadError as refused:
            refused.path.append(f"[{len(items)}]")
            raise
        return items


class Dictionary(Shape):
    """Objects whose properties have any name and one type."""

    def __init__(self, value: Shape) -> None:
        self.value = value
        self.type = pa.map_(pa.string(), value.type)
        self.form = CoreForm(JsonKind.MAP, parts=[("", String()), ("", value)])

    def read(self, value: Any) -> Any:
        if not isinstance(value, dict):
            raise wrong("an object", value)
        pairs = []
        for name, item in value.items():
            try:
                pairs.append((name, self.value.of(item)))
            except PayloadError as refused:
                refused.path.append(name)
                raise
        return pairs


class Object(Shape):
    """Objects with named properties; others become JSON text in one column."""

    def __init__(self, fields: Mapping[str, Shape], *, rest: bool = True) -> None:
        self.fields = dict(fields)
        self.rest = rest_name(self.fields) if rest else None
        columns = [pa.field(name, shape.type) for name, shape in self.fields.items()]
        if self.rest is not None:
            columns.append(pa.field(self.rest, pa.string()))
        self.type = pa.struct(columns)
        parts = [*self.fields.items(), *([(self.rest, JsonText())] if self.rest else [])]
        self.form = CoreForm(JsonKind.STRUCT, high=self.rest is not None, parts=parts)

    def read(self, value: Any) -> Any:
        if not isinstance(value, dict):
            raise wrong("an object", value)
        found = {}
        known = 0
        name = ""
        try:
            for name, shape in self.fields.items():
                known += name in value
                found[name] = shape.of(value.get(name))
        except PayloadError as refused:
            refused.path.append(name)
            raise
        if self.rest is not None and known < len(value):
            others = {name: item for name, item in value.items() if name not in self.fields}
            found[self.rest] = to_text(others)
        return found


class Tuple(Shape):
    """Arrays whose places have their own types; items after them become JSON text."""

    def __init__(self, items: Iterable[Shape]) -> None:
        self.items = {f"_{place}": shape for place, shape in enumerate(items)}
        columns = [pa.field(name, shape.type) for name, shape in self.items.items()]
        self.type = pa.struct([*columns, pa.field(REST, pa.string())])
        parts = [*self.items.items(), (REST, JsonText())]
        self.form = CoreForm(JsonKind.TUPLE, parts=parts)

    def read(self, value: Any) -> Any:
        if not isinstance(value, list):
            raise wrong("an array", value)
        found = {}
        for (name, shape), item in zip(self.items.items(), value, strict=False):
            try:
                found[name] = shape.of(item)
            except PayloadError as refused:
                refused.path.append(name)
                raise
        if len(value) > len(self.items):
            found[REST] = to_text(value[len(self.items) :])
        return found


def rest_name(names: Iterable[str]) -> str:
    """Return the name of the column of other properties, which no property has."""
    taken = set(names)
    name = REST
    while name in taken:
        name = f"_{name}"
    return name


def merge_all(shapes: Sequence[Shape]) -> Shape:
    """Return the type of values that have all of these types."""
    said = [shape for shape in shapes if not (isinstance(shape, JsonText) and shape.is_free)]
    if not said:
        return shapes[0]
    values = [shape for shape in said if not isinstance(shape, Null)]
    if not values:
        return said[0]
    merged = values[0]
    for shape in values[1:]:
        merged = _pair(merged, shape, all_of=True)
    return merged


def merge_any(shapes: Sequence[Shape]) -> Shape:
    """Return the type of values that have any of these types."""
    for shape in shapes:
        if isinstance(shape, JsonText) and shape.is_free:
            return shape
    values = [shape for shape in shapes if not isinstance(shape, Null)]
    if not values:
        return shapes[0]
    merged = values[0]
    for shape in values[1:]:
        merged = _pair(merged, shape, all_of=False)
    return merged


def _pair(one: Shape, two: Shape, *, all_of: bool) -> Shape:
    if isinstance(one, JsonText) or isinstance(two, JsonText):
        return _with_text(one, two, all_of=all_of)
    if isinstance(one, Object) and isinstance(two, Object):
        return _objects(one, two, all_of=all_of)
    if isinstance(one, Object) and isinstance(two, Dictionary):
        return one if all_of else JsonText(is_object=True)
    if isinstance(one, Dictionary) and isinstance(two, Object):
        return two if all_of else JsonText(is_object=True)
    if isinstance(one, Array) and isinstance(two, Array):
        return Array(_merge(all_of)([one.item, two.item]))
    if isinstance(one, Dictionary) and isinstance(two, Dictionary):
        return Dictionary(_merge(all_of)([one.value, two.value]))
    if type(one) is type(two) and one.type == two.type:
        return one
    numbers = (Integer, WideInteger, NumberShape)
    if isinstance(one, numbers) and isinstance(two, numbers):
        narrow, wide = sorted((one, two), key=lambda shape: numbers.index(type(shape)))
        return narrow if all_of else wide
    return JsonText()


def _with_text(one: Shape, two: Shape, *, all_of: bool) -> Shape:
    """Merge with values of any type, or with objects of which nothing more is known."""
    for text, other in ((one, two), (two, one)):
        if isinstance(text, JsonText) and text.is_object:
            if isinstance(other, Object):
                return other
            if isinstance(other, Dictionary):
                return other if all_of else text
            if isinstance(other, JsonText) and other.is_object:
                return text
    return JsonText()


def _objects(one: Object, two: Object, *, all_of: bool) -> Object:
    fields = dict(one.fields)
    for name, shape in two.fields.items():
        fields[name] = _merge(all_of)([fields[name], shape]) if name in fields else shape
    return Object(fields)


def _merge(all_of: bool) -> Callable[[Sequence[Shape]], Shape]:
    return merge_all if all_of else merge_any
