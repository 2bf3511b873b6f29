"""Entries with other values in their headers, written again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.codecs.base import Codec
from kafkaspec.layout import names
from kafkaspec.layout.framing import ENTRY, field_of, field_position
from kafkaspec.model import Buffer

OFFSET: Final = (
    field_position(LAYOUTS[ENTRY], names.BASE_OFFSET),
    field_of(ENTRY, names.BASE_OFFSET).size,
)
"""Position of the offset in an entry, and its size in bytes."""


def put_offset(entries: bytearray, position: int, offset: int) -> None:
    """Write the offset field of the entry at a position.

    Raises:
        OverflowError: the field cannot hold it.
    """
    put(entries, position, OFFSET, offset)


def put(entries: bytearray, position: int, place: tuple[int, int], value: int) -> None:
    """Write a signed number at a place, position and size in bytes, of the entry at a position.

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
    """Return an entry with other values in its header, by dotted name, written again."""
    entry, _ = codec.parse(ENTRY, data)
    own = {name: value for name, value in values.items() if name == names.BASE_OFFSET}
    message = changed(entry.message, values)
    return codec.serialize(ENTRY, replace(entry, message=message, **own))
