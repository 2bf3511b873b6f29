"""Look-ups by offset and by timestamp, on golden logs and against reading everything."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.log.lookup import Found, LargestTimestamp
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from tests import extent
from tests.goldens import FULL, GOLDEN, VERSIONS, distinct_partitions, label
from tests.log import forge
from tests.loops import each

DIRECTORIES = [path for version in VERSIONS for path in distinct_partitions(version)]


@dataclass(frozen=True)
class Seen:
    """A batch as read from the start of a segment, without any index."""

    position: int
    last_offset: int
    max_timestamp: int
    is_control: bool
    records: list[Record]


def read(segment: Segment) -> list[Seen]:
    return [
        Seen(
            batch.position,
            batch.last_offset,
            batch.max_timestamp,
            batch.is_control,
            list(batch.records()),
        )
        for batch in segment.batches()
    ]


def answer(found: Found) -> tuple[int | None, Record | None]:
    return found.position, found.record


# -- golden logs against brute force -------------------------------------------------------------


@pytest.mark.core
@each("directory", DIRECTORIES, label)
def test_by_offset_in_a_segment(directory: Path) -> None:
    for segment in Partition(directory).segments:
        seen = read(segment)
        assert segment.base_offset is not None
        last = seen[-1].last_offset if seen else segment.base_offset
        for offset in sample(segment.base_offset - 1, last + 1, most(directory)):
            batch = next((item for item in seen if item.last_offset >= offset), None)
            records = batch.records if batch else []
            record = next((item for item in records if item.offset >= offset), None)
            expected = (batch.position if batch else None, record)
            assert answer(segment.find(offset=offset)) == expected
            assert answer(segment.find(offset=offset, use_index=False)) == expected


@pytest.mark.core
@each("directory", DIRECTORIES, label)
def test_by_timestamp_in_a_segment(directory: Path) -> None:
    for segment in Partition(directory).segments:
        seen = read(segment)
        for timestamp in times(seen, most(directory)):
            for plain in (False, True):
                expected = first_at(seen, timestamp, plain)
                assert answer(segment.find(timestamp=timestamp, plain=plain)) == expected
                assert (
                    answer(segment.find(timestamp=timestamp, plain=plain, use_index=False))
                    == expected
                )


@pytest.mark.core
@each("directory", DIRECTORIES, label)
def test_by_offset_in_a_partition(directory: Path) -> None:
    partition = Partition(directory)
    seen = [(segment.path, item) for segment in partition.segments for item in read(segment)]
    for offset in sample(
        -1, max((item.last_offset for _, item in seen), default=0) + 1, most(directory)
    ):
        expected = next(
            ((path, item.position) for path, item in seen if item.last_offset >= offset), None
        )
        for use_index in (True, False):
            found = partition.find(offset=offset, use_index=use_index)
            place = (found.path, found.position) if found.batch else None
            assert place == expected


@pytest.mark.slow
@each("directory", DIRECTORIES, label)
def test_plain_by_timestamp_in_a_partition(directory: Path) -> None:
    """The first data record of the log with that timestamp or a later one."""
    partition = Partition(directory)
    start = partition.log_start_offset or 0
    seen = [item for segment in partition.segments for item in read(segment)]
    for timestamp in times(seen, most(directory)):
        expected = next(
            (
                record
                for item in seen
                for record in item.records
                if record.timestamp >= timestamp and record.offset >= start and not item.is_control
            ),
            None,
        )
        for use_index in (True, False):
            found = partition.find(timestamp=timestamp, plain=True, use_index=use_index)
            assert (found.how, found.record) == ("plain", expected)


@pytest.mark.core
@each("directory", DIRECTORIES, label)
def test_records_from_an_offset_on(directory: Path) -> None:
    partition = Partition(directory)
    everything = list(partition.records(include_control=True))
    last = everything[-1].offset if everything else 0
    for offset in sample(-1, last + 1, most(directory) // 3):
        expected = [record for record in everything if record.offset >= offset]
        assert list(partition.records(offset, include_control=True)) == expected


def first_at(seen: list[Seen], timestamp: int, plain: bool) -> tuple[int | None, Record | None]:
    for item in seen:
        if item.max_timestamp < timestamp or (plain and item.is_control):
            continue
        for record in item.records:
            if record.timestamp >= timestamp:
                return item.position, record
    return None, None


def most(directory: Path) -> int:
    """Return how many look-ups to try: the versions with few scenarios repeat those of others."""
    if extent.quick:
        return 5
    return 15 if directory.parts[-3] in FULL else 4


def times(seen: list[Seen], most: int = 60) -> list[int]:
    known = {record.timestamp for item in seen for record in item.records}
    known |= {item.max_timestamp for item in seen}
    near = {value + step for value in known for step in (-1, 0, 1)} | {-2, 0, 2**62}
    return [*sorted(near)[:: max(1, len(near) // most)], 2**62]


def sample(first: int, last: int, most: int) -> range:
    return range(first, last + 1, max(1, (last + 1 - first) // most))


# -- the broker's answer -------------------------------------------------------------------------
#
# How a broker answers was observed: the first segment whose largest timestamp reaches the wanted
# one decides, and later ones are never tried.


def day(path: Path, seconds: int) -> None:
    os.utime(path, (seconds, seconds))


def two_segments(
    place: Path, first: bytes, second: bytes, first_times: bytes | None, second_times: bytes | None
) -> Partition:
    place.mkdir()
    for base, data, index in ((0, first, first_times), (10, second, second_times)):
        path = place / f"{base:020d}.log"
        path.write_bytes(data)
        path.with_suffix(".index").write_bytes(b"")
        if index is not None:
            path.with_suffix(".timeindex").write_bytes(index)
        day(path, 5)
    return Partition(place)


def time_entry(timestamp: int, relative: int) -> bytes:
    return timestamp.to_bytes(8, "big", signed=True) + relative.to_bytes(4, "big")


def data_batch(offset: int, *timestamps: int) -> bytes:
    records = [
        forge.record(index, b"", timestamp_delta=timestamp - timestamps[0])
        for index, timestamp in enumerate(timestamps)
    ]
    return forge.batch(offset, records, base_timestamp=timestamps[0], max_timestamp=max(timestamps))


def emptied(offset: int, timestamp: int) -> bytes:
    return forge.batch(offset, b"", count=0, last_offset_delta=0, max_timestamp=timestamp)


def test_batches_after_the_time_index_of_the_last_segment_count(tmp_path: Path) -> None:
    """A broker that runs has their times in memory, and one that was killed rebuilds the index."""
    first = data_batch(0, 1000, 3000) + data_batch(2, 5000)
    last = data_batch(10, 2000, 6000) + data_batch(12, 7000) + data_batch(13, 4000)
    partition = two_segments(
        tmp_path / "t-0", first, last, time_entry(3000, 1), time_entry(6000, 1)
    )
    assert partition.find(timestamp=5000).offset == 11
    found = partition.find(timestamp=6500)
    assert (found.offset, found.decided_by) == (12, LargestTimestamp(7000, "batches"))
    assert partition.find(timestamp=7001).offset is None
    assert partition.find(max_timestamp=True).offset == 12
    (tmp_path / names.CLEAN_SHUTDOWN).touch()
    closed = Partition(tmp_path / "t-0")
    assert closed.find(timestamp=6500).offset is None
    assert closed.find(max_timestamp=True).offset == 11


def test_the_first_segment_that_reaches_the_timestamp_answers(tmp_path: Path) -> None:
    partition = two_segments(
        tmp_path / "t-0",
        data_batch(0, 1000, 3000),
        data_batch(10, 2000, 4000),
        time_entry(3000, 1),
        time_entry(4000, 1),
    )
    assert partition.find(timestamp=1500).offset == 1
    assert partition.find(timestamp=3000).offset == 1
    found = partition.find(timestamp=3001)
    assert (found.offset, found.how) == (11, "broker")
    assert found.decided_by is not None
    assert (found.decided_by.value, found.decided_by.source) == (4000, "time index")
    assert partition.find(timestamp=4001).batch is None


def test_an_emptied_batch_with_the_largest_timestamp_hides_what_is_behind(tmp_path: Path) -> None:
    """It keeps its timestamp, so its segment decides, and it has no record to answer with."""
    partition = two_segments(
        tmp_path / "t-0",
        data_batch(0, 1000) + emptied(1, 3000),
        data_batch(10, 5000),
        time_entry(3000, 1),
        time_entry(5000, 0),
    )
    found = partition.find(timestamp=2000)
    assert found.batch is None
    assert found.path == partition.segment_paths[0]
    assert partition.find(timestamp=2000, plain=True).offset == 10
    # Hence answers are not monotone.
    assert partition.find(timestamp=1000).offset == 0
    assert partition.find(timestamp=3001).offset == 10


@pytest.mark.parametrize("times", [None, b""], ids=["no time index", "empty time index"])
def test_without_timestamps_the_time_of_the_file_counts(
    times: bytes | None, tmp_path: Path
) -> None:
    magic_0 = forge.legacy(0, b"", magic=0)
    partition = two_segments(
        tmp_path / "t-0", magic_0, data_batch(10, 4000, 6000), times, time_entry(6000, 1)
    )
    found = partition.find(timestamp=4000)  # the file is from second 5
    assert found.batch is None
    assert found.decided_by is not None
    assert (found.decided_by.value, found.decided_by.source) == (5000, "file time")
    assert partition.find(timestamp=4000, plain=True).offset == 10
    assert partition.find(timestamp=5001).offset == 11


def test_a_segment_without_any_index_is_recovered(tmp_path: Path) -> None:
    """A broker that finds no offset index reads the batches, and knows their timestamps then."""
    partition = two_segments(
        tmp_path / "t-0", data_batch(0, 1000, 3000), data_batch(10, 2000), None, None
    )
    for path in partition.segment_paths:
        path.with_suffix(".index").unlink()
    found = partition.find(timestamp=1500)
    assert found.offset == 1
    assert found.decided_by is not None
    assert (found.decided_by.value, found.decided_by.source) == (3000, "batches")
    assert partition.find(timestamp=3001).batch is None


def test_control_records_answer_a_broker_but_not_the_plain_question(tmp_path: Path) -> None:
    marker = forge.batch(
        1,
        [forge.record(0, bytes(6), key=b"\0\0\0\1")],
        attributes=0x30,
        base_timestamp=2000,
        max_timestamp=2000,
    )
    partition = two_segments(
        tmp_path / "t-0",
        data_batch(0, 1000) + marker + data_batch(2, 3000),
        b"",
        time_entry(3000, 2),
        None,
    )
    assert partition.find(timestamp=1500).offset == 1
    assert partition.find(timestamp=1500, plain=True).offset == 2


def test_records_below_the_log_start_offset_do_not_answer(tmp_path: Path) -> None:
    partition = two_segments(
        tmp_path / "t-0",
        data_batch(0, 1000, 2000, 3000),
        data_batch(10, 4000),
        time_entry(3000, 2),
        time_entry(4000, 0),
    )
    assert partition.find(timestamp=0).offset == 0
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n2\nother 0 7\nt 0 2\n")
    again = Partition(tmp_path / "t-0")
    assert again.log_start_offset == 2
    assert again.find(timestamp=0).offset == 2
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n2\nt 0 2\n")  # wrong count
    assert Partition(tmp_path / "t-0").log_start_offset == 0


def test_the_log_does_not_start_before_its_first_segment(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{10:020d}.log").write_bytes(data_batch(10, 4000))
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 2\n")
    assert Partition(tmp_path / "t-0").log_start_offset == 10


@pytest.mark.core
def test_golden_answers_differ_from_the_plain_ones_after_compaction(tmp_path: Path) -> None:
    """On the bytes of a real broker, with the file times that a broker would see."""
    place = tmp_path / "compacted-0"
    shutil.copytree(GOLDEN / "4.3.1" / "logs" / "compacted-0", place)
    for path in place.glob("*.log"):
        day(path, 0)
    partition = Partition(place)
    seen = [(segment.largest_timestamp.value, read(segment)) for segment in partition.segments]
    for timestamp in times([item for _, items in seen for item in items]):
        deciding = next((items for largest, items in seen if largest >= timestamp), [])
        assert partition.find(timestamp=timestamp).record == first_at(deciding, timestamp, False)[1]


# -- what is said about the way ------------------------------------------------------------------


def test_found_says_what_the_index_answered() -> None:
    segment = Segment(GOLDEN / "4.3.1" / "logs" / "segments-0" / f"{0:020d}.log")
    index = segment.offset_index
    assert index is not None
    entry = index.entry(len(index) - 1)
    with_index = segment.find(offset=entry.offset)
    without = segment.find(offset=entry.offset, use_index=False)
    assert with_index.index_answer == entry
    assert with_index.position == entry.position
    assert with_index.scanned_batches == 1
    assert without.index_answer is None
    assert without.scanned_batches > 1
    assert (without.base_offset, without.offset) == (with_index.base_offset, with_index.offset)
    assert (with_index.how, with_index.target) == ("offset", entry.offset)


@each("directory", DIRECTORIES, label)
def test_every_entry_that_a_broker_wrote_is_followed(directory: Path) -> None:
    """Up to 1.1 it has the first offset of a batch, since 2.0 the last one of an append."""
    for segment in Partition(directory).segments:
        index = segment.offset_index
        for number in range(len(index) if index else 0):
            assert index is not None
            entry = index.entry(number)
            found = segment.find(offset=entry.offset)
            assert (found.index_answer, found.index_rejected) == (entry, False)


@pytest.mark.parametrize("position", [1, 10**6, -1, None])
def test_an_index_entry_that_cannot_be_right_is_not_followed(
    position: int | None, tmp_path: Path
) -> None:
    """A broker would follow it and hide the records before it."""
    place = tmp_path / "segments-0"
    shutil.copytree(GOLDEN / "4.3.1" / "logs" / "segments-0", place)
    path = place / f"{0:020d}.log"
    segment = Segment(path)
    last = list(segment.batches())[-1]
    wrong = last.position if position is None else position
    path.with_suffix(".index").write_bytes(
        (1).to_bytes(4, "big") + wrong.to_bytes(4, "big", signed=True)
    )
    segment = Segment(path)
    found = segment.find(offset=1)
    assert found.offset == 1
    assert found.index_rejected
    assert [record.offset for record in segment.records(1)][:2] == [1, 2]


def test_a_damaged_segment_does_not_matter_to_those_after_it(tmp_path: Path) -> None:
    damaged = forge.framed(0, b"\1") + bytes(100)  # no entry is that small
    partition = two_segments(tmp_path / "t-0", damaged, data_batch(10, 2000), None, None)
    with pytest.raises(KafkaSpecError):
        list(partition.records(9))
    assert [record.offset for record in partition.records(10)] == [10]
    assert [batch.base_offset for batch in partition.batches(start_offset=10)] == [10]
    found = partition.find(offset=10)
    assert (found.offset, found.scanned_batches) == (10, 1)


def test_a_record_that_compaction_removed_is_not_made_up() -> None:
    data = forge.batch(0, [forge.record(0, b"")], last_offset_delta=9) + data_batch(10, 1)
    segment = Segment(data)
    found = segment.find(offset=5)
    assert (found.position, found.base_offset, found.record) == (0, 0, None)
    assert segment.find(offset=10).offset == 10


def test_exactly_one_target() -> None:
    segment = Segment(b"")
    with pytest.raises(TypeError):
        segment.find()
    with pytest.raises(TypeError):
        segment.find(offset=1, timestamp=1)
