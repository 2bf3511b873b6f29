"""Conversions between what an engine reads or writes and the objects of the typed model.

An engine shows everything that the specification names, frames and choices included; the model
leaves those out. The layout tables say what they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any

from kafkaspec.layout import FieldLayout, Form, Kind, TypeLayout

Convert = Callable[[Any], Any]


class DisorderError(ValueError):
    """Items of an array do not ascend as the specification demands; engines do not look at it."""


class Argument:
    """An object of the model as a parameter, as the expressions of an engine see it.

    Attributes:
        model: the object.
    """

    model: Any


class Trees(ABC):
    """Conversions for all types of a specification.

    Args:
        layouts: the generated tables.
        model_class: gives the class of a structure by its key.
    """

    def __init__(
        self, layouts: Mapping[str, TypeLayout], model_class: Callable[[str], type[Any]]
    ) -> None:
        self.layouts = layouts
        self._model_class = model_class
        self._readers: dict[str, Convert] = {}
        self._writers: dict[tuple[str, bool], Convert] = {}

    @staticmethod
    @abstractmethod
    def get(tree: Any, name: str) -> Any:
        """Return a field of what the engine read, None if it is absent."""

    @abstractmethod
    def given(self, tree: Any, name: str) -> Any:
        """Return a parameter of what the engine read."""

    @abstractmethod
    def chosen(self, field: FieldLayout, tree: Any) -> str:
        """Return the key of the type of what the engine read for a choice."""

    @abstractmethod
    def scalar(self, layout: TypeLayout) -> Convert:
        """Return the function that gives the value of what the engine read for a scalar."""

    def model(self, key: str, value: Any) -> Any:
        """Return the object of the model, or host value, of what the engine read as a type."""
        reader = self._readers.get(key)
        if reader is None:
            reader = self._readers[key] = self._reader(self.layouts[key])
        return reader(value)

    def container(self, key: str, raw: bool, value: Any) -> Any:
        """Return a value as dictionaries of fields, with the key of each type as ``_type``.

        Raises:
            TypeError: the value, or one in it, is not of its type.
        """
        writer = self._writers.get((key, raw))
        if writer is None:
            writer = self._writers[key, raw] = self._writer(self.layouts[key], raw)
        return writer(value)

    def _writer(self, layout: TypeLayout, raw: bool) -> Convert:
        match layout.form:
            case Form.SCALAR:
                return _flat
            case Form.FRAME | Form.CHOICE:
                shown = layout.fields[-1]
                convert = self._field_writer(shown, raw)
                return lambda value: {"_type": layout.key, shown.id: convert(value)}
        kind = self._model_class(layout.key)
        fields = [(field.id, self._field_writer(field, raw)) for field in _fields(layout)]

        def write(value: Any) -> dict[str, Any]:
            _demand(value, kind)
            found = {name: convert(getattr(value, name)) for name, convert in fields}
            found["_type"] = layout.key
            return found

        return write

    def _field_writer(self, field: FieldLayout, raw: bool) -> Convert:
        convert: Convert = same
        match field.kind:
            case _ if field.constant is not None and not raw:
                return lambda value: field.constant
            case Kind.TYPE:
                convert = partial(self.container, field.type, raw)
            case Kind.CHOICE:
                convert = partial(self._chosen, [key for _, key in field.cases], raw)
            case Kind.SCALAR:
                convert = _flat
            case Kind.FLOAT:
                convert = lambda value: _demand(value, float)  # noqa: E731
            case Kind.BYTES:
                convert = lambda value: _flat(_demand(value, bytes | bytearray | memoryview))  # noqa: E731

        def check(items: Any) -> Any:
            _demand(items, list | tuple)
            return items if raw else _ascending(field, items)

        return _each(convert, field, check, same)

    def _chosen(self, keys: Sequence[str], raw: bool, value: Any) -> Any:
        for key in keys:
            with suppress(TypeError):
                return self.container(key, raw, value)
        raise TypeError("a value of none of the types")

    def _reader(self, layout: TypeLayout) -> Convert:
        get = self.get
        match layout.form:
            case Form.SCALAR:
                return self.scalar(layout)
            case Form.FRAME | Form.CHOICE:
                shown = layout.fields[-1]
                convert = self._field_reader(shown)
                return lambda tree: convert(get(tree, shown.id))
        make = self._model_class(layout.key)
        fields = _fields(layout)
        given = [(field.id, self._field_reader(field)) for field in fields if not settled(field)]
        later = [(field.id, self._field_reader(field)) for field in fields if settled(field)]
        parameters = layout.parameters

        def read(tree: Any) -> Any:
            arguments = {name: convert(get(tree, name)) for name, convert in given}
            for name, key in parameters:
                arguments[name] = self._parameter(key, self.given(tree, name))
            result = make(**arguments)
            for name, convert in later:
                setattr(result, name, convert(get(tree, name)))
            return result

        return read

    def _parameter(self, key: str, value: Any) -> Any:
        if isinstance(value, Argument):
            return value.model
        if not key:
            return value
        if getattr(value, "_model", None) is None:
            value._model = self.model(key, value)
        return value._model

    def _field_reader(self, field: FieldLayout) -> Convert:
        return _each(self.item_reader(field), field, same, partial(_ascending, field))

    def item_reader(self, field: FieldLayout) -> Convert:
        """Return the conversion of a field, or of an item of it if it is an array."""
        match field.kind:
            case _ if field.enum:
                return int
            case Kind.SCALAR:
                return self.scalar(self.layouts[field.type])
            case Kind.TYPE:
                return partial(self.model, field.type)
            case Kind.CHOICE:
                return lambda tree: self.model(self.chosen(field, tree), tree)
        return same


def _ascending(field: FieldLayout, items: Any) -> Any:
    if field.ascending:
        numbers = [getattr(item, field.ascending) for item in items]
        if any(number <= before for before, number in pairwise(numbers)):
            raise DisorderError(f"{field.id} do not ascend by {field.ascending}")
    return items


def _each(convert: Convert, field: FieldLayout, before: Convert, after: Convert) -> Convert:
    """Return ``convert`` for all items of a field that is an array, and for none."""
    if field.repeated:
        one, convert = convert, lambda items: after([one(item) for item in before(items)])
    if field.optional and convert is not same:
        return lambda value: None if value is None else convert(value)
    return convert


def _demand(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not of its type")
    return value


def same(value: Any) -> Any:
    """Return the value itself."""
    return value


def _flat(value: Any) -> Any:
    """Return ``bytes`` for all kinds of bytes: the engines take no others."""
    return bytes(value) if isinstance(value, bytearray | memoryview) else value


def _fields(layout: TypeLayout) -> list[FieldLayout]:
    return [field for field in layout.fields if field.kind is not Kind.GUARD]


def settled(field: FieldLayout) -> bool:
    """Return whether constructors of the model leave the field out."""
    return field.constant is not None or (bool(field.derive) and not field.opaque_count)
