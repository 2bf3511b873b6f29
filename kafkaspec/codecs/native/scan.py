"""Headers of entries by columns, in one call; checksums of entries, and headers for payloads."""

from __future__ import annotations

import mmap
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from kafkaspec.codecs.base import Survey
from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.names import UNTIMED
from kafkaspec.layout import EntryKind
from kafkaspec.layout.framing import FRAMING, checksum_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

_MOST_ROWS: Final = (1 << 31) - 1
_LARGE: Final = 4 << 20
_APART: Final = 8
"""Set in the capacity of a large table: columns that lie a power of two apart would share a few
lines of the cache."""


class End(IntEnum):
    """Why a scan ended."""

    COMPLETE = 0
    """At the end of the bytes."""
    IRREGULAR = 1
    """The next bytes are not an entry, or none that can be read."""
    FULL = 3
    """There was no room for more."""
    SHORT = 4
    """The next bytes are less than an entry."""


@dataclass
class EntryTable:
    """Headers of entries.

    Attributes:
        names: the columns, dotted ids of the specification; ``position`` and ``size`` of the whole
            entry first.
        count: number of entries.
        end: why there are no more of them.
        position: byte offset after the last one.
        values: column k of entry i at ``k * capacity + i``.
        present: a bit for each column that the entry has, by entry.
        capacity: entries that there is room for.
    """

    names: tuple[str, ...]
    count: int
    end: End
    position: int
    values: memoryview
    present: memoryview
    capacity: int

    def column(self, name: str) -> memoryview:
        """Return a column: signed 64-bit integers. What an entry does not have is undefined."""
        start = self.names.index(name) * self.capacity
        return self.values[start : start + self.count]

    def has(self, name: str, entry: int) -> bool:
        """Return whether the entry has that column."""
        return bool(self.present[entry] >> self.names.index(name) & 1)


def scan(
    core: Core,
    buffer: Buffer,
    start: int = 0,
    end: int | None = None,
    capacity: int | None = None,
    spare: EntryTable | None = None,
) -> EntryTable:
    """Return the headers of the entries between two positions.

    Args:
        core: the extension.
        buffer: the bytes.
        start: where the first entry begins.
        end: where the bytes end; the end of the buffer by default.
        capacity: entries that there is room for, if the bytes may have so many; without it, all.
        spare: a table that nobody reads any more, for its memory.
    """
    stop = memoryview(buffer).nbytes if end is None else end
    if capacity is not None:  # not more than bytes can hold: memory takes longer than few entries
        room = (stop - start) // FRAMING + 1
        return _scan(core, buffer, start, stop, min(capacity, room | _APART), spare)
    room = max(64, min((stop - start) // 4096, 1 << 20)) | _APART
    parts = [_scan(core, buffer, start, stop, room)]
    while parts[-1].end is End.FULL:
        room = min(4 * room, 1 << 22) | _APART
        parts.append(_scan(core, buffer, parts[-1].position, stop, room))
    return parts[0] if len(parts) == 1 else _joined(parts)


def blank_table(core: Core, count: int) -> EntryTable:
    """Return a table of so many entries, all zeros, to be filled."""
    values = memoryview(bytearray(8 * count * len(core.scan_names))).cast("q")
    present = memoryview(bytearray(8 * count)).cast("Q")
    return EntryTable(core.scan_names, count, End.COMPLETE, 0, values, present, count)


def survey(core: Core, payload: Buffer, verify: bool) -> Survey | None:
    """Return what the messages in a wrapper have in common; see ``Codec.survey``."""
    module = core.module
    end, count, batches, untimed, compressed, first, last, size = module.survey(
        payload, core.inner_roles, UNTIMED
    )
    if end == End.IRREGULAR or compressed or batches or count >= _MOST_ROWS:
        return None
    if verify:
        entry = array("q", bytes(8 * module.BATCH_FIELDS))
        entry[module.SIZE], entry[module.PAYLOAD] = size, -1
        entry[module.ROWS], entry[module.FLAGS] = count, module.VERIFY | module.ENTRIES
        outputs = (None,) * len(core.columns)
        lists = sum(column.kind == module.LIST for column in core.columns.values())
        state = array("q", bytes(8 * 4 * (len(core.columns) + 1)))
        capacities = (count, *[0] * lists)
        status, _, _ = module.decode((payload,), entry, 0, 1, 2, outputs, capacities, state)
        if status != module.OK:
            return None
    return Survey(size, count, untimed, first, last)


def _scan(
    core: Core,
    buffer: Buffer,
    start: int,
    stop: int,
    capacity: int,
    spare: EntryTable | None = None,
) -> EntryTable:
    if spare is not None and spare.capacity >= capacity:
        values, present, capacity = spare.values, spare.present, spare.capacity
    else:
        values = _memory(8 * capacity * len(core.scan_names)).cast("q")
        present = memoryview(bytearray(8 * capacity)).cast("Q")
    status, count, position = core.module.scan(buffer, start, stop, values, present, capacity)
    return EntryTable(core.scan_names, count, End(status), position, values, present, capacity)


def _memory(size: int) -> memoryview:
    """Memory that NumPy and Arrow take as it is.

    A ``bytearray`` is cleared, which takes longer than the scan of a table that stays nearly empty:
    large memory comes from the system, where a page costs nothing until it is written, and then
    30 times as much.
    """
    return memoryview(bytearray(size) if size < _LARGE else mmap.mmap(-1, size))


def _joined(parts: list[EntryTable]) -> EntryTable:
    count = sum(part.count for part in parts)
    names = parts[0].names
    values = _memory(8 * count * len(names)).cast("q")
    present = memoryview(bytearray(8 * count)).cast("Q")
    row = 0
    for part in parts:
        for number, name in enumerate(names):
            at = number * count + row
            values[at : at + part.count] = part.column(name)
        present[row : row + part.count] = part.present[: part.count]
        row += part.count
    last = parts[-1]
    return EntryTable(names, count, last.end, last.position, values, present, count)


_ROW: Final = 48
"""More bytes than the fields of a record take, without its keys and values."""
_ITEM: Final = 12
"""The same for an item of a list."""


def intact(
    core: Core,
    kind: EntryKind,
    buffer: Buffer,
    positions: Sequence[int],
    sizes: Sequence[int],
    checksums: Sequence[int],
    start: int = 0,
) -> int:
    """Return how many of the first entries have the checksum that they hold.

    Args:
        core: the extension.
        kind: the kind of all entries.
        buffer: bytes that contain all of them.
        positions: their positions.
        sizes: their sizes in bytes.
        checksums: the checksums that they hold.
        start: position of the first byte of ``buffer``.
    """
    rule = checksum_of(kind.key)
    columns = (
        item if isinstance(item, memoryview) else array("q", item)
        for item in (positions, sizes, checksums)
    )
    count: int = core.module.intact(
        buffer, start, *columns, len(positions), FRAMING + rule.start, rule.algorithm == "crc32c"
    )
    return count


def put_headers(core: Core, kind: EntryKind, table: EntryTable, out: Buffer, ends: Buffer) -> int:
    """Write a header before each payload, with its size and checksum.

    Args:
        core: the extension.
        kind: a kind of batch, for which ``header_size`` is not 0.
        table: headers of that kind, whose columns may have been changed.
        out: room for a header and then a payload for each entry of the table; payloads are in
            place.
        ends: positions after each payload, as 64-bit integers.

    Returns:
        The number of headers written before one that cannot be, since a number does not fit.
    """
    number = core.kinds[kind.key].number
    count: int = core.module.headed(
        number, table.values, table.capacity, table.count, _members(core, kind.key), out, ends
    )
    return count


def put_payloads(
    core: Core,
    kind: EntryKind,
    headers: EntryTable,
    firsts: Buffer,
    rows: int,
    columns: Mapping[str, Any],
) -> tuple[bytearray, array[int]] | None:
    """Return the payloads of batches, with room for a header before each.

    Args:
        core: the extension.
        kind: a kind of batch, for which ``header_size`` is not 0.
        headers: the headers that the batches will have.
        firsts: the first row of each batch, and the row after the last one, as 64-bit integers.
        rows: number of rows of the columns.
        columns: as for ``Core.encode``.

    Returns:
        The bytes, and the position after each payload; None if a number does not fit.
    """
    inputs: list[Any] = [None] * len(core.columns)
    size = (_ROW + header_size(core, kind)) * (rows + headers.count)
    for name, column in columns.items():
        inputs[core.columns[name].number] = column
        if isinstance(column, tuple):
            size += memoryview(column[1]).cast("B").cast("i")[-1] + _ITEM * len(column[1])
    number = core.kinds[kind.key].number
    ends = array("q", bytes(8 * headers.count))
    out = core.module.memory(size)
    made = core.module.encode_groups(
        number, headers.values, headers.capacity, headers.count, _members(core, kind.key), firsts,
        rows, tuple(inputs), out, ends,
    )  # fmt: skip
    if made < headers.count:
        return None
    del out[ends[-1] :]
    return out, ends


def header_size(core: Core, kind: EntryKind) -> int:
    """Return the number of bytes before the payload of a batch, 0 if it cannot be written here."""
    if _members(core, kind.key) is None:
        return 0
    return core.kinds[kind.key].header_size


@cache
def _members(core: Core, key: str) -> tuple[int, ...] | None:
    """Return the columns of a table that a header consists of; None if one is missing."""
    names = core.kinds[key].names
    if not set(names) <= set(core.scan_names):
        return None
    return tuple(map(core.scan_names.index, names))
