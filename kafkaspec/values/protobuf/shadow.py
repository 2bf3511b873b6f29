"""Descriptors for the fast way: the same bytes in few and simple types.

``ptars`` makes of some types what we do not want, or what Google's library would not: times
outside some years become another time, maps keep all of their entries. So it gets descriptors
that ask for nothing but numbers, texts, bytes, lists and structs, which it reads as upb does; the
tests compare both. What a value means is then worked out here, by columns.
"""

from __future__ import annotations

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto
from google.protobuf.descriptor_pb2 import FileDescriptorProto as File
from google.protobuf.descriptor_pool import DescriptorPool
from ptars import HandlerPool, PtarsConfig

from kafkaspec.values.protobuf.plan import (
    Deeper,
    Enumeration,
    Field,
    Json,
    Mask,
    Message,
    Node,
    Record,
    Scalar,
    Shape,
    Time,
    Wrapper,
)
from kafkaspec.values.protobuf.schema import member

_FILE = "shadow.proto"
_INT32 = Scalar(None, FieldDescriptor.TYPE_INT32)
_INT64 = Scalar(None, FieldDescriptor.TYPE_INT64)
_STRING = Scalar(None, FieldDescriptor.TYPE_STRING)


class SlowError(ValueError):
    """Messages of a type have to go the exact way."""


def handler(root: Message) -> object:
    """Return what makes a record batch of messages."""
    if not isinstance(root, Record):
        raise SlowError("a message that stands for one value")
    shadow = _Shadow()
    shadow.record(root)
    pool = DescriptorPool()
    pool.AddSerializedFile(shadow.file.SerializeToString())
    descriptor = pool.FindMessageTypeByName("M0")
    try:
        return HandlerPool([descriptor.file], PtarsConfig()).get_for_message(descriptor)
    except ValueError as error:
        raise SlowError(str(error)) from error


class _Shadow:
    def __init__(self) -> None:
        self.file = File(name=_FILE, syntax="proto3")
        self.names: dict[str, str] = {}
        self.open: set[str] = set()

    def message(self, key: str) -> tuple[str, DescriptorProto | None]:
        """Return the name of a message, and a new message if it was not asked for before."""
        if key in self.names:
            return self.names[key], None
        name = self.names[key] = f"M{len(self.names)}"
        return name, self.file.message_type.add(name=name)

    def record(self, node: Record) -> str:
        """Add a message; return its name."""
        full = node.descriptor.full_name
        name, made = self.message(full)
        if full in self.open or node.unknown:
            raise SlowError("a message within itself, or unknown fields are wanted")
        if made is not None:
            self.open.add(full)
            for field in node.fields:
                self.field(made, field)
            self.open.remove(full)
        return name

    def field(self, made: DescriptorProto, field: Field) -> None:
        """Add a field to a message."""
        node = field.node
        if field.shape is Shape.MAP:
            assert field.key is not None
            if isinstance(node, Enumeration) and node.closed:
                raise SlowError("a map of a closed enumeration")
            # All of a map's entries, also those that others replace.
            name, entry = self.message(field.descriptor.full_name)
            if entry is not None:
                self.member(entry, 1, Shape.PLAIN, field.key)
                plain = isinstance(node, Scalar | Enumeration)
                self.member(entry, 2, Shape.PLAIN if plain else Shape.OPTIONAL, node)
            self.add(made, field.number, Shape.LIST, FieldDescriptor.TYPE_MESSAGE, name)
            return
        if field.descriptor.type == FieldDescriptor.TYPE_GROUP:
            raise SlowError("a group")
        self.member(made, field.number, field.shape, node)

    def member(self, made: DescriptorProto, number: int, shape: Shape, node: Node) -> None:
        """Add a field that is not a map."""
        match node:
            case Scalar():
                self.add(made, number, shape, node.kind)
            case Enumeration():
                self.add(made, number, shape, FieldDescriptor.TYPE_INT32)
            case Json():
                # One value for each time that it is in the bytes: together they are the message.
                self.add(made, number, Shape.LIST, FieldDescriptor.TYPE_BYTES)
            case Deeper():
                raise SlowError("a message within itself")
            case Record():
                name = self.record(node)
                self.add(made, number, shape, FieldDescriptor.TYPE_MESSAGE, name)
            case Time():
                parts = ((1, Shape.PLAIN, _INT64), (2, Shape.PLAIN, _INT32))
                self.known(made, number, shape, node, parts)
            case Mask():
                self.known(made, number, shape, node, ((1, Shape.LIST, _STRING),))
            case Wrapper():
                self.known(made, number, shape, node, ((1, Shape.PLAIN, node.value),))

    def known(
        self,
        made: DescriptorProto,
        number: int,
        shape: Shape,
        node: Message,
        parts: tuple[tuple[int, Shape, Scalar], ...],
    ) -> None:
        """Add a field of a message that is not a struct."""
        name, inner = self.message(node.descriptor.full_name)
        if inner is not None:
            for place, inner_shape, scalar in parts:
                self.add(inner, place, inner_shape, scalar.kind)
        self.add(made, number, shape, FieldDescriptor.TYPE_MESSAGE, name)

    def add(
        self, made: DescriptorProto, number: int, shape: Shape, kind: int, message: str = ""
    ) -> None:
        """Add a field of a type."""
        label = FieldDescriptorProto.LABEL_OPTIONAL
        if shape is Shape.LIST:
            label = FieldDescriptorProto.LABEL_REPEATED
        added = made.field.add(name=member(number), number=number, label=label, type=kind)
        if message:
            added.type_name = f".{message}"
        if shape is Shape.OPTIONAL:
            added.proto3_optional = True
            added.oneof_index = len(made.oneof_decl)
            made.oneof_decl.add(name=f"oneof_{number}")
