"""Sequence numbers of the producers of a partition: runs, repeats, gaps, epochs, snapshots.

A leader takes a batch of a producer that it knows only with the next sequence number, or with 0 of
a later epoch; a repeat of one of the last five batches it acknowledges without writing it. So
anything else in a log was written by a leader that did not know the producer: after
``producer.id.expiration.ms`` without a batch, after an unclean election, after its snapshots were
lost. Kafka: ``ProducerAppendInfo.checkProducerEpoch``, ``checkSequence``; KIP-98, KIP-360.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.headers import PerBatch, Unread, segment_paths, tables
from kafkaspec.forensics.producers.sequences import (
    Break,
    Follows,
    ProducerVerdict,
    SequenceRows,
    SequenceRuns,
)
from kafkaspec.layout import names
from kafkaspec.layout.sequences import LARGEST_SEQUENCE
from kafkaspec.log.batch import NONE, Batch
from kafkaspec.log.header_table import POSITION
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from kafkaspec.results import OffsetRange, Strength

_COMPARED: Final = 1 << 20
"""Records that are compared of all repeats; more are counted, and not compared."""


@dataclass(slots=True)
class _Place:
    """A batch of a producer."""

    first: int
    last: int
    offset: int
    file: int
    position: int


_OF_BATCH: Final = (
    names.PRODUCER_ID, names.PRODUCER_EPOCH, names.BASE_SEQUENCE, names.LAST_SEQUENCE,
    names.BASE_OFFSET, POSITION,
)  # fmt: skip


class Repeats:
    """The records of batches whose sequence numbers repeat, and of those with the same before.

    The headers of the producers that repeat are read again; a batch is compared with the latest
    earlier one that has its first number.
    """

    def __init__(self, log: Partition | Segment, producers: PerBatch) -> None:
        """Read where the batches of some producers are."""
        self._log = log
        self._left = _COMPARED
        self._segments: dict[int, Segment] = {}
        self._batches: dict[tuple[int, int], list[_Place]] = {}
        if len(producers):
            self._collect(producers)

    def _collect(self, ids: PerBatch) -> None:
        for table in tables(self._log, Unread()):
            wanted = np.isin(table.numpy(names.PRODUCER_ID), ids)
            wanted &= table.numpy(names.BASE_SEQUENCE) > NONE
            wanted &= table.numpy(names.IS_CONTROL) == 0
            found = np.flatnonzero(wanted)
            columns = [table.numpy(name)[found].tolist() for name in _OF_BATCH]
            for producer, epoch, first, last, offset, place in zip(*columns, strict=True):
                batches = self._batches.setdefault((producer, epoch), [])
                batches.append(_Place(first, last, offset, table.file, place))

    def compared(
        self, producer: tuple[int, int], base: int, count: int, start: int, end: int
    ) -> tuple[int, int, int]:
        """Return how many batches have the records of before, others, and which is not known."""
        equal = different = unknown = 0
        earlier: dict[int, _Place] = {}
        for place in self._batches.get(producer, ()):
            if place.offset > end:
                break
            if place.offset >= start and (place.first - base) & LARGEST_SEQUENCE < count:
                same = self._same(earlier.get(place.first), place)
                equal += same is True
                different += same is False
                unknown += same is None
            earlier[place.first] = place
        return equal, different, unknown

    def _same(self, one: _Place | None, other: _Place) -> bool | None:
        """Return whether two batches have the same records; None if that cannot be said."""
        if one is None or self._left <= 0:
            return None
        try:
            first, second = self._records(one), self._records(other)
        except (KafkaSpecError, OSError):
            return None
        self._left -= len(first) + len(second)
        common = first.keys() & second.keys()
        if not common:
            return None
        return all(_content(first[number]) == _content(second[number]) for number in common)

    def _records(self, place: _Place) -> dict[int, Record]:
        batch = self._batch(place)
        base = place.first - batch.base_offset
        return {(record.offset + base) & LARGEST_SEQUENCE: record for record in batch.records()}

    def _batch(self, place: _Place) -> Batch:
        if isinstance(self._log, Segment):
            return self._log.batch_at(place.position)
        segment = self._segments.get(place.file)
        if segment is None:
            if len(self._segments) > 1:
                self._segments.pop(next(iter(self._segments))).close()
            segment = self._log.open_segment(self._log.segment_paths[place.file])
            self._segments[place.file] = segment
        return segment.batch_at(place.position)


def _content(record: Record) -> tuple[Any, ...]:
    return record.key, record.value, record.headers


def breaks_of(
    log: Partition | Segment, runs: SequenceRuns, expiration_ms: int, compacted: int
) -> Iterator[Break]:
    """Yield what the breaks between runs mean where brokers forget producers after a time."""
    rows, follows, numbers, before = runs
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
        expired = None if idle is None else idle >= expiration_ms
        begin, end = int(rows["last_offset"][last]) + 1, offset - 1
        cleaned = offset <= compacted
        legal: bool | None
        if kind is Follows.GAP and holes >= count:
            verdict, legal = ProducerVerdict.REMOVED, True if cleaned else None
            strength = Strength.STRONG if holes == count else Strength.CONSISTENT
            why = f"{holes} offsets are missing in between: the batches were removed or lost"
        elif kind is Follows.GAP:
            verdict, legal = ProducerVerdict.NEVER_HERE, expired
            strength = Strength.STRONG
            why = _forgot(expired, f"at least {count - holes} of them were never in this log")
        elif kind is Follows.EPOCH_SEQUENCE:
            verdict, legal = ProducerVerdict.UNKNOWN_PRODUCER, True if expired or holes else None
            strength = Strength.CONSISTENT if holes else Strength.STRONG
            why = _forgot(expired, "a later epoch begins with 0")
            begin, count = offset, 0
        elif kind is Follows.FENCED:
            verdict, legal, strength = ProducerVerdict.TWO_WRITERS, False, Strength.STRONG
            earlier = int(rows["epoch"][last])
            why = f"epoch {earlier} comes before: a leader that knows it refuses the earlier one"
            begin, count = offset, 0
        else:
            verdict, strength, detail = _of_repeat(repeats, rows, row, count)
            legal = True if verdict is ProducerVerdict.REUSED and sequence == 0 else expired
            why = _forgot(expired, detail)
            begin, end = offset, offset + count - 1
        what = {
            Follows.GAP: f"sequence {previous} is followed by {sequence}: {count} are left out",
            Follows.REPEAT: f"sequence {previous} is followed by {sequence}: {count} come again",
        }.get(kind, f"begins with sequence {sequence}")
        yield Break(
            reason=verdict,
            producer_id=producer,
            producer_epoch=epoch,
            before=previous,
            sequence=sequence,
            count=count,
            offsets=OffsetRange.through(begin, max(end, begin)),
            idle_ms=idle,
            legal=legal,
            strength=strength,
            message=f"producer {producer}, epoch {epoch}: {what}; {why}",
            file=paths[int(rows["file"][this])],
            position=int(rows["position"][this]),
        )


def _forgot(expired: bool | None, detail: str) -> str:
    reason = "had expired at the broker" if expired else "was not known to the broker"
    return f"{detail}; the producer {reason}"


def _of_repeat(
    repeats: Repeats, rows: SequenceRows, row: int, count: int
) -> tuple[ProducerVerdict, Strength, str]:
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
        return ProducerVerdict.REUSED, Strength.PROOF, text
    if equal and not unknown:
        return ProducerVerdict.DUPLICATE, Strength.PROOF, "their records are the same"
    if equal:
        text = f"the records are the same in {equal} batches, {unknown} could not be compared"
        return ProducerVerdict.DUPLICATE, Strength.STRONG, text
    return ProducerVerdict.NOT_COMPARED, Strength.UNKNOWN, "their records could not be compared"
