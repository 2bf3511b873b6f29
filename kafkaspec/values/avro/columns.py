"""Columns of Avro types: how many there are, their Arrow types, and how values get into them.

Values are collected in *stored* types, which hold what Avro's bytes say (numbers for times, indices
for symbols, bits for floats); one step turns such an array into the type that users see.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from kafkaspec.values.avro.schema import NESTING, AvroKind, AvroNode, Logical
from kafkaspec.values.definition import SchemaError
from kafkaspec.values.options import Options

COLUMNS = 4096
"""Columns of one schema: types within types can multiply without end."""
_ROW = 1 << 20
"""Bytes of one row without texts and items."""
_LONG_FIXED = 4096
"""Fixed types of more bytes become ``binary``: a null would take as much as a value."""
WIDE_DECIMAL = 76
"""Digits of the widest decimal of Arrow."""

_PLAIN = {
    AvroKind.NULL: pa.null(),
    AvroKind.BOOLEAN: pa.bool_(),
    AvroKind.INT: pa.int32(),
    AvroKind.LONG: pa.int64(),
    AvroKind.FLOAT: pa.float32(),
    AvroKind.DOUBLE: pa.float64(),
    AvroKind.BYTES: pa.binary(),
    AvroKind.STRING: pa.string(),
}
_TIMES = {
    Logical.DATE: pa.date32(),
    Logical.TIME_MILLIS: pa.time32("ms"),
    Logical.TIME_MICROS: pa.time64("us"),
    Logical.TIMESTAMP_MILLIS: pa.timestamp("ms", "UTC"),
    Logical.TIMESTAMP_MICROS: pa.timestamp("us", "UTC"),
    Logical.TIMESTAMP_NANOS: pa.timestamp("ns", "UTC"),
    Logical.LOCAL_TIMESTAMP_MILLIS: pa.timestamp("ms"),
    Logical.LOCAL_TIMESTAMP_MICROS: pa.timestamp("us"),
    Logical.LOCAL_TIMESTAMP_NANOS: pa.timestamp("ns"),
}
_BITS = {AvroKind.FLOAT: pa.uint32(), AvroKind.DOUBLE: pa.uint64()}
_MONTHS = np.dtype([("months", "<u4"), ("days", "<u4"), ("millis", "<u4")])
_DURATION = pa.struct([(name, pa.uint32()) for name in _MONTHS.names or ()])


@dataclass(eq=False, slots=True)
class AvroColumn:
    """A column, or a part of one.

    Attributes:
        node: its type in the schema.
        type: the type that users see.
        stored: the type that values are collected in.
        children: of a record its fields, of an array or map its items, of a union its branches
            but ``null``.
        names: names of the children of a record or union.
        json: whether values are text: JSON as Avro writes it.
        width: bytes of a row, without texts and items.
    """

    node: AvroNode
    type: pa.DataType
    stored: pa.DataType
    children: list[AvroColumn] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    json: bool = False
    width: int = 8


def column_of(node: AvroNode, options: Options) -> AvroColumn:
    column = _Builder(options).column(node, 0)
    if column.width > _ROW:
        raise SchemaError(f"a row of the schema takes more than {_ROW} bytes")
    return column


class _Builder:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._count = 0
        self._path: dict[int, int] = {}

    def column(self, node: AvroNode, level: int) -> AvroColumn:
        self._count += 1
        if self._count > COLUMNS:
            raise SchemaError(f"the schema has more than {COLUMNS} columns")
        if level > NESTING:
            raise SchemaError(f"columns are nested more than {NESTING} levels deep")
        match node.kind:
            case AvroKind.RECORD:
                return self._record(node, level)
            case AvroKind.UNION:
                return self._union(node, level)
            case AvroKind.ARRAY | AvroKind.MAP:
                (child,) = (self.column(child, level + 1) for child in node.children)
                if node.kind == AvroKind.ARRAY:
                    types = pa.list_(child.type), pa.list_(child.stored)
                else:
                    types = pa.map_(pa.string(), child.type), pa.map_(pa.string(), child.stored)
                return AvroColumn(node, *types, [child], width=8)
            case AvroKind.ENUM:
                text = self._options.enums == "text"
                seen = pa.dictionary(pa.int32(), pa.string()) if text else pa.int32()
                return AvroColumn(node, seen, pa.int32())
            case _:
                return _leaf(node)

    def _record(self, node: AvroNode, level: int) -> AvroColumn:
        within = self._path.get(id(node), 0)
        if within > self._options.depth:
            if not self._options.depth:
                raise SchemaError(
                    f"the record {node.name} is within itself: say how many levels become columns"
                )
            return AvroColumn(node, pa.string(), pa.string(), json=True)
        self._path[id(node)] = within + 1
        children = [self.column(item.node, level + 1) for item in node.fields]
        self._path[id(node)] = within
        return _struct(node, children, [item.name for item in node.fields])

    def _union(self, node: AvroNode, level: int) -> AvroColumn:
        branches = [child for child in node.children if child.kind != AvroKind.NULL]
        children = [self.column(child, level + 1) for child in branches]
        if not children:
            return AvroColumn(node, pa.null(), pa.null())
        if len(children) == 1:
            (child,) = children
            return AvroColumn(node, child.type, child.stored, children, width=child.width)
        names: list[str] = []
        for branch in branches:
            short = branch.full_name.rpartition(".")[2]
            name, number = short, 2
            while name in names:
                name, number = f"{short}_{number}", number + 1
            names.append(name)
        column = _struct(node, children, names)
        if self._options.unions == "dense_union":
            fields = [
                pa.field(name, child.type) for name, child in zip(names, children, strict=True)
            ]
            column.type = pa.dense_union(fields)
        return column


def _struct(node: AvroNode, children: list[AvroColumn], names: list[str]) -> AvroColumn:
    pairs = list(zip(names, children, strict=True))
    return AvroColumn(
        node,
        pa.struct([(name, child.type) for name, child in pairs]),
        pa.struct([(name, child.stored) for name, child in pairs]),
        children,
        names,
        width=1 + sum(child.width for child in children),
    )


def _leaf(node: AvroNode) -> AvroColumn:
    if node.kind == AvroKind.FIXED and node.logical is None:
        kind = pa.binary(node.size) if node.size <= _LONG_FIXED else pa.binary()
        return AvroColumn(node, kind, kind, width=max(8, node.size))
    if node.logical == Logical.DURATION:
        return AvroColumn(node, _DURATION, pa.binary(_MONTHS.itemsize), width=_MONTHS.itemsize)
    if node.logical == Logical.UUID and node.kind == AvroKind.FIXED:
        return AvroColumn(node, pa.uuid(), pa.binary(node.size), width=node.size)
    if node.logical == Logical.DECIMAL:
        return _decimal(node)
    plain = _PLAIN[node.kind]
    if node.logical in _TIMES:
        return AvroColumn(node, _TIMES[node.logical], plain)
    return AvroColumn(node, plain, _BITS.get(node.kind, plain))


def _decimal(node: AvroNode) -> AvroColumn:
    if node.precision > WIDE_DECIMAL:
        return AvroColumn(node, pa.binary(), pa.binary())
    make = pa.decimal128 if node.precision <= 38 else pa.decimal256
    seen = make(node.precision, node.scale)
    return AvroColumn(node, seen, pa.binary(seen.byte_width), width=seen.byte_width)


def finish(array: pa.Array, column: AvroColumn) -> pa.Array:
    """Return an array of ``column.stored``, without an offset, in the type that users see."""
    seen = column.type
    if array.type == seen:
        return array
    if column.node.kind == AvroKind.UNION and len(column.children) == 1:
        return finish(array, column.children[0])
    if pa.types.is_union(seen):
        return _dense(array, column)
    if pa.types.is_dictionary(seen):
        return pa.DictionaryArray.from_arrays(array, pa.array(column.node.symbols, pa.string()))
    if column.node.logical == Logical.DURATION:
        return _durations(array)
    if isinstance(seen, pa.ExtensionType):
        return pa.ExtensionArray.from_storage(seen, array)
    if not column.children:
        return array.view(seen)
    if pa.types.is_map(seen):
        entries = pa.StructArray.from_arrays(
            [array.keys, finish(array.items, column.children[0])],
            fields=[seen.key_field, seen.item_field],
        )
        return _rebuilt(array, seen, 2, [entries])
    if pa.types.is_list(seen):
        return _rebuilt(array, seen, 2, [finish(array.values, column.children[0])])
    children = [finish(array.field(i), child) for i, child in enumerate(column.children)]
    return _rebuilt(array, seen, 1, children)


def _rebuilt(array: pa.Array, seen: pa.DataType, own: int, children: list[pa.Array]) -> pa.Array:
    """Return an array with other children, and its own ``own`` buffers."""
    return pa.Array.from_buffers(
        seen, len(array), array.buffers()[:own], array.null_count, array.offset, children
    )


def _durations(array: pa.Array) -> pa.Array:
    raw = array.buffers()[1]
    values = np.frombuffer(raw or b"", _MONTHS, len(array), array.offset * _MONTHS.itemsize)
    children = [pa.array(np.ascontiguousarray(values[name])) for name in _MONTHS.names or ()]
    return pa.StructArray.from_arrays(children, fields=list(_DURATION), mask=array.is_null())


def _dense(array: pa.Array, column: AvroColumn) -> pa.Array:
    """Make a dense union of a struct of which one field is set; a null is one of the first type."""
    codes = np.zeros(len(array), np.int8)
    absent = np.asarray(array.is_null())
    parts = [array.field(i) for i in range(len(column.children))]
    for code, part in enumerate(parts):
        codes[np.asarray(part.is_valid()) & ~absent] = code
    offsets = np.zeros(len(array), np.int32)
    children = []
    for code, (part, child) in enumerate(zip(parts, column.children, strict=True)):
        rows = np.flatnonzero(codes == code)
        offsets[rows] = np.arange(len(rows), dtype=np.int32)
        children.append(finish(part.take(pa.array(rows, mask=absent[rows])), child))
    return pa.UnionArray.from_dense(
        pa.array(codes), pa.array(offsets), children, list(column.names)
    )
