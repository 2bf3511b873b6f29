"""The codec in plain Python: runs wherever Python runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar, Final

from kafkaspec.codecs.base import NOWHERE, Codec, Origin, Parser
from kafkaspec.codecs.headers import HeaderScan, Hopped, Scan
from kafkaspec.layout import HeaderColumns
from kafkaspec.layout.kinds import kind_of
from kafkaspec.model import Buffer, Record

_MOST_HEADERS: Final = 1 << 16
"""Headers that one scan gives unless the caller says otherwise."""


class PythonCodec(Codec):
    """Calls the generated functions; see ``generated/python``.

    Args:
        package: where the generated modules are, for trees made from another specification.
    """

    name: ClassVar[str] = "python"

    def __init__(self, package: str = "kafkaspec._generated") -> None:
        self._package = f"{package}.python"
        self._parsers: dict[str, Parser] = {}
        self._serializers: dict[str, tuple[Callable[..., None], tuple[int, ...]]] = {}
        self._kinds: tuple[HeaderColumns, ...] | None = None
        self._decoders: dict[str, Callable[[Any, bytes], list[Record] | None]] | None = None

    def parser(self, type_key: str) -> Parser:
        """As in ``Codec``."""
        parser = self._parsers.get(type_key)
        if parser is None:
            parser = self._parsers[type_key] = self._load("parse", "PARSERS", type_key)
        return parser

    def write(self, type_key: str, value: Any, parameters: Sequence[Any], raw: bool) -> bytes:
        """As in ``Codec``."""
        found = self._serializers.get(type_key)
        if found is None:
            found = self._serializers[type_key] = self._load("serialize", "SERIALIZERS", type_key)
        serializer, taken = found
        out = bytearray()
        serializer(out, value, raw, *(parameters[index] for index in taken))
        return bytes(out)

    def scan(
        self,
        buffer: Buffer,
        start: int = 0,
        *,
        limit: int | None = None,
        capacity: int | None = None,
        spare: Scan | None = None,
    ) -> Scan | None:
        """As in ``Codec``: entries of one kind, of those kinds whose header has one size."""
        stop = len(buffer) if limit is None else limit
        most = _MOST_HEADERS if capacity is None else capacity
        return self._first(lambda kind: kind.hop(buffer, start, stop, most))

    def _first(self, hop: Callable[[HeaderColumns], Hopped]) -> Scan | None:
        """Return the entries of the first kind of which there are any."""
        if self._kinds is None:
            self._kinds = import_module(f"{self._package}.headers").KINDS
        for kind in self._kinds:
            found = hop(kind)
            if found[1]:
                return HeaderScan(kind, *found)
        return None

    def decode_records(
        self, batch: Any, payload: Buffer, *, origin: Origin = NOWHERE
    ) -> list[Record]:
        """As in ``Codec``; the usual case runs through one loop without calls for each field.

        That loop accepts nothing that the checked parser refuses. Where it meets anything unusual
        it gives up, and the checked parser finds the exact result or error.
        """
        if self._decoders is None:
            self._decoders = import_module(f"{self._package}.records").DECODERS
        decode = self._decoders.get(kind_of(batch).key)
        records = None
        if decode is not None:
            records = decode(batch, payload if isinstance(payload, bytes) else bytes(payload))
        return super().decode_records(batch, payload, origin=origin) if records is None else records

    def _load(self, package: str, table: str, type_key: str) -> Any:
        module = f"{self._package}.{package}.{type_key.partition('.')[0]}"
        functions = getattr(import_module(module), table) if find_spec(module) else {}
        if type_key not in functions:
            raise KeyError(f"the specification has no type {type_key}")
        return functions[type_key]
