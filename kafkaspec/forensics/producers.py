"""Sequence numbers of the producers of a partition: runs, repeats, gaps, epochs, snapshots.

A leader takes a batch of a producer that it knows only with the next sequence number, or with 0 of
a later epoch; a repeat of one of the last five batches it acknowledges without writing it. So
anything else in a log was written by a leader that did not know the producer: after
``producer.id.expiration.ms`` without a batch, after an unclean election, after its snapshots were
lost. Kafka: ``ProducerAppendInfo.checkProducerEpoch``, ``checkSequence``; KIP-98, KIP-360.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model.producer_snapshot import ProducerEntry
from kafkaspec.analysis.check_producers import batch_at, contradictions
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names as files
from kafkaspec.files import snapshots
from kafkaspec.forensics.headers import (
    NAMED,
    BatchRows,
    Column,
    Unread,
    joined_rows,
    named,
    segment_paths,
    tables,
)
from kafkaspec.forensics.repeats import Repeats
from kafkaspec.forensics.strength import Assumption, Strength
from kafkaspec.layout.sequences import LARGEST_SEQUENCE
from kafkaspec.log.batch import NONE
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.writing.loading import PRODUCER_EXPIRATION_MS, read_snapshot


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


RUNS: Final = pa.schema([
    ("producer_id", pa.int64()),
    ("producer_epoch", pa.int16()),
    ("first_sequence", pa.int32()),
    ("last_sequence", pa.int32()),
    ("first_offset", pa.int64()),
    ("last_offset", pa.int64()),
    ("batches", pa.int64()),
    ("records", pa.int64()),
    ("first_timestamp", pa.int64()),
    ("last_timestamp", pa.int64()),
    ("follows", pa.string()),
    ("file", NAMED),
    ("position", pa.int64()),
])  # fmt: skip
"""Columns of runs of sequence numbers, by producer, each in order; timestamps in ms, null for none.
``records`` are those that are there: compaction can have left fewer than the numbers say."""


class Verdict(StrEnum):
    """What a break in the sequence numbers of a producer means; a closed list."""

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


@dataclass(slots=True)
class Break:
    """A break in the sequence numbers of a producer.

    Attributes:
        verdict: what it means.
        producer_id: of the producer.
        producer_epoch: of the batch after it.
        before: last sequence number before it.
        sequence: the first one after it.
        count: how many numbers are missing, or repeated.
        first_offset: first offset after the last batch before it; for repeats and epochs the first
            offset of the batch.
        last_offset: the offset before the batch after it; for repeats the last one that repeats.
        idle_ms: time between both batches, by their timestamps; None if it is not known.
        legal: whether brokers that work make it; None where the files do not say.
        strength: how far the verdict is proven.
        message: what was found, and what can be the reason.
        file: path of the segment or snapshot.
        position: byte offset of the batch; None in a snapshot.
    """

    verdict: Verdict
    producer_id: int
    producer_epoch: int
    before: int
    sequence: int
    count: int
    first_offset: int
    last_offset: int
    idle_ms: int | None
    legal: bool | None
    strength: Strength
    message: str
    file: str
    position: int | None


@dataclass
class Producers:
    """The producers of a partition.

    Attributes:
        runs: see ``RUNS``.
        breaks: breaks in the sequences, by producer; then contradictions of snapshots.
        snapshots: number of producer snapshots that were compared.
        assumptions: what the answers depend on.
        unread: what could not be read.
    """

    runs: pa.Table
    breaks: list[Break]
    snapshots: int
    assumptions: list[Assumption]
    unread: list[KafkaSpecError]


_NAMES: Final = (
    "producer_id", "epoch", "first_sequence", "last_sequence", "first_offset", "last_offset",
    "batches", "records", "first_timestamp", "last_timestamp", "holes_before", "holes_after",
    "file", "position",
)  # fmt: skip
_LAST: Final = frozenset({"last_sequence", "last_offset", "last_timestamp", "holes_after"})
_SUMS: Final = frozenset({"batches", "records"})
_HALF: Final = (LARGEST_SEQUENCE + 1) // 2

_OF_STATE: Final = ("producer_id", "epoch", "last_sequence", "last_offset", "last_timestamp")

_Rows = dict[str, Column]


def read_producers(
    log: Partition | Segment, *, expiration_ms: int = PRODUCER_EXPIRATION_MS
) -> Producers:
    """Return the sequence numbers of the producers of a partition, and what is wrong with them.

    Only headers are read, and the records of batches whose numbers repeat; checksums of the other
    batches are not verified.

    Args:
        log: the partition, or a segment alone.
        expiration_ms: ``producer.id.expiration.ms`` of the brokers that wrote it.

    Raises:
        KafkaSpecError: nothing of it can be read.
    """
    unread = Unread()
    walk = _Walk(log)
    for table in tables(log, unread):
        walk.take(table)
    walk.finish()
    rows = _runs(walk.parts)
    follows, jump, highest = _followed(rows, walk.group_offsets)
    breaks = list(_breaks(log, rows, follows, jump, highest, expiration_ms, walk.compacted))
    breaks += walk.contradictions
    paths = segment_paths(log)
    assumed = [
        Assumption(
            "producer.id.expiration.ms",
            str(expiration_ms),
            "Kafka's default" if expiration_ms == PRODUCER_EXPIRATION_MS else "as it was given",
        ),
        Assumption("clock", "timestamps of records", "the log has no times of the broker for data"),
    ]
    return Producers(_table(rows, follows, paths), breaks, walk.compared, assumed, unread.errors)


# -- reading ----------------------------------------------------------------------------------


@dataclass
class _Walk:
    """What is read of a log, table by table."""

    log: Partition | Segment
    compares: bool = True
    parts: list[_Rows] = field(default_factory=list)
    contradictions: list[Break] = field(default_factory=list)
    compared: int = 0
    compacted: int = -1
    _holes: int = 0
    _end: int | None = None
    _file: int = -1
    _recent: list[_Rows] = field(default_factory=list)
    _known: dict[int, ProducerEntry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        log = self.log
        self.group_offsets = isinstance(log, Partition) and log.topic == Topic.CONSUMER_OFFSETS
        self._snapshots: dict[int, Path] = {}
        self._first = 0
        self._has_checkpoint = False
        if isinstance(log, Partition) and self.compares:
            named = ((files.parse_segment(path.name), path) for path in log.snapshot_paths)
            self._snapshots = {name.base_offset: path for name, path in named if name is not None}
            self._first = log.first_base_offset or 0
            self._has_checkpoint = (log.path.parent / files.CLEANER_OFFSETS).exists()
            try:
                self.compacted = log.cleaner_offset or -1
            except KafkaSpecError:
                self._has_checkpoint = False

    def take(self, table: BatchRows) -> None:
        if table.file != self._file:
            self.end_segment()
            self._file = table.file
            self._at(self.log.base_offsets[table.file] if isinstance(self.log, Partition) else None)
        first, last = table["base_offset"], table["last_offset"]
        before = np.empty_like(first)
        before[0] = first[0] if self._end is None else self._end
        before[1:] = last[:-1] + 1
        holes = np.maximum(first - before, 0)
        holes[first < 0] = 0  # a compressed message that cannot be read
        holes = np.cumsum(holes) + self._holes
        self._holes, self._end = int(holes[-1]), int(last[-1]) + 1
        producer = table["producer_id"]
        wanted = (producer > NONE) & (table["base_sequence"] > NONE) & (table["control"] == 0)
        rows = np.flatnonzero(wanted)
        parts = {
            "producer_id": producer[rows],
            "epoch": table["producer_epoch"][rows],
            "first_sequence": table["base_sequence"][rows],
            "last_sequence": table["last_sequence"][rows],
            "first_offset": first[rows],
            "last_offset": last[rows],
            "batches": np.ones(len(rows), np.int64),
            "records": table["num_records"][rows],
            "first_timestamp": table["base_timestamp"][rows],
            "last_timestamp": table["max_timestamp"][rows],
            "holes_before": holes[rows],
            "holes_after": holes[rows],
            "file": np.full(len(rows), table.file, np.int64),
            "position": table.position[rows],
        }
        begin = 0
        for offset in sorted(self._snapshots):
            if before[0] < offset < self._end:  # of the end: a snapshot that the next batch follows
                end = int(np.searchsorted(parts["last_offset"], offset))
                self._add_rows({name: column[begin:end] for name, column in parts.items()})
                self._settle()
                self._at(offset)
                begin = end
        self._add_rows({name: column[begin:] for name, column in parts.items()})

    def _add_rows(self, rows: _Rows) -> None:
        if len(rows["file"]):
            self.parts.append(_reduced(rows))
            self._recent += self.parts[-1:] if self._snapshots else []

    def finish(self) -> None:
        """Compare the snapshots at the end of the log and after it."""
        self.end_segment()
        for offset in sorted(self._snapshots):
            if self._end is None or offset > self._end:
                self._at(offset)

    def end_segment(self) -> None:
        """Compare the snapshot at the end of a segment."""
        self._settle()
        self._at(self._end)

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

    def _at(self, offset: int | None) -> None:
        """Compare the snapshot at an offset with the log before it."""
        path = None if offset is None else self._snapshots.pop(offset, None)
        if path is None or not isinstance(self.log, Partition):
            return
        assert offset is not None
        entries = read_snapshot(path)
        self.compared += 1
        if entries is None:
            self._add(path, None, "it cannot be read, or its checksum is wrong", Strength.PROOF)
            return
        for finding, producer in contradictions(self.log, offset, path, self._known):
            self._add(path, self._known.get(producer), finding.message, Strength.STRONG, producer)
        for entry in entries:
            known = self._known.get(entry.producer_id)
            lost = self._lost(self.log, entry, known, offset)
            if lost:
                # Without the cleaner's checkpoint, nothing says that the log was not compacted.
                strength = Strength.PROOF if self._has_checkpoint else Strength.LIKELY
                self._add(path, entry, lost, strength)

    def _lost(
        self, log: Partition, entry: ProducerEntry, known: ProducerEntry | None, offset: int
    ) -> str:
        """Return what a snapshot has of a producer that the log before it has not, "" for nothing.

        The cleaner keeps the last batch that a producer has in the whole log, not the last one
        before a snapshot: below its checkpoint, nothing follows.
        """
        place = entry.last_offset
        if entry.last_sequence < 0 or not max(self._first, self.compacted) <= place < offset:
            return ""
        if known is None:
            if batch_at(log, place) is not None:
                return ""  # a marker, or the batch of another one: ``contradictions`` says so
            return f"its batch with sequence {entry.last_sequence} at offset {place} is lost"
        ahead = _signed(entry.last_sequence - known.last_sequence)
        if ahead <= 0 or known.producer_epoch != entry.producer_epoch:
            return ""
        return (
            f"it has sequence {entry.last_sequence} at offset {place}, the log before offset "
            f"{offset} ends with {known.last_sequence}: {ahead} records are lost"
        )

    def _add(
        self, path: os.PathLike[str], entry: ProducerEntry | None, text: str, strength: Strength,
        producer: int = NONE,
    ) -> None:  # fmt: skip
        producer = entry.producer_id if entry else producer
        self.contradictions.append(
            Break(
                verdict=Verdict.SNAPSHOT,
                producer_id=producer,
                producer_epoch=entry.producer_epoch if entry else NONE,
                before=NONE,
                sequence=entry.last_sequence if entry else NONE,
                count=0,
                first_offset=entry.last_offset if entry else NONE,
                last_offset=entry.last_offset if entry else NONE,
                idle_ms=None,
                legal=False,
                strength=strength,
                message=text if producer < 0 or text.startswith("prod") else
                f"producer {producer}: {text}",
                file=os.fspath(path),
                position=None,
            )
        )  # fmt: skip


class SequenceHoles:
    """Finds sequence numbers that are left out with just as many offsets, table by table."""

    def __init__(self, log: Partition | Segment) -> None:
        self._walk = _Walk(log, compares=False)

    def take(self, table: BatchRows) -> None:
        """Take the next headers."""
        self._walk.take(table)

    @property
    def owners(self) -> dict[str, Column]:
        """The producers and the ranges of offsets, of which some are there."""
        rows = _runs(self._walk.parts)
        follows, numbers, _ = _followed(rows, self._walk.group_offsets)
        gaps = np.flatnonzero(follows == Follows.GAP)
        holes = rows["holes_before"][gaps] - rows["holes_after"][gaps - 1]
        gaps = gaps[holes == numbers[gaps]]
        return {
            "producer_id": rows["producer_id"][gaps],
            "first_offset": rows["last_offset"][gaps - 1] + 1,
            "last_offset": rows["first_offset"][gaps] - 1,
        }


def _signed(difference: int) -> int:
    """Return the way from one sequence number to another, forwards or backwards."""
    return (difference + _HALF) % (2 * _HALF) - _HALF


# -- runs -------------------------------------------------------------------------------------


def _reduced(rows: _Rows) -> _Rows:
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


def _runs(parts: Sequence[_Rows]) -> _Rows:
    if not parts:
        return {name: np.empty(0, np.int64) for name in _NAMES}
    return _reduced({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _followed(rows: _Rows, group_offsets: bool) -> tuple[Any, Column, Column]:
    """Return how each run follows, the numbers it leaves out or repeats, and the last one before.

    Sequence numbers begin at 0 again after the largest one: they are counted on instead, and a
    break goes the shorter way, as Kafka's ``incrementSequence`` does.
    """
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
    signed = (signed + _HALF) % (2 * _HALF) - _HALF
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


def _table(rows: _Rows, follows: Any, paths: list[str]) -> pa.Table:
    made = []
    for item in RUNS:
        if item.name == "follows":
            column = pa.array(follows.tolist(), item.type)
        elif item.name == "file":
            column = named(rows["file"], paths)
        elif item.name == "producer_epoch":
            column = pa.array(rows["epoch"])
        elif item.name.endswith("timestamp"):
            column = pa.array(rows[item.name], mask=rows[item.name] < 0)
        else:
            column = pa.array(rows[item.name])
        made.append(column.cast(item.type))
    return pa.Table.from_arrays(made, schema=RUNS)


# -- breaks -----------------------------------------------------------------------------------


def _breaks(
    log: Partition | Segment,
    rows: _Rows,
    follows: Any,
    numbers: Column,
    before: Column,
    expiration_ms: int,
    compacted: int,
) -> Iterator[Break]:
    normal = (Follows.START, Follows.RESUMES, Follows.EPOCH)
    wanted = np.flatnonzero(~np.isin(follows, normal)).tolist()
    repeating = [row for row in wanted if follows[row] == Follows.REPEAT]
    repeats = Repeats(log, np.unique(rows["producer_id"][repeating]))
    paths = segment_paths(log)
    for row in wanted:
        kind = Follows(str(follows[row]))
        last, this = row - 1, row
        then, now = int(rows["last_timestamp"][last]), int(rows["first_timestamp"][this])
        idle = now - then if then >= 0 and now >= 0 else None
        holes = int(rows["holes_before"][this] - rows["holes_after"][last])
        count, previous = int(numbers[row]), int(before[row])
        sequence, producer = int(rows["first_sequence"][this]), int(rows["producer_id"][this])
        epoch, offset = int(rows["epoch"][this]), int(rows["first_offset"][this])
        expired = idle is not None and idle >= expiration_ms
        begin, end = int(rows["last_offset"][last]) + 1, offset - 1
        cleaned = offset <= compacted
        legal: bool | None
        if kind is Follows.GAP and holes >= count:
            verdict, legal = Verdict.REMOVED, True if cleaned else None
            strength = Strength.STRONG if holes == count else Strength.CONSISTENT
            why = f"{holes} offsets are missing in between: the batches were removed or lost"
        elif kind is Follows.GAP:
            verdict, legal = Verdict.NEVER_HERE, expired
            strength = Strength.STRONG
            why = _forgot(expired, f"at least {count - holes} of them were never in this log")
        elif kind is Follows.EPOCH_SEQUENCE:
            verdict, legal = Verdict.UNKNOWN_PRODUCER, True if expired or holes else None
            strength = Strength.CONSISTENT if holes else Strength.STRONG
            why = _forgot(expired, "a later epoch begins with 0")
            begin, count = offset, 0
        elif kind is Follows.FENCED:
            verdict, legal, strength = Verdict.TWO_WRITERS, False, Strength.STRONG
            earlier = int(rows["epoch"][last])
            why = f"epoch {earlier} comes before: a leader that knows it refuses the earlier one"
            begin, count = offset, 0
        else:
            verdict, strength, detail = _of_repeat(repeats, rows, row, count)
            legal = expired or (verdict is Verdict.REUSED and sequence == 0)
            why = _forgot(expired, detail)
            begin, end = offset, offset + count - 1
        what = {
            Follows.GAP: f"sequence {previous} is followed by {sequence}: {count} are left out",
            Follows.REPEAT: f"sequence {previous} is followed by {sequence}: {count} come again",
        }.get(kind, f"begins with sequence {sequence}")
        yield Break(
            verdict=verdict,
            producer_id=producer,
            producer_epoch=epoch,
            before=previous,
            sequence=sequence,
            count=count,
            first_offset=begin,
            last_offset=max(end, begin),
            idle_ms=idle,
            legal=legal,
            strength=strength,
            message=f"producer {producer}, epoch {epoch}: {what}; {why}",
            file=paths[int(rows["file"][this])],
            position=int(rows["position"][this]),
        )


def _forgot(expired: bool, detail: str) -> str:
    reason = "had expired at the broker" if expired else "was not known to the broker"
    return f"{detail}; the producer {reason}"


def _of_repeat(
    repeats: Repeats, rows: _Rows, row: int, count: int
) -> tuple[Verdict, Strength, str]:
    """Return whether the numbers of a run that repeat have the same records as before."""
    equal, different, unknown = repeats.compared(
        (int(rows["producer_id"][row]), int(rows["epoch"][row])),
        int(rows["first_sequence"][row]),
        count,
        int(rows["first_offset"][row]),
        int(rows["last_offset"][row]),
    )
    if different:
        text = f"the records differ from those before in {different} batches"
        return Verdict.REUSED, Strength.PROOF, text
    if equal and not unknown:
        return Verdict.DUPLICATE, Strength.PROOF, "their records are the same"
    if equal:
        text = f"the records are the same in {equal} batches, {unknown} could not be compared"
        return Verdict.DUPLICATE, Strength.STRONG, text
    return Verdict.NOT_COMPARED, Strength.UNKNOWN, "their records could not be compared"


def by_producer(found: Producers) -> Iterator[Mapping[str, Any]]:
    """Yield a row for each producer: its runs together, and the last that the log has of it."""
    runs = found.runs
    ids = runs["producer_id"].to_numpy()
    if not len(ids):
        return
    first = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    ends = np.append(first[1:], len(ids))
    sums = {name: np.add.reduceat(runs[name].to_numpy(), first) for name in ("batches", "records")}
    starts = runs.take(pa.array(first))
    lasts = runs.take(pa.array(ends - 1))
    for number in range(len(first)):
        start, last = (part.slice(number, 1).to_pylist()[0] for part in (starts, lasts))
        yield {
            "producer_id": start["producer_id"],
            "first_epoch": start["producer_epoch"],
            "last_epoch": last["producer_epoch"],
            "last_sequence": last["last_sequence"],
            "first_offset": start["first_offset"],
            "last_offset": last["last_offset"],
            "last_timestamp": last["last_timestamp"],
            "batches": int(sums["batches"][number]),
            "records": int(sums["records"][number]),
            "runs": int(ends[number] - first[number]),
        }
