"""Debezium's envelopes as the rows that they say a table has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.values.decoded import Decoded, Decoder
from kafkaspec.values.definition import SchemaError
from kafkaspec.values.fixed.layouts import MOMENT
from kafkaspec.values.json_schema.reading import shape_of
from kafkaspec.values.json_schema.shapes import Object, Shape

DELETE: Final = "d"
"""Operation whose row is what was there before."""


def is_envelope(kind: pa.DataType) -> bool:
    """Return whether a type is that of envelopes: the row before and after, and the operation."""
    if not pa.types.is_struct(kind):
        return False
    names = {each.name for each in kind}
    return {"before", "after", "op"} <= names and bool({"source", "ts_ms"} & names)


def unwrapped_type(kind: pa.DataType) -> pa.DataType:
    if not is_envelope(kind):
        raise SchemaError("no envelope of Debezium: it has no before, after and op")
    after, before = kind.field("after").type, kind.field("before").type
    row = before if pa.types.is_null(after) else after
    if before not in (row, pa.null()):
        raise SchemaError(f"rows are {before} before, and {after} after")
    if not _is_text(kind.field("op").type):
        raise SchemaError("the field op of envelopes is not text")
    fields = [pa.field("op", pa.string()), pa.field("ts_ms", MOMENT), pa.field("row", row)]
    if kind.get_field_index("source") >= 0:
        fields.append(pa.field("source", kind.field("source").type))
    return pa.struct(fields)


def unwrap(values: pa.StructArray) -> pa.StructArray:
    """Return rows of envelopes: of a deletion what was there before, else what is after.

    What is not a change of a row, a truncation or a message, has none.
    """
    wanted = unwrapped_type(values.type)
    row = wanted.field("row").type
    op = values.field("op").cast(pa.string())
    sides = []
    for name in ("before", "after"):
        side = values.field(name)
        sides.append(side if side.type == row else pa.nulls(len(side), row))
    is_delete = pc.fill_null(pc.equal(op, DELETE), False)
    columns = [op, pa.nulls(len(values), MOMENT), pc.if_else(is_delete, *sides)]
    place = values.type.get_field_index("ts_ms")
    if place >= 0 and pa.types.is_integer(values.type.field(place).type):
        columns[1] = values.field("ts_ms").cast(MOMENT)
    if wanted.get_field_index("source") >= 0:
        columns.append(values.field("source"))
    return pa.StructArray.from_arrays(columns, fields=list(wanted), mask=values.is_null())


def envelope_shape(values: list[Any]) -> Shape:
    """Return the type of envelopes without schemas, whose rows are alike before and after."""
    shape = shape_of(values)
    if not isinstance(shape, Object) or not is_envelope(shape.type):
        return shape
    found = [value for value in values if isinstance(value, dict)]
    row = shape_of([value.get(side) for side in ("before", "after") for value in found])
    return Object({**shape.fields, "before": row, "after": row})


def _is_text(kind: pa.DataType) -> bool:
    found: bool = pa.types.is_string(kind.value_type if pa.types.is_dictionary(kind) else kind)
    return found


@dataclass(frozen=True, slots=True)
class DebeziumDecoder:
    """Decodes envelopes to rows by their decoder; null, a tombstone, is null."""

    inner: Decoder

    @property
    def type(self) -> pa.DataType:
        return unwrapped_type(self.inner.type)

    def decode(self, payloads: pa.Array) -> Decoded:
        found = self.inner.decode(payloads)
        return Decoded(unwrap(found.values), found.failures)
