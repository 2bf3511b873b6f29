"""``retention``, compared with what Kafka's own code did (``make test-kafka`` asks it again)."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from kafkaspec.forensics.cleaner.retention import Hold, RetentionRule, retention
from kafkaspec.forensics.cleaner.settings import Settings
from kafkaspec.forensics.cleaner.view import LogView
from kafkaspec.log.partition import Partition
from tests.cli.helpers import fingerprint, golden, run
from tests.forensics import retention_cases
from tests.forensics.retention_cases import DAY, NOW, Case


def ours(case: Case, directory: Path, release: str = retention_cases.RECORDED_WITH) -> list[object]:
    """Return what ``retention`` says of a case: segments left, log start and end offset."""
    view = LogView(
        Partition(directory), log_start=case.log_start, high_watermark=case.high_watermark
    )
    found = retention(view, Settings(case.settings), NOW, release)
    left = [fate.segment.base_offset for fate in found.fates if fate.rule is None]
    return [[*left, *([found.log_end] if found.rolls else [])], found.log_start, found.log_end]


@pytest.mark.slow
def test_as_kafka_deletes(tmp_path: Path) -> None:
    answers = retention_cases.recorded()
    different = []
    for case in retention_cases.cases(len(answers)):
        directory = retention_cases.write(case, tmp_path / str(case.seed) / "t-0")
        if ours(case, directory) != answers[str(case.seed)]:
            different.append(case)
    assert not different
    assert len(answers) >= 60


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """A partition of a broker's with four segments, of 2021."""
    path = Path(shutil.copytree(golden("3.9.2", "segments-0"), tmp_path / "segments-0"))
    for file in path.iterdir():
        os.utime(file, (1_000, 1_000))
    return path


def test_a_future_timestamp_holds_all_later_segments(partition: Path) -> None:
    """The largest time of the first segment is in the future of 2021-01-01T00:00:10."""
    now = 1_609_459_210_000
    settings = Settings({"cleanup.policy": "delete", "retention.ms": "0"})
    found = retention(LogView(Partition(partition)), settings, now)
    assert not found.deleted
    assert {fate.hold for fate in found.fates} == {Hold.FUTURE}
    holder = found.fates[0].holder
    assert holder is not None
    records = {record.offset: record for record in Partition(partition).records()}
    assert records[holder.offset or 0].timestamp == holder.timestamp > now


def test_every_assumption_is_named(partition: Path) -> None:
    settings = Settings({"cleanup.policy": "delete", "retention.ms": str(DAY)})
    found = retention(LogView(Partition(partition)), settings, NOW)
    assert [fate.rule for fate in found.fates] == [RetentionRule.TIME] * 4
    assert {item.name: item.why for item in found.assumptions} == {
        "clock": "the time that was asked for",
        "cleanup.policy": "given",
        "retention.bytes": "default of Kafka",
        "retention.ms": "given",
        "high watermark": "all records are on all replicas",
    }


def test_the_command_in_text_and_json(partition: Path) -> None:
    before = fingerprint(partition)
    shown = run("retention", "--clock", str(NOW), partition)
    assert shown.exit_code == 1
    assert shown.stdout.count("deleted: time") == 4
    assert "retention.ms = 604800000, default of Kafka" in shown.stdout
    in_json = run("retention", "--clock", str(NOW), "--format", "json", partition)
    *segments, last, summary = [json.loads(line) for line in in_json.stdout.splitlines()]
    assert [each["type"] for each in segments] == ["segment"] * 4
    assert (summary["deleted"], summary["findings"]) == (4, 4)
    assert all(each["rule"] == "time" and each["deleted"] for each in segments)
    assert (last["deleted"], last["log_start"], last["rolls"]) == (4, 45, True)
    assert fingerprint(partition) == before


def test_nothing_to_delete_is_no_finding(partition: Path) -> None:
    shown = run("retention", "--clock", "2021-01-01T00:01:00", partition)
    assert shown.exit_code == 0, shown.output


@pytest.mark.parametrize(
    "config", ["retention.ms", "retention.ms=soon", "no.such=1", "cleanup.policy=keep"]
)
def test_wrong_settings_are_wrong_usage(partition: Path, config: str) -> None:
    shown = run("retention", "--config", config, partition)
    assert shown.exit_code == 2
    assert "--config" in shown.stderr


def test_settings_of_the_cluster_beside_the_log(tmp_path: Path) -> None:
    """A log directory of a combined node: its metadata says what topics are set to."""
    home = Path(golden("4.3.1", "segments-0")).parent
    shown = run("retention", "--format", "json", "--clock", str(NOW), home)
    ends = [json.loads(line) for line in shown.stdout.splitlines()]
    sources = {
        item["why"]
        for each in ends
        if each["type"] == "retention"
        for item in each["assumptions"]
        if item["name"] == "cleanup.policy"
    }
    assert "metadata of the cluster beside the log" in sources
