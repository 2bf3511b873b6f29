"""Positions of fields: they tile the bytes, and hold what ``parse`` gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkaspec.codecs.base import Origin
from kafkaspec.codecs.references.kaitai.codec import KaitaiCodec
from kafkaspec.codecs.references.kaitai.positions import FieldPosition
from kafkaspec.errors import KafkaSpecError, Reason

CODEC = KaitaiCodec()
_VECTORS = json.loads(Path(__file__).with_name("kaitai_vectors.json").read_text("utf-8"))
ENTRIES = {name: bytes.fromhex(text) for name, text in _VECTORS["entries"].items()}
TWO_RECORDS = ENTRIES["two records"]
BATCH = CODEC.parse("recordbatch.entry", TWO_RECORDS)[0].message


def leaves(positions: list[FieldPosition]) -> list[FieldPosition]:
    """Positions that hold no others."""
    paths = [position.path for position in positions]
    return [
        position
        for position in positions
        if not any(path.startswith(position.path + "/") for path in paths)
    ]


@pytest.mark.parametrize("data", ENTRIES.values(), ids=ENTRIES)
def test_leaves_tile_the_bytes(data: bytes) -> None:
    bit = 0
    for position in leaves(CODEC.positions("recordbatch.entry", data)):
        first, last = 8 * position.start, 8 * position.end
        if position.bits is not None:
            first, last = first + position.bits[0], first + position.bits[1]
            assert position.start == first // 8
            assert position.end == (last + 7) // 8
        assert first == bit, position.path
        bit = last
    assert bit == 8 * len(data)


@pytest.mark.parametrize("data", ENTRIES.values(), ids=ENTRIES)
def test_integers_are_what_their_bytes_say(data: bytes) -> None:
    for position in leaves(CODEC.positions("recordbatch.entry", data)):
        if position.bits is not None or not isinstance(position.value, int):
            continue
        raw = data[position.start : position.end]
        assert position.value in (int.from_bytes(raw, "big"), int.from_bytes(raw, signed=True))


def test_order_depth_and_paths_of_records() -> None:
    positions = CODEC.positions("recordbatch.record_set", BATCH.records, parameters=(BATCH,))
    shown = [(p.depth, p.path, p.start, p.end, p.value) for p in positions[14:]]
    record = "/records/1/body"
    assert shown == [
        (3, f"{record}/attributes", 10, 11, 0),
        (3, f"{record}/timestamp_delta", 11, 12, -1),
        (3, f"{record}/offset_delta", 12, 13, 1),
        (3, f"{record}/key", 13, 14, None),
        (3, f"{record}/value", 14, 15, None),
        (3, f"{record}/num_headers", 15, 16, 1),
        (3, f"{record}/headers", 16, 19, None),
        (4, f"{record}/headers/0", 16, 19, None),
        (5, f"{record}/headers/0/len_key", 16, 17, 1),
        (5, f"{record}/headers/0/key", 17, 18, b"h"),
        (5, f"{record}/headers/0/value", 18, 19, None),
    ]


def test_the_parts_of_a_position() -> None:
    positions = {p.path: p for p in CODEC.positions("recordbatch.entry", b"?" + TWO_RECORDS, 1)}
    epoch = positions["/message/content/partition_leader_epoch"]
    assert (epoch.start, epoch.end, epoch.value, epoch.type) == (13, 17, 3, "")
    assert epoch.location == "recordbatch.ksy#/types/record_batch/seq/0"
    assert epoch.original_id == "partitionLeaderEpoch"
    assert epoch.doc.startswith("Epoch of the leader")
    compression = positions["/message/content/attributes/compression"]
    assert (compression.start, compression.end, compression.bits) == (23, 24, (5, 8))
    assert compression.enum == "recordbatch.compression_type"
    assert positions["/message/content"].type == "recordbatch.record_batch"
    assert positions["/message"].depth == 0


def test_positions_count_from_the_origin() -> None:
    origin = Origin(file="x.log", position=1000, path="/entries/3")
    positions = CODEC.positions("recordbatch.entry", TWO_RECORDS, origin=origin)
    first = positions[0]
    assert (first.path, first.start, first.depth) == ("/entries/3/base_offset", 1000, 2)
    origin = Origin(file="x.log", position=1061, decompressed=True)
    inner = CODEC.positions("recordbatch.record_set", BATCH.records, 0, None, (BATCH,), origin)
    assert inner[0].start == 0


def test_a_scalar_alone_is_one_position() -> None:
    (position,) = CODEC.positions("varint.varint32", b"?\x80\x01", 1)
    assert (position.path, position.start, position.end, position.value) == ("", 1, 3, 64)


@pytest.mark.parametrize("name", ENTRIES)
def test_every_truncation_keeps_the_fields_before(name: str) -> None:
    data = ENTRIES[name]
    whole = {position.path: position for position in CODEC.positions("recordbatch.entry", data)}
    for size in range(len(data)):
        positions = CODEC.positions("recordbatch.entry", data[:size])
        with pytest.raises(KafkaSpecError) as caught:
            CODEC.parse("recordbatch.entry", data[:size])
        *before, last = positions
        assert last.error is not None
        assert str(last.error) == str(caught.value)
        assert (last.path, last.start) == (caught.value.path, caught.value.position)
        assert [position for position in before if position != whole[position.path]] == []


def test_a_broken_record_shows_all_that_is_before_it() -> None:
    records = bytes(BATCH.records[:18]) + b"\x08"
    positions = CODEC.positions(
        "recordbatch.record_set", records, parameters=(BATCH,), complete=True
    )
    paths = [position.path for position in positions]
    assert paths[-2:] == ["/records/1/body/headers/0/key", "/records/1/body/headers/0/value"]
    assert paths.index("/records/0/body/value") < paths.index("/records/1/len_body")
    error = positions[-1].error
    assert error is not None
    assert (error.reason, error.position) == (Reason.OVERRUN, 18)
    frame = positions[paths.index("/records/1")]
    assert (frame.start, frame.end) == (9, 18)


def test_a_refused_value_is_shown_with_its_error() -> None:
    data = TWO_RECORDS[:57] + b"\xff" * 4 + TWO_RECORDS[61:]
    last = CODEC.positions("recordbatch.entry", data)[-1]
    assert (last.path, last.value) == ("/message/content/num_records", -1)
    assert last.error is not None
    assert last.error.reason is Reason.INVALID_VALUE


def test_surplus_bytes_are_an_error_behind_the_last_field() -> None:
    data = bytes(BATCH.records) + b"??"
    last = CODEC.positions("recordbatch.record_set", data, parameters=(BATCH,))[-1]
    assert (last.path, last.start) == ("/end", 19)
    assert last.error is not None
    assert last.error.reason is Reason.TRAILING_BYTES
