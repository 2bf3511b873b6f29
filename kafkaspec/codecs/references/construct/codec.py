"""The codec on the generated Construct definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from typing import Any, ClassVar

from kafkaspec.codecs.base import Codec
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.codecs.references.construct.tree import Argument, Trees
from kafkaspec.codecs.references.window import Window
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.layout import TypeLayout
from kafkaspec.model import Buffer


class ConstructCodec(Codec):
    """Reads and writes with Construct definitions, which are interpreted and never compiled.

    What is accepted, and as which values, Construct decides. Its errors name no bytes of the file
    and no place in the specification: where it refuses, the Python codec is asked for the error.
    Where that one accepts, Construct's own error is raised, so that ``verify`` reports it.

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
        self._refusal = import_module("construct").ConstructError
        self._writer = import_module("kafkaspec.codecs.references.construct.writing").writer
        self._package = package
        self._layouts: dict[str, TypeLayout] = import_module(f"{package}.layout").LAYOUTS
        model_class = import_module(f"{package}.python.model").model_class
        self._trees = Trees(self._layouts, model_class)
        self.reference = PythonCodec(package)

    def _parse(
        self,
        type_key: str,
        buffer: Buffer,
        start: int,
        end: int,
        parameters: Sequence[Any],
        complete: bool,
    ) -> tuple[Any, int]:
        try:
            found, size = self.read(type_key, buffer, start, end, parameters)
        except self._refusal as refusal:
            self.reference.parse(
                type_key, buffer, start, end, parameters=parameters, complete=complete
            )
            raise self._alone(Reason.INVALID_VALUE, type_key, refusal, start) from refusal
        return self._trees.model(type_key, found), start + size

    def read(
        self, type_key: str, buffer: Buffer, start: int, end: int, parameters: Sequence[Any] = ()
    ) -> tuple[Any, int]:
        """Return what Construct makes of the bytes, and how many of them it took.

        Raises:
            ConstructError: it refuses them.
        """
        definition = self._definition(type_key)
        whole = isinstance(buffer, bytes) and end - start == len(buffer)
        # Python does not copy the bytes here either.
        stream = BytesIO(buffer) if whole else Window(memoryview(buffer)[start:end])
        found = definition.parse_stream(
            stream,
            _io=stream,
            _cut=lambda begin, stop: buffer[start + begin : start + stop],
            **self._arguments(type_key, parameters),
        )
        return found, stream.tell()

    def serialize(
        self, type_key: str, value: Any, *, parameters: Sequence[Any] = (), raw: bool = False
    ) -> bytes:
        """As ``Codec.serialize``."""
        self._definition(type_key)
        if not parameters:
            declared = self._layouts[type_key].parameters
            parameters = [getattr(value, name, None) for name, _ in declared]
        arguments = self._arguments(type_key, parameters)
        try:
            return self.write(type_key, value, arguments, raw=raw)
        except Exception as refusal:
            # Not all of it is ConstructError: values of a wrong type fail in many ways.
            self.reference.serialize(type_key, value, parameters=parameters, raw=raw)
            raise self._alone(Reason.UNENCODABLE, type_key, refusal) from refusal

    def write(
        self, type_key: str, value: Any, arguments: Mapping[str, Any], *, raw: bool = False
    ) -> bytes:
        """Return the bytes that Construct makes of a value.

        Raises:
            Exception: it refuses the value, in one of many ways.
        """
        definition = self._writer(self._definition(type_key), raw)
        container = self._trees.container(type_key, raw, value)
        data: bytes = definition.build(container, **arguments)
        return data

    def _alone(
        self, reason: Reason, type_key: str, refusal: Exception, start: int | None = None
    ) -> KafkaSpecError:
        """Return the error where the Python codec sees none: then the two disagree."""
        detail = f"Construct refuses what the Python codec accepts: {refusal}"
        location = self._layouts[type_key].location
        return make_error(reason, " ".join(detail.split()), offset=start, spec=location)

    def _definition(self, type_key: str) -> Any:
        if type_key not in self._layouts:
            raise KeyError(f"the specification has no type {type_key}")
        spec_id, _, name = type_key.partition(".")
        return getattr(import_module(f"{self._package}.construct.{spec_id}"), name)

    def _arguments(self, type_key: str, values: Sequence[Any]) -> dict[str, Any]:
        declared = self._layouts[type_key].parameters
        if len(values) > len(declared):
            raise TypeError(f"{type_key} has {len(declared)} parameters, not {len(values)}")
        return {
            name: Argument(value) if other else value
            for (name, other), value in zip(declared, values, strict=False)
        }
