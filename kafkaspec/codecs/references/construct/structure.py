"""A structure of the specification as a Construct class.

``Structure`` is ``construct.Struct`` with exact ends, paths in errors, parameters, and fields that
follow from others: a size or checksum stands in front of what it is computed from, so that the
fields are built aside and joined when all of them are known.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from construct import (  # type: ignore[import-untyped]
    AdaptationError,
    BitsInteger,
    Computed,
    Construct,
    Container,
    IfThenElse,
    Subconstruct,
)
from construct.lib import bits2bytes, bytes2bits  # type: ignore[import-untyped]

from kafkaspec._generated.python.runtime import missing, unencodable
from kafkaspec.codecs.references.construct.derive import Count, Derived, Span
from kafkaspec.codecs.references.construct.fields import Field, Guard, compute, is_raw
from kafkaspec.codecs.references.construct.parts import Ahead
from kafkaspec.codecs.references.construct.tree import NULL
from kafkaspec.codecs.references.construct.window import Window
from kafkaspec.errors import KafkaSpecError


@contextmanager
def _inside(name: str) -> Iterator[None]:
    """Errors get the field in front of their path."""
    try:
        yield
    except KafkaSpecError as error:
        error.path = f"/{name}{error.path}"
        raise


@dataclass(frozen=True)
class _Member:
    """A named part of a structure: a field, a field read ahead, or a meaning of fields."""

    name: str
    construct: Any

    @cached_property
    def field(self) -> Field | Guard | None:
        """The field inside of all wrappers; None for a meaning."""
        return next((c for c in self._nested if isinstance(c, Field | Guard)), None)

    @cached_property
    def is_bits(self) -> bool:
        """A number of bits, in a byte with others."""
        return isinstance(self._nested[-1], BitsInteger)

    @cached_property
    def bits(self) -> int:
        """How many."""
        width: int = self._nested[-1].length
        return width

    @cached_property
    def is_meaning(self) -> bool:
        """Computed from fields, never written."""
        return isinstance(self._nested[-1], Computed)

    @cached_property
    def is_ahead(self) -> bool:
        """Read before its turn, never written."""
        return isinstance(self.construct, Ahead)

    @cached_property
    def function(self) -> Count | Span | None:
        """What a writer computes it by."""
        return self.construct.function if isinstance(self.construct, Derived) else None

    @property
    def _nested(self) -> list[Any]:
        found = [self.construct]
        while True:
            if isinstance(found[-1], IfThenElse):
                found.append(found[-1].thensubcon)
            elif isinstance(found[-1], Subconstruct):
                found.append(found[-1].subcon)
            else:
                return found

    def build(self, item: Any, scope: Any, path: str) -> bytes:
        """The bytes of the value, which stands in ``scope`` afterwards."""
        piece = io.BytesIO()
        scope[self.name] = item
        with _inside(self.name):
            if isinstance(self.construct, IfThenElse):
                self._refuse_absent(item, scope)
            scope[self.name] = self.construct._build(item, piece, scope, path)
        return piece.getvalue()

    def _refuse_absent(self, item: Any, scope: Any) -> None:
        """A value that the condition leaves no place for would be lost."""
        absent = item is None or item is NULL or is_raw(scope)
        if not absent and not compute(self.construct.condfunc, scope):
            raise unencodable(item, "", self.field.location if self.field else "")


class _Bits:
    """Neighbouring bit fields: whole bytes together, the first field in the highest bits."""

    def __init__(self, members: list[_Member]) -> None:
        self.members = members
        self.size = -(-sum(member.bits for member in members) // 8)

    def parse(self, stream: Window, scope: Any, path: str) -> Iterator[tuple[str, Any]]:
        start = stream.tell()
        data = stream.read(self.size)
        if len(data) < self.size:
            first = self.members[0]
            place = first.field.location if first.field else ""
            raise missing(start, stream.exact, f"/{first.name}", place)
        bits = io.BytesIO(bytes2bits(data))
        for member in self.members:
            with _inside(member.name):
                try:
                    yield member.name, member.construct._parsereport(bits, scope, path)
                except KafkaSpecError as error:
                    error.offset = start
                    raise

    def build(self, obj: Any, scope: Any, path: str) -> dict[str, bytes | None]:
        """All bytes as the piece of the first field; those of the others are empty."""
        bits = b"".join(member.build(obj.get(member.name), scope, path) for member in self.members)
        pieces: dict[str, bytes | None] = dict.fromkeys((m.name for m in self.members), b"")
        pieces[self.members[0].name] = bits2bytes(bits.ljust(8 * self.size, b"\0"))
        return pieces


class Value(Container):  # type: ignore[misc]
    """What a ``Structure`` parses to: a container that also answers for its parameters.

    Numbers among them are entries like the fields. Structures are there but not shown, or every
    record would print its batch.
    """

    def __missing__(self, key: Any) -> Any:
        parameters = self.get("_params") or {}
        if key in parameters:
            return parameters[key]
        raise KeyError(key)


class Structure(Construct):  # type: ignore[misc]
    """One type of the specification. Parses to a ``Value``, builds from any mapping.

    Args:
        location: place in the specification, ``recordbatch.ksy#/types/record``.
        subcons: named fields in the order of the specification, which gives them their places,
            and named ``Computed`` for what follows from them.
        parameters: what it needs besides bytes: ``record.parse(data, batch=...)``.

    Raises:
        KafkaSpecError: the bytes, or the values to write, are refused.
        TypeError: a parameter is missing.
    """

    def __init__(self, location: str, *subcons: Any, parameters: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.location = location
        self.key = _key(location)
        self.subcons = list(subcons)
        self.parameters = parameters
        self.flagbuildnone = True
        self._subcons = Container((subcon.name, subcon) for subcon in subcons)
        members = [_Member(subcon.name, subcon.subcon) for subcon in subcons]
        self._steps = list(_grouped(members))
        self._computed = [member for member in members if member.function is not None]
        self._place(members)

    def __getattr__(self, name: str) -> Any:
        subcons = self.__dict__.get("_subcons", {})
        if name in subcons:
            return subcons[name]
        raise AttributeError(name)

    def _place(self, members: list[_Member]) -> None:
        """Tell the fields where in the specification they are."""
        place = self.location.rstrip("/")
        index = 0
        for member in members:
            if member.field is None:
                continue
            if member.is_ahead:
                member.field.location = f"{place}/instances/{member.name}"
            else:
                member.field.location = f"{place}/seq/{index}"
                index += 1

    def _scope(self, stream: Any, context: Any) -> Any:
        scope = Container()
        for name in ("_params", "_parsing", "_building", "_sizing", "_index", "_raw"):
            scope[name] = context.get(name)
        scope["_"] = context
        scope["_root"] = context.get("_root") or scope
        scope["_subcons"] = self._subcons
        scope["_io"] = stream
        return scope

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        if not isinstance(stream, Window):
            window = Window.over(stream)
            found = self._parse(window, context, path)
            stream.seek(window.tell())
            return found
        value = Value()
        value["_type"] = self.key
        if self.parameters:
            value["_params"] = arguments = self._arguments(context)
            value.update({k: v for k, v in arguments.items() if isinstance(v, int)})
        scope = self._scope(stream, context)
        for step in self._steps:
            if isinstance(step, _Bits):
                for name, item in step.parse(stream, scope, path):
                    value[name] = scope[name] = item
                continue
            try:
                item = step.construct._parsereport(stream, scope, path)
            except KafkaSpecError as error:
                error.path = f"/{step.name}{error.path}"
                raise
            value[step.name] = scope[step.name] = item
        return value

    def _arguments(self, context: Any) -> dict[str, Any]:
        given = context["_params"]
        absent = [name for name in self.parameters if name not in given]
        if absent:
            needed = ", ".join(f"{name}=..." for name in absent)
            raise TypeError(f"{self.key} needs its parameters: parse(data, {needed})")
        return {name: given[name] for name in self.parameters}

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if not isinstance(obj, Mapping) or obj.get("_type", self.key) != self.key:
            raise AdaptationError(f"not a value of {self.key}", path=path)
        scope = self._scope(stream, context)
        scope.update({name: item for name, item in obj.items() if name not in scope})
        known = self._known(obj, scope)
        pieces: dict[str, bytes | None] = {}
        for step in self._steps:
            if isinstance(step, _Bits):
                pieces.update(step.build(obj, scope, path))
            elif step.is_ahead:
                scope[step.name] = _look_ahead(step.name, obj)
            elif step.function is not None and step.name not in known:
                pieces[step.name] = None
            elif not step.is_meaning:
                item = known.get(step.name, obj.get(step.name))
                pieces[step.name] = step.build(item, scope, path)
        self._derive(pieces, scope, path)
        stream.write(b"".join(piece or b"" for piece in pieces.values()))
        return scope

    def _known(self, obj: Any, scope: Any) -> dict[str, Any]:
        """Derived values that no bytes are needed for: counts, and what is stored if raw."""
        known: dict[str, Any] = {}
        for member in self._computed:
            stored = obj.get(member.name)
            if is_raw(scope) and stored is not None:
                known[member.name] = stored
            elif isinstance(member.function, Count):
                known[member.name] = scope[member.name] = member.function.of(obj)
        return known

    def _derive(self, pieces: dict[str, bytes | None], scope: Any, path: str) -> None:
        """Lengths and checksums, each as soon as the bytes that it covers are known."""
        waiting = [member for member in self._computed if pieces[member.name] is None]
        while waiting:
            before = len(waiting)
            for member in list(waiting):
                assert isinstance(member.function, Span)
                data = member.function.of(pieces)
                if data is not None:
                    value = member.function.value(data)
                    pieces[member.name] = member.build(value, scope, path)
                    waiting.remove(member)
            if len(waiting) == before:
                raise AssertionError(f"{self.key}: fields are computed from each other")


def _look_ahead(name: str, obj: Any) -> Any:
    """The value of a field that is read ahead: given, or from the structure that it chose.

    None where that structure says itself what it is.
    """
    if obj.get(name) is not None:
        return obj[name]
    inner = [item for item in obj.values() if isinstance(item, Mapping) and "_type" not in item]
    return next((item[name] for item in inner if item.get(name) is not None), None)


def _key(location: str) -> str:
    """``recordbatch.record`` for ``recordbatch.ksy#/types/record``; a file is its root type."""
    file, _, place = location.partition("#")
    spec_id = file.removesuffix(".ksy")
    return f"{spec_id}.{place.rpartition('/')[2] or spec_id}"


def _grouped(members: list[_Member]) -> Iterator[_Member | _Bits]:
    """The members, with runs of bit fields put together."""
    run: list[_Member] = []
    for member in members:
        if member.is_bits:
            run.append(member)
            continue
        if run:
            yield _Bits(run)
            run = []
        yield member
    if run:
        yield _Bits(run)
