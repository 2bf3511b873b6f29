"""Random messages by the program of a table: each version, every null, tags known and not."""

from __future__ import annotations

import random
import struct
from typing import Any

from kafkaspec.messages.tables import (
    MARKED,
    NULLABLE,
    WIDTH,
    ColumnKind,
    ColumnLayout,
    MessageColumns,
    Step,
)

_TEXTS = ("", "a", "group-1", "Überschrift", "\U0001f600", "x" * 140)
_NUMBERS = (0, 1, -1, 2, 127, 128, 255, 32767, 65535, 1 << 31, (1 << 31) - 1, (1 << 63) - 1)


class RandomMessages:
    """Makes values of a message as Arrow takes them.

    Args:
        layout: the message.
        seed: of the random numbers.
        defaults: whether tagged fields can be there with what their absence means; Kafka would
            leave them out.
    """

    def __init__(self, layout: MessageColumns, seed: int, *, defaults: bool = True) -> None:
        self._random = random.Random(seed)
        self._defaults = defaults
        self._lines = [
            layout.program[at : at + WIDTH] for at in range(0, len(layout.program), WIDTH)
        ]
        self._columns = list(layout.root.walk())

    def message(self) -> dict[str, Any]:
        """Return one message."""
        value: dict[str, Any] = {}
        self._fill(0, len(self._lines), value)
        return value

    def _fill(self, at: int, stop: int, holder: dict[str, Any]) -> None:
        while at < stop:
            step, number, after, _, _, _, low, high = self._lines[at]
            if step == Step.END:
                return
            if step == Step.VERSION:
                cases = [at + 1]
                while self._lines[cases[-1]][2] < after:
                    cases.append(self._lines[cases[-1]][2])
                version = self._random.randint(low, min(high, low + len(cases)))
                holder[self._columns[number].name] = version
                at = cases[min(version - low, len(cases) - 1)]
                stop, at = self._lines[at][2], at + 1
                continue
            if number >= 0:
                column = self._columns[number]
                holder[column.name] = self._value(at, column)
            if step == Step.TAGS:
                at += 1
                while at < after:
                    self._tag(at, holder)
                    at = self._lines[at][2]
            at = after

    def _value(self, at: int, column: ColumnLayout) -> Any:
        step, _, after, _, _, flags, low, high = self._lines[at]
        chance = self._random.random()
        match step:
            case Step.ABSENT:
                return None
            case Step.STRUCT if flags & MARKED and chance < 0.3:
                return None
            case Step.STRUCT:
                inner: dict[str, Any] = {}
                self._fill(at + 1, after, inner)
                return inner
            case Step.LIST | Step.BYTES if flags & NULLABLE and chance < 0.3:
                return None
            case Step.LIST:
                items = []
                for _ in range(130 if chance > 0.97 else self._random.randrange(4)):
                    item: dict[str, Any] = {}
                    self._fill(at + 1, after, item)
                    items.append(item["item"])
                return items
            case Step.TAGS:
                known = {line[-2] for line in self._lines[at + 1 : after] if line[0] == Step.TAG}
                tags = {self._random.randrange(300) for _ in range(3)} if chance < 0.2 else set()
                return [{"tag": tag, "data": self._bytes()} for tag in sorted(tags - known)]
            case Step.BYTES if column.kind is ColumnKind.TEXT:
                return self._random.choice(_TEXTS)
            case Step.BYTES:
                return self._bytes()
            case Step.REST:
                return self._bytes() if chance < 0.2 else b""
            case Step.FIXED:
                return self._random.randbytes(column.size)
        if column.kind is ColumnKind.BOOLEAN:
            return chance < 0.5
        if column.kind is ColumnKind.FLOAT:
            return struct.unpack(">d", self._random.randbytes(7) + b"?")[0]
        top = 1 << (8 * column.size - column.signed)
        bottom = -top if column.signed else 0
        found = [n for n in _NUMBERS if max(low, bottom) <= n <= min(high, top - 1)]
        return self._random.choice(found)

    def _bytes(self) -> bytes:
        return self._random.randbytes(self._random.choice((0, 1, 3, 17, 200)))

    def _tag(self, at: int, holder: dict[str, Any]) -> None:
        after = self._lines[at][2]
        there = self._random.random() < 0.6
        if there:
            self._fill(at + 1, after, holder)
        at += 1
        while at < after:
            number = self._lines[at][1]
            column = self._columns[number]
            if number >= 0 and there and not self._defaults:
                there = not _is_default(column, self._lines[at], holder[column.name])
            if number >= 0 and not there:
                # Null is a value of such a tag; it is left out where it has its default.
                holder[column.name] = [] if column.filled else None
                if column.filled and column.kind is ColumnKind.STRUCT:
                    holder[column.name] = None
            at = self._lines[at][2]


def _is_default(column: ColumnLayout, line: tuple[int, ...], value: Any) -> bool:
    if column.kind is ColumnKind.LIST and value is not None:
        return not value and (column.filled or not line[5] & NULLABLE)
    if column.kind in (ColumnKind.BOOLEAN, ColumnKind.INTEGER):
        return int(value) == column.default
    return value is None and not column.filled
