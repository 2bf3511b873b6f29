"""Regular batches of a segment, a range of bytes at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from kafkaspec._generated.python.model.recordbatch import CompressionType
from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.entries import header_size
from kafkaspec.codecs.native.scan import EntryTable, scan
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.segment import Segment
from kafkaspec.model import Buffer

RANGE_BYTES: Final = 1 << 20
"""Bytes of batches that are converted at a time, unless one batch has more."""
KNOWN: Final = frozenset(map(int, CompressionType))
"""Ids of all compressions."""
BEFORE_ALL: Final = -LARGEST_OFFSET - 2
"""Less than every offset."""


@dataclass(frozen=True, slots=True)
class Range:
    """Regular batches that follow one another.

    Attributes:
        buffer: bytes that contain them.
        start: position of the first byte of ``buffer`` in the segment.
        table: their headers; positions are those in ``buffer``.
        compressions: the compression that each is to have; None if all keep their bytes.
        max_output: most bytes that one may decompress to.
    """

    buffer: memoryview
    start: int
    table: EntryTable
    compressions: list[int] | None
    max_output: int


Regular = Callable[[EntryTable, EntryKind, int | None], tuple[int, list[int] | None]]
"""Function of a table, the kind of its first entry, and the last offset before it. It returns the
number of leading entries that are regular, and ``Range.compressions``."""


def regular_ranges(
    core: Core,
    segment: Segment,
    position: int,
    after: int | None,
    wanted: EntryKind | None,
    regular: Regular,
    most: int,
) -> Iterator[Range]:
    """Yield the batches from a position on, up to the first one that is not regular.

    Args:
        core: the extension.
        segment: the segment.
        position: position of an entry.
        after: last offset before it, None if there is none.
        wanted: the kind of batches, None for any.
        regular: finds the regular ones.
        most: bytes of a range, unless one batch has more.

    Raises:
        KafkaSpecError: ``changed``, ``unreadable``.
    """
    cursor = segment.cursor(most=most)
    while position < segment.size:
        segment.check()
        buffer, start = segment.around(cursor, position)
        at = position - start
        kind = _kind(core, buffer, at)
        if kind is None or wanted not in (None, kind):
            return
        table = scan(core, buffer, at, min(at + most, len(buffer)))
        if not table.count:
            table = scan(core, buffer, at, capacity=1)
        count, compressions = regular(table, kind, after)
        if count:
            after = table.column(names.LAST_OFFSET)[count - 1]
            found = replace(table, count=count)
            yield Range(buffer, start, found, compressions, segment.max_output)
        if count < table.count:
            return
        position = start + table.position


def _kind(core: Core, buffer: Buffer, position: int) -> EntryKind | None:
    """Return the kind of the batch at a position, None if it is none that the core writes."""
    first = scan(core, buffer, position, capacity=1)
    kind = KINDS.get(first.column(names.MAGIC)[0]) if first.count else None
    if kind is None or not kind.has_record_sets or not header_size(core, kind):
        return None
    return kind
