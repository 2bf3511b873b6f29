"""Write what the cleaner leaves of a log: segments, indexes, and the checkpoint of the cleaner.

Kafka: ``Cleaner.cleanSegments``, ``MemoryRecords.buildRetainedRecordsInto``,
``UnifiedLog.replaceSegments``.
"""

from __future__ import annotations

import os
import shutil
from bisect import bisect_right
from collections.abc import Sequence
from itertools import compress
from pathlib import Path
from typing import Any, Final

from kafkaspec.broker.index_rules import IndexBuilder, Rule
from kafkaspec.broker.producer_state import transaction_index
from kafkaspec.broker.profiles import IndexUnit, Profile
from kafkaspec.errors import Reason, make_error
from kafkaspec.files import names
from kafkaspec.forensics.cleaner.passes import Action, CleanerFailsError, Decision, Note, Pass
from kafkaspec.forensics.cleaner.settings import Settings
from kafkaspec.forensics.cleaner.view import LogView, SegmentView
from kafkaspec.layout.kinds import CURRENT
from kafkaspec.log.batch import CREATE_TIME, LOG_APPEND_TIME, Batch
from kafkaspec.log.encoding import encode
from kafkaspec.log.header_table import joined
from kafkaspec.log.headers import read_headers
from kafkaspec.log.segment import Segment
from kafkaspec.output.atomic import writing

_WRITTEN_BYTES: Final = 1 << 20
"""Bytes that are written, and indexed, at once."""
_REPLACED: Final = frozenset({names.LOG, *names.INDEXES, names.TRANSACTION_INDEX})


class _Chunks:
    """The parts of a segment that the cleaner reads at once, which decide about index entries."""

    def __init__(self, settings: Settings) -> None:
        threads = settings.number("log.cleaner.threads")
        self._initial = settings.number("log.cleaner.io.buffer.size") // threads // 2
        self._most = settings.number("max.message.bytes")
        self._most_io = settings.number("message.max.bytes")
        self._next = self._initial
        self.begin()

    def begin(self, start: int = 0) -> None:
        """Begin a segment."""
        self._room, self._start, self._made = self._next, start, 0
        self._next = self._initial

    def pass_on(self) -> None:
        """Begin the next segment with the buffers as they are now."""
        self._next = self._room

    def ends_before(self, position: int, size: int) -> bool:
        """Return whether a batch is not read together with those before it."""
        over = self._made > self._room
        if over or position + size > self._start + self._room:
            ended = position > self._start
            self._start, self._made = position, 0
            while size > self._room:
                limit = self._most if self._room < self._most else size
                grown = min(2 * self._room, max(limit, self._most_io))
                if grown <= self._room:
                    raise CleanerFailsError("a batch is larger than the buffers of the cleaner")
                self._room = grown
            return ended
        return False

    def wrote(self, size: int) -> None:
        """Note what was written of the part."""
        self._made += size


class CleanedSegment:
    """Collects the bytes of a cleaned segment and its indexes."""

    def __init__(self, path: Path, base_offset: int, work: Pass) -> None:
        settings, profile = work.settings, work.profile
        self.file = open(path, "xb")  # noqa: SIM115 - closed by close
        self._codec = work.log.codec
        self._by_batch = profile.index_unit is IndexUnit.BATCH
        self.indexes = IndexBuilder(
            base_offset,
            profile,
            rule=Rule.CLEANER,
            interval=settings.number("index.interval.bytes"),
            max_bytes=settings.number("segment.index.bytes"),
        )
        self._pending = bytearray()
        self._key = -1

    def add(self, data: bytes | memoryview, last_offset: int) -> None:
        """Add a batch, or several; ``last_offset`` is that of the last record that is left."""
        self._pending += data
        self._key = max(self._key, last_offset)
        if self._by_batch and len(self._pending) >= _WRITTEN_BYTES:
            self.end_chunk()

    def end_chunk(self) -> None:
        """Append what was added since the last call, as one append."""
        if not self._pending:
            return
        data = bytes(self._pending)
        room = self.indexes.room
        parts = list(read_headers(Segment(data, codec=self._codec, crc="ignore")))
        for headers in parts:
            if not self.indexes.fits(headers.last_offset[-1]):
                raise CleanerFailsError("offsets are too far from the name of the segment")
            if self._by_batch or len(parts) == 1:
                self.indexes.append(headers, 0, len(headers), key=self._key)
            else:
                whole = joined(parts)
                self.indexes.append(whole, 0, len(whole), key=self._key)
                break
        if not room and not self.indexes.room:
            raise CleanerFailsError("the index of the cleaned segment is full")
        self.file.write(data)
        self._pending.clear()
        self._key = -1

    def close(self) -> dict[str, bytes]:
        """End the log; return the indexes by extension."""
        self.end_chunk()
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        self.indexes.finish()
        return self.indexes.files()


def write_cleaned(
    work: Pass, groups: Sequence[Sequence[SegmentView]], target: Path, note: Note | None
) -> None:
    """Write the log as it is after the pass into a new directory.

    Raises:
        CleanerFailsError: a broker fails at a batch.
    """
    log, profile, chunks = work.log, work.profile, _Chunks(work.settings)
    if work.full_at is not None and profile.index_unit is not IndexUnit.BATCH:
        # The cleaner forgets to make its buffers small again when the table of keys is full.
        segment, start, place = work.full_at
        chunks.begin(start)
        with log.partition.open_segment(segment.path) as opened:
            for headers in read_headers(opened, start):
                stop = bisect_right(headers.position, place)
                for number in range(stop):
                    chunks.ends_before(headers.position[number], headers.size[number])
                if stop < len(headers):
                    break
        chunks.pass_on()
    with writing(target):
        for group in groups:
            _write_group(group, work, chunks, target, note)
    copy_files(log, target, groups, snapshots=not profile.snapshot_per_segment)


def copy_files(
    log: LogView,
    target: Path,
    groups: Sequence[Sequence[SegmentView]] = (),
    *,
    snapshots: bool = True,
) -> None:
    """Copy the files of a log that the cleaner leaves as they are.

    Args:
        snapshots: whether those of segments that are no more stay.

    Raises:
        KafkaSpecError: ``unreadable``: one cannot be copied.
    """
    cleaned = {segment.base_offset for group in groups for segment in group}
    gone = cleaned - {group[0].base_offset for group in groups}
    for path in log.partition.files:
        name = names.parse_segment(path.name)
        if name is not None:
            if name.state or (name.base_offset in cleaned and name.kind in _REPLACED):
                continue
            if name.base_offset in gone and name.kind == names.PRODUCER_SNAPSHOT and not snapshots:
                continue
        _copy(path, target / path.name)


def _write_group(
    group: Sequence[SegmentView], work: Pass, chunks: _Chunks, target: Path, note: Note | None
) -> None:
    base = names.SegmentName(group[0].base_offset, names.LOG)
    made = CleanedSegment(target / base.sibling(names.LOG), group[0].base_offset, work)
    try:
        for _, decisions in work.decided(group, note):
            chunks.begin()
            for decision in decisions:
                _apply(decision, made, chunks, work.profile)
            made.end_chunk()
        files = made.close()
    except BaseException:
        made.file.close()
        raise
    if work.kept:
        files[names.TRANSACTION_INDEX] = transaction_index(work.kept)
    for kind, data in files.items():
        (target / base.sibling(kind)).write_bytes(data)
    modified = group[-1].modified
    os.utime(target / base.sibling(names.LOG), ns=(modified * 1_000_000,) * 2)


def _apply(decision: Decision, made: CleanedSegment, chunks: _Chunks, profile: Profile) -> None:
    headers, first, last = decision.headers, decision.first, decision.last
    if profile.index_unit is IndexUnit.BATCH:
        if decision.action is Action.COPY:
            made.add(headers.data(first, last), headers.last_offset[last - 1])
        elif decision.action is not Action.DROP:
            made.add(*_changed(decision, profile))
        return
    for number in range(first, last):
        if chunks.ends_before(headers.position[number], headers.size[number]):
            made.end_chunk()
        if decision.action is Action.COPY:
            data, end = headers.data(number, number + 1), headers.last_offset[number]
        elif decision.action is Action.DROP:
            continue
        else:
            data, end = _changed(decision, profile)
        made.add(data, end)
        chunks.wrote(len(data))


def _changed(decision: Decision, profile: Profile) -> tuple[Any, int]:
    """Return the batch that is left, and the last offset of its records."""
    batch = decision.headers.batch(decision.first)
    if decision.action is Action.EMPTY:
        return shell(batch), batch.last_offset
    records = batch.records()
    kept = records if decision.keep is None else list(compress(records, decision.keep))
    magic = CURRENT if profile.cleaner_converts else batch.magic
    data = rewritten(batch, kept, decision.horizon, magic)
    return data, max(record.offset for record in kept)


def rewritten(batch: Batch, records: Sequence[Any], horizon: int | None, magic: int) -> bytes:
    """Return a batch that holds only some of its records; None for no delete horizon."""
    options: dict[str, Any] = {"magic": magic, "compression": batch.compression_name}
    if batch.timestamp_type == LOG_APPEND_TIME:
        options |= {"timestamp_type": LOG_APPEND_TIME, "max_timestamp": batch.max_timestamp}
    if horizon is not None:
        options["delete_horizon"] = horizon
    if batch.kind.has_record_sets:
        options |= _of_header(batch)
    return encode(records, **options)


def shell(batch: Batch) -> bytes:
    """Return a batch without its records."""
    kind = LOG_APPEND_TIME if batch.timestamp_type == LOG_APPEND_TIME else CREATE_TIME
    times: dict[str, Any] = {"timestamp_type": kind, "max_timestamp": batch.max_timestamp}
    return encode([], magic=batch.magic, **times, **_of_header(batch))


def _of_header(batch: Batch) -> dict[str, Any]:
    return {
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "transactional": batch.is_transactional,
        "control": batch.is_control,
        "partition_leader_epoch": batch.partition_leader_epoch,
    }


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copy2(source, target)
    except OSError as error:
        detail = f"it cannot be copied: {error.strerror or error}"
        raise make_error(Reason.UNREADABLE, detail, file=str(source)) from None
