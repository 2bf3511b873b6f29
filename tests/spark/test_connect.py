"""Spark Connect: a client without a JVM of its own reads through a server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("grpc", reason="pyspark[connect] is not installed")

import kafkaspec as ks
from kafkaspec.forensics.dead_letters import read_dead_letters
from kafkaspec.spark import jobs
from tests.forensics.test_dead_letters import BROKER
from tests.goldens import GOLDEN
from tests.spark.reading import table

CLIENT = """
import sys
from pyspark.sql import SparkSession
import kafkaspec.spark

spark = SparkSession.builder.remote("local[1]").getOrCreate()
assert type(spark).__module__.startswith("pyspark.sql.connect")
kafkaspec.spark.register(spark)
frame = spark.read.format("kafkasegment").load(sys.argv[1])
print("rows", frame.count(), frame.where("value is null").count())
columns = kafkaspec.spark.read(spark, sys.argv[1], columns=["offset", "topic"])
print("columns", columns.columns, columns.agg({"offset": "max"}).collect()[0][0])
spark.stop()
"""


JOBS = """
import json, sys
from pyspark.sql import SparkSession
import kafkaspec.spark
from kafkaspec.forensics.dead_letters import read_dead_letters
from kafkaspec.spark import jobs

logs, group, schemas, dead, out = sys.argv[1:]
spark = SparkSession.builder.remote("local[1]").getOrCreate()
assert type(spark).__module__.startswith("pyspark.sql.connect")
found = {}
done = jobs.verify.verify(spark, logs, tasks=2)
found["verify"] = [done.report.totals.batches, done.findings.count(), done.files.count()]
figures = jobs.stats.stats(spark, logs, tasks=2)
found["stats"] = [figures.partitions[0]["records"], sorted(jobs.stats.frames(spark, figures))]
jobs.export.export(spark, logs, f"{out}/parquet")
found["export"] = jobs.export.exported(spark, f"{out}/parquet").count()
jobs.export.restore(spark, f"{out}/parquet", f"{out}/restored")
typed = jobs.export.export_typed(spark, schemas, f"{out}/typed", value_decode="decode",
                                 topics=["orders"])
found["typed"] = jobs.export.count_failed(typed["orders"])
(cleaned,) = jobs.compaction.compact_logs(spark, logs, f"{out}/cleaned", now=1 << 41,
                                          config={"cleanup.policy": "compact"})
found["compaction"] = cleaned.error
found["messages"] = jobs.messages.topic_messages(spark, group, "OffsetCommit", tasks=2).count()
found["state"] = jobs.messages.state(spark, group, "offsets", tasks=2).count()
letters = jobs.dead_letters.dead_letters(spark, dead, tasks=2)
found["dead_letters"] = letters.count()
heads = kafkaspec.spark.read(spark, logs, rows="batches")
found["batches"] = heads.agg({"records": "sum"}).collect()[0][0]
last = kafkaspec.spark.latest(kafkaspec.spark.read(spark, logs))
found["latest"] = last.count()
print(json.dumps(found))
spark.stop()
"""


NOT_TRIED = {"lake"}
"""Jobs with a test of their own."""


@pytest.mark.usefixtures("java")
def test_a_connect_client_reads(tmp_path: Path) -> None:
    path = GOLDEN / "4.3.1" / "logs" / "plain-0"
    output = client(CLIENT, tmp_path, path)
    found = table(path)
    values = found.column("value")
    assert f"rows {len(found)} {values.null_count}" in output
    offsets = found.column("offset").to_pylist()
    assert f"columns ['offset', 'topic'] {max(offsets)}" in output


@pytest.mark.slow
@pytest.mark.usefixtures("java")
def test_a_connect_client_runs_all_jobs(tmp_path: Path) -> None:
    """Each against the library on the same files; a new job has to be added here."""
    root = GOLDEN / "4.3.1" / "logs"
    path = root / "segments-0"
    values = Path(__file__).parents[1] / "values" / "data" / "karapace" / "logs"
    found = json.loads(
        client(JOBS, tmp_path, path, root, values, BROKER, tmp_path).splitlines()[-1]
    )
    report = ks.verify(path)
    rows = table(path, includeHeaders=True)
    with ks.open(path) as log:
        count = sum(1 for _ in log.records(include_control=True))
    assert found["verify"] == [report.totals.batches, len(report.findings), len(report.files)]
    assert found["stats"][0] == count == found["batches"]
    assert found["export"] == rows.num_rows
    assert table(tmp_path / "restored").column("offset") == rows.column("offset")
    with ks.LogDirectory(values) as log:
        records = sum(1 for _ in log.of_topic("orders").records())
    assert found["typed"] == [records, {"value_error": 0}]
    assert found["compaction"] is None
    assert (tmp_path / "cleaned" / path.name).is_dir()
    with ks.LogDirectory(root) as log:
        commits = log.topic_messages("OffsetCommit")
        assert found["messages"] == sum(batch.num_rows for batch in commits)
    assert found["state"] > 0
    assert found["latest"] == len({*rows.column("key").to_pylist()} - {None})
    with ks.LogDirectory(BROKER) as log:
        assert found["dead_letters"] == len(read_dead_letters(log.current, ()).letters) > 0
    assert set(dir(jobs)) - NOT_TRIED <= {name for name in dir(jobs) if f"jobs.{name}." in JOBS}


def client(code: str, folder: Path, *arguments: Path) -> str:
    """The output of a client, which starts a server of its own."""
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
    }
    environment.pop("SPARK_REMOTE", None)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=Path(__file__).parents[2],
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
