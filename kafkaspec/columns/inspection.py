"""Headers of many entries at a time, and what the records of each have in common.

Checksums are verified and payloads decompressed on the way. Nothing is kept of the records.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.names import BATCH_FACTS, COLUMN_FACTS, INSPECTED
from kafkaspec.codecs.native.scan import EntryTable, scan
from kafkaspec.columns.memory import BytesColumn, Columns, ColumnSet, Layout
from kafkaspec.columns.reader import Reader
from kafkaspec.columns.unpacking import Chunk
from kafkaspec.columns.wanted import POSITION, Wanted
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import names
from kafkaspec.layout.stand_ins import STAND_INS
from kafkaspec.log.batch import Batch
from kafkaspec.log.legacy import Shift
from kafkaspec.log.segment import Segment
from kafkaspec.model import Buffer

if TYPE_CHECKING:
    from kafkaspec.columns.messages import Decoding

STATUS, TEXT, ROWS = BATCH_FACTS
UNDECODED: Final = "undecoded"
"""Fact of an entry: whether the engine refuses a message in its records."""
_FACTS: Final = (
    *BATCH_FACTS,
    *(f"{name}.{fact}" for name in INSPECTED for fact in COLUMN_FACTS),
    UNDECODED,
)
_NUMBERS: Final = ("first", "last", "least", "largest")
"""Those that are numbers of a column."""
UNUSED_SIZE: Final = f"{names.UNUSED}.size"
"""Column with the bytes of an entry after its value."""
_MESSAGES: Final = (names.KEY, names.VALUE)
"""Columns of records that hold messages in internal topics."""
_KNOWN: Final = {
    names.BASE_OFFSET: f"{names.OFFSET}.first",
    names.NUM_RECORDS: ROWS,
    names.BASE_TIMESTAMP: f"{names.TIMESTAMP}.first",
}
"""The facts that say more of a message than what stands in for a column that it lacks."""
_LACKING: Final = {**STAND_INS, **_KNOWN, UNUSED_SIZE: 0}
"""Columns that not all kinds of entries have, and the number, column or fact in their places."""


@dataclass
class Inspected:
    """Entries, and what their records have in common.

    Attributes:
        table: headers of the entries. Messages and wrappers have the columns of a batch too, as if
            they were one.
        buffer: bytes of the entries.
        start: position in the log to which positions of entries are relative.
        facts: column k of entry i at ``k * table.count + i``. The first is 0 for a batch whose
            records could be decoded; without records nothing else is meant.
    """

    table: EntryTable
    buffer: memoryview
    start: int
    facts: memoryview
    _columns: dict[str, memoryview] = field(default_factory=dict, init=False, repr=False)
    _several: dict[tuple[str, ...], tuple[memoryview, ...]] = field(
        default_factory=dict, init=False, repr=False
    )

    @property
    def end(self) -> int:
        """Position in the log after the last entry."""
        return self.start + self.table.position

    def column(self, name: str) -> memoryview:
        """Return a column of headers, or a fact.

        Facts: ``status`` of an entry, ``records``: their number, ``text``: 1 if keys of their
        headers are UTF-8; ``first``, ``last``, ``least``, ``largest`` and ``rising`` of a column of
        records, after the name of that column and a dot.
        """
        found = self._columns.get(name)
        if found is None:
            if name in _FACTS:
                start = _FACTS.index(name) * self.table.count
                found = self.facts[start : start + self.table.count]
            else:
                found = self.table.column(name)
            self._columns[name] = found
        return found

    def columns(self, wanted: tuple[str, ...]) -> tuple[memoryview, ...]:
        """Return several columns; the same ones are asked for again and again."""
        found = self._several.get(wanted)
        if found is None:
            found = self._several[wanted] = tuple(map(self.column, wanted))
        return found


class Inspector(Reader):
    """Reads entries that a scan has found."""

    def __init__(self, segment: Segment, max_bytes: int, messages: Decoding | None = None) -> None:
        """Prepare to read.

        Args:
            segment: the segment, with a codec that has a core.
            max_bytes: most bytes of decompressed data at a time, unless one batch has more.
            messages: of a segment of an internal topic: decodes the messages in its records.
        """
        super().__init__(segment, (), Wanted(include_control=True, max_bytes=max_bytes))
        self._messages = messages
        self._scratch = bytearray()
        self._unpacker.allocate = self._reused

    def _reused(self, size: int) -> memoryview:
        """Return memory for payloads, which nobody needs once their records were inspected."""
        if len(self._scratch) < size:
            self._scratch = bytearray(size)
        return memoryview(self._scratch)[:size]

    def inspect(self, table: EntryTable, buffer: memoryview, start: int) -> Inspected:
        """Return what the records of the entries of a table have in common.

        Args:
            table: headers of entries, at least one.
            buffer: bytes of the entries.
            start: position of the first of them in the log.
        """
        core, count = self._core, table.count
        assert core is not None
        facts = array("q", bytes(8 * len(_FACTS) * count))
        facts[:count] = array("q", (core.module.IRREGULAR,)) * count
        self._facts = facts
        self._places = table.column(POSITION)
        try:
            for _ in self._table(core, table, buffer, start):
                pass
        except (KafkaSpecError, MemoryError):
            pass  # the entries without facts are read again, one by one
        found = Inspected(table, buffer, start, memoryview(facts))
        for name, value in _LACKING.items():
            values, number = (None, value) if isinstance(value, int) else (found.column(value), 0)
            # All entries store an offset: only those without a last one lack a first one.
            bit = table.names.index(names.LAST_OFFSET if name == names.BASE_OFFSET else name)
            core.module.fill(found.column(name), table.present, bit, values, number, count)
        return found

    def _decode(self, core: Core, chunk: Chunk) -> Iterator[Columns]:
        module = core.module
        first = bisect_left(self._places, chunk.entries[module.POSITION])
        numbers = tuple(core.columns[name].number for name in INSPECTED)
        module.inspect(
            tuple(chunk.sources), chunk.entries, numbers, core.columns[names.HEADER_KEY].number,
            self._facts, first, len(self._places),
        )  # fmt: skip
        for number, shift in chunk.shifts.items():
            self._apply(core, shift, first + number)
        if self._messages is not None:
            self._note_undecoded(core, self._messages, chunk, first)
        yield from ()

    def _note_undecoded(self, core: Core, messages: Decoding, chunk: Chunk, place: int) -> None:
        """Note the entries with a record whose messages the engine does not decode."""
        fields = core.module.BATCH_FIELDS
        count, first = len(chunk.entries) // fields, 0
        place += _FACTS.index(UNDECODED) * len(self._places)
        while first < count:
            columns = ColumnSet(core, _MESSAGES, chunk.rows, Layout.VIEW, chunk.bytes)
            end = columns.decode(chunk.sources, chunk.entries, first)
            keys, values = (columns.result()[name] for name in _MESSAGES)
            assert isinstance(keys, BytesColumn)
            assert isinstance(values, BytesColumn)
            rows = chunk.entries[core.module.ROWS :: fields]
            ends = list(accumulate(rows[first:end]))
            for row in messages.refused(columns.filled, keys, values, chunk.sources):
                self._facts[place + first + bisect_right(ends, row)] = 1
            first = end + 1  # the one that cannot be decoded is irregular anyway

    def _apply(self, core: Core, shift: Shift, entry: int) -> None:
        """Apply the changes of a wrapper to the facts of its messages."""
        for name, replaced, number in (
            (names.OFFSET, False, shift.offset),
            (names.TIMESTAMP, True, shift.timestamp),
        ):
            for fact in _NUMBERS if number is not None else ():
                at = _FACTS.index(f"{name}.{fact}") * len(self._places) + entry
                core.module.adjust(self._facts, at, 1, replaced, number)

    def _by_records(self, batch: Batch) -> Iterator[Columns]:
        yield from ()

    def _large(self, core: Core, batch: Batch, payload: Buffer | None) -> Iterator[Columns]:
        yield from ()


def tables(
    segment: Segment, core: Core, position: int, end: int, most: int
) -> Iterator[tuple[EntryTable, memoryview, int]]:
    """Yield headers of entries up to the first one that the core does not scan.

    Args:
        segment: the segment.
        core: the extension.
        position: byte offset of an entry.
        end: byte offset of the entry before which to stop.
        most: bytes of the entries of a table, unless one entry is larger.

    Yields:
        A table, a buffer that begins with its first entry, and the byte offset of that entry.

    Raises:
        KafkaSpecError: ``changed``, ``unreadable``.
    """
    cursor = segment.cursor(most=2 * most)
    least = 1 << 12
    while position < end:
        segment.check()
        buffer, base = segment.around(cursor, position)
        buffer = buffer[position - base : end - base]
        stop = min(most, len(buffer))
        table = scan(core, buffer, 0, stop, min(stop // least * 5 // 4 + 16, (1 << 16) - 8))
        if not table.count and stop < len(buffer):
            table = scan(core, buffer, 0, len(buffer), 1)
        if not table.count:
            return
        least = max(1, table.position // table.count)
        yield table, buffer[: table.position], position
        position += table.position
