"""Sequence numbers of producers in a log, in runs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import numpy as np

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.forensics.headers import Column, first_timestamps, joined_rows
from kafkaspec.forensics.producers.snapshot_check import SnapshotCheck
from kafkaspec.layout import names
from kafkaspec.layout.sequences import LARGEST_SEQUENCE, shorter_way
from kafkaspec.log.batch import NONE
from kafkaspec.log.header_table import POSITION, HeaderTable
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment


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


Rows = dict[str, Column]


class Runs(NamedTuple):
    """The runs of sequence numbers of a log.

    Attributes:
        rows: their columns, by producer, each in order.
        follows: how each follows the one before it, ``Follows``.
        numbers: how many numbers it leaves out or repeats.
        before: the last number before it.
    """

    rows: Rows
    follows: Any
    numbers: Column
    before: Column


class SequenceWalk:
    """Joins the sequence numbers of a log, table by table."""

    def __init__(self, log: Partition | Segment, check: SnapshotCheck | None = None) -> None:
        """Prepare to read a log.

        Args:
            log: the log.
            check: gets what the log has before each of its snapshots.
        """
        self._log, self._check = log, check
        self._group_offsets = isinstance(log, Partition) and log.topic == Topic.CONSUMER_OFFSETS
        self._parts: list[Rows] = []
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
        parts = {
            "producer_id": producer[rows],
            "epoch": table.numpy(names.PRODUCER_EPOCH)[rows],
            "first_sequence": table.numpy(names.BASE_SEQUENCE)[rows],
            "last_sequence": table.numpy(names.LAST_SEQUENCE)[rows],
            "first_offset": first[rows],
            "last_offset": last[rows],
            "batches": np.ones(len(rows), np.int64),
            "records": table.numpy(names.NUM_RECORDS)[rows],
            "first_timestamp": first_timestamps(table)[rows],
            "last_timestamp": table.numpy(names.MAX_TIMESTAMP)[rows],
            "holes_before": holes[rows],
            "holes_after": holes[rows],
            "file": np.full(len(rows), table.file, np.int64),
            "position": table.numpy(POSITION)[rows],
        }
        begin = 0
        if self._check is not None:
            for offset in self._check.between(int(before[0]), self._end):
                end = int(np.searchsorted(parts["last_offset"], offset))
                self._add({name: column[begin:end] for name, column in parts.items()})
                self._check.at(offset)
                begin = end
        self._add({name: column[begin:] for name, column in parts.items()})

    def _add(self, rows: Rows) -> None:
        if len(rows["file"]):
            self._parts.append(_reduced(rows))
            if self._check is not None:
                self._check.take(self._parts[-1])

    def finish(self) -> None:
        """End the log."""
        if self._check is not None:
            self._check.end(self._end)

    @property
    def runs(self) -> Runs:
        """The runs so far."""
        rows = _runs(self._parts)
        return Runs(rows, *_followed(rows, self._group_offsets))


class SequenceHoles:
    """Finds sequence numbers that are left out with just as many offsets, table by table."""

    def __init__(self, log: Partition | Segment) -> None:
        self._walk = SequenceWalk(log)

    def take(self, table: HeaderTable) -> None:
        """Take the next headers."""
        self._walk.take(table)

    @property
    def owners(self) -> dict[str, Column]:
        """The producers and the ranges of offsets, of which some are there."""
        rows, follows, numbers, _ = self._walk.runs
        gaps = np.flatnonzero(follows == Follows.GAP)
        holes = rows["holes_before"][gaps] - rows["holes_after"][gaps - 1]
        gaps = gaps[holes == numbers[gaps]]
        return {
            "producer_id": rows["producer_id"][gaps],
            "first_offset": rows["last_offset"][gaps - 1] + 1,
            "last_offset": rows["first_offset"][gaps] - 1,
        }


def _reduced(rows: Rows) -> Rows:
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


def _runs(parts: Sequence[Rows]) -> Rows:
    if not parts:
        return {name: np.empty(0, np.int64) for name in _NAMES}
    return _reduced({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _followed(rows: Rows, group_offsets: bool) -> tuple[Any, Column, Column]:
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
