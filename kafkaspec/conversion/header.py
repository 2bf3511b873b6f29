"""Change the header of an entry, in place or by writing the entry again."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

from kafkaspec._generated.python.model.recordbatch import CompressionType, Entry
from kafkaspec.codecs import Codec
from kafkaspec.layout import names
from kafkaspec.layout.framing import ENTRY
from kafkaspec.log.batch import Batch
from kafkaspec.model import Buffer
from kafkaspec.writing.editing import changed, epoch_place, put, put_offset, written

_PLAIN: Final = {field.name for field in fields(Entry) if field.init} == {
    names.BASE_OFFSET,
    "message",
}
"""Whether an entry has no fields besides its message and those that the message needs."""


def with_payload(
    codec: Codec,
    batch: Batch,
    payload: Buffer,
    compression: CompressionType,
    *,
    base_offset: int,
    leader_epoch: int,
) -> bytes:
    """Return a batch with the given changes to its header, and a new size and checksum.

    Args:
        codec: writes the batch.
        batch: the old batch.
        payload: records as stored, after compression.
        compression: compression of ``payload``.
        base_offset: first offset.
        leader_epoch: leader epoch; ignored if the format has none.
    """
    values: dict[str, Any] = {
        names.BASE_OFFSET: base_offset,
        names.COMPRESSION: compression,
        batch.kind.payload: bytes(payload),
    }
    if batch.kind.has_leader_epochs:
        values[names.LEADER_EPOCH] = leader_epoch
    if not _PLAIN:
        return written(codec, batch.data, values)
    message = changed(batch.message, values)
    return codec.serialize(ENTRY, Entry(base_offset=base_offset, message=message))


def edited(batch: Batch, offset: int, leader_epoch: int, codec: Codec) -> Buffer:
    """Return an entry with another offset and leader epoch, or its own bytes if it has these.

    Args:
        batch: the entry.
        offset: base offset of a batch, or offset of a message.
        leader_epoch: leader epoch; ignored if the format has none.
        codec: writes the entry again where its bytes cannot be changed in place.

    Raises:
        KafkaSpecError: ``unencodable``.
    """
    stored = batch.base_offset if batch.kind.has_record_sets else batch.last_offset
    new_epoch = batch.kind.has_leader_epochs and leader_epoch != batch.partition_leader_epoch
    if offset == stored and not new_epoch:
        return batch.data
    place = epoch_place(batch.kind) if new_epoch else None
    if new_epoch and place is None:
        values = {names.BASE_OFFSET: offset, names.LEADER_EPOCH: leader_epoch}
        return written(codec, batch.data, values)
    data = bytearray(batch.data)
    put_offset(data, 0, offset)
    if place is not None:
        put(data, 0, place, leader_epoch)
    return data
