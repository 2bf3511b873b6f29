"""Classes that generated definitions use besides Construct's own.

Construct reads and writes. Here is what it has no word for: varints with an end, null, arrays up
to the exact end, fields that writers compute, checks against other fields, and parameters.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from types import EllipsisType
from typing import Any

import construct  # type: ignore[import-untyped]
from construct import this
from construct.expr import ExprMixin, FuncPath  # type: ignore[import-untyped]

from kafkaspec import checksum
from kafkaspec._generated.python.runtime import signed64

_UNKNOWN = 1 << 63
"""Where a writer cannot know yet how much will follow: more than any format can hold."""


# Expressions. By the custom of Construct the names of what is computed later end in an underscore.


def _start(stream: Any) -> int:
    return getattr(stream, "parent_stream_offset", 0)


def _remaining(context: Any) -> int:
    stream = context["_io"]
    return _UNKNOWN if context["_building"] else construct.stream_size(stream) - stream.tell()


def _at_end(context: Any) -> bool:
    return bool(context._building or construct.stream_iseof(context._io))


def _size(context: Any) -> int:
    stream = context._io
    return _UNKNOWN if context._building else construct.stream_size(stream) - _start(stream)


def _position(context: Any) -> int:
    return 0 if context._building else context._io.tell() - _start(context._io)


value_ = this._value
"""In ``Valid``: the value itself."""

remaining_ = FuncPath(_remaining)(this)
"""Bytes between the position and the end of the structure."""

at_end_ = FuncPath(_at_end)(this)
"""True where the structure ends, and for a writer."""

size_ = FuncPath(_size)(this)
"""Bytes of the structure."""

position_ = FuncPath(_position)(this)
"""Position in the structure, from its first byte."""

int64_ = FuncPath(signed64)
"""``int64_(x)``: x modulo 2**64 as a signed integer, which is how Java adds."""


class either_(ExprMixin):  # type: ignore[misc]  # noqa: N801
    """``then`` where ``condition`` holds, else ``otherwise``."""

    def __init__(self, condition: Any, then: Any, otherwise: Any) -> None:
        self.parts = (condition, then, otherwise)

    def __repr__(self) -> str:
        return "either_({!r}, {!r}, {!r})".format(*self.parts)

    def __call__(self, context: Any, *_: Any) -> Any:
        condition, then, otherwise = self.parts
        return construct.evaluate(
            then if construct.evaluate(condition, context) else otherwise, context
        )


# Integers and bytes.


class BoundedVarInt(construct.Construct):  # type: ignore[misc]
    """A ``VarInt`` or ``ZigZag`` of at most so many bits.

    Surplus bits of the last possible byte are dropped. Longer encodings than needed are
    read, the shortest is written.
    """

    def __init__(self, bits: int, *, zigzag: bool) -> None:
        super().__init__()
        self.zigzag = zigzag
        self.mask = (1 << bits) - 1
        self.shifts = range(0, bits, 7)

    def _parse(self, stream: Any, context: Any, path: str) -> int:
        code = 0
        for shift in self.shifts:
            group: int = construct.stream_read(stream, 1, path)[0]
            code |= (group & 0x7F) << shift
            if group < 0x80:
                code &= self.mask
                return (code >> 1) ^ -(code & 1) if self.zigzag else code
        raise construct.IntegerError("another byte would follow the last one", path=path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        code = obj
        if self.zigzag and isinstance(obj, int):
            code = obj << 1 if obj >= 0 else ~(obj << 1)
        if not isinstance(code, int) or not 0 <= code <= self.mask:
            raise construct.IntegerError(f"{obj!r} is not an integer of that range", path=path)
        construct.VarInt._build(int(code), stream, context, path)
        return obj


VarInt32 = BoundedVarInt(32, zigzag=True)
"""Signed, at most five bytes."""

VarInt64 = BoundedVarInt(64, zigzag=True)
"""Signed, at most ten bytes."""

UnsignedVarInt32 = BoundedVarInt(32, zigzag=False)
"""Unsigned, at most five bytes."""

Boolean = construct.Mapping(construct.BitsInteger(1), {False: 0, True: 1})
"""A single bit."""


class Named(construct.Adapter):  # type: ignore[misc]
    """An integer some of whose values have names; the others stay plain integers."""

    def __init__(self, subcon: Any, names: type[IntEnum]) -> None:
        super().__init__(subcon)
        self.names = names

    def _decode(self, obj: int, context: Any, path: str) -> int:
        try:
            return self.names(obj)
        except ValueError:
            return obj

    def _encode(self, obj: Any, context: Any, path: str) -> Any:
        return obj


class NullableBytes(construct.Prefixed):  # type: ignore[misc]
    """Bytes after their own size. A negative size is None; -1 is written for it."""

    def __init__(self, lengthfield: Any) -> None:
        super().__init__(lengthfield, construct.GreedyBytes)
        self.flagbuildnone = True

    def _parse(self, stream: Any, context: Any, path: str) -> bytes | None:
        size = self.lengthfield._parsereport(stream, context, path)
        return None if size < 0 else construct.stream_read(stream, size, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        size = -1 if obj is None else len(obj)
        self.lengthfield._build(size, stream, context, path)
        if obj is not None:
            construct.stream_write(stream, obj, size, path)
        return obj


# What holds others.


class Valid(construct.Validator):  # type: ignore[misc]
    """A value for which ``condition`` must hold, an expression on ``value_`` and ``this``."""

    def __init__(self, subcon: Any, condition: Callable[[Any], Any]) -> None:
        super().__init__(subcon)
        self.condition = condition

    def _validate(self, obj: Any, context: Any, path: str) -> bool:
        context["_value"] = obj
        return bool(self.condition(context))


Absent = Valid(construct.Pass, lambda context: context._value is None)
"""No bytes and no value: what a field is whose ``if:`` does not hold."""


def Guard(condition: Any) -> Any:  # noqa: N802
    """``Check`` for readers only, since what it asks of is not there yet for a writer."""
    return construct.If(this._parsing, construct.Check(condition))


class Instance(construct.Computed):  # type: ignore[misc]
    """``Computed`` for readers only: a meaning of fields, which no writer needs."""

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> None:
        return None


def Ahead(position: int, subcon: Any, of: Any = None) -> Any:  # noqa: N802
    """Return a field that is read ahead, ``position`` bytes from the start of the structure.

    It takes no bytes, and a writer writes none for it: the value is that of the field ``of``.
    """
    pointer = construct.Pointer(FuncPath(_start)(this._io) + position, subcon)
    return construct.Default(construct.IfThenElse(this._parsing, pointer, construct.Pass), of)


class ToEnd(construct.GreedyRange):  # type: ignore[misc]
    """``GreedyRange`` up to the exact end: no error ends the array early."""

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        items = construct.ListContainer()
        while not construct.stream_iseof(stream):
            context._index = len(items)
            items.append(self.subcon._parsereport(stream, context, path))
        return items


class Sized(construct.FixedSized):  # type: ignore[misc]
    """``FixedSized`` whose size follows from what is written, so that nothing is padded."""

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        return self.subcon._build(obj, stream, context, path)


def BitFields(*members: Any) -> Iterator[Any]:  # noqa: N802
    """Neighbouring bit fields among others of a structure: ``*BitFields("a" / ..., "b" / ...)``."""
    names = [member.name for member in members]
    group = bit_group(names[0])
    yield group / construct.Rebuild(construct.Bitwise(construct.Struct(*members)), _picked(names))
    for name in names:
        yield name / construct.Computed(this[group][name])


def _picked(names: list[str]) -> Callable[[Any], dict[str, Any]]:
    return lambda context: {name: context.get(name) for name in names}


def bit_group(first: str) -> str:
    """Return the hidden name of the bytes that begin with the bit field ``first``."""
    return f"_{first}_on"


_INHERITED = ("_params", "_parsing", "_building", "_sizing", "_root", "_index")
"""Names that Construct passes from one context to the next."""


class With(construct.Subconstruct):  # type: ignore[misc]
    """A structure with its parameters: ``With(record, batch=this._.batch)``."""

    def __init__(self, subcon: Any, **arguments: Any) -> None:
        super().__init__(subcon)
        self.arguments = arguments

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        return self.subcon._parsereport(stream, self._scope(context), path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        return self.subcon._build(obj, stream, self._scope(context), path)

    def _scope(self, context: Any) -> Any:
        """Return what the structure sees as ``this._``."""
        given = {name: construct.evaluate(value, context) for name, value in self.arguments.items()}
        return construct.Container({**{name: context.get(name) for name in _INHERITED}, **given})


class Structure(construct.Struct):  # type: ignore[misc]
    """``Struct`` of a type of the specification: its containers say so, and hold its parameters.

    Numbers among the parameters are entries of a container as its fields are. Structures are in
    ``_given`` and not shown, or every record would print its batch.

    Args:
        key: of the type, ``recordbatch.record``.
        members: fields in the order of the specification, and what follows from them.
        parameters: names of what it needs besides bytes: ``record.parse(data, batch=...)``.

    Raises:
        TypeError: a parameter is missing.
    """

    def __init__(self, key: str, *members: Any, parameters: tuple[str, ...] = ()) -> None:
        super().__init__(*members)
        self.key = key
        self.parameters = parameters

    def _given(self, context: Any) -> dict[str, Any]:
        try:
            return {name: context[name] for name in self.parameters}
        except KeyError:
            needed = "".join(f", {name}=..." for name in self.parameters)
            raise TypeError(f"{self.key} needs its parameters: parse(data{needed})") from None

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        given = self._given(context)
        value = super()._parse(stream, context, path)
        value["_type"] = self.key
        value["_given"] = given
        for name, argument in given.items():
            if isinstance(argument, int):
                value[name] = argument
        return value

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        self._given(context)
        if obj is not None and obj.get("_type", self.key) != self.key:
            raise construct.AdaptationError(f"not a value of {self.key}", path=path)
        return super()._build(obj, stream, context, path)


# Functions for ``Rebuild``: fields that writers compute.


def Count(name: str, plus: int = 0, null: int = 0) -> Callable[[Any], int]:  # noqa: N802
    """Return the number of items of an array, or of bytes, plus a constant; ``null`` for None."""

    def count(context: Any) -> int:
        items = context.get(name)
        return (null if items is None else len(items)) + plus

    return count


def Present(name: str, null: int) -> Callable[[Any], int]:  # noqa: N802
    """Return 1 if there is a structure, ``null`` for None."""
    return lambda context: null if context.get(name) is None else 1


@dataclass(frozen=True)
class ByteSpan:
    """A function of the bytes of the fields ``first`` to ``last``; ``...`` is the last of all."""

    function: Callable[[bytes], int]
    first: str
    last: str | EllipsisType | None = None

    def __call__(self, context: Any) -> int:
        names = list(context._subcons)
        start = names.index(self.first)
        stop = len(names) if self.last is ... else names.index(self.last or self.first) + 1
        stream = io.BytesIO()
        for name in names[start:stop]:
            field = context._subcons[name]
            context[name] = field._build(context.get(name), stream, context, "(building)")
        return self.function(stream.getvalue())


def Length(first: str, last: str | EllipsisType | None = None, plus: int = 0) -> ByteSpan:  # noqa: N802
    """Return the size in bytes, plus a constant."""
    return ByteSpan(lambda data: len(data) + plus, first, last)


Crc32 = partial(ByteSpan, checksum.crc32)
"""CRC-32 (IEEE)."""

Crc32c = partial(ByteSpan, checksum.crc32c)
"""CRC-32C (Castagnoli)."""
