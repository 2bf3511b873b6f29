"""Indexes, snapshots and control records of the golden files, as Kafka's dump tool shows them."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.codecs import Codec
from kafkaspec.conformance import dump_text
from kafkaspec.files.indexes import OffsetIndex, TimeIndex
from kafkaspec.files.snapshots import ProducerSnapshot, TransactionIndex
from kafkaspec.layout import Kind
from kafkaspec.log.segment import Segment
from tests.goldens import MATRIX, Golden, files
from tests.loops import each

KRAFT = [
    golden
    for golden in files(".log", ".checkpoint")
    if golden.partition in (".", "__cluster_metadata-0") and golden.dumped
]


@pytest.mark.parametrize(("version", "codec"), MATRIX, indirect=["codec"])
def test_offset_index(version: str, codec: Codec) -> None:
    for golden in files(".index", version=version):
        check_offset_index(golden, codec)


def check_offset_index(golden: Golden, codec: Codec) -> None:
    index = OffsetIndex(golden.path, codec=codec)
    said = [(entry["offset"], entry["position"]) for entry in lines(golden)]
    assert [(entry.offset, entry.position) for entry in index.entries] == said
    assert index.sanity_check() == []


@pytest.mark.parametrize(("version", "codec"), MATRIX, indirect=["codec"])
def test_time_index(version: str, codec: Codec) -> None:
    for golden in files(".timeindex", version=version):
        check_time_index(golden, codec)


def check_time_index(golden: Golden, codec: Codec) -> None:
    index = TimeIndex(golden.path, codec=codec)
    said = [(entry["timestamp"], entry["offset"]) for entry in lines(golden)]
    found = [(entry.timestamp, entry.offset) for entry in index.entries]
    # For an empty file the tool prints what its own look-up of nothing gives.
    assert found == said or (found == [] and len(said) <= 1)
    assert index.sanity_check() == []


@pytest.mark.parametrize(("version", "codec"), MATRIX, indirect=["codec"])
def test_transaction_index(version: str, codec: Codec) -> None:
    for golden in files(".txnindex", version=version):
        check_transaction_index(golden, codec)


def check_transaction_index(golden: Golden, codec: Codec) -> None:
    found = [
        {
            "version": entry.version,
            "producerId": entry.producer_id,
            "firstOffset": entry.first_offset,
            "lastOffset": entry.last_offset,
            "lastStableOffset": entry.last_stable_offset,
        }
        for entry in TransactionIndex(golden.path, codec=codec).entries
    ]
    assert found == dump_text.index_lines(golden.dump)


@pytest.mark.parametrize(("version", "codec"), MATRIX, indirect=["codec"])
def test_producer_snapshot(version: str, codec: Codec) -> None:
    for golden in files(".snapshot", version=version):
        check_producer_snapshot(golden, codec)


def check_producer_snapshot(golden: Golden, codec: Codec) -> None:
    snapshot = ProducerSnapshot(golden.path, codec=codec)
    assert snapshot.crc_valid
    said = dump_text.snapshot_lines(golden.dump)
    assert len(snapshot.entries) == len(said)
    for entry, values in zip(snapshot.entries, said, strict=True):
        # 0.11 says lastTimestamp for the one time that there is; from 3.1 on both names occur.
        expected = {
            "producerId": entry.producer_id,
            "producerEpoch": entry.producer_epoch,
            "coordinatorEpoch": entry.coordinator_epoch,
            "currentTxnFirstOffset": entry.current_txn_first_offset,
            "lastTimestamp": entry.timestamp,
            "firstSequence": entry.first_sequence,
            "lastSequence": entry.last_sequence,
            "lastOffset": entry.last_offset,
            "offsetDelta": entry.offset_delta,
            "timestamp": entry.timestamp,
        }
        for name, value in values.items():
            assert optional(value) == expected[name], name


@pytest.mark.slow
@each("golden", KRAFT)
def test_kraft_control_records(golden: Golden, codec: Codec) -> None:
    """Every field of every body, as JSON."""
    said = [
        line.text
        for line in dump_text.batch_lines(golden.dump)
        if not line.batch and line.text and not line.text.startswith("payload: ")
    ]
    found = [
        control
        for batch in Segment(golden.path, codec=codec).batches()
        for control in batch.control_records()
    ]
    assert found
    for control, text in zip(found, said, strict=True):
        if text.startswith("controlType: "):  # up to 4.0 all that is shown of a leader change
            assert text == f"controlType: {control.type_name}({control.key.type})"
        else:
            assert as_json(control.body) == json.loads(text[text.index("{") :])


def lines(golden: Golden) -> list[dict[str, int]]:
    return dump_text.index_lines(golden.dump)


def optional(text: str) -> int:
    """A number, or what Scala and Java print for one that may not be there."""
    if text in ("None", "OptionalLong.empty"):
        return -1
    return int(text.removeprefix("Some(").removeprefix("OptionalLong[").rstrip(")]"))


def as_json(body: Any) -> Any:
    """A body of the typed model under Kafka's names, as its JSON converters write it."""
    layout = next(
        item
        for key, item in LAYOUTS.items()
        if key.startswith("control_record.") and item.class_name == type(body).__name__
    )
    found = {}
    for field in layout.fields:
        if not field.original_id or field.derive:
            continue
        value = getattr(body, field.id)
        if isinstance(value, list):
            value = [as_json(item) for item in value]
        elif field.kind is Kind.TYPE:
            value = as_json(value)
        elif field.kind is Kind.BYTES:  # a UUID
            value = base64.urlsafe_b64encode(value).decode("ascii").rstrip("=")
        elif isinstance(value, bytes):
            value = value.decode("utf-8")
        found[field.original_id[0].lower() + field.original_id[1:]] = value
    return found
