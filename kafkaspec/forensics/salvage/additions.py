"""Entries in the place of lost offsets: markers that end transactions, and empty batches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final, Literal

from kafkaspec._generated.python.model.control_record import (
    ControlRecordKey,
    ControlRecordType,
    EndTransactionMarker,
)
from kafkaspec._generated.python.model.producer_snapshot import ProducerEntry
from kafkaspec.broker.producer_state import ProducerState
from kafkaspec.broker.profiles import Profile
from kafkaspec.codecs import get_codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.indexes import LARGEST_RELATIVE_OFFSET
from kafkaspec.forensics.salvage.outcomes import Ended, kept_entries
from kafkaspec.forensics.salvage.plan import SalvagedPiece, SegmentPlan
from kafkaspec.forensics.salvage.report import Added, OpenTransaction
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import NO_TIMESTAMP, NONE
from kafkaspec.log.control import KEY, VALUE
from kafkaspec.log.encoding import encode
from kafkaspec.model import Record
from kafkaspec.results import Strength

Markers = Literal["none", "abort", "state"]
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
    """An entry to write.

    Attributes:
        added: what it is.
        data: its bytes.
    """

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
    """Return the producers that have a transaction open at the end of what is kept.

    Args:
        plans: the segments in order.
        profile: version of Kafka whose rules apply.
        ended: lost markers that are put back.

    Raises:
        KafkaSpecError: ``unreadable``, ``changed``.
    """
    state = ProducerState(profile)

    def pieces(plan: SegmentPlan) -> Sequence[SalvagedPiece]:
        state.begin_segment()
        made = [
            SalvagedPiece(item.added.first_offset, item.added.last_offset, 0, 0, NONE, item.data)
            for item in ended
            if item.added.base_offset == plan.base_offset
        ]
        return sorted([*plan.pieces, *made], key=lambda piece: piece.first) if made else plan.pieces

    for headers, count in kept_entries(plans, pieces):
        try:
            state.append(headers, 0, count)
        except KafkaSpecError:  # a marker that cannot be read ends nothing
            continue
    return [entry for entry in state.entries if entry.current_txn_first_offset != NONE]


def aborts(_: ProducerEntry) -> SalvageOutcome:
    """Return that a transaction was aborted, which loses what it may have committed."""
    return (
        ControlRecordType.ABORT,
        Strength.UNKNOWN,
        "its outcome is not known; abort was asked for",
    )


def additions(
    plans: Sequence[SegmentPlan],
    transactions: Sequence[ProducerEntry],
    decide: Decide | None,
    fill: Fill,
    ended: Sequence[Addition] = (),
) -> tuple[list[Addition], list[OpenTransaction], list[str]]:
    """Return the entries to add, the transactions that stay open, and what could not be filled.

    Args:
        plans: the segments in order.
        transactions: those that are open.
        decide: how each of them ended; None to add no markers.
        fill: which lost offsets to fill.
        ended: lost markers that are put back in any case.
    """
    rooms = _rooms(plans, {item.added.first_offset for item in ended})
    made = [*ended]
    left: list[OpenTransaction] = []
    for entry in transactions:
        outcome = "no markers were asked for; --markers does" if decide is None else decide(entry)
        room = next((item for item in rooms if item.first > entry.last_offset), None)
        if not isinstance(outcome, str) and room is None:
            outcome = "no offset after it is lost, so that its marker was not lost"
        if isinstance(outcome, str) or room is None:
            left.append(
                OpenTransaction(
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
        rooms = [item for item in rooms if item.first <= item.last]
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
    """Return why a log cannot have empty batches, "" if it can.

    Broken entries say what magic the log has where no entry is kept.
    """
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
        firsts = [piece.first for piece in item.plan.pieces]
        before = bisect_right(firsts, item.marker)
        epoch = item.plan.pieces[before - 1].epoch if before else NONE
        made.append(
            _marker(
                item.plan, item.producer_id, item.producer_epoch, item.timestamp,
                item.first_offset, item.marker, epoch, item.kind, Strength.PROOF, item.why,
            )
        )  # fmt: skip
    return sorted(made, key=lambda item: item.added.first_offset)


def _rooms(plans: Sequence[SegmentPlan], taken: Set[int]) -> list[_Room]:
    found, epoch = [], NONE
    for number, plan in enumerate(plans):
        firsts = [piece.first for piece in plan.pieces]
        for lost in plan.lost:
            before = bisect_right(firsts, lost.first_offset)
            own = plan.pieces[before - 1].epoch if before else epoch
            at_end = number == len(plans) - 1 and before == len(firsts)
            first = lost.first_offset
            for stop in (*sorted(taken), lost.last_offset + 1):
                if first <= stop <= lost.last_offset + 1:
                    if first < stop:
                        found.append(_Room(first, stop - 1, plan, own, at_end))
                    first = stop + 1
        if plan.pieces:
            epoch = plan.pieces[-1].epoch
    return found


def _marker(
    plan: SegmentPlan, producer_id: int, producer_epoch: int, timestamp: int, begun: int,
    offset: int, epoch: int, kind: ControlRecordType, strength: Strength, why: str,
) -> Addition:  # fmt: skip
    codec = get_codec()
    key = codec.serialize(KEY, ControlRecordKey(version=0, type=kind))
    body = EndTransactionMarker(version=0, coordinator_epoch=0)
    value = codec.serialize(VALUE, body, parameters=(kind,))
    data = encode(
        [Record(offset, timestamp, key, value)], control=True, transactional=True,
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
    ids: Sequence[Mapping[str, Any]], topic: str | None, partition: int | None
) -> Decide:
    """Return a function that asks what coordinators last knew of a transaction.

    Args:
        ids: rows of ``kafkaspec.state.transactions.TRANSACTIONS``.
        topic: of the partition with the transactions.
        partition: its number.
    """
    by_producer: dict[int, Mapping[str, Any]] = {}
    for row in ids:
        for name in ("previous_producer_id", "producer_id"):
            if row[name] is not None and row[name] >= 0:
                by_producer[row[name]] = row

    def decide(entry: ProducerEntry) -> SalvageOutcome | str:
        row = by_producer.get(entry.producer_id)
        if row is None:
            return "its coordinator does not know the producer"
        state = row["state"]
        kind = next((item for name, item in _KINDS.items() if name in state), None)
        if kind is None:
            return f"the state of its transactional id is {state}"
        if row["producer_epoch"] not in (entry.producer_epoch, entry.producer_epoch + 1):
            return "the state of its transactional id is of another epoch"
        listed = any(
            item["topic"] == topic and partition in item["partition_ids"]
            for item in row["partitions"]
        )
        why = f"the state of {row['transactional_id']} is {state}"
        # Of the transaction that is listed there may be nothing here, and of an earlier one the
        # marker is lost. And the next epoch is that of the same transaction (version 2), or of a
        # producer that began again: the transaction before it was aborted then, if it was open.
        same = row["producer_epoch"] == entry.producer_epoch or kind is ControlRecordType.ABORT
        return kind, Strength.STRONG if listed and same else Strength.LIKELY, why

    return decide


_KINDS: Final = {"Commit": ControlRecordType.COMMIT, "Abort": ControlRecordType.ABORT}
