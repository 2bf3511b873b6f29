"""Wrappers (compressed messages of magic 0 and 1): offsets and timestamps of their messages.

Only regular wrappers are handled here. Cases that Kafka tolerates or rejects (a cut last message, a
batch or a compressed message inside, offsets beyond the wrapper's) are for the reference,
``kafkaspec.log.legacy``, which has the rules.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.scan import EntryTable, survey
from kafkaspec.columns.memory import AnyColumn, IntegerColumn
from kafkaspec.columns.wanted import BATCH_BASE_OFFSET
from kafkaspec.layout.kinds import KINDS
from kafkaspec.layout.names import MAGIC, OFFSET, TIMESTAMP, TIMESTAMP_TYPE
from kafkaspec.log.legacy import Shift, shift_of

if TYPE_CHECKING:
    from kafkaspec.model import Buffer


def apply_shift(
    core: Core, shift: Shift, found: Mapping[str, AnyColumn], first: int, rows: int
) -> None:
    """Apply the changes of a wrapper to those of the columns that are present.

    Args:
        core: the extension.
        shift: the changes.
        found: the columns, by name.
        first: row of the first message.
        rows: number of messages.
    """
    changes = (
        (OFFSET, False, shift.offset or None),
        (BATCH_BASE_OFFSET, True, shift.base_offset),
        (TIMESTAMP, True, shift.timestamp),
    )
    for name, replaced, number in changes:
        column = found.get(name)
        if number is not None and isinstance(column, IntegerColumn):
            core.module.adjust(column.values, first, rows, replaced, number)


def apply_shifts(
    core: Core,
    shifts: Mapping[int, Shift],
    batches: array[int],
    entries: range,
    found: Mapping[str, AnyColumn],
) -> None:
    """Apply the shifts of wrappers to their rows.

    Args:
        core: the extension.
        shifts: shifts by number of the entry.
        batches: descriptions of the entries for the core.
        entries: numbers of the entries whose rows are in the columns.
        found: the columns, by name.
    """
    if not shifts:
        return
    rows = batches[core.module.ROWS :: core.module.BATCH_FIELDS]
    first = 0
    for number in entries:
        shift = shifts.get(number)
        if shift is not None:
            apply_shift(core, shift, found, first, shift.count)
        first += rows[number]


def open_wrapper(core: Core, table: EntryTable, entry: int, payload: Buffer) -> Shift | None:
    """Return the changes to the messages of a wrapper; None if it is not regular.

    Args:
        core: the extension.
        table: headers of entries, the wrapper among them.
        entry: number of the wrapper in the table.
        payload: decompressed value of the wrapper.
    """
    magic = table.column(MAGIC)[entry]
    appended = KINDS[magic].has_timestamps and table.column(TIMESTAMP_TYPE)[entry]
    append_time = table.column(TIMESTAMP)[entry] if appended else None
    whole = survey(core, payload, False)
    if whole is None or whole.size < len(payload):
        return None
    return shift_of(whole, KINDS[magic], table.column(OFFSET)[entry], append_time)
