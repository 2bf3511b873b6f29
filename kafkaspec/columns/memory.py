"""Columns in the caller's memory: allocation, growth, results, and those of a single batch."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from kafkaspec.codecs.native.core import Core, CoreColumn
from kafkaspec.codecs.native.names import UNTIMED
from kafkaspec.codecs.native.scan import EntryTable
from kafkaspec.columns.wanted import HIGHEST, LOWEST
from kafkaspec.io.window import Allocate

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from kafkaspec import model

Unpacked = Callable[[int, int, int], None]
"""Function that takes the position of an entry, and the bytes of its records before and after
decompression."""


VIEW_BYTES: Final = 16
INLINE_BYTES: Final = 12
"""Bytes of a view of Arrow, and of a value that it holds itself."""
_SET: Final = re.compile(rb"[^\0]")


class Layout(IntEnum):
    """Layout of byte strings in memory."""

    VIEW = 0
    """Arrow's ``binary_view``: 16 bytes each, which point into the input or hold a short value."""
    BINARY = 1
    """Arrow's ``binary``: 32-bit offsets and a copy of all bytes."""
    SPAN = 2
    """Position and size in two 64-bit integers, size -1 for null."""


@dataclass
class IntegerColumn:
    """64-bit integers.

    Attributes:
        values: the integers, 8 bytes each; the buffer may be larger.
    """

    values: Buffer

    @property
    def integers(self) -> memoryview:
        """The values as 64-bit integers."""
        return memoryview(self.values).cast("B").cast("q")


@dataclass
class BytesColumn:
    """Byte strings in Arrow's layout.

    Attributes:
        validity: a bit for each row, low bit first, 0 for null; None where null cannot occur.
        main: views, offsets or spans, depending on the layout.
        data: the bytes themselves in layout BINARY, None in the others.
        data_size: number of bytes of ``data`` in use.
        nulls: number of null values.
        is_ascii: True if null cannot occur and all bytes are ASCII, so valid UTF-8; False if the
            caller has to check them.
    """

    validity: Buffer | None
    main: Buffer
    data: Buffer | None = None
    data_size: int = 0
    nulls: int = 0
    is_ascii: bool = False

    @property
    def present(self) -> Buffer | None:
        """``validity``, or None where no value is null."""
        return self.validity if self.nulls else None


@dataclass
class ListColumn:
    """Lists of structures.

    Attributes:
        offsets: 32-bit integers; row i has the items from offsets[i] up to offsets[i + 1].
        items: number of items in all rows.
        children: columns of the items, by id.
    """

    offsets: Buffer
    items: int = 0
    children: dict[str, IntegerColumn | BytesColumn] = field(default_factory=dict)


AnyColumn = IntegerColumn | BytesColumn | ListColumn


@dataclass(kw_only=True)
class Columns:
    """Records in columns.

    Attributes:
        rows: number of records.
        columns: the columns, by name.
        layout: layout of byte strings.
        sources: buffers that views point into, by number.
        start: byte position in the log to which positions of entries are relative.
        cut: whether some records may lie outside the requested offsets.
        untimed: whether some records are of a kind without timestamps.
        markers: whether some records are control records.
        entry: position of an entry in the log that is for the caller; there are no rows then.
        own: values of columns of ``OWN``, by name, where ``columns`` has none.
    """

    rows: int
    columns: dict[str, AnyColumn]
    layout: Layout
    sources: Sequence[Buffer] = ()
    start: int = 0
    cut: bool = False
    untimed: bool = False
    markers: bool = False
    entry: int | None = None
    own: dict[str, list[Any]] = field(default_factory=dict)

    def integer_column(self, name: str) -> IntegerColumn:
        """Return a column of integers."""
        column = self.columns[name]
        assert isinstance(column, IntegerColumn)
        return column

    def bytes_column(self, name: str) -> BytesColumn:
        """Return a column of byte strings."""
        column = self.columns[name]
        assert isinstance(column, BytesColumn)
        return column


class ColumnSet:
    """Memory for columns of a known number of rows, which the core fills batch by batch.

    Lists start with room for four items per row and grow. Byte columns of layout BINARY have room
    for all bytes of the input from the start; this memory is not touched until it is needed.

    Args:
        core: the extension.
        names: columns, as dotted ids; a list includes its children.
        rows: exact number of rows.
        layout: layout of byte columns.
        data_bytes: most bytes a byte column can hold, for layout BINARY.
        allocate: allocates memory.
    """

    def __init__(
        self,
        core: Core,
        names: Sequence[str],
        rows: int,
        layout: Layout,
        data_bytes: int,
        allocate: Allocate = bytearray,
    ) -> None:
        self._core = core
        self.layout = layout
        self.rows = rows
        self._allocate = allocate
        self._data_bytes = data_bytes
        module = core.module
        self.integers, self.bytes = module.INTEGER, (module.BYTES, module.NULLABLE_BYTES)
        self._wanted = _closure(core, tuple(names))
        lists, self._bytes_count = _counts(core)
        self._items = [min(4 * rows, data_bytes) + 64] * lists
        self.outputs: list[Any] = [None] * len(core.columns)
        for column in self._wanted:
            self.outputs[column.number] = self._new(column)
        self.state = array("q", bytes(8 * (1 + 3 * self._bytes_count + lists)))

    @property
    def filled(self) -> int:
        """Number of filled rows."""
        return self.state[0]

    @property
    def capacities(self) -> tuple[int, ...]:
        """Capacity: number of rows, then number of items of each list."""
        return (self.rows, *self._items)

    def _new(self, column: CoreColumn) -> Any:
        count = self.rows if column.list < 0 else self._items[column.list]
        if column.kind == self.integers:
            return self._allocate(8 * count)
        if column.kind not in self.bytes:
            return self._allocate(4 * (count + 1))
        nullable = column.kind == self._core.module.NULLABLE_BYTES
        validity = self._allocate((count + 7) // 8) if nullable else None
        if self.layout is not Layout.BINARY:
            return (validity, self._allocate(VIEW_BYTES * count), None)
        data = self._allocate(self._data_bytes + self._core.module.SLACK)
        return (validity, self._allocate(4 * (count + 1)), data)

    def decode(self, sources: Sequence[Buffer], entries: array[int], first: int = 0) -> int:
        """Fill rows from entries.

        Args:
            sources: buffers with the entries and their decompressed payloads.
            entries: descriptions of the entries, as ``select`` makes them.
            first: number of the first entry to decode.

        Returns:
            The number of the entry that the core refused, or the number of entries.

        Raises:
            MemoryError: a list cannot grow further.
        """
        module = self._core.module
        buffers: tuple[Buffer, ...] = tuple(sources)
        count: int = len(entries) // module.BATCH_FIELDS
        while True:
            status, failed, _ = module.decode(
                buffers, entries, first, count - first, self.layout, tuple(self.outputs),
                self.capacities, self.state,
            )  # fmt: skip
            if status != module.GROW:
                return count if status == module.OK else int(failed)
            self.grow()
            first = failed

    def grow(self) -> None:
        """Double the room for the items of lists.

        Raises:
            MemoryError: a list has room for 2**30 items already.
        """
        if not self._items or max(self._items) >= 1 << 30:
            raise MemoryError("columns cannot grow further")
        self._items = [2 * items for items in self._items]
        for column in self._wanted:
            if column.list < 0:
                continue
            old, new = self.outputs[column.number], self._new(column)
            if column.kind == self.integers:
                _copy(old, new)
            else:
                for before, after in zip(old, new, strict=True):
                    if before is not None:
                        _copy(before, after)
            self.outputs[column.number] = new

    def result(self) -> dict[str, AnyColumn]:
        """Return the columns of the filled rows."""
        found: dict[str, AnyColumn] = {}
        lists: dict[int, ListColumn] = {}
        for column in sorted(self._wanted, key=lambda column: column.list):
            made = self._column(column)
            if isinstance(made, ListColumn):
                lists[column.index] = made
            if column.list < 0:
                found[column.name] = made
            else:
                assert not isinstance(made, ListColumn)
                lists[column.list].children[column.name.rpartition(".")[2]] = made
        return found

    def _column(self, column: CoreColumn) -> AnyColumn:
        output = self.outputs[column.number]
        if column.kind == self.integers:
            return IntegerColumn(output)
        if column.kind in self.bytes:
            used, nulls = self.state[1 + 2 * column.index], self.state[2 + 2 * column.index]
            validity, main, data = output
            last = self.state[1 + 2 * self._bytes_count + len(self._items) + column.index]
            nullable = column.kind == self._core.module.NULLABLE_BYTES
            return BytesColumn(validity, main, data, used, nulls, not nullable and not last)
        return ListColumn(output, self.state[1 + 2 * self._bytes_count + column.index])


def null_rows(validity: Buffer | None, rows: int) -> Iterator[int]:
    """Yield the rows that are null.

    Args:
        validity: a bit for each row, low bit first, 0 for null; None where nothing is null.
        rows: number of rows.
    """
    if validity is None:
        return
    stored = int.from_bytes(memoryview(validity).cast("B")[: (rows + 7) // 8], "little")
    bits = f"{~stored & (1 << rows) - 1:b}"[::-1]
    row = bits.find("1")
    while row >= 0:
        yield row
        row = bits.find("1", row + 1)


@cache
def _counts(core: Core) -> tuple[int, int]:
    """Return the number of lists and of byte columns of a core."""
    module, kinds = core.module, [column.kind for column in core.columns.values()]
    return kinds.count(module.LIST), kinds.count(module.BYTES) + kinds.count(module.NULLABLE_BYTES)


@cache
def _closure(core: Core, names: tuple[str, ...]) -> list[CoreColumn]:
    """Return the named columns; for a list also its byte columns, for a part of a list the list."""
    module = core.module
    found: dict[str, CoreColumn] = {}
    for name in names:
        if name not in core.columns:
            known = ", ".join(core.columns)
            raise ValueError(f"no column {name!r}; there are {known}")
        column = core.columns[name]
        found[name] = column
        if column.kind == module.LIST:
            children = core.children(column)
            found |= {c.name: c for c in children if c.kind != module.INTEGER}
    lists = [c for c in core.columns.values() if c.kind == module.LIST]
    for column in list(found.values()):
        if column.list >= 0:
            found.setdefault(lists[column.list].name, lists[column.list])
    return list(found.values())


def _copy(old: Buffer, new: Buffer) -> None:
    source = memoryview(old).cast("B")
    memoryview(new).cast("B")[: len(source)] = source


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
        table.values, table.capacity, 0, count, core.roles, rules, None, room
    )
    return room[: number * core.module.BATCH_FIELDS]


def decoded(
    core: Core,
    sources: tuple[model.Buffer, model.Buffer],
    rows: int,
    names: Sequence[str],
    layout: Layout,
    allocate: Allocate = bytearray,
    *,
    place: tuple[int, int] | None = None,
) -> dict[str, AnyColumn] | None:
    """Return columns of records outside their entry; None if the core refuses them.

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


def set_bits(bits: int, size: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set in an integer of so many bytes."""
    for found in _SET.finditer(bits.to_bytes(size, "little")):
        byte = found[0][0]
        yield from (8 * found.start() + bit for bit in range(8) if byte >> bit & 1)
