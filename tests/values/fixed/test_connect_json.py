"""Connect's JSON, Debezium's envelopes and CloudEvents: real topics, and damage."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from kafkaspec.values.decoded import Code
from kafkaspec.values.definition import SchemaError
from kafkaspec.values.fixed import fixed
from kafkaspec.values.fixed.connect_json import connect_decoder
from kafkaspec.values.fixed.debezium import unwrap
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
from tests.values.json_schema.made import damaged

_DATA = "org.apache.kafka.connect.data."


def _shown(value: Any) -> Any:
    """Return a value in the form of the expected lines."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, datetime):
        return {
            "timestamp_us": int((value - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1e6)
        }
    if isinstance(value, date):
        return {"date": str(value)}
    if isinstance(value, time):
        return {"time_us": (value.hour * 3600 + value.minute * 60 + value.second) * 1_000_000}
    if isinstance(value, dict):
        return {name: _shown(item) for name, item in value.items() if name != "_rest"}
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return {"map": [[_shown(key), _shown(item)] for key, item in value]}
    return [_shown(item) for item in value] if isinstance(value, list) else value


def test_expected_rows() -> None:
    rows = records("connect-json").values
    decoded = decode("connect-json", rows, rows)
    assert not decoded.failures
    assert [each.name for each in decoded.values.type] == ["Row", "int64", "json"]
    for row, line in zip(decoded.values.to_pylist(), expected("connect-json"), strict=True):
        if line["value"] is None:
            assert row is None
            continue
        name = (
            "json"
            if line.get("schemaless")
            else "Row"
            if isinstance(line["value"], dict)
            else "int64"
        )
        assert [each for each, value in row.items() if value is not None] == [name]
        assert _shown(row[name]) == line["value"]
    texts = decode("connect-json", rows).values.to_pylist()
    assert [None if text is None else json.loads(text) for text in texts] == [
        None if data is None else json.loads(data)["payload"] for data in rows.to_pylist()
    ]


def _row(schema: Any, payload: Any, text: str | None = None) -> bytes:
    text = json.dumps(payload) if text is None else text
    return f'{{"schema":{json.dumps(schema)},"payload":{text}}}'.encode()


def _struct(*fields: dict[str, Any], name: str = "a.T", **more: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields), "optional": False, "name": name, **more}


def _field(name: str, kind: str, /, **more: Any) -> dict[str, Any]:
    return {"field": name, "type": kind, "optional": False, **more}


def test_versions_of_a_schema() -> None:
    old = _struct(_field("id", "int32"), _field("gone", "string"))
    new = _struct(_field("id", "int64"), _field("more", "boolean", optional=True))
    rows = octets(_row(old, {"id": 1, "gone": "g"}), _row(new, {"id": 2**40}))
    decoded = decode("connect-json", rows, rows)
    assert decoded.values.to_pylist() == [
        {"id": 1, "gone": "g", "more": None}, {"id": 2**40, "gone": None, "more": None},
    ]  # fmt: skip
    wider = _struct(_field("id", "int64"), _field("newest", "string"))
    other = _struct(_field("id", "string"))
    stranger = _struct(name="b.T")
    late = [_row(wider, {"id": 1, "newest": "x"}), _row(other, {"id": "1"}), _row(stranger, {})]
    decoded = decode("connect-json", octets(*late, _row(None, 5), _row(new, {"id": 3})), rows)
    assert codes(decoded) == dict.fromkeys(range(4), Code.RESOLUTION)
    assert decoded.values[4].as_py()["id"] == 3


def test_several_schemas() -> None:
    rows = octets(_row(_struct(_field("x", "int8"), name="a.T"), {"x": 1}),
                  _row(_struct(_field("y", "int8"), name="b.T"), {"y": 2}),
                  _row(_struct(_field("z", "int8"), name="c.U"), {"z": 3}))  # fmt: skip
    decoded = decode("connect-json", rows, rows)
    assert decoded.values.to_pylist() == [
        {"a.T": {"x": 1}, "b.T": None, "U": None}, {"a.T": None, "b.T": {"y": 2}, "U": None},
        {"a.T": None, "b.T": None, "U": {"z": 3}},
    ]  # fmt: skip


_DECIMAL = {"name": f"{_DATA}Decimal", "parameters": {"scale": "2"}}
_LONG = "123456789012345678901234567890.12"
_MAP: dict[str, Any] = {"keys": {"type": "int8"}, "values": {"type": "string"}}
_TEXTS: dict[str, Any] = {"keys": {"type": "string"}, "values": {"type": "string"}}
ROWS: tuple[tuple[dict[str, Any], str, Any], ...] = (
    (_field("f", "int8"), "128", Code.RANGE),
    (_field("f", "int8"), "-128", -128),
    (_field("f", "int64"), "9223372036854775808", Code.RANGE),
    (_field("f", "int32"), "1.5", Code.MALFORMED),
    (_field("f", "int32"), "null", Code.MISSING_REQUIRED),
    (_field("f", "int32", optional=True), "null", None),
    (_field("f", "int32", default=7), "null", 7),
    (_field("f", "bytes", default="AQI="), "null", b"\x01\x02"),
    (_field("f", "bytes"), '"AQ"', Code.MALFORMED),
    (_field("f", "bytes"), "1", Code.MALFORMED),
    (_field("f", "float"), '"Infinity"', float("inf")),
    (_field("f", "double"), "1", 1.0),
    (_field("f", "double"), '"1"', Code.MALFORMED),
    (_field("f", "bytes", **_DECIMAL), '"/w=="', Decimal("-0.01")),
    (_field("f", "bytes", **_DECIMAL), '""', Decimal("0.00")),
    (_field("f", "bytes", **_DECIMAL), _LONG, Decimal(_LONG)),
    (_field("f", "bytes", **_DECIMAL), "0.001", Code.RANGE),
    (_field("f", "bytes", **_DECIMAL), "1e40", Code.RANGE),
    (_field("f", "bytes", **_DECIMAL), "1e999999999", Code.RANGE),
    (_field("f", "bytes", **_DECIMAL), f'"{"f" * 400}"', Code.RANGE),
    (_field("f", "int32", name=f"{_DATA}Date"), "-1", date(1969, 12, 31)),
    (_field("f", "int32", name=f"{_DATA}Time"), "86400000", Code.RANGE),
    (_field("f", "int32", name="other.Date"), "5", 5),
    (_field("f", "array", items={"type": "int8"}), "[1,null]", Code.MISSING_REQUIRED),
    (_field("f", "array", items={"type": "int8", "optional": True}), "[1,null]", [1, None]),
    (_field("f", "map", **_MAP), '[[1,"a"],[1,"b"]]', [(1, "b")]),
    (_field("f", "map", **_MAP), "[[null,1]]", Code.MALFORMED),
    (_field("f", "map", **_MAP), "{}", Code.MALFORMED),
    (_field("f", "map", **_TEXTS), '{"a":"b"}', [("a", "b")]),
    (_field("f", "boolean"), "0", Code.MALFORMED),
    (_field("f", "string"), '"\\u0000"', "\x00"),
)  # fmt: skip
"""Fields, their JSON, and what that is or why it is refused."""


def test_each_type() -> None:
    for field, text, wanted in ROWS:
        row = _row(_struct(field), None, f'{{"f":{text}}}')
        decoded = decode("connect-json", octets(row, None, row), octets(row))
        if isinstance(wanted, Code):
            assert codes(decoded) == {0: wanted, 2: wanted}, (field, text)
            assert decoded.failures[0].path.startswith("f") or decoded.failures[0].position
        else:
            assert not decoded.failures, (field, text)
            assert decoded.values.to_pylist() == [{"f": wanted}, None, {"f": wanted}]


def test_rows_that_are_damaged() -> None:
    schema = _struct(_field("id", "int32"))
    good = _row(schema, {"id": 1})
    bad = {
        b"": Code.TRUNCATED,
        good[:-1]: Code.TRUNCATED,
        good + b"x": Code.TRAILING,
        b"{}": Code.NOT_FRAMED,
        b"[]": Code.NOT_FRAMED,
        good[:-1] + b',"more":1}': Code.NOT_FRAMED,
        _row({"type": "struct"}, {}): Code.RESOLUTION,
        _row({"type": "decimal"}, {}): Code.RESOLUTION,
        _row(_struct(_field("id", "int32"), _field("id", "int32")), {}): Code.RESOLUTION,
        _row(5, {}): Code.RESOLUTION,
        _row(schema, None): Code.MISSING_REQUIRED,
        good[:-1] + b'"': Code.MALFORMED,
    }
    rows = octets(good, *bad, good)
    decoded = decode("connect-json", rows, octets(good))
    assert codes(decoded) == dict(enumerate(bad.values(), 1))
    twice = good[:-1] + b',"payload":{"id":2}}'
    other = b'{"payload": {"id": 3}, "schema": ' + json.dumps(schema).encode() + b"}"
    decoded = decode("connect-json", octets(good, twice, other, good), octets(good))
    assert [row["id"] for row in decoded.values.to_pylist()] == [1, 2, 3, 1]


def _scalar(random: Random) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """Return a schema of single values, and some of them."""
    octets_of = [base64.b64encode(random.randbytes(random.randrange(18))).decode() for _ in "12345"]
    match random.randrange(5):
        case 0:
            bits, name = random.choice(
                ((8, "x"), (16, "x"), (32, f"{_DATA}Date"), (32, f"{_DATA}Time"), (64, "x"),
                 (64, f"{_DATA}Timestamp"))
            )  # fmt: skip
            values = (0, -1, 1, 127, 40_000, 10**9, 2**62, -(2**31))
            return {"type": f"int{bits}", "name": name}, values
        case 1:
            kind = random.choice(("float", "double"))
            return {"type": kind}, (0.5, 1, -2.25, 1e300, "-Infinity", 0.1, 123456789.25)
        case 2:
            kind = random.choice(("boolean", "string"))
            return {"type": kind}, (True, False, "", "a\u00e9\n", "x" * 40)
        case 3:
            scale = {"scale": random.choice(("0", "2", "-3", "20", "50"))}
            schema = {"type": "bytes", "name": f"{_DATA}Decimal", "parameters": scale}
            return schema, (0, 1, 1.5, 12.345, 10**20, *octets_of)
    return {"type": "bytes"}, ("AQ=", "AB==", "A", *octets_of)


def _random_schema(random: Random, depth: int = 0) -> tuple[dict[str, Any], Callable[[], Any]]:
    """Return a schema of Connect and what makes payloads of it, most of them good."""
    optional = random.random() < 0.5
    more = {"optional": optional} if random.random() < 0.8 else {"optional": False, "default": None}
    shape = random.choice(("scalar", "scalar", "array", "map", "pairs", "struct"))
    schema: dict[str, Any]
    if depth > 2 or shape == "scalar":
        schema, values = _scalar(random)
        return schema | more, lambda: random.choice((*values, None))
    if shape == "struct":
        fields = {name: _random_schema(random, depth + 1) for name in ("a", 'b"', "c")}
        schema = _struct(*({**own, "field": name} for name, (own, _) in fields.items()))
        return schema | more, lambda: {name: item() for name, (_, item) in fields.items()}
    inner, item = _random_schema(random, depth + 1)
    if shape == "array":
        schema = {"type": "array", "items": inner}
        return schema | more, lambda: [item() for _ in range(random.randrange(4))]
    keys = {"type": "string"} if shape == "map" else {"type": "int32", "optional": True}
    schema = {"type": "map", "keys": keys, "values": inner}
    if shape == "map":
        return schema | more, lambda: {random.choice(("a", "", "\u017c")): item() for _ in "123"}
    return schema | more, lambda: [[random.choice((1, 2, -3, None)), item()] for _ in "12"]


@pytest.mark.slow
def test_random_rows() -> None:
    """In columns, rows are what they are one by one: values and failures."""
    seen = failed = 0
    for seed in range(150):
        random = Random(seed)
        schemas = [_random_schema(random) for _ in range(random.choice((1, 1, 2)))]
        rows: list[bytes | None] = [None]
        for schema, payload in schemas:
            rows += [_row(schema, payload()) for _ in range(12)]
        rows += [damaged(row, random) for row in rows if row and random.random() < 0.3]
        random.shuffle(rows)
        given = pa.array([b"{}", *rows], pa.binary()).slice(1)
        decoder = connect_decoder(given, Bounds())
        found, exact = decoder.decode(given), decoder.decode_by_row(given)
        assert found.failures == exact.failures, seed
        found.values.validate(full=True)
        assert found.values.equals(exact.values), seed
        seen += len(given)
        failed += len(found.failures)
    assert seen - failed > 1000 < failed


def test_debezium() -> None:
    found = records("debezium")
    decoded = decode("debezium", found.values, found.values)
    keys = decode("connect-json", found.keys, found.keys)
    assert not decoded.failures
    assert not keys.failures
    for key, row, line in zip(
        keys.values.to_pylist(), decoded.values.to_pylist(), expected("debezium"), strict=True
    ):
        assert key == line["key"]
        if line.get("tombstone"):
            assert row is None
            continue
        assert (row["op"], row["row"]) == (line["op"], line["after"] or line["before"])
        assert row["source"]["table"] == "t"
        assert row["ts_ms"] == datetime(2025, 1, 1, microsecond=5000, tzinfo=UTC)


def test_debezium_without_schemas() -> None:
    rows = octets(
        b'{"before":null,"after":{"id":1},"op":"c","ts_ms":5,"source":{"db":"x"}}',
        b'{"before":{"id":1},"after":null,"op":"d","ts_ms":6,"source":{"db":"x"}}',
        b'{"before":null,"after":null,"op":"t","ts_ms":7,"source":{"db":"x"}}',
        b"x",
        None,
    )
    decoded = decode("debezium", rows, rows)
    found = decoded.values.to_pylist()
    assert [row and row["op"] for row in found] == ["c", "d", "t", None, None]
    assert [row and row["row"] and row["row"]["id"] for row in found] == [1, 1, None, None, None]
    assert codes(decoded) == {3: Code.MALFORMED}
    decoded = decode("debezium", rows.slice(0, 3), rows.slice(1, 1))  # a sample of deletions
    found = decoded.values.to_pylist()
    assert [row["row"] and row["row"]["id"] for row in found] == [1, 1, None]
    for sample in (
        None,
        octets(b'{"before":null,"after":null,"op":1,"ts_ms":"x"}'),
        octets(b'{"op":"c"}'),
        octets(_row(None, 1)),
        records("connect-json").values,
    ):
        with pytest.raises(SchemaError, match="envelope"):
            fixed("debezium", Options(), sample=sample)
    with pytest.raises(SchemaError, match="before"):
        unwrap(pa.array([{"before": 1, "after": {"x": 1}, "op": "u", "source": None}]))


def test_cloud_events() -> None:
    found = records("cloudevents")
    decoded = decode_records("cloudevents", found)
    assert not decoded.failures
    for row, line in zip(decoded.values.to_pylist(), expected("cloudevents"), strict=True):
        for name in ("id", "type", "source", "time"):
            assert row[name] == line[name]
        assert row["extensions"] == [("part", line["part"])]
        assert json.loads(row["data"]) == line["data"]
        assert row["data_bytes"] is None


def _event(
    value: bytes | None, **headers: bytes | None
) -> tuple[bytes | None, list[dict[str, Any]]]:
    names = {"content": "content-type"}
    return value, [{"key": names.get(n, n), "value": each} for n, each in headers.items()]


_ATTRIBUTES = {"ce_specversion": b"1.0", "ce_id": b"i", "ce_source": b"/", "ce_type": b"t"}
_JSON = {"specversion": "1.0", "id": "i", "source": "/", "type": "t"}
_STRUCTURED = b"application/cloudevents+json; charset=UTF-8"


def _whole(**more: Any) -> tuple[bytes | None, list[Any]]:
    return _event(json.dumps(_JSON | more).encode(), content=_STRUCTURED)


EVENTS: tuple[tuple[tuple[bytes | None, list[Any]], Any], ...] = (
    (_event(b"\xff", **_ATTRIBUTES, content=b"image/png"), (None, b"\xff")),
    (_event(b"[1]", **_ATTRIBUTES, content=b"application/vnd.x+json; a=b"), ("[1]", None)),
    (_event(b"5", **_ATTRIBUTES), ("5", None)),
    (_event(None, **_ATTRIBUTES), (None, None)),
    (_event(b"{", **_ATTRIBUTES), Code.TRUNCATED),
    (_event(b"5", **{**_ATTRIBUTES, "ce_id": b"\xff"}), Code.BAD_UTF8),
    (_event(b"5", **{**_ATTRIBUTES, "ce_id": None}), Code.MISSING_REQUIRED),
    (_event(b"5"), Code.NOT_FRAMED),
    (_event(b"5", content=b"application/json"), Code.NOT_FRAMED),
    (_event(b"5", content=b"application/cloudevents+avro"), Code.UNSUPPORTED),
    (_event(b"5", content=_STRUCTURED), Code.MALFORMED),
    (_event(b"{}", content=_STRUCTURED), Code.MISSING_REQUIRED),
    (_whole(data={"a": None}), ('{"a":null}', None)),
    (_whole(data_base64="AQI="), (None, b"\1\2")),
    (_whole(data_base64="A"), Code.MALFORMED),
    (_whole(data="<a/>", datacontenttype="text/xml"), (None, b"<a/>")),
)  # fmt: skip


def test_events_of_each_kind() -> None:
    values, headers = zip(*(event for event, _ in EVENTS), strict=True)
    rows = octets(*values)
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    decoded = decode_records("cloudevents", Records(rows, rows, pa.array(headers, kind)))
    for row, (event, wanted) in enumerate(EVENTS):
        if isinstance(wanted, Code):
            assert codes(decoded).get(row) == wanted, event
        else:
            found = decoded.values[row].as_py()
            assert (found["data"], found["data_bytes"]) == wanted, event
    nothing = Records(octets(None), octets(None), pa.array([[]], kind))
    assert decode_records("cloudevents", nothing).values.to_pylist() == [None]
