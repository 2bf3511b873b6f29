"""Recovery of a log that kafkaspec refuses, or that a broker would not load; each outcome by
a log made for it. ``tests/kafka/test_loader.py`` asks Kafka's own loader about the same."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import crc32c
import pytest

import kafkaspec as ks
from kafkaspec.broker.actions import Recovery
from kafkaspec.writing.rebuilt import RebuiltSegment

LAST = (1 << 31) - 1
"""Largest distance of an offset from the base offset of a segment."""


def batch(offset: int, value: bytes = b"v", **options: Any) -> bytes:
    return ks.encode([ks.Record(offset, 1000 + offset % 100, b"k", value)], **options)


def rebuilt(directory: Path, data: bytes, **options: Any) -> RebuiltSegment:
    log = directory / "00000000000000000000.log"
    log.write_bytes(data)
    (segment,) = ks.rebuild_indexes(log, directory / "out", sync=False, **options).segments
    return segment


def fresh(directory: Path) -> Path:
    found = directory / "again"
    found.mkdir()
    return found


def resigned(entry: bytes) -> bytes:
    """A batch of magic 2 with the checksum of what is in it (Kafka: DefaultRecordBatch)."""
    return entry[:17] + struct.pack(">I", crc32c.crc32c(entry[21:])) + entry[21:]


def entries(directory: Path) -> list[tuple[int, ...]]:
    data = (directory / "out" / "00000000000000000000.index").read_bytes()
    return [struct.unpack(">ii", data[at : at + 8]) for at in range(0, len(data), 8)]


def test_a_header_that_recovery_does_not_read_is_kept(tmp_path: Path) -> None:
    odd = batch(1)
    odd = resigned(odd[:57] + struct.pack(">i", -5) + odd[61:])  # number of records
    data = batch(0) + odd + batch(2)
    done = rebuilt(tmp_path, data, index_interval_bytes=0)
    assert (done.valid_bytes, done.recovery) == (len(data), Recovery.KEEPS)
    assert [error.reason for error in done.refused] == ["invalid_value"]
    assert not done.is_sound
    assert "recovery keeps what kafkaspec refuses (1 entries" in done.note
    assert entries(tmp_path) == [(1, len(batch(0))), (2, len(batch(0)) + len(odd))]


def test_a_leader_does_not_take_such_a_header(tmp_path: Path) -> None:
    odd = batch(1)
    odd = resigned(odd[:57] + struct.pack(">i", -5) + odd[61:])
    done = rebuilt(tmp_path, batch(0) + odd + batch(2), rule="append")
    assert (done.valid_bytes, done.refused, done.recovery) == (len(batch(0)), (), None)
    assert done.note == f"the indexes end at byte {len(batch(0))}"


@pytest.mark.parametrize("magic", [-1, 0, 1, 3, 100])
def test_other_magics_and_messages_whose_strings_reach_too_far(tmp_path: Path, magic: int) -> None:
    """Kafka's reader of files takes any magic from 2 on for 2 and a negative one for 1 (Q8)."""
    if magic >= 2:
        odd = batch(1)
        odd = resigned(odd[:16] + bytes([magic]) + odd[17:])
    else:
        message = batch(1, magic=1)[16:]
        message = struct.pack(">b", magic) + message[1:-3] + b"\x7f" + message[-2:]
        check = struct.pack(">I", zlib.crc32(message))
        odd = struct.pack(">qi", 1, len(message) + 4) + check + message
    done = rebuilt(tmp_path, batch(0) + odd + batch(2), index_interval_bytes=0)
    assert (done.recovery, len(done.refused)) == (Recovery.KEEPS, 1)
    assert [offset for offset, _ in entries(tmp_path)] == [1, 2]


def test_a_refused_header_with_a_wrong_checksum_is_where_recovery_cuts(tmp_path: Path) -> None:
    odd = batch(1)
    odd = odd[:57] + struct.pack(">i", -5) + odd[61:]
    done = rebuilt(tmp_path, batch(0) + odd + batch(2))
    assert (done.valid_bytes, done.refused) == (len(batch(0)), ())
    assert done.recovery is Recovery.CUTS
    assert done.note == f"recovery truncates the log at byte {len(batch(0))}"


def test_offsets_that_go_back_empty_the_segment(tmp_path: Path) -> None:
    done = rebuilt(tmp_path, batch(5) + batch(6) + batch(4), index_interval_bytes=0)
    assert (done.valid_bytes, done.recovery) == (0, Recovery.EMPTIES)
    assert done.error is not None
    assert entries(tmp_path) == []
    done = rebuilt(fresh(tmp_path), batch(5) + batch(4), index_interval_bytes=4096)
    assert done.recovery is Recovery.KEEPS  # no index shows it


@pytest.mark.parametrize(
    ("offsets", "recovery"),
    [
        ((0, LAST), Recovery.KEEPS),
        ((0, LAST + 1), Recovery.SPLITS),
        ((0, LAST + 1, 2 * LAST + 2), Recovery.SPLITS),
        ((0, LAST + 1, 5), Recovery.REFUSES),  # the last one fits, and nothing is split
        ((0, (1 << 63) - 1), Recovery.REFUSES),  # no offset comes after it
    ],
)
def test_offsets_that_do_not_fit(
    tmp_path: Path, offsets: tuple[int, ...], recovery: Recovery
) -> None:
    done = rebuilt(tmp_path, b"".join(map(batch, offsets)))
    assert done.recovery is recovery
    if recovery is not Recovery.KEEPS:
        assert done.valid_bytes == len(batch(0))
        assert done.error is not None


def test_a_split_needs_a_whole_log(tmp_path: Path) -> None:
    done = rebuilt(tmp_path, batch(0) + batch(LAST + 1) + batch(LAST + 2)[:-1])
    assert done.recovery is Recovery.REFUSES


def test_a_batch_outside_of_an_open_transaction(tmp_path: Path) -> None:
    producer: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    begun = batch(0, transactional=True, **producer)
    done = rebuilt(tmp_path, begun + batch(1, **producer))
    assert (done.valid_bytes, done.recovery) == (len(begun), Recovery.REFUSES)
    assert done.error is not None
    assert not list((tmp_path / "out").glob("*.snapshot"))
    other = producer | {"producer_id": 8}
    assert rebuilt(fresh(tmp_path), begun + batch(1, **other)).recovery is Recovery.KEEPS


def test_of_a_marker_only_the_first_record_is_read(tmp_path: Path) -> None:
    producer: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0}
    begun = batch(0, transactional=True, base_sequence=0, **producer)
    abort = ks.Record(1, 5, b"\0\0\0\0", b"\0\0\0\0\0\3")
    marker = ks.encode(
        [abort, ks.Record(2, 5, b"k", b"v" * 9)], transactional=True, control=True, **producer
    )
    marker = resigned(marker[:-11] + b"\x7f" + marker[-10:])
    with pytest.raises(ks.KafkaSpecError):
        ks.decode(marker)
    done = rebuilt(tmp_path, begun + marker)
    assert done.recovery is Recovery.KEEPS
    index = (tmp_path / "out" / "00000000000000000000.txnindex").read_bytes()
    # Kafka: AbortedTxn: version, producer id, first and last offset, last stable offset.
    assert index == struct.pack(">hqqqq", 0, 7, 0, 1, 2)


def test_a_wrapper_that_is_looked_up_must_be_readable(tmp_path: Path) -> None:
    wrapper = batch(1, magic=1, compression="gzip")
    broken = wrapper[12:-4] + b"\0\0\0\0"
    broken = wrapper[:12] + struct.pack(">I", zlib.crc32(broken[4:])) + broken[4:]
    for profile, expected in (("4.3", Recovery.REFUSES), ("3.9", Recovery.KEEPS)):
        (tmp_path / profile).mkdir()
        done = rebuilt(tmp_path / profile, batch(0, magic=1) + broken, profile=profile)
        assert done.recovery is expected
        assert (done.error is None) is (expected is Recovery.KEEPS)


def test_a_producer_id_below_0_is_no_producer(tmp_path: Path) -> None:
    """Kafka: RecordBatch.hasProducerId."""
    bad = ks.encode([ks.Record(0, 5, b"k", None)], control=True, producer_id=-2)
    done = rebuilt(tmp_path, bad)
    assert (done.recovery, done.valid_bytes) == (Recovery.KEEPS, len(bad))
