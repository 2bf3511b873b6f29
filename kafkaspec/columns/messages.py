"""Kafka's own messages in columns, without PyArrow: which records of a topic the engine decodes.

The engine in C works by generated tables. Of what it refuses, ``kafkaspec.messages.decoding`` says
whether and why it does not decode: that is the reference.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Self

from kafkaspec.codecs.native.core import DEFAULT_PACKAGE, Core
from kafkaspec.columns.conditions import Compare, Marks
from kafkaspec.columns.json_lines import LineColumn, strings
from kafkaspec.columns.memory import INLINE_BYTES, VIEW_BYTES, BytesColumn, Layout, set_bits
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

    from kafkaspec.messages.text_plans import TextPlan, TextStyle

_VIEWS: Final = 2
"""Number of the engine for byte strings in Arrow's views."""
_VALIDITY, _VALUES = 2, 3
"""Places of the buffers of a column, as the engine gives it."""
_NUMBER: Final = "number"
_SHORT, _LONG = Struct(f"<i{INLINE_BYTES}s"), Struct("<i4sii")
"""Views of Arrow: of a value that they hold, and of one in a buffer."""


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


_Take = Callable[[Sequence[MessageLayout], "BytesColumn", int], int]
"""Function that takes those of some rows whose bytes are one of some messages, and returns them."""


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
        yield from self._others(batch, keys, values, batch.decoded)

    def _others(
        self, batch: _Rows, keys: BytesColumn, values: BytesColumn, take: _Take
    ) -> Iterator[int]:
        """Yield the numbers of the records that are not taken, key and value, in order."""
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
                decoded |= take(records, values, wanted)
                continue
            found = take(in_topic(self._topic, Role.KEY, number), keys, rows_of)
            known = in_topic(self._topic, Role.VALUE, number)
            decoded |= found & ~has_value if known else 0
            decoded |= take(known, values, found & has_value)
        yield from set_bits(batch.all & ~decoded, -(-batch.rows // 8))


class TextColumn:
    """Texts of rows, which the engine and others add.

    Args:
        rows: number of rows.
        validity: a bit for each row, 0 for null; None if no text is.
        fill: the text of rows that nobody sets.
    """

    def __init__(self, rows: int, validity: Buffer | None = None, fill: bytes = b"") -> None:
        self._rows = rows
        self._validity = None if validity is None else bytearray(validity)
        self.buffers: list[Buffer] = [fill]
        self._more = bytearray()
        self.views = bytearray(_view(fill, 0, 0) * rows)

    def put(self, row: int, text: bytes | None) -> None:
        """Set the text of a row, None for null, after those of the engine."""
        if text is None or self._validity is not None:
            if self._validity is None:
                self._validity = bytearray(b"\xff") * -(-self._rows // 8)
            bit = 1 << (row & 7)
            self._validity[row >> 3] |= bit
            self._validity[row >> 3] ^= bit if text is None else 0
        text = text or b""
        view = _view(text, len(self.buffers), len(self._more))
        self.views[VIEW_BYTES * row : VIEW_BYTES * (row + 1)] = view
        self._more += text

    def column(self) -> LineColumn:
        """Return them as a column of lines."""
        buffers = (*self.buffers, self._more)
        return strings(Layout.VIEW, self.views, buffers, validity=self._validity)


def _view(text: bytes, buffer: int, place: int) -> bytes:
    """Return the view of a text that is at a place in a buffer."""
    if len(text) <= INLINE_BYTES:
        return _SHORT.pack(len(text), text)
    return _LONG.pack(len(text), text[:4], buffer, place)


class MessageTexts(Decoding):
    """Writes the messages of a topic as texts.

    Args:
        core: the extension.
        topic: one of ``kafkaspec.messages.lookup.HEADS``.
        style: returns how a message is shown.
        choose: returns those of the layouts of a message that may have been written.
        null: the text of a value that is null; None if it has none.
    """

    def __init__(
        self,
        core: Core,
        topic: str,
        style: Callable[[MessageLayout], TextStyle],
        *,
        choose: Callable[[Sequence[MessageLayout]], Sequence[MessageLayout]] = tuple,
        null: bytes | None = None,
    ) -> None:
        super().__init__(core, topic)
        self._style = style
        self._choose = choose
        self._null = null
        self._plans: dict[str, _TextProgram | None] = {}

    def write(
        self,
        rows: int,
        keys: BytesColumn,
        values: BytesColumn,
        sources: Sequence[Buffer],
    ) -> tuple[TextColumn | None, TextColumn, list[int]]:
        """Return the texts of keys and values, and the rows without one of them, in order.

        Keys have texts only where they say what the records are. The arguments are those of
        ``refused``.
        """
        batch = _Rows(self._core, rows, tuple(sources))
        there = values.present if self._null is None else None
        texts = {id(keys): TextColumn(rows), id(values): TextColumn(rows, there, self._null or b"")}

        def take(layouts: Sequence[MessageLayout], column: BytesColumn, wanted: int) -> int:
            layouts = self._choose(layouts)
            programs = (self._program(layout, len(layouts) > 1) for layout in layouts)
            return batch.written(programs, column, wanted, texts[id(column)])

        left = list(self._others(batch, keys, values, take))
        return texts[id(keys)] if self._has_keys else None, texts[id(values)], left

    def _program(self, layout: MessageLayout, several: bool) -> _TextProgram | None:
        if layout.id not in self._plans:
            from kafkaspec.messages.text_plans import text_plan

            style = replace(self._style(layout), whole=several)
            plan = text_plan(layout, _TABLES, style)
            self._plans[layout.id] = None if plan is None else _TextProgram.of(plan)
        return self._plans[layout.id]


class _Tables(dict[str, MessageColumns]):
    """The tables of messages, by the ids of their files."""

    def __missing__(self, name: str) -> MessageColumns:
        return message_program(name).layout


_TABLES: Final = _Tables()


@dataclass(frozen=True)
class _TextProgram:
    """A plan of texts as the engine takes it."""

    programs: tuple[tuple[Buffer, Buffer, int], ...]
    lines: Buffer
    literals: bytes

    @classmethod
    def of(cls, plan: TextPlan) -> Self:
        found = [(*message_program(name).engine, source) for name, source in plan.tables]
        return cls(tuple(found), plan.lines, plan.literals)


class _Rows:
    """Records that are decoded together. A set of them is an integer with a bit for each row."""

    def __init__(self, core: Core, rows: int, sources: tuple[Buffer, ...]) -> None:
        self._core = core
        self.rows = rows
        self._size = (rows + 7) // 8
        self._sources = sources
        self.all = (1 << rows) - 1

    def there(self, column: BytesColumn) -> int:
        """Return the rows that are not null."""
        return self._valid(column.present)

    def equal(self, numbers: memoryview, number: int) -> int:
        """Return the rows that have a number."""
        return _bits(_differing(number).of(self._core, lambda _: numbers, self.rows))

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
            left = self._among(refused)
        return wanted & ~left

    def written(
        self,
        programs: Iterable[_TextProgram | None],
        column: BytesColumn,
        wanted: int,
        texts: TextColumn,
    ) -> int:
        """Return those of some rows of which one of the programs writes a text."""
        left, untold = wanted, 0
        for program in programs:
            if not left:
                break
            if program is None:  # whether it takes a row is not known
                return wanted & ~(left | untold)
            refused, others, text = self._core.module.messages_texts(
                program.programs, program.lines, program.literals, self.rows, 0, _VIEWS,
                left.to_bytes(self._size, "little"), column.main, self._sources, texts.views,
                len(texts.buffers),
            )  # fmt: skip
            texts.buffers.append(text)
            left = self._among(refused)
            untold |= self._among(others)
        return wanted & ~(left | untold)

    def _among(self, rows: Buffer) -> int:
        """Return the rows whose numbers are in a buffer."""
        numbers = memoryview(rows).cast("B").cast("q")
        if not numbers:
            return 0
        flags = bytearray(self.rows)
        for row in numbers:
            flags[row] = 1
        return _bits(flags)

    def _decode(self, program: Program, column: BytesColumn, wanted: int) -> tuple[Any, Any]:
        columns, lines = program.engine
        validity = wanted.to_bytes(self._size, "little")
        found: tuple[Any, Any] = self._core.module.messages_decode(
            columns, lines, self.rows, 0, _VIEWS, validity, column.main, self._sources
        )
        return found

    def _valid(self, validity: Buffer | None) -> int:
        if validity is None:
            return self.all
        stored = memoryview(validity).cast("B")[: self._size]
        return int.from_bytes(stored, "little") & self.all


def bytes_of(column: BytesColumn, row: int, sources: Sequence[Buffer]) -> bytes | None:
    """Return the bytes of a row of a column of views."""
    if (
        column.present is not None
        and not memoryview(column.present).cast("B")[row >> 3] >> (row & 7) & 1
    ):
        return None
    view = memoryview(column.main).cast("B")[VIEW_BYTES * row : VIEW_BYTES * (row + 1)]
    size, content = _SHORT.unpack(view)
    if size <= INLINE_BYTES:
        return bytes(content[:size])
    _, _, source, place = _LONG.unpack(view)
    return bytes(memoryview(sources[source]).cast("B")[place : place + size])


@cache
def _differing(number: int) -> Marks:
    return Marks((((Compare(_NUMBER, "!=", number),), 1),))


def _bits(flags: bytes | bytearray) -> int:
    """Return a bit for each byte, which is 0 or 1."""
    found = 0
    for bit in range(8):
        found |= int.from_bytes(flags[bit::8], "little") << bit
    return found
