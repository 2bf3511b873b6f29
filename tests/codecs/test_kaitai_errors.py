"""Errors of the Kaitai codec: reason, absolute offset, path and place, for reading and writing.

Expected values follow from the layout of the vectors, counted by hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model.control_record import (
    Endpoint,
    EndTransactionMarker,
    KraftVersionRange,
    RegisteredVoter,
    VotersRecord,
)
from kafkaspec._generated.python.model.flexible import TaggedField, TaggedFields
from kafkaspec._generated.python.model.recordbatch import (
    BatchAttributes,
    Entry,
    Header,
    LegacyMessage,
    Record,
    RecordBatch,
    RecordSet,
)
from kafkaspec.codecs.base import Origin
from kafkaspec.codecs.references.kaitai.codec import KaitaiCodec
from kafkaspec.errors import KafkaSpecError, Reason
from tests.codecs.construct_cases import Mute
from tests.extent import examples

pytestmark = pytest.mark.slow

CODEC = KaitaiCodec()
_VECTORS = json.loads(Path(__file__).with_name("kaitai_vectors.json").read_text("utf-8"))
ENTRIES = {name: bytes.fromhex(text) for name, text in _VECTORS["entries"].items()}
ONE_RECORD = ENTRIES["one record"]
TWO_RECORDS = ENTRIES["two records"]
ENTRY, _ = CODEC.parse("recordbatch.entry", TWO_RECORDS)
BATCH = ENTRY.message
RECORDS = BATCH.records
RECORD = "recordbatch.ksy#/types/record/seq/"


def refused(key: str, data: bytes, start: int = 0, **options: Any) -> KafkaSpecError:
    with pytest.raises(KafkaSpecError) as caught:
        CODEC.parse(key, data, start, **options)
    return caught.value


def changed(data: bytes, position: int, text: str) -> bytes:
    new = bytes.fromhex(text)
    return data[:position] + new + data[position + len(new) :]


@pytest.mark.parametrize("data", ENTRIES.values(), ids=ENTRIES)
def test_every_truncation_of_an_entry(data: bytes) -> None:
    for size in range(len(data)):
        offset, path = (0, "/base_offset") if size < 8 else (8, "/len_message")
        if size >= 12:
            offset, path = 12, "/message"
        for complete, reason in ((False, Reason.TRUNCATED), (True, Reason.OVERRUN)):
            error = refused("recordbatch.entry", b"??" + data[:size], 2, complete=complete)
            assert (error.reason, error.position, error.path) == (reason, offset + 2, path)
            assert error.spec == f"recordbatch.ksy#/types/entry/seq/{path_number(path)}"


def path_number(path: str) -> int:
    return ["/base_offset", "/len_message", "/message"].index(path)


def test_every_shorter_message_overruns_or_ends_in_bytes_left() -> None:
    """The size says less than the batch takes: the header is cut inside of a sized structure."""
    starts = {12: "partition_leader_epoch", 16: "magic", 17: "crc", 21: "attributes/reserved"}
    starts |= {23: "last_offset_delta", 27: "base_timestamp", 35: "max_timestamp"}
    starts |= {43: "producer_id", 51: "producer_epoch", 53: "base_sequence", 57: "num_records"}
    for size in range(14, 49):
        data = changed(ONE_RECORD, 8, f"{size:08x}")
        end = 12 + size
        # The last field that begins before the cut, or right at it.
        begin = max(start for start in starts if start <= end)
        error = refused("recordbatch.entry", data)
        assert (error.reason, error.position) == (Reason.OVERRUN, begin)
        assert error.path == f"/message/content/{starts[begin]}"


@pytest.mark.parametrize(
    ("position", "text", "reason", "path"),
    [
        (8, "0000000d", Reason.INVALID_VALUE, "/len_message"),
        (8, "ffffffff", Reason.INVALID_VALUE, "/len_message"),
        (8, "7fffffff", Reason.TRUNCATED, "/message"),
        (16, "03", Reason.INVALID_VALUE, "/message/magic"),
        (16, "ff", Reason.INVALID_VALUE, "/message/magic"),
        (57, "ffffffff", Reason.INVALID_VALUE, "/message/content/num_records"),
    ],
)
def test_header_fields(position: int, text: str, reason: Reason, path: str) -> None:
    error = refused("recordbatch.entry", changed(TWO_RECORDS, position, text))
    offset = 12 if path == "/message" else position
    assert (error.reason, error.position, error.path) == (reason, offset, path)


def test_the_peek_is_named_by_its_own_place() -> None:
    error = refused("recordbatch.entry", changed(TWO_RECORDS, 16, "03"))
    assert error.spec == "recordbatch.ksy#/types/message/instances/magic"
    assert "3 is not allowed" in error.detail
    error = refused("recordbatch.message", b"1234", parameters=(0,))
    assert (error.reason, error.position, error.path) == (Reason.TRUNCATED, 4, "/magic")


@pytest.mark.parametrize(
    ("data", "reason", "offset", "path"),
    [
        # The second frame begins at 9, its body at 10.
        (RECORDS[:9], Reason.TRUNCATED, 9, "/records/1/len_body"),
        (RECORDS[:9] + b"\x92", Reason.TRUNCATED, 9, "/records/1/len_body"),
        (RECORDS[:-1], Reason.TRUNCATED, 10, "/records/1/body"),
        (changed(RECORDS, 9, "11"), Reason.INVALID_VALUE, 9, "/records/1/len_body"),
        (changed(RECORDS, 9, "ffffffffff"), Reason.VARINT_TOO_LONG, 9, "/records/1/len_body"),
        (RECORDS + b"\0", Reason.TRAILING_BYTES, 19, "/end"),
        (changed(RECORDS, 9, "10"), Reason.OVERRUN, 18, "/records/1/body/headers/0/value"),
        (changed(RECORDS, 8, "02"), Reason.INVALID_VALUE, 8, "/records/0/body/num_headers"),
        (changed(RECORDS, 8, "01"), Reason.INVALID_VALUE, 8, "/records/0/body/num_headers"),
        (changed(RECORDS, 6, "06"), Reason.OVERRUN, 6, "/records/0/body/value"),
        (changed(RECORDS, 6, "00"), Reason.INVALID_VALUE, 7, "/records/0/body/num_headers"),
        (changed(RECORDS, 6, "0000"), Reason.TRAILING_BYTES, 8, "/records/0/body/end"),
        (changed(RECORDS, 16, "01"), Reason.INVALID_VALUE, 16, "/records/1/body/headers/0/len_key"),
        (changed(RECORDS, 16, "08"), Reason.OVERRUN, 17, "/records/1/body/headers/0/key"),
    ],
)
def test_records(data: bytes, reason: Reason, offset: int, path: str) -> None:
    error = refused("recordbatch.record_set", data, parameters=(BATCH,))
    assert (error.reason, error.position, error.path) == (reason, offset, path)


def test_an_overlong_varint_inside_of_a_scalar_is_reported_at_the_field() -> None:
    record = b"\0\0\0" + b"\xff" * 5 + b"\0\0"
    error = refused("recordbatch.record", b"?" + record, 1, parameters=(BATCH,))
    assert (error.reason, error.position, error.path) == (Reason.VARINT_TOO_LONG, 4, "/key")
    assert error.spec == RECORD + "3"
    record = b"\0" + b"\xff" * 10 + b"\0\0"
    error = refused("recordbatch.record", record, parameters=(BATCH,))
    assert (error.reason, error.position, error.path) == (
        Reason.VARINT_TOO_LONG,
        1,
        "/timestamp_delta",
    )


def test_a_refused_size_inside_of_a_scalar_is_reported_at_the_field() -> None:
    """An endpoint whose compact string has size 0, which would be null."""
    error = refused("control_record.endpoint", b"\x02a\x00", complete=True)
    assert (error.reason, error.position, error.path) == (Reason.INVALID_VALUE, 2, "/host")


@pytest.mark.parametrize(
    ("key", "data", "reason"),
    [
        ("varint.varint32", "", Reason.TRUNCATED),
        ("varint.varint32", "8080", Reason.TRUNCATED),
        ("varint.varint32", "8080808080", Reason.VARINT_TOO_LONG),
        ("varint.varint64", "80" * 10, Reason.VARINT_TOO_LONG),
        ("recordbatch.nullable_bytes", "0461", Reason.TRUNCATED),
        ("flexible.compact_string", "00", Reason.INVALID_VALUE),
    ],
)
def test_a_scalar_alone_has_no_path(key: str, data: str, reason: Reason) -> None:
    error = refused(key, b"?" + bytes.fromhex(data), 1)
    assert (error.reason, error.position, error.path) == (reason, 1, "")


def test_counts_beyond_the_file() -> None:
    """Six bytes are left, an entry takes 46."""
    data = bytes.fromhex("0001 00000000 00000001 000000000000")
    error = refused("producer_snapshot.producer_snapshot", data)
    assert (error.reason, error.position, error.path) == (Reason.INVALID_VALUE, 6, "/num_entries")
    error = refused("control_record.control_record_value", b"\0\0\x20", parameters=(6,))
    assert (error.reason, error.path) == (Reason.INVALID_VALUE, "/body/num_voters")


def test_a_wrong_constant_and_a_wrong_version() -> None:
    error = refused("producer_snapshot.producer_snapshot", bytes.fromhex("0002 00000000 00000000"))
    assert (error.reason, error.path) == (Reason.INVALID_VALUE, "/version")
    error = refused("transaction_index.transaction_index", bytes(34) + b"\x01" + bytes(33))
    assert (error.position, error.path) == (34, "/entries/1/version")


def test_where_the_buffer_comes_from() -> None:
    origin = Origin(file="x.log", position=1000, path="/entries/3")
    error = refused("recordbatch.entry", changed(ONE_RECORD, 16, "05"), origin=origin)
    assert (error.file, error.position, error.inner_position) == ("x.log", 1016, None)
    assert error.path == "/entries/3/message/magic"
    origin = Origin(file="x.log", position=1000, decompressed=True)
    error = refused("recordbatch.record_set", RECORDS[:-1], parameters=(BATCH,), origin=origin)
    assert (error.position, error.inner_position) == (1000, 10)


def test_checksums_are_not_the_codecs_business() -> None:
    entry, _ = CODEC.parse("recordbatch.entry", changed(ONE_RECORD, 17, "00000000"))
    assert entry.message.crc == 0


TYPES = sorted(
    key for key, layout in LAYOUTS.items() if not any(inner for _, inner in layout.parameters)
)


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(TYPES), st.binary(max_size=80), st.integers(-3, 9), st.booleans())
def test_nothing_but_our_errors_for_any_bytes(
    key: str, data: bytes, argument: int, complete: bool
) -> None:
    parameters = [argument] * len(LAYOUTS[key].parameters)
    error = refusal_of(key, data, parameters, complete=complete)
    if error is not None:
        assert error.position is not None
        assert 0 <= error.position <= len(data) + 4  # a peek may lie after the end
        assert error.spec.partition("#")[0].endswith(".ksy")
        assert not (complete and error.reason is Reason.TRUNCATED)


def refusal_of(
    key: str, data: bytes, parameters: Any, *, complete: bool = False
) -> KafkaSpecError | None:
    try:
        _, end = CODEC.parse(key, data, parameters=parameters, complete=complete)
    except KafkaSpecError as error:
        return error
    assert 0 <= end <= len(data)
    return None


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_nothing_but_our_errors_for_broken_records(data: st.DataObject) -> None:
    records = bytearray(RECORDS)
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(records) - 1))
        records[position] = data.draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFF]))
    key, parameters = "recordbatch.record_set", (BATCH,)
    error = refusal_of(key, bytes(records), parameters)
    if error is None:
        record_set, _ = CODEC.parse(key, records, parameters=parameters)
        again = CODEC.serialize(key, record_set, parameters=parameters)
        assert CODEC.parse(key, again, parameters=parameters)[0] == record_set
    else:
        assert 0 <= (error.position or 0) <= len(records)


def test_a_hostile_count_stops_at_the_first_missing_record() -> None:
    batch = RecordBatch(
        base_offset=0,
        last_offset_delta=0,
        base_timestamp=0,
        max_timestamp=0,
        num_records=2**31 - 1,
        records=b"",
    )
    error = refused("recordbatch.record_set", RECORDS, parameters=(batch,))
    assert (error.reason, error.path) == (Reason.TRUNCATED, "/records/2/len_body")


def batch_with(**values: Any) -> Entry:
    fields: dict[str, Any] = {
        "base_offset": 0,
        "last_offset_delta": 0,
        "base_timestamp": 0,
        "max_timestamp": 0,
        "num_records": 0,
        "records": b"",
    }
    message = RecordBatch(**(fields | values))
    return Entry(base_offset=message.base_offset, message=message)


def voter_with(**values: Any) -> VotersRecord:
    fields: dict[str, Any] = {
        "voter_id": 1,
        "voter_directory_id": bytes(16),
        "endpoints": [],
        "kraft_version_feature": KraftVersionRange(
            min_supported_version=0, max_supported_version=1
        ),
    }
    return VotersRecord(voters=[RegisteredVoter(**(fields | values))])


def endpoint_with(name: bytes) -> VotersRecord:
    return voter_with(endpoints=[Endpoint(name=name, host=b"h", port=1)])


def legacy_with(**values: Any) -> Entry:
    return Entry(base_offset=0, message=LegacyMessage(**({"offset": 0, "magic": 0} | values)))


def record_with(**values: Any) -> RecordSet:
    batch = batch_with(num_records=1).message
    assert isinstance(batch, RecordBatch)
    fields: dict[str, Any] = {"batch": batch, "timestamp_delta": 0, "offset_delta": 0}
    return RecordSet(batch=batch, records=[Record(**(fields | values))])


def tagged_with(**values: Any) -> VotersRecord:
    return voter_with(tagged_fields=TaggedFields(fields=[TaggedField(**values)]))


TOO_LARGE = BatchAttributes(compression=8)
NEGATIVE = BatchAttributes(reserved=-1)
NO_KEY = Header(key=None)  # type: ignore[arg-type]

NUMBERS: dict[str, Entry | RecordSet | VotersRecord] = {
    "/base_offset": batch_with(base_offset=2**63),
    "/message/content/partition_leader_epoch": batch_with(partition_leader_epoch=2**31),
    "/message/content/base_timestamp": batch_with(base_timestamp=-(2**63) - 1),
    "/message/content/producer_id": batch_with(producer_id="42"),
    "/message/content/records": batch_with(records="text"),
    "/message/content/attributes/compression": batch_with(attributes=TOO_LARGE),
    "/message/content/attributes/reserved": batch_with(attributes=NEGATIVE),
    "/message/content/key": legacy_with(key=1),
    "/message/content/timestamp": legacy_with(magic=1, timestamp=2**63),
    "/records/0/body/offset_delta": record_with(offset_delta=2**31),
    "/records/0/body/timestamp_delta": record_with(timestamp_delta=2**63),
    "/records/0/body/attributes": record_with(attributes=128),
    "/records/0/body/headers/1/key": record_with(headers=[Header(key=b""), NO_KEY]),
    "/body/voters/0/tagged_fields/fields/0/tag": tagged_with(tag=2**32, data=b""),
}
"""Values that cannot be written at all, by the path that the error must name."""

RULES: dict[str, Entry | RecordSet | VotersRecord] = {
    "/message/content/num_records": batch_with(num_records=-1),
    "/body/voters/0/voter_directory_id": voter_with(voter_directory_id=bytes(15)),
    "/body/voters/0/endpoints/0/name": endpoint_with(bytes(32768)),
}
"""Structures that only a forger writes."""


def written(value: Entry | RecordSet | VotersRecord, *, raw: bool) -> bytes:
    if isinstance(value, Entry):
        return CODEC.serialize("recordbatch.entry", value, raw=raw)
    if isinstance(value, RecordSet):
        return CODEC.serialize("recordbatch.record_set", value, parameters=(value.batch,), raw=raw)
    key = "control_record.control_record_value"
    return CODEC.serialize(key, value, parameters=(6,), raw=raw)


@pytest.mark.parametrize(("path", "value"), (NUMBERS | RULES).items(), ids=NUMBERS | RULES)
def test_values_that_cannot_be_written_are_named(
    path: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        written(value, raw=False)
    assert (caught.value.reason, caught.value.path) == (Reason.UNENCODABLE, path)
    assert caught.value.position is None
    assert caught.value.spec.partition("#")[0].endswith(".ksy")
    monkeypatch.setattr(CODEC, "reference", Mute())
    with pytest.raises(KafkaSpecError, match="Kaitai refuses"):
        written(value, raw=False)


@pytest.mark.parametrize(("path", "value"), NUMBERS.items(), ids=NUMBERS)
def test_raw_writes_only_what_fits(path: str, value: Any) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        written(value, raw=True)
    assert (caught.value.reason, caught.value.path) == (Reason.UNENCODABLE, path)


@pytest.mark.parametrize("value", RULES.values(), ids=RULES)
def test_raw_breaks_rules(value: Any) -> None:
    assert written(value, raw=True)


def test_a_value_of_the_wrong_type_is_refused() -> None:
    marker = EndTransactionMarker(coordinator_epoch=1)
    for key, parameters, path in (
        ("recordbatch.entry", (), ""),
        ("control_record.control_record_value", (6,), "/body"),
    ):
        with pytest.raises(KafkaSpecError) as caught:
            CODEC.serialize(key, marker, parameters=parameters)
        assert (caught.value.reason, caught.value.path) == (Reason.UNENCODABLE, path)


def test_a_missing_timestamp_of_magic_1_is_named() -> None:
    entry = legacy_with(magic=1)
    assert isinstance(entry.message, LegacyMessage)
    entry.message.timestamp = None
    with pytest.raises(KafkaSpecError) as caught:
        CODEC.serialize("recordbatch.entry", entry)
    assert (caught.value.reason, caught.value.path) == (
        Reason.UNENCODABLE,
        "/message/content/timestamp",
    )


def test_more_records_than_the_batch_says_are_refused() -> None:
    record_set = record_with()
    record_set.records *= 2
    with pytest.raises(KafkaSpecError) as caught:
        CODEC.serialize("recordbatch.record_set", record_set, parameters=(record_set.batch,))
    assert (caught.value.reason, caught.value.path) == (Reason.UNENCODABLE, "/records")
