"""Entries in the place of lost offsets: markers that end transactions, and empty batches.

Transaction indexes beside a log tell how transactions ended whose markers are lost.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Literal

from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec._generated.python.model.producer_snapshot import ProducerEntry
from kafkaspec.broker.producer_state import ProducerState
from kafkaspec.broker.profiles import Profile
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names as files
from kafkaspec.files.indexes import LARGEST_RELATIVE_OFFSET
from kafkaspec.files.snapshots import TransactionIndex
from kafkaspec.forensics.salvage.plan import SalvagedPiece, SegmentPlan, entries_of
from kafkaspec.forensics.salvage.report import Added, LostOffsets, OpenInOutput
from kafkaspec.forensics.transactions import by_producer, decision_of
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import NO_TIMESTAMP, NONE
from kafkaspec.log.encoding import encode, encode_marker
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.segment import Segment
from kafkaspec.log.transactions import Aborted, AbortedTransactions
from kafkaspec.results import Strength

_NO_INDEX: Final = "a marker may be lost at offsets {}-{}, and no transaction index says so"


@dataclass(frozen=True, slots=True)
class Ended:
    """A transaction whose lost marker the transaction indexes tell, and the offset for it."""

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
    """The offsets that are lost, and which transaction indexes tell of markers at them."""

    def __init__(self, plans: Sequence[SegmentPlan]) -> None:
        found = [(lost, plan) for plan in plans for lost in plan.lost]
        self._ranges = sorted(found, key=lambda item: item[0].first_offset)
        self._firsts = [lost.first_offset for lost, _ in self._ranges]
        self._bases = [plan.base_offset for plan in plans]
        self._folders = {plan.path.parent for plan in plans}

    def at(self, offset: int) -> SegmentPlan | None:
        """Return the segment that has lost an offset, None if it is not lost."""
        number = bisect_right(self._firsts, offset) - 1
        if number < 0 or offset > self._ranges[number][0].last_offset:
            return None
        return self._ranges[number][1]

    def between(self, low: int, high: int) -> Iterator[LostOffsets]:
        """Yield what is lost after an offset and before another one."""
        for number in range(max(bisect_left(self._firsts, low) - 1, 0), len(self._ranges)):
            lost, _ = self._ranges[number]
            if lost.first_offset >= high:
                return
            if lost.last_offset > low:
                yield lost

    def last_before(self, low: int, high: int) -> int | None:
        """Return the last lost offset between two others, None if none is."""
        number = bisect_left(self._firsts, high) - 1
        last = self._ranges[number][0].last_offset if number >= 0 else low
        return min(last, high - 1) if last > low else None

    def is_told(self, lost: LostOffsets) -> bool:
        """Return whether the index of the segment that had some offsets lists their aborts."""
        own = lost.first_offset
        if lost.segment is not None:
            own = self._bases[max(bisect_right(self._bases, own) - 1, 0)]
        first, end = (bisect_right(self._listed, offset) for offset in (own, lost.last_offset))
        within = self._listed[first:end]
        return self._indexes.get(own) is not None and None not in map(self._indexes.get, within)

    @cached_property
    def _listed(self) -> list[int]:
        return sorted(self._indexes)

    @cached_property
    def _indexes(self) -> Mapping[int, AbortedTransactions | None]:
        """The transaction indexes by base offset; None for one that cannot be read."""
        found: dict[int, AbortedTransactions | None] = {}
        for folder in self._folders:
            for path in folder.glob(f"*{files.TRANSACTION_INDEX}"):
                base = files.offset_in(path.name)
                if base is not None:
                    found[base] = _read(path)
        return found

    @cached_property
    def _aborted(self) -> Mapping[int, tuple[list[Aborted], list[int]]]:
        """The aborted transactions of each producer, and the largest marker up to each."""
        found: dict[int, list[Aborted]] = {}
        for item in (each for index in self._indexes.values() for each in index or ()):
            if item.first_offset < item.marker:
                found.setdefault(item.producer_id, []).append(item)
        for items in found.values():
            items.sort(key=attrgetter("first_offset"))
        return {
            producer_id: (items, list(accumulate(map(attrgetter("marker"), items), max)))
            for producer_id, items in found.items()
        }

    def aborted_after(self, producer_id: int, open_: _Open) -> Iterator[Aborted]:
        """Yield the aborted transactions of a producer that may be an open one, or follow it."""
        items, reached = self._aborted.get(producer_id, ((), ()))
        ended = bisect_right(reached, open_.last)
        later = bisect_right(items, open_.first, key=attrgetter("first_offset"))
        for number in range(min(ended, later), len(items)):
            yield items[number]


def _read(path: Path) -> AbortedTransactions | None:
    try:
        return AbortedTransactions.listed_in(TransactionIndex(path))
    except KafkaSpecError:  # ``verify`` reports it
        return None


@dataclass
class Outcomes:
    """Knowledge of transactions whose markers may be lost.

    Attributes:
        ended: those of which the indexes tell how they ended.
        unknown: those that may have ended otherwise than by the next marker of their producer.
    """

    plans: Sequence[SegmentPlan]
    ended: list[Ended] = field(default_factory=list)
    unknown: list[OpenInOutput] = field(default_factory=list)
    _open: dict[int, _Open] = field(default_factory=dict)
    _markers: set[int] = field(default_factory=set)

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
        for item in self._lost.aborted_after(producer_id, transaction):
            if transaction.first < item.first_offset:
                # The next one of its producer begins there.
                limit = item.first_offset
                place = self._lost.last_before(transaction.last, limit)
                told = map(self._lost.is_told, self._lost.between(transaction.last, limit))
                if limit > high or place is None or not all(told):
                    return False
                self._note(producer_id, transaction, place, ControlRecordType.COMMIT)
                return True
            if transaction.last < item.marker < high and self._lost.at(item.marker) is not None:
                self._note(producer_id, transaction, item.marker, ControlRecordType.ABORT)
                return True
        return False

    def _note(
        self, producer_id: int, transaction: _Open, marker: int, kind: ControlRecordType
    ) -> None:
        plan = self._lost.at(marker)
        assert plan is not None
        if marker in self._markers:
            return
        self._markers.add(marker)
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
                left = OpenInOutput(producer_id, transaction.epoch, transaction.first, why)
                self.unknown.append(left)
                return


def kept_entries(
    plans: Sequence[SegmentPlan], pieces: Callable[[SegmentPlan], Sequence[SalvagedPiece]]
) -> Iterator[tuple[HeaderTable, int]]:
    """Yield the headers of entries of each segment; see ``entries_of``."""
    for plan in plans:
        chosen = pieces(plan)
        if chosen:
            with closing(Segment(plan.path)) as segment:
                yield from entries_of(segment, chosen)


AddedMarkers = Literal["none", "abort", "state"]
"""What to do with a transaction that is open, if offsets after it are lost. ``none``: leave it
open. ``abort`` it. ``state``: end it as its coordinator knows."""

Fill = Literal["none", "tail", "all"]
"""Which lost offsets get an empty batch: none, those at the end of the log, or all."""

SalvageOutcome = tuple[ControlRecordType, Strength, str]
"""How a transaction ended, how well that is proven, and why."""

Decide = Callable[[ProducerEntry], SalvageOutcome | str]
"""Function that returns how an open transaction ended, or why that is not known."""


@dataclass(frozen=True, slots=True)
class Addition:
    """An entry to write."""

    added: Added
    data: bytes


@dataclass(slots=True)
class _Room:
    """Lost offsets that nothing was put into yet, and where in the log they are."""

    first: int
    last: int
    plan: SegmentPlan
    epoch: int
    at_end: bool


def open_transactions(
    plans: Sequence[SegmentPlan], profile: Profile, ended: Sequence[Addition] = ()
) -> list[ProducerEntry]:
    """Return the producers with a transaction open at the end of what is kept and put back."""
    state = ProducerState(profile)
    by_segment = by_base(ended)

    def pieces(plan: SegmentPlan) -> Sequence[SalvagedPiece]:
        state.begin_segment()
        made = [
            SalvagedPiece(item.added.first_offset, item.added.last_offset, 0, 0, NONE, item.data)
            for item in by_segment.get(plan.base_offset, ())
        ]
        return sorted([*plan.pieces, *made], key=lambda piece: piece.first) if made else plan.pieces

    for headers, count in kept_entries(plans, pieces):
        try:
            state.append(headers, 0, count)
        except KafkaSpecError:  # a marker that cannot be read ends nothing
            continue
    return [entry for entry in state.entries if entry.current_txn_first_offset != NONE]


def by_base(added: Iterable[Addition]) -> dict[int, list[Addition]]:
    """Return the entries to write by the base offset of their segment."""
    found: dict[int, list[Addition]] = {}
    for item in added:
        found.setdefault(item.added.base_offset, []).append(item)
    return found


def aborts(_: ProducerEntry) -> SalvageOutcome:
    """Return that a transaction was aborted, which loses what it may have committed."""
    why = "its outcome is not known; abort was asked for"
    return ControlRecordType.ABORT, Strength.UNKNOWN, why


def additions(
    plans: Sequence[SegmentPlan],
    transactions: Sequence[ProducerEntry],
    decide: Decide | None,
    fill: Fill,
    ended: Sequence[Addition] = (),
) -> tuple[list[Addition], list[OpenInOutput], list[str]]:
    """Return the entries to add, the transactions that stay open, and what could not be filled.

    Args:
        decide: how each of them ended; None to add no markers.
        ended: lost markers that are put back in any case.
    """
    rooms = _rooms(plans, {item.added.first_offset for item in ended})
    made = [*ended]
    left: list[OpenInOutput] = []
    for entry in transactions:
        outcome = "no markers were asked for; --markers does" if decide is None else decide(entry)
        number = bisect_right(rooms, entry.last_offset, key=attrgetter("first"))
        room = rooms[number] if number < len(rooms) else None
        if not isinstance(outcome, str) and room is None:
            outcome = "no offset after it is lost, so that its marker was not lost"
        if isinstance(outcome, str) or room is None:
            left.append(
                OpenInOutput(
                    entry.producer_id, entry.producer_epoch, entry.current_txn_first_offset,
                    str(outcome),
                )
            )  # fmt: skip
            continue
        made.append(
            _marker(
                room.plan, entry.producer_id, entry.producer_epoch, entry.timestamp,
                entry.current_txn_first_offset, room.first, room.epoch, *outcome,
            )
        )  # fmt: skip
        room.first += 1
        if room.first > room.last:
            del rooms[number]
    problems = []
    for room in rooms:
        if fill == "none" or (fill == "tail" and not room.at_end):
            continue
        if room.last - room.plan.base_offset > LARGEST_RELATIVE_OFFSET:
            problems.append(f"{room.first} to {room.last} are too many for a segment")
            continue
        problem = _no_filler(plans)
        if problem:
            problems.append(problem)
            break
        made.append(_filler(room))
    return sorted(made, key=lambda item: item.added.first_offset), left, problems


def _no_filler(plans: Sequence[SegmentPlan]) -> str:
    """Return why a log cannot have empty batches, "" if it can."""
    # Broken entries say what magic the log has where no entry is kept.
    kept = [piece.is_batch for plan in plans for piece in plan.pieces]
    broken = [KINDS[magic].has_record_sets for plan in plans for magic in plan.broken_magics]
    known = kept or broken
    if any(known):
        return ""
    if known:
        return "messages of magic 0 and 1 have no empty batches"
    return "no entry and no header says which magic the log has"


def put_back(transactions: Sequence[Ended]) -> list[Addition]:
    """Return the lost markers that transaction indexes tell."""
    made = []
    for item in transactions:
        epoch = item.plan.epoch_before(item.marker, NONE)
        made.append(
            _marker(
                item.plan, item.producer_id, item.producer_epoch, item.timestamp,
                item.first_offset, item.marker, epoch, item.kind, Strength.PROOF, item.why,
            )
        )  # fmt: skip
    return sorted(made, key=lambda item: item.added.first_offset)


def _rooms(plans: Sequence[SegmentPlan], taken: Set[int]) -> list[_Room]:
    """Return the rooms in the order of their offsets, without those that are taken."""
    found, epoch, used = [], NONE, sorted(taken)
    for plan in plans:
        for lost in plan.lost:
            own = plan.epoch_before(lost.first_offset, epoch)
            last = not plan.pieces or plan.pieces[-1].first <= lost.first_offset
            at_end = plan is plans[-1] and last
            first = lost.first_offset
            inside = used[bisect_left(used, first) : bisect_right(used, lost.last_offset)]
            for stop in (*inside, lost.last_offset + 1):
                if first < stop:
                    found.append(_Room(first, stop - 1, plan, own, at_end))
                first = stop + 1
        if plan.pieces:
            epoch = plan.pieces[-1].epoch
    return sorted(found, key=attrgetter("first"))


def _marker(
    plan: SegmentPlan, producer_id: int, producer_epoch: int, timestamp: int, begun: int,
    offset: int, epoch: int, kind: ControlRecordType, strength: Strength, why: str,
) -> Addition:  # fmt: skip
    data = encode_marker(
        kind, offset, timestamp,
        producer_id=producer_id, producer_epoch=producer_epoch, partition_leader_epoch=epoch,
    )  # fmt: skip
    added = Added(
        plan.base_offset, "marker", offset, offset, strength,
        f"{kind.name} of the transaction open since {begun}: {why}", producer_id,
    )  # fmt: skip
    return Addition(added, data)


def _filler(room: _Room) -> Addition:
    data = encode(
        [], base_offset=room.first, last_offset=room.last, max_timestamp=NO_TIMESTAMP,
        partition_leader_epoch=room.epoch,
    )  # fmt: skip
    why = "so that no offset is given out again" if room.at_end else "in the place of lost offsets"
    added = Added(room.plan.base_offset, "filler", room.first, room.last, Strength.PROOF, why)
    return Addition(added, data)


def decided_by(
    ids: Iterable[Mapping[str, Any]], topic: str | None, partition: int | None
) -> Decide:
    """Return a function that asks what coordinators last knew of a transaction."""
    known = by_producer(ids)

    def decide(entry: ProducerEntry) -> SalvageOutcome | str:
        row = known.get(entry.producer_id)
        if row is None:
            return "its coordinator does not know the producer"
        found = decision_of(row, topic, partition, entry.producer_id, entry.producer_epoch)
        if isinstance(found, str):
            return found
        return *found, f"the state of {row['transactional_id']} is {row['state']}"

    return decide
