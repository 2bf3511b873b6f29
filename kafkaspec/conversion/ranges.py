"""Regular batches of a segment, a range of bytes at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from kafkaspec._generated.python.model.recordbatch import CompressionType
from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.scan import EntryTable, header_size, intact, scan
from kafkaspec.columns.wanted import POSITION, SIZE
from kafkaspec.conversion.drafts import Shared
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.framing import LARGEST_OFFSET, checksum_of
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.segment import Segment
from kafkaspec.model import Buffer

RANGE_BYTES: Final = 1 << 20
"""Bytes of batches that are converted at a time, unless one batch has more."""
KNOWN: Final = frozenset(map(int, CompressionType))
"""Ids of all compressions."""
LEAST: Final = 32
"""Fewer messages are converted one by one."""
BEFORE_ALL: Final = -LARGEST_OFFSET - 2
"""Less than every offset."""


@dataclass(frozen=True, slots=True)
class BatchRange:
    """Regular batches that follow one another.

    Attributes:
        buffer: bytes that contain them.
        start: position of the first byte of ``buffer`` in the segment.
        table: their headers; positions are those in ``buffer``.
        compressions: the compression that each is to have; None if all keep their bytes.
        max_output: most bytes that one may decompress to.
    """

    buffer: memoryview
    start: int
    table: EntryTable
    compressions: Sequence[int] | None
    max_output: int

    @property
    def kind(self) -> EntryKind:
        """The kind of the batches."""
        return KINDS[self.table.column(names.MAGIC)[0]]

    @property
    def last_offsets(self) -> memoryview:
        """The last offset of each."""
        return self.table.column(last_of(self.kind))

    def intact(self, core: Core) -> int:
        """Return how many of the first batches have the checksum that they hold."""
        table, kind = self.table, self.kind
        places, sizes = table.column(POSITION), table.column(SIZE)
        return intact(
            core, kind, self.buffer, places, sizes, table.column(checksum_of(kind.key).field)
        )


@dataclass(frozen=True, slots=True)
class BatchChunk:
    """Some of the batches of a range, from number ``first`` on."""

    source: BatchRange
    first: int
    batches: int

    @property
    def start(self) -> int:
        """Position in the segment of the first batch."""
        return self.source.start + self.source.table.column(POSITION)[self.first]

    @property
    def end(self) -> int:
        """Position in the segment after the last one."""
        table, last = self.source.table, self.first + self.batches - 1
        return self.source.start + table.column(POSITION)[last] + table.column(SIZE)[last]

    @property
    def last_offset(self) -> int:
        """The last offset."""
        return self.source.last_offsets[self.first + self.batches - 1]


class ByRanges(ABC):
    """A fast path for regular batches, which is there only with a codec that has a core."""

    def __init__(self, shared: Shared) -> None:
        """Share the state of the path of entries."""
        self._choices, self._codec, self._core = shared.choices, shared.codec, shared.codec.core
        self._offsets, self._losses, self._waiting = shared.offsets, shared.losses, shared.waiting
        self._low, self._high, self._outcomes = shared.low, shared.high, shared.outcomes
        self._most = RANGE_BYTES  # of a range, unless one batch has more

    @property
    @abstractmethod
    def available(self) -> bool:
        """Whether there is a fast path for this plan."""

    @abstractmethod
    def read(self, source: BatchRange) -> tuple[list[Any], bool]:
        """Return the entries of a range in chunks, and whether those are all; for any thread.

        They end before one that cannot be converted here.
        """

    @abstractmethod
    def settle(self, chunk: Any) -> bool:
        """Give a chunk its new offsets; return False, and change none, if one is too large."""

    @abstractmethod
    def group(self, chunk: Any) -> Any:
        """Return what ``write`` needs, in the order of the log."""

    @abstractmethod
    def write(self, groups: Any) -> Buffer:
        """Return the bytes of new entries; for any thread."""

    @abstractmethod
    def _regular(
        self, table: EntryTable, kind: EntryKind, after: int | None
    ) -> tuple[int, Sequence[int] | None]:
        """Return the number of leading regular batches, and ``BatchRange.compressions``."""

    def _takes(self, kind: EntryKind) -> bool:
        """Return whether entries of a kind are converted here."""
        return self._choices.kind in (None, kind) and kind.has_record_sets

    def ranges(self, segment: Segment, position: int, after: int | None) -> Iterator[BatchRange]:
        """Yield the batches from a position on, up to the first one that is not regular.

        ``after`` is the last offset before it, None if there is none.
        """
        core, most = self._core, self._most
        assert core is not None
        cursor = segment.cursor(core.module.memory, most)
        while position < segment.size:
            segment.check()
            buffer, start = segment.around(cursor, position)
            at = position - start
            kind = _kind(core, buffer, at)
            if kind is None or not self._takes(kind):
                return
            table = scan(core, buffer, at, min(at + most, len(buffer)))
            if not table.count:
                table = scan(core, buffer, at, capacity=1)
            count, compressions = self._regular(table, kind, after)
            if count < (1 if kind.has_record_sets else LEAST):
                return
            after = table.column(last_of(kind))[count - 1]
            found = replace(table, count=count)
            yield BatchRange(buffer, start, found, compressions, segment.max_output)
            if count < table.count:
                return
            position = start + table.position

    def _is_outside(self, first: int, last: int) -> bool:
        """Return whether some offset of a batch is not to be converted."""
        low, high = self._low, self._high
        return (low is not None and first < low) or (high is not None and last >= high)


def last_of(kind: EntryKind) -> str:
    """Return the column of the last offset of entries, which for messages is their only one."""
    return names.LAST_OFFSET if kind.has_record_sets else names.BASE_OFFSET


def _kind(core: Core, buffer: Buffer, position: int) -> EntryKind | None:
    """Return the kind of the entry at a position, None if it is none that the core writes."""
    first = scan(core, buffer, position, capacity=1)
    kind = KINDS.get(first.column(names.MAGIC)[0]) if first.count else None
    if kind is not None and kind.has_record_sets and not header_size(core, kind):
        return None
    return kind
