"""Messages in columns, decoded and encoded in C thousands at a time.

Only regular entries are handled here: of one magic, not compressed, with correct checksums, and
with the default in each field that no conversion knows. All others go through record objects, which
implement the rules and raise the errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, repeat
from operator import add, sub
from typing import Any, Final

from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.scan import EntryTable, scan
from kafkaspec.columns.memory import (
    AnyColumn,
    BytesColumn,
    ColumnSet,
    IntegerColumn,
    Layout,
    ListColumn,
    described,
)
from kafkaspec.columns.wanted import SIZE
from kafkaspec.conversion.fields import fields_outside, own_fields
from kafkaspec.errors import Reason, make_error
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.kinds import kind_of
from kafkaspec.layout.names import MAGIC
from kafkaspec.log.legacy import LegacyBatch, Shift
from kafkaspec.model import Buffer, Record

_OFFSET, _TIMESTAMP, _KEY, _VALUE = Record._fields[:4]
_OF_HEADERS: Final = names.HEADER_KEY, names.HEADER_VALUE
_UNUSED: Final = f"{names.UNUSED}.{SIZE}"
_Part = tuple[Any, memoryview, Any]
"""A byte column as ``Core.encode`` takes it: validity or None, ends, and data."""


class RecordRows:
    """Columns of records, whose offsets and timestamps may be changed.

    Attributes:
        timestamps: timestamps in ms, -1 for none.
        sizes: offsets of keys, values and headers, and of the keys and values of headers.
        inputs: the columns as ``Core.encode`` takes them.
        is_ascii: whether the keys of all headers are ASCII.
    """

    def __init__(self, core: Core, columns: Mapping[str, AnyColumn], rows: int) -> None:
        """Take columns of layout BINARY, without headers for messages."""
        self._core, self.rows = core, rows
        self.offsets = _integers(columns[_OFFSET])[:rows]
        self.timestamps = _integers(columns[_TIMESTAMP])[:rows]
        self.inputs: dict[str, Any] = {_OFFSET: self.offsets, _TIMESTAMP: self.timestamps}
        self._parts = {name: _part(columns[name], rows) for name in (_KEY, _VALUE)}
        self.is_ascii, lists = True, columns.get(names.HEADERS)
        if isinstance(lists, ListColumn):
            self.inputs[names.HEADERS] = _ends(lists.offsets, rows)
            keys, values = (lists.children[name.rpartition(".")[2]] for name in _OF_HEADERS)
            assert isinstance(keys, BytesColumn)
            self.is_ascii = keys.is_ascii or not lists.items
            for name, part in zip(_OF_HEADERS, (keys, values), strict=True):
                self._parts[name] = _part(part, lists.items)
        self.inputs |= self._parts
        self._lists: memoryview | None = self.inputs.get(names.HEADERS)
        ends = [item[1] for item in self._parts.values()]
        with_headers = isinstance(lists, ListColumn) and lists.items
        self.sizes = (*ends[:2], *((self._lists, *ends[2:]) if with_headers else (None,) * 3))

    def encode(self, header: Any, first: int, last: int, shift: int = 0) -> bytes:
        """Encode rows as the payload of a batch, or as messages with the fields of ``header``.

        Offsets are encoded less ``shift``.
        """
        offsets = self.offsets[first:last]
        if shift:
            offsets = memoryview(bytearray(offsets)).cast("q")
            self._core.module.adjust(offsets, 0, len(offsets), False, -shift)
        inputs: dict[str, Any] = {_OFFSET: offsets, _TIMESTAMP: self.timestamps[first:last]}
        for name in (_KEY, _VALUE):
            validity, ends, data = self._parts[name]
            bits = None if validity is None else _bits(validity, first, last)
            inputs[name] = bits, ends[first : last + 1], data
        if self._lists is not None and kind_of(header).has_headers:
            inputs = self.inputs | inputs | {names.HEADERS: self._lists[first : last + 1]}
        data = self._core.encode(header, last - first, inputs)
        if data is None:
            detail = f"records from offset {self.offsets[first]} on do not fit the format"
            raise make_error(Reason.UNENCODABLE, detail)
        return data

    def with_headers(self, first: int, last: int) -> int:
        """Return the number of rows that have headers."""
        ends = self._lists[first : last + 1] if self._lists is not None else [0]
        return sum(start != stop for start, stop in pairwise(ends)) if ends[0] != ends[-1] else 0

    def row_sizes(self, first: int, last: int) -> list[int]:
        """Return the bytes of the keys, values and headers of each of some rows."""
        keys, values = (self._parts[name][1][first : last + 1] for name in (_KEY, _VALUE))
        ends = list(map(add, keys, values))
        found = list(map(sub, ends[1:], ends))
        if self.with_headers(first, last):
            assert self._lists is not None
            names_of, contents = (self._parts[name][1] for name in _OF_HEADERS)
            for row, (start, stop) in enumerate(pairwise(self._lists[first : last + 1])):
                found[row] += names_of[stop] - names_of[start] + contents[stop] - contents[start]
        return found

    def records(self, first: int, last: int) -> list[Record]:
        """Return rows as records; meant for a few rows."""
        keys, values = (_items(*self._parts[name], first, last) for name in (_KEY, _VALUE))
        headers: Iterable[tuple[Any, ...]] = repeat((), last - first)
        if self._lists is not None:
            lists = self._lists[first : last + 1]
            some = (_items(*self._parts[name], lists[0], lists[-1]) for name in _OF_HEADERS)
            pairs = [(str(key or b"", "ascii"), value) for key, value in zip(*some, strict=True)]
            headers = (tuple(pairs[a - lists[0] : b - lists[0]]) for a, b in pairwise(lists))
        offsets, timestamps = self.offsets[first:last], self.timestamps[first:last]
        rows = zip(offsets, timestamps, keys, values, headers, strict=True)
        return [Record(*row) for row in rows]


class Slice(Sequence[Record]):
    """Rows of columns, used like a list of records."""

    def __init__(self, columns: RecordRows, first: int, last: int) -> None:
        self._pieces = [(columns, first, last)]
        self._rows = last - first

    def __len__(self) -> int:
        return self._rows

    def __iter__(self) -> Iterator[Record]:
        for columns, first, last in self._pieces:
            yield from columns.records(first, last)

    def __getitem__(self, index: Any) -> Any:
        if index in (0, -1):  # the others are not made
            columns, first, last = self._pieces[index]
            row = first if index == 0 else last - 1
            return columns.records(row, row + 1)[0]
        if isinstance(index, slice) and len(self._pieces) == 1:
            columns, first, last = self._pieces[0]
            rows = range(first, last)[index]
            return Slice(columns, rows.start, rows.stop)
        return list(self)[index]

    @property
    def offsets(self) -> tuple[int, int]:
        """The offsets of the first and the last row."""
        (columns, first, _), (others, _, last) = self._pieces[0], self._pieces[-1]
        return columns.offsets[first], others.offsets[last - 1]

    def add(self, other: Slice) -> None:
        """Add the rows of another, after these."""
        self._rows += other._rows
        (columns, first, last), (others, start, stop), *more = self._pieces[-1], *other._pieces
        if columns is others and last == start:
            self._pieces[-1] = (columns, first, stop)
        else:
            self._pieces.append((others, start, stop))
        self._pieces += more

    def encode(self, header: Any, shift: int = 0) -> bytes:
        """Encode all rows; see ``RecordRows.encode``."""
        return b"".join(
            rows.encode(header, first, last, shift) for rows, first, last in self._pieces
        )

    def sizes(self) -> list[int]:
        """Return the bytes of the keys, values and headers of each row."""
        return [size for rows, *place in self._pieces for size in rows.row_sizes(*place)]

    @property
    def largest_timestamp(self) -> int:
        """The largest timestamp of the rows."""
        return max(max(rows.timestamps[first:last]) for rows, first, last in self._pieces)


def read_wrapped(
    core: Core, batch: LegacyBatch, payload: Buffer, shift: Shift
) -> RecordRows | None:
    """Return the messages in a regular wrapper with their inner offsets and its append time.

    None if a message has another magic than the wrapper, or fields that no conversion knows.
    """
    table = scan(core, payload, capacity=shift.count)
    rows = table.count
    if not _are_plain(core, table, batch.kind):
        return None
    columns = ColumnSet(core, Record._fields[:4], rows, Layout.BINARY, len(payload))
    if columns.decode((payload,), described(core, table, rows)) < rows:
        return None
    found = RecordRows(core, columns.result(), rows)
    if found.offsets[0] < 0 or shift.base_offset < 0:
        return None
    if shift.timestamp is not None:
        core.module.adjust(found.timestamps, 0, rows, True, shift.timestamp)
    return found


def are_plain(core: Core, messages: Iterable[Buffer], kind: EntryKind) -> bool:
    """Return whether no message in a regular wrapper of a kind has its own fields."""
    return all(count_plain(core, data, kind) is not None for data in messages)


def count_plain(core: Core, data: Buffer, kind: EntryKind) -> int | None:
    """Return the number of messages in payloads; None if one is unreadable, or has own fields."""
    position = count = 0
    while position < len(data):
        table = scan(core, data, position, capacity=1 << 14)
        position = table.position
        if not (table.count and _are_plain(core, table, kind)):
            return None
        count += table.count
    return count


def _are_plain(core: Core, table: EntryTable, kind: EntryKind) -> bool:
    """Return whether all entries are of a kind, with defaults in the fields that only it has."""
    wanted = {MAGIC: kind.magic}
    wanted |= {field.name: field.default for field in (*own_fields(kind).header, *fields_outside())}
    try:
        columns = [(table.column(name), value) for name, value in wanted.items()]
    except (KeyError, ValueError):  # the field is not a number
        return False
    rows = table.count
    return all(  # a field without a default is never plain
        isinstance(value, int) and core.module.count(column, rows, value) == rows
        for column, value in columns
    )


def _integers(column: object) -> memoryview:
    assert isinstance(column, IntegerColumn)
    return column.integers


def _bits(validity: Any, first: int, last: int) -> bytes:
    """Return the bits of some rows, the first of them in the lowest bit."""
    with memoryview(validity) as view:
        found = int.from_bytes(view[first // 8 : (last + 7) // 8], "little") >> (first % 8)
    size = (last - first + 7) // 8
    return (found & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def _ends(offsets: Any, count: int) -> memoryview:
    return memoryview(offsets).cast("B").cast("i")[: count + 1]


def _part(found: object, count: int) -> _Part:
    assert isinstance(found, BytesColumn)
    return found.present, _ends(found.main, count), found.data


def _items(
    validity: Any, sizes: memoryview, content: Any, first: int, last: int
) -> list[bytes | None]:
    bits = -1 if validity is None else int.from_bytes(_bits(validity, first, last), "little")
    data = memoryview(content or b"")
    return [
        bytes(data[sizes[row] : sizes[row + 1]]) if bits >> (row - first) & 1 else None
        for row in range(first, last)
    ]
