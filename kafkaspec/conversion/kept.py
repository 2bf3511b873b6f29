"""Keep batches, and change only their compression, offsets and leader epochs, many at a time.

Only regular batches are handled here. All others, and those in which anything is wrong, go one by
one through ``conversion.entries``, which implements the rules and raises the errors.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, repeat
from typing import Final

from kafkaspec import compression as compressions
from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.entries import header_size, put_headers
from kafkaspec.codecs.native.scan import EntryTable
from kafkaspec.columns.wanted import POSITION, SIZE
from kafkaspec.conversion.ranges import BEFORE_ALL, KNOWN, BatchRange, ByRanges, last_of
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.log.pieces import WHOLE_BYTES
from kafkaspec.writing.editing import put_offset

_ROOM: Final = 256
_RATIO: Final = 4
"""Fewest bytes of memory for what is decompressed, and assumed ratio to compressed bytes."""


@dataclass(frozen=True, slots=True)
class Made:
    """The first ``count`` batches converted, with their old offsets, and where each ends."""

    source: BatchRange
    count: int
    data: bytearray
    ends: array[int]

    @property
    def whole(self) -> bool:
        """Whether all batches were converted."""
        return self.count == self.source.table.count

    @property
    def position(self) -> int:
        """Position in the segment of the first batch."""
        return self.source.start + self.source.table.column(POSITION)[0]

    @property
    def end(self) -> int:
        """Position in the segment after the last batch that was converted."""
        table, last = self.source.table, self.count - 1
        return self.source.start + table.column(POSITION)[last] + table.column(SIZE)[last]

    @property
    def last_offset(self) -> int:
        """Last offset of the last batch that was converted."""
        return self.source.last_offsets[self.count - 1]


class KeptBatches(ByRanges):
    """The fast path for batches that stay batches. It writes the same bytes as that of entries."""

    @property
    def available(self) -> bool:
        """Whether there is a fast path for this plan."""
        return self._core is not None and not self._choices.by_time

    def _takes(self, kind: EntryKind) -> bool:
        choices = self._choices
        if kind.has_record_sets:
            return choices.kind in (None, kind) and choices.batch_bytes is None
        return choices.kind in (None, kind) and not choices.codec_id

    def _regular(
        self, table: EntryTable, kind: EntryKind, after: int | None
    ) -> tuple[int, list[int] | None]:
        """Return the number of leading batches that are regular, and the compression of each."""
        choices = self._choices
        wanted = choices.codec_id
        renumbers, outcomes = self._offsets.renumbers, self._outcomes
        found: list[int] = []
        changes = choices.leader_epoch is not None and kind.has_record_sets
        coded = {codec for codec in KNOWN if compressions.is_coded(codec, kind.magic)}
        columns = (
            names.MAGIC, names.BASE_OFFSET, last_of(kind), names.COMPRESSION,
            names.IS_CONTROL, names.IS_TRANSACTIONAL,
        )  # fmt: skip
        counts = table.column(kind.count) if kind.has_record_sets else repeat(1, table.count)
        last = BEFORE_ALL if after is None else after
        for count, magic, first, end, own, control, transactional in zip(
            counts, *map(table.column, columns), strict=True
        ):
            if magic != kind.magic or not last < first <= end or own not in KNOWN:
                break
            if own and not kind.has_record_sets:
                break
            if self._is_outside(first, end):
                break
            if renumbers and (not count or end - first + 1 != count):
                break
            if outcomes and transactional and not control:
                break
            new = own if wanted is None or control or not count else wanted
            if not compressions.is_allowed(new, kind.magic):
                break
            again = choices.level is not None and new and not control and count
            packs = new != own or bool(again)
            if packs and (own not in coded or new not in coded):
                break  # the way of entries says why
            changes = changes or packs
            found.append(new)
            last = end
        return len(found), found if changes else None

    # -- converting -------------------------------------------------------------------------

    def convert(self, source: BatchRange) -> Made:
        """Return the batches with their new compression and leader epoch; for any thread.

        It ends before a batch that cannot be converted here.
        """
        core, table = self._core, source.table
        assert core is not None
        kind, count = source.kind, source.intact(core)
        if source.compressions is None:
            places, sizes = table.column(POSITION), table.column(SIZE)
            begin = places[0]
            ends = [place + size - begin for place, size in zip(places, sizes, strict=True)]
            data = bytearray(source.buffer[begin : begin + ends[count - 1]] if count else b"")
            return Made(source, count, data, array("q", ends[:count]))
        data, made = self._payloads(core, source, kind, count)
        written = put_headers(core, kind, self._changed(core, kind, source, len(made)), data, made)
        if written < len(made):
            del made[written:]
            del data[made[-1] if made else 0 :]
        return Made(source, written, data, made)

    def _payloads(
        self, core: Core, source: BatchRange, kind: EntryKind, count: int
    ) -> tuple[bytearray, array[int]]:
        """Return the payloads of the first batches, as they are to be stored.

        Each has room for a header before it. The position after each is returned too.
        """
        table, buffer, level = source.table, source.buffer, self._choices.level
        assert source.compressions is not None
        columns = (
            f"{kind.payload}.{POSITION}", f"{kind.payload}.{SIZE}", names.COMPRESSION,
            names.IS_CONTROL, kind.count,
        )  # fmt: skip
        rows = list(zip(*(table.column(name)[:count] for name in columns), strict=True))
        made: list[bytes | memoryview] = []
        room, gap = WHOLE_BYTES, header_size(core, kind)
        # Batches with the same change, together.
        for (new, own, changes), some in groupby(
            zip(source.compressions, rows, strict=False),
            lambda item: (
                item[0],
                item[1][2],
                item[0] != item[1][2]
                or (level is not None and item[0] and not item[1][3] and item[1][4]),
            ),
        ):
            places = array("q")
            for _, row in some:
                places.extend(row[:2])
            number, data = len(places) // 2, buffer
            if changes and own:
                data, places = _unpacked(
                    core, table, [own] * number, buffer, places,
                    magic=kind.magic, most=source.max_output,
                )  # fmt: skip
            found: Sequence[bytes | memoryview]
            if changes and new:
                stored, ends = compressions.compress_all(
                    new, data, places, magic=kind.magic, level=level, gap=gap
                )
                if number == count and len(stored) <= room:
                    return stored, ends
                view = memoryview(stored)
                starts = (0, *ends)
                found = [view[start + gap : end] for start, end in zip(starts, ends, strict=False)]
            else:
                found = [
                    data[start : start + size]
                    for start, size in zip(places[::2], places[1::2], strict=True)
                ]
            for payload in found:
                room -= len(payload)
                if room < 0 and made:
                    return compressions.spaced(made, gap)
                made.append(payload)
            if len(found) < number:
                break
        return compressions.spaced(made, gap)

    def _changed(self, core: Core, kind: EntryKind, source: BatchRange, count: int) -> EntryTable:
        """Return the headers of the first batches with their new values."""
        table = replace(source.table, count=count)
        assert source.compressions is not None
        table.column(names.COMPRESSION)[:] = memoryview(array("q", source.compressions[:count]))
        epoch = self._choices.leader_epoch
        if epoch is not None and kind.has_leader_epochs:
            core.module.adjust(table.column(names.LEADER_EPOCH), 0, count, True, epoch)
        return table

    # -- offsets ----------------------------------------------------------------------------

    def settle(self, made: Made) -> bool:
        """Give batches their new offsets; return False, and change none, if one is too large."""
        offsets, table = self._offsets, made.source.table
        firsts = table.column(names.BASE_OFFSET)[: made.count]
        if offsets.renumbers:
            ends = made.source.last_offsets[: made.count]
            counts = [end - first + 1 for first, end in zip(firsts, ends, strict=True)]
            if offsets.next + sum(counts) - 1 > LARGEST_OFFSET:
                return False
            new = [offsets.take(count) for count in counts]
        else:
            offsets.begin(firsts[0])
            shift = offsets.shift
            if not shift:
                return True
            if firsts[0] + shift < 0 or made.last_offset + shift > LARGEST_OFFSET:
                return False
            new = [first + shift for first in firsts]
        for position, offset in zip((0, *made.ends), new, strict=False):
            put_offset(made.data, position, offset)
        return True


def _unpacked(
    core: Core,
    table: EntryTable,
    codecs: Sequence[int],
    region: memoryview,
    places: array[int],
    *,
    magic: int,
    most: int,
) -> tuple[memoryview, array[int]]:
    """Decompress payloads, up to one that is broken or large, or that memory has no room for.

    Return memory, and position and size in it of each payload that was decompressed.
    """
    module, count = core.module, len(codecs)
    fields, most = module.BATCH_FIELDS, min(most, WHOLE_BYTES)
    entries = array("q", bytes(8 * fields * count))
    # Their records are not looked at, so they may all belong to the first entry.
    entries[module.POSITION :: fields] = array("q", table.column(POSITION)[:1]) * count
    entries[module.PAYLOAD :: fields] = array("q", [-1 - codec for codec in codecs])
    entries[module.PAYLOAD_POSITION :: fields] = places[::2]
    entries[module.PAYLOAD_SIZE :: fields] = places[1::2]
    size = min(max(_RATIO * sum(places[1::2]), _ROOM), WHOLE_BYTES)
    arena, used, number = memoryview(module.memory(size)), 0, 0
    forms = compressions.forms(module, set(codecs), magic)
    while number < count:
        if any(forms):
            number, used, _ = module.unpack(
                region, table.values, table.capacity, table.count, entries, number, arena, used,
                most, forms, forms,
            )  # fmt: skip
            if number == count:
                break
        start, length = places[2 * number : 2 * number + 2]
        payload, codec = region[start : start + length], codecs[number]
        made = compressions.into(codec, magic)(payload, arena[used : used + most])
        if made < 0:
            try:
                found = compressions.decompress(codec, payload, magic=magic, max_output=most)
            except KafkaSpecError:
                break
            made = len(found)
            if used + made > len(arena):
                if number:
                    break
                arena = memoryview(bytearray(made))
            arena[used : used + made] = found
        entries[fields * number + module.PAYLOAD_POSITION] = used
        entries[fields * number + module.PAYLOAD_SIZE] = made
        used += made
        number += 1
    done = array("q", bytes(16 * number))
    done[::2] = entries[module.PAYLOAD_POSITION :: fields][:number]
    done[1::2] = entries[module.PAYLOAD_SIZE :: fields][:number]
    return arena, done
