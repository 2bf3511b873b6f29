"""Between the containers of Construct and the objects of the typed model, by the layout tables.

A container shows everything that the specification names, frames and choices included; the model
leaves those out. Hidden keys of a container say what it is: ``_type`` its type, ``_params`` the
parameters that it was parsed with, ``_model`` the object of the model that belongs to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

from kafkaspec.layout import FieldLayout, Form, Kind, TypeLayout

Convert = Callable[[Any], Any]


class Use(Enum):
    """What a container is made for."""

    BUILD = "build"
    """To be written: constants are left to the definition."""
    RAW = "raw"
    """To be written as it is stored."""
    PARAMETER = "parameter"
    """To compute with: value instances and parameters are there too."""


class Trees:
    """Conversions for all types of a specification.

    Args:
        layouts: the generated tables.
        model_class: gives the class of a structure by its key.
        container: makes an empty container.
    """

    def __init__(
        self,
        layouts: Mapping[str, TypeLayout],
        model_class: Callable[[str], type[Any]],
        container: Callable[[], Any],
    ) -> None:
        self._layouts = layouts
        self._model_class = model_class
        self._container = container
        self._readers: dict[str, Convert] = {}

    def to_model(self, key: str, value: Any) -> Any:
        """The object of the model, or host value, for what Construct parsed as type ``key``."""
        return self.reader(key)(value)

    def reader(self, key: str) -> Convert:
        """The function that does so for one type."""
        reader = self._readers.get(key)
        if reader is None:
            reader = self._readers[key] = self._make_reader(self._layouts[key])
        return reader

    def to_container(self, key: str, value: Any, use: Use) -> Any:
        """What Construct builds ``value`` from, or computes with.

        Where ``value`` is not of the type, it is returned as it is: the definition refuses it
        and knows the place.
        """
        layout = self._layouts[key]
        match layout.form:
            case Form.SCALAR:
                return value
            case Form.FRAME | Form.CHOICE:
                shown = layout.fields[-1]
                return self._new(key, {shown.id: self._field(shown, value, use)})
        if not isinstance(value, self._model_class(key)):
            return value
        fields = [field for field in layout.fields if field.kind is not Kind.GUARD]
        found = self._new(
            key, {field.id: self._field(field, getattr(value, field.id), use) for field in fields}
        )
        if use is Use.PARAMETER:
            found["_model"] = value
            found["_params"] = self.arguments(
                key, [getattr(value, name) for name, _ in layout.parameters]
            )
            found.update({name: getattr(value, name) for name in layout.instances})
        return found

    def arguments(self, key: str, values: Sequence[Any]) -> dict[str, Any]:
        """Parameters of a type by name, structures as containers."""
        return {
            name: self.to_container(other, value, Use.PARAMETER) if other else value
            for (name, other), value in zip(self._layouts[key].parameters, values, strict=False)
        }

    def _new(self, key: str, entries: dict[str, Any]) -> Any:
        found = self._container()
        found["_type"] = key
        found.update(entries)
        return found

    def _field(self, field: FieldLayout, value: Any, use: Use) -> Any:
        if field.constant is not None and use is Use.BUILD:
            return None
        if value is None and not self._is_transparent(field):
            return None if self._may_be_none(field) else NULL
        if field.kind not in (Kind.TYPE, Kind.CHOICE):
            return value
        if not field.repeated:
            return self._item(field, value, use)
        if not isinstance(value, list | tuple):
            return value
        return [self._item(field, item, use) for item in value]

    def _item(self, field: FieldLayout, value: Any, use: Use) -> Any:
        if field.kind is Kind.TYPE:
            return self.to_container(field.type, value, use)
        for _, key in field.cases:
            found = self.to_container(key, value, use)
            if found is not value:
                return found
        return value

    def _is_transparent(self, field: FieldLayout) -> bool:
        return (
            field.kind is Kind.TYPE
            and not field.repeated
            and self._layouts[field.type].form is not Form.STRUCTURE
        )

    def _may_be_none(self, field: FieldLayout) -> bool:
        if field.derive and not field.opaque_count:
            return True
        nullable = field.kind is Kind.SCALAR and not field.repeated
        return nullable and self._layouts[field.type].scalar == "nullable_bytes"

    def _make_reader(self, layout: TypeLayout) -> Convert:
        match layout.form:
            case Form.SCALAR:
                return _same
            case Form.FRAME | Form.CHOICE:
                shown = layout.fields[-1]
                convert = self._field_reader(shown)
                return lambda value: convert(value[shown.id])
        return self._structure_reader(layout)

    def _structure_reader(self, layout: TypeLayout) -> Convert:
        make = self._model_class(layout.key)
        fields = [field for field in layout.fields if field.kind is not Kind.GUARD]
        given = [(field.id, self._field_reader(field)) for field in fields if not _computed(field)]
        stored = [field.id for field in fields if _computed(field)]
        parameters = layout.parameters

        def read(value: Any) -> Any:
            arguments = {name: convert(value[name]) for name, convert in given}
            for name, key in parameters:
                argument = value["_params"][name]
                arguments[name] = self._parameter(key, argument) if key else argument
            result = make(**arguments)
            for name in stored:
                setattr(result, name, value[name])
            return result

        return read

    def _parameter(self, key: str, value: Any) -> Any:
        if "_model" not in value:
            value["_model"] = self.to_model(key, value)
        return value["_model"]

    def _field_reader(self, field: FieldLayout) -> Convert:
        convert: Convert = _same
        if field.enum:
            convert = int
        elif field.kind is Kind.TYPE:
            convert = lambda item: self.reader(field.type)(item)  # noqa: E731
        elif field.kind is Kind.CHOICE:
            convert = lambda item: self.reader(item["_type"])(item)  # noqa: E731
        if field.repeated:
            return lambda items: [convert(item) for item in items]
        if field.optional and convert is not _same:
            return lambda item: None if item is None else convert(item)
        return convert


class _Null:
    """None where the specification has no null: Construct would take None for "use the default"."""

    def __repr__(self) -> str:
        return "None"


NULL = _Null()


def _same(value: Any) -> Any:
    return value


def _computed(field: FieldLayout) -> bool:
    return field.constant is not None or (bool(field.derive) and not field.opaque_count)
