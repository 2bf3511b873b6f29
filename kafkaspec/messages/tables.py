"""Kafka's persisted messages as columns: the classes of the generated tables.

A table has the columns of a message, all its versions together, and a program: how each version
reads and writes them. ``kafkaspec.messages`` and the engine in C work by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Self

from kafkaspec.layout.kinds import shown_name


class ColumnKind(IntEnum):
    """The type of a column."""

    STRUCT = 0
    LIST = 1
    BYTES = 2
    TEXT = 3
    FIXED = 4
    INTEGER = 5
    FLOAT = 6
    BOOLEAN = 7


class Step(IntEnum):
    """The operation of a line of a program on bytes and columns."""

    END = 0
    """The message is complete."""
    INTEGER = 1
    FIXED = 2
    BYTES = 3
    LIST = 4
    """A count and items; lines up to ``next`` are one item."""
    STRUCT = 5
    """A mark, if there is one, and a structure: the lines up to ``next``."""
    TAGS = 6
    """A section of tagged fields; each is a line TAG, up to ``next``."""
    TAG = 7
    REST = 8
    """All bytes that are left."""
    GUARD = 9
    """No byte is left."""
    ABSENT = 10
    """The version has no such field: the column is null."""
    VERSION = 11
    """An integer that chooses one of the following lines CASE; the last is for all above it."""
    CASE = 12


COLUMN_WIDTH = 5
"""Numbers of a column: kind, size, number of the first column not below it, flags, default."""

WIDTH = 8
"""Numbers of a line: step, column, next line, size, plus, flags, least and largest number."""

SIGNED, NULLABLE, MARKED, FILLED = 1, 2, 4, 8
"""Flags of lines and columns. SIGNED: the integer, the size or the count is. NULLABLE: what a line
reads can say that it is null, a column can be null. MARKED: a STRUCT has a mark. FILLED: see
``ColumnLayout.filled``."""

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
"""Bounds of a line that has none; ``null`` in a table."""

Path = tuple[str | tuple[str, int], ...]
"""Attributes of the typed model that lead to a value; a pair chooses the item of a list whose
attribute has that number."""


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """A column of a message.

    Attributes:
        name: id of the specification.
        kind: what it holds.
        size: bytes of FIXED, INTEGER and FLOAT.
        signed: whether an INTEGER is.
        nullable: whether it can be null: so in the specification, or not in each version.
        filled: if the tagged field is not there, the value is the default and not null, since
            null is a value that Kafka writes.
        default: number that Kafka's classes begin with.
        paths: where the typed model has it, as seen from what holds the column; the first that is
            there counts.
        known: of a list of tagged fields, the numbers that have separate columns.
        children: columns of a STRUCT, or the one of a LIST's items.
        enum: key of the enumeration of an INTEGER, "" for none.
    """

    name: str
    kind: ColumnKind
    size: int = 0
    signed: bool = False
    nullable: bool = False
    filled: bool = False
    default: int = 0
    paths: tuple[Path, ...] = ()
    known: tuple[int, ...] = ()
    children: tuple[ColumnLayout, ...] = ()
    enum: str = ""

    def walk(self) -> Iterator[ColumnLayout]:
        """Yield the column and all below it, in the order of their numbers."""
        yield self
        for child in self.children:
            yield from child.walk()

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Self:
        """Return the column that a generated table describes."""
        return cls(
            name=table["name"],
            kind=ColumnKind[table["kind"]],
            size=table.get("size", 0),
            signed=table.get("signed", False),
            nullable=table.get("nullable", False),
            filled=table.get("filled", False),
            default=table.get("default", 0),
            paths=tuple(
                tuple(step if isinstance(step, str) else (step[0], step[1]) for step in path)
                for path in table.get("paths", ())
            ),
            known=tuple(table.get("known", ())),
            children=tuple(cls.of(child) for child in table.get("children", ())),
            enum=table.get("enum", ""),
        )


@dataclass(frozen=True, slots=True)
class MessageColumns:
    """A message.

    Attributes:
        key: key of its type, ``offset_commit_value.offset_commit_value``.
        root: the columns.
        program: ``WIDTH`` numbers for each line.
    """

    key: str
    root: ColumnLayout
    program: tuple[int, ...]

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Self:
        """Return the message that a generated table describes."""
        program = []
        for *numbers, low, high in table["program"]:
            program += [*numbers, LOWEST if low is None else low, HIGHEST if high is None else high]
        return cls(table["key"], ColumnLayout.of(table["columns"]), tuple(program))

    def numbers(self) -> tuple[int, ...]:
        """Return the columns as the engine in C takes them: five numbers for each."""
        found: list[int] = []
        for number, column in enumerate(self.root.walk()):
            flags = SIGNED * column.signed | NULLABLE * column.nullable | FILLED * column.filled
            end = number + sum(1 for _ in column.walk())
            found += [column.kind, column.size, end, flags, column.default]
        return tuple(found)


def with_names(column: ColumnLayout, value: Any) -> Any:
    """Return a value with Kafka's names in place of numbers that stand for them, as JSON has it.

    Fields that the column has not stay as they are.
    """
    if value is None:
        return None
    if column.kind is ColumnKind.LIST:
        return [with_names(column.children[0], item) for item in value]
    if column.kind is ColumnKind.STRUCT:
        known = {child.name: with_names(child, value.get(child.name)) for child in column.children}
        return {name: known.get(name, item) for name, item in value.items()}
    return shown_name(column.enum, value) if column.enum else value
