"""The generated table of a message, the type of its array, and what the engine in C takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import pyarrow as pa

from kafkaspec.codecs.native.core import DEFAULT_PACKAGE
from kafkaspec.columns.messages import Program, message_layout
from kafkaspec.messages.tables import ColumnKind, ColumnLayout

_INTEGERS = {
    (size, signed): getattr(pa, f"{'' if signed else 'u'}int{8 * size}")()
    for size in (1, 2, 4, 8)
    for signed in (True, False)
}


@dataclass(frozen=True)
class MessageTable(Program):
    """A message.

    Attributes:
        type: type of its array, a struct.
    """

    type: pa.DataType

    @cached_property
    def places(self) -> tuple[str, ...]:
        """The path of each column, for errors."""
        return tuple(_places(self.layout.root, ""))


@cache
def message_table(name: str, package: str = DEFAULT_PACKAGE) -> MessageTable:
    """Return the table of a message.

    Args:
        name: id of its file in the specification, ``offset_commit_value``.
        package: the generated code.

    Raises:
        KeyError: the specification has no such message.
    """
    layout = message_layout(name, package)
    return MessageTable(layout, arrow_type(layout.root))


def arrow_type(column: ColumnLayout) -> pa.DataType:
    """Return the type of a column in Arrow."""
    match column.kind:
        case ColumnKind.STRUCT:
            return pa.struct([_field(child) for child in column.children])
        case ColumnKind.LIST:
            return pa.list_(_field(column.children[0]))
        case ColumnKind.BYTES:
            return pa.binary()
        case ColumnKind.TEXT:
            return pa.string()
        case ColumnKind.FIXED:
            return pa.binary(column.size)
        case ColumnKind.INTEGER:
            return _INTEGERS[column.size, column.signed]
        case ColumnKind.FLOAT:
            return pa.float64()
        case ColumnKind.BOOLEAN:
            return pa.bool_()


def _field(column: ColumnLayout) -> pa.Field:
    return pa.field(column.name, arrow_type(column), nullable=column.nullable)


def _places(column: ColumnLayout, path: str) -> Any:
    yield path
    for child in column.children:
        yield from _places(
            child, path if column.kind is ColumnKind.LIST else f"{path}/{child.name}"
        )
