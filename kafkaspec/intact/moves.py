"""Find runs whose bytes are in another place than their offsets, as after halves were swapped.

A run that touches entries of the log is not inside a value. It belongs to the log if its offsets
fill a hole between those of others, and nothing that a broker keeps in order contradicts that.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Final

from kafkaspec._generated.python.model.recordbatch import TimestampType
from kafkaspec.intact.choice import OUTSIDE, REPEATED, UNORDERED, RunVerdict
from kafkaspec.intact.heads import head_at
from kafkaspec.intact.walk import Broken, Gap, IntactRun, Item, Walker
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import NONE
from kafkaspec.results import Strength

_MOST_PASSES: Final = 8
"""Times that the places are looked at again, after some runs were taken out of theirs."""
_LARGEST_SEQUENCE: Final = (1 << 31) - 1
_AT_FIRST: Final = attrgetter("first")
NO_HOLE: Final = f"{UNORDERED}; they do not fill a hole"
CLAIMED: Final = f"{UNORDERED}; a broken entry has them"
OF_ITSELF: Final = f"{UNORDERED}; its own may be wrong, as no checksum covers them"
CONTRADICTED: Final = (
    f"{UNORDERED}; in the hole that they fill, leader epochs, sequence numbers or times would fall"
)


def with_moves(
    items: Sequence[Item],
    verdicts: Sequence[RunVerdict | None],
    base: int,
    limit: int | None,
    walker: Walker,
) -> list[RunVerdict | None]:
    """Return the verdicts, with runs that go elsewhere kept.

    Args:
        items: what the segment consists of.
        verdicts: the verdict on each run, None for all else.
        limit: base offset of the next one, None for the last segment.
    """
    candidates = _candidates(items, verdicts)
    if not candidates:
        return list(verdicts)
    return _Moves(items, verdicts, candidates, base, limit, walker).verdicts()


def _candidates(items: Sequence[Item], verdicts: Sequence[RunVerdict | None]) -> list[int]:
    """Return the numbers of runs that others refuse, and that touch entries of the log."""
    found: list[int] = []
    first = 0
    for stop in (*(n for n, item in enumerate(items) if isinstance(item, Gap)), len(items)):
        group = [(n, verdicts[n]) for n in range(first, stop)]
        if any(verdict is not None and verdict.keeps for _, verdict in group):
            found += [
                number
                for number, verdict in group
                if verdict is not None
                and not verdict.keeps
                and verdict.why not in (OUTSIDE, REPEATED)
            ]
        first = stop + 1
    return found


class _Moves:
    """The runs that are kept, in the order of their offsets, and those that go between them."""

    def __init__(
        self,
        items: Sequence[Item],
        verdicts: Sequence[RunVerdict | None],
        candidates: Sequence[int],
        base: int,
        limit: int | None,
        walker: Walker,
    ) -> None:
        self._items, self._verdicts = items, verdicts
        self._base, self._limit = base, limit
        self._walker = walker
        self._why = dict.fromkeys(candidates, NO_HOLE)
        kept = [n for n, verdict in enumerate(verdicts) if verdict is not None and verdict.keeps]
        self._placed = [run for n in kept if isinstance(run := items[n], IntactRun)]
        """Runs in the order of their offsets."""
        self._moved: dict[int, int] = {}
        """Numbers of those that are moved, by their byte offset."""
        self._claims = sorted(_claims(items))
        for number in sorted(candidates, key=lambda n: (items[n].start - items[n].end, n)):
            self._place(number)

    def verdicts(self) -> list[RunVerdict | None]:
        """Return the verdicts, with those that go to their places kept."""
        for _ in range(_MOST_PASSES):
            if not self._moved:
                break
            wrong = self._misplaced() or dict.fromkeys(self._contradicted(), CONTRADICTED)
            if not wrong:
                break
            self._take_out(wrong)
        else:
            self._take_out(dict.fromkeys(self._moved, NO_HOLE))
        found = list(self._verdicts)
        for number, why in self._why.items():
            if found[number].why == UNORDERED:  # type: ignore[union-attr]  # a run
                found[number] = RunVerdict(False, Strength.UNKNOWN, why)
        strengths = {
            run.start: Strength.STRONG if all(sides) and run.count > 1 else Strength.LIKELY
            for run, sides in self._sides()
        }
        for start, number in self._moved.items():
            found[number] = RunVerdict(True, strengths[start], is_moved=True)
        return found

    def _place(self, number: int) -> None:
        """Put a run where its offsets are free."""
        run = self._items[number]
        assert isinstance(run, IntactRun)
        place = bisect_right(self._placed, run.last, key=_AT_FIRST)
        if place and self._placed[place - 1].last >= run.first:
            self._why[number] = REPEATED
            return
        claim = bisect_right(self._claims, (run.last, _LARGEST_SEQUENCE << 32)) - 1
        if claim >= 0 and self._claims[claim][1] >= run.first:
            self._why[number] = CLAIMED
            return
        insort(self._placed, run, key=_AT_FIRST)
        self._moved[run.start] = number

    def _take_out(self, wrong: dict[int, str]) -> None:
        for start, why in wrong.items():
            self._why[self._moved.pop(start)] = why
        self._placed = [run for run in self._placed if run.start not in wrong]

    # -- places -------------------------------------------------------------------------------

    def _misplaced(self) -> dict[int, str]:
        """Return why moved runs do not go where they are, by byte offset."""
        found = {}
        beside = sorted(self._placed, key=attrgetter("start"))
        holes, is_whole = self._holes(), self._is_whole
        for run, sides in self._sides():
            if run.start in self._moved:
                if run.count == 1 and self._may_be_wrong(run, beside, holes):
                    found[run.start] = OF_ITSELF
                elif not all(sides) and not is_whole:
                    found[run.start] = NO_HOLE
        return found

    def _sides(self) -> Iterator[tuple[IntactRun, tuple[bool, bool]]]:
        """Yield each run, and whether it goes with those that have offsets before and after it."""
        # It does if no offset is missing between them, or if bytes beside one of both are lost.
        zeros = next((i.start for i in self._items if isinstance(i, Gap) and i.zeros), None)
        size = len(self._walker.buffer)
        starts = {run.start for run in self._placed} | {size if zeros is None else zeros}
        ends = {run.end for run in self._placed} | {0}
        top = None if self._limit is None else self._limit - 1
        for number, run in enumerate(self._placed):
            before = self._placed[number - 1] if number else None
            after = self._placed[number + 1] if number + 1 < len(self._placed) else None
            left = run.first == (self._base if before is None else before.last + 1)
            left = left or run.start not in ends
            left = left or (before is not None and before.end not in starts)
            if after is None:
                right = top is None or run.last == top
            else:
                right = run.last + 1 == after.first or after.start not in ends
            yield run, (left, right or run.end not in starts)

    @property
    def _is_whole(self) -> bool:
        """Whether all that the segment consists of has its place."""
        placed = {run.start for run in self._placed}
        return all(
            item.zeros if isinstance(item, Gap)
            else item.is_part if isinstance(item, Broken)
            else item.start in placed
            for item in self._items
        )  # fmt: skip

    def _holes(self) -> list[tuple[int, int]]:
        """Return the first and last offsets that none of the placed runs has, before the end."""
        before = [self._base - 1, *(run.last for run in self._placed)]
        pairs = zip(before, self._placed, strict=False)
        return [(last + 1, run.first - 1) for last, run in pairs if last + 1 < run.first]

    def _may_be_wrong(
        self, run: IntactRun, beside: list[IntactRun], holes: list[tuple[int, int]]
    ) -> bool:
        """Return whether an entry may be where it was, with another offset than it had."""
        # No checksum covers the offset. It may if offsets between its neighbors in the file are
        # free; at the end they always are, but then none is free between any of the others.
        place = bisect_left(beside, run.start, key=attrgetter("start"))
        low = beside[place - 1].last + 1 if place else self._base
        if place + 1 < len(beside):
            high = beside[place + 1].first
        else:
            cut = self._items[-1]
            if not isinstance(cut, Broken) or not cut.is_part or cut.head is None:
                return any(first > self._base for first, _ in holes)
            high = cut.head.first
        number = bisect_left(holes, low, key=lambda hole: hole[1])
        return number < len(holes) and holes[number][0] < high

    # -- what brokers keep in order -----------------------------------------------------------

    def _contradicted(self) -> set[int]:
        """Return the byte offsets of moved runs at whose edges something falls that only rises."""
        wrong = set[int]()
        producers: dict[int, tuple[int, int, int]] = {}
        epoch = time = (NONE, NONE)
        for run in self._placed:
            head = head_at(self._walker.buffer, run.start)
            if head is not None and NONE < head.leader_epoch < epoch[0]:
                wrong.update(self._moved.keys() & {run.start, epoch[1]})
            if run.odd and run.start in self._moved:
                wrong.add(run.start)
            if run.epoch != NONE:
                epoch = run.epoch, run.start
            for headers, count in self._walker.headers(run.start, run.end):
                for number in range(count):
                    by_broker = headers.timestamp_type[number] == TimestampType.LOG_APPEND_TIME
                    moment = headers.max_timestamp[number] if by_broker else NONE
                    if NONE < moment < time[0] and run.start != time[1]:
                        wrong.update(self._moved.keys() & {run.start, time[1]})
                    if moment != NONE:
                        time = moment, run.start
                    own = headers.producer_id[number]
                    if own == NONE or headers.base_sequence[number] == NONE:
                        continue
                    known = producers.get(own)
                    now = headers.producer_epoch[number], headers.base_sequence[number]
                    if known is not None and known[2] != run.start and _falls(known[:2], now):
                        wrong.update(self._moved.keys() & {run.start, known[2]})
                    producers[own] = now[0], headers.last_sequence[number], run.start
        return wrong


def _falls(before: tuple[int, int], now: tuple[int, int]) -> bool:
    """Return whether epoch and sequence number of a producer are not those that come after."""
    is_around = before[1] > _LARGEST_SEQUENCE // 2 > now[1]
    return now[0] < before[0] or (now[0] == before[0] and now[1] <= before[1] and not is_around)


def _claims(items: Sequence[Item]) -> Iterator[tuple[int, int]]:
    """Yield the offsets that the headers of broken entries have."""
    for item in items:
        head = None if isinstance(item, IntactRun) else item.head
        if head is None or not head.is_plausible:
            continue
        if head.count is not None and head.count == head.last - head.first + 1:
            yield head.first, head.last
        elif not KINDS[head.magic].has_record_sets:
            yield head.last, head.last
