"""The errors of the codec in plain Python for bytes and values that it refuses."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model import model_class
from kafkaspec._generated.python.model.control_record import (
    EndTransactionMarker,
    UnknownControlRecord,
)
from kafkaspec._generated.python.model.index import OffsetIndex, OffsetIndexEntry
from kafkaspec._generated.python.model.recordbatch import (
    BatchAttributes,
    Entry,
    Header,
    LegacyMessage,
    Record,
    RecordBatch,
    RecordSet,
    TimestampType,
)
from kafkaspec.codecs import Origin
from kafkaspec.errors import KafkaSpecError, Reason, TruncatedError
from tests.codecs.python_cases import (
    CODEC,
    MAX64,
    ONE_RECORD,
    TWO_RECORDS,
    VECTORS,
    make_batch,
    outcome,
    unhex,
)

FIELDS_BY_LOCATION = {
    field.location: field.id for layout in LAYOUTS.values() for field in layout.fields
}


@pytest.mark.parametrize(
    ("body", "reason", "offset", "path"),
    [
        # attributes, timestamp, offset, key, value, headers; sizes are zig-zag coded
        ("0e 00 00 00 01 01 00 00", "trailing_bytes", 7, "/records/0/body/end"),
        ("0c 00 00 00 01 01", "overrun", 1, "/records/0/body"),
        ("0a 00 00 00 01 01 00", "overrun", 6, "/records/0/body/num_headers"),
        ("0a 00 00 00 04 61", "overrun", 4, "/records/0/body/key"),
        ("0c 00 00 00 01 01 01", "invalid_value", 6, "/records/0/body/num_headers"),
        ("0c 00 00 00 01 01 02", "invalid_value", 6, "/records/0/body/num_headers"),
        ("10 00 00 00 01 01 02 01 01", "invalid_value", 7, "/records/0/body/headers/0/len_key"),
        ("10 00 00 00 01 01 02 04 61", "overrun", 8, "/records/0/body/headers/0/key"),
        ("01", "invalid_value", 0, "/records/0/len_body"),
        ("80 80 80 80 80 00", "varint_too_long", 0, "/records/0/len_body"),
        ("18 00 " + "ff" * 10 + "00", "varint_too_long", 2, "/records/0/body/timestamp_delta"),
        ("", "overrun", 0, "/records/0/len_body"),
        ("0c 00 00 00 01 01 00 00", "trailing_bytes", 7, "/end"),
    ],
)
def test_broken_records(body: str, reason: str, offset: int, path: str) -> None:
    origin = Origin(file="f.log", position=61, path="/message/content/records")
    with pytest.raises(KafkaSpecError) as caught:
        CODEC.decode_records(make_batch(num_records=1), unhex(body), origin=origin)
    error = caught.value
    assert (error.reason, error.position) == (reason, 61 + offset)
    assert error.path == "/message/content/records" + path
    assert error.file == "f.log"
    field = path.rpartition("/")[2]
    assert FIELDS_BY_LOCATION[error.spec] == field


@pytest.mark.parametrize(
    ("change", "reason", "offset", "path"),
    [
        (slice(0, 11), "truncated", 8, "/len_message"),
        (slice(0, 69), "truncated", 12, "/message"),
        ((8, "0000000d"), "invalid_value", 8, "/len_message"),
        ((8, "ffffffff"), "invalid_value", 8, "/len_message"),
        ((16, "03"), "invalid_value", 16, "/message/magic"),
        ((16, "ff"), "invalid_value", 16, "/message/magic"),
        ((57, "ffffffff"), "invalid_value", 57, "/message/content/num_records"),
        ((8, "00000014"), "overrun", 27, "/message/content/base_timestamp"),
        ((8, "0000000e"), "overrun", 23, "/message/content/last_offset_delta"),
    ],
)
def test_broken_entries(change: Any, reason: str, offset: int, path: str) -> None:
    data = bytearray(ONE_RECORD)
    if isinstance(change, slice):
        data = data[change]
    else:
        place, text = change
        data[place : place + len(text) // 2] = unhex(text)
    with pytest.raises(KafkaSpecError) as caught:
        CODEC.parse("recordbatch.entry", bytes(data))
    error = caught.value
    assert (error.reason, error.position, error.path) == (reason, offset, path)
    assert isinstance(error, TruncatedError) == (reason == "truncated")


def test_a_whole_buffer_ends_for_good() -> None:
    with pytest.raises(KafkaSpecError) as caught:
        CODEC.parse("recordbatch.entry", ONE_RECORD[:20], complete=True)
    assert (caught.value.reason, caught.value.path) == (Reason.OVERRUN, "/message")


def test_arrays_say_which_item() -> None:
    with pytest.raises(KafkaSpecError) as caught:
        CODEC.parse("index.offset_index", bytes(21), parameters=(0,))
    error = caught.value
    assert (error.reason, error.position, error.path) == ("truncated", 20, "/entries/2/position")
    entries = [bytes(34), unhex("0100") + bytes(32), bytes(34)]
    with pytest.raises(KafkaSpecError) as caught:
        CODEC.parse("transaction_index.transaction_index", b"".join(entries))
    error = caught.value
    assert (error.reason, error.position, error.path) == ("invalid_value", 34, "/entries/1/version")


def _parameters(key: str) -> tuple[Any, ...]:
    return tuple(make_batch(num_records=2) if kind else 2 for _, kind in LAYOUTS[key].parameters)


@given(st.sampled_from(sorted(LAYOUTS)), st.binary(max_size=90), st.booleans())
def test_nothing_but_our_errors(key: str, data: bytes, complete: bool) -> None:
    parameters = _parameters(key)
    found = outcome(lambda: CODEC.parse(key, data, parameters=parameters, complete=complete))
    if isinstance(found, dict):
        assert found["position"] is not None
        assert found["spec"]
        assert not (complete and found["reason"] is Reason.TRUNCATED)
    else:
        value, position = found
        assert 0 <= position <= len(data)
        written = CODEC.serialize(key, value, parameters=parameters)
        assert CODEC.parse(key, written, parameters=parameters)[0] == value


@pytest.mark.parametrize(("key", "text", "parameters"), VECTORS)
def test_every_cut(key: str, text: str, parameters: tuple[Any, ...]) -> None:
    data = unhex(text)
    for size in range(len(data)):
        for complete, reason in [(False, Reason.TRUNCATED), (True, Reason.OVERRUN)]:
            parse = partial(CODEC.parse, key, data[:size], parameters=parameters, complete=complete)
            found = outcome(parse)
            if isinstance(found, dict):
                # A count may be refused since what is left cannot hold so many (Q5).
                assert found["reason"] in (reason, Reason.INVALID_VALUE)
            else:
                assert found[1] == size


def test_defaults() -> None:
    assert LegacyMessage(offset=0, magic=1).timestamp == -1
    assert LegacyMessage(offset=0, magic=0).timestamp is None
    batch = make_batch()
    assert (batch.producer_id, batch.partition_leader_epoch, batch.crc) == (-1, -1, None)
    assert batch.attributes == BatchAttributes()
    assert model_class("recordbatch.record_batch") is RecordBatch


def test_meanings_wrap_around_as_in_java() -> None:
    batch = make_batch(base_offset=MAX64, last_offset_delta=1, base_sequence=(1 << 31) - 1)
    assert batch.last_offset == -MAX64 - 1
    assert batch.last_sequence == 0
    batch.attributes = BatchAttributes(
        timestamp_type=TimestampType.LOG_APPEND_TIME, has_delete_horizon=True
    )
    assert batch.delete_horizon == 0
    assert Record(batch=batch, timestamp_delta=5, offset_delta=0).timestamp == 0


def _entry(message: object) -> Entry:
    return Entry(base_offset=0, message=message)  # type: ignore[arg-type]


def _record_set(**changes: Any) -> RecordSet:
    batch = make_batch(num_records=1)
    fields: dict[str, Any] = {"batch": batch, "timestamp_delta": 0, "offset_delta": 0}
    return RecordSet(batch=batch, records=[Record(**fields | changes)])


@pytest.mark.parametrize(
    ("key", "value", "parameters", "path"),
    [
        ("recordbatch.entry", Entry(base_offset=1 << 63, message=make_batch()), (), "/base_offset"),
        (
            "recordbatch.entry",
            _entry(make_batch(producer_epoch=1 << 15)),
            (),
            "/message/content/producer_epoch",
        ),
        (
            "recordbatch.entry",
            _entry(make_batch(attributes=BatchAttributes(compression=8))),
            (),
            "/message/content/attributes/compression",
        ),
        (
            "recordbatch.entry",
            _entry(make_batch(num_records=-1)),
            (),
            "/message/content/num_records",
        ),
        ("recordbatch.entry", _entry(make_batch(records="text")), (), "/message/content/records"),
        (
            "recordbatch.entry",
            _entry(make_batch(base_timestamp=None)),
            (),
            "/message/content/base_timestamp",
        ),
        (
            "recordbatch.entry",
            _entry(LegacyMessage(offset=0, magic=2)),
            (),
            "/message/content/magic",
        ),
        (
            "recordbatch.entry",
            _entry(LegacyMessage(offset=0, magic=0, timestamp=5)),
            (),
            "/message/content/timestamp",
        ),
        ("recordbatch.entry", _entry(None), (), "/message/content"),
        ("recordbatch.entry", None, (), ""),
        ("recordbatch.record_set", _record_set(attributes=200), (), "/records/0/body/attributes"),
        (
            "recordbatch.record_set",
            _record_set(timestamp_delta=1 << 63),
            (),
            "/records/0/body/timestamp_delta",
        ),
        (
            "recordbatch.record_set",
            RecordSet(batch=make_batch(num_records=2), records=[]),
            (),
            "/records",
        ),
        ("recordbatch.record_set", _record_set(key="k"), (), "/records/0/body/key"),
        ("recordbatch.record_set", _record_set(headers=None), (), "/records/0/body/headers"),
        (
            "recordbatch.record_set",
            _record_set(headers=[Header(key=b""), Header(key=None)]),  # type: ignore[arg-type]
            (),
            "/records/0/body/headers/1/key",
        ),
        (
            "index.offset_index",
            OffsetIndex(
                base_offset=0,
                entries=[OffsetIndexEntry(base_offset=0, relative_offset=0, position=1 << 31)],
            ),
            (),
            "/entries/0/position",
        ),
        (
            "control_record.control_record_value",
            EndTransactionMarker(coordinator_epoch=1),
            (2,),
            "/body",
        ),
        ("control_record.control_record_value", UnknownControlRecord(data=b""), (1,), "/body"),
        (
            "control_record.control_record_value",
            EndTransactionMarker(version=-1, coordinator_epoch=1),
            (1,),
            "/body/version",
        ),
        ("flexible.compact_string", b"x" * 32768, (), ""),
        ("flexible.compact_string", None, (), ""),
        ("varint.unsigned_varint32", -1, (), ""),
    ],
)
def test_values_that_cannot_be_written(
    key: str, value: object, parameters: tuple[Any, ...], path: str
) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        CODEC.serialize(key, value, parameters=parameters)
    assert (caught.value.reason, caught.value.path) == (Reason.UNENCODABLE, path)
    assert caught.value.spec


def test_raw_writes_what_was_stored() -> None:
    entry, _ = CODEC.parse("recordbatch.entry", TWO_RECORDS)
    entry.len_message, entry.message.crc, entry.message.magic = 3, 0xDEADBEEF, 9
    written = CODEC.serialize("recordbatch.entry", entry, raw=True)
    assert written[8:12] == unhex("00000003")
    assert written[16:21] == unhex("09 deadbeef")
    assert CODEC.serialize("recordbatch.entry", entry) == TWO_RECORDS
    records, _ = CODEC.parse(
        "recordbatch.record_set", entry.message.records, parameters=(entry.message,)
    )
    records.records[0].num_headers = 5
    forged = CODEC.serialize("recordbatch.record_set", records, raw=True)
    assert forged[8] == 10
    entry.message.crc = 1 << 32
    with pytest.raises(KafkaSpecError, match="does not fit"):
        CODEC.serialize("recordbatch.entry", entry, raw=True)
