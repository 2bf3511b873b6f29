"""The codec on the classes that the official Kaitai Struct compiler made."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

from kafkaspec.codecs.base import NOWHERE, Codec, Origin, bounded
from kafkaspec.codecs.references.kaitai.builder import Place, TreeBuilder, unwritable
from kafkaspec.codecs.references.kaitai.locate import locate
from kafkaspec.codecs.references.kaitai.positions import FieldPosition, PositionReader, with_error
from kafkaspec.codecs.references.kaitai.reader import (
    MissingChoice,
    ModelReader,
    is_scalar,
    new_tree,
)
from kafkaspec.codecs.references.kaitai.tables import Tables, TypeTable, wrap_arguments
from kafkaspec.codecs.references.kaitai.writer import write
from kafkaspec.errors import KafkaSpecError
from kafkaspec.model import Buffer


class KaitaiCodec(Codec):
    """Reads and writes with the official compiler's classes; the typed model goes in and out.

    The slowest codec, and the one that nothing of this project had a hand in: what it says of
    bytes is what the specification says. The classes and ``kaitaistruct`` are imported when they
    are first needed.
    """

    name: ClassVar[str] = "kaitai"

    def __init__(self, package: str = "kafkaspec._generated") -> None:
        """``package`` holds the generated modules ``layout``, ``kaitai`` and ``python.model``."""
        self._package = package

    @cached_property
    def _tables(self) -> Tables:
        return Tables(self._package)

    @cached_property
    def _failures(self) -> tuple[type[Exception], ...]:
        return (import_module("kaitaistruct").KaitaiStructError, MissingChoice)

    def _parse(
        self,
        type_key: str,
        buffer: Buffer,
        start: int,
        end: int,
        parameters: Sequence[Any],
        complete: bool,
    ) -> tuple[Any, int]:
        tree = new_tree(self._tables, type_key, buffer, start, end, parameters)
        try:
            tree._read()
            reader = ModelReader(self._tables, buffer)
            return reader.convert(self._tables.type(type_key), tree, start), start + tree._io.pos()
        except self._failures as cause:
            raise locate(self._tables, type_key, tree, cause, start, complete) from None

    def serialize(
        self, type_key: str, value: Any, *, parameters: Sequence[Any] = (), raw: bool = False
    ) -> bytes:
        """As ``Codec.serialize``.

        With ``raw`` a stored length of a structure must be right: Kaitai writes a structure into
        a stream of the length that stands before it.
        """
        table = self._tables.type(type_key)
        place = Place("", table.layout.location)
        arguments = self._own_arguments(table, value, parameters)
        builder = TreeBuilder(self._tables, raw=raw)
        try:
            return write(builder.build(table, value, arguments, None, place))
        except KafkaSpecError:
            raise
        except Exception as cause:
            # Not all of it is Kaitai's own: struct.error for numbers, AttributeError for fields.
            raise unwritable(cause, table, place) from cause

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
        """Where each field lies, in the order of the bytes, structures before what is in them.

        Bytes that cannot be parsed give the positions up to the field that fails; the last item
        then has the ``error``, as ``parse`` would raise it. Arguments are those of ``parse``.
        """
        buffer, end = bounded(buffer, start, end)
        tree = new_tree(self._tables, type_key, buffer, start, end, parameters)
        table = self._tables.type(type_key)
        error: KafkaSpecError | None = None
        try:
            tree._read()
            ModelReader(self._tables, buffer).convert(table, tree, start)
        except self._failures as cause:
            error = locate(self._tables, type_key, tree, cause, start, complete)
        shift = 0 if origin.decompressed else origin.position
        walker = PositionReader(self._tables, buffer, shift)
        if is_scalar(table):
            found = [] if error else [walker.scalar(table, tree, start, origin.path)]
        else:
            depth = origin.path.count("/")
            found = list(walker.walk(table, tree, start, origin.path, depth))
        return found if error is None else with_error(found, error, origin)

    def _own_arguments(
        self, table: TypeTable, value: Any, parameters: Sequence[Any]
    ) -> Sequence[Any]:
        """Return arguments for the outermost object: those given, else those that the value has."""
        names = [name for name, _ in table.layout.parameters]
        if not parameters:
            parameters = [getattr(value, name, None) for name in names]
        return wrap_arguments(self._tables, table.layout, parameters)
