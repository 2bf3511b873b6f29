"""Say of each byte of a segment what happens to it, and what of it goes into the output."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice, takewhile
from operator import attrgetter
from pathlib import Path
from typing import Final

from kafkaspec.forensics.salvage.repair import Repair, Repaired, moved, repaired, with_epoch
from kafkaspec.forensics.salvage.report import Fate, LostOffsets, SalvagedSegment, Stretch
from kafkaspec.forensics.salvage.unproven import UnprovenReader, UnprovenRecord
from kafkaspec.intact.choice import OUTSIDE, REPEATED, UNCLEAR, UNORDERED, RunVerdict
from kafkaspec.intact.division import Division, claimed_end
from kafkaspec.intact.heads import Head, head_at
from kafkaspec.intact.walk import Broken, Gap, IntactRun, Item, Walker
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.damage import Kept, KeptRange
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.missing import Missing, MissingWhy
from kafkaspec.log.segment import Segment
from kafkaspec.results import OffsetRange, Strength

Sink = Callable[[Path, UnprovenRecord], None]
"""Function that takes each unproven record, with the path of its segment."""

_DATA: Final = re.compile(rb"[^\0]")
_LOST: Final = (Fate.LOST, Fate.AMBIGUOUS, Fate.UNPROVEN)


@dataclass(frozen=True, slots=True)
class SalvagedPiece:
    """Entries for the output.

    Attributes:
        data: bytes to write instead of those of the segment, None for these.
        is_batch: whether all of them are batches of records.
    """

    first: int
    last: int
    start: int
    end: int
    epoch: int
    data: bytes | None = None
    is_batch: bool = True


@dataclass(slots=True)
class SegmentPlan:
    """The fate of a segment.

    Attributes:
        limit: base offset of the next segment, None for the last one.
        pieces: entries for the output, in the order of their offsets.
        claimed_end: offset after the last one that a broken header speaks of.
        is_dense: whether no offset is missing between entries that touch each other.
        broken_magics: magics in the headers of broken entries, as far as they make sense.
    """

    path: Path
    base_offset: int
    limit: int | None
    size: int
    stretches: list[Stretch] = field(default_factory=list)
    pieces: list[SalvagedPiece] = field(default_factory=list)
    lost: list[LostOffsets] = field(default_factory=list)
    claimed_end: int = 0
    is_dense: bool = True
    broken_magics: set[int] = field(default_factory=set)

    @property
    def next_offset(self) -> int:
        """Offset after the last entry of the output."""
        return self.pieces[-1].last + 1 if self.pieces else self.base_offset

    @property
    def kept_size(self) -> int:
        """Byte offset after the last byte of the segment that is in the output."""
        return max((piece.end for piece in self.pieces), default=0)

    @property
    def kept(self) -> Kept:
        """The entries of the output, for the rule that says what is missing."""
        ranges = [
            KeptRange(piece.start, piece.end, piece.first, piece.last, piece.data is None)
            for piece in self.pieces
        ]
        last = self.stretches[-1] if self.stretches else None
        stop = last.position if last is not None and last.fate is Fate.UNUSED else self.size
        return Kept(tuple(ranges), self.claimed_end, stop)

    @property
    def salvaged(self) -> SalvagedSegment:
        """The segment for the report."""
        path = os.fspath(self.path)
        return SalvagedSegment(path, self.base_offset, self.size, tuple(self.stretches))

    @property
    def lost_bytes_at_end(self) -> bool:
        """Whether bytes after the last entry of the output are lost."""
        end = self.kept_size
        return any(item.end > end and item.fate in _LOST for item in self.stretches)

    def lose(self, item: Missing, end: int, why: str, strength: Strength) -> None:
        """Note that the offsets up to one are lost at the end."""
        offsets = OffsetRange(self.next_offset, end)
        lost = replace(LostOffsets.of(item), message=why, offsets=offsets, strength=strength)
        self.lost.append(
            replace(lost, file=os.fspath(self.path) if self.lost_bytes_at_end else None)
        )

    def lose_between(self, item: Missing) -> None:
        """Note that offsets between two entries are lost, and their bytes with them."""
        first, last = item.through
        place = bisect_right(self.lost, last, key=attrgetter("first_offset"))
        if not place or self.lost[place - 1].last_offset < first:
            self.lost.insert(place, LostOffsets.of(item))

    def epoch_before(self, offset: int, otherwise: int) -> int:
        """Return the leader epoch of the last entry of the output before an offset."""
        number = bisect_right(self.pieces, offset, key=attrgetter("first"))
        return self.pieces[number - 1].epoch if number else otherwise


def plan_segment(
    segment: Segment,
    limit: int | None,
    how: frozenset[Repair] = frozenset(),
    sink: Sink | None = None,
    *,
    ambiguous: bool = False,
) -> SegmentPlan:
    """Return what happens to a segment.

    Args:
        segment: the segment, with a path and a base offset.
        limit: base offset of the next one, None for the last one.
        sink: takes records of entries that stay broken; None not to read them.
        ambiguous: whether to keep entries that may be inside a value, if their offsets fit.

    Raises:
        KafkaSpecError: ``unreadable``, ``changed``.
    """
    return _Planner(segment, limit, how, sink, ambiguous).plan()


def entries_of(
    segment: Segment, pieces: Iterable[SalvagedPiece]
) -> Iterator[tuple[HeaderTable, int]]:
    """Yield headers of the entries of pieces, and how many of them belong to the piece."""
    walker = Walker(segment, None)
    for piece in pieces:
        if piece.data is None:
            yield from walker.headers(piece.start, piece.end)
        else:
            with closing(Segment(piece.data, name=segment.name)) as entry:
                yield from Walker(entry, None).headers(0, len(piece.data))


@dataclass
class _Planner:
    segment: Segment
    limit: int | None
    how: frozenset[Repair]
    sink: Sink | None
    ambiguous: bool

    def __post_init__(self) -> None:
        segment, limit = self.segment, self.limit
        assert segment.base_offset is not None
        assert isinstance(segment.path, Path)
        self._division = Division(segment, limit)
        self._bound, self._buffer = self._division.bound, self._division.buffer
        self._unproven = UnprovenReader(self._buffer, segment.codec)
        self._plan = SegmentPlan(segment.path, segment.base_offset, limit, segment.size)
        self._last = segment.base_offset - 1
        self._beside: set[int] = set()
        self._moved: list[SalvagedPiece] = []
        self._open: list[tuple[Stretch, Item]] = []
        """What is lost since the last entry that is not, and what it is."""

    def plan(self) -> SegmentPlan:
        plan = self._plan
        items = self._division.items
        verdicts = {
            id(item): verdict
            for item, verdict in zip(items, self._division.verdicts, strict=True)
            if verdict is not None
        }
        following = self._following(items, verdicts)
        self._beside = self._beside_kept(items, verdicts)
        for item, after in zip(items, following, strict=True):
            if isinstance(item, IntactRun):
                self._run(item, verdicts[id(item)], after)
            elif isinstance(item, Broken):
                self._broken(item, after)
            else:
                self._gap(item)
        end = max([self._last, *(piece.last for piece in self._moved)]) + 1
        left = (item for stretch, item in self._open if not stretch.moved)
        claimed = claimed_end(end, left)
        self._close(plan.limit)
        plan.claimed_end = claimed
        if self._moved:
            plan.pieces = sorted([*plan.pieces, *self._moved], key=lambda piece: piece.first)
            plan.lost = [*self._in_holes()]
        assert sum(item.size for item in plan.stretches) == plan.size
        return plan

    def _following(
        self, items: Sequence[Item], verdicts: dict[int, RunVerdict]
    ) -> list[IntactRun | None]:
        """Return for each item the next run that is kept."""
        found: list[IntactRun | None] = []
        after: IntactRun | None = None
        for item in reversed(items):
            found.append(after)
            if isinstance(item, IntactRun):
                verdict = verdicts[id(item)]
                after = item if verdict.keeps and not verdict.is_moved else after
        return found[::-1]

    def _in_holes(self) -> Iterator[LostOffsets]:
        """Yield what is lost without the offsets of entries that are moved there."""
        plan, end = self._plan, self._plan.base_offset
        holes = list[tuple[int, int]]()
        for piece, lost in zip(plan.pieces, plan.kept.breaks, strict=True):
            if lost is not None and end < piece.first:
                holes.append((end, piece.first - 1))
            end = piece.last + 1
        holes.append((end, LARGEST_OFFSET))
        number = 0
        for item in plan.lost:
            while number < len(holes) and holes[number][1] < item.first_offset:
                number += 1
            for first, last in takewhile(
                lambda hole, item=item: hole[0] <= item.last_offset,  # type: ignore[misc]
                islice(holes, number, None),
            ):
                low, high = max(first, item.first_offset), min(last, item.last_offset)
                yield replace(item, offsets=OffsetRange(low, high + 1))

    def _beside_kept(self, items: Sequence[Item], verdicts: dict[int, RunVerdict]) -> set[int]:
        """Return where broken entries begin that touch what is kept, or an end of the segment."""
        # Others may be inside a value.
        found, entries, kept = set[int](), list[int](), False
        for item in (*items, None):
            if item is None or isinstance(item, Gap):
                kept |= item is None or item.zeros
                found.update(entries if kept else ())
                entries, kept = [], False
                continue
            if isinstance(item, Broken):
                entries.append(item.start)
                kept |= item.start == 0
            else:
                kept |= verdicts[id(item)].keeps
        return found

    # -- what becomes of bytes ----------------------------------------------------------------

    def _run(self, run: IntactRun, verdict: RunVerdict, after: IntactRun | None) -> None:
        if verdict.is_moved:
            self._move(run, verdict.strength)
            return
        if verdict.keeps:
            self._keep(run, verdict.strength)
            return
        is_odd = verdict.why in (REPEATED, OUTSIDE) or verdict.why.startswith(UNORDERED)
        before = self._plan.pieces[-1].end if self._plan.pieces else 0
        stop = self._plan.size if after is None else after.start
        touches = "headers" in self.how and before == run.start and run.end == stop
        if is_odd and run.count == 1 and touches:
            found = moved(self._buffer, run, self._last, self._limit(after))
            if found is not None:
                self._put(run.start, run.end, found)
                return
        fits = self._last < run.first and run.last < self._limit(after)
        if verdict.why == UNCLEAR and self.ambiguous and fits:
            self._keep(run, Strength.UNKNOWN)
            return
        fate = Fate.AMBIGUOUS if verdict.why == UNCLEAR else Fate.LOST
        stretch = Stretch(
            run.start, run.end - run.start, fate, verdict.strength, run.first, run.last,
            run.count, verdict.why,
        )  # fmt: skip
        self._open.append((stretch, run))

    def _keep(self, run: IntactRun, strength: Strength) -> None:
        self._close(run.first)
        self._plan.is_dense = self._plan.is_dense and run.is_dense
        batches = all(KINDS[magic].has_record_sets for magic in run.magics)
        start, last = run.start, self._last
        for place in run.odd if "headers" in self.how else ():
            fixed = with_epoch(self._buffer, place, run.start, run.end)
            if fixed is None or fixed.head.position < start:
                continue
            at = fixed.head.position
            if at > start:
                start = self._kept(run, start, at, fixed.head.first - 1, strength, batches)
            self._put(at, at + fixed.head.size, fixed)
            start = at + fixed.head.size
        if start < run.end:
            self._kept(run, start, run.end, run.last, strength, batches)
        self._last = max(run.last, last)

    def _move(self, run: IntactRun, strength: Strength) -> None:
        """Note entries whose place in the output is not that in the segment."""
        stretch = Stretch(
            run.start, run.end - run.start, Fate.KEPT, strength, run.first, run.last, run.count,
            "moved to the place of its offsets", moved=True,
        )  # fmt: skip
        self._open.append((stretch, run))
        batches = all(KINDS[magic].has_record_sets for magic in run.magics)
        self._moved.append(
            SalvagedPiece(run.first, run.last, run.start, run.end, run.epoch, None, batches)
        )

    def _kept(
        self, run: IntactRun, start: int, end: int, last: int, strength: Strength, batches: bool
    ) -> int:
        whole = start == run.start and end == run.end
        head = None if start == run.start else head_at(self._buffer, start)
        first = run.first if head is None else head.first
        count = run.count if whole else 0
        stretch = Stretch(start, end - start, Fate.KEPT, strength, first, last, count)
        before = self._plan.stretches[-1] if self._plan.stretches else None
        joins = before is not None and before.fate is Fate.KEPT and not before.moved
        if before is not None and joins and before.strength is strength:
            self._plan.stretches[-1] = replace(
                before,
                size=before.size + stretch.size,
                last_offset=last,
                entries=before.entries and stretch.entries and before.entries + stretch.entries,
            )
        else:
            self._plan.stretches.append(stretch)
        self._plan.pieces.append(SalvagedPiece(first, last, start, end, run.epoch, None, batches))
        self._last = last
        return end

    def _put(self, start: int, end: int, found: Repaired) -> None:
        head = found.head
        self._close(head.first)
        self._plan.stretches.append(
            Stretch(
                start, end - start, Fate.REPAIRED, found.strength, head.first, head.last, 1,
                found.what,
            )
        )  # fmt: skip
        batch = KINDS[head.magic].has_record_sets
        self._plan.pieces.append(
            SalvagedPiece(head.first, head.last, start, end, head.leader_epoch, found.data, batch)
        )
        self._last = head.last

    def _broken(self, broken: Broken, after: IntactRun | None) -> None:
        if self.how and broken.start in self._beside and not broken.is_part:
            found = repaired(
                self._buffer, broken, self._last, self._limit(after), self._epoch(after), self.how
            )
            if found is not None:
                self._put(broken.start, broken.end, found)
                return
        cause = broken.why or "wrong checksum"
        head = broken.head
        if head is None or not head.is_plausible:
            cause, head = (cause if broken.why else "no header can be read"), None
        self._left(broken, broken.start, broken.end, head, cause, Strength.PROOF)

    def _gap(self, gap: Gap) -> None:
        size = gap.end - gap.start
        if gap.zeros:
            unused = Stretch(gap.start, size, Fate.UNUSED, Strength.PROOF, cause="zeros at the end")
            self._open.append((unused, gap))
            return
        head = gap.head
        end = gap.end if head is None else min(gap.end, head.end)
        if head is not None and head.end > gap.end == self._plan.size:
            self._left(gap, gap.start, gap.end, head, "cut off", Strength.LIKELY)
            return
        cause = "no entry can be read"
        if _DATA.search(self._buffer[gap.start : gap.end]) is None:
            cause = "zeros"
        if head is not None and end < gap.end and self.sink is not None:
            self._left(gap, gap.start, end, head, cause, Strength.LIKELY)
            head = None
        else:
            end = gap.start
        if end < gap.end:
            self._left(gap, end, gap.end, head, cause, Strength.STRONG)

    def _left(
        self, item: Item, start: int, end: int, head: Head | None, cause: str, strength: Strength
    ) -> None:
        """Note bytes that stay broken, and read what can be read of them."""
        count = 0
        if self.sink is not None and head is not None:
            for record in self._unproven.records(start, end, self._last):
                self.sink(self._plan.path, record)
                count += 1
        if head is not None:
            self._plan.broken_magics.add(head.magic)
        first = last = None
        if isinstance(item, Broken) and head is not None and head.first > self._last:
            first, last = head.first, head.last
        stretch = Stretch(
            start, end - start, Fate.UNPROVEN if count else Fate.LOST,
            Strength.UNKNOWN if count else strength, first, last,
            1 if isinstance(item, Broken) else 0, cause, count,
        )  # fmt: skip
        self._open.append((stretch, item))

    # -- offsets ------------------------------------------------------------------------------

    def _limit(self, after: IntactRun | None) -> int:
        return self._bound if after is None else after.first

    def _epoch(self, after: IntactRun | None) -> int | None:
        """Return the leader epoch before and after a place, None if they differ or are unknown."""
        before = self._plan.pieces[-1].epoch if self._plan.pieces else None
        head = None if after is None else head_at(self._buffer, after.start)
        if head is None or not KINDS[head.magic].has_leader_epochs:
            return None
        return head.leader_epoch if before in (None, head.leader_epoch) else None

    def _close(self, limit: int | None) -> None:
        """End what is lost before an offset; None at the end of the log."""
        if not self._open:
            return
        first, missing = self._last + 1, None if limit is None else limit - self._last - 1
        stretches = [_within(stretch, item, first, limit) for stretch, item in self._open]
        unknown = [
            number
            for number, stretch in enumerate(stretches)
            if stretch.first_offset is None and stretch.fate in _LOST
        ]
        if len(unknown) == 1 and missing:
            (number,) = unknown
            before = [item.last_offset for item in stretches[:number] if not item.moved]
            after = [item.first_offset for item in stretches[number + 1 :] if not item.moved]
            low = max([first, *(n + 1 for n in before if n is not None and n >= first)])
            high = min([(limit or 0) - 1, *(n - 1 for n in after if n is not None and n >= low)])
            if low <= high:
                stretches[number] = replace(stretches[number], first_offset=low, last_offset=high)
        lost = any(stretch.fate in _LOST for stretch in stretches)
        if missing is not None and missing > 0 and limit is not None and lost:
            exact = all(
                isinstance(item, Broken) and stretch.first_offset is not None
                for stretch, (_, item) in zip(stretches, self._open, strict=True)
                if not stretch.moved
            )
            strength = Strength.PROOF if exact else Strength.STRONG
            if not exact and not self._plan.is_dense:
                strength = Strength.CONSISTENT
            causes = dict.fromkeys(item.cause for item in stretches if item.fate in _LOST)
            path = os.fspath(self._plan.path)
            self._plan.lost.append(LostOffsets(
                reason=MissingWhy.BROKEN, message=", ".join(causes), file=path,
                offsets=OffsetRange(first, limit), strength=strength,
            ))  # fmt: skip
        self._plan.stretches += stretches
        self._open.clear()


def _within(stretch: Stretch, item: Item, first: int, limit: int | None) -> Stretch:
    """Return a stretch without offsets that its header cannot have had."""
    if isinstance(item, IntactRun) or stretch.first_offset is None or stretch.last_offset is None:
        return stretch
    if stretch.first_offset >= first and (limit is None or stretch.last_offset < limit):
        return stretch
    return replace(stretch, first_offset=None, last_offset=None)
