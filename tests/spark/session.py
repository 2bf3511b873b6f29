"""Start a session of Spark for tests, on the loopback and with its files in one folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

import kafkaspec.spark


def session(
    folder: Path, master: str = "local[1]", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Return a session that has the data source, with settings beside those of all tests."""
    # Without PYSPARK_PYTHON the workers are whatever python3 is on the path.
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    builder = SparkSession.builder.master(master).appName("kafkaspec tests")
    common = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
    }
    for name, value in {**common, **(settings or {})}.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    kafkaspec.spark.register(made)
    return made
