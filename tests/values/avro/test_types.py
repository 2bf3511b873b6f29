"""Types of columns: those of the table in the guide; and the Python package avro as a judge."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import avro.io
import avro.schema
import pyarrow as pa

from kafkaspec.values.avro import compile_avro
from kafkaspec.values.definition import Definition, SchemaType
from kafkaspec.values.options import Options
from tests.extent import examples
from tests.loops import each
from tests.values.avro.made import Maker, text
from tests.values.avro.topics import arrow_type

_ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}


def _logical(kind: str, name: str, **more: int) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


def _fixed(size: int, name: str = "", **more: int) -> dict[str, Any]:
    return {"type": "fixed", "name": "F", "size": size, "logicalType": name, **more}


_TYPES: tuple[tuple[Any, pa.DataType], ...] = (
    ("null", pa.null()),
    ("boolean", pa.bool_()),
    ("int", pa.int32()),
    ("long", pa.int64()),
    ("float", pa.float32()),
    ("double", pa.float64()),
    ("bytes", pa.binary()),
    ("string", pa.string()),
    (_fixed(7), pa.binary(7)),
    (_ENUM, pa.dictionary(pa.int32(), pa.string())),
    ({"type": "array", "items": "int"}, pa.list_(pa.int32())),
    ({"type": "map", "values": "int"}, pa.map_(pa.string(), pa.int32())),
    (["null", "int"], pa.int32()),
    (["int", "null"], pa.int32()),
    (["int"], pa.int32()),
    (
        ["null", "int", "string"],
        pa.struct([("int", pa.int32()), ("string", pa.string())]),
    ),
    (_logical("bytes", "decimal", precision=38, scale=4), pa.decimal128(38, 4)),
    (_logical("bytes", "decimal", precision=39, scale=4), pa.decimal256(39, 4)),
    (_fixed(8, "decimal", precision=18), pa.decimal128(18, 0)),
    (_logical("int", "date"), pa.date32()),
    (_logical("int", "time-millis"), pa.time32("ms")),
    (_logical("long", "time-micros"), pa.time64("us")),
    (_logical("long", "timestamp-millis"), pa.timestamp("ms", "UTC")),
    (_logical("long", "timestamp-micros"), pa.timestamp("us", "UTC")),
    (_logical("long", "timestamp-nanos"), pa.timestamp("ns", "UTC")),
    (_logical("long", "local-timestamp-millis"), pa.timestamp("ms")),
    (_logical("long", "local-timestamp-micros"), pa.timestamp("us")),
    (_logical("long", "local-timestamp-nanos"), pa.timestamp("ns")),
    (_logical("string", "uuid"), pa.string()),
    (_fixed(16, "uuid"), pa.uuid()),
    (
        _fixed(12, "duration"),
        pa.struct([("months", pa.uint32()), ("days", pa.uint32()), ("millis", pa.uint32())]),
    ),
)


def _definition(schema: Any) -> Definition:
    return Definition(SchemaType.AVRO, json.dumps(schema))


@each("schema,wanted", _TYPES)
def test_types(schema: Any, wanted: pa.DataType) -> None:
    record = {"type": "record", "name": "R", "fields": [{"name": "f", "type": schema}]}
    for options in (Options(), Options(depth=2)):
        assert arrow_type(_definition(schema), options) == wanted
        assert arrow_type(_definition(record), options) == pa.struct([("f", wanted)])


def test_options() -> None:
    union = [
        "null",
        {"type": "record", "name": "a.X", "fields": []},
        _ENUM,
        _ENUM | {"name": "a.E"},
    ]
    symbols = pa.dictionary(pa.int32(), pa.string())
    names = [("X", pa.struct([])), ("E", symbols), ("E_2", symbols)]
    assert arrow_type(_definition(union)) == pa.struct(names)
    dense = arrow_type(_definition(union), Options(unions="dense_union"))
    assert pa.types.is_union(dense)
    assert dense.mode == "dense"
    assert [(field.name, field.type) for field in dense] == names
    assert arrow_type(_definition(_ENUM), Options(enums="int")) == pa.int32()
    for count in (2, 40):
        found = compile_avro(_definition(_ENUM), None, Options(enums="int"))
        values = found.decode(pa.array([b"\0", b"\2"] * (count // 2), pa.binary())).values
        assert values.to_pylist() == [0, 1] * (count // 2)


def test_recursion_becomes_columns_and_then_text() -> None:
    node = {
        "type": "record",
        "name": "n.Node",
        "fields": [{"name": "i", "type": "int"}, {"name": "next", "type": ["null", "n.Node"]}],
    }
    inner = pa.struct([("i", pa.int32()), ("next", pa.string())])
    outer = pa.struct([("i", pa.int32()), ("next", inner)])
    decoder = compile_avro(_definition(node), None, Options(depth=1))
    assert decoder.type == outer
    found = decoder.decode(pa.array([b"\2\2\4\2\6\2\10\0"], pa.binary())).values
    rest = '{"i":3,"next":{"n.Node":{"i":4,"next":null}}}'
    assert found.to_pylist() == [{"i": 1, "next": {"i": 2, "next": rest}}]


@each("seed", range(examples(40)))
def test_the_python_package(seed: int) -> None:
    """It reads the bytes that the tests write as the values that they say."""
    maker = Maker(seed, logical=False)
    schema = maker.schema()
    judge = avro.io.DatumReader(avro.schema.parse(text(schema)))
    for _ in range(5):
        raw, shown = maker.value(schema)
        said = judge.read(avro.io.BinaryDecoder(io.BytesIO(raw)))
        assert repr(_plain(said)) == repr(_bare(shown))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _bare(shown: Any) -> Any:
    """Return an expected value as the Python package has it."""
    if isinstance(shown, list):
        return [_bare(item) for item in shown]
    if not isinstance(shown, dict):
        return shown
    match shown:
        case {"union": _, "value": value}:
            return _bare(value)
        case {"base64": raw}:
            return base64.b64decode(raw)
        case {"map": pairs}:
            return {key: _bare(value) for key, value in pairs}
        case {"float": name}:
            return float(name)
    return {key: _bare(shown[key]) for key in sorted(shown)}
