"""``retention``, compared with what Kafka's own code did (``make test-kafka`` asks it again)."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from kafkaspec.forensics.cleaner.retention import Hold, Retention, RetentionRule, retention
from kafkaspec.forensics.cleaner.settings import Settings
from kafkaspec.forensics.cleaner.view import LogView
from kafkaspec.log.partition import Partition
from tests.cli.helpers import fingerprint, golden, run
from tests.forensics import retention_cases
from tests.forensics.retention_cases import DAY, NOW, Case


def _found(case: Case, directory: Path, release: str) -> Retention:
    view = LogView(
        Partition(directory), log_start=case.log_start, high_watermark=case.high_watermark
    )
    return retention(view, Settings(case.settings), NOW, release)


def ours(case: Case, directory: Path, release: str = retention_cases.RECORDED_WITH) -> list[object]:
    """Return what ``retention`` says of a case: segments left, log start and end offset."""
    found = _found(case, directory, release)
    left = [fate.segment.base_offset for fate in found.fates if fate.rule is None]
    return [[*left, *([found.log_end] if found.rolls else [])], found.log_start, found.log_end]


def holds(case: Case, directory: Path) -> set[Hold | None]:
    """Return why segments of a case stay."""
    found = _found(case, directory, retention_cases.RECORDED_WITH)
    return {fate.hold for fate in found.fates}


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


@pytest.mark.slow
def test_as_kafka_deletes_what_was_copied(tmp_path: Path) -> None:
    answers = retention_cases.recorded(retention_cases.REMOTE_RECORDED)
    for case in retention_cases.remote_cases(len(answers)):
        directory = retention_cases.write(case, tmp_path / str(case.seed) / "t-0")
        assert ours(case, directory, "4.4") == answers[str(case.seed)], case
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


@pytest.mark.slow
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


def _remote(partition: Path, **settings: int) -> list[str]:
    given = {name.replace("_", "."): str(value) for name, value in settings.items()}
    fixed = {"cleanup.policy": "delete", "remote.storage.enable": "true", "local.retention.ms": "0"}
    found = retention(LogView(Partition(partition)), Settings(fixed | given), NOW, "4.4")
    return [str(fate.rule or fate.hold) for fate in found.fates]


def test_a_segment_waits_for_its_copy(partition: Path) -> None:
    """KIP-1241: by age or by the bytes that follow; either is enough, and 0 is at once."""
    waits = [str(Hold.REMOTE), *[str(Hold.EARLIER)] * 3]
    copied = [*[str(RetentionRule.TIME)] * 3, str(Hold.REMOTE)]
    assert _remote(partition) == copied
    view = LogView(Partition(partition))
    age, newer = NOW - view.segments[0].largest.value, view.size - view.segments[0].size
    assert _remote(partition, remote_copy_lag_ms=age + 1) == waits  # -1 bytes are no limit
    for lag_bytes, expected in ((newer + 1, waits), (0, copied)):
        found = _remote(partition, remote_copy_lag_ms=age + 1, remote_copy_lag_bytes=lag_bytes)
        assert found == expected
    by_bytes = _remote(partition, remote_copy_lag_ms=age + 1, remote_copy_lag_bytes=newer)
    assert by_bytes == [str(RetentionRule.TIME), str(Hold.REMOTE), *waits[2:]]
    by_age = _remote(partition, remote_copy_lag_ms=age, remote_copy_lag_bytes=newer + 1)
    assert by_age[0] == str(RetentionRule.TIME)


def test_a_log_with_remote_storage_says_what_it_assumes() -> None:
    """The topic's settings are in the metadata beside it."""
    home = golden("4.3.1", "tiered-0").parents[1] / "tiered" / "logs" / "tiered-0"
    shown = run("retention", "--format", "json", "--clock", str(NOW), home)
    *fates, last, _ = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [fate["copied"] for fate in fates] == [True] * (len(fates) - 1) + [False]
    assumed = {item["name"]: item["value"] for item in last["assumptions"]}
    assert assumed["remote.storage.enable"] == "true"
    assert assumed["local.retention.bytes"] == "1"
    assert "remote storage" in assumed


@pytest.mark.parametrize("config", ["remote.storage.enable=yes", "remote.copy.lag.ms=-2"])
def test_wrong_settings_of_remote_storage(partition: Path, config: str) -> None:
    shown = run("retention", "--config", config, partition)
    assert shown.exit_code == 2
    assert config.partition("=")[0] in shown.stderr
