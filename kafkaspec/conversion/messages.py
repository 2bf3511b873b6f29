"""The fast paths to messages and from messages of magic 0 and 1, many at a time."""

from __future__ import annotations

from array import array
from operator import lt

from kafkaspec._generated.python.model.recordbatch import CompressionType
from kafkaspec.broker.settings import BATCH_BYTES
from kafkaspec.conversion.drafts import Draft, Shared, Traits
from kafkaspec.conversion.fields import carried, header_values
from kafkaspec.conversion.losses import Loss
from kafkaspec.conversion.message_columns import Slice, read_wrapped
from kafkaspec.conversion.regrouped import LAST, RecordChunk, RecordGroups, RecordParts, Regrouped
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.log.batch import NO_TIMESTAMP, NONE, Batch, check_count, held_payload
from kafkaspec.log.legacy import LegacyBatch


class ToMessages(Regrouped):
    """The fast path from batches to messages. It writes the same bytes as that of entries.

    Each batch becomes a message for each record, or one wrapper.
    """

    def __init__(self, shared: Shared) -> None:
        """Share the state of the path of entries."""
        super().__init__(shared)
        self._limit = None

    @property
    def available(self) -> bool:
        choices = self._choices
        to_messages = choices.kind is not None and not choices.kind.has_record_sets
        grouped = choices.batch_bytes is not None and choices.codec_id != 0
        return self._core is not None and to_messages and not grouped and not choices.by_time

    def _takes(self, kind: EntryKind) -> bool:
        return kind.has_record_sets

    def group(self, chunk: RecordChunk) -> RecordGroups:
        """Return the messages of a chunk, as many as there are; what they lose is counted."""
        rows, parts, kind, add = chunk.rows, chunk.parts, self._choices.kind, self._losses.add
        assert self._core is not None
        assert kind is not None
        for part in (parts[number] for number in range(len(parts))):
            number = part.last - part.first
            with_headers = rows.with_headers(part.first, part.last)
            if with_headers:
                add(Loss.HEADERS, batches=1, records=with_headers)
            if part.leader_epoch != NONE:
                add(Loss.LEADER_EPOCHS, batches=1, records=number)
            if not kind.has_timestamps:
                times = rows.timestamps[part.first : part.last]
                timed = number - self._core.module.count(times, number, NO_TIMESTAMP)
                if timed:
                    add(Loss.TIMESTAMPS, batches=1, records=timed)
        return super().group(chunk)


class FromMessages(Regrouped):
    """The fast path for messages that are not compressed. Wrappers go one by one.

    They become batches or wrappers of many records, or messages of another magic.
    """

    def __init__(self, shared: Shared) -> None:
        """Share the state of the path of entries."""
        super().__init__(shared)
        self._limit = self._choices.batch_bytes or BATCH_BYTES

    @property
    def available(self) -> bool:
        return self._core is not None

    def _takes(self, kind: EntryKind) -> bool:
        return not kind.has_record_sets

    def group(self, chunk: RecordChunk) -> RecordGroups:
        """Return what the messages of a chunk become; the last of them wait for more."""
        kind = self._choices.kind or chunk.source.kind
        rows, parts, count = chunk.rows, chunk.parts, chunk.batches
        if not kind.has_timestamps:
            assert self._core is not None
            timed = count - self._core.module.count(rows.timestamps, count, NO_TIMESTAMP)
            if timed:
                self._losses.add(Loss.TIMESTAMPS, batches=timed, records=timed)
        if kind.has_record_sets or self._choices.codec_id:
            return super().group(chunk)
        parts.column(LAST)[0] = count
        return RecordGroups(
            b"".join(self._waiting.flush()), rows, RecordParts(parts.numbers, 0, 1), kind
        )


class Wrappers:
    """The fast path for regular wrappers, one by one."""

    def __init__(self, shared: Shared) -> None:
        """Share the state of the path of entries."""
        self._choices, self._core = shared.choices, shared.codec.core
        self._offsets, self._losses = shared.offsets, shared.losses

    def draft(self, batch: Batch, kind: EntryKind, compression: CompressionType) -> Draft | None:
        """Return the draft of a wrapper; None if the wrapper is not regular."""
        if self._core is None or not batch.is_wrapper or not isinstance(batch, LegacyBatch):
            return None
        others = header_values(batch.kind, batch.message)
        if others and not (compression and carried(others, batch.kind, kind) == others):
            return None  # something is lost, which the path through records counts
        limit = self._choices.max_output
        payload = held_payload(batch, limit)
        regular = batch.regular(payload, limit)
        if regular is None:
            return None
        _, shift = regular
        check_count(batch, shift.count)
        if payload is None:
            payload = batch.decompressed(limit)
        found = read_wrapped(self._core, batch, payload, shift)
        if found is None or not all(map(lt, found.offsets, found.offsets[1:])):
            return None
        moved = self._offsets.shift
        last = found.offsets[-1] + shift.offset + moved
        if moved and (shift.base_offset + moved < 0 or last > LARGEST_OFFSET):
            return None  # as above
        appended = shift.timestamp is not None
        if appended and not kind.has_timestamps:
            self._losses.add(Loss.TIMESTAMP_TYPES, batches=1, records=found.rows)
        if len(getattr(batch.message, names.UNUSED, b"")):
            self._losses.add(Loss.UNUSED_BYTES, batches=1, records=found.rows)
        if not kind.has_timestamps:
            timed = sum(timestamp != NO_TIMESTAMP for timestamp in found.timestamps)
            if timed:
                self._losses.add(Loss.TIMESTAMPS, batches=1, records=timed)
        if self._offsets.renumbers:
            first = self._offsets.take(found.rows)
            found.offsets[:] = array("q", range(first, first + found.rows))
        else:
            self._core.module.adjust(found.offsets, 0, found.rows, False, shift.offset + moved)
        epoch = self._choices.leader_epoch
        traits = Traits(
            kind=kind,
            compression=compression,
            append_time=shift.timestamp if kind.has_timestamps else None,
            leader_epoch=NONE if epoch is None or not kind.has_leader_epochs else epoch,
            others=others,
        )
        return Draft(
            traits=traits,
            records=Slice(found, 0, found.rows),
            base_offset=found.offsets[0],
            last_offset=found.offsets[-1],
            base_timestamp=found.timestamps[0] if kind.has_record_sets else NO_TIMESTAMP,
        )
