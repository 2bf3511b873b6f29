"""The content of a file as tables: one for the file, one for each array and choice inside.

A row holds the numbers and byte strings of a structure and of the structures directly in it. An
array, a choice and a structure that may be absent are separate tables, whose rows name the row that
they belong to. What writers compute is in no table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from tools.specgen.expression import dotted
from tools.specgen.facts.fields import expressions, is_bytes, is_computed, is_nullable, scalar_of
from tools.specgen.model import (
    Field,
    FloatType,
    IntegerType,
    Model,
    Scalar,
    SwitchType,
    Type,
    TypeReference,
)

VALUE, KIND = "value", "kind"
"""Columns of items that are not structures, and of items that are choices."""


class Content(StrEnum):
    """Kinds of columns."""

    SIGNED = "q"
    UNSIGNED = "Q"
    FLOAT = "d"
    BYTES = "bytes"
    COUNT = "count"
    """The number of items of an array, 1 for a structure that may be absent."""
    KIND = "kind"
    """Which structure was chosen."""


@dataclass
class Column:
    """A column of a table.

    Attributes:
        name: dotted ids from the structure of the row.
        path: the same, empty where the row is the value.
        content: what it holds.
        slot: the first of its integers in a row.
        nullable: whether it may be absent.
        children: tables of its items, or of each kind.
        kinds: names of the structures of a choice.
    """

    name: str
    path: str
    content: Content
    slot: int
    nullable: bool = False
    children: list[int] = field(default_factory=list)
    kinds: tuple[Type, ...] = ()

    @property
    def slots(self) -> int:
        """Integers in a row: a number that may be absent says whether it is there."""
        if self.content is Content.BYTES:
            return 2
        return 2 if self.nullable and self.content is not Content.COUNT else 1


@dataclass
class Table:
    """A table of a file: its number, its path, and the columns of its rows."""

    number: int
    path: str
    columns: list[Column] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Integers of a row; the first is the number of the row that it belongs to."""
        return 1 + sum(column.slots for column in self.columns)

    @property
    def prefix(self) -> str:
        """The start of names in C, different for each table."""
        return f"t{self.number}."


class Tables:
    """All tables of a file, parents first, and the column of each field by table and path."""

    def __init__(self, model: Model, root: Type) -> None:
        self.model = model
        self.root = root
        self.tables: list[Table] = []
        self.columns: dict[str, Column] = {}
        self._structure(self._table(root.name), root, "")

    def _table(self, path: str) -> Table:
        self.tables.append(Table(len(self.tables), path))
        return self.tables[-1]

    def _column(
        self, table: Table, path: str, content: Content, fallback: str, *, nullable: bool = False
    ) -> Column:
        name = path.rstrip(".")
        made = Column(name or fallback, name, content, table.width, nullable)
        table.columns.append(made)
        self.columns[table.prefix + made.name] = made
        return made

    def _structure(self, table: Table, type_: Type, prefix: str) -> None:
        for item in type_.fields:
            transparent = type_.is_frame or type_.is_choice
            path = prefix if transparent else f"{prefix}{item.id}."
            if isinstance(item.type, SwitchType):
                self._choice(table, item.type, path)
            elif item.is_guard or is_computed(type_, item):
                continue
            elif item.repeat is not None or self.is_apart(item):
                self._child(table, type_, item, path)
            else:
                self._value(table, type_, item, path)

    def is_apart(self, item: Field) -> bool:
        """Return whether a field is a structure that may be absent."""
        structure = isinstance(item.type, TypeReference) and scalar_of(self.model, item) is None
        return structure and item.condition is not None

    def _child(self, table: Table, type_: Type, item: Field, path: str) -> None:
        nullable = item.condition is not None or is_nullable(type_, item)
        column = self._column(table, path, Content.COUNT, VALUE, nullable=nullable)
        child = self._table(f"{table.path}.{column.name}")
        column.children.append(child.number)
        self._value(child, type_, item, "")

    def _value(self, table: Table, type_: Type, item: Field, path: str) -> None:
        absent = item.condition is not None and item.repeat is None and not self.is_apart(item)
        if is_bytes(self.model, item):
            nullable = absent or scalar_of(self.model, item) is Scalar.NULLABLE_BYTES
            self._column(table, path, Content.BYTES, VALUE, nullable=nullable)
        elif isinstance(item.type, FloatType):
            self._column(table, path, Content.FLOAT, VALUE, nullable=absent)
        elif isinstance(item.type, TypeReference) and scalar_of(self.model, item) is None:
            self._structure(table, self.model.type(item.type), path)
        else:
            content = Content.UNSIGNED if is_large(item) else Content.SIGNED
            self._column(table, path, content, VALUE, nullable=absent)

    def _choice(self, table: Table, kind: SwitchType, path: str) -> None:
        column = self._column(table, path, Content.KIND, KIND)
        chosen = dict.fromkeys(self.model.type(reference) for _, reference in kind.cases)
        column.kinds = tuple(chosen)
        inside = f"{table.path}.{column.path}" if column.path else table.path
        for type_ in column.kinds:
            child = self._table(f"{inside}.{type_.name}")
            column.children.append(child.number)
            self._structure(child, type_, "")

    def found(self, key: str) -> tuple[Column, Table]:
        """Return the column of ``t3.header.zoom``, and its table; of ``t3`` that of its choice."""
        number, _, name = key.removeprefix("t").partition(".")
        table = self.tables[int(number)]
        return self.columns[f"{table.prefix}{name or KIND}"], table

    @cached_property
    def used(self) -> frozenset[str]:
        """Ids of fields that some expression mentions."""
        return frozenset(
            part
            for type_ in self.model.all_types()
            for node in type_.nodes
            for _, expression in expressions(node)
            for path in dotted(expression)
            for part in path.split(".")
        )

    def child(self, column: Column, number: int = 0) -> Table:
        """Return the table of the items of a column, or of one of its kinds."""
        return self.tables[column.children[number]]


def is_large(item: Field) -> bool:
    """Return whether a number may not fit 64 bits with a sign."""
    kind = item.type
    return isinstance(kind, IntegerType) and kind.size == 8 and not kind.signed


def files(model: Model) -> Iterator[Tables]:
    """Yield the tables of each file that has fields."""
    for spec in model.specs:
        if spec.root.fields and not spec.root.parameters:
            yield Tables(model, spec.root)
