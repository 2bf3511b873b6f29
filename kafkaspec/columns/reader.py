"""Read the records of a segment into columns, in chunks of bounded size.

If the codec has a core in C, it scans headers and decodes many whole entries at a time. Compressed
payloads are decompressed into an arena; views point into it as they point into the input.

All other entries become record objects first, and then columns of the same kind: irregular
wrappers, entries that the core refuses, and every entry of a codec without a core. Record objects
implement the rules and raise the errors.
"""

from __future__ import annotations

import copy
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from kafkaspec import compression
from kafkaspec.codecs.native.names import KIND, UNTIMED
from kafkaspec.codecs.native.scan import EntryTable, scan
from kafkaspec.columns.memory import (
    Allocate,
    AnyColumn,
    Columns,
    ColumnSet,
    IntegerColumn,
    Layout,
)
from kafkaspec.columns.names import OF_BATCH, POSITION
from kafkaspec.columns.records import RecordColumns, fact
from kafkaspec.columns.wrappers import apply_shift, apply_shifts, open_wrapper
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.io.window import LEAST_AHEAD
from kafkaspec.layout.framing import ENTRY, LARGEST_OFFSET
from kafkaspec.layout.kinds import KINDS, new_entry
from kafkaspec.layout.names import MAGIC
from kafkaspec.log.batch import Batch
from kafkaspec.log.columnar import CHUNK_BYTES
from kafkaspec.log.default import DefaultBatch
from kafkaspec.log.legacy import LegacyBatch, Shift
from kafkaspec.log.lookup import start_position
from kafkaspec.log.pieces import HELD_BYTES, PIECE_BYTES, WHOLE_BYTES, Piece, runs_of
from kafkaspec.log.segment import Segment
from kafkaspec.model import Buffer

if TYPE_CHECKING:
    from kafkaspec.codecs.native.core import Core

_LEAST_ARENA: Final = 64 << 10
_RATIO: Final = 4
"""Assumed ratio of decompressed to compressed bytes, until a batch shows a larger one."""
_ENTRY_BYTES: Final = 4 << 10
"""Assumed size of an entry, until some have been read; the size of a table depends on it."""
_MOST_ENTRIES: Final = (1 << 16) - 8  # not a power of two; see log.headers
_CHECKED: Final = 32
"""Number of entries to decompress before the size of the file is checked again."""
_IN_ENTRY: Final = -1
"""Marks a payload that is not compressed; a compressed one has -1 - codec."""
_OF_BATCH = next(magic for magic, kind in KINDS.items() if kind.has_record_sets)
_OF_WRAPPER = next(magic for magic, kind in KINDS.items() if not kind.has_record_sets)
"""Magics that stand for all in which payloads are those of batches, and of wrappers."""
LOWEST, HIGHEST = -LARGEST_OFFSET - 1, LARGEST_OFFSET
"""Bounds of 64 bits, between which every offset and every timestamp lies."""
_IN_C: Final = sys.byteorder == "little"
"""Whether the core can fill Arrow's columns: their views and offsets are little-endian."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Selection of records of a segment; some others may be read too, see ``Columns.cut``.

    Attributes:
        start_offset: smallest offset to read.
        end_offset: first offset not to read; the batch that reaches it is the last one read.
        start_timestamp: batches whose largest timestamp in ms is smaller are skipped.
        include_control: whether to read control records.
        max_bytes: most bytes of Kafka data in a chunk.
        start_position: byte position of the first entry to read.
        end_position: byte position of the first entry not to read, None for the end.
        apart: whether entries of which columns do not say everything are left to the caller, see
            ``Columns.entry``: control batches, those with records outside of the offsets, and all
            that the core does not decode.
    """

    start_offset: int | None = None
    end_offset: int | None = None
    start_timestamp: int | None = None
    include_control: bool = False
    max_bytes: int = CHUNK_BYTES
    start_position: int = 0
    end_position: int | None = None
    apart: bool = False


@dataclass
class _Chunk:
    """Entries that are decoded together.

    Attributes:
        region: the part of the input that contains the entries.
        start: position of its first byte in the input.
        table: headers of the entries, and of others.
        entries: descriptions of the entries for the core.
        rows: number of records.
        bytes: lower bound of the decompressed size of the entries.
        sources: buffers of the entries, by number.
        facts: flags that ``select`` returned for the entries.
        shifts: changes to the rows of wrappers, by number of the entry.
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
    """Reads a segment into columns, once.

    Attributes:
        position: position in bytes up to which the segment was read.
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
            segment: the segment to read, with its codec.
            names: names of the columns; see ``kafkaspec.columns.names``.
            wanted: the records to read.
            layout: layout of byte strings that the core writes; see ``Columns.layout``.
            allocate: allocates memory.
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
        # A batch with more bytes of records is read in pieces.
        self._most = min(max(wanted.max_bytes, PIECE_BYTES), WHOLE_BYTES)
        self.position = 0

    @property
    def ended(self) -> bool:
        """Whether nothing after what was read is wanted."""
        return self._done

    def __iter__(self) -> Iterator[Columns]:
        try:
            yield from self._read()
        except KafkaSpecError:
            yield from self._flush()  # the records before the error
            raise
        except MemoryError:
            detail = "there is not enough memory for the records"
            raise make_error(
                Reason.TOO_LARGE, detail, file=self._segment.name, offset=self.position
            ) from None
        yield from self._flush()

    def _read(self) -> Iterator[Columns]:
        segment, core, wanted = self._segment, self._core, self._wanted
        position = wanted.start_position
        if wanted.start_offset is not None:
            position = max(position, start_position(segment, wanted.start_offset)[0])
        end = segment.size if wanted.end_position is None else wanted.end_position
        while position < end and not self._done:
            segment.check()
            self.position = position
            if core is not None:
                buffer, base = segment.around(self._cursor, position)
                buffer = buffer[position - base : max(end - base, 0)]
                table = self._scan(core, buffer)
                if table.count:
                    yield from self._table(core, table, buffer, position)
                    position += table.position
                    continue
            # No core, or an entry that the core refuses: read entry by entry.
            for batch in segment.batches(position):
                self.position = position = batch.end
                yield from self._by_records(batch)
                if core is not None or self._done or position >= end:
                    break  # the core may decode the next entries
            else:
                return

    def _scan(self, core: Core, buffer: memoryview) -> EntryTable:
        """Scan the headers of one chunk only, so that it is still in the cache when decoded."""
        stop = min(self._wanted.max_bytes, len(buffer))
        # Clearing a large table takes longer than filling it.
        room = min(stop // self._entry_bytes * 5 // 4 + 16, _MOST_ENTRIES)
        table = scan(core, buffer, 0, stop, room)
        if table.count == 0 and stop < len(buffer):
            table = scan(core, buffer, 0, len(buffer), 1)
        if table.count:
            self._entry_bytes = max(1, table.position // table.count)
        return table

    # -- entries that are decoded together --------------------------------------------------

    def _table(
        self, core: Core, table: EntryTable, buffer: memoryview, base: int
    ) -> Iterator[Columns]:
        """Yield the entries of a table, as many at a time as the core accepts."""
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
        """Return the wanted bounds and options as ``select`` takes them."""
        module, wanted = core.module, self._wanted
        options = module.CONTROL if wanted.include_control else 0
        options |= module.APART if wanted.apart else 0
        if wanted.end_offset is not None:
            options |= module.BOUNDED
        limits = (wanted.start_offset, wanted.end_offset, wanted.start_timestamp)
        bounds = (LOWEST if bound is None else bound for bound in limits)
        flags = module.VERIFY if self._segment.crc == "error" else 0
        return (UNTIMED, *bounds, options, flags, self._most)

    def _unpack(self, core: Core, whole: _Chunk) -> Iterator[Columns]:
        """Decompress payloads, and decode as many entries at a time as an arena holds."""
        module, entries, table = core.module, whole.entries, whole.table
        fields = module.BATCH_FIELDS
        place, at_place, length, rows = (
            module.PAYLOAD, module.PAYLOAD_POSITION, module.PAYLOAD_SIZE, module.ROWS
        )  # fmt: skip
        kinds, starts, sizes, counts, positions = (
            entries[field::fields] for field in (place, at_place, length, rows, module.POSITION)
        )
        magics, places = table.column(MAGIC), table.column(POSITION)
        codecs = {_IN_ENTRY - kind for kind in set(kinds)}
        forms = [compression.forms(module, codecs, magic) for magic in (_OF_BATCH, _OF_WRAPPER)]
        in_c = any(map(any, forms))
        most = min(self._segment.max_output, self._most)
        arena, used = self._arena(sizes), 0
        first = number = 0  # the first entry not decoded yet, and the first one not decompressed
        while number < len(kinds):
            if in_c or number % _CHECKED == 0:
                self._segment.check()
            if in_c:
                before, status = number, 0
                number, used, status = module.unpack(
                    whole.region, table.values, table.capacity, table.count, entries, before,
                    arena, used, most, *forms,
                )  # fmt: skip
                for done in range(before, number):
                    if counts[done] < 0 and not self._holds(core, whole, done, arena):
                        yield from self._part(core, whole, first, done, arena[:used])
                        first = done + 1
                        yield from self._by_records(self._batch(whole, positions[done]))
                if number == len(kinds):
                    break
                if status == module.NO_ROOM and used:
                    yield from self._part(core, whole, first, number, arena[:used])
                    self._estimate(used, sum(sizes[before:number]))
                    first = number
                    arena, used = self._arena(sizes[number:]), 0
                    continue
            if kinds[number] == _IN_ENTRY:
                number += 1
                continue
            # Unusual, corrupt, too large for an arena, or not served in C.
            codec = _IN_ENTRY - kinds[number]
            payload = whole.region[starts[number] : starts[number] + sizes[number]]
            magic = magics[bisect_left(places, positions[number])]
            size = -1
            if not in_c:
                size = compression.into(codec, magic)(payload, arena[used : used + most])
            if size < 0:
                found, large = self._inflated(codec, payload, magic)
                if large:
                    yield from self._part(core, whole, first, number, arena[:used])
                    yield from self._large(core, self._batch(whole, positions[number]), found)
                    first = number = number + 1
                    continue
                size = -1 if found is None else len(found)
                if used + size > len(arena):
                    yield from self._part(core, whole, first, number, arena[:used])
                    first = number
                    self._estimate(size, sizes[number])
                    arena, used = self._arena(sizes[number:], size), 0
                if found is not None:
                    arena[used : used + size] = found
            at = number * fields
            entries[at + place] = module.ARENA
            entries[at + at_place] = used
            entries[at + length] = size
            if size < 0 or not self._holds(core, whole, number, arena):
                yield from self._part(core, whole, first, number, arena[:used])
                yield from self._by_records(self._batch(whole, positions[number]))
                first = number + 1
            else:
                used += size
            number += 1
        yield from self._part(core, whole, first, len(kinds), arena[:used])

    def _batch(self, whole: _Chunk, position: int) -> Batch:
        """Return the entry at a position of the chunk."""
        return self._segment.batch_at(whole.start + position, self._cursor)

    def _holds(self, core: Core, whole: _Chunk, number: int, arena: memoryview) -> bool:
        """Return whether a decompressed payload can hold its records; count those of a wrapper."""
        module, entries = core.module, whole.entries
        at = number * module.BATCH_FIELDS
        start, size = entries[at + module.PAYLOAD_POSITION], entries[at + module.PAYLOAD_SIZE]
        count = entries[at + module.ROWS]
        if count >= 0:
            row = bisect_left(whole.table.column(POSITION), entries[at + module.POSITION])
            least: int = core.record_sizes[whole.table.column(KIND)[row]]
            return bool(count * least <= size)
        shift = open_wrapper(core, whole.table, -1 - count, arena[start : start + size])
        if shift is None:
            return False
        whole.shifts[number] = shift
        entries[at + module.ROWS] = shift.count
        return True

    def _estimate(self, size: int, packed: int) -> None:
        """Expect a ratio of twice what was seen."""
        self._ratio = max(self._ratio, 2 * size // max(packed, 1))

    def _arena(self, packed: array[int], size: int = 0) -> memoryview:
        """Allocate ``size`` bytes or more, for as many of the packed payloads as may fit."""
        left = max(self._ratio * sum(packed), _LEAST_ARENA)
        return memoryview(self._allocate(max(size, min(self._wanted.max_bytes, left)))).cast("B")

    def _inflated(self, codec: int, payload: memoryview, magic: int) -> tuple[bytes | None, bool]:
        """Decompress a payload, if it can be held in memory; and whether it is a large one."""
        limit = self._segment.max_output
        try:
            found = compression.decompress(
                codec, payload, magic=magic, max_output=min(limit, HELD_BYTES)
            )
        except KafkaSpecError as error:
            too_large = error.reason is Reason.DECOMPRESSED_TOO_LARGE
            return None, too_large and limit > HELD_BYTES
        return found, len(found) > self._most

    def _part(
        self, core: Core, whole: _Chunk, first: int, last: int, arena: memoryview
    ) -> Iterator[Columns]:
        """Decode some entries whose decompressed payloads are in the arena."""
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
                # The core refused it: reading it as records raises the error, or succeeds.
                position = chunk.start + chunk.entries[first * fields + core.module.POSITION]
                yield from self._add(self._segment.batch_at(position, self._cursor))
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

    # -- large batches ----------------------------------------------------------------------

    def _large(self, core: Core, batch: Batch, payload: Buffer | None) -> Iterator[Columns]:
        """Read a batch in pieces; ``payload`` is what ``Batch.held`` returns."""
        if self._wanted.apart:
            yield from self._add(batch)
            return
        if isinstance(batch, LegacyBatch):
            yield from self._wrapped(core, batch, payload)
            return
        if not isinstance(batch, DefaultBatch) or not batch.num_records:
            yield from self._add(batch)
            return
        yield from self._flush()
        if self._segment.crc == "error" and not batch.crc_valid:
            raise batch.crc_error()
        for piece in batch.pieces(payload):
            yield self._piece(core, batch, piece)

    def _wrapped(self, core: Core, batch: LegacyBatch, payload: Buffer | None) -> Iterator[Columns]:
        """Read a wrapper in pieces, if it is regular."""
        verify = self._segment.crc == "error"
        found = batch.regular(payload, verify=verify)
        if found is None or (verify and not batch.crc_valid):
            yield from self._add(batch)
            return
        yield from self._flush()
        messages, shift = found
        for data in messages:
            sources, position = (batch.data, data), 0
            while position < len(data):
                table = scan(core, data, position, capacity=_MOST_ENTRIES)
                place, rows = (position, table.position - position), table.count
                position = table.position
                columns = decoded(
                    core, sources, rows, self._names, self._layout, self._allocate, place=place
                )
                assert columns is not None, "the messages were surveyed"
                apply_shift(core, shift, columns, 0, rows)
                yield Columns(
                    rows=rows,
                    columns=columns,
                    layout=self._layout,
                    sources=sources,
                    start=batch.position,
                    cut=True,
                    untimed=True,
                )

    def _piece(self, core: Core, batch: DefaultBatch, piece: Piece) -> Columns:
        """Decode some records of a batch as those of a batch that holds no others."""
        message = copy.copy(piece.message)
        setattr(message, batch.kind.payload, b"")
        header = self._segment.codec.serialize(ENTRY, new_entry(message, batch.base_offset))
        sources = (memoryview(header), memoryview(piece.data))
        rows = getattr(message, batch.kind.count)
        found = decoded(core, sources, rows, self._names, self._layout, self._allocate)
        if found is None:
            self._rows.add(batch, self._segment.codec.decode_records(piece.message, piece.data))
            return self._rows.take()
        for name, column in found.items():
            if name.startswith(OF_BATCH) and isinstance(column, IntegerColumn):
                core.module.adjust(column.values, 0, rows, True, fact(batch, name))
        return Columns(
            rows=rows,
            columns=found,
            layout=self._layout,
            sources=sources,
            cut=True,
            untimed=not batch.kind.has_timestamps,
            markers=batch.is_control,
        )

    # -- through records --------------------------------------------------------------------

    def _by_records(self, batch: Batch) -> Iterator[Columns]:
        """Read one entry as records, if it is wanted."""
        wanted, high = self._wanted, self._wanted.end_offset
        stands_alone = not batch.kind.has_record_sets
        wrapper = stands_alone and batch.is_compressed  # its first offset is not known
        if high is not None and not wrapper and batch.base_offset >= high:
            self._done = True
            return
        low, earliest = wanted.start_offset, wanted.start_timestamp
        passed = low is not None and batch.last_offset < low
        passed |= earliest is not None and not stands_alone and batch.max_timestamp < earliest
        if not passed and (wanted.include_control or not batch.is_control):
            large = batch.size > self._most and not stands_alone
            if self._core is not None and large and not self._wanted.apart:
                yield from self._large(self._core, batch, batch.held())
            else:
                yield from self._add(batch)
        self._done |= high is not None and batch.last_offset >= high - 1

    def _add(self, batch: Batch) -> Iterator[Columns]:
        if self._wanted.apart:
            yield Columns(rows=0, columns={}, layout=self._layout, entry=batch.position)
            return
        for records in runs_of(batch.records()):
            self._rows.add(batch, records)
            if self._rows.cost >= self._wanted.max_bytes:
                yield from self._flush()

    def _flush(self) -> Iterator[Columns]:
        if self._rows.rows:
            yield self._rows.take()


def described(core: Core, table: EntryTable, count: int) -> array[int]:
    """Return descriptions of the first entries of a table, for the core to verify and decode.

    They end before the first entry that the core cannot decode in place.

    Args:
        core: the extension.
        table: headers of the entries.
        count: most entries to describe.
    """
    room = array("q", bytes(8 * core.module.BATCH_FIELDS * count))
    module = core.module
    rules = (UNTIMED, LOWEST, 0, LOWEST, module.CONTROL, module.VERIFY, HIGHEST)
    _, number, _, _ = core.module.select(
        table.values, table.capacity, 0, count, core.roles, rules, room
    )
    return room[: number * core.module.BATCH_FIELDS]


def decode_payload(
    core: Core, batch: Batch, payload: Buffer, names: Sequence[str]
) -> dict[str, AnyColumn] | None:
    """Return columns of the records of one batch; None if the core refuses them.

    Args:
        core: the extension.
        batch: a batch with record sets.
        payload: decompressed records of the batch.
        names: names of the columns.
    """
    return decoded(core, (batch.data, payload), batch.num_records or 0, names, Layout.BINARY)


def decoded(
    core: Core,
    sources: tuple[Buffer, Buffer],
    rows: int,
    names: Sequence[str],
    layout: Layout,
    allocate: Allocate = bytearray,
    *,
    place: tuple[int, int] | None = None,
) -> dict[str, AnyColumn] | None:
    """Return columns of records outside of their entry; None if the core refuses them.

    Args:
        core: the extension.
        sources: an entry, of which the header is read, and its records, not compressed.
        rows: number of the records.
        names: names of the columns.
        layout: layout of byte strings.
        allocate: allocates memory.
        place: position and size of the records, if there are others.
    """
    module, (entry, payload) = core.module, sources
    start, size = (0, len(payload)) if place is None else place
    fields = array("q", bytes(8 * module.BATCH_FIELDS))
    fields[module.SIZE], fields[module.ROWS] = len(entry), rows
    fields[module.PAYLOAD], fields[module.PAYLOAD_POSITION] = module.ARENA, start
    fields[module.PAYLOAD_SIZE] = size
    columns = ColumnSet(core, names, rows, layout, size, allocate)
    return columns.result() if columns.decode(sources, fields) else None
