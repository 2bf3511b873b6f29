"""Reads payloads one by one: every byte is checked, and what is wrong has a place and a path.

Functions are made once for a pair of schemas. Each takes the payload and a position, and returns a
value and the position after it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from kafkaspec.values.decoded import Code, PayloadError
from kafkaspec.values.options import Bounds

_MOST = (1 << 31) - (1 << 20)
"""Bytes of a column of Arrow whose offsets have 32 bits."""

_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")


class ReadingState:
    """The rest of the limits: of items and depth for a row, of output for all rows."""

    __slots__ = ("_bounds", "depth", "items", "output")

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self.output = min(bounds.output_bytes, _MOST)
        self.start()

    def start(self) -> None:
        self.items = self._bounds.items
        self.depth = self._bounds.depth

    def take(self, cost: int, at: int) -> None:
        self.output -= cost
        if self.output < 0:
            raise PayloadError(Code.BOUND, "the columns of the batch take more than the limit", at)


Read: TypeAlias = Callable[[bytes, int, ReadingState], tuple[Any, int]]


def read_payload(read: Read, data: bytes, state: ReadingState) -> Any:
    """Read a payload to its last byte."""
    state.start()
    state.take(len(data), 0)
    try:
        value, at = read(data, 0, state)
    except RecursionError:
        raise PayloadError(Code.DEPTH, "the value is nested too deeply", 0) from None
    if at != len(data):
        raise PayloadError(Code.TRAILING, f"{len(data) - at} bytes follow the value", at)
    return value


def _truncated(at: int) -> PayloadError:
    return PayloadError(Code.TRUNCATED, "the payload ends within a value", at)


def read_null(data: bytes, at: int, state: ReadingState) -> tuple[None, int]:
    return None, at


def read_boolean(data: bytes, at: int, state: ReadingState) -> tuple[bool, int]:
    """Read a byte that is 0 or 1."""
    if at >= len(data):
        raise _truncated(at)
    if data[at] > 1:
        raise PayloadError(Code.MALFORMED, f"a boolean is the byte {data[at]}", at)
    return data[at] == 1, at + 1


def read_long(data: bytes, at: int, state: ReadingState) -> tuple[int, int]:
    """Read a zigzag varint of at most 64 bits; it may be longer than it need be."""
    number = shift = 0
    for end in range(at, at + 10):
        if end >= len(data):
            raise _truncated(at)
        byte = data[end]
        if byte < 0x80:
            number |= byte << shift
            if number >> 64:
                break
            return (number >> 1) ^ -(number & 1), end + 1
        number |= (byte & 0x7F) << shift
        shift += 7
    raise PayloadError(Code.MALFORMED, "an integer takes more than 64 bits", at)


def read_int(data: bytes, at: int, state: ReadingState) -> tuple[int, int]:
    """Read a zigzag varint of 32 bits."""
    number, end = read_long(data, at, state)
    if not -(1 << 31) <= number < 1 << 31:
        raise PayloadError(Code.MALFORMED, f"an int is {number}", at)
    return number, end


def read_bytes(data: bytes, at: int, state: ReadingState) -> tuple[bytes, int]:
    length, begin = read_long(data, at, state)
    if length < 0:
        raise PayloadError(Code.MALFORMED, f"a length is {length}", at)
    if length > len(data) - begin:
        raise _truncated(at)
    return data[begin : begin + length], begin + length


def read_string(data: bytes, at: int, state: ReadingState) -> tuple[str, int]:
    raw, end = read_bytes(data, at, state)
    try:
        return raw.decode(), end
    except UnicodeDecodeError as error:
        position = end - len(raw) + error.start
        raise PayloadError(Code.BAD_UTF8, "a text is not UTF-8", position) from None


def read_fixed(size: int) -> Read:
    """Return what reads as many bytes."""

    def read(data: bytes, at: int, state: ReadingState) -> tuple[bytes, int]:
        if size > len(data) - at:
            raise _truncated(at)
        return data[at : at + size], at + size

    return read


def read_number(size: int) -> Read:
    """Return what reads a little-endian number of as many bytes: the bits of a float."""

    def read(data: bytes, at: int, state: ReadingState) -> tuple[int, int]:
        if size > len(data) - at:
            raise _truncated(at)
        return int.from_bytes(data[at : at + size], "little"), at + size

    return read


read_float, read_double = read_number(4), read_number(8)


def converted(read: Read, convert: Callable[[Any], Any]) -> Read:
    """Return what reads a value and converts it; a ValueError of that is its failure."""

    def read_converted(data: bytes, at: int, state: ReadingState) -> tuple[Any, int]:
        value, end = read(data, at, state)
        try:
            return convert(value), end
        except ValueError as error:
            raise PayloadError(Code.RANGE, str(error), at) from None

    return read_converted


def costly(read: Read, cost: Callable[[Any], int]) -> Read:
    """Return what reads a value, and takes the bytes of output that the value costs."""

    def read_costly(data: bytes, at: int, state: ReadingState) -> tuple[Any, int]:
        value, end = read(data, at, state)
        state.take(cost(value), at)
        return value, end

    return read_costly


def read_symbol(symbols: list[Any]) -> Read:
    """Return what reads the number of a symbol; one that cannot be read is a LookupError."""

    def read(data: bytes, at: int, state: ReadingState) -> tuple[Any, int]:
        number, end = read_int(data, at, state)
        if not 0 <= number < len(symbols):
            raise PayloadError(Code.MALFORMED, f"a symbol has the number {number}", at)
        value = symbols[number]
        if isinstance(value, LookupError):
            raise PayloadError(Code.RESOLUTION, str(value), at)
        return value, end

    return read


def read_branch(branches: list[Read]) -> Read:
    """Return what reads the number of a branch of a union, then its value."""

    def read(data: bytes, at: int, state: ReadingState) -> tuple[Any, int]:
        number, end = read_int(data, at, state)
        if not 0 <= number < len(branches):
            raise PayloadError(Code.MALFORMED, f"a branch has the number {number}", at)
        return branches[number](data, end, state)

    return read


def read_record(
    fields: list[tuple[str, str | None, Read]], defaults: dict[str, Any], cost: int
) -> Read:
    """Return what reads a record as a dictionary, with some defaults, at a cost of output.

    Fields have their name, that in the dictionary (None: the value is left out), and a function.
    """

    def read(data: bytes, at: int, state: ReadingState) -> tuple[dict[str, Any], int]:
        if not state.depth:
            raise PayloadError(Code.DEPTH, "records are nested too deeply", at)
        state.depth -= 1
        if cost:
            state.take(cost, at)
        values = dict(defaults)
        for name, target, read_field in fields:
            try:
                value, at = read_field(data, at, state)
            except PayloadError as bad:
                bad.path.append(name)
                raise
            if target is not None:
                values[target] = value
        state.depth += 1
        return values, at

    return read


def _counts(least: int, cost: int) -> Callable[[bytes, int, ReadingState], tuple[int, int]]:
    """Return what reads the number of items of a block, each of some bytes and cost at least."""

    def read(data: bytes, at: int, state: ReadingState) -> tuple[int, int]:
        count, end = read_long(data, at, state)
        if count < 0:
            count = -count
            size, end = read_long(data, end, state)
            if size < 0:
                raise PayloadError(Code.MALFORMED, f"a block has the size {size}", at)
        if count * least > len(data) - end:
            raise _truncated(at)
        if count > state.items:
            raise PayloadError(Code.BOUND, "the value has more items than the limit", at)
        state.items -= count
        state.take(count * cost, at)
        return count, end

    return read


def read_array(item: Read, least: int, cost: int) -> Read:
    read_count = _counts(least, cost)

    def read(data: bytes, at: int, state: ReadingState) -> tuple[list[Any], int]:
        values: list[Any] = []
        try:
            while True:
                count, at = read_count(data, at, state)
                if not count:
                    return values, at
                for _ in range(count):
                    value, at = item(data, at, state)
                    values.append(value)
        except PayloadError as bad:
            bad.path.append(f"[{len(values)}]")
            raise

    return read


def read_map(item: Read, least: int, cost: int, make: Callable[[dict[str, Any]], Any]) -> Read:
    """Return what reads a map; of a key that is there twice the last value counts."""
    read_count = _counts(least + 1, cost)

    def read(data: bytes, at: int, state: ReadingState) -> tuple[Any, int]:
        values: dict[str, Any] = {}
        while True:
            count, at = read_count(data, at, state)
            if not count:
                return make(values), at
            for _ in range(count):
                key, at = read_string(data, at, state)
                try:
                    values[key], at = item(data, at, state)
                except PayloadError as bad:
                    bad.path.append(f"[{key[:40]!r}]")
                    raise

    return read


def skip_record(fields: list[tuple[str, Read]]) -> Read:
    """Return what leaves a record out; it counts as an item, as it may have no bytes."""
    read_fields = read_record([(name, None, read) for name, read in fields], {}, 0)

    def skip(data: bytes, at: int, state: ReadingState) -> tuple[None, int]:
        if not state.items:
            raise PayloadError(Code.BOUND, "the value has more items than the limit", at)
        state.items -= 1
        return None, read_fields(data, at, state)[1]

    return skip


def refuse(reason: str) -> Read:
    """Return what fails, since two schemas do not go together."""

    def read(data: bytes, at: int, state: ReadingState) -> tuple[Any, int]:
        raise PayloadError(Code.RESOLUTION, reason, at)

    return read


def float_of(bits: int) -> float:
    return float(_FLOAT.unpack(bits.to_bytes(4, "little"))[0])


def double_of(bits: int) -> float:
    return float(_DOUBLE.unpack(bits.to_bytes(8, "little"))[0])


def double_bits(number: float) -> int:
    return int.from_bytes(_DOUBLE.pack(number), "little")


def float_bits(number: float) -> int:
    """Return the bits of the float that is nearest to a number; an integer is rounded once."""
    exact = np.int64(number) if isinstance(number, int) else np.float64(number)
    with np.errstate(over="ignore"):
        return int(exact.astype(np.float32).view(np.uint32))


def fields_of(names: Iterable[str]) -> int:
    """Return how many bytes names take as JSON, quotes and colons included."""
    return sum(len(name) + 4 for name in names)
