"""Numbers about log entries that the reader needs before it parses one, from the layout tables.

Nothing here is typed by hand: a change of the specification changes these with it.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.layout import FieldLayout, Kind, TypeLayout
from kafkaspec.model import Buffer

ENTRY: Final = "recordbatch.entry"
"""Key of what a segment is a sequence of."""
MESSAGE: Final = "recordbatch.message"
RECORD_BATCH: Final = "recordbatch.record_batch"
LEGACY_MESSAGE: Final = "recordbatch.legacy_message"
RECORD_SET: Final = "recordbatch.record_set"


def field_of(type_key: str, field: str) -> FieldLayout:
    """Layout of the field with id ``field``."""
    return next(item for item in LAYOUTS[type_key].fields if item.id == field)


def fixed_size(type_key: str) -> int:
    """Bytes of a type that always has the same size."""
    size = LAYOUTS[type_key].fixed_size
    if size is None:
        raise TypeError(f"{type_key} has no fixed size")
    return size


def field_position(layout: TypeLayout, field: str) -> int:
    """Bytes in front of ``field``, all of them integers."""
    return sum(item.size for item in takewhile(lambda item: item.id != field, layout.fields))


def _size_field(layout: TypeLayout) -> FieldLayout:
    return next(item for item in layout.fields if item.derive == "len")


_entry = LAYOUTS[ENTRY]
_message = LAYOUTS[MESSAGE]
_size = _size_field(_entry)
_size_position = field_position(_entry, _size.id)
_magic = _message.peeks[0]

BODY: Final = _entry.fields[-1].id
"""Id of the field of an entry that holds its message."""

FRAMING: Final = sum(
    item.size for item in takewhile(lambda item: item.kind is Kind.INTEGER, _entry.fields)
)
"""Bytes of an entry in front of its message (Kafka: ``Records.LOG_OVERHEAD``)."""

MINIMUM_MESSAGE: Final = _message.minimum_size
"""Fewest bytes of a message of any magic (Kafka: ``LegacyRecord.RECORD_OVERHEAD_V0``)."""

HEADER_UP_TO_MAGIC: Final = FRAMING + _magic.position + _magic.size
"""With no more bytes left a log ends (Kafka: ``Records.HEADER_SIZE_UP_TO_MAGIC``)."""

LARGEST_HEADER: Final = FRAMING + max(
    LAYOUTS[key].minimum_size for _, key in _message.fields[0].cases
)
"""Bytes with which an entry has said what it is, but for strings of a legacy message."""

MESSAGE_PATH: Final = f"/{BODY}/{_message.fields[0].id}"
"""Path of the structure behind the framing."""

RECORDS_PATH: Final = f"{MESSAGE_PATH}/{LAYOUTS[RECORD_BATCH].fields[-1].id}"
"""Path of the payload of a record batch; a record set is reported under it."""

VALUE_PATH: Final = f"{MESSAGE_PATH}/value"
"""Path of the payload of a legacy wrapper; its inner entries are reported under it."""


def message_size(buffer: Buffer, position: int) -> int:
    """Stored size of the message of the entry at ``position``, whatever it may be.

    At least ``FRAMING`` bytes must lie behind ``position``.
    """
    start = position + _size_position
    return int.from_bytes(buffer[start : start + _size.size], "big", signed=_size.signed)
