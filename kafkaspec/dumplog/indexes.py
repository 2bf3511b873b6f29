"""The lines about the files beside a log; its indexes are compared with it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from kafkaspec.codecs import Codec
from kafkaspec.dumplog.families import Family
from kafkaspec.dumplog.logs import Reports, base_offset_of, check_end
from kafkaspec.dumplog.options import DumpOptions, OnFinding
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files import names
from kafkaspec.files.indexes import OffsetIndex, TimeIndex
from kafkaspec.files.snapshots import ProducerSnapshot, TransactionIndex
from kafkaspec.layout.sequences import sequence_after
from kafkaspec.log.batch import NO_TIMESTAMP, Batch
from kafkaspec.log.segment import Segment


@dataclass
class IndexLines:
    """Makes the lines of the indexes of a log."""

    family: Family
    options: DumpOptions
    codec: Codec
    reports: Reports
    found: OnFinding

    def offsets(self, path: Path, shown: str, name: str) -> Iterator[str]:
        """Yield the lines of an offset index."""
        base = base_offset_of(path)
        log = self._log(path)
        index = OffsetIndex(path, base_offset=base, codec=self.codec)
        if not index.slots and self.family.names_empty:
            yield f"{shown} is empty.\n"
            return
        if self.options.sanity_only:
            yield self._sane(index, shown)
            return
        for number, (offset, position) in enumerate(zip(*index.slot_columns(), strict=True)):
            ended = number > 0 and offset == base
            if ended and self.family.stops_first:
                return
            there = self._offset_at(log, position)
            if there != offset:
                self.reports.index[name].append((offset, there))
            if ended:
                return
            if not self.options.verify_only:
                yield f"offset: {offset} position: {position}\n"

    def _offset_at(self, log: Segment, position: int) -> int:
        if not self.family.first_of_batch:
            return log.batch_at(position).last_offset
        for batch in _batches(log, position):
            for record in batch.records():
                return record.offset
        detail = "there is no record at or after the position that the index names"
        raise make_error(Reason.TRUNCATED, detail, file=log.name, offset=position)

    def times(self, path: Path, shown: str, name: str) -> Iterator[str]:
        """Yield the lines of a time index; see ``offsets``."""
        family, reports = self.family, self.reports
        base = base_offset_of(path)
        log = self._log(path)
        index = TimeIndex(path, base_offset=base, codec=self.codec)
        if self.options.sanity_only:
            yield self._sane(index, shown)
            return
        offsets = self._beside(path, base)
        ends = _Ends(log)
        before = NO_TIMESTAMP
        for number, (offset, timestamp) in enumerate(zip(*index.slot_columns(), strict=True)):
            ended = number > 0 and offset == base
            if ended and family.stops_first:
                return
            if family.reads_on and not number:
                check_end(log)
            entry = None if offsets is None else offsets.lookup(offset)
            position = 0 if entry is None else entry.position
            batch = ends.first(position, offset)
            if batch is None or batch.last_offset != offset:
                there = -1 if batch is None else batch.last_offset
                reports.not_found[name].append((offset, there))
            else:
                times = [record.timestamp for record in batch.records()]
                largest = max(NO_TIMESTAMP, *times) if times else NO_TIMESTAMP
                if largest != timestamp:
                    reports.timestamps[name].append((timestamp, largest))
                if before >= timestamp:
                    reports.order[name].append((timestamp, before))
                if ended:
                    return
            if not self.options.verify_only:
                yield f"timestamp: {timestamp} offset: {offset}\n"
            before = timestamp

    def _log(self, path: Path) -> Segment:
        log = path.with_name(path.name.split(".")[0] + names.LOG)
        return Segment(log, codec=self.codec, crc="ignore")

    def _beside(self, path: Path, base: int) -> OffsetIndex | None:
        beside = path.with_name(path.name.split(".")[0] + names.OFFSET_INDEX)
        if beside.exists():
            return OffsetIndex(beside, base_offset=base, codec=self.codec)
        self.found(f"{beside}: there is no such file; Kafka's tool would make it")
        return None

    def _sane(self, index: OffsetIndex | TimeIndex, shown: str) -> str:
        problems = index.sanity_check()
        if problems:
            raise problems[0]
        offsets, others = index.slot_columns()  # padding too
        if offsets and isinstance(index, OffsetIndex):
            ends = offsets[-1] - self.family.past_base < index.base_offset
        else:
            ends = bool(offsets) and others[-1] < others[0]
        if ends:
            detail = "the last of all slots, which may be padding, is below the first"
            at = (index.slots - 1) * index.entry_size
            raise make_error(Reason.INVALID_VALUE, detail, file=str(index.path), offset=at)
        return f"{shown} passed sanity check.\n"


class _Ends:
    """The last offsets of all batches of a log, up to one that cannot be read."""

    def __init__(self, log: Segment) -> None:
        self._log = log
        self._positions: list[int] = []
        self._offsets: list[int] = []
        self._whole = True
        for item in log.scan():
            if isinstance(item, KafkaSpecError):
                self._whole = False
                break
            self._positions.append(item.position)
            self._offsets.append(item.last_offset)
        self._rising = all(one <= other for one, other in pairwise(self._offsets))

    def first(self, position: int, offset: int) -> Batch | None:
        """Return the first batch from a position on that ends at or after an offset.

        Raises:
            KafkaSpecError: one before it cannot be read, or the log does not reach so far.
        """
        start = bisect_left(self._positions, position)
        if self._rising and self._positions[start : start + 1] == [position]:
            found = bisect_left(self._offsets, offset, start)
            if found < len(self._offsets):
                return self._log.batch_at(self._positions[found])
            if self._whole:
                return None
        return next((b for b in _batches(self._log, position) if b.last_offset >= offset), None)


def _batches(log: Segment, position: int) -> Iterator[Batch]:
    """Return the batches from a position of an index on.

    Raises:
        KafkaSpecError: the log does not reach so far.
    """
    if not 0 <= position <= log.size:
        detail = f"an index names position {position}, and the log has {log.size} bytes"
        raise make_error(Reason.INVALID_VALUE, detail, file=log.name, offset=log.size)
    return log.batches(position)


_NONE = -1


def snapshot_lines(family: Family, path: Path, codec: Codec) -> Iterator[str]:
    """Yield a line for each producer."""
    snapshot = ProducerSnapshot(path, codec=codec)
    entries = snapshot.entries
    if not snapshot.crc_valid:
        raise snapshot.crc_error()
    for entry in entries:
        first = entry.current_txn_first_offset
        values = {name: getattr(entry, name) for name in _NAMES} | {
            "current_txn_first_offset": (
                family.no_offset if first == _NONE else family.some_offset.format(first)
            ),
            "first_sequence": sequence_after(entry.last_sequence, -entry.offset_delta),
        }
        line = family.snapshot.format_map(values)
        if entry.last_offset >= 0:
            line += family.snapshot_batch.format_map(values)
        yield line + "\n"


_NAMES = (
    "producer_id", "producer_epoch", "coordinator_epoch", "last_sequence", "last_offset",
    "offset_delta", "timestamp",
)  # fmt: skip


def aborted_lines(path: Path, codec: Codec, found: OnFinding) -> Iterator[str]:
    """Yield a line for each aborted transaction of an index."""
    index = TransactionIndex(path, codec=codec)
    for entry in index.entries:
        yield (
            f"version: {entry.version} producerId: {entry.producer_id}"
            f" firstOffset: {entry.first_offset} lastOffset: {entry.last_offset}"
            f" lastStableOffset: {entry.last_stable_offset}\n"
        )
    if index.trailing_bytes:
        found(f"{path}: the last {index.trailing_bytes} bytes are not a whole entry")
