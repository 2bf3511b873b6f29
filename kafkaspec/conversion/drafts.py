"""Records that will become one batch, or the messages of magic 0 and 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kafkaspec import compression as compressions
from kafkaspec._generated.python.model.recordbatch import (
    BatchAttributes,
    CompressionType,
    Entry,
    LegacyAttributes,
    LegacyMessage,
    RecordBatch,
    TimestampType,
)
from kafkaspec.codecs import Codec
from kafkaspec.codecs.native import NativeCodec
from kafkaspec.conversion.columns import Slice
from kafkaspec.conversion.offsets import sequence_after
from kafkaspec.layout.framing import ENTRY
from kafkaspec.log.batch import NO_TIMESTAMP, NONE
from kafkaspec.log.encoding import batch_entry
from kafkaspec.model import Record

RECORD_OVERHEAD: Final = 21
"""What Kafka counts for a record beside its bytes (``DefaultRecord.MAX_RECORD_OVERHEAD``)."""

MOST_DELTA: Final = (1 << 31) - 1
"""Offsets of a batch reach so far (Kafka: ``MemoryRecordsBuilder``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What all records of a batch share.

    Attributes:
        magic: 0, 1 or 2.
        compression: of the batch or wrapper.
        append_time: the append time of all records, None for CreateTime.
        producer_id: -1 for none.
        producer_epoch: -1 for none.
        transactional: part of a transaction.
        control: control records.
        leader_epoch: -1 unknown.
        delete_horizon: see ``Batch.delete_horizon``.
    """

    magic: int
    compression: CompressionType
    append_time: int | None = None
    producer_id: int = NONE
    producer_epoch: int = NONE
    transactional: bool = False
    control: bool = False
    leader_epoch: int = NONE
    delete_horizon: int | None = None

    @property
    def is_grouped(self) -> bool:
        """Whether records of this kind lie together in an entry."""
        return self.magic == 2 or self.compression is not CompressionType.NONE


@dataclass(slots=True, kw_only=True)
class Draft:
    """A batch that is not written yet.

    Attributes:
        traits: what its records share.
        records: at least one. In magic 2 their timestamps are those of the records also where the
            append time is what counts: Kafka keeps them there.
        base_offset: first offset.
        last_offset: last offset.
        base_sequence: sequence number of ``base_offset``, -1 for none.
        base_timestamp: what timestamps of magic 2 count from.
        max_timestamp: of the header, None for the largest of the records.
    """

    traits: Traits
    records: Sequence[Record]
    base_offset: int
    last_offset: int
    base_sequence: int = NONE
    base_timestamp: int
    max_timestamp: int | None = None

    @property
    def size(self) -> int:
        """Bytes of the records, more or less."""
        return sum(size_of(record) for record in self.records)

    def joins(self, other: Draft) -> bool:
        """Whether ``other`` may follow in the same batch."""
        delta = other.base_offset - self.base_offset
        return (
            self.traits == other.traits
            and self.traits.delete_horizon is None
            and not self.traits.control
            and other.records[0].offset > self.records[-1].offset
            and other.base_offset > self.last_offset
            and other.last_offset - self.base_offset <= MOST_DELTA
            and other.base_sequence == sequence_after(self.base_sequence, delta)
        )

    def add(self, other: Draft) -> None:
        """Take the records of another, which may follow."""
        self.records = [*self.records, *other.records]
        self.last_offset = other.last_offset
        self.max_timestamp = None

    def divided(self, limit: int) -> list[Draft]:
        """The same in batches of about ``limit`` bytes."""
        groups: list[list[Record]] = []
        size = limit
        for record in self.records:
            bytes_more = size_of(record)
            if size + bytes_more > limit:
                groups.append([])
                size = 0
            groups[-1].append(record)
            size += bytes_more
        if len(groups) == 1:
            return [self]
        made = []
        for number, group in enumerate(groups):
            base = group[0].offset if number else self.base_offset
            final = number == len(groups) - 1
            made.append(
                Draft(
                    traits=self.traits,
                    records=group,
                    base_offset=base,
                    last_offset=self.last_offset if final else group[-1].offset,
                    base_sequence=sequence_after(self.base_sequence, base - self.base_offset),
                    base_timestamp=group[0].timestamp if number else self.base_timestamp,
                )
            )
        return made


def size_of(record: Record) -> int:
    """Bytes that a record takes, more or less."""
    size = RECORD_OVERHEAD + len(record.key or b"") + len(record.value or b"")
    for key, value in record.headers:
        size += len(key) + len(value or b"")
    return size


def write(draft: Draft, codec: Codec, level: int | None) -> bytes:
    """The entries of a draft.

    Raises:
        KafkaSpecError: ``unencodable``.
    """
    if draft.traits.magic == 2:
        return _batch(draft, codec, level)
    return _legacy(draft, codec, level)


def _batch(draft: Draft, codec: Codec, level: int | None) -> bytes:
    traits = draft.traits
    appended = traits.append_time is not None
    largest = draft.max_timestamp
    if largest is None:
        largest = traits.append_time
    if largest is None:
        largest = _largest(draft.records)
    batch = RecordBatch(
        base_offset=draft.base_offset,
        partition_leader_epoch=traits.leader_epoch,
        attributes=BatchAttributes(
            has_delete_horizon=traits.delete_horizon is not None,
            is_control=traits.control,
            is_transactional=traits.transactional,
            timestamp_type=TimestampType(appended),
            compression=traits.compression,
        ),
        last_offset_delta=draft.last_offset - draft.base_offset,
        base_timestamp=draft.base_timestamp,
        max_timestamp=largest,
        producer_id=traits.producer_id,
        producer_epoch=traits.producer_epoch,
        base_sequence=draft.base_sequence,
        num_records=len(draft.records),
        records=b"",
    )
    if isinstance(draft.records, Slice):
        rows = draft.records
        payload = rows.columns.encode(batch, rows.first, rows.last)
    else:
        payload = codec.encode_records(batch, draft.records)
    return batch_entry(batch, payload, codec, level)


def _largest(records: Sequence[Record]) -> int:
    if isinstance(records, Slice):
        return records.largest_timestamp
    return max((record.timestamp for record in records), default=NO_TIMESTAMP)


def _legacy(draft: Draft, codec: Codec, level: int | None) -> bytes:
    traits, records = draft.traits, draft.records
    if not traits.compression:
        return _messages(traits, records, codec, 0)
    last = draft.last_offset
    # With offset 0 inner offsets are not relative.
    base = draft.base_offset if traits.magic and last else 0
    payload = compressions.compress(
        traits.compression, _messages(traits, records, codec, base), magic=traits.magic, level=level
    )
    time = _largest(records) if traits.append_time is None else traits.append_time
    message = _header(traits, last, traits.compression)
    message.timestamp = time if traits.magic else None
    message.value = payload
    return codec.serialize(ENTRY, Entry(base_offset=last, message=message))


def _messages(traits: Traits, records: Sequence[Record], codec: Codec, base: int) -> bytes:
    """Messages of magic 0 or 1, one a record, with the timestamp type inside of wrappers too.

    Kafka: ``MemoryRecordsBuilder.appendLegacyRecord``.
    """
    none = CompressionType.NONE
    if isinstance(records, Slice):
        header = _header(traits, 0, none)
        return records.columns.encode(header, records.first, records.last, base)
    if base:
        records = [record._replace(offset=record.offset - base) for record in records]
    if isinstance(codec, NativeCodec):
        return codec.encode_records(_header(traits, 0, none), records)
    made = []
    for record in records:
        message = _header(traits, record.offset, none)
        message.timestamp = record.timestamp if traits.magic else None
        message.key, message.value = record.key, record.value
        made.append(codec.serialize(ENTRY, Entry(base_offset=record.offset, message=message)))
    return b"".join(made)


def _header(traits: Traits, offset: int, compression: CompressionType) -> LegacyMessage:
    return LegacyMessage(
        offset=offset,
        magic=traits.magic,
        attributes=LegacyAttributes(
            timestamp_type=TimestampType(traits.append_time is not None), compression=compression
        ),
        timestamp=NO_TIMESTAMP if traits.magic else None,
    )


class Waiting:
    """A draft that waits for more records."""

    def __init__(self, codec: Codec, level: int | None) -> None:
        """Args: what it is written with."""
        self._codec = codec
        self._level = level
        self._draft: Draft | None = None
        self._size = 0

    @property
    def count(self) -> int:
        """Records that wait."""
        return 0 if self._draft is None else len(self._draft.records)

    def put(self, draft: Draft, limit: int) -> Iterator[bytes]:
        """Let a draft wait, together with those that do if they have less than ``limit`` bytes."""
        size = draft.size
        waiting = self._draft
        if waiting is not None and self._size + size <= limit and waiting.joins(draft):
            waiting.add(draft)
            self._size += size
            return
        yield from self.flush()
        self._draft, self._size = draft, size

    def flush(self) -> Iterator[bytes]:
        """Write what waits."""
        draft = self.take()
        if draft is not None:
            yield write(draft, self._codec, self._level)

    def take(self) -> Draft | None:
        """What waits; nothing does then."""
        draft, self._draft, self._size = self._draft, None, 0
        return draft
