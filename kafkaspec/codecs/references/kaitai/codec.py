"""The codec on the classes that the official Kaitai Struct compiler made."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

from kafkaspec.codecs.base import NOWHERE, Origin, bounded
from kafkaspec.codecs.references.codec import ReferenceCodec
from kafkaspec.codecs.references.kaitai.builder import TreeBuilder, write
from kafkaspec.codecs.references.kaitai.positions import FieldPosition, positions, with_error
from kafkaspec.codecs.references.kaitai.trees import COPIED, KaitaiTrees, MissingChoice
from kafkaspec.codecs.references.trees import DisorderError
from kafkaspec.model import Buffer


class KaitaiCodec(ReferenceCodec):
    """Reads and writes with the official compiler's classes; the typed model goes in and out.

        The slowest codec, and the one that has no code of this project: it accepts exactly what the
    specification describes. The classes and ``kaitaistruct`` are imported when they are first
        needed.
    """

    name: ClassVar[str] = "kaitai"
    engine: ClassVar[str] = "Kaitai"
    requires: ClassVar[str] = "kaitaistruct"

    @cached_property
    def _trees(self) -> KaitaiTrees:
        return KaitaiTrees(self.package, self.layouts)

    @cached_property
    def refusals(self) -> tuple[type[Exception], ...]:
        """See ``ReferenceCodec``."""
        return (import_module("kaitaistruct").KaitaiStructError, MissingChoice, DisorderError)

    def read(
        self, type_key: str, buffer: Buffer, start: int, end: int, parameters: Sequence[Any] = ()
    ) -> tuple[Any, int]:
        """See ``ReferenceCodec``."""
        tree = self._trees.new(type_key, buffer, start, end, parameters)
        tree._read()
        return self._trees.model(type_key, tree), start + tree._io.pos()

    def build(self, type_key: str, value: Any, parameters: Sequence[Any], raw: bool) -> bytes:
        """See ``ReferenceCodec``.

        With ``raw`` a stored length of a structure must be right: Kaitai writes a structure into
        a stream of the length that stands before it.
        """
        container = self._trees.container(type_key, raw, value)
        arguments = self._trees.wrapped(type_key, parameters)
        return write(TreeBuilder(self._trees, raw=raw).build(type_key, container, arguments))

    def positions(
        self,
        type_key: str,
        buffer: Buffer,
        start: int = 0,
        end: int | None = None,
        parameters: Sequence[Any] = (),
        origin: Origin = NOWHERE,
        *,
        complete: bool = False,
    ) -> list[FieldPosition]:
        """Return where each field lies, in the order of the bytes, structures before their fields.

        Bytes that cannot be parsed give the positions up to the field that fails; the last item
        then has the ``error``, as ``parse`` would raise it. Arguments are those of ``parse``. A
        long value is a view of the buffer.
        """
        buffer, end = bounded(buffer, start, end)
        tree = self._trees.new(type_key, buffer, start, end, parameters, COPIED)
        refusal = None
        try:
            tree._read()
            self._trees.model(type_key, tree)
        except self.refusals as error:
            refusal = error
        shift = 0 if origin.decompressed else origin.position
        found = positions(self._trees, type_key, tree, start + shift, origin.path)
        if refusal is None:
            return found
        reason = self.refused(refusal, type_key, buffer, start, end, complete, *parameters)
        return with_error(found, origin.locate(reason))
