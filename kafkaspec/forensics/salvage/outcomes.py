"""How transactions ended whose markers are lost: what the transaction indexes beside a log say."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names as files
from kafkaspec.files.snapshots import TransactionIndex
from kafkaspec.forensics.salvage.plan import SalvagedPiece, SegmentPlan, entries_of
from kafkaspec.forensics.salvage.report import LostOffsets, OpenTransaction
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.log.batch import NONE
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.segment import Segment
from kafkaspec.log.transactions import Aborted, AbortedTransactions

_NO_INDEX: Final = "a marker may be lost at offsets {}-{}, and no transaction index says so"


@dataclass(frozen=True, slots=True)
class Ended:
    """A transaction whose lost marker the transaction indexes tell.

    Attributes:
        plan: the segment that lacks the marker.
        producer_id: its producer.
        producer_epoch: epoch of its data.
        timestamp: largest time of its last batch.
        first_offset: first offset of it.
        marker: offset for the marker: for an abort the one that it had.
        kind: how it ended.
    """

    plan: SegmentPlan
    producer_id: int
    producer_epoch: int
    timestamp: int
    first_offset: int
    marker: int
    kind: ControlRecordType

    @property
    def why(self) -> str:
        """The evidence for this outcome."""
        if self.kind is ControlRecordType.ABORT:
            return "the transaction index lists it"
        return "the transaction index lists the next one of its producer, and not this one"


@dataclass(slots=True)
class _Open:
    """A transaction that no marker has ended so far."""

    first: int
    last: int
    epoch: int
    timestamp: int


class _Lost:
    """The offsets that are lost, and which transaction indexes tell of markers at them.

    Args:
        plans: the segments.
    """

    def __init__(self, plans: Sequence[SegmentPlan]) -> None:
        self._plans = plans
        found = [(lost, plan) for plan in plans for lost in plan.lost]
        self._ranges = sorted(found, key=lambda item: item[0].first_offset)
        self._firsts = [lost.first_offset for lost, _ in self._ranges]

    def at(self, offset: int) -> SegmentPlan | None:
        """Return the segment that has lost an offset, None if it is not lost."""
        number = bisect_right(self._firsts, offset) - 1
        if number < 0 or offset > self._ranges[number][0].last_offset:
            return None
        return self._ranges[number][1]

    def between(self, low: int, high: int) -> Iterator[LostOffsets]:
        """Yield what is lost after an offset and before another one."""
        for lost, _ in self._ranges[max(bisect_left(self._firsts, low) - 1, 0) :]:
            if lost.first_offset >= high:
                return
            if lost.last_offset > low:
                yield lost

    def last_before(self, low: int, high: int) -> int | None:
        """Return the last lost offset between two others, None if none is."""
        ranges = list(self.between(low, high))
        return min(ranges[-1].last_offset, high - 1) if ranges else None

    def is_told(self, lost: LostOffsets) -> bool:
        """Return whether the index of the segment that had some offsets lists their aborts."""
        bases = [plan.base_offset for plan in self._plans]
        own = lost.first_offset
        if lost.segment is not None:
            own = bases[max(bisect_right(bases, own) - 1, 0)]
        within = [base for base in self._indexes if own < base <= lost.last_offset]
        return self._indexes.get(own) is not None and None not in map(self._indexes.get, within)

    @cached_property
    def _indexes(self) -> Mapping[int, AbortedTransactions | None]:
        """The transaction indexes by base offset; None for one that cannot be read."""
        found: dict[int, AbortedTransactions | None] = {}
        for folder in {plan.path.parent for plan in self._plans}:
            for path in folder.glob(f"*{files.TRANSACTION_INDEX}"):
                base = files.offset_in(path.name)
                if base is not None:
                    found[base] = _read(path)
        return found

    @cached_property
    def aborted(self) -> Mapping[int, list[Aborted]]:
        """The aborted transactions of each producer, by first offset."""
        found: dict[int, list[Aborted]] = {}
        for item in (each for index in self._indexes.values() for each in index or ()):
            if item.first_offset < item.marker:
                found.setdefault(item.producer_id, []).append(item)
        for items in found.values():
            items.sort(key=lambda item: item.first_offset)
        return found


def _read(path: Path) -> AbortedTransactions | None:
    try:
        return AbortedTransactions.listed_in(TransactionIndex(path))
    except KafkaSpecError:  # ``verify`` reports it
        return None


@dataclass
class Outcomes:
    """Knowledge of transactions whose markers may be lost.

    Args:
        plans: the segments in order.

    Attributes:
        ended: those of which the indexes tell how they ended.
        unknown: those that may have ended otherwise than by the next marker of their producer.
    """

    plans: Sequence[SegmentPlan]
    ended: list[Ended] = field(default_factory=list)
    unknown: list[OpenTransaction] = field(default_factory=list)
    _open: dict[int, _Open] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lost = _Lost(self.plans)
        if not any(plan.lost for plan in self.plans):
            return
        for headers, count in kept_entries(self.plans, lambda plan: plan.pieces):
            for number in range(count):
                if headers.transactional[number] and headers.producer_id[number] > NONE:
                    self._take(headers, number)
        for producer_id, transaction in self._open.items():
            self._end(producer_id, transaction, None)

    def _take(self, headers: HeaderTable, number: int) -> None:
        producer_id, first = headers.producer_id[number], headers.first_offset[number]
        transaction = self._open.get(producer_id)
        if transaction is not None:
            if self._end(producer_id, transaction, first):
                transaction = None
            elif headers.control[number]:
                self._doubt(producer_id, transaction, first)
        if headers.control[number]:
            self._open.pop(producer_id, None)
            return
        self._open[producer_id] = _Open(
            first if transaction is None else transaction.first,
            headers.last_offset[number],
            headers.producer_epoch[number],
            headers.max_timestamp[number],
        )

    def _end(self, producer_id: int, transaction: _Open, offset: int | None) -> bool:
        """Note how a transaction ended before an offset, if the indexes say it; return whether."""
        high = LARGEST_OFFSET if offset is None else offset
        if next(self._lost.between(transaction.last, high), None) is None:
            return False
        for item in self._lost.aborted.get(producer_id, ()):
            if transaction.first < item.first_offset:
                # The next one of its producer begins there.
                limit = item.first_offset
                place = self._lost.last_before(transaction.last, limit)
                if limit > high or place is None or not self._told(transaction.last, limit):
                    return False
                self._note(producer_id, transaction, place, ControlRecordType.COMMIT)
                return True
            if transaction.last < item.marker < high and self._lost.at(item.marker) is not None:
                self._note(producer_id, transaction, item.marker, ControlRecordType.ABORT)
                return True
        return False

    def _told(self, low: int, high: int) -> bool:
        return all(map(self._lost.is_told, self._lost.between(low, high)))

    def _note(
        self, producer_id: int, transaction: _Open, marker: int, kind: ControlRecordType
    ) -> None:
        plan = self._lost.at(marker)
        assert plan is not None
        if any(item.marker == marker for item in self.ended):
            return
        self.ended.append(
            Ended(
                plan, producer_id, transaction.epoch, transaction.timestamp, transaction.first,
                marker, kind,
            )
        )  # fmt: skip

    def _doubt(self, producer_id: int, transaction: _Open, marker: int) -> None:
        """Note a transaction whose marker may be that of a later one."""
        for lost in self._lost.between(transaction.first, marker):
            if not self._lost.is_told(lost):
                why = _NO_INDEX.format(lost.first_offset, lost.last_offset)
                self.unknown.append(
                    OpenTransaction(producer_id, transaction.epoch, transaction.first, why)
                )
                return


def kept_entries(
    plans: Sequence[SegmentPlan], pieces: Callable[[SegmentPlan], Sequence[SalvagedPiece]]
) -> Iterator[tuple[HeaderTable, int]]:
    """Yield the headers of entries of each segment; see ``entries_of``.

    Args:
        plans: the segments.
        pieces: function that returns the pieces of one.
    """
    for plan in plans:
        chosen = pieces(plan)
        if chosen:
            with closing(Segment(plan.path)) as segment:
                yield from entries_of(segment, chosen)
