"""Sessions with the settings that the documentation recommends, and what has to be fetched."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

import kafkaspec.spark
from tools.brokers.maven import cache_root, resolve_artifacts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCALA = "2.13"
CONNECTOR = "4.2.0"
"""Spark's Kafka source; it works in the releases of Spark that follow. Releases of the connector
reach Maven's mirrors later than those of PySpark reach PyPI, and its parts not at the same time:
each is named here, and Maven is not left to look for what those of one release want."""
_PARTS = (
    f"org.apache.spark:spark-sql-kafka-0-10_{_SCALA}:{CONNECTOR}",
    f"org.apache.spark:spark-token-provider-kafka-0-10_{_SCALA}:4.1.0-preview1",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.12.0",
)


def connector() -> list[Path]:
    """The jars of Spark's Kafka source that PySpark does not bring, fetched the first time.

    Raises:
        ToolError: there is no Maven, or it fails.
    """
    home = cache_root() / f"spark-sql-kafka-{CONNECTOR}"
    jars = resolve_artifacts(home, _PARTS, ("*:*",))
    own = Path(pyspark.__file__).parent / "jars"
    return sorted(jar for jar in jars.glob("*.jar") if not (own / jar.name).exists())


@contextmanager
def session(work: Path, *, cores: int, jars: Sequence[Path] = ()) -> Iterator[SparkSession]:
    """A session on this machine, stopped at the end.

    Args:
        work: for files of Spark.
        cores: slots for tasks.
        jars: what the JVM needs besides.
    """
    from pyspark.sql import SparkSession

    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    builder = SparkSession.builder.master(f"local[{cores}]").appName("kafkaspec benchmarks")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(work / "warehouse"),
        "spark.local.dir": str(work / "local"),
    }
    if jars:
        settings["spark.jars"] = ",".join(str(jar) for jar in jars)
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    kafkaspec.spark.register(spark)
    try:
        yield spark
    finally:
        spark.stop()
