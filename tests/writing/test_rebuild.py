"""Indexes rebuilt from logs of real brokers, against the indexes of those brokers."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.writing import comparison
from kafkaspec.writing.comparison import Comparison
from kafkaspec.writing.rebuilt import RebuildReport, RebuiltFile, Recovery
from tests import goldens
from tests.loops import each
from tests.writing.golden_settings import index_interval, is_modern, numbers, partitions

PER_BATCH = (3, 9, 1)
"""From this version on, rebuilt indexes equal those of the broker."""

MODERN = [path for path in partitions() if is_modern(path)]
CLEANED = "compacted"
METADATA = "__cluster_metadata-0"
"""Raft appends several batches at once."""
RESTARTED = ("leader-epochs", "__")
"""Scenarios whose broker was stopped and started while a segment was open."""


def rebuild(path: Path, rule: str, out: Path | None = None) -> RebuildReport:
    version = path.parts[-3]
    return ks.rebuild_indexes(
        path, out, rule=rule, profile=version, index_interval_bytes=index_interval(path), sync=False
    )


def of_kind(report: RebuildReport, *kinds: str) -> list[RebuiltFile]:
    return [file for file in report.files if Path(file.name).suffix in kinds]


def unequal(files: list[RebuiltFile]) -> list[tuple[str, str]]:
    fine = (Comparison.EQUAL, Comparison.PREALLOCATED)
    return [(file.name, str(file.comparison)) for file in files if file.comparison not in fine]


@pytest.mark.parametrize("rule", ["recovery", "append"])
@each(
    "path",
    [path for path in partitions() if numbers(path.parts[-3]) >= PER_BATCH],
    goldens.label,
)
def test_indexes_from_3_9_1_on_are_those_of_the_broker(path: Path, rule: str) -> None:
    report = rebuild(path, rule)
    indexes = of_kind(report, names.OFFSET_INDEX, names.TIME_INDEX)
    if path.name.startswith(RESTARTED):
        indexes = [file for file in indexes if file.why != comparison.RESTARTED]
    assert unequal(indexes) == []
    for file in of_kind(report, names.TRANSACTION_INDEX):
        gone = CLEANED in path.name and file.comparison is Comparison.NOT_MADE
        assert gone or file.comparison is Comparison.EQUAL


@each(
    "path",
    [
        path
        for path in MODERN
        if path.name not in goldens.compacted(path.parts[-3])
        and (path.name != METADATA or numbers(path.parts[-3]) >= PER_BATCH)
    ],
    goldens.label,
)
def test_a_leader_of_any_version_made_the_same_of_batches(path: Path) -> None:
    """Each batch was one append, so that nothing is unknown."""
    report = rebuild(path, "append")
    kinds = (names.OFFSET_INDEX, names.TIME_INDEX, names.TRANSACTION_INDEX)
    files = of_kind(report, *kinds)
    if path.name.startswith(RESTARTED):
        files = [file for file in files if file.why != comparison.RESTARTED]
    assert unequal(files) == []
    for file in of_kind(report, names.PRODUCER_SNAPSHOT):
        if file.comparison is Comparison.MISSING:
            assert "before 2.8" in file.why
        else:
            assert file.comparison in (Comparison.EQUAL, Comparison.REORDERED), file


def test_the_compared_files_are_written(tmp_path: Path) -> None:
    path = goldens.GOLDEN / "4.3.1/logs/transactions-segments-0"
    report = rebuild(path, "recovery", tmp_path / "out")
    made = sorted((tmp_path / "out").iterdir())
    assert [item.name for item in made] == sorted(file.name for file in report.files)
    assert len(made) == 16
    for item in made:
        assert item.read_bytes() == (path / item.name).read_bytes()


def test_a_log_directory_keeps_its_shape(tmp_path: Path) -> None:
    logs = goldens.GOLDEN / "4.3.1/logs"
    before = {item: item.stat().st_mtime_ns for item in logs.rglob("*")}
    report = ks.rebuild_indexes(logs, tmp_path / "out", profile="4.3", sync=False)
    assert {item: item.stat().st_mtime_ns for item in logs.rglob("*")} == before
    found = {str(item.relative_to(tmp_path / "out")) for item in (tmp_path / "out").rglob("*/*")}
    assert found == {file.name for file in report.files if file.comparison != "not_made"}


def test_a_segment_without_the_state_before_it_says_so(tmp_path: Path) -> None:
    source = goldens.GOLDEN / "4.3.1/logs/transactions-segments-0"
    log = shutil.copy(source / "00000000000000000018.log", tmp_path)
    (segment,) = ks.rebuild_indexes(log, profile="4.3", index_interval_bytes=200).segments
    assert "no producer snapshot" in segment.note
    shutil.copy(source / "00000000000000000018.snapshot", tmp_path)
    shutil.copy(source / "00000000000000000018.txnindex", tmp_path)
    (segment,) = ks.rebuild_indexes(log, profile="4.3", index_interval_bytes=200).segments
    assert segment.note == ""
    found = {Path(file.name).suffix: file.comparison for file in segment.files}
    assert found[names.TRANSACTION_INDEX] is Comparison.EQUAL


def test_damage_ends_it_where_recovery_cuts(tmp_path: Path) -> None:
    source = goldens.GOLDEN / "4.3.1/logs/segments-0"
    target = Path(shutil.copytree(source, tmp_path / "segments-0"))
    log = sorted(target.glob("*.log"))[1]
    with ks.Segment(log) as segment:
        third = list(segment.batches())[2]
        position, middle = third.position, third.position + third.size // 2
    data = bytearray(log.read_bytes())
    data[middle] ^= 1
    log.write_bytes(data)
    report = ks.rebuild_indexes(target, index_interval_bytes=250)
    first, second, *others = report.segments
    assert not report.is_sound
    assert first.valid_bytes == first.size
    assert first.error is None
    assert second.valid_bytes == position
    assert isinstance(second.error, KafkaSpecError)
    assert second.error.reason == "checksum_mismatch"
    assert all(item.files == () and "removes it" in item.note for item in others)
    by_append = ks.rebuild_indexes(target, rule="append", index_interval_bytes=250)
    assert all(item.files for item in by_append.segments)


def test_a_torn_tail_is_where_recovery_cuts(tmp_path: Path) -> None:
    source = goldens.GOLDEN / "4.3.1/logs/plain-0/00000000000000000000.log"
    log = tmp_path / source.name
    log.write_bytes(source.read_bytes() + source.read_bytes()[:50])
    (segment,) = ks.rebuild_indexes(log).segments
    assert (segment.valid_bytes, segment.error) == (source.stat().st_size, None)
    assert "cuts the log" in segment.note


@pytest.mark.parametrize("what", ["full", "file"])
def test_out_must_be_new_or_empty(tmp_path: Path, what: str) -> None:
    out = tmp_path / "out"
    if what == "file":
        out.write_bytes(b"x")
    else:
        out.mkdir()
        (out / "x").write_bytes(b"x")
    with pytest.raises(KafkaSpecError) as caught:
        ks.rebuild_indexes(goldens.GOLDEN / "4.3.1/logs/plain-0", out)
    assert caught.value.reason == "unreadable"
    assert [item.name for item in tmp_path.iterdir()] == ["out"]


def test_a_rule_or_version_that_is_none(tmp_path: Path) -> None:
    path = goldens.GOLDEN / "4.3.1/logs/plain-0"
    with pytest.raises(ValueError, match="'other'"):
        ks.rebuild_indexes(path, rule="other")
    with pytest.raises(ValueError, match=r"9\.0"):
        ks.rebuild_indexes(path, profile="9.0")


def test_a_restart_while_the_segment_was_open_is_recognized(tmp_path: Path) -> None:
    """A broker that is stopped makes a time entry, and then starts the interval again."""
    with ks.SegmentWriter(tmp_path / "a-0", index_interval_bytes=200, sync=False) as writer:
        for offset in range(12):
            record = ks.Record(offset, offset, None, b"v" * 30)
            writer.append(ks.encode([record], partition_leader_epoch=1 if offset < 4 else 3))
    index = tmp_path / "a-0/00000000000000000000.index"
    size = index.stat().st_size
    with ks.Partition(tmp_path / "a-0") as partition:
        positions = [batch.position for batch in partition.batches()]
    # By hand: entries 3 and, counted from the restart at 4, 7 and 10.
    length = positions[1]
    assert 200 // length == 2
    entries = b"".join(
        number.to_bytes(4, "big") + positions[number].to_bytes(4, "big") for number in (3, 7, 10)
    )
    assert (size, len(entries)) == (24, 24)
    assert index.read_bytes() != entries
    index.write_bytes(entries)
    report = ks.rebuild_indexes(tmp_path / "a-0", index_interval_bytes=200)
    (file,) = of_kind(report, names.OFFSET_INDEX)
    assert (file.comparison, file.why) == (Comparison.DIFFERENT, comparison.RESTARTED)


@pytest.mark.parametrize("name", ["4.3.1/logs/transactions-0", "2.8.2/logs/format-mixed-gzip-0"])
def test_hostile_logs_end_where_they_are_broken(name: str, tmp_path: Path) -> None:
    source = next((goldens.GOLDEN / name).glob("*.log"))
    good = source.read_bytes()
    with ks.Segment(source) as segment:
        starts = [batch.position for batch in segment.batches()]
    rng = random.Random(11)
    log = tmp_path / source.name
    for _ in range(120):
        data = bytearray(good)
        place = rng.randrange(len(data))
        data[place] ^= 1 << rng.randrange(8)
        log.write_bytes(data)
        report = ks.rebuild_indexes(log, index_interval_bytes=50)
        (done,) = report.segments
        # Offset and leader epoch are outside of the checksum, all else is not.
        broken = max(start for start in starts if start <= place)
        outside = place - broken < 16
        assert done.valid_bytes == broken or (
            outside and (done.valid_bytes >= broken or done.recovery is Recovery.EMPTIES)
        )
        assert done.error is not None or done.valid_bytes == len(good) or outside


def test_a_marker_that_cannot_be_read_ends_the_log(tmp_path: Path) -> None:
    first = ks.encode([ks.Record(0, 5, b"k", b"v")], producer_id=7, producer_epoch=0)
    marker = ks.encode(
        [ks.Record(1, 5, b"\0", b"")],
        producer_id=7,
        producer_epoch=0,
        transactional=True,
        control=True,
    )
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(first + marker + first)
    (done,) = ks.rebuild_indexes(log).segments
    assert done.valid_bytes == len(first)
    assert done.error is not None
    assert (done.error.reason, done.error.file) == ("overrun", str(log))
    assert done.recovery is Recovery.REFUSES
    with ks.SegmentWriter(tmp_path / "a-0", sync=False) as writer:
        with pytest.raises(KafkaSpecError):
            writer.append(first + marker)
        assert writer.next_offset == 1
