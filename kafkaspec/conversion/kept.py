"""Keep batches, and change only their compression, offsets and leader epochs, many at a time.

Only regular batches are handled here. All others, and those in which anything is wrong, go one by
one through ``conversion.entries``, which implements the rules and raises the errors.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, repeat
from typing import Any, Final

from kafkaspec import compression as compressions
from kafkaspec.codecs.edited import put_offset
from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.scan import EntryTable, header_size, put_headers
from kafkaspec.columns.wanted import POSITION, SIZE
from kafkaspec.conversion.ranges import BEFORE_ALL, KNOWN, BatchChunk, BatchRange, ByRanges, last_of
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.log.pieces import WHOLE_BYTES
from kafkaspec.model import Buffer

_ROOM: Final = 256
_RATIO: Final = 4
"""Fewest bytes of memory for what is decompressed, and assumed ratio to compressed bytes."""


@dataclass(frozen=True, slots=True)
class _Made(BatchChunk):
    """Batches with their old offsets, and where each ends in ``data``."""

    data: bytearray
    ends: array[int]


class KeptBatches(ByRanges):
    """The fast path for batches that stay batches. It writes the same bytes as that of entries."""

    @property
    def available(self) -> bool:
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

    def read(self, source: BatchRange) -> tuple[list[Any], bool]:
        core, table = self._core, source.table
        assert core is not None
        kind, count = source.kind, source.intact(core)
        if source.compressions is None:
            places, sizes = table.column(POSITION), table.column(SIZE)
            begin = places[0]
            some = zip(places[:count], sizes[:count], strict=True)
            ends = array("q", (place + size - begin for place, size in some))
            data = bytearray(source.buffer[begin : begin + ends[-1]] if count else b"")
        else:
            data, ends = self._payloads(core, source, kind, count)
            changed = self._changed(core, kind, source, len(ends))
            count = put_headers(core, kind, changed, data, ends)
            if count < len(ends):
                del ends[count:]
                del data[ends[-1] if ends else 0 :]
        return [_Made(source, 0, count, data, ends)] if count else [], count == table.count

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

    def settle(self, chunk: _Made) -> bool:
        offsets, count = self._offsets, chunk.batches
        firsts = chunk.source.table.column(names.BASE_OFFSET)[:count]
        if offsets.renumbers:
            ends = chunk.source.last_offsets[:count]
            counts = [end - first + 1 for first, end in zip(firsts, ends, strict=True)]
            if offsets.next + sum(counts) - 1 > LARGEST_OFFSET:
                return False
            new = [offsets.take(number) for number in counts]
        else:
            offsets.begin(firsts[0])
            shift = offsets.shift
            if not shift:
                return True
            if firsts[0] + shift < 0 or chunk.last_offset + shift > LARGEST_OFFSET:
                return False
            new = [first + shift for first in firsts]
        for position, offset in zip((0, *chunk.ends), new, strict=False):
            put_offset(chunk.data, position, offset)
        return True

    def group(self, chunk: _Made) -> Buffer:
        before = b"".join(self._waiting.flush())
        return before + chunk.data if before else chunk.data

    def write(self, groups: Buffer) -> Buffer:
        return groups


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
