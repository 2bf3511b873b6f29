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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Final

from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.names import UNTIMED
from kafkaspec.codecs.native.scan import EntryTable, scan
from kafkaspec.columns.memory import Columns, ColumnSet, IntegerColumn, Layout, Unpacked, decoded
from kafkaspec.columns.records import RecordColumns, fact, objects_of
from kafkaspec.columns.unpacking import Chunk, Unpacker, apply_shift
from kafkaspec.columns.wanted import LOWEST, OF_BATCH, POSITION, Wanted
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.io.window import LEAST_AHEAD, Allocate
from kafkaspec.layout.framing import ENTRY
from kafkaspec.layout.kinds import new_entry
from kafkaspec.log.batch import Batch, crc_error, held_payload
from kafkaspec.log.damage import ALWAYS_RAISED
from kafkaspec.log.default import DefaultBatch
from kafkaspec.log.header_table import of_scan
from kafkaspec.log.legacy import LegacyBatch
from kafkaspec.log.lookup import start_position
from kafkaspec.log.pieces import PIECE_BYTES, WHOLE_BYTES, Piece, Pieces, runs_of
from kafkaspec.log.segment import Segment
from kafkaspec.model import Buffer

_ENTRY_BYTES: Final = 16 << 10
"""Assumed size of an entry, until some have been read; the size of a table depends on it."""
_MOST_ENTRIES: Final = (1 << 16) - 8  # not a power of two; see log.headers
_IN_C: Final = sys.byteorder == "little"
"""Whether the core can fill Arrow's columns: their views and offsets are little-endian."""


class Reader:
    """Reads a segment into columns, once.

    Attributes:
        position: position in bytes up to which the segment was read.
        ended: whether nothing after what was read is wanted.
    """

    def __init__(
        self,
        segment: Segment,
        names: Sequence[str],
        wanted: Wanted,
        *,
        layout: Layout = Layout.VIEW,
        allocate: Allocate = bytearray,
        unpacked: Unpacked | None = None,
        own: Sequence[str] = (),
        broken: Callable[[KafkaSpecError], object] | None = None,
    ) -> None:
        """Prepare to read.

        Args:
            segment: the segment to read, with its codec.
            names: names of the columns; see ``kafkaspec.columns.wanted``.
            wanted: the records to read.
            layout: layout of byte strings that the core writes; see ``Columns.layout``.
            allocate: allocates memory.
            unpacked: is told of each entry that was decompressed.
            own: names of columns of ``OWN``, whose values are made of objects.
            broken: is told why an entry among others that are decoded together cannot be read;
                they are read without it. Without this, and for other entries, the error is raised.
        """
        self._broken = broken
        self._own = tuple(own)
        self._tell = unpacked
        self._segment = segment
        self._core: Core | None = segment.codec.core if _IN_C and not own else None
        self._names = tuple(names)
        self._wanted = wanted
        self._layout = layout
        self._allocate = allocate
        self._rows = RecordColumns(names, own)
        self._cursor = segment.cursor(allocate, max(LEAST_AHEAD, wanted.max_bytes))
        self.ended = False
        self._entry_bytes = _ENTRY_BYTES
        self._spare: EntryTable | None = None  # the last table: its memory serves the next one
        # A batch with more bytes of records is read in pieces.
        self._most = min(max(wanted.max_bytes, PIECE_BYTES), WHOLE_BYTES)
        self._unpacker = Unpacker(
            segment, self._cursor, wanted.max_bytes, self._most, allocate, unpacked
        )
        self.position = 0

    def batch_at(self, position: int) -> Batch:
        """Return the entry at the position of ``Columns.entry``, before more is read."""
        return self._segment.batch_at(position, self._cursor)

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
        position = max(wanted.start_position, segment.first)
        if wanted.start_offset is not None:
            position = max(position, start_position(segment, wanted.start_offset)[0])
        end = segment.size if wanted.end_position is None else wanted.end_position
        while position < end and not self.ended:
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
                self._measure(batch)
                yield from self._by_records(batch)
                if core is not None or self.ended or position >= end:
                    break  # the core may decode the next entries
            else:
                return

    def _scan(self, core: Core, buffer: memoryview) -> EntryTable:
        """Scan the headers of one chunk only, so that it is still in the cache when decoded."""
        stop = min(self._wanted.max_bytes, len(buffer))
        # Clearing a large table takes longer than filling it.
        room = min(stop // self._entry_bytes * 5 // 4 + 16, _MOST_ENTRIES)
        table = self._spare = scan(core, buffer, 0, stop, room, self._spare)
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
        left_out = self._wanted.aborted.left_out(of_scan(table, self._segment, buffer, base))
        first = 0
        while first < table.count and not self.ended:
            first, number, rows, facts = module.select(
                table.values, table.capacity, first, table.count, core.roles, rules, left_out, room
            )
            if number:
                entries = room[: number * module.BATCH_FIELDS]
                chunk = Chunk(region, base, table, entries, rows, table.position, (region,), facts)
                if facts & module.COMPRESSED:
                    yield from self._unpacked(core, chunk)
                else:
                    yield from self._decode(core, chunk)
            if facts & module.OTHERWISE:
                position = base + table.column(POSITION)[first]
                batch = self._segment.batch_at(position, self._cursor)
                self._measure(batch)
                yield from self._by_records(batch)
                first += 1
            self.ended |= bool(facts & module.ENDED)

    def _rules(self, core: Core) -> tuple[int, ...]:
        """Return the wanted bounds and options as ``select`` takes them."""
        module, wanted = core.module, self._wanted
        options = module.CONTROL if wanted.include_control else 0
        options |= module.APART if wanted.apart else 0
        options |= module.JOINED if wanted.joined else 0
        if wanted.end_offset is not None:
            options |= module.BOUNDED
        limits = (wanted.start_offset, wanted.end_offset, wanted.start_timestamp)
        bounds = (LOWEST if bound is None else bound for bound in limits)
        flags = module.VERIFY if self._segment.crc == "raise" else 0
        return (UNTIMED, *bounds, options, flags, self._most)

    def _unpacked(self, core: Core, chunk: Chunk) -> Iterator[Columns]:
        for part in self._unpacker.parts(core, chunk):
            if isinstance(part, Chunk):
                yield from self._decode(core, part)
            elif part.is_large:
                yield from self._large(core, part.batch, part.payload)
            else:
                yield from self._by_records(part.batch)
            del part  # its memory, before more is allocated

    def _decode(self, core: Core, chunk: Chunk) -> Iterator[Columns]:
        yield from self._flush()
        fields = core.module.BATCH_FIELDS
        count, first = len(chunk.entries) // fields, 0
        while first < count:
            self._segment.check()
            columns = ColumnSet(
                core, self._names, chunk.rows, self._layout, chunk.bytes, self._allocate
            )
            taken = list[range]()
            while True:
                end = columns.decode(chunk.sources, chunk.entries, first)
                taken.append(range(first, end))
                first = end
                if first == count:
                    break
                position = chunk.start + chunk.entries[first * fields + core.module.POSITION]
                if not self._is_broken(position):
                    break
                first += 1
            if columns.filled:
                yield self._columns(core, columns, chunk, chain.from_iterable(taken))
            del columns
            if first < count:
                # The core refused it: reading it as records raises the error, or succeeds.
                yield from self._add(self._segment.batch_at(position, self._cursor))
                yield from self._flush()
                first += 1

    def _columns(
        self, core: Core, columns: ColumnSet, chunk: Chunk, entries: Iterable[int]
    ) -> Columns:
        module = core.module
        found = columns.result()
        if chunk.shifts:
            rows, first = chunk.entries[module.ROWS :: module.BATCH_FIELDS], 0
            for number in entries:
                shift = chunk.shifts.get(number)
                if shift is not None:
                    apply_shift(core, shift, found, first, shift.count)
                first += rows[number]
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

    def _is_broken(self, position: int) -> bool:
        """Return whether an entry that the core refuses cannot be read, and tell why."""
        if self._broken is None:
            return False
        try:
            self._segment.batch_at(position, self._cursor).records()
        except KafkaSpecError as error:
            if error.reason in ALWAYS_RAISED or error.position is None:
                raise
            self._broken(error)
            return True
        return False

    # -- large batches ----------------------------------------------------------------------

    def _large(self, core: Core, batch: Batch, payload: Buffer | None) -> Iterator[Columns]:
        """Read a batch in pieces; ``payload`` is what ``held_payload`` returns."""
        if self._wanted.apart:
            if isinstance(batch, DefaultBatch) and (pieces := self._joined(batch, payload)):
                yield from self._flush()
                yield from (self._piece(core, batch, piece) for piece in pieces)
            else:
                yield from self._add(batch)
            return
        if isinstance(batch, LegacyBatch):
            yield from self._wrapped(core, batch, payload)
            return
        if not isinstance(batch, DefaultBatch) or not batch.num_records:
            yield from self._add(batch)
            return
        yield from self._flush()
        if self._segment.crc == "raise" and not batch.crc_valid:
            raise crc_error(batch)
        for piece in batch.pieces(payload):
            yield self._piece(core, batch, piece)

    def _joined(self, batch: DefaultBatch, payload: Buffer | None) -> Pieces | None:
        """Return the pieces of a large batch that is wanted whole; None if it is the caller's."""
        wanted = self._wanted
        if not wanted.joined or batch.is_control:
            return None
        low, high = wanted.start_offset, wanted.end_offset
        if (low is not None and batch.base_offset < low) or not batch.num_records:
            return None
        if high is not None and batch.last_offset >= high:
            return None
        if self._segment.crc == "raise" and not batch.crc_valid:
            return None
        with suppress(KafkaSpecError):  # the caller reports it
            pieces = batch.pieces(payload)
            if pieces.largest <= WHOLE_BYTES:
                return pieces
        return None

    def _wrapped(self, core: Core, batch: LegacyBatch, payload: Buffer | None) -> Iterator[Columns]:
        """Read a wrapper in pieces, if it is regular."""
        verify = self._segment.crc == "raise"
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
            codec, objects = self._segment.codec, ()
            if self._rows.needs_objects:
                kind, given = batch.kind.record_set, (piece.message,)
                objects = codec.parse(kind, piece.data, parameters=given, complete=True)[0].records
            self._rows.add(batch, codec.decode_records(piece.message, piece.data), objects)
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

    def _measure(self, batch: Batch) -> None:
        """Decompress an entry that is read as records, to tell its size."""
        if self._tell is None or not batch.is_compressed:
            return
        with suppress(KafkaSpecError):  # reading it says why
            size = len(batch.decompressed())
            self._tell(batch.position, len(batch.payload or b""), size)

    # -- through records --------------------------------------------------------------------

    def _by_records(self, batch: Batch) -> Iterator[Columns]:
        """Read one entry as records, if it is wanted."""
        wanted, high = self._wanted, self._wanted.end_offset
        stands_alone = not batch.kind.has_record_sets
        wrapper = stands_alone and batch.is_compressed  # its first offset is not known
        if high is not None and not wrapper and batch.base_offset >= high:
            self.ended = True
            return
        low, earliest = wanted.start_offset, wanted.start_timestamp
        passed = low is not None and batch.last_offset < low
        timed = not stands_alone and not (wanted.apart and batch.is_control)
        passed |= earliest is not None and timed and batch.max_timestamp < earliest
        passed |= wanted.aborted.holds(batch)
        if not passed and (wanted.include_control or not batch.is_control):
            large = batch.size > self._most and not stands_alone
            if self._core is not None and large and not (wanted.apart and batch.is_compressed):
                yield from self._large(self._core, batch, held_payload(batch))
            else:
                yield from self._add(batch)
        self.ended |= high is not None and batch.last_offset >= high - 1

    def _add(self, batch: Batch) -> Iterator[Columns]:
        if self._wanted.apart:
            yield Columns(rows=0, columns={}, layout=self._layout, entry=batch.position)
            return
        objects = objects_of(batch) if self._rows.needs_objects else iter(())
        for records in runs_of(batch.records()):
            self._rows.add(batch, records, list(islice(objects, len(records))))
            if self._rows.cost >= self._wanted.max_bytes:
                yield from self._flush()

    def _flush(self) -> Iterator[Columns]:
        if self._rows.rows:
            yield self._rows.take()
