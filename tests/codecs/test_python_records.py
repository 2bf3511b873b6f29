"""The loop without checks: it accepts nothing that the checked parser refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkaspec._generated.python.model.recordbatch import (
    BatchAttributes,
    Header,
    Record,
    RecordBatch,
    RecordSet,
)
from kafkaspec._generated.python.records import decode_record_set as fast_records
from kafkaspec.codecs import Codec
from tests.codecs.python_cases import (
    CODEC,
    MAX64,
    make_batch,
    outcome,
    unhex,
)
from tests.extent import examples

keys = st.none() | st.binary(max_size=20)
values = st.none() | st.binary(max_size=200)
deltas = st.integers(-64, 8191) | st.integers(-MAX64 - 1, MAX64)
offsets = st.integers(0, 200) | st.integers(-(1 << 31), (1 << 31) - 1)
full_headers = st.lists(
    st.tuples(st.binary(max_size=6), st.none() | st.binary(max_size=80)), max_size=4
)
full_rows = st.lists(st.tuples(deltas, offsets, keys, values, full_headers), max_size=6)
bases = st.sampled_from([0, -1, 1_700_000_000_000, MAX64, -MAX64 - 1, 1 << 62, -(1 << 62)])


def _payload(batch: RecordBatch, rows: list[Any]) -> bytes:
    records = [
        Record(
            batch=batch,
            timestamp_delta=timestamp,
            offset_delta=offset,
            key=key,
            value=value,
            headers=[Header(key=k, value=v) for k, v in pairs],
        )
        for timestamp, offset, key, value, pairs in rows
    ]
    counted = replace(batch, num_records=len(rows))
    return CODEC.serialize("recordbatch.record_set", RecordSet(batch=counted, records=records))


def _checked(batch: RecordBatch, payload: bytes) -> Any:
    return outcome(lambda: Codec.decode_records(CODEC, batch, payload))


@given(full_rows, bases, bases, st.integers(0, 1))
def test_loop_and_parser_agree(
    rows: list[Any], base_offset: int, base_timestamp: int, timestamp_type: int
) -> None:
    batch = make_batch(
        base_offset=base_offset,
        base_timestamp=base_timestamp,
        max_timestamp=77,
        num_records=len(rows),
        attributes=BatchAttributes(timestamp_type=timestamp_type),
    )
    payload = _payload(batch, rows)
    expected = _checked(batch, payload)
    assert CODEC.decode_records(batch, payload) == expected
    assert fast_records(batch, payload) in (None, expected)


@st.composite
def codes(draw: st.DrawFn, numbers: st.SearchStrategy[int], bits: int = 32) -> bytes:
    """A varint as it is coded, now and then longer than needed or with bits that do not fit."""
    code = draw(numbers)
    code = (code << 1) ^ (code >> (bits - 1))
    size = max(1, -(-code.bit_length() // 7)) + draw(st.sampled_from([0, 0, 0, 0, 1, 2, 12]))
    groups = [(code >> (7 * i)) & 0x7F for i in range(size)]
    if draw(st.integers(0, 20)) == 0:
        groups[-1] |= 0x70
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def wrong_sometimes(right: int, *wrong: int) -> st.SearchStrategy[int]:
    """The right number mostly."""
    return st.sampled_from([right] * 4 + list(wrong))


@st.composite
def sized(draw: st.DrawFn, content: bytes) -> bytes:
    """Bytes after their size, which may be wrong, negative, or negative and of that amount."""
    size = len(content)
    numbers = wrong_sometimes(size, -1, size + 1, max(0, size - 1), -size - 1)
    return draw(codes(numbers)) + content


@st.composite
def odd_records(draw: st.DrawFn) -> bytes:
    """Records of which each part is right mostly, and wrong in the ways that readers miss."""
    pairs = draw(st.lists(st.binary(max_size=3), max_size=3))
    count = draw(wrong_sometimes(len(pairs), -1, len(pairs) + 1, -len(pairs) - 1))
    timestamps = st.integers(-70, 70) | st.sampled_from([1 << 62, -(1 << 62) - 1, MAX64])
    parts = [
        draw(st.sampled_from([b"\0", b"\x80"])),
        draw(codes(timestamps, bits=64)),
        draw(codes(st.integers(-70, 70) | st.sampled_from([1 << 14, -(1 << 31)]))),
        draw(sized(draw(st.binary(max_size=4)))),
        draw(sized(draw(st.sampled_from([b"", b"abc", b"x" * 64, b"y" * 8192])))),
        draw(codes(st.just(count))),
        *(draw(sized(key)) + draw(sized(b"v")) for key in pairs),
    ]
    return draw(sized(b"".join(parts)))


@pytest.mark.slow
@given(st.lists(odd_records(), min_size=1, max_size=3), st.data())
@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow])
def test_loop_accepts_nothing_that_the_parser_refuses(records: list[bytes], data: Any) -> None:
    payload = b"".join(records)
    payload = payload[: len(payload) - data.draw(wrong_sometimes(0, 1, 5))]
    batch = make_batch(
        base_offset=data.draw(bases),
        base_timestamp=data.draw(bases),
        num_records=max(0, len(records) + data.draw(wrong_sometimes(0, 1, -1))),
    )
    expected = _checked(batch, payload)
    assert fast_records(batch, payload) in (None, expected)
    assert outcome(lambda: CODEC.decode_records(batch, payload)) == expected


@pytest.mark.core
@given(full_rows, st.data())
def test_changed_bytes(rows: list[Any], data: Any) -> None:
    payload = bytearray(_payload(make_batch(), rows))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(payload)))
        match data.draw(st.sampled_from(["change", "cut", "insert", "flip"])):
            case "change" if place < len(payload):
                payload[place] = data.draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0x81, 0xFF]))
            case "flip" if place < len(payload):
                payload[place] ^= 1 << data.draw(st.integers(0, 7))
            case "cut":
                del payload[place : place + data.draw(st.integers(1, 3))]
            case _:
                payload[place:place] = data.draw(st.binary(max_size=3))
    batch = make_batch(num_records=len(rows))
    expected = _checked(batch, bytes(payload))
    assert fast_records(batch, bytes(payload)) in (None, expected)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        # What a loop that only compares positions at the end would take.
        ("0d 00 00 00 01 01 00", "invalid_value"),
        ("0c 00 00 00 01 01 01", "invalid_value"),
        ("10 00 00 00 01 01 02 01 02", "invalid_value"),
        ("0e 00 00 00 01 01 02 01", "invalid_value"),
        ("14 00 00 00 01 01 02 05 61 62 01", "invalid_value"),
        ("0e 00 00 00 01 04 61 00", "overrun"),
    ],
)
def test_sizes_that_fit_by_their_amount_only(body: str, reason: str) -> None:
    batch = make_batch(num_records=1)
    payload = unhex(body)
    assert fast_records(batch, payload) is None
    assert _checked(batch, payload)["reason"] == reason


@pytest.mark.parametrize(
    ("base", "delta"),
    [(MAX64, 1), (1 << 62, 1 << 62), (-(1 << 62) - 1, -(1 << 62)), (1, MAX64), (-2, -MAX64)],
)
def test_sums_wrap_around_as_in_java(base: int, delta: int) -> None:
    batch = make_batch(base_timestamp=base, num_records=1)
    (record,) = CODEC.decode_records(batch, _payload(batch, [(delta, 0, None, None, [])]))
    assert record.timestamp == (base + delta + (1 << 63)) % (1 << 64) - (1 << 63)
    batch = make_batch(base_offset=base, num_records=1)
    (record,) = CODEC.decode_records(batch, _payload(batch, [(0, 9, None, None, [])]))
    assert record.offset == (base + 9 + (1 << 63)) % (1 << 64) - (1 << 63)


def test_loop_runs_where_it_is_made_for() -> None:
    """Otherwise all of the above would hold for a loop that always gives up."""
    rows = [
        (i * 1000, i, b"k" * i, None if i % 3 else b"v" * 300, [(b"h", b"1")] * (i % 3))
        for i in range(150)
    ]
    batch = make_batch(num_records=150)
    assert fast_records(batch, _payload(batch, rows)) is not None
    assert fast_records(batch, _payload(batch, rows) + b"\0") is None
    assert fast_records(make_batch(), b"anything, since no record is expected (Q9)") == []


def test_header_keys_need_not_be_text() -> None:
    batch = make_batch(num_records=1)
    payload = _payload(batch, [(0, 0, None, None, [(b"\xff", b"")])])
    (record,) = CODEC.decode_records(batch, payload)
    assert record.headers == (("\udcff", b""),)
