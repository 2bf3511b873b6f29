"""Find where entries end whose size leads nowhere: it is wrong, or the rest is elsewhere."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Final

from kafkaspec.checksum import CHECKSUMS
from kafkaspec.intact.crc import joined
from kafkaspec.intact.heads import Head, Seeker, head_at
from kafkaspec.intact.walk import Broken, Gap, IntactRun, Item

_LARGEST_EXTENT: Final = 1 << 27
"""Bytes of an entry whose size is wrong, at most."""
_FURTHER: Final = 32
"""Ends that are tried for an entry whose size is wrong."""
_WINDOW: Final = 1 << 12
"""Bytes from each end of a segment in which a header is looked for that goes across it."""
_CUT_IN_TWO: Final = "cut in two; the other part is at byte {:,}"


def with_extents(items: list[Item], buffer: memoryview) -> list[Item]:
    """Return the items with entries of which the checksum proves where they end.

    If only the size of an entry is wrong, its checksum is right over the bytes up to one of the
    sound entries that follow, or to the end of the segment. All between is its body.

    Args:
        items: what the segment consists of.
    """
    found: list[Item] = []
    number = 0
    while number < len(items):
        item = items[number]
        number += 1
        if not isinstance(item, Gap) or item.zeros:
            found.append(item)
            continue
        ends = [each.end for each in islice(items, number - 1, number - 1 + _FURTHER)]
        whole = _extent(item.start, ends, buffer)
        if whole is None:
            found.append(item)
            continue
        found.append(whole)
        while number < len(items) and items[number].start < whole.end:
            number += 1
    return found


def _extent(start: int, ends: list[int], buffer: memoryview) -> Broken | None:
    head = head_at(buffer, start)
    if head is None or not head.has_sense:
        return None
    compute, crc, position = CHECKSUMS[head.algorithm], 0, head.covered
    for end in ends:
        if end - head.covered > _LARGEST_EXTENT:
            return None
        if end > position:
            part = compute(buffer[position:end])
            crc = joined(head.algorithm, crc, part, end - position)
            position = end
            if crc == head.crc:
                return Broken(start, end, head, "wrong size")
    return None


def with_parts(items: list[Item], buffer: memoryview, seeker: Seeker) -> list[Item]:
    """Return the items with the parts of an entry that the ends of the segment cut in two.

    If two halves of a segment are in each other's place, the entry at the border between them
    begins at the end and ends at the beginning. Its checksum proves it, or an entry with the next
    offset that its size leads to. All within it, as entries in values, does not belong to the log.

    Args:
        items: what the segment consists of.
    """
    size, tried = len(buffer), 0
    for number, item in enumerate(items):
        if not isinstance(item, Gap):
            continue
        head = _across(buffer, item.start) if item.head is None else item.head
        left = 0 if head is None else head.end - size
        if head is None or not head.is_plausible or not 0 < left <= head.position:
            continue
        tried += 1
        if tried > _FURTHER:
            break
        inner = [each for each in items[:number] if each.end > left]
        if inner and isinstance(inner[0], Gap) and inner[0].start < left:
            inner[0] = Gap(left, inner[0].end, _plausible(buffer, left))
        if inner and inner[0].start < left:
            continue
        if not _leads(head, inner) and not _is_whole(head, left, size, seeker):
            continue
        return [
            Broken(0, left, None, _CUT_IN_TWO.format(head.position), is_part=True),
            *inner,
            Broken(head.position, size, head, _CUT_IN_TWO.format(0), is_part=True),
        ]
    return items


def _across(buffer: memoryview, position: int) -> Head | None:
    """Return the header at a place, of which the rest may be at the beginning of the buffer."""
    found = head_at(buffer, position)
    if (found is None or not found.is_plausible) and len(buffer) - position < _WINDOW:
        found = head_at(memoryview(bytes(buffer[position:]) + bytes(buffer[:_WINDOW])), 0)
    return None if found is None else replace(found, position=position)


def _plausible(buffer: memoryview, position: int) -> Head | None:
    head = head_at(buffer, position)
    return head if head is not None and head.is_plausible else None


def _leads(head: Head, after: list[Item]) -> bool:
    """Return whether the entry with the next offset comes first after the end of an entry."""
    return bool(after) and isinstance(after[0], IntactRun) and after[0].first == head.last + 1


def _is_whole(head: Head, left: int, size: int, seeker: Seeker) -> bool:
    """Return whether the checksum of an entry is right, if so many bytes of it come first."""
    if head.covered >= size:
        return seeker.crc(head.algorithm, head.covered - size, left) == head.crc
    first = seeker.crc(head.algorithm, head.covered, size)
    second = seeker.crc(head.algorithm, 0, left)
    return joined(head.algorithm, first, second, left) == head.crc
