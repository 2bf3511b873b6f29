"""The codec on Construct definitions: what it reads, writes and refuses, judged by others.

The expected values come from vectors computed by hand, from kafka-python, and from the segments
of real brokers.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from kafkaspec._generated.python.model.control_record import EndTransactionMarker
from kafkaspec._generated.python.model.recordbatch import (
    LegacyMessage,
    RecordBatch,
)
from kafkaspec.codecs import Origin, get_codec
from kafkaspec.codecs.references.construct.codec import ConstructCodec
from kafkaspec.errors import CorruptError, Reason, TruncatedError
from tests.codecs.construct_cases import (
    ABORT,
    CODEC,
    ENTRIES,
    MAGIC_0,
    MAGIC_1,
    ONE,
    OTHERS,
    TWO,
    a_batch,
    outcome,
    parse,
    refusal,
)
from tests.goldens import VERSIONS, Directory, Golden, directories, distinct
from tests.loops import each


@pytest.mark.parametrize("data", ENTRIES.values(), ids=ENTRIES)
def test_entries_come_back_byte_for_byte(data: bytes) -> None:
    assert CODEC.serialize("recordbatch.entry", parse("recordbatch.entry", data)) == data


@pytest.mark.parametrize(("key", "text", "parameters"), OTHERS.values(), ids=OTHERS)
def test_other_structures_come_back_byte_for_byte(
    key: str, text: str, parameters: tuple[int, ...]
) -> None:
    data = bytes.fromhex(text)
    value = parse(key, data, parameters=parameters)
    assert CODEC.serialize(key, value, parameters=parameters) == data


def test_values_of_a_batch_and_its_records() -> None:
    entry = parse("recordbatch.entry", TWO)
    batch = entry.message
    assert (entry.base_offset, batch.base_offset, entry.len_message) == (7, 7, 0x44)
    assert (batch.magic, batch.crc, batch.partition_leader_epoch) == (2, 0x6C7C697E, 3)
    assert (batch.num_records, batch.last_offset, batch.producer_id) == (2, 8, -1)
    records = CODEC.decode_records(batch, batch.records)
    assert [tuple(record) for record in records] == [
        (7, 1000, b"a", b"b", ()),
        (8, 999, None, None, (("h", None),)),
    ]


def test_values_of_legacy_messages() -> None:
    first, second = (parse("recordbatch.entry", data).message for data in (MAGIC_0, MAGIC_1))
    assert first == LegacyMessage(offset=0, magic=0, value=b"a")
    assert second == LegacyMessage(offset=5, magic=1, timestamp=1000, key=b"k")
    assert (first.crc, second.crc) == (0x51DF3A32, 0x4B38D7A9)


def test_an_abort_marker() -> None:
    batch = parse("recordbatch.entry", ABORT).message
    assert batch.attributes.is_control
    assert batch.attributes.is_transactional
    (record,) = parse("recordbatch.record_set", batch.records, parameters=(batch,)).records
    key = parse("control_record.control_record_key", record.key)
    assert key.type == 0
    value = parse("control_record.control_record_value", record.value, parameters=(key.type,))
    assert value == EndTransactionMarker(coordinator_epoch=2)


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("data", ENTRIES.values(), ids=ENTRIES)
def test_every_truncation_of_an_entry(data: bytes, complete: bool) -> None:
    for size in range(len(data)):
        if size < 8:
            field = (0, "/base_offset")
        else:
            field = (8, "/len_message") if size < 12 else (12, "/message")
        error = refusal("recordbatch.entry", data[:size], complete=complete)
        assert error.reason is (Reason.OVERRUN if complete else Reason.TRUNCATED)
        assert isinstance(error, CorruptError if complete else TruncatedError)
        assert (error.position, error.path) == field


def test_every_truncation_of_records() -> None:
    batch = parse("recordbatch.entry", TWO).message
    for size in range(len(batch.records)):
        error = refusal(
            "recordbatch.record_set", batch.records[:size], parameters=(batch,), complete=True
        )
        index, start = (0, 0) if size < 9 else (1, 9)
        at_size = size == start
        assert error.reason is Reason.OVERRUN
        assert error.path == f"/records/{index}/{'len_body' if at_size else 'body'}"
        assert error.position == (start if at_size else start + 1)


@pytest.mark.parametrize(("key", "text", "parameters"), OTHERS.values(), ids=OTHERS)
def test_every_truncation_of_other_structures_is_refused_or_whole(
    key: str, text: str, parameters: tuple[int, ...]
) -> None:
    data = bytes.fromhex(text)
    for size in range(len(data)):
        value, error = outcome(key, data[:size], parameters=parameters)
        if error is None:
            assert CODEC.serialize(key, value, parameters=parameters) == data[:size]
        elif error.reason is Reason.TRUNCATED:
            assert 0 <= (error.position or 0) <= size
        else:
            # A count that the bytes cannot hold is seen before the end of the bytes is.
            assert error.reason is Reason.INVALID_VALUE
            assert error.path.rpartition("/")[2].startswith("num_")


_BODY = "/records/0/body"
RECORDS = {
    "surplus in a record": ("0e 00 00 00 01 01 00 ff", Reason.TRAILING_BYTES, f"{_BODY}/end", 7),
    "surplus at the end": ("0c 00 00 00 01 01 00 ff", Reason.TRAILING_BYTES, "/end", 7),
    "negative size": ("01", Reason.INVALID_VALUE, "/records/0/len_body", 0),
    "long varint": ("8080808080", Reason.VARINT_TOO_LONG, "/records/0/len_body", 0),
    "long timestamp": (
        "18 00 ffffffffffffffffffff 00",
        Reason.VARINT_TOO_LONG,
        f"{_BODY}/timestamp_delta",
        2,
    ),
    "key too long": ("0c 00 00 00 7e 01 00", Reason.OVERRUN, f"{_BODY}/key", 4),
    "headers beyond": ("0c 00 00 00 01 01 02", Reason.INVALID_VALUE, f"{_BODY}/num_headers", 6),
    "negative headers": ("0c 00 00 00 01 01 01", Reason.INVALID_VALUE, f"{_BODY}/num_headers", 6),
    "null header key": (
        "10 00 00 00 01 01 02 01 01",
        Reason.INVALID_VALUE,
        f"{_BODY}/headers/0/len_key",
        7,
    ),
    "header key too long": (
        "10 00 00 00 01 01 02 7e 01",
        Reason.OVERRUN,
        f"{_BODY}/headers/0/key",
        8,
    ),
}


@pytest.mark.parametrize(("text", "reason", "path", "offset"), RECORDS.values(), ids=RECORDS)
def test_where_and_why_records_are_refused(
    text: str, reason: Reason, path: str, offset: int
) -> None:
    data = bytes.fromhex(text)
    origin = Origin("a.log", 1000, decompressed=True, path="/batch")
    error = refusal(
        "recordbatch.record_set", data, parameters=(a_batch(),), complete=True, origin=origin
    )
    assert (error.reason, error.path) == (reason, f"/batch{path}")
    assert (error.file, error.position, error.inner_position) == ("a.log", 1000, offset)
    assert error.spec.startswith("recordbatch.ksy#/types/")


def test_positions_count_from_the_start_of_the_buffer() -> None:
    data = bytearray(b"xyz" + ONE)
    data[3 + 16] = 3
    error = refusal("recordbatch.entry", data, start=3)
    assert (error.reason, error.path) == (Reason.INVALID_VALUE, "/message/magic")
    assert (error.position, error.spec) == (19, "recordbatch.ksy#/types/message/instances/magic")


def test_a_peek_beyond_the_structure() -> None:
    error = refusal("recordbatch.message", b"abc", parameters=(0,))
    assert (error.reason, error.path, error.position) == (Reason.TRUNCATED, "/magic", 4)


def test_cut_bit_fields_fail_at_the_first_of_their_byte() -> None:
    error = refusal("recordbatch.batch_attributes", b"\0")
    assert (error.path, error.position) == ("/reserved", 0)
    assert error.spec == "recordbatch.ksy#/types/batch_attributes/seq/0"


def test_scalars_on_their_own() -> None:
    assert CODEC.parse("varint.varint64", b"\x80\x00") == (0, 2)
    assert CODEC.parse("varint.unsigned_varint32", b"\xff\xff\xff\xff\x7f") == (0xFFFFFFFF, 5)
    assert CODEC.parse("recordbatch.nullable_bytes", b"\x05") == (None, 1)
    assert CODEC.serialize("recordbatch.nullable_bytes", None) == b"\x01"
    error = refusal("varint.varint32", b"\xff" * 5)
    assert (error.reason, error.path) == (Reason.VARINT_TOO_LONG, "")
    assert error.spec == "varint.ksy#/types/varint32"


def test_quirks_that_kafka_accepts() -> None:
    batch = a_batch(num_records=0)
    assert parse("recordbatch.record_set", b"", parameters=(batch,)).records == []
    assert CODEC.parse("recordbatch.record_set", b"junk", parameters=(batch,))[0].records == []
    # -3 is null, 70 is no shorter than it must be, and the fifth byte's high bits are dropped.
    body = bytes.fromhex("80 8000 00 05 05 00")
    record = parse("recordbatch.record", body, parameters=(a_batch(),))
    assert (record.attributes, record.timestamp_delta, record.key) == (-128, 0, None)
    assert CODEC.parse("varint.varint32", b"\xfe\xff\xff\xff\x7f")[0] == (1 << 31) - 1


def test_bytes_are_those_that_construct_read() -> None:
    buffer = bytearray(TWO)
    batch = parse("recordbatch.entry", buffer).message
    buffer[:] = bytes(len(buffer))
    assert (type(batch.records), batch.records) == (bytes, TWO[61:])


def test_parameters_keep_their_identity() -> None:
    batch = parse("recordbatch.entry", TWO).message
    found = parse("recordbatch.record_set", batch.records, parameters=(batch,))
    assert found.batch is batch
    assert all(record.batch is batch for record in found.records)


def test_misuse_is_not_called_bad_data() -> None:
    with pytest.raises(TypeError, match=r"record_set needs its parameters.*batch"):
        CODEC.parse("recordbatch.record_set", b"")
    with pytest.raises(TypeError, match="has 0 parameters"):
        CODEC.parse("recordbatch.entry", b"", parameters=(1,))
    with pytest.raises(KeyError, match="no type"):
        CODEC.parse("recordbatch.nothing", b"")
    with pytest.raises(ValueError, match="no bytes"):
        CODEC.parse("recordbatch.entry", b"", 1)


@pytest.mark.core
@each("directory", directories(of=distinct(".log")))
def test_segments_of_real_brokers(directory: Directory) -> None:
    """Entries come back byte for byte, checksums that the broker computed included."""
    for golden in directory.files:
        check_segment(golden)


def check_segment(golden: Golden) -> None:
    """The first entries."""
    data = golden.path.read_bytes()
    position = 0
    for _ in range(4):
        if position == len(data) or not any(data[position : position + 12]):
            break
        entry, end = CODEC.parse("recordbatch.entry", data, position)
        assert CODEC.serialize("recordbatch.entry", entry) == data[position:end]
        batch = entry.message
        if isinstance(batch, RecordBatch) and not batch.attributes.compression:
            records = parse("recordbatch.record_set", batch.records, parameters=(batch,))
            assert CODEC.serialize("recordbatch.record_set", records) == batch.records
        position = end


@pytest.mark.parametrize("version", VERSIONS)
def test_small_files_of_real_brokers(version: str) -> None:
    for golden in distinct(".snapshot", ".txnindex", version=version):
        data = golden.path.read_bytes()
        kind = "producer_snapshot" if golden.path.suffix == ".snapshot" else "transaction_index"
        key = f"{kind}.{kind}"
        assert CODEC.serialize(key, parse(key, data)) == data, golden


def test_the_codec_is_registered() -> None:
    assert isinstance(get_codec("construct"), ConstructCodec)


@pytest.mark.core
def test_without_the_package_there_is_advice_and_the_library_still_imports() -> None:
    script = """
import sys
sys.modules["construct"] = None
import kafkaspec, kafkaspec.codecs
from kafkaspec.codecs.references.construct.codec import ConstructCodec
try:
    ConstructCodec()
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "kafkaspec[construct]" in done.stdout
