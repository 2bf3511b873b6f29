"""Offset and leader epoch of an entry, written into its bytes or with the whole entry.

Kafka writes both into ready bytes, outside of what the checksum covers
(``DefaultRecordBatch.setLastOffset``, ``setPartitionLeaderEpoch``). Where the layout says that the
checksum covers the epoch, or does not say where it lies, the entry is parsed and written again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.codecs import Codec
from kafkaspec.layout import EntryKind, Kind, names
from kafkaspec.layout.framing import ENTRY, FRAMING, field_of, field_position
from kafkaspec.model import Buffer

OFFSET: Final = (
    field_position(LAYOUTS[ENTRY], names.BASE_OFFSET),
    field_of(ENTRY, names.BASE_OFFSET).size,
)
"""Where the offset begins in an entry, and how many bytes it has."""
LARGEST_OFFSET: Final = field_of(ENTRY, names.BASE_OFFSET).largest
"""No entry has a larger one."""


@cache
def epoch_place(kind: EntryKind) -> tuple[int, int] | None:
    """Return where the leader epoch begins in an entry, and how many bytes it has.

    Returns:
        None where it cannot be changed without the rest of the entry.
    """
    layout = LAYOUTS[kind.key]
    start = 0
    for field in layout.fields:
        size = LAYOUTS[field.type].fixed_size if field.kind is Kind.TYPE else field.size
        if not size or field.optional or field.repeated:
            return None
        if field.id == names.LEADER_EPOCH:
            covered = layout.checksum is not None and start + size > layout.checksum.start
            return None if covered else (FRAMING + start, size)
        start += size
    return None


def put_offset(entries: bytearray, position: int, offset: int) -> None:
    """Write the offset field of the entry at ``position``.

    Raises:
        OverflowError: the field cannot hold it.
    """
    put(entries, position, OFFSET, offset)


def put(entries: bytearray, position: int, place: tuple[int, int], value: int) -> None:
    """Write a signed number.

    Args:
        entries: the bytes.
        position: of the entry.
        place: where the number begins in the entry, and how many bytes it has.
        value: the number.

    Raises:
        OverflowError: the field cannot hold it.
    """
    start = position + place[0]
    entries[start : start + place[1]] = value.to_bytes(place[1], "big", signed=True)


def changed(item: Any, values: Mapping[str, Any]) -> Any:
    """Return a copy of an object of the typed model with other values, by dotted name."""
    own: dict[str, Any] = {}
    for name, value in values.items():
        field, dot, rest = name.partition(".")
        if dot:
            own[field] = changed(own.get(field, getattr(item, field)), {rest: value})
        else:
            own[field] = value
    return replace(item, **own)


def written(codec: Codec, data: Buffer, values: Mapping[str, Any]) -> bytes:
    """Return an entry written again, with other values of its header by dotted name.

    Raises:
        KafkaSpecError: ``unencodable``.
    """
    entry, _ = codec.parse(ENTRY, data)
    own = {name: value for name, value in values.items() if name == names.BASE_OFFSET}
    message = changed(entry.message, values)
    return codec.serialize(ENTRY, replace(entry, message=message, **own))
