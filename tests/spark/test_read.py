"""The data source, against the library's own reader and against Spark's documentation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from kafkaspec import encode
from kafkaspec import open as open_log
from kafkaspec.spark.schema import BATCH_COLUMNS
from tests.goldens import GOLDEN, VERSIONS
from tests.spark import logs
from tests.spark.reading import table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_are_those_of_the_library(version: str) -> None:
    root = GOLDEN / version / "logs"
    ours = table(root, includeHeaders=True, includeBatch=True)
    theirs = open_log(root).to_arrow(
        ["topic", "partition", "offset", "key", "value", "producer_id", "batch_position"],
        layout="binary",
    )
    assert len(ours) > 0
    names = ["topic", "partition", "offset", "key", "value", "producerId", "position"]
    for name, other in zip(names, theirs.column_names, strict=True):
        assert ours.column(name).to_pylist() == theirs.column(other).to_pylist()


@pytest.mark.parametrize("size", ["300", "2k", "64k"])
def test_many_tasks_read_what_one_reads(size: str) -> None:
    root = GOLDEN / "4.3.1" / "logs"
    one = table(root, includeBatch=True)
    many = table(root, includeBatch=True, maxPartitionBytes=size)
    assert one.equals(many)


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
