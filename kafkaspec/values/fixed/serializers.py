"""Keys and values of Kafka's own serializers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout.framing import fixed_size
from kafkaspec.values.decoded import Code, Decoded, Decoder, Failure
from kafkaspec.values.fixed.layouts import (
    bytes_of,
    failure_of,
    lengths_other_than,
    moved,
    parse,
    split,
)

_UUID: Final = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
_LARGEST_BOOLEAN: Final = 1
_LIST: Final = "serialized.list_value"


@dataclass(frozen=True, slots=True)
class BytesDecoder:
    """Passes bytes on."""

    type: ClassVar = pa.binary()

    def decode(self, payloads: pa.Array) -> Decoded:
        """Return the payloads."""
        return Decoded(payloads)


@dataclass(frozen=True, slots=True)
class VoidDecoder:
    """Decodes what can only be null."""

    type: ClassVar = pa.null()

    def decode(self, payloads: pa.Array) -> Decoded:
        """Return nulls."""
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
        failures: dict[int, Failure] = {}
        texts: list[str | None] = []
        for row, data in enumerate(payloads.to_pylist()):
            text = None
            try:
                text = None if data is None else data.decode()
            except UnicodeDecodeError as error:
                failures[row] = Failure(Code.BAD_UTF8, error.reason, error.start)
            texts.append(text)
        return Decoded(pa.array(texts, pa.string()), failures)


@dataclass(frozen=True, slots=True)
class NumberDecoder:
    """Decodes numbers of one size.

    Attributes:
        type: type of the column.
        key: key of the type in the specification.
    """

    type: pa.DataType
    key: str

    def decode(self, payloads: pa.Array) -> Decoded:
        """Decode payloads."""
        size = fixed_size(self.key)
        failures = lengths_other_than(payloads, size, f"a {self.key.partition('.')[2]}")
        rows, places = split(payloads, failures)
        # Not as floating-point numbers: the bits of one that is no number are kept.
        bits = np.frombuffer(bytes_of(rows), f">i{size}").astype(f"<i{size}")
        numbers = pa.Array.from_buffers(self.type, len(bits), [None, pa.py_buffer(bits)])
        return Decoded(numbers if len(rows) == len(payloads) else numbers.take(places), failures)


@dataclass(frozen=True, slots=True)
class BooleanDecoder:
    """Decodes truth values of one byte."""

    key: ClassVar = "serialized.boolean_value"
    type: ClassVar = pa.bool_()

    def decode(self, payloads: pa.Array) -> Decoded:
        """Decode payloads."""
        failures = lengths_other_than(payloads, fixed_size(self.key), "a boolean")
        rows, places = split(payloads, failures)
        octets = np.frombuffer(bytes_of(rows), "u1")
        if (octets > _LARGEST_BOOLEAN).any():
            numbers = np.flatnonzero(np.asarray(places.is_valid()))
            wrong = numbers[octets > _LARGEST_BOOLEAN].tolist()
            failures |= dict.fromkeys(wrong, Failure(Code.MALFORMED, "neither 0 nor 1", 0))
            rows, places = split(payloads, failures)
            octets = np.frombuffer(bytes_of(rows), "u1")
        return Decoded(pa.array(octets.astype(bool), pa.bool_()).take(places), failures)


@dataclass(frozen=True, slots=True)
class UuidDecoder:
    """Decodes UUIDs that are text."""

    key: ClassVar = "serialized.uuid_value"
    type: ClassVar = pa.string()

    def decode(self, payloads: pa.Array) -> Decoded:
        """Decode payloads."""
        failures = lengths_other_than(payloads, fixed_size(self.key), "a UUID as text")
        rows, places = split(payloads, failures)
        fits = np.asarray(pc.match_substring_regex(rows, _UUID))
        if not fits.all():
            numbers = np.flatnonzero(np.asarray(places.is_valid()))
            wrong = Failure(Code.MALFORMED, "no UUID as text", 0)
            failures |= dict.fromkeys(numbers[~fits].tolist(), wrong)
            rows, places = split(payloads, failures)
        return Decoded(rows.cast(pa.string()).take(places), failures)


@dataclass(frozen=True, slots=True)
class ListDecoder:
    """Decodes lists of Kafka's list serializer.

    Attributes:
        item: decoder of an item.
        item_size: bytes of an item that has always as many, else 0.
        most_items: items that a list may have.
    """

    item: Decoder
    item_size: int
    most_items: int

    @property
    def type(self) -> pa.DataType:
        """The type of the column."""
        return pa.list_(self.item.type)

    def decode(self, payloads: pa.Array) -> Decoded:
        """Decode payloads: lists one by one, then items of all of them at once."""
        failures: dict[int, Failure] = {}
        items: list[bytes | None] = []
        ends: list[int | None] = []
        owners: list[int] = []
        for row, data in enumerate(payloads.to_pylist()):
            start = len(items)
            found = None
            if data is not None:
                try:
                    found = self._items(data)
                except KafkaSpecError as error:
                    failures[row] = failure_of(error)
                except _ListError as error:
                    failures[row] = Failure(error.code, str(error))
            if found is None:
                ends.append(None)
            else:
                ends.append(start)
                items.extend(found)
                owners.extend([row] * len(found))
        decoded = self.item.decode(pa.array(items, pa.binary()))
        for number, failure in decoded.failures.items():
            failures.setdefault(owners[number], moved(failure, "items", 0))
        offsets = pa.array([*ends, len(items)], pa.int32())
        values = pa.ListArray.from_arrays(offsets, decoded.values)
        if decoded.failures:
            keep = np.ones(len(payloads), bool)
            keep[list(failures)] = False
            values = pc.if_else(pa.array(keep), values, pa.scalar(None, values.type))
        return Decoded(values.cast(self.type), failures)

    def _items(self, data: bytes) -> list[bytes | None]:
        content = parse(_LIST, data).items
        if isinstance(content.items, list):
            count = len(content.items)
            if count > self.most_items:
                raise _ListError(Code.BOUND, f"more than {self.most_items} items")
            return [None if item is None else bytes(item) for item in content.items]
        nulls = set(content.nulls)
        left = content.size - len(nulls)
        if content.size > self.most_items:
            raise _ListError(Code.BOUND, f"more than {self.most_items} items")
        if not self.item_size:
            raise _ListError(Code.MALFORMED, "items of one size, which this type does not have")
        if len(nulls) != len(content.nulls) or not all(0 <= n < content.size for n in nulls):
            raise _ListError(Code.MALFORMED, "positions of nulls outside the list, or twice")
        if len(content.items) != left * self.item_size:
            short = len(content.items) < left * self.item_size
            reason = f"{len(content.items)} bytes are not {left} items of {self.item_size}"
            raise _ListError(Code.TRUNCATED if short else Code.TRAILING, reason)
        octets = bytes(content.items)
        starts = iter(range(0, len(octets), self.item_size))
        return [
            None if place in nulls else octets[(at := next(starts)) : at + self.item_size]
            for place in range(content.size)
        ]


class _ListError(ValueError):
    """A list is not what its items allow."""

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(reason)
        self.code = code


SERIALIZERS: Final[dict[str, Decoder]] = {
    "bytes": BytesDecoder(),
    "text": TextDecoder(),
    "string": TextDecoder(),
    "boolean": BooleanDecoder(),
    "short": NumberDecoder(pa.int16(), "serialized.short_value"),
    "int": NumberDecoder(pa.int32(), "serialized.integer_value"),
    "integer": NumberDecoder(pa.int32(), "serialized.integer_value"),
    "long": NumberDecoder(pa.int64(), "serialized.long_value"),
    "float": NumberDecoder(pa.float32(), "serialized.float_value"),
    "double": NumberDecoder(pa.float64(), "serialized.double_value"),
    "uuid": UuidDecoder(),
    "void": VoidDecoder(),
}
"""Decoders by name."""


def constant_size(decoder: Decoder) -> int:
    """Return the bytes of each item in a list of Kafka's serializer, 0 where they vary."""
    return fixed_size(decoder.key) if isinstance(decoder, NumberDecoder | UuidDecoder) else 0
