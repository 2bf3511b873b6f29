"""Kafka's messages as its own converters to JSON write them, from the layout of their types."""

from __future__ import annotations

import codecs
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, is_dataclass
from decimal import Decimal
from enum import Enum, auto
from functools import cache, partial
from json import JSONEncoder
from typing import Any, Final, NamedTuple

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.layout import FieldLayout, Kind
from kafkaspec.layout.kinds import type_key_of
from kafkaspec.layout.names import (
    BODY,
    MESSAGE_FRAME,
    SCHEMA_VERSION,
    TAGGED_FIELDS,
    TRUTH,
    json_name,
)
from kafkaspec.messages.decoding import Message
from kafkaspec.messages.lookup import CONSUMER, EMBEDDED
from kafkaspec.model import Buffer

_HIDDEN: Final = MESSAGE_FRAME - {TAGGED_FIELDS}
_NULLABLE: Final = "nullable_bytes"

SHOWN_BEFORE: Final[dict[str, tuple[str, ...]]] = {
    "PartitionRecord.leaderRecoveryState": ("leaderEpoch",),
    "PartitionChangeRecord.directories": ("eligibleLeaderReplicas", "lastKnownElr"),
    "TransactionLogValue.previousProducerId": ("producerEpoch",),
    "TransactionLogValue.nextProducerId": ("producerEpoch",),
    "TransactionLogValue.nextProducerEpoch": ("transactionTimeoutMs",),
    "ShareUpdateValue.deliveryCompleteCount": ("stateBatches",),
    "ShareSnapshotValue.deliveryCompleteCount": ("createTimestamp", "writeTimestamp"),
}
"""Tagged fields that Kafka's schemas have before others, not after all by their tags: the first of
these that is there comes after it. By hand, since the specification is of bytes, and none depends
on the order in a schema; ``make test-kafka`` compares the text with that of Kafka's converters."""

UNKNOWN_TAGS: Final = "unknown_tags"
"""Name in JSON of the tagged fields of a structure that the specification does not know."""


def message_fields(name: str, value: Any, *, unknown: bool = False) -> dict[str, Any]:
    """Return the fields of a message as values of JSON.

    Args:
        name: Kafka's name of the message.
        value: the structure of the typed model.
        unknown: whether ``UNKNOWN_TAGS`` are among them, which Kafka does not show.
    """
    found: dict[str, Any] = {}
    tagged: dict[str, Any] = {}
    _collect(value, found, tagged, unknown)
    for field, item in tagged.items():
        later = next((key for key in SHOWN_BEFORE.get(f"{name}.{field}", ()) if key in found), None)
        if later is None:
            found[field] = item
        else:
            found = dict(_inserted(found, later, field, item))
    return found


def expanded_fields(
    name: str, value: Any, decode: Callable[[str, Any], Message], *, unknown: bool = False
) -> dict[str, Any]:
    """Return the fields of a message, with what consumers wrote into a group decoded.

    ``decode`` decodes a message of a name from bytes. For the others see ``message_fields``.
    """
    fields = message_fields(name, value, unknown=unknown)
    if name == "GroupMetadataValue" and fields["protocolType"] == CONSUMER:
        for shown, member in zip(fields["members"], value.body.members, strict=True):
            for field, embedded in EMBEDDED.items():
                try:
                    found = decode(embedded, getattr(member, field))
                except KafkaSpecError:
                    continue  # the bytes stay as they are
                shown[field] = message_fields(embedded, found.value)
    return fields


def _inserted(
    fields: dict[str, Any], later: str, name: str, item: Any
) -> Iterator[tuple[str, Any]]:
    for key, value in fields.items():
        if key == later:
            yield name, item
        yield key, value


class JsonForm(Enum):
    """How JSON shows a field, or an item of it."""

    BOOLEAN = auto()
    UUID = auto()
    TEXT = auto()
    NUMBER = auto()
    FLOAT = auto()
    STRUCTURE = auto()
    DATA = auto()
    """A number, or bytes in base64."""


class JsonPart(NamedTuple):
    """A field of a type that JSON shows, or what holds others of them.

    Attributes:
        id: its name in the model.
        name: its name in JSON.
        form: how it is shown; None if it holds other fields.
        show: what shows it or an item; None if it holds other fields.
        may_miss: whether None says that a version has no such field.
        null_since: the version from which it is null all the same.
        field: the field of the specification.
    """

    id: str
    name: str
    form: JsonForm | None
    show: Callable[[Any], Any] | None
    may_miss: bool
    null_since: int | None
    field: FieldLayout


def field_names(key: str) -> dict[str, str]:
    """Return the fields of a message that JSON shows, with their ids, by the key of its type."""
    return {part.name: part.id for part in parts_of(key)}


@cache
def parts_of(key: str, unknown: bool = False) -> tuple[JsonPart, ...]:
    """Return the parts of a type; ``unknown`` is that of ``message_fields``."""
    layout = LAYOUTS[key]
    counted = {field.derive_from for field in layout.fields if field.derive}
    return tuple(
        JsonPart(
            field.id,
            json_name(field.id, field.original_id),
            form := None if field.id in (TAGGED_FIELDS, BODY) else _form(field),
            None if form is None else _shower(form, field, unknown),
            field.optional and field.id not in counted,
            field.since if _nullable(field) else None,
            field,
        )
        for field in layout.fields
        if not (field.id in _HIDDEN or field.derive or field.kind is Kind.GUARD)
    )


def _nullable(field: FieldLayout) -> bool:
    """Return whether a field that not every version has can be null where it is."""
    scalar = LAYOUTS[field.type].scalar if field.kind is Kind.SCALAR else ""
    return bool(field.since) and scalar == _NULLABLE


_keys: Final[dict[type[Any], str]] = {}


def _key_of(value: Any) -> str:
    """Return the key of the type of a value, which takes a while to find."""
    kind = type(value)
    if kind not in _keys:
        _keys[kind] = type_key_of(value)
    return _keys[kind]


def _collect(value: Any, found: dict[str, Any], tagged: dict[str, Any], unknown: bool) -> None:
    for part in parts_of(_key_of(value), unknown):
        item = getattr(value, part.id)
        if part.show is None:
            if part.id == BODY:
                _collect(item, found, tagged, unknown)
                continue
            others = [tag for tag in item.fields if not _collect_tag(tag, tagged, unknown)]
            if others and unknown:
                found[UNKNOWN_TAGS] = [
                    {
                        "tag": int(tag.tag),
                        "data": _number_or_bytes(getattr(tag, "content", tag).data),
                    }
                    for tag in others
                ]
        elif item is None:
            if not part.may_miss or _has(value, part.null_since):
                found[part.name] = None
        elif isinstance(item, list):
            found[part.name] = list(map(part.show, item))
        else:
            found[part.name] = part.show(item)


def _has(value: Any, since: int | None) -> bool:
    if since is None:
        return False
    version = getattr(value, "version", None)
    return int(getattr(value, SCHEMA_VERSION, 0) if version is None else version) >= since


def _collect_tag(tag: Any, tagged: dict[str, Any], unknown: bool) -> bool:
    """Collect the fields in a tagged field; return whether the specification knows it."""
    content = getattr(tag, "content", None)
    if content is None or not is_dataclass(content):
        return False  # of a type that knows no tags
    shown = [
        field
        for field in LAYOUTS[_key_of(content)].fields
        if field.original_id and not field.derive
    ]
    if shown and not all(_is_default(field, getattr(content, field.id)) for field in shown):
        _collect(content, tagged, tagged, unknown)
    return bool(shown)


def _is_default(field: FieldLayout, item: Any) -> bool:
    """Return whether a tagged field is what a reader takes where it is absent: it is not shown."""
    if field.default == "null" or item is None:
        return field.default == "null" and item is None
    if isinstance(item, int):
        return str(int(item)) == field.default
    if isinstance(item, list) or field.default == "[]":
        return field.default == "[]" and not len(item)
    return field.default == "0" and not any(item)


def _form(field: FieldLayout) -> JsonForm:
    if field.enum == TRUTH:
        return JsonForm.BOOLEAN
    if field.kind is Kind.BYTES and field.size == kafka_uuid.SIZE:
        return JsonForm.UUID
    if field.kind is Kind.SCALAR and LAYOUTS[field.type].text:
        return JsonForm.TEXT
    if field.kind is Kind.INTEGER:
        return JsonForm.NUMBER
    if field.kind is Kind.FLOAT:
        return JsonForm.FLOAT
    return JsonForm.STRUCTURE if field.kind is Kind.TYPE else JsonForm.DATA


def _shower(form: JsonForm, field: FieldLayout, unknown: bool) -> Callable[[Any], Any]:
    """Return the function that makes a value of JSON of a field, or of an item of it."""
    if form is JsonForm.STRUCTURE:
        return partial(_structure, field.original_id, unknown)
    return _SHOWERS[form]


def _number_or_bytes(item: Any) -> Any:
    return item if isinstance(item, int) else b64encode(item).decode("ascii")


def single_part(key: str, original_id: str, unknown: bool) -> JsonPart | None:
    """Return what an array or identifier is that is a structure; None for other structures.

    Args:
        key: key of the structure's type.
        original_id: Kafka's name of the field that is such a structure.
        unknown: see ``message_fields``.
    """
    parts = parts_of(key, unknown)
    if len(parts) != 1 or parts[0].form is None:
        return None
    (part,) = parts
    is_it = part.id == "value" or part.field.original_id == original_id != ""
    return part if is_it else None


def _structure(original_id: str, unknown: bool, item: Any) -> Any:
    """Return what is in a structure; of an array or identifier that is one, this alone."""
    part = single_part(_key_of(item), original_id, unknown)
    if part is not None:
        assert part.show is not None
        value = getattr(item, part.id)
        if isinstance(value, list):
            return list(map(part.show, value))
        return None if value is None else part.show(value)
    fields: dict[str, Any] = {}
    _collect(item, fields, fields, unknown)
    return fields


@dataclass(frozen=True, slots=True)
class _Double:
    """A number with a point, which Java writes in its own way."""

    value: float


_encode: Final = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_LOWER: Final = re.compile(r"(?<!\\)((?:\\\\)*\\u)(00[01][a-f])")


def json_text(value: Any) -> str:
    """Return JSON as Jackson writes it: without blanks, and with upper-case escapes."""
    try:
        text = _encode(value)
    except TypeError:  # there is a _Double
        return _slowly(value)
    return _LOWER.sub(lambda found: found[1] + found[2].upper(), text) if "\\u" in text else text


def _slowly(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{json_text(k)}:{_slowly(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_slowly, value)) + "]"
    return _double(value.value) if isinstance(value, _Double) else json_text(value)


def _double(value: float) -> str:
    """Return a number as ``Double.toString`` does."""
    if value != value or value in (float("inf"), float("-inf")):
        return '"NaN"' if value != value else '"Infinity"' if value > 0 else '"-Infinity"'
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign = "-" if value < 0 else ""
    digits, power = _digits(abs(value))
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"


def _digits(value: float) -> tuple[str, int]:
    """Return the shortest digits of a positive number, and the power of ten of the first one."""
    _, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    return "".join(map(str, digits)), exponent + len(digits) - 1


_HANDLER: Final = "kafkaspec-java"
_SURROGATES: Final = 0xED


def java_text(data: Buffer) -> str:
    """Decode UTF-8 as ``new String(bytes, UTF_8)`` does: U+FFFD for what is malformed.

    Java replaces as many bytes at once as Python does, but takes the three bytes of a surrogate for
    one character.
    """
    return bytes(data).decode("utf-8", _HANDLER)


def _replace(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    data, start, end = error.object, error.start, error.end
    if data[start] == _SURROGATES and data[start + 1 : start + 2] >= b"\xa0":
        end = start + 1
        while end < len(data) and end < start + 3 and data[end] & 0xC0 == 0x80:
            end += 1
    return "\ufffd", end


codecs.register_error(_HANDLER, _replace)

_SHOWERS: Final[dict[JsonForm, Callable[[Any], Any]]] = {
    JsonForm.BOOLEAN: bool,
    JsonForm.UUID: kafka_uuid.bytes_to_text,
    JsonForm.TEXT: java_text,
    JsonForm.NUMBER: int,
    JsonForm.FLOAT: _Double,
    JsonForm.DATA: _number_or_bytes,
}
