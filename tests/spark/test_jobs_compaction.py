"""``spark compaction`` leaves what ``compaction`` does, which Kafka's own cleaner judges."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

import kafkaspec as ks
import kafkaspec.spark
from kafkaspec.files.checkpoints.log_directory import Checkpoints
from kafkaspec.files.names import OFFSET_CHECKPOINTS, RECOVERY_POINTS
from kafkaspec.spark.jobs.compaction import compact_logs
from tests.cli.helpers import fingerprint, run
from tests.goldens import GOLDEN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW = 1_800_000_000_000
CONFIG = {"cleanup.policy": "compact", "delete.retention.ms": "0"}
NAMES = (
    "segments-0", "segments-gzip-0", "transactions-segments-0", "plain-0", "deleted-records-0",
)  # fmt: skip


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Closed segments that no cleaner has seen, and a log that is damaged."""
    for name in NAMES:
        shutil.copytree(GOLDEN / "4.3.1" / "logs" / name, tmp_path / "logs" / name)
    for name in OFFSET_CHECKPOINTS:
        shutil.copy(GOLDEN / "4.3.1" / "logs" / name, tmp_path / "logs" / name)
    return tmp_path / "logs"


def _contents(directory: Path) -> dict[str, str]:
    return {name: digest for name, (digest, _) in fingerprint(directory).items()}


def test_the_same_as_the_command(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    options = [f"--config={name}={value}" for name, value in CONFIG.items()]
    alone = run("compaction", *options, "--clock", str(NOW), logs, "-o", tmp_path / "alone")
    assert alone.exit_code == 1
    results = compact_logs(spark, str(logs), str(tmp_path / "many"), now=NOW, config=CONFIG)
    assert _contents(tmp_path / "many") == _contents(tmp_path / "alone")
    assert Checkpoints(tmp_path / "many").log_start_offsets == {("deleted-records", 0): 25}
    entries = {entry.file for item in results for entry in item.checkpoints}
    assert entries == {*OFFSET_CHECKPOINTS}
    assert sum(sum((item.removed or {}).values()) for item in results) > 0
    assert ks.verify(tmp_path / "many").clean


def test_rows_that_are_written_again_have_no_deleted_records(
    spark: SparkSession, logs: Path, tmp_path: Path
) -> None:
    """The data source begins at the log start, so the last record of each key is a live one."""
    place = logs / "deleted-records-0"
    last = kafkaspec.spark.latest(kafkaspec.spark.read(spark, str(place)))
    kafkaspec.spark.write(last, str(tmp_path / "out"), allowGaps=True)
    with ks.open(place) as log:
        wanted = [record.offset for record in log.records(log_start="checkpoint")]
    with ks.open(tmp_path / "out" / "deleted-records-0") as log:
        there = [record.offset for record in log.records()]
    assert there
    assert set(there) <= set(wanted)


def test_a_damaged_log_is_named_and_left_out(
    spark: SparkSession, logs: Path, tmp_path: Path
) -> None:
    path = logs / "segments-0" / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[16] = 9
    path.write_bytes(data)
    arguments = ["spark", "compaction", "--format", "json", str(logs), "-o", str(tmp_path / "out")]
    arguments += ["--config", "cleanup.policy=compact", "--clock", str(NOW)]
    done = run(*arguments)
    assert done.exit_code == 1, done.output
    assert "invalid_value" in done.stderr
    there = {path.name for path in (tmp_path / "out").iterdir()}
    kept = {*OFFSET_CHECKPOINTS} - {RECOVERY_POINTS}
    assert there == {*NAMES, *kept} - {"segments-0"}
    *found, summary = [json.loads(line) for line in done.stdout.splitlines()]
    assert (summary["command"], summary["undecoded"]) == ("spark compaction", 1)
    assert {item["topic"] for item in found} == {name[:-2] for name in NAMES} - {"segments"}


@pytest.mark.parametrize("damage", ["a segment is gone", "a header is broken"])
def test_missing_offsets_are_named_as_by_the_command(
    spark: SparkSession, tmp_path: Path, damage: str
) -> None:
    place = tmp_path / "segments-0"
    shutil.copytree(GOLDEN / "4.3.1" / "logs" / "segments-0", place)
    path = place / f"{12:020}.log"
    if damage == "a segment is gone":
        path.unlink()
    else:
        data = path.read_bytes()
        path.write_bytes(data[:8] + b"\xff\xff\xff\xff" + data[12:])
    command, job = (
        run(*name, "--clock", str(NOW), "--format", "json", place)
        for name in (["compaction"], ["spark", "compaction"])
    )
    (lost,) = (line for line in command.stderr.splitlines() if "are missing" in line)
    assert f"offsets 12 to {23 if damage == 'a segment is gone' else 14} are missing" in lost
    assert lost in job.stderr.splitlines()
    sums = [json.loads(result.stdout.splitlines()[-1]) for result in (command, job)]
    assert (job.exit_code, sums[1]["missing"]) == (1, 1)
    for name in ("exit_code", "logs", "unreadable", "undecoded", "missing"):
        assert sums[0][name] == sums[1][name], name


def test_the_former_name(spark: SparkSession, logs: Path) -> None:
    arguments = ["--config", "cleanup.policy=compact", "--clock", str(NOW), str(logs)]
    now, former = (run("spark", name, *arguments) for name in ("compaction", "compact"))
    assert (former.exit_code, former.stdout) == (now.exit_code, now.stdout)
    assert "compact is now spark compaction" in former.stderr


def test_wrong_usage(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    for wrong in (["--config", "no.such=1"], ["--profile", "1.0"], ["--config", "x"]):
        done = run("spark", "compaction", *wrong, str(logs), "-o", str(tmp_path / "out"))
        assert done.exit_code == 2, done.output
        assert not (tmp_path / "out").exists()
