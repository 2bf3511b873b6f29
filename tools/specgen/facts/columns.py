"""Columns of records: what readers by columns show of each record, in every target."""

from __future__ import annotations

from dataclasses import dataclass

from tools.specgen.facts.fields import is_bytes, is_integer, scalar_of
from tools.specgen.facts.segments import Segment, resolved
from tools.specgen.model import Field, Model, Scalar, Type, TypeReference

INTEGER, BYTES, NULLABLE_BYTES, LIST = "INTEGER", "BYTES", "NULLABLE_BYTES", "LIST"
"""Kinds of a column."""


@dataclass(frozen=True)
class Column:
    """A column of records; in a list its ``path`` is like ``headers.key``."""

    path: str
    kind: str
    list_path: str | None = None


def c_name(path: str) -> str:
    """Return a dotted path as an identifier."""
    return path.replace(".", "_")


def bytes_kind(model: Model, field: Field) -> str:
    """Return the kind of column that a byte string gives."""
    nullable = scalar_of(model, field) is Scalar.NULLABLE_BYTES or field.condition is not None
    return NULLABLE_BYTES if nullable else BYTES


def record_columns(segment: Segment) -> tuple[Column, ...]:
    """Return the columns of records of all kinds of batches, in the order of first use."""
    found: dict[str, Column] = {}
    for batch in segment.batches:
        for column in _columns_of(segment.model, batch.record(segment.model)):
            found.setdefault(column.path, column)
    return tuple(found.values())


def _columns_of(
    model: Model, type_: Type, prefix: str = "", list_path: str | None = None
) -> list[Column]:
    """Return the columns of a record: value instances, numbers, byte strings, lists of structures.

    Fields of structures without a size have dotted ids.
    """
    found = []
    if not prefix:
        found += [Column(instance.id, INTEGER) for instance in type_.value_instances]
    for field in type_.fields:
        path = prefix + field.id
        if is_integer(model, field):
            found.append(Column(path, INTEGER, list_path))
        elif is_bytes(model, field) and field.repeat is None:
            found.append(Column(path, bytes_kind(model, field), list_path))
        elif isinstance(field.type, TypeReference):
            if field.repeat is not None and list_path is None:
                found.append(Column(path, LIST))
                inner = resolved(model, field.type)
                found += _columns_of(model, inner, f"{path}.", path)
            elif field.repeat is None and not model.type(field.type).is_transparent:
                found += _columns_of(model, model.type(field.type), f"{path}.", list_path)
    return found
