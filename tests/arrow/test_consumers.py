"""DuckDB, Polars, pandas and PyArrow take segments, partitions and log directories as they are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from tests import goldens
from tests.arrow import forge

pa = pytest.importorskip("pyarrow")

SEGMENT = goldens.GOLDEN / "4.3.1/logs/plain-0/00000000000000000000.log"
MANY = goldens.GOLDEN / "4.3.1/logs/segments-0"


def expected() -> list[ks.Record]:
    with ks.Segment(SEGMENT) as segment:
        return list(segment.records())


@pytest.mark.core
def test_duckdb_runs_sql_over_a_segment() -> None:
    duckdb = pytest.importorskip("duckdb")
    seg = ks.open(SEGMENT)  # noqa: F841  # DuckDB finds it by its name
    records = expected()
    query = 'SELECT count(*), min("offset"), sum(octet_length(value)), count(key) FROM seg'
    for _ in range(2):  # each query has a stream of its own
        assert duckdb.sql(query).fetchall() == [
            (
                len(records),
                records[0].offset,
                sum(len(record.value) for record in records if record.value is not None),
                sum(record.key is not None for record in records),
            )
        ]
    found = duckdb.sql(
        "SELECT h.key, count(*) FROM (SELECT unnest(headers) AS h FROM seg) GROUP BY ALL"
    ).fetchall()
    assert dict(found) == Counter(key for record in records for key, _ in record.headers)
    reader = ks.open(SEGMENT).to_batches(["timestamp", "value"])  # noqa: F841
    ((latest,),) = duckdb.sql("SELECT epoch_ms(max(timestamp)) FROM reader").fetchall()
    assert latest == max(record.timestamp for record in records)


@pytest.mark.core
def test_polars_runs_sql_over_a_segment() -> None:
    polars = pytest.importorskip("polars")
    records = expected()
    frame = polars.DataFrame(ks.open(SEGMENT))
    assert frame["offset"].to_list() == [record.offset for record in records]
    assert frame["value"].to_list() == [record.value for record in records]
    assert [
        tuple((pair["key"], pair["value"]) for pair in row) for row in frame["headers"].to_list()
    ] == [record.headers for record in records]
    with polars.SQLContext(log=frame) as context:
        found = context.execute("SELECT COUNT(*) FROM log WHERE key IS NULL", eager=True).item()
    assert found == sum(record.key is None for record in records)


def test_pandas() -> None:
    pytest.importorskip("pandas")
    records = expected()
    segment = ks.open(SEGMENT)
    frame = segment.to_arrow(["offset", "timestamp", "key"], layout="binary").to_pandas()
    assert frame["offset"].tolist() == [record.offset for record in records]
    assert str(frame["timestamp"].dt.tz) == "UTC"
    assert frame["key"].tolist() == [record.key for record in records]


def test_a_requested_schema() -> None:
    segment = ks.open(SEGMENT)
    wanted = pa.schema(
        [
            field.with_type(pa.binary()) if field.type == pa.binary_view() else field
            for field in segment.schema
        ]
    )
    names = ["offset", "key", "value"]
    chosen = pa.schema([wanted.field(name) for name in names])
    table = pa.RecordBatchReader.from_stream(segment.to_batches(names), chosen).read_all()
    assert table.schema == chosen
    assert table["value"].to_pylist() == [record.value for record in expected()]


@pytest.mark.parametrize("start", [None, 0, 9, 10, 25, 10_000])
def test_partitions(start: int | None) -> None:
    with ks.open(MANY) as partition:
        assert isinstance(partition, ks.Partition)
        records = list(partition.records(start))
        reader = partition.to_batches(start_offset=start)
        assert reader.schema == partition.schema
        table = reader.read_all()
        assert table["offset"].to_pylist() == [record.offset for record in records]
        assert table["value"].to_pylist() == [record.value for record in records]
        assert set(table["topic"].to_pylist()) <= {"segments"}
        assert set(table["partition"].to_pylist()) <= {0}
        end = partition.to_arrow(["offset"], start_offset=start, end_offset=20)["offset"]
        assert end.to_pylist() == [record.offset for record in records if record.offset < 20]
        table = partition.batch_table()
        assert len(table) == len(list(partition.batches()))
        assert set(table["file"].to_pylist()) == {str(path) for path in partition.segment_paths}


def test_log_directories(tmp_path: Path) -> None:
    for topic, partition in [("b-topic", 1), ("a", 0), ("a", 2)]:
        forge.segment(tmp_path / f"{topic}-{partition}", [ks.encode(forge.records(5))])
    moved = tmp_path / f"a-0.{'0' * 32}-delete"
    forge.segment(moved, [ks.encode(forge.records(5))])
    with ks.open(tmp_path) as directory:
        assert isinstance(directory, ks.LogDirectory)
        rows = directory.to_arrow(["topic", "partition", "offset"], start_offset=3).to_pylist()
        places = [("a", 0), ("a", 2), ("b-topic", 1)]
        assert [tuple(row.values()) for row in rows] == [
            (*place, offset) for place in places for offset in (3, 4)
        ]
        assert directory.schema.names[:2] == ["topic", "partition"]
        assert len(directory.batch_table()) == 3
        duckdb = pytest.importorskip("duckdb")
        found: Any = duckdb.sql("SELECT topic, count(*) FROM directory GROUP BY ALL ORDER BY 1")
        assert found.fetchall() == [("a", 10), ("b-topic", 5)]


@pytest.mark.parametrize("version", [goldens.VERSIONS[0], goldens.VERSIONS[-1]])
def test_golden_log_directories(version: str) -> None:
    with ks.open(goldens.GOLDEN / version / "logs") as directory:
        assert isinstance(directory, ks.LogDirectory)
        expected = [
            (partition.topic, partition.partition, record.offset)
            for partition in directory.partitions
            if not partition.state
            for record in partition.records()
        ]
        found = directory.to_arrow(["topic", "partition", "offset"]).to_pylist()
        assert [tuple(row.values()) for row in found] == expected
