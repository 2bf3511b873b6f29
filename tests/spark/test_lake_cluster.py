"""The lake on a cluster whose executors and driver are killed: each row is there once."""

from __future__ import annotations

import os
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("deltalake")

import deltalake

import kafkaspec as ks
from tests.goldens import GOLDEN
from tests.spark.cluster import Cluster, cluster, kill, until

pytestmark = pytest.mark.slow

TOPICS = ("segments-gzip-0", "transactions-segments-0", "compacted-transactions-0")
COPIES = 14
"""Partitions of each: 252 segments."""


@pytest.fixture(name="spark_cluster", scope="module")
def _cluster(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if not Path("/proc/self/stat").exists():
        pytest.skip("processes are found by /proc")
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture(name="logs", scope="module")
def _logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory of a broker, of golden segments."""
    root = tmp_path_factory.mktemp("logs")
    for name in TOPICS:
        topic = name.rpartition("-")[0]
        for partition in range(COPIES):
            shutil.copytree(GOLDEN / "4.3.1" / "logs" / name, root / f"{topic}-{partition}")
    return root


def expected(root: Path) -> Counter[Any]:
    """The records that are not control records, by topic, partition and offset."""
    with ks.open(root) as directory:
        assert isinstance(directory, ks.LogDirectory)
        return Counter(
            (partition.topic, partition.partition, record.offset)
            for partition in directory.partitions
            for batch in partition.batches()
            if not batch.is_control
            for record in batch.records()
        )


def rows(lake: Path) -> Counter[Any]:
    table = deltalake.DeltaTable(str(lake / "raw")).to_pyarrow_table()
    names = ("topic", "partition", "offset")
    return Counter(zip(*(table.column(name).to_pylist() for name in names), strict=True))


def written(lake: Path) -> int:
    """The number of data files, complete or not, committed or not."""
    return len(list(lake.glob("raw/**/*.parquet*")))


def test_killed_executors_and_drivers_leave_each_row_once(
    spark_cluster: Cluster, logs: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    options = ("--active", "--max-segments", "80", "--tasks", "20")
    command = ("lake", str(logs), "-o", str(lake), *options)
    for victim in ("executor", "driver", "none"):
        driver = spark_cluster.driver(*command)
        try:
            if victim != "none":
                wait_for_tasks(lake, driver)
            if victim == "executor":
                os.kill(spark_cluster.executors()[0], signal.SIGKILL)
            if victim == "driver":
                kill(driver)
                continue
            output, _ = driver.communicate(timeout=300)
            assert driver.returncode == 0, output
        finally:
            if driver.poll() is None:
                kill(driver)
        assert rows(lake) == expected(logs)
        if victim == "executor":
            shutil.rmtree(lake)  # and again, with other victims
    assert len(list((lake / "_epochs").iterdir())) >= 4


def wait_for_tasks(lake: Path, driver: Popen[str]) -> None:
    """Wait until some tasks of an increment have written, while others run."""
    before = written(lake)
    until(lambda: driver.poll() is not None or written(lake) > before + 2, "tasks write")
    assert driver.poll() is None, driver.communicate()[0]
