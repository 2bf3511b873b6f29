"""``export`` and back: the records are those that went in."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

import kafkaspec as ks
from kafkaspec.spark.jobs.export import export, exported, restore
from tests.cli.helpers import run
from tests.goldens import GOLDEN, produced

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOGS = GOLDEN / "4.3.1" / "logs"


def timestamp_types(partition: Path) -> set[str]:
    logs = partition.glob("*.log")
    return {b.timestamp_type for p in logs for b in ks.Segment(p).batches() if not b.is_control}


def test_export_and_back(spark: SparkSession, tmp_path: Path) -> None:
    names = ["headers-0", "transactions-1", "log-append-time-0"]
    paths = [str(LOGS / name) for name in names]
    parquet, logs = tmp_path / "parquet", tmp_path / "logs"
    export(spark, paths, str(parquet))
    assert (parquet / "topic=headers" / "day=2021-01-01").is_dir()
    table = exported(spark, str(parquet))
    assert {"key", "value", "topic", "partition", "offset", "headers"} <= set(table.columns)
    restore(spark, str(parquet), str(logs), compression="zstd")
    for name in names:
        before = [r for p in sorted((LOGS / name).glob("*.log")) for r in ks.open(p).records()]
        after = [r for p in sorted((logs / name).glob("*.log")) for r in ks.open(p).records()]
        assert before == after
        assert timestamp_types(logs / name) == timestamp_types(LOGS / name)
    assert timestamp_types(logs / "log-append-time-0") == {"LogAppendTime"}
    assert ks.verify(logs).clean


def test_the_command(spark: SparkSession, tmp_path: Path) -> None:
    out, back = tmp_path / "json", tmp_path / "back"
    done = run("spark", "export", LOGS / "plain-0", "-o", out, "--to", "json")
    assert done.exit_code == 0, done.output
    count = len(produced("4.3.1")["plain-0"])
    assert f"{count} records in" in done.stdout.replace(",", "")
    done = run("spark", "export", "--restore", out, "-o", back, "--to", "json")
    assert done.exit_code == 0, done.output
    with ks.open(back / "plain-0") as ours, ks.open(LOGS / "plain-0") as theirs:
        assert list(ours.records()) == list(theirs.records())


def test_damage_is_an_error_of_ours(spark: SparkSession, tmp_path: Path) -> None:
    """The command ends as ``export`` without Spark does, not with a trace."""
    place = Path(shutil.copytree(LOGS / "plain-0", tmp_path / "plain-0"))
    (log,) = place.glob("*.log")
    log.write_bytes(log.read_bytes()[:-1] + b"\xff")
    ours = run("export", place, "-o", tmp_path / "out.parquet")
    done = run("spark", "export", place, "-o", tmp_path / "out")
    assert ours.exit_code == done.exit_code == 2, done.output
    assert "checksum_mismatch" in ours.stderr
    assert done.stderr.endswith(ours.stderr)


def test_the_isolation_level(spark: SparkSession, tmp_path: Path) -> None:
    """It has the name that it has in other commands; the flag that it was says so."""
    place = LOGS / "transactions-0"
    with ks.open(place) as log:
        count = len(list(log.records(isolation="read_committed")))
        assert count < len(list(log.records()))
    for number, option in enumerate((["--isolation", "read_committed"], ["--committed"])):
        done = run("spark", "export", place, *option, "-o", tmp_path / str(number))
        assert f"{count} records in" in done.stdout.replace(",", ""), done.output
        assert ("--committed is now --isolation" in done.stderr) == (option == ["--committed"])


def test_options_of_schemas_need_typed_values(tmp_path: Path) -> None:
    for options in (["--schemas", "x"], ["--topic", "t"], ["--restore", "--value", "decode"]):
        result = run("spark", "export", LOGS, *options, "-o", tmp_path / "out")
        assert result.exit_code == 2
        assert "say what values or keys are" in result.stderr
