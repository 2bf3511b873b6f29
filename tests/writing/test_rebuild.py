"""Indexes rebuilt from logs of real brokers, against the indexes of those brokers."""

from __future__ import annotations

import random
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.broker.actions import Recovery
from kafkaspec.broker.index_rules import Rule
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.writing import comparison
from kafkaspec.writing.comparison import Comparison
from kafkaspec.writing.rebuilt import RebuildReport, RebuiltFile
from tests import goldens
from tests.loops import each
from tests.writing.golden_settings import PER_BATCH, RESTARTED, numbers, partitions
from tools.golden.again import index_interval, is_modern

MODERN = [path for path in partitions() if is_modern(path)]
CLEANED = "compacted"
METADATA = "__cluster_metadata-0"


def rebuild(path: Path, rule: str, out: Path | None = None) -> RebuildReport:
    version = path.parts[-3]
    return ks.rebuild_indexes(
        path, out, rule=rule, profile=version, index_interval_bytes=index_interval(path), sync=False
    )


def of_kind(report: RebuildReport, *kinds: str) -> list[RebuiltFile]:
    return [file for file in report.files if Path(file.name).suffix in kinds]


def unnamed(report: RebuildReport, path: Path) -> set[str]:
    """Files beside a log that the report does not mention."""
    kinds = (*names.INDEXES, names.TRANSACTION_INDEX, names.PRODUCER_SNAPSHOT)
    beside = {item.name for item in path.iterdir() if item.suffix in kinds}
    return beside - {file.name for file in report.files}


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
    assert unnamed(report, path) == set()
    indexes = of_kind(report, names.OFFSET_INDEX, names.TIME_INDEX)
    if path.name.startswith(RESTARTED) and rule == "recovery":
        indexes = [file for file in indexes if file.why != comparison.RESTARTED]
    assert unequal(indexes) == []
    for file in of_kind(report, names.TRANSACTION_INDEX):
        gone = CLEANED in path.name and file.comparison is Comparison.NOT_MADE
        assert gone or file.comparison is Comparison.EQUAL


@pytest.mark.slow
@each(
    "path",
    [path for path in MODERN if path.name not in goldens.compacted(path.parts[-3])],
    goldens.label,
)
def test_a_leader_of_any_version_made_the_same_of_batches(path: Path) -> None:
    """Each batch was one append, and snapshots show restarts, so that nothing is unknown."""
    report = rebuild(path, "append")
    assert unnamed(report, path) == set()
    kinds = (names.OFFSET_INDEX, names.TIME_INDEX, names.TRANSACTION_INDEX)
    files = of_kind(report, *kinds)
    if path.name == METADATA and numbers(path.parts[-3]) < (3, 7):
        files = [file for file in files if file.why != comparison.BY_BATCH]
    assert unequal(files) == []
    for file in of_kind(report, names.PRODUCER_SNAPSHOT):
        if file.comparison is Comparison.MISSING:
            assert "before 2.8" in file.why
        elif file.comparison is Comparison.NOT_MADE:
            first = min(int(log.stem) for log in path.glob("*.log"))
            assert (int(Path(file.name).stem), "before the first" in file.why) == (first, True)
        else:
            assert file.comparison in (Comparison.EQUAL, Comparison.REORDERED), file


def test_snapshots_of_earlier_stops_are_made(tmp_path: Path) -> None:
    """The broker was stopped at offset 30, and 4.3.1 keeps the snapshot of that stop."""
    path = goldens.GOLDEN / "4.3.1/logs" / METADATA
    earlier = f"{30:020}{names.PRODUCER_SNAPSHOT}"
    for rule in Rule:
        (tmp_path / rule).mkdir()
        rebuild(path, rule, tmp_path / rule / "out")
        assert (tmp_path / rule / "out" / earlier).read_bytes() == (path / earlier).read_bytes()


@each("version", [version for version in goldens.VERSIONS if numbers(version) >= (0, 11)])
def test_no_transaction_index_is_made_that_a_leader_does_not_have(version: str) -> None:
    path = goldens.GOLDEN / version / "logs/compacted-transactions-0"
    if path.exists():
        files = of_kind(rebuild(path, "append"), names.TRANSACTION_INDEX)
        assert files
        for file in files:
            assert file.comparison in (Comparison.EQUAL, Comparison.NOT_MADE), file


def test_the_compared_files_are_written(tmp_path: Path) -> None:
    path = goldens.GOLDEN / "4.3.1/logs/transactions-segments-0"
    report = rebuild(path, "recovery", tmp_path / "out")
    made = sorted((tmp_path / "out").iterdir())
    assert [item.name for item in made] == sorted(file.name for file in report.files)
    assert len(made) == 16
    for item in made:
        assert item.read_bytes() == (path / item.name).read_bytes()


@pytest.mark.slow
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
    assert "truncates the log" in segment.note


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


NO_PRODUCERS = bytes.fromhex("000148674bc700000000")
"""A producer snapshot without producers."""


def stopped_log(directory: Path) -> Path:
    """A log of 12 batches, without leader epochs, whose broker was stopped at offset 5.

    The indexes are made by hand: more than the interval is three batches, counted again from the
    restart, so that batches 3, 8 and 11 are indexed. The stop adds the largest timestamp so far.
    """
    with ks.SegmentWriter(directory, profile="2.1", index_interval_bytes=200, sync=False) as writer:
        for offset in range(12):
            writer.append(ks.encode([ks.Record(offset, offset, None, b"v" * 30)]))
    log = directory / "00000000000000000000.log"
    length = log.stat().st_size // 12
    assert 200 // length == 2
    entries = b"".join(struct.pack(">ii", number, number * length) for number in (3, 8, 11))
    times = b"".join(struct.pack(">qi", number, number) for number in (3, 4, 8, 11))
    log.with_suffix(names.OFFSET_INDEX).write_bytes(entries)
    log.with_suffix(names.TIME_INDEX).write_bytes(times)
    (directory / f"{5:020}{names.PRODUCER_SNAPSHOT}").write_bytes(NO_PRODUCERS)
    return directory


def test_a_snapshot_shows_a_restart(tmp_path: Path) -> None:
    path = stopped_log(tmp_path / "a-0")
    report = ks.rebuild_indexes(path, rule="append", profile="2.1", index_interval_bytes=200)
    assert unequal(of_kind(report, *names.INDEXES, names.PRODUCER_SNAPSHOT)) == []
    assert len(report.files) == 4
    (path / f"{5:020}{names.PRODUCER_SNAPSHOT}").unlink()
    report = ks.rebuild_indexes(path, rule="append", profile="2.1", index_interval_bytes=200)
    (index,) = of_kind(report, names.OFFSET_INDEX)
    assert index.comparison is Comparison.DIFFERENT
    assert "restarted with the segment open, and no snapshot shows where" in index.why


def test_recovery_knows_restarts_from_snapshots_too(tmp_path: Path) -> None:
    path = stopped_log(tmp_path / "a-0")
    report = ks.rebuild_indexes(path, profile="4.3", index_interval_bytes=200)
    (index,) = of_kind(report, names.OFFSET_INDEX)
    assert (index.comparison, index.why) == (Comparison.DIFFERENT, comparison.RESTARTED)


def test_a_snapshot_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    producer: dict[str, Any] = {"producer_epoch": 0, "base_sequence": 0}
    with ks.SegmentWriter(tmp_path / "a-0", 10, sync=False) as writer:
        for first, producer_id in ((10, 1), (13, 2)):
            records = [ks.Record(first + number, 5, b"k", b"v") for number in range(3)]
            writer.append(ks.encode(records, producer_id=producer_id, **producer))
    for offset in (4, 10, 13, 14, 20):
        (tmp_path / "a-0" / f"{offset:020}{names.PRODUCER_SNAPSHOT}").write_bytes(NO_PRODUCERS)
    report = ks.rebuild_indexes(tmp_path / "a-0", tmp_path / "out", sync=False)
    found = {int(file.name[:20]): file for file in of_kind(report, names.PRODUCER_SNAPSHOT)}
    reasons = {4: "before the first", 10: "before the first", 14: "inside", 20: "ends before"}
    for offset, why in reasons.items():
        assert found.pop(offset).comparison is Comparison.NOT_MADE
        assert any(why in file.why for file in report.files)
    assert {offset: file.entries for offset, file in found.items()} == {13: 1, 16: 2}
    assert found[13].comparison is Comparison.DIFFERENT
    made = {int(path.name[:20]) for path in (tmp_path / "out").glob("*.snapshot")}
    assert made == {13, 16}


@pytest.mark.parametrize("rule", Rule)
@pytest.mark.parametrize("log_start", [17, 18, 35, 36, 55])
def test_no_snapshot_is_made_at_or_below_the_log_start(
    rule: Rule, log_start: int, tmp_path: Path
) -> None:
    """``ProducerStateManager.truncateAndReload`` removes it when the log is loaded."""
    name = "transactions-segments"
    path = tmp_path / "logs" / f"{name}-0"
    shutil.copytree(goldens.GOLDEN / "4.3.1/logs" / path.name, path)
    (path.parent / names.LOG_START_OFFSETS).write_text(f"0\n1\n{name} 0 {log_start}\n")
    beside = {int(item.stem) for item in path.glob(f"*{names.PRODUCER_SNAPSHOT}")}
    assert beside == {18, 36, 54, 60}
    report = ks.rebuild_indexes(path, tmp_path / "out", rule=rule, profile="4.3.1", sync=False)
    made = {int(item.stem) for item in (tmp_path / "out").glob(f"*{names.PRODUCER_SNAPSHOT}")}
    assert made == {offset for offset in beside if offset > log_start}
    left = [item for item in of_kind(report, names.PRODUCER_SNAPSHOT) if not item.size]
    assert {int(Path(item.name).stem) for item in left} == beside - made
    assert all(f"the log start offset {log_start}" in item.why for item in left)


def test_a_log_that_is_cut_has_its_last_snapshot_where_it_ends(tmp_path: Path) -> None:
    source = goldens.GOLDEN / "4.3.1/logs/transactions-segments-0"
    target = Path(shutil.copytree(source, tmp_path / "a-0"))
    log = sorted(target.glob("*.log"))[1]
    with ks.Segment(log) as segment:
        *_, last = segment.batches()
    log.write_bytes(log.read_bytes()[:-1])
    report = ks.rebuild_indexes(target, index_interval_bytes=200)
    offsets = [int(file.name[:20]) for file in of_kind(report, names.PRODUCER_SNAPSHOT)]
    assert offsets == [int(log.stem), last.base_offset]


def test_no_snapshot_follows_the_largest_offset(tmp_path: Path) -> None:
    largest = 2**63 - 1
    (tmp_path / "a-0").mkdir()
    for first, snapshots in ((largest - 1, [largest]), (largest, [])):
        log = tmp_path / "a-0" / f"{first:020}{names.LOG}"
        log.write_bytes(ks.encode([ks.Record(first, 5, None, b"")]))
        report = ks.rebuild_indexes(tmp_path / "a-0")
        made = of_kind(report, names.PRODUCER_SNAPSHOT)
        assert [int(file.name[:20]) for file in made] == snapshots
        log.unlink()


def test_producers_are_unknown_after_a_segment_that_is_refused(tmp_path: Path) -> None:
    def batch(offset: int, **options: Any) -> bytes:
        record = ks.Record(offset, 5, b"\0", b"")
        return ks.encode([record], producer_id=7, producer_epoch=0, **options)

    (tmp_path / "a-0").mkdir()
    first, second = (tmp_path / "a-0" / f"{base:020}{names.LOG}" for base in (0, 1))
    first.write_bytes(batch(0, transactional=True, control=True))
    second.write_bytes(batch(1, base_sequence=0))
    for rule in Rule:
        report = ks.rebuild_indexes(tmp_path / "a-0", rule=rule)
        assert report.segments[0].error is not None
        assert of_kind(report, names.PRODUCER_SNAPSHOT) == []
        assert "no producer snapshot" in report.segments[1].note


def test_an_emptied_transaction_index_is_that_of_a_broker(tmp_path: Path) -> None:
    """A broker that recovers or cuts a log empties the file, and does not remove it."""
    source = goldens.GOLDEN / "4.3.1/logs/plain-0"
    target = Path(shutil.copytree(source, tmp_path / "a-0"))
    (target / f"{0:020}{names.TRANSACTION_INDEX}").touch()
    (file,) = of_kind(ks.rebuild_indexes(target), names.TRANSACTION_INDEX)
    assert (file.comparison, "empties the file" in file.why) == (Comparison.NOT_MADE, True)


@pytest.mark.slow
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


@pytest.mark.slow
def test_jobs_change_nothing(tmp_path: Path) -> None:
    """Reports and files of a log directory, with a partition that cannot be read."""
    logs = tmp_path / "logs"
    shutil.copytree(goldens.GOLDEN / goldens.VERSIONS[-1] / "logs", logs)
    (logs / "lost-0").mkdir()
    (logs / "lost-0" / f"{0:020}.log").symlink_to(tmp_path / "nowhere")
    one, many = (
        ks.rebuild_indexes(logs, tmp_path / str(jobs), sync=False, jobs=jobs) for jobs in (1, 3)
    )
    assert one.segments == many.segments
    assert one.notes == many.notes
    assert [*map(str, one.failed)] == [*map(str, many.failed)] == [str(logs / "lost-0")]
    found = [
        {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
        for out in (tmp_path / "1", tmp_path / "3")
    ]
    assert found[0] == found[1]
    assert len(found[0]) > 50


def test_an_interrupted_run_leaves_nothing(tmp_path: Path) -> None:
    def interrupt(_: int, name: str) -> None:
        raise KeyboardInterrupt

    logs = goldens.GOLDEN / goldens.VERSIONS[-1] / "logs"
    with pytest.raises(KeyboardInterrupt):
        ks.rebuild_indexes(logs, tmp_path / "out", progress=interrupt, jobs=3)
    assert list(tmp_path.iterdir()) == []
