"""Names of files and directories, and what ``open`` makes of a path."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

import pytest

import kafkaspec
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files import names
from kafkaspec.files.names import CheckpointName, PartitionName, SegmentName
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from tests.goldens import GOLDEN
from tests.log import forge

ZERO = "00000000000000000000"
REMOTE = base64.urlsafe_b64encode(bytes(range(200, 216))).decode().rstrip("=")
"""An id as Kafka's ``Uuid.toString`` writes it."""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f"{ZERO}.log", SegmentName(0, ".log")),
        ("00000000000000000042.timeindex", SegmentName(42, ".timeindex")),
        ("09223372036854775807.index", SegmentName(2**63 - 1, ".index")),
        (f"{ZERO}.txnindex", SegmentName(0, ".txnindex")),
        ("00000000000000000007.snapshot", SegmentName(7, ".snapshot")),
        (f"{ZERO}.log.deleted", SegmentName(0, ".log", ".deleted")),
        (f"{ZERO}.index.cleaned", SegmentName(0, ".index", ".cleaned")),
        (f"{ZERO}.log.swap", SegmentName(0, ".log", ".swap")),
        (f"42_{REMOTE}.index", SegmentName(42, ".index", "", REMOTE)),
        (f"0_{REMOTE}.txnindex", SegmentName(0, ".txnindex", "", REMOTE)),
        (f"7_{REMOTE}.timeindex.deleted", SegmentName(7, ".timeindex", ".deleted", REMOTE)),
        (f"7_{REMOTE}.timeindex.tmp", SegmentName(7, ".timeindex", ".tmp", REMOTE)),
        (f"{2**63 - 1}_{REMOTE}.index", SegmentName(2**63 - 1, ".index", "", REMOTE)),
        (f"{2**63}_{REMOTE}.index", None),
        (f"{2**63:020d}.log", None),
        (f"{'9' * 20}.snapshot", None),
        (f"-1_{REMOTE}.index", None),
        (f"7_{REMOTE}.log", None),
        (f"7_{REMOTE[:-1]}.index", None),
        (f"7_{REMOTE[:-1]}+.index", None),
        ("0.log", None),
        (f"{ZERO}.logx", None),
        (f"{ZERO}.checkpoint", None),
        ("server.log", None),
    ],
)
def test_segment_names(name: str, expected: SegmentName | None) -> None:
    assert names.parse_segment(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f"{ZERO}-0000000000.checkpoint", CheckpointName(0, 0)),
        ("00000000000000000321-0000000004.checkpoint", CheckpointName(321, 4)),
        ("00000000000000000321-0000000004.checkpoint.deleted", CheckpointName(321, 4, ".deleted")),
        ("bootstrap.checkpoint", None),
        (f"{2**63:020d}-0000000004.checkpoint", None),
        (f"{ZERO}-{2**31:010d}.checkpoint", None),
        ("00000000000000000321-0000000004-123.checkpoint.part", None),
    ],
)
def test_checkpoint_names(name: str, expected: CheckpointName | None) -> None:
    assert names.parse_checkpoint(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("topic-0", PartitionName("topic", 0)),
        ("a-b.c_d-12", PartitionName("a-b.c_d", 12)),
        ("t-3.0123456789abcdef0123456789abcdef-delete", PartitionName("t", 3, "-delete")),
        ("t-3.0123456789abcdef0123456789abcdef-future", PartitionName("t", 3, "-future")),
        ("t.x-3.0123456789abcdef0123456789abcdef-stray", PartitionName("t.x", 3, "-stray")),
        ("snappy-7.abc-delete", PartitionName("snappy", 7, "-delete")),
        ("a-0.b.c-future", None),
        ("t-0-delete", None),
        ("foo-0-stray", None),
        ("t-0 (copy)", None),
        ("t-0.old", None),
        ("my topic-0", PartitionName("my topic", 0)),
        ("lost+found", None),
        ("remote-log-index-cache", None),
        ("topic", None),
        ("-0", None),
    ],
)
def test_partition_names(name: str, expected: PartitionName | None) -> None:
    assert names.parse_partition(name) == expected


def test_siblings_share_number_and_state() -> None:
    assert SegmentName(42, ".log", ".swap").sibling(".index") == "00000000000000000042.index.swap"


# -- open ----------------------------------------------------------------------------------------


def refused(path: Path) -> str:
    with pytest.raises(KafkaSpecError) as caught:
        kafkaspec.open(path)
    assert caught.value.reason is Reason.UNREADABLE
    assert caught.value.file == str(path)
    return caught.value.detail


def test_open_gives_what_the_path_is() -> None:
    logs = GOLDEN / "4.3.1" / "logs"
    directory = kafkaspec.open(logs)
    assert isinstance(directory, LogDirectory)
    assert {partition.topic for partition in directory.partitions} >= {
        "plain",
        "__cluster_metadata",
    }
    partition = kafkaspec.open(logs / "segments-0")
    assert isinstance(partition, Partition)
    assert (partition.topic, partition.partition, partition.state) == ("segments", 0, "")
    assert len(partition.segments) > 2
    assert [s.base_offset for s in partition.segments] == sorted(
        s.base_offset or 0 for s in partition.segments
    )
    assert isinstance(kafkaspec.open(partition.segment_paths[0]), Segment)
    assert isinstance(kafkaspec.open(logs / "bootstrap.checkpoint"), Segment)
    metadata = kafkaspec.open(logs / "__cluster_metadata-0")
    assert isinstance(metadata, Partition)
    found = sorted((logs / "__cluster_metadata-0").glob("*.checkpoint"))
    assert len(found) > 1
    assert list(metadata.checkpoint_paths) == found


def test_open_a_segment_under_another_name(tmp_path: Path) -> None:
    path = tmp_path / "copy.bin"
    path.write_bytes(forge.batch(0, [forge.record(0, b"x")]))
    segment = kafkaspec.open(path)
    assert isinstance(segment, Segment)
    assert segment.base_offset is None
    assert [record.value for record in segment.records()] == [b"x"]


def test_open_a_segment_that_is_to_be_deleted(tmp_path: Path) -> None:
    path = tmp_path / f"{ZERO}.log.deleted"
    path.write_bytes(b"")
    (tmp_path / f"{ZERO}.index.deleted").write_bytes(b"")
    segment = kafkaspec.open(path)
    assert isinstance(segment, Segment)
    assert segment.base_offset == 0
    assert segment.offset_index is not None
    assert segment.time_index is None
    assert Partition(tmp_path).segment_paths == []


def test_open_refuses_other_files(tmp_path: Path) -> None:
    assert "no such file" in refused(tmp_path / "missing")
    assert "neither segments" in refused(tmp_path)
    (tmp_path / "topic-0").mkdir()
    assert "neither segments" in refused(tmp_path)
    text = tmp_path / "server.log"
    text.write_text("[2024-01-01 00:00:00,000] INFO started (kafka.server.KafkaServer)\n" * 9)
    assert "not a Kafka log segment" in refused(text)
    empty = tmp_path / "empty.txt"
    empty.write_bytes(b"")
    assert "not a Kafka log segment" in refused(empty)
    index = tmp_path / f"{ZERO}.index"
    index.write_bytes(bytes(8))
    assert "offset index" in refused(index)


def test_an_empty_segment_is_a_segment(tmp_path: Path) -> None:
    (tmp_path / f"{ZERO}.log").write_bytes(b"")
    partition = kafkaspec.open(tmp_path)
    assert isinstance(partition, Partition)
    assert list(partition.records()) == []


def test_nothing_is_written(tmp_path: Path) -> None:
    source = GOLDEN / "3.9.2" / "logs" / "segments-0"
    place = tmp_path / "segments-0"
    shutil.copytree(source, place)
    place.chmod(0o555)
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    with kafkaspec.open(place) as partition:
        assert isinstance(partition, Partition)
        assert list(partition.records())
        partition.find(timestamp=0)
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
    place.chmod(0o755)


def test_siblings_of_a_remote_index() -> None:
    name = names.parse_segment(f"42_{REMOTE}.index")
    assert name is not None
    assert [name.sibling(kind) for kind in names.REMOTE_INDEXES] == [
        f"42_{REMOTE}.index",
        f"42_{REMOTE}.timeindex",
        f"42_{REMOTE}.txnindex",
    ]


@pytest.mark.slow
def test_records_of_a_log_directory_come_partition_by_partition(tmp_path: Path) -> None:
    marker = forge.record(0, b"\0\0\0\0\0\0", key=b"\0\0\0\1")
    for topic, values in (("b-0", [b"3"]), ("a-10", [b"2"]), ("a-2", [b"0", b"1"])):
        (tmp_path / topic).mkdir()
        for offset, value in enumerate(values):
            path = tmp_path / topic / f"{offset:020d}.log"
            path.write_bytes(forge.batch(offset, [forge.record(0, value)]))
    (tmp_path / "a-2" / f"{2:020d}.log").write_bytes(forge.batch(2, [marker], attributes=0x30))
    with LogDirectory(tmp_path) as directory:
        assert [record.value for record in directory.records()] == [b"0", b"1", b"2", b"3"]
        assert len(list(directory.records(include_control=True))) == 5
    for version in ("4.3.1", "0.10.2.2"):
        with LogDirectory(GOLDEN / version / "logs") as directory:
            expected = [
                record for partition in directory.partitions for record in partition.records()
            ]
            assert list(directory.records()) == expected
            assert len(expected) > 100
