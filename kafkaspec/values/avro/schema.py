"""Avro schemas as a graph of nodes: names and imports are resolved, logical types checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kafkaspec.values.definition import Definition, SchemaError, SchemaType
from kafkaspec.values.options import Bounds

NESTING = 128
"""Levels of nesting of a schema and of its columns; a recursion of Python for each is safe."""


class AvroKind(StrEnum):
    """Types of Avro, by their names in schemas."""

    NULL = "null"
    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    BYTES = "bytes"
    STRING = "string"
    FIXED = "fixed"
    ENUM = "enum"
    ARRAY = "array"
    MAP = "map"
    RECORD = "record"
    UNION = "union"


NAMED = frozenset({AvroKind.FIXED, AvroKind.ENUM, AvroKind.RECORD})
_PRIMITIVE = frozenset(AvroKind) - NAMED - {AvroKind.ARRAY, AvroKind.MAP, AvroKind.UNION}


class Logical(StrEnum):
    """Logical types that have a type in Arrow."""

    DECIMAL = "decimal"
    DATE = "date"
    TIME_MILLIS = "time-millis"
    TIME_MICROS = "time-micros"
    TIMESTAMP_MILLIS = "timestamp-millis"
    TIMESTAMP_MICROS = "timestamp-micros"
    TIMESTAMP_NANOS = "timestamp-nanos"
    LOCAL_TIMESTAMP_MILLIS = "local-timestamp-millis"
    LOCAL_TIMESTAMP_MICROS = "local-timestamp-micros"
    LOCAL_TIMESTAMP_NANOS = "local-timestamp-nanos"
    UUID = "uuid"
    DURATION = "duration"


_BASES = {
    Logical.DECIMAL: {AvroKind.BYTES, AvroKind.FIXED},
    Logical.DATE: {AvroKind.INT},
    Logical.TIME_MILLIS: {AvroKind.INT},
    Logical.UUID: {AvroKind.STRING, AvroKind.FIXED},
    Logical.DURATION: {AvroKind.FIXED},
}
_SIZES = {Logical.UUID: 16, Logical.DURATION: 12}


@dataclass(eq=False, slots=True)
class AvroField:
    """A field of a record, with names that it has in other schemas, and its default as JSON."""

    name: str
    node: AvroNode
    aliases: tuple[str, ...] = ()
    has_default: bool = False
    default: Any = None


@dataclass(eq=False, slots=True)
class AvroNode:
    """A type of a schema, perhaps named. Recursion makes circles of nodes.

    ``logical`` is there where it fits the type. ``children`` are items of an array, values of a
    map, or branches of a union.
    """

    kind: AvroKind
    name: str = ""
    aliases: tuple[str, ...] = ()
    logical: Logical | None = None
    precision: int = 0
    scale: int = 0
    size: int = 0
    symbols: tuple[str, ...] = ()
    default: str | None = None
    fields: list[AvroField] = field(default_factory=list)
    children: list[AvroNode] = field(default_factory=list)

    @property
    def full_name(self) -> str:
        """The name by which a union knows the type."""
        return self.name or self.kind.value


def parse(definition: Definition, bounds: Bounds) -> AvroNode:
    if definition.type != SchemaType.AVRO:
        raise SchemaError(f"a schema of the type {definition.type} is not Avro")
    scopes: dict[int, dict[str, AvroNode]] = {}
    roots: dict[int, AvroNode] = {}
    for item in bounds.within(definition):
        names: dict[str, AvroNode] = {}
        for name, imported in item.imports:
            names.update(scopes[id(imported)])
            names.setdefault(name, roots[id(imported)])
        parser = _Parser(names)
        roots[id(item)] = parser.root(item.text)
        scopes[id(item)] = names | parser.defined
    return roots[id(definition)]


class _Parser:
    """Reads one text. Its own names win over those of imports."""

    def __init__(self, imported: Mapping[str, AvroNode]) -> None:
        self._imported = imported
        self.defined: dict[str, AvroNode] = {}

    def root(self, text: str) -> AvroNode:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SchemaError(f"the schema is not JSON: {error}") from None
        return self._node(value, "", 0)

    def _node(self, value: Any, space: str, level: int) -> AvroNode:
        if level > NESTING:
            raise SchemaError(f"the schema is nested more than {NESTING} levels deep")
        if isinstance(value, str):
            return self._named(value, space)
        if isinstance(value, list):
            return self._union(value, space, level)
        if not isinstance(value, dict):
            raise SchemaError(f"{_short(value)} is not a type")
        kind = value.get("type")
        if isinstance(kind, dict | list):
            return self._node(kind, space, level + 1)
        if not isinstance(kind, str):
            raise SchemaError(f"{_short(value)} has no type")
        if kind in _PRIMITIVE:
            return _with_logical(AvroNode(AvroKind(kind)), value)
        if kind in {"array", "map"}:
            content = "items" if kind == "array" else "values"
            if content not in value:
                raise SchemaError(f"an {kind} has no {content}")
            node = AvroNode(AvroKind(kind))
            node.children.append(self._node(value[content], space, level + 1))
            return node
        if kind in {"record", "error", "enum", "fixed"}:
            return self._definition(
                AvroKind.RECORD if kind == "error" else AvroKind(kind), value, space, level
            )
        return self._named(kind, space)

    def _named(self, name: str, space: str) -> AvroNode:
        if name in _PRIMITIVE:
            return AvroNode(AvroKind(name))
        candidates = [name] if "." in name or not space else [f"{space}.{name}", name]
        for names in (self.defined, self._imported):
            for candidate in candidates:
                if candidate in names:
                    return names[candidate]
        raise SchemaError(f"the type {_short(name)} is not defined")

    def _union(self, value: list[Any], space: str, level: int) -> AvroNode:
        node = AvroNode(AvroKind.UNION)
        known: set[str] = set()
        for branch in value:
            child = self._node(branch, space, level + 1)
            if child.kind == AvroKind.UNION:
                raise SchemaError("a union is a branch of a union")
            if child.full_name in known:
                raise SchemaError(f"a union has two branches {_short(child.full_name)}")
            known.add(child.full_name)
            node.children.append(child)
        return node

    def _definition(
        self, kind: AvroKind, value: dict[str, Any], space: str, level: int
    ) -> AvroNode:
        _text(value, "name")
        full, space = full_name(value, space)
        node = AvroNode(kind, full.removeprefix("."), _aliases(value, space))
        if node.name in self.defined:
            raise SchemaError(f"the type {_short(full)} is defined twice")
        self.defined[node.name] = node
        if kind == AvroKind.FIXED:
            node.size = _number(value.get("size"), -1)
            if not 0 <= node.size < 1 << 31:
                raise SchemaError(f"the type {_short(full)} has no size")
            return _with_logical(node, value)
        if kind == AvroKind.ENUM:
            symbols = value.get("symbols")
            if not isinstance(symbols, list) or not all(isinstance(item, str) for item in symbols):
                raise SchemaError(f"the enumeration {_short(full)} has no symbols")
            if len(set(symbols)) < len(symbols):
                raise SchemaError(f"the enumeration {_short(full)} has a symbol twice")
            node.symbols = tuple(symbols)
            default = value.get("default")
            node.default = default if default in node.symbols else None
            return node
        fields = value.get("fields")
        if not isinstance(fields, list):
            raise SchemaError(f"the record {_short(full)} has no fields")
        known: set[str] = set()
        for item in fields:
            if not isinstance(item, dict) or "type" not in item:
                raise SchemaError(f"a field of {_short(full)} has no type")
            own = _text(item, "name")
            if own in known:
                raise SchemaError(f"the record {_short(full)} has two fields {_short(own)}")
            known.add(own)
            node.fields.append(
                AvroField(
                    own,
                    self._node(item["type"], space, level + 1),
                    _aliases(item, ""),
                    "default" in item,
                    item.get("default"),
                )
            )
        return node


def full_name(schema: Mapping[str, Any], space: str) -> tuple[str, str]:
    """Return the full name of a named type, and the namespace of the names in it."""
    name, given = schema["name"], schema.get("namespace")
    if "." in name:
        return name, name.rpartition(".")[0]
    space = given if isinstance(given, str) else space
    return f"{space}.{name}" if space else name, space


def _with_logical(node: AvroNode, value: dict[str, Any]) -> AvroNode:
    """Take the logical type if it is one that is known, and fits; it is ignored otherwise."""
    name = value.get("logicalType")
    if not isinstance(name, str) or name not in set(Logical):
        return node
    logical = Logical(name)
    if node.kind not in _BASES.get(logical, {AvroKind.LONG}):
        return node
    if node.kind == AvroKind.FIXED and node.size != _SIZES.get(logical, node.size):
        return node
    if logical == Logical.DECIMAL:
        precision, scale = _number(value.get("precision"), 0), _number(value.get("scale", 0), -1)
        most = len(str(1 << 8 * min(node.size, 1 << 10) >> 1)) - 1
        if precision < 1 or not 0 <= scale <= precision:
            return node
        if node.kind == AvroKind.FIXED and precision > most and node.size < 1 << 10:
            return node
        node.precision, node.scale = precision, scale
    node.logical = logical
    return node


def _number(value: Any, missing: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else missing


def _text(value: dict[str, Any], key: str) -> str:
    found = value.get(key)
    if not isinstance(found, str) or not found:
        raise SchemaError(f"{_short(value)} has no {key}")
    return found


def _aliases(value: dict[str, Any], space: str) -> tuple[str, ...]:
    found = value.get("aliases")
    if not isinstance(found, list):
        return ()
    names = [item for item in found if isinstance(item, str)]
    return tuple(name if "." in name or not space else f"{space}.{name}" for name in names)


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
