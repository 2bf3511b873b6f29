"""Decompress payloads into an arena, and say which entries can be decoded from it.

Only regular wrappers (compressed messages of magic 0 and 1) are opened here. Cases that Kafka
tolerates or rejects (a cut last message, a batch or a compressed message inside, offsets beyond the
wrapper's) are for the reference, ``kafkaspec.log.legacy``, which has the rules.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from kafkaspec import compression
from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.names import KIND
from kafkaspec.codecs.native.scan import EntryTable, survey
from kafkaspec.columns.memory import AnyColumn, IntegerColumn, Unpacked
from kafkaspec.columns.wanted import BATCH_BASE_OFFSET, POSITION
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.io.window import Allocate, Cursor
from kafkaspec.layout.kinds import KINDS
from kafkaspec.layout.names import MAGIC, OFFSET, TIMESTAMP, TIMESTAMP_TYPE
from kafkaspec.log.batch import Batch
from kafkaspec.log.legacy import Shift, shift_of
from kafkaspec.log.pieces import HELD_BYTES
from kafkaspec.log.segment import Segment
from kafkaspec.model import Buffer

_LEAST_ARENA: Final = 64 << 10
_RATIO: Final = 4
"""Assumed ratio of decompressed to compressed bytes, until a batch shows a larger one."""
_CHECKED: Final = 32
"""Number of entries to decompress before the size of the file is checked again."""
_IN_ENTRY: Final = -1
"""Marks a payload that is not compressed; a compressed one has -1 - codec."""
_OF_BATCH = next(magic for magic, kind in KINDS.items() if kind.has_record_sets)
_OF_WRAPPER = next(magic for magic, kind in KINDS.items() if not kind.has_record_sets)
"""Magics that stand for all in which payloads are those of batches, and of wrappers."""


@dataclass
class Chunk:
    """Entries that are decoded together.

    Attributes:
        region: the part of the input that contains the entries.
        start: position of its first byte in the input.
        table: headers of the entries, and of others.
        entries: descriptions of the entries for the core.
        rows: number of records.
        bytes: lower bound of the decompressed size of the entries.
        sources: buffers of the entries, by number.
        facts: flags that ``select`` returned for the entries.
        shifts: changes to the rows of wrappers, by number of the entry.
    """

    region: memoryview
    start: int
    table: EntryTable
    entries: array[int]
    rows: int
    bytes: int
    sources: Sequence[memoryview]
    facts: int
    shifts: dict[int, Shift] = field(default_factory=dict)


class Apart(NamedTuple):
    """An entry that is not decoded together with others.

    Attributes:
        batch: the entry.
        payload: of a large one, its records decompressed, None if they cannot be held.
        is_large: whether it is read in pieces.
    """

    batch: Batch
    payload: bytes | None = None
    is_large: bool = False


class Unpacker:
    """Decompresses the payloads of a segment.

    Attributes:
        allocate: allocates memory for payloads.
    """

    def __init__(
        self,
        segment: Segment,
        cursor: Cursor,
        max_bytes: int,
        most: int,
        allocate: Allocate,
        tell: Unpacked | None = None,
    ) -> None:
        """Prepare to decompress.

        Args:
            segment: the segment.
            cursor: place in the segment, of the reader.
            max_bytes: bytes of an arena, unless one payload has more.
            most: most bytes of a payload that is not read in pieces.
            allocate: allocates memory.
            tell: is told of each payload that was decompressed.
        """
        self._tell = tell
        self._segment = segment
        self._cursor = cursor
        self._max_bytes = max_bytes
        self._most = most
        self._ratio = _RATIO
        self.allocate = allocate

    def parts(self, core: Core, whole: Chunk) -> Iterator[Chunk | Apart]:
        """Yield as many entries at a time as an arena holds, and those that are read otherwise.

        Args:
            core: the extension.
            whole: entries, some of which are compressed.
        """
        module, entries, table = core.module, whole.entries, whole.table
        fields = module.BATCH_FIELDS
        place, at_place, length, rows = (
            module.PAYLOAD, module.PAYLOAD_POSITION, module.PAYLOAD_SIZE, module.ROWS
        )  # fmt: skip
        kinds, starts, sizes, counts, positions = (
            entries[field::fields] for field in (place, at_place, length, rows, module.POSITION)
        )
        magics, places = table.column(MAGIC), table.column(POSITION)
        codecs = {_IN_ENTRY - kind for kind in set(kinds)}
        forms = [compression.forms(module, codecs, magic) for magic in (_OF_BATCH, _OF_WRAPPER)]
        in_c = any(map(any, forms))
        most = min(self._segment.max_output, self._most)
        arena, used = self._arena(sizes), 0
        first = number = 0  # the first entry not decoded yet, and the first one not decompressed
        while number < len(kinds):
            if in_c or number % _CHECKED == 0:
                self._segment.check()
            if in_c:
                before, status = number, 0
                number, used, status = module.unpack(
                    whole.region, table.values, table.capacity, table.count, entries, before,
                    arena, used, most, *forms,
                )  # fmt: skip
                for done in range(before, number):
                    if self._tell is not None and kinds[done] != _IN_ENTRY:
                        size = entries[done * fields + length]
                        self._tell(whole.start + positions[done], sizes[done], size)
                    if counts[done] < 0 and not _holds(core, whole, done, arena):
                        yield from _part(core, whole, first, done, arena[:used])
                        first = done + 1
                        yield Apart(self._batch(whole, positions[done]))
                if number == len(kinds):
                    break
                if status == module.NO_ROOM and used:
                    yield from _part(core, whole, first, number, arena[:used])
                    self._estimate(used, sum(sizes[before:number]))
                    first = number
                    arena, used = self._arena(sizes[number:]), 0
                    continue
            if kinds[number] == _IN_ENTRY:
                number += 1
                continue
            # Unusual, corrupt, too large for an arena, or not served in C.
            codec = _IN_ENTRY - kinds[number]
            payload = whole.region[starts[number] : starts[number] + sizes[number]]
            magic = magics[bisect_left(places, positions[number])]
            size = -1
            if not in_c:
                size = compression.into(codec, magic)(payload, arena[used : used + most])
            if size < 0:
                found, large = self._inflated(codec, payload, magic)
                if large:
                    if self._tell is not None and found is not None:
                        self._tell(whole.start + positions[number], sizes[number], len(found))
                    yield from _part(core, whole, first, number, arena[:used])
                    yield Apart(self._batch(whole, positions[number]), found, is_large=True)
                    first = number = number + 1
                    continue
                size = -1 if found is None else len(found)
                if used + size > len(arena):
                    yield from _part(core, whole, first, number, arena[:used])
                    first = number
                    self._estimate(size, sizes[number])
                    arena, used = self._arena(sizes[number:], size), 0
                if found is not None:
                    arena[used : used + size] = found
            at = number * fields
            entries[at + place] = module.ARENA
            entries[at + at_place] = used
            entries[at + length] = size
            if self._tell is not None and size >= 0:
                self._tell(whole.start + positions[number], sizes[number], size)
            if size < 0 or not _holds(core, whole, number, arena):
                yield from _part(core, whole, first, number, arena[:used])
                yield Apart(self._batch(whole, positions[number]))
                first = number + 1
            else:
                used += size
            number += 1
        yield from _part(core, whole, first, len(kinds), arena[:used])

    def _batch(self, whole: Chunk, position: int) -> Batch:
        """Return the entry at a position of the chunk."""
        return self._segment.batch_at(whole.start + position, self._cursor)

    def _estimate(self, size: int, packed: int) -> None:
        """Expect a ratio of twice what was seen."""
        self._ratio = max(self._ratio, 2 * size // max(packed, 1))

    def _arena(self, packed: array[int], size: int = 0) -> memoryview:
        """Allocate ``size`` bytes or more, for as many of the packed payloads as may fit."""
        left = max(self._ratio * sum(packed), _LEAST_ARENA)
        return memoryview(self.allocate(max(size, min(self._max_bytes, left)))).cast("B")

    def _inflated(self, codec: int, payload: memoryview, magic: int) -> tuple[bytes | None, bool]:
        """Decompress a payload, if it can be held in memory; and whether it is a large one."""
        limit = self._segment.max_output
        try:
            found = compression.decompress(
                codec, payload, magic=magic, max_output=min(limit, HELD_BYTES)
            )
        except KafkaSpecError as error:
            too_large = error.reason is Reason.DECOMPRESSED_TOO_LARGE
            return None, too_large and limit > HELD_BYTES
        return found, len(found) > self._most


def _holds(core: Core, whole: Chunk, number: int, arena: memoryview) -> bool:
    """Return whether a decompressed payload can hold its records; count those of a wrapper."""
    module, entries = core.module, whole.entries
    at = number * module.BATCH_FIELDS
    start, size = entries[at + module.PAYLOAD_POSITION], entries[at + module.PAYLOAD_SIZE]
    count = entries[at + module.ROWS]
    if count >= 0:
        row = bisect_left(whole.table.column(POSITION), entries[at + module.POSITION])
        least: int = core.record_sizes[whole.table.column(KIND)[row]]
        return bool(count * least <= size)
    shift = _open_wrapper(core, whole.table, -1 - count, arena[start : start + size])
    if shift is None:
        return False
    whole.shifts[number] = shift
    entries[at + module.ROWS] = shift.count
    return True


def _part(core: Core, whole: Chunk, first: int, last: int, arena: memoryview) -> Iterator[Chunk]:
    """Yield some entries whose decompressed payloads are in the arena, if there are any."""
    if first == last:
        return
    module = core.module
    entries = whole.entries[first * module.BATCH_FIELDS : last * module.BATCH_FIELDS]
    rows = sum(entries[module.ROWS :: module.BATCH_FIELDS])
    size = sum(entries[module.SIZE :: module.BATCH_FIELDS]) + len(arena)
    numbers = range(first, last) if whole.shifts else ()
    shifts = {n - first: whole.shifts[n] for n in numbers if n in whole.shifts}
    sources = (whole.region, arena)
    yield replace(whole, entries=entries, rows=rows, bytes=size, sources=sources, shifts=shifts)


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


def _open_wrapper(core: Core, table: EntryTable, entry: int, payload: Buffer) -> Shift | None:
    """Return the changes to the messages of a wrapper; None if it is not regular."""
    magic = table.column(MAGIC)[entry]
    appended = KINDS[magic].has_timestamps and table.column(TIMESTAMP_TYPE)[entry]
    append_time = table.column(TIMESTAMP)[entry] if appended else None
    whole = survey(core, payload, False)
    if whole is None or whole.size < len(payload):
        return None
    return shift_of(whole, KINDS[magic], table.column(OFFSET)[entry], append_time)
