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
from kafkaspec.values.decoded import Code, Failure, PayloadError
from kafkaspec.values.options import Bounds
from kafkaspec.values.protobuf.schema import ProtobufSchema

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


class WireKind(IntEnum):
    """The layout of a field on the wire."""

    VARINT = 0
    I64 = 1
    BYTES = 2
    GROUP = 3
    I32 = 5
    TEXT = 6
    MESSAGE = 7


_WIRE = {WireKind.TEXT: _LEN, WireKind.MESSAGE: _LEN}
_KINDS = {
    FieldDescriptor.TYPE_DOUBLE: WireKind.I64,
    FieldDescriptor.TYPE_FIXED64: WireKind.I64,
    FieldDescriptor.TYPE_SFIXED64: WireKind.I64,
    FieldDescriptor.TYPE_FLOAT: WireKind.I32,
    FieldDescriptor.TYPE_FIXED32: WireKind.I32,
    FieldDescriptor.TYPE_SFIXED32: WireKind.I32,
    FieldDescriptor.TYPE_STRING: WireKind.TEXT,
    FieldDescriptor.TYPE_BYTES: WireKind.BYTES,
    FieldDescriptor.TYPE_MESSAGE: WireKind.MESSAGE,
    FieldDescriptor.TYPE_GROUP: WireKind.GROUP,
}
_PACKED = (WireKind.VARINT, WireKind.I64, WireKind.I32)
_SIZES = {WireKind.I64: 8, WireKind.I32: 4}


@dataclass(frozen=True, slots=True)
class _Member:
    """A field as it is on the wire.

    ``inner`` is the number of the layout of its message, -1 for none. ``width``: bytes of columns
    that each value takes beside its own bytes; 0 if the message around it has counted them.
    """

    number: int
    name: str
    kind: WireKind
    repeated: bool
    inner: int
    width: int


class Rules:
    """Checks messages of one type, by the layouts of all messages that they can hold.

    Attributes:
        width: bytes of columns that a message of no bytes takes.
    """

    def __init__(self, schema: ProtobufSchema, name: str, bounds: Bounds) -> None:
        self.bounds = bounds
        self.messages: list[Mapping[int, _Member]] = []
        places: dict[str, int] = {name: 0}
        order = [schema.descriptor(name)]
        for descriptor in order:  # grows
            for part in _parts(schema, descriptor):
                inner = part.message_type
                if inner is not None and inner.full_name not in places:
                    places[inner.full_name] = len(order)
                    order.append(inner)
        widths, endless = _widths(schema, order)
        self.width = widths[name]
        for descriptor in order:
            names = {part.number: part.name for part in schema.declared[descriptor.full_name].field}
            members = {}
            for part in _parts(schema, descriptor):
                inner = part.message_type
                counted = part.is_repeated or (inner is not None and inner.full_name in endless)
                width = 8 if inner is None else widths[inner.full_name]
                members[part.number] = _Member(
                    part.number,
                    f"[{part.full_name}]" if part.is_extension else names[part.number],
                    _KINDS.get(part.type, WireKind.VARINT),
                    part.is_repeated,
                    -1 if inner is None else places[inner.full_name],
                    width if counted else 0,
                )
            self.messages.append(members)
        counts = [len(one) for one in self.messages]
        first = np.cumsum([0, *counts])
        self._layouts = np.column_stack([first[:-1], counts]).astype(np.int64)
        every = [one[number] for one in self.messages for number in sorted(one)]
        self._members = np.array(
            [(one.number, one.kind, one.repeated, one.inner, one.width) for one in every], np.int64
        ).reshape(-1, 5)

    def check(self, payloads: pa.Array) -> tuple[Any, Any]:
        """Return which rows are messages, and the bytes of their columns; of nulls anything."""
        size = len(payloads)
        right = np.zeros(size, np.bool_)
        module = usable()
        if module is None or self.bounds.depth > NATIVE_DEPTH:
            widths = np.zeros(size, np.int64)
            for row, payload in enumerate(payloads.to_pylist()):
                walk = _Walk(payload or b"", self)
                right[row] = walk.failure is None
                widths[row] = walk.width if right[row] else 0
            return right, widths
        _, offsets, data = payloads.buffers()
        places = np.frombuffer(offsets, np.int32)[payloads.offset : payloads.offset + size + 1]
        widths = self.width + np.diff(places).astype(np.int64)
        if size:
            module.wire_check(
                data if data is not None else b"",
                offsets,
                payloads.offset,
                size,
                self._layouts,
                self._members,
                self.bounds.depth,
                self.bounds.items,
                WIDEST,
                right,
                widths,
            )
        return right, widths

    def explain(self, payload: bytes) -> Failure:
        """Return what is wrong with the bytes of a message."""
        return _Walk(payload, self).failure or Failure(Code.MALFORMED, "no message")

    def knows(self, payload: bytes) -> bool:
        """Return whether bytes are a message, and one of its own fields is among them."""
        walk = _Walk(payload, self)
        return walk.known and walk.failure is None


def _widths(schema: ProtobufSchema, order: list[Any]) -> tuple[dict[str, int], set[str]]:
    """Return bytes of the columns of each message, without what lists in it hold.

    With them, full names of messages that hold themselves, or others that do.
    """
    parts = {one.full_name: _parts(schema, one) for one in order}
    holders: dict[str, list[str]] = {name: [] for name in parts}
    left: dict[str, int] = {}
    for name, found in parts.items():
        inner = {part.message_type.full_name for part in found if part.message_type}
        left[name] = len(inner)
        for each in inner:
            holders[each].append(name)
    done = [name for name, count in left.items() if not count]
    for name in done:  # grows
        del left[name]
        for holder in holders[name]:
            left[holder] -= 1
            if not left[holder]:
                done.append(holder)
    widths: dict[str, int] = {}
    for name in (*done, *left):  # each after those in it that have an end
        single = (None if part.is_repeated else part.message_type for part in parts[name])
        inner_widths = (
            8 if one is None or one.full_name in left else widths[one.full_name] for one in single
        )
        widths[name] = min(1 + sum(inner_widths), WIDEST)
    return widths, set(left)


def _parts(schema: ProtobufSchema, descriptor: Any) -> list[Any]:
    """Return the fields of a message, and extensions of it."""
    parts = list(descriptor.fields)
    if descriptor.is_extendable:  # to look for extensions takes long
        parts += schema.pool.FindAllExtensions(descriptor)
    return parts


def read_varint(payload: bytes, begin: int, end: int, most: int, what: str) -> tuple[int, int]:
    """Return a varint of at most so many bytes, and where it ends."""
    value = 0
    for place in range(most):
        if begin + place >= end:
            raise PayloadError(Code.TRUNCATED, f"the end is within {what}", begin)
        byte = payload[begin + place]
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value & ALL_BITS, begin + place + 1
    raise PayloadError(Code.MALFORMED, f"{what} has more than {most} bytes", begin)


class _Walk:
    """A walk over all fields of a message, and of those in it: its failure, or its width."""

    def __init__(self, payload: bytes, rules: Rules) -> None:
        self._payload = payload
        self._messages = rules.messages
        self._bounds = rules.bounds
        self._items = 0
        self.width = rules.width + len(payload)
        self.known = False
        self.failure: Failure | None = None
        try:
            self._message(0, 0, len(payload), 0, 1)
        except PayloadError as bad:
            path = ".".join(reversed(bad.path))
            self.failure = Failure(bad.code, str(bad), bad.position, path)
        except RecursionError:
            self.failure = Failure(Code.DEPTH, "messages are nested too deeply")

    def _message(self, layout: int, at: int, end: int, group: int, level: int) -> int:
        """Pass the fields of a message, of layout -1 if it is unknown; return where it ends."""
        members = self._messages[layout] if layout >= 0 else {}
        while at != end:
            begin = at
            tag, at = read_varint(self._payload, at, end, TAG_BYTES, "a tag")
            number, wire = tag >> 3, tag & 7
            if tag >> 32 or not number:
                raise PayloadError(Code.MALFORMED, f"no field has the number {number}", begin)
            if wire == _END:
                if number != group:
                    reason = f"group {number} ends, which has no begin"
                    raise PayloadError(Code.MALFORMED, reason, begin)
                return at
            member = members.get(number)
            try:
                at = self._field(member, number, wire, begin, at, end, level)
            except PayloadError as bad:
                bad.path += [] if member is None else [member.name]
                raise
        if group:
            raise PayloadError(Code.TRUNCATED, f"group {group} has no end", end)
        return at

    def _field(
        self,
        member: _Member | None,
        number: int,
        wire: int,
        begin: int,
        at: int,
        end: int,
        level: int,
    ) -> int:
        """Pass a field, whose tag begins before its value; return where it ends."""
        kind = None if member is None else member.kind
        if wire == _START:
            known = member if kind is WireKind.GROUP else None
            return self._inner(known, begin, at, end, number, level)
        if wire == _VARINT:
            _, at = read_varint(self._payload, at, end, VARINT_BYTES, "a number")
        elif wire in (_I64, _I32):
            size = 8 if wire == _I64 else 4
            if at + size > end:
                raise PayloadError(Code.TRUNCATED, f"a value of {size} bytes is cut off", at)
            at += size
        elif wire == _LEN:
            size, at = read_varint(self._payload, at, end, LENGTH_BYTES, "a length")
            after = at + size
            if size > LONGEST:
                raise PayloadError(Code.MALFORMED, f"a length of {size} bytes", begin)
            if after > end:
                reason = f"a value of {size} bytes goes {after - end} beyond the end"
                raise PayloadError(Code.TRUNCATED, reason, begin)
            if kind is WireKind.MESSAGE:
                return self._inner(member, begin, at, after, 0, level)
            if kind is WireKind.TEXT:
                _check_text(self._payload, at, after)
            elif member is not None and member.repeated and kind in _PACKED:
                self._packed(member, at, after)
                return after
            at = after
        else:
            raise PayloadError(Code.MALFORMED, f"no value has the wire type {wire}", begin)
        if member is not None and wire == _WIRE.get(member.kind, int(member.kind)):
            self._count(member, 1, at)
        return at

    def _inner(
        self, member: _Member | None, begin: int, at: int, end: int, group: int, level: int
    ) -> int:
        """Pass a message or group within another one; return where it ends."""
        if member is not None:
            self._count(member, 1, at)
        if level >= self._bounds.depth:
            reason = f"messages are nested more than {self._bounds.depth} levels"
            raise PayloadError(Code.DEPTH, reason, begin)
        return self._message(-1 if member is None else member.inner, at, end, group, level + 1)

    def _packed(self, member: _Member, at: int, end: int) -> None:
        """Count the values of a list that stand without tags."""
        size = _SIZES.get(member.kind)
        if size is None:
            while at < end:
                _, at = read_varint(self._payload, at, end, VARINT_BYTES, "a number")
                self._count(member, 1, at)
            return
        if (end - at) % size:
            reason = f"{end - at} bytes are not a list of values of {size} bytes"
            raise PayloadError(Code.MALFORMED, reason, at)
        self._count(member, (end - at) // size, at)

    def _count(self, member: _Member, items: int, at: int) -> None:
        """Count items of lists, and the columns that they take."""
        self.known = True
        self.width = min(self.width + member.width * items, WIDEST)
        if member.repeated:
            self._items += items
            if self._items > self._bounds.items:
                reason = f"lists and maps have more than {self._bounds.items} items"
                raise PayloadError(Code.BOUND, reason, at)


def _check_text(payload: bytes, at: int, end: int) -> None:
    try:
        payload[at:end].decode()
    except UnicodeDecodeError as error:
        raise PayloadError(Code.BAD_UTF8, "a text is not UTF-8", at + error.start) from error
