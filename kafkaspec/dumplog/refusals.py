"""Say in Kafka's words why its readers refuse the bytes of a message."""

from __future__ import annotations

import re
from typing import Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.codecs import Codec
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.layout import FieldLayout, Kind, varints
from kafkaspec.layout.names import json_name
from kafkaspec.release import Release

_NO_MESSAGE: Final = "null"
"""Text of an exception without a message, which says that a number ends beyond the bytes."""
_TAGS_COUNTED: Final[Release] = (4, 4)
"""Release that compares the number of tagged fields with the bytes that are left."""
_PLACE: Final = re.compile(r"(\w+)\.ksy#(?:/types/(\w+))?/seq/\d+$")
_LONGEST_TEXT: Final = (1 << 15) - 1
_SIGN: Final = 1 << 31
_GROUPS: Final = varints.longest("unsigned_varint32")


def refusal(error: KafkaSpecError, data: bytes, codec: Codec, release: Release) -> str:
    """Return the message of the exception that a release's reader throws at ``data``."""
    at = error.position or 0
    if error.reason is Reason.VARINT_TOO_LONG:
        made = varints.code_of(data[at : at + _GROUPS]) & 0xFFFFFFFF  # of 32 bits
        return (
            "Varint is too long, the most significant bit in the 5th byte is set, "
            f"converted value: {made:x}"
        )
    field = _field_at(error.spec)
    if field is None:
        return _NO_MESSAGE
    size = field
    if field.kind is Kind.SCALAR and not field.derive:
        size = LAYOUTS[field.type].fields[0]
    elif not (field.derive and field.original_id):
        if field.derive == "count":
            return _of_tags(field, data, at, codec, counted=release >= _TAGS_COUNTED)
        return _of_tag(field, data, at)
    number, end = _number(size, data, at, codec)
    left = len(data) - end
    if number is None:
        return _NO_MESSAGE
    if number < 0:
        return f"non-nullable field {json_name(field.id, field.original_id)} was serialized as null"
    if size is field:
        return (
            f"Tried to allocate a collection of size {number}, "
            f"but there are only {left} bytes remaining."
        )
    if number > _LONGEST_TEXT and LAYOUTS[field.type].text:
        return f"string field {json_name(field.id, field.original_id)} had invalid length {number}"
    return _too_short(number, left)


def _of_tag(field: FieldLayout, data: bytes, at: int) -> str:
    """Return what is said of a number, and of a tagged field of which the tag is not known."""
    content = LAYOUTS[field.type].fields[0] if field.kind is Kind.TYPE else None
    if content is None or content.kind is not Kind.CHOICE:
        return _NO_MESSAGE
    begin = at - 1
    while data[begin - 1] & varints.MORE:
        begin -= 1
    if data[begin - 1] in {number for number, _ in content.cases}:
        return _NO_MESSAGE
    return _too_short(varints.code_of(data[begin:at]), len(data) - at)


def _of_tags(field: FieldLayout, data: bytes, at: int, codec: Codec, *, counted: bool) -> str:
    """Return what is said of a number of tagged fields, or of the one that is cut off."""
    count, at = _number(field, data, at, codec)
    left = len(data) - at
    if counted and count is not None:
        if count < 0:
            return f"Invalid negative number of tagged fields {count}"
        return f"Tried to read {count} tagged fields, but there are only {left} bytes remaining."
    while count is not None:
        _, at = _number(field, data, at, codec)
        count, at = _number(field, data, at, codec)
        if count is not None and count > (left := len(data) - at):
            return _too_short(count, left)
        at += count or 0
    return _NO_MESSAGE


def _too_short(size: int, left: int) -> str:
    return f"Error reading byte array of {size} byte(s): only {left} byte(s) available"


def _number(field: FieldLayout, data: bytes, at: int, codec: Codec) -> tuple[int | None, int]:
    """Return a size or count and the position after it; None if it is not whole."""
    if field.kind is Kind.INTEGER:
        end = at + field.size
        if end > len(data):
            return None, end
        return int.from_bytes(data[at:end], "big", signed=True) - field.derive_plus, end
    try:
        number, end = codec.parse(field.type, data, at, complete=True)
    except KafkaSpecError:
        return None, at
    signed = (number ^ _SIGN) - _SIGN  # Kafka reads an int
    return signed - field.derive_plus, end


def _field_at(place: str) -> FieldLayout | None:
    """Return the field at a place of the specification."""
    match = _PLACE.search(place)
    if match is None:
        return None
    spec, name = match.groups()
    fields = LAYOUTS[f"{spec}.{name or spec}"].fields
    return next((field for field in fields if field.location == place), None)
