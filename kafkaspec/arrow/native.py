"""Columns through the native core: headers are scanned, whole batches decoded many at a time.

A chunk is a part of the input and, for what is compressed, an arena that batches are decompressed
into; views point into both. Wrappers of magic 0 and 1 with an oddity, and whatever the core refuses
go through Python, which has the rules and raises the errors.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kafkaspec import compression
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.arrow.chunk import Arena, Chunk
from kafkaspec.arrow.columns import Decoder
from kafkaspec.arrow.rows import Rows, wanted
from kafkaspec.arrow.schema import Place, Request
from kafkaspec.codecs.native import Core, NativeCodec
from kafkaspec.codecs.native.names import BATCH_MAGIC, MAGIC, ROLES
from kafkaspec.codecs.native.scan import EntryTable, scan
from kafkaspec.codecs.native.wrappers import open_wrapper
from kafkaspec.errors import KafkaSpecError
from kafkaspec.io.window import LEAST_AHEAD
from kafkaspec.log.batch import Batch
from kafkaspec.log.lookup import start_position
from kafkaspec.log.segment import Segment

if TYPE_CHECKING:
    from kafkaspec.io.window import Cursor

_RECORD: Final = LAYOUTS["recordbatch.framed_record"].minimum_size
"""Bytes that a record has at least: what a count in a header is held against."""

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


class NativeReader:
    """Reads a segment by columns, once.

    Attributes:
        position: how far it has come.
    """

    def __init__(self, segment: Segment, codec: NativeCodec, request: Request, place: Place):
        """Args: what is read and how, what is wanted, what the directory says."""
        self._segment = segment
        self._core: Core = codec.core
        self._request = request
        self._rows = Rows(request, place, codec)
        self._decoder = Decoder(codec.core, request, place, segment)
        most = max(LEAST_AHEAD, request.max_bytes)
        self._cursor: Cursor = segment.cursor(pa.allocate_buffer, most)
        self._done = False
        self._entry_bytes = _ENTRY_BYTES
        self._ratio = _RATIO
        self._roles = tuple(codec.core.scan_names.index(name) for name in ROLES)
        self._rules = self._rules_of(request)
        self.position = 0

    def _rules_of(self, request: Request) -> tuple[int, ...]:
        """What is wanted, as ``select`` takes it."""
        module = self._core.module
        options = module.CONTROL if request.include_control else 0
        if request.end_offset is not None:
            options |= module.BOUNDED
        limits = (request.start_offset, request.end_offset, request.start_timestamp)
        bounds = (_LOWEST if bound is None else bound for bound in limits)
        flags = module.VERIFY if self._segment.crc == "error" else 0
        return (BATCH_MAGIC, _RECORD, *bounds, options, flags)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._read()
        except KafkaSpecError:
            yield from self._flush()  # what lies before the error
            raise
        yield from self._flush()

    def _read(self) -> Iterator[pa.RecordBatch]:
        segment = self._segment
        position = self._request.start_position
        if self._request.start_offset is not None:
            position = max(position, start_position(segment, self._request.start_offset)[0])
        while position < segment.size and not self._done:
            segment.check()
            self.position = position
            buffer, base = segment.around(self._cursor, position)
            buffer = buffer[position - base :]
            table = self._scan(buffer)
            if table.count == 0:
                # No entry that the core takes. Python says what it is, and may go on behind it.
                batch = next(segment.batches(position), None)
                if batch is None:
                    return
                yield from self._by_python(batch)
                position = batch.end
            else:
                yield from self._table(table, buffer, position)
                position += table.position

    def _scan(self, buffer: memoryview) -> EntryTable:
        """Headers as far as a chunk reaches, so that they are in the cache when it is decoded."""
        stop = min(self._request.max_bytes, len(buffer))
        # To clear a large table takes longer than to fill it.
        room = min(stop // self._entry_bytes * 5 // 4 + 16, _MOST_ENTRIES)
        table = scan(self._core, buffer, 0, stop, room)
        if table.count == 0 and stop < len(buffer):
            table = scan(self._core, buffer, 0, len(buffer), 1)
        if table.count:
            self._entry_bytes = max(1, table.position // table.count)
        return table

    # -- what is decoded together -----------------------------------------------------------

    def _table(self, table: EntryTable, buffer: memoryview, base: int) -> Iterator[pa.RecordBatch]:
        """The entries of a table: as many at a time as the core takes."""
        module = self._core.module
        region = buffer[: table.position]
        room = array("q", bytes(8 * module.BATCH_FIELDS * table.count))
        first = 0
        while first < table.count and not self._done:
            first, number, rows, facts = module.select(
                table.values, table.capacity, first, table.count, self._roles, self._rules, room
            )
            if number:
                entries = room[: number * module.BATCH_FIELDS]
                chunk = Chunk(region, base, table, entries, rows, table.position, (region,))
                chunk.cut = bool(facts & module.CUT)
                chunk.odd = bool(facts & module.OLDEST)
                chunk.markers = bool(facts & module.MARKERS)
                decode = self._unpack if facts & module.COMPRESSED else self._decode
                yield from decode(chunk)
            if facts & module.OTHERWISE:
                position = base + table.column("position")[first]
                yield from self._by_python(self._segment.batch_at(position, self._cursor))
                first += 1
            self._done = bool(facts & module.ENDED)

    def _unpack(self, whole: Chunk) -> Iterator[pa.RecordBatch]:
        """Decompress what is compressed, and decode as much at a time as an arena holds."""
        module = self._core.module
        fields, entries, region = module.BATCH_FIELDS, whole.entries, whole.region
        place, at_place, length, rows = (
            module.PAYLOAD, module.PAYLOAD_POSITION, module.PAYLOAD_SIZE, module.ROWS
        )  # fmt: skip
        kinds, starts, sizes, counts = (
            entries[field::fields] for field in (place, at_place, length, rows)
        )
        magics = whole.table.column(MAGIC)
        most = self._segment.max_output
        arena = Arena(0)
        room, used = arena.room, 0
        first = 0  # entry of the chunk that is being put together
        last: tuple[int, int] | None = None
        for number, kind in enumerate(kinds):
            if kind == _IN_ENTRY:
                continue
            if number % _CHECKED == 0:
                self._segment.check()
            start, count = starts[number], counts[number]
            payload = region[start : start + sizes[number]]
            magic = BATCH_MAGIC if count >= 0 else magics[-1 - count]
            if last != (kind, magic):
                last = kind, magic
                into = compression.into(-1 - kind, magic)
            size = into(payload, room[used : used + most]) if room else -1
            if size < 0:  # not what producers write, or broken, or too large for what is left
                found = self._inflated(-1 - kind, payload, magic)
                size = -1 if found is None else len(found)
                if used + size > len(room):
                    arena.used = used
                    yield from self._part(whole, first, number, arena)
                    first = number
                    arena = self._arena(size, sizes[number:])
                    room, used = arena.room, 0
                if found is not None:
                    room[used : used + size] = found
            at = number * fields
            if count < 0 <= size:  # a wrapper: its number in the table
                data = room[used : used + size]
                shift = open_wrapper(self._core, whole.table, -1 - count, data)
                if shift is not None:
                    whole.shifts[number] = shift
                    count = entries[at + rows] = shift.count
            if count < 0 or count * _RECORD > size:
                arena.used = used
                yield from self._part(whole, first, number, arena)
                first = number + 1
                position = whole.start + entries[at + module.POSITION]
                yield from self._by_python(self._segment.batch_at(position, self._cursor))
                continue
            entries[at + place] = _ARENA
            entries[at + at_place] = used
            entries[at + length] = size
            used += size
        arena.used = used
        yield from self._part(whole, first, len(kinds), arena)

    def _arena(self, size: int, packed: array[int]) -> Arena:
        """An arena for ``size`` bytes and what else may fit of payloads of these sizes."""
        self._ratio = max(self._ratio, 2 * size // packed[0])
        left = max(self._ratio * sum(packed), _LEAST_ARENA)
        return Arena(max(size, min(self._request.max_bytes, left)))

    def _inflated(self, codec: int, payload: memoryview, magic: int) -> bytes | None:
        """A payload decompressed, None if that is refused or more than views reach."""
        try:
            found = compression.decompress(
                codec, payload, magic=magic, max_output=self._segment.max_output
            )
        except KafkaSpecError:
            return None
        return found if len(found) <= _MOST_PAYLOAD else None

    def _part(self, whole: Chunk, first: int, last: int, arena: Arena) -> Iterator[pa.RecordBatch]:
        """Decode some entries, what is compressed of which lies in the arena."""
        if first == last:
            return
        module = self._core.module
        entries = whole.entries[first * module.BATCH_FIELDS : last * module.BATCH_FIELDS]
        rows = sum(entries[module.ROWS :: module.BATCH_FIELDS])
        size = sum(entries[module.SIZE :: module.BATCH_FIELDS]) + arena.used
        sources = (whole.region, arena.room[: arena.used])
        numbers = range(first, last) if whole.shifts else ()
        shifts = {n - first: whole.shifts[n] for n in numbers if n in whole.shifts}
        yield from self._decode(
            replace(whole, entries=entries, rows=rows, bytes=size, sources=sources, shifts=shifts)
        )

    def _by_python(self, batch: Batch) -> Iterator[pa.RecordBatch]:
        """One entry through record objects."""
        if batch.is_control and not self._request.include_control:
            return
        self._rows.add(batch, wanted(batch.records(), self._request))
        if self._rows.cost >= self._request.max_bytes:
            yield from self._flush()

    # -- decoding ---------------------------------------------------------------------------

    def _flush(self) -> Iterator[pa.RecordBatch]:
        if self._rows.rows:
            yield self._rows.take(self._segment.name)

    def _decode(self, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        yield from self._flush()
        fields = self._core.module.BATCH_FIELDS
        first = 0
        while first * fields < len(chunk.entries):
            self._segment.check()
            made, first = self._decoder.decode(chunk, first)
            if made.num_rows:
                yield made
            del made
            if first * fields < len(chunk.entries):
                # Refused: Python raises the error, or is more lenient.
                position = chunk.start + chunk.entries[first * fields + self._core.module.POSITION]
                batch = self._segment.batch_at(position, self._cursor)
                self._rows.add(batch, wanted(batch.records(), self._request))
                yield from self._flush()
                first += 1
