"""Keys and values of Kafka's own serializers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.layout.framing import fixed_size
from kafkaspec.values.decoded import (
    Code,
    Decoded,
    Decoder,
    Failure,
    PayloadError,
    RowDecoder,
    read_each,
)
from kafkaspec.values.fixed.layouts import inner, of_other_size, parse, split
from kafkaspec.values.rows import bytes_of

_UUID: Final = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
_LARGEST_BOOLEAN: Final = 1
_LIST: Final = "serialized.list_value"


@dataclass(frozen=True, slots=True)
class BytesDecoder:
    """Passes bytes on."""

    type: ClassVar = pa.binary()

    def decode(self, payloads: pa.Array) -> Decoded:
        return Decoded(payloads)


@dataclass(frozen=True, slots=True)
class VoidDecoder:
    """Decodes what can only be null."""

    type: ClassVar = pa.null()

    def decode(self, payloads: pa.Array) -> Decoded:
        rows = pc.indices_nonzero(payloads.is_valid()).to_pylist()
        failure = Failure(Code.TRAILING, "not null", 0)
        return Decoded(pa.nulls(len(payloads)), dict.fromkeys(rows, failure))


@dataclass(frozen=True, slots=True)
class TextDecoder:
    """Decodes text in UTF-8."""

    type: ClassVar = pa.string()

    def decode(self, payloads: pa.Array) -> Decoded:
        """Decode payloads: all at once, or one by one if one of them is not UTF-8."""
        try:
            return Decoded(payloads.cast(pa.string()))
        except pa.ArrowInvalid:
            pass
        return RowDecoder(self.type, _text).decode(payloads)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise PayloadError(Code.BAD_UTF8, error.reason, error.start) from None


@dataclass(frozen=True, slots=True)
class SizedDecoder:
    """Decodes values of one size.

    Attributes:
        type: type of the column.
        key: key of the type in the specification.
        what: what a value is, for people.
        convert: makes the column of values that are right.
        right: returns an array of NumPy, true for values that are right; None if all are.
        wrong: what others are.
    """

    type: pa.DataType
    key: str
    what: str
    convert: Callable[[pa.Array, pa.DataType], pa.Array]
    right: Callable[[pa.Array], Any] | None = None
    wrong: str = ""

    @property
    def size(self) -> int:
        """Bytes of a value."""
        return fixed_size(self.key)

    def decode(self, payloads: pa.Array) -> Decoded:
        failures = of_other_size(payloads, self.size, self.what)
        rows, places = split(payloads, failures)
        if self.right is not None and not (right := self.right(rows)).all():
            numbers = np.flatnonzero(np.asarray(places.is_valid()))
            failure = Failure(Code.MALFORMED, self.wrong, 0)
            failures |= dict.fromkeys(numbers[~right].tolist(), failure)
            rows, places = split(payloads, failures)
        values = self.convert(rows, self.type)
        return Decoded(values if len(rows) == len(payloads) else values.take(places), failures)


def _numbers(rows: pa.Array, kind: pa.DataType) -> pa.Array:
    # Not as floating-point numbers: the bits of one that is no number are kept.
    size = kind.byte_width
    bits = np.frombuffer(bytes_of(rows), f">i{size}").astype(f"<i{size}")
    return pa.Array.from_buffers(kind, len(bits), [None, pa.py_buffer(bits)])


def _octets(rows: pa.Array) -> Any:
    return np.frombuffer(bytes_of(rows), "u1")


def _number(name: str, kind: pa.DataType) -> SizedDecoder:
    return SizedDecoder(kind, f"serialized.{name}", f"a {name}", _numbers)


@dataclass(frozen=True, slots=True)
class ListDecoder:
    """Decodes lists of Kafka's list serializer; ``item_size`` is 0 where sizes of items vary."""

    item: Decoder
    item_size: int
    most_items: int

    @property
    def type(self) -> pa.DataType:
        return pa.list_(self.item.type)

    def decode(self, payloads: pa.Array) -> Decoded:
        """Decode payloads: lists one by one, then items of all of them at once."""
        failures: dict[int, Failure] = {}
        items: list[bytes | None] = []
        ends: list[int | None] = []
        owners: list[int] = []
        lists = read_each(enumerate(payloads.to_pylist()), self._items, failures)
        for row, found in enumerate(lists):
            ends.append(None if found is None else len(items))
            items += found or ()
            owners += [row] * len(found or ())
        decoded = inner(self.item, pa.array(items, pa.binary()), "items", failures, owners)
        offsets = pa.array([*ends, len(items)], pa.int32())
        values = pa.ListArray.from_arrays(offsets, decoded)
        if failures:
            keep = np.ones(len(payloads), bool)
            keep[list(failures)] = False
            values = pc.if_else(pa.array(keep), values, pa.scalar(None, values.type))
        return Decoded(values.cast(self.type), failures)

    def _items(self, data: bytes) -> list[bytes | None]:
        content = parse(_LIST, data).items
        if isinstance(content.items, list):
            count = len(content.items)
            if count > self.most_items:
                raise PayloadError(Code.BOUND, f"more than {self.most_items} items")
            return [None if item is None else bytes(item) for item in content.items]
        nulls = set(content.nulls)
        left = content.size - len(nulls)
        if content.size > self.most_items:
            raise PayloadError(Code.BOUND, f"more than {self.most_items} items")
        if not self.item_size:
            raise PayloadError(Code.MALFORMED, "items of one size, which this type does not have")
        if len(nulls) != len(content.nulls) or not all(0 <= n < content.size for n in nulls):
            raise PayloadError(Code.MALFORMED, "positions of nulls outside the list, or twice")
        if len(content.items) != left * self.item_size:
            short = len(content.items) < left * self.item_size
            reason = f"{len(content.items)} bytes are not {left} items of {self.item_size}"
            raise PayloadError(Code.TRUNCATED if short else Code.TRAILING, reason)
        octets = bytes(content.items)
        starts = iter(range(0, len(octets), self.item_size))
        return [
            None if place in nulls else octets[(at := next(starts)) : at + self.item_size]
            for place in range(content.size)
        ]


SERIALIZERS: Final[dict[str, Decoder]] = {
    "bytes": BytesDecoder(),
    "text": TextDecoder(),
    "string": TextDecoder(),
    "boolean": SizedDecoder(
        pa.bool_(), "serialized.boolean_value", "a boolean",
        lambda rows, kind: pa.array(_octets(rows).astype(bool), kind),
        lambda rows: _octets(rows) <= _LARGEST_BOOLEAN, "neither 0 nor 1",
    ),
    "short": _number("short_value", pa.int16()),
    "int": _number("integer_value", pa.int32()),
    "integer": _number("integer_value", pa.int32()),
    "long": _number("long_value", pa.int64()),
    "float": _number("float_value", pa.float32()),
    "double": _number("double_value", pa.float64()),
    "uuid": SizedDecoder(
        pa.string(), "serialized.uuid_value", "a UUID as text",
        lambda rows, kind: rows.cast(kind),
        lambda rows: np.asarray(pc.match_substring_regex(rows, _UUID)), "no UUID as text",
    ),
    "void": VoidDecoder(),
}  # fmt: skip
"""Decoders by name."""


def constant_size(decoder: Decoder) -> int:
    """Return the bytes of each item in a list of Kafka's serializer, 0 where they vary."""
    if not isinstance(decoder, SizedDecoder) or pa.types.is_boolean(decoder.type):
        return 0
    return decoder.size
