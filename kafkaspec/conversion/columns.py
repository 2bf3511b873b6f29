"""Messages in columns, decoded and encoded in C thousands at a time.

Only regular entries are handled here: of one magic, not compressed, with correct checksums, and
with the default in each field that no conversion knows. All others go through record objects, which
implement the rules and raise the errors.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.scan import EntryTable, scan
from kafkaspec.columns.decoding import described
from kafkaspec.columns.memory import (
    BytesColumn,
    Columns,
    ColumnSet,
    IntegerColumn,
    Layout,
    ListColumn,
)
from kafkaspec.columns.wanted import POSITION, SIZE
from kafkaspec.conversion.fields import fields_outside, own_fields
from kafkaspec.errors import Reason, make_error
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.kinds import KINDS, kind_of
from kafkaspec.layout.names import COMPRESSION, MAGIC, OFFSET, TIMESTAMP_TYPE
from kafkaspec.log.batch import NO_TIMESTAMP
from kafkaspec.log.legacy import LegacyBatch, Shift
from kafkaspec.model import Buffer, Record

_OFFSET, _TIMESTAMP, _KEY, _VALUE = Record._fields[:4]
_UNUSED: Final = f"{names.UNUSED}.{SIZE}"
_Part = tuple[Any, memoryview, Any]
"""A byte column as ``Core.encode`` takes it: validity or None, ends, and data."""


class MessageColumns:
    """Columns of messages of one kind, whose offsets and timestamps may be changed.

    Attributes:
        end: position after the last message.
        unused: number of messages with bytes after the value.
        complete: whether all messages could be decoded.
    """

    def __init__(self, core: Core, entries: Buffer, table: EntryTable, rows: int) -> None:
        """Decode the first entries of a table; see ``complete``."""
        self._core = core
        self.rows = rows
        self.kind = KINDS[table.column(MAGIC)[0]]
        self.positions = table.column(POSITION)[:rows]
        self.end = self.positions[rows - 1] + table.column(SIZE)[rows - 1]
        self.unused = sum(size > 0 for size in table.column(_UNUSED)[:rows])
        names = (_OFFSET, _TIMESTAMP, _KEY, _VALUE)
        columns = ColumnSet(core, names, rows, Layout.BINARY, self.end)
        self.complete = columns.decode((entries,), described(core, table, rows)) == rows
        found = columns.result()
        self.offsets = _integers(found[_OFFSET])
        self.timestamps = _integers(found[_TIMESTAMP])
        self._parts = {name: _part(found[name], rows) for name in (_KEY, _VALUE)}
        self._sizes = [ends for _, ends, _ in self._parts.values()]

    # -- sizes ------------------------------------------------------------------------------

    def size(self, first: int, last: int) -> int:
        """Return the size in bytes of the keys and values of some rows."""
        return sum(offsets[last] - offsets[first] for offsets in self._sizes)

    def reach(self, first: int, limit: int, overhead: int, most_delta: int) -> int:
        """Return the end of the rows from ``first`` on that fit into one batch.

        ``limit`` includes ``overhead`` bytes for each row; offsets may differ by ``most_delta``.
        """
        rows = range(first, self.rows)
        end = first + bisect_right(
            rows,
            limit,
            key=lambda row: self.size(first, row + 1) + overhead * (row + 1 - first),
        )
        if end > first and self.offsets[end - 1] - self.offsets[first] > most_delta:
            end = bisect_right(self.offsets, self.offsets[first] + most_delta, first, end)
        return end

    # -- writing ----------------------------------------------------------------------------

    def encode(self, header: Any, first: int, last: int, shift: int = 0) -> bytes:
        """Encode rows as the payload of a batch, or as messages with the fields of ``header``.

        Offsets are encoded less ``shift``.
        """
        offsets = _less(self._core, self.offsets[first:last], shift)
        inputs: dict[str, Any] = {_OFFSET: offsets, _TIMESTAMP: self.timestamps[first:last]}
        for name, part in self._parts.items():
            inputs[name] = _some(part, first, last)
        return _encoded(self._core, header, last - first, inputs, self.offsets[first])

    def records(self, first: int, last: int) -> list[Record]:
        """Return rows as records; meant for a few rows."""
        keys, values = (_items(*self._parts[name], first, last) for name in (_KEY, _VALUE))
        offsets, timestamps = self.offsets[first:last], self.timestamps[first:last]
        return [Record(*row) for row in zip(offsets, timestamps, keys, values, strict=True)]


class RecordRows:
    """Columns of the records of batches, whose offsets may be changed.

    Attributes:
        rows: number of records.
        offsets: offsets of the records.
        timestamps: timestamps in ms, -1 for none.
        sizes: offsets of keys, values and headers, and of the keys and values of headers.
        inputs: the columns as ``Core.encode`` takes them.
        is_ascii: whether the keys of all headers are ASCII.
    """

    def __init__(self, core: Core, found: Columns) -> None:
        """Take columns of layout BINARY."""
        self._core = core
        self.rows = rows = found.rows
        columns = found.columns
        self.offsets = _integers(columns[_OFFSET])[:rows]
        self.timestamps = _integers(columns[_TIMESTAMP])[:rows]
        lists = columns[names.HEADERS]
        assert isinstance(lists, ListColumn)
        _, _, item_key = names.HEADER_KEY.rpartition(".")
        _, _, item_value = names.HEADER_VALUE.rpartition(".")
        self.is_ascii = not lists.items or _bytes(lists.children[item_key]).is_ascii
        self._lists = _ends(lists.offsets, rows)
        self._parts = {
            _KEY: _part(columns[_KEY], rows),
            _VALUE: _part(columns[_VALUE], rows),
            names.HEADER_KEY: _part(lists.children[item_key], lists.items),
            names.HEADER_VALUE: _part(lists.children[item_value], lists.items),
        }
        ends = [item[1] for item in self._parts.values()]
        self.sizes = (*ends[:2], *((self._lists, *ends[2:]) if lists.items else (None,) * 3))
        self.inputs: dict[str, Any] = {
            _OFFSET: self.offsets,
            _TIMESTAMP: self.timestamps,
            names.HEADERS: self._lists,
            **self._parts,
        }

    def encode(self, header: Any, first: int, last: int, shift: int = 0) -> bytes:
        """Encode rows as the payload of a batch, or as messages; see ``MessageColumns.encode``."""
        offsets = _less(self._core, self.offsets[first:last], shift)
        inputs: dict[str, Any] = {_OFFSET: offsets, _TIMESTAMP: self.timestamps[first:last]}
        for name in (_KEY, _VALUE):
            inputs[name] = _some(self._parts[name], first, last)
        if kind_of(header).has_headers:
            inputs = self.inputs | inputs | {names.HEADERS: self._lists[first : last + 1]}
        return _encoded(self._core, header, last - first, inputs, self.offsets[first])

    def with_headers(self, first: int, last: int) -> int:
        """Return the number of rows that have headers."""
        ends = self._lists[first : last + 1]
        if ends[0] == ends[-1]:
            return 0
        return sum(start != stop for start, stop in pairwise(ends))

    def records(self, first: int, last: int) -> list[Record]:
        """Return rows as records; meant for a few rows."""
        keys, values = (_items(*self._parts[name], first, last) for name in (_KEY, _VALUE))
        lists = self._lists[first : last + 1]
        some = [
            _items(*self._parts[name], lists[0], lists[-1])
            for name in (names.HEADER_KEY, names.HEADER_VALUE)
        ]
        pairs = [(str(key or b"", "ascii"), value) for key, value in zip(*some, strict=True)]
        headers = [
            tuple(pairs[start - lists[0] : stop - lists[0]]) for start, stop in pairwise(lists)
        ]
        offsets, timestamps = self.offsets[first:last], self.timestamps[first:last]
        rows = zip(offsets, timestamps, keys, values, headers, strict=True)
        return [Record(*row) for row in rows]


class Slice(Sequence[Record]):
    """Rows of columns, used like a list of records."""

    def __init__(self, columns: MessageColumns | RecordRows, first: int, last: int) -> None:
        self.columns, self.first, self.last = columns, first, last

    def __len__(self) -> int:
        return self.last - self.first

    def __iter__(self) -> Iterator[Record]:
        return iter(self.columns.records(self.first, self.last))

    def __getitem__(self, index: Any) -> Any:
        if index in (0, -1):  # the others are not made
            row = self.first if index == 0 else self.last - 1
            return self.columns.records(row, row + 1)[0]
        return self.columns.records(self.first, self.last)[index]

    @property
    def largest_timestamp(self) -> int:
        """The largest timestamp of the rows."""
        return max(self.columns.timestamps[self.first : self.last], default=NO_TIMESTAMP)


def read_wrapped(
    core: Core, batch: LegacyBatch, payload: Buffer, shift: Shift
) -> MessageColumns | None:
    """Return the messages in a regular wrapper with their inner offsets and its append time.

    None if a message has another magic than the wrapper, or fields that no conversion knows.
    """
    table = scan(core, payload, capacity=shift.count)
    if set(table.column(MAGIC)) != {batch.magic} or _plain(table, batch.kind) < table.count:
        return None
    found = MessageColumns(core, payload, table, table.count)
    if not found.complete or found.offsets[0] < 0 or shift.base_offset < 0:
        return None
    if shift.timestamp is not None:
        core.module.adjust(found.timestamps, 0, found.rows, True, shift.timestamp)
    return found


def are_plain(core: Core, messages: Iterable[Buffer], kind: EntryKind) -> bool:
    """Return whether no message in a regular wrapper of a kind has its own fields."""
    for data in messages:
        position = 0
        while position < len(data):
            table = scan(core, data, position, capacity=1 << 14)
            position = table.position
            if set(table.column(MAGIC)) != {kind.magic} or _plain(table, kind) < table.count:
                return False
    return True


def read_run(core: Core, entries: Buffer, least: int, after: int | None) -> MessageColumns | None:
    """Return the messages with CreateTime and offsets that increase from ``after`` on.

    The bytes may end within an entry. None if fewer than ``least`` are there, or one has a wrong
    checksum.
    """
    table = scan(core, entries, capacity=1 << 14)
    if table.count < least:
        return None
    magic = table.column(MAGIC)[0]
    form = KINDS[magic]
    if form.has_record_sets:
        return None
    rows, last = 0, -1 if after is None else after
    columns = (MAGIC, COMPRESSION, TIMESTAMP_TYPE, OFFSET)
    for item, compression, kind, offset in zip(*map(table.column, columns), strict=True):
        if item != magic or compression or (kind and form.has_timestamps) or offset <= last:
            break
        rows, last = rows + 1, offset
    rows = min(rows, _plain(table, form))
    if rows < least:
        return None
    found = MessageColumns(core, entries, table, rows)
    return found if found.complete else None


def _plain(table: EntryTable, kind: EntryKind) -> int:
    """Return the number of leading entries without own fields: all have their default."""
    rows = table.count
    for field in (*own_fields(kind).header, *fields_outside()):
        try:
            column = table.column(field.name)[:rows]
        except (KeyError, ValueError):  # the field is not a number
            return 0
        rows = next((row for row, value in enumerate(column) if value != field.default), rows)
    return rows


def _less(core: Core, offsets: memoryview, shift: int) -> memoryview:
    """Return numbers less another."""
    if not shift:
        return offsets
    less = memoryview(bytearray(offsets)).cast("q")
    core.module.adjust(less, 0, len(less), False, -shift)
    return less


def _integers(column: object) -> memoryview:
    assert isinstance(column, IntegerColumn)
    return column.integers


def _bytes(column: object) -> BytesColumn:
    assert isinstance(column, BytesColumn)
    return column


def _bits(validity: Any, first: int, last: int) -> bytes:
    """Return the bits of some rows, the first of them in the lowest bit."""
    with memoryview(validity) as view:
        found = int.from_bytes(view[first // 8 : (last + 7) // 8], "little") >> (first % 8)
    size = (last - first + 7) // 8
    return (found & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def _ends(offsets: Any, count: int) -> memoryview:
    return memoryview(offsets).cast("B").cast("i")[: count + 1]


def _part(column: object, count: int) -> _Part:
    found = _bytes(column)
    return found.validity if found.nulls else None, _ends(found.main, count), found.data


def _some(part: _Part, first: int, last: int) -> _Part:
    validity, ends, data = part
    bits = None if validity is None else _bits(validity, first, last)
    return bits, ends[first : last + 1], data


def _encoded(core: Core, header: Any, rows: int, inputs: dict[str, Any], offset: int) -> bytes:
    """Return rows as the payload of a batch, or as messages; ``offset`` is that of the first."""
    data = core.encode(header, rows, inputs)
    if data is None:
        detail = f"records from offset {offset} on do not fit the format"
        raise make_error(Reason.UNENCODABLE, detail)
    return data


def _items(
    validity: Any, sizes: memoryview, content: Any, first: int, last: int
) -> list[bytes | None]:
    bits = -1 if validity is None else int.from_bytes(_bits(validity, first, last), "little")
    data = memoryview(content or b"")
    return [
        bytes(data[sizes[row] : sizes[row + 1]]) if bits >> (row - first) & 1 else None
        for row in range(first, last)
    ]
