"""Wrappers (compressed messages of magic 0 and 1): offsets and timestamps of their messages.

Only regular wrappers are handled here. Cases that Kafka tolerates or rejects (a cut last message, a
batch or a compressed message inside, offsets beyond the wrapper's) are left to the reference,
``kafkaspec.log.legacy``, which has the rules.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkaspec._generated.python.runtime import signed64
from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.names import UNTIMED
from kafkaspec.codecs.native.scan import End, EntryTable, survey
from kafkaspec.columns.memory import AnyColumn, IntegerColumn
from kafkaspec.columns.names import BATCH_BASE_OFFSET
from kafkaspec.layout.kinds import KINDS
from kafkaspec.layout.names import MAGIC, OFFSET, TIMESTAMP, TIMESTAMP_TYPE
from kafkaspec.log.legacy import has_relative_offsets

if TYPE_CHECKING:
    from typing_extensions import Buffer


@dataclass(frozen=True)
class Shift:
    """Changes to the decoded rows of a wrapper.

    Attributes:
        count: number of rows.
        offset: number to add to each offset.
        base_offset: offset of the first row, after the addition.
        timestamp: replaces each timestamp, in ms; None to keep them.
    """

    count: int
    offset: int
    base_offset: int
    timestamp: int | None

    def apply(self, core: Core, found: Mapping[str, AnyColumn], first: int) -> None:
        """Apply the changes to those of the columns that are present.

        Args:
            core: the extension.
            found: the columns, by name.
            first: row of the first message.
        """
        changes = (
            (OFFSET, False, self.offset or None),
            (BATCH_BASE_OFFSET, True, self.base_offset),
            (TIMESTAMP, True, self.timestamp),
        )
        for name, replaced, number in changes:
            column = found.get(name)
            if number is not None and isinstance(column, IntegerColumn):
                core.module.adjust(column.values, first, self.count, replaced, number)


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
            shift.apply(core, found, first)
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
    return shift_of(core, payload, magic, table.column(OFFSET)[entry], append_time)


def shift_of(
    core: Core, payload: Buffer, magic: int, offset: int, append_time: int | None
) -> Shift | None:
    """Return the changes to the messages of a wrapper; None if it is not regular.

    Args:
        core: the extension.
        payload: decompressed value of the wrapper.
        magic: magic of the wrapper.
        offset: offset of the wrapper.
        append_time: timestamp of the wrapper in ms if it has LogAppendTime, and so the timestamp of
            all its messages; None otherwise.
    """
    found = survey(core, payload, False)
    if found is None:
        return None
    count, untimed, first, last = found.count, found.untimed, found.first, found.last
    shift = 0
    if has_relative_offsets(KINDS[magic]) and offset:
        if offset < last:
            return None
        shift = offset - last
    if append_time is not None and untimed:  # a message without a timestamp does not get one
        if untimed < count:
            return None
        append_time = None
    return Shift(count, signed64(shift), signed64(first + shift), append_time)


def is_mixed(core: Core, payload: Buffer, magic: int) -> bool | None:
    """Return whether messages in a wrapper have another magic than it (KAFKA-4298, Q21).

    Args:
        core: the extension.
        payload: decompressed value of the wrapper.
        magic: magic of the wrapper.

    Returns:
        None if the wrapper is not regular.
    """
    end, count, batches, untimed, *_ = core.module.survey(payload, core.inner_roles, UNTIMED)
    if end != End.COMPLETE or not count or batches:
        return None
    return bool(untimed != (0 if KINDS[magic].has_timestamps else count))
