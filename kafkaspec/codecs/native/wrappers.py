"""Compressed messages of magic 0 and 1: what the core must be told of the messages inside.

Only what is regular is taken here. Whatever Kafka forgives or refuses (a cut last message, another
format inside, offsets that go beyond the wrapper's) is left to the reference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from kafkaspec._generated.python.runtime import signed64
from kafkaspec.codecs.native.columns import AnyColumn, IntegerColumn
from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.names import COMPRESSION, MAGIC, OFFSET, TIMESTAMP, TIMESTAMP_TYPE
from kafkaspec.codecs.native.scan import End, EntryTable, scan

_MAGIC_1: Final = 1


@dataclass(frozen=True)
class Shift:
    """What rows of a wrapper need after they were decoded.

    Attributes:
        first: first row.
        count: number of rows.
        offset: added to each offset.
        timestamp: put in the place of each timestamp, None to leave them.
    """

    first: int
    count: int
    offset: int
    timestamp: int | None

    def moved(self, rows: int) -> Shift:
        """The same for rows that have moved."""
        return replace(self, first=self.first + rows)

    def apply(self, found: dict[str, AnyColumn]) -> None:
        """Change the columns."""
        offsets, timestamps = found.get(OFFSET), found.get(TIMESTAMP)
        rows = range(self.first, self.first + self.count)
        if isinstance(offsets, IntegerColumn) and self.offset:
            values = memoryview(offsets.values).cast("B").cast("q")
            for row in rows:
                values[row] = signed64(values[row] + self.offset)
        if isinstance(timestamps, IntegerColumn) and self.timestamp is not None:
            values = memoryview(timestamps.values).cast("B").cast("q")
            for row in rows:
                values[row] = self.timestamp


def open_wrapper(
    core: Core, table: EntryTable, entry: int, payload: bytes, first: int
) -> Shift | None:
    """What to do with the messages of a wrapper; None where it is not regular.

    Args:
        core: the extension.
        table: headers of the entries around.
        entry: the wrapper among them.
        payload: its value after decompression.
        first: row of its first message.
    """
    inner = scan(core, payload)
    magics = set(inner.column(MAGIC))
    magic = table.column(MAGIC)[entry]
    if inner.end is not End.COMPLETE or magics != {magic}:
        return None
    if any(inner.column(COMPRESSION)):
        return None
    offset, last = table.column(OFFSET)[entry], inner.column(OFFSET)[inner.count - 1]
    shift = 0
    timestamp = None
    if magic == _MAGIC_1:
        if offset and offset < last:
            return None
        shift = offset - last if offset else 0
        if table.column(TIMESTAMP_TYPE)[entry]:
            timestamp = table.column(TIMESTAMP)[entry]
    return Shift(first, inner.count, shift, timestamp)
