"""How messages of a schema become columns: a tree of nodes, each with its Arrow type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import pyarrow as pa
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

from kafkaspec.values.definition import SchemaError
from kafkaspec.values.options import Options
from kafkaspec.values.protobuf.known import is_well_known
from kafkaspec.values.protobuf.schema import ProtobufSchema

COLUMNS = 10_000
"""Columns that a message may have, those of messages in it included."""

TEXT = pa.dictionary(pa.int32(), pa.string())
"""Type of what has few different texts."""

UNKNOWN = "_unknown"
"""Column with the bytes of unknown fields; underscores are added where a field has the name."""

_SCALARS = {
    getattr(FieldDescriptor, f"TYPE_{name}"): kind
    for kind, names in (
        (pa.float64(), ("DOUBLE",)),
        (pa.float32(), ("FLOAT",)),
        (pa.int64(), ("INT64", "SFIXED64", "SINT64")),
        (pa.uint64(), ("UINT64", "FIXED64")),
        (pa.int32(), ("INT32", "SFIXED32", "SINT32")),
        (pa.uint32(), ("UINT32", "FIXED32")),
        (pa.bool_(), ("BOOL",)),
        (pa.string(), ("STRING",)),
        (pa.binary(), ("BYTES",)),
    )
    for name in names
}

_GOOGLE = "google.protobuf."
_WRAPPERS = {
    f"{_GOOGLE}{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
}


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number, a bool, a text or bytes."""

    type: pa.DataType
    kind: int


@dataclass(frozen=True, slots=True)
class Enumeration:
    """A value of an enumeration: the first name of each number; if closed, there are no others."""

    type: pa.DataType
    names: Mapping[int, str]
    closed: bool


class ProtobufShape(Enum):
    """How often a field is there."""

    PLAIN = "plain"
    """Always: one that is not in the bytes has the default."""
    OPTIONAL = "optional"
    """Null if it is not in the bytes."""
    LIST = "list"
    MAP = "map"


class Meaning(Enum):
    """Meanings of messages that do not become a struct."""

    VALUE = "value"
    """The value of its only field, for which it stands."""
    TIMESTAMP = "timestamp"
    DURATION = "duration"
    """Seconds and nanoseconds; in microseconds."""
    PATHS = "paths"
    """The paths of a ``FieldMask``."""
    JSON = "json"
    """A ``Struct``, ``Value`` or ``ListValue``, as JSON text."""
    DEEPER = "deeper"
    """A message within itself, below the levels that become columns: JSON text."""


@dataclass(frozen=True, slots=True)
class Special:
    """A message that becomes a single value; ``parts`` are its fields, none for JSON text."""

    type: pa.DataType
    meaning: Meaning
    descriptor: Any
    parts: tuple[tuple[int, ProtobufShape, Scalar], ...] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message, which is a column, or an extension of it.

    ``node`` is the type of the value, or of each value of a list or map; ``default`` whether an
    absent field has the default of the schema; ``descriptor`` of a map that of its entries.
    """

    column: pa.Field
    number: int
    shape: ProtobufShape
    node: ProtobufNode
    key: Scalar | None
    required: bool
    default: bool
    extension: Any
    descriptor: Any


@dataclass(frozen=True, slots=True)
class ProtobufRecord:
    """A message, as a struct of fields, then of cases, then of unknown fields.

    ``oneofs`` has of each its name, its number, and names of members by number.
    """

    type: pa.DataType
    fields: tuple[Field, ...]
    oneofs: tuple[tuple[str, int, Mapping[int, str]], ...]
    cases: bool
    unknown: bool
    descriptor: Any


ProtobufMessage: TypeAlias = ProtobufRecord | Special
ProtobufNode: TypeAlias = Scalar | Enumeration | ProtobufMessage


def plan(schema: ProtobufSchema, name: str, options: Options) -> ProtobufMessage:
    return _Planner(schema, options).message(schema.descriptor(name), ())


class _Planner:
    def __init__(self, schema: ProtobufSchema, options: Options) -> None:
        self.schema = schema
        self.options = options
        self.columns = 0

    def message(self, descriptor: Any, above: tuple[str, ...]) -> ProtobufMessage:
        name = descriptor.full_name
        known = _known(descriptor)
        if known is not None:
            return known
        levels = above.count(name)
        if levels and levels > self.options.depth:
            if not self.options.depth:
                raise SchemaError(f"{name} holds itself: choose how many levels become columns")
            return Special(pa.string(), Meaning.DEEPER, descriptor)
        if len(above) >= self.options.bounds.depth:
            raise SchemaError(f"messages of {above[0]} are nested more deeply than the limit")
        inner = (*above, name)
        declared = self.schema.declared[name]
        members = {part.number: part for part in declared.field}
        extensions = []
        if descriptor.is_extendable:  # to look for extensions takes long
            extensions = sorted(
                self.schema.pool.FindAllExtensions(descriptor), key=lambda part: part.number
            )
        fields = [
            self.field(part, inner, members[part.number].name, _oneof(members[part.number]))
            for part in descriptor.fields
        ]
        fields += [self.field(part, inner, f"[{part.full_name}]", None) for part in extensions]
        columns = [one.column for one in fields]
        oneofs = tuple(_oneofs(declared))
        if self.options.oneof_case:
            columns += [pa.field(case, TEXT) for case, _, _ in oneofs]
        if self.options.unknown_fields:
            taken = {column.name for column in columns}
            unknown = UNKNOWN
            while unknown in taken:
                unknown = f"_{unknown}"
            columns.append(pa.field(unknown, pa.binary()))
        return ProtobufRecord(
            pa.struct(columns),
            tuple(fields),
            oneofs,
            self.options.oneof_case,
            self.options.unknown_fields,
            descriptor,
        )

    def field(self, part: Any, above: tuple[str, ...], name: str, oneof: int | None) -> Field:
        self.columns += 1
        if self.columns > COLUMNS:
            raise SchemaError(f"{above[0]} takes more than {COLUMNS} columns")
        inner = part.message_type
        key: Scalar | None = None
        default = False
        nullable = False
        if part.is_repeated and inner is not None and inner.full_name in self.schema.maps:
            parts = inner.fields_by_number
            key = _scalar(parts[1])
            node = self.node(parts[2], above)
            type_ = pa.map_(key.type, pa.field("value", node.type, nullable=False))
            shape = ProtobufShape.MAP
        else:
            node = self.node(part, above)
            if part.is_repeated:
                type_ = pa.list_(pa.field("item", node.type, nullable=False))
                shape = ProtobufShape.LIST
            else:
                type_ = node.type
                nullable = part.has_presence
                shape = ProtobufShape.OPTIONAL if nullable else ProtobufShape.PLAIN
                default = self.options.defaults and nullable and inner is None and oneof is None
        return Field(
            pa.field(name, type_, nullable=nullable),
            part.number,
            shape,
            node,
            key,
            part.is_required,
            default,
            part if part.is_extension else None,
            inner if key is not None else part,
        )

    def node(self, part: Any, above: tuple[str, ...]) -> ProtobufNode:
        if part.message_type is not None:
            return self.message(part.message_type, above)
        if part.enum_type is None:
            return _scalar(part)
        names: dict[int, str] = {}
        for value in part.enum_type.values:
            names.setdefault(value.number, value.name)
        type_ = TEXT if self.options.enums == "text" else pa.int32()
        return Enumeration(type_, names, part.enum_type.is_closed)


def _oneof(part: FieldDescriptorProto) -> int | None:
    """Return the number of the ``oneof`` of a field; that of an ``optional`` one is none."""
    return part.oneof_index if part.HasField("oneof_index") and not part.proto3_optional else None


def _oneofs(declared: DescriptorProto) -> Iterator[tuple[str, int, Mapping[int, str]]]:
    """Yield name and number of each ``oneof``, with the names of its members by number."""
    for number, one in enumerate(declared.oneof_decl):
        members = {part.number: part.name for part in declared.field if _oneof(part) == number}
        if members:
            yield one.name, number, members


def _scalar(part: Any) -> Scalar:
    return Scalar(_SCALARS[part.type], part.type)


def _known(descriptor: Any) -> ProtobufMessage | None:
    """Return the node of a message that becomes a special type; None for others."""
    if not is_well_known(descriptor.file.name):
        return None
    name = descriptor.full_name.removeprefix(_GOOGLE)
    if name in ("Struct", "Value", "ListValue"):
        return Special(pa.string(), Meaning.JSON, descriptor)
    if descriptor.full_name not in _WRAPPERS and name not in _MEANINGS:
        return None
    parts = tuple(
        (
            part.number,
            ProtobufShape.LIST if part.is_repeated else ProtobufShape.PLAIN,
            _scalar(part),
        )
        for part in descriptor.fields
    )
    kind, meaning = _MEANINGS.get(name, (parts[0][2].type, Meaning.VALUE))
    return Special(kind, meaning, descriptor, parts)


_MEANINGS = {
    "Timestamp": (pa.timestamp("us", "UTC"), Meaning.TIMESTAMP),
    "Duration": (pa.duration("us"), Meaning.DURATION),
    "FieldMask": (pa.list_(pa.field("item", pa.string(), nullable=False)), Meaning.PATHS),
}
