"""Random schemas of all types, and messages of them; what Google's library reads is the judge."""

from __future__ import annotations

import base64
import json
import math
import random
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    Edition,
    FeatureSet,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.unknown_fields import UnknownFieldSet

from kafkaspec.values.definition import Definition, SchemaType

F = FieldDescriptorProto
SCALARS = (
    *(F.TYPE_DOUBLE, F.TYPE_FLOAT, F.TYPE_INT64, F.TYPE_UINT64, F.TYPE_INT32, F.TYPE_FIXED64),
    *(F.TYPE_FIXED32, F.TYPE_BOOL, F.TYPE_STRING, F.TYPE_BYTES, F.TYPE_UINT32, F.TYPE_SFIXED32),
    *(F.TYPE_SFIXED64, F.TYPE_SINT32, F.TYPE_SINT64),
)
KEYS = tuple(kind for kind in SCALARS if kind not in (F.TYPE_DOUBLE, F.TYPE_FLOAT, F.TYPE_BYTES))
KNOWN = {
    "timestamp": ("Timestamp",),
    "duration": ("Duration",),
    "struct": ("Struct", "Value", "ListValue"),
    "wrappers": tuple(
        f"{name}Value"
        for name in (
            *("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes"),
        )
    ),
    "any": ("Any",),
    "field_mask": ("FieldMask",),
    "empty": ("Empty",),
}
TEXTS = ("", "a", "Zoë", "\x00", "日本", "🙂", "x" * 100)
INTEGERS = (0, 1, -1, 127, 128, 300, -300, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1, -(2**63))
FLOATS = (0.0, -0.0, 1.5, -2.25, 3.0e38, math.inf, -math.inf, math.nan, 5e-324)


class Schemas:
    """Makes random schemas."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)

    def file(self) -> FileDescriptorProto:
        """Return a schema of a few messages, the last of which uses the others."""
        syntax = self.r.choice(("proto3", "proto3", "proto2", "editions"))
        file = FileDescriptorProto(name="main.proto", package="r", syntax=syntax)
        if syntax == "editions":
            file.edition = Edition.EDITION_2023
        file.dependency.extend(f"google/protobuf/{name}.proto" for name in KNOWN)
        self.syntax = syntax
        self.messages: list[str] = []
        self.enums = [self.enum(file, number) for number in range(2)]
        for number in range(self.r.randint(1, 4)):
            self.message(file.message_type.add(name=f"M{number}"), f".r.M{number}", 1)
        if syntax == "proto2":
            name = self.r.choice([one for one in self.messages if one.count(".") == 2])
            message = next(one for one in file.message_type if f".r.{one.name}" == name)
            message.extension_range.add(start=1000, end=2000)
            self.messages = []  # those that hold the extended one would hold themselves
            for number in range(1000, 1003):
                self.single(file.extension.add(extendee=name), number, 0)
        return file

    def enum(self, file: FileDescriptorProto, number: int) -> str:
        enum = file.enum_type.add(name=f"E{number}")
        enum.options.allow_alias = True
        if self.syntax == "editions" and self.r.random() < 0.5:
            enum.options.features.enum_type = FeatureSet.CLOSED
        numbers = [0, 0, 1, 5, -3, 2**31 - 1, -(2**31)]
        for place, one in enumerate(numbers[: self.r.randint(2, 7)]):
            enum.value.add(name=f"E{number}_{place}", number=one)
        return f".r.E{number}"

    def message(self, message: DescriptorProto, name: str, depth: int) -> None:
        if depth < 3 and self.r.random() < 0.4:
            self.message(message.nested_type.add(name="Inner"), f"{name}.Inner", depth + 1)
        numbers = self.r.sample(range(1, 40), self.r.randint(0, 10)) + (
            [self.r.choice((100, 5000, 2**28))] if self.r.random() < 0.2 else []
        )
        if len(numbers) > 3 and self.r.random() < 0.5:
            message.oneof_decl.add(name="choice")
            for number in numbers[:3]:
                part = message.field.add(oneof_index=0)
                self.single(part, number, 0)
                part.label = F.LABEL_OPTIONAL
                part.options.ClearField("packed")
                part.ClearField("default_value")
            numbers = numbers[3:]
        for number in numbers:
            if self.r.random() < 0.15:
                self.map(message, name, number)
            else:
                part = message.field.add()
                self.single(part, number, 0.3)
                if self.syntax == "proto3" and part.label != F.LABEL_REPEATED:
                    self.presence(message, part)
        self.messages.append(name)

    def presence(self, message: DescriptorProto, part: FieldDescriptorProto) -> None:
        if self.r.random() < 0.3:
            part.proto3_optional = True
            part.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{part.name}")

    def single(self, part: FieldDescriptorProto, number: int, repeated: float) -> None:
        """Make a field that is no map."""
        part.name = f"field_{number}"
        part.number = number
        part.label = F.LABEL_OPTIONAL
        chance = self.r.random()
        if chance < 0.6:
            part.type = self.r.choice(SCALARS)
        elif chance < 0.7:
            part.type, part.type_name = F.TYPE_ENUM, self.r.choice(self.enums)
        elif chance < 0.85 and self.messages:
            part.type, part.type_name = F.TYPE_MESSAGE, self.r.choice(self.messages)
            if self.syntax == "editions" and self.r.random() < 0.3:
                part.options.features.message_encoding = FeatureSet.DELIMITED
            elif self.syntax == "proto2" and self.r.random() < 0.2:
                part.type = F.TYPE_GROUP
        else:
            name = self.r.choice([one for names in KNOWN.values() for one in names])
            part.type, part.type_name = F.TYPE_MESSAGE, f".google.protobuf.{name}"
        is_message = part.type in (F.TYPE_MESSAGE, F.TYPE_GROUP)
        packable = not is_message and part.type not in (F.TYPE_STRING, F.TYPE_BYTES)
        if self.r.random() < repeated:
            part.label = F.LABEL_REPEATED
            if packable and self.syntax != "editions" and self.r.random() < 0.4:
                part.options.packed = self.r.random() < 0.5
        elif self.syntax == "editions" and not is_message and not part.HasField("oneof_index"):
            if self.r.random() < 0.3 and part.type != F.TYPE_ENUM:
                part.options.features.field_presence = FeatureSet.IMPLICIT
        elif self.syntax == "proto2" and not is_message and self.r.random() < 0.3:
            defaults = {F.TYPE_INT32: "7", F.TYPE_STRING: "unnamed", F.TYPE_BOOL: "true"}
            if part.type in defaults:
                part.default_value = defaults[part.type]
        if self.syntax == "proto2" and repeated and self.r.random() < 0.03:
            part.label = F.LABEL_REQUIRED

    def map(self, message: DescriptorProto, name: str, number: int) -> None:
        entry = message.nested_type.add(name=f"Field{number}Entry")
        entry.options.map_entry = True
        key = entry.field.add(name="key", number=1, label=F.LABEL_OPTIONAL)
        key.type = self.r.choice(KEYS)
        value = entry.field.add()
        self.single(value, 2, 0)
        value.name = "value"
        value.label = F.LABEL_OPTIONAL
        value.ClearField("default_value")
        value.ClearField("options")
        if value.type == F.TYPE_GROUP:
            value.type = F.TYPE_MESSAGE
        message.field.add(
            name=f"field{number}",
            number=number,
            label=F.LABEL_REPEATED,
            type=F.TYPE_MESSAGE,
            type_name=f"{name}.Field{number}Entry",
        )


class Messages:
    """Fills messages at random, and damages their bytes."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)

    def fill(self, message: Any, depth: int = 0) -> Any:
        """Set some fields of a message; return it."""
        name = message.DESCRIPTOR.full_name
        if name == "google.protobuf.Timestamp":
            message.seconds = self.r.choice((0, 1, -1, -62135596800, 253402300799, 253402300800))
            message.nanos = self.r.choice((0, 1, 999, 1000, 999999999))
            return message
        if name == "google.protobuf.Duration":
            sign = self.r.choice((1, -1))
            message.seconds = sign * self.r.choice((0, 1, 5, 315576000000))
            message.nanos = sign * self.r.choice((0, 1, 1500, 999999999))
            return message
        if name in ("google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue"):
            json_format.ParseDict(self.json(name), message)
            return message
        extensions = message.DESCRIPTOR.file.pool.FindAllExtensions(message.DESCRIPTOR)
        for field in (*message.DESCRIPTOR.fields, *extensions):
            if self.r.random() < 0.3 and not field.is_required:
                continue
            if field.is_extension:
                self.extension(message, field, depth)
            elif field.is_repeated:
                self.repeated(getattr(message, field.name), field, depth)
            elif field.message_type is not None:
                getattr(message, field.name).SetInParent()
                if depth < 4:
                    self.fill(getattr(message, field.name), depth + 1)
            else:
                setattr(message, field.name, self.value(field))
        return message

    def extension(self, message: Any, field: Any, depth: int) -> None:
        if field.message_type is not None:
            message.Extensions[field].SetInParent()
            self.fill(message.Extensions[field], depth + 1)
        else:
            message.Extensions[field] = self.value(field)

    def repeated(self, items: Any, field: Any, depth: int) -> None:
        count = self.r.choice((0, 1, 1, 2, 3))
        inner = field.message_type
        if inner is not None and inner.GetOptions().map_entry:
            key, value = inner.fields_by_number[1], inner.fields_by_number[2]
            for _ in range(count):
                if value.message_type is None:
                    items[self.value(key)] = self.value(value)
                else:
                    self.fill(items[self.value(key)], depth + 1)
        elif inner is not None:
            for _ in range(count):
                self.fill(items.add(), depth + 1)
        else:
            items.extend(self.value(field) for _ in range(count))

    def value(self, field: Any) -> Any:
        if field.enum_type is not None:
            numbers = [one.number for one in field.enum_type.values]
            return self.r.choice(numbers if field.enum_type.is_closed else [*numbers, 77])
        match field.cpp_type:
            case field.CPPTYPE_STRING:
                text = self.r.choice(TEXTS)
                return text.encode() if field.type == F.TYPE_BYTES else text
            case field.CPPTYPE_BOOL:
                return self.r.random() < 0.5
            case field.CPPTYPE_DOUBLE | field.CPPTYPE_FLOAT:
                return self.r.choice(FLOATS)
        bits = 32 if field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_UINT32) else 64
        signed = field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_INT64)
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        return self.r.choice([one for one in INTEGERS if low <= one <= high])

    def json(self, name: str) -> Any:
        things = [None, True, 1.5, "x", {"a": None, "é": [1, {}]}, [[], "y"], {}]
        if name.endswith("Struct"):
            return self.r.choice([one for one in things if isinstance(one, dict)])
        return self.r.choice([one for one in things if isinstance(one, list) or "List" not in name])

    def damaged(self, data: bytes, other: bytes) -> bytes:
        """Return bytes that are perhaps no message, or one that was written in another way."""
        chance = self.r.random()
        place = self.r.randrange(len(data) + 1)
        if chance < 0.2:
            return data + other
        if chance < 0.3:
            return data + b"\xfa\x3e\x03abc"
        if chance < 0.4:
            return data[:place]
        if chance < 0.5:
            return data[:place] + other
        if chance < 0.6:
            return data[:place] + bytes([self.r.randrange(256)]) + data[place:]
        return data[:place] + bytes([self.r.randrange(256)]) + data[place + 1 :]


def definition(file: FileDescriptorProto) -> Definition:
    """Return a schema as clients register descriptors."""
    text = base64.b64encode(file.SerializeToString()).decode()
    return Definition(SchemaType.PROTOBUF, text)


def told(message: Any) -> Any:
    """Return a message as ``shown_protobuf.shown`` shows it, from Google's library alone."""
    name = message.DESCRIPTOR.full_name
    if name in ("google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue"):
        return {"json": json.loads(json_format.MessageToJson(message))}
    if name == "google.protobuf.FieldMask":
        return {"paths": list(message.paths)}
    return {field.name: _told_field(message, field) for field in message.DESCRIPTOR.fields}


def drops_entries(message: Any) -> bool:
    """Return whether there are entries of maps that Google's library for Python leaves out.

    It does so where an entry has an unknown field; we do as its libraries for C++ and Java do.
    """
    fields = message.DESCRIPTOR.fields_by_number
    for unknown in UnknownFieldSet(message):
        field = fields.get(unknown.field_number)
        inner = None if field is None else field.message_type
        if inner is not None and inner.GetOptions().map_entry and unknown.wire_type == 2:
            return True
    for field, value in message.ListFields():
        inner = field.message_type
        if inner is None:
            continue
        if not field.is_repeated:
            values = [value]
        elif not inner.GetOptions().map_entry:
            values = list(value)
        else:
            values = list(value.values()) if inner.fields_by_number[2].message_type else []
        if any(drops_entries(one) for one in values):
            return True
    return False


def _told_field(message: Any, field: Any) -> Any:
    value = getattr(message, field.name)
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        item = inner.fields_by_number[2]
        pairs = [[key, _told_value(value[key], item)] for key in value]
        return {"map": sorted(pairs, key=lambda pair: pair[0])}
    if field.is_repeated:
        return [_told_value(one, field) for one in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _told_value(value, field)


def _told_value(value: Any, field: Any) -> Any:
    if field.message_type is not None:
        return told(value)
    if field.enum_type is not None:
        names: dict[int, str] = {}
        for one in field.enum_type.values:
            names.setdefault(one.number, one.name)
        return names.get(value, {"unknown_enum": value})
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    return value
