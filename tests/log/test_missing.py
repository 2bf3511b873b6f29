"""What a log does not deliver, on logs of real brokers that are cut."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.log.missing import Missing, MissingWhy, missing
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from tests.goldens import GOLDEN, VERSIONS, distinct
from tests.log.forge import batch, record

PLAIN = "segments-0"
"""Several segments that no cleaner has seen."""


def losses(path: Path, **options: object) -> list[Missing]:
    with ks.open(path) as log:
        return [item for item in missing(log, **options) if item.is_loss]  # type: ignore[arg-type]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log directory with one partition, and with the checkpoints of its broker."""
    source = GOLDEN / "4.3.1" / "logs"
    (tmp_path / "logs").mkdir()
    shutil.copytree(source / PLAIN, tmp_path / "logs" / PLAIN)
    for path in source.glob("*-offset-checkpoint"):
        shutil.copy(path, tmp_path / "logs")
    return tmp_path / "logs"


@pytest.mark.core
@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_is_missing_in_the_logs_of_brokers(version: str) -> None:
    """Compacted ones among them, whole directories and single files, each content once."""
    directory = GOLDEN / version / "logs"
    assert losses(directory, log_start="checkpoint") == []
    alone = [golden.path for golden in distinct(".log", version=version)]
    assert [item for path in alone for item in losses(path)] == []


@pytest.mark.slow
def test_every_cut_of_every_segment_is_seen(logs: Path) -> None:
    """Wherever a segment is cut, offsets from the end of its last whole batch on are missing."""
    partition = logs / PLAIN
    for suffixes in ([], [".index", ".timeindex"]):
        for path in [path for path in partition.iterdir() if path.suffix in suffixes]:
            path.unlink()
        paths = sorted(partition.glob("*.log"))
        for path in paths:
            data = path.read_bytes()
            batches = list(Segment(path).batches())
            ends = {0: int(path.stem)} | {item.end: item.last_offset + 1 for item in batches}
            cuts = {end + more for end in ends for more in (-1, 0, 1, 40)}
            for size in sorted(cuts & set(range(len(data)))):
                os.truncate(path, size)
                begin = max(end for end in ends if end <= size)
                for where in (partition, path):
                    (item,) = losses(where)
                    assert (item.file, item.position, item.size) == (
                        str(path), begin, size - begin
                    ), (size, suffixes)  # fmt: skip
                    # Also at the very end: the high watermark knows.
                    last = batches[-1].last_offset
                    assert item.offsets == (ends[begin], last + 1), (size, suffixes)
                    assert item.reason is (MissingWhy.END if path == paths[-1] else MissingWhy.CUT)
                path.write_bytes(data)
    assert losses(partition) == []


def test_only_what_is_wanted_is_missing(logs: Path) -> None:
    path = sorted((logs / PLAIN).glob("*.log"))[1]  # offsets 12 to 23
    os.truncate(path, 0)
    for start, end, count in ((None, 12, 0), (None, 13, 1), (23, 24, 1), (24, None, 0)):
        assert len(losses(logs / PLAIN, start_offset=start, end_offset=end)) == count


def test_a_segment_that_is_gone_is_missing_unless_the_log_was_compacted(logs: Path) -> None:
    partition = logs / PLAIN
    for path in partition.glob("*12.*"):
        path.unlink()
    (item,) = losses(partition)
    assert (item.reason, item.offsets) == (MissingWhy.CUT, (12, 24))
    for name, is_loss in (("segments 0 24", False), ("segments 0 23", True), ("other 0 99", True)):
        (logs / "cleaner-offset-checkpoint").write_text(f"0\n1\n{name}\n")
        assert bool(losses(partition)) == is_loss, name
    (logs / "cleaner-offset-checkpoint").unlink()
    # A gap inside a segment is what only compaction leaves.
    path = sorted(partition.glob("*.log"))[0]
    first, second = list(Segment(path).batches())[:2]
    data = path.read_bytes()
    path.write_bytes(data[: first.end] + data[second.end :])
    proof, _ = losses(partition)
    assert (proof.reason, proof.offsets) == (MissingWhy.BROKEN, (3, 6))
    for index in partition.glob(f"{path.stem}.*index"):
        index.unlink()  # the cleaner makes them again
    assert losses(partition) == []
    (note,) = missing(Partition(partition))
    assert (note.reason, note.offsets) == (MissingWhy.COMPACTED, (3, 24))


def test_an_index_without_its_segment_is_seen_in_a_compacted_log(logs: Path) -> None:
    """The cleaner removes the indexes of a segment with it."""
    partition = logs / PLAIN
    (logs / "cleaner-offset-checkpoint").write_text("0\n1\nsegments 0 99\n")
    (partition / f"{12:020d}.log").unlink()
    (item,) = losses(partition)
    assert (item.reason, item.offsets) == (MissingWhy.CUT, (12, 24))
    assert f"{12:020d}.index is there without its segment" in item.message


def test_indexes_and_snapshots_say_that_the_last_segment_is_gone(logs: Path) -> None:
    """Also where no checkpoint of the broker was copied."""
    partition = logs / PLAIN
    last = sorted(partition.glob("*.log"))[-1]
    (logs / "replication-offset-checkpoint").unlink()
    (logs / "recovery-point-offset-checkpoint").unlink()
    end = Partition(partition).log_end_offset
    snapshot = partition / f"{end:020d}.snapshot"
    last.unlink()
    indexes = [last.with_suffix(suffix) for suffix in (".index", ".timeindex")]
    for proofs in ([*indexes, snapshot], indexes, [snapshot]):
        kept = {path: path.read_bytes() for path in (*indexes, snapshot)}
        for path in kept.keys() - set(proofs):
            path.unlink()
        (item,) = losses(partition)
        assert (item.reason, item.offsets) == (MissingWhy.END, (36, end))
        assert all(path.name in item.message for path in proofs)
        for path, data in kept.items():
            path.write_bytes(data)
    snapshot.unlink()
    for path in indexes:  # the first 4 KiB of a segment have no entry
        path.write_bytes(b"")
    (item,) = losses(partition)
    assert (item.reason, item.offsets) == (MissingWhy.TAIL, (36, None))
    assert item.is_loss


def test_a_torn_end_is_a_loss_and_zeros_are_a_note(tmp_path: Path) -> None:
    entries = batch(0, [record(0, b"a")]) + batch(1, [record(0, b"b")])
    path = tmp_path / f"{0:020d}.log"
    for tail, is_loss in ((entries[:30], True), (entries[:5], True), (bytes(4096), False)):
        path.write_bytes(entries + tail)
        (item,) = missing(Segment(path))
        assert (item.is_loss, item.reason, item.offsets) == (is_loss, MissingWhy.TAIL, (2, None))
        assert (item.position, item.size) == (len(entries), len(tail))
        (same,) = missing(Segment(entries + tail, name=str(path)))  # a buffer
        assert (same.is_loss, same.position, same.size) == (is_loss, item.position, item.size)


def test_the_log_start_offset_is_counted_and_checked(logs: Path) -> None:
    partition, checkpoint = logs / PLAIN, logs / "log-start-offset-checkpoint"

    def found(**options: object) -> list[tuple[MissingWhy, bool]]:
        items = missing(Partition(partition), **options)  # type: ignore[arg-type]
        return [(item.reason, item.is_loss) for item in items]

    end = Partition(partition).log_end_offset
    for listed, expected in (
        (14, [(MissingWhy.DELETED, False)]),
        (end, [(MissingWhy.DELETED, False)]),  # everything was deleted
        (end + 1, [(MissingWhy.LOG_START, True), (MissingWhy.DELETED, False)]),
    ):
        checkpoint.write_text(f"0\n1\nsegments 0 {listed}\n")
        assert found(log_start="checkpoint") == expected, listed
        assert found(log_start="ignore") == []
        assert found(log_start=listed) == expected, listed
    checkpoint.write_text("0\n2\nsegments 0 14\n")  # cannot be read
    assert found(log_start="checkpoint") == [(MissingWhy.LOG_START, True)]
    checkpoint.write_text("0\n1\nsegments 0 3\n")
    for path in partition.glob(f"{0:020d}.*"):
        path.unlink()
    assert found(log_start="checkpoint") == [(MissingWhy.LOG_START, False)]
    (item,) = missing(Partition(partition), log_start="checkpoint")
    assert item.offsets == (3, 12)


@pytest.mark.core
def test_batches_below_the_log_start_are_counted(logs: Path) -> None:
    batches = list(Partition(logs / PLAIN).batches())
    for start in range(1, batches[-1].last_offset + 2):
        (note,) = missing(Partition(logs / PLAIN), log_start=start)
        assert note.batches == sum(item.base_offset < start for item in batches), start
