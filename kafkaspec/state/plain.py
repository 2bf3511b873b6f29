"""Arrow values as Python's, with ids as Kafka writes them."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pyarrow as pa

from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.layout.kinds import shown_name
from kafkaspec.layout.names import TAGGED_FIELDS, UNUSED
from kafkaspec.messages.tables import ColumnKind, ColumnLayout

_SELDOM = frozenset({TAGGED_FIELDS, UNUSED})


def plain(values: pa.Array | pa.ChunkedArray | pa.Table) -> list[Any]:
    """Return values, or rows of a table, as JSON has them.

    Ids (``fixed_size_binary(16)``) have Kafka's form, URL-safe base64 without padding; other bytes
    are base64. Unknown tagged fields and surplus bytes are left out where there are none.
    """
    kind = pa.struct(list(values.schema)) if isinstance(values, pa.Table) else values.type
    return [_plain(kind, value) for value in values.to_pylist()]


def with_names(column: ColumnLayout, value: Any) -> Any:
    """Return a value with Kafka's names in place of numbers that stand for them.

    Args:
        column: what it is a value of.
        value: the value, as ``plain`` returns it; fields that the column has not stay as they are.
    """
    if value is None:
        return None
    if column.kind is ColumnKind.LIST:
        return [with_names(column.children[0], item) for item in value]
    if column.kind is ColumnKind.STRUCT:
        known = {child.name: with_names(child, value.get(child.name)) for child in column.children}
        return {name: known.get(name, item) for name, item in value.items()}
    return shown_name(column.enum, value) if column.enum else value


def _plain(kind: pa.DataType, value: Any) -> Any:
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {
            field.name: _plain(field.type, value[field.name])
            for field in kind
            if field.name not in _SELDOM or value[field.name]
        }
    if pa.types.is_list(kind):
        return [_plain(kind.value_type, item) for item in value]
    if pa.types.is_fixed_size_binary(kind) and kind.byte_width == kafka_uuid.SIZE:
        return kafka_uuid.bytes_to_text(value)
    return b64encode(value).decode() if isinstance(value, bytes) else value
