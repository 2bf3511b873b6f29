"""The data source, against the library's own reader and against Spark's documentation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

import kafkaspec.spark
from kafkaspec import LogDirectory, Partition, Record, encode
from kafkaspec import open as open_log
from kafkaspec.spark.schema import BATCH_COLUMNS, COLUMNS
from tests.goldens import GOLDEN, VERSIONS
from tests.spark import logs
from tests.spark.reading import table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_are_those_of_the_library(version: str) -> None:
    root = GOLDEN / version / "logs"
    ours = table(root, includeHeaders=True, includeBatch=True, logStart="ignore")
    theirs = open_log(root).to_arrow(
        ["topic", "partition", "offset", "key", "value", "producer_id", "batch_position"],
        layout="binary",
        log_start="ignore",
    )
    assert len(ours) > 0
    names = ["topic", "partition", "offset", "key", "value", "producerId", "position"]
    for name, other in zip(names, theirs.column_names, strict=True):
        assert ours.column(name).to_pylist() == theirs.column(other).to_pylist()


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_begin_where_a_broker_begins(version: str) -> None:
    """After DeleteRecords, the log of ``deleted-records`` begins inside its first segment."""
    directory = open_log(GOLDEN / version / "logs")
    assert isinstance(directory, LogDirectory)
    starts = {item.topic: item.log_start_offset or 0 for item in directory.partitions}
    every = table(directory.path, ["topic", "offset"], logStart="ignore").to_pylist()
    served = [row for row in every if row["offset"] >= starts[row["topic"]]]
    assert table(directory.path, ["topic", "offset"]).to_pylist() == served
    assert (len(served) < len(every)) == ("deleted-records" in starts)


@pytest.mark.parametrize("size", ["300", "2k", "64k"])
def test_many_tasks_read_what_one_reads(size: str) -> None:
    root = GOLDEN / "4.3.1" / "logs"
    one = table(root, includeBatch=True)
    many = table(root, includeBatch=True, maxPartitionBytes=size)
    assert one.equals(many)


FORMS: tuple[dict[str, Any], ...] = (
    {"compression": "none"},
    {"compression": "zstd"},
    {"compression": "gzip", "magic": 1},
    {"compression": "none", "magic": 0},
)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_every_column_may_begin_inside_a_batch(tmp_path: Path, form: dict[str, Any]) -> None:
    """Headers and keys differ from record to record, so that a wrong place shows."""
    magic = form.get("magic", 2)
    records = [
        Record(
            number,
            logs.START + number if magic else -1,
            None if number % 3 == 0 else b"key %d" % number,
            None if number % 4 == 3 else b"value " * number,
            tuple((f"h{i}", b"x" * i or None) for i in range(number % 3)) if magic == 2 else (),
        )
        for number in range(9)
    ]
    path = tmp_path / "orders-0" / f"{0:020d}.log"
    path.parent.mkdir()
    path.write_bytes(encode(records[:6], **form) + encode(records[6:], **form))
    every: dict[str, Any] = {"includeHeaders": True, "includeBatch": True, "mode": "PERMISSIVE"}
    whole = table(path, **every)
    assert set(whole.column_names) == {*COLUMNS, "_corrupt_record"}
    assert [item or [] for item in whole.column("headers").to_pylist()] == [
        [{"key": key, "value": value} for key, value in item.headers] for item in records
    ]
    for start in range(10):
        for end in range(start, 10):
            ends = {"startingOffsets": start, "endingOffsets": end}
            given = {name: f'{{"orders":{{"0":{at}}}}}' for name, at in ends.items()}
            assert table(path, **every, **given).equals(whole.slice(start, end - start)), given


def test_columns_that_seldom_vary_may_vary(tmp_path: Path) -> None:
    kinds = ["CreateTime"] * 3 + ["LogAppendTime", "CreateTime"] + ["LogAppendTime"] * 40
    path = tmp_path / "orders-0" / "00000000000000000000.log"
    path.parent.mkdir()
    entries, first = [], 0
    for number, kind in enumerate(kinds):
        records = [logs.record(first + i) for i in range(1 + 7 * number)]
        stamp = {"max_timestamp": 5} if kind == "LogAppendTime" else {}
        entries.append(encode(records, timestamp_type=kind, **stamp))  # type: ignore[arg-type]
        first += len(records)
    path.write_bytes(b"".join(entries))
    columns = ["offset", "timestamp", "timestampType", "topic", "file"]
    for size in ("1k", "64m"):  # few rows at a time, and all of them
        found = table(path, columns, maxPartitionBytes=size).to_pylist()
        expected = list(open_log(path, codec="python").records())
        assert len(found) == len(expected) == first
        for row, record in zip(found, expected, strict=True):
            assert row["offset"] == record.offset
            assert row["timestamp"].timestamp() * 1000 == record.timestamp
            assert row["timestampType"] == (record.timestamp == 5)
            assert (row["topic"], row["file"]) == ("orders", str(path))


def test_spark_reads_a_log_directory(spark: SparkSession) -> None:
    frame = spark.read.format("kafkasegment").load(str(GOLDEN / "4.3.1" / "logs"))
    assert frame.columns == [
        "key",
        "value",
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestampType",
    ]
    assert frame.count() == len(table(GOLDEN / "4.3.1" / "logs"))


def test_the_columns_of_batches_come_on_request(spark: SparkSession) -> None:
    frame = (
        spark.read.format("kafkasegment")
        .option("includeBatch", "true")
        .load(str(GOLDEN / "4.3.1" / "logs"))
    )
    assert tuple(frame.columns[-len(BATCH_COLUMNS) :]) == BATCH_COLUMNS
    assert frame.where("isTransactional and producerId < 0").count() == 0


@pytest.mark.parametrize("version", ["0.8.2.2", "0.10.2.2", "4.3.1"])
def test_the_timestamp_of_the_producer(spark: SparkSession, version: str) -> None:
    """With LogAppendTime, batches and wrappers say another one; magic 0 has none."""
    place = GOLDEN / version / "logs"
    found = kafkaspec.spark.read(spark, str(place), columns=["topic", "offset", "ownTimestamp"])
    rows = found.selectExpr("topic", "offset", "unix_millis(ownTimestamp)").collect()
    with open_log(place) as opened:
        columns = opened.to_arrow(columns=["topic", "offset", "own_timestamp"])
    stamps = columns["own_timestamp"].cast("int64").to_pylist()
    topics, offsets = (columns[name].to_pylist() for name in ("topic", "offset"))
    key = lambda row: (row[0], row[1], row[2] or -1)  # noqa: E731
    assert sorted(map(tuple, rows), key=key) == sorted(
        zip(topics, offsets, stamps, strict=True), key=key
    )
    assert (set(stamps) == {None}) == (version == "0.8.2.2")


def test_wal_objects_by_their_coordinates(spark: SparkSession) -> None:
    """Their batches are those of golden partitions; see tests/tiered/wal."""
    path = GOLDEN.parent / "tiered" / "wal" / "all.coordinates.jsonl"
    frame = spark.read.format("kafkasegment").load(str(path))
    rows = frame.select("topic", "offset", "value").collect()
    wanted = [
        (topic, record.offset, record.value)
        for topic in ("codec-none", "log-append-time")
        for record in Partition(GOLDEN / "4.3.1" / "logs" / f"{topic}-0").records()
    ]
    assert {(row[0], row[1], row[2]) for row in rows} == set(wanted)
    assert len(rows) == len(wanted)
