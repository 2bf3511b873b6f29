"""Avro payloads to typed columns, against fastavro and PyArrow."""

from __future__ import annotations

import json
from functools import partial
from io import BytesIO
from random import Random
from typing import Any

import fastavro
import pyarrow as pa

from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number, times
from benchmarks.timing import Candidate, measure
from kafkaspec.values.avro import compile_avro
from kafkaspec.values.decoded import Decoder
from kafkaspec.values.definition import Definition, SchemaType

_RATIO = 7.0
"""Million records a second, and times fastavro."""
_OURS, _BAD, _OTHER, _THEIRS = (
    "`compile_avro`",
    "1 in 1,000 bad",
    "newer schema",
    "fastavro → Arrow",
)
FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "long"},
    {"name": "customer", "type": "string"},
    {"name": "quantity", "type": "int"},
    {"name": "status", "type": {"type": "enum", "name": "S", "symbols": ["NEW", "PAID", "SENT"]}},
    {"name": "amount", "type": "double"},
    {"name": "placed", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "note", "type": ["null", "string"], "default": None},
    {"name": "gift", "type": "boolean"},
    {"name": "product", "type": "string"},
]


def schema_of(fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "record", "name": "Order", "namespace": "shop", "fields": fields}


def definition_of(fields: list[dict[str, Any]]) -> Definition:
    return Definition(SchemaType.AVRO, json.dumps(schema_of(fields)))


def payloads_of(count: int) -> pa.Array:
    random = Random(1)
    schema = fastavro.parse_schema(schema_of(FIELDS))
    rows = []
    for i in range(count):
        file = BytesIO()
        value = {
            "id": 1_000_000 + i,
            "customer": f"customer-{random.randrange(99_999)}",
            "quantity": random.randrange(200),
            "status": random.choice(["NEW", "PAID", "SENT"]),
            "amount": random.random() * 100,
            "placed": 1_735_689_600_000 + i * 7,
            "note": None if i % 3 else "left at the neighbour's door",
            "gift": i % 2 == 0,
            "product": f"product-{random.randrange(9_999)}",
        }
        fastavro.schemaless_writer(file, schema, value)
        rows.append(file.getvalue())
    return pa.array(rows, pa.binary())


def _damaged(payloads: pa.Array) -> pa.Array:
    rows = payloads.to_pylist()
    rows[::1000] = [row[:-3] for row in rows[::1000]]
    return pa.array(rows, pa.binary())


def _ours(decoder: Decoder, payloads: pa.Array) -> int:
    return len(decoder.decode(payloads).values)


def _theirs(schema: Any, kind: pa.DataType, payloads: pa.Array) -> int:
    read = fastavro.schemaless_reader
    rows = [read(BytesIO(raw), schema) for raw in payloads.to_pylist()]
    return len(pa.array(rows, kind))


def run(settings: Settings) -> Outcome:
    """Payloads of nine fields as a struct column, one thread."""
    count = 500 if settings.quick else 100_000
    payloads = payloads_of(count)
    size = round(payloads.nbytes / count)
    decoder = compile_avro(definition_of(FIELDS))
    newer = [
        *({**field, "type": "long"} if field["name"] == "quantity" else field for field in FIELDS),
        {"name": "priority", "type": "int", "default": 5},
    ]
    other = compile_avro(definition_of(FIELDS), definition_of(newer[1:]))
    parsed = fastavro.parse_schema(schema_of(FIELDS))
    found = measure(
        [
            Candidate(_OURS, partial(_ours, decoder, payloads), count),
            Candidate(_BAD, partial(_ours, decoder, _damaged(payloads)), count),
            Candidate(_OTHER, partial(_ours, other, payloads), count),
            Candidate(_THEIRS, partial(_theirs, parsed, decoder.type, payloads), count),
        ],
        settings.rounds(7),
    )
    table = Table(
        "Avro payloads to Arrow, ns a record, one thread",
        ("records", _OURS, _BAD, _OTHER, _THEIRS, "ratio"),
        notes=[
            "Nine fields: three strings, one of them nullable, long, int, enum, double, timestamp,"
            " boolean; the result is a struct of typed columns. fastavro: `schemaless_reader` row"
            " by row, then `pyarrow.array` with the same type."
        ],
    )
    ratio = found.ratio(_THEIRS, _OURS)
    own = [number(found.median(name)) for name in (_OURS, _BAD, _OTHER, _THEIRS)]
    table.rows.append((f"{count:,} of {size} bytes", *own, times(ratio)))
    return Outcome([table], [Figure("Avro payloads to Arrow, fastavro ÷ ours", ratio, _RATIO)])


CASE = Case("avro", "Avro payloads", run)
