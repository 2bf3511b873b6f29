"""Divide a segment into the entries that are its own and intact, and everything else.

The one place that decides it: ``salvage`` writes these entries, and all commands that name lost
offsets call those lost that lie between them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import cached_property
from operator import attrgetter, lt
from pathlib import Path

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names as files
from kafkaspec.files.indexes import LARGEST_RELATIVE_OFFSET, OffsetIndex
from kafkaspec.intact.choice import RunVerdict, choose
from kafkaspec.intact.extents import with_extents, with_parts
from kafkaspec.intact.heads import head_at
from kafkaspec.intact.moves import with_moves
from kafkaspec.intact.walk import Gap, IntactRun, Item, Walker
from kafkaspec.log.damage import Kept, KeptRange
from kafkaspec.log.segment import Segment


class Division:
    """A segment, divided.

    Args:
        limit: base offset of the next one, None for the last one.

    Attributes:
        buffer: bytes of the segment.
        bound: offset that none of its entries reaches.
        items: what it consists of, in order.
        verdicts: what happens to each run of sound entries, None for all else.

    Raises:
        KafkaSpecError: ``unreadable``, ``changed``.
    """

    def __init__(self, segment: Segment, limit: int | None) -> None:
        self._path = segment.path
        base = segment.base_offset or 0
        self.bound = base + LARGEST_RELATIVE_OFFSET + 1
        if limit is not None:
            self.bound = min(limit, self.bound)
        walker = Walker(segment, self.bound)
        self.buffer = walker.buffer
        items = walker.items()
        if segment.size and (len(items) > 1 or not isinstance(items[0], IntactRun)):
            items = with_extents(items, self.buffer)
            items = with_parts(items, self.buffer, walker.seeker)
        self.items = items
        chosen = iter(choose(items, base, limit, self.bound, self.buffer, self._is_indexed))
        verdicts = [next(chosen) if isinstance(item, IntactRun) else None for item in items]
        self.verdicts: list[RunVerdict | None] = with_moves(items, verdicts, base, limit, walker)

    @cached_property
    def index(self) -> tuple[Sequence[int], Sequence[int]]:
        """Positions and offsets of the offset index; nothing where it is not sound."""
        return _index_of(self._path) if isinstance(self._path, Path) else ((), ())

    def _is_indexed(self, run: IntactRun) -> bool:
        """Return whether the offset index has an entry of a run: a place and an offset in it."""
        places, offsets = self.index
        number = bisect_left(places, max(run.start, 1))
        while number < len(places) and places[number] < run.end:
            head = head_at(self.buffer, places[number])
            offset = offsets[number]
            if head is not None and head.is_plausible and head.first <= offset <= head.last:
                return True
            number += 1
        return False

    @property
    def kept(self) -> list[IntactRun]:
        """The runs that are kept, in the order of the file."""
        found = zip(self.items, self.verdicts, strict=True)
        return [
            item
            for item, verdict in found
            if isinstance(item, IntactRun) and verdict is not None and verdict.keeps
        ]


def claimed_end(end: int, items: Iterable[Item]) -> int:
    """Return the offset after the last one of headers that follow each other.

    The header of a compressed message says only its last offset. It is taken where the message has
    a byte for each record, at least.

    Args:
        end: the offset after the last entry that is kept.
        items: what comes after it.
    """
    for item in items:
        head = None if isinstance(item, IntactRun) else item.head
        if head is None:
            break
        if head.count is None:
            follows = head.is_plausible and end <= head.last < end + head.size
        else:
            follows = head.first == end and head.count == head.last - head.first + 1
        if not follows:
            break
        end = head.last + 1
    return end


def judge(segment: Segment, limit: int | None) -> Kept:
    """Return which entries of a segment are intact and its own.

    Args:
        limit: base offset of the next one, None for the last one.

    Raises:
        KafkaSpecError: ``unreadable``, ``changed``.
    """
    found = Division(segment, limit)
    runs = found.kept
    last = found.items.index(runs[-1]) if runs else -1
    rest = found.items[last + 1 :]
    runs.sort(key=attrgetter("first"))
    end = runs[-1].last + 1 if runs else segment.base_offset or 0
    zeros = next((item.start for item in rest if isinstance(item, Gap) and item.zeros), None)
    return Kept(
        tuple(KeptRange(run.start, run.end, run.first, run.last) for run in runs),
        claimed_end(end, rest),
        segment.size if zeros is None else zeros,
    )


def _index_of(path: Path) -> tuple[Sequence[int], Sequence[int]]:
    name = files.parse_segment(path.name)
    if name is None:
        return (), ()
    beside = path.with_name(name.sibling(files.OFFSET_INDEX))
    try:
        with closing(OffsetIndex(beside)) as index:
            if index.sanity_check():
                return (), ()
            columns = index.slot_columns()
            offsets, places = (column[: len(index)] for column in columns)
    except KafkaSpecError:
        return (), ()
    rising = all(map(lt, places, places[1:])) and all(map(lt, offsets, offsets[1:]))
    return (places, offsets) if rising else ((), ())
