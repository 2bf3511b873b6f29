"""The fast way: all rows at once by ``ptars``, whose columns become those of the plan.

``ptars`` makes of some types what we do not want, or what Google's library would not: times
outside some years become another time, maps keep all of their entries. So it gets descriptors
that ask for nothing but numbers, texts, bytes, lists and structs, which it reads as upb does; the
tests compare both. What a value means is then worked out here, by columns.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto
from google.protobuf.descriptor_pb2 import FileDescriptorProto as File
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from ptars import HandlerPool, PtarsConfig

from kafkaspec.values.decoded import PayloadError
from kafkaspec.values.protobuf.arrays import JsonTexts, cases, enumeration, microseconds, record
from kafkaspec.values.protobuf.plan import (
    Enumeration,
    Field,
    Meaning,
    ProtobufMessage,
    ProtobufNode,
    ProtobufRecord,
    ProtobufShape,
    Scalar,
    Special,
)
from kafkaspec.values.protobuf.schema import member, message_class

_PANIC = "PanicException"
"""The name of what Rust raises for its own faults; it is not an ``Exception``."""


class Fast:
    """Decodes messages of one type, all at once."""

    def __init__(self, root: ProtobufMessage, texts: JsonTexts) -> None:
        self._handler: Any = handler(root)
        assert isinstance(root, ProtobufRecord)
        self._root = root
        self._texts = texts

    def decode(self, payloads: pa.Array, nulls: Any) -> tuple[pa.Array, Any]:
        """Return values, and an array of NumPy, true for rows that have to go the exact way.

        ``payloads`` are checked messages; ``nulls`` is true for rows that are null in any case.
        """
        try:
            batch = self._handler.array_to_record_batch(payloads)
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
                raise
            raise SlowError(str(error)) from error
        if batch.num_rows != len(payloads):
            raise SlowError("rows are missing")
        found = dict(zip(batch.schema.names, batch.columns, strict=True))
        columns = _Columns(len(payloads), self._texts)
        try:
            parts = columns.record(self._root, found, None, None)
        except pa.ArrowException as error:
            raise SlowError(str(error)) from error
        return record(self._root.type, parts, nulls, len(payloads)), columns.doubtful


class _Columns:
    """Columns of the plan from those of ``ptars``.

    Each column comes with the number of the row of each of its values, None if those are the same,
    and with the values that count, None for all: below a null there is no value.
    """

    def __init__(self, rows: int, texts: JsonTexts) -> None:
        self.doubtful = np.zeros(rows, np.bool_)
        self._rows = rows
        self._texts = texts

    def doubt(self, wrong: Any, rows: Any, there: Any) -> None:
        """Mark rows that the exact way has to read."""
        if there is not None:
            wrong = wrong & there
        if wrong.any():
            self.doubtful[np.flatnonzero(wrong) if rows is None else rows[wrong]] = True

    def record(
        self, node: ProtobufRecord, found: dict[str, pa.Array], rows: Any, there: Any
    ) -> Any:
        columns = [self.field(one, found[member(one.number)], rows, there) for one in node.fields]
        fields = {one.number: one for one in node.fields}
        for _, _, names in node.oneofs:
            numbers: Any = 0
            many: Any = 0
            for number in names:
                present = self.present(fields[number], found[member(number)])
                numbers = np.where(present, number, numbers)
                many = many + present.astype(np.int8)
            self.doubt(many > 1, rows, there)
            if node.cases:
                columns.append(cases(names, numbers))
        return columns

    def present(self, field: Field, found: pa.Array) -> Any:
        """Return where a field with a presence is there."""
        return _sizes(found) > 0 if _is_json(field.node) else _valid(found)

    def field(self, field: Field, found: pa.Array, rows: Any, there: Any) -> pa.Array:
        if field.shape is ProtobufShape.MAP:
            return self.maps(field, found, rows)
        if field.shape is ProtobufShape.LIST:
            return self.lists(field.column.type, field.node, found, rows)
        if field.required:
            self.doubt(~self.present(field, found), rows, there)
        if field.default and found.null_count:
            found = found.fill_null(pa.scalar(field.descriptor.default_value, found.type))
        if _is_json(field.node):
            return self.merged(field.node, found, rows)
        return self.nodes(field.node, found, rows, there)

    def nodes(self, node: ProtobufNode, found: pa.Array, rows: Any, there: Any) -> pa.Array:
        own = _valid(found) if found.null_count else None
        mask = None if own is None else ~own
        if own is not None:
            there = own if there is None else own & there
        match node:
            case Scalar():
                return found
            case Enumeration():
                numbers = np.frombuffer(found.buffers()[1], np.int32)[: len(found)]
                if mask is not None:
                    numbers = np.where(mask, 0, numbers)
                if node.closed:
                    known = np.fromiter(node.names, np.int32, len(node.names))
                    self.doubt(~np.isin(numbers, known), rows, there)
                return enumeration(node, numbers, mask)
            case ProtobufRecord():
                columns = self.record(node, _members(found), rows, there)
                return record(node.type, columns, mask, len(found))
            case Special(meaning=Meaning.VALUE):
                return _null_where(found, found.field(0))
            case Special(meaning=Meaning.PATHS):
                paths = found.field(0)
                nulls = None if mask is None else pa.array(mask)
                return pa.ListArray.from_arrays(
                    paths.offsets, paths.values, type=node.type, mask=nulls
                )
            case Special(meaning=Meaning.JSON):
                return self.texts(node, found.to_pylist(), rows)
            case Special():
                seconds, nanos = found.field(0).to_numpy(), found.field(1).to_numpy()
                values, bad = microseconds(node.meaning, seconds, nanos.astype(np.int64))
                self.doubt(bad, rows, there)
                return pa.array(values, pa.int64(), mask=mask).view(node.type)

    def merged(self, node: Special, found: pa.Array, rows: Any) -> pa.Array:
        """Return texts of messages that may be there several times, which makes one of them."""
        sizes = _sizes(found)
        self.doubt(sizes > 1, rows, None)
        first = pa.array(found.offsets.to_numpy()[:-1], mask=sizes == 0)
        return self.texts(node, found.values.take(first).to_pylist(), rows)

    def texts(self, node: Special, found: list[bytes | None], rows: Any) -> pa.Array:
        read = message_class(node.descriptor).FromString
        wrong = np.zeros(len(found), np.bool_)
        made: list[str | None] = []
        for place, data in enumerate(found):
            text = None
            if data is not None:
                try:
                    text = self._texts.text(node, read(data))
                except (DecodeError, PayloadError):
                    wrong[place] = True
                    text = ""
            made.append(text)
        self.doubt(wrong, rows, None)
        return pa.array(made, pa.string())

    def lists(self, type_: pa.DataType, node: ProtobufNode, found: pa.Array, rows: Any) -> pa.Array:
        items = found.values
        if not isinstance(node, Scalar):
            items = self.nodes(node, items, self.inner(found, rows), None)
        return pa.ListArray.from_arrays(found.offsets, items, type=type_)

    def maps(self, field: Field, found: pa.Array, rows: Any) -> pa.Array:
        """Return the column of maps: the last of the entries with one key stays."""
        offsets, entries = found.offsets, found.values
        inner = self.inner(found, rows)
        last = _last_of_keys(np.repeat(np.arange(len(found)), _sizes(found)), entries.field(0))
        if last is not None:
            kept = np.zeros(len(entries) + 1, np.int32)
            kept[last + 1] = 1
            offsets = pa.array(np.cumsum(kept, dtype=np.int32)[offsets.to_numpy()])
            entries, inner = entries.take(pa.array(last)), inner[last]
        values = entries.field(1)
        if _is_json(field.node):
            self.doubt(_sizes(values) == 0, inner, None)
            items = self.merged(field.node, values, inner)
        else:
            if values.null_count:
                self.doubt(~_valid(values), inner, None)
            items = self.nodes(field.node, values, inner, None)
        return pa.MapArray.from_arrays(offsets, entries.field(0), items, type=field.column.type)

    def inner(self, found: pa.Array, rows: Any) -> Any:
        """Return the numbers of the rows of the items of lists."""
        outer = np.arange(self._rows) if rows is None else rows
        return np.repeat(outer, _sizes(found))


def _last_of_keys(rows: Any, keys: pa.Array) -> Any:
    """Return the places of the last entry of each key of each map; None if there is one of each."""
    if not len(rows) or not (rows[1:] == rows[:-1]).any():
        return None
    codes = keys.dictionary_encode().indices.to_numpy().astype(np.int64)
    both = pa.array(rows * (int(codes.max()) + 1) + codes)
    if pc.count_distinct(both).as_py() == len(rows):
        return None
    _, places = np.unique(both.to_numpy()[::-1], return_index=True)
    return np.sort(len(rows) - 1 - places)


def _is_json(node: ProtobufNode) -> TypeGuard[Special]:
    return isinstance(node, Special) and node.meaning is Meaning.JSON


def _members(found: pa.Array) -> dict[str, pa.Array]:
    return {part.name: found.field(place) for place, part in enumerate(found.type)}


def _sizes(found: pa.Array) -> Any:
    return np.diff(found.offsets.to_numpy())


def _valid(found: pa.Array) -> Any:
    return found.is_valid().to_numpy(zero_copy_only=False)


def _null_where(outer: pa.Array, values: pa.Array) -> pa.Array:
    """Return values, null where the struct is that they come from."""
    if not outer.null_count:
        return values
    return pc.if_else(outer.is_valid(), values, pa.scalar(None, values.type))


class SlowError(ValueError):
    """Messages of a type have to go the exact way."""


def handler(root: ProtobufMessage) -> object:
    if not isinstance(root, ProtobufRecord):
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
        self.file = File(name="shadow.proto", syntax="proto3")
        self.names: dict[str, str] = {}
        self.open: set[str] = set()

    def message(self, key: str) -> tuple[str, DescriptorProto | None]:
        """Return the name of a message, and a new message if it was not asked for before."""
        if key in self.names:
            return self.names[key], None
        name = self.names[key] = f"M{len(self.names)}"
        return name, self.file.message_type.add(name=name)

    def record(self, node: ProtobufRecord) -> str:
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
        if field.shape is ProtobufShape.MAP:
            assert field.key is not None
            if isinstance(node, Enumeration) and node.closed:
                raise SlowError("a map of a closed enumeration")
            # All of a map's entries, also those that others replace.
            name, entry = self.message(field.descriptor.full_name)
            if entry is not None:
                self.member(entry, 1, ProtobufShape.PLAIN, field.key)
                plain = isinstance(node, Scalar | Enumeration)
                self.member(
                    entry, 2, ProtobufShape.PLAIN if plain else ProtobufShape.OPTIONAL, node
                )
            self.add(made, field.number, ProtobufShape.LIST, FieldDescriptor.TYPE_MESSAGE, name)
            return
        if field.descriptor.type == FieldDescriptor.TYPE_GROUP:
            raise SlowError("a group")
        self.member(made, field.number, field.shape, node)

    def member(
        self, made: DescriptorProto, number: int, shape: ProtobufShape, node: ProtobufNode
    ) -> None:
        """Add a field that is not a map."""
        match node:
            case Scalar():
                self.add(made, number, shape, node.kind)
            case Enumeration():
                self.add(made, number, shape, FieldDescriptor.TYPE_INT32)
            case ProtobufRecord():
                name = self.record(node)
                self.add(made, number, shape, FieldDescriptor.TYPE_MESSAGE, name)
            case Special(meaning=Meaning.JSON):
                # One value for each time that it is in the bytes: together they are the message.
                self.add(made, number, ProtobufShape.LIST, FieldDescriptor.TYPE_BYTES)
            case Special(meaning=Meaning.DEEPER):
                raise SlowError("a message within itself")
            case Special():
                name, inner = self.message(node.descriptor.full_name)
                for part, part_shape, scalar in node.parts if inner is not None else ():
                    self.add(inner, part, part_shape, scalar.kind)
                self.add(made, number, shape, FieldDescriptor.TYPE_MESSAGE, name)

    def add(
        self, made: DescriptorProto, number: int, shape: ProtobufShape, kind: int, message: str = ""
    ) -> None:
        label = FieldDescriptorProto.LABEL_OPTIONAL
        if shape is ProtobufShape.LIST:
            label = FieldDescriptorProto.LABEL_REPEATED
        added = made.field.add(name=member(number), number=number, label=label, type=kind)
        if message:
            added.type_name = f".{message}"
        if shape is ProtobufShape.OPTIONAL:
            added.proto3_optional = True
            added.oneof_index = len(made.oneof_decl)
            made.oneof_decl.add(name=f"oneof_{number}")
