"""Kafka's messages as its own converters to JSON write them, from the layout of their types."""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.dumplog.java import java_text
from kafkaspec.layout import FieldLayout, Kind
from kafkaspec.layout.kinds import type_key_of

_HIDDEN: Final = frozenset({"frame_version", "api_key", "schema_version", "record_type", "unused"})
_TAGS: Final = "tagged_fields"
_BODY: Final = "body"
_UUID_BYTES: Final = 16
_TRUTH: Final = ".truth"
_STRINGS: Final = re.compile(r"\w+\.(compact_)?(nullable_)?string")

_BEFORE: Final[dict[str, tuple[str, ...]]] = {
    "PartitionRecord.leaderRecoveryState": ("leaderEpoch",),
    "PartitionChangeRecord.directories": ("eligibleLeaderReplicas", "lastKnownElr"),
    "TransactionLogValue.previousProducerId": ("producerEpoch",),
    "TransactionLogValue.nextProducerId": ("producerEpoch",),
    "TransactionLogValue.nextProducerEpoch": ("transactionTimeoutMs",),
    "ShareUpdateValue.deliveryCompleteCount": ("stateBatches",),
    "ShareSnapshotValue.deliveryCompleteCount": ("createTimestamp", "writeTimestamp"),
}
"""Tagged fields that Kafka's schemas have before others, not after all by their tags: the first of
these that is there comes after it."""

_NULL_SINCE: Final = {
    "group_metadata_value.group_instance_id": 3,
    "consumer_protocol_subscription.rack_id": 3,
}
"""Texts that may be null and that not every version has, with the first that does."""

_ESCAPES: Final = {number: f"\\u{number:04X}" for number in range(32)} | {
    ord(char): f"\\{letter}" for char, letter in zip('"\\\b\f\n\r\t', '"\\bfnrt', strict=True)
}


def message_fields(name: str, value: Any) -> dict[str, Any]:
    """Return the fields of a message as values of JSON.

    Args:
        name: Kafka's name of the message.
        value: the structure of the typed model.
    """
    found: dict[str, Any] = {}
    tagged: dict[str, Any] = {}
    _collect(value, found, tagged)
    for field, item in tagged.items():
        later = next((key for key in _BEFORE.get(f"{name}.{field}", ()) if key in found), None)
        if later is None:
            found[field] = item
        else:
            found = dict(_inserted(found, later, field, item))
    return found


def _inserted(
    fields: dict[str, Any], later: str, name: str, item: Any
) -> Iterator[tuple[str, Any]]:
    for key, value in fields.items():
        if key == later:
            yield name, item
        yield key, value


def _collect(value: Any, found: dict[str, Any], tagged: dict[str, Any]) -> None:
    layout = LAYOUTS[type_key_of(value)]
    counted = {field.derive_from for field in layout.fields if field.derive}
    for field in layout.fields:
        if field.id in _HIDDEN or field.derive or field.kind is Kind.GUARD:
            continue
        item = getattr(value, field.id)
        if field.id == _TAGS:
            for tag in item.fields:
                _collect_tag(tag, tagged)
        elif field.id == _BODY:
            _collect(item, found, tagged)
        elif item is None and field.optional and field.id not in counted:
            since = _NULL_SINCE.get(f"{layout.key.partition('.')[0]}.{field.id}")
            if since is not None and _version(value) >= since:
                found[_name(field)] = None
            continue  # otherwise this version has no such field
        else:
            found[_name(field)] = _shown(field, item)


def _version(value: Any) -> int:
    version = getattr(value, "version", None)
    return int(getattr(value, "schema_version", 0) if version is None else version)


def _collect_tag(tag: Any, tagged: dict[str, Any]) -> None:
    content = getattr(tag, "content", None)
    if content is None or not hasattr(type(content), "__dataclass_fields__"):
        return
    fields: dict[str, Any] = {}
    _collect(content, fields, fields)
    if _is_known(content):
        tagged |= fields


def _is_known(content: Any) -> bool:
    return any(field.original_id for field in LAYOUTS[type_key_of(content)].fields)


def _name(field: FieldLayout) -> str:
    name = field.original_id or _camel(field.id)
    return name[0].lower() + name[1:]


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _shown(field: FieldLayout, item: Any) -> Any:
    if isinstance(item, list):
        return [_item(field, part) for part in item]
    return _item(field, item)


def _item(field: FieldLayout, item: Any) -> Any:
    if item is None:
        return None
    if field.enum.endswith(_TRUTH):
        return bool(item)
    if isinstance(item, bytes | bytearray | memoryview):
        if field.kind is Kind.BYTES and field.size == _UUID_BYTES:
            return _uuid(item)
        if _STRINGS.fullmatch(field.type):
            return java_text(item)
        return b64encode(item).decode("ascii")
    if isinstance(item, int | float):
        return item if isinstance(item, float) else int(item)
    layout = LAYOUTS[type_key_of(item)]
    shown = [part for part in layout.fields if not part.derive and part.kind is not Kind.GUARD]
    if len(shown) == 1:  # an identifier, or an array that not every version has
        (part,) = shown
        if part.id == "value" or part.original_id == field.original_id != "":
            return _shown(part, getattr(item, part.id))
    fields: dict[str, Any] = {}
    _collect(item, fields, fields)
    return fields


def _uuid(data: bytes | bytearray | memoryview) -> str:
    return urlsafe_b64encode(data).decode("ascii").rstrip("=")


def json_text(value: Any) -> str:
    """Return JSON as Jackson writes it: without blanks, and with upper-case escapes."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json_text(k)}:{json_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, str):
        return '"' + value.translate(_ESCAPES) + '"'
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _double(value) if isinstance(value, float) else str(value)


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
