"""A structure of the specification as a Construct class, and the fields that writers compute.

``Structure`` is ``construct.Struct`` with exact ends, paths in errors, parameters, and fields that
follow from others: a size or checksum stands in front of what it is computed from, so that the
fields are built aside and joined when all of them are known.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import EllipsisType
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

from kafkaspec import checksum
from kafkaspec._generated.python.runtime import missing, unencodable
from kafkaspec.codecs.construct.fields import Field, Guard, compute, is_raw
from kafkaspec.codecs.construct.parts import Ahead
from kafkaspec.codecs.construct.tree import NULL
from kafkaspec.codecs.construct.window import Window
from kafkaspec.errors import KafkaSpecError


class Count:
    """The number of items of the array ``field``, plus a constant."""

    def __init__(self, field: str, *, plus: int = 0) -> None:
        self.field = field
        self.plus = plus


class Span:
    """A function of the bytes of some fields.

    Args:
        first: the first of the fields, the only one without ``last``.
        last: the last of them, ``...`` for all up to the end of the structure.
        plus: is added to a length.
    """

    def __init__(self, first: str, last: str | EllipsisType | None = None, plus: int = 0) -> None:
        self.first = first
        self.last = last
        self.plus = plus

    def of(self, pieces: Mapping[str, bytes | None]) -> bytes | None:
        """The bytes of the fields, None while one of them is not known."""
        names = list(pieces)
        start = names.index(self.first)
        stop = start if self.last is None else len(names) - 1
        if isinstance(self.last, str):
            stop = names.index(self.last)
        parts = [pieces[name] for name in names[start : stop + 1]]
        known = [part for part in parts if part is not None]
        return b"".join(known) if len(known) == len(parts) else None

    def value(self, data: bytes) -> int:
        """The value that the bytes give."""
        raise NotImplementedError


class Length(Span):
    """Size in bytes, plus a constant."""

    def value(self, data: bytes) -> int:
        return len(data) + self.plus


class Crc32(Span):
    """CRC-32 (IEEE)."""

    def value(self, data: bytes) -> int:
        return checksum.crc32(data)


class Crc32c(Span):
    """CRC-32C (Castagnoli)."""

    def value(self, data: bytes) -> int:
        return checksum.crc32c(data)


class Derived(Subconstruct):  # type: ignore[misc]
    """A field that writers compute: ``Derived(Length("body"), Field(...))``.

    With ``_raw=True`` a value that is given is written instead.
    """

    def __init__(self, function: Count | Span, subcon: Any) -> None:
        super().__init__(subcon)
        self.function = function


@contextmanager
def _inside(name: str) -> Iterator[None]:
    try:
        yield
    except KafkaSpecError as error:
        error.path = f"/{name}{error.path}"
        raise


def _leaf(construct: Any) -> Any:
    """What stands inside of all wrappers."""
    while True:
        if isinstance(construct, IfThenElse):
            construct = construct.thensubcon
        elif isinstance(construct, Subconstruct):
            construct = construct.subcon
        else:
            return construct


def _is_bits(construct: Any) -> bool:
    return isinstance(_leaf(construct), BitsInteger)


def _refuse_absent(step: Any, item: Any, scope: Any) -> None:
    """A value that a condition leaves no place for would be lost."""
    optional = step.subcon
    if (
        isinstance(optional, IfThenElse)
        and item is not None
        and item is not NULL
        and not is_raw(scope)
        and not compute(optional.condfunc, scope)
    ):
        field = _field(optional)
        raise unencodable(item, "", field.location if field else "")


def _field(construct: Any) -> Field | Guard | None:
    """The field inside of wrappers; None for what follows from fields."""
    while not isinstance(construct, Field | Guard):
        if isinstance(construct, IfThenElse):
            construct = construct.thensubcon
        elif isinstance(construct, Subconstruct):
            construct = construct.subcon
        else:
            return None
    return construct


def _key(location: str) -> str:
    """``recordbatch.record`` for ``recordbatch.ksy#/types/record``; a file is its root type."""
    file, _, place = location.partition("#")
    spec_id = file.removesuffix(".ksy")
    return f"{spec_id}.{place.rpartition('/')[2] or spec_id}"


class _Bits:
    """Neighbouring bit fields: whole bytes together, the first field in the highest bits."""

    def __init__(self, fields: list[Any]) -> None:
        self.fields = fields
        self.names = [field.name for field in fields]
        bits = sum(_leaf(field).length for field in fields)
        self.size = -(-bits // 8)

    def parse(self, stream: Window, scope: Any, path: str) -> Iterator[tuple[str, Any]]:
        start = stream.tell()
        data = stream.read(self.size)
        if len(data) < self.size:
            first = _field(self.fields[0])
            place = first.location if first else ""
            raise missing(start, stream.exact, f"/{self.names[0]}", place)
        bits = io.BytesIO(bytes2bits(data))
        for field in self.fields:
            with _inside(field.name):
                try:
                    yield field.name, field._parsereport(bits, scope, path)
                except KafkaSpecError as error:
                    error.offset = start
                    raise

    def build(self, obj: Any, scope: Any, path: str) -> bytes:
        bits = io.BytesIO()
        for field in self.fields:
            with _inside(field.name):
                scope[field.name] = field._build(obj.get(field.name), bits, scope, path)
        return bytes(bits2bytes(bits.getvalue().ljust(8 * self.size, b"\0")))


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
        self._steps = list(_grouped(subcons))
        self._place(subcons)

    def __getattr__(self, name: str) -> Any:
        subcons = self.__dict__.get("_subcons", {})
        if name in subcons:
            return subcons[name]
        raise AttributeError(name)

    def _place(self, subcons: tuple[Any, ...]) -> None:
        """Tell the fields where in the specification they are."""
        place = self.location.rstrip("/")
        fields = [(subcon, field) for subcon in subcons if (field := _field(subcon)) is not None]
        ahead = [pair for pair in fields if isinstance(pair[0].subcon, Ahead)]
        for subcon, field in ahead:
            field.location = f"{place}/instances/{subcon.name}"
        for index, (_, field) in enumerate(pair for pair in fields if pair not in ahead):
            field.location = f"{place}/seq/{index}"

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
            value.update({name: arguments[name] for name in self._numbers(arguments)})
        scope = self._scope(stream, context)
        for step in self._steps:
            if isinstance(step, _Bits):
                for name, item in step.parse(stream, scope, path):
                    value[name] = scope[name] = item
                continue
            try:
                item = step._parsereport(stream, scope, path)
            except KafkaSpecError as error:
                error.path = f"/{step.name}{error.path}"
                raise
            value[step.name] = scope[step.name] = item
        return value

    def _arguments(self, context: Any) -> Any:
        absent = [name for name in self.parameters if name not in context["_params"]]
        if absent:
            needed = ", ".join(f"{name}=..." for name in absent)
            raise TypeError(f"{self.key} needs its parameters: parse(data, {needed})")
        return Container((name, context["_params"][name]) for name in self.parameters)

    def _numbers(self, arguments: Any) -> list[str]:
        return [name for name in self.parameters if isinstance(arguments[name], int)]

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if not isinstance(obj, Mapping) or obj.get("_type", self.key) != self.key:
            raise AdaptationError(f"not a value of {self.key}", path=path)
        scope = self._scope(stream, context)
        scope.update({name: item for name, item in obj.items() if name not in scope})
        pieces: dict[str, bytes | None] = {}
        derived: dict[str, Any] = {}
        self._count(obj, scope, derived)
        for step in self._steps:
            if isinstance(step, _Bits):
                pieces[step.names[0]] = step.build(obj, scope, path)
                pieces.update(dict.fromkeys(step.names[1:], b""))
            elif step.name in derived and derived[step.name] is None:
                pieces[step.name] = None
            elif isinstance(_leaf(step), Computed):
                continue
            elif isinstance(step.subcon, Ahead):
                scope[step.name] = self._look_ahead(step.name, obj)
            else:
                item = derived.get(step.name, obj.get(step.name))
                pieces[step.name] = self._piece(step, item, scope, path)
        self._derive(pieces, scope, path)
        stream.write(b"".join(piece or b"" for piece in pieces.values()))
        return scope

    def _count(self, obj: Any, scope: Any, derived: dict[str, Any]) -> None:
        """Values of derived fields that are known at once; None for the others."""
        for step in self._steps:
            if isinstance(step, _Bits) or not isinstance(step.subcon, Derived):
                continue
            function = step.subcon.function
            stored = obj.get(step.name)
            if is_raw(scope) and stored is not None:
                derived[step.name] = stored
            elif isinstance(function, Count):
                items = obj.get(function.field)
                derived[step.name] = scope[step.name] = (
                    len(items) if isinstance(items, list | tuple) else 0
                ) + function.plus
            else:
                derived[step.name] = None

    def _derive(self, pieces: dict[str, bytes | None], scope: Any, path: str) -> None:
        """Lengths and checksums, each as soon as the bytes that it covers are known."""
        waiting = [
            step
            for step in self._steps
            if not isinstance(step, _Bits) and step.name in pieces and pieces[step.name] is None
        ]
        while waiting:
            ready = [
                (step, data)
                for step in waiting
                if (data := step.subcon.function.of(pieces)) is not None
            ]
            if not ready:
                raise AssertionError(f"{self.key}: fields are computed from each other")
            for step, data in ready:
                value = step.subcon.function.value(data)
                pieces[step.name] = self._piece(step, value, scope, path)
                waiting.remove(step)

    @staticmethod
    def _piece(step: Any, item: Any, scope: Any, path: str) -> bytes:
        piece = io.BytesIO()
        scope[step.name] = item
        with _inside(step.name):
            _refuse_absent(step, item, scope)
            scope[step.name] = step._build(item, piece, scope, path)
        return piece.getvalue()

    @staticmethod
    def _look_ahead(name: str, obj: Any) -> Any:
        """The value of a field that is read ahead: given, or from the structure that it chose.

        None where that structure says itself what it is.
        """
        if obj.get(name) is not None:
            return obj[name]
        inner = [i for i in obj.values() if isinstance(i, Mapping) and "_type" not in i]
        return next((item[name] for item in inner if item.get(name) is not None), None)


def _grouped(subcons: tuple[Any, ...]) -> Iterator[Any]:
    """The fields, with runs of bit fields put together."""
    run: list[Any] = []
    for subcon in subcons:
        if _is_bits(subcon):
            run.append(subcon)
            continue
        if run:
            yield _Bits(run)
            run = []
        yield subcon
    if run:
        yield _Bits(run)
