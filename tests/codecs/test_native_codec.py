"""The native codec as a codec: objects, encoding, checksums, indexes, scans, threads."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import random
import sys
import threading
import time
import zlib
from array import array
from dataclasses import replace
from typing import Any

import crc32c
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkaspec._generated.python.model.recordbatch import (
    BatchAttributes,
    Entry,
    Header,
    LegacyAttributes,
    LegacyMessage,
    RecordBatch,
    RecordSet,
)
from kafkaspec._generated.python.model.recordbatch import Record as SpecRecord
from kafkaspec._generated.python.runtime import signed64
from kafkaspec.codecs import installed
from kafkaspec.codecs.native.scan import End, scan
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.columns.memory import ColumnSet, Layout
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from tests import goldens
from tests.codecs.native_cases import decode, golden_segments
from tests.extent import examples
from tests.loops import each

native = pytest.importorskip("kafkaspec._native", reason="the extension was not built")

from kafkaspec.codecs.native import NativeCodec  # noqa: E402

CODEC = NativeCodec()
CORE = CODEC.core
REFERENCE = PythonCodec()


def _batch(**changes: Any) -> RecordBatch:
    given: dict[str, Any] = {
        "base_offset": 100,
        "last_offset_delta": 5,
        "base_timestamp": 1_000,
        "max_timestamp": 1_900,
        "num_records": 1,
        "records": b"",
    }
    return RecordBatch(**(given | changes))


def test_it_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(installed.ENVIRONMENT, raising=False)
    assert installed.default_codec() == "native"
    monkeypatch.setenv(installed.ENVIRONMENT, "kaitai")
    assert installed.default_codec() == "kaitai"


# -- record objects -------------------------------------------------------------------------


def test_records_are_records() -> None:
    records = [Record(100, 1_000, b"k", None, ()), Record(101, 1_001, None, b"", (("h", None),))]
    payload = CODEC.encode_records(_batch(num_records=2), records)
    found = CODEC.decode_records(_batch(num_records=2), payload)
    assert found == records
    assert all(type(record) is Record for record in found)
    assert found[0].headers is found[0]._replace(offset=1).headers
    assert (found[0].offset, found[1].headers[0][0]) == (100, "h")
    assert repr(found[0]) == repr(records[0])


def test_parts_of_a_record_are_read_by_name() -> None:
    """In place, whoever made the record; and it is a tuple as before."""
    payload = CODEC.encode_records(_batch(num_records=1), [Record(100, 1_000, b"k", b"v", ())])
    (found,) = CODEC.decode_records(_batch(num_records=1), payload)
    for record in (found, Record(7, -1, None, b"w"), Record(*found), found._replace(key=None)):
        assert tuple(getattr(record, name) for name in Record._fields) == tuple(record)
        assert pickle.loads(pickle.dumps(record)) == copy.copy(record) == record
        for name in Record._fields:
            with pytest.raises(AttributeError):
                setattr(record, name, None)
    assert all(map(inspect.ismemberdescriptor, (vars(Record)[n] for n in Record._fields)))
    with pytest.raises(AttributeError):
        del found.key
    with pytest.raises(TypeError):
        vars(Record)["key"].__get__((1, 2, 3))


def test_only_tuples_with_fields_get_names() -> None:
    for wrong, error in ((list, TypeError), (3, TypeError), (tuple, AttributeError)):
        with pytest.raises(error):
            CODEC.core.module.name_items(wrong)


def test_no_headers_are_one_empty_tuple_and_the_collector_is_left_alone() -> None:
    records = [Record(100 + i, 1_000, b"k", b"v", ()) for i in range(50)]
    batch = _batch(num_records=50)
    payload = CODEC.encode_records(batch, records)
    assert gc.isenabled()
    found = CODEC.decode_records(batch, payload)
    assert gc.isenabled()
    assert len({id(record.headers) for record in found}) == 1
    assert not any(gc.is_tracked(record) for record in found)
    gc.disable()
    try:
        CODEC.decode_records(batch, payload)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_header_keys_that_are_no_text_keep_their_bytes() -> None:
    key = b"\xff\xfe k\xc3\xa9y"
    record = SpecRecord(
        batch=_batch(), timestamp_delta=0, offset_delta=0, headers=[Header(key=key, value=b"")]
    )
    payload = REFERENCE.serialize(
        "recordbatch.record_set", RecordSet(batch=_batch(), records=[record])
    )
    (found,) = CODEC.decode_records(_batch(), payload)
    assert found.headers[0][0].encode("utf-8", "surrogateescape") == key
    assert CODEC.encode_records(_batch(), [found]) == payload


@pytest.mark.core
@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.binary(max_size=40) | st.text(max_size=40).map(str.encode), max_size=4))
def test_whether_keys_are_ascii(keys: list[bytes]) -> None:
    headers = tuple((key.decode("utf-8", "surrogateescape"), b"\xff") for key in keys)
    payload = CODEC.encode_records(_batch(), [Record(100, 0, b"\xff", b"\xff", headers)])
    framed = Entry(base_offset=100, message=_batch(records=payload))
    entry = REFERENCE.serialize("recordbatch.entry", framed)
    for data in (entry, entry + bytes(32)):  # with and without room after the last key
        for layout in Layout:
            item = [0, 0, len(entry), -1, 0, 0, 1, native.VERIFY]
            _, columns = decode(CORE, (data,), [item], layout)
            headers_column: Any = columns.result()["headers"]
            children = headers_column.children
            assert children["key"].is_ascii == all(key.isascii() for key in keys)
            assert not children["value"].is_ascii


def test_names_of_headers_are_not_mixed_up() -> None:
    """The same length, first, middle and last byte: what the cache of names looks at first."""
    names = ["aXbYc", "aZbWc", "a" * 56, "a" * 57, "a" * 200, "", "b", "aXbYc"]
    record = Record(100, 1_000, None, None, tuple((name, name.encode()) for name in names))
    payload = CODEC.encode_records(_batch(), [record])
    (found,) = CODEC.decode_records(_batch(), payload)
    assert found == record


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer(kind: Any) -> None:
    payload = CODEC.encode_records(_batch(), [Record(100, 1_000, b"k", b"v")])
    assert CODEC.decode_records(_batch(), kind(payload)) == [Record(100, 1_000, b"k", b"v")]


def test_errors_come_from_the_reference() -> None:
    payload = CODEC.encode_records(_batch(), [Record(100, 1_000, b"k", b"v")])
    with pytest.raises(KafkaSpecError) as expected:
        REFERENCE.decode_records(_batch(), payload[:-1])
    with pytest.raises(KafkaSpecError) as found:
        CODEC.decode_records(_batch(), payload[:-1])
    assert str(found.value) == str(expected.value)


# -- encoding -------------------------------------------------------------------------------

_headers = st.lists(
    st.tuples(st.text(max_size=70), st.none() | st.binary(max_size=20)), max_size=3
).map(tuple)
_records = st.lists(
    st.builds(
        Record,
        st.integers(0, 2**31 - 1).map(lambda delta: 100 + delta),
        st.integers(-(2**62), 2**62),
        st.none() | st.binary(max_size=30),
        st.none() | st.binary(max_size=300),
        _headers,
    ),
    max_size=8,
)


@pytest.mark.core
@settings(max_examples=examples(200), deadline=None)
@given(_records, st.integers(-(2**62), 2**62), st.booleans())
def test_batches_are_those_of_the_python_codec(
    records: list[Record], base_timestamp: int, transactional: bool
) -> None:
    batch = _batch(
        base_timestamp=base_timestamp,
        num_records=len(records),
        partition_leader_epoch=3,
        producer_id=2**40,
        producer_epoch=-1,
        base_sequence=2**31 - 1,
        attributes=BatchAttributes(is_transactional=transactional, reserved=0x1FF),
    )
    spec_records = [
        SpecRecord(
            batch=batch,
            timestamp_delta=signed64(record.timestamp - base_timestamp),
            offset_delta=record.offset - 100,
            key=record.key,
            value=record.value,
            headers=[
                Header(key=key.encode("utf-8", "surrogateescape"), value=value)
                for key, value in record.headers
            ],
        )
        for record in records
    ]
    payload = REFERENCE.serialize(
        "recordbatch.record_set",
        RecordSet(batch=batch, records=spec_records),
        parameters=(batch,),
    )
    assert CODEC.encode_records(batch, records) == payload
    assert CODEC.decode_records(batch, payload) == records


@settings(max_examples=examples(100), deadline=None)
@given(
    st.integers(0, 1),
    st.integers(-1, 2**60),
    st.lists(st.none() | st.binary(max_size=40), min_size=2, max_size=6),
)
def test_messages_are_those_of_the_python_codec(
    magic: int, timestamp: int, values: list[bytes | None]
) -> None:
    records = [
        Record(i, timestamp if magic else -1, values[i - 1], value)
        for i, value in enumerate(values)
    ]
    header = LegacyMessage(
        offset=0, magic=magic, attributes=LegacyAttributes(timestamp_type=magic, reserved=5)
    )
    expected = b"".join(
        REFERENCE.serialize(
            "recordbatch.entry",
            Entry(
                base_offset=record.offset,
                message=replace(
                    header,
                    offset=record.offset,
                    timestamp=timestamp if magic else None,
                    key=record.key,
                    value=record.value,
                ),
            ),
        )
        for record in records
    )
    assert CODEC.encode_records(header, records) == expected


@pytest.mark.parametrize(
    ("batch", "record"),
    [
        (_batch(), Record(100 + 2**31, 0, None, None)),
        (_batch(), Record(100 - 2**31 - 1, 0, None, None)),
        (_batch(), Record(100, 0, "text", None)),  # type: ignore[arg-type]
        (_batch(), Record(100, 0, 5, None)),  # type: ignore[arg-type]
        (_batch(), Record(2**63, 0, None, None)),
        (_batch(), Record(100, 0, None, None, (("\ud800", b""),))),
        (_batch(), Record(100, 0, None, None, ((None, b""),))),  # type: ignore[arg-type]
        (_batch(), (100, 0, None)),
        (LegacyMessage(offset=0, magic=2), Record(1, 1, None, None)),
        (LegacyMessage(offset=0, magic=1), Record(1, 1, "text", None)),  # type: ignore[arg-type]
    ],
)
def test_values_that_do_not_fit(batch: Any, record: Any) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        CODEC.encode_records(batch, [record])
    assert caught.value.reason is Reason.UNENCODABLE


def test_a_header_that_does_not_fit() -> None:
    columns = {"offset": array("q", [100]), "timestamp": array("q", [1_000])}
    whole = CODEC.encode_columns(_batch(), 1, columns, whole=True)
    payload = CODEC.encode_records(_batch(), [Record(100, 1_000, None, None)])
    entry = Entry(base_offset=100, message=_batch(records=payload))
    assert whole == REFERENCE.serialize("recordbatch.entry", entry)
    for bad in (
        _batch(partition_leader_epoch=2**31),
        _batch(producer_epoch=-(2**15) - 1),
        _batch(num_records=-1),
        _batch(attributes=BatchAttributes(compression=8)),
    ):
        assert CODEC.encode_columns(bad, 1, columns, whole=True) is None


def test_columns_that_lie_are_refused() -> None:
    kind = CORE.kinds["recordbatch.record_batch"]
    header = kind.header(_batch(num_records=2))
    inputs: list[Any] = [None] * len(CORE.columns)

    def encode(name: str, column: Any) -> Any:
        given = list(inputs)
        given[CORE.columns[name].number] = column
        return native.encode(kind.number, header, 2, tuple(given), False)

    good = (None, array("i", [0, 1, 2]), b"ab")
    assert encode("key", good) == bytes.fromhex("0e0000000261010000"[:0]) or encode("key", good)
    for offsets in ([0, 1, 3], [0, 2, 1], [-1, 0, 1], [2**31 - 1] * 3):
        with pytest.raises(ValueError, match="not a column"):
            encode("key", (None, array("i", offsets), b"ab"))
    with pytest.raises(ValueError, match="needs 12"):
        encode("key", (None, array("i", [0, 1]), b"ab"))
    with pytest.raises(ValueError, match="needs 16"):
        encode("offset", array("q", [1]))
    with pytest.raises(ValueError, match="not a column"):
        encode("headers", array("i", [0, 2, 1]))


# -- scans and indexes ----------------------------------------------------------------------


@each("golden", golden_segments())
def test_scan_of_golden_segments(golden: goldens.Golden) -> None:
    data = golden.path.read_bytes()
    segment = Segment(golden.path, codec=REFERENCE)
    batches = list(segment.batches())
    for capacity in (None, 1 << 12):
        table = scan(CORE, data, capacity=capacity)
        assert table.column("position").tolist() == [batch.position for batch in batches]
        assert table.column("size").tolist() == [batch.size for batch in batches]
        assert table.column("magic").tolist() == [batch.magic for batch in batches]
        assert table.column("crc").tolist() == [batch.crc for batch in batches]
        end = segment.tail.position if segment.tail else len(data)
        assert table.position == end


def test_a_table_that_is_full_goes_on() -> None:
    golden = goldens.GOLDEN / "4.3.1/logs/plain-0/00000000000000000000.log"
    data = golden.read_bytes() * 40
    whole = scan(CORE, data)
    first = scan(CORE, data, capacity=1)
    assert (first.count, first.end) == (1, End.FULL)
    rest = scan(CORE, data, first.position)
    assert whole.column("crc").tolist() == [*first.column("crc"), *rest.column("crc")]
    assert whole.count > 64, "more than the first guess has room for"


def test_every_cut_of_a_segment() -> None:
    golden = goldens.GOLDEN / "4.3.1/logs/plain-0/00000000000000000000.log"
    data = golden.read_bytes()
    whole = scan(CORE, data)
    ends = [p + s for p, s in zip(whole.column("position"), whole.column("size"), strict=True)]
    for end in range(min(len(data), 1500)):
        table = scan(CORE, data, 0, end)
        assert table.position == max([stop for stop in ends if stop <= end], default=0)
        assert table.end is (End.COMPLETE if end in (0, *ends) else End.SHORT)


# -- checksums and threads ------------------------------------------------------------------


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(max_size=300), st.integers(0, 40), st.integers(1, 600))
def test_checksums(data: bytes, start: int, times: int) -> None:
    whole = memoryview(data * times)[start:]
    expected = (crc32c.crc32c(whole), zlib.crc32(whole))
    assert (native.crc32c(whole), native.crc32(whole)) == expected
    for kernel in range(len(native.CRC_KERNELS)):
        assert native.checksums(kernel, whole) == expected


@pytest.mark.parametrize("kernel", range(len(native.CRC_KERNELS)))
def test_checksums_of_all_small_sizes(kernel: int) -> None:
    data = random.Random(3).randbytes(1200)
    for size in range(1100):
        part = memoryview(data)[size % 67 : size % 67 + size]
        assert native.checksums(kernel, part) == (crc32c.crc32c(part), zlib.crc32(part))


def test_decoding_lets_other_threads_run() -> None:
    golden = goldens.GOLDEN / "4.3.1/logs/plain-0/00000000000000000000.log"
    data = golden.read_bytes()
    table = scan(CORE, data)
    positions, sizes = table.column("position"), table.column("size")
    counts = table.column("num_records")
    batches = array("q")
    times = 3_000_000 // len(data)
    for _ in range(times):
        for i in range(table.count):
            batches.extend((0, positions[i], sizes[i], -1, 0, 0, counts[i], native.VERIFY))
    rows = sum(counts) * times
    columns = ColumnSet(CORE, ["offset"], rows, Layout.VIEW, 0)
    stop = threading.Event()
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        while not stop.is_set():
            ticks += 1
            time.sleep(0)

    interval = sys.getswitchinterval()
    # Nobody is made to let others run, so that only the decoder itself does.
    sys.setswitchinterval(100)
    try:
        thread = threading.Thread(target=tick)
        thread.start()
        before = ticks
        for _ in range(500):
            columns.state[0] = 0
            status, _, _ = native.decode(
                (data,),
                batches,
                0,
                len(batches) // native.BATCH_FIELDS,
                Layout.VIEW,
                tuple(columns.outputs),
                columns.capacities,
                columns.state,
            )
            assert status == native.OK
            if ticks > before:
                break
        seen = ticks - before
    finally:
        stop.set()
        sys.setswitchinterval(interval)
    thread.join()
    assert seen > 0
