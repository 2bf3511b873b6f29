"""Entries with another header: fields changed in place, or the entry written again.

Offset and leader epoch lie outside of every checksum today (Kafka writes them into ready bytes:
``DefaultRecordBatch.setLastOffset``, ``setPartitionLeaderEpoch``). Where the layout says that a
field is covered, or where it does not say where the field lies, the entry is parsed and written
with a new checksum.
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from typing import Any, Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model.recordbatch import CompressionType, Entry
from kafkaspec.codecs import Codec
from kafkaspec.conversion.fields import changed
from kafkaspec.layout import EntryKind, Kind, names
from kafkaspec.layout.framing import ENTRY, FRAMING, field_of, field_position
from kafkaspec.log.batch import Batch
from kafkaspec.model import Buffer

_OFFSET: Final = (
    field_position(LAYOUTS[ENTRY], names.BASE_OFFSET),
    field_of(ENTRY, names.BASE_OFFSET).size,
)
_PLAIN: Final = {field.name for field in fields(Entry) if field.init} == {"base_offset", "message"}
"""Whether an entry has nothing but its message and what that needs."""


@cache
def _epoch_place(kind: EntryKind) -> tuple[int, int] | None:
    """Where the leader epoch lies in an entry, None where it cannot be changed by itself."""
    layout = LAYOUTS[kind.key]
    start = 0
    for field in layout.fields:
        if field.id == names.LEADER_EPOCH:
            covered = layout.checksum is not None and start + field.size > layout.checksum.start
            return None if covered or not field.size else (FRAMING + start, field.size)
        size = LAYOUTS[field.type].fixed_size if field.kind is Kind.TYPE else field.size
        if not size or field.optional or field.repeated:
            return None
        start += size
    return None


def put_offset(entries: bytearray, position: int, offset: int) -> None:
    """Write the offset field of the entry at ``position``.

    Raises:
        OverflowError: the field cannot hold it.
    """
    _put(entries, position, _OFFSET, offset)


def _put(entries: bytearray, position: int, place: tuple[int, int], value: int) -> None:
    start = position + place[0]
    entries[start : start + place[1]] = value.to_bytes(place[1], "big", signed=True)


def with_payload(
    codec: Codec,
    batch: Batch,
    payload: Buffer,
    compression: CompressionType,
    *,
    base_offset: int,
    leader_epoch: int,
) -> bytes:
    """Return a batch with the same header but what is given, and a new size and checksum.

    Args:
        codec: writes it.
        batch: as it was.
        payload: its records as they are to be stored.
        compression: codec of ``payload``.
        base_offset: first offset.
        leader_epoch: leader epoch, if the format has one.
    """
    values = {names.COMPRESSION: compression, batch.kind.payload: bytes(payload)}
    return _written(codec, batch, base_offset, leader_epoch, values)


def edited(batch: Batch, offset: int, leader_epoch: int, codec: Codec) -> Buffer:
    """Return the entry with that offset and leader epoch; no copy if it has them."""
    stored = batch.base_offset if batch.kind.has_record_sets else batch.last_offset
    new_epoch = batch.kind.has_leader_epochs and leader_epoch != batch.partition_leader_epoch
    if offset == stored and not new_epoch:
        return batch.data
    place = _epoch_place(batch.kind) if new_epoch else None
    if new_epoch and place is None:
        return _written(codec, batch, offset, leader_epoch, {})
    data = bytearray(batch.data)
    put_offset(data, 0, offset)
    if place is not None:
        _put(data, 0, place, leader_epoch)
    return data


def _written(
    codec: Codec, batch: Batch, offset: int, leader_epoch: int, values: dict[str, Any]
) -> bytes:
    """Return the entry written again, with other values of its header by dotted name."""
    values = {names.BASE_OFFSET: offset, **values}
    if batch.kind.has_leader_epochs:
        values[names.LEADER_EPOCH] = leader_epoch
    message = changed(batch.message, values)
    if _PLAIN:
        return codec.serialize(ENTRY, Entry(base_offset=offset, message=message))
    entry, _ = codec.parse(ENTRY, batch.data)
    return codec.serialize(ENTRY, replace(entry, base_offset=offset, message=message))
