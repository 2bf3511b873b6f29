"""``df.write`` and ``df.writeStream`` with Spark: what it reads back is what was written."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkaspec as ks
import kafkaspec.spark
from tests.goldens import GOLDEN
from tests.spark.writing import listing, offsets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "headers"]
ROWS = 4000


def made(spark: SparkSession, count: int = ROWS) -> DataFrame:
    """Records of three partitions of two topics, in no order."""
    return spark.range(count, numPartitions=3).selectExpr(
        "if(id % 7 = 0, null, cast(cast(id as string) as binary)) as key",
        "if(id % 11 = 0, null, cast(repeat(cast(id as string), 5) as binary)) as value",
        "if(id % 4 = 3, 'small', 'large') as topic",
        "cast(if(id % 4 = 3, 0, id % 2) as int) as partition",
        "case id % 4 when 3 then (id - 3) div 4 when 1 then (id - 1) div 4 else id div 2 end"
        " as offset",
        "timestamp_micros(1700000000123456 + id * 1001) as timestamp",
        "if(id % 3 = 0, null, array(struct('h' as key, cast('x' as binary) as value))) as headers",
    )


def collected(rows: DataFrame) -> list[tuple[Any, ...]]:
    """All rows in order, with what a segment keeps of them."""
    found = rows.selectExpr(
        "topic", "partition", "offset", "key", "value", "unix_millis(timestamp)",
        "coalesce(transform(headers, h -> concat(h.key, '=', cast(h.value as string))), array())",
    ).collect()  # fmt: skip
    return sorted(tuple(row) for row in found)


def read(spark: SparkSession, path: Path) -> DataFrame:
    return kafkaspec.spark.read(spark, str(path), COLUMNS)


def test_rows_come_back_as_they_were(spark: SparkSession, tmp_path: Path) -> None:
    rows = made(spark)
    kafkaspec.spark.write(
        rows, str(tmp_path), tasks=4, compression="zstd", batchSize=4000, segmentBytes=9000
    )
    wanted = collected(rows)
    assert len(wanted) == ROWS
    assert collected(read(spark, tmp_path)) == wanted
    assert ks.verify(tmp_path).findings == []
    names = sorted(item.name for item in tmp_path.iterdir())
    assert names == ["large-0", "large-1", "small-0"]
    assert len(list((tmp_path / "large-0").glob("*.log"))) > 2


def test_offsets_are_assigned_in_the_order_of_the_tasks(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.range(3000, numPartitions=3).selectExpr("cast(id as string) as value")
    writer = rows.write.format("kafkasegment").mode("append").option("topic", "t")
    writer.save(str(tmp_path))
    writer.option("compression", "lz4").save(str(tmp_path))
    with ks.Partition(tmp_path / "t-0") as partition:
        found = [(record.offset, int(record.value or b"")) for record in partition.records()]
    assert found == [(at, at % 3000) for at in range(6000)]
    assert ks.verify(tmp_path).findings == []
    rows.limit(5).write.format("kafkasegment").mode("overwrite").option("topic", "u").save(
        str(tmp_path)
    )
    assert [item.name for item in tmp_path.iterdir()] == ["u-0"]


def test_a_golden_log_directory_is_written_again(spark: SparkSession, tmp_path: Path) -> None:
    """Also what a cleaner has left, and what lies between transaction markers."""
    source = read(spark, GOLDEN / "4.1.2" / "logs").where("topic not like '\\\\_\\\\_%'")
    wanted = collected(source)
    assert len({row[0] for row in wanted}) > 5
    kafkaspec.spark.write(source, str(tmp_path), tasks=2, allowGaps=True)
    assert collected(read(spark, tmp_path)) == wanted
    assert ks.verify(tmp_path).findings == []


def test_rows_that_are_not_in_order_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    rows = made(spark).sortWithinPartitions("value")
    with pytest.raises(Exception, match=r"of \w+-\d (do not come in the order|are missing)"):
        rows.write.format("kafkasegment").mode("append").save(str(tmp_path))
    assert listing(tmp_path) == []


def test_a_worker_that_is_killed_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    def die(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(batches):
            if number == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "500")
    try:
        rows = spark.range(2000, numPartitions=2).selectExpr("cast(id as string) as value")
        dying = rows.mapInArrow(die, rows.schema)
        with pytest.raises(Exception, match=r"crashed|exited|aborted"):
            dying.write.format("kafkasegment").mode("append").option("topic", "t").save(
                str(tmp_path)
            )
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert listing(tmp_path) == []


def test_a_streaming_query_that_begins_again_writes_each_row_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Twice: stopped in between, and with its last commit forgotten, as if it had been killed."""
    source, out, checkpoint = tmp_path / "in", tmp_path / "out", tmp_path / "checkpoint"

    def put(first: int, last: int) -> None:
        rows = spark.range(first, last, numPartitions=1).selectExpr("cast(id as string) as value")
        rows.write.mode("append").text(str(source))

    def run() -> None:
        stream = spark.readStream.schema("value string").text(str(source))
        query = (
            stream.writeStream.format("kafkasegment")
            .option("checkpointLocation", str(checkpoint))
            .option("topic", "t")
            .trigger(availableNow=True)
            .start(str(out))
        )
        query.awaitTermination()

    put(0, 100)
    run()
    put(100, 150)
    run()
    last = max((checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    for crc in (checkpoint / "commits").glob(f".{last.name}.*"):
        crc.unlink()
    run()  # repeats the last micro-batch
    put(150, 200)
    run()
    with ks.Partition(out / "t-0") as partition:
        values = [int(record.value or b"") for record in partition.records()]
    assert values == list(range(200))
    assert offsets(out / "t-0") == list(range(200))
    assert ks.verify(out / "t-0").findings == []
