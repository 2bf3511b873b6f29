"""Find the place after a batch that cannot be read, to read on from there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from operator import le
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.layout.stand_ins import UNKNOWN
from kafkaspec.log.entries import Entries, entry_end
from kafkaspec.log.headers import header_tables
from kafkaspec.provider import provider

if TYPE_CHECKING:
    from kafkaspec.log.segment import Segment

ALWAYS_RAISED: Final = (Reason.CHANGED, Reason.UNREADABLE)
"""Reasons that are about the whole file, so that nothing after the error can be read."""


class KeptRange(NamedTuple):
    """Intact entries that touch each other and whose offsets rise.

    Attributes:
        start: byte offset of the first one.
        end: byte offset after the last one.
        first: first offset.
        last: last offset.
        is_there: whether the segment has their bytes, and not those that they must have had.
    """

    start: int
    end: int
    first: int
    last: int
    is_there: bool = True


@dataclass(frozen=True, slots=True)
class Kept:
    """The entries of a segment that are its own and intact.

    Attributes:
        ranges: the entries, in the order of their offsets. Usually that of the file too.
        claimed_end: offset after the last one that the headers of broken entries at its end have.
        stop: byte offset from which on there are only zeros; the size for none.
    """

    ranges: tuple[KeptRange, ...]
    claimed_end: int
    stop: int

    def is_whole(self, size: int) -> bool:
        """Return whether they are all bytes of a segment of some size."""
        return [(item.start, item.end, item.is_there) for item in self.ranges] == [(0, size, True)]

    @property
    def breaks(self) -> list[tuple[int, int] | None]:
        """Where bytes are lost before each of the ranges, and how many; None where none are.

        The number is 0 if the ranges are not in the order of the file. Bytes are lost there between
        two of them if there are some that no range has, after the one or before the other.
        """
        starts = [item.start for item in self.ranges]
        before = [0, *(item.end for item in self.ranges)]
        in_order = all(map(le, before, starts))
        begun, ended = {*starts, self.stop}, {*before}
        return [
            None
            if start == end or (start in ended and (end in begun or not number))
            else (end, start - end if in_order else 0)
            for number, (end, start) in enumerate(zip(before, starts, strict=False))
        ]


Judge = Callable[["Segment", int | None], Kept]
"""Function that finds the intact entries of a segment, given the base offset of the next one."""


def judge(segment: Segment, limit: int | None) -> Kept:
    """Return the intact entries; see ``kafkaspec.intact.division.judge``, in an upper package."""
    found: Kept = provider("intact").judge(segment, limit)
    return found


def byte_of(segment: Entries, error: KafkaSpecError) -> int:
    """Return a byte of the entry of an error; 0 if it has no position.

    A field that is missing at the end of an entry has the position at which the next one begins.
    """
    is_inside = (error.path or "").startswith(segment.format.framing.message_path)
    return max(0, (error.position or 0) - is_inside)


def broken_entry(
    segment: Entries, position: int, error: KafkaSpecError
) -> tuple[int | None, int | None, int | None]:
    """Return position and base offset of the batch of an error, and the position after it.

    The base offset is None if only its contents would say it. The position after it is None if the
    size of the batch is broken.

    Args:
        position: byte offset of an entry at or before the broken one.
        error: the error that reading raised. It is raised again if it has no position.
    """
    if error.position is None:
        raise error
    place = byte_of(segment, error)
    for table in header_tables(segment, position, few=True):
        if table.end <= place:
            position = table.end
            continue
        row = bisect_right(table.position, place) - 1
        if row < 0:
            break
        position, offset = table.position[row], None
        with suppress(KafkaSpecError):  # of a compressed message of magic 0 or 1
            known = table.first_offset[row]
            offset = table.batch(row).base_offset if known == UNKNOWN else known
        return position, offset, position + table.size[row]
    start = position
    for item in segment.scan(position):
        if isinstance(item, KafkaSpecError) or item.position > place:
            break
        if item.end > place:
            try:
                return item.position, item.base_offset, item.end
            except KafkaSpecError:  # of a compressed message of magic 0 or 1
                return item.position, None, item.end
        start = item.end
    return start, None, entry_end(segment, start)
