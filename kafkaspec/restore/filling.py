"""Take the batches that a damaged copy has lost from the other copies of the partition.

Batches are the same bytes in all replicas. One is taken if it is intact, lies in a hole as a whole,
and is proven to be of the same log. Two logs that have the same batch agree in all before it, and a
leader epoch has one leader (KIP-101): so the copy agrees after the hole too, or the batch has the
epoch that the damaged copy had there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import IO

from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.files.names import LOG, segment_name
from kafkaspec.forensics.headers import Unread, tables
from kafkaspec.log.batch import NONE
from kafkaspec.log.damage import Kept, judge
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import read_headers
from kafkaspec.log.missing import Account
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.results import OffsetRange


@dataclass(frozen=True, slots=True)
class Filled:
    """Batches, or a message, taken from another copy for a hole or for lost first segments.

    Attributes:
        first_offset: its first offset.
        last_offset: its last offset.
        source: path of the copy.
    """

    first_offset: int
    last_offset: int
    source: str


@dataclass(frozen=True, slots=True)
class _FilledBatch(Filled):
    """One batch, and where it is."""

    log: Partition
    path: Path
    position: int


def fill_holes(
    target: Path,
    holes: Sequence[OffsetRange],
    others: Sequence[Partition],
    epochs: Sequence[EpochEntry],
) -> list[Filled]:
    """Put batches of other copies into the holes of a partition; return them by offset.

    Args:
        target: directory of the partition, which is changed.
        holes: offsets that it has lost.
        others: the other copies, the best first.
        epochs: the leader epochs of the damaged copy, by its checkpoint.

    Raises:
        KafkaSpecError: a copy cannot be read.
    """
    with closing(Partition(target)) as log:
        own = _OwnBatches(log, epochs)
    copies = [(own.agreed_end(other), other) for other in others]
    found: list[_FilledBatch] = []
    for agreed_end, other in sorted(copies, key=itemgetter(0), reverse=True):
        for hole, batch, epoch in _intact(other, holes):
            number = bisect_left(found, batch.first_offset, key=attrgetter("first_offset"))
            free = (number == len(found) or batch.last_offset < found[number].first_offset) and (
                not number or found[number - 1].last_offset < batch.first_offset
            )
            is_same_log = hole.end is not None and hole.end < agreed_end
            if free and own.allow(batch.first_offset, epoch, is_same_log=is_same_log):
                found.insert(number, batch)
    if found:
        _merge(target, found)
    return [Filled(each.first_offset, each.last_offset, each.source) for each in found]


def before_first(
    target: Path, hole: OffsetRange, others: Sequence[Partition], epochs: Sequence[EpochEntry]
) -> tuple[Partition, Filled] | None:
    """Find the copy that has the most of what is missing before the first segment of a partition.

    Each of its batches there has to be proven, as one that is put into a hole.

    Args:
        target: directory of the partition.
        hole: the missing offsets, up to the first segment.
        others: copies that have lost nothing there, the best first.
        epochs: the leader epochs of the partition, by its checkpoint.

    Raises:
        KafkaSpecError: a copy cannot be read.
    """
    with closing(Partition(target)) as log:
        own = _OwnBatches(log, epochs)
    best: tuple[Partition, Filled] | None = None
    for other in others:
        filled = _proven_before(own, hole, other)
        if filled and (best is None or filled.first_offset < best[1].first_offset):
            best = other, filled
    return best


def _proven_before(own: _OwnBatches, hole: OffsetRange, other: Partition) -> Filled | None:
    """Return the offsets that a copy has in a hole; None without any, or if one is not proven."""
    start, end = hole
    assert end is not None
    is_same_log = own.agreed_end(other) > end
    first = last = NONE
    for table in tables(other, Unread()):
        for number in range(bisect_left(table.last_offset, end)):
            at = table.first_offset_of(number)
            if at >= start:
                if not own.allow(at, table.leader_epoch[number], is_same_log=is_same_log):
                    return None
                first, last = at if first == NONE else first, table.last_offset[number]
    return None if first == NONE else Filled(first, last, str(other.path))


def unfilled(hole: OffsetRange, filled: Sequence[Filled]) -> Iterator[OffsetRange]:
    """Yield the offsets of a hole that no batch was found for."""
    start, end = hole
    for batch in filled:
        if end is not None and hole.start <= batch.first_offset < end:
            if start < batch.first_offset:
                yield OffsetRange(start, batch.first_offset)
            start = batch.last_offset + 1
    if end is None or start < end:
        yield OffsetRange(start, end)


def _intact(
    log: Partition, holes: Sequence[OffsetRange]
) -> Iterator[tuple[OffsetRange, _FilledBatch, int]]:
    """Yield the intact batches of a copy that lie in a hole, with the hole and their epochs."""
    account = Account(log, ends_only=False, judge=judge)

    def kept(segment: Segment) -> Kept | None:
        account.of(segment, check=True)
        return account.kept

    for table in tables(log, Unread(), kept):
        for hole in holes:
            start, end = hole
            for number in range(bisect_left(table.last_offset, start), len(table)):
                first, last = table.first_offset_of(number), table.last_offset[number]
                if end is not None and last >= end:
                    break
                if first >= start:
                    path, position = table.segment.path, table.position[number]
                    assert path is not None
                    batch = _FilledBatch(first, last, str(log.path), log, path, position)
                    yield hole, batch, table.leader_epoch[number]


class _OwnBatches:
    """The batches that a damaged log has, and its leader epochs by the checkpoint."""

    def __init__(self, log: Partition, listed: Sequence[EpochEntry]) -> None:
        self._offsets: list[int] = []
        self._epochs: list[int] = []
        self._checksums: list[int] = []
        for table in tables(log, Unread()):
            self._offsets += table.last_offset
            self._epochs += table.leader_epoch
            self._checksums += table.crc
        self._listed = listed

    def agreed_end(self, other: Partition) -> int:
        """Return where the last batch that another log has too ends; 0 if there is none."""
        end = 0
        for table in tables(other, Unread()):
            for number in range(len(table) - 1, -1, -1):
                if self._has(table, number):
                    end = max(end, table.last_offset[number] + 1)
                    break
        return end

    def _has(self, table: HeaderTable, number: int) -> bool:
        """Return whether a batch of another log is one of these."""
        last = table.last_offset[number]
        at = bisect_left(self._offsets, last)
        return at < len(self._offsets) and (
            (self._offsets[at], self._epochs[at], self._checksums[at])
            == (last, table.leader_epoch[number], table.crc[number])
        )

    def allow(self, offset: int, epoch: int, *, is_same_log: bool) -> bool:
        """Return whether a batch at an offset is proven to be the one that was there.

        Args:
            offset: its first offset.
            epoch: its leader epoch.
            is_same_log: whether its log has a later batch of these.
        """
        number = bisect_right(self._offsets, offset)
        before = self._epochs[number - 1] if number else NONE
        after = self._epochs[number] if number < len(self._epochs) else None
        at = bisect_right(self._listed, offset, key=attrgetter("start_offset"))
        known = before if after is None or before == after else None
        if at:
            known = self._listed[at - 1].epoch
        fits = before <= epoch and (after is None or epoch <= after)
        return fits and (is_same_log or epoch == known)


def _merge(target: Path, filled: Sequence[_FilledBatch]) -> None:
    """Write the segments again that have holes, with the batches in the order of offsets."""
    with closing(Partition(target)) as log:
        bases, paths = log.base_offsets, log.segment_paths
    before = [batch for batch in filled if not bases or batch.first_offset < bases[0]]
    if before:  # nothing was left of the first segments
        with open(target / segment_name(before[0].first_offset, LOG), "xb") as file:
            _put(before, file)
    for number, path in enumerate(paths):
        end = bases[number + 1] if number + 1 < len(bases) else None
        own = [
            batch
            for batch in filled
            if batch.first_offset >= bases[number] and (end is None or batch.first_offset < end)
        ]
        if own:
            aside = path.with_name(f"{path.name}.part")
            with closing(Segment(path)) as segment, open(aside, "xb") as file:
                _write(segment, own, file)
            aside.replace(path)


def _write(segment: Segment, filled: Sequence[_FilledBatch], file: IO[bytes]) -> None:
    """Write a segment into a file, each batch that was found before those with later offsets."""
    left = 0
    for table in read_headers(segment):
        done = 0
        while left < len(filled):
            row = bisect_left(table.last_offset, filled[left].first_offset)
            if row == len(table):
                break
            file.write(table.data(done, row))
            upto = bisect_left(filled, table.last_offset[row], left, key=attrgetter("first_offset"))
            _put(filled[left:upto], file)
            done, left = row, upto
        file.write(table.data(done, len(table)))
    _put(filled[left:], file)


def _put(filled: Iterable[_FilledBatch], file: IO[bytes]) -> None:
    for path, batches in groupby(filled, key=attrgetter("path")):
        first = next(batches)
        with closing(first.log.open_segment(path)) as segment:
            for batch in chain([first], batches):
                file.write(segment.batch_at(batch.position).data)
