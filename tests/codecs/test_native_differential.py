"""The Python codec's checked parser accepts what the native core accepts, with the same values;
what the core refuses, the parser refuses. On bytes of brokers, broken in many ways, and on made
ones."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkaspec._generated.python.model.recordbatch import BatchAttributes, Entry, RecordBatch
from kafkaspec.codecs.base import Codec
from kafkaspec.codecs.native.scan import End, scan
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.columns.memory import Layout
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from tests.codecs.native_cases import decode, golden_segments, records
from tests.extent import examples

native = pytest.importorskip("kafkaspec._native", reason="the extension was not built")

from kafkaspec.codecs.native import NativeCodec  # noqa: E402

CODEC = NativeCodec()
CORE = CODEC.core
REFERENCE = PythonCodec()
KIND = CORE.kinds["recordbatch.record_batch"]


def _reference(batch: RecordBatch, payload: bytes) -> list[Record] | None:
    try:
        return Codec.decode_records(REFERENCE, batch, payload)
    except KafkaSpecError:
        return None


def _objects(batch: RecordBatch, payload: bytes) -> list[Record] | None:
    found: list[Record] | None = native.payload_objects(
        KIND.number,
        KIND.header(batch, used=True),
        batch.num_records,
        payload,
        Record,
        CORE.record_plan,
        CORE.record_text,
    )
    return found


def _columns(entry: bytes, payload: bytes, rows: int, layout: Layout) -> list[Any] | None:
    """The same from columns, of a payload apart from its header."""
    item = [1, 0, len(entry), 0, 0, len(payload), rows, 0]
    status, columns = decode(CORE, (payload, entry), [item], layout)
    if status != native.OK:
        return None
    return records(columns.result(), rows, layout, (payload,))


def _batch(**changes: Any) -> RecordBatch:
    given: dict[str, Any] = {
        "base_offset": 100,
        "last_offset_delta": 5,
        "base_timestamp": 1_700_000_000_000,
        "max_timestamp": 1_700_000_000_900,
        "num_records": 1,
        "records": b"",
    }
    return RecordBatch(**(given | changes))


def _entry(batch: RecordBatch) -> bytes:
    return REFERENCE.serialize(
        "recordbatch.entry", Entry(base_offset=batch.base_offset, message=batch)
    )


def check(batch: RecordBatch, payload: bytes) -> bool:
    """All ways through the core against the reference; whether they accept."""
    expected = _reference(batch, payload)
    assert _objects(batch, payload) == expected
    if expected is not None and batch.num_records:
        entry = _entry(batch)
        for layout in Layout:
            assert _columns(entry, payload, batch.num_records, layout) == expected
    return expected is not None


def _payloads() -> list[tuple[RecordBatch, bytes]]:
    found = []
    for golden in golden_segments():
        if golden.version not in ("0.11.0.3", "4.3.1"):
            continue
        batches = [b for b in Segment(golden.path, codec=REFERENCE).batches() if b.magic == 2]
        for batch in batches[:2]:
            assert isinstance(batch.message, RecordBatch)
            found.append((batch.message, bytes(batch.decompressed())))
    return found


PAYLOADS = _payloads()


def _broken(chance: random.Random, payload: bytes) -> bytes:
    data = bytearray(payload)
    for _ in range(chance.randint(1, 3)):
        where = chance.randrange(len(data)) if data else 0
        match chance.randrange(6):
            case 0 if data:
                data[where] ^= 1 << chance.randrange(8)
            case 1:
                data.insert(where, chance.choice([0, 1, 0x7F, 0x80, 0xFF]))
            case 2 if data:
                del data[where]
            case 3:
                del data[where:]
            case 4 if data:  # a longer code of the same number, or of another
                data[where] |= 0x80
                data.insert(where + 1, chance.choice([0, 0, 1, 0x80]))
            case 5 if data:
                data[where : where + 5] = chance.choice(
                    [b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x7f", b"\xfe\xff\xff\xff\x0f"]
                )
    return bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_broken_payloads(seed: int) -> None:
    chance = random.Random(seed)
    accepted = 0
    for _ in range(400):
        batch, payload = chance.choice(PAYLOADS)
        accepted += check(batch, _broken(chance, payload[: 1 << 12]))
        accepted += check(batch, _broken(chance, payload))
    assert accepted > 10, "there must be accepted ones among them"


def _varint(number: int, padding: int = 0) -> bytes:
    code = (number << 1) ^ (number >> 63)
    code &= (1 << 64) - 1
    out = bytearray()
    while code >= 0x80:
        out.append(code & 0x7F | 0x80)
        code >>= 7
    out.append(code)
    for _ in range(padding):
        out[-1] |= 0x80
        out.append(0)
    return bytes(out)


_numbers = st.one_of(
    st.integers(-70, 200),
    st.integers(-(1 << 31), (1 << 31) - 1),
    st.integers(-(1 << 63), 2**63 - 1),
)
_codes = st.one_of(
    st.builds(_varint, st.integers(0, 40), st.integers(0, 3)),
    st.builds(_varint, _numbers, st.integers(0, 9)),
    st.binary(min_size=1, max_size=11),
)


@st.composite
def made_record(draw: st.DrawFn) -> bytes:
    """A record field by field, each of which may be wrong."""

    def sized(most: int) -> bytes:
        data = draw(st.binary(max_size=most))
        size = draw(st.sampled_from([len(data)] * 6 + [-1, -5, len(data) + 1]))
        padding = draw(st.sampled_from([0, 0, 0, 1, 3]))
        return _varint(size, padding) + (data if size > 0 else b"")

    headers = [sized(20) + sized(20) for _ in range(draw(st.integers(0, 3)))]
    count = draw(st.sampled_from([len(headers)] * 6 + [-1, len(headers) + 1, 1 << 30]))
    body = b"".join(
        [
            draw(st.binary(min_size=1, max_size=1)),
            draw(_codes),
            draw(_codes),
            sized(40),
            sized(300),
            _varint(count),
            *headers,
            draw(st.sampled_from([b""] * 6 + [b"\0"])),
        ]
    )
    size = draw(st.sampled_from([len(body)] * 8 + [len(body) - 1, len(body) + 1, -1]))
    return _varint(size) + body


@pytest.mark.slow
@settings(max_examples=examples(400), deadline=None)
@given(
    st.lists(made_record(), max_size=4),
    st.sampled_from([0, 0, 0, 0, 0, 1, -1, 1000]),
    st.sampled_from([0, -1, 2**63 - 1, -(2**63), 2**31]),
    st.sampled_from([0, 2**63 - 1, -(2**63)]),
    st.booleans(),
)
def test_made_records(
    items: list[bytes], more: int, base_offset: int, base_timestamp: int, appended: bool
) -> None:
    batch = _batch(
        base_offset=base_offset,
        base_timestamp=base_timestamp,
        attributes=BatchAttributes(timestamp_type=int(appended)),
        num_records=max(len(items) + more, 0),
    )
    check(batch, b"".join(items))


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(max_size=60), st.integers(0, 4))
def test_any_bytes(payload: bytes, count: int) -> None:
    check(_batch(num_records=count), payload)


def test_every_cut_of_a_payload() -> None:
    for batch, payload in PAYLOADS[:6]:
        for end in range(min(len(payload), 400)):
            assert not check(batch, payload[:end]) or batch.num_records == 0


def _as_columns(entry: Any) -> dict[str, int]:
    """The row of a scan for a parsed entry."""
    found = {"base_offset": entry.base_offset, "len_message": entry.len_message}
    message = entry.message
    key = "recordbatch.record_batch" if message.magic == 2 else "recordbatch.legacy_message"
    for name in CORE.kinds[key].names:
        if name.endswith((".position", ".size")):
            continue
        value = message
        for part in name.split("."):
            value = getattr(value, part)
        if value is not None:
            found[name] = int(value)
    for name in ("key", "value", "records"):
        if hasattr(message, name):
            value = getattr(message, name)
            found[f"{name}.size"] = -1 if value is None else len(value)
    return found


def check_entry(data: bytes) -> bool:
    """A scan of one entry against the Python codec."""
    table = scan(CORE, data, capacity=2)
    try:
        entry, end = REFERENCE.parse("recordbatch.entry", data)
    except KafkaSpecError as error:
        assert table.count == 0
        if not data:
            assert table.end is End.COMPLETE
        elif error.path in ("/base_offset", "/len_message", "/message"):
            short = error.reason in ("truncated", "overrun")
            assert table.end is (End.SHORT if short else End.IRREGULAR)
        else:
            assert table.end is End.IRREGULAR
        return False
    assert table.count >= 1
    assert table.column("position")[0] == 0
    assert table.column("size")[0] == end
    for name, value in _as_columns(entry).items():
        assert table.has(name, 0), name
        assert table.column(name)[0] == value, name
    for name in ("key", "value", "records"):
        content = getattr(entry.message, name, None)
        if content is not None:
            start = table.column(f"{name}.position")[0]
            assert data[start : start + len(content)] == bytes(content)
    return True


@pytest.mark.parametrize("seed", range(4))
def test_broken_entries(seed: int) -> None:
    chance = random.Random(seed)
    entries = []
    for golden in golden_segments():
        batches = list(Segment(golden.path, codec=REFERENCE).batches())
        entries += [bytes(batch.data)[:2000] for batch in batches[:2]]
        entries += [bytes(batch.data) for batch in batches[:1]]
    accepted = 0
    for _ in range(500):
        data = bytearray(chance.choice(entries))
        if chance.random() < 0.5:  # the header is where it hurts
            data[chance.randrange(min(len(data), 61))] = chance.choice(
                [0, 1, 2, 3, 0x7F, 0x80, 255]
            )
        else:
            data = bytearray(_broken(chance, bytes(data)))
        accepted += check_entry(bytes(data))
    assert accepted > 10


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(max_size=120))
def test_any_bytes_as_an_entry(data: bytes) -> None:
    check_entry(data)


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2), st.binary(min_size=10, max_size=100), st.integers(-1, 100))
def test_any_bytes_behind_a_sound_frame(magic: int, data: bytes, size: int) -> None:
    content = data[:4] + bytes([magic]) + data[5:]
    check_entry(bytes(8) + (len(content) if size < 0 else size).to_bytes(4, "big") + content)


def test_legacy_messages_in_runs() -> None:
    """A run of messages that are not compressed is one item."""
    runs = 0
    for golden in golden_segments():
        data = golden.path.read_bytes()
        batches = list(Segment(golden.path, codec=REFERENCE).batches())
        if not batches or any(batch.magic == 2 or batch.is_compressed for batch in batches):
            continue
        runs += 1
        item = [0, 0, batches[-1].end, -1, 0, 0, len(batches), native.VERIFY | native.ENTRIES]
        expected = [record for batch in batches for record in batch.records()]
        for layout in Layout:
            status, columns = decode(CORE, (data,), [item], layout)
            assert status == native.OK
            assert records(columns.result(), len(expected), layout, (data,)) == expected
    assert runs > 5
