"""Names of directories in a log directory, by the rules of a broker that starts."""

from __future__ import annotations

import shutil
from pathlib import Path

from kafkaspec.analysis import BrokerAction, FindingReason, Severity, verify
from tests.goldens import GOLDEN


def _found(tmp_path: Path, name: str, *files: str) -> list[tuple[Severity, BrokerAction]]:
    logs = GOLDEN / "4.3.1" / "logs"
    shutil.copytree(logs / "codec-gzip-0", tmp_path / "codec-gzip-0")
    for file in files:
        shutil.copy(logs / file, tmp_path)
    (tmp_path / name).mkdir()
    reasons = (FindingReason.DIRECTORY_NAME, FindingReason.MOVED_PARTITION)
    found = [item for item in verify(tmp_path).findings if item.reason in reasons]
    return [(finding.severity, finding.action) for finding in found]


def test_a_broker_does_not_start_with_lost_and_found(tmp_path: Path) -> None:
    """Kafka 4.3.1: "is not in the form of topic-partition"."""
    refused = [(Severity.ERROR, BrokerAction.REFUSES_START)]
    assert _found(tmp_path, "lost+found", "meta.properties") == refused


def test_a_directory_beside_copied_partitions_is_a_note(tmp_path: Path) -> None:
    assert _found(tmp_path, "lost+found") == []


def test_a_partition_that_is_being_deleted_is_named(tmp_path: Path) -> None:
    named = [(Severity.INFO, BrokerAction.DELETES_FILE)]
    assert _found(tmp_path, "snappy-7.abc-delete", "meta.properties") == named
