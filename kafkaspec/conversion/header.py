"""Entries with another header: fields changed in place, or the header made anew.

Offset and leader epoch lie outside of every checksum (Kafka: ``DefaultRecordBatch.setLastOffset``
and ``setPartitionLeaderEpoch`` write them into ready bytes just so).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model.recordbatch import CompressionType, Entry, RecordBatch
from kafkaspec.codecs import Buffer, Codec
from kafkaspec.layout.framing import (
    ENTRY,
    FRAMING,
    LEGACY_MESSAGE,
    RECORD_BATCH,
    field_of,
    field_position,
)
from kafkaspec.log.batch import Batch

_BATCH_MAGIC: Final = 2
_OFFSET: Final = (
    field_position(LAYOUTS[ENTRY], "base_offset"),
    field_of(ENTRY, "base_offset").size,
)
_LEADER_EPOCH: Final = (
    FRAMING + field_position(LAYOUTS[RECORD_BATCH], "partition_leader_epoch"),
    field_of(RECORD_BATCH, "partition_leader_epoch").size,
)

for _key in (LEGACY_MESSAGE, RECORD_BATCH):
    _checksum = LAYOUTS[_key].checksum
    if _checksum is None or FRAMING + _checksum.start < sum(_LEADER_EPOCH):
        raise TypeError(f"{_key}: offset or leader epoch would be covered by the checksum")


def put_offset(entries: bytearray, position: int, offset: int) -> None:
    """Write the offset field of the entry at ``position``.

    Raises:
        OverflowError: the field cannot hold it.
    """
    _put(entries, position, _OFFSET, offset)


def put_leader_epoch(entries: bytearray, position: int, leader_epoch: int) -> None:
    """Write the leader epoch of the batch of magic 2 at ``position``.

    Raises:
        OverflowError: the field cannot hold it.
    """
    _put(entries, position, _LEADER_EPOCH, leader_epoch)


def _put(entries: bytearray, position: int, place: tuple[int, int], value: int) -> None:
    start = position + place[0]
    entries[start : start + place[1]] = value.to_bytes(place[1], "big", signed=True)


def with_payload(
    codec: Codec,
    message: RecordBatch,
    payload: Buffer,
    compression: CompressionType,
    *,
    base_offset: int,
    leader_epoch: int,
) -> bytes:
    """A batch with the same header but what is given, and a new size and checksum.

    Args:
        codec: writes it.
        message: the batch as it was.
        payload: its records as they are to be stored.
        compression: codec of ``payload``.
        base_offset: first offset.
        leader_epoch: leader epoch.
    """
    made = replace(
        message,
        base_offset=base_offset,
        partition_leader_epoch=leader_epoch,
        attributes=replace(message.attributes, compression=compression),
        records=bytes(payload),
    )
    return codec.serialize(ENTRY, Entry(base_offset=base_offset, message=made))


def edited(batch: Batch, offset: int, leader_epoch: int) -> Buffer:
    """The entry with that offset and, in magic 2, that leader epoch; no copy if it has them."""
    stored = batch.base_offset if batch.magic == _BATCH_MAGIC else batch.last_offset
    new_epoch = batch.magic == _BATCH_MAGIC and leader_epoch != batch.partition_leader_epoch
    if offset == stored and not new_epoch:
        return batch.data
    data = bytearray(batch.data)
    put_offset(data, 0, offset)
    if new_epoch:
        put_leader_epoch(data, 0, leader_epoch)
    return data
