"""Frames before payloads, as the specification lays them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kafkaspec._generated.layout import ENUMS, LAYOUTS
from kafkaspec.layout import FieldLayout, Kind
from kafkaspec.layout.framing import field_position

UUID_SIZE: Final = len(UUID(int=0).bytes)


@dataclass(frozen=True, slots=True)
class Prefix:
    """A frame of a fixed size.

    Attributes:
        octets: the bytes that it begins with.
        key_at: where what names the schema begins.
        key_size: how many bytes that takes.
        is_number: whether it is a big-endian number; else bytes.
    """

    octets: tuple[int, ...]
    key_at: int
    key_size: int
    is_number: bool

    @property
    def size(self) -> int:
        """Bytes of the frame."""
        return self.key_at + self.key_size


def _prefix(key: str, **chosen: int) -> Prefix:
    """Return the frame of a structure: constants, chosen values of an enumeration, then the key."""
    octets = b""
    for field in LAYOUTS[key].fields:
        value = chosen.get(field.id, field.constant)
        if value is None:
            return _keyed(key, tuple(octets), field)
        octets += value.to_bytes(field.size, "big")
    raise KeyError(f"{key} names no schema")


def _keyed(key: str, octets: tuple[int, ...], field: FieldLayout) -> Prefix:
    place = field_position(LAYOUTS[key], field.id)
    return Prefix(octets, place, field.size, field.kind is Kind.INTEGER)


_NAMES: Final = {name: code for code, (name, _) in ENUMS["schema_frame.glue_compression"].items()}

BY_ID: Final = _prefix("schema_frame.id_frame")
BY_LONG_ID: Final = _prefix("schema_frame.long_id_frame")
BY_GUID: Final = _prefix("schema_frame.guid_frame")
SINGLE_OBJECT: Final = _prefix("schema_frame.single_object_frame")
GLUE: Final = {
    name: _prefix("schema_frame.glue_frame", compression=code) for name, code in _NAMES.items()
}
"""Frames of Glue by the compression of what follows."""

ZLIB: Final = "zlib"
