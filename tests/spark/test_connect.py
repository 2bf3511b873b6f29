"""Spark Connect: a client without a JVM of its own reads through a server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("grpc", reason="pyspark[connect] is not installed")

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


@pytest.mark.usefixtures("java")
def test_a_connect_client_reads(tmp_path: Path) -> None:
    path = GOLDEN / "4.3.1" / "logs" / "plain-0"
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(tmp_path),
    }
    environment.pop("SPARK_REMOTE", None)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CLIENT, str(path)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=Path(__file__).parents[2],
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = table(path)
    values = found.column("value")
    assert f"rows {len(found)} {values.null_count}" in done.stdout
    offsets = found.column("offset").to_pylist()
    assert f"columns ['offset', 'topic'] {max(offsets)}" in done.stdout
