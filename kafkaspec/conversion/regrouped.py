"""Put the records of batches into new batches by columns, many at a time.

Only regular batches are handled here: without producer, transaction or unknown fields, and with
headers that say what their records do. All others go one by one through ``conversion.entries``,
which implements the rules and raises the errors; both share the records that wait for more.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, groupby
from typing import Any, Final, NamedTuple

from kafkaspec import compression as compressions
from kafkaspec._generated.python.model.recordbatch import CompressionType
from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.scan import (
    EntryTable,
    blank_table,
    header_size,
    put_headers,
    put_payloads,
)
from kafkaspec.columns.conditions import BEFORE, Compare, Condition, Marks
from kafkaspec.columns.memory import Columns, Layout
from kafkaspec.columns.reader import Reader
from kafkaspec.columns.wanted import OF_BATCH, POSITION, SIZE, Wanted
from kafkaspec.conversion.drafts import Draft, Shared, Traits, write
from kafkaspec.conversion.fields import default_columns, fields_outside, holds_only, own_fields
from kafkaspec.conversion.message_columns import RecordRows, Slice
from kafkaspec.conversion.ranges import KNOWN, BatchChunk, BatchRange, ByRanges, last_of
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.log.batch import NONE
from kafkaspec.log.encoding import MOST_DELTA, RECORD_OVERHEAD
from kafkaspec.log.pieces import WHOLE_BYTES
from kafkaspec.log.segment import Segment
from kafkaspec.log.selection import is_timely
from kafkaspec.model import Buffer

_MOST_BATCH: Final = WHOLE_BYTES
"""Largest size of new batches that are made here."""
_WHOLE: Final = 1 << 62
"""More than the size of any batch."""


class _Part(NamedTuple):
    """Rows of one batch that stay together.

    Attributes:
        size: their size in bytes, as ``batch_bytes`` counts it.
        timestamp: their largest timestamp in ms.
    """

    first: int
    last: int
    size: int
    timestamp: int
    compression: int
    leader_epoch: int


_FIRST, LAST, _SIZE = map(_Part._fields.index, ("first", "last", "size"))
_FACTS = names.BASE_OFFSET, names.LAST_OFFSET, names.BASE_TIMESTAMP, names.MAX_TIMESTAMP
_OTHER, _ORDER = 1, 2
"""Marks of batches that are not regular; an order that is not right has its own."""
_OFFSET, _DELTA, _BASE, _COUNT, _PART = range(len(_Part._fields), len(_Part._fields) + 5)
"""What is known of a part that becomes a batch beside a ``_Part``: first offset, difference to the
last one, first timestamp, number of rows; and of how many numbers that makes."""


@dataclass(frozen=True, slots=True)
class RecordParts:
    """Parts ``first`` to ``end`` of columns of ``_PART`` numbers, one column after the other."""

    numbers: memoryview
    first: int
    end: int

    def __len__(self) -> int:
        return self.end - self.first

    def __getitem__(self, number: int) -> _Part:
        room = len(self.numbers) // _PART
        at = (self.end if number < 0 else self.first) + number
        return _Part(*self.numbers[at : room * len(_Part._fields) : room])

    def column(self, field: int) -> memoryview:
        """Return a number of all parts."""
        start = len(self.numbers) // _PART * field
        return self.numbers[start + self.first : start + self.end]


@dataclass(frozen=True, slots=True)
class RecordChunk(BatchChunk):
    """Records of batches in columns, in parts that may be combined."""

    rows: RecordRows
    parts: RecordParts


@dataclass(frozen=True, slots=True)
class RecordGroups:
    """New batches of the rows of a chunk.

    Attributes:
        before: entries that come before them.
        parts: what becomes a batch each: consecutive parts together.
    """

    before: bytes
    rows: RecordRows
    parts: RecordParts
    kind: EntryKind


class Regrouped(ByRanges):
    """The fast path for new batches. It writes the same bytes as that of entries."""

    def __init__(self, shared: Shared) -> None:
        """Share the state of the path of entries."""
        super().__init__(shared)
        self._limit = self._choices.batch_bytes
        self._most = max(self._most, min(4 * (self._limit or 0), WHOLE_BYTES))

    @property
    def available(self) -> bool:
        if self._core is None or self._choices.by_time:
            return False
        # Without a limit, the others stay as they are.
        return self._offsets.renumbers if self._limit is None else self._limit <= _MOST_BATCH

    # -- reading ----------------------------------------------------------------------------

    def _regular(
        self, table: EntryTable, kind: EntryKind, after: int | None
    ) -> tuple[int, Sequence[int] | None]:
        """Return the number of leading batches that are regular, and their new compressions."""
        core, wanted = self._core, self._choices.codec_id
        assert core is not None
        target = self._choices.kind or kind
        with_gaps = self._limit is None and target is kind
        conditions = _conditions(
            core, kind, target.magic, wanted, self._low, self._high, with_gaps=with_gaps
        )
        if conditions is None:
            return 0, None
        marks = conditions.of(core, table.column, table.count)
        if marks and (after is None or table.column(names.BASE_OFFSET)[0] > after):
            marks[0] &= ~_ORDER
        count = len(marks) - len(marks.lstrip(b"\0"))
        if wanted is None:
            return count, table.column(names.COMPRESSION)[:count]
        return count, array("q", [wanted]) * count

    def read(self, source: BatchRange) -> tuple[list[RecordChunk], bool]:
        core, table = self._core, source.table
        assert core is not None
        kind, count = source.kind, source.intact(core)
        places, sizes = table.column(POSITION), table.column(SIZE)
        chunks: list[RecordChunk] = []
        if not count:
            return chunks, False
        data = source.buffer[places[0] : places[count - 1] + sizes[count - 1]]
        part = Segment(data, codec=self._codec, crc="ignore", max_output=source.max_output)
        expected = record_defaults(core, kind)
        assert expected is not None
        wanted = (names.OFFSET, names.TIMESTAMP, names.KEY, names.VALUE, names.HEADERS, *expected)
        done = size = 0
        try:
            for columns in Reader(
                part, wanted, Wanted(), layout=Layout.BINARY, allocate=core.module.memory
            ):
                made = self._chunk(core, source, columns, done, count)
                if made is None:
                    break
                chunk, whole = made
                chunks.append(chunk)
                done += chunk.batches
                size += sum(chunk.parts.column(_SIZE))
                if not whole or size > WHOLE_BYTES:
                    break
        except KafkaSpecError:
            pass  # the way of entries raises it
        return chunks, done == table.count

    def _chunk(
        self, core: Core, source: BatchRange, columns: Columns, done: int, count: int
    ) -> tuple[RecordChunk, bool] | None:
        """Return the records of some batches, and whether those are all of the columns.

        The columns begin with batch ``done``; ``count`` batches have the right checksum.
        """
        kind = source.kind
        expected = record_defaults(core, kind)
        if columns.layout is not Layout.BINARY or columns.cut or expected is None:
            return None
        if not holds_only(core, columns.columns, columns.rows, expected):
            return None
        rows = RecordRows(core, columns.columns, columns.rows)
        if not (rows.is_ascii and self._is_timely(rows)):
            return None
        table = source.table
        if kind.has_record_sets:
            bounds = array("q", [0, *accumulate(table.column(kind.count)[done:count])])
            facts = tuple(table.column(name)[done:count] for name in _FACTS)
        else:
            bounds = array("q", range(columns.rows + 1))
            facts = (*[rows.offsets] * 2, *[rows.timestamps] * 2)
        batches = len(bounds) - 1
        room = memoryview(core.module.memory(8 * _PART * columns.rows)).cast("q")
        batches, parts = core.module.parts(
            bounds, facts, self._traits(source, kind, done, count), batches, rows.offsets,
            rows.timestamps, rows.sizes, _WHOLE if self._limit is None else self._limit,
            RECORD_OVERHEAD, room,
        )  # fmt: skip
        if not batches:
            return None
        chunk = RecordChunk(source, done, batches, rows, RecordParts(room, 0, parts))
        return chunk, bounds[batches] == columns.rows

    def _traits(
        self, source: BatchRange, kind: EntryKind, done: int, count: int
    ) -> tuple[Sequence[int], Sequence[int]]:
        """Return compression and leader epoch of the new batches of some batches."""
        assert source.compressions is not None
        epoch = self._choices.leader_epoch
        target = self._choices.kind or kind
        if kind.has_leader_epochs and (epoch is None or not target.has_leader_epochs):
            epochs: Sequence[int] = source.table.column(names.LEADER_EPOCH)[done:count]
        else:
            shared = NONE if epoch is None or not target.has_leader_epochs else epoch
            epochs = array("q", [shared]) * (count - done)
        return source.compressions[done:count], epochs

    def _is_timely(self, rows: RecordRows) -> bool:
        """Return whether all records are in the range of timestamps."""
        low, high = self._choices.start_timestamp, self._choices.end_timestamp
        if low is high is None:
            return True
        return all(is_timely(bound(rows.timestamps), low, high) for bound in (min, max))

    # -- grouping ---------------------------------------------------------------------------

    def settle(self, chunk: RecordChunk) -> bool:
        offsets, rows, count = self._offsets, chunk.rows, chunk.parts[-1].last
        if offsets.renumbers:
            if offsets.next + count - 1 > LARGEST_OFFSET:
                return False
            first = offsets.take(count)
            rows.offsets[:count] = memoryview(array("q", range(first, first + count)))
            return True
        offsets.begin(rows.offsets[0])
        shift = offsets.shift
        if not shift:
            return True
        first, last = rows.offsets[0], rows.offsets[count - 1]
        if first + shift < 0 or last + shift > LARGEST_OFFSET:
            return False
        assert self._core is not None
        self._core.module.adjust(rows.offsets, 0, count, False, shift)
        return True

    def group(self, chunk: RecordChunk) -> RecordGroups:
        """Return the new batches that a chunk completes; its last records wait for more.

        Without a limit, each batch stays one.
        """
        waiting, rows, parts = self._waiting, chunk.rows, chunk.parts
        kind, limit = self._choices.kind or chunk.source.kind, self._limit
        if limit is None:
            flushed = b"".join(waiting.flush())
            self._joined(rows, parts, 0, 0)
            return RecordGroups(flushed, rows, parts, kind)
        before: list[bytes] = []
        start = 0
        for number in range(len(parts)):
            start = number
            if not waiting.count:
                break
            before += waiting.put(self._draft(rows, kind, parts[number]), limit)
            if before:
                waiting.take()
                break
        else:
            return RecordGroups(b"".join(before), rows, RecordParts(parts.numbers, 0, 0), kind)
        last = start + self._joined(rows, parts, start, limit) - 1
        final = RecordParts(parts.numbers, last, last + 1)[0]
        before += waiting.put(self._draft(rows, kind, final), limit)
        return RecordGroups(b"".join(before), rows, RecordParts(parts.numbers, start, last), kind)

    def _joined(self, rows: RecordRows, parts: RecordParts, start: int, limit: int) -> int:
        """Put parts together from one on, in their place; return how many that makes."""
        assert self._core is not None
        number: int = self._core.module.joined(
            parts.numbers, start, len(parts), rows.offsets, rows.timestamps, limit, MOST_DELTA
        )
        return number

    def _draft(self, rows: RecordRows, kind: EntryKind, part: _Part) -> Draft:
        return Draft(
            traits=Traits(
                kind=kind,
                compression=CompressionType(part.compression),
                leader_epoch=part.leader_epoch,
            ),
            records=Slice(rows, part.first, part.last),
            base_offset=rows.offsets[part.first],
            last_offset=rows.offsets[part.last - 1],
            base_timestamp=rows.timestamps[part.first],
            known_size=part.size,
        )

    # -- writing ----------------------------------------------------------------------------

    def write(self, groups: RecordGroups) -> Buffer:
        core, rows, kind, parts = self._core, groups.rows, groups.kind, groups.parts
        if not parts:
            return groups.before
        if not kind.has_record_sets:
            return b"".join((groups.before, *self._messages(groups)))
        assert core is not None
        headers = self._headers(kind, parts)
        firsts = array("q", parts.column(_FIRST))
        firsts.append(parts[-1].last)
        in_c = header_size(core, kind) > 0
        made = put_payloads(core, kind, headers, firsts, rows.rows, rows.inputs) if in_c else None
        if made is None:
            drafts = (self._draft(rows, kind, parts[number]) for number in range(len(parts)))
            entries = (write(draft, self._codec, self._choices.level) for draft in drafts)
            return b"".join((groups.before, *entries))
        data, ends = made
        if any(headers.column(names.COMPRESSION)):
            data, ends = packed(core, memoryview(data), ends, kind, headers, self._choices.level)
        written = put_headers(core, kind, headers, data, ends)
        assert written == len(parts), "the core has encoded them"
        return b"".join((groups.before, data)) if groups.before else data

    def _messages(self, groups: RecordGroups) -> Iterator[bytes]:
        """Yield messages, each of them a record or a wrapper of the records of a part."""
        parts = groups.parts
        some = (parts[number] for number in range(len(parts)))
        for codec, run in groupby(some, lambda part: part.compression):
            found = list(run)
            if not codec:  # one entry for each record, whatever batch it was in
                found = [found[0]._replace(last=found[-1].last)]
            for part in found:
                draft = self._draft(groups.rows, groups.kind, part)
                yield write(draft, self._codec, self._choices.level)

    def _headers(self, kind: EntryKind, parts: RecordParts) -> EntryTable:
        """Return the headers of new batches."""
        assert self._core is not None
        table, count = blank_table(self._core, len(parts)), len(parts)
        columns = {
            names.BASE_OFFSET: _OFFSET,
            names.COMPRESSION: _Part._fields.index("compression"),
            names.LAST_OFFSET_DELTA: _DELTA,
            names.BASE_TIMESTAMP: _BASE,
            names.MAX_TIMESTAMP: _Part._fields.index("timestamp"),
            kind.count: _COUNT,
            names.LEADER_EPOCH: _Part._fields.index("leader_epoch"),
        }
        shared = {
            **dict.fromkeys((names.PRODUCER_ID, names.PRODUCER_EPOCH, names.BASE_SEQUENCE), NONE),
            **{field.name: int(field.default) for field in own_fields(kind).header},
        }
        there = set(table.names)
        for name in columns.keys() & there:
            table.column(name)[:] = parts.column(columns[name])
        for name in shared.keys() & there:
            self._core.module.adjust(table.column(name), 0, count, True, shared[name])
        return table


def packed(
    core: Core,
    data: memoryview,
    ends: array[int],
    kind: EntryKind,
    headers: EntryTable,
    level: int | None,
) -> tuple[bytearray, array[int]]:
    """Return batches with their payloads compressed.

    Args:
        core: the extension.
        data: room for a header and then a payload for each batch.
        ends: positions after each payload.
        kind: of the batches.
        headers: of the batches, which say the compressions.
        level: of the compressions; None for their defaults.
    """
    gap = header_size(core, kind)
    pieces: list[bytearray | memoryview] = []
    stops, begin, size = array("q"), 0, 0
    bounds = zip((0, *ends), ends, strict=False)
    for codec, some in groupby(headers.column(names.COMPRESSION)):
        places = array("q")
        for _, (start, end) in zip(some, bounds, strict=False):
            places.extend((start + gap, end - start - gap))
        stop = sum(places[-2:])
        if codec:
            piece, own = compressions.compress_all(
                codec, data, places, magic=kind.magic, level=level, gap=gap
            )
            pieces.append(piece)
        else:
            own = array("q", (sum(places[n : n + 2]) - begin for n in range(0, len(places), 2)))
            pieces.append(data[begin:stop])
        stops.extend(array("q", (size + end for end in own)) if size else own)
        size, begin = stops[-1], stop
    if isinstance(pieces[0], bytearray) and not pieces[1:]:
        return pieces[0], stops
    return bytearray().join(pieces), stops


@cache
def _conditions(
    core: Core,
    kind: EntryKind,
    magic: int,
    wanted: int | None,
    low: int | None,
    high: int | None,
    *,
    with_gaps: bool,
) -> Marks | None:
    """Return what holds for all regular batches of a kind; None if no batch is regular.

    Args:
        core: the extension.
        kind: the kind of the batches.
        magic: magic of the new entries.
        wanted: their new compression, None to keep that of each.
        low: smallest offset to convert, None for any.
        high: first offset not to convert, None for any.
        with_gaps: whether only batches are regular between whose offsets some are missing.
    """
    fixed = {
        names.MAGIC: kind.magic,
        **{field.name: field.default for field in (*own_fields(kind).header, *fields_outside())},
    }
    if kind.has_timestamps:
        fixed[names.TIMESTAMP_TYPE] = 0
    if kind.has_record_sets:
        fixed |= dict.fromkeys((names.IS_CONTROL, names.IS_TRANSACTIONAL), 0)
        fixed |= dict.fromkeys((names.PRODUCER_ID, names.PRODUCER_EPOCH, names.BASE_SEQUENCE), NONE)
        fixed[names.HAS_DELETE_HORIZON] = 0
    else:
        fixed |= dict.fromkeys((names.COMPRESSION, f"{names.UNUSED}.{SIZE}"), 0)
    codecs = {codec for codec in KNOWN if compressions.is_coded(codec, magic)}
    if wanted is not None:
        codecs = set(KNOWN) if wanted in codecs else set()
    numbers = all(isinstance(value, int) for value in fixed.values())
    known = numbers and fixed.keys() <= set(core.scan_names)
    if not (known and codecs) or record_defaults(core, kind) is None:
        return None
    found: list[Condition] = [
        *((Compare(name, "==", value),) for name, value in fixed.items()),
        tuple(Compare(names.COMPRESSION, "==", codec) for codec in sorted(codecs)),
    ]
    last = last_of(kind)
    if kind.has_record_sets:
        found.append((Compare(names.BASE_OFFSET, "<=", last),))
        found.append((Compare(kind.count, "!=", 0),))
    else:
        found.append((Compare(last, ">=", 0),))
    if with_gaps:
        found.append((Compare(names.LAST_OFFSET_DELTA, "!=", kind.count, -1),))
    if low is not None:
        found.append((Compare(names.BASE_OFFSET, ">=", low),))
    if high is not None:
        found.append((Compare(last, "<", high),))
    order = (Compare(names.BASE_OFFSET, ">", BEFORE + last),)
    return Marks([*((condition, _OTHER) for condition in found), (order, _ORDER)])


def record_defaults(core: Core, kind: EntryKind) -> dict[str, Any] | None:
    """Return the columns of the fields of records that no conversion knows, with their defaults."""
    found = default_columns(core, kind)
    if found is None:
        return None
    return {name: value for name, value in found.items() if not name.startswith(OF_BATCH)}
