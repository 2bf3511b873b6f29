"""Write columns as lines in the core, without an object for any row: of text, or an object of JSON.

In JSON, bytes that are UTF-8 are a string, other bytes are ``{"base64": "..."}``.
"""

from __future__ import annotations

import json
from base64 import b64encode
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkaspec.codecs.native.core import Core
from kafkaspec.columns.memory import BytesColumn, Columns, IntegerColumn, Layout, ListColumn
from kafkaspec.layout import names

if TYPE_CHECKING:
    from typing_extensions import Buffer

NULL: Final = "null"
BOOLEANS: Final = ("false", "true")

RANGE_BYTES: Final = 4 << 20
"""Bytes of a segment that one thread makes lines of."""
PIECES_AHEAD: Final = 8
"""Pieces of text of a range that wait to be written."""
KEPT_BYTES: Final = 16 << 20
"""Bytes that the allocator had better keep: glibc learns how many from the largest piece that was
freed, and takes pages of less from the system again and again."""

_AT_ONCE: Final = 1 << 20
"""Bytes of lines that are made at once; a longer line is made alone."""

LineColumn = tuple[Any, ...]
"""A column as ``json_lines`` of the extension takes it."""


class LineField(NamedTuple):
    """A field of a line.

    Attributes:
        name: its JSON, with quotes; "" if the column says it too, and what separates it.
        text: the JSON that all lines have; None if a column says it.
        lowest: the number that the first of ``shown`` stands for.
        shown: JSON that stands for ``lowest``, ``lowest`` + 1 and so on, instead of the number.
        raw: whether the column has JSON; the first of ``shown`` stands for null.
    """

    name: str
    text: str | None = None
    lowest: int = 0
    shown: Sequence[str] = ()
    raw: bool = False


class LineForm(IntEnum):
    """How a piece of a line shows its column."""

    JSON = 0
    SIZE = 1
    """The size of a byte string, -1 for null."""
    TEXT = 2
    """A byte string as Java decodes it. For null nothing, not even what stands before."""
    KEYS = 3
    """The first parts of pairs as Java decodes them, in brackets."""
    FIRST = 4
    """The pieces that follow, ``lowest`` of them, only where the number differs from that of the
    row before."""
    RAW = 5
    """A byte string as it is. For null the first text of the piece, or nothing."""
    SIZE32 = 6
    """The size of a byte string in four bytes, big endian, -1 for null."""
    EQUATED = 7
    """Pairs as they are, ``a=b,c=NULL``."""
    NESTED = 8
    """The pieces that follow, ``lowest`` of them: of a structure, or for each item of a list. The
    texts are that of null, and of a list its start, separator and end."""


LinePiece = tuple[bytes, int, tuple[bytes, ...], LineForm]
"""The text before a column, the lowest number with its own text, these texts, and the form."""


def bytes_value(data: bytes | None, *, base64: bool = False) -> str | dict[str, str] | None:
    """Return bytes as JSON has them: a string if they are UTF-8, else base64 that says so.

    Args:
        data: the bytes.
        base64: whether those that are UTF-8 are base64 too.
    """
    if data is None:
        return None
    if not base64:
        try:
            return data.decode()
        except UnicodeDecodeError:
            pass
    return {"base64": b64encode(data).decode("ascii")}


def bytes_json(data: bytes | None, *, base64: bool = False) -> str:
    """Return ``bytes_value`` as text of JSON."""
    value = bytes_value(data, base64=base64)
    return encode_basestring(value) if isinstance(value, str) else json.dumps(value)


PIECE_BYTES: Final = 3 << 16
"""Bytes of a long byte string that are written at a time; base64 has three in four characters."""


def bytes_pieces(data: bytes, *, base64: bool = False) -> Iterator[str]:
    """Yield the text of ``bytes_json`` in pieces, of bytes that are many."""
    if base64 or not _is_text(data):
        yield '{"base64": "'
        for piece in _cut(data):
            yield b64encode(piece).decode("ascii")
        yield '"}'
        return
    yield '"'
    for text in decoded(data):
        yield encode_basestring(text)[1:-1]
    yield '"'


def _cut(data: Buffer) -> Iterator[memoryview]:
    whole = memoryview(data)
    return (whole[first : first + PIECE_BYTES] for first in range(0, len(whole), PIECE_BYTES))


def decoded(data: Buffer) -> Iterator[str]:
    """Yield the text of UTF-8 that is long, some of it at a time.

    Raises:
        UnicodeDecodeError: there is something else in it.
    """
    decoder = getincrementaldecoder("utf-8")()
    yield from map(decoder.decode, _cut(data))
    yield decoder.decode(b"", final=True)


def _is_text(data: Buffer) -> bool:
    try:
        return all(text is not None for text in decoded(data))
    except UnicodeDecodeError:
        return False


class Lines:
    """Lines made of certain pieces.

    Args:
        core: the extension.
        plan: the pieces.
        base64: whether bytes that are UTF-8 are base64 in JSON too.
        compact: whether no blank is in the JSON of a value.
    """

    def __init__(
        self,
        core: Core,
        plan: Iterable[LinePiece],
        *,
        base64: bool = False,
        compact: bool = False,
    ) -> None:
        self._core = core
        self._how = base64 | compact << 1
        self._plan = tuple(plan)

    def of(
        self, columns: Sequence[LineColumn | None], rows: int, first: int = 0
    ) -> Iterator[memoryview]:
        """Yield the lines of some rows, many at a time; each time in new memory.

        Args:
            columns: a column for each piece, None for one that is the same in all lines.
            rows: number of rows that the columns have at least.
            first: number of the first row; all after it are meant.
        """
        given = tuple(columns)
        size = _AT_ONCE
        while first < rows:
            out = self._core.module.memory(size)
            first, used, needed = self._core.module.json_lines(
                self._plan, given, first, rows, self._how, out
            )
            size = needed + needed // 4 if needed else _AT_ONCE
            if used:
                yield memoryview(out)[:used]


class JsonLines(Lines):
    """Lines with certain fields.

    Args:
        core: the extension.
        fields: the fields of a line, in order.
        base64: whether bytes that are UTF-8 are base64 too.
    """

    def __init__(self, core: Core, fields: Iterable[LineField], *, base64: bool = False) -> None:
        plan: list[LinePiece] = []
        before = "{"
        for field in fields:
            before = f"{before}{field.name}: " if field.name else before.removesuffix(", ")
            if field.text is None:
                shown = tuple(text.encode() for text in field.shown)
                form = LineForm.RAW if field.raw else LineForm.JSON
                plan.append((before.encode(), field.lowest, shown, form))
                before = ""
            else:
                before += field.text
            before += ", "
        end = f"{before.removesuffix(', ')}}}\n".encode()
        super().__init__(core, (*plan, (end, 0, (), LineForm.JSON)), base64=base64)

    def of(
        self, columns: Sequence[LineColumn | None], rows: int, first: int = 0
    ) -> Iterator[memoryview]:
        """Yield the lines as ``Lines.of`` does; a column for each field without text."""
        return super().of((*columns, None), rows, first)


def numbers(
    values: Buffer,
    at: int = 0,
    validity: Buffer | None = None,
    *,
    where: Buffer | None = None,
    among: int = 0,
) -> LineColumn:
    """Return a column of 64-bit integers.

    Args:
        values: the integers.
        at: number of the first row in the buffers.
        validity: a bit for each row, 0 for null; None if nothing is null.
        where: integers of another column; if such a one is negative or among some numbers, the
            first of ``LineField.shown`` stands in the line.
        among: these numbers, a bit for each.
    """
    return (at, validity, values, where, among)


def strings(
    layout: Layout, main: Buffer, data: Iterable[Any], at: int = 0, validity: Buffer | None = None
) -> LineColumn:
    """Return a column of byte strings.

    Args:
        layout: ``VIEW`` or ``BINARY``.
        main: views or offsets.
        data: the buffers that views point into, or the one that offsets point into.
        at: number of the first row in the buffers.
        validity: a bit for each row, 0 for null; None if nothing is null.
    """
    return (at, validity, int(layout), main, tuple(data))


def pairs(
    offsets: Buffer, items: int, keys: LineColumn, values: LineColumn, at: int = 0
) -> LineColumn:
    """Return a column of lists of pairs.

    Args:
        offsets: where the items of each row begin, and where the last ones end.
        items: number of items.
        keys: byte strings.
        values: byte strings.
        at: number of the first row in ``offsets``.
    """
    return (at, offsets, items, keys, values)


def nested(
    validity: Buffer | None = None,
    offsets: Buffer | None = None,
    items: int = 0,
    at: int = 0,
) -> LineColumn:
    """Return a column of structures, or of lists.

    Args:
        validity: a bit for each row, 0 for null; None if nothing is null.
        offsets: of lists, where the items of each row begin, and where the last ones end.
        items: number of items, which are the rows of the columns in the lists.
        at: number of the first row in the buffers.
    """
    return (at, validity, offsets, items)


def column_of(columns: Columns, name: str) -> LineColumn:
    """Return a column of a reader."""
    column = columns.columns[name]
    if isinstance(column, IntegerColumn):
        return numbers(column.values)
    if isinstance(column, BytesColumn):
        return _strings(columns, column)
    assert isinstance(column, ListColumn)
    keys, values = (
        column.children[part.rpartition(".")[2]] for part in (names.HEADER_KEY, names.HEADER_VALUE)
    )
    assert isinstance(keys, BytesColumn)
    assert isinstance(values, BytesColumn)
    return pairs(column.offsets, column.items, _strings(columns, keys), _strings(columns, values))


def _strings(columns: Columns, column: BytesColumn) -> LineColumn:
    data = columns.sources if columns.layout is Layout.VIEW else (column.data or b"",)
    return strings(columns.layout, column.main, data, validity=column.present)
