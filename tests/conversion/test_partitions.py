"""Partitions and log directories converted into new ones, and what checks the result."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.codecs import get_codec
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.compare import compare
from kafkaspec.conversion.losses import Loss
from kafkaspec.conversion.partition import PartitionConversion
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files.names import CLEANER_OFFSETS, HIGH_WATERMARKS
from kafkaspec.log.partition import Partition
from kafkaspec.model import Record
from tests.cli.helpers import fingerprint
from tests.conversion.helpers import as_magic
from tests.goldens import GOLDEN

PLANS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "zstd": {"magic": 2, "compression": "zstd"},
    "magic 0": {"magic": 0, "compression": "none", "profile": "0.8.2"},
    "magic 1": {"magic": 1, "compression": "lz4", "profile": "0.10.2"},
    "renumbered": {"offsets": "renumber", "batch_bytes": 300, "segment_bytes": 2000},
    "shifted": {"offsets": "shift", "base_offset": 1 << 33, "leader_epoch": 3},
    "a range": {"start_offset": 5, "end_offset": 20, "batch_bytes": 100},
}


def golden(version: str, partition: str) -> Path:
    return GOLDEN / version / "logs" / partition


def logs_of(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))


def records_of(directory: Path, **options: Any) -> list[Record]:
    """All records that are there, deleted ones too."""
    return list(Partition(directory, codec="python").records(log_start="ignore", **options))


def _log_start_offset(directory: Path) -> int:
    """The log start offset that the broker stored: 0 where no records were deleted."""
    text = directory.parent / "log-start-offset-checkpoint"
    for line in text.read_text().splitlines()[2:] if text.exists() else ():
        topic, partition, offset = line.split()
        if f"{topic}-{partition}" == directory.name:
            return int(offset)
    return 0


@pytest.mark.slow
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("version", ["0.10.2.2", "4.3.1"])
def test_a_whole_log_directory_comes_through(
    version: str, plan: dict[str, Any], tmp_path: Path
) -> None:
    source = GOLDEN / version / "logs"
    report = ks.convert(source, tmp_path / "out", **plan)
    assert report.clean, [item.as_dict() for item in report.partitions if not item.clean]
    assert {item.name for item in (tmp_path / "out").iterdir() if item.is_dir()} == {
        item.parent.name for item in source.glob("*/*.log")
    }
    there = {item.name for item in (tmp_path / "out").iterdir() if not item.is_dir()}
    assert there <= {HIGH_WATERMARKS, CLEANER_OFFSETS}  # deleted records are cut
    assert bool(there) == (plan.get("offsets") != "renumber")
    reasons = {finding.reason for finding in ks.verify(tmp_path / "out").findings}
    if plan.get("offsets", "keep") != "keep":
        # Without the offsets that compaction removed, the numbers of a producer have a gap.
        assert reasons <= {"sequence_gap"}
        return
    assert not reasons
    high = plan.get("end_offset", 1 << 62)
    magic = plan.get("magic", 2)
    for result in report.partitions:
        low = max(plan.get("start_offset", 0), _log_start_offset(Path(result.source)))
        expected = [
            as_magic(item, magic)
            for item in records_of(Path(result.source), control=magic == 2)
            if low <= item.offset < high
        ]
        assert records_of(Path(result.target), control=True) == expected
        assert result.comparison is not None
        assert result.comparison.records == len(expected)


@pytest.mark.parametrize("name", ["segments-0", "segments-gzip-0", "transactions-segments-0"])
def test_segments_are_split_and_put_together_again(name: str, tmp_path: Path) -> None:
    source = golden("4.3.1", name)
    split = ks.convert(source, tmp_path / "split-0", segment_bytes=300)
    assert split.clean
    assert split.partitions[0].written_segments > split.partitions[0].segments
    for path in (tmp_path / "split-0").glob("*.log"):
        segment = ks.Segment(path)
        assert segment.size <= 300 or len(list(segment.batches())) == 1
    merged = ks.convert(tmp_path / "split-0", tmp_path / "merged-0")
    assert merged.partitions[0].written_segments == 1
    assert logs_of(tmp_path / "merged-0") == logs_of(tmp_path / "split-0") == logs_of(source)


def test_nothing_under_the_input_is_changed(tmp_path: Path) -> None:
    source = tmp_path / "logs"
    for name in ("plain-0", "headers-gzip-0", "transactions-0"):
        shutil.copytree(golden("2.8.2", name), source / name)
    before = fingerprint(source)
    ks.convert(source, tmp_path / "out", magic=1, compression="gzip")
    assert fingerprint(source) == before


# -- damage --------------------------------------------------------------------------------------


@pytest.fixture
def damaged(tmp_path: Path) -> tuple[Path, int, list[int]]:
    """A partition with a wrong byte, where its batch begins, and the offsets of that batch."""
    directory = tmp_path / "damaged-0"
    shutil.copytree(golden("4.3.1", "codec-lz4-0"), directory)
    (path,) = directory.glob("*.log")
    batch = list(ks.Segment(path).batches())[2]
    offsets = [record.offset for record in batch.records()]
    data = bytearray(path.read_bytes())
    data[batch.end - 1] ^= 0xFF
    path.write_bytes(data)
    return directory, batch.position, offsets


def test_damage_is_an_error_that_leaves_nothing(
    damaged: tuple[Path, int, list[int]], tmp_path: Path
) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        ks.convert(damaged[0], tmp_path / "out-0", compression="none")
    assert caught.value.reason is Reason.CHECKSUM_MISMATCH
    assert caught.value.file
    assert sorted(item.name for item in tmp_path.iterdir()) == ["damaged-0"]


@pytest.mark.parametrize("choices", [{}, {"magic": 1}, {"compression": "gzip"}])
def test_damage_that_is_skipped_is_counted_and_the_rest_comes_through(
    damaged: tuple[Path, int, list[int]], tmp_path: Path, choices: dict[str, Any]
) -> None:
    directory, position, offsets = damaged
    report = ks.convert(directory, tmp_path / "out-0", on_error="skip", **choices)
    (result,) = report.partitions
    assert not report.clean
    assert result.verified
    assert result.damaged == result.losses[Loss.DAMAGED].batches == 1
    (damage,) = result.damages
    assert damage.file == str(next(directory.glob("*.log")))
    assert damage.position is not None
    assert position <= damage.position
    everything = records_of(golden("4.3.1", "codec-lz4-0"))
    assert records_of(tmp_path / "out-0") == [
        as_magic(item, choices.get("magic", 2)) for item in everything if item.offset not in offsets
    ]


def test_offsets_that_go_back_are_damage(tmp_path: Path) -> None:
    directory = tmp_path / "back-0"
    directory.mkdir()
    entries = [ks.encode([Record(offset, 1, None, b"v")]) for offset in (5, 6, 6, 4, 7)]
    (directory / f"{0:020d}.log").write_bytes(b"".join(entries))
    with pytest.raises(KafkaSpecError) as caught:
        ks.convert(directory, tmp_path / "out-0")
    assert caught.value.position == 2 * len(entries[0])
    report = ks.convert(directory, tmp_path / "out-0", on_error="skip")
    assert report.partitions[0].damaged == 2
    assert [item.offset for item in records_of(tmp_path / "out-0")] == [5, 6, 7]


def test_bytes_that_are_no_batch_at_the_end_are_shown(tmp_path: Path) -> None:
    directory = tmp_path / "torn-0"
    shutil.copytree(golden("4.3.1", "plain-0"), directory)
    (path,) = directory.glob("*.log")
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(bytes(1000))
    report = ks.convert(directory, tmp_path / "out-0")
    (tail,) = report.partitions[0].tails
    assert (tail.position, tail.size, tail.reason) == (size, 1000, "zeros")
    assert report.clean


def test_an_error_of_one_partition_stays_with_it(
    damaged: tuple[Path, int, list[int]], tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    damaged[0].rename(logs / "damaged-0")
    shutil.copytree(golden("4.3.1", "plain-0"), logs / "sound-0")
    (logs / "gone-0").symlink_to("nowhere")
    report = ks.convert(logs, tmp_path / "out")
    assert set(report.failed) == {str(logs / "damaged-0"), str(logs / "gone-0")}
    assert not report.clean
    assert [item["path"] for item in report.as_dict()["failed"]] == list(report.failed)
    assert [item.name for item in (tmp_path / "out").iterdir()] == ["sound-0"]
    assert records_of(tmp_path / "out" / "sound-0") == records_of(logs / "sound-0")
    report = ks.convert(logs, tmp_path / "most", on_error="skip")
    assert set(report.failed) == {str(logs / "gone-0")}
    assert len(list((tmp_path / "most").iterdir())) == 2
    shutil.rmtree(logs / "sound-0")
    with pytest.raises(KafkaSpecError, match="of 2 partitions, none can be converted"):
        ks.convert(logs, tmp_path / "none")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["logs", "most", "out"]


def test_an_output_that_cannot_be_written_is_no_error_of_a_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one-0", "two-0"):
        shutil.copytree(golden("4.3.1", "plain-0"), tmp_path / "logs" / name)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(KafkaSpecError, match="No space left on device"):
        ks.convert(tmp_path / "logs", tmp_path / "out")
    assert [item.name for item in tmp_path.iterdir()] == ["logs"]


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    """A topic id and a producer snapshot, which were left out silently, and a segment."""
    directory = tmp_path / "some-0"
    shutil.copytree(golden("4.3.1", "segments-0"), directory)
    paths = sorted(directory.glob("*.log"))
    (directory / "partition.metadata").write_text("junk")
    snapshot = paths[0].with_suffix(".snapshot")
    shutil.copy(next(golden("4.3.1", "idempotent-0").glob("*.snapshot")), snapshot)
    snapshot.write_bytes(snapshot.read_bytes()[:-1] + b"\x55")
    (result,) = ks.convert(directory, tmp_path / "out-0").partitions
    assert {Path(item.file).name for item in result.unread} == {snapshot.name, "partition.metadata"}
    assert (result.verified, result.clean) == (True, False)
    paths[1].unlink()
    paths[1].symlink_to("nowhere")
    with pytest.raises(KafkaSpecError, match="No such file"):
        ks.convert(directory, tmp_path / "none-0")
    report = ks.convert(directory, tmp_path / "most-0", on_error="skip")
    assert str(paths[1]) in [item.file for item in report.partitions[0].unread]
    assert {item.offset for item in records_of(golden("4.3.1", "segments-0"))} - {
        item.offset for item in records_of(tmp_path / "most-0")
    } == set(range(12, 24))


def test_deleted_records_stay_deleted(tmp_path: Path) -> None:
    directory = tmp_path / "logs" / "plain-0"
    shutil.copytree(golden("4.3.1", "plain-0"), directory)
    (directory.parent / "log-start-offset-checkpoint").write_text("0\n1\nplain 0 20\n")
    report = ks.convert(directory, tmp_path / "out-0")
    kept = [item for item in records_of(directory) if item.offset >= 20]
    assert records_of(tmp_path / "out-0") == kept
    lost = len(records_of(directory)) - len(kept)
    assert report.losses[Loss.DELETED].records == lost
    assert Partition(tmp_path / "out-0").segments[0].base_offset == 20


# -- ranges of times, and isolation --------------------------------------------------------------

TIMED = (
    ("4.3.1", "plain-0"), ("4.3.1", "transactions-0"), ("4.3.1", "log-append-time-gzip-0"),
    ("4.3.1", "codec-lz4-0"), ("4.3.1", "time-types-mixed-0"), ("4.3.1", "compacted-idempotent-0"),
    ("0.10.2.2", "create-time-gzip-0"), ("0.10.2.2", "log-append-time-gzip-0"),
    ("0.10.2.2", "format-mixed-none-0"), ("0.9.0.1", "codec-snappy-0"),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name"), TIMED)
def test_a_range_of_times(version: str, name: str, tmp_path: Path) -> None:
    """The output has the data that a reader of the input gets, and every control record."""
    source = golden(version, name)
    times = sorted({record.timestamp for record in records_of(source)})
    low, high = times[len(times) // 3], times[2 * len(times) // 3] + 1
    controls = [record for record in records_of(source, control=True)
                if record not in records_of(source)]  # fmt: skip
    cases: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
        ({"start_timestamp": low}, {}),
        ({"end_timestamp": high}, {"compression": "gzip"}),
        ({"start_timestamp": low, "end_timestamp": high}, {"batch_bytes": 300}),
        ({"start_timestamp": low, "start_offset": 4}, {"magic": 1}),
    )
    for number, (bounds, plan) in enumerate(cases):
        out = tmp_path / f"{number}-0"
        report = ks.convert(source, out, **bounds, **plan)
        assert report.clean, report.partitions[0].as_dict()
        magic = plan.get("magic", 2)
        expected = [as_magic(item, magic) for item in records_of(source, **bounds)]
        if magic == 2:
            first = bounds.get("start_offset", 0)
            expected = sorted(expected + [item for item in controls if item.offset >= first])
        assert records_of(out, control=True) == expected, (bounds, plan)
        compared = report.partitions[0].comparison
        assert compared is not None
        assert compared.records == len(expected)


@pytest.mark.parametrize(
    "name", ["transactions-0", "transactions-open-0", "transactions-segments-0", "plain-0"]
)
def test_what_a_committed_reader_sees(name: str, tmp_path: Path) -> None:
    source = golden("4.3.1", name)
    expected = records_of(source, isolation="read_committed")
    plans: tuple[dict[str, Any], ...] = ({}, {"magic": 1})
    for number, plan in enumerate(plans):
        report = ks.convert(source, tmp_path / f"{number}-0", isolation="read_committed", **plan)
        assert report.clean
        assert records_of(tmp_path / f"{number}-0") == [
            as_magic(item, plan.get("magic", 2)) for item in expected
        ]
    with pytest.raises(ValueError, match="needs a partition"):
        ks.convert(next(source.glob("*.log")), tmp_path / "alone-0", isolation="read_committed")


# -- what the check finds ------------------------------------------------------------------------


def _conversion(target: Path, **choices: Any) -> tuple[PartitionConversion, Choices]:
    source = golden("2.8.2", "headers-0")
    plan = Choices(**choices)
    conversion = PartitionConversion(
        str(source), Partition(source).segment_paths, target, plan, get_codec()
    )
    conversion.run()
    return conversion, plan


CHANGES = {
    "value": {"value": b"another"},
    "key": {"key": None},
    "timestamp": {"timestamp": 5},
    "headers": {"headers": (("k", b"v"),)},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_comparison_finds_a_record_that_is_not_the_same(
    change: dict[str, Any], tmp_path: Path
) -> None:
    conversion, plan = _conversion(tmp_path / "out-0")
    same = compare(conversion, plan, get_codec(), low=None)
    assert same.differences == 0
    assert same.records == len(records_of(golden("2.8.2", "headers-0")))
    for path in (tmp_path / "out-0").glob("*.log"):
        batch, *others = ks.Segment(path).batches()
        records = list(batch.records())
        records[0] = records[0]._replace(**change)
        data = ks.encode(records) + b"".join(bytes(item.data) for item in others)
    path.write_bytes(data)
    other = compare(conversion, plan, get_codec(), low=None)
    assert other.differences
    assert str(records[0].offset) in other.examples[0]


def test_the_comparison_finds_what_is_missing(tmp_path: Path) -> None:
    conversion, plan = _conversion(tmp_path / "out-0", magic=1)
    assert compare(conversion, plan, get_codec(), low=None).differences == 0
    (path,) = (tmp_path / "out-0").glob("*.log")
    last = list(ks.Segment(path).batches())[-1]
    path.write_bytes(path.read_bytes()[: last.position])
    assert compare(conversion, plan, get_codec(), low=None).differences == 1


# -- places --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_partitions_on_their_way_and_snapshots_are_left_out_and_named(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(GOLDEN / "4.3.1" / "logs", logs)
    moved = logs / f"plain-0.{'a' * 32}-delete"
    (logs / "plain-0").rename(moved)
    report = ks.convert(logs, tmp_path / "out")
    left_out = dict(report.left_out)
    assert str(moved) in left_out
    assert any(path.endswith(".checkpoint") for path in left_out)
    assert not (tmp_path / "out" / moved.name).exists()


def test_the_topic_id_is_kept(tmp_path: Path) -> None:
    source = golden("4.3.1", "plain-0")
    ks.convert(source, tmp_path / "out-0", compression="zstd")
    name = "partition.metadata"
    assert (tmp_path / "out-0" / name).read_bytes() == (source / name).read_bytes()


def test_a_segment_alone_becomes_a_partition(tmp_path: Path) -> None:
    (path,) = golden("2.8.2", "plain-0").glob("*.log")
    assert ks.convert(path, tmp_path / "out-0", magic=1).clean
    assert len(records_of(tmp_path / "out-0")) == len(records_of(path.parent))


@pytest.mark.parametrize("place", ["logs", "logs/out", "logs/plain-0", ".", "none/out"])
def test_places_that_are_refused(place: str, tmp_path: Path) -> None:
    shutil.copytree(golden("2.8.2", "plain-0"), tmp_path / "logs" / "plain-0")
    before = fingerprint(tmp_path)
    with pytest.raises(ValueError, match=r"there|inside|contains|directory"):
        ks.convert(tmp_path / "logs", tmp_path / place)
    assert fingerprint(tmp_path) == before
