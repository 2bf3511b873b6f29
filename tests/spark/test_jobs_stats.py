"""``stats``, against ``kafkaspec stats``."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from click.testing import CliRunner

import kafkaspec as ks
from kafkaspec.cli.main import main
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.spark.jobs import units
from kafkaspec.spark.jobs.stats import TABLES, frames, stats
from kafkaspec.stats.measure import measure
from kafkaspec.stats.units import units_of_log
from tests.cli.helpers import run
from tests.goldens import GOLDEN
from tests.spark import logs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_figures_are_those_without_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "logs"
    for name in ("compacted-0", "segments-0", "transactions-0", "codec-mixed-0"):
        shutil.copytree(GOLDEN / "4.3.1" / "logs" / name, place / name)
    (damaged,) = (place / "codec-mixed-0").glob("*.log")
    data = bytearray(damaged.read_bytes())
    data[-1] ^= 1
    damaged.write_bytes(data)
    work = []
    with open_log(place) as opened:
        assert isinstance(opened, LogDirectory)
        for log in opened.current:
            work += list(units_of_log(log))
    theirs = measure(work)
    for tasks in (2, None):
        ours = stats(spark, str(place), tasks=tasks)
        assert ours.part == theirs.part
        assert ours.partitions == theirs.partitions
        assert ours.total == theirs.total
    assert ours.total["errors"] == 1
    tables = frames(spark, ours)
    assert tables.keys() == set(TABLES)
    rows = [row.asDict() for row in tables["partitions"].collect()]
    assert rows == theirs.partitions
    assert tables["gaps"].count() == len(theirs.rows("gaps"))
    plain = run("stats", place, "--format", "json")
    job = CliRunner().invoke(main, ["spark", "stats", str(place), "--format", "json"])
    assert (job.exit_code, plain.exit_code) == (1, 1)
    assert job.stdout.splitlines()[:-1] == plain.stdout.splitlines()[:-1]


def test_a_large_segment_is_measured_in_parts(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside small ones: with times that go back, a wrong checksum, and bytes that are no batch."""
    monkeypatch.setattr(units, "PART_BYTES", 2000)
    for partition in range(3):
        logs.make(tmp_path / f"small-{partition}", 2)
    orders = tmp_path / "orders-0"
    orders.mkdir()
    data = bytearray()
    for number in range(80):
        offsets = range(5 * number, 5 * number + 5)
        records = [
            ks.Record(n, logs.START + (n * 7919 % 400) * 1000, b"k%d" % (n % 9), b"v" * n)
            for n in offsets
        ]
        kind = "gzip" if number % 3 else "none"
        data += ks.encode(records, compression=kind, producer_id=number % 2)
    path = orders / f"{0:020d}.log"
    with ks.Segment(bytes(data)) as segment:
        places = [batch.position for batch in segment.batches()]
    data[places[33] + 70] ^= 1
    data[places[60] + 8 : places[60] + 12] = bytes(4)  # the reader of all stops there
    path.write_bytes(data)
    cut = units.parts_of(spark, [str(path)], [len(data)], 2)[0]
    assert len(cut) > 3
    assert cut[-1].start <= places[60]
    with open_log(tmp_path) as opened:
        assert isinstance(opened, LogDirectory)
        theirs = measure([unit for log in opened.current for unit in units_of_log(log)])
    ours = stats(spark, str(tmp_path), tasks=2)
    assert ours.partitions == theirs.partitions
    assert ours.topics == theirs.topics
    assert ours.total == theirs.total
    assert ours.heaviest() == theirs.heaviest()
    for name in ("codecs", "producers", "times", "sizes", "extents", "errors", "gaps"):
        assert ours.rows(name) == theirs.rows(name), name
    assert ours.total["steps_back"] > 10
    assert ours.total["errors"] > 1


def test_the_command(spark: SparkSession) -> None:
    place = str(GOLDEN / "2.8.2" / "logs" / "transactions-0")
    done = CliRunner().invoke(main, ["spark", "stats", place])
    assert done.exit_code == 0, done.output
    assert "1 partition, " in done.stdout
