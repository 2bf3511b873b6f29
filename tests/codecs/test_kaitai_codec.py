"""The codec on the official compiler's classes: real bytes in, the same bytes out."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import crc32c
import kaitaistruct  # type: ignore[import-untyped]
import pytest
from kafka.record.default_records import (  # type: ignore[import-untyped]
    DefaultRecordBatchBuilder,
)
from kafka.record.legacy_records import (  # type: ignore[import-untyped]
    LegacyRecordBatchBuilder,
)

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model.control_record import (
    EndTransactionMarker,
    LeaderChangeMessage,
)
from kafkaspec._generated.python.model.recordbatch import (
    BatchAttributes,
    Entry,
    Header,
    LegacyMessage,
    Record,
    RecordBatch,
    RecordSet,
)
from kafkaspec.codecs.references.kaitai.codec import KaitaiCodec
from kafkaspec.compression import decompress
from kafkaspec.errors import KafkaSpecError, Reason
from tests.goldens import GOLDEN, VERSIONS, distinct

pytestmark = pytest.mark.slow

CODEC = KaitaiCodec()

# Computed by hand and with other programs, not with code of this project.
_VECTORS = json.loads(Path(__file__).with_name("kaitai_vectors.json").read_text("utf-8"))
ENTRIES = {name: bytes.fromhex(text) for name, text in _VECTORS["entries"].items()}
OTHERS = {
    name: (other["type"], bytes.fromhex(other["bytes"]), tuple(other["parameters"]))
    for name, other in _VECTORS["others"].items()
}
ONE_RECORD = ENTRIES["one record"]
TWO_RECORDS = ENTRIES["two records"]


def record_sets(entries: list[Entry]) -> Iterator[tuple[RecordBatch, bytes]]:
    """The batches of magic 2 among entries, each with its records decompressed."""
    for entry in entries:
        batch = entry.message
        if isinstance(batch, RecordBatch):
            codec = batch.attributes.compression
            payload = decompress(codec, batch.records, magic=2) if codec else batch.records
            yield batch, bytes(payload)


@pytest.mark.parametrize("data", ENTRIES.values(), ids=ENTRIES)
def test_entry_and_back(data: bytes) -> None:
    entry, end = CODEC.parse("recordbatch.entry", data)
    assert end == len(data)
    assert CODEC.serialize("recordbatch.entry", entry) == data
    assert CODEC.serialize("recordbatch.entry", entry, raw=True) == data


@pytest.mark.parametrize(("key", "data", "parameters"), OTHERS.values(), ids=OTHERS)
def test_other_structures_and_back(key: str, data: bytes, parameters: tuple[int, ...]) -> None:
    value, end = CODEC.parse(key, data, parameters=parameters)
    assert end == len(data)
    assert CODEC.serialize(key, value, parameters=parameters) == data
    assert CODEC.serialize(key, value, parameters=parameters, raw=True) == data


def test_values_of_a_record() -> None:
    entry, _ = CODEC.parse("recordbatch.entry", TWO_RECORDS)
    assert (entry.base_offset, entry.len_message, entry.message.magic) == (7, 68, 2)
    records = CODEC.decode_records(entry.message, entry.message.records)
    assert records == [
        (7, 1000, b"a", b"b", ()),
        (8, 999, None, None, (("h", None),)),
    ]


def test_values_of_a_control_record() -> None:
    value, _ = CODEC.parse(
        "control_record.control_record_value", bytes.fromhex("000000000002"), parameters=(0,)
    )
    assert value == EndTransactionMarker(version=0, coordinator_epoch=2)
    value, _ = CODEC.parse(
        "control_record.control_record_value", OTHERS["leader change"][1], parameters=(2,)
    )
    assert isinstance(value, LeaderChangeMessage)
    assert [voter.voter_id for voter in value.voters] == [1, 2]
    assert (value.num_voters, value.num_granting_voters) == (3, 2)


def test_a_built_batch_equals_the_one_computed_by_hand() -> None:
    batch = RecordBatch(
        base_offset=0,
        last_offset_delta=0,
        base_timestamp=1000,
        max_timestamp=1000,
        num_records=1,
        records=b"",
    )
    record = Record(batch=batch, timestamp_delta=0, offset_delta=0, key=b"k", value=b"v")
    batch.records = CODEC.serialize(
        "recordbatch.record_set", RecordSet(batch=batch, records=[record]), parameters=(batch,)
    )
    entry = Entry(base_offset=0, message=batch)
    assert CODEC.serialize("recordbatch.entry", entry) == ONE_RECORD


def test_types_that_the_model_does_not_show_can_be_parsed() -> None:
    entry, _ = CODEC.parse("recordbatch.entry", TWO_RECORDS)
    batch, end = CODEC.parse("recordbatch.message", TWO_RECORDS, 12, parameters=(7,))
    assert (batch, end) == (entry.message, len(TWO_RECORDS))
    record, end = CODEC.parse("recordbatch.framed_record", TWO_RECORDS, 70, parameters=(batch,))
    assert (record.offset, record.headers) == (8, [Header(key=b"h", value=None)])
    assert end == len(TWO_RECORDS)
    assert CODEC.serialize("recordbatch.message", batch) == TWO_RECORDS[12:]
    assert CODEC.serialize("recordbatch.framed_record", record) == TWO_RECORDS[70:]


@pytest.mark.parametrize(
    ("key", "data", "value"),
    [
        ("varint.varint32", "01", -1),
        ("varint.varint32", "ffffffff0f", -(2**31)),
        ("varint.varint32", "feffffff0f", 2**31 - 1),
        ("varint.varint64", "ffffffffffffffffff01", -(2**63)),
        ("varint.varint64", "feffffffffffffffff01", 2**63 - 1),
        ("varint.unsigned_varint32", "ffffffff0f", 2**32 - 1),
        ("varint.unsigned_varint32", "ac02", 300),
        ("recordbatch.nullable_bytes", "01", None),
        ("recordbatch.nullable_bytes", "00", b""),
        ("recordbatch.nullable_bytes_s4", "ffffffff", None),
        ("flexible.compact_string", "0261", b"a"),
    ],
)
def test_scalars_and_back(key: str, data: str, value: object) -> None:
    parsed = CODEC.parse(key, bytes.fromhex(data))
    assert parsed == (value, len(data) // 2)
    assert CODEC.serialize(key, value) == bytes.fromhex(data)


@pytest.mark.parametrize(
    ("key", "data", "value"),
    [
        ("varint.varint32", "8000", 0),
        ("varint.varint32", "ffffffff7f", -(2**31)),
        ("varint.varint64", "feffffffffffffffff7f", 2**63 - 1),
        ("recordbatch.nullable_bytes", "09", None),
        ("recordbatch.nullable_bytes_s4", "80000000", None),
    ],
)
def test_bytes_that_kafka_reads_and_never_writes(key: str, data: str, value: object) -> None:
    assert CODEC.parse(key, bytes.fromhex(data)) == (value, len(data) // 2)


def test_bytes_are_those_that_kaitai_read() -> None:
    buffer = bytearray(b"??" + ONE_RECORD + b"??")
    entry, end = CODEC.parse("recordbatch.entry", buffer, 2)
    buffer[:] = bytes(len(buffer))
    records = entry.message.records
    assert (type(records), records, end) == (bytes, ONE_RECORD[61:], len(buffer) - 2)
    record_set, _ = CODEC.parse("recordbatch.record_set", records, parameters=(entry.message,))
    assert type(record_set.records[0].key) is bytes
    entry.message.records = memoryview(records)
    assert CODEC.serialize("recordbatch.entry", entry) == ONE_RECORD


@pytest.fixture(scope="module", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Each version in turn; as the fixture is the module's, all tests of one follow each other."""
    return str(request.param)


def segments(version: str, *suffixes: str) -> list[Path]:
    """Files that a real broker of that version wrote, and none before it."""
    return [golden.path for golden in distinct(*suffixes, version=version)]


@lru_cache(maxsize=300)  # as many files as a version may have
def parsed(path: Path) -> tuple[Any, int]:
    """Parse a whole segment."""
    return CODEC.parse("recordbatch.recordbatch", path.read_bytes(), complete=True)


def test_real_segments_and_back(version: str) -> None:
    for path in segments(version, ".log", ".checkpoint"):
        data = path.read_bytes()
        segment, end = parsed(path)
        assert end == len(data), path
        assert CODEC.serialize("recordbatch.recordbatch", segment) == data, path
        for batch, payload in record_sets(segment.entries):
            key = "recordbatch.record_set"
            record_set, end = CODEC.parse(key, payload, parameters=(batch,), complete=True)
            assert end == len(payload), path
            assert CODEC.serialize(key, record_set, parameters=(batch,)) == payload, path


@pytest.mark.parametrize(
    ("suffix", "key", "parameters"),
    [
        (".index", "index.offset_index", (0,)),
        (".timeindex", "index.time_index", (0,)),
        (".txnindex", "transaction_index.transaction_index", ()),
        (".snapshot", "producer_snapshot.producer_snapshot", ()),
    ],
)
def test_real_files_beside_segments_and_back(
    suffix: str, key: str, parameters: tuple[int, ...]
) -> None:
    paths = [golden.path for golden in distinct(suffix)]
    assert paths
    for path in paths:
        data = path.read_bytes()
        value, end = CODEC.parse(key, data, parameters=parameters, complete=True)
        assert end == len(data), path
        assert CODEC.serialize(key, value, parameters=parameters) == data, path


SEEN: dict[str, set[str]] = {}
"""Control records by version."""


def test_real_control_records_and_back(version: str) -> None:
    seen = SEEN.setdefault(version, set())
    for path in segments(version, ".log"):
        segment, _ = parsed(path)
        for batch, payload in record_sets(segment.entries):
            if not batch.attributes.is_control:
                continue
            for record in CODEC.decode_records(batch, payload):
                assert record.key is not None
                key, _ = CODEC.parse("control_record.control_record_key", record.key)
                value, end = CODEC.parse(
                    "control_record.control_record_value",
                    record.value or b"",
                    parameters=(key.type,),
                )
                back = CODEC.serialize(
                    "control_record.control_record_value", value, parameters=(key.type,)
                )
                assert (back, end) == (record.value, len(back))
                seen.add(type(value).__name__)
    if len(SEEN) == len(VERSIONS):
        assert {"EndTransactionMarker", "LeaderChangeMessage"} <= set().union(*SEEN.values())


def instances_of(key: str, tree: Any) -> dict[str, object]:
    return {name: getattr(tree, name) for name in LAYOUTS[key].instances}


def test_properties_are_what_the_compiled_instances_say(version: str) -> None:
    """The compiled classes are read here without the adapter."""
    compiled = import_module("kafkaspec._generated.kaitai.recordbatch").Recordbatch
    batches_seen = records_seen = 0
    for path in segments(version, ".log"):
        data = path.read_bytes()
        tree = compiled(kaitaistruct.KaitaiStream(BytesIO(data)))
        tree._read()
        segment, _ = parsed(path)
        headers = [entry.message.content for entry in tree.entries]
        headers = [header for header in headers if isinstance(header, compiled.RecordBatch)]
        batches = record_sets(segment.entries)
        batches_seen += len(headers)
        for header, (batch, payload) in zip(headers, batches, strict=True):
            key = "recordbatch.record_batch"
            assert instances_of(key, batch) == instances_of(key, header), path
            records = compiled.RecordSet(header, kaitaistruct.KaitaiStream(BytesIO(payload)))
            records._read()
            ours, _ = CODEC.parse("recordbatch.record_set", payload, parameters=(batch,))
            for record, frame in zip(ours.records, records.records, strict=True):
                key = "recordbatch.record"
                assert instances_of(key, record) == instances_of(key, frame.body), path
                records_seen += 1
    assert records_seen >= batches_seen // 2  # some are empty, and old brokers have none


def test_a_batch_of_another_library() -> None:
    builder = DefaultRecordBatchBuilder(2, 0, True, 42, 3, 100, 1 << 20)
    records: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]] = [
        (1000, b"key", b"value", []),
        (998, None, b"x" * 300, [("a", b"1"), ("ü", None), ("a", b"")]),
        (2**41, b"", None, [("h", b"z" * 200)]),
    ]
    for offset, (timestamp, key, value, headers) in enumerate(records):
        builder.append(offset, timestamp, key, value, headers)
    data = bytes(builder.build())
    entry, end = CODEC.parse("recordbatch.entry", data)
    assert end == len(data)
    assert entry.message.attributes == BatchAttributes(is_transactional=True)
    assert entry.message.producer_id == 42
    assert [
        tuple(record) for record in CODEC.decode_records(entry.message, entry.message.records)
    ] == [
        (offset, timestamp, key, value, tuple(headers))
        for offset, (timestamp, key, value, headers) in enumerate(records)
    ]
    assert CODEC.serialize("recordbatch.entry", entry) == data


@pytest.mark.parametrize("magic", [0, 1])
def test_legacy_messages_of_another_library(magic: int) -> None:
    builder = LegacyRecordBatchBuilder(magic, 0, 1 << 20)
    builder.append(5, timestamp=77, key=b"k", value=None)
    builder.append(6, timestamp=78, key=None, value=b"v" * 500)
    data = bytes(builder.build())
    segment, _ = CODEC.parse("recordbatch.recordbatch", data)
    first, second = (entry.message for entry in segment.entries)
    assert (first.offset, first.magic, first.key, first.value) == (5, magic, b"k", None)
    assert (second.offset, second.key, second.value) == (6, None, b"v" * 500)
    assert first.timestamp == (77 if magic else None)
    assert CODEC.serialize("recordbatch.recordbatch", segment) == data


def test_checksums_are_computed_when_written() -> None:
    message = LegacyMessage(offset=5, magic=0, key=b"k", value=b"v")
    data = CODEC.serialize("recordbatch.entry", Entry(base_offset=5, message=message))
    assert int.from_bytes(data[12:16], "big") == zlib.crc32(data[16:])
    snapshot, _ = CODEC.parse("producer_snapshot.producer_snapshot", OTHERS["snapshot"][1])
    snapshot.entries = snapshot.entries * 3
    data = CODEC.serialize("producer_snapshot.producer_snapshot", snapshot)
    assert int.from_bytes(data[2:6], "big") == crc32c.crc32c(data[6:])
    assert int.from_bytes(data[6:10], "big") == 3


def test_a_magic_0_message_has_no_timestamp() -> None:
    message = LegacyMessage(offset=0, magic=0, timestamp=9, value=b"a")
    entry = Entry(base_offset=0, message=message)
    assert CODEC.serialize("recordbatch.entry", entry, raw=True) == ENTRIES["magic 0"]
    with pytest.raises(KafkaSpecError) as caught:
        CODEC.serialize("recordbatch.entry", entry)
    assert caught.value.path == "/message/content/timestamp"


def test_the_class_of_a_value_and_what_chooses_it_must_agree() -> None:
    entry, _ = CODEC.parse("recordbatch.entry", ENTRIES["magic 1"])
    entry.message.magic = 2
    with pytest.raises(KafkaSpecError) as caught:
        CODEC.serialize("recordbatch.entry", entry)
    assert caught.value.path == "/message/content/magic"
    entry.len_message = None
    forged = CODEC.serialize("recordbatch.entry", entry, raw=True)
    assert (forged[16], len(forged)) == (2, len(ENTRIES["magic 1"]) - 8)
    marker = EndTransactionMarker(coordinator_epoch=2)
    for other in (2, 9):
        key, parameters = "control_record.control_record_value", (other,)
        with pytest.raises(KafkaSpecError) as caught:
            CODEC.serialize(key, marker, parameters=parameters)
        assert caught.value.path == "/body"
        assert len(CODEC.serialize(key, marker, parameters=parameters, raw=True)) == 6


def test_raw_keeps_what_is_stored() -> None:
    entry, _ = CODEC.parse("recordbatch.entry", TWO_RECORDS)
    batch = entry.message
    batch.crc, batch.num_records, batch.magic = 0xDEADBEEF, -5, 7
    forged = CODEC.serialize("recordbatch.entry", entry, raw=True)
    expected = bytearray(TWO_RECORDS)
    expected[16] = 7
    expected[17:21] = bytes.fromhex("deadbeef")
    expected[57:61] = bytes.fromhex("fffffffb")
    assert forged == bytes(expected)


def test_raw_cannot_write_a_wrong_length_of_a_structure() -> None:
    entry, _ = CODEC.parse("recordbatch.entry", TWO_RECORDS)
    entry.len_message = 67
    with pytest.raises(KafkaSpecError, match="cannot write 67 as the length") as caught:
        CODEC.serialize("recordbatch.entry", entry, raw=True)
    assert caught.value.reason is Reason.UNENCODABLE


def test_the_runtime_is_loaded_when_it_is_needed() -> None:
    script = (
        "import sys; from kafkaspec.codecs.references.kaitai.codec import KaitaiCodec\n"
        "codec = KaitaiCodec();"
        "assert 'kaitaistruct' not in sys.modules;"
        "codec.parse('varint.varint32', b'\\0'); assert 'kaitaistruct' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=GOLDEN.parents[1])


def test_another_package_of_generated_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generated = GOLDEN.parents[1] / "generated"
    shutil.copytree(generated, tmp_path / "elsewhere", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.syspath_prepend(tmp_path)
    codec = KaitaiCodec("elsewhere")
    entry, _ = codec.parse("recordbatch.entry", ONE_RECORD)
    assert type(entry).__module__ == "elsewhere.python.model.recordbatch"
    assert codec.serialize("recordbatch.entry", entry) == ONE_RECORD


def test_an_unknown_type_is_the_callers_mistake() -> None:
    with pytest.raises(KeyError, match=r"no type recordbatch\.batch"):
        CODEC.parse("recordbatch.batch", b"")
