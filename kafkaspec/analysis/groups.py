"""Divide the partitions of a log directory into groups, which other processes verify.

Threads share the work on a large segment. A small one takes most of its time in Python, so that
many of them are verified faster by several processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from kafkaspec.analysis.files import Directory

MANY: Final = 1000
"""Partitions of small segments that are worth other processes, however few bytes they have."""
MANY_BYTES: Final = 256 << 20
"""Bytes of small segments that are worth other processes, in however few partitions."""
_MOST: Final = 16
_MOST_BYTES: Final = 16 << 20
"""Partitions and bytes of a group."""


@dataclass(slots=True)
class Group:
    """Neighbours in the order of a log directory.

    Attributes:
        directories: the partitions.
        size: bytes of their segments.
        small: whether no segment is large; a large one is the only partition of its group.
    """

    directories: list[Directory] = field(default_factory=list)
    size: int = 0
    small: bool = True


def groups_of(directories: Sequence[Directory], part_bytes: int) -> list[Group]:
    """Return all partitions in groups, in their order; a segment up to ``part_bytes`` is small."""
    return list(_groups(directories, part_bytes))


def _groups(directories: Sequence[Directory], part_bytes: int) -> Iterator[Group]:
    group = Group()
    for directory in directories:
        sizes = directory.sizes
        small, size = max(sizes, default=0) <= part_bytes, sum(sizes)
        full = len(group.directories) == _MOST or group.size + size > _MOST_BYTES
        if group.directories and (full or not small):
            yield group
            group = Group()
        if not small:
            yield Group([directory], size, small=False)
            continue
        group.directories.append(directory)
        group.size += size
    if group.directories:
        yield group


def are_worth_processes(groups: Sequence[Group]) -> bool:
    """Return whether the small segments take longer than the start of other processes."""
    small = [group for group in groups if group.small]
    if len(small) < 2:
        return False
    partitions = sum(len(group.directories) for group in small)
    return partitions >= MANY or sum(group.size for group in small) >= MANY_BYTES
