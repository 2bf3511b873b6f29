"""JSON of many messages at once, by columns: of those whose fields are numbers, texts and UUIDs.

What a message looks like is asked of the reference, once for each pattern: a version, and which
fields are there. Left to the reference are patterns that columns do not say in the same way, and
what the engine does not decode.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final

from kafkaspec.columns.memory import null_rows
from kafkaspec.columns.messages import message_program
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.layout.names import SCHEMA_VERSION, TAGGED_FIELDS, UNUSED, camel
from kafkaspec.messages.json_text import json_text
from kafkaspec.messages.tables import ColumnKind, ColumnLayout
from kafkaspec.model import java_text

if TYPE_CHECKING:
    from kafkaspec.codecs.native.core import Core

_NARROW: Final = 0
"""Number of the engine for byte strings with offsets of 32 bits."""
_LETTERS: Final = {
    (1, True): "b", (2, True): "h", (4, True): "i", (8, True): "q",
    (1, False): "B", (2, False): "H", (4, False): "I", (8, False): "Q",
}  # fmt: skip
"""Arrays of integers, by size and sign."""
_DATA: Final = '"data":{'


def flat_texts(
    core: Core, layout: str, messages: Sequence[bytes], reference: Callable[[bytes], str]
) -> list[str | None]:
    """Return the JSON of messages by that of ``reference``; None for what that is to say itself."""
    texts: list[str | None] = [None] * len(messages)
    program = message_program(layout)
    places = _places(program.layout.root)
    if not all(map(_is_flat, places)):
        return texts
    ends = array("i", accumulate(map(len, messages), initial=0))
    refused, found = core.module.messages_decode(
        *program.engine, len(messages), 0, _NARROW, None, ends, (b"".join(messages),)
    )
    columns = {column.name: _shown(column, found[at]) for column, at in places.items()}
    rows = _patterns(columns, places, len(messages))
    bad = set(memoryview(refused).cast("q"))
    for chosen in rows:
        left = [row for row in chosen if row not in bad] if bad else chosen
        if not left:
            continue
        text = reference(messages[left[0]])
        names = {camel(name): name for name in columns}
        fields = json.loads(text)["data"]
        if not names.keys() >= fields.keys():
            continue
        start = text[: text.index(_DATA) + len(_DATA)].replace("%", "%%")
        form = start + ",".join(f'"{name}":%s' for name in fields) + "}}"
        values = [columns[names[name]] for name in fields]
        if form % tuple(column[left[0]] for column in values) != text:
            continue
        if len(left) == len(messages):
            return [form % row for row in zip(*values, strict=True)]
        for row in left:
            texts[row] = form % tuple([column[row] for column in values])
    return texts


def _places(root: ColumnLayout) -> dict[ColumnLayout, int]:
    """Return the columns of a message that JSON can show, with their numbers."""
    places, number = {}, 1
    for column in root.children:
        if column.name not in (TAGGED_FIELDS, UNUSED):
            places[column] = number
        number += sum(1 for _ in column.walk())
    return places


def _is_flat(column: ColumnLayout) -> bool:
    return column.kind in (ColumnKind.INTEGER, ColumnKind.TEXT) or (
        column.kind is ColumnKind.FIXED and column.size == kafka_uuid.SIZE
    )


def _shown(column: ColumnLayout, found: tuple[Any, ...]) -> list[Any]:
    """Return the JSON of the values of a column; a number is its own, and None is null."""
    length, missing, validity, values, data = found
    if missing == length:
        return [None] * length
    memory = memoryview(values).cast("B")
    made: list[Any]
    if column.kind is ColumnKind.INTEGER:
        numbers = array(_LETTERS[column.size, column.signed])
        numbers.frombytes(memory[: column.size * length])
        made = list(numbers)
    else:
        show: Callable[[bytes], str] = java_text
        if column.kind is ColumnKind.FIXED:
            ends: Sequence[int] = range(0, (length + 1) * column.size, column.size)
            content, show = bytes(memory), kafka_uuid.bytes_to_text
        else:
            ends = memory.cast("i")[: length + 1].tolist()
            content = bytes(memoryview(data or b"").cast("B")[: ends[-1]])
        items = [content[start:end] for start, end in pairwise(ends)]
        known = {item: json_text(show(item)) for item in set(items)}
        made = list(map(known.__getitem__, items))
    for row in null_rows(validity if missing else None, length):
        made[row] = None
    return made


def _patterns(
    columns: dict[str, list[Any]], places: Iterable[ColumnLayout], rows: int
) -> list[Sequence[int]]:
    """Return the rows in which the same fields are there, and have their defaults."""
    marks: list[Sequence[object]] = []
    for column in places:
        values = columns[column.name]
        if column.name == SCHEMA_VERSION:
            special: tuple[object, ...] = (values[0],)
        elif column.nullable:
            special = (None, _default(column))
        else:
            continue
        if any(values.count(item) not in (0, rows) for item in special):
            versions = column.name == SCHEMA_VERSION
            marks.append([item if versions or item in special else "" for item in values])
    if not marks:
        return [range(rows)]
    found: dict[object, list[int]] = {}
    for row, pattern in enumerate(zip(*marks, strict=True)):
        found.setdefault(pattern, []).append(row)
    return list(found.values())


def _default(column: ColumnLayout) -> object:
    if column.kind is ColumnKind.INTEGER:
        return column.default
    if column.kind is ColumnKind.FIXED:
        return json_text(kafka_uuid.bytes_to_text(bytes(column.size)))
    return json_text("")
