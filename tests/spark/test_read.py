"""What the data source reads, against the library's own reader and against Spark's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from kafkaspec import open as open_log
from kafkaspec.spark.schema import BATCH_COLUMNS
from tests.goldens import GOLDEN, VERSIONS
from tests.spark.reading import table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_are_those_of_the_library(version: str) -> None:
    logs = GOLDEN / version / "logs"
    ours = table(logs, includeHeaders=True, includeBatch=True)
    theirs = open_log(logs).to_arrow(
        ["topic", "partition", "offset", "key", "value", "producer_id", "batch_position"],
        layout="binary",
    )
    assert len(ours) > 0
    names = ["topic", "partition", "offset", "key", "value", "producerId", "position"]
    for name, other in zip(names, theirs.column_names, strict=True):
        assert ours.column(name).to_pylist() == theirs.column(other).to_pylist()


@pytest.mark.parametrize("size", ["300", "2k", "64k"])
def test_many_tasks_read_what_one_reads(size: str) -> None:
    logs = GOLDEN / "4.3.1" / "logs"
    one = table(logs, includeBatch=True)
    many = table(logs, includeBatch=True, maxPartitionBytes=size)
    assert one.equals(many)


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
