"""Hostile payloads are failures of their rows, hostile schemas are errors; both are bounded."""

from __future__ import annotations

import json
import struct
from typing import Any

import pyarrow as pa
import pytest

from kafkaspec.values.avro import compile_avro
from kafkaspec.values.decoded import Code, Decoded
from kafkaspec.values.definition import Definition, SchemaError, SchemaType
from kafkaspec.values.options import Bounds, Options
from tests.loops import each
from tests.values.avro.made import varint
from tests.values.avro.topics import arrow_type

_MANY = 50
_NODE = {
    "type": "record",
    "name": "N",
    "fields": [{"name": "next", "type": ["null", "N"]}, {"name": "i", "type": "int"}],
}
_LIST = {
    "type": "record",
    "name": "L",
    "fields": [{"name": "x", "type": {"type": "array", "items": "L"}}],
}
_TWO = {
    "type": "record",
    "name": "B",
    "fields": [{"name": "a", "type": ["null", "B"]}, {"name": "b", "type": ["null", "B"]}],
}
_EMPTY: dict[str, Any] = {"type": "record", "name": "E", "fields": []}
_ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
_DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
_FIXED = {"type": "fixed", "name": "F", "size": 4}


def _definition(schema: Any) -> Definition:
    return Definition(SchemaType.AVRO, json.dumps(schema))


def _field(schema: Any) -> dict[str, Any]:
    return {"type": "record", "name": "Root", "fields": [{"name": "f", "type": schema}]}


def _decode(schema: Any, payloads: list[bytes | None], options: Options | None = None) -> Decoded:
    found = compile_avro(_definition(schema), None, options).decode(pa.array(payloads, pa.binary()))
    found.values.validate(full=True)
    return found


_BAD = (
    ({"type": "array", "items": "null"}, varint(1 << 62) + b"\0", Code.BOUND),
    ({"type": "array", "items": "null"}, varint(-(1 << 62)) + b"\0\0", Code.BOUND),
    ({"type": "array", "items": _EMPTY}, varint(1 << 40) + b"\0", Code.BOUND),
    ({"type": "array", "items": "null"}, varint(1 << 20) * 2 + b"\0", Code.BOUND),
    ({"type": "array", "items": "int"}, varint(1 << 62) + b"\0", Code.TRUNCATED),
    ({"type": "array", "items": "int"}, varint(-(1 << 63)) + b"\0\0", Code.TRUNCATED),
    ({"type": "array", "items": "int"}, varint(-1) + varint(-1) + b"\0\0", Code.MALFORMED),
    ({"type": "array", "items": "int"}, b"\2\2", Code.TRUNCATED),
    ({"type": "map", "values": "null"}, varint(1 << 62) + b"\0", Code.TRUNCATED),
    ({"type": "map", "values": "int"}, b"\2\2\xff\2\0", Code.BAD_UTF8),
    ("string", varint(1 << 62) + b"a", Code.TRUNCATED),
    ("string", varint(-1) + b"a", Code.MALFORMED),
    ("string", b"\4\xc3\x28", Code.BAD_UTF8),
    ("string", b"\6\xed\xa0\x80", Code.BAD_UTF8),
    ("int", b"\x80" * 11, Code.MALFORMED),
    ("int", varint(1 << 31), Code.MALFORMED),
    ("long", b"\xff" * 9 + b"\x02", Code.MALFORMED),
    ("long", b"\x80" * 9, Code.TRUNCATED),
    ("long", b"", Code.TRUNCATED),
    ("boolean", b"\2", Code.MALFORMED),
    ("double", b"1234567", Code.TRUNCATED),
    (_FIXED, b"123", Code.TRUNCATED),
    (_FIXED, b"12345", Code.TRAILING),
    ("null", b"\0", Code.TRAILING),
    (["null", "int"], b"\4", Code.MALFORMED),
    (["null", "int"], b"\1", Code.MALFORMED),
    (_ENUM, b"\4", Code.MALFORMED),
    (_ENUM, b"\1", Code.MALFORMED),
    (_DECIMAL, varint(2) + (10_000).to_bytes(2, "big"), Code.RANGE),
    (_DECIMAL, varint(40) + b"\x01" * 40, Code.RANGE),
    ({"type": "int", "logicalType": "time-millis"}, varint(86_400_000), Code.RANGE),
    ({"type": "long", "logicalType": "time-micros"}, varint(-1), Code.RANGE),
)
_GOOD = (
    ("long", b"\x82\x80\x80\x80\x80\x80\x80\x80\x80\x00", 1),
    ("int", b"\x83\x80\x00", -2),
    ("long", b"\xff" * 9 + b"\x01", -(1 << 63)),
    ({"type": "array", "items": "int"}, b"\1\x7e\2\0", [1]),
    ({"type": "map", "values": "int"}, b"\4\2a\2\2a\4\0", [("a", 2)]),
    ({"type": "array", "items": "null"}, varint(1000) + b"\0", [None] * 1000),
)


@pytest.mark.slow
@each("schema,payload,code", _BAD)
def test_bad_rows(schema: Any, payload: bytes, code: Code) -> None:
    """Alone, and within many."""
    for count, place in ((1, 0), (_MANY, 33)):
        payloads: list[bytes | None] = [None] * count
        payloads[place] = payload
        found = _decode(_field(schema), payloads)
        assert {row: failure.code for row, failure in found.failures.items()} == {place: code}
        assert found.values.to_pylist() == [None] * count
        failure = found.failures[place]
        assert code == Code.TRAILING or failure.path.startswith("f")
        assert failure.position is not None
        assert 0 <= failure.position <= len(payload)


@each("schema,payload,value", _GOOD)
def test_odd_rows(schema: Any, payload: bytes, value: Any) -> None:
    for count in (1, _MANY):
        found = _decode(_field(schema), [payload] * count)
        assert not found.failures
        assert found.values.to_pylist() == [{"f": value}] * count


def test_places() -> None:
    schema = _field({"type": "array", "items": {"type": "map", "values": _field("string")}})
    schema["fields"][0]["type"]["items"]["values"]["name"] = "Inner"
    payload = b"\4\0" + b"\2\2k" + b"\2\xff" + b"\0\0"
    (failure,) = _decode(schema, [payload]).failures.values()
    assert (failure.code, failure.path, failure.position) == (Code.BAD_UTF8, "f[1]['k'].f", 6)


def test_depth() -> None:
    options = Options(depth=2)
    nested = [b"\2" * (levels - 1) + b"\0" + b"\2" * levels for levels in (64, 65, 100_000)]
    found = _decode(_NODE, [*nested], options)
    assert {row: failure.code for row, failure in found.failures.items()} == {
        1: Code.DEPTH,
        2: Code.DEPTH,
    }
    text = found.values[0].as_py()["next"]["next"]["next"]
    levels = 3
    value = json.loads(text)
    while value["next"] is not None:
        value, levels = value["next"]["N"], levels + 1
    assert (levels, value) == (63, {"next": None, "i": 1})
    wide = Options(depth=1, bounds=Bounds(depth=1_000_000))
    assert _decode(_LIST, [b"\2" * 100_000], wide).failures[0].code == Code.DEPTH


@pytest.mark.slow
def test_output_is_bounded() -> None:
    """A row of few bytes may be large as columns: defaults, and nulls of wide records."""
    options = Options(bounds=Bounds(output_bytes=1 << 20))
    reader = _field("int")
    reader["fields"].append({"name": "g", "type": "string", "default": "x" * 10_000})
    decoder = compile_avro(_definition(_field("int")), _definition(reader), options)
    found = decoder.decode(pa.array([b"\2"] * 200, pa.binary()))
    assert 90 < len(found.values.drop_null()) < 110
    assert {failure.code for failure in found.failures.values()} == {Code.BOUND}
    assert found.values[0].as_py() == {"f": 1, "g": "x" * 10_000}
    wide: dict[str, Any] = {"type": "record", "name": "W"}
    wide["fields"] = [{"name": f"f{i}", "type": "double"} for i in range(1000)]
    items = _field({"type": "array", "items": ["null", wide]})
    rows: list[bytes | None] = [varint(1000) + bytes(1000) + b"\0"] * 40
    found = _decode(items, rows, options)
    assert {failure.code for failure in found.failures.values()} == {Code.BOUND}
    assert len(found.failures) == 40


def test_slices_and_nulls() -> None:
    rows = [(None, None), (b"\xff", None), *((varint(i), i) for i in range(100)), (None, None)]
    rows += [(b"", None)]
    payloads = pa.array([raw for raw, _ in rows], pa.binary())
    decoder = compile_avro(_definition("int"))
    for begin, end in ((0, 104), (1, 104), (1, 30), (60, 104), (103, 104), (0, 0)):
        found = decoder.decode(payloads[begin:end])
        assert found.values.to_pylist() == [value for _, value in rows[begin:end]]
        wrong = [row for row, (raw, _) in enumerate(rows[begin:end]) if raw in {b"\xff", b""}]
        assert sorted(found.failures) == wrong


def test_bytes_without_a_length() -> None:
    raw = [b"\0", b"", b"abc", b"\4ab", None, b"\xff" * 30]
    assert _decode("bytes", raw).values.to_pylist() == raw
    with_lengths = [b"\0", b"\4ab", None, b"\2\0"]
    assert _decode("bytes", with_lengths).values.to_pylist() == [b"", b"ab", None, b"\0"]


def _twice(levels: int, leaf: str = "int") -> dict[str, Any]:
    """A record with two fields of a record with two fields, and so on."""
    inner: Any = leaf
    for level in range(levels):
        again = f"T{level - 1}" if level else leaf
        fields = [{"name": "a", "type": inner}, {"name": "b", "type": again}]
        inner = {"type": "record", "name": f"T{level}", "fields": fields}
    return dict(inner)


_SCHEMAS = (
    ("{", "is not JSON"),
    ("[" * 100_000, "is not JSON"),
    ('{"type":"array","items":' * 150 + '"int"' + "}" * 150, "nested more than"),
    ('"nothing"', "is not defined"),
    ("17", "is not a type"),
    ("{}", "has no type"),
    ('{"type":"record","name":"R"}', "has no fields"),
    ('{"type":"record","fields":[]}', "has no name"),
    ('{"type":"record","name":"R","fields":[{"name":"a"}]}', "has no type"),
    (
        '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]}',
        "two fields",
    ),
    ('{"type":"enum","name":"E","symbols":["A","A"]}', "a symbol twice"),
    ('{"type":"fixed","name":"F","size":-1}', "has no size"),
    ('{"type":"array"}', "has no items"),
    ('["int",["string"]]', "a union is a branch"),
    ('["int","int"]', "two branches"),
    (json.dumps(_NODE), "is within itself"),
    (json.dumps(_twice(30)), "more than 4096 columns"),
    (
        '{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"fixed","name":"R","size":1}}]}',
        "defined twice",
    ),
)


@pytest.mark.slow
@each("text,reason", _SCHEMAS)
def test_bad_schemas(text: str, reason: str) -> None:
    definition = Definition(SchemaType.AVRO, text)
    for made in (compile_avro, arrow_type):
        with pytest.raises(SchemaError, match=reason):
            made(definition)


def test_bounds_of_schemas() -> None:
    part = _definition(_FIXED)
    whole = Definition(SchemaType.AVRO, '"F"', (("F", part),))
    assert arrow_type(whole) == pa.binary(4)
    with pytest.raises(SchemaError, match="more than 10 bytes"):
        arrow_type(whole, Options(bounds=Bounds(schema_bytes=10)))
    with pytest.raises(SchemaError, match="more than 0 schemas"):
        arrow_type(whole, Options(bounds=Bounds(schemas=0)))
    with pytest.raises(SchemaError, match="is not Avro"):
        arrow_type(Definition(SchemaType.JSON, "{}"))
    with pytest.raises(SchemaError, match="more than 4096 columns"):
        arrow_type(_definition(_TWO), Options(depth=40))


@pytest.mark.slow
def test_skipped_types_may_multiply() -> None:
    """A field that the reader does not want is no column, however large its type is."""
    reader = {"type": "record", "name": "Root", "fields": [{"name": "g", "type": "int"}]}
    for leaf, code in (("int", Code.TRUNCATED), ("null", Code.BOUND)):
        writer = _field(_twice(30, leaf))
        writer["fields"].append({"name": "g", "type": "int"})
        decoder = compile_avro(
            _definition(writer), _definition(reader), Options(bounds=Bounds(items=1000))
        )
        assert decoder.decode(pa.array([b"\0"], pa.binary())).failures[0].code == code


def test_a_nan_keeps_its_bits() -> None:
    raw = struct.pack("<I", 0x7FA00001)
    for count in (1, _MANY):
        found = _decode("float", [raw] * count).values
        assert found.buffers()[1].to_pybytes()[:4] == raw


def test_wrong_logical_types_are_left_out() -> None:
    cases = (
        ({"type": "string", "logicalType": "date"}, pa.string()),
        ({"type": "long", "logicalType": "light-years"}, pa.int64()),
        ({"type": "fixed", "name": "F", "size": 11, "logicalType": "duration"}, pa.binary(11)),
        (
            {"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 5},
            pa.binary(2),
        ),
        ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}, pa.binary()),
        ({"type": "bytes", "logicalType": "decimal", "precision": 77}, pa.binary()),
        ({"type": "bytes", "logicalType": "decimal", "precision": 76}, pa.decimal256(76, 0)),
    )
    for schema, wanted in cases:
        assert arrow_type(_definition(schema)) == wanted


@pytest.mark.slow
def test_schemas_that_meet_too_often() -> None:
    """Unions of many records, all alike, and a long default at many places."""
    fields = [{"name": f"f{j}", "type": "int"} for j in range(9)]
    records = [{"type": "record", "name": f"R{i}", "fields": fields} for i in range(400)]
    text = json.dumps([record | {"name": "Other" + str(record["name"])} for record in records])
    with pytest.raises(SchemaError, match="too large"):
        compile_avro(_definition(records), Definition(SchemaType.AVRO, text))
    inner = {"type": "record", "name": "I", "fields": [{"name": "a", "type": "int"}]}
    names = [f"f{i}" for i in range(1000)]
    writer, reader = (
        _field(inner)
        | {"fields": [{"name": name, "type": "I" if name != "f0" else kind} for name in names]}
        for kind in (
            inner,
            inner | {"fields": [{"name": "b", "type": "string", "default": "x" * 100_000}]},
        )
    )
    with pytest.raises(SchemaError, match="defaults take more"):
        compile_avro(_definition(writer), _definition(reader))
