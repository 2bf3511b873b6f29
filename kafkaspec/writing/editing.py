"""Change the offset and leader epoch of an entry, in its bytes or by writing the entry again.

Kafka writes both into finished bytes, outside the range that the checksum covers
(``DefaultRecordBatch.setLastOffset``, ``setPartitionLeaderEpoch``). If, according to the layout,
the checksum covers the epoch, or the epoch has no fixed position, the entry is parsed and written
again.
"""

from __future__ import annotations

import os
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model.recordbatch import CompressionType, Entry
from kafkaspec.codecs import Codec
from kafkaspec.codecs.edited import OFFSET, changed, put, put_offset, written
from kafkaspec.errors import Reason, make_error
from kafkaspec.layout import EntryKind, Kind, names
from kafkaspec.layout.framing import ENTRY, FRAMING, LARGEST_OFFSET
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import NONE, Batch
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import read_headers
from kafkaspec.log.legacy import has_relative_offsets
from kafkaspec.log.segment import Segment
from kafkaspec.model import Buffer
from kafkaspec.output.atomic import writing


@cache
def epoch_place(kind: EntryKind) -> tuple[int, int] | None:
    """Return position and size in bytes of the leader epoch in an entry.

    None if it cannot be changed without the rest of the entry.
    """
    layout = LAYOUTS[kind.key]
    start = 0
    for field in layout.fields:
        size = LAYOUTS[field.type].fixed_size if field.kind is Kind.TYPE else field.size
        if not size or field.optional or field.repeated:
            return None
        if field.id == names.LEADER_EPOCH:
            covered = layout.checksum is not None and start + size > layout.checksum.start
            return None if covered else (FRAMING + start, size)
        start += size
    return None


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
    """Return a batch with changes to its header, a payload as stored, and a new size and checksum.

    A format without leader epochs ignores ``leader_epoch``.
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

    A format without leader epochs ignores ``leader_epoch``. The codec writes the entry again where
    its bytes cannot be changed in place.
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


def with_epoch(
    headers: HeaderTable, first: int, last: int, epoch: int
) -> tuple[memoryview, HeaderTable]:
    """Return the bytes of some entries with another leader epoch, and the headers of all with it.

    Raises:
        KafkaSpecError: ``unencodable``: a batch would get another size.
    """
    places = {magic: epoch_place(kind) for magic, kind in KINDS.items() if kind.has_leader_epochs}
    data = bytearray(headers.data(first, last))
    start = headers.position[first]
    for number in range(first, last):
        magic, at = headers.magic[number], headers.position[number] - start
        if magic not in places:
            continue
        place = places[magic]
        if place is not None:
            put(data, at, place, epoch)
            continue
        stop = at + headers.size[number]
        entry = written(headers.segment.codec, data[at:stop], {names.LEADER_EPOCH: epoch})
        if len(entry) != stop - at:
            detail = "a batch with another leader epoch would have another size"
            raise make_error(Reason.UNENCODABLE, detail, offset=headers.position[number])
        data[at:stop] = entry
    epochs = [epoch if magic in places else NONE for magic in headers.magic]
    return memoryview(data), headers.replaced({names.LEADER_EPOCH: epochs})


def move_offsets(path: Path, distance: int, *, sync: bool = True) -> None:
    """Add a number to the offsets of all entries of a segment that has no readers yet.

    The offset of an entry precedes the bytes that its checksum covers, and indexes have offsets
    relative to the base offset of the segment, so only the names of the files change too. Leaders
    assign offsets in the same way (Kafka: ``LogValidator``, ``DefaultRecordBatch.setLastOffset``).

    Raises:
        KafkaSpecError: ``unreadable``; ``unencodable``: a compressed message of magic 0, in which
            offsets are absolute, or an offset that becomes too large. Some offsets are changed by
            then.
    """
    if not distance:
        return
    with writing(path), open(path, "r+b") as file, Segment(path, tail="raise") as segment:
        for headers in read_headers(segment):
            rows = zip(
                headers.position,
                headers.magic,
                headers.compression,
                headers.first_offset,
                headers.last_offset,
                strict=True,
            )
            for position, magic, compression, first, last in rows:
                kind = KINDS[magic]
                wrapper = compression and not kind.has_record_sets
                if wrapper and not has_relative_offsets(kind):
                    detail = f"offsets inside a compressed message of magic {magic} are absolute"
                    raise make_error(
                        Reason.UNENCODABLE, detail, file=os.fspath(path), offset=position
                    )
                if not 0 <= last + distance <= LARGEST_OFFSET:
                    detail = f"offset {last} cannot be moved by {distance}"
                    raise make_error(
                        Reason.UNENCODABLE, detail, file=os.fspath(path), offset=position
                    )
                stored = first if kind.has_record_sets else last
                file.seek(position + OFFSET[0])
                file.write((stored + distance).to_bytes(OFFSET[1], "big", signed=True))
        file.flush()
        if sync:
            os.fsync(file.fileno())
