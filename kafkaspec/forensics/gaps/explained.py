"""Reasons of missing ranges: by the log itself, the files around it, and another copy."""

from __future__ import annotations

import os
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model.enumeration import RemoteLogSegmentState
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names as files
from kafkaspec.forensics.gaps.ranges import GAPS, KIND_NUMBERS, GapColumns, GapKind, Why
from kafkaspec.forensics.headers import PerBatch, named, table_of
from kafkaspec.forensics.keys import aborted_of, is_aborted, newest_offsets
from kafkaspec.layout.kinds import shown_name
from kafkaspec.log.batch import NONE
from kafkaspec.log.missing import Missing, MissingWhy
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.log.transactions import AbortedTransactions
from kafkaspec.results import Assumption, Strength

_WHYS: Final = {why: number for number, why in enumerate(Why)}
_STRENGTHS: Final = {strength: number for number, strength in enumerate(Strength)}
_FILLED: Final = (
    "an empty batch without producer and time, as salvage puts in the place of lost offsets"
)

GapRow = tuple[int, int, int, GapKind, Why, Strength, str, str | None]
"""First and last offset, number, kind, why, strength, detail and file."""


@dataclass
class Explained:
    """Missing ranges in columns of numbers, and what is said of each; ``more`` are others."""

    rows: GapColumns
    why: PerBatch
    strength: PerBatch
    producer: PerBatch
    details: dict[int, str] = field(default_factory=dict)
    more: list[GapRow] = field(default_factory=list)

    def set(self, chosen: Any, why: Why, strength: Strength) -> None:
        """Give some ranges a reason."""
        self.why[chosen] = _WHYS[why]
        self.strength[chosen] = _STRENGTHS[strength]

    def table(self, paths: list[str]) -> pa.Table:
        """Return the ranges as ``GAPS``."""
        count = len(self.why)
        if not count and not self.more:
            return _no_gaps()
        detail: list[str | None] | pa.Array = pa.nulls(count, pa.string())
        if self.details:
            detail = [self.details.get(number) for number in range(count)]
        columns = {
            "kind": named(self.rows["kind"], list(GapKind)),
            "why": named(self.why, list(Why)),
            "strength": named(self.strength, list(Strength)),
            "file": named(self.rows["file"], paths),
            "detail": pa.array(detail, pa.string()),
        }
        rows = self.rows | {"producer_id": self.producer}
        made = table_of(GAPS, rows, columns, ("first_offset", "last_offset", "missing"))
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


@cache
def _no_gaps() -> pa.Table:
    """Return no ranges; of thousands of partitions, few have some."""
    return GAPS.empty_table()


def divided(rows: GapColumns, around: list[Missing]) -> GapColumns:
    """Return missing ranges, divided where what is lost begins or ends inside one.

    Compaction may have left the rest of such a range.
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
    rows: GapColumns,
    compacted: int,
    aborted: AbortedTransactions,
    around: list[Missing],
    owners: GapColumns,
) -> Explained:
    """Return what the log shows of the reasons of missing ranges.

    Args:
        compacted: the offset below which compaction can have removed batches; -1 for none.
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


def _covered(aborted: AbortedTransactions, first: PerBatch, last: PerBatch) -> Any:
    """Return which ranges lie in that of an aborted transaction, whoever's."""
    begins, markers = (
        np.frombuffer(column, np.int64) for column in (aborted.first_offsets, aborted.markers)
    )
    order = np.argsort(begins, kind="stable")
    reached = np.maximum.accumulate(markers[order])
    place = np.searchsorted(begins[order], first, side="right") - 1
    return (place >= 0) & (reached[place] >= last)


def _name_owners(found: Explained, between: Any, owners: GapColumns) -> None:
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


_COPIED: Final = shown_name(
    "enumeration.remote_log_segment_state", RemoteLogSegmentState.COPY_SEGMENT_FINISHED
)


def before_and_after(
    log: Partition | Segment, stop: int | None, around: list[Missing], rows: GapColumns
) -> list[GapRow]:
    """Return what is missing before the first segment and after the last batch.

    Args:
        stop: the offset after its last batch, None without one.
        rows: the other ranges: what they count below the log start offset is not counted twice.
    """
    if not isinstance(log, Partition) or log.first_base_offset is None:
        return []
    found: list[GapRow] = []
    first = log.first_base_offset
    gone = [item for item in around if item.reason is MissingWhy.START]
    try:
        listed = log.log_start_checkpoint
    except KafkaSpecError:
        listed = None
    if first > 0:
        text = "no log start offset is noted: as retention leaves it"
        if listed is not None and listed > first:
            text = "retention, or deleteRecords as after the first segment"
        at = 0
        kept = min([first, *(item.offsets.start for item in gone if item.offsets)])
        for begin, end in [*_tiered(log, kept), (kept, kept)]:
            if at < begin:
                found.append((at, begin - 1, begin - at, GapKind.BEFORE, Why.RETENTION,
                              Strength.LIKELY, text, None))  # fmt: skip
            if begin < end:
                found.append((begin, end - 1, end - begin, GapKind.BEFORE, Why.TIERED,
                              Strength.PROOF, f"{Topic.REMOTE_LOG_METADATA} lists it",
                              None))  # fmt: skip
            at = end
    for item in gone:
        at = item.offsets.start if item.offsets else 0
        found.append((at, first - 1, item.count, GapKind.BEFORE,
                      Why.SEGMENT_LOST, Strength.PROOF, item.message, None))  # fmt: skip
    end = stop or first
    if listed is not None and first < listed:
        last = min(listed, end) - 1
        if last >= first:
            text = f"the log start offset in {files.LOG_START_OFFSETS} is {listed}"
            overlap = np.minimum(rows["last_offset"], last) - rows["first_offset"] + 1
            counted = np.minimum(np.maximum(overlap, 0), rows["missing"])
            left = last - first + 1 - int(counted.sum())
            found.append((first, last, left, GapKind.WITHHELD, Why.DELETE_RECORDS,
                          Strength.PROOF, text, None))  # fmt: skip
    for item in around:
        if item.reason is MissingWhy.END and item.offsets and item.offsets.end is not None:
            at, stop = item.offsets.start, item.offsets.end
            found.append((at, stop - 1, stop - at, GapKind.END, Why.SEGMENT_LOST,
                          Strength.PROOF, item.message, item.file))  # fmt: skip
    return found


def _tiered(log: Partition, first: int) -> list[tuple[int, int]]:
    """Return the ranges before an offset that remote storage has, by the topic beside the log."""
    spans: list[tuple[int, int]] = []
    topic = sorted(log.path.parent.glob(f"{Topic.REMOTE_LOG_METADATA}-*"))
    if not topic:
        return spans
    from kafkaspec.state.remote import read_remote_segments

    for path in topic:
        try:
            found = read_remote_segments(Partition(path), on_error=lambda _: None).segments
        except KafkaSpecError:
            continue  # whoever reads it reports it
        for row in found.to_pylist():
            same = (row["topic"], row["partition"]) == (log.topic, log.partition)
            if (
                same
                and row["state"] == _COPIED
                and None not in (row["start_offset"], row["end_offset"])
            ):
                spans.append((max(row["start_offset"], 0), min(row["end_offset"] + 1, first)))
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(span for span in spans if span[0] < span[1]):
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((begin, end))
    return joined


_MOST_KEYS: Final = 1 << 20
"""Records of another copy whose keys are looked for; the ranges of more stay as they are."""


def ask_other(
    log: Partition | Segment,
    other: Partition | Segment,
    found: Explained,
    compacted: int,
    assumptions: list[Assumption],
) -> None:
    """Say of gaps between batches what another copy has in their place."""
    assumptions.append(
        Assumption("other copy", os.fspath(Path(str(other.path))), "of the same partition")
    )
    gaps = np.flatnonzero(found.rows["kind"] == KIND_NUMBERS[GapKind.BETWEEN])
    if not len(gaps):
        return
    first, last = (found.rows[name][gaps] for name in ("first_offset", "last_offset"))
    held = _held(other, first, last)
    newest = newest_offsets((other, log), held["key"], int(first.min()), max(compacted, 0))
    later = dict(zip(newest["key"].to_pylist(), newest["offset"].to_pylist(), strict=True))
    numbers, offsets = held["gap"].to_pylist(), held["offset"].to_pylist()
    columns = (numbers, offsets, held["key"].to_pylist(), held["legal"].to_pylist())
    by_gap: dict[int, list[tuple[int, int | None, bool]]] = {}
    for number, offset, key, legal in zip(*columns, strict=True):
        by_gap.setdefault(number, []).append((offset, later.get(key), legal))
    begin, end = _extent(other)
    for number, row in enumerate(gaps.tolist()):
        records = by_gap.get(number)
        if records is None:
            if begin <= first[number] and last[number] < end:
                found.details[row] = "missing in the other copy as well"
            continue
        # Records that the cleaner has not reached supersede nothing.
        lost = [
            offset
            for offset, latest, legal in records
            if not legal and not (latest is not None and offset < latest)
        ]
        if last[number] < compacted and not lost:
            keyed = not any(legal for _, _, legal in records)
            found.set(row, Why.SUPERSEDED, Strength.PROOF if keyed else Strength.STRONG)
            known = [latest for _, latest, _ in records if latest is not None]
            text = f"the other copy has {len(records)} records"
            if known:
                text += f", with newer ones of the same keys up to offset {max(known)}"
            found.details[row] = text
        else:
            found.set(row, Why.LOST, Strength.PROOF)
            wrong = lost or [offset for offset, _, _ in records]
            text = f"the other copy has {len(wrong)} records, from offset {wrong[0]} on, that "
            found.details[row] = f"{text}compaction does not explain"


_HELD: Final = pa.schema([
    ("gap", pa.int64()), ("offset", pa.int64()), ("key", pa.binary()), ("legal", pa.bool_()),
])  # fmt: skip


def _held(other: Partition | Segment, first: PerBatch, last: PerBatch) -> pa.Table:
    """Return the records of a copy in some ranges; ``legal`` are those that no key keeps."""
    # Control records, aborted ones, those without a key, and tombstones go by themselves.
    aborted = aborted_of(other)
    parts = []
    count = 0
    reader = other.to_batches(
        ["offset", "key", "value", "control_type", "producer_id"],
        start_offset=int(first[0]), end_offset=int(last.max()) + 1, include_control=True,
        on_error=lambda _: None, layout="binary", log_start="ignore",
    )  # fmt: skip
    for batch in reader:
        offsets = batch["offset"].to_numpy()
        place = np.searchsorted(first, offsets, side="right") - 1
        inside = (place >= 0) & (offsets <= last[place])
        if not inside.any():
            continue
        kept = batch.filter(pa.array(inside))
        legal = pc.or_(pc.is_null(kept["key"]), pc.is_null(kept["value"]))
        legal = pc.or_(legal, pc.is_valid(kept["control_type"]))
        if aborted:
            legal = pc.or_(legal, pa.array(is_aborted(kept, aborted)))
        columns = [pa.array(place[inside]), kept["offset"], kept["key"].cast(pa.binary()), legal]
        parts.append(pa.Table.from_arrays(columns, schema=_HELD))
        count += len(kept)
        if count > _MOST_KEYS:
            break
    return pa.concat_tables([_HELD.empty_table(), *parts])


def _extent(log: Partition | Segment) -> tuple[int, int]:
    """Return the first offset of a copy, and the one after its last."""
    try:
        if isinstance(log, Partition):
            return log.first_base_offset or 0, log.log_end_offset
        batches = [batch.last_offset for batch in log.batches()]
        return log.base_offset or 0, max(batches, default=NONE) + 1
    except KafkaSpecError:
        return 0, 0
