"""Find where entries end of which only the size is wrong."""

from __future__ import annotations

from itertools import islice
from typing import Final

from kafkaspec.checksum import CHECKSUMS
from kafkaspec.intact.crc import joined
from kafkaspec.intact.heads import head_at
from kafkaspec.intact.walk import Broken, Gap, Item

_LARGEST_EXTENT: Final = 1 << 27
"""Bytes of an entry whose size is wrong, at most."""
_FURTHER: Final = 32
"""Ends that are tried for an entry whose size is wrong."""


def with_extents(items: list[Item], buffer: memoryview) -> list[Item]:
    """Return the items with entries of which the checksum proves where they end.

    If only the size of an entry is wrong, its checksum is right over the bytes up to one of the
    sound entries that follow, or to the end of the segment. All between is its body.

    Args:
        items: what the segment consists of.
        buffer: its bytes.
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
                return Broken(start, end, head, "size")
    return None
