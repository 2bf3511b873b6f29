"""JSON as typed columns, against pyarrow's reader, and `json` and `orjson`, which make objects."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from typing import Any
from uuid import UUID

import orjson
import pyarrow as pa
import pyarrow.json as pj

from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number
from benchmarks.timing import Candidate, measure
from kafkaspec.values.definition import Definition, SchemaType
from kafkaspec.values.fixed import RecordDecoder, fixed
from kafkaspec.values.fixed.connect_json import connect_decoder
from kafkaspec.values.json_schema.reading import JsonDecoder
from kafkaspec.values.json_schema.schema import compile_schema
from kafkaspec.values.json_schema.shapes import REST
from kafkaspec.values.options import Options

_ROWS = 100_000
_BULK_GATE = 1.5
_RATIO_GATE = 12.0
_ORJSON_GATE = 6.0
_AT_ONCE, _BY_ROW, _OTHERS = "JSON Schema", "JSON Schema, row by row", "JSON Schema, others in 1 %"
_RICH, _RICH_ORJSON = "JSON Schema with maps, tuples, formats", "`orjson.loads` of these"
_CONNECT, _CONNECT_ORJSON = "Connect's JSON with its schema", "`orjson.loads` of this"
_JSON, _ORJSON, _BULK = "`json.loads`", "`orjson.loads`", "`pyarrow.json` alone"
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "customer": {"type": "string"},
        "amount": {"type": "number"},
        "paid": {"type": "boolean"},
        "created": {"type": "string", "format": "date-time"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "note": {"type": ["string", "null"]},
        "address": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "zip": {"type": "string"}},
        },
        "count": {"type": "integer"},
    },
}


_RICH_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "format": "uuid"},
        "at": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "place": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}]},
        "more": {},
    },
}
_CONNECT_NAMES = "org.apache.kafka.connect.data."
_CONNECT_SCHEMA: dict[str, Any] = {
    "type": "struct",
    "name": "Order",
    "optional": False,
    "fields": [
        {"field": "id", "type": "int64", "optional": False},
        {"field": "customer", "type": "string", "optional": True},
        {"field": "price", "type": "bytes", "name": f"{_CONNECT_NAMES}Decimal",
         "parameters": {"scale": "2"}, "optional": True},
        {"field": "placed", "type": "int64", "name": f"{_CONNECT_NAMES}Timestamp",
         "optional": True},
        {"field": "tags", "type": "array", "items": {"type": "string"}, "optional": True},
        {"field": "labels", "type": "map", "keys": {"type": "string"},
         "values": {"type": "string"}, "optional": True},
    ],
}  # fmt: skip


def _rich_rows(count: int) -> list[bytes]:
    chance = random.Random(20250102)
    return [
        orjson.dumps(
            {
                "id": str(UUID(int=chance.getrandbits(128))),
                "at": f"2025-01-{row % 28 + 1:02}T12:00:00.{row % 1000:03}Z",
                "day": f"2025-02-{row % 28 + 1:02}",
                "labels": {f"label-{place}": f"value {row}" for place in range(row % 4)},
                "place": [round(chance.random() * 90, 5), round(chance.random() * 180, 5)],
                "more": {"source": "web", "retries": row % 3} if row % 2 else None,
            }
        )
        for row in range(count)
    ]


def _connect_rows(count: int) -> list[bytes]:
    chance = random.Random(20250103)
    head = b'{"schema":' + orjson.dumps(_CONNECT_SCHEMA) + b',"payload":'
    payloads = (
        {
            "id": row,
            "customer": f"customer-{chance.randrange(10_000)}",
            "price": b64encode(chance.randrange(1 << 20).to_bytes(3, "big")).decode(),
            "placed": 1_735_689_600_000 + row,
            "tags": ["new", "web"][: row % 3],
            "labels": {"a": "b", "c": "d"} if row % 2 else None,
        }
        for row in range(count)
    )
    return [head + orjson.dumps(payload) + b"}" for payload in payloads]


def _in_pyarrow(lines: pa.Buffer, schema: pa.Schema) -> int:
    """Read lines with pyarrow's reader, which reads what a schema has and nothing else."""
    found = pj.read_json(
        pa.BufferReader(lines),
        read_options=pj.ReadOptions(use_threads=False, block_size=lines.size + 1),
        parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
    )
    return int(found.num_rows)


def _without_rest(kind: pa.DataType) -> pa.DataType:
    """Return the type without the columns of other properties."""
    if pa.types.is_struct(kind):
        return pa.struct(
            [(field.name, _without_rest(field.type)) for field in kind if field.name != REST]
        )
    return kind


def _decoder(schema: Any, options: Options) -> JsonDecoder:
    definition = Definition(SchemaType.JSON, json.dumps(schema))
    return JsonDecoder(compile_schema(definition, options), options.bounds)


def rows(count: int) -> list[bytes]:
    """Records of nine fields as JSON of about 190 bytes."""
    chance = random.Random(20250101)
    return [
        json.dumps(
            {
                "id": row,
                "customer": f"customer-{chance.randrange(10_000)}",
                "amount": round(chance.random() * 1000, 2),
                "paid": chance.random() < 0.5,
                "created": f"2025-01-{row % 28 + 1:02}T12:00:00Z",
                "tags": ["new", "web"][: chance.randrange(3)],
                "note": None if row % 3 else "leave at the door",
                "address": {"street": "Main Street 1", "zip": f"{chance.randrange(99_999):05}"},
                "count": chance.randrange(100),
            },
            separators=(",", ":"),
        ).encode()
        for row in range(count)
    ]


def run(settings: Settings) -> Outcome:
    """Rates of one thread."""
    outcome = Outcome()
    count = min(_ROWS, 1000) if settings.quick else _ROWS
    texts = rows(count)
    payloads = pa.array(texts, pa.binary())
    mixed = pa.array(
        [text if row % 100 else text[:-1] + b',"more":1}' for row, text in enumerate(texts)],
        pa.binary(),
    )
    decoder, rich = _decoder(_SCHEMA, Options()), _decoder(_RICH_SCHEMA, Options(formats=True))
    rich_texts, connect_texts = _rich_rows(count), _connect_rows(count)
    rich_rows, connect_rows = (
        pa.array(rich_texts, pa.binary()),
        pa.array(connect_texts, pa.binary()),
    )
    connect = connect_decoder(connect_rows, Options().bounds)
    for own, given in ((decoder, payloads), (rich, rich_rows), (connect, connect_rows)):
        found, exact = own.decode(given), own.decode_by_row(given)
        if found.failures or not found.values.equals(exact.values):
            raise AssertionError("both ways have other values")
    lines = pa.py_buffer(b"\n".join(texts))
    schema = pa.schema(list(_without_rest(decoder.type)))
    longs = pa.array([row.to_bytes(8, "big") for row in range(count)], pa.binary())
    long = fixed("long", Options())
    assert not isinstance(long, RecordDecoder)
    candidates = [
        Candidate(_AT_ONCE, lambda: len(decoder.decode(payloads).values), count),
        Candidate(_BULK, lambda: _in_pyarrow(lines, schema), count),
        Candidate(_RICH, lambda: len(rich.decode(rich_rows).values), count),
        Candidate(_RICH_ORJSON, lambda: len([orjson.loads(text) for text in rich_texts]), count),
        Candidate(_CONNECT, lambda: len(connect.decode(connect_rows).values), count),
        Candidate(
            _CONNECT_ORJSON, lambda: len([orjson.loads(text) for text in connect_texts]), count
        ),
        Candidate(_JSON, lambda: len([json.loads(text) for text in texts]), count),
        Candidate(_ORJSON, lambda: len([orjson.loads(text) for text in texts]), count),
        Candidate(_BY_ROW, lambda: len(decoder.decode_by_row(payloads).values), count),
        Candidate(_OTHERS, lambda: len(decoder.decode(mixed).values), count),
        Candidate("`long` of Kafka's serializer", lambda: len(long.decode(longs).values), count),
    ]
    times = measure(candidates, settings.rounds(5))
    table = Table(
        "JSON of nine fields, one thread",
        ("work", "ns a record", "million records a second"),
        notes=[
            "`json` and `orjson` make Python objects, ours makes Arrow columns, and so does"
            " `pyarrow.json`, of lines in memory and with the schema given. In 1 % of the rows of"
            " one line a property is none of the schema, and becomes JSON text. With maps, tuples"
            " and formats, and of Connect's converter, they are other rows of six fields."
        ],
    )
    for candidate in candidates:
        spent = times.median(candidate.name)
        table.rows.append((candidate.name, number(spent), number(1e3 / spent)))
    outcome.tables.append(table)
    outcome.figures += [
        Figure(what, times.ratio(theirs, ours), gate)
        for what, theirs, ours, gate in (
            ("JSON Schema to columns, `pyarrow.json` ÷ ours", _BULK, _AT_ONCE, _BULK_GATE),
            ("JSON Schema to columns, `json` ÷ ours", _JSON, _AT_ONCE, _RATIO_GATE),
            ("JSON Schema with maps, tuples, formats, `orjson` ÷ ours", _RICH_ORJSON, _RICH,
             _ORJSON_GATE),
            ("Connect's JSON to columns, `orjson` ÷ ours", _CONNECT_ORJSON, _CONNECT, _ORJSON_GATE),
        )
    ]  # fmt: skip
    return outcome


CASE = Case("json_values", "JSON values as typed columns", run)
