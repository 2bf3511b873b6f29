"""The lake on a cluster whose executors and driver are killed: each row is there once."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("deltalake")

import deltalake
import pyarrow

import kafkaspec as ks
from kafkaspec.spark.archive import write_archive
from tests.goldens import GOLDEN
from tests.spark.archives import environment
from tests.spark.cluster import Cluster, cluster, kill, until

pytestmark = pytest.mark.slow

TOPICS = ("segments-gzip-0", "transactions-segments-0", "compacted-transactions-0")
PACKAGES = (
    "pyarrow", "numpy", "pandas", "dateutil", "six", "pytz", "click", "rich", "kaitaistruct",
    "fastcrc", "lz4", "zstandard", "cramjam", "xxhash", "javaproperties", "isal", "fsspec",
)  # fmt: skip
"""Packages that ``kafkaspec[spark]`` needs, and fsspec."""
LEFT_OUT = shutil.ignore_patterns("tests", "include", "__pycache__", "*.dist-info")
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


@pytest.fixture(name="archive", scope="module")
def _archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of an environment with ``kafkaspec[spark]``, as ``kafkaspec spark`` writes it.

    It has no library of a table format, and is not there any more but for the archive.
    """
    folder = tmp_path_factory.mktemp("archive")
    root = folder / "environment"
    site = environment(root)
    for package in PACKAGES:
        for path in Path(pyarrow.__file__).parents[1].glob(f"{package}*"):
            if path.is_dir():
                shutil.copytree(path, site / path.name, ignore=LEFT_OUT, dirs_exist_ok=True)
            else:
                shutil.copy(path, site)
    file = folder / "env.tar.gz"
    write_archive(file, root)
    shutil.rmtree(root)
    return file


def test_executors_get_the_package_from_an_archive(
    spark_cluster: Cluster, archive: Path, logs: Path, tmp_path: Path
) -> None:
    """As docs/guide/spark.md says; executors whose Python lacks the package fail without it."""
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    lake = tmp_path / "lake"
    command = ("lake", str(logs), "-o", str(lake), "--active", "--topic", "segments-gzip")
    unpacked = (f"spark.archives={archive}#env",)
    for python, conf in ((f"{bare}/bin/python", ()), ("./env/bin/python", unpacked)):
        driver = spark_cluster.driver(*command, python=python, conf=conf, folder=tmp_path)
        try:
            output, _ = driver.communicate(timeout=300)
        finally:
            if driver.poll() is None:
                kill(driver)
        if conf:
            assert driver.returncode == 0, output
        else:
            assert driver.returncode != 0
            assert "No module named" in output
    found = Counter({key: n for key, n in expected(logs).items() if key[0] == "segments-gzip"})
    assert rows(lake) == found
    assert not (tmp_path / "env").exists()  # the driver of a lake uses its own Python


def wait_for_tasks(lake: Path, driver: Popen[str]) -> None:
    """Wait until some tasks of an increment have written, while others run."""
    before = written(lake)
    until(lambda: driver.poll() is not None or written(lake) > before + 2, "tasks write")
    assert driver.poll() is None, driver.communicate()[0]
