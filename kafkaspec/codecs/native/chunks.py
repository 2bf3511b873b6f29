"""A buffer of log entries as columns, chunk by chunk: planned from headers, decoded in one call.

A chunk is a run of whole batches of bounded size. What is compressed is decompressed into one more
buffer, the arena, which views point into as they point into the input.

Entries that the core cannot take (bytes that no reader takes, wrappers of magic 0 and 1 with one of
the oddities that Kafka forgives) go to the caller's ``rescue``: it raises the error that the entry
deserves, or returns the records, which join the columns in their place.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kafkaspec import compression
from kafkaspec.codecs.native.codec import NativeCodec
from kafkaspec.codecs.native.columns import (
    Allocate,
    AnyColumn,
    ColumnSet,
    IntegerColumn,
    Layout,
)
from kafkaspec.codecs.native.names import (
    BATCH_POSITION,
    COMPRESSION,
    MAGIC,
    POSITION,
    RECORDS,
    ROWS,
    SIZE,
    VALUE,
)
from kafkaspec.codecs.native.scan import End, EntryTable, scan
from kafkaspec.codecs.native.wrappers import Shift, apply_shifts, open_wrapper
from kafkaspec.compression import DEFAULT_MAX_OUTPUT
from kafkaspec.errors import KafkaSpecError
from kafkaspec.model import Record

if TYPE_CHECKING:
    from typing_extensions import Buffer

CHUNK_BYTES: Final = 8 << 20
"""Input of a chunk: large enough that Python does not show, small enough to stay in caches."""

PAYLOADS: Final = (RECORDS, VALUE)
"""Columns of a scan that say where what may be compressed lies, of either kind of entry."""

_RATIO: Final = 4
"""Times that an arena is at first larger than what goes into it."""

_ARENA: Final = 1
"""Number of the buffer that is decompressed into; 0 is the input."""

Rescue = Callable[[int], list[Record]]
"""Given the position of an entry: its records, or the error that it deserves."""


@dataclass
class Columns:
    """Columns of some records.

    Attributes:
        rows: number of records.
        columns: by name.
        sources: buffers that views point into, by their number.
        start: position of the first entry.
        end: position behind the last one.
    """

    rows: int
    columns: dict[str, AnyColumn]
    sources: tuple[Buffer, ...]
    start: int
    end: int


@dataclass
class Chunk:
    """Whole entries that are decoded together.

    Attributes:
        start: position of the first entry in the input.
        end: position behind the last one.
        rows: records, before wrappers are opened.
        batches: descriptions of the entries, for the core.
        compressed: number of entries to decompress.
        first: number of the first entry in the table.
        table: the headers.
        shifts: what wrappers do to their rows, by number of the entry.
    """

    start: int
    end: int
    rows: int
    batches: array[int]
    compressed: int
    first: int
    table: EntryTable
    shifts: dict[int, Shift] = field(default_factory=dict)


class ChunkReader:
    """Reads columns from a buffer of whole entries.

    Args:
        codec: the native codec.
        buffer: the bytes; a part of a mapped file for instance.
        rescue: reads an entry that the core refuses. By default the Python codec says what is wrong
            with it.
        verify: whether checksums are verified; a wrong one goes to ``rescue`` too.
        max_output: bytes that one batch may decompress to.
        chunk_bytes: input of a chunk; a single batch may be larger.

    Attributes:
        end: why the last plan ended.
        position: where it ended.
    """

    def __init__(
        self,
        codec: NativeCodec,
        buffer: Buffer,
        *,
        rescue: Rescue | None = None,
        verify: bool = True,
        max_output: int = DEFAULT_MAX_OUTPUT,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        self.codec = codec
        self.core = codec.core
        self.buffer = memoryview(buffer).cast("B")
        self._rescue = rescue or self._explain
        self._verify = verify
        self._max_output = max_output
        self._chunk_bytes = chunk_bytes
        self.end = End.COMPLETE
        self.position = 0

    def plan(self, start: int = 0, end: int | None = None) -> Iterator[Chunk]:
        """Chunks of the entries between two positions; ends where the regular entries do.

        Headers are scanned as far as a chunk reaches, so that they are still in the cache when it
        is read. Afterwards ``end`` says why there are no more entries, ``position`` where that is.
        """
        stop = len(self.buffer) if end is None else end
        window, room = self._chunk_bytes, 256
        while True:
            reach = min(start + window, stop)
            # Room for what the last window had and some more: to clear a large table takes longer
            # than to fill it.
            table = scan(self.core, self.buffer, start, reach, room)
            yield from self.chunks(table)
            self.end, self.position = table.end, table.position
            if table.end is End.IRREGULAR or (reach == stop and table.end is not End.FULL):
                return
            # An entry may be larger than the window.
            window = self._chunk_bytes if table.count else 4 * window
            room = 4 * room if table.end is End.FULL else table.count * 5 // 4 + 16
            start = table.position

    def chunks(self, table: EntryTable) -> Iterator[Chunk]:
        """Chunks of the entries of a table of headers."""
        module = self.core.module
        width = 8 * module.BATCH_FIELDS
        batches = memoryview(bytearray(width * table.count))
        found = module.plan(
            table.values,
            table.present,
            table.capacity,
            table.count,
            table.names.index(ROWS),
            table.names.index(COMPRESSION),
            self._chunk_bytes,
            module.VERIFY if self._verify else 0,
            batches,
        )
        for first, last, start, end, rows, compressed in found:
            part = array("q", batches[width * first : width * last].tobytes())
            yield Chunk(start, end, rows, part, compressed, first, table)

    def read(
        self,
        chunk: Chunk,
        names: Sequence[str],
        layout: Layout = Layout.VIEW,
        allocate: Allocate = bytearray,
    ) -> Columns:
        """The columns of a chunk.

        Args:
            chunk: from ``plan``.
            names: columns, as the core calls them; a list brings what is in it.
            layout: of byte strings.
            allocate: where memory comes from.

        Raises:
            KafkaSpecError: from ``rescue``.
        """
        view = self.buffer[chunk.start : chunk.end]
        chunk = Chunk(**{**vars(chunk), "batches": chunk.batches[:], "shifts": {}})
        arena: Buffer = self._open(chunk, allocate) if chunk.compressed else b""
        while True:
            sources = (view, arena)
            columns, refused = self._decode(chunk, sources, names, layout, allocate)
            if refused is None:
                break
            arena = self._replace(chunk, refused, arena)
        found = columns.result()
        entries = range(len(chunk.batches) // self.core.module.BATCH_FIELDS)
        apply_shifts(self.core, chunk.shifts, chunk.batches, entries, found)
        _correct_positions(found, chunk.start, columns.filled)
        return Columns(columns.filled, found, sources, chunk.start, chunk.end)

    def _decode(
        self,
        chunk: Chunk,
        sources: tuple[Buffer, ...],
        names: Sequence[str],
        layout: Layout,
        allocate: Allocate,
    ) -> tuple[ColumnSet, int | None]:
        """The columns, and the entry that was refused."""
        module = self.core.module
        size = sum(memoryview(source).nbytes for source in sources)
        columns = ColumnSet(self.core, names, chunk.rows, layout, size, allocate)
        count = len(chunk.batches) // module.BATCH_FIELDS
        first = 0
        while True:
            status, failed, _ = module.decode(
                sources,
                chunk.batches,
                first,
                count - first,
                layout,
                tuple(columns.outputs),
                columns.capacities,
                columns.state,
            )
            if status == module.OK:
                return columns, None
            if status != module.GROW:
                return columns, failed
            columns.grow()
            first = failed

    def _open(self, chunk: Chunk, allocate: Allocate) -> memoryview:
        """Decompress what is compressed, one payload behind the other; the arena."""
        module = self.core.module
        width = module.BATCH_FIELDS
        arena = memoryview(allocate(_RATIO * (chunk.end - chunk.start))).cast("B")
        at = rows = 0
        for number in range(len(chunk.batches) // width):
            b = number * width
            if chunk.batches[b + module.PAYLOAD] == -2:
                arena, size = self._decompressed(chunk, chunk.first + number, arena, at, allocate)
                if size < 0:
                    chunk.batches[b + module.PAYLOAD] = -1
                    chunk.batches[b + module.ROWS] = -1  # refused by the core, and so rescued
                else:
                    chunk.batches[b + module.PAYLOAD] = _ARENA
                    chunk.batches[b + module.PAYLOAD_POSITION] = at
                    chunk.batches[b + module.PAYLOAD_SIZE] = size
                    self._open_wrapper(chunk, number, arena[at : at + size])
                    at += size
            rows += max(chunk.batches[b + module.ROWS], 0)
        chunk.rows = rows
        return arena[:at]

    def _decompressed(
        self, chunk: Chunk, entry: int, arena: memoryview, at: int, allocate: Allocate
    ) -> tuple[memoryview, int]:
        """One payload put into the arena, or into a larger one.

        Returns:
            The arena, and the bytes of the payload, -1 if it is refused.
        """
        found = self._payload(chunk.table, entry)
        if found is None:
            return arena, -1
        codec, magic, payload = found
        size = compression.into(codec, magic)(payload, arena[at : at + self._max_output])
        if size >= 0:
            return arena, size
        try:
            output = compression.decompress(
                codec, payload, magic=magic, max_output=self._max_output
            )
        except KafkaSpecError:
            return arena, -1
        size = len(output)
        if at + size > len(arena):
            larger = memoryview(allocate(2 * (at + size))).cast("B")
            larger[:at] = arena[:at]
            arena = larger
        arena[at : at + size] = output
        return arena, size

    def _payload(self, table: EntryTable, entry: int) -> tuple[int, int, memoryview] | None:
        """What is compressed in an entry, with its codec and magic."""
        for name in PAYLOADS:
            if table.has(f"{name}.{SIZE}", entry):
                start = table.column(f"{name}.{POSITION}")[entry]
                size = table.column(f"{name}.{SIZE}")[entry]
                if size < 0:
                    return None
                payload = self.buffer[start : start + size]
                return table.column(COMPRESSION)[entry], table.column(MAGIC)[entry], payload
        return None

    def _open_wrapper(self, chunk: Chunk, number: int, payload: memoryview) -> None:
        entry = chunk.first + number
        table = chunk.table
        if table.has(ROWS, entry):
            return
        module = self.core.module
        b = number * module.BATCH_FIELDS
        found = open_wrapper(self.core, table, entry, payload)
        if found is None:
            chunk.batches[b + module.ROWS] = -1
            return
        chunk.batches[b + module.ROWS] = found.count
        chunk.batches[b + module.FLAGS] |= module.ENTRIES
        chunk.shifts[number] = found

    def _replace(self, chunk: Chunk, number: int, arena: Buffer) -> bytes:
        """Put records in the place of an entry that the core refused; the new arena."""
        module = self.core.module
        width = module.BATCH_FIELDS
        b = number * width
        before = bytes(arena)
        records = self._rescue(chunk.start + chunk.batches[b + module.POSITION])
        entry = self.codec.batch_of(records)
        rows = max(chunk.batches[b + module.ROWS], 0)
        chunk.batches[b : b + width] = array(
            "q", [_ARENA, len(before), len(entry), -1, 0, 0, len(records), 0]
        )
        chunk.rows += len(records) - rows
        chunk.shifts.pop(number, None)
        return before + entry

    def _explain(self, position: int) -> list[Record]:
        return self.codec.explain(self.buffer, position, verify=self._verify)


def _correct_positions(found: dict[str, AnyColumn], start: int, rows: int) -> None:
    """The core counts from the first byte of the chunk; users from that of the input."""
    column = found.get(BATCH_POSITION)
    if start and isinstance(column, IntegerColumn):
        values = memoryview(column.values).cast("B").cast("q")
        for row in range(rows):
            values[row] += start
