"""Checks the bytes of messages before a library reads them: one rule for every way to decode.

A library that finds a fault says little about it, and what it does with hostile bytes is its own
affair. So all that is wrong is found here first, with the place, and what is right needs no more
memory than the bounds say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import FieldDescriptor

from kafkaspec.extension import usable
from kafkaspec.values.decoded import Code, Failure
from kafkaspec.values.options import Bounds
from kafkaspec.values.protobuf.schema import Schema

TAG_BYTES = 5
LENGTH_BYTES = 5
VARINT_BYTES = 10
ALL_BITS = (1 << 64) - 1
LONGEST = (1 << 31) - 1
"""The largest length that Protobuf allows."""
NATIVE_DEPTH = 256
"""Levels that the check in C has room for."""
WIDEST = 1 << 40
"""Bytes of columns of one message, above which they are no longer counted."""

_VARINT, _I64, _LEN, _START, _END, _I32 = range(6)


class Kind(IntEnum):
    """The layout of a field on the wire."""

    VARINT = 0
    I64 = 1
    BYTES = 2
    GROUP = 3
    I32 = 5
    TEXT = 6
    MESSAGE = 7


_WIRE = {Kind.TEXT: _LEN, Kind.MESSAGE: _LEN}
_KINDS = {
    FieldDescriptor.TYPE_DOUBLE: Kind.I64,
    FieldDescriptor.TYPE_FIXED64: Kind.I64,
    FieldDescriptor.TYPE_SFIXED64: Kind.I64,
    FieldDescriptor.TYPE_FLOAT: Kind.I32,
    FieldDescriptor.TYPE_FIXED32: Kind.I32,
    FieldDescriptor.TYPE_SFIXED32: Kind.I32,
    FieldDescriptor.TYPE_STRING: Kind.TEXT,
    FieldDescriptor.TYPE_BYTES: Kind.BYTES,
    FieldDescriptor.TYPE_MESSAGE: Kind.MESSAGE,
    FieldDescriptor.TYPE_GROUP: Kind.GROUP,
}
_PACKED = (Kind.VARINT, Kind.I64, Kind.I32)
_SIZES = {Kind.I64: 8, Kind.I32: 4}


@dataclass(frozen=True, slots=True)
class Member:
    """A field as it is on the wire.

    Attributes:
        number: its number.
        name: its name, for people.
        kind: what it has.
        repeated: whether it is a list.
        inner: number of the layout of its message; -1 if it has none.
        width: bytes of columns that each value takes beside its own bytes; 0 if the message that
            it is part of has counted them.
    """

    number: int
    name: str
    kind: Kind
    repeated: bool
    inner: int
    width: int


@dataclass(frozen=True, slots=True)
class Layouts:
    """The messages that one type of messages can hold; it is the first of them.

    Attributes:
        messages: fields of each, by number.
        width: bytes of columns that a message of the first takes beside its own bytes.
    """

    messages: tuple[Mapping[int, Member], ...]
    width: int


def layouts(schema: Schema, name: str) -> Layouts:
    """Return what messages of a type look like on the wire."""
    places: dict[str, int] = {name: 0}
    order = [schema.descriptor(name)]
    for descriptor in order:  # grows
        for part in _parts(schema, descriptor):
            inner = part.message_type
            if inner is not None and inner.full_name not in places:
                places[inner.full_name] = len(order)
                order.append(inner)
    endless = _endless(schema, order)
    widths = _widths(schema, order, endless)
    found: list[Mapping[int, Member]] = []
    for descriptor in order:
        names = {part.number: part.name for part in schema.declared[descriptor.full_name].field}
        members = {}
        for part in _parts(schema, descriptor):
            inner = part.message_type
            counted = part.is_repeated or (inner is not None and inner.full_name in endless)
            width = 8 if inner is None else widths[inner.full_name]
            members[part.number] = Member(
                part.number,
                f"[{part.full_name}]" if part.is_extension else names[part.number],
                _KINDS.get(part.type, Kind.VARINT),
                part.is_repeated,
                -1 if inner is None else places[inner.full_name],
                width if counted else 0,
            )
        found.append(members)
    return Layouts(tuple(found), widths[name])


class Rules:
    """Checks many messages of one type.

    Attributes:
        width: bytes of columns that a message of no bytes takes.
    """

    def __init__(self, found: Layouts, bounds: Bounds) -> None:
        self.width = found.width
        self._found = found
        self._bounds = bounds
        first = np.cumsum([0, *(len(one) for one in found.messages)])
        counts = [len(one) for one in found.messages]
        self._messages = np.column_stack([first[:-1], counts]).astype(np.int64)
        members = [one[number] for one in found.messages for number in sorted(one)]
        self._members = np.array(
            [(one.number, one.kind, one.repeated, one.inner, one.width) for one in members],
            np.int64,
        ).reshape(-1, 5)

    def check(self, payloads: pa.Array) -> tuple[Any, Any]:
        """Return which rows are messages, and the bytes of their columns; of nulls anything."""
        size = len(payloads)
        right = np.zeros(size, np.bool_)
        module = usable()
        if module is None or self._bounds.depth > NATIVE_DEPTH:
            widths = np.zeros(size, np.int64)
            for row, payload in enumerate(payloads.to_pylist()):
                width = check(payload or b"", self._found, self._bounds)
                right[row] = isinstance(width, int)
                widths[row] = width if isinstance(width, int) else 0
            return right, widths
        _, offsets, data = payloads.buffers()
        places = np.frombuffer(offsets, np.int32)[payloads.offset : payloads.offset + size + 1]
        widths = self._found.width + np.diff(places).astype(np.int64)
        if size:
            module.wire_check(
                data if data is not None else b"",
                offsets,
                payloads.offset,
                size,
                self._messages,
                self._members,
                self._bounds.depth,
                self._bounds.items,
                WIDEST,
                right,
                widths,
            )
        return right, widths

    def explain(self, payload: bytes) -> Failure:
        """Return what is wrong with the bytes of a message."""
        found = check(payload, self._found, self._bounds)
        return found if isinstance(found, Failure) else Failure(Code.MALFORMED, "no message")


def _endless(schema: Schema, order: list[Any]) -> set[str]:
    """Return full names of messages that hold themselves, or others that do."""
    holders: dict[str, list[str]] = {one.full_name: [] for one in order}
    left: dict[str, int] = {}
    for one in order:
        inner = {part.message_type.full_name for part in _parts(schema, one) if part.message_type}
        left[one.full_name] = len(inner)
        for name in inner:
            holders[name].append(one.full_name)
    done = [name for name, count in left.items() if not count]
    for name in done:  # grows
        del left[name]
        for holder in holders[name]:
            left[holder] -= 1
            if not left[holder]:
                done.append(holder)
    return set(left)


def _widths(schema: Schema, order: list[Any], endless: set[str]) -> dict[str, int]:
    """Return bytes of the columns of each message, without what lists in it hold."""
    by_name = {one.full_name: one for one in order}
    widths: dict[str, int] = {}
    stack = [one.full_name for one in order]
    while stack:
        name = stack[-1]
        width = 1
        missing = []
        for part in _parts(schema, by_name[name]):
            inner = None if part.is_repeated else part.message_type
            if inner is None or inner.full_name in endless:
                width += 8
            elif inner.full_name in widths:
                width += widths[inner.full_name]
            else:
                missing.append(inner.full_name)
        if missing:
            stack += missing
        else:
            widths[stack.pop()] = min(width, WIDEST)
    return widths


def _parts(schema: Schema, descriptor: Any) -> list[Any]:
    """Return the fields of a message, and extensions of it."""
    parts = list(descriptor.fields)
    if descriptor.is_extendable:  # to look for extensions takes long
        parts += schema.pool.FindAllExtensions(descriptor)
    return parts


class WireError(ValueError):
    """Something is wrong with the bytes of a message."""

    def __init__(self, code: Code, reason: str, position: int) -> None:
        super().__init__(reason)
        self.code = code
        self.position = position


def read_varint(payload: bytes, begin: int, end: int, most: int, what: str) -> tuple[int, int]:
    """Return a varint of at most so many bytes, and where it ends."""
    value = 0
    for place in range(most):
        if begin + place >= end:
            raise WireError(Code.TRUNCATED, f"the end is within {what}", begin)
        byte = payload[begin + place]
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value & ALL_BITS, begin + place + 1
    raise WireError(Code.MALFORMED, f"{what} has more than {most} bytes", begin)


def check(payload: bytes, found: Layouts, bounds: Bounds) -> int | Failure:
    """Return bytes of columns that a message takes; or what is wrong with it."""
    walk = _Walk(payload, found, bounds)
    try:
        walk.run()
    except WireError as fault:
        path = ".".join(name for name in walk.path if name)
        return Failure(fault.code, str(fault), fault.position, path)
    return walk.width


def knows(payload: bytes, found: Layouts, bounds: Bounds) -> bool:
    """Return whether bytes are a message, and one of its own fields is among them."""
    walk = _Walk(payload, found, bounds)
    try:
        walk.run()
    except WireError:
        return False
    return walk.known


class _Walk:
    def __init__(self, payload: bytes, found: Layouts, bounds: Bounds) -> None:
        self.payload = payload
        self.messages = found.messages
        self.bounds = bounds
        self.position = 0
        self.items = 0
        self.width = found.width + len(payload)
        self.path: list[str] = []
        self.known = False

    def run(self) -> None:
        """Walk over all fields of all messages."""
        # Layout, -1 if it is unknown; end; number of the group, 0 if it is none.
        stack = [(0, len(self.payload), 0)]
        while stack:
            layout, end, group = stack[-1]
            if self.position == end:
                if group:
                    raise WireError(Code.TRUNCATED, f"group {group} has no end", end)
                stack.pop()
                del self.path[-1:]
                continue
            begin = self.position
            tag = self.varint(end, TAG_BYTES, "a tag")
            number, wire = tag >> 3, tag & 7
            if tag >> 32 or not number:
                raise WireError(Code.MALFORMED, f"no field has the number {number}", begin)
            if wire == _END:
                if number != group:
                    raise WireError(
                        Code.MALFORMED, f"group {number} ends, which has no begin", begin
                    )
                stack.pop()
                del self.path[-1:]
                continue
            member = self.messages[layout].get(number) if layout >= 0 else None
            self.path.append("" if member is None else member.name)
            inner = self.field(member, number, wire, end, begin)
            if inner is None:
                self.path.pop()
                continue
            stack.append(inner)
            if len(stack) > self.bounds.depth:
                reason = f"messages are nested more than {self.bounds.depth} levels"
                raise WireError(Code.DEPTH, reason, begin)

    def field(
        self, member: Member | None, number: int, wire: int, end: int, begin: int
    ) -> tuple[int, int, int] | None:
        """Pass a field; return what it holds if that is a message or group."""
        kind = None if member is None else member.kind
        if wire == _START:
            if kind is Kind.GROUP and member is not None:
                self.count(member, 1)
                return member.inner, end, number
            return -1, end, number
        if wire == _VARINT:
            self.varint(end, VARINT_BYTES, "a number")
        elif wire in (_I64, _I32):
            self.skip(8 if wire == _I64 else 4, end)
        elif wire == _LEN:
            size = self.varint(end, LENGTH_BYTES, "a length")
            if size > LONGEST:
                raise WireError(Code.MALFORMED, f"a length of {size} bytes", begin)
            inner = self.position + size
            if inner > end:
                reason = f"a value of {size} bytes goes {inner - end} beyond the end"
                raise WireError(Code.TRUNCATED, reason, begin)
            if kind is Kind.MESSAGE and member is not None:
                self.count(member, 1)
                return member.inner, inner, 0
            if kind is Kind.TEXT:
                self.text(inner)
            elif member is not None and member.repeated and kind in _PACKED:
                self.packed(member, inner)
                return None
            self.position = inner
        else:
            raise WireError(Code.MALFORMED, f"no value has the wire type {wire}", begin)
        if member is not None and wire == _WIRE.get(member.kind, int(member.kind)):
            self.count(member, 1)
        return None

    def packed(self, member: Member, end: int) -> None:
        """Pass values of a list that stand without tags."""
        size = _SIZES.get(member.kind)
        if size is not None:
            if (end - self.position) % size:
                reason = f"{end - self.position} bytes are not a list of values of {size} bytes"
                raise WireError(Code.MALFORMED, reason, self.position)
            self.count(member, (end - self.position) // size)
            self.position = end
            return
        while self.position < end:
            self.varint(end, VARINT_BYTES, "a number")
            self.count(member, 1)

    def count(self, member: Member, items: int) -> None:
        """Count items of lists, and the columns that they take."""
        self.known = True
        self.width = min(self.width + member.width * items, WIDEST)
        if member.repeated:
            self.items += items
            if self.items > self.bounds.items:
                reason = f"lists and maps have more than {self.bounds.items} items"
                raise WireError(Code.BOUND, reason, self.position)

    def varint(self, end: int, most: int, what: str) -> int:
        value, self.position = read_varint(self.payload, self.position, end, most, what)
        return value

    def skip(self, size: int, end: int) -> None:
        if self.position + size > end:
            raise WireError(Code.TRUNCATED, f"a value of {size} bytes is cut off", self.position)
        self.position += size

    def text(self, end: int) -> None:
        try:
            self.payload[self.position : end].decode()
        except UnicodeDecodeError as error:
            place = self.position + error.start
            raise WireError(Code.BAD_UTF8, "a text is not UTF-8", place) from error
