"""Rebuilt leader epoch checkpoints, against those of brokers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.files.checkpoints import leader_epoch_checkpoint
from kafkaspec.writing.comparison import Comparison
from kafkaspec.writing.rebuilt import RebuiltFile
from tests import goldens

NAME = "leader-epoch-checkpoint"


def made_of(path: Path, version: str, out: Path | None = None) -> RebuiltFile | None:
    report = ks.rebuild_indexes(path, out, profile=version, sync=False)
    found = [file for file in report.files if Path(file.name).name == NAME]
    kept = [item for item in report.segments if item.recovery != "removes"]
    assert all(file in kept[-1].files for file in found)
    return found[0] if found else None


def batch(offset: int, epoch: int, value: bytes = b"v") -> bytes:
    return ks.encode([ks.Record(offset, 5, None, value)], partition_leader_epoch=epoch)


def logs(directory: Path, *segments: tuple[int, bytes]) -> Path:
    directory.mkdir()
    for base, data in segments:
        (directory / f"{base:020d}.log").write_bytes(data)
    return directory


@pytest.mark.parametrize("version", goldens.VERSIONS)
def test_those_of_brokers_come_out_byte_for_byte(version: str) -> None:
    equal = 0
    for path in goldens.partitions(version):
        made = made_of(path, version)
        theirs = path / NAME
        if made is None:
            assert not theirs.exists()
            continue
        match made.comparison:
            case Comparison.EQUAL:
                equal += 1
            case Comparison.DIFFERENT:
                mixed = path.name.startswith("format-mixed")
                assert mixed or path.name in goldens.compacted(version)
                what = "messages of magic 0" if mixed else "their first batches are gone"
                assert made.why.startswith(f"epochs begin earlier in it: {what}")
            case Comparison.NOT_MADE:  # a leader that wrote nothing
                assert all(log.stat().st_size == 0 for log in path.glob("*.log"))
            case _:  # the broker removed it
                assert path.name.startswith("format-mixed")
                assert "below magic 2" in made.why
    assert equal > 10 or goldens.release(version) < (0, 11)


def test_the_compared_files_are_written(tmp_path: Path) -> None:
    path = next(goldens.GOLDEN.glob("4.3.1/logs/leader-epochs*-0"))
    made = made_of(path, "4.3.1", tmp_path / "out")
    assert made is not None
    assert made.entries == len(leader_epoch_checkpoint.read(path / NAME)) > 1
    assert (tmp_path / "out" / NAME).read_bytes() == (path / NAME).read_bytes()


def test_epochs_behind_a_cut_are_not_listed(tmp_path: Path) -> None:
    bad = bytearray(batch(2, 5))
    bad[-1] ^= 1
    whole = batch(0, 1) + batch(1, 3)
    path = logs(tmp_path / "a-0", (0, whole + bytes(bad)), (3, batch(3, 7)))
    made_of(path, "4.3", tmp_path / "out")
    assert (tmp_path / "out" / NAME).read_text() == "0\n2\n1 0\n3 1\n"


def test_an_epoch_that_does_not_follow_is_as_kafka_assigns_it(tmp_path: Path) -> None:
    """A smaller epoch is passed over; one that begins no later takes the place of those before
    (``LeaderEpochFileCache.maybeTruncateNonMonotonicEntries``)."""
    data = batch(4, 1) + batch(5, 3) + batch(6, 2) + batch(5, 8) + batch(9, 8)
    path = logs(tmp_path / "a-0", (0, data))
    made_of(path, "4.3", tmp_path / "out")
    assert (tmp_path / "out" / NAME).read_text() == "0\n2\n1 4\n8 5\n"


def test_epochs_below_the_log_start_offset_are_not_listed(tmp_path: Path) -> None:
    path = logs(tmp_path / "a-0", (0, batch(0, 1) + batch(5, 2) + batch(9, 4)))
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\na 0 7\n")
    made_of(path, "4.3", tmp_path / "out")
    assert (tmp_path / "out" / NAME).read_text() == "0\n2\n2 7\n4 9\n"


def test_a_checkpoint_that_was_cut_at_the_log_start_has_a_reason(tmp_path: Path) -> None:
    """A broker deleted records below 25; a copy of the partition alone does not say so."""
    path = tmp_path / "deleted-records-0"
    shutil.copytree(goldens.GOLDEN / "4.3.1/logs/deleted-records-0", path)
    made = made_of(path, "4.3.1")
    assert made is not None
    assert (made.comparison, "cut it at the log start offset" in made.why) == ("different", True)
    assert "begins at offset 25" in made.why
    checkpoint = tmp_path / "log-start-offset-checkpoint"
    shutil.copy(goldens.GOLDEN / "4.3.1/logs" / checkpoint.name, checkpoint)
    made = made_of(path, "4.3.1")
    assert made is not None
    assert made.comparison is Comparison.EQUAL
    (path / NAME).write_text("0\n1\n0 24\n")  # before the broker loads the log
    made = made_of(path, "4.3.1")
    assert made is not None
    assert "below the log start offset 25" in made.why


@pytest.mark.parametrize(
    ("theirs", "why"),
    [
        ("0\n3\n1 0\n2 6\n4 9\n", "begin later"),
        ("0\n3\n1 0\n2 4\n4 9\n", "begin earlier"),
        ("0\n2\n1 0\n4 9\n", "lacks epochs"),
        ("0\n4\n1 0\n2 5\n3 7\n4 9\n", "more epochs"),
        ("0\n1\n4 9\n", "cut it at the log start offset"),
        ("0\n3\n1 0\n2 5\n4 +9\n", "not written as"),
        ("0\n0\n", "lacks epochs"),
    ],
)
def test_each_difference_has_its_reason(theirs: str, why: str, tmp_path: Path) -> None:
    path = logs(tmp_path / "a-0", (0, batch(0, 1) + batch(5, 2) + batch(9, 4)))
    (path / NAME).write_text(theirs)
    made = made_of(path, "4.3")
    assert made is not None
    assert made.comparison is Comparison.DIFFERENT
    assert why in made.why
    assert "; " not in made.why


def test_none_is_made_where_a_broker_does_not_load_the_log(tmp_path: Path) -> None:
    marker = ks.encode([ks.Record(1, 5, b"\0", b"")], control=True, producer_id=7)
    path = logs(tmp_path / "a-0", (0, batch(0, 1) + marker))
    assert made_of(path, "4.3") is None


def test_one_that_cannot_be_read_is_different(tmp_path: Path) -> None:
    path = Path(shutil.copytree(goldens.GOLDEN / "4.3.1/logs/plain-0", tmp_path / "plain-0"))
    (path / NAME).write_bytes(b"0\n9\n")
    made = made_of(path, "4.3.1")
    assert made is not None
    assert made.comparison is Comparison.DIFFERENT
    assert made.why.startswith("it cannot be read")
