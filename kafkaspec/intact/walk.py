"""Divide a segment into runs of sound entries, broken entries, and bytes between them.

Sound entries are read many at a time, as ``verify`` reads them. Entries are looked for only where
the size of a broken one does not lead to a sound one.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress, count
from operator import gt, le
from typing import Final

from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.intact.heads import Head, Seeker, declared_end, head_at
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.layout.stand_ins import UNKNOWN
from kafkaspec.log.header_table import HeaderTable, of_batches
from kafkaspec.log.headers import scanned
from kafkaspec.log.segment import Segment

_FIRST_TABLE: Final = 64
_LARGEST_TABLE: Final = 1 << 14
_MOST_BROKEN: Final = 1 << 8
"""Broken entries one after the other whose sizes are followed."""
_MOST_ODD: Final = 1000
_MOST_SPLITS: Final = 1000
_DATA: Final = re.compile(rb"[^\0]")


@dataclass(slots=True)
class IntactRun:
    """Sound entries that touch each other and whose offsets rise.

    Attributes:
        start: byte offset of the first one.
        end: byte offset after the last one.
        first: first offset.
        last: last offset.
        count: number of entries.
        magics: their magics.
        epoch: leader epoch of the last one.
        odd: byte offsets of entries after which the leader epoch falls, the first ones.
        is_dense: whether each of them begins with the offset after the one before it.
    """

    start: int
    end: int
    first: int
    last: int
    count: int
    magics: set[int]
    epoch: int
    odd: list[int] = field(default_factory=list)
    is_dense: bool = True


@dataclass(slots=True)
class Broken:
    """One entry that is not sound, and whose extent is proven.

    Attributes:
        start: byte offset.
        end: byte offset after it, at which a sound entry begins, or the segment ends.
        head: its header, None if that makes no sense.
        why: what is wrong, as far as that is known.
        is_part: whether the rest of it is at the other end of the segment.
    """

    start: int
    end: int
    head: Head | None
    why: str = ""
    is_part: bool = False


@dataclass(slots=True)
class Gap:
    """Bytes that are not a sound entry; there may be several broken ones.

    Attributes:
        start: byte offset.
        end: byte offset after them.
        head: the header at their start, if it is plausible.
        zeros: whether all of them are zeros, up to the end of the segment.
    """

    start: int
    end: int
    head: Head | None = None
    zeros: bool = False


Item = IntactRun | Broken | Gap


class Walker:
    """Divides a segment.

    Args:
        limit: offset before which its entries end, None for any.
    """

    def __init__(self, segment: Segment, limit: int | None) -> None:
        self.segment = segment
        self.buffer, _ = segment.cursor().at(0, segment.size)
        base = segment.base_offset or 0
        end = LARGEST_OFFSET if limit is None else limit
        self.seeker = Seeker(self.buffer, segment.codec.core, range(base, end))
        self.scanned = 0
        """Entries whose headers were read, each time that they were."""
        self._base, self._limit = base, limit
        self._budget = 4 * segment.size + (1 << 22)
        self._splits = 0

    def items(self) -> list[Item]:
        """Return what the segment consists of, in order and without a byte left out."""
        found: list[Item] = []
        position, size = 0, self.segment.size
        while position < size:
            chain, stop = self._chain(position)
            found += chain
            if stop >= size:
                break
            end = declared_end(self.buffer, stop)
            if end is not None and end > stop and self._leads(end, found):
                found.append(Broken(stop, end, head_at(self.buffer, stop)))
                position = end
                continue
            data = _DATA.search(self.buffer, stop)
            if data is None:
                found.append(Gap(stop, size, zeros=True))
                break
            head = head_at(self.buffer, stop)
            gap = Gap(stop, size, head if head is not None and head.is_plausible else None)
            found.append(gap)
            following = self.seeker.first(stop + 1)
            if following is None:
                break
            position = gap.end = following.position
        return self._bounded(found)

    def run_of(self, start: int, end: int) -> list[IntactRun]:
        """Return the runs of sound entries between two places."""
        found: list[Item] = []
        for headers, stop in self.headers(start, end):
            self._add(found, headers, 0, stop, split=False)
        return [item for item in found if isinstance(item, IntactRun)]

    def headers(self, start: int, end: int) -> Iterator[tuple[HeaderTable, int]]:
        """Yield headers of sound entries between two places, and how many of them are before it."""
        buffer, capacity = self.buffer[:end], _FIRST_TABLE
        while start < end:
            headers = self._headers(start, capacity, buffer)
            if headers is None:
                return
            yield headers, bisect_left(headers.position, end)
            start, capacity = headers.end, min(2 * capacity, _LARGEST_TABLE)

    # -- entries that follow each other --------------------------------------------------------

    def _chain(self, position: int) -> tuple[list[Item], int]:
        """Return the entries that follow each other from a place on, and where that ends."""
        found: list[Item] = []
        pending: list[Broken] = []
        size, capacity = self.segment.size, _FIRST_TABLE
        while position < size:
            headers = self._headers(position, capacity)
            if headers is None:
                break
            capacity = min(2 * capacity, _LARGEST_TABLE)
            number, entries = 0, len(headers)
            while number < entries:
                wrong = headers.wrong_checksum(number)
                stop = entries if wrong is None else wrong
                if stop > number:
                    found += pending
                    pending.clear()
                    self._add(found, headers, number, stop)
                number = stop
                if number < entries:
                    start, end = headers.position[number], headers.position[number]
                    end += headers.size[number]
                    self._budget -= end - start
                    if len(pending) == _MOST_BROKEN or self._budget < 0:
                        return found, pending[0].start if pending else start
                    pending.append(Broken(start, end, head_at(self.buffer, start)))
                    number += 1
            position = headers.end
        if pending and position < size:
            self._budget -= position - pending[0].start
            return found, pending[0].start
        found += pending
        return found, position

    def _leads(self, position: int, found: Sequence[Item]) -> bool:
        """Return whether the segment ends where a broken entry does, or a sound one begins."""
        if position == self.segment.size:
            return True
        head = head_at(self.buffer, position)
        if not self.seeker.is_sound(head):
            return False
        assert head is not None
        before = next((item.last for item in reversed(found) if isinstance(item, IntactRun)), -1)
        return head.first > before

    def _headers(
        self, position: int, capacity: int, buffer: memoryview | None = None
    ) -> HeaderTable | None:
        """Return the headers of at most ``capacity`` entries from a place on; None for none."""
        segment = self.segment
        segment.check()
        buffer = self.buffer if buffer is None else buffer
        table = scanned(segment, buffer, 0, position, capacity)
        if table is not None:
            self.scanned += len(table)
            return table
        try:
            batch = segment.batch_at(position)
        except KafkaSpecError as error:
            if error.reason in (Reason.CHANGED, Reason.UNREADABLE):
                raise
            return None
        return of_batches(segment, self.buffer, 0, [batch])

    def _add(
        self, found: list[Item], headers: HeaderTable, first: int, stop: int, *, split: bool = True
    ) -> None:
        """Add sound entries, in as many runs as there are falls of offsets."""
        lows: Sequence[int] = headers.first_offset[first:stop]
        lasts = headers.last_offset[first:stop]
        if UNKNOWN in lows:
            lows = [
                _first_of(headers, first + number) if low == UNKNOWN else low
                for number, low in enumerate(lows)
            ]
        falls = compress(count(1), map(le, lows[1:], lasts))
        start = 0
        for fall in (*falls, stop - first):
            self._extend(found, headers, first + start, first + fall, lows[start:fall], split)
            start = fall

    def _extend(
        self,
        found: list[Item],
        headers: HeaderTable,
        first: int,
        stop: int,
        lows: Sequence[int],
        split: bool,
    ) -> None:
        """Add entries whose offsets rise.

        Args:
            found: what there is before them.
            lows: their first offsets; of a compressed message the last one.
            split: whether to divide runs where offsets fall.
        """
        low, start = lows[0], headers.position[first]
        before = found[-1] if found else None
        joins = isinstance(before, IntactRun) and before.end == start
        if isinstance(before, IntactRun) and joins and before.last >= low:
            joins = False
            top = bisect_right(lows, before.last)
            if split and self._splits < _MOST_SPLITS:
                # Before the fall, perhaps, is an entry with too large an offset, or after it some
                # with too small ones.
                self._splits += 1
                found[-1:] = self._divided(before, low)
                if top < len(lows):
                    found.append(self._run(headers, first, first + top, lows[:top]))
                    first, lows = first + top, lows[top:]
        run = self._run(headers, first, stop, lows)
        if joins and isinstance(before, IntactRun):
            if before.epoch > headers.leader_epoch[first]:
                run.odd.insert(0, start)
            before.is_dense = before.is_dense and run.is_dense and before.last + 1 == run.first
            before.end, before.last, before.epoch = run.end, run.last, run.epoch
            before.count += run.count
            before.magics |= run.magics
            before.odd = (before.odd + run.odd)[:_MOST_ODD]
        else:
            found.append(run)

    def _run(self, headers: HeaderTable, first: int, stop: int, lows: Sequence[int]) -> IntactRun:
        epochs = headers.leader_epoch[first:stop]
        odd = [
            headers.position[first + number]
            for number in compress(range(_MOST_ODD), map(gt, epochs, epochs[1:]))
        ]
        last, low = headers.last_offset[stop - 1], lows[0]
        spans = sum(headers.last_offset[first:stop]) - sum(lows)
        if headers.first_offset[first] == UNKNOWN:
            low = headers.first_offset_of(first)
        return IntactRun(
            headers.position[first],
            headers.position[stop - 1] + headers.size[stop - 1],
            low,
            last,
            stop - first,
            set(headers.magic[first:stop]),
            epochs[-1],
            odd,
            spans + stop - first >= last - lows[0] + 1 or any(headers.compression[first:stop]),
        )

    def _divided(self, run: IntactRun, offset: int, *, by_first: bool = False) -> list[IntactRun]:
        """Return a run in two: entries that end (or begin) before an offset, and the others."""
        found: list[Item] = []
        for headers, stop in self.headers(run.start, run.end):
            offsets = headers.last_offset[:stop]
            if by_first:
                firsts = zip(headers.first_offset[:stop], offsets, strict=True)
                offsets = [last if first == UNKNOWN else first for first, last in firsts]
            place = bisect_left(offsets, offset)
            if place:
                self._add(found, headers, 0, place, split=False)
            if place < stop:
                rest = self.run_of(headers.position[place], run.end)
                return [item for item in (*found, *rest) if isinstance(item, IntactRun)]
        return [run]

    def _bounded(self, found: list[Item]) -> list[Item]:
        """Divide runs at the base offset of the segment, at that of the next one, and at others."""
        # An offset that the segment cannot have is wrong in that entry alone. So is, perhaps, one
        # that entries before the run have, if the run goes beyond them.
        limit, items = self._limit, list[Item]()
        inside = list[Item]()
        for item in found:
            if isinstance(item, IntactRun) and item.first < self._base <= item.last:
                inside += self._divided(item, self._base, by_first=True)
            else:
                inside.append(item)
        inside, apart, top = [], inside, -1
        for item in apart:
            if not isinstance(item, IntactRun):
                inside.append(item)
                continue
            if item.first <= top < item.last and self._splits < _MOST_SPLITS:
                self._splits += 1
                inside += self._divided(item, top + 1, by_first=True)
            else:
                inside.append(item)
            top = max(top, item.last)
        for item in inside:
            if (
                limit is not None
                and isinstance(item, IntactRun)
                and item.first < limit <= item.last
            ):
                items += self._divided(item, limit)
            else:
                items.append(item)
        return self._opened(items)

    def _opened(self, items: list[Item]) -> list[Item]:
        """Divide runs in which offsets are missing at those with which other runs begin."""
        firsts = sorted({item.first for item in items if isinstance(item, IntactRun)})
        found = list[Item]()
        for item in items:
            if not isinstance(item, IntactRun) or item.is_dense:
                found.append(item)
                continue
            inner = firsts[bisect_right(firsts, item.first) : bisect_right(firsts, item.last)]
            inner = inner[: _MOST_SPLITS - self._splits]
            self._splits += len(inner)
            found += self._divided_at(item, inner)
        return found

    def _divided_at(self, run: IntactRun, offsets: Sequence[int]) -> list[IntactRun]:
        """Return a run in parts, by halves, so that its entries are read a few times only."""
        middle = len(offsets) // 2
        parts = self._divided(run, offsets[middle]) if offsets else [run]
        if len(offsets) < 2:
            return parts
        left = self._divided_at(parts[0], offsets[:middle]) if len(parts) > 1 else []
        return [*left, *self._divided_at(parts[-1], offsets[middle + 1 :])]


def _first_of(headers: HeaderTable, number: int) -> int:
    """Return the first offset in a compressed message, the last one where that is not known."""
    try:
        first = headers.first_offset_of(number)
    except KafkaSpecError as error:
        if error.reason in (Reason.CHANGED, Reason.UNREADABLE):
            raise
        return headers.last_offset[number]
    last = headers.last_offset[number]
    return last if first == UNKNOWN else min(first, last)
