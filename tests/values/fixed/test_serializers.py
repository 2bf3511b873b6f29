"""Kafka's own serializers: rows of a real topic, random ones by ``struct``, damaged ones."""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable
from random import Random
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from kafkaspec.values.decoded import Code
from kafkaspec.values.definition import SchemaError
from kafkaspec.values.fixed import FIXED_FORMATS, RecordDecoder, fixed
from kafkaspec.values.options import Bounds, Options
from tests.values.fixed.records import (
    Records,
    codes,
    decode,
    decode_records,
    expected,
    octets,
    records,
)

_TEXTS = ("", "a", "Zażółć", "\x00", "😀")
NUMBERS = {
    "short": ">h", "int": ">i", "integer": ">i", "long": ">q", "float": ">f", "double": ">d",
}  # fmt: skip


def _number(name: str, random: Random) -> Any:
    if name in ("float", "double"):
        return random.choice((0.0, -0.0, 1.5, math.inf, -math.inf, 2.0**-149, 3.0))
    bits = 8 * struct.calcsize(NUMBERS[name])
    return random.choice((0, -1, 1, -(1 << (bits - 1)), (1 << (bits - 1)) - 1))


def _value(name: str, random: Random) -> tuple[Any, bytes]:
    """Return a random value and the bytes that Kafka's serializer makes of it."""
    if name in NUMBERS:
        value = _number(name, random)
        return value, struct.pack(NUMBERS[name], value)
    if name == "boolean":
        value = random.random() < 0.5
        return value, bytes([value])
    if name == "uuid":
        text = str(UUID(int=random.getrandbits(128)))
        return text, text.encode()
    text = random.choice(_TEXTS)
    return (text.encode() if name == "bytes" else text), text.encode()


def _list(name: str, random: Random) -> tuple[Any, bytes]:
    """Return a list and its bytes, by what ``ListSerializer`` says."""
    items = [
        None if random.random() < 0.3 else _value(name, random) for _ in range(random.randrange(5))
    ]
    size = struct.pack(">i", len(items))
    row = [item and item[0] for item in items]
    if name in NUMBERS or name == "uuid":
        nulls = [place for place, item in enumerate(items) if item is None]
        head = struct.pack(f">bi{len(nulls)}i", 0, len(nulls), *nulls)
        return row, head + size + b"".join(item[1] for item in items if item)
    parts = (b"\xff" * 4 if i is None else struct.pack(">i", len(i[1])) + i[1] for i in items)
    return row, b"\x01" + size + b"".join(parts)


def test_expected_rows() -> None:
    found = records("plain")
    for row, line in enumerate(expected("plain")):
        decoded = decode(line["key"], found.values.slice(row, 1))
        value = decoded.values.to_pylist()[0]
        assert not decoded.failures
        shown = base64.b64encode(value).decode() if isinstance(value, bytes) else value
        assert shown == line["value"], line["key"]


@pytest.mark.parametrize("make", [_value, _list])
def test_random_rows(make: Callable[[str, Random], tuple[Any, bytes]]) -> None:
    names = (*NUMBERS, "boolean", "uuid", "text", "string", "bytes")
    for seed, name in enumerate(names * 3):
        random = Random(seed)
        pairs = [make(name, random) if random.random() < 0.9 else (None, None) for _ in range(200)]
        decoded = decode(
            name if make is _value else f"list<{name}>", octets(*(d for _, d in pairs))
        )
        assert not decoded.failures
        assert repr(decoded.values.to_pylist()) == repr([value for value, _ in pairs]), name


def test_rows_of_a_slice() -> None:
    rows = octets(b"x", b"\0" * 7 + b"\1", None, b"\0" * 7 + b"\2", b"y").slice(1, 3)
    for name, wanted in (("long", [1, None, 2]), ("streams-windowed<bytes>", [b"", None, b""])):
        values = decode(name, rows).values.to_pylist()
        assert [v["key"] if isinstance(v, dict) else v for v in values] == wanted


def test_bits_of_what_is_no_number() -> None:
    for name, data, kind in (
        ("double", b"\x7f\xf0\0\0\0\0\0\x01", pa.int64()), ("float", b"\x7f\x80\0\x01", pa.int32()),
    ):  # fmt: skip
        (bits,) = decode(name, octets(data)).values.view(kind).to_pylist()
        assert bits.to_bytes(len(data), "big") == data


DAMAGED: tuple[tuple[str, bytes, Code], ...] = (
    ("long", b"", Code.TRUNCATED),
    ("long", b"\0" * 7, Code.TRUNCATED),
    ("long", b"\0" * 9, Code.TRAILING),
    ("short", b"\0\0\0", Code.TRAILING),
    ("boolean", b"\2", Code.MALFORMED),
    ("boolean", b"", Code.TRUNCATED),
    ("text", b"a\xff", Code.BAD_UTF8),
    ("text", b"\xed\xa0\x80", Code.BAD_UTF8),
    ("uuid", b"x" * 36, Code.MALFORMED),
    ("uuid", b"0b5c1b70-1f2d-4a86-9c0a-0123456789ab\n", Code.TRAILING),
    ("void", b"", Code.TRAILING),
    ("list<long>", b"", Code.TRUNCATED),
    ("list<long>", b"\2\0\0\0\0", Code.MALFORMED),
    ("list<long>", b"\0\0\0\0\0\0\0\0\1" + b"\0" * 7, Code.TRUNCATED),
    ("list<long>", b"\0\0\0\0\0\0\0\0\1" + b"\0" * 9, Code.TRAILING),
    ("list<long>", b"\0\0\0\0\0\x7f\xff\xff\xff", Code.BOUND),
    ("list<long>", b"\0\x7f\xff\xff\xff\0\0\0\0", Code.TRUNCATED),
    ("list<long>", b"\0\0\0\0\1\0\0\0\5\0\0\0\1", Code.MALFORMED),
    ("list<long>", b"\0\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\2" + b"\0" * 8, Code.MALFORMED),
    ("list<long>", b"\1\0\0\0\1\0\0\0\1x", Code.TRUNCATED),
    ("list<text>", b"\0\0\0\0\0\0\0\0\0", Code.MALFORMED),
    ("list<text>", b"\1\x7f\xff\xff\xff", Code.TRUNCATED),
    ("list<text>", b"\1\0\0\0\1\x7f\xff\xff\xffx", Code.TRUNCATED),
    ("list<text>", b"\1\0\0\0\1\0\0\0\1xy", Code.TRAILING),
    ("list<text>", b"\1\0\0\0\1\0\0\0\1\xff", Code.BAD_UTF8),
    ("list<list<text>>", b"\1\0\0\0\1\0\0\0\1\1", Code.TRUNCATED),
)


def test_damaged_rows() -> None:
    """A damaged row fails alone and among others, which are read."""
    for name, data, code in DAMAGED:
        random = Random(0)
        good = [] if name.startswith("list<list") or name == "void" else [
            (_list(name[5:-1], random) if "<" in name else _value(name, random)) for _ in range(9)
        ]  # fmt: skip
        decoded = decode(name, octets(None, *(item for _, item in good), data))
        assert codes(decoded) == {len(good) + 1: code}, (name, data)
        assert repr(decoded.values.to_pylist()[1:-1]) == repr([value for value, _ in good])


@pytest.mark.slow
def test_random_bytes() -> None:
    """Whatever the bytes are, no format raises an error, and laws hold for each row."""
    random = Random(5)
    choices = (0, 0, 0, 1, 2, 8, 255, 34, 123, 125)
    rows = [bytes(random.choices(choices, k=random.randrange(40))) for _ in range(300)]
    headers = [[{"key": key, "value": b"\3"}] for key in ("v", "ce_id", "content-type")] * 101
    found = Records(octets(None, *rows), octets(None, *rows), pa.array(headers[:301]))
    sample = records("debezium").values
    for name in FIXED_FORMATS:
        for inner in ("text", "long", "list<int>") if "FORMAT" in name else ("",):
            whole = name.replace("FORMAT", inner)
            if isinstance(fixed(whole, Options(), sample=sample), RecordDecoder):
                decode_records(whole, found)
            else:
                decode(whole, found.values, sample)


def test_names() -> None:
    deep = "list<" * 40 + "text" + ">" * 40
    for name in (
        *("", "avro", "list", "list<", "list<>", "list<avro>", "long<text>", "Long"),
        *("list<text,long>", "list<cloudevents>", deep),
    ):
        with pytest.raises(SchemaError, match=r"no format|within no other"):
            fixed(name, Options())
    asked = []

    def inner(name: str) -> Any:
        asked.append(name)
        return fixed("bytes", Options())

    decoder = fixed("streams-windowed<orders-value@3>", Options(), inner=inner)
    assert asked == ["orders-value@3"]
    assert decoder.type.field("key").type == pa.binary()
    with pytest.raises(SchemaError, match="no format"):
        fixed("orders-value@3", Options(), inner=inner)


def test_items_are_bounded() -> None:
    options = Options(bounds=Bounds(items=3))
    decoder = fixed("list<long>", options)
    assert not isinstance(decoder, RecordDecoder)
    data = b"\0\0\0\0\0\0\0\0\4" + bytes(32)
    assert codes(decoder.decode(octets(data))) == {0: Code.BOUND}
