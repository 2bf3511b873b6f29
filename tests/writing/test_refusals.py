"""A batch that cannot be appended is refused with its place; the batches before it stay."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.broker.profiles import get_profile
from kafkaspec.errors import KafkaSpecError
from kafkaspec.model import Record
from tests import goldens

PLAIN = (goldens.GOLDEN / "4.3.1/logs/segments-0/00000000000000000000.log").read_bytes()
MIXED = (goldens.GOLDEN / "2.8.2/logs/format-mixed-gzip-0/00000000000000000000.log").read_bytes()


def batch(offset: int, count: int = 1, **options: Any) -> bytes:
    return ks.encode([Record(offset + n, 5, b"k", b"v") for n in range(count)], **options)


@pytest.mark.parametrize("codec", ["native", "python"])
@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (batch(2), "unencodable"),
        (batch(1, 5), "unencodable"),
        (batch(3)[:-1], "truncated"),
        (batch(3)[:30], "truncated"),
        (b"\0" * 40, "invalid_value"),
        (batch(3)[:-1] + b"\xff", "checksum_mismatch"),
        (batch(3, magic=1)[:-1] + b"\xff", "checksum_mismatch"),
    ],
)
def test_an_entry_that_is_refused(tmp_path: Path, codec: str, second: bytes, reason: str) -> None:
    first = batch(0, 3)
    with ks.SegmentWriter(tmp_path / "a-0", codec=codec, sync=False) as writer:
        with pytest.raises(KafkaSpecError) as caught:
            writer.append(first + second)
        assert caught.value.reason == reason
        assert caught.value.position is not None
        assert caught.value.position >= len(first)
        assert writer.next_offset == 3
        with pytest.raises(KafkaSpecError):
            writer.append(batch(3) + second, together=True)
        assert writer.next_offset == 3
        writer.append(batch(3))
    assert ks.verify(tmp_path / "a-0").findings == []
    with ks.Partition(tmp_path / "a-0") as partition:
        assert [record.offset for record in partition.records()] == [0, 1, 2, 3]


@pytest.mark.parametrize(("version", "magic"), [("0.9", 1), ("0.10", 2), ("0.8.0", 2)])
def test_a_magic_that_the_version_does_not_know(tmp_path: Path, version: str, magic: int) -> None:
    with ks.SegmentWriter(tmp_path / "a-0", profile=version, sync=False) as writer:
        with pytest.raises(KafkaSpecError, match=f"magic {magic}") as caught:
            writer.append(batch(0, magic=magic))
        assert caught.value.reason == "unencodable"


def test_an_offset_below_the_base_offset(tmp_path: Path) -> None:
    with ks.SegmentWriter(tmp_path / "a-0", 100, sync=False) as writer:
        with pytest.raises(KafkaSpecError, match="do not follow 99"):
            writer.append(batch(99))
        writer.append(batch(100))
        assert writer.segments[0].base_offset == 100


@pytest.mark.slow
@pytest.mark.parametrize("source", [PLAIN, MIXED], ids=["batches", "mixed"])
@pytest.mark.parametrize("codec", ["native", "python"])
def test_hostile_bytes_raise_nothing_but_our_errors(
    tmp_path: Path, source: bytes, codec: str
) -> None:
    rng = random.Random(5)
    for number in range(150):
        data = bytearray(source)
        for _ in range(rng.choice([1, 1, 3])):
            data[rng.randrange(len(data))] = rng.choice([0, 255, rng.randrange(256)])
        if rng.random() < 0.3:
            del data[rng.randrange(len(data)) :]
        target = tmp_path / f"a-{number}"
        writer = ks.SegmentWriter(target, codec=codec, sync=False, segment_bytes=500)
        with suppress(KafkaSpecError):
            writer.append(data, together=rng.random() < 0.2)
        writer.close()
        with ks.Partition(target) as partition:
            assert all(batch.crc_valid for batch in partition.batches())


@pytest.mark.parametrize(
    "options",
    [
        {"base_offset": -1},
        {"segment_bytes": 0},
        {"segment_bytes": 1 << 31},
        {"segment_ms": 0},
        {"index_interval_bytes": -1},
        {"segment_index_bytes": 23},
        {"leader_epoch": -1},
        {"profile": "0.7"},
        {"profile": "5.0"},
        {"profile": "new"},
        {"profile": "4"},
    ],
    ids=str,
)
def test_options_out_of_range(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=str(next(iter(options.values()))).lstrip("-")):
        ks.SegmentWriter(tmp_path / "a-0", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("version", "since"),
    [
        ("0.8", "0.8.2"),
        ("0.8.0", "0.8.0"),
        ("0.8.1.1", "0.8.0"),
        ("0.9", "0.8.2"),
        ("0.10", "0.10.1"),
        ("0.10.0.1", "0.10.0"),
        ("0.10.2.2", "0.10.1"),
        ("2.4.0", "2.1.0"),
        ("2.4", "2.4.1"),
        ("2.8.2", "2.8.0"),
        ("3.9.0", "3.7.0"),
        ("3.9", "3.9.2"),
        ("3.9.1", "3.9.1"),
        ("4.0.0", "4.0.0"),
        ("4.1.0", "4.1.0"),
        ("4.3", "4.1.0"),
        ("4.4", "4.4.0"),
    ],
)
def test_the_row_of_a_version(version: str, since: str) -> None:
    assert get_profile(version).since == since


def test_the_leader_epoch_is_written_outside_of_the_checksum(tmp_path: Path) -> None:
    data = batch(0, partition_leader_epoch=9) + batch(1, magic=1)
    with ks.SegmentWriter(tmp_path / "a-0", leader_epoch=4, sync=False) as writer:
        writer.append(data)
    with ks.Partition(tmp_path / "a-0") as partition:
        first, second = partition.batches()
    assert (first.partition_leader_epoch, first.crc_valid) == (4, True)
    assert bytes(second.data) == batch(1, magic=1)
    assert (tmp_path / "a-0/leader-epoch-checkpoint").read_bytes() == b"0\n1\n4 0\n"
    assert ks.verify(tmp_path / "a-0").findings == []


def test_epochs_that_go_up_are_listed(tmp_path: Path) -> None:
    with ks.SegmentWriter(tmp_path / "a-0", sync=False) as writer:
        for offset, epoch in ((0, 2), (1, 2), (2, 5), (3, 3), (4, 6)):
            writer.append(batch(offset, partition_leader_epoch=epoch))
    assert (tmp_path / "a-0/leader-epoch-checkpoint").read_bytes() == b"0\n3\n2 0\n5 2\n6 4\n"
