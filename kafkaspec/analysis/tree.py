"""A digest of the batches of a log, as a tree over its offsets.

A leaf stands for the batches with a last offset in one range of 2**level offsets, which begins at a
multiple of its size. A node above it is the sum of its two halves, so that copies of a log can be
compared range by range, whatever their segments are. The digest has the checksum, offset, leader
epoch and magic of each batch; for a batch with a wrong checksum, also that of its bytes. It finds
damage, and no one who means to deceive.
"""

from __future__ import annotations

import binascii
import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from operator import mul
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from kafkaspec.layout.names import LAST_OFFSET, LEADER_EPOCH, MAGIC
from kafkaspec.log.batch import Batch, computed_crc
from kafkaspec.log.header_table import CRC
from kafkaspec.results import OffsetRange

if TYPE_CHECKING:
    from kafkaspec.columns.inspection import Inspected

LEAVES: Final = 128
"""Most leaves of a segment. With more, each two neighbours become one."""
_FIRST_LEVEL: Final = 4
TOP: Final = 63
"""The level of a tree that is one leaf."""
_MASK: Final = (1 << 64) - 1
_OFFSET, _EPOCH, _MAGIC = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
"""Odd factors without a pattern."""
_LEAF: Final = struct.Struct("<QIQQ")


class DigestLeaf(NamedTuple):
    """Facts about a range of offsets: its batches, their bytes, and the digest of them."""

    batches: int = 0
    size: int = 0
    digest: int = 0

    def plus(self, other: DigestLeaf) -> DigestLeaf:
        """Return the leaf of both."""
        digest = (self.digest + other.digest) & _MASK
        return DigestLeaf(self.batches + other.batches, self.size + other.size, digest)


_NO_LEAF: Final = DigestLeaf()


class DigestTree:
    """The leaves of a segment, all of one level, which grows with the segment.

    Args:
        level: a leaf has 2**level offsets.
        leaves: the leaves by number, which is that of an offset without its last ``level`` bits.
    """

    def __init__(
        self, level: int = _FIRST_LEVEL, leaves: Iterable[tuple[int, DigestLeaf]] = ()
    ) -> None:
        self.level = level
        self.leaves: dict[int, DigestLeaf] = dict(leaves)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DigestTree):
            return NotImplemented
        return (self.level, self.leaves) == (other.level, other.leaves)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def copy(self) -> Self:
        """Return a tree that can grow by itself."""
        return type(self)(self.level, self.leaves.items())

    def run(self, part: Inspected, first: int, stop: int) -> None:
        """Take a run of sound batches with the same magic and leader epoch, in order."""
        offsets, checksums = part.column(LAST_OFFSET), part.column(CRC)
        same = part.column(LEADER_EPOCH)[first] * _EPOCH + part.column(MAGIC)[first] * _MAGIC
        while first < stop:
            number = offsets[first] >> self.level
            end = bisect_left(offsets, (number + 1) << self.level, first, stop)
            last, crcs = offsets[first:end], checksums[first:end]
            digest = sum(crcs) + 2 * sum(map(mul, crcs, last))
            digest += sum(last) * _OFFSET + same * (end - first)
            size = _position(part, end) - _position(part, first)
            self._add(number, DigestLeaf(end - first, size, digest & _MASK))
            first = end

    def batch(self, batch: Batch) -> None:
        """Take a batch by itself."""
        last, crc = batch.last_offset, batch.crc
        if not batch.crc_valid:
            actual = computed_crc(batch)
            crc = actual | (crc ^ actual) << 32
        digest = crc + 2 * crc * last + last * _OFFSET
        digest += batch.partition_leader_epoch * _EPOCH + batch.magic * _MAGIC
        leaf = DigestLeaf(1, batch.end - batch.position, digest & _MASK)
        self._add(last >> self.level, leaf)

    def _add(self, number: int, leaf: DigestLeaf) -> None:
        number &= _MASK >> self.level
        known = self.leaves.get(number)
        self.leaves[number] = leaf if known is None else known.plus(leaf)
        while len(self.leaves) > LEAVES:
            self.level += 1
            self.leaves = _halved(self.leaves)

    # -- as bytes ----------------------------------------------------------------------------

    def to_text(self) -> str:
        """Return the leaves in base64."""
        packed = (_LEAF.pack(number, *leaf) for number, leaf in sorted(self.leaves.items()))
        return binascii.b2a_base64(b"".join(packed), newline=False).decode()

    @classmethod
    def of_text(cls, level: int, text: str) -> Self:
        """Return the tree of such a text.

        Raises:
            ValueError: it is none, and why.
        """
        if not 0 <= level <= TOP:
            raise ValueError(f"level {level} is not one of 0 to {TOP}")
        data = binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
        if len(data) % _LEAF.size:
            raise ValueError(f"{len(data)} bytes are not a number of leaves")
        if len(data) > LEAVES * _LEAF.size:
            raise ValueError(f"there are more than {LEAVES} leaves")
        tree, before = cls(level), -1
        for number, *values in _LEAF.iter_unpack(data):
            if number <= before or number << level > _MASK or not values[0]:
                raise ValueError(
                    f"leaf {number} is empty, out of range, or does not follow {before}"
                )
            tree.leaves[number] = DigestLeaf(*values)
            before = number
        return tree


def _position(part: Inspected, number: int) -> int:
    return part.end if number == part.table.count else part.column("position")[number] + part.start


def _halved(leaves: dict[int, DigestLeaf]) -> dict[int, DigestLeaf]:
    """Return the leaves of the next level."""
    found: dict[int, DigestLeaf] = {}
    for number, leaf in leaves.items():
        found[number >> 1] = found.get(number >> 1, _NO_LEAF).plus(leaf)
    return found


class _Nodes:
    """The nodes of one or more trees over the same log, by level."""

    def __init__(self, trees: Iterable[DigestTree]) -> None:
        self.ends: list[set[int]] = [set() for _ in range(TOP + 2)]
        """Numbers of leaves by level: below them nothing is known."""
        self.levels: list[dict[int, DigestLeaf]] = [{} for _ in range(TOP + 2)]
        for tree in trees:
            at = self.levels[tree.level]
            for number, leaf in tree.leaves.items():
                at[number] = at.get(number, _NO_LEAF).plus(leaf)
                self.ends[tree.level].add(number)
        for level in range(TOP + 1):
            above = self.levels[level + 1]
            for number, leaf in _halved(self.levels[level]).items():
                above[number] = above.get(number, _NO_LEAF).plus(leaf)


class RangeDifference(NamedTuple):
    """A range of offsets with other batches in two trees, and what each has there."""

    offsets: OffsetRange
    a: DigestLeaf
    b: DigestLeaf

    @property
    def end(self) -> int:
        """The offset after the range."""
        assert self.offsets.end is not None
        return self.offsets.end


def each_difference(a: Iterable[DigestTree], b: Iterable[DigestTree]) -> Iterator[RangeDifference]:
    """Yield the ranges of offsets in which two copies of a log differ, as small as both know them.

    Args:
        a: the trees of the segments of one copy.
        b: of the other.
    """
    yield from _below(_Nodes(a), _Nodes(b), TOP + 1, 0)


def differences(a: Iterable[DigestTree], b: Iterable[DigestTree]) -> list[RangeDifference]:
    """Return the same with each range as large as it is."""
    return merged(each_difference(a, b))


def merged(items: Iterable[RangeDifference]) -> list[RangeDifference]:
    """Return ranges in order with those that follow each other as one."""
    found: list[RangeDifference] = []
    for item in items:
        if found and found[-1].offsets.end == item.offsets.start:
            before = found.pop()
            offsets = OffsetRange(before.offsets.start, item.offsets.end)
            item = RangeDifference(offsets, before.a.plus(item.a), before.b.plus(item.b))
        found.append(item)
    return found


def _below(a: _Nodes, b: _Nodes, level: int, number: int) -> Iterator[RangeDifference]:
    mine, its = (nodes.levels[level].get(number, _NO_LEAF) for nodes in (a, b))
    if mine == its:
        return
    if level == 0 or number in a.ends[level] or number in b.ends[level]:
        offsets = OffsetRange(number << level, (number + 1) << level)
        yield RangeDifference(offsets, mine, its)
        return
    yield from _below(a, b, level - 1, 2 * number)
    yield from _below(a, b, level - 1, 2 * number + 1)
