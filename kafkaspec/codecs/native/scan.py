"""Headers of entries by columns, in one call."""

from __future__ import annotations

import mmap
from array import array
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from kafkaspec.codecs.base import Survey
from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.names import UNTIMED

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
        capacity: entries that there is room for, at least; without it, as many as there are.
        spare: a table that nobody reads any more, for its memory.
    """
    stop = memoryview(buffer).nbytes if end is None else end
    if capacity is not None:
        return _scan(core, buffer, start, stop, capacity, spare)
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
