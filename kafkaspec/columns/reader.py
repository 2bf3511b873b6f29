"""Reads the records of a segment into columns, in pieces of bounded size.

Where the codec has a core in C, headers are scanned and whole entries decoded, many at a time. What
is compressed is decompressed into an arena; views point into it as they point into the input.

What the core leaves goes through record objects into columns of the same kind: wrappers with an
oddity, whatever it refuses, every entry of a codec without a core. They have the rules and raise
the errors.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from kafkaspec import compression
from kafkaspec.codecs.native.names import KIND, UNTIMED
from kafkaspec.codecs.native.scan import EntryTable, scan
from kafkaspec.columns.memory import Allocate, Columns, ColumnSet, Layout
from kafkaspec.columns.names import POSITION
from kafkaspec.columns.records import RecordColumns
from kafkaspec.columns.wrappers import Shift, apply_shifts, open_wrapper
from kafkaspec.errors import KafkaSpecError
from kafkaspec.io.window import LEAST_AHEAD
from kafkaspec.layout.names import MAGIC
from kafkaspec.log.batch import Batch
from kafkaspec.log.columnar import CHUNK_BYTES
from kafkaspec.log.lookup import start_position
from kafkaspec.log.segment import Segment

if TYPE_CHECKING:
    from kafkaspec.codecs.native.core import Core

_MOST_PAYLOAD: Final = 1 << 30  # views reach 2 GiB
_LEAST_ARENA: Final = 64 << 10
_RATIO: Final = 4
"""Times that an arena is larger than what goes into it, until a batch has shown otherwise."""
_ENTRY_BYTES: Final = 4 << 10
"""Of an entry, until some have shown otherwise: how many there is room for goes by it."""
_MOST_ENTRIES: Final = (1 << 16) - 8  # no power of two, as in log.headers
_CHECKED: Final = 32
"""Entries that are decompressed before the size of the file is looked at again."""
_IN_ENTRY: Final = -1
"""Payload of an entry that lies in it as it is; -1 - codec where it is compressed."""
_ARENA: Final = 1
"""Number of the buffer that is decompressed into; 0 is the input."""
_LOWEST: Final = -(1 << 63)
_IN_C: Final = sys.byteorder == "little"
"""Whether columns that the core fills are Arrow's: its views and offsets are little-endian."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is read of a segment. Records outside of the bounds may come along: see ``Columns.cut``.

    Attributes:
        start_offset: smallest offset.
        end_offset: first offset that is not wanted; the batch that reaches it is the last one read.
        start_timestamp: batches whose header says that they end before are passed over.
        include_control: whether control records are wanted.
        max_bytes: of Kafka data in a piece.
        start_position: byte offset of the entry to begin with.
    """

    start_offset: int | None = None
    end_offset: int | None = None
    start_timestamp: int | None = None
    include_control: bool = False
    max_bytes: int = CHUNK_BYTES
    start_position: int = 0


@dataclass
class _Chunk:
    """Entries that are decoded together.

    Attributes:
        region: the part of the input that they lie in.
        start: position of its first byte in the input.
        table: headers of the entries, and of others.
        entries: what the core is told of each.
        rows: number of records.
        bytes: of the entries after decompression, at least.
        sources: the buffers of the entries, by number.
        facts: what ``select`` said of them.
        shifts: what wrappers do to their rows, by number of the entry.
    """

    region: memoryview
    start: int
    table: EntryTable
    entries: array[int]
    rows: int
    bytes: int
    sources: Sequence[memoryview]
    facts: int
    shifts: dict[int, Shift] = field(default_factory=dict)


class Reader:
    """Reads a segment by columns, once.

    Attributes:
        position: how far it has come.
    """

    def __init__(
        self,
        segment: Segment,
        names: Sequence[str],
        wanted: Wanted,
        *,
        layout: Layout = Layout.VIEW,
        allocate: Allocate = bytearray,
    ) -> None:
        """Prepare to read.

        Args:
            segment: what is read, and the codec that does it.
            names: columns, as the specification calls them; see ``kafkaspec.columns.names``.
            wanted: which records.
            layout: of byte strings that the core writes; see ``Columns.layout``.
            allocate: where memory comes from.
        """
        self._segment = segment
        self._core: Core | None = segment.codec.core if _IN_C else None
        self._names = tuple(names)
        self._wanted = wanted
        self._layout = layout
        self._allocate = allocate
        self._rows = RecordColumns(names)
        self._cursor = segment.cursor(allocate, max(LEAST_AHEAD, wanted.max_bytes))
        self._done = False
        self._entry_bytes = _ENTRY_BYTES
        self._ratio = _RATIO
        self.position = 0

    def __iter__(self) -> Iterator[Columns]:
        try:
            yield from self._read()
        except KafkaSpecError:
            yield from self._flush()  # what lies before the error
            raise
        yield from self._flush()

    def _read(self) -> Iterator[Columns]:
        segment, core, wanted = self._segment, self._core, self._wanted
        position = wanted.start_position
        if wanted.start_offset is not None:
            position = max(position, start_position(segment, wanted.start_offset)[0])
        while position < segment.size and not self._done:
            segment.check()
            self.position = position
            if core is not None:
                buffer, base = segment.around(self._cursor, position)
                buffer = buffer[position - base :]
                table = self._scan(core, buffer)
                if table.count:
                    yield from self._table(core, table, buffer, position)
                    position += table.position
                    continue
            # No core, or no entry that it takes: one after the other says what it is.
            for batch in segment.batches(position):
                self.position = position = batch.end
                yield from self._by_records(batch)
                if core is not None or self._done:
                    break  # others may follow that the core takes
            else:
                return

    def _scan(self, core: Core, buffer: memoryview) -> EntryTable:
        """Headers as far as a chunk reaches, so that they are in the cache when it is decoded."""
        stop = min(self._wanted.max_bytes, len(buffer))
        # To clear a large table takes longer than to fill it.
        room = min(stop // self._entry_bytes * 5 // 4 + 16, _MOST_ENTRIES)
        table = scan(core, buffer, 0, stop, room)
        if table.count == 0 and stop < len(buffer):
            table = scan(core, buffer, 0, len(buffer), 1)
        if table.count:
            self._entry_bytes = max(1, table.position // table.count)
        return table

    # -- what is decoded together -----------------------------------------------------------

    def _table(
        self, core: Core, table: EntryTable, buffer: memoryview, base: int
    ) -> Iterator[Columns]:
        """The entries of a table: as many at a time as the core takes."""
        module = core.module
        region = buffer[: table.position]
        room = array("q", bytes(8 * module.BATCH_FIELDS * table.count))
        rules = self._rules(core)
        first = 0
        while first < table.count and not self._done:
            first, number, rows, facts = module.select(
                table.values, table.capacity, first, table.count, core.roles, rules, room
            )
            if number:
                entries = room[: number * module.BATCH_FIELDS]
                chunk = _Chunk(region, base, table, entries, rows, table.position, (region,), facts)
                decode = self._unpack if facts & module.COMPRESSED else self._decode
                yield from decode(core, chunk)
            if facts & module.OTHERWISE:
                position = base + table.column(POSITION)[first]
                yield from self._by_records(self._segment.batch_at(position, self._cursor))
                first += 1
            self._done |= bool(facts & module.ENDED)

    def _rules(self, core: Core) -> tuple[int, ...]:
        """What is wanted, as ``select`` takes it."""
        module, wanted = core.module, self._wanted
        options = module.CONTROL if wanted.include_control else 0
        if wanted.end_offset is not None:
            options |= module.BOUNDED
        limits = (wanted.start_offset, wanted.end_offset, wanted.start_timestamp)
        bounds = (_LOWEST if bound is None else bound for bound in limits)
        flags = module.VERIFY if self._segment.crc == "error" else 0
        return (UNTIMED, *bounds, options, flags)

    def _unpack(self, core: Core, whole: _Chunk) -> Iterator[Columns]:
        """Decompress what is compressed, and decode as much at a time as an arena holds."""
        module = core.module
        fields, entries, region = module.BATCH_FIELDS, whole.entries, whole.region
        place, at_place, length, rows = (
            module.PAYLOAD, module.PAYLOAD_POSITION, module.PAYLOAD_SIZE, module.ROWS
        )  # fmt: skip
        kinds, starts, sizes, counts, positions = (
            entries[field::fields] for field in (place, at_place, length, rows, module.POSITION)
        )
        magics, places, formats = map(whole.table.column, (MAGIC, POSITION, KIND))
        most = self._segment.max_output
        arena, used = memoryview(bytearray()), 0
        first = 0  # entry of the chunk that is being put together
        last: tuple[int, int] | None = None
        for number, kind in enumerate(kinds):
            if kind == _IN_ENTRY:
                continue
            if number % _CHECKED == 0:
                self._segment.check()
            start, count = starts[number], counts[number]
            payload = region[start : start + sizes[number]]
            entry = bisect_left(places, positions[number])
            magic = magics[entry]
            if last != (kind, magic):
                last = kind, magic
                into = compression.into(-1 - kind, magic)
            size = into(payload, arena[used : used + most]) if arena else -1
            if size < 0:  # not what producers write, or broken, or too large for what is left
                found = self._inflated(-1 - kind, payload, magic)
                size = -1 if found is None else len(found)
                if used + size > len(arena):
                    yield from self._part(core, whole, first, number, arena[:used])
                    first = number
                    arena, used = self._arena(size, sizes[number:]), 0
                if found is not None:
                    arena[used : used + size] = found
            at = number * fields
            if count < 0 <= size:  # a wrapper
                data = arena[used : used + size]
                shift = open_wrapper(core, whole.table, entry, data)
                if shift is not None:
                    whole.shifts[number] = shift
                    count = entries[at + rows] = shift.count
            if count < 0 or count * core.record_sizes[formats[entry]] > size:
                yield from self._part(core, whole, first, number, arena[:used])
                first = number + 1
                position = whole.start + positions[number]
                yield from self._by_records(self._segment.batch_at(position, self._cursor))
                continue
            entries[at + place] = _ARENA
            entries[at + at_place] = used
            entries[at + length] = size
            used += size
        yield from self._part(core, whole, first, len(kinds), arena[:used])

    def _arena(self, size: int, packed: array[int]) -> memoryview:
        """Memory for ``size`` bytes and what else may fit of payloads of these sizes."""
        self._ratio = max(self._ratio, 2 * size // packed[0])
        left = max(self._ratio * sum(packed), _LEAST_ARENA)
        return memoryview(self._allocate(max(size, min(self._wanted.max_bytes, left)))).cast("B")

    def _inflated(self, codec: int, payload: memoryview, magic: int) -> bytes | None:
        """A payload decompressed, None if that is refused or more than views reach."""
        try:
            found = compression.decompress(
                codec, payload, magic=magic, max_output=self._segment.max_output
            )
        except KafkaSpecError:
            return None
        return found if len(found) <= _MOST_PAYLOAD else None

    def _part(
        self, core: Core, whole: _Chunk, first: int, last: int, arena: memoryview
    ) -> Iterator[Columns]:
        """Decode some entries, what is compressed of which lies in the arena."""
        if first == last:
            return
        module = core.module
        entries = whole.entries[first * module.BATCH_FIELDS : last * module.BATCH_FIELDS]
        rows = sum(entries[module.ROWS :: module.BATCH_FIELDS])
        size = sum(entries[module.SIZE :: module.BATCH_FIELDS]) + len(arena)
        numbers = range(first, last) if whole.shifts else ()
        shifts = {n - first: whole.shifts[n] for n in numbers if n in whole.shifts}
        sources = (whole.region, arena)
        yield from self._decode(
            core,
            replace(whole, entries=entries, rows=rows, bytes=size, sources=sources, shifts=shifts),
        )

    def _decode(self, core: Core, chunk: _Chunk) -> Iterator[Columns]:
        yield from self._flush()
        fields = core.module.BATCH_FIELDS
        count, first = len(chunk.entries) // fields, 0
        while first < count:
            self._segment.check()
            columns = ColumnSet(
                core, self._names, chunk.rows, self._layout, chunk.bytes, self._allocate
            )
            end = columns.decode(chunk.sources, chunk.entries, first)
            if columns.filled:
                yield self._columns(core, columns, chunk, range(first, end))
            del columns
            first = end
            if first < count:
                # Refused: the way through records raises the error, or is more lenient.
                position = chunk.start + chunk.entries[first * fields + core.module.POSITION]
                self._add(self._segment.batch_at(position, self._cursor))
                yield from self._flush()
                first += 1

    def _columns(self, core: Core, columns: ColumnSet, chunk: _Chunk, entries: range) -> Columns:
        module = core.module
        found = columns.result()
        apply_shifts(core, chunk.shifts, chunk.entries, entries, found)
        return Columns(
            rows=columns.filled,
            columns=found,
            layout=self._layout,
            sources=chunk.sources,
            start=chunk.start,
            cut=bool(chunk.facts & module.CUT),
            untimed=bool(chunk.facts & module.UNTIMED),
            markers=bool(chunk.facts & module.MARKERS),
        )

    # -- through records --------------------------------------------------------------------

    def _by_records(self, batch: Batch) -> Iterator[Columns]:
        """One entry, if it is wanted."""
        wanted, high = self._wanted, self._wanted.end_offset
        stands_alone = not batch.kind.has_record_sets
        wrapper = stands_alone and batch.is_compressed  # whose first offset is not known
        if high is not None and not wrapper and batch.base_offset >= high:
            self._done = True
            return
        low, earliest = wanted.start_offset, wanted.start_timestamp
        passed = low is not None and batch.last_offset < low
        passed |= earliest is not None and not stands_alone and batch.max_timestamp < earliest
        if not passed and (wanted.include_control or not batch.is_control):
            self._add(batch)
            if self._rows.cost >= wanted.max_bytes:
                yield from self._flush()
        self._done |= high is not None and batch.last_offset >= high - 1

    def _add(self, batch: Batch) -> None:
        self._rows.add(batch, batch.records())

    def _flush(self) -> Iterator[Columns]:
        if self._rows.rows:
            yield self._rows.take()


def described(core: Core, table: EntryTable, count: int) -> array[int]:
    """Return what the core is told of the first entries of a table, to verify and decode them.

    An entry that cannot be decoded as it lies there ends it.
    """
    room = array("q", bytes(8 * core.module.BATCH_FIELDS * count))
    rules = (UNTIMED, _LOWEST, 0, _LOWEST, core.module.CONTROL, core.module.VERIFY)
    _, number, _, _ = core.module.select(
        table.values, table.capacity, 0, count, core.roles, rules, room
    )
    return room[: number * core.module.BATCH_FIELDS]
