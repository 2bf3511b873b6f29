"""Every codec reads every record of every golden file, and all say what Kafka says."""

from __future__ import annotations

from typing import Any

import pytest

from kafkaspec.conformance import dump_text
from kafkaspec.log.batch import NO_TIMESTAMP, Batch
from kafkaspec.log.legacy import LegacyBatch
from kafkaspec.model import Record
from tests.agreement.conftest import Reading
from tests.goldens import (
    Golden,
    compacted,
    files,
    partitions,
    produced,
    release,
)


def has_batch_lines(version: str) -> bool:
    """Whether its dump tool prints lines about batches, not only about records."""
    return release(version) >= (2, 2)


def shows_tombstone_keys(version: str) -> bool:
    """Whether its dump tool prints a key where the value is null."""
    return not (0, 9) <= release(version) < (2, 4)


@pytest.mark.slow
def test_records_are_those_that_the_broker_acknowledged(reading: Reading) -> None:
    """All of them, in order; where the cleaner worked, those that it left."""
    version, checked = reading.version, 0
    for directory in partitions(version):
        sent = produced(version).get(directory.name)
        if sent is None:  # an internal topic
            continue
        expected = {
            item["offset"]: Record(
                item["offset"],
                NO_TIMESTAMP if item["timestamp"] is None else item["timestamp"],
                item["key"],
                item["value"],
                item["headers"],
            )
            for item in sent
        }
        found = [
            record
            for path in sorted(directory.glob("*.log"))
            for batch, records in reading.read(path)
            for record in records
            if not batch.is_control
        ]
        if directory.name in compacted(version):
            assert found == [expected[record.offset] for record in found]
            assert sorted({record.offset for record in found}) == [r.offset for r in found]
            checked += len(found)
            continue
        assert found == [expected[offset] for offset in sorted(expected)], directory.name
        checked += len(found)
    assert checked > 150


def test_batches_are_compressed_as_the_broker_was_told(reading: Reading) -> None:
    version = reading.version
    for directory in partitions(version):
        sent = produced(version).get(directory.name, ())
        expected = {item["offset"]: item["compression"] for item in sent}
        for path in directory.glob("*.log"):
            for batch, records in reading.read(path):
                for record in records:
                    if not batch.is_control and record.offset in expected:
                        assert batch.compression_name == expected[record.offset]


@pytest.mark.slow
def test_the_dump_tool_says_the_same(reading: Reading) -> None:
    for golden in files(".log", ".checkpoint", version=reading.version):
        if golden.dumped:
            compare_with_dump(golden, reading)


def compare_with_dump(golden: Golden, reading: Reading) -> None:
    """Line by line."""
    bars = has_batch_lines(golden.version)
    lines = iter(dump_text.batch_lines(golden.dump))
    for batch, records in reading.read(golden.path):
        if bars:
            line = next(lines)
            assert line.batch
            compare(line.values, batch_values(batch))
        inner = list(batch.inner_messages()) if isinstance(batch, LegacyBatch) else []
        for index, record in enumerate(records):
            line = next(lines)
            assert not line.batch
            message = inner[index].message if inner else batch.message
            values = record_values(batch, record, message, golden.version)
            compare(line.values, values)
            if line.header_keys is not None:
                assert line.header_keys == ",".join(key for key, _ in record.headers)
            if not batch.is_control:
                if golden.partition.startswith(("__", ".")):  # shown by a decoder of its own
                    continue
                assert line.text == text_of(record, golden.version)
    assert next(lines, None) is None


def compare(said: dict[str, str], ours: dict[str, Any]) -> None:
    """Every value that the tool prints is ours, and it prints nothing that is not compared."""
    for name, value in said.items():
        expected = ours[name]
        if isinstance(expected, bool):
            expected = str(expected).lower()
        assert value.lower() == str(expected).lower(), name


def batch_values(batch: Batch) -> dict[str, Any]:
    """The values in a line about a batch, by name."""
    horizon = batch.delete_horizon
    return {
        "offset": batch.last_offset,
        "baseOffset": batch.base_offset,
        "lastOffset": batch.last_offset,
        "count": batch.num_records,
        "baseSequence": batch.base_sequence,
        "lastSequence": batch.last_sequence,
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "partitionLeaderEpoch": batch.partition_leader_epoch,
        "isTransactional": batch.is_transactional,
        "isControl": batch.is_control,
        "deleteHorizonMs": "OptionalLong.empty" if horizon is None else f"OptionalLong[{horizon}]",
        "position": batch.position,
        batch.timestamp_type: batch.max_timestamp,
        "size": batch.size,
        "batchSize": batch.size,
        "magic": batch.magic,
        "compresscodec": batch.compression_name,
        "compressType": batch.compression_name,
        "crc": batch.crc,
        "isvalid": batch.crc_valid,
        "isValid": batch.crc_valid,
    }


def record_values(batch: Batch, record: Record, message: Any, version: str) -> dict[str, Any]:
    """The values in a line about a record, by name."""
    values = batch_values(batch)
    size = {
        "keysize": -1 if record.key is None else len(record.key),
        "valuesize": -1 if record.value is None else len(record.value),
    }
    values |= size | {"keySize": size["keysize"], "valueSize": size["valuesize"]}
    values |= {
        "offset": record.offset,
        "payloadsize": size["valuesize"],
        batch.timestamp_type: record.timestamp,
        "sequence": batch.sequence(record.offset),
        "crc": "null" if batch.magic == 2 else message.crc,
    }
    if batch.magic < 2 and release(version) < (0, 11):
        # These iterate over the inner messages, which are not compressed themselves.
        new_names = release(version) >= (0, 10, 2)
        values["compresscodec"] = "NONE" if new_names else "NoCompressionCodec"
    if batch.is_control:
        control = next(item for item in batch.control_records() if item.record == record)
        if control.type_name in ("ABORT", "COMMIT"):
            values["endTxnMarker"] = control.type_name
            values["coordinatorEpoch"] = control.body.coordinator_epoch
    return values


def text_of(record: Record, version: str) -> str:
    """Key and payload as that version prints them.

    0.8 prints a null payload, later ones do not; from then to 2.3 a tombstone has no key either.
    """
    if release(version) < (0, 8, 1):  # dumped without data
        return ""
    parts = []
    if record.key is not None and (record.value is not None or shows_tombstone_keys(version)):
        parts.append("key: " + dump_text.shown(record.key))
    if record.value is not None:
        parts.append("payload: " + dump_text.shown(record.value))
    elif release(version) < (0, 9):
        parts.append("payload: null")
    return " ".join(parts)
