"""Between the containers of Construct and the objects of the typed model, by the layout tables.

A container shows everything that the specification names, frames and choices included; the model
leaves those out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from kafkaspec.layout import FieldLayout, Form, Kind, TypeLayout

Convert = Callable[[Any], Any]


class Argument(dict[str, Any]):
    """An object of the model as a parameter: what Construct's expressions ask it for by key."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value

    def __missing__(self, name: str) -> Any:
        # What the model does not have is a frame or choice: it has what is in it instead.
        found = getattr(self.value, name, self)
        self[name] = Argument(found) if hasattr(found, "__dataclass_fields__") else found
        return self[name]


class Trees:
    """Conversions for all types of a specification.

    Args:
        layouts: the generated tables.
        model_class: gives the class of a structure by its key.
    """

    def __init__(
        self, layouts: Mapping[str, TypeLayout], model_class: Callable[[str], type[Any]]
    ) -> None:
        self._layouts = layouts
        self._model_class = model_class
        self._readers: dict[str, Convert] = {}
        self._writers: dict[tuple[str, bool], Convert] = {}

    def model(self, key: str, value: Any) -> Any:
        """Return the object of the model, or host value, for what was parsed as type ``key``."""
        reader = self._readers.get(key)
        if reader is None:
            reader = self._readers[key] = self._reader(self._layouts[key])
        return reader(value)

    def container(self, key: str, raw: bool, value: Any) -> Any:
        """Return what Construct writes ``value`` from.

        Raises:
            TypeError: the value, or one in it, is not of its type.
        """
        writer = self._writers.get((key, raw))
        if writer is None:
            writer = self._writers[key, raw] = self._writer(self._layouts[key], raw)
        return writer(value)

    def _writer(self, layout: TypeLayout, raw: bool) -> Convert:
        match layout.form:
            case Form.SCALAR:
                return _flat
            case Form.FRAME | Form.CHOICE:
                shown = layout.fields[-1]
                convert = self._field_writer(shown, raw)
                return lambda value: {shown.id: convert(value)}
        kind = self._model_class(layout.key)
        fields = [(field.id, self._field_writer(field, raw)) for field in _fields(layout)]

        def write(value: Any) -> dict[str, Any]:
            _demand(value, kind)
            found = {name: convert(getattr(value, name)) for name, convert in fields}
            found["_type"] = layout.key
            return found

        return write

    def _field_writer(self, field: FieldLayout, raw: bool) -> Convert:
        convert: Convert = _same
        match field.kind:
            case _ if field.constant is not None and not raw:
                return lambda value: field.constant
            case Kind.TYPE:
                convert = partial(self.container, field.type, raw)
            case Kind.CHOICE:
                convert = partial(self._chosen, [key for _, key in field.cases], raw)
            case Kind.SCALAR:
                convert = _flat
            case Kind.BYTES:
                convert = lambda value: _flat(_demand(value, bytes | bytearray | memoryview))  # noqa: E731
        return _each(convert, field, lambda items: _demand(items, list | tuple))

    def _chosen(self, keys: Sequence[str], raw: bool, value: Any) -> Any:
        for key in keys:
            with suppress(TypeError):
                return self.container(key, raw, value)
        raise TypeError("a value of none of the types")

    def _reader(self, layout: TypeLayout) -> Convert:
        match layout.form:
            case Form.SCALAR:
                return _same
            case Form.FRAME | Form.CHOICE:
                shown = layout.fields[-1]
                convert = self._field_reader(shown)
                return lambda value: convert(value[shown.id])
        make = self._model_class(layout.key)
        fields = _fields(layout)
        given = [(field.id, self._field_reader(field)) for field in fields if not _settled(field)]
        settled = [field.id for field in fields if _settled(field)]
        parameters = layout.parameters

        def read(value: Any) -> Any:
            arguments = {name: convert(value[name]) for name, convert in given}
            for name, key in parameters:
                arguments[name] = self._parameter(key, value["_given"][name])
            result = make(**arguments)
            for name in settled:
                setattr(result, name, value[name])
            return result

        return read

    def _parameter(self, key: str, value: Any) -> Any:
        if isinstance(value, Argument):
            return value.value
        if key and "_model" not in value:
            value["_model"] = self.model(key, value)
        return value["_model"] if key else value

    def _field_reader(self, field: FieldLayout) -> Convert:
        convert: Convert = _same
        if field.enum:
            convert = int
        elif field.kind is Kind.TYPE:
            convert = partial(self.model, field.type)
        elif field.kind is Kind.CHOICE:
            convert = lambda item: self.model(item["_type"], item)  # noqa: E731
        return _each(convert, field, _same)


def _each(convert: Convert, field: FieldLayout, check: Convert) -> Convert:
    """Return ``convert`` for all items of a field that is an array, and for none."""
    if field.repeated:
        one, convert = convert, lambda items: [one(item) for item in check(items)]
    if field.optional and convert is not _same:
        return lambda value: None if value is None else convert(value)
    return convert


def _demand(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not of its type")
    return value


def _same(value: Any) -> Any:
    return value


def _flat(value: Any) -> Any:
    """Construct takes ``bytes`` only."""
    return bytes(value) if isinstance(value, bytearray | memoryview) else value


def _fields(layout: TypeLayout) -> list[FieldLayout]:
    return [field for field in layout.fields if field.kind is not Kind.GUARD]


def _settled(field: FieldLayout) -> bool:
    """Return whether constructors of the model leave the field out."""
    return field.constant is not None or (bool(field.derive) and not field.opaque_count)
