"""Columns through the native core: headers are scanned, whole batches decoded many at a time.

A chunk is a part of the input and, for what is compressed, an arena that batches are decompressed
into; views point into both. Control batches, legacy wrappers, and whatever the core refuses go
through Python, which has the rules and raises the errors.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kafkaspec import compression
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.arrow.columns import Decoder
from kafkaspec.arrow.rows import Rows, wanted
from kafkaspec.arrow.schema import Place, Request
from kafkaspec.codecs.native import Core, NativeCodec
from kafkaspec.codecs.native.scan import End, EntryTable, scan
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.lookup import start_position
from kafkaspec.log.segment import Segment
from kafkaspec.log.window import LEAST_AHEAD

if TYPE_CHECKING:
    from kafkaspec.log.window import Cursor

_RECORD: Final = LAYOUTS["recordbatch.framed_record"].minimum_size
"""Bytes that a record has at least: what a count in a header is held against."""

_MOST_REGION: Final = 1 << 30  # views reach 2 GiB
_LEAST_ARENA: Final = 64 << 10
_INPUT, _ARENA = 0, 1
_DEFAULT: Final = 2
"""Magic of record batches."""


@dataclass
class Chunk:
    """Entries that are decoded together.

    Attributes:
        buffer: a part of the input.
        base: position of its first byte in the input.
        start: position of the first entry.
        end: position behind the last one.
        entries: what the core is told of each.
        rows: number of records.
        bytes: of the entries after decompression.
        arena: what was decompressed, None if nothing is.
        used: bytes of it.
        cut: whether some records are outside of the range of offsets that is wanted.
        odd: whether there are messages of magic 0, whose timestamp type says nothing.
    """

    buffer: memoryview
    base: int
    start: int
    end: int = 0
    entries: array[int] = field(default_factory=lambda: array("q"))
    rows: int = 0
    bytes: int = 0
    arena: pa.Buffer | None = None
    used: int = 0
    cut: bool = False
    odd: bool = False

    @property
    def sources(self) -> tuple[memoryview, ...]:
        """The buffers of the entries, by number."""
        region = self.buffer[self.start - self.base : self.end - self.base]
        return (region,) if self.arena is None else (region, memoryview(self.arena)[: self.used])


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
        self._verify = codec.core.module.VERIFY if segment.crc == "error" else 0
        most = max(LEAST_AHEAD, request.max_bytes)
        self._cursor: Cursor = segment.cursor(pa.allocate_buffer, most)
        self._chunk: Chunk | None = None
        self._done = False
        self._room = 256
        self.position = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._read()
        except KafkaSpecError:
            yield from self._flush()  # what lies before the error
            raise
        yield from self._flush()

    def _read(self) -> Iterator[pa.RecordBatch]:
        segment = self._segment
        position = 0
        if self._request.start_offset is not None:
            position = start_position(segment, self._request.start_offset)[0]
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
                plain = self._plain_chunk(table, buffer, position)
                if plain is not None:
                    yield from self._flush()
                    yield from self._decode(plain)
                else:
                    yield from self._entries(table, buffer, position)
                position += table.position

    def _scan(self, buffer: memoryview) -> EntryTable:
        """Headers as far as a chunk reaches, so that they are in the cache when it is decoded."""
        stop = min(self._request.max_bytes, len(buffer))
        table = scan(self._core, buffer, 0, stop, self._room)
        if table.count == 0 and stop < len(buffer):
            table = scan(self._core, buffer, 0, len(buffer), 1)
        full = table.end is End.FULL
        # To clear a large table takes longer than to fill it.
        self._room = min(4 * self._room if full else table.count * 5 // 4 + 16, 1 << 16)
        return table

    # -- a block that is one chunk as it stands ---------------------------------------------

    def _is_plain(self, table: EntryTable) -> bool:
        """Whether all entries are uncompressed batches of data, and wanted as a whole."""
        request = self._request
        if request.by_timestamp or not _all(table.column("magic"), _DEFAULT):
            return False
        if not _all(table.column("attributes.compression"), 0):
            return False
        if not _all(table.column("attributes.is_control"), 0):
            return False
        low, high = request.start_offset, request.end_offset
        if low is not None and min(table.column("base_offset")) < low:
            return False
        return high is None or max(table.column("last_offset")) < high

    def _plain_chunk(self, table: EntryTable, buffer: memoryview, base: int) -> Chunk | None:
        """All entries as one chunk, None where they must be looked at one by one."""
        if not self._is_plain(table):
            return None
        rows = sum(table.column("num_records"))
        size = table.position
        if rows * _RECORD > size:
            return None
        fields = self._core.module.BATCH_FIELDS
        entries = array("q", bytes(8 * fields * table.count))
        with memoryview(entries) as view:
            view[1::fields] = table.column("position")
            view[2::fields] = table.column("size")
            view[3::fields] = memoryview(array("q", [-1]) * table.count)
            view[6::fields] = table.column("num_records")
            view[7::fields] = memoryview(array("q", [self._verify]) * table.count)
        return Chunk(buffer, base, base, base + size, entries, rows, size)

    # -- entry by entry ---------------------------------------------------------------------

    def _entries(
        self, table: EntryTable, buffer: memoryview, base: int
    ) -> Iterator[pa.RecordBatch]:
        names = (
            "position", "size", "magic", "attributes.compression", "num_records", "last_offset",
            "base_offset", "offset", "max_timestamp", "attributes.is_control", "records.position",
            "records.size",
        )  # fmt: skip
        low, high = self._request.start_offset, self._request.end_offset
        earliest = self._request.start_timestamp
        columns = [table.column(name) for name in names]
        for entry in zip(*columns, strict=True):
            (position, size, magic, codec, count, last, first, offset, latest, control, start,
             payload_size) = entry  # fmt: skip
            default = magic == _DEFAULT
            if not default:
                first = last = offset
            if high is not None and first >= high and (default or not codec):
                self._done = True
                return
            ended = high is not None and last >= high - 1
            skipped = low is not None and last < low
            if default:
                skipped |= bool(control) and not self._request.include_control
                skipped |= earliest is not None and latest < earliest
            if skipped:
                if ended:
                    self._done = True
                    return
                continue
            cut = (low is not None and first < low) or (high is not None and last >= high)
            added = False
            if default and not control:
                packed = bool(codec) and count > 0
                place = (start, payload_size) if packed else None
                limit = count * _RECORD
                if packed or limit <= payload_size or not count:
                    descriptor = [_INPUT, position, size, -1, 0, 0, count, self._verify]
                    added = yield from self._add(buffer, base, descriptor, codec, place, cut)
            elif not default and not codec:
                descriptor = [_INPUT, position, size, -1, 0, 0, 1, self._verify]
                added = yield from self._add(buffer, base, descriptor, 0, None, cut)
                if self._chunk is not None:
                    self._chunk.odd |= magic == 0
            if not added:
                yield from self._by_python(self._segment.batch_at(base + position, self._cursor))
            if ended:
                self._done = True
                return

    def _add(
        self,
        buffer: memoryview,
        base: int,
        entry: list[int],
        codec: int,
        place: tuple[int, int] | None,
        cut: bool,
    ) -> Generator[pa.RecordBatch, None, bool]:
        """Put an entry into the chunk; whether that could be done."""
        payload: bytes | None = None
        if place is not None:
            self._segment.check()
            try:
                payload = compression.decompress(
                    codec,
                    buffer[place[0] : place[0] + place[1]],
                    magic=_DEFAULT,
                    max_output=self._segment.max_output,
                )
            except KafkaSpecError:
                return False
            if entry[6] * _RECORD > len(payload) or len(payload) > _MOST_REGION:
                return False
        size = entry[2] if payload is None else len(payload)
        if self._rows.rows or not self._fits(buffer, base + entry[1] + entry[2], size, payload):
            yield from self._flush()
        if self._chunk is None:
            self._chunk = Chunk(buffer, base, base + entry[1])
        chunk = self._chunk
        if payload is not None:
            if chunk.arena is None:
                chunk.arena = pa.allocate_buffer(self._arena_size(entry[2], len(payload)))
            memoryview(chunk.arena).cast("B")[chunk.used : chunk.used + len(payload)] = payload
            entry[3:6] = [_ARENA, chunk.used, len(payload)]
            chunk.used += len(payload)
        entry[1] += base - chunk.start
        chunk.end = chunk.start + entry[1] + entry[2]
        chunk.entries.extend(entry)
        chunk.rows += entry[6]
        chunk.bytes += size
        chunk.cut |= cut
        return True

    def _fits(self, buffer: memoryview, end: int, size: int, payload: bytes | None) -> bool:
        chunk = self._chunk
        if chunk is None:
            return True
        if chunk.buffer is not buffer or end - chunk.start > _MOST_REGION:
            return False
        if payload is not None and chunk.arena is not None and chunk.used + size > chunk.arena.size:
            return False
        return chunk.bytes + size <= self._request.max_bytes

    def _arena_size(self, packed: int, size: int) -> int:
        """Bytes for an arena: all that a chunk may have, less for what is left of a small file."""
        left = self._segment.size * max(4, 2 * size // packed)
        return max(size, min(self._request.max_bytes, max(left, _LEAST_ARENA)))

    def _by_python(self, batch: Any) -> Iterator[pa.RecordBatch]:
        """One entry through record objects."""
        if self._chunk is not None:
            yield from self._flush()
        if batch.is_control and not self._request.include_control:
            return
        self._rows.add(batch, wanted(batch.records(), self._request))
        if self._rows.cost >= self._request.max_bytes:
            yield from self._flush()

    # -- decoding ---------------------------------------------------------------------------

    def _flush(self) -> Iterator[pa.RecordBatch]:
        chunk, self._chunk = self._chunk, None
        if chunk is not None:
            yield from self._decode(chunk)
        if self._rows.rows:
            yield self._rows.take(self._segment.name)

    def _decode(self, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        fields = self._core.module.BATCH_FIELDS
        first = 0
        while first * fields < len(chunk.entries):
            self._segment.check()
            made, first = self._decoder.decode(chunk.sources, chunk.entries, first, chunk)
            if made.num_rows:
                yield made
            del made
            if first * fields < len(chunk.entries):
                # Refused: Python raises the error, or is more lenient.
                position = chunk.start + chunk.entries[first * fields + 1]
                batch = self._segment.batch_at(position, self._cursor)
                self._rows.add(batch, wanted(batch.records(), self._request))
                if self._rows.rows:
                    yield self._rows.take(self._segment.name)
                first += 1


def _all(column: memoryview, value: int) -> bool:
    return column.tobytes() == value.to_bytes(8, "little") * len(column)
