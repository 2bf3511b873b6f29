"""``verify`` names the offsets of segments that are gone, as all other commands do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.analysis import FindingReason, Severity
from kafkaspec.log.missing import missing
from tests.goldens import GOLDEN, VERSIONS

NEWEST = GOLDEN / VERSIONS[-1] / "logs"


def copied(source: Path, tmp_path: Path, partition: str) -> Path:
    """Copy a partition with the checkpoints of its broker."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for item in source.iterdir():
        if item.is_file():
            shutil.copy(item, logs)
    shutil.copytree(source / partition, logs / partition)
    return logs / partition


def remove(partition: Path, base: str, *kept: str) -> None:
    """Remove the files of a segment, but for those that end so."""
    for path in partition.glob(f"{base}.*"):
        if not path.name.endswith(kept or ("nothing",)):
            path.unlink()


def named(path: Path) -> list[tuple[int, int]]:
    """Return the ranges of offsets that ``verify`` finds missing, and compare them with others."""
    report = ks.verify(path)
    found = [item for item in report.findings if item.reason is FindingReason.MISSING_OFFSETS]
    assert all(item.severity is Severity.WARNING for item in found)
    assert report.clean == (not report.totals.findings[Severity.WARNING])
    with ks.open(path) as log:
        lost = [item for item in missing(log) if item.is_loss and item.count]
    assert [item.message for item in found] == [item.message for item in lost]
    return [item.through for item in lost]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_segment_that_is_gone_is_named(version: str, tmp_path: Path) -> None:
    source = GOLDEN / version / "logs"
    paths = sorted((source / "segments-0").glob("*.log"))
    if not paths:
        pytest.skip("this release has none")
    bases = [path.stem for path in paths]
    with ks.Partition(source / "segments-0") as log:
        ends = [int(base) for base in bases[1:]] + [log.log_end_offset]
    has_epochs = (source / "segments-0/leader-epoch-checkpoint").exists()
    for number, (base, end) in enumerate(zip(bases, ends, strict=True)):
        place = tmp_path / base
        place.mkdir()
        partition = copied(source, place, "segments-0")
        remove(partition, base)
        expected = [] if number == 0 and not has_epochs else [(int(base), end - 1)]
        assert named(partition) == expected, f"{version}: {base} is gone"


@pytest.mark.core
def test_nothing_is_missing_in_what_brokers_wrote() -> None:
    for version in VERSIONS:
        for path in sorted((GOLDEN / version).glob("**/logs")):
            if "unclean" in path.parts:
                continue
            reasons = {item.reason for item in ks.verify(path).findings}
            assert FindingReason.MISSING_OFFSETS not in reasons, path


@pytest.mark.parametrize("kept", [".index", ".timeindex"])
def test_an_index_proves_a_loss_in_a_compacted_log(kept: str, tmp_path: Path) -> None:
    partition = copied(NEWEST, tmp_path, "compacted-0")
    second = sorted(partition.glob("*.log"))[1].stem
    remove(partition, second, kept)
    ((first, last),) = named(partition)
    assert first <= int(second) <= last


def test_a_snapshot_or_an_epoch_above_the_cleaners_checkpoint_proves_it(
    tmp_path: Path,
) -> None:
    partition = copied(NEWEST, tmp_path, "compacted-0")
    bases = sorted(path.stem for path in partition.glob("*.log"))
    remove(partition, bases[-3])
    remove(partition, bases[-2], ".snapshot")
    cleaner = partition.parent / "cleaner-offset-checkpoint"
    assert f"compacted 0 {int(bases[-1])}" in cleaner.read_text()
    assert named(partition) == []  # below it, the cleaner may have removed all of the segment
    cleaner.write_text("0\n1\ncompacted 0 0\n")
    ((first, last),) = named(partition)
    assert first <= int(bases[-2]) <= last
    remove(partition, bases[-2])
    assert named(partition) == []
    epochs = partition / "leader-epoch-checkpoint"
    epochs.write_text(f"0\n2\n0 0\n1 {int(bases[-2])}\n")
    assert len(named(partition)) == 1


def test_a_partition_without_a_segment_has_lost_all(tmp_path: Path) -> None:
    partition = copied(NEWEST, tmp_path, "segments-0")
    shutil.copytree(NEWEST / "plain-0", partition.parent / "plain-0")
    for path in partition.glob("*.log"):
        path.unlink()
    assert named(partition.parent) == [(0, 44)]


@pytest.mark.slow
def test_text_json_and_exit_code(tmp_path: Path) -> None:
    partition = copied(NEWEST, tmp_path, "segments-0")
    remove(partition, "00000000000000000012")
    command = [sys.executable, "-m", "kafkaspec", "verify", str(partition)]
    text = subprocess.run(command, capture_output=True, text=True, check=False)
    assert text.returncode == 1
    assert "offsets 12 to 23 are missing" in text.stdout
    lines = subprocess.run(
        [*command, "--format", "json"], capture_output=True, text=True, check=False
    )
    assert lines.returncode == 1
    findings = [json.loads(line) for line in lines.stdout.splitlines()]
    (found,) = [item for item in findings if item.get("reason") == "missing_offsets"]
    assert (found["offset"], found["severity"], found["action"]) == (12, "warning", "nothing")
    assert found["offsets"] == [12, 24]


@pytest.mark.slow
def test_codecs_name_the_same_offsets(tmp_path: Path) -> None:
    """The codec in Python scans no messages of magic 0 and 1: others read them one by one."""
    path = tmp_path / f"{0:020}.log"
    for magic in (0, 1, 2):
        records = [ks.Record(n, -1 if magic == 0 else n, b"k", b"v" * n) for n in range(3)]
        data = b"".join(ks.encode([record], magic=magic) for record in records)
        for position in range(len(data)):
            path.write_bytes(data[:position] + bytes([data[position] ^ 16]) + data[position + 1 :])
            found = [
                [(item.position, item.reason, item.offsets) for item in report.findings]
                for report in (ks.verify(path, codec=name) for name in ("native", "python"))
            ]
            assert found[0] == found[1], (magic, position)
