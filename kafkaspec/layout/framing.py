"""Numbers about log entries that the reader needs before it parses one, from the layout tables.

Nothing here is typed by hand: a change of the specification changes these with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.layout import Checksum, FieldLayout, Kind, TypeLayout, names, varints
from kafkaspec.model import Buffer

ENTRY: Final = names.ENTRY
"""Key of the type of an entry; a segment is a sequence of entries."""
MESSAGE: Final = "recordbatch.message"
RECORD_BATCH: Final = "recordbatch.record_batch"
LEGACY_MESSAGE: Final = "recordbatch.legacy_message"
RECORD_SET: Final = "recordbatch.record_set"


def field_of(type_key: str, field: str) -> FieldLayout:
    """Return the layout of the field with id ``field``."""
    layout = LAYOUTS[type_key]
    for item in layout.fields:
        if item.id == field:
            return item
    raise LookupError(f"{layout.location}: {type_key} has no field {field}")


def largest_size(field: FieldLayout) -> int:
    """Return the largest number of bytes of an integer; 0 for a field whose size has no bound."""
    scalar = LAYOUTS[field.type].scalar if field.type else ""
    return field.size or (varints.longest(scalar) if scalar in varints.BITS else 0)


def checksum_of(type_key: str) -> Checksum:
    """Return the checksum of a structure; the linter sees to it that those of messages have one."""
    layout = LAYOUTS[type_key]
    if layout.checksum is None:
        raise LookupError(f"{layout.location}: {type_key} has no checksum")
    return layout.checksum


def fixed_size(type_key: str) -> int:
    """Return the size of a type of fixed size in bytes."""
    size = LAYOUTS[type_key].fixed_size
    if size is None:
        raise TypeError(f"{type_key} has no fixed size")
    return size


def field_position(layout: TypeLayout, field: str) -> int:
    """Return the number of bytes before ``field``, all of them integers."""
    return sum(item.size for item in takewhile(lambda item: item.id != field, layout.fields))


@dataclass(frozen=True, slots=True)
class Framing:
    """The framing of the entries of a log, which follow one another.

    Attributes:
        entry: key of the type of an entry.
        size: bytes of an entry before its message.
        minimum_message: fewest bytes of a message of any kind.
        up_to_magic: bytes of an entry up to and including the magic byte; a log ends where no more
            are left.
        largest_header: largest number of bytes of a header, without strings.
        message_path: path of the structure after the framing.
    """

    entry: str
    size: int
    minimum_message: int
    up_to_magic: int
    largest_header: int
    message_path: str
    _size_position: int
    _size_field: FieldLayout

    @classmethod
    def of(cls, entry: str) -> Framing:
        """Return the framing of a type of entry: numbers, then a message chosen by its magic."""
        layout = LAYOUTS[entry]
        message = LAYOUTS[layout.fields[-1].type]
        magic = message.peeks[0]
        stored = next(item for item in layout.fields if item.derive == "len")
        size = sum(item.size for item in layout.fields if item.kind is Kind.INTEGER)
        return cls(
            entry=entry,
            size=size,
            minimum_message=message.minimum_size,
            up_to_magic=size + magic.position + magic.size,
            largest_header=size
            + max(LAYOUTS[key].minimum_size for _, key in message.fields[0].cases),
            message_path=f"/{layout.fields[-1].id}/{message.fields[0].id}",
            _size_position=field_position(layout, stored.id),
            _size_field=stored,
        )

    def message_size(self, buffer: Buffer, position: int) -> int:
        """Return the stored size of the message of the entry at ``position``, unchecked.

        At least ``size`` bytes must follow ``position``.
        """
        start = position + self._size_position
        field = self._size_field
        return int.from_bytes(buffer[start : start + field.size], "big", signed=field.signed)

    def set_message_size(self, entry: bytearray, size: int) -> None:
        """Store the size of the message of an entry in its first bytes."""
        field, start = self._size_field, self._size_position
        entry[start : start + field.size] = size.to_bytes(field.size, "big", signed=field.signed)


LOG_FRAMING: Final = Framing.of(ENTRY)
"""The framing of magic 0 and later."""

LARGEST_OFFSET: Final = field_of(ENTRY, names.BASE_OFFSET).largest
"""Largest offset of an entry."""

BODY: Final = LAYOUTS[ENTRY].fields[-1].id
"""Id of the field of an entry that holds its message."""

FRAMING: Final = LOG_FRAMING.size
"""Bytes of an entry before its message (Kafka: ``Records.LOG_OVERHEAD``)."""

MINIMUM_MESSAGE: Final = LOG_FRAMING.minimum_message
"""Fewest bytes of a message of any magic (Kafka: ``LegacyRecord.RECORD_OVERHEAD_V0``)."""

HEADER_UP_TO_MAGIC: Final = LOG_FRAMING.up_to_magic
"""A log ends where no more bytes are left (Kafka: ``Records.HEADER_SIZE_UP_TO_MAGIC``)."""

LARGEST_HEADER: Final = LOG_FRAMING.largest_header
"""Largest number of bytes of a header, without the strings of a legacy message."""

MESSAGE_PATH: Final = LOG_FRAMING.message_path
"""Path of the structure after the framing."""

message_size: Final = LOG_FRAMING.message_size
"""See ``Framing.message_size``."""
