"""The loop without checks: it accepts nothing that the checked parser refuses."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kafkaspec._generated.python.model.recordbatch import (
    BatchAttributes,
    Header,
    Record,
    RecordBatch,
    RecordSet,
)
from kafkaspec._generated.python.records import decode_records as fast_records
from kafkaspec.codecs import Codec
from tests.codecs.python_cases import (
    CODEC,
    MAX64,
    make_batch,
    outcome,
)

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
    return CODEC.serialize("recordbatch.record_set", RecordSet(batch=batch, records=records))


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


@given(full_rows, st.data())
def test_loop_accepts_nothing_that_the_parser_refuses(rows: list[Any], data: Any) -> None:
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
    batch = make_batch(num_records=max(0, len(rows) + data.draw(st.integers(-1, 1))))
    expected = _checked(batch, bytes(payload))
    assert fast_records(batch, bytes(payload)) in (None, expected)
    assert outcome(lambda: CODEC.decode_records(batch, payload)) == expected


def test_loop_runs_where_it_is_made_for() -> None:
    """Otherwise all of the above would hold for a loop that always gives up."""
    rows = [
        (i, i, b"k" * i, None if i % 3 else b"v" * 300, [(b"h", b"1")] * (i % 3))
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
