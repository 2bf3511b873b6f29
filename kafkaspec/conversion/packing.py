"""Compress and decompress the payloads of many batches at once."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from kafkaspec import compression as compressions
from kafkaspec.codecs.native.core import Core
from kafkaspec.codecs.native.scan import EntryTable
from kafkaspec.columns.wanted import POSITION
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.pieces import WHOLE_BYTES

_SMALL: Final = 256
"""Smaller payloads are compressed one by one: other libraries serve them."""
_RATIO: Final = 4
"""Assumed ratio of decompressed to compressed bytes."""


def packed(
    codec: int, data: memoryview, places: array[int], *, magic: int, level: int | None, gap: int = 0
) -> tuple[bytearray, array[int]]:
    """Compress parts of some data, each to the same bytes as ``compression.compress`` does.

    Args:
        codec: compression id.
        data: the bytes.
        places: position and size of each part.
        magic: magic of the batches.
        level: level of the compression, None for Kafka's default.
        gap: bytes of room before each payload.

    Returns:
        The payloads one after the other, each with that room, and the position after each.

    Raises:
        KafkaSpecError: there is no such level.
    """
    if codec in compressions.compressed_in_c and min(places[1::2], default=0) >= _SMALL:
        return compressions.compress_all(codec, data, places, magic=magic, level=level, gap=gap)
    return spaced(
        [
            compressions.compress(codec, data[start : start + size], magic=magic, level=level)
            for start, size in zip(places[::2], places[1::2], strict=True)
        ],
        gap,
    )


def unpacked(
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

    Args:
        core: the extension.
        table: headers of the batches.
        codecs: compression id of each payload.
        region: bytes that contain the payloads.
        places: position and size of each payload.
        magic: magic of the batches.
        most: most bytes that one payload may decompress to.

    Returns:
        Memory, and position and size in it of each payload that was decompressed.
    """
    module, count = core.module, len(codecs)
    fields, most = module.BATCH_FIELDS, min(most, WHOLE_BYTES)
    entries = array("q", bytes(8 * fields * count))
    # Their records are not looked at, so they may all belong to the first entry.
    entries[module.POSITION :: fields] = array("q", table.column(POSITION)[:1]) * count
    entries[module.PAYLOAD :: fields] = array("q", [-1 - codec for codec in codecs])
    entries[module.PAYLOAD_POSITION :: fields] = places[::2]
    entries[module.PAYLOAD_SIZE :: fields] = places[1::2]
    size = min(max(_RATIO * sum(places[1::2]), _SMALL), WHOLE_BYTES)
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


def spaced(payloads: Sequence[bytes | memoryview], gap: int) -> tuple[bytearray, array[int]]:
    """Return payloads one after the other with a gap before each, and the position after each."""
    blank = bytes(gap)
    parts = [part for payload in payloads for part in (blank, payload)]
    return bytearray().join(parts), array("q", accumulate(gap + len(item) for item in payloads))
