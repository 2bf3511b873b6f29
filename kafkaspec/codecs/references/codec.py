"""The common part of the codecs that use the classes of other projects."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from io import SEEK_CUR, SEEK_END, SEEK_SET
from typing import Any, ClassVar

from kafkaspec.codecs.base import Codec, FieldPlace, Parser
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.layout import TypeLayout
from kafkaspec.model import Buffer


class Window:
    """A part of a buffer as a file object; nothing is copied until it is read.

    Args:
        view: the part.
        copied: most bytes that are copied when they are read; more come as a view.
    """

    def __init__(self, view: memoryview, copied: int = sys.maxsize) -> None:
        self._view = view
        self._copied = copied
        self._position = 0

    def read(self, size: int = -1) -> Buffer:
        """Return up to ``size`` bytes, all that are left if it is negative."""
        begin = min(self._position, len(self._view))
        end = len(self._view) if size < 0 else min(begin + size, len(self._view))
        self._position = max(self._position, end)
        found = self._view[begin:end]
        return bytes(found) if len(found) <= self._copied else found

    def seek(self, position: int, whence: int = SEEK_SET) -> int:
        """As ``io.IOBase.seek``."""
        base = {SEEK_SET: 0, SEEK_CUR: self._position, SEEK_END: len(self._view)}[whence]
        self._position = base + position
        return self._position

    def tell(self) -> int:
        """As ``io.IOBase.tell``."""
        return self._position

    def seekable(self) -> bool:
        """Return True: Kaitai then compares sizes with what is left before it reads."""
        return True

    def close(self) -> None:
        """Do nothing: the buffer belongs to the caller."""


class ReferenceCodec(Codec):
    """A codec whose engine decides what is accepted, and as which values.

    The errors of an engine name no bytes of the file and no place in the specification: where it
    refuses, the Python codec is asked for the error. Where that one accepts, the engine's own error
    is raised, so that ``verify`` reports it.

    Attributes:
        engine: its name in errors.
        requires: its package.

    Args:
        package: where the generated modules are, for trees made from another specification.

    Raises:
        ImportError: the engine is not installed; the text says which extra has it.
    """

    engine: ClassVar[str]
    requires: ClassVar[str]

    def __init__(self, package: str = "kafkaspec._generated") -> None:
        if find_spec(self.requires) is None:
            raise ImportError(
                f"the codec {self.name} needs the package {self.requires}: "
                f"pip install 'kafkaspec[{self.name}]'",
                name=self.requires,
            )
        self.package = package
        self.layouts: dict[str, TypeLayout] = import_module(f"{package}.layout").LAYOUTS
        self.reference: Codec = PythonCodec(package)

    @property
    @abstractmethod
    def refusals(self) -> tuple[type[Exception], ...]:
        """The errors by which the engine refuses bytes."""

    @abstractmethod
    def read(
        self, type_key: str, buffer: Buffer, start: int, end: int, parameters: Sequence[Any] = ()
    ) -> tuple[Any, int]:
        """Return the value that the engine reads and the position after it, or raise a refusal."""

    @abstractmethod
    def build(self, type_key: str, value: Any, parameters: Sequence[Any], raw: bool) -> bytes:
        """Return the bytes that the engine writes. It refuses values by errors of all kinds."""

    def parser(self, type_key: str) -> Parser:
        """See ``Codec.parser``."""
        self.layout(type_key)
        return partial(self._parse, type_key)

    def _parse(
        self, type_key: str, buffer: Buffer, start: int, end: int, complete: bool, *parameters: Any
    ) -> tuple[Any, int]:
        try:
            return self.read(type_key, buffer, start, end, parameters)
        except self.refusals as refusal:
            raise self.refused(
                refusal, type_key, buffer, start, end, complete, *parameters
            ) from refusal

    def refused(
        self, refusal: Exception, type_key: str, buffer: Buffer, start: int, *arguments: Any
    ) -> KafkaSpecError:
        """Return the error of bytes that the engine refuses; arguments are those of a parser."""
        ask = partial(self.reference.parser(type_key), buffer, start, *arguments)
        return self.explained(refusal, type_key, start, ask)

    def write(self, type_key: str, value: Any, parameters: Sequence[Any], raw: bool) -> bytes:
        """See ``Codec.write``."""
        layout = self.layout(type_key)
        parameters = parameters or [getattr(value, name, None) for name, _ in layout.parameters]
        try:
            return self.build(type_key, value, parameters, raw)
        except Exception as refusal:
            ask = partial(self.reference.write, type_key, value, parameters, raw)
            raise self.explained(refusal, type_key, None, ask) from refusal

    def whole_records(self, batch: Any, data: Buffer, most: int) -> tuple[int, int]:
        """See ``Codec.whole_records``; engines read from the beginning of a buffer only."""
        return self.reference.whole_records(batch, data, most)

    def count_headers(self, batch: Any, data: Buffer) -> FieldPlace | None:
        """See ``Codec.count_headers``."""
        return self.reference.count_headers(batch, data)

    def layout(self, type_key: str) -> TypeLayout:
        """Return the layout of a type.

        Raises:
            KeyError: there is no such type.
        """
        if type_key not in self.layouts:
            raise KeyError(f"the specification has no type {type_key}")
        return self.layouts[type_key]

    def explained(
        self, refusal: Exception, type_key: str, start: int | None, ask: Callable[[], object]
    ) -> KafkaSpecError:
        """Return the error of the Python codec, which ``ask`` calls, or that the two disagree."""
        try:
            ask()
        except KafkaSpecError as error:
            return error
        reason = Reason.UNENCODABLE if start is None else Reason.INVALID_VALUE
        detail = f"{self.engine} refuses what the Python codec accepts: {refusal}"
        location = self.layouts[type_key].location
        return make_error(reason, " ".join(detail.split()), offset=start, spec=location)
