"""The largest timestamp as a broker answers it, and what read_committed hides.

Rules: Kafka's ``UnifiedLog.fetchOffsetByTimestamp``, ``RecordBatch.offsetOfMaxTimestamp``; open
transactions: what each version's own dump tool prints of its producer snapshots.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from kafkaspec.conformance.dump_text import snapshot_lines
from kafkaspec.files import names
from kafkaspec.files.snapshots import ProducerSnapshot
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from tests.analysis.forge import snapshot
from tests.goldens import GOLDEN, VERSIONS, Golden, label, partitions
from tests.log import forge
from tests.log.test_lookup import data_batch, emptied, read, time_entry, two_segments
from tests.loops import each

DIRECTORIES = [
    path
    for version in VERSIONS
    # 0.10.0 has times and no time index: a broker since then makes an empty one beside the index,
    # and asks the file for its time.
    if version != "0.10.0.1"
    for path in partitions(version)
]
TRANSACTIONAL, CONTROL = 0x10, 0x20
COMMIT = b"\0\0\0\1"


def marker(offset: int, timestamp: int, producer: int = 7) -> bytes:
    return forge.batch(
        offset,
        [forge.record(0, bytes(6), key=COMMIT)],
        attributes=TRANSACTIONAL | CONTROL,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer=(producer, 0, -1),
    )


def transactional(offset: int, producer: int = 7, timestamp: int = 1000) -> bytes:
    return forge.batch(
        offset,
        [forge.record(0, b"x")],
        attributes=TRANSACTIONAL,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer=(producer, 0, 0),
    )


# -- golden logs against reading everything -------------------------------------------------------


@pytest.mark.core
@each("directory", DIRECTORIES, label)
def test_golden_logs(directory: Path) -> None:
    partition = Partition(directory)
    largest, batches = -1, None
    for segment in partition.segments:
        seen = [item for item in read(segment) if item.records or item.max_timestamp >= 0]
        top = max((item.max_timestamp for item in seen), default=-1)
        if batches is None or top > largest:
            largest, batches = top, seen
    expected = None
    for item in batches or ():
        if item.max_timestamp == largest:
            same = (record for record in item.records if record.timestamp == largest)
            expected = next(same, None) if largest >= 0 else None
            break
    found = partition.find(max_timestamp=True)
    assert found.record == expected
    assert found.how == "max_timestamp"
    assert partition.find(max_timestamp=True, use_index=False).record == expected


# -- as Kafka's source has it ---------------------------------------------------------------------


def test_of_two_segments_with_the_same_the_first_decides(tmp_path: Path) -> None:
    partition = two_segments(
        tmp_path / "t-0",
        data_batch(0, 1000, 3000, 3000),
        data_batch(10, 3000),
        time_entry(3000, 2),
        time_entry(3000, 0),
    )
    found = partition.find(max_timestamp=True)
    assert (found.offset, found.target, found.timestamp) == (1, 3000, 3000)


def test_a_marker_is_an_answer(tmp_path: Path) -> None:
    partition = two_segments(
        tmp_path / "t-0",
        transactional(0) + marker(1, 5000),
        b"",
        time_entry(5000, 1),
        None,
    )
    assert partition.find(max_timestamp=True).offset == 1
    assert partition.find(max_timestamp=True, isolation="read_committed").offset == 1


def test_a_batch_that_compaction_emptied_hides_the_answer(tmp_path: Path) -> None:
    partition = two_segments(
        tmp_path / "t-0",
        data_batch(0, 1000) + emptied(1, 3000) + data_batch(2, 3000),
        b"",
        time_entry(3000, 1),
        None,
    )
    found = partition.find(max_timestamp=True)
    assert (found.batch, found.record, found.target) == (None, None, 3000)


def test_the_time_index_decides_and_not_the_batches(tmp_path: Path) -> None:
    """A broker that was stopped cleanly trusts it: here it says too little."""
    partition = two_segments(
        tmp_path / "t-0",
        data_batch(0, 1000) + data_batch(1, 9000),
        data_batch(10, 2000),
        time_entry(1000, 0),
        time_entry(2000, 0),
    )
    assert partition.find(max_timestamp=True).offset == 10
    for path in (tmp_path / "t-0").glob("*.index"):
        path.unlink()  # then it recovers the segments and reads their batches
    assert Partition(tmp_path / "t-0").find(max_timestamp=True).offset == 1


def test_modification_times_do_not_count(tmp_path: Path) -> None:
    partition = two_segments(
        tmp_path / "t-0", data_batch(0, 1000), data_batch(10, 2000), None, time_entry(2000, 0)
    )
    assert partition.find(max_timestamp=True).offset == 10


def test_magic_0_has_no_answer(tmp_path: Path) -> None:
    log = forge.legacy(0, b"x", magic=0)
    partition = two_segments(tmp_path / "t-0", log, b"", b"", None)
    found = partition.find(max_timestamp=True)
    assert (found.offset, found.target) == (None, -1)


def test_a_partition_without_segments(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    found = Partition(tmp_path / "t-0").find(max_timestamp=True)
    assert (found.path, found.batch) == (None, None)


def test_a_segment_alone(tmp_path: Path) -> None:
    two_segments(tmp_path / "t-0", data_batch(0, 1, 5, 5), b"", time_entry(5, 2), None)
    assert Segment(tmp_path / "t-0" / f"{0:020}.log").find(max_timestamp=True).offset == 1


def test_one_question_at_a_time(tmp_path: Path) -> None:
    two_segments(tmp_path / "t-0", data_batch(0, 1), b"", time_entry(1, 0), None)
    partition = Partition(tmp_path / "t-0")
    with pytest.raises(TypeError):
        partition.find(max_timestamp=True, offset=1)
    with pytest.raises(TypeError):
        partition.segments[0].find()


# -- the last stable offset -----------------------------------------------------------------------


@pytest.mark.slow
@each("directory", DIRECTORIES, label)
def test_open_transactions_are_those_of_the_dump_tool(directory: Path, tmp_path: Path) -> None:
    partition = Partition(directory)
    paths = partition.snapshot_paths
    ends = [batch.last_offset + 1 for batch in partition.batches()]
    end = max([*ends, partition.last_base_offset or 0])
    expected = end
    if paths:
        dump = Golden(directory.parents[1].name, paths[-1]).dump
        shown = [line["currentTxnFirstOffset"] for line in snapshot_lines(dump)]
        numbers = [re.search(r"\d+", text) for text in shown if text != "-1"]
        expected = min([int(match[0]) for match in numbers if match], default=end)
    assert partition.last_stable_offset == expected
    place = tmp_path / directory.name
    shutil.copytree(directory, place)
    for path in place.glob(f"*{names.PRODUCER_SNAPSHOT}"):
        path.unlink()
    alone = Partition(place)
    assert alone.last_stable_offset == expected  # from the batches alone
    assert alone.open_transactions == partition.open_transactions


def test_some_golden_log_has_an_open_transaction() -> None:
    place = GOLDEN / "4.3.1" / "logs" / "transactions-open-0"
    dumps = "".join(
        Golden("4.3.1", path).dump for path in sorted(place.glob(f"*{names.PRODUCER_SNAPSHOT}"))
    )
    stable = Partition(place).last_stable_offset
    assert f"currentTxnFirstOffset: {stable}" in dumps.replace("Some(", "").replace(
        "OptionalLong[", ""
    )
    end = [batch.last_offset + 1 for batch in Partition(place).batches()][-1]
    assert stable < end


def test_read_committed_hides_answers_behind_it(tmp_path: Path) -> None:
    partition = two_segments(
        tmp_path / "t-0",
        data_batch(0, 1000) + transactional(1, 7, 2000) + transactional(2, 8, 2500),
        marker(10, 3000, 8) + data_batch(11, 4000),
        time_entry(2500, 2),
        time_entry(4000, 1),
    )
    assert partition.last_stable_offset == 1
    assert partition.find(timestamp=500, isolation="read_committed").offset == 0
    found = partition.find(timestamp=1500, isolation="read_committed")
    assert (found.batch, found.hidden_offset, found.last_stable_offset) == (None, 1, 1)
    assert partition.find(timestamp=1500).offset == 1
    found = partition.find(max_timestamp=True, isolation="read_committed")
    assert (found.batch, found.hidden_offset) == (None, 11)


def test_a_snapshot_that_is_broken_is_passed_over(tmp_path: Path) -> None:
    partition = two_segments(
        tmp_path / "t-0", transactional(0), data_batch(10, 2000), time_entry(1000, 0), b""
    )
    (tmp_path / "t-0" / f"{10:020}.snapshot").write_bytes(bytes(10))
    (tmp_path / "t-0" / f"{900:020}.snapshot").write_bytes(bytes(10))
    assert Partition(partition.path).last_stable_offset == 0


def test_a_snapshot_with_a_wrong_checksum_is_passed_over(tmp_path: Path) -> None:
    place = tmp_path / "t-0"
    two_segments(place, transactional(0), data_batch(10, 2000), time_entry(1000, 0), b"")
    path = place / f"{10:020}.snapshot"
    nobody = snapshot([])  # as if the transaction had ended before offset 10
    path.write_bytes(nobody)
    assert ProducerSnapshot(path).crc_valid
    assert Partition(place).last_stable_offset == 11
    for bit in range(8 * 2, 8 * 6):  # of the checksum, after a version of two bytes
        damaged = bytearray(nobody)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        assert not ProducerSnapshot(path).crc_valid, bit
        assert Partition(place).last_stable_offset == 0, bit


def test_the_snapshot_of_a_clean_stop_knows_transactions_whose_records_are_gone(
    tmp_path: Path,
) -> None:
    """It lies at the end of the log; retention has deleted the segment with the records."""
    place = tmp_path / "t-0"
    place.mkdir()
    (place / f"{10:020}.log").write_bytes(data_batch(10, 2000))
    assert Partition(place).last_stable_offset == 11
    open_since_5 = (7, 0, 0, 5, 0, 1000, 0, 5)
    (place / f"{11:020}.snapshot").write_bytes(snapshot([open_since_5]))
    assert Partition(place).last_stable_offset == 10
