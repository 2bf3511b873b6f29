"""The codec on the generated Construct definitions."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from io import BytesIO
from typing import Any, ClassVar

from kafkaspec.codecs.references.codec import ReferenceCodec, Window
from kafkaspec.codecs.references.trees import Argument, Convert, DisorderError, Trees, same
from kafkaspec.layout import FieldLayout, TypeLayout
from kafkaspec.model import Buffer


class ConstructCodec(ReferenceCodec):
    """Reads and writes with Construct definitions, which are interpreted and never compiled."""

    name: ClassVar[str] = "construct"
    engine: ClassVar[str] = "Construct"
    requires: ClassVar[str] = "construct"

    def __init__(self, package: str = "kafkaspec._generated") -> None:
        super().__init__(package)
        self._refusals = (import_module("construct").ConstructError, DisorderError)
        self._writer = import_module("kafkaspec.codecs.references.construct.writing").writer
        self._trees = _Containers(
            self.layouts, import_module(f"{package}.python.model").model_class
        )

    @property
    def refusals(self) -> tuple[type[Exception], ...]:
        """See ``ReferenceCodec``."""
        return self._refusals

    def read(
        self, type_key: str, buffer: Buffer, start: int, end: int, parameters: Sequence[Any] = ()
    ) -> tuple[Any, int]:
        """See ``ReferenceCodec``."""
        whole = isinstance(buffer, bytes) and end - start == len(buffer)
        # Python does not copy the bytes here either.
        stream = BytesIO(buffer) if whole else Window(memoryview(buffer)[start:end])
        arguments = self._arguments(type_key, parameters)
        found = self._definition(type_key).parse_stream(stream, _io=stream, **arguments)
        return self._trees.model(type_key, found), start + stream.tell()

    def build(self, type_key: str, value: Any, parameters: Sequence[Any], raw: bool) -> bytes:
        """See ``ReferenceCodec``."""
        definition = self._writer(self._definition(type_key), raw)
        container = self._trees.container(type_key, raw, value)
        data: bytes = definition.build(container, **self._arguments(type_key, parameters))
        return data

    def _definition(self, type_key: str) -> Any:
        spec_id, _, name = type_key.partition(".")
        return getattr(import_module(f"{self.package}.construct.{spec_id}"), name)

    def _arguments(self, type_key: str, values: Sequence[Any]) -> dict[str, Any]:
        declared = self.layouts[type_key].parameters
        if len(values) > len(declared):
            raise TypeError(f"{type_key} has {len(declared)} parameters, not {len(values)}")
        return {
            name: _Argument(value) if other else value
            for (name, other), value in zip(declared, values, strict=False)
        }


class _Containers(Trees):
    """Containers of Construct: the values of scalars are in them as they are."""

    @staticmethod
    def get(tree: Any, name: str) -> Any:
        return tree[name]

    def given(self, tree: Any, name: str) -> Any:
        return tree["_given"][name]

    def chosen(self, field: FieldLayout, tree: Any) -> str:
        key: str = tree["_type"]
        return key

    def scalar(self, layout: TypeLayout) -> Convert:
        return same


class _Argument(dict[str, Any], Argument):
    """Construct's expressions ask a parameter by key."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def __missing__(self, name: str) -> Any:
        # What the model does not have is a frame or choice: it has what is in it instead.
        found = getattr(self.model, name, self)
        self[name] = _Argument(found) if hasattr(found, "__dataclass_fields__") else found
        return self[name]
