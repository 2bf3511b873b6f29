"""Columns of JSON texts, which the extension reads without an object for any value.

What it is not sure of, and what is wrong, it leaves to the reader of single rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafkaspec.extension import usable
from kafkaspec.values.json_schema.shapes import JsonKind, Shape

_Node = tuple[int, int, int, bool, int, bytes]
"""Kind, limits, whether the core refuses null, the end, and the name."""
_Column = tuple[int, int, Any, Any, Any]

_PAIRS: Final = (JsonKind.MAP, JsonKind.PAIRS)
_DIVIDED: Final = (JsonKind.STRING, JsonKind.TEXT, JsonKind.UUID, JsonKind.BASE64)
_STRUCTS: Final = (JsonKind.STRUCT, JsonKind.TUPLE)

RowNumbers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class ColumnReader:
    """Reads texts of one type.

    Attributes:
        module: the extension.
        nodes: types of values, each before those in it.
        shape: the type of all.
        depth: levels of nesting that a text may have.
    """

    module: Any
    nodes: tuple[_Node, ...]
    shape: Shape
    depth: int

    def read(self, rows: pa.Array, skip: int = 0, drop: int = 0) -> tuple[pa.Array, RowNumbers]:
        """Read texts without nulls.

        Args:
            rows: the texts, ``binary``.
            skip: bytes before the text in each row.
            drop: bytes after it.

        Returns:
            Values of the rows that were read, and the numbers of the others.
        """
        _, offsets, data = rows.buffers()
        given = (len(rows), rows.offset, offsets, b"" if data is None else data)
        unsure, columns = self.module.json_read(self.nodes, *given, skip, drop, self.depth)
        values = _values(self.shape, iter(columns))
        return values, np.frombuffer(unsure, np.int64)


def column_reader(shape: Shape, depth: int) -> ColumnReader | None:
    """Return the reader of a type; None if the extension has none.

    Args:
        shape: the type.
        depth: levels of nesting that a text may have.
    """
    module = usable()
    nodes: list[_Node] = []
    if module is None or not _add(shape, b"", nodes):
        return None
    return ColumnReader(module, tuple(nodes), shape, depth)


def _add(shape: Shape, name: bytes, nodes: list[_Node]) -> bool:
    """Add the nodes of a type; return whether each has one."""
    form = shape.form
    if form is None:
        return False
    place = len(nodes)
    nodes.append((0, 0, 0, False, 0, b""))
    if not all(_add(part, own.encode(), nodes) for own, part in form.parts):
        return False
    refused = shape.required or shape.default is not None
    nodes[place] = (form.kind, form.low, form.high, refused, len(nodes), name)
    return True


def _values(shape: Shape, columns: Iterator[_Column]) -> pa.Array:
    """Return the array of a type, whose column comes next."""
    form = shape.form
    assert form is not None
    length, nulls, validity, values, data = next(columns)
    parts = [_values(part, columns) for _, part in form.parts]
    kind, own = shape.type, JsonKind(form.kind)
    if own is JsonKind.NULL:
        return pa.nulls(length)
    present = None if validity is None else pa.py_buffer(validity)
    buffers = [present] if own in _STRUCTS else [present, pa.py_buffer(values)]
    if own in _DIVIDED:
        buffers.append(pa.py_buffer(data))
    if own in _PAIRS:
        fields = [kind.key_field, kind.item_field]
        parts = [pa.StructArray.from_arrays(parts, fields=fields)]
    stored = _STORED.get(own, kind)
    array = pa.Array.from_buffers(stored, length, buffers, nulls, children=parts or None)
    return array if stored == kind else _as(array, kind)


_STORED: Final = {
    JsonKind.INTEGER: pa.int64(),
    JsonKind.DATE: pa.int64(),
    JsonKind.TIME: pa.int64(),
    JsonKind.MOMENT: pa.int64(),
    JsonKind.NUMBER: pa.float64(),
}
"""Types of numbers as they are read."""


def _as(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return numbers in the type of a column."""
    if not pa.types.is_temporal(kind):
        return array.cast(kind)
    return (array.cast(pa.int32()) if kind.bit_width == 32 else array).view(kind)
