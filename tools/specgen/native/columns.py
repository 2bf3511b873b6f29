"""Columns of records, as the tables of the C core have them."""

from __future__ import annotations

from dataclasses import dataclass

from tools.specgen.facts.fields import is_bytes, is_integer, scalar_of
from tools.specgen.facts.segments import Segment, resolved
from tools.specgen.model import Field, Model, Scalar, Type, TypeReference

INTEGER, BYTES, NULLABLE_BYTES, LIST = "KS_INTEGER", "KS_BYTES", "KS_NULLABLE_BYTES", "KS_LIST"
"""Kinds of a column, as ``abi.h`` names them."""


@dataclass(frozen=True)
class Column:
    """A column of records; ``path`` of one inside of a list is ``headers.key``."""

    path: str
    kind: str
    list_path: str | None = None


def c_name(path: str) -> str:
    """A dotted path as an identifier of C."""
    return path.replace(".", "_")


def bytes_kind(model: Model, field: Field) -> str:
    """The kind of column that a byte string gives."""
    nullable = scalar_of(model, field) is Scalar.NULLABLE_BYTES or field.condition is not None
    return NULLABLE_BYTES if nullable else BYTES


def record_columns(segment: Segment) -> tuple[Column, ...]:
    """Columns of records: of all kinds of batches, first come first."""
    found: dict[str, Column] = {}
    for batch in segment.batches:
        reference = batch.items.type
        assert isinstance(reference, TypeReference)
        for column in _columns_of(segment.model, resolved(segment.model, reference)):
            found.setdefault(column.path, column)
    return tuple(found.values())


def _columns_of(model: Model, record: Type) -> tuple[Column, ...]:
    """What one record gives: value instances, numbers, byte strings, lists of structures."""
    found = [Column(instance.id, INTEGER) for instance in record.value_instances]
    for field in record.fields:
        if is_integer(model, field):
            found.append(Column(field.id, INTEGER))
        elif is_bytes(model, field) and field.repeat is None:
            found.append(Column(field.id, bytes_kind(model, field)))
        elif field.repeat is not None and isinstance(field.type, TypeReference):
            found.append(Column(field.id, LIST))
            for inner in resolved(model, field.type).fields:
                path = f"{field.id}.{inner.id}"
                if is_integer(model, inner):
                    found.append(Column(path, INTEGER, field.id))
                elif is_bytes(model, inner):
                    found.append(Column(path, bytes_kind(model, inner), field.id))
    return tuple(found)
