"""Kafka's own messages in columns, without PyArrow: which records of a topic the engine decodes.

The engine in C works by generated tables. Of what it refuses, ``kafkaspec.messages.decoding`` says
whether and why it does not decode: that is the reference.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkaspec.codecs.native.core import DEFAULT_PACKAGE, Core
from kafkaspec.columns.conditions import Compare, Marks
from kafkaspec.layout import MessageLayout, Role
from kafkaspec.messages.lookup import HEADS, in_topic, key_says, may_have_key
from kafkaspec.messages.tables import (
    HIGHEST,
    LOWEST,
    SIGNED,
    ColumnKind,
    ColumnLayout,
    MessageColumns,
    Step,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from kafkaspec.columns.memory import BytesColumn

_VIEWS: Final = 2
"""Number of the engine for byte strings in Arrow's views."""
_VALIDITY, _VALUES = 2, 3
"""Places of the buffers of a column, as the engine gives it."""
_NUMBER: Final = "number"
_SET: Final = re.compile(rb"[^\0]")


@dataclass(frozen=True)
class Program:
    """A message as the engine takes it.

    Attributes:
        layout: its columns and its program.
    """

    layout: MessageColumns

    @cached_property
    def engine(self) -> tuple[array[int], array[int]]:
        """The columns and the program as 64-bit numbers."""
        return array("q", self.layout.numbers()), array("q", self.layout.program)


@cache
def message_layout(name: str, package: str = DEFAULT_PACKAGE) -> MessageColumns:
    """Return the generated table of a message.

    Args:
        name: id of its file in the specification, ``offset_commit_value``.
        package: the generated code.

    Raises:
        KeyError: the specification has no such message.
    """
    home = Path(import_module(package).__path__[0], "messages", f"{name}.json")
    if not name.isidentifier() or not home.is_file():
        raise KeyError(f"the specification has no message {name}")
    return MessageColumns.of(json.loads(home.read_text(encoding="utf-8")))


@cache
def message_program(name: str) -> Program:
    """Return what the engine takes to decode a message; see ``message_layout``."""
    return Program(message_layout(name))


@cache
def head_layout(topic: str) -> MessageColumns:
    """Return the table of what any record of a topic begins with, up to its type."""
    fields, program = HEADS[topic], list[int]()
    for line, field in enumerate(fields, 1):
        flags = SIGNED * field.signed
        program += [Step.INTEGER, line, line, field.size, 0, flags, LOWEST, HIGHEST]
    program += [Step.END, -1, len(fields) + 1, 0, 0, 0, LOWEST, HIGHEST]
    columns = (ColumnLayout(field.id, ColumnKind.INTEGER, 8, signed=True) for field in fields)
    root = ColumnLayout("", ColumnKind.STRUCT, nullable=True, children=tuple(columns))
    return MessageColumns("", root, tuple(program))


class Decoding:
    """Says which records of a topic the engine does not decode.

    Args:
        core: the extension.
        topic: one of ``kafkaspec.messages.lookup.HEADS``.
    """

    def __init__(self, core: Core, topic: str) -> None:
        self._core = core
        self._topic = topic
        self._has_keys = key_says(topic)
        self._may_have_key = may_have_key(topic)
        self._head = Program(head_layout(topic))

    def refused(
        self, rows: int, keys: BytesColumn, values: BytesColumn, sources: Sequence[Buffer]
    ) -> Iterator[int]:
        """Yield the numbers of the records whose key or value is not decoded, in order.

        Args:
            rows: number of records.
            keys: their keys as views.
            values: their values as views.
            sources: what the views point into.
        """
        batch = _Rows(self._core, rows, tuple(sources))
        has_key, has_value = batch.there(keys), batch.there(values)
        typed, numbers = batch.numbers(self._head, keys if self._has_keys else values)
        decoded = has_key & ~has_value if self._may_have_key else 0
        for number in set(numbers):
            rows_of = typed & batch.equal(numbers, number)
            if not rows_of:
                continue
            if not self._has_keys:
                records = in_topic(self._topic, Role.RECORD, number)
                wanted = rows_of if self._may_have_key else rows_of & ~has_key
                decoded |= batch.decoded(records, values, wanted)
                continue
            found = batch.decoded(in_topic(self._topic, Role.KEY, number), keys, rows_of)
            known = in_topic(self._topic, Role.VALUE, number)
            decoded |= found & ~has_value if known else 0
            decoded |= batch.decoded(known, values, found & has_value)
        yield from _places(batch.all & ~decoded, -(-rows // 8))


class _Rows:
    """Records that are decoded together. A set of them is an integer with a bit for each row."""

    def __init__(self, core: Core, rows: int, sources: tuple[Buffer, ...]) -> None:
        self._core = core
        self._rows = rows
        self._size = (rows + 7) // 8
        self._sources = sources
        self.all = (1 << rows) - 1

    def there(self, column: BytesColumn) -> int:
        """Return the rows that are not null."""
        return self._valid(column.present)

    def equal(self, numbers: memoryview, number: int) -> int:
        """Return the rows that have a number."""
        return _bits(_differing(number).of(self._core, lambda _: numbers, self._rows))

    def numbers(self, head: Program, column: BytesColumn) -> tuple[int, memoryview]:
        """Return the rows whose bytes begin as a head says, and the number in it of each row."""
        _, (root, *_, number) = self._decode(head, column, self.there(column))
        return self._valid(root[_VALIDITY]), memoryview(number[_VALUES]).cast("B").cast("q")

    def decoded(self, layouts: Sequence[MessageLayout], column: BytesColumn, wanted: int) -> int:
        """Return those of some rows that one of the layouts decodes."""
        left = wanted
        for layout in layouts:
            if not left:
                break
            refused, _ = self._decode(message_program(layout.id), column, left)
            left = 0
            if refused:
                flags = bytearray(self._rows)
                for row in memoryview(refused).cast("q"):
                    flags[row] = 1
                left = _bits(flags)
        return wanted & ~left

    def _decode(self, program: Program, column: BytesColumn, wanted: int) -> tuple[Any, Any]:
        columns, lines = program.engine
        validity = wanted.to_bytes(self._size, "little")
        found: tuple[Any, Any] = self._core.module.messages_decode(
            columns, lines, self._rows, 0, _VIEWS, validity, column.main, self._sources
        )
        return found

    def _valid(self, validity: Buffer | None) -> int:
        if validity is None:
            return self.all
        stored = memoryview(validity).cast("B")[: self._size]
        return int.from_bytes(stored, "little") & self.all


@cache
def _differing(number: int) -> Marks:
    return Marks((((Compare(_NUMBER, "!=", number),), 1),))


def _bits(flags: bytes | bytearray) -> int:
    """Return a bit for each byte, which is 0 or 1."""
    found = 0
    for bit in range(8):
        found |= int.from_bytes(flags[bit::8], "little") << bit
    return found


def _places(bits: int, size: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set."""
    for found in _SET.finditer(bits.to_bytes(size, "little")):
        byte = found[0][0]
        yield from (8 * found.start() + bit for bit in range(8) if byte >> bit & 1)
