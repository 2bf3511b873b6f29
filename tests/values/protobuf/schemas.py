"""Schemas for tests, and what Google's library says of them."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from kafkaspec.values.definition import Definition, SchemaType
from kafkaspec.values.options import Bounds
from kafkaspec.values.protobuf.source import imports_of, read_files


def proto(text: str, **imports: Definition) -> Definition:
    """Return a schema; names of imports have no dots or slashes here: ``a`` is ``a.proto``."""
    named = tuple((f"{name}.proto", one) for name, one in imports.items())
    return Definition(SchemaType.PROTOBUF, text, named)


def proto3(body: str, **imports: Definition) -> Definition:
    return proto(f'syntax = "proto3";\n{body}', **imports)


def proto2(body: str, **imports: Definition) -> Definition:
    return proto(f'syntax = "proto2";\n{body}', **imports)


def linked(definition: Definition) -> DescriptorPool:
    """Return descriptors as protoc makes them: the decoder's own are changed."""
    pool = DescriptorPool()
    for file in read_files(definition.text, imports_of(definition, Bounds())):
        pool.AddSerializedFile(file.SerializeToString())
    return pool


def official(definition: Definition, name: str) -> Any:
    """Return the class that Google's library makes of a message."""
    return GetMessageClass(linked(definition).FindMessageTypeByName(name))
