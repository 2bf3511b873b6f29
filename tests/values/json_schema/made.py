"""Random JSON Schemas, with JSON texts and the rows that these mean by the table of types."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa


class Made(NamedTuple):
    """A schema, the Arrow type it has to become, and what makes a value and its row."""

    schema: Any
    type: pa.DataType
    value: Callable[[], tuple[Any, Any]]


_TEXTS = ("", "a", "Zażółć", "\x00", "😀", 'q"\\', "\t\n", "2025-01-01", "null", "x" * 300)
_LONGS = (0, 1, -1, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63))
_DOUBLES = (0.0, -0.0, 0.1, 1e300, -5e-324, 2.5, 1e21, 123456789.123456789)


def make(random: Random, depth: int = 0, *, bulk: bool = False) -> Made:
    """Return a random schema.

    Args:
        random: source of choices.
        depth: levels around it.
        bulk: only types that can be read at once.
    """
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
    ]
    nested: list[Callable[[], Made]] = [
        lambda: _object(random, depth, bulk),
        lambda: _array(random, depth, bulk),
        lambda: _one_of(make(random, depth + 1, bulk=bulk)),
    ]
    loose: list[Callable[[], Made]] = [
        lambda: _map(random, depth),
        lambda: _tuple(random, depth),
    ]
    if depth == 0:
        return _object(random, depth, bulk)
    choices = scalars + ([] if bulk else others)
    if depth < 3:
        choices += nested + ([] if bulk else loose)
    return random.choice(choices)()


def _same(value: Any) -> tuple[Any, Any]:
    return value, value


def _text(random: Random) -> tuple[Any, Any]:
    value = random.choice((1, "s", [1, {"a": None}], {"z": 1, "a": [True]}, 2.5, False))
    return value, json.dumps(value, separators=(",", ":"))


def _wide(random: Random) -> tuple[Any, Any]:
    value = random.choice((0, -1, 2**63, 10**38 - 1, -(10**30) - 1))
    return value, Decimal(value)


def _one_of(inner: Made) -> Made:
    return inner._replace(schema={"oneOf": [{"type": "null"}, inner.schema]})


def _array(random: Random, depth: int, bulk: bool) -> Made:
    item = make(random, depth + 1, bulk=bulk)

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


def _object(random: Random, depth: int, bulk: bool) -> Made:
    names = random.sample(("a", "b", "_rest", "Ü", "", "a.b", "v", "\x00"), random.randrange(1, 5))
    fields = {name: make(random, depth + 1, bulk=bulk) for name in names}
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
        b"1}" + data,
        b"1}\n" + b'{"v":' + data,
        b"",
        b"null",
    ))  # fmt: skip
