"""Typed tables: each record is in its typed table or among the dead ones, and none in both."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import kafkaspec as ks
from kafkaspec.lake.manifest import Mark
from kafkaspec.lake.typed_rows import Plans, name_of, plans_of, schema_of
from kafkaspec.lake.units import LakeSettings, LakeUnit, write_units
from kafkaspec.tables.engine_types import as_engine, lake_value
from kafkaspec.values.options import Options

DATA = Path(__file__).parents[1] / "values" / "data"
DECODES = "long-big-endian-id"
"""Key of a Long that is a value of a known schema to the last byte."""
NOTHING = {"plain", "connect-json", "debezium", "single-object", "cloudevents"}
"""Topics whose values name no schema."""


def topics() -> Iterator[Any]:
    for home in ("karapace", "confluent"):
        for path in sorted((DATA / home / "expected").glob("*.jsonl")):
            if path.stem not in NOTHING:
                yield pytest.param(home, path.stem, id=path.stem)


def written(home: str, topic: str, plans: Plans, place: Path) -> dict[str, pa.Table]:
    """Return the tables of the rows of a topic, as one task writes them."""
    plans = pickle.loads(pickle.dumps(plans))  # as they come to a task
    with ks.LogDirectory(DATA / home / "logs") as log:
        units = [
            LakeUnit(path=str(path), topic=topic, partition=partition.partition or 0)
            for partition in log.of_topic(topic).current
            for path in partition.paths_from(None, None)
        ]
    settings = LakeSettings(place=str(place), typed={topic: plans})
    results = write_units(units, settings, Mark(1, "run"))
    found: dict[str, list[pa.Table]] = {}
    for file in results[-1].files:
        table = pq.ParquetFile(place / file.path).read()
        assert len(table) == file.rows
        found.setdefault(file.table, []).append(table)
    return {name: pa.concat_tables(tables) for name, tables in found.items()}


def places(table: pa.Table | None) -> list[tuple[int, int]]:
    if table is None:
        return []
    return list(zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("home", "topic"), list(topics()))
def test_a_record_is_typed_or_dead(home: str, topic: str, tmp_path: Path) -> None:
    options: Any = {"values": Options(depth=2), "evolve": "latest"}
    with ks.open(DATA / home / "logs") as log:
        plans, _ = plans_of(log, topic=topic, **options)
        expected = log.to_typed(topic=topic, **options).read_all()
    tables = written(home, topic, plans, tmp_path)
    typed, dead = tables[name_of(topic)], tables.get("dead")
    assert typed.schema.equals(schema_of(plans))
    assert sorted(places(typed) + places(dead)) == sorted(places(tables["raw"]))
    lines = (DATA / home / "expected" / f"{topic}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert sorted(places(tables["raw"])) == sorted((r["partition"], r["offset"]) for r in rows)
    refused = sorted(
        (row["partition"], row["offset"])
        for row in rows
        if row.get("error") and row["key"] != DECODES
    )
    assert sorted(places(dead)) == refused
    sound = expected.filter(pc.is_null(expected["value_error"])).combine_chunks()
    sound = sound.sort_by([("partition", "ascending"), ("offset", "ascending")])
    typed = typed.sort_by([("partition", "ascending"), ("offset", "ascending")])
    wanted = pa.chunked_array(
        [as_engine(chunk, lake_value(chunk.type))[0] for chunk in sound["value"].chunks]
    )
    assert repr(typed["value"].to_pylist()) == repr(wanted.to_pylist())  # NaN too
    if dead is not None:
        raw = dict(zip(places(tables["raw"]), tables["raw"]["value"].to_pylist(), strict=True))
        assert dead["value"].to_pylist() == [raw[place] for place in places(dead)]
        assert None not in dead["reason"].to_pylist()
        assert dead["position"].null_count == len(dead)


@pytest.mark.slow
def test_a_later_schema_gives_more_columns(tmp_path: Path) -> None:
    found = []
    for number, version in enumerate((1, 3)):
        with ks.open(DATA / "karapace" / "logs") as log:
            plans, _ = plans_of(log, topic="orders", evolve=version)
        tables = written("karapace", "orders", plans, tmp_path / str(number))
        found.append(tables)
        assert len(tables["raw"]) == len(tables[name_of("orders")]) + len(tables.get("dead", ()))
    first, second = (tables[name_of("orders")].schema.field("value").type for tables in found)
    assert {item.name for item in second} - {item.name for item in first}


def test_each_schema_is_no_table() -> None:
    with ks.open(DATA / "karapace" / "logs") as log, pytest.raises(ValueError, match="a table"):
        plans_of(log, topic="orders", evolve="each")
