"""Random JSON Schemas, with JSON texts and the rows that these mean by the table of types."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

import pyarrow as pa


class Made(NamedTuple):
    """A schema, the Arrow type it has to become, and what makes a value and its row."""

    schema: Any
    type: pa.DataType
    value: Callable[[], tuple[Any, Any]]


_TEXTS = ("", "a", "Zażółć", "\x00", "😀", 'q"\\', "\t\n", "2025-01-01", "null", "x" * 300)
_LONGS = (0, 1, -1, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63))
_DOUBLES = (0.0, -0.0, 0.1, 1e300, -5e-324, 2.5, 1e21, 123456789.123456789)


def make(random: Random, depth: int = 0) -> Made:
    """Return a random schema; ``depth`` levels are around it. Formats are types in it."""
    scalars: list[Callable[[], Made]] = [
        lambda: Made({"type": "integer"}, pa.int64(), lambda: _same(random.choice(_LONGS))),
        lambda: Made({"type": "number"}, pa.float64(), lambda: _same(random.choice(_DOUBLES))),
        lambda: Made({"type": "boolean"}, pa.bool_(), lambda: _same(random.random() < 0.5)),
        lambda: Made({"type": "string"}, pa.string(), lambda: _same(random.choice(_TEXTS))),
        lambda: Made({"enum": ["a", "b", None]}, pa.string(), lambda: _same(random.choice("ab"))),
        lambda: Made({"type": ["string", "null"]}, pa.string(), lambda: _same("y")),
        lambda: Made({"const": 5}, pa.int64(), lambda: _same(5)),
    ]
    others: list[Callable[[], Made]] = [
        lambda: Made({}, pa.string(), lambda: _text(random)),
        lambda: Made({"type": ["string", "integer"]}, pa.string(), lambda: _text(random)),
        lambda: Made(
            {"type": "integer", "maximum": 10**30}, pa.decimal128(38, 0), lambda: _wide(random)
        ),
        lambda: _formatted(random),
    ]
    nested: list[Callable[[], Made]] = [
        lambda: _object(random, depth),
        lambda: _array(random, depth),
        lambda: _one_of(make(random, depth + 1)),
    ]
    nested += [
        lambda: _map(random, depth),
        lambda: _tuple(random, depth),
    ]
    if depth == 0:
        return _object(random, depth)
    choices = scalars + others
    if depth < 3:
        choices += nested
    return random.choice(choices)()


def _same(value: Any) -> tuple[Any, Any]:
    return value, value


def _text(random: Random) -> tuple[Any, Any]:
    value = random.choice((1, "s", [1, {"a": None}], {"z": 1, "a": [True]}, 2.5, False))
    return value, json.dumps(value, separators=(",", ":"))


def _wide(random: Random) -> tuple[Any, Any]:
    value = random.choice((0, -1, 2**63, 10**38 - 1, -(10**30) - 1))
    return value, Decimal(value)


def _formatted(random: Random) -> Made:
    """Return text of a format, as Python writes what it stands for."""
    name = random.choice(("date-time", "date", "time", "uuid"))
    moment = datetime(1, 1, 2) + timedelta(
        microseconds=random.randrange(10**6 * 86400 * 365 * 9990)
    )

    def value() -> tuple[Any, Any]:
        zone = timezone(timedelta(minutes=random.choice((0, 0, 150, -719))))
        own = moment.replace(microsecond=random.choice((0, 1, moment.microsecond)))
        match name:
            case "date-time":
                local = own.replace(tzinfo=UTC).astimezone(zone)
                return local.isoformat(random.choice(("T", " "))), own.replace(tzinfo=UTC)
            case "date":
                return own.date().isoformat(), own.date()
            case "time":
                return own.time().isoformat() + random.choice(("", "Z", "z")), own.time()
        text = str(UUID(int=random.getrandbits(128)))
        return random.choice((text, text.upper())), text

    kinds = {"date-time": pa.timestamp("us", "UTC"), "date": pa.date32(), "time": pa.time64("us")}
    return Made({"type": "string", "format": name}, kinds.get(name, pa.string()), value)


def _one_of(inner: Made) -> Made:
    return inner._replace(schema={"oneOf": [{"type": "null"}, inner.schema]})


def _array(random: Random, depth: int) -> Made:
    item = make(random, depth + 1)

    def value() -> tuple[Any, Any]:
        pairs = [_maybe(random, item) for _ in range(random.randrange(4))]
        return [one for one, _ in pairs], [two for _, two in pairs]

    return Made({"type": "array", "items": item.schema}, pa.list_(item.type), value)


def _map(random: Random, depth: int) -> Made:
    inner = make(random, depth + 1)

    def value() -> tuple[Any, Any]:
        names = random.sample(_TEXTS, random.randrange(4))
        pairs = [(name, *_maybe(random, inner)) for name in names]
        return {name: one for name, one, _ in pairs}, [(name, two) for name, _, two in pairs]

    schema = {"type": "object", "additionalProperties": inner.schema}
    return Made(schema, pa.map_(pa.string(), inner.type), value)


def _tuple(random: Random, depth: int) -> Made:
    items = [make(random, depth + 1) for _ in range(random.randrange(1, 4))]
    fields = [(f"_{place}", item.type) for place, item in enumerate(items)]

    def value() -> tuple[Any, Any]:
        pairs = [_maybe(random, item) for item in items]
        row: dict[str, Any] = {f"_{place}": two for place, (_, two) in enumerate(pairs)}
        more = [1, "x"] if random.random() < 0.2 else []
        row["_rest"] = '[1,"x"]' if more else None
        return [one for one, _ in pairs] + more, row

    keyword = random.choice(("items", "prefixItems"))
    schema = {"type": "array", keyword: [item.schema for item in items]}
    return Made(schema, pa.struct([*fields, ("_rest", pa.string())]), value)


def _object(random: Random, depth: int) -> Made:
    names = random.sample(("a", "b", "_rest", "Ü", "", "a.b", "v", "\x00"), random.randrange(1, 5))
    fields = {name: make(random, depth + 1) for name in names}
    rest = "__rest" if "_rest" in fields else "_rest"

    def value() -> tuple[Any, Any]:
        given, row = {}, dict.fromkeys([*fields, rest])
        for name, field in fields.items():
            if random.random() < 0.8:
                given[name], row[name] = _maybe(random, field)
        if random.random() < 0.1:
            given["other"], row[rest] = [1, None], '{"other":[1,null]}'
        return given, row

    schema = {"type": "object", "properties": {name: each.schema for name, each in fields.items()}}
    columns = [pa.field(name, each.type) for name, each in fields.items()]
    return Made(schema, pa.struct([*columns, pa.field(rest, pa.string())]), value)


def _maybe(random: Random, made: Made) -> tuple[Any, Any]:
    return (None, None) if random.random() < 0.1 else made.value()


_NUMBERS = (b"1e2", b"1.50", b"-0", b"0.00001", b"1E400", b"01")
_CHARACTERS = (
    b"\\u0061", b"\\ud800", b"\\/", b"\\n", b"\\ud83d\\ude00", b"\\x", b"\xff", b"\xc3\xa9", b"\n",
)  # fmt: skip


def damaged(data: bytes, random: Random) -> bytes:
    """Return a text with something wrong, most of the time."""
    place = random.randrange(len(data) + 1)
    return random.choice((
        data[:place],
        data + data,
        data + b" x",
        data[:place] + bytes([random.randrange(256)]) + data[place:],
        data[:place] + bytes([random.randrange(256)]) + data[place + 1 :],
        data[:-1] + data[-1:] + b"\n",
        data.replace(b'"a"', b'"a":1,"a"', 1),
        data.replace(b"1", b"NaN", 1),
        data.replace(b":", b":\n\r ", 1),
        data.replace(b"0", b"-Infinity", 1),
        data.replace(b"1", b"1.0", 1),
        data.replace(b"1", b"1" * 25, 1),
        data.replace(b"1", random.choice(_NUMBERS), 1),
        data.replace(b'"', b'"' + random.choice(_CHARACTERS), 1),
        data.replace(b"}", b',"a":2}', 1),
        data.replace(b"]", b",1]", 1),
        data.replace(b"]", b",]", 1),
        data.replace(b":", b' : [1, {"b" : 2.50}] ,"c":', 1),
        data.replace(b"-", b"+", 1),
        data.replace(b"0", b"9", 3),
        b"1}" + data,
        b"1}\n" + b'{"v":' + data,
        b"",
        b"null",
    ))  # fmt: skip
