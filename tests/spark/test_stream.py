"""Structured Streaming: a query in a process of its own is killed and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import Observation

import kafkaspec.spark
from tests.goldens import GOLDEN, produced
from tests.spark import logs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = """
import sys
from pyspark.sql import SparkSession
import kafkaspec.spark

source, target, checkpoint, most = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "512m")
spark = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
kafkaspec.spark.register(spark)
stream = spark.readStream.format("kafkasegment").option("startingOffsets", "earliest")
stream = stream.option("maxOffsetsPerTrigger", most).load(source)
for attempt in range(20):
    query = stream.writeStream.format("parquet").option("checkpointLocation", checkpoint)
    try:
        query.start(target).awaitTermination()
    except Exception as error:
        if "failed to connect back" not in str(error):
            raise
"""
"""Spark gives the planner of a stream ten seconds to start, which a busy machine may not keep: that
is tried again. Spark's file sink publishes each micro-batch once: its log names the files."""


def finish(writer: Any, target: str | None = None) -> Any:
    """Return a query that ran to its end; a planner that did not start in time is tried again."""
    for attempt in range(20):
        query = writer.start(target) if target else writer.start()
        try:
            assert query.awaitTermination(300)
            break
        except Exception as error:
            if "failed to connect back" not in str(error) or attempt == 19:
                raise
    return query


def wait_for(condition: object, process: subprocess.Popen[bytes], seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert process.poll() is None, "the query has ended"
        assert time.monotonic() < end, "the query does not get on"
        time.sleep(0.05)


def test_exactly_once_over_a_kill(spark: SparkSession, tmp_path: Path) -> None:
    source, target, checkpoint = (tmp_path / name for name in ("logs", "rows", "checkpoint"))
    for number in range(2):
        logs.make(source / f"orders-{number}", 40, segment_bytes=2000)
    arguments = [sys.executable, "-c", QUERY, str(source), str(target), str(checkpoint), "20"]
    commits = checkpoint / "commits"
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with (tmp_path / "query.txt").open("wb") as output:
        process = subprocess.Popen(
            arguments, stdout=output, stderr=output, env=environment, start_new_session=True
        )
        try:
            wait_for(lambda: len(list(commits.glob("[0-9]*"))) >= 3, process)
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # the JVM and its workers too: mid-batch
            process.wait()
    done = len(list(commits.glob("[0-9]*")))
    assert done < 20
    with logs.segment(source / "orders-0", -1).open("ab") as file:
        file.write(logs.batch(200, 5) + logs.batch(205, 5)[:30])  # grew meanwhile, and torn
    stream = (
        spark.readStream.format("kafkasegment")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "60")
        .load(str(source))
    )
    writer = stream.writeStream.format("parquet").option("checkpointLocation", str(checkpoint))
    finish(writer.trigger(availableNow=True), str(target))
    found = spark.read.parquet(str(target)).select("partition", "offset", "value").collect()
    expected = [(0, offset) for offset in range(205)] + [(1, offset) for offset in range(200)]
    assert sorted((row.partition, row.offset) for row in found) == expected
    assert all(bytes(row.value) == logs.record(row.offset).value for row in found)
    last = sorted((checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))[-1]
    stored = json.loads(last.read_text().splitlines()[-1])
    assert stored == {"orders": {"0": 205, "1": 200}}


def test_a_golden_log_as_a_stream(spark: SparkSession) -> None:
    path = GOLDEN / "4.3.1" / "logs" / "segments-0"
    frame = (
        spark.readStream.format("kafkasegment")
        .option("startingOffsets", "earliest")
        .load(str(path))
    )
    writer = frame.writeStream.format("memory").queryName("golden").trigger(availableNow=True)
    finish(writer)
    rows = spark.sql("SELECT offset, value FROM golden ORDER BY offset").collect()
    expected = sorted((item["offset"], item["value"]) for item in produced("4.3.1")["segments-0"])
    assert [
        (row.offset, None if row.value is None else bytes(row.value)) for row in rows
    ] == expected


def test_progress_counts_rows_damage_and_lag(spark: SparkSession, tmp_path: Path) -> None:
    """Spark takes no metrics from a Python data source; ``observe`` and ``lag`` do instead."""
    for number in range(2):
        logs.make(tmp_path / f"orders-{number}", 4)
    broken = logs.segment(tmp_path / "orders-1")
    logs.overwrite(broken, broken.stat().st_size // 2 - 4, b"zzzz")  # the second of four batches
    stream = spark.readStream.format("kafkasegment").option("startingOffsets", "earliest")
    stream = stream.option("mode", "PERMISSIVE").option("maxOffsetsPerTrigger", "20")
    rows = kafkaspec.spark.observe(stream.load(str(tmp_path)))
    file = tmp_path / "kafkaspec.prom"
    listener = kafkaspec.spark.metrics(spark, file, query="counted")
    try:
        writer = rows.writeStream.format("noop").queryName("counted").trigger(availableNow=True)
        query = finish(writer)
        deadline = time.monotonic() + 60  # events come after the query has ended
        while listener.totals["batches"] < len(query.recentProgress):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        spark.streams.removeListener(listener)
    seen = [item for item in query.recentProgress if item.numInputRows]
    counts = [item.observedMetrics["kafkasegment"] for item in seen]
    assert sum(item["rows"] for item in counts) == 40 - 5
    assert sum(item["damaged"] for item in counts) >= 1
    sizes = [
        len(record.key or b"") + len(record.value or b"") for record in map(logs.record, range(20))
    ]
    assert sum(item["bytes"] for item in counts) == 2 * sum(sizes) - sum(sizes[5:10])
    assert kafkaspec.spark.lag(seen[0]) == {"orders-0": 10, "orders-1": 10}
    assert kafkaspec.spark.lag(seen[-1]) == {"orders-0": 0, "orders-1": 0}
    table = kafkaspec.spark.progress(spark, query.recentProgress)
    totals = table.agg({"rows": "sum", "bytes": "sum", "damaged": "sum"}).collect()[0].asDict()
    for name in ("rows", "bytes", "damaged"):
        expected = sum(item[name] for item in counts)
        assert totals[f"sum({name})"] == expected
        assert f"\nkafkaspec_spark_stream_{name} {expected}\n" in "\n" + file.read_text()
    assert table.orderBy("batchId").collect()[0].lag == {"orders-0": 10, "orders-1": 10}
    assert 'kafkaspec_spark_stream_lag_by_kind{kind="orders-1"} 0' in file.read_text()


def test_a_batch_query_is_observed(spark: SparkSession, tmp_path: Path) -> None:
    """By records, and by headers: the same number of rows."""
    logs.make(tmp_path / "orders-0", 4)
    path = str(tmp_path)
    heads = kafkaspec.spark.read(spark, path, rows="batches")
    size = logs.segment(tmp_path / "orders-0").stat().st_size
    for frame, bytes_ in (kafkaspec.spark.read(spark, path), None), (heads, size):
        seen = Observation()
        kafkaspec.spark.observe(frame, seen).write.format("noop").mode("overwrite").save()
        assert (seen.get["rows"], seen.get["damaged"]) == (20, None)
        assert bytes_ in (None, seen.get["bytes"])
        kafkaspec.spark.write_metrics(tmp_path / "m.prom", seen.get)
        assert "kafkaspec_spark_rows 20\n" in (tmp_path / "m.prom").read_text()
