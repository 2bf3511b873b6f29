"""Bytes to a tree of Kaitai objects, and from there to objects of the typed model."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from kafkaspec.codecs.references.kaitai.tables import (
    FieldTable,
    Tables,
    TypeTable,
    unwrap,
    wrap_arguments,
)
from kafkaspec.codecs.references.window import Window
from kafkaspec.layout import Form, Kind
from kafkaspec.model import Buffer


def new_tree(
    tables: Tables, key: str, buffer: Buffer, start: int, end: int, parameters: Sequence[Any]
) -> Any:
    """Return an object that is ready for ``_read`` on the bytes from ``start`` to ``end``."""
    stream_class = import_module("kaitaistruct").KaitaiStream
    stream = stream_class(Window(memoryview(buffer)[start:end]))
    table = tables.type(key)
    return table.tree_class(*wrap_arguments(tables, table.layout, parameters), stream)


class MissingChoice(Exception):  # noqa: N818 - Kaitai passes over it in silence, we do not
    """A switch had no case for its value."""


class ModelReader:
    """Makes objects of the model from a tree that was read."""

    def __init__(self, tables: Tables, buffer: Buffer) -> None:
        self._tables = tables
        self._buffer = buffer

    def convert(self, table: TypeTable, tree: Any, base: int) -> Any:
        """Return the value of a tree.

        Args:
            table: of the tree's type.
            tree: Kaitai's object.
            base: where its stream begins in the buffer.

        Raises:
            MissingChoice: a switch had no case.
        """
        layout = table.layout
        if table.varint is not None:
            return tree.value
        if table.shown is not None:
            return self.field(table, table.shown, tree, base)
        required: dict[str, Any] = {
            name: unwrap(getattr(tree, name)) for name, _ in layout.parameters
        }
        stored: dict[str, Any] = {}
        for field in table.fields:
            kind = field.layout.kind
            if kind is Kind.GUARD:
                continue
            settled = field.derived or field.layout.constant is not None
            into = stored if settled else required
            into[field.layout.id] = self.field(table, field, tree, base)
        value = table.model_class(**required)
        for name, item in stored.items():
            setattr(value, name, item)
        return value

    def field(self, owner: TypeTable, field: FieldTable, tree: Any, base: int) -> Any:
        """Return the value of one field of a tree, None if it is absent."""
        layout = field.layout
        found = getattr(tree, layout.id, None)
        if found is None:
            if layout.kind is Kind.CHOICE and not layout.optional:
                raise MissingChoice
            return None
        if layout.repeated:
            arr = tree._debug[layout.id]["arr"]
            return [
                self._item(field, item, tree, base, place["start"])
                for item, place in zip(found, arr, strict=True)
            ]
        if field.open_ended:
            place = tree._debug[layout.id]
            return self._buffer[base + place["start"] : base + place["end"]]
        start = tree._debug[layout.id]["start"]
        return self._item(field, found, tree, base, start)

    def _item(self, field: FieldTable, found: Any, owner: Any, base: int, start: int) -> Any:
        match field.layout.kind:
            case Kind.INTEGER:
                return int(found)
            case Kind.BITS:
                return bool(found) if field.layout.boolean else int(found)
            case Kind.BYTES | Kind.GUARD:
                return found
        below = base if found._io is owner._io else base + start
        return self.convert(self._tables.type_of_field(field, found), found, below)


def is_scalar(table: TypeTable) -> bool:
    """Return whether errors inside of the type belong to the field that has it."""
    return table.layout.form is Form.SCALAR
