"""Take the batches that a damaged copy has lost from the other copies of the partition.

Batches are the same bytes in all replicas. One is taken if it is intact, lies in a hole as a whole,
and its leader epoch is between those of the batches around the hole.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from kafkaspec.forensics.headers import Unread, tables
from kafkaspec.log.batch import NONE
from kafkaspec.log.damage import Kept, judge
from kafkaspec.log.missing import Account
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.results import OffsetRange


@dataclass(frozen=True, slots=True)
class FilledBatch:
    """A batch, or message, of another copy.

    Attributes:
        first_offset: its first offset.
        last_offset: its last offset.
        data: its bytes.
        source: path of the copy.
    """

    first_offset: int
    last_offset: int
    data: bytes
    source: str


def fill_holes(
    target: Path, holes: Sequence[OffsetRange], others: Sequence[Partition]
) -> list[FilledBatch]:
    """Put batches of other copies into the holes of a partition; return them by offset.

    Args:
        target: directory of the partition, which is changed.
        holes: offsets that it has lost.
        others: the other copies, the best first.

    Raises:
        KafkaSpecError: a copy cannot be read.
    """
    with closing(Partition(target)) as log:
        around = _epochs(log)
    found: list[FilledBatch] = []
    for other in others:
        for batch, epoch in _intact(other, holes):
            number = bisect_left(found, batch.first_offset, key=attrgetter("first_offset"))
            free = (number == len(found) or batch.last_offset < found[number].first_offset) and (
                not number or found[number - 1].last_offset < batch.first_offset
            )
            if free and _fits(around, batch, epoch):
                found.insert(number, batch)
    if found:
        _merge(target, found)
    return found


def unfilled(hole: OffsetRange, filled: Sequence[FilledBatch]) -> Iterator[OffsetRange]:
    """Yield the offsets of a hole that no batch was found for."""
    start, end = hole
    for batch in filled:
        if end is not None and hole.start <= batch.first_offset < end:
            if start < batch.first_offset:
                yield OffsetRange(start, batch.first_offset)
            start = batch.last_offset + 1
    if end is None or start < end:
        yield OffsetRange(start, end)


def _intact(log: Partition, holes: Sequence[OffsetRange]) -> Iterator[tuple[FilledBatch, int]]:
    """Yield the intact batches of a copy that lie in a hole, with their epochs."""
    account = Account(log, ends_only=False, judge=judge)

    def kept(segment: Segment) -> Kept | None:
        account.of(segment, check=True)
        return account.kept

    for table in tables(log, Unread(), kept):
        for start, end in holes:
            for number in range(bisect_left(table.last_offset, start), len(table)):
                first, last = table.first_offset_of(number), table.last_offset[number]
                if end is not None and last >= end:
                    break
                if first >= start:
                    data = bytes(table.batch(number).data)
                    batch = FilledBatch(first, last, data, str(log.path))
                    yield batch, table.leader_epoch[number]


def _epochs(log: Partition) -> tuple[list[int], list[int]]:
    """Return the last offsets and the epochs of the batches of a log."""
    offsets: list[int] = []
    epochs: list[int] = []
    for table in tables(log, Unread()):
        offsets += table.last_offset
        epochs += table.leader_epoch
    return offsets, epochs


def _fits(around: tuple[list[int], list[int]], batch: FilledBatch, epoch: int) -> bool:
    offsets, epochs = around
    number = bisect_right(offsets, batch.first_offset)
    before = epochs[number - 1] if number else NONE
    return before <= epoch and (number == len(epochs) or epoch <= epochs[number])


def _merge(target: Path, filled: Sequence[FilledBatch]) -> None:
    """Write the segments again that have holes, with the batches in the order of offsets."""
    with closing(Partition(target)) as log:
        bases, paths = log.base_offsets, log.segment_paths
    for number, path in enumerate(paths):
        end = bases[number + 1] if number + 1 < len(bases) else None
        own = [
            batch
            for batch in filled
            if (number == 0 or batch.first_offset >= bases[number])
            and (end is None or batch.first_offset < end)
        ]
        if not own:
            continue
        with closing(Partition(target)) as log, log.open_segment(path) as segment:
            pieces = [
                (table.first_offset_of(row), bytes(table.batch(row).data))
                for table in tables(segment, Unread())
                for row in range(len(table))
            ]
        pieces += [(batch.first_offset, batch.data) for batch in own]
        pieces.sort(key=lambda piece: piece[0])
        path.write_bytes(b"".join(data for _, data in pieces))
