"""Convert thousands of messages at a time, and those in wrappers, without record objects."""

from __future__ import annotations

from collections.abc import Iterator
from operator import lt
from typing import Final

from kafkaspec._generated.python.model.recordbatch import CompressionType
from kafkaspec.broker.settings import BATCH_BYTES
from kafkaspec.codecs import Buffer
from kafkaspec.conversion.columns import ConvertedColumns, Slice, read_run, read_wrapped
from kafkaspec.conversion.drafts import Draft, Shared, Traits, write
from kafkaspec.conversion.fields import carried, header_values
from kafkaspec.conversion.losses import Loss
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.log.batch import NO_TIMESTAMP, NONE, Batch, check_count, held_payload
from kafkaspec.log.encoding import MOST_DELTA, RECORD_OVERHEAD
from kafkaspec.log.legacy import LegacyBatch
from kafkaspec.log.selection import is_timely
from kafkaspec.writing.editing import put_offset

RUN_BYTES: Final = 1 << 20
"""Bytes of entries to examine at a time."""
_LEAST: Final = 32
"""Fewer messages are converted one by one."""


class Runs:
    """The fast path for regular messages. It writes the same bytes as the path through records."""

    def __init__(self, shared: Shared) -> None:
        """Share the state of the path through records."""
        self._choices, self._codec, self._core = shared.choices, shared.codec, shared.codec.core
        self._offsets, self._losses, self._waiting = shared.offsets, shared.losses, shared.waiting
        self._low, self._high = shared.low, shared.high

    @property
    def available(self) -> bool:
        """Whether there is a fast path."""
        return self._core is not None

    def read(self, entries: Buffer, after: int | None) -> ConvertedColumns | None:
        """Return the messages at the start of ``entries``, if all of them can be converted here."""
        if self._core is None:
            return None
        found = read_run(self._core, entries, _LEAST, after)
        if found is None:
            return None
        first, last = found.offsets[0], found.offsets[-1]
        if (self._low is not None and first < self._low) or first < 0:
            return None
        if self._high is not None and last >= self._high:
            return None
        if self._choices.by_time and not self._is_timely(found):
            return None
        self._offsets.begin(first)
        return found if self._fits(first, last) else None

    def convert(self, found: ConvertedColumns, entries: Buffer) -> Iterator[Buffer]:
        """Yield the entries that messages become; ``entries`` are the bytes that they came from."""
        kind = self._choices.kind or found.kind
        compression = self._choices.codec_id or CompressionType.NONE
        if kind is found.kind and not compression:
            yield from self._waiting.flush()
            yield self._bytes(found, entries)
            return
        self._count(found, kind, found.unused)
        self._move(found, self._offsets.shift)
        traits = Traits(kind=kind, compression=compression, leader_epoch=self._epoch(kind))
        if not traits.is_grouped:
            yield from self._waiting.flush()
            yield self._write(_draft(found, traits, 0, found.rows))
            return
        yield from self._groups(found, traits)

    def wrapper(self, batch: Batch, kind: EntryKind, compression: CompressionType) -> Draft | None:
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
        if not self._fits(shift.base_offset, found.offsets[-1] + shift.offset):
            return None
        appended = shift.timestamp is not None
        if appended and not kind.has_timestamps:
            self._losses.add(Loss.TIMESTAMP_TYPES, batches=1, records=found.rows)
        slack = len(getattr(batch.message, names.UNUSED, b""))
        self._count(found, kind, 1 if slack else 0, wrapped=True)
        self._move(found, shift.offset + self._offsets.shift)
        traits = Traits(
            kind=kind,
            compression=compression,
            append_time=shift.timestamp if kind.has_timestamps else None,
            leader_epoch=self._epoch(kind),
            others=others,
        )
        return _draft(found, traits, 0, found.rows)

    def _epoch(self, kind: EntryKind) -> int:
        epoch = self._choices.leader_epoch
        return NONE if epoch is None or not kind.has_leader_epochs else epoch

    def _is_timely(self, found: ConvertedColumns) -> bool:
        """Return whether all timestamps are in the range."""
        low, high = self._choices.start_timestamp, self._choices.end_timestamp
        return all(is_timely(bound(found.timestamps), low, high) for bound in (min, max))

    def _fits(self, first: int, last: int) -> bool:
        """Return whether the new offsets are in range; the path through records reports errors."""
        shift = self._offsets.shift
        return not shift or (first + shift >= 0 and last + shift <= LARGEST_OFFSET)

    def _bytes(self, found: ConvertedColumns, entries: Buffer) -> Buffer:
        """Return the messages with only their offsets changed."""
        with memoryview(entries) as view:
            data = bytearray(view[: found.end])
        if self._offsets.renumbers or self._offsets.shift:
            self._move(found, self._offsets.shift)
            for position, offset in zip(found.positions, found.offsets, strict=True):
                put_offset(data, position, offset)
        return data

    def _move(self, found: ConvertedColumns, shift: int) -> None:
        offsets = found.offsets
        if self._offsets.renumbers:
            first = self._offsets.take(found.rows)
            for row in range(found.rows):
                offsets[row] = first + row
        elif shift:
            for row in range(found.rows):
                offsets[row] += shift

    def _count(
        self, found: ConvertedColumns, kind: EntryKind, unused: int, *, wrapped: bool = False
    ) -> None:
        if unused:
            records = found.rows if wrapped else unused
            self._losses.add(Loss.UNUSED_BYTES, batches=unused, records=records)
        if not kind.has_timestamps:
            timed = sum(timestamp != NO_TIMESTAMP for timestamp in found.timestamps)
            if timed:
                batches = 1 if wrapped else timed
                self._losses.add(Loss.TIMESTAMPS, batches=batches, records=timed)

    def _groups(self, found: ConvertedColumns, traits: Traits) -> Iterator[Buffer]:
        """Yield batches or wrappers of many messages; the last messages wait for more."""
        limit = self._choices.batch_bytes or BATCH_BYTES
        first = 0
        while first < found.rows:
            # The first draft joins the waiting one, or causes it to be written.
            draft = _draft(found, traits, first, first + 1)
            draft.records = found.records(first, first + 1)
            yield from self._waiting.put(draft, limit)
            first += 1
            if self._waiting.count == 1:
                break
        if first == found.rows:
            return
        self._waiting.take()
        first -= 1
        while first < found.rows:
            end = max(first + 1, found.reach(first, limit, RECORD_OVERHEAD, MOST_DELTA))
            draft = _draft(found, traits, first, end)
            if end == found.rows:
                draft.records = found.records(first, end)
                yield from self._waiting.put(draft, max(limit, draft.size))
            else:
                yield self._write(draft)
            first = end

    def _write(self, draft: Draft) -> bytes:
        return write(draft, self._codec, self._choices.level)


def _draft(found: ConvertedColumns, traits: Traits, first: int, last: int) -> Draft:
    timestamp = found.timestamps[first] if traits.kind.has_record_sets else NO_TIMESTAMP
    return Draft(
        traits=traits,
        records=Slice(found, first, last),
        base_offset=found.offsets[first],
        last_offset=found.offsets[last - 1],
        base_timestamp=timestamp,
    )
