"""Messages of magic 0 and 1 and their wrappers: one test for each rule of Kafka's reader.

Source of the rules: ``AbstractLegacyRecordBatch.DeepRecordsIterator`` and ``DataLogInputStream``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkaspec.codecs import Codec
from kafkaspec.errors import ChecksumError, CorruptError, KafkaSpecError, Reason, UnsupportedError
from kafkaspec.log.batch import Batch
from kafkaspec.log.encoding import encode
from kafkaspec.log.legacy import LegacyBatch
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from tests.log import forge
from tests.log.forge import LOG_APPEND_TIME, legacy, wrapper

Open = Callable[..., Batch]


@pytest.fixture
def only(codec: Codec) -> Open:
    """The single batch in some bytes."""

    def open_(data: bytes, **options: str) -> Batch:
        (batch,) = Segment(data, codec=codec, **options).batches()  # type: ignore[arg-type]
        return batch

    return open_


def shown(batch: Batch) -> list[tuple[int, int, bytes | None]]:
    return [(record.offset, record.timestamp, record.value) for record in batch.records()]


def failure(batch: Batch) -> KafkaSpecError:
    with pytest.raises(KafkaSpecError) as caught:
        batch.records()
    return caught.value


# -- not compressed ------------------------------------------------------------------------------


def test_magic_0_has_no_timestamp(only: Open) -> None:
    batch = only(legacy(7, b"v", magic=0, key=b"k"))
    assert batch.records() == [Record(7, -1, b"k", b"v")]
    assert batch.timestamp_type == "NoTimestampType"
    assert (batch.max_timestamp, batch.base_timestamp, batch.delete_horizon) == (-1, None, None)
    assert (batch.base_offset, batch.last_offset, batch.num_records) == (7, 7, 1)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (-1, -1, -1)
    assert (batch.last_sequence, batch.partition_leader_epoch) == (-1, -1)
    assert batch.sequence(7) == -1
    assert not batch.is_control
    assert not batch.is_transactional


def test_magic_0_ignores_the_timestamp_type_bit(only: Open) -> None:
    assert only(legacy(0, b"", magic=0, attributes=8)).timestamp_type == "NoTimestampType"


@pytest.mark.parametrize(("bit", "name"), [(0, "CreateTime"), (8, "LogAppendTime")])
def test_magic_1_has_its_own_timestamp(only: Open, bit: int, name: str) -> None:
    batch = only(legacy(7, None, attributes=bit, timestamp=1234))
    assert batch.timestamp_type == name
    assert batch.records() == [Record(7, 1234, None, None)]


@pytest.mark.parametrize("size", [-1, -2, -(2**31)])
def test_any_negative_size_is_null(only: Open, size: int) -> None:
    body = struct.pack(">bbqii", 1, 0, 5, size, size)
    import zlib

    batch = only(forge.framed(3, struct.pack(">I", zlib.crc32(body)) + body))
    assert batch.records() == [Record(3, 5, None, None)]


def test_slack_behind_the_value_is_ignored(only: Open) -> None:
    assert only(legacy(0, b"v", slack=b"junk")).records() == [Record(0, 1000, None, b"v")]


@pytest.mark.parametrize("field", ["key", "value"])
def test_a_size_beyond_the_entry_is_an_error(only: Open, codec: Codec, field: str) -> None:
    data = bytearray(legacy(0, b"vvvv", key=b"kk"))
    position = 26 if field == "key" else 32
    data[position : position + 4] = struct.pack(">i", 1000)
    with pytest.raises(CorruptError) as caught:
        list(Segment(data, codec=codec).batches())
    assert caught.value.reason is Reason.OVERRUN
    assert caught.value.path == f"/message/content/{field}"
    assert caught.value.position == position


# -- offsets of a wrapper ------------------------------------------------------------------------


def test_magic_0_inner_offsets_are_absolute(only: Open) -> None:
    inner = [legacy(offset, bytes([offset]), magic=0) for offset in (3, 5, 9)]
    batch = only(wrapper(9, inner, magic=0))
    assert shown(batch) == [(3, -1, b"\3"), (5, -1, b"\5"), (9, -1, b"\x09")]
    assert (batch.base_offset, batch.last_offset) == (3, 9)


def test_magic_0_wrapper_offset_below_the_last_inner_one_is_accepted(only: Open) -> None:
    batch = only(wrapper(1, [legacy(3, b"a", magic=0), legacy(9, b"b", magic=0)], magic=0))
    assert [record.offset for record in batch.records()] == [3, 9]


def test_magic_1_inner_offsets_are_relative_to_the_last(only: Open) -> None:
    batch = only(wrapper(102, [legacy(offset, b"") for offset in (0, 1, 2)]))
    assert [record.offset for record in batch.records()] == [100, 101, 102]


def test_magic_1_inner_offsets_may_have_gaps_and_begin_anywhere(only: Open) -> None:
    batch = only(wrapper(102, [legacy(offset, b"") for offset in (4, 6, 10)]))
    assert [record.offset for record in batch.records()] == [96, 98, 102]
    assert batch.base_offset == 96


def test_magic_1_inner_offsets_may_come_in_any_order(only: Open) -> None:
    batch = only(wrapper(102, [legacy(offset, b"") for offset in (2, 0, 1)]))
    assert [record.offset for record in batch.records()] == [103, 101, 102]


def test_magic_1_wrapper_offset_0_leaves_inner_offsets_as_they_are(only: Open) -> None:
    batch = only(wrapper(0, [legacy(offset, b"") for offset in (5, 6, 7)]))
    assert [record.offset for record in batch.records()] == [5, 6, 7]


def test_magic_1_wrapper_offset_below_the_last_inner_one_is_an_error(only: Open) -> None:
    error = failure(only(wrapper(1, [legacy(0, b""), legacy(2, b"")])))
    assert error.reason is Reason.WRAPPER_OFFSET
    assert error.path == "/message/content/value"


def test_offsets_wrap_around_as_in_java(only: Open) -> None:
    inner = [legacy(2**63 - 1, b""), legacy(-(2**63), b"")]
    assert [record.offset for record in only(wrapper(5, inner)).records()] == [4, 5]


# -- timestamps of a wrapper ---------------------------------------------------------------------


def test_create_time_is_that_of_each_inner_message(only: Open) -> None:
    inner = [legacy(0, b"", timestamp=10), legacy(1, b"", timestamp=30)]
    batch = only(wrapper(1, inner, timestamp=30))
    assert [record.timestamp for record in batch.records()] == [10, 30]
    assert (batch.timestamp_type, batch.max_timestamp) == ("CreateTime", 30)


def test_log_append_time_is_that_of_the_wrapper(only: Open) -> None:
    inner = [legacy(0, b"", timestamp=10), legacy(1, b"", timestamp=30)]
    batch = only(wrapper(1, inner, timestamp=77, attributes=LOG_APPEND_TIME))
    assert [record.timestamp for record in batch.records()] == [77, 77]
    assert batch.timestamp_type == "LogAppendTime"


def test_the_timestamp_type_of_inner_messages_is_not_looked_at(only: Open) -> None:
    inner = [legacy(0, b"", timestamp=10, attributes=LOG_APPEND_TIME)]
    assert [record.timestamp for record in only(wrapper(5, inner)).records()] == [10]


# -- inner magic is not that of the wrapper (KAFKA-4298) -----------------------------------------


def test_magic_0_in_a_magic_1_wrapper_has_relative_offsets_and_no_timestamp(only: Open) -> None:
    inner = [legacy(offset, b"", magic=0) for offset in (0, 2, 6)]
    batch = only(wrapper(106, inner, timestamp=-1, attributes=LOG_APPEND_TIME))
    assert [(record.offset, record.timestamp) for record in batch.records()] == [
        (100, -1),
        (102, -1),
        (106, -1),
    ]
    assert batch.timestamp_type == "LogAppendTime"


def test_magic_0_has_no_timestamp_even_if_the_wrapper_has_one(only: Open) -> None:
    batch = only(wrapper(6, [legacy(0, b"", magic=0)], timestamp=99, attributes=LOG_APPEND_TIME))
    assert [record.timestamp for record in batch.records()] == [-1]


def test_magic_1_in_a_magic_0_wrapper_has_absolute_offsets_and_its_timestamp(only: Open) -> None:
    inner = [legacy(3, b"", timestamp=10), legacy(4, b"", timestamp=20)]
    assert shown(only(wrapper(9, inner, magic=0, attributes=LOG_APPEND_TIME))) == [
        (3, 10, b""),
        (4, 20, b""),
    ]


def test_any_other_magic_is_read_as_1_but_has_its_own_timestamp(only: Open) -> None:
    """Kafka: ``DeepRecordsIterator`` compares with 0 and 1, ``LegacyRecord`` only with 0 (Q21)."""
    for magic in (2, 3, 127, -1):
        inner = [
            legacy(0, b"x", timestamp=10),
            legacy(1, b"y", key=b"k", magic=magic, timestamp=20),
            legacy(2, b"z", timestamp=30),
        ]
        assert shown(only(wrapper(12, inner))) == [(10, 10, b"x"), (11, 20, b"y"), (12, 30, b"z")]
        appended = only(wrapper(12, inner, attributes=LOG_APPEND_TIME, timestamp=77))
        assert shown(appended) == [(10, 77, b"x"), (11, 20, b"y"), (12, 77, b"z")], magic
        cut = wrapper(12, inner[:2], cut=3)
        assert shown(only(cut)) == [(12, 10, b"x")], magic
        small = bytearray(inner[1])
        small[8:12] = struct.pack(">i", 3)
        assert failure(only(wrapper(12, [bytes(small)]))).path.endswith("/len_message"), magic
        older = wrapper(12, [legacy(5, b"x", magic=magic, timestamp=3)], magic=0)
        assert shown(only(older)) == [(5, 3, b"x")], magic


def test_the_checksum_of_another_magic_is_that_of_its_bytes(only: Open) -> None:
    inner = [legacy(0, b"x"), legacy(1, b"y", magic=3, crc=7)]
    error = failure(only(wrapper(9, inner)))
    assert error.reason is Reason.CHECKSUM_MISMATCH
    assert error.inner_position == len(inner[0]) + 12


def test_a_batch_of_magic_2_in_a_wrapper_is_an_error(only: Open) -> None:
    """It is read as a message, whose attributes are in the checksum: here they say compressed."""
    first = legacy(0, b"x")
    error = failure(only(wrapper(9, [first, forge.batch(0, [forge.record(0, b"")], crc=1 << 24)])))
    assert error.reason is Reason.NESTED_COMPRESSION
    assert error.inner_position == len(first)


# -- what a wrapper may hold ---------------------------------------------------------------------


def test_a_key_of_the_wrapper_is_ignored(only: Open) -> None:
    assert shown(only(wrapper(4, [legacy(0, b"x")], key=b"key"))) == [(4, 1000, b"x")]


def test_slack_inside_of_inner_entries_is_ignored(only: Open) -> None:
    inner = [legacy(0, b"x", slack=b"123"), legacy(1, b"y")]
    assert [record.value for record in only(wrapper(4, inner)).records()] == [b"x", b"y"]


@pytest.mark.parametrize("surplus", [b"\0", bytes(11), b"\xff" * 11])
def test_fewer_than_12_bytes_after_the_entries_are_ignored(only: Open, surplus: bytes) -> None:
    batch = only(wrapper(4, [legacy(0, b"x")], surplus=surplus))
    assert shown(batch) == [(4, 1000, b"x")]


@pytest.mark.parametrize("surplus", [bytes(12), b"\xff" * 12, bytes(40)])
def test_12_zero_or_ff_bytes_after_the_entries_are_an_error(only: Open, surplus: bytes) -> None:
    error = failure(only(wrapper(4, [legacy(0, b"x")], surplus=surplus)))
    assert error.reason is Reason.INVALID_VALUE
    assert error.path == "/message/content/value/len_message"
    assert error.inner_position == len(legacy(0, b"x")) + 8


@pytest.mark.parametrize("cut", [1, 20, len(legacy(2, b"z")) - 1])
def test_a_cut_last_entry_is_dropped_and_magic_1_offsets_move_up(only: Open, cut: int) -> None:
    inner = [legacy(0, b"x"), legacy(1, b"y"), legacy(2, b"z")]
    assert shown(only(wrapper(102, inner))) == [
        (100, 1000, b"x"),
        (101, 1000, b"y"),
        (102, 1000, b"z"),
    ]
    assert shown(only(wrapper(102, inner, cut=cut))) == [(101, 1000, b"x"), (102, 1000, b"y")]


def test_a_cut_last_entry_is_dropped_and_magic_0_offsets_stay(only: Open) -> None:
    inner = [legacy(offset, b"", magic=0) for offset in (100, 101, 102)]
    batch = only(wrapper(102, inner, magic=0, cut=3))
    assert [record.offset for record in batch.records()] == [100, 101]
    assert batch.num_records == 2


def test_an_over_long_last_entry_is_dropped_without_allocating_its_size(only: Open) -> None:
    surplus = struct.pack(">qi", 2, 2**31 - 1) + b"few"
    assert shown(only(wrapper(4, [legacy(0, b"x")], surplus=surplus))) == [(4, 1000, b"x")]


def test_nested_compression_is_an_error(only: Open) -> None:
    nested = wrapper(0, [legacy(0, b"x")])
    error = failure(only(wrapper(4, [legacy(0, b"x"), nested])))
    assert error.reason is Reason.NESTED_COMPRESSION
    assert error.inner_position == len(legacy(0, b"x"))


def test_a_null_value_is_an_error(only: Open) -> None:
    error = failure(only(legacy(4, None, attributes=1)))
    assert error.reason is Reason.NULL_WRAPPER_VALUE
    assert error.spec == "recordbatch.ksy#/types/legacy_message/seq/5"


@pytest.mark.parametrize("cut", [0, 5])
def test_no_message_inside_is_an_error(only: Open, cut: int) -> None:
    """Also if there is only a part of one (KAFKA-4776)."""
    inner = [legacy(0, b"x")] if cut else []
    assert failure(only(wrapper(4, inner, cut=cut))).reason is Reason.EMPTY_WRAPPER


@pytest.mark.parametrize("codec_id", [4, 5, 6, 7])
@pytest.mark.parametrize("magic", [0, 1])
def test_zstd_and_unknown_codecs_are_refused_when_records_are_read(
    only: Open, magic: int, codec_id: int
) -> None:
    batch = only(legacy(4, b"x", magic=magic, attributes=codec_id))
    assert batch.last_offset == 4
    error = failure(batch)
    assert isinstance(error, UnsupportedError)
    assert error.reason is Reason.UNSUPPORTED_COMPRESSION
    assert error.position == batch.payload_position


def test_invalid_gzip_is_an_error_at_the_value(only: Open) -> None:
    data = legacy(4, b"not gzip", attributes=1)
    error = failure(only(data))
    assert error.reason is Reason.DECOMPRESSION_FAILED
    assert (error.position, error.path) == (len(data) - 8, "/message/content/value")


# -- checksums -----------------------------------------------------------------------------------


def test_the_crc_of_the_wrapper(only: Open) -> None:
    data = bytearray(wrapper(4, [legacy(0, b"x")]))
    data[12] ^= 1
    error = failure(only(data))
    assert isinstance(error, ChecksumError)
    assert (error.position, error.path) == (12, "/message/content/crc")
    batch = only(data, crc="ignore")
    assert shown(batch) == [(4, 1000, b"x")]
    assert not batch.crc_valid


def test_the_crc_of_an_inner_message(only: Open) -> None:
    data = wrapper(4, [legacy(0, b"x"), legacy(1, b"y", crc=1)])
    error = failure(only(data))
    assert isinstance(error, ChecksumError)
    assert error.inner_position == len(legacy(0, b"x")) + 12
    assert error.path == "/message/content/value/message/content/crc"
    batch = only(data, crc="ignore")
    assert [record.offset for record in batch.records()] == [3, 4]
    assert isinstance(batch, LegacyBatch)
    assert [(inner.offset, inner.crc_valid) for inner in batch.inner_messages()] == [
        (3, True),
        (4, False),
    ]


# -- laziness ------------------------------------------------------------------------------------


def test_the_number_of_records_of_a_wrapper_is_known_after_decompression(only: Open) -> None:
    batch = only(wrapper(4, [legacy(0, b"x"), legacy(1, b"y")]))
    assert batch.num_records is None
    assert batch.base_offset == 3
    assert batch.num_records == 2


def test_an_error_of_a_wrapper_with_bytes_after_its_value_lies_on_the_value(only: Open) -> None:
    value = b"not gzip"
    data = legacy(5, value, attributes=forge.GZIP, slack=b"unused")
    error = failure(only(data))
    assert (error.reason, error.position) == (Reason.DECOMPRESSION_FAILED, data.index(value))


def test_a_wrapper_that_does_not_unpack_is_left_out(tmp_path: Path) -> None:
    """Its own first offset is in what does not unpack; what is around it is read."""
    entries = [
        encode([Record(at, at, b"k", b"value") for at in range(first, first + 3)],
                  magic=1, compression="gzip")
        for first in (0, 3, 6)
    ]  # fmt: skip
    path = tmp_path / f"{0:020}.log"
    size = len(entries[0])
    path.write_bytes(b"".join((entries[0], entries[1][:-9] + b"\xff" * 9, entries[2])))
    errors: list[KafkaSpecError] = []
    with Segment(path) as segment:
        found = segment.to_arrow(["offset"], on_error=errors.append)
    assert found.column("offset").to_pylist() == [0, 1, 2, 6, 7, 8]
    (error,) = errors
    assert error.position in range(size, 2 * size)
