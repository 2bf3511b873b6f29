"""Reasons of missing ranges that the log itself shows."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafkaspec.forensics.gaps.ranges import GAPS, KIND_NUMBERS, GapKind, Why
from kafkaspec.forensics.gaps.walk import Columns
from kafkaspec.forensics.headers import Column, named
from kafkaspec.log.batch import NONE
from kafkaspec.log.missing import Missing
from kafkaspec.log.missing import Why as MissingWhy
from kafkaspec.log.transactions import AbortedTransactions
from kafkaspec.results import Strength

_WHYS: Final = {why: number for number, why in enumerate(Why)}
_STRENGTHS: Final = {strength: number for number, strength in enumerate(Strength)}
_FILLED: Final = (
    "an empty batch without producer and time, as salvage puts in the place of lost offsets"
)

Row = tuple[int, int, int, GapKind, Why, Strength, str, str | None]
"""First and last offset, number, kind, why, strength, detail and file."""


@dataclass
class Explained:
    """Missing ranges in columns of numbers, and what is said of each; ``more`` are others."""

    rows: Columns
    why: Column
    strength: Column
    producer: Column
    details: dict[int, str] = field(default_factory=dict)
    more: list[Row] = field(default_factory=list)

    def set(self, chosen: Any, why: Why, strength: Strength) -> None:
        """Give some ranges a reason."""
        self.why[chosen] = _WHYS[why]
        self.strength[chosen] = _STRENGTHS[strength]

    def table(self, paths: list[str]) -> pa.Table:
        """Return the ranges as ``GAPS``."""
        rows, count = self.rows, len(self.why)
        texts = {
            "kind": named(rows["kind"], list(GapKind)),
            "why": named(self.why, list(Why)),
            "strength": named(self.strength, list(Strength)),
            "file": named(rows["file"], paths),
        }
        detail: list[str | None] | pa.Array = pa.nulls(count, pa.string())
        if self.details:
            detail = [self.details.get(number) for number in range(count)]
        texts["detail"] = pa.array(detail, pa.string())
        numbers = {
            name: pa.array(rows[name]) for name in ("first_offset", "last_offset", "missing")
        }
        numbers["position"] = pa.array(rows["position"], mask=rows["position"] < 0)
        numbers["producer_id"] = pa.array(self.producer, mask=self.producer < 0)
        made = pa.table({name: (texts | numbers)[name] for name in GAPS.names}, GAPS)
        more = [
            dict(zip(("first_offset", "last_offset", "missing", "kind", "why", "strength",
                      "detail", "file"),
                     (first, last, number, str(kind), str(why), str(strength), text, file),
                     strict=True))
            for first, last, number, kind, why, strength, text, file in self.more
        ]  # fmt: skip
        if more:
            made = pa.concat_tables([made, pa.Table.from_pylist(more, GAPS)]).unify_dictionaries()
        return made.sort_by("first_offset")


def divided(rows: Columns, around: list[Missing]) -> Columns:
    """Return missing ranges, divided where what is lost begins or ends inside one.

    Compaction may have left the rest of such a range.

    Args:
        rows: the ranges.
        around: what is missing, with what shows it.
    """
    between = np.flatnonzero(rows["kind"] == KIND_NUMBERS[GapKind.BETWEEN])
    firsts, lasts = (rows[name][between].tolist() for name in ("first_offset", "last_offset"))
    lost = sorted(item.through for item in around if item.lost)
    begins, ends, parents = list[int](), list[int](), list[int]()
    changed = set[int]()
    for first, last in lost:
        place = bisect_right(firsts, first) - 1
        if place < 0 or last > lasts[place] or (first, last) == (firsts[place], lasts[place]):
            continue
        changed.add(place)
    for place in sorted(changed):
        low, high = firsts[place], lasts[place]
        inside = [item for item in lost if low <= item[0] and item[1] <= high]
        at = low
        for first, last in (*inside, (high + 1, high + 1)):
            for begin, end in ((at, first - 1), (first, min(last, high))):
                if begin <= end:
                    begins.append(begin)
                    ends.append(end)
                    parents.append(int(between[place]))
            at = last + 1
    if not changed:
        return rows
    kept = np.ones(len(rows["kind"]), bool)
    kept[between[sorted(changed)]] = False
    made = {name: np.concatenate([column[kept], column[parents]]) for name, column in rows.items()}
    whole = int(kept.sum())
    made["first_offset"][whole:] = begins
    made["last_offset"][whole:] = ends
    made["missing"][whole:] = made["last_offset"][whole:] - made["first_offset"][whole:] + 1
    order = np.argsort(made["first_offset"], kind="stable")
    return {name: column[order] for name, column in made.items()}


def explain(
    rows: Columns,
    compacted: int,
    aborted: AbortedTransactions,
    around: list[Missing],
    owners: Columns,
) -> Explained:
    """Return what the log shows of the reasons of missing ranges.

    Args:
        rows: the ranges.
        compacted: the offset below which compaction can have removed batches; -1 for none.
        aborted: the aborted transactions.
        around: what is missing at the ends of segments, with the files that name it.
        owners: ranges that the sequence numbers of a producer leave out.
    """
    count = len(rows["kind"])
    found = Explained(
        rows,
        np.full(count, _WHYS[Why.UNKNOWN], np.int64),
        np.full(count, _STRENGTHS[Strength.UNKNOWN], np.int64),
        np.full(count, NONE, np.int64),
    )
    kind, first, last = rows["kind"], rows["first_offset"], rows["last_offset"]
    found.set(kind == KIND_NUMBERS[GapKind.WITHHELD], Why.MARKER, Strength.PROOF)
    inner = (kind == KIND_NUMBERS[GapKind.INSIDE]) | (kind == KIND_NUMBERS[GapKind.EMPTIED])
    found.set(inner, Why.COMPACTION, Strength.PROOF)
    # What the cleaner empties keeps its time, or is the last batch of a producer.
    filled = np.flatnonzero(rows["filled"])
    found.set(filled, Why.LOST, Strength.LIKELY)
    found.details.update(dict.fromkeys(filled.tolist(), _FILLED))
    between = kind == KIND_NUMBERS[GapKind.BETWEEN]
    below = between & (last < compacted)
    found.set(below, Why.COMPACTION, Strength.CONSISTENT)
    one = below & (first == last) & (rows["transactional"] != 0)
    found.set(one, Why.MARKER_REMOVED, Strength.LIKELY)
    if len(aborted):
        found.set(below & _covered(aborted, first, last), Why.ABORTED_REMOVED, Strength.STRONG)
        found.set(rows["aborted"] >= 0, Why.ABORTED, Strength.PROOF)
        found.producer[:] = rows["aborted"]
    _name_owners(found, between, owners)
    _name_losses(around, found, between)
    return found


def _covered(aborted: AbortedTransactions, first: Column, last: Column) -> Any:
    """Return which ranges lie in that of an aborted transaction, whoever's."""
    begins, markers = (
        np.frombuffer(column, np.int64) for column in (aborted.first_offsets, aborted.markers)
    )
    order = np.argsort(begins, kind="stable")
    reached = np.maximum.accumulate(markers[order])
    place = np.searchsorted(begins[order], first, side="right") - 1
    return (place >= 0) & (reached[place] >= last)


def _name_owners(found: Explained, between: Any, owners: Columns) -> None:
    """Name the producer of gaps that its sequence numbers leave out, one for each offset."""
    gaps = np.flatnonzero(between)
    starts = found.rows["first_offset"][gaps]
    if not len(starts) or not len(owners["first_offset"]):
        return
    begin = np.searchsorted(starts, owners["first_offset"])
    end = np.searchsorted(starts, owners["last_offset"], side="right")
    columns = (begin.tolist(), end.tolist(), owners["producer_id"].tolist())
    for low, high, producer in zip(*columns, strict=True):
        found.producer[gaps[low:high]] = producer


_LOSSES: Final = {
    MissingWhy.BROKEN: (Why.UNREADABLE, Strength.STRONG),
    MissingWhy.CUT: (Why.CUT, Strength.LIKELY),
}


def _name_losses(around: list[Missing], found: Explained, between: Any) -> None:
    """Take over what the rule of all commands calls lost, and what is there and not reached."""
    rows = {int(found.rows["first_offset"][row]): row for row in np.flatnonzero(between).tolist()}
    for item in around:
        if not item.count or not item.is_loss:
            continue
        first, last = item.through
        if item.reason is MissingWhy.BEHIND:
            found.more.append((first, last, item.count, GapKind.WITHHELD, Why.BEHIND,
                               Strength.PROOF, item.message, item.file))  # fmt: skip
        row, reason = rows.get(first), _LOSSES.get(item.reason)
        if row is None or reason is None:
            continue
        if item.reason is MissingWhy.BROKEN and item.named:
            reason = Why.LOST, Strength.PROOF
        elif item.reason is MissingWhy.CUT and item.named:
            reason = Why.SEGMENT_LOST, Strength.PROOF
        elif item.reason is MissingWhy.CUT and item.size:
            reason = Why.UNREADABLE, Strength.STRONG
        found.set(row, *reason)
        found.details[row] = item.message
