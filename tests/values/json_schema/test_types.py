"""Columns of JSON Schemas, by the table of types; rows of random ones, both ways."""

from __future__ import annotations

import json
import os
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from kafkaspec.values.definition import Definition, SchemaError, SchemaType
from kafkaspec.values.json_schema import compile_json
from kafkaspec.values.json_schema.columns import column_reader
from kafkaspec.values.json_schema.reading import JsonDecoder
from kafkaspec.values.options import Bounds, Options
from tests.values.json_schema.made import damaged, make

SCHEMAS = int(os.environ.get("JSON_SCHEMAS", "150"))
"""Random schemas that are tried each way; 5,000 when the code changes much."""
ROWS = 25

_PLAIN = Options()
_FORMATS = Options(formats=True)
_REST = ("_rest", pa.string())
_AB = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}
_AC = {"type": "object", "properties": {"a": {"type": "integer"}, "c": {"type": "boolean"}}}
_ABC = pa.struct([("a", pa.int64()), ("b", pa.string()), ("c", pa.bool_()), _REST])
_DRAFT = "http://json-schema.org/draft-07/schema#"

TYPES: tuple[tuple[Any, pa.DataType], ...] = (
    (True, pa.string()),
    ({"type": "null"}, pa.null()),
    ({"type": ["integer", "number"]}, pa.float64()),
    ({"type": ["integer", "string"]}, pa.string()),
    ({"type": ["null", "boolean"]}, pa.bool_()),
    ({"type": "integer", "exclusiveMinimum": -1e30}, pa.decimal128(38, 0)),
    ({"type": "integer", "maximum": 2**63 - 1}, pa.int64()),
    ({"type": "string", "format": "date-time"}, pa.string()),
    ({"enum": [1, 2, None]}, pa.int64()),
    ({"enum": ["a", 1]}, pa.string()),
    ({"type": "array"}, pa.list_(pa.string())),
    ({"type": "object"}, pa.string()),
    ({"additionalProperties": {"type": "number"}}, pa.map_(pa.string(), pa.float64())),
    ({"type": "object", "additionalProperties": False}, pa.string()),
    ({"patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False},
     pa.map_(pa.string(), pa.int64())),
    ({"allOf": [_AB, _AC]}, _ABC),
    ({"anyOf": [_AB, _AC, {"type": "null"}]}, _ABC),
    ({"oneOf": [_AB, {"type": "string"}]}, pa.string()),
    ({**_AB, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
     pa.struct([("a", pa.int64()), ("b", pa.string()), _REST])),
    ({**_AB, "allOf": [{"$ref": "#/definitions/more"}], "definitions": {"more": _AC}}, _ABC),
    ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "integer"}}}, pa.int64()),
    ({"$id": "http://x/root.json", "$ref": "part.json",
      "$defs": {"p": {"$id": "part.json", "type": "boolean"}}}, pa.bool_()),
    ({"$ref": "#spot", "$defs": {"p": {"$anchor": "spot", "type": "number"}}}, pa.float64()),
    ({"$ref": "#spot", "definitions": {"p": {"$id": "#spot", "type": "number"}}}, pa.float64()),
    ({"properties": {"_rest": {}, "__rest": {}}},
     pa.struct([("_rest", pa.string()), ("__rest", pa.string()), ("___rest", pa.string())])),
)  # fmt: skip
"""Schemas and their columns, by hand from the table of types."""


def _compiled(schema: Any, options: Options = _PLAIN, imports: Any = None) -> JsonDecoder:
    named = tuple(
        (name, Definition(SchemaType.JSON, json.dumps(each)))
        for name, each in (imports or {}).items()
    )
    decoder = compile_json(Definition(SchemaType.JSON, json.dumps(schema), named), options)
    assert isinstance(decoder, JsonDecoder)
    return decoder


def _rows(*texts: bytes | str | None) -> pa.Array:
    return pa.array([t.encode() if isinstance(t, str) else t for t in texts], pa.binary())


def test_types() -> None:
    for schema, expected in TYPES:
        assert _compiled(schema).type == expected, schema


def test_formats() -> None:
    formats = {"d": "date", "t": "time", "m": "date-time", "u": "uuid", "e": "email"}
    properties = {name: {"type": "string", "format": each} for name, each in formats.items()}
    decoder = _compiled({"properties": properties}, Options(formats=True))
    assert [field.type for field in decoder.type] == [
        pa.date32(), pa.time64("us"), pa.timestamp("us", "UTC"), pa.string(), pa.string(),
        pa.string(),
    ]  # fmt: skip
    uuid = "0B5C1B70-1F2D-4A86-9C0A-0123456789AB"
    good = (
        f'{{"d":"2024-02-29","t":"20:20:39Z","m":"2025-01-01T01:00:00.1234567+01:00","u":"{uuid}"}}'
    )
    bad = ('{"d":"2023-02-29"}', '{"m":"2025-01-01T00:00:00"}', '{"t":"25:00:00"}', '{"u":"x"}')
    found = decoder.decode(_rows(good, *bad))
    row = found.values[0].as_py()
    assert row["m"].isoformat() == "2025-01-01T00:00:00.123456+00:00"
    assert (str(row["d"]), str(row["t"]), row["u"]) == ("2024-02-29", "20:20:39", uuid.lower())
    assert {row: each.path for row, each in found.failures.items()} == dict(enumerate("dmtu", 1))


def test_recursion() -> None:
    tree = {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#"}}}
    with pytest.raises(SchemaError, match="contains itself"):
        _compiled(tree)
    decoder = _compiled(tree, Options(depth=1))
    found = decoder.decode(_rows('{"v":1,"next":{"v":2,"next":{"v":3,"next":null}}}'))
    inner = {"v": 2, "next": '{"v":3,"next":null}', "_rest": None}
    assert found.values.to_pylist() == [{"v": 1, "next": inner, "_rest": None}]
    with pytest.raises(SchemaError, match="contains itself"):
        _compiled({"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/definitions/a"}}})


def test_references_that_lead_nowhere() -> None:
    for reference in ("#/definitions/x", "other.json", "#x", "#/items/7", "//[", "other.json#/a"):
        with pytest.raises(SchemaError, match=r"\$ref"):
            _compiled({"items": [], "$ref": reference})
    part = {"definitions": {"p": {"type": "integer"}}}
    found = _compiled({"$ref": "other.json#/definitions/p"}, imports={"other.json": part})
    assert found.type == pa.int64()


def test_schemas_beyond_limits() -> None:
    doubled: dict[str, Any] = {"d40": {}}
    for level in range(40):
        inner = {"$ref": f"#/$defs/d{level + 1}"}
        doubled[f"d{level}"] = {"properties": {"a": inner, "b": inner}}
    deep: Any = {"type": "integer"}
    for _ in range(100):
        deep = {"items": deep}
    schemas: tuple[Any, ...] = (
        {"$ref": "#/$defs/d0", "$defs": doubled},
        deep,
        [1],
        {"type": "x"},
        {"properties": 5},
        {"anyOf": 5},
        {"items": {"type": {}}},
        {"allOf": [5]},
    )
    for schema in schemas:
        with pytest.raises(SchemaError):
            _compiled(schema)
    for text in ("", "{", "[" * 100_000, '"\ud800"', "5"):
        with pytest.raises(SchemaError):
            compile_json(Definition(SchemaType.JSON, text), Options())
    with pytest.raises(SchemaError, match="bytes"):
        _compiled({"title": "x" * 1000}, Options(bounds=Bounds(schema_bytes=1000)))


@pytest.mark.slow
def test_random_rows() -> None:
    """Rows are what the table of types says, in columns and one by one."""
    others = 0
    for seed in range(SCHEMAS):
        random = Random(seed)
        made = make(random)
        decoder = _compiled(made.schema, _FORMATS)
        assert decoder.type == made.type, (seed, made.schema)
        pairs = [made.value() for _ in range(ROWS)]
        payloads = _rows(*(json.dumps(one, ensure_ascii=random.random() < 0.5) for one, _ in pairs))
        expected = pa.array([two for _, two in pairs], made.type)
        for found in (decoder.decode(payloads), decoder.decode_by_row(payloads)):
            assert not found.failures, (seed, found.failures)
            assert found.values.equals(expected), (seed, made.schema)
        if (reader := column_reader(decoder.shape, Bounds().depth)) is not None:
            others += len(reader.read(payloads)[1])
    # Only numbers with an exponent and many digits within JSON text, and wide integers.
    assert others < SCHEMAS * ROWS / 4


@pytest.mark.slow
def test_damaged_rows() -> None:
    """Both ways have the same values and failures for damaged rows."""
    failed = 0
    for seed in range(SCHEMAS):
        random = Random(seed)
        made = make(random)
        decoder = _compiled(made.schema, _FORMATS)
        texts = [json.dumps(made.value()[0]).encode() for _ in range(ROWS)]
        payloads = _rows(None, *(damaged(t, random) if random.random() < 0.5 else t for t in texts))
        for rows in (payloads, *(payloads.slice(row, 1) for row in range(ROWS))):
            one, two = decoder.decode(rows), decoder.decode_by_row(rows)
            assert one.failures == two.failures, seed
            assert one.values.equals(two.values), (seed, rows.to_pylist())
            one.values.validate(full=True)
            failed += len(one.failures)
    assert failed > SCHEMAS
