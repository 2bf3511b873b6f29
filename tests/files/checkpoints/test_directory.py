"""The checkpoints of partitions and log directories."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.checkpoints import kafka_uuid, leader_epoch_checkpoint, offset_checkpoint
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.partition import Partition
from tests.goldens import GOLDEN

LOGS = GOLDEN / "4.3.1" / "logs"


@pytest.fixture
def log_directory(tmp_path: Path) -> Path:
    place = tmp_path / "logs"
    shutil.copytree(LOGS / "segments-0", place / "segments-0")
    for name in (*names.OFFSET_CHECKPOINTS, names.META_PROPERTIES, names.CLEAN_SHUTDOWN):
        shutil.copy(LOGS / name, place / name)
    return place


def test_a_directory_says_what_the_broker_noted(log_directory: Path) -> None:
    found = LogDirectory(log_directory).checkpoints
    lines = (LOGS / names.HIGH_WATERMARKS).read_text().splitlines()[2:]
    expected = {tuple(line.split(" ")[:2]): int(line.split(" ")[2]) for line in lines}
    assert {
        (topic, str(number)): offset for (topic, number), offset in found.high_watermarks.items()
    } == expected
    (line,) = (LOGS / names.LOG_START_OFFSETS).read_text().splitlines()[2:]
    assert line == "deleted-records 0 25"
    assert found.log_start_offsets == {("deleted-records", 0): 25}
    assert found.recovery_points == found.high_watermarks  # all was flushed at the clean stop
    assert found.cleaner_offsets["compacted", 0] > 0
    assert found.meta_properties is not None
    assert found.meta_properties.version == 1
    assert found.clean_shutdown is not None


def test_a_file_that_is_missing_says_nothing(log_directory: Path) -> None:
    for path in log_directory.iterdir():
        if path.is_file():
            path.unlink()
    found = LogDirectory(log_directory).checkpoints
    assert (found.high_watermarks, found.meta_properties, found.clean_shutdown) == ({}, None, None)
    partition = Partition(log_directory / "segments-0")
    assert (partition.high_watermark, partition.recovery_point) == (None, None)


def test_a_partition_says_what_is_noted_of_it(log_directory: Path) -> None:
    partition = Partition(log_directory / "segments-0")
    last = list(partition.batches())[-1]
    assert partition.high_watermark == partition.recovery_point == last.last_offset + 1
    assert {entry.epoch for entry in partition.leader_epochs} >= {
        batch.partition_leader_epoch for batch in partition.batches()
    }
    assert partition.topic_id is not None
    text = (partition.path / names.PARTITION_METADATA).read_text()
    assert text.endswith(kafka_uuid.to_text(partition.topic_id))


def test_a_partition_without_its_files(log_directory: Path) -> None:
    place = log_directory / "segments-0"
    (place / names.LEADER_EPOCHS).unlink()
    (place / names.PARTITION_METADATA).unlink()
    assert Partition(place).leader_epochs == ()
    assert Partition(place).topic_id is None


def test_a_file_that_cannot_be_read_is_an_error(log_directory: Path) -> None:
    (log_directory / names.HIGH_WATERMARKS).write_bytes(b"9\n")
    place = log_directory / "segments-0"
    (place / names.LEADER_EPOCHS).write_bytes(b"x\n")
    for ask in (
        lambda: LogDirectory(log_directory).checkpoints.high_watermarks,
        lambda: Partition(place).high_watermark,
        lambda: Partition(place).leader_epochs,
    ):
        with pytest.raises(KafkaSpecError) as caught:
            ask()
        assert caught.value.file is not None


def test_the_log_starts_where_its_checkpoint_says(log_directory: Path) -> None:
    place = log_directory / "segments-0"
    checkpoint = log_directory / names.LOG_START_OFFSETS
    checkpoint.write_bytes(b"0\n1\nsegments 0 7\n")
    assert Partition(place).log_start_offset == 7
    assert next(Partition(place).records()).offset == 7  # as for a consumer
    assert next(Partition(place).records(log_start="ignore")).offset == 0
    checkpoint.write_bytes(b"0\n2\nsegments 0 7\n")  # a broker goes on without it
    assert Partition(place).log_start_offset == 0


def test_over_a_url(log_directory: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.put(str(log_directory), "/checkpoints", recursive=True)
    try:
        partition = Partition("memory://checkpoints/segments-0")
        expected = Partition(log_directory / "segments-0")
        assert partition.leader_epochs == expected.leader_epochs
        assert partition.topic_id == expected.topic_id
        assert partition.high_watermark == expected.high_watermark
    finally:
        memory.rm("/checkpoints", recursive=True)


def test_entries_can_be_rewritten() -> None:
    assert leader_epoch_checkpoint.serialize([EpochEntry(0, 0), EpochEntry(2, 9)]) == (
        b"0\n2\n0 0\n2 9\n"
    )


def test_a_checkpoint_is_read_once_for_all_its_partitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else reading a directory partition by partition would be quadratic."""
    path = tmp_path / names.HIGH_WATERMARKS
    path.write_text("0\n20\n" + "".join(f"t {number} {number}\n" for number in range(20)))
    reads: list[Path] = []
    original = offset_checkpoint.read

    def read(path: Path) -> tuple[offset_checkpoint.PartitionOffset, ...]:
        reads.append(path)
        return original(path)

    monkeypatch.setattr(offset_checkpoint, "read", read)
    for number in range(20):
        (tmp_path / f"t-{number}").mkdir()

    def marks() -> list[int | None]:
        return [Partition(tmp_path / f"t-{number}").high_watermark for number in range(20)]

    assert marks() == list(range(20))
    assert len(reads) == 20  # it has just changed, and may change again at the same time
    os.utime(path, ns=(time.time_ns() - 60 * 10**9,) * 2)
    assert marks() == marks() == list(range(20))
    assert len(reads) == 21
    path.write_text("0\n20\n" + "".join(f"t {number} {19 - number}\n" for number in range(20)))
    assert marks() == list(range(19, -1, -1))
