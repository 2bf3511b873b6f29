"""Construct classes for the leaves of the definitions: fields, integers and bytes.

They fill three gaps of Construct: a field knows its place in the specification and says where in
the bytes it begins when it fails, nothing is read or allocated beyond the structure that holds it,
and what is checked on reading is checked on writing as well.

Everything that fails ends as an error of ``kafkaspec.errors``. Inside of a ``Field`` Construct's
own exceptions are used; the ``Field`` translates them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from construct import (  # type: ignore[import-untyped]
    Adapter,
    BitsInteger,
    Construct,
    ConstructError,
    IntegerError,
    StreamError,
    Subconstruct,
    ValidationError,
    stream_read,
)

from kafkaspec._generated.python.runtime import endless, invalid, missing, trailing, unencodable
from kafkaspec.codecs.references.construct.window import Window


class VarIntError(IntegerError):  # type: ignore[misc]
    """The last byte that a varint may have says that another follows."""


def is_raw(context: Any) -> bool:
    """Whether stored values are to be written as they are: ``build(value, _raw=True)``."""
    return bool(context.get("_raw", False))


def compute(parameter: Any, context: Any) -> Any:
    """A number, or what an expression gives."""
    return parameter(context) if callable(parameter) else parameter


def compute_to_build(parameter: Any, context: Any) -> Any:
    """The same, but None if it depends on a parameter that a writer was not told."""
    try:
        return compute(parameter, context)
    except KeyError:
        return None


class Field(Subconstruct):  # type: ignore[misc]
    """One field of the specification, or one item of it if it is an array.

    Args:
        subcon: how it reads and writes.
        valid: what must hold, an expression on ``value_`` and ``this``.

    Attributes:
        location: place in the specification, ``recordbatch.ksy#/types/record/seq/3``; the
            ``Structure`` that has the field sets it.

    Raises:
        KafkaSpecError: with the position at which the field begins. ``Structure`` and ``Items``
            put the path together on the way out.
    """

    def __init__(self, subcon: Any, valid: Any = None, location: str = "") -> None:
        super().__init__(subcon)
        self.location = location
        self.valid = valid

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        start = stream.tell()
        try:
            value = self.subcon._parsereport(stream, context, path)
        except StreamError:
            raise missing(start, getattr(stream, "exact", False), "", self.location) from None
        except VarIntError:
            raise endless(start, "", self.location) from None
        except ConstructError as error:
            raise invalid(start, getattr(error, "value", None), "", self.location) from None
        if self.valid is not None:
            context["_value"] = value
            if not self.valid(context):
                raise invalid(start, value, "", self.location)
        return value

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        try:
            built = self.subcon._build(obj, stream, context, path)
        except ConstructError as error:
            raise unencodable(getattr(error, "value", obj), "", self.location) from None
        if self.valid is not None and not is_raw(context):
            context["_value"] = built
            if not self.valid(context):
                raise unencodable(built, "", self.location)
        return built


class Guard(Construct):  # type: ignore[misc]
    """The end of a structure: nothing may be left, or ``condition`` must hold for another reason.

    It takes no bytes and is not looked at while building.
    """

    def __init__(self, condition: Any) -> None:
        super().__init__()
        self.location = ""
        self.condition = condition
        self.flagbuildnone = True

    def _parse(self, stream: Any, context: Any, path: str) -> bytes:
        if not compute(self.condition, context):
            raise trailing(stream.tell(), stream.left, "", self.location)
        return b""

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> bytes:
        return b""


class BoundedVarInt(Construct):  # type: ignore[misc]
    """A base-128 integer of Kafka: low group first, surplus bits of the last byte are dropped.

    Longer encodings than needed are read, the shortest is written. Kafka: ``ByteUtils``.

    Args:
        bits: width of the integer; it decides how many bytes there may be.
        zigzag: signed, with the sign in the lowest bit.
    """

    def __init__(self, bits: int, *, zigzag: bool) -> None:
        super().__init__()
        self.bits = bits
        self.zigzag = zigzag
        self.maximum_length = -(-bits // 7)
        self.minimum = -(1 << (bits - 1)) if zigzag else 0
        self.maximum = (1 << (bits - int(zigzag))) - 1

    def _parse(self, stream: Any, context: Any, path: str) -> int:
        code = 0
        for index in range(self.maximum_length):
            group: int = stream_read(stream, 1, path)[0]
            code |= (group & 0x7F) << (7 * index)
            if group < 0x80:
                break
        else:
            raise VarIntError("another byte would follow the last one", path=path)
        code &= (1 << self.bits) - 1
        return (code >> 1) ^ -(code & 1) if self.zigzag else code

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if not isinstance(obj, int) or not self.minimum <= obj <= self.maximum:
            raise IntegerError("not an integer of that range", path=path)
        code = int(obj)
        if self.zigzag:
            code = (code << 1) ^ (code >> (self.bits - 1))
            code &= (1 << self.bits) - 1
        encoded = bytearray()
        while code >= 0x80:
            encoded.append(code & 0x7F | 0x80)
            code >>= 7
        encoded.append(code)
        stream.write(bytes(encoded))
        return obj


VarInt32 = BoundedVarInt(32, zigzag=True)
"""Signed, at most five bytes."""

VarInt64 = BoundedVarInt(64, zigzag=True)
"""Signed, at most ten bytes."""

UnsignedVarInt32 = BoundedVarInt(32, zigzag=False)
"""Unsigned, at most five bytes."""


def _check_bytes(obj: Any, path: str) -> None:
    if not isinstance(obj, bytes | bytearray | memoryview):
        raise ValidationError("not a byte string", path=path)


class _Boolean(BitsInteger):  # type: ignore[misc]
    """A single bit as False or True."""

    def _parse(self, stream: Any, context: Any, path: str) -> bool:
        return bool(super()._parse(stream, context, path))

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        return super()._build(int(obj) if isinstance(obj, int) else obj, stream, context, path)


Boolean = _Boolean(1)
"""A single bit as False or True, among ``BitsInteger`` of the same structure."""


class SizedBytes(Construct):  # type: ignore[misc]
    """Bytes behind their own size: together one value.

    Args:
        length: how the size reads and writes.
        plus: what the stored size is larger by.
        nullable: a negative size is None, -1 is written for it; otherwise it is an error.
        valid: what must hold of the stored size, an expression on ``value_``.
    """

    def __init__(
        self, length: Any, *, plus: int = 0, nullable: bool = False, valid: Any = None
    ) -> None:
        super().__init__()
        self.length = length
        self.plus = plus
        self.nullable = nullable
        self.valid = valid

    def _check(self, stored: int, context: Any, path: str) -> None:
        if self.valid is not None:
            context["_value"] = stored
            if not self.valid(context):
                raise invalid_size(stored, path)

    def _parse(self, stream: Any, context: Any, path: str) -> bytes | None:
        stored = self.length._parsereport(stream, context, path)
        self._check(stored, context, path)
        size = stored - self.plus
        if size >= 0:
            data: bytes = stream_read(stream, size, path)
            return data
        if not self.nullable:
            raise invalid_size(stored, path)
        return None

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if obj is not None or not self.nullable:
            _check_bytes(obj, path)
        stored = (-1 if obj is None else memoryview(obj).nbytes) + self.plus
        if not is_raw(context):
            self._check(stored, context, path)
        self.length._build(stored, stream, context, path)
        if obj is not None:
            stream.write(obj)
        return obj


def invalid_size(stored: int, path: str) -> ConstructError:
    error = ValidationError(f"the size {stored} is not allowed", path=path)
    error.value = stored
    return error


class ExactBytes(Construct):  # type: ignore[misc]
    """``size`` bytes; a size that is an expression is computed from the bytes by the writer."""

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = size

    def _parse(self, stream: Any, context: Any, path: str) -> bytes:
        size = compute(self.size, context)
        if size < 0:
            raise invalid_size(size, path)
        data: bytes = stream_read(stream, size, path)
        return data

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        _check_bytes(obj, path)
        if isinstance(self.size, int) and len(obj) != self.size and not is_raw(context):
            raise ValidationError(f"not {self.size} bytes", path=path)
        stream.write(obj)
        return obj


class _RemainingBytes(Construct):  # type: ignore[misc]
    """All bytes up to the end of the structure, as a slice of the buffer."""

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        return stream.take() if isinstance(stream, Window) else stream.read()

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        _check_bytes(obj, path)
        stream.write(obj)
        return obj


RemainingBytes = _RemainingBytes()
"""All bytes up to the end of the structure, as a slice of the buffer that was handed in."""


class Named(Adapter):  # type: ignore[misc]
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
        return int(obj) if isinstance(obj, int) else obj
