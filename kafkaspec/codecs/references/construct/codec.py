"""The codec on the generated Construct definitions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

from kafkaspec.codecs.base import Codec
from kafkaspec.codecs.references.construct.tree import Trees, Use
from kafkaspec.layout import TypeLayout
from kafkaspec.model import Buffer


class ConstructCodec(Codec):
    """Reads and writes with Construct definitions, which are interpreted and never compiled.

    Args:
        package: where the generated modules are, for trees made from another specification.

    Raises:
        ImportError: the package ``construct`` is not installed; the text says which extra has it.
    """

    name: ClassVar[str] = "construct"

    def __init__(self, package: str = "kafkaspec._generated") -> None:
        if find_spec("construct") is None:
            raise ImportError(
                "the codec construct needs the package construct: "
                "pip install 'kafkaspec[construct]'",
                name="construct",
            )
        self._package = package
        self._definitions: dict[str, Any] = {}

    @cached_property
    def _runtime(self) -> Any:
        return import_module("kafkaspec.codecs.references.construct.runtime")

    @cached_property
    def _layouts(self) -> dict[str, TypeLayout]:
        layouts: dict[str, TypeLayout] = import_module(f"{self._package}.layout").LAYOUTS
        return layouts

    @cached_property
    def _trees(self) -> Trees:
        model_class = import_module(f"{self._package}.python.model").model_class
        return Trees(self._layouts, model_class, self._runtime.Value)

    def _parse(
        self,
        type_key: str,
        buffer: Buffer,
        start: int,
        end: int,
        parameters: Sequence[Any],
        complete: bool,
    ) -> tuple[Any, int]:
        definition = self._definition(type_key)
        window = self._runtime.Window(buffer, start, end, exact=complete)
        arguments = self._arguments(type_key, parameters)
        value = definition.parse_stream(window, **arguments)
        return self._trees.to_model(type_key, value), window.tell()

    def serialize(
        self, type_key: str, value: Any, *, parameters: Sequence[Any] = (), raw: bool = False
    ) -> bytes:
        """As ``Codec.serialize``."""
        definition = self._definition(type_key)
        if not parameters:
            names = [name for name, _ in self._layouts[type_key].parameters]
            if all(hasattr(value, name) for name in names):
                parameters = [getattr(value, name) for name in names]
        arguments = self._arguments(type_key, parameters)
        container = self._trees.to_container(type_key, value, Use.RAW if raw else Use.BUILD)
        data: bytes = definition.build(container, _raw=raw, **arguments)
        return data

    def _definition(self, type_key: str) -> Any:
        """The definition of a type; errors that are not in a field of it get its own place."""
        definition = self._definitions.get(type_key)
        if definition is None:
            layout = self._layouts.get(type_key)
            if layout is None:
                raise KeyError(f"the specification has no type {type_key}")
            spec_id, _, name = type_key.partition(".")
            module = import_module(f"{self._package}.construct.{spec_id}")
            definition = self._runtime.Field(getattr(module, name), location=layout.location)
            self._definitions[type_key] = definition
        return definition

    def _arguments(self, type_key: str, values: Sequence[Any]) -> dict[str, Any]:
        declared = self._layouts[type_key].parameters
        if len(values) > len(declared):
            raise TypeError(f"{type_key} has {len(declared)} parameters, not {len(values)}")
        return self._trees.arguments(type_key, values)
