"""The generated tables of types, joined with the classes of Kaitai and of the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from types import ModuleType
from typing import Any

from kafkaspec.layout import FieldLayout, Form, Kind, TypeLayout

_VARINT_RANGES = {
    "varint32": (-(2**31), 2**31 - 1),
    "varint64": (-(2**63), 2**63 - 1),
    "unsigned_varint32": (0, 2**32 - 1),
}


@dataclass(frozen=True, slots=True)
class FieldTable:
    """A field and what the adapter knows of it besides.

    Attributes:
        layout: from the specification.
        open_ended: bytes up to the end of what holds them.
        switch: name in the owner that chooses the type, "" where it does not vary.
        derived: a writer computes it.
        first_bit: for bit fields, bits of the same run before it.
    """

    layout: FieldLayout
    open_ended: bool
    switch: str
    derived: bool
    first_bit: int


@dataclass(frozen=True, slots=True)
class TypeTable:
    """A type with its classes.

    Attributes:
        layout: from the specification.
        tree_class: class of the official compiler.
        model_class: class of the typed model, None for types that it shows as something else.
        fields: the fields in order.
        shown: for such types, the field whose value is shown.
        varint: smallest and largest value of a varint, None for other types.
    """

    layout: TypeLayout
    tree_class: Any
    model_class: Any
    fields: tuple[FieldTable, ...]
    shown: FieldTable | None
    varint: tuple[int, int] | None


class Tables:
    """All types of a generated package, each loaded when it is first asked for."""

    def __init__(self, package: str) -> None:
        self._package = package
        self.layouts: dict[str, TypeLayout] = import_module(f"{package}.layout").LAYOUTS
        self._extra = import_module(f"{package}.kaitai")
        self._types: dict[str, TypeTable] = {}
        self._may_miss: dict[str, bool] = {}
        self._arguments: dict[tuple[str, str, str], tuple[int | str, ...]] = self._extra.ARGUMENTS

    def type(self, key: str) -> TypeTable:
        """Return the table of a type.

        Raises:
            KeyError: there is no type of that key.
        """
        table = self._types.get(key)
        if table is None:
            if key not in self.layouts:
                raise KeyError(f"the specification has no type {key}")
            table = self._types[key] = self._load(self.layouts[key])
        return table

    def type_of_field(self, field: FieldTable, tree: Any) -> TypeTable:
        """Return the table of a structure in a field, by its class if that varies."""
        if not field.switch:
            return self.type(field.layout.type)
        return next(
            table
            for _, key in field.layout.cases
            if (table := self.type(key)).tree_class is type(tree)
        )

    def may_miss_a_choice(self, key: str) -> bool:
        """Return whether a value of the type can hold a switch for which there is no case."""
        known = self._may_miss.get(key)
        if known is None:
            known = self._may_miss[key] = any(
                (field.cases and None not in dict(field.cases))
                or any(self.may_miss_a_choice(below) for below in _types_of(field))
                for field in self.layouts[key].fields
            )
        return known

    def arguments(self, owner: TypeTable, field: FieldTable, key: str, tree: Any) -> list[Any]:
        """Return the arguments for the type of a field, computed from ``tree``."""
        names = self._arguments.get((owner.layout.key, field.layout.id, key), ())
        return [name if isinstance(name, int) else attrgetter(name)(tree) for name in names]

    def _load(self, layout: TypeLayout) -> TypeTable:
        spec_id, name = layout.key.split(".")
        fields = tuple(self._fields(layout))
        hidden = layout.form is not Form.STRUCTURE
        tree_class = getattr(
            import_module(f"{self._package}.kaitai.{spec_id}"),
            self.layouts[f"{spec_id}.{spec_id}"].class_name,
        )
        if name != spec_id:
            tree_class = getattr(tree_class, layout.class_name)
        return TypeTable(
            layout=layout,
            tree_class=tree_class,
            model_class=None if hidden else getattr(self._model(spec_id), layout.class_name),
            fields=fields,
            shown=next(field for field in fields if not field.derived) if hidden else None,
            varint=_VARINT_RANGES.get(layout.scalar),
        )

    def _model(self, spec_id: str) -> ModuleType:
        return import_module(f"{self._package}.python.model.{spec_id}")

    def _fields(self, layout: TypeLayout) -> Iterator[FieldTable]:
        bits = 0
        for field in layout.fields:
            place = (layout.key, field.id)
            yield FieldTable(
                layout=field,
                open_ended=place in self._extra.OPEN_ENDED,
                switch=self._extra.SWITCHES.get(place, ""),
                derived=bool(field.derive) and not field.opaque_count,
                first_bit=bits if field.kind is Kind.BITS else 0,
            )
            bits = bits + field.width if field.kind is Kind.BITS else 0


def _types_of(field: FieldLayout) -> list[str]:
    return [key for _, key in field.cases] + ([field.type] if field.type else [])


class Argument:
    """A structure of the model in the place of a parameter, seen as Kaitai's expressions see it.

    They write ``.value`` after a field of a scalar type; in the model such a field is the value.
    """

    __slots__ = ("_layout", "_tables", "model")

    def __init__(self, tables: Tables, layout: TypeLayout, model: Any) -> None:
        self._tables = tables
        self._layout = layout
        self.model = model

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.model, name)
        field = next((field for field in self._layout.fields if field.id == name), None)
        if field is None or value is None:
            return value
        if field.kind is Kind.SCALAR:
            return [_Scalar(item) for item in value] if field.repeated else _Scalar(value)
        if field.kind is Kind.TYPE and self._tables.layouts[field.type].form is Form.STRUCTURE:
            layout = self._tables.layouts[field.type]
            if field.repeated:
                return [Argument(self._tables, layout, item) for item in value]
            return Argument(self._tables, layout, value)
        return value


@dataclass(frozen=True, slots=True)
class _Scalar:
    value: Any


def wrap_arguments(tables: Tables, layout: TypeLayout, arguments: Any) -> list[Any]:
    """Return arguments from outside, structures of the model wrapped for Kaitai's expressions."""
    return [
        Argument(tables, tables.layouts[key], argument) if key else argument
        for (_, key), argument in zip(layout.parameters, arguments, strict=True)
    ]


def unwrap(argument: Any) -> Any:
    """Return the argument as it was given."""
    return argument.model if isinstance(argument, Argument) else argument
