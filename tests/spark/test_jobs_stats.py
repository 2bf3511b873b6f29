"""``stats``, against ``kafkaspec stats``."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from click.testing import CliRunner

from kafkaspec.cli.main import main
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.spark.jobs.stats import TABLES, frames, stats
from kafkaspec.stats.measure import measure
from kafkaspec.stats.units import units_of_log
from tests.cli.helpers import run
from tests.goldens import GOLDEN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_figures_are_those_without_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = tmp_path / "logs"
    for name in ("compacted-0", "segments-0", "transactions-0", "codec-mixed-0"):
        shutil.copytree(GOLDEN / "4.3.1" / "logs" / name, logs / name)
    (damaged,) = (logs / "codec-mixed-0").glob("*.log")
    data = bytearray(damaged.read_bytes())
    data[-1] ^= 1
    damaged.write_bytes(data)
    units = []
    with open_log(logs) as opened:
        assert isinstance(opened, LogDirectory)
        for log in opened.current:
            units += list(units_of_log(log))
    theirs = measure(units)
    for tasks in (2, None):
        ours = stats(spark, str(logs), tasks=tasks)
        assert ours.part == theirs.part
        assert ours.partitions == theirs.partitions
        assert ours.total == theirs.total
    assert ours.total["errors"] == 1
    tables = frames(spark, ours)
    assert tables.keys() == set(TABLES)
    rows = [row.asDict() for row in tables["partitions"].collect()]
    assert rows == theirs.partitions
    assert tables["gaps"].count() == len(theirs.rows("gaps"))
    plain = run("stats", logs, "--format", "json")
    job = CliRunner().invoke(main, ["spark", "stats", str(logs), "--format", "json"])
    assert (job.exit_code, plain.exit_code) == (1, 1)
    assert job.stdout.splitlines()[:-1] == plain.stdout.splitlines()[:-1]


def test_the_command(spark: SparkSession) -> None:
    logs = str(GOLDEN / "2.8.2" / "logs" / "transactions-0")
    done = CliRunner().invoke(main, ["spark", "stats", logs])
    assert done.exit_code == 0, done.output
    assert "1 partition, " in done.stdout
