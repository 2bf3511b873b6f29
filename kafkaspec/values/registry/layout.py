"""Records of a registry's topic ``_schemas``: the fields of their keys and values, which are JSON.

The layout is Confluent's (``SchemaKey``, ``SchemaValue`` and their like). Karapace sorts the fields
of schemas, and deletes with values of no bytes; Redpanda's keys have ``seq`` and ``node`` too. A
field that is null is one that is absent, and fields that nothing here names are ignored, as
registries do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import orjson

from kafkaspec.values.definition import SchemaType


class KeyType(StrEnum):
    """Types of records, by the field ``keytype`` of their keys."""

    SCHEMA = "SCHEMA"
    CONFIG = "CONFIG"
    MODE = "MODE"
    NOOP = "NOOP"
    DELETE_SUBJECT = "DELETE_SUBJECT"
    CLEAR_SUBJECT = "CLEAR_SUBJECT"
    CONTEXT = "CONTEXT"
    ASSOC = "ASSOC"


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a JSON object: ``str``, ``int`` (of 32 bits), ``bool``, or ``dict`` for anything.

    A list has ``items``, the fields of the objects in it.
    """

    name: str
    type: type
    required: bool = False
    default: Any = None
    items: tuple[Member, ...] = ()


def _all(kind: type, *names: str) -> tuple[Member, ...]:
    return tuple(Member(name, kind) for name in names)


_KEYTYPE: Final = Member("keytype", str, required=True)
_MAGIC: Final = Member("magic", int, default=0)
_SEQUENCE: Final = _all(int, "seq", "node")
_SUBJECT: Final = Member("subject", str, required=True)
_ANY_SUBJECT: Final = Member("subject", str)
_VERSION: Final = Member("version", int, required=True)
REFERENCE: Final = (Member("name", str, required=True), _SUBJECT, _VERSION)
SCHEMA: Final = (
    _ANY_SUBJECT,
    Member("version", int),
    Member("id", int, required=True),
    Member("md5", str),
    Member("schemaType", str, default=SchemaType.AVRO.value),
    Member("references", list, default=(), items=REFERENCE),
    *_all(dict, "metadata", "ruleSet"),
    Member("schema", str, required=True),
    Member("deleted", bool, default=False),
)

KEYS: Final[Mapping[KeyType, tuple[Member, ...]]] = {
    KeyType.SCHEMA: (_KEYTYPE, _SUBJECT, _VERSION, _MAGIC, *_SEQUENCE),
    KeyType.CONFIG: (_KEYTYPE, _ANY_SUBJECT, _MAGIC, *_SEQUENCE),
    KeyType.MODE: (_KEYTYPE, _ANY_SUBJECT, _MAGIC, *_SEQUENCE),
    KeyType.NOOP: (_KEYTYPE, _MAGIC),
    KeyType.DELETE_SUBJECT: (_KEYTYPE, _SUBJECT, _MAGIC, *_SEQUENCE),
    KeyType.CLEAR_SUBJECT: (_KEYTYPE, _SUBJECT, _MAGIC),
    KeyType.CONTEXT: (
        _KEYTYPE,
        *_all(str, "tenant"),
        Member("context", str, required=True),
        _MAGIC,
    ),
    KeyType.ASSOC: (
        _KEYTYPE,
        *_all(str, "tenant", "resourceName", "resourceNamespace", "resourceType"),
        *_all(str, "associationType", "subject"),
    ),
}
"""Fields of keys."""

VALUES: Final[Mapping[KeyType, tuple[Member, ...]]] = {
    KeyType.SCHEMA: SCHEMA,
    KeyType.CONFIG: (
        *_all(str, "subject", "alias"),
        Member("normalize", bool),
        *_all(str, "compatibilityLevel", "compatibilityGroup"),
        *_all(dict, "defaultMetadata", "overrideMetadata", "defaultRuleSet", "overrideRuleSet"),
    ),
    KeyType.MODE: (_ANY_SUBJECT, Member("mode", str, required=True)),
    KeyType.NOOP: (),
    KeyType.DELETE_SUBJECT: (_SUBJECT, _VERSION),
    KeyType.CLEAR_SUBJECT: (_ANY_SUBJECT,),
    KeyType.CONTEXT: _all(str, "tenant", "context"),
    KeyType.ASSOC: (*_all(str, "guid", "lifecycle"), Member("frozen", bool)),
}
"""Fields of values."""

_INTS: Final = range(-(1 << 31), 1 << 31)


class LayoutError(ValueError):
    """A record is none of a registry's."""


def read_key(data: bytes | None) -> tuple[KeyType, dict[str, Any]]:
    if data is None:
        raise LayoutError("no key")
    found = _object(data, "key")
    name: Any = found.get(_KEYTYPE.name)
    try:
        kind = KeyType(name)
    except ValueError:
        raise LayoutError(f"key: no keytype that is known: {str(name)[:40]!r}") from None
    return kind, fields(KEYS[kind], found, "key")


def read_value(kind: KeyType, data: bytes | None) -> dict[str, Any] | None:
    """Return the fields of a value; None for one that deletes: null, or no bytes as of Karapace."""
    return fields(VALUES[kind], _object(data, "value"), "value") if data else None


def fields(layout: tuple[Member, ...], found: Any, path: str) -> dict[str, Any]:
    """Return the fields of a JSON object, those that are absent with their defaults."""
    if not isinstance(found, dict):
        raise LayoutError(f"{path}: no object")
    result = {}
    for field in layout:
        value: Any = found.get(field.name)
        place = f"{path}.{field.name}"
        if value is None:
            if field.required:
                raise LayoutError(f"{place}: absent")
            value = field.default
        elif type(value) is not field.type or (field.type is int and value not in _INTS):
            raise LayoutError(f"{place}: not a value of type {field.type.__name__}")
        elif field.items:
            value = tuple(
                fields(field.items, item, f"{place}[{number}]")
                for number, item in enumerate(found[field.name])
            )
        result[field.name] = value
    return result


def _object(data: bytes, path: str) -> dict[str, Any]:
    try:
        found = orjson.loads(data)
    except ValueError as error:
        raise LayoutError(f"{path}: not JSON: {error}") from None
    if not isinstance(found, dict):
        raise LayoutError(f"{path}: no object")
    return found
