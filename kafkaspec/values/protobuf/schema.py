"""A schema's messages: their descriptors, and which one an index list means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto
from google.protobuf.descriptor_pb2 import FileDescriptorProto as File
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from kafkaspec.values.definition import Definition, SchemaError
from kafkaspec.values.options import Bounds
from kafkaspec.values.protobuf.source import imports_of, read_files

KEPT = 16
"""Schemas that are kept: protoc takes long."""

_NUMBERS = ("INT", "UINT", "SINT", "FIXED", "SFIXED")
_KEYS = {
    getattr(FieldDescriptorProto, f"TYPE_{name}")
    for name in ("BOOL", "STRING", *(f"{each}{size}" for each in _NUMBERS for size in (32, 64)))
}
"""Types that keys of maps may have."""


class Order(StrEnum):
    """How the numbers of an index list count messages."""

    NAME = "name"
    """No index list: the message was given by its name."""
    DESCRIPTOR = "descriptor"
    """As protoc's descriptors have them, with an entry of a map at the place of its field."""
    TEXT = "text"
    """As they stand in the text, where entries of maps do not."""
    REVERSED = "reversed"
    """As in descriptors, with the innermost message first: one release for .NET."""


@dataclass(frozen=True)
class ProtobufSchema:
    """A Protobuf schema, linked.

    Attributes:
        files: descriptors, each after those that it imports.
        main: the descriptor of the schema itself.
        pool: descriptors with fields under the names of ``member``, and with maps as lists of
            entries, so that an entry has its place in a message.
        maps: full names of messages that are the entries of maps.
        synthetic: those of them that are in no text.
        declared: all messages by full name, as they are in the schema.
    """

    files: tuple[File, ...]
    main: File
    pool: Any
    maps: frozenset[str]
    synthetic: frozenset[str]
    declared: Mapping[str, DescriptorProto]

    def descriptor(self, name: str) -> Any:
        """Return the descriptor of a message, from ``pool``."""
        try:
            return self.pool.FindMessageTypeByName(name)
        except KeyError:
            raise SchemaError(f"the schema has no message {name!r}") from None

    def full_name(self, name: str) -> str:
        """Return the full name of a message that may be given without the schema's package."""
        full = f"{self.main.package}.{name}"
        return full if name not in self.declared and full in self.declared else name

    def original(self) -> Any:
        """Return a pool with the descriptors as they are in the schema."""
        return _linked(self.files)

    def messages(self) -> list[str]:
        """Return full names of the messages that the schema itself declares, in its order."""
        return [name for name, _ in _walk(self.main) if name not in self.maps]

    def candidates(self, indexes: Sequence[int]) -> dict[Order, str]:
        """Return full names of messages that an index list may mean, the likeliest first."""
        found: dict[Order, str] = {}
        for order, way in (
            (Order.DESCRIPTOR, indexes),
            (Order.TEXT, indexes),
            (Order.REVERSED, indexes[::-1]),
        ):
            name = self._at(way, order is Order.TEXT)
            if name is not None and name not in self.maps and name not in found.values():
                found[order] = name
        return found

    def _at(self, indexes: Sequence[int], text: bool) -> str | None:
        name = self.main.package
        inner: Iterable[DescriptorProto] = self.main.message_type
        for index in indexes:
            named = [(f"{name}.{one.name}" if name else one.name, one) for one in inner]
            if text:
                named = [item for item in named if item[0] not in self.synthetic]
            if not 0 <= index < len(named):
                return None
            name, message = named[index]
            inner = message.nested_type
        return name if indexes else None


def member(number: int) -> str:
    """Return the name of a field in ``ProtobufSchema.pool``, which no method of a message has."""
    return f"_{number}"


def read_schema(definition: Definition, bounds: Bounds) -> ProtobufSchema:
    """Link a schema; one that was linked lately is the same."""
    try:
        return _read(definition.text, imports_of(definition, bounds))
    except SchemaError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
        # Descriptors that no protoc made: names that are no text, say.
        raise SchemaError(f"the schema cannot be read: {error}") from error


@lru_cache(maxsize=KEPT)
def _read(text: str, imports: tuple[tuple[str, str], ...]) -> ProtobufSchema:
    files = read_files(text, imports)
    names = {name: message for file in files for name, message in _walk(file)}
    synthetic = frozenset(name for name, message in names.items() if message.options.map_entry)
    _linked(files)
    maps = synthetic | frozenset(
        entry for name, message in names.items() for entry in _rewritten(name, message, names)
    )
    private = []
    for file in files:
        copy = File()
        copy.CopyFrom(file)
        for name, message in _walk(copy):
            _without_maps(name, message, maps, copy.syntax == "editions")
            _rename(message)
        private.append(copy)
    return ProtobufSchema(files, files[-1], _linked(private), maps, synthetic, names)


def message_class(descriptor: Any) -> Any:
    return GetMessageClass(descriptor)


def _linked(files: Iterable[File]) -> Any:
    pool = DescriptorPool()
    for file in files:
        try:
            pool.AddSerializedFile(file.SerializeToString())
        except (TypeError, ValueError) as error:
            raise SchemaError(f"the schema cannot be linked: {error}") from error
    return pool


def _walk(file: File) -> Iterator[tuple[str, DescriptorProto]]:
    """Yield all messages of a file with their full names, outer ones first."""
    waiting = [(file.package, message) for message in reversed(file.message_type)]
    while waiting:
        scope, message = waiting.pop()
        name = f"{scope}.{message.name}" if scope else message.name
        yield name, message
        waiting.extend((name, inner) for inner in reversed(message.nested_type))


def _rewritten(
    name: str, message: DescriptorProto, names: dict[str, DescriptorProto]
) -> Iterator[str]:
    """Yield nested messages that were the entries of maps before Karapace rewrote the text."""
    for part in message.field:
        if part.label != FieldDescriptorProto.LABEL_REPEATED:
            continue
        if part.type != FieldDescriptorProto.TYPE_MESSAGE:
            continue
        full = part.type_name.removeprefix(".")
        # As protoc calls the entry of a map: by_day, ByDayEntry.
        words = (word[:1].upper() + word[1:] for word in part.name.split("_"))
        entry_name = f"{''.join(words)}Entry"
        if full != f"{name}.{entry_name}" or full not in names:
            continue
        entry = names[full]
        inner = {item.number: item for item in entry.field}
        if (
            {number: item.name for number, item in inner.items()} == {1: "key", 2: "value"}
            and inner[1].type in _KEYS
            and all(item.label == FieldDescriptorProto.LABEL_OPTIONAL for item in entry.field)
            and not (entry.nested_type or entry.enum_type or entry.extension)
        ):
            yield full


def _without_maps(
    name: str, message: DescriptorProto, maps: frozenset[str], editions: bool
) -> None:
    """Make plain messages of the entries of maps."""
    if name in maps:
        message.options.ClearField("map_entry")
    if editions:
        for part in message.field:
            if part.type_name.removeprefix(".") in maps:
                features = part.options.features
                features.message_encoding = features.LENGTH_PREFIXED


def _rename(message: DescriptorProto) -> None:
    """Give fields names that no class of messages has for something else."""
    for part in message.field:
        part.name = member(part.number)
        part.ClearField("json_name")
    for number, one in enumerate(message.oneof_decl):
        one.name = f"oneof_{number}"
