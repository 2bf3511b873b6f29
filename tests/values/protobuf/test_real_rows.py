"""Rows of real producers equal what was given to their serializers."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kafkaspec as ks
from kafkaspec.values.definition import Definition
from kafkaspec.values.options import Bounds
from kafkaspec.values.protobuf.decoder import compile_protobuf, resolve_indexes
from kafkaspec.values.protobuf.indexes import split_index_lists
from kafkaspec.values.protobuf.schema import Order
from kafkaspec.values.protobuf.source import imports_of, read_files
from tests.values.protobuf.schemas import linked
from tests.values.shown_protobuf import shown, truncated

DATA = Path(__file__).parents[1] / "data"
FRAME = 5
TOPICS = (
    ("karapace", "proto-orders"),
    ("karapace", "proto-mixed"),
    ("karapace", "proto-legacy"),
    ("karapace", "proto-rewritten"),
    ("confluent", "track"),
)


def rows(home: str, topic: str) -> list[tuple[dict[str, Any], bytes | None]]:
    """Return each expected line with the bytes of its value."""
    values: dict[int, bytes | None] = {}
    for segment in sorted((DATA / home / "logs" / f"{topic}-0").glob("*.log")):
        for record in ks.Segment(segment).records():
            values[record.offset] = None if record.value is None else bytes(record.value)
    lines = (DATA / home / "expected" / f"{topic}.jsonl").read_text(encoding="utf-8")
    return [(row, values[row["offset"]]) for row in map(json.loads, lines.splitlines())]


def in_base64(definition: Definition) -> Definition:
    """Return a schema as the Python client registers it."""
    found = read_files(definition.text, imports_of(definition, Bounds()))[-1].SerializeToString()
    return Definition(definition.type, base64.b64encode(found).decode(), definition.imports)


@pytest.mark.slow
@pytest.mark.parametrize("encoded", [False, True], ids=["text", "base64"])
@pytest.mark.parametrize(("home", "topic"), TOPICS, ids=[topic for _, topic in TOPICS])
def test_rows_are_what_was_written(home: str, topic: str, encoded: bool) -> None:
    log = ks.SchemaLog.open(DATA / home / "logs")
    expected = rows(home, topic)
    numbers = {row["value_schema_id"] for row, _ in expected}
    assert len(numbers) == 1
    schema = log.by_id(numbers.pop())
    assert schema is not None
    definition = log.definition(schema)
    if encoded:
        definition = in_base64(definition)
    values = pa.array([None if value is None else value[FRAME:] for _, value in expected])
    heads = split_index_lists(values)
    assert heads.failures == {}
    pool = linked(definition)
    seen = 0
    for group, indexes in enumerate(heads.values):
        places = [place for place, number in enumerate(heads.groups) if number == group]
        payloads = heads.payloads.take(pa.array(places))
        _, name = resolve_indexes(definition, indexes, payloads)
        decoder = compile_protobuf(definition, name)
        decoded = decoder.decode(payloads)
        decoded.values.validate(full=True)
        assert decoded.failures == {}
        assert decoded.values.type == decoder.type
        descriptor = pool.FindMessageTypeByName(name)
        for place, value in zip(places, decoded.values, strict=True):
            row, _ = expected[place]
            assert row["message"] == name
            assert shown(value, descriptor) == truncated(row["value"]), row["offset"]
            seen += 1
    assert seen == sum(value is not None for _, value in expected) > 5


def test_how_index_lists_count_is_seen_from_the_rows() -> None:
    """One topic has the nested message counted with and without the entry of a map."""
    log = ks.SchemaLog.open(DATA / "confluent" / "logs")
    schema = log.by_id(6)
    assert schema is not None
    definition = log.definition(schema)
    message = pa.array([b"\x08\x07"])
    assert resolve_indexes(definition, (0, 0), message) == (Order.TEXT, "g.Track.Leg")
    assert resolve_indexes(definition, (0, 1), message) == (Order.DESCRIPTOR, "g.Track.Leg")
    assert compile_protobuf(definition, (0, 0)).order is Order.TEXT
