"""Names of files and directories in a log directory, by the rules of a broker that starts."""

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


def test_a_broker_does_not_start_with_a_number_that_is_no_offset(tmp_path: Path) -> None:
    """``LogFileUtils.offsetFromFileName``: ``Long.parseLong`` takes numbers below 2^63 only."""
    partition = tmp_path / "codec-gzip-0"
    shutil.copytree(GOLDEN / "4.3.1" / "logs" / "codec-gzip-0", partition)
    name = f"{2**63:020d}.log"
    (partition / name).touch()
    (finding,) = verify(tmp_path).findings
    assert (finding.reason, finding.severity) == (FindingReason.FILE_NUMBER, Severity.ERROR)
    assert finding.action is BrokerAction.REFUSES_START
    assert Path(finding.file).name == name
