"""Compressed messages of magic 0 and 1: what becomes of the rows of the messages inside.

Only what is regular is taken here. Whatever Kafka forgives or refuses (a cut last message, a batch
or a compressed message inside, offsets that go beyond the wrapper's) is left to the reference,
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
from kafkaspec.codecs.native.scan import End, EntryTable
from kafkaspec.columns.memory import AnyColumn, IntegerColumn
from kafkaspec.columns.names import BATCH_BASE_OFFSET
from kafkaspec.layout.kinds import KINDS
from kafkaspec.layout.names import MAGIC, OFFSET, TIMESTAMP, TIMESTAMP_TYPE
from kafkaspec.log.legacy import has_relative_offsets

if TYPE_CHECKING:
    from typing_extensions import Buffer


@dataclass(frozen=True)
class Shift:
    """What rows of a wrapper need after they were decoded.

    Attributes:
        count: number of rows.
        offset: added to each offset.
        base_offset: offset of the first row, after that.
        timestamp: put in the place of each timestamp, None to leave them.
    """

    count: int
    offset: int
    base_offset: int
    timestamp: int | None

    def apply(self, core: Core, found: Mapping[str, AnyColumn], first: int) -> None:
        """Change the columns that are there.

        Args:
            core: the extension.
            found: columns.
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
    """Change the rows of wrappers.

    Args:
        core: the extension.
        shifts: by number of the entry.
        batches: what the core was told of the entries.
        entries: those whose rows the columns have.
        found: the columns.
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
    """What to do with the messages of a wrapper; None where it is not regular.

    Args:
        core: the extension.
        table: headers of the entries around.
        entry: the wrapper among them.
        payload: its value after decompression.
    """
    magic = table.column(MAGIC)[entry]
    appended = KINDS[magic].has_timestamps and table.column(TIMESTAMP_TYPE)[entry]
    append_time = table.column(TIMESTAMP)[entry] if appended else None
    return shift_of(core, payload, magic, table.column(OFFSET)[entry], append_time)


def shift_of(
    core: Core, payload: Buffer, magic: int, offset: int, append_time: int | None
) -> Shift | None:
    """The same, of a wrapper of that magic and offset.

    Args:
        core: the extension.
        payload: its value after decompression.
        magic: of the wrapper.
        offset: of the wrapper.
        append_time: its timestamp if that is the time of all messages (LogAppendTime), or None.
    """
    end, count, batches, untimed, compressed, first, last = core.module.survey(
        payload, core.inner_roles, UNTIMED
    )
    if end != End.COMPLETE or not count or compressed or batches:
        return None
    shift = 0
    if has_relative_offsets(KINDS[magic]) and offset:
        if offset < last:
            return None
        shift = offset - last
    if append_time is not None and untimed:  # nothing is the time of a message that has none
        if untimed < count:
            return None
        append_time = None
    return Shift(count, signed64(shift), signed64(first + shift), append_time)
