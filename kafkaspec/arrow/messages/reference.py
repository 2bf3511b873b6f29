"""Messages through objects of the typed model: for what the engine refuses, and without it."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from struct import pack
from typing import Any

from kafkaspec.codecs import Codec
from kafkaspec.errors import Reason, make_error
from kafkaspec.messages import tables
from kafkaspec.model import java_text

ITEM = "item"
"""Name of the column of a list's items."""

_MISSING = object()
"""The version has no such field, or the tagged field is not there."""


def message_value(codec: Codec, layout: tables.MessageColumns, data: bytes) -> dict[str, Any]:
    """Return a message as Arrow takes it.

    Raises:
        KafkaSpecError: the bytes are none.
    """
    value, end = codec.parse(layout.key, data, complete=True)
    if end != len(data):
        detail = f"{len(data) - end} bytes are left after the message"
        raise make_error(Reason.TRAILING_BYTES, detail, offset=end)
    return _structure(layout.root, value)


def _structure(column: tables.ColumnLayout, value: Any) -> dict[str, Any]:
    return {child.name: _child(child, value) for child in column.children}


def _child(column: tables.ColumnLayout, holder: Any) -> Any:
    for path in column.paths:
        found = _follow(holder, path)
        if found is not _MISSING:
            return None if found is None else _value(column, found)
    return _default(column) if column.filled and _has_section(column, holder) else None


def _has_section(column: tables.ColumnLayout, holder: Any) -> bool:
    """Return whether the version has the tagged fields that the column is one of."""
    for path in column.paths:
        at = next(index for index, step in enumerate(path) if isinstance(step, tuple))
        if _follow(holder, path[:at]) is not _MISSING:
            return True
    return False


def _follow(value: Any, path: tables.Path) -> Any:
    for step in path:
        if isinstance(step, str):
            value = getattr(value, step, _MISSING)
        else:
            name, number = step
            found = (item for item in value if getattr(item, name) == number)
            value = next(found, _MISSING)
        if value is None or value is _MISSING:
            return value
    return value


def _value(column: tables.ColumnLayout, value: Any) -> Any:
    match column.kind:
        case tables.ColumnKind.STRUCT:
            return _structure(column, value)
        case tables.ColumnKind.LIST:
            item = column.children[0]
            if column.known:
                number = item.children[0]
                value = [one for one in value if _child(number, one) not in column.known]
            return [_child(item, one) for one in value]
        case tables.ColumnKind.TEXT:
            return java_text(bytes(value))
        case tables.ColumnKind.BYTES | tables.ColumnKind.FIXED:
            return bytes(value)
        case tables.ColumnKind.BOOLEAN:
            return bool(value)
    return value


def _default(column: tables.ColumnLayout) -> Any:
    """Return what Kafka's classes begin with."""
    match column.kind:
        case tables.ColumnKind.STRUCT:
            return {
                child.name: None if child.nullable else _default(child) for child in column.children
            }
        case tables.ColumnKind.LIST:
            return []
        case tables.ColumnKind.TEXT:
            return ""
        case tables.ColumnKind.BYTES:
            return b""
        case tables.ColumnKind.FIXED:
            return bytes(column.size)
        case tables.ColumnKind.FLOAT:
            return float(column.default)
        case tables.ColumnKind.BOOLEAN:
            return bool(column.default)
    return column.default


class Unencodable(Exception):  # noqa: N818 - the caller makes the error of the library
    """A value does not fit; ``column`` is its number."""

    def __init__(self, column: int) -> None:
        super().__init__(column)
        self.column = column


class MessageWriter:
    """Writes messages by a program, as the engine in C does."""

    def __init__(self, layout: tables.MessageColumns) -> None:
        self._lines = [
            layout.program[at : at + tables.WIDTH]
            for at in range(0, len(layout.program), tables.WIDTH)
        ]
        self._columns = list(layout.root.walk())
        self._out = bytearray()

    def message(self, value: Mapping[str, Any]) -> bytes:
        """Return the bytes of a message.

        Raises:
            Unencodable: a value does not fit.
        """
        self._out = bytearray()
        self._run(0, len(self._lines), value)
        return bytes(self._out)

    def _run(self, at: int, stop: int, holder: Mapping[str, Any]) -> None:
        """Write the lines up to ``stop``, whose columns ``holder`` has."""
        while at < stop:
            line = self._lines[at]
            step, column, after = line[:3]
            value = None
            if column >= 0:
                value = holder[self._columns[column].name]
            if step == tables.Step.END:
                return
            if step in (tables.Step.CASE, tables.Step.GUARD):
                pass
            elif step == tables.Step.VERSION:
                self._integer(line, value)
                at += 1
                for _ in range((value or 0) - line[-2]):
                    if self._lines[at][2] < after:
                        at = self._lines[at][2]
                stop, at = self._lines[at][2], at + 1
                continue
            elif step == tables.Step.ABSENT:
                if value is not None:
                    raise Unencodable(column)
            else:
                self._step(at, line, value, holder)
            at = after

    def _step(self, at: int, line: tuple[int, ...], value: Any, holder: Any) -> None:
        step, column, after, _, plus, flags, low, _ = line
        if step == tables.Step.INTEGER:
            self._integer(line, low if column < 0 else value)
        elif step == tables.Step.STRUCT:
            if flags & tables.MARKED:
                self._integer(line, plus - 1 if value is None else 1)
            elif value is None:
                raise Unencodable(column)
            if value is not None:
                self._run(at + 1, after, value)
        elif step == tables.Step.LIST or step == tables.Step.BYTES:
            if value is None and not flags & tables.NULLABLE:
                raise Unencodable(column)
            self._integer(line, plus - 1 if value is None else len(_raw(value)) + plus)
            if step == tables.Step.BYTES:
                self._out += _raw(value or b"")
            else:
                for item in value or ():
                    self._run(at + 1, after, {ITEM: item})
        elif value is None:
            raise Unencodable(column)
        elif step == tables.Step.TAGS:
            self._tags(at, line, value, holder)
        else:
            self._out += value

    def _integer(self, line: tuple[int, ...], value: Any) -> None:
        _, column, _, size, _, flags, low, high = line
        if isinstance(value, float):
            self._out += pack(">d", value)
            return
        if value is None or not low <= value <= high:
            raise Unencodable(column)
        try:
            if size:
                self._out += int(value).to_bytes(size, "big", signed=bool(flags & tables.SIGNED))
            else:
                self._out += varint(value)
        except OverflowError:
            raise Unencodable(column) from None

    def _tags(self, at: int, line: tuple[int, ...], unknown: Any, holder: Any) -> None:
        column, after = line[1], line[2]
        found: dict[int, bytes] = {}
        at += 1
        known = set()
        while at < after:
            tag = self._lines[at]
            known.add(tag[-2])
            if self._is_there(at, tag[2], holder):
                outer, self._out = self._out, bytearray()
                self._run(at + 1, tag[2], holder)
                found[tag[-2]], self._out = bytes(self._out), outer
            at = tag[2]
        last = -1
        for item in unknown:
            if item is None or None in item.values() or item["tag"] <= last or item["tag"] in known:
                raise Unencodable(column)
            last = item["tag"]
            found[last] = item["data"]
        self._integer(line, len(found))
        for number, content in sorted(found.items()):
            self._out += varint(number) + varint(len(content)) + content

    def _is_there(self, at: int, stop: int, holder: Any) -> bool:
        """Return whether a tagged field is to be written."""
        at += 1
        while at < stop:
            number = self._lines[at][1]
            if number > 0:
                column = self._columns[number]
                value = holder[column.name]
                if value != _default(column) if column.filled else value is not None:
                    return True
            at = self._lines[at][2]
        return False


def _raw(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def varint(value: int) -> bytes:
    """Return an unsigned varint."""
    if not 0 <= value < 1 << 32:
        raise OverflowError(value)
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_integer(stream: BytesIO, size: int, *, signed: bool) -> int | None:
    """Return the next integer, a varint if ``size`` is 0; None if it is not there."""
    if size:
        data = stream.read(size)
        return int.from_bytes(data, "big", signed=signed) if len(data) == size else None
    value = 0
    for shift in range(0, 35, 7):
        byte = stream.read(1)
        if not byte:
            return None
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value & 0xFFFFFFFF
    return None
