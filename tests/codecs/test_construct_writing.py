"""The codec on Construct definitions: writing, refusals, and arbitrary bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.default_records import (  # type: ignore[import-untyped]
    DefaultRecordBatchBuilder,
)
from kafka.record.legacy_records import LegacyRecordBatchBuilder  # type: ignore[import-untyped]

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model.control_record import EndTransactionMarker
from kafkaspec._generated.python.model.recordbatch import (
    Entry,
    Header,
    LegacyMessage,
    Record,
    RecordSet,
)
from kafkaspec.errors import KafkaSpecError, Reason
from tests.codecs.construct_cases import (
    CODEC,
    ENTRIES,
    ONE,
    TWO,
    UNENCODABLE,
    a_batch,
    outcome,
    parse,
    unencodable,
)
from tests.extent import examples

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("name", "bad", "path", "place"), UNENCODABLE.values(), ids=UNENCODABLE)
def test_values_that_cannot_be_written(name: str, bad: Any, path: str, place: str) -> None:
    entry = parse("recordbatch.entry", ONE)
    setattr(entry.message, name, bad)
    error = unencodable("recordbatch.entry", entry)
    assert (error.path, error.spec) == (path, f"recordbatch.ksy#/types/record_batch/{place}")


def test_values_that_cannot_be_written_elsewhere() -> None:
    entry = parse("recordbatch.entry", ONE)
    entry.message.attributes.compression = 8
    assert unencodable("recordbatch.entry", entry).path.endswith("/attributes/compression")
    legacy = LegacyMessage(offset=0, magic=0)
    legacy.timestamp = 5
    error = unencodable("recordbatch.entry", Entry(base_offset=0, message=legacy))
    assert error.path == "/message/content/timestamp"
    batch = a_batch()
    record = Record(batch=batch, timestamp_delta=0, offset_delta=1 << 31)
    error = unencodable("recordbatch.record_set", RecordSet(batch=batch, records=[record]))
    assert error.path == "/records/0/body/offset_delta"
    record.offset_delta = 0
    record.headers = [Header(key=None)]  # type: ignore[arg-type]
    error = unencodable("recordbatch.record_set", RecordSet(batch=batch, records=[record]))
    assert error.path == "/records/0/body/headers/0/key"
    marker = EndTransactionMarker(coordinator_epoch=1)
    error = unencodable("control_record.control_record_value", marker, parameters=(3,))
    assert error.path == "/body"
    assert unencodable("flexible.compact_string", b"x" * 32768).path == ""


def test_raw_writes_what_is_stored() -> None:
    entry = parse("recordbatch.entry", TWO)
    entry.len_message = -5
    entry.message.magic = 9
    entry.message.crc = 0xDEADBEEF
    entry.message.num_records = -1
    forged = CODEC.serialize("recordbatch.entry", entry, raw=True)
    assert len(forged) == len(TWO)
    assert forged[8:12] == b"\xff\xff\xff\xfb"
    assert forged[16:21] == b"\x09\xde\xad\xbe\xef"
    record = Record(batch=a_batch(), timestamp_delta=0, offset_delta=0)
    record.num_headers = 7
    written = CODEC.serialize("recordbatch.record", record, raw=True)
    assert written[-1] == 14
    assert CODEC.serialize("recordbatch.record", record)[-1] == 0


_bytes = st.none() | st.binary(max_size=40)
_headers = st.lists(st.tuples(st.text(max_size=8), _bytes), max_size=3)
_record = st.tuples(st.integers(0, 1 << 40), _bytes, _bytes, _headers)


@given(st.lists(_record, min_size=1, max_size=5), st.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_batches_of_kafka_python(records: list[Any], transactional: bool) -> None:
    builder = DefaultRecordBatchBuilder(2, 0, transactional, 77, 3, 9, 1 << 20)
    for offset, (timestamp, key, value, headers) in enumerate(records):
        builder.append(offset, timestamp, key, value, headers)
    data = bytes(builder.build())
    entry = parse("recordbatch.entry", data)
    batch = entry.message
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (77, 3, 9)
    assert batch.attributes.is_transactional is transactional
    assert [tuple(record) for record in CODEC.decode_records(batch, batch.records)] == [
        (offset, timestamp, key, value, tuple(headers))
        for offset, (timestamp, key, value, headers) in enumerate(records)
    ]
    record_set = parse("recordbatch.record_set", batch.records, parameters=(batch,))
    assert CODEC.serialize("recordbatch.record_set", record_set) == batch.records
    assert CODEC.serialize("recordbatch.entry", entry) == data


@given(st.sampled_from([0, 1]), st.lists(st.tuples(_bytes, _bytes), min_size=1, max_size=4))
@settings(max_examples=examples(40), deadline=None)
def test_legacy_messages_of_kafka_python(magic: int, pairs: list[Any]) -> None:
    builder = LegacyRecordBatchBuilder(magic, 0, 1 << 20)
    for offset, (key, value) in enumerate(pairs):
        builder.append(offset, timestamp=offset + 5, key=key, value=value)
    data = bytes(builder.build())
    found = parse("recordbatch.recordbatch", data)
    assert [(e.base_offset, e.message.key, e.message.value) for e in found.entries] == [
        (offset, key, value) for offset, (key, value) in enumerate(pairs)
    ]
    assert CODEC.serialize("recordbatch.recordbatch", found) == data


_KEYS = sorted(LAYOUTS)
_BATCH = parse("recordbatch.entry", TWO).message


def _arguments(key: str, number: int) -> tuple[Any, ...]:
    return tuple(_BATCH if other else number for _, other in LAYOUTS[key].parameters)


@given(st.sampled_from(_KEYS), st.binary(max_size=90), st.integers(-1, 8), st.booleans())
@settings(max_examples=examples(400), deadline=None)
def test_any_bytes_give_a_value_or_our_error(
    key: str, data: bytes, number: int, complete: bool
) -> None:
    arguments = _arguments(key, number)
    value, error = outcome(key, data, parameters=arguments, complete=complete)
    if error is not None:
        assert error.position is not None
        assert error.position >= 0
        assert error.spec
        assert error.reason is not Reason.UNENCODABLE
        return
    written = CODEC.serialize(key, value, parameters=arguments)
    again, size = CODEC.parse(key, written, parameters=arguments, complete=True)
    assert size == len(written)
    assert again == value


@given(st.data(), st.sampled_from(sorted(ENTRIES)))
@settings(max_examples=examples(200), deadline=None)
def test_changed_entries_come_back_or_are_refused(data: st.DataObject, name: str) -> None:
    changed = bytearray(ENTRIES[name])
    index = data.draw(st.integers(0, len(changed) - 1))
    changed[index] = data.draw(st.integers(0, 255))
    try:
        entry, end = CODEC.parse("recordbatch.entry", changed)
    except KafkaSpecError:
        return
    raw = CODEC.serialize("recordbatch.entry", entry, raw=True)
    assert CODEC.parse("recordbatch.entry", raw) == (entry, end)
