"""Golden files that are read and written again give the same bytes, with every codec."""

from __future__ import annotations

from typing import Any

from kafkaspec import encode
from kafkaspec._generated.python.model.recordbatch import Entry
from kafkaspec.layout.framing import ENTRY, RECORD_SET
from kafkaspec.log.batch import Batch
from kafkaspec.log.default import DefaultBatch
from kafkaspec.log.legacy import LegacyBatch
from tests.agreement.conftest import Reading


def test_entries(reading: Reading) -> None:
    """Headers and messages; sizes and checksums are computed, not copied."""
    for name, batch in reading.batches():
        base = batch.last_offset if isinstance(batch, LegacyBatch) else batch.base_offset
        entry = Entry(base_offset=base, message=batch.message)
        assert reading.codec.serialize(ENTRY, entry) == bytes(batch.data), name


def test_record_sets(reading: Reading) -> None:
    """Also what compressed batches hold."""
    for name, batch in reading.batches():
        if isinstance(batch, DefaultBatch) and batch.num_records:
            written = reading.codec.serialize(
                RECORD_SET, batch.record_set(), parameters=(batch.message,)
            )
            assert written == bytes(batch.decompressed()), name


def test_inner_messages(reading: Reading) -> None:
    for name, batch in reading.batches():
        if isinstance(batch, LegacyBatch):
            for inner in batch.inner_messages():
                entry = Entry(base_offset=inner.message.offset, message=inner.message)
                assert reading.codec.serialize(ENTRY, entry) == bytes(inner.data), name


def test_encode_of_the_records(reading: Reading) -> None:
    """Through the public function, from the records that a user sees.

    Of LogAppendTime the timestamps of the producer are lost on the way, and with magic 0 and 1
    entries are made one by one; all else that is not compressed comes out as the broker wrote it.
    """
    for name, batch in reading.batches():
        if batch.is_compressed or (batch.timestamp_type == "LogAppendTime" and batch.magic == 2):
            continue
        assert encode(batch.records(), codec=reading.codec, **options(batch)) == bytes(
            batch.data
        ), name


def options(batch: Batch) -> dict[str, Any]:
    """The arguments of ``encode`` that write a batch again."""
    if batch.magic < 2:
        append_time = batch.timestamp_type == "LogAppendTime"
        return {
            "magic": batch.magic,
            "timestamp_type": "LogAppendTime" if append_time else "CreateTime",
        }
    return {
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "max_timestamp": batch.max_timestamp,
        "timestamp_type": batch.timestamp_type,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "transactional": batch.is_transactional,
        "control": batch.is_control,
        "partition_leader_epoch": batch.partition_leader_epoch,
        "delete_horizon": batch.delete_horizon,
    }
