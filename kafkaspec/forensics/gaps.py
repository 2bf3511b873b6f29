"""Offsets of a partition that no consumer gets, why, and how far the files prove it.

Three things look alike to a consumer: what is in the log and not delivered (markers, aborted
records, records below the log start), offsets without a record in a batch that is there, and
offsets between batches. Only a cleaner makes the second one. A log that was never compacted has the
third one by loss alone: by damage, by recovery that cut it, or by segments that are gone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model.enumeration import RemoteLogSegmentState
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names as files
from kafkaspec.files.snapshots import TransactionIndex
from kafkaspec.forensics.headers import (
    NAMED,
    BatchRows,
    Column,
    Unread,
    named,
    segment_paths,
    tables,
)
from kafkaspec.forensics.keys import aborted_spans, is_aborted, newest_offsets
from kafkaspec.forensics.producers import SequenceHoles
from kafkaspec.forensics.strength import Assumption, Strength
from kafkaspec.forensics.timeline import TransactionWalk, index_paths
from kafkaspec.layout.kinds import shown_name
from kafkaspec.log.batch import NONE
from kafkaspec.log.missing import Missing, missing
from kafkaspec.log.missing import Why as MissingWhy
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.state.remote import read_remote_segments


class Kind(StrEnum):
    """Where offsets are missing; a closed list."""

    WITHHELD = "withheld"
    """In the log, and not delivered."""
    INSIDE = "inside"
    """In the range of a batch that has fewer records than offsets."""
    EMPTIED = "emptied"
    """In the range of a batch without records."""
    BETWEEN = "between"
    """Between two batches, or before the first one of its segment."""
    BEFORE = "before"
    """Before the first segment."""
    END = "end"
    """After the last batch."""


class Why(StrEnum):
    """Why offsets are missing; a closed list."""

    MARKER = "marker"
    """The end of a transaction."""
    ABORTED = "aborted"
    """An aborted transaction; withheld with ``read_committed``. Others write in between."""
    DELETE_RECORDS = "delete_records"
    """Below the log start offset of the broker, which is above the first segment."""
    RETENTION = "retention"
    """Below the first segment: deleted by retention, or by ``deleteRecords``."""
    TIERED = "tiered"
    """Below the first segment, in remote storage."""
    COMPACTION = "compaction"
    """The cleaner removed records of other batches, or of a batch that is there."""
    ABORTED_REMOVED = "aborted_removed"
    """The cleaner removed an aborted transaction."""
    MARKER_REMOVED = "marker_removed"
    """The cleaner removed the end of a transaction."""
    SUPERSEDED = "superseded"
    """Another copy has the records, and newer ones with the same keys that were cleaned too."""
    UNREADABLE = "unreadable"
    """Bytes that cannot be read lie in their place."""
    SEGMENT_LOST = "segment_lost"
    """A file of a segment is there whose log is gone or ends too early."""
    CUT = "cut"
    """From the end of a batch to the next segment: recovery cut it, or a segment is gone."""
    LOST = "lost"
    """Compaction does not explain it; with another copy: that has the records."""
    UNKNOWN = "unknown"
    """Compaction or loss."""


LEGAL: Final = frozenset({
    Why.MARKER, Why.ABORTED, Why.DELETE_RECORDS, Why.RETENTION, Why.TIERED, Why.COMPACTION,
    Why.ABORTED_REMOVED, Why.MARKER_REMOVED, Why.SUPERSEDED,
})  # fmt: skip
"""What brokers do that work."""

GAPS: Final = pa.schema([
    ("first_offset", pa.int64()),
    ("last_offset", pa.int64()),
    ("missing", pa.int64()),
    ("kind", NAMED),
    ("why", NAMED),
    ("strength", NAMED),
    ("producer_id", pa.int64()),
    ("detail", pa.string()),
    ("file", NAMED),
    ("position", pa.int64()),
])  # fmt: skip
"""Columns of missing ranges, by offset. ``missing`` is their number: in a batch that is there,
fewer than the range has. ``producer_id`` is the producer whose sequence numbers leave out just as
many, null for none; that is a strong sign of whose records they were, and not of why they are gone.
``position`` is that of the batch, or of the one after the gap."""


@dataclass
class Gaps:
    """Offsets of a partition that no consumer gets.

    Attributes:
        ranges: see ``GAPS``.
        log_start_offset: the first offset that a broker delivers.
        log_end_offset: the offset after the last batch.
        assumptions: what the answers depend on.
        unread: what could not be read.
    """

    ranges: pa.Table
    log_start_offset: int
    log_end_offset: int
    assumptions: list[Assumption]
    unread: list[KafkaSpecError]

    @property
    def unexplained(self) -> pa.Table:
        """The ranges that brokers which work do not leave, as far as is known."""
        legal = pa.array(sorted(LEGAL), pa.string())
        return self.ranges.filter(pc.invert(pc.is_in(self.ranges["why"].cast(pa.string()), legal)))

    @property
    def illegal(self) -> int:
        """Number of those."""
        return len(self.unexplained)


_Columns = dict[str, Column]
_INT: Final = ("first_offset", "last_offset", "missing", "producer_id", "file", "position")
_WHYS: Final = {why: number for number, why in enumerate(Why)}
_COPIED: Final = shown_name(
    "enumeration.remote_log_segment_state", RemoteLogSegmentState.COPY_SEGMENT_FINISHED
)
_KINDS: Final = {kind: number for number, kind in enumerate(Kind)}
_STRENGTHS: Final = {strength: number for number, strength in enumerate(Strength)}


@dataclass
class _Walk:
    """What is read of a log, table by table."""

    found: list[_Columns] = field(default_factory=list)
    end: int | None = None
    cleaned: bool = False
    first: int | None = None
    _before: tuple[int, int] = (NONE, 0)
    """File of the batch before a table, and whether it is data in a transaction."""
    _errors: int = 0

    def take(self, table: BatchRows, errors: int, base: int | None) -> None:
        first, last, count = table["base_offset"], table["last_offset"], table["num_records"]
        producer, control = table["producer_id"], table["control"] != 0
        if self.first is None:
            self.first = int(first[0]) if first[0] >= 0 else int(last[0])
        previous = np.empty_like(first)
        previous[1:] = last[:-1] + 1
        same_file = table.file == self._before[0]
        start = first[0] if self.end is None else self.end
        if self.end is None and base is not None:
            start = min(base, int(start)) if start >= 0 else base
        previous[0] = start
        # Damaged logs repeat offsets: what was there before is not missing.
        previous = np.maximum.accumulate(previous)
        known = first >= 0
        rows = np.flatnonzero(known & (first > previous))
        if len(rows):
            data = ((table["transactional"] != 0) & ~control).astype(np.int64)
            before = np.append(np.int64(self._before[1]), data[:-1])[rows]
            at_start = rows == 0
            self._add(
                Kind.BETWEEN, table, rows, previous[rows], first[rows] - 1,
                transactional=before,
                boundary=(at_start & (not same_file)).astype(np.int64),
                damaged=(at_start & (errors > self._errors)).astype(np.int64),
            )  # fmt: skip
        span = last - first + 1
        rows = np.flatnonzero(known & (count >= 0) & (count < span))
        if len(rows):
            emptied = count[rows] == 0
            self.cleaned = True
            for kind, chosen in ((Kind.EMPTIED, rows[emptied]), (Kind.INSIDE, rows[~emptied])):
                if len(chosen):
                    less = span[chosen] - count[chosen]
                    self._add(kind, table, chosen, first[chosen], last[chosen], missing=less)
        rows = np.flatnonzero(control & (count > 0))
        if len(rows):
            self._add(Kind.WITHHELD, table, rows, first[rows], last[rows])
        self.end = max(int(last.max()) + 1, self.end or 0)
        is_data = bool(table["transactional"][-1]) and not control[-1] and producer[-1] >= 0
        self._before, self._errors = (table.file, int(is_data)), errors

    def _add(
        self, kind: Kind, table: BatchRows, rows: Column, first: Column, last: Column,
        **more: Column,
    ) -> None:  # fmt: skip
        nothing = np.zeros(len(rows), np.int64)
        columns = {
            "first_offset": first,
            "last_offset": last,
            "missing": last - first + 1,
            "kind": np.full(len(rows), _KINDS[kind], np.int64),
            "file": np.full(len(rows), table.file, np.int64),
            "position": table.position[rows],
            "transactional": nothing,
            "boundary": nothing,
            "damaged": nothing,
        }
        self.found.append(columns | more)

    def joined(self, aborted: Column) -> _Columns:
        """Return all that was found, and the ranges of aborted transactions."""
        names = (
            "first_offset", "last_offset", "missing", "kind", "file", "position", "transactional",
            "boundary", "damaged",
        )  # fmt: skip
        count = len(aborted)
        nothing, none = np.zeros(count, np.int64), np.full(count, NONE, np.int64)
        withheld = {
            "first_offset": aborted[:, 1],
            "last_offset": aborted[:, 2] - 1,
            "missing": aborted[:, 2] - aborted[:, 1],
            "kind": np.full(count, _KINDS[Kind.WITHHELD], np.int64),
            "file": none,
            "position": none,
        }
        found = {
            name: np.concatenate(
                [*(part[name] for part in self.found), withheld.get(name, nothing)]
            )
            for name in names
        }
        others = np.full(len(found["kind"]) - count, NONE, np.int64)
        return found | {"aborted": np.concatenate([others, aborted[:, 0]])}


def read_gaps(log: Partition | Segment, other: Partition | Segment | None = None) -> Gaps:
    """Return the offsets of a partition that no consumer gets, and why.

    Only headers are read; with another copy, the keys of its records from the first gap on too.

    Args:
        log: the partition, or a segment alone.
        other: another copy of the same partition: a replica, a backup, segments in remote storage.

    Raises:
        KafkaSpecError: nothing of it can be read.
    """
    unread = Unread()
    walk = _Walk()
    positions = isinstance(log, Segment) and log.format.offsets_are_positions
    holes = SequenceHoles(log)
    indexes = list(index_paths(log))
    # Brokers make a transaction index where one was aborted; segments copied alone have none.
    transactions = TransactionWalk(log, unread) if _lacks(log, indexes) else None
    base = log.first_base_offset if isinstance(log, Partition) else log.base_offset
    for table in tables(log, unread):
        positions |= table.segment.format.offsets_are_positions
        if positions:
            walk.end = max(walk.end or 0, int(table["last_offset"].max()) + 1)
            continue
        walk.take(table, len(unread.errors) + len(unread.tails), base)
        holes.take(table)
        if transactions is not None:
            transactions.take(table)
    aborted = _aborted(indexes, transactions)
    rows = walk.joined(aborted)
    assumptions: list[Assumption] = []
    compacted = _compacted(log, walk, assumptions)
    around = list(missing(log, ends_only=True)) if isinstance(log, Partition) else []
    explained = _explain(rows, compacted, aborted, around, holes.owners)
    if other is not None:
        _ask_other(log, other, explained, compacted, assumptions)
    explained.more += _before_and_after(log, walk, around)
    start = (log.log_start_offset if isinstance(log, Partition) else base) or 0
    return Gaps(explained.table(segment_paths(log)), start, walk.end or start, assumptions,
                unread.errors)  # fmt: skip


def _compacted(log: Partition | Segment, walk: _Walk, assumptions: list[Assumption]) -> int:
    """Return the offset below which compaction can have removed batches; -1 for none."""
    listed = None
    here = False
    if isinstance(log, Partition):
        here = (log.path.parent / files.CLEANER_OFFSETS).exists()
        try:
            listed = log.cleaner_offset
        except KafkaSpecError:
            here = False
    if listed:
        return listed
    if here and not walk.cleaned:
        return NONE
    value, why = ("delete", "nothing in the log shows a cleaner")
    if walk.cleaned:
        value, why = ("compact", "batches have fewer records than offsets")
    assumptions.append(Assumption("cleanup.policy", value, f"{why}; no checkpoint of it is here"))
    return (walk.end or 0) if walk.cleaned else NONE


# -- explaining -------------------------------------------------------------------------------


_Row = tuple[int, int, int, Kind, Why, Strength, str, str | None]
"""First and last offset, number, kind, why, strength, detail and file."""


@dataclass
class _Explained:
    rows: _Columns
    why: Column
    strength: Column
    producer: Column
    details: dict[int, str] = field(default_factory=dict)
    more: list[_Row] = field(default_factory=list)

    def set(self, chosen: Any, why: Why, strength: Strength) -> None:
        self.why[chosen] = _WHYS[why]
        self.strength[chosen] = _STRENGTHS[strength]

    def table(self, paths: list[str]) -> pa.Table:
        rows, count = self.rows, len(self.why)
        texts = {
            "kind": named(rows["kind"], list(Kind)),
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


def _explain(
    rows: _Columns,
    compacted: int,
    aborted: Column,
    around: list[Missing],
    owners: _Columns,
) -> _Explained:
    count = len(rows["kind"])
    found = _Explained(
        rows,
        np.full(count, _WHYS[Why.UNKNOWN], np.int64),
        np.full(count, _STRENGTHS[Strength.UNKNOWN], np.int64),
        np.full(count, NONE, np.int64),
    )
    kind, first, last = rows["kind"], rows["first_offset"], rows["last_offset"]
    found.set(kind == _KINDS[Kind.WITHHELD], Why.MARKER, Strength.PROOF)
    inner = (kind == _KINDS[Kind.INSIDE]) | (kind == _KINDS[Kind.EMPTIED])
    found.set(inner, Why.COMPACTION, Strength.PROOF)
    between = kind == _KINDS[Kind.BETWEEN]
    below = between & (last < compacted)
    found.set(below, Why.COMPACTION, Strength.CONSISTENT)
    one = below & (first == last) & (rows["transactional"] != 0)
    found.set(one, Why.MARKER_REMOVED, Strength.LIKELY)
    if len(aborted):
        found.set(below & _covered(aborted, first, last), Why.ABORTED_REMOVED, Strength.STRONG)
        found.set(rows["aborted"] >= 0, Why.ABORTED, Strength.PROOF)
        found.producer[:] = rows["aborted"]
    rest = between & ~below
    if compacted == NONE:
        # The cleaner's checkpoint is here and does not name the partition, or nothing shows one.
        found.set(rest, Why.LOST, Strength.LIKELY)
    found.set(rest & (rows["boundary"] != 0), Why.CUT, Strength.LIKELY)
    found.set(between & (rows["damaged"] != 0), Why.UNREADABLE, Strength.STRONG)
    _name_owners(found, between, owners)
    _name_lost_segments(around, found, rest)
    return found


def _covered(aborted: Column, first: Column, last: Column) -> Any:
    """Return which ranges lie in that of an aborted transaction."""
    reached = np.maximum.accumulate(aborted[:, 2])
    place = np.searchsorted(aborted[:, 1], first, side="right") - 1
    return (place >= 0) & (reached[place] >= last)


def _name_owners(found: _Explained, between: Any, owners: _Columns) -> None:
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


def _name_lost_segments(around: list[Missing], found: _Explained, rest: Any) -> None:
    """Look for files that name what is missing at the ends of segments."""
    rows = {int(found.rows["first_offset"][row]): row for row in np.flatnonzero(rest).tolist()}
    for item in around:
        row = rows.get(NONE if item.first_offset is None else item.first_offset)
        if row is not None and item.named and item.why is MissingWhy.CUT:
            found.set(row, Why.SEGMENT_LOST, Strength.PROOF)
            found.details[row] = item.message


def _lacks(log: Partition | Segment, indexes: list[tuple[int, Path | None]]) -> bool:
    """Return whether transactions of a segment are in no index."""
    return isinstance(log, Segment) or any(path is None for _, path in indexes)


def _aborted(indexes: list[tuple[int, Path | None]], walk: TransactionWalk | None) -> Column:
    """Return the aborted transactions of which there is data, or an entry in an index.

    Each row has the producer, the first offset and that of the marker; by first offset.
    """
    found = [np.empty((0, 3), np.int64) if walk is None else walk.aborted]
    for _, index in indexes:
        if index is None:
            continue
        try:
            columns = TransactionIndex(index).columns()
        except KafkaSpecError:
            continue  # ``transactions`` reports it
        names = ("producer_id", "first_offset", "last_offset")
        found.append(np.stack([np.array(columns[name], np.int64) for name in names], axis=1))
    rows = np.concatenate(found)
    rows = rows[(rows[:, 1] >= 0) & (rows[:, 1] < rows[:, 2])]
    rows = rows[np.lexsort((rows[:, 0], rows[:, 2], rows[:, 1]))]
    return rows[np.append(True, (rows[1:] != rows[:-1]).any(axis=1))] if len(rows) else rows


def _before_and_after(log: Partition | Segment, walk: _Walk, around: list[Missing]) -> list[_Row]:
    """Return what is missing before the first segment and after the last batch."""
    if not isinstance(log, Partition) or log.first_base_offset is None:
        return []
    found: list[_Row] = []
    first = log.first_base_offset
    try:
        listed = log.log_start_checkpoint
    except KafkaSpecError:
        listed = None
    if first > 0:
        text = "no log start offset is noted: as retention leaves it"
        if listed is not None and listed > first:
            text = "retention, or deleteRecords as after the first segment"
        at = 0
        for begin, end in [*_tiered(log, first), (first, first)]:
            if at < begin:
                found.append((at, begin - 1, begin - at, Kind.BEFORE, Why.RETENTION,
                              Strength.LIKELY, text, None))  # fmt: skip
            if begin < end:
                found.append((begin, end - 1, end - begin, Kind.BEFORE, Why.TIERED, Strength.PROOF,
                              f"{Topic.REMOTE_LOG_METADATA} lists it", None))  # fmt: skip
            at = end
    end = walk.end or first
    if listed is not None and first < listed:
        last = min(listed, end) - 1
        if last >= first:
            text = f"the log start offset in {files.LOG_START_OFFSETS} is {listed}"
            found.append((first, last, last - first + 1, Kind.WITHHELD, Why.DELETE_RECORDS,
                          Strength.PROOF, text, None))  # fmt: skip
    for item in around:
        if item.why is MissingWhy.END and item.first_offset is not None and item.offsets:
            last = item.first_offset + item.offsets - 1
            found.append((item.first_offset, last, item.offsets, Kind.END, Why.SEGMENT_LOST,
                          Strength.PROOF, item.message, item.file))  # fmt: skip
    return found


def _tiered(log: Partition, first: int) -> list[tuple[int, int]]:
    """Return the ranges before an offset that remote storage has, by the topic beside the log."""
    spans = []
    for path in sorted(log.path.parent.glob(f"{Topic.REMOTE_LOG_METADATA}-*")):
        try:
            found = read_remote_segments(Partition(path), on_error=lambda _: None).segments
        except KafkaSpecError:
            continue  # whoever reads it reports it
        for row in found.to_pylist():
            same = (row["topic"], row["partition"]) == (log.topic, log.partition)
            if same and row["state"] == _COPIED:
                spans.append((max(row["start_offset"], 0), min(row["end_offset"] + 1, first)))
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(span for span in spans if span[0] < span[1]):
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((begin, end))
    return joined


# -- another copy -----------------------------------------------------------------------------


_MOST_KEYS: Final = 1 << 20
"""Records of another copy whose keys are looked for; the ranges of more stay as they are."""


def _ask_other(
    log: Partition | Segment,
    other: Partition | Segment,
    found: _Explained,
    compacted: int,
    assumptions: list[Assumption],
) -> None:
    """Say of gaps between batches what another copy has in their place."""
    assumptions.append(
        Assumption("other copy", os.fspath(Path(str(other.path))), "of the same partition")
    )
    gaps = np.flatnonzero(found.rows["kind"] == _KINDS[Kind.BETWEEN])
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
            found.details[row] = (
                f"the other copy has {len(wrong)} records, from offset {wrong[0]} on, that "
                "compaction does not explain"
            )


_HELD: Final = pa.schema([
    ("gap", pa.int64()), ("offset", pa.int64()), ("key", pa.binary()), ("legal", pa.bool_()),
])  # fmt: skip


def _held(other: Partition | Segment, first: Column, last: Column) -> pa.Table:
    """Return the records of a copy in some ranges; ``legal`` are those that no key keeps.

    Control records, aborted ones, those without a key, and tombstones go by themselves.
    """
    aborted = aborted_spans(other)
    parts = []
    count = 0
    reader = other.to_batches(
        ["offset", "key", "value", "control_type", "producer_id"],
        start_offset=int(first[0]), end_offset=int(last.max()) + 1, include_control=True,
        on_error=lambda _: None, layout="binary",
    )  # fmt: skip
    for batch in reader:
        offsets = batch["offset"].to_numpy()
        place = np.searchsorted(first, offsets, side="right") - 1
        inside = (place >= 0) & (offsets <= last[place])
        if not inside.any():
            continue
        kept = batch.filter(pa.array(inside))
        legal = pc.or_(
            pc.or_(pc.is_null(kept["key"]), pc.is_null(kept["value"])),
            pc.is_valid(kept["control_type"]),
        )
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
