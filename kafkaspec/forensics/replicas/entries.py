"""Walk the entries of two logs side by side, and compare their bytes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.layout.stand_ins import UNKNOWN
from kafkaspec.log.batch import NONE
from kafkaspec.log.damage import broken_entry
from kafkaspec.log.entries import Entries
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import read_headers
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment

_MOST_BYTES: Final = 4 << 20
"""Bytes that are compared at once."""


@dataclass(frozen=True, slots=True)
class EntryPlace:
    """An entry; of a compressed message the first offset is the last one, and epochs may be -1."""

    segment: Entries
    position: int
    size: int
    first_offset: int
    last_offset: int
    epoch: int
    control: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """Entries that are not the same in both logs, or one that the other log does not have."""

    a: EntryPlace | None
    b: EntryPlace | None

    @property
    def first_offset(self) -> int:
        """The first offset."""
        return min(each.first_offset for each in (self.a, self.b) if each is not None)

    @property
    def last_offset(self) -> int:
        """The last offset."""
        return max(each.last_offset for each in (self.a, self.b) if each is not None)


@dataclass
class ReplicaSide:
    """One of two logs, while it is read.

    Attributes:
        log: the partition, or a segment of it.
        first_offset: of the first entry, None without one.
        epochs: leader epochs of the batches, and where each begins.
    """

    log: Partition | Segment
    errors: list[KafkaSpecError] = field(default_factory=list)
    first_offset: int | None = None
    end_offset: int = 0
    epochs: list[EpochEntry] = field(default_factory=list)
    entries: int = 0
    bases: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._pieces = self._read()
        self._headers: HeaderTable | None = None
        self._row = 0
        self.move(0)

    @property
    def ended(self) -> bool:
        """Whether there is no entry any more."""
        return self._headers is None

    @property
    def left(self) -> int:
        """Number of entries that can be compared at once."""
        return len(self._there()) - self._row

    def move(self, count: int) -> None:
        """Go on to the entry that many after the current one."""
        self._row += count
        while self._headers is None or self._row >= len(self._headers):
            self._headers, self._row = next(self._pieces, None), 0
            if self._headers is None:
                return
            self._note(self._headers)

    def taken(self) -> EntryPlace:
        """Return the current entry, and go on to the next one."""
        place = self.place
        self.move(1)
        return place

    def size(self, count: int) -> int:
        """Return the number of bytes of some entries from the current one on."""
        headers, last = self._there(), self._row + count
        end = headers.position[last] if last < len(headers) else headers.end
        return end - headers.position[self._row]

    def bytes_of(self, count: int) -> bytes:
        """Return the bytes of some entries from the current one on."""
        return bytes(self._there().data(self._row, self._row + count))

    def within(self, size: int) -> int:
        """Return how many entries from the current one on fit into so many bytes, at least one."""
        headers = self._there()
        end = bisect_left(headers.position, headers.position[self._row] + size, self._row)
        return max(1, end - self._row)

    @property
    def place(self) -> EntryPlace:
        """The current entry."""
        headers, row = self._there(), self._row
        last = headers.last_offset[row]
        first = headers.first_offset[row]
        return EntryPlace(
            headers.segment,
            headers.position[row],
            headers.size[row],
            last if first == UNKNOWN else first,
            last,
            headers.leader_epoch[row],
            bool(headers.control[row]),
        )

    def _there(self) -> HeaderTable:
        assert self._headers is not None
        return self._headers

    def _read(self) -> Iterator[HeaderTable]:
        if isinstance(self.log, Segment):
            self.bases.append(self.log.base_offset or 0)
            yield from self._of_segment(self.log)
            return
        self.end_offset = self.log.first_base_offset or 0
        for path in self.log.segment_paths:
            try:
                segment = self.log.open_segment(path)
            except KafkaSpecError as error:
                self.errors.append(error)
                continue
            self.bases.append(segment.base_offset or 0)
            self.end_offset = max(self.end_offset, segment.base_offset or 0)
            yield from self._of_segment(segment)

    def _of_segment(self, segment: Segment) -> Iterator[HeaderTable]:
        position: int | None = 0
        while position is not None:
            try:
                for headers in read_headers(segment, position):
                    yield headers
                    position = headers.end
                return
            except KafkaSpecError as error:
                self.errors.append(error)
                if error.position is None:
                    return
                _, _, position = broken_entry(segment, position, error)

    def _note(self, headers: HeaderTable) -> None:
        self.entries += len(headers)
        if self.first_offset is None:
            self.first_offset = headers.first_offset_of(0)
        self.end_offset = max(self.end_offset, max(headers.last_offset) + 1)
        latest = self.epochs[-1].epoch if self.epochs else NONE
        if max(headers.leader_epoch) <= latest:
            return
        for row, epoch in enumerate(headers.leader_epoch):
            if epoch > latest:
                self.epochs.append(EpochEntry(epoch, headers.first_offset_of(row)))
                latest = epoch


def different(a: ReplicaSide, b: ReplicaSide) -> Iterator[Pair]:
    """Yield the entries that are not the same in two logs; both are read to their ends.

    Entries are the same if all their bytes are.
    """
    count = 1
    while not (a.ended or b.ended):
        count = min(count, a.left, b.left, a.within(_MOST_BYTES), b.within(_MOST_BYTES))
        same = a.size(count) == b.size(count) and a.bytes_of(count) == b.bytes_of(count)
        if same:
            a.move(count)
            b.move(count)
            count *= 2
        elif count > 1:
            count = 1
        else:
            first, second = a.place.last_offset, b.place.last_offset
            yield Pair(
                a.taken() if first <= second else None, b.taken() if second <= first else None
            )
    while not a.ended:
        yield Pair(a.taken(), None)
    while not b.ended:
        yield Pair(None, b.taken())
