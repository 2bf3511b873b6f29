"""The bytes between a frame and a message: lists of indexes, and Apicurio's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.values.decoded import Code, Failure, PayloadError
from kafkaspec.values.protobuf.wire import LENGTH_BYTES, VARINT_BYTES, read_varint
from kafkaspec.values.rows import without

LONGEST_LIST = 64
"""Indexes of a list: one for each level of nested messages."""
LONGEST_NAME = 1024
"""Bytes of a name that Apicurio writes, with its tag and length."""
LARGEST_INDEX = (1 << 31) - 1
DIFFERENT = 64
"""Different beginnings of payloads that are looked for in all of them at once."""

_LEN_OF_NAME = 1 << 3 | 2
"""The tag of the only field of Apicurio's message ``Ref``."""

What = TypeVar("What")


@dataclass(frozen=True, slots=True)
class Heads(Generic[What]):
    """Payloads without what they begin with; null in rows of no group.

    ``groups`` has for each row its place in ``values``, -1 for a null and for one that failed.
    """

    values: tuple[What, ...]
    groups: Any
    payloads: pa.Array
    failures: Mapping[int, Failure]


def split_index_lists(payloads: pa.Array) -> Heads[tuple[int, ...]]:
    """Split off lists of indexes: payloads begin after the id of their schema."""
    return _split(payloads, read_index_list)


def split_names(payloads: pa.Array) -> Heads[str]:
    """Split off the names of messages that Apicurio writes before them."""
    return _split(payloads, read_name)


def read_index_list(payload: bytes) -> tuple[tuple[int, ...], int]:
    """Return the list of indexes that a payload begins with, and its size; [0] may be one zero."""
    count, position = _index(payload, 0, "the count of indexes")
    if not 0 <= count <= LONGEST_LIST:
        raise PayloadError(Code.MESSAGE_INDEX, f"a list of {count} indexes", 0)
    indexes = []
    for _ in range(count):
        begin = position
        index, position = _index(payload, position, "an index")
        if not 0 <= index <= LARGEST_INDEX:
            raise PayloadError(Code.MESSAGE_INDEX, f"no message has the index {index}", begin)
        indexes.append(index)
    return tuple(indexes) or (0,), position


def read_name(payload: bytes) -> tuple[str, int]:
    """Return the name that Apicurio writes before a message, and the size of it all."""
    size, begin = read_varint(payload, 0, len(payload), LENGTH_BYTES, "a length")
    end = begin + size
    if end > len(payload):
        raise PayloadError(Code.TRUNCATED, "the name of the message goes beyond the end", 0)
    if begin == end or size > LONGEST_NAME or payload[begin] != _LEN_OF_NAME:
        raise PayloadError(Code.NOT_FRAMED, "no name of a message", begin)
    length, place = read_varint(payload, begin + 1, end, LENGTH_BYTES, "a length")
    if place + length != end:
        raise PayloadError(Code.NOT_FRAMED, "no name of a message", begin)
    try:
        return payload[place:end].decode(), end
    except UnicodeDecodeError as error:
        raise PayloadError(Code.BAD_UTF8, "the name of the message is not UTF-8", place) from error


def _index(payload: bytes, position: int, what: str) -> tuple[int, int]:
    value, end = read_varint(payload, position, len(payload), VARINT_BYTES, what)
    return value >> 1 ^ -(value & 1), end


def _split(payloads: pa.Array, read: Callable[[bytes], tuple[What, int]]) -> Heads[What]:
    numbers: dict[What, int] = {}
    failures: dict[int, Failure] = {}
    groups = np.full(len(payloads), -1, np.int32)
    sizes = np.zeros(len(payloads), np.int64)
    left = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
    for attempt in range(len(left)):
        if not len(left):
            break
        # Lists and names say where they end: what begins with the bytes of one is that one.
        row = int(left[0])
        payload = payloads[row].as_py()
        same = left[:1]
        try:
            value, size = read(payload)
        except PayloadError as fault:
            failures[row] = fault.failure
            left = left[1:]
            continue
        if attempt < DIFFERENT:
            among = payloads if len(left) == len(payloads) else payloads.take(pa.array(left))
            begins = pc.starts_with(among, payload[:size])
            begins = begins.to_numpy(zero_copy_only=False)
            same, left = left[begins], left[~begins]
        else:
            left = left[1:]
        groups[same] = numbers.setdefault(value, len(numbers))
        sizes[same] = size
    return Heads(tuple(numbers), groups, without(payloads, sizes, groups >= 0), failures)
