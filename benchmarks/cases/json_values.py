"""JSON of a schema as typed columns, against `json` and `orjson`, which make objects."""

from __future__ import annotations

import json
import random
from typing import Any

import orjson
import pyarrow as pa

from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number
from benchmarks.timing import Candidate, measure
from kafkaspec.values.definition import Definition, SchemaType
from kafkaspec.values.fixed import RecordDecoder, fixed
from kafkaspec.values.json_schema.reading import JsonDecoder
from kafkaspec.values.json_schema.schema import compile_schema
from kafkaspec.values.options import Options

_ROWS = 100_000
_RATE_GATE = 0.6
_RATIO_GATE = 4.0
_AT_ONCE, _BY_ROW, _OTHERS = "JSON Schema", "JSON Schema, row by row", "JSON Schema, others in 1 %"
_JSON, _ORJSON = "`json.loads`", "`orjson.loads`"
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
    definition = Definition(SchemaType.JSON, json.dumps(_SCHEMA))
    decoder = JsonDecoder(compile_schema(definition, Options()), Options().bounds)
    if not decoder.decode(payloads).values.equals(decoder.decode_by_row(payloads).values):
        raise AssertionError("both ways have other values")
    longs = pa.array([row.to_bytes(8, "big") for row in range(count)], pa.binary())
    long = fixed("long", Options())
    assert not isinstance(long, RecordDecoder)
    candidates = [
        Candidate(_AT_ONCE, lambda: len(decoder.decode(payloads).values), count),
        Candidate(_JSON, lambda: len([json.loads(text) for text in texts]), count),
        Candidate(_ORJSON, lambda: len([orjson.loads(text) for text in texts]), count),
        Candidate(_BY_ROW, lambda: len(decoder.decode_by_row(payloads).values), count),
        Candidate(_OTHERS, lambda: len(decoder.decode(mixed).values), count),
        Candidate("`long` of Kafka's serializer", lambda: len(long.decode(longs).values), count),
    ]
    found = measure(candidates, settings.rounds(5))
    table = Table(
        "JSON of nine fields, one thread",
        ("work", "ns a record", "million records a second"),
        notes=[
            "`json` and `orjson` make Python objects, ours makes Arrow columns. In 1 % of the rows"
            " of one line a property is none of the schema, and becomes JSON text."
        ],
    )
    for candidate in candidates:
        spent = found.median(candidate.name)
        table.rows.append((candidate.name, number(spent), number(1e3 / spent)))
    outcome.tables.append(table)
    outcome.figures += [
        Figure(
            "JSON Schema to columns on one core",
            1e3 / found.median(_AT_ONCE),
            _RATE_GATE,
            unit="M records/s",
        ),
        Figure("JSON Schema to columns against `json`", found.ratio(_JSON, _AT_ONCE), _RATIO_GATE),
    ]
    return outcome


CASE = Case("json_values", "JSON values as typed columns", run)
