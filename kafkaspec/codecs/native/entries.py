"""Whole entries by columns: their checksums, and headers for payloads."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.scan import EntryTable
from kafkaspec.layout import EntryKind
from kafkaspec.layout.framing import FRAMING, checksum_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

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
