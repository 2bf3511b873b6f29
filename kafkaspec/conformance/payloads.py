"""Entries of a log with the payload that a case needs, of right sizes and checksum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkaspec.checksum import CHECKSUMS
from kafkaspec.codecs import get_codec
from kafkaspec.layout import names
from kafkaspec.layout.framing import ENTRY, checksum_of, field_of
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import NO_TIMESTAMP
from kafkaspec.log.encoding import encode
from kafkaspec.model import Record


def entry_of(magic: int, codec: int, payload: bytes | None) -> bytes:
    """Return a log of one entry with a payload as it is stored, compressed with a codec."""
    data = encode([Record(0, NO_TIMESTAMP, None, b"")], magic=magic, codec="python")
    values = {names.COMPRESSION: codec, KINDS[magic].payload or names.VALUE: payload}
    return changed(data, values)


def flipped(data: bytes) -> bytes:
    """Return bytes whose last bit is the other one."""
    return data[:-1] + bytes([data[-1] ^ 1])


def seal(data: bytearray, type_key: str, start: int = 0) -> None:
    """Store the right checksum of a structure that begins at ``start``, if its field is there."""
    checksum = checksum_of(type_key)
    at, size = start + checksum.position, field_of(type_key, checksum.field).size
    value = CHECKSUMS[checksum.algorithm](bytes(data[start + checksum.start :]))
    if at + size <= len(data):
        data[at : at + size] = value.to_bytes(size, "big")


def changed(data: bytes, values: Mapping[str, Any]) -> bytes:
    """Return a log of one entry with other values in it, by their dotted names in its header."""
    python = get_codec("python")
    entry: Any
    entry, _ = python.parse(ENTRY, data)
    for name, value in values.items():
        *outer, last = name.split(".")
        holder = entry.message
        for part in outer:
            holder = getattr(holder, part)
        for each in (holder,) if outer else (entry, entry.message):
            if hasattr(each, last):
                setattr(each, last, value)
    return python.serialize(ENTRY, entry)
