"""The codec in plain Python: vectors, and an independent codec."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import (  # type: ignore[import-untyped]
    DefaultRecordBatch,
    DefaultRecordBatchBuilder,
)
from kafka.record.legacy_records import (  # type: ignore[import-untyped]
    LegacyRecordBatch,
    LegacyRecordBatchBuilder,
)

from kafkaspec._generated.python.model.recordbatch import (
    Entry,
    Header,
    LegacyMessage,
    Record,
    RecordSet,
)
from kafkaspec.codecs import installed
from tests.codecs.python_cases import (
    CODEC,
    MAX64,
    TWO_RECORDS,
    VECTORS,
    make_batch,
    unhex,
)


@pytest.mark.parametrize(("key", "text", "parameters"), VECTORS)
def test_vectors_come_back_byte_for_byte(key: str, text: str, parameters: tuple[Any, ...]) -> None:
    data = unhex(text)
    value, position = CODEC.parse(key, b"\xee" + data, 1, parameters=parameters)
    assert position == 1 + len(data)
    assert CODEC.serialize(key, value, parameters=parameters) == data
    assert CODEC.serialize(key, value, parameters=parameters, raw=True) == data


def test_numbers_of_varints() -> None:
    for key, text, value in [
        ("varint.varint32", "d804", 300),
        ("varint.varint32", "feffffff0f", (1 << 31) - 1),
        ("varint.varint32", "ffffffff0f", -(1 << 31)),
        ("varint.varint64", "feffffffffffffffff01", MAX64),
        ("varint.varint64", "ffffffffffffffffff01", -MAX64 - 1),
        ("varint.unsigned_varint32", "ffffffff0f", (1 << 32) - 1),
    ]:
        assert CODEC.parse(key, unhex(text))[0] == value
    # Bits that do not fit are dropped, longer encodings than needed are accepted (Q1 to Q3).
    assert CODEC.parse("varint.varint32", unhex("ffffffff7f"))[0] == -(1 << 31)
    assert CODEC.parse("varint.varint64", unhex("ffffffffffffffffff7f"))[0] == -MAX64 - 1
    assert CODEC.parse("varint.varint32", unhex("8000")) == (0, 2)


def test_fields_and_meanings() -> None:
    entry, _ = CODEC.parse("recordbatch.entry", TWO_RECORDS)
    batch = entry.message
    assert (entry.base_offset, entry.len_message) == (7, 0x44)
    assert (batch.base_offset, batch.partition_leader_epoch, batch.magic) == (7, 3, 2)
    assert (batch.crc, batch.num_records, batch.last_offset) == (0x6C7C697E, 2, 8)
    assert batch.delete_horizon is None
    records, _ = CODEC.parse("recordbatch.record_set", batch.records, parameters=(batch,))
    second = records.records[1]
    assert (second.offset, second.timestamp, second.sequence) == (8, 999, -1)
    assert (second.key, second.value, second.num_headers) == (None, None, 1)
    assert second.headers == [Header(key=b"h", value=None)]
    assert CODEC.decode_records(batch, batch.records) == [
        (7, 1000, b"a", b"b", ()),
        (8, 999, None, None, (("h", None),)),
    ]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer(kind: Any) -> None:
    entry, _ = CODEC.parse("recordbatch.entry", kind(TWO_RECORDS))
    assert entry == CODEC.parse("recordbatch.entry", TWO_RECORDS)[0]
    assert isinstance(entry.message.records, kind)
    payload = entry.message.records
    plain = CODEC.decode_records(entry.message, bytes(payload))
    assert CODEC.decode_records(entry.message, payload) == plain


def test_positions_must_lie_in_the_buffer() -> None:
    for start, end in [(-1, None), (3, 2), (0, 6), (6, None)]:
        with pytest.raises(ValueError, match="no bytes"):
            CODEC.parse("varint.varint32", b"\0" * 5, start, end)
    with pytest.raises(KeyError, match="no type"):
        CODEC.parse("recordbatch.nothing", b"")
    with pytest.raises(KeyError, match="no type"):
        CODEC.serialize("nothing.at_all", None)


# kafka-python shares no code with us.
keys = st.none() | st.binary(max_size=20)
values = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=8), st.none() | st.binary(max_size=8)), max_size=3)
rows = st.lists(st.tuples(st.integers(0, 1 << 40), keys, values, headers), min_size=1, max_size=8)


@pytest.mark.core
@given(rows, st.booleans())
def test_reads_what_kafka_python_writes(rows: list[Any], transactional: bool) -> None:
    builder = DefaultRecordBatchBuilder(2, 0, int(transactional), 9, 3, 17, 1 << 20)
    for offset, (timestamp, key, value, pairs) in enumerate(rows):
        builder.append(offset, timestamp, key, value, pairs)
    data = bytes(builder.build())
    entry, position = CODEC.parse("recordbatch.entry", data, complete=True)
    assert position == len(data)
    expected = [(offset, t, k, v, tuple(h)) for offset, (t, k, v, h) in enumerate(rows)]
    assert CODEC.decode_records(entry.message, entry.message.records) == expected
    assert entry.message.attributes.is_transactional == transactional
    assert CODEC.serialize("recordbatch.entry", entry) == data


@given(rows)
def test_kafka_python_reads_what_we_write(rows: list[Any]) -> None:
    batch = make_batch(base_timestamp=5, num_records=len(rows), max_timestamp=1 << 41)
    batch.records = CODEC.serialize(
        "recordbatch.record_set",
        RecordSet(
            batch=batch,
            records=[
                Record(
                    batch=batch,
                    timestamp_delta=timestamp - 5,
                    offset_delta=delta,
                    key=key,
                    value=value,
                    headers=[Header(key=k.encode(), value=v) for k, v in pairs],
                )
                for delta, (timestamp, key, value, pairs) in enumerate(rows)
            ],
        ),
    )
    data = CODEC.serialize("recordbatch.entry", Entry(base_offset=100, message=batch))
    theirs = DefaultRecordBatch(data)
    assert theirs.validate_crc()
    assert [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in theirs] == [
        (100 + i, t, k, v, h) for i, (t, k, v, h) in enumerate(rows)
    ]


@pytest.mark.parametrize("magic", [0, 1])
@given(st.integers(0, 1 << 40), keys, values)
def test_legacy_messages_of_kafka_python(
    magic: int, timestamp: int, key: bytes | None, value: bytes | None
) -> None:
    builder = LegacyRecordBatchBuilder(magic, 0, 1 << 20)
    builder.append(4, timestamp=timestamp, key=key, value=value)
    data = bytes(builder.build())
    entry, _ = CODEC.parse("recordbatch.entry", data, complete=True)
    message = entry.message
    assert (message.offset, message.magic, message.key, message.value) == (4, magic, key, value)
    assert message.timestamp == (timestamp if magic else None)
    made = LegacyMessage(offset=4, magic=magic, timestamp=message.timestamp, key=key, value=value)
    written = CODEC.serialize("recordbatch.entry", Entry(base_offset=4, message=made))
    assert written == data
    assert LegacyRecordBatch(written, magic).validate_crc()


def test_it_is_the_default_codec_where_nothing_was_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(installed, "is_installed", lambda name: name != "native")
    monkeypatch.delenv(installed.ENVIRONMENT, raising=False)
    assert installed.default_codec() == "python"
