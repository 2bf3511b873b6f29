"""Rows of whole logs equal what was given to serializers, through the reader of typed columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kafkaspec as ks
from kafkaspec.values.definition import SchemaType
from tests.values.protobuf.schemas import linked
from tests.values.shown import Shown
from tests.values.shown_protobuf import shown, truncated

DATA = Path(__file__).parent / "data"
KEYED = ("orders", "headers")
"""Topics whose keys are Avro's too, where the expected lines say so by an id."""

TOPICS = (
    "karapace/orders",
    "karapace/every-type",
    "karapace/events",
    "karapace/headers",
    "karapace/proto-orders",
    "karapace/proto-mixed",
    "karapace/proto-legacy",
    "karapace/proto-rewritten",
    "confluent/people",
    "confluent/people-copy",
    "confluent/ctx-people",
    "confluent/raw",
    "confluent/track",
)

Place = tuple[int, int]


def expected(folder: str, name: str) -> dict[Place, dict[str, Any]]:
    """Return the lines of a topic by partition and offset."""
    lines = (DATA / folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {(row["partition"], row["offset"]): row for row in rows}


def seen(
    batches: Iterator[pa.RecordBatch], side: str, schemas: ks.SchemaLog, context: str
) -> Iterator[tuple[Place, Any]]:
    """Yield each place with its value in the form of the expected lines."""
    for batch in batches:
        rows = zip(
            *(batch.column(name).to_pylist() for name in ("partition", "offset")), strict=True
        )
        numbers = batch.column(f"{side}_schema_id").unique().to_pylist()
        assert len(numbers) == 1
        if numbers == [None]:
            yield from ((place, None) for place in rows)
            continue
        schema = schemas.by_id(numbers[0], context)
        assert schema is not None
        definition = schemas.definition(schema)
        column = batch.column(side)
        if definition.type is SchemaType.AVRO:
            yield from zip(rows, Shown(definition).rows(column), strict=True)
            continue
        pool = linked(definition)
        for place, name, value in zip(rows, batch.column(f"{side}_message"), column, strict=True):
            yield place, shown(value, pool.FindMessageTypeByName(name.as_py()))


@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS)
def test_values_are_what_was_written(topic: str) -> None:
    home, _, name = topic.partition("/")
    wanted = expected(f"{home}/expected", name)
    with ks.open(DATA / home / "logs") as log:
        sides = ["value", "key"] if name in KEYED else ["value"]
        schemas = ks.SchemaLog.open(DATA / home / "logs")
        for side in sides:
            context = next(iter(wanted.values())).get("context", "")
            options: dict[str, Any] = {"value": "bytes", "key": "bytes"} | {side: "decode"}
            batches = log.to_typed(topic=name, evolve="each", on_value_error="raise", **options)
            found = dict(seen(batches, side, schemas, context))
            assert found.keys() == wanted.keys()
            for place, value in found.items():
                row = wanted[place]
                given = truncated(row[side]) if "message" in row else row[side]
                assert value == given, (side, place)


def test_values_of_all_versions_as_the_newest() -> None:
    """Judged by Avro for Java, which read the same values with the newest schema."""
    wanted = expected("karapace/expected-latest", "orders")
    with ks.open(DATA / "karapace" / "logs") as log:
        found = log.to_typed(topic="orders", on_value_error="raise").read_all()
    schemas = ks.SchemaLog.open(DATA / "karapace" / "logs")
    newest = Shown(schemas.definition(schemas.resolve("orders-value")))
    places = zip(*(found[name].to_pylist() for name in ("partition", "offset")), strict=True)
    values = newest.rows(found["value"].combine_chunks())
    assert {place: value for place, value in zip(places, values, strict=True) if value} == {
        place: row["value"] for place, row in wanted.items() if row["value"]
    }
