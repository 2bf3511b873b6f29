"""Columns of one batch, or of entries that were chosen already."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkaspec.codecs.native.names import UNTIMED
from kafkaspec.codecs.native.scan import EntryTable
from kafkaspec.columns.memory import AnyColumn, ColumnSet, Layout
from kafkaspec.columns.wanted import HIGHEST, LOWEST
from kafkaspec.io.window import Allocate
from kafkaspec.log.batch import Batch
from kafkaspec.model import Buffer

if TYPE_CHECKING:
    from kafkaspec.codecs.native.core import Core


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


def decode_payload(
    core: Core, batch: Batch, payload: Buffer, names: Sequence[str]
) -> dict[str, AnyColumn] | None:
    """Return columns of the records of one batch; None if the core refuses them.

    Args:
        core: the extension.
        batch: a batch with record sets.
        payload: decompressed records of the batch.
        names: names of the columns.
    """
    return decoded(core, (batch.data, payload), batch.num_records or 0, names, Layout.BINARY)


def decoded(
    core: Core,
    sources: tuple[Buffer, Buffer],
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
