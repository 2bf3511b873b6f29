"""Put the records of batches into new batches by columns, many at a time.

Only regular batches are handled here: without producer, transaction or unknown fields, and with
headers that say what their records do. All others go one by one through ``conversion.entries``,
which implements the rules and raises the errors; both share the records that wait for more.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Any, Final

from kafkaspec import compression as compressions
from kafkaspec._generated.python.model.recordbatch import CompressionType
from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.entries import header_size, put_headers, put_payloads
from kafkaspec.codecs.native.scan import EntryTable, blank_table
from kafkaspec.columns.limits import MOST_DELTA, RECORD_OVERHEAD
from kafkaspec.columns.memory import Columns, Layout
from kafkaspec.columns.names import OF_BATCH, POSITION, SIZE
from kafkaspec.columns.reader import Reader
from kafkaspec.columns.wanted import Wanted
from kafkaspec.conversion.columns import RecordRows, Slice
from kafkaspec.conversion.drafts import Draft, Traits, write
from kafkaspec.conversion.fields import default_columns, fields_outside, holds_only, own_fields
from kafkaspec.conversion.packing import packed, spaced
from kafkaspec.conversion.ranges import BEFORE_ALL, KNOWN, ByRanges, Range
from kafkaspec.conversion.shared import Shared
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.log.batch import NONE
from kafkaspec.log.pieces import WHOLE_BYTES
from kafkaspec.log.segment import Segment
from kafkaspec.model import Buffer

_MOST_BATCH: Final = WHOLE_BYTES
"""Largest size of new batches that are made here."""
_PART: Final = 4
"""Numbers that describe a part: first row, size, largest timestamp, number of the batch."""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one batch that stay together.

    Attributes:
        first: first row.
        last: row after the last one.
        size: their size in bytes, as ``batch_bytes`` counts it.
        timestamp: their largest timestamp in ms.
        traits: the compression and the leader epoch that their new batch has.
    """

    first: int
    last: int
    size: int
    timestamp: int
    traits: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Records of regular batches in columns.

    Attributes:
        rows: the records.
        parts: what may be combined, in order.
        batches: number of batches.
        start: position of the first batch in the segment.
        end: position after the last one.
        last_offset: the last offset.
        kind: kind of the batches.
    """

    rows: RecordRows
    parts: list[Part]
    batches: int
    start: int
    end: int
    last_offset: int
    kind: EntryKind


@dataclass(frozen=True, slots=True)
class Groups:
    """New batches of the rows of a chunk.

    Attributes:
        before: entries that come before them.
        rows: the records.
        parts: what becomes a batch each: consecutive parts together.
        kind: kind of the batches.
    """

    before: bytes
    rows: RecordRows
    parts: list[Part]
    kind: EntryKind


class Regrouped(ByRanges):
    """The fast path for new batches. It writes the same bytes as that of entries."""

    def __init__(self, shared: Shared) -> None:
        """Share the state of the path of entries."""
        super().__init__(shared)
        self._limit = self._choices.batch_bytes or 0
        self._most = max(self._most, min(4 * self._limit, WHOLE_BYTES))

    @property
    def available(self) -> bool:
        """Whether there is a fast path for this plan."""
        in_reach = 0 < self._limit <= _MOST_BATCH and not self._choices.by_time
        return self._core is not None and in_reach

    # -- reading ----------------------------------------------------------------------------

    def _regular(
        self, table: EntryTable, kind: EntryKind, after: int | None
    ) -> tuple[int, list[int] | None]:
        """Return the number of leading batches that are regular, and their new compressions."""
        core, wanted = self._core, self._choices.codec_id
        if core is None or _record_defaults(core, kind) is None:
            return 0, None
        own = own_fields(kind).header
        fixed = {
            names.TIMESTAMP_TYPE: 0,
            **dict.fromkeys((names.IS_CONTROL, names.IS_TRANSACTIONAL), 0),
            **dict.fromkeys((names.PRODUCER_ID, names.PRODUCER_EPOCH, names.BASE_SEQUENCE), NONE),
            names.HAS_DELETE_HORIZON: 0,
            names.MAGIC: kind.magic,
            **{field.name: field.default for field in (*own, *fields_outside())},
        }
        if not fixed.keys() <= set(table.names):
            return 0, None
        expected = tuple(fixed.values())
        found: list[int] = []
        columns = (names.BASE_OFFSET, names.LAST_OFFSET, kind.count, names.COMPRESSION)
        last = BEFORE_ALL if after is None else after
        same = zip(*map(table.column, fixed), strict=True)
        rows = zip(*map(table.column, columns), strict=True)
        for values, (first, end, count, codec) in zip(same, rows, strict=True):
            if values != expected or not last < first <= end or not count or codec not in KNOWN:
                break
            if self._is_outside(first, end):
                break
            new = codec if wanted is None else wanted
            if not compressions.is_allowed(new, kind.magic):
                break
            found.append(new)
            last = end
        return len(found), found

    def read(self, source: Range) -> tuple[list[Chunk], bool]:
        """Return the records of a range, and whether those are all; for any thread.

        It ends before a batch that cannot be converted here.
        """
        core, table = self._core, source.table
        assert core is not None
        kind, count = source.kind, source.intact(core)
        places, sizes = table.column(POSITION), table.column(SIZE)
        chunks: list[Chunk] = []
        if not count:
            return chunks, False
        data = source.buffer[places[0] : places[count - 1] + sizes[count - 1]]
        part = Segment(data, codec=self._codec, crc="ignore", max_output=source.max_output)
        expected = _record_defaults(core, kind)
        assert expected is not None
        wanted = (names.OFFSET, names.TIMESTAMP, names.KEY, names.VALUE, names.HEADERS, *expected)
        done = size = 0
        try:
            for columns in Reader(part, wanted, Wanted(), layout=Layout.BINARY):
                made = self._chunk(core, source, kind, columns, done, count)
                if made is None:
                    break
                chunk, whole = made
                chunks.append(chunk)
                done += chunk.batches
                size += sum(item.size for item in chunk.parts)
                if not whole or size > WHOLE_BYTES:
                    break
        except KafkaSpecError:
            pass  # the way of entries raises it
        return chunks, done == table.count

    def _chunk(
        self, core: Core, source: Range, kind: EntryKind, columns: Columns, done: int, count: int
    ) -> tuple[Chunk, bool] | None:
        """Return the records of some batches, and whether those are all of the columns.

        Args:
            core: the extension.
            source: the batches.
            kind: their kind.
            columns: records from batch ``done`` on.
            done: number of batches before them.
            count: number of batches with the right checksum.
        """
        expected = _record_defaults(core, kind)
        if columns.layout is not Layout.BINARY or columns.cut or expected is None:
            return None
        if not holds_only(core, columns.columns, columns.rows, expected):
            return None
        rows = RecordRows(core, columns)
        if not rows.is_ascii:
            return None
        table = source.table
        bounds = array("q", [0, *accumulate(table.column(kind.count)[done:count])])
        batches = len(bounds) - 1
        facts = array("q")
        some = (
            table.column(name)[done:count]
            for name in (
                names.BASE_OFFSET, names.LAST_OFFSET, names.BASE_TIMESTAMP, names.MAX_TIMESTAMP
            )
        )  # fmt: skip
        for values in zip(*some, strict=True):
            facts.extend(values)
        room = array("q", bytes(8 * _PART * columns.rows))
        batches, parts = core.module.parts(
            bounds, facts, batches, rows.offsets, rows.timestamps, rows.sizes, self._limit,
            RECORD_OVERHEAD, room,
        )  # fmt: skip
        if not batches:
            return None
        end = bounds[batches]
        firsts, sizes, times, numbers = (room[n : _PART * parts : _PART] for n in range(_PART))
        assert source.compressions is not None
        traits = self._traits(source, kind, done, batches)
        lasts = [*firsts[1:], end]
        made = [
            Part(first, last, size, time, traits[number])
            for first, last, size, time, number in zip(
                firsts, lasts, sizes, times, numbers, strict=True
            )
        ]
        places, octets, last = table.column(POSITION), table.column(SIZE), done + batches - 1
        chunk = Chunk(
            rows,
            made,
            batches,
            source.start + places[done],
            source.start + places[last] + octets[last],
            table.column(names.LAST_OFFSET)[last],
            kind,
        )
        return chunk, end == columns.rows

    def _traits(
        self, source: Range, kind: EntryKind, done: int, batches: int
    ) -> list[tuple[int, int]]:
        """Return compression and leader epoch of the new batches of some batches."""
        assert source.compressions is not None
        packed = source.compressions[done : done + batches]
        epoch = self._choices.leader_epoch
        if not kind.has_leader_epochs:
            epochs: Sequence[int] = [NONE] * batches
        elif epoch is None:
            epochs = source.table.column(names.LEADER_EPOCH)[done : done + batches]
        else:
            epochs = [epoch] * batches
        return list(zip(packed, epochs, strict=True))

    # -- grouping ---------------------------------------------------------------------------

    def settle(self, chunk: Chunk) -> bool:
        """Give records their new offsets, in the order of the log.

        Returns:
            Whether all of them are in range; if not, nothing has changed.
        """
        offsets, rows = self._offsets, chunk.rows
        if offsets.renumbers:
            count = chunk.parts[-1].last
            if offsets.next + count - 1 > LARGEST_OFFSET:
                return False
            first = offsets.take(count)
            rows.offsets[:count] = memoryview(array("q", range(first, first + count)))
            return True
        offsets.begin(rows.offsets[0])
        shift = offsets.shift
        if not shift:
            return True
        first, last = rows.offsets[0], rows.offsets[chunk.parts[-1].last - 1]
        if first + shift < 0 or last + shift > LARGEST_OFFSET:
            return False
        assert self._core is not None
        self._core.module.adjust(rows.offsets, 0, chunk.parts[-1].last, False, shift)
        return True

    def group(self, chunk: Chunk) -> Groups:
        """Return the new batches that a chunk completes; its last records wait for more."""
        waiting, rows = self._waiting, chunk.rows
        before: list[bytes] = []
        parts = iter(chunk.parts)
        group: Part | None = None
        for part in parts:
            if not waiting.count:
                group = part
                break
            before += waiting.put(self._draft(chunk, part), self._limit)
            if before:
                waiting.take()
                group = part
                break
        if group is None:
            return Groups(b"".join(before), rows, [], chunk.kind)
        groups: list[Part] = []
        offsets, limit = rows.offsets, self._limit
        for part in parts:
            if (
                group.size + part.size <= limit
                and part.traits == group.traits
                and offsets[part.last - 1] - offsets[group.first] <= MOST_DELTA
            ):
                group = Part(
                    group.first,
                    part.last,
                    group.size + part.size,
                    max(group.timestamp, part.timestamp),
                    group.traits,
                )
            else:
                groups.append(group)
                group = part
        before += waiting.put(self._draft(chunk, group), limit)
        return Groups(b"".join(before), rows, groups, chunk.kind)

    def _draft(self, chunk: Chunk, part: Part) -> Draft:
        rows, (packed, epoch) = chunk.rows, part.traits
        draft = Draft(
            traits=Traits(kind=chunk.kind, compression=CompressionType(packed), leader_epoch=epoch),
            records=Slice(rows, part.first, part.last),
            base_offset=rows.offsets[part.first],
            last_offset=rows.offsets[part.last - 1],
            base_timestamp=rows.timestamps[part.first],
        )
        draft.sized(part.size)
        return draft

    # -- writing ----------------------------------------------------------------------------

    def write(self, groups: Groups) -> Buffer:
        """Return the bytes of new batches; for any thread.

        Raises:
            KafkaSpecError: ``unencodable``.
        """
        core, rows, kind, parts = self._core, groups.rows, groups.kind, groups.parts
        if not parts:
            return groups.before
        assert core is not None
        headers = self._headers(rows, kind, parts)
        firsts = array("q", [part.first for part in parts])
        firsts.append(parts[-1].last)
        made = put_payloads(core, kind, headers, firsts, rows.rows, rows.inputs)
        if made is None:
            drafts = (self._draft(Chunk(rows, parts, 0, 0, 0, 0, kind), part) for part in parts)
            entries = (write(draft, self._codec, self._choices.level) for draft in drafts)
            return b"".join((groups.before, *entries))
        data, ends = made
        if any(part.traits[0] for part in parts):
            data, ends = self._packed(memoryview(data), ends, kind, parts)
        written = put_headers(core, kind, headers, data, ends)
        assert written == len(parts), "the core has encoded them"
        return b"".join((groups.before, data)) if groups.before else data

    def _packed(
        self, data: memoryview, ends: array[int], kind: EntryKind, parts: list[Part]
    ) -> tuple[bytearray, array[int]]:
        """Return the same batches with their payloads compressed."""
        assert self._core is not None
        gap, level = header_size(self._core, kind), self._choices.level
        made: list[bytes | memoryview] = []
        items = zip((0, *ends), ends, parts, strict=False)
        for codec, some in groupby(items, lambda item: item[2].traits[0]):
            places = array("q")
            for start, end, _ in some:
                places.extend((start + gap, end - start - gap))
            if codec:
                made += packed(codec, data, places, magic=kind.magic, level=level)
            else:
                pairs = zip(places[::2], places[1::2], strict=True)
                made += [data[start : start + size] for start, size in pairs]
        return spaced(made, gap)

    def _headers(self, rows: RecordRows, kind: EntryKind, parts: list[Part]) -> EntryTable:
        """Return the headers of new batches."""
        assert self._core is not None
        table = blank_table(self._core, len(parts))
        offsets, times = rows.offsets, rows.timestamps
        columns: dict[str, Iterable[Any]] = {
            names.BASE_OFFSET: (offsets[part.first] for part in parts),
            names.COMPRESSION: (part.traits[0] for part in parts),
            names.LAST_OFFSET_DELTA: (
                offsets[part.last - 1] - offsets[part.first] for part in parts
            ),
            names.BASE_TIMESTAMP: (times[part.first] for part in parts),
            names.MAX_TIMESTAMP: (part.timestamp for part in parts),
            kind.count: (part.last - part.first for part in parts),
            names.LEADER_EPOCH: (part.traits[1] for part in parts),
            **{
                name: [NONE] * len(parts)
                for name in (names.PRODUCER_ID, names.PRODUCER_EPOCH, names.BASE_SEQUENCE)
            },
            **{field.name: [int(field.default)] * len(parts) for field in own_fields(kind).header},
        }
        for name in columns.keys() & set(table.names):
            values = columns[name]
            table.column(name)[:] = memoryview(array("q", values))
        return table


def _record_defaults(core: Core, kind: EntryKind) -> dict[str, Any] | None:
    """Return the columns of the fields of records that no conversion knows, with their defaults."""
    found = default_columns(core, kind)
    if found is None:
        return None
    return {name: value for name, value in found.items() if not name.startswith(OF_BATCH)}
