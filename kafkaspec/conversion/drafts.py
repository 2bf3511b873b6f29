"""Records that become one batch, or messages, and what all ways to write them share."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter
from typing import Any, Final

from kafkaspec import compression as compressions
from kafkaspec._generated.python.model.recordbatch import CompressionType, TimestampType
from kafkaspec.codecs import Codec
from kafkaspec.codecs.edited import changed
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.fields import FieldValues, RecordValues, encode_records, entry_names
from kafkaspec.conversion.losses import Losses
from kafkaspec.conversion.message_columns import Slice
from kafkaspec.conversion.offsets import Offsets
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.framing import ENTRY
from kafkaspec.layout.kinds import new_entry, new_message
from kafkaspec.layout.sequences import sequence_after
from kafkaspec.log.batch import NO_TIMESTAMP, NONE
from kafkaspec.log.encoding import MOST_DELTA, RECORD_OVERHEAD, batch_entry
from kafkaspec.log.legacy import has_relative_offsets
from kafkaspec.model import Record

_TIMESTAMP: Final = itemgetter(Record._fields.index(names.TIMESTAMP))
"""Gets the timestamp of a record, faster than by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """Traits that all records of a batch share.

    Attributes:
        append_time: append time of all records in ms, None for CreateTime.
        delete_horizon: see ``Batch.delete_horizon``.
        others: fields of the header that no conversion knows, which are carried over.
    """

    kind: EntryKind
    compression: CompressionType
    append_time: int | None = None
    producer_id: int = NONE
    producer_epoch: int = NONE
    transactional: bool = False
    control: bool = False
    leader_epoch: int = NONE
    delete_horizon: int | None = None
    others: FieldValues = ()

    @property
    def is_grouped(self) -> bool:
        """Whether an entry holds several records."""
        return self.kind.has_record_sets or self.compression is not CompressionType.NONE


@dataclass(slots=True, kw_only=True)
class Draft:
    """A batch that is not written yet.

    Attributes:
        records: the records; an empty batch has none. If the header has an append time, they still
            have their own timestamps, as in Kafka.
        own: fields of each record that no conversion knows; None if there are none.
        base_sequence: sequence number of ``base_offset``, -1 for none.
        base_timestamp: timestamp in ms to which those in the record set are relative.
        max_timestamp: largest timestamp in ms in the header, None for the largest of the records.
        known_size: approximate size of the records in bytes, once it is known.
    """

    traits: Traits
    records: Sequence[Record]
    own: Sequence[RecordValues] | None = None
    base_offset: int
    last_offset: int
    base_sequence: int = NONE
    base_timestamp: int
    max_timestamp: int | None = None
    known_size: int | None = None

    @property
    def size(self) -> int:
        """Approximate size of the records in bytes."""
        if self.known_size is None:
            self.known_size = sum(sizes_of(self.records))
        return self.known_size

    def joins(self, other: Draft) -> bool:
        """Return whether ``other`` may follow in the same batch."""
        delta = other.base_offset - self.base_offset
        return (
            self.traits == other.traits
            and self.traits.delete_horizon is None
            and not self.traits.control
            and _offsets(other.records)[0] > _offsets(self.records)[1]
            and other.base_offset > self.last_offset
            and other.last_offset - self.base_offset <= MOST_DELTA
            and other.base_sequence == sequence_after(self.base_sequence, delta)
        )

    def add(self, other: Draft) -> None:
        """Add the records of a draft that ``joins`` allows to follow."""
        if self.own is not None or other.own is not None:
            self.own = [*_each(self), *_each(other)]
        self.known_size = self.size + other.size
        if isinstance(self.records, Slice) and isinstance(other.records, Slice):
            self.records.add(other.records)
        else:
            self.records = [*self.records, *other.records]
        self.last_offset = other.last_offset
        self.max_timestamp = None

    def divided(self, limit: int) -> list[Draft]:
        """Return the same records in drafts of about ``limit`` bytes."""
        if self.records and self.size <= limit:
            return [self]
        ends = list(accumulate(sizes_of(self.records)))
        made: list[Draft] = []
        start = before = 0
        while start < len(ends):
            stop = max(start + 1, bisect_right(ends, before + limit))
            if stop - start == len(ends):
                return [self]
            group = self.records[start:stop]
            base = group[0].offset if start else self.base_offset
            part = Draft(
                traits=self.traits,
                records=group,
                own=None if self.own is None else self.own[start:stop],
                base_offset=base,
                last_offset=self.last_offset if stop == len(ends) else group[-1].offset,
                base_sequence=sequence_after(self.base_sequence, base - self.base_offset),
                base_timestamp=group[0].timestamp if start else self.base_timestamp,
                known_size=ends[stop - 1] - before,
            )
            made.append(part)
            start, before = stop, ends[stop - 1]
        return made


def _offsets(records: Sequence[Record]) -> tuple[int, int]:
    """Return the offsets of the first and the last record."""
    if isinstance(records, Slice):
        return records.offsets
    return records[0].offset, records[-1].offset


def _each(draft: Draft) -> Sequence[RecordValues]:
    return [{}] * len(draft.records) if draft.own is None else draft.own


def sizes_of(records: Iterable[Record]) -> list[int]:
    """Return the approximate size of each record in bytes."""
    if isinstance(records, Slice):
        return [RECORD_OVERHEAD + size for size in records.sizes()]
    return [
        RECORD_OVERHEAD
        + len(key or b"")
        + len(value or b"")
        + sum(len(name) + len(content or b"") for name, content in headers)
        if headers
        else RECORD_OVERHEAD + len(key or b"") + len(value or b"")
        for _, _, key, value, headers in records
    ]


def write(draft: Draft, codec: Codec, level: int | None) -> bytes:
    """Return the entries of a draft."""
    if draft.traits.kind.has_record_sets:
        return _batch(draft, codec, level)
    return _legacy(draft, codec, level)


def _batch(draft: Draft, codec: Codec, level: int | None) -> bytes:
    traits = draft.traits
    kind, appended = traits.kind, traits.append_time is not None
    largest = draft.max_timestamp
    if largest is None:
        largest = traits.append_time
    if largest is None:
        largest = _largest(draft.records)
    values: dict[str, Any] = {
        names.BASE_OFFSET: draft.base_offset,
        names.TIMESTAMP_TYPE: TimestampType(appended),
        names.COMPRESSION: traits.compression,
        names.LAST_OFFSET_DELTA: draft.last_offset - draft.base_offset,
        names.BASE_TIMESTAMP: draft.base_timestamp,
        names.MAX_TIMESTAMP: largest,
        kind.count: len(draft.records),
        kind.payload: b"",
        **dict(traits.others),
    }
    if kind.has_leader_epochs:
        values[names.LEADER_EPOCH] = traits.leader_epoch
    if kind.has_producers:
        values[names.PRODUCER_ID] = traits.producer_id
        values[names.PRODUCER_EPOCH] = traits.producer_epoch
        values[names.BASE_SEQUENCE] = draft.base_sequence
    if kind.has_transactions:
        values[names.IS_TRANSACTIONAL] = traits.transactional
        values[names.IS_CONTROL] = traits.control
    if kind.has_delete_horizons:
        values[names.HAS_DELETE_HORIZON] = traits.delete_horizon is not None
    batch = new_message(kind, values)
    if isinstance(draft.records, Slice):
        payload = draft.records.encode(batch)
    else:
        payload = encode_records(batch, draft.records, draft.own, codec)
    return batch_entry(batch, payload, codec, level)


def _largest(records: Sequence[Record]) -> int:
    if isinstance(records, Slice):
        return records.largest_timestamp
    return max(map(_TIMESTAMP, records), default=NO_TIMESTAMP)


def _legacy(draft: Draft, codec: Codec, level: int | None) -> bytes:
    traits, records = draft.traits, draft.records
    if not traits.compression:
        return _messages(draft, codec, 0)
    last = draft.last_offset
    # With offset 0, inner offsets are not relative.
    base = draft.base_offset if has_relative_offsets(traits.kind) and last else 0
    payload = compressions.compress(
        traits.compression, _messages(draft, codec, base), magic=traits.kind.magic, level=level
    )
    values = {names.VALUE: payload, **dict(traits.others)}
    if traits.kind.has_timestamps:
        time = traits.append_time
        values[names.TIMESTAMP] = _largest(records) if time is None else time
    message = _header(traits, last, traits.compression, values)
    return codec.serialize(ENTRY, new_entry(message, last))


def _messages(draft: Draft, codec: Codec, base: int) -> bytes:
    """Return one message per record, with the timestamp type inside wrappers too.

    Kafka: ``MemoryRecordsBuilder.appendLegacyRecord``.
    """
    records = draft.records
    entry = {name: value for name, value in draft.traits.others if name in entry_names()}
    header = _header(draft.traits, 0, CompressionType.NONE, entry)
    if isinstance(records, Slice):
        return records.encode(header, base)
    if base:
        records = [record._replace(offset=record.offset - base) for record in records]
    if draft.own is None and codec.core is not None:
        return codec.encode_records(header, records)
    made = []
    for record, own in zip(records, _each(draft), strict=True):
        values = {names.OFFSET: record.offset, names.KEY: record.key, names.VALUE: record.value}
        if draft.traits.kind.has_timestamps:
            values[names.TIMESTAMP] = record.timestamp
        message = changed(header, {**values, **own})
        made.append(codec.serialize(ENTRY, new_entry(message, record.offset)))
    return b"".join(made)


def _header(
    traits: Traits, offset: int, compression: CompressionType, values: dict[str, Any]
) -> Any:
    """Return a message of the kind of the traits."""
    appended = TimestampType(traits.append_time is not None)
    known = {names.OFFSET: offset, names.TIMESTAMP_TYPE: appended, names.COMPRESSION: compression}
    return new_message(traits.kind, known | values)


class Waiting:
    """A draft that waits for more records."""

    def __init__(self, codec: Codec, level: int | None) -> None:
        """Begin without a draft."""
        self._codec = codec
        self._level = level
        self._draft: Draft | None = None

    @property
    def count(self) -> int:
        """Number of waiting records."""
        return 0 if self._draft is None else len(self._draft.records)

    def put(self, draft: Draft, limit: int) -> Iterator[bytes]:
        """Let a draft wait, and yield the entries of the one before if they cannot be combined."""
        waiting = self._draft
        if waiting is not None and waiting.size + draft.size <= limit and waiting.joins(draft):
            waiting.add(draft)
            return
        yield from self.flush()
        self._draft = draft

    def flush(self) -> Iterator[bytes]:
        """Yield the entries of the waiting records."""
        draft = self.take()
        if draft is not None:
            yield write(draft, self._codec, self._level)

    def take(self) -> Draft | None:
        """Return the waiting draft; then none waits."""
        draft, self._draft = self._draft, None
        return draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """State of the conversion of one partition.

    Attributes:
        low: smallest offset to convert, None for any.
        high: first offset not to convert, None for any.
        outcomes: whether the outcome of a transaction matters.
    """

    choices: Choices
    codec: Codec
    offsets: Offsets
    losses: Losses
    waiting: Waiting
    low: int | None
    high: int | None
    outcomes: bool
