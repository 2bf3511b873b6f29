"""Sequence numbers of producers in a log, in runs, compared with its producer snapshots."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model.producer_snapshot import ProducerEntry
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import snapshots
from kafkaspec.files.snapshots import find_snapshots, read_snapshot
from kafkaspec.forensics.headers import PerBatch, joined_rows, rows_of
from kafkaspec.layout import names
from kafkaspec.layout.sequences import LARGEST_SEQUENCE, shorter_way
from kafkaspec.log.batch import NONE
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.results import Finding, OffsetRange, Strength


class ProducerVerdict(StrEnum):
    """The meaning of a break in the sequence numbers of a producer; a closed list."""

    REMOVED = "removed"
    """As many offsets are missing in between: batches were removed, or lost."""
    NEVER_HERE = "never_here"
    """No offsets are missing for the numbers: no leader of this log ever wrote them."""
    DUPLICATE = "duplicate"
    """The records are the same as those with the same numbers before."""
    REUSED = "reused"
    """The records differ from those with the same numbers before."""
    NOT_COMPARED = "not_compared"
    """Records with the numbers of before are gone or cannot be read, or are too many."""
    UNKNOWN_PRODUCER = "unknown_producer"
    """The broker did not know the producer, or its first batches of the epoch were removed."""
    TWO_WRITERS = "two_writers"
    """A fenced producer was served: two leaders, or a log put together by hand."""
    SNAPSHOT = "snapshot"
    """A producer snapshot and the log contradict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Break(Finding):
    """A break in the sequence numbers of a producer.

    ``offsets`` are those between both batches; for repeats those that repeat, for epochs the first
    one of the batch. ``position`` is that of the batch after it; None in a snapshot.

    Attributes:
        producer_id: of the producer.
        producer_epoch: of the batch after it.
        before: last sequence number before it.
        sequence: the first one after it.
        count: how many numbers are missing, or repeated.
        idle_ms: time between both batches, by their timestamps; None if it is not known.
        legal: whether brokers that work make it; None where the files do not say.
    """

    reason: ProducerVerdict
    producer_id: int
    producer_epoch: int
    before: int
    sequence: int
    count: int
    idle_ms: int | None
    legal: bool | None
    ALSO: ClassVar = ("verdict", "first_offset", "last_offset")

    @property
    def verdict(self) -> ProducerVerdict:
        """``reason``, by the name that it had before 0.3."""
        return self.reason

    @property
    def first_offset(self) -> int:
        """The first of ``offsets``; -1 for none."""
        return NONE if self.offsets is None else self.offsets.start

    @property
    def last_offset(self) -> int:
        """The last of ``offsets``; -1 for none."""
        return NONE if self.offsets is None or self.offsets.end is None else self.offsets.end - 1


_OF_STATE: Final = ("producer_id", "epoch", "last_sequence", "last_offset", "last_timestamp")


class SnapshotCheck:
    """Compares each producer snapshot of a log with what the log has before its offset."""

    def __init__(self, log: Partition | Segment) -> None:
        """Find the snapshots of a log; a segment has none."""
        self.breaks: list[Break] = []
        self.compared = 0
        self.compacted = -1
        self._log = log
        self._recent: list[dict[str, PerBatch]] = []
        self._known: dict[int, ProducerEntry] = {}
        self._snapshots: dict[int, Path] = {}
        self._first = 0
        self._has_checkpoint = False
        if not isinstance(log, Partition):
            return
        self._snapshots = dict(find_snapshots(log.snapshot_paths))
        self._first = log.first_base_offset or 0
        self._has_checkpoint = log.has_cleaner_checkpoint
        try:
            self.compacted = log.cleaner_offset or -1
        except KafkaSpecError:
            self._has_checkpoint = False

    def take(self, rows: dict[str, PerBatch]) -> None:
        """Take the next runs of producers."""
        if self._snapshots:
            self._recent.append(rows)

    def between(self, first: int, end: int) -> list[int]:
        """Return the offsets of snapshots between two batches, in order.

        That at the end is left for the start of the next batch, or the end of the segment.
        """
        return [offset for offset in sorted(self._snapshots) if first < offset < end]

    def end_segment(self, end: int | None) -> None:
        """Compare the snapshot at the end of a segment."""
        self._settle()
        self.at(end)

    def end(self, end: int | None) -> None:
        """Compare the snapshots at the end of the log and after it."""
        self.end_segment(end)
        for offset in sorted(self._snapshots):
            if end is None or offset > end:
                self.at(offset)

    def _settle(self) -> None:
        """Bring the state of producers up to the rows that were taken."""
        if not self._recent:
            return
        joined = {name: np.concatenate([part[name] for part in self._recent]) for name in _OF_STATE}
        self._recent = []
        order = np.argsort(joined["producer_id"], kind="stable")
        ids = joined["producer_id"][order]
        ends = order[np.append(ids[1:] != ids[:-1], True)]
        columns = [joined[name][ends].tolist() for name in _OF_STATE]
        for producer, epoch, sequence, offset, timestamp in zip(*columns, strict=True):
            self._known[producer] = snapshots.new_producer_entry(
                producer_id=producer,
                producer_epoch=epoch,
                last_sequence=sequence,
                last_offset=offset,
                offset_delta=0,
                timestamp=timestamp,
                coordinator_epoch=NONE,
                current_txn_first_offset=NONE,
            )

    def at(self, offset: int | None) -> None:
        """Compare the snapshot at an offset, if there is one, with the log before it."""
        path = None if offset is None else self._snapshots.get(offset)
        if path is None or offset is None or not isinstance(self._log, Partition):
            return
        self._settle()
        del self._snapshots[offset]
        entries = read_snapshot(path)
        self.compared += 1
        if entries is None:
            text = "it cannot be read, or its checksum is wrong"
            self._add(path, NONE, None, text, Strength.PROOF)
            return
        from kafkaspec.analysis.check_producers import contradictions

        for finding, producer in contradictions(self._log, offset, path, self._known):
            known = self._known.get(producer)
            self._add(path, producer, known, finding.message, Strength.STRONG)
        for entry in entries:
            producer = entry.producer_id
            lost = self._lost(self._log, entry, self._known.get(producer), offset)
            if lost:
                # Without the cleaner's checkpoint, nothing says that the log was not compacted.
                strength = Strength.PROOF if self._has_checkpoint else Strength.LIKELY
                self._add(path, producer, entry, f"producer {producer}: {lost}", strength)

    def _lost(
        self, log: Partition, entry: ProducerEntry, known: ProducerEntry | None, offset: int
    ) -> str:
        """Return what a snapshot has of a producer and the log before it lacks, "" for nothing."""
        # The cleaner keeps the last batch that a producer has in the whole log, not the last one
        # before a snapshot: below its checkpoint, nothing follows.
        place = entry.last_offset
        if entry.last_sequence < 0 or not max(self._first, self.compacted) <= place < offset:
            return ""
        if known is None:
            from kafkaspec.analysis.check_producers import batch_at

            if batch_at(log, place) is not None:
                return ""  # a marker, or the batch of another one: ``contradictions`` says so
            return f"its batch with sequence {entry.last_sequence} at offset {place} is lost"
        ahead = shorter_way(entry.last_sequence - known.last_sequence)
        if ahead <= 0 or known.producer_epoch != entry.producer_epoch:
            return ""
        text = f"it has sequence {entry.last_sequence} at offset {place}, the log before offset "
        return f"{text}{offset} ends with {known.last_sequence}: {ahead} records are lost"

    def _add(
        self, path: Path, producer: int, entry: ProducerEntry | None, text: str, strength: Strength
    ) -> None:
        self.breaks.append(
            Break(
                reason=ProducerVerdict.SNAPSHOT,
                producer_id=producer,
                producer_epoch=entry.producer_epoch if entry else NONE,
                before=NONE,
                sequence=entry.last_sequence if entry else NONE,
                count=0,
                offsets=OffsetRange.through(entry.last_offset, entry.last_offset)
                if entry
                else None,
                idle_ms=None,
                legal=False,
                strength=strength,
                message=text,
                file=os.fspath(path),
            )
        )


class Follows(StrEnum):
    """How a run of sequence numbers follows the one of its producer before it; a closed list."""

    START = "start"
    """The first one in the log."""
    RESUMES = "resumes"
    """Goes on where the producer was before a repeat."""
    EPOCH = "epoch"
    """Begins a later epoch with 0."""
    EPOCH_SEQUENCE = "epoch_sequence"
    """Begins a later epoch with another number: refused by a broker that knows the producer."""
    FENCED = "fenced"
    """Has an earlier epoch: a broker that knows the producer refuses it."""
    GAP = "gap"
    """Leaves numbers out."""
    REPEAT = "repeat"
    """Has numbers again that the log has before."""


_NAMES: Final = (
    "producer_id", "epoch", "first_sequence", "last_sequence", "first_offset", "last_offset",
    "batches", "records", "first_timestamp", "last_timestamp", "holes_before", "holes_after",
    "file", "position",
)  # fmt: skip
_LAST: Final = frozenset({"last_sequence", "last_offset", "last_timestamp", "holes_after"})
_SUMS: Final = frozenset({"batches", "records"})


SequenceRows = dict[str, PerBatch]


class SequenceRuns(NamedTuple):
    """The runs of sequence numbers of a log, with what lies between each and the one before."""

    rows: SequenceRows
    follows: Any
    numbers: PerBatch
    before: PerBatch


class SequenceWalk:
    """Joins the sequence numbers of a log, table by table."""

    def __init__(self, log: Partition | Segment, check: SnapshotCheck | None = None) -> None:
        """Prepare to read a log; ``check`` gets what the log has before each of its snapshots."""
        self._log, self._check = log, check
        self._group_offsets = isinstance(log, Partition) and log.topic == Topic.CONSUMER_OFFSETS
        self._parts: list[SequenceRows] = []
        self._holes = 0
        self._end: int | None = None
        self._file = -1

    def take(self, table: HeaderTable) -> None:
        """Take the next headers."""
        if table.file != self._file and self._check is not None:
            self._check.end_segment(self._end)
            if isinstance(self._log, Partition):
                self._check.at(self._log.base_offsets[table.file])
        self._file = table.file
        first, last = table.numpy(names.BASE_OFFSET), table.numpy(names.LAST_OFFSET)
        before = np.empty_like(first)
        before[0] = first[0] if self._end is None else self._end
        before[1:] = last[:-1] + 1
        holes = np.maximum(first - before, 0)
        holes[first < 0] = 0  # a compressed message that cannot be read
        holes = np.cumsum(holes) + self._holes
        self._holes, self._end = int(holes[-1]), int(last[-1]) + 1
        producer = table.numpy(names.PRODUCER_ID)
        wanted = (producer > NONE) & (table.numpy(names.BASE_SEQUENCE) > NONE)
        wanted &= table.numpy(names.IS_CONTROL) == 0
        rows = np.flatnonzero(wanted)
        if not len(rows) and self._check is None:
            return
        parts = rows_of(table, rows) | {
            "first_sequence": table.numpy(names.BASE_SEQUENCE)[rows],
            "last_sequence": table.numpy(names.LAST_SEQUENCE)[rows],
            "holes_before": holes[rows],
            "holes_after": holes[rows],
        }
        begin = 0
        if self._check is not None:
            for offset in self._check.between(int(before[0]), self._end):
                end = int(np.searchsorted(parts["last_offset"], offset))
                self._add({name: column[begin:end] for name, column in parts.items()})
                self._check.at(offset)
                begin = end
        self._add({name: column[begin:] for name, column in parts.items()})

    def _add(self, rows: SequenceRows) -> None:
        if len(rows["file"]):
            self._parts.append(_reduced(rows))
            if self._check is not None:
                self._check.take(self._parts[-1])

    def finish(self) -> None:
        """End the log."""
        if self._check is not None:
            self._check.end(self._end)

    @property
    def runs(self) -> SequenceRuns:
        """The runs so far."""
        rows: SequenceRows = {name: np.empty(0, np.int64) for name in _NAMES}
        if self._parts:
            rows = _reduced(
                {name: np.concatenate([part[name] for part in self._parts]) for name in rows}
            )
        return SequenceRuns(rows, *_followed(rows, self._group_offsets))

    @property
    def owners(self) -> SequenceRows:
        """The producers that leave out as many numbers as offsets are missing, and those offsets.

        Some of the offsets may be there.
        """
        rows, follows, numbers, _ = self.runs
        gaps = np.flatnonzero(follows == Follows.GAP)
        holes = rows["holes_before"][gaps] - rows["holes_after"][gaps - 1]
        gaps = gaps[holes == numbers[gaps]]
        return {
            "producer_id": rows["producer_id"][gaps],
            "first_offset": rows["last_offset"][gaps - 1] + 1,
            "last_offset": rows["first_offset"][gaps] - 1,
        }


def _reduced(rows: SequenceRows) -> SequenceRows:
    """Join rows of the same producer and epoch whose numbers continue; by producer, in order."""
    order = np.argsort(rows["producer_id"], kind="stable")
    producer, epoch = rows["producer_id"][order], rows["epoch"][order]
    following = (rows["last_sequence"][order] + 1) & LARGEST_SEQUENCE
    begins = np.ones(len(order), bool)
    begins[1:] = (
        (producer[1:] != producer[:-1])
        | (epoch[1:] != epoch[:-1])
        | (rows["first_sequence"][order][1:] != following[:-1])
    )
    return joined_rows(rows, order, begins, _LAST, _SUMS)


def _followed(rows: SequenceRows, group_offsets: bool) -> tuple[Any, PerBatch, PerBatch]:
    """Return how each run follows, the numbers it skips or repeats, and the last one before."""
    # Sequence numbers begin at 0 again after the largest one: they are counted on instead, and a
    # break goes the shorter way, as Kafka's ``incrementSequence`` does.
    count = len(rows["producer_id"])
    follows = np.full(count, Follows.RESUMES, "U16")
    numbers = np.zeros(count, np.int64)
    before = np.full(count, NONE, np.int64)
    if not count:
        return follows, numbers, before
    producer, epoch = rows["producer_id"], rows["epoch"]
    same = np.zeros(count, bool)
    same[1:] = producer[1:] == producer[:-1]
    step = np.zeros(count, np.int64)
    step[1:] = epoch[1:] - epoch[:-1]
    follows[~same] = Follows.START
    at_zero = rows["first_sequence"] == 0
    follows[same & (step > 0) & at_zero] = Follows.EPOCH
    follows[same & (step > 0) & ~at_zero] = Follows.EPOCH_SEQUENCE
    follows[same & (step < 0)] = Follows.FENCED
    within = same & (step == 0)
    before[1:] = rows["last_sequence"][:-1]
    signed = np.zeros(count, np.int64)
    signed[1:] = rows["first_sequence"][1:] - rows["last_sequence"][:-1] - 1
    signed = shorter_way(signed)
    length = ((rows["last_sequence"] - rows["first_sequence"]) & LARGEST_SEQUENCE) + 1
    jump = np.where(within, signed, 0)
    begins = np.append(np.flatnonzero(~within), count)
    repeating = np.flatnonzero(jump < 0)
    for group in np.unique(np.searchsorted(begins, repeating, side="right") - 1).tolist():
        start, end = int(begins[group]), int(begins[group + 1])
        # Where the numbers are, counted on, and how far they have been before each run.
        ends = np.cumsum(jump[start:end] + length[start:end])
        highest = np.maximum.accumulate(ends)[:-1]
        jump[start + 1 : end] = ends[1:] - length[start + 1 : end] - highest
        behind = highest - ends[:-1]
        before[start + 1 : end] = (
            rows["last_sequence"][start : end - 1] + behind
        ) & LARGEST_SEQUENCE
    follows[within & (jump > 0)] = Follows.GAP
    repeats = within & (jump < 0)
    follows[repeats] = Follows.REPEAT
    numbers = np.where(jump > 0, jump, np.where(jump < 0, np.minimum(-jump, length), 0))
    if group_offsets:  # quirk Q34: each batch of offsets in a transaction has sequence 0
        follows[repeats & at_zero] = Follows.RESUMES
    return follows, numbers, before
