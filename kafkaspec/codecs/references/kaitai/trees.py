"""Trees of Kaitai objects: made for bytes or for writing, and what the model has in their place."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from operator import attrgetter
from typing import Any, Final

from kafkaspec.codecs.references import trees
from kafkaspec.codecs.references.codec import Window
from kafkaspec.layout import FieldLayout, Form, Kind, TypeLayout, varints
from kafkaspec.model import Buffer

COPIED: Final = 1 << 16
"""Most bytes of a field that is copied where positions are all that is wanted."""


class MissingChoice(Exception):  # noqa: N818 - Kaitai passes over it in silence, we do not
    """A switch had no case for its value."""


class KaitaiTrees(trees.Trees):
    """Conversions for trees of Kaitai objects.

    Args:
        package: where the generated modules ``layout``, ``kaitai`` and ``python.model`` are.
        layouts: the tables of ``layout``.
    """

    def __init__(self, package: str, layouts: Mapping[str, TypeLayout]) -> None:
        super().__init__(layouts, import_module(f"{package}.python.model").model_class)
        self.tables = import_module(f"{package}.kaitai")
        self._classes: dict[str, Any] = {}

    @staticmethod
    def get(tree: Any, name: str) -> Any:
        return getattr(tree, name, None)

    def given(self, tree: Any, name: str) -> Any:
        return getattr(tree, name)

    def chosen(self, field: FieldLayout, tree: Any) -> str:
        for _, key in field.cases:
            if type(tree) is self.tree_class(key):
                return key
        raise MissingChoice(f"there is no case for {field.id}")

    def scalar(self, layout: TypeLayout) -> trees.Convert:
        name = "value" if layout.scalar in varints.BITS else layout.fields[-1].id
        return lambda tree: getattr(tree, name, None)

    def tree_class(self, key: str) -> Any:
        """Return the class that the official compiler made of a type."""
        found = self._classes.get(key)
        if found is None:
            spec_id, _, name = key.partition(".")
            top = self.layouts[f"{spec_id}.{spec_id}"].class_name
            module = import_module(f"{self.tables.__name__}.{spec_id}")
            module.__dict__["BytesIO"] = _stream_of
            found = getattr(module, top)
            if name != spec_id:
                found = getattr(found, self.layouts[key].class_name)
            self._classes[key] = found
        return found

    def new(
        self,
        key: str,
        buffer: Buffer,
        start: int,
        end: int,
        parameters: Sequence[Any],
        copied: int = sys.maxsize,
    ) -> Any:
        """Return an object that is ready for ``_read`` on the bytes from ``start`` to ``end``.

        Fields of more than ``copied`` bytes are views of the buffer.
        """
        window = Window(memoryview(buffer)[start:end], copied)
        stream = import_module("kaitaistruct").KaitaiStream(window)
        return self.tree_class(key)(*self.wrapped(key, parameters), stream)

    def wrapped(self, key: str, parameters: Sequence[Any]) -> list[Any]:
        """Return the parameters of a type, objects of the model wrapped for expressions."""
        return [
            _Argument(self.layouts, self.layouts[other], parameter) if other else parameter
            for (_, other), parameter in zip(self.layouts[key].parameters, parameters, strict=True)
        ]

    def arguments(self, owner: str, field: str, key: str, tree: Any) -> list[Any]:
        """Return the arguments for the type ``key`` of a field, computed from its owner."""
        names = self.tables.ARGUMENTS.get((owner, field, key), ())
        return [name if isinstance(name, int) else attrgetter(name)(tree) for name in names]


def _stream_of(data: Buffer) -> Window | BytesIO:
    """Return a stream for a structure with a size; of a view, nothing is copied."""
    return Window(data, COPIED) if isinstance(data, memoryview) else BytesIO(data)


class _Argument(trees.Argument):
    """A structure of the model, seen as Kaitai's expressions see it.

    They write ``.value`` after a field of a scalar type; in the model such a field is the value.
    """

    def __init__(self, layouts: Mapping[str, TypeLayout], layout: TypeLayout, model: Any) -> None:
        self._layouts = layouts
        self._layout = layout
        self.model = model

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.model, name)
        field = next((field for field in self._layout.fields if field.id == name), None)
        if field is None or value is None:
            return value
        if field.repeated:
            return [self._seen(field, item) for item in value]
        return self._seen(field, value)

    def _seen(self, field: FieldLayout, value: Any) -> Any:
        if field.kind is Kind.SCALAR:
            return _Scalar(value)
        if field.kind is Kind.TYPE and self._layouts[field.type].form is Form.STRUCTURE:
            return _Argument(self._layouts, self._layouts[field.type], value)
        return value


@dataclass(frozen=True, slots=True)
class _Scalar:
    value: Any
