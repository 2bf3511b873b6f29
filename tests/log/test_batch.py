"""Batches of magic 2: what is read when, checksums, empty and control batches, error positions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec import compression
from kafkaspec.codecs import Codec
from kafkaspec.errors import ChecksumError, CorruptError, KafkaSpecError, Reason, UnsupportedError
from kafkaspec.log.batch import FORMER, Batch
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from kafkaspec.policy import CrcPolicy
from tests.log import forge

CONTROL = 0x20
TRANSACTIONAL = 0x10
DELETE_HORIZON = 0x40


def only(data: bytes | bytearray, codec: Codec, **options: Any) -> Batch:
    (batch,) = Segment(data, codec=codec, **options).batches()
    return batch


def test_every_field_of_the_header(codec: Codec) -> None:
    data = forge.batch(
        1000,
        [forge.record(0, b"a"), forge.record(4, b"b", timestamp_delta=-7)],
        last_offset_delta=9,
        attributes=TRANSACTIONAL | DELETE_HORIZON,
        base_timestamp=500,
        max_timestamp=600,
        producer=(77, 3, 2**31 - 3),
        leader_epoch=12,
    )
    batch = only(data, codec)
    assert (batch.position, batch.size, batch.end) == (0, len(data), len(data))
    assert bytes(batch.data) == data
    assert (batch.magic, batch.compression, batch.compression_name) == (2, 0, "none")
    assert (batch.base_offset, batch.last_offset, batch.num_records) == (1000, 1009, 2)
    assert (batch.base_timestamp, batch.max_timestamp, batch.delete_horizon) == (500, 600, 500)
    assert batch.timestamp_type == "CreateTime"
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (77, 3, 2**31 - 3)
    # Sequence numbers start again at 0 after 2^31 - 1 (KAFKA-5283).
    assert batch.last_sequence == 6
    assert [batch.sequence(offset) for offset in (1000, 1002, 1003)] == [2**31 - 3, 2**31 - 1, 0]
    assert batch.partition_leader_epoch == 12
    assert batch.is_transactional
    assert not batch.is_control
    assert batch.crc_valid
    assert batch.records() == [Record(1000, 500, None, b"a"), Record(1004, 493, None, b"b")]


def test_log_append_time_is_that_of_the_header(codec: Codec) -> None:
    records = [forge.record(0, b""), forge.record(1, b"", timestamp_delta=55)]
    batch = only(forge.batch(0, records, attributes=8, max_timestamp=42), codec)
    assert batch.timestamp_type == "LogAppendTime"
    assert [record.timestamp for record in batch.records()] == [42, 42]


def test_header_keys_that_are_no_text_keep_their_bytes(codec: Codec) -> None:
    record = forge.record(
        0, None, headers=[(b"\xff\xfe", None), (b"", b""), ("\u00e9".encode(), b"x")]
    )
    (found,) = only(forge.batch(0, [record]), codec).records()
    assert [key.encode("utf-8", "surrogateescape") for key, _ in found.headers] == [
        b"\xff\xfe",
        b"",
        b"\xc3\xa9",
    ]


# -- empty and control batches -------------------------------------------------------------------


@pytest.mark.parametrize("attributes", range(8))
@pytest.mark.parametrize("payload", [b"", b"garbage", bytes(100)])
def test_the_payload_of_a_batch_without_records_is_not_looked_at(
    payload: bytes, attributes: int, codec: Codec
) -> None:
    """Whatever it is, with whatever codec (quirk Q9)."""
    data = forge.batch(8, payload, count=0, last_offset_delta=4, attributes=attributes)
    batch = only(data, codec)
    assert batch.records() == []
    assert (batch.base_offset, batch.last_offset) == (8, 12)


def test_records_of_a_segment_leave_control_records_out(codec: Codec) -> None:
    marker = forge.record(0, b"\0\0\0\0\0\7", key=b"\0\0\0\1")
    data = (
        forge.batch(0, [forge.record(0, b"data")])
        + forge.batch(1, [marker], attributes=CONTROL | TRANSACTIONAL, producer=(5, 0, -1))
        + forge.batch(2, b"", count=0, last_offset_delta=0, attributes=CONTROL)
    )
    segment = Segment(data, codec=codec)
    assert [record.offset for record in segment.records()] == [0]
    assert [record.offset for record in segment.records(include_control=True)] == [0, 1]
    plain, control, empty = segment.batches()
    assert plain.control_records() == empty.control_records() == []
    (decoded,) = control.control_records()
    assert decoded.type_name == "COMMIT"
    assert (decoded.key.version, decoded.key.type, decoded.body.coordinator_epoch) == (0, 1, 7)


def test_control_records_of_unknown_types_keep_their_bytes(codec: Codec) -> None:
    records = [
        forge.record(0, b"\1\2", key=b"\0\0\0\x63"),
        forge.record(1, None, key=b"\0\0\0\x63more"),
    ]
    with_value, without = only(forge.batch(0, records, attributes=CONTROL), codec).control_records()
    assert (with_value.type_name, bytes(with_value.body.data)) == ("UNKNOWN", b"\1\2")
    assert (without.type_name, without.body) == ("UNKNOWN", None)


@pytest.mark.parametrize(
    ("key", "value", "reason", "path"),
    [
        (None, b"\0\0\0\0\0\0", Reason.INVALID_VALUE, "/key"),
        (b"\0\0\0", b"\0\0\0\0\0\0", Reason.OVERRUN, "/key/type"),
        (b"\xff\xff\0\0", b"\0\0\0\0\0\0", Reason.INVALID_VALUE, "/key/version"),
        (b"\0\0\0\0", None, Reason.INVALID_VALUE, "/value"),
        (b"\0\0\0\0", b"\0\0\0\0\0", Reason.OVERRUN, "/value/body/coordinator_epoch"),
        (b"\0\0\0\1", b"\x80\0\0\0\0\0", Reason.INVALID_VALUE, "/value/body/version"),
    ],
)
def test_malformed_markers_are_errors_when_they_are_decoded(
    key: bytes | None, value: bytes | None, reason: Reason, path: str, codec: Codec
) -> None:
    batch = only(forge.batch(0, [forge.record(0, value, key=key)], attributes=CONTROL), codec)
    assert len(batch.records()) == 1
    with pytest.raises(KafkaSpecError) as caught:
        batch.control_records()
    assert caught.value.reason is reason
    assert caught.value.path == "/message/content/records" + path
    assert caught.value.spec.startswith("control_record.ksy#/types/")


# -- checksum ------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["raise", "ignore"])
def test_crc_policies(policy: CrcPolicy, codec: Codec) -> None:
    data = bytearray(forge.batch(0, [forge.record(0, b"value")]))
    data[-2] ^= 0x20
    batch = only(data, codec, crc=policy)
    assert not batch.crc_valid
    if policy != "raise":
        assert [record.value for record in batch.records()] == [b"valuE"]
        return
    with pytest.raises(ChecksumError) as caught:
        batch.records()
    assert caught.value.position == 17
    assert caught.value.path == "/message/content/crc"
    assert caught.value.spec == "recordbatch.ksy#/types/record_batch/seq/2"


def test_offset_and_leader_epoch_are_outside_of_the_checksum(codec: Codec) -> None:
    data = bytearray(forge.batch(0, [forge.record(0, b"value")]))
    data[0:8] = (5).to_bytes(8, "big")
    data[12:16] = (9).to_bytes(4, "big")
    batch = only(data, codec)
    assert batch.crc_valid
    assert batch.records()[0].offset == 5


# -- laziness ------------------------------------------------------------------------------------


def test_batches_read_no_payload(codec: Codec) -> None:
    """Neither a broken payload nor a wrong checksum is noticed before the records are wanted."""
    gzip = forge.batch(0, b"no gzip", count=3, attributes=1, crc=0)
    garbage = forge.batch(3, b"\xff" * 9, count=1, crc=0)
    good = forge.batch(4, [forge.record(0, b"x")])
    segment = Segment(gzip + garbage + good, codec=codec, crc="ignore")
    assert [batch.base_offset for batch in segment.batches()] == [0, 3, 4]
    assert [batch.num_records for batch in segment.batches()] == [3, 1, 1]
    for batch in list(segment.batches())[:2]:
        with pytest.raises(KafkaSpecError):
            batch.records()


def test_records_come_one_batch_at_a_time(codec: Codec) -> None:
    data = forge.batch(0, [forge.record(0, b"x")]) + forge.batch(1, b"\xff", count=1)
    records: Iterator[Record] = Segment(data, codec=codec).records()
    assert next(records).value == b"x"
    with pytest.raises(KafkaSpecError):
        next(records)


def test_views_outlive_a_closed_segment(tmp_path: Path, codec: Codec) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(forge.batch(0, [forge.record(0, b"x")]) * 3)
    with Segment(path, codec=codec) as segment:
        batches = list(segment.batches())
    assert [batch.records()[0].value for batch in batches] == [b"x"] * 3
    assert all(batch.crc_valid for batch in batches)


def test_a_file_that_became_shorter_is_an_error(tmp_path: Path, codec: Codec) -> None:
    path = tmp_path / "00000000000000000000.log"
    one = forge.batch(0, [forge.record(0, b"x")])
    path.write_bytes(one * 3)
    segment = Segment(path, codec=codec)
    batches = segment.batches()
    first = next(batches)
    with path.open("r+b") as file:
        file.truncate(len(one))
    for read in (lambda: next(batches), first.records, lambda: first.crc_valid):
        with pytest.raises(CorruptError) as caught:
            read()
        assert caught.value.reason is Reason.CHANGED
        assert caught.value.file == str(path)


# -- where errors are ----------------------------------------------------------------------------


def test_errors_in_records_give_the_absolute_offset_and_the_path(codec: Codec) -> None:
    good = forge.batch(0, [forge.record(0, b"x")])
    records = [forge.record(0, b"x"), b"\x0a\0\0\0\x08\x08"]
    data = good + forge.batch(1, b"".join(records), count=2)
    first, second = Segment(data, codec=codec, name="some.log").batches()
    assert len(first.records()) == 1
    with pytest.raises(CorruptError) as caught:
        second.records()
    error = caught.value
    assert error.reason is Reason.OVERRUN
    assert error.file == "some.log"
    assert error.path == "/message/content/records/records/1/body/key"
    assert error.position == len(good) + 61 + len(records[0]) + 4
    assert error.inner_position is None
    assert error.spec == "recordbatch.ksy#/types/record/seq/3"


def test_errors_in_compressed_records_give_both_offsets(codec: Codec) -> None:
    payload = compression.compress(1, forge.record(0, b"x") + b"\xff", magic=2)
    batch = only(forge.batch(0, payload, count=1, attributes=1), codec)
    with pytest.raises(CorruptError) as caught:
        batch.records()
    assert caught.value.reason is Reason.TRAILING_BYTES
    assert (caught.value.position, caught.value.inner_position) == (61, len(forge.record(0, b"x")))


@pytest.mark.parametrize("codec_id", [5, 6, 7])
def test_unknown_compression_names_the_batch(codec_id: int, codec: Codec) -> None:
    good = forge.batch(0, [forge.record(0, b"x")])
    data = good + forge.batch(1, b"x", count=1, attributes=codec_id)
    _, batch = Segment(data, codec=codec).batches()
    assert batch.compression_name == f"unknown({codec_id})"
    with pytest.raises(UnsupportedError) as caught:
        batch.records()
    assert caught.value.reason is Reason.UNSUPPORTED_COMPRESSION
    assert caught.value.position == len(good) + 61
    assert caught.value.path == "/message/content/records"


@pytest.mark.parametrize("codec_id", [1, 2, 3, 4])
def test_a_bomb_stops_at_the_bound(codec_id: int, codec: Codec) -> None:
    bomb = compression.compress(codec_id, forge.record(0, bytes(3_000_000)), magic=2)
    assert len(bomb) < 200_000
    batch = only(forge.batch(0, bomb, count=1, attributes=codec_id), codec, max_output=1_000_000)
    with pytest.raises(CorruptError) as caught:
        batch.records()
    assert caught.value.reason is Reason.DECOMPRESSED_TOO_LARGE
    assert caught.value.position == 61
    assert batch.records(max_output=4_000_000)[0].value == bytes(3_000_000)


def test_former_members_work_and_warn() -> None:
    (batch, *_) = ks.Segment(ks.encode([ks.Record(7, 1, b"k", b"v")], compression="gzip"))
    made: Any = batch
    for name, (_, is_method, _) in FORMER.items():
        assert name not in dir(batch)
        with pytest.warns(DeprecationWarning, match=rf"^Batch\.{name} is deprecated: take "):
            found = getattr(made, name)
        assert callable(found) == is_method
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (made.stored_offset, made.magic_name, made.computed_crc()) == (7, "2", batch.crc)
        assert made.held() == batch.decompressed()
        assert b"".join(made.chunks(None)()) == batch.decompressed()
    with pytest.raises(AttributeError, match="has no attribute 'holds'"):
        _ = made.holds
