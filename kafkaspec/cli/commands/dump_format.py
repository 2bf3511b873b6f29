r"""Format strings of ``dump --format``, as kcat has them: ``%t %p %o: %k = %s\n``.

What kcat's source does is kept, but for three things that its help promises and its code does not:
``\xNN`` takes two digits, letters too (kcat reads on as long as there are digits, and needs one of
0 to 9 first), ``\0`` is a byte like others (kcat ends there), and a decimal or octal ``\NNN`` has
three digits at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from kafkaspec.columns.json_lines import LineForm, LinePiece, Lines, column_of
from kafkaspec.columns.memory import Columns
from kafkaspec.files.names import parse_partition
from kafkaspec.io.remote import as_path
from kafkaspec.layout import names
from kafkaspec.model import Record

if TYPE_CHECKING:
    from kafkaspec.codecs.native.core import Core
    from kafkaspec.log.segment import Segment

    _Choice = click.ParamType["str | FormatString"]
else:  # not subscriptable before click 8.4
    _Choice = click.ParamType

_NONE: Final = -1
_SIZE_BYTES: Final = 4
MOST_PARTS: Final = 128
"""Parts of a format string; kcat has no more either."""

_ESCAPE: Final = re.compile(rb"\\(?:x([0-9a-fA-F]{1,2})|(0[0-7]{0,2}|[1-9][0-9]{0,2})|(.))", re.S)
_LETTERS: Final = {b"t": b"\t", b"n": b"\n", b"r": b"\r"}


class _Column(NamedTuple):
    """The part of a record that a letter after % shows."""

    source: str
    form: LineForm


_COLUMNS: Final = {
    "o": _Column(names.OFFSET, LineForm.JSON),
    "T": _Column(names.TIMESTAMP, LineForm.JSON),
    "k": _Column(names.KEY, LineForm.RAW),
    "K": _Column(names.KEY, LineForm.SIZE),
    "s": _Column(names.VALUE, LineForm.RAW),
    "S": _Column(names.VALUE, LineForm.SIZE),
    "R": _Column(names.VALUE, LineForm.SIZE32),
    "h": _Column(names.HEADERS, LineForm.EQUATED),
}
_TOPIC, _PARTITION = "t", "p"

FORMAT_EPILOG: Final = r"""
A format string, for example '%t %p %o: %k = %s\n', has
  %t, %p, %o         topic and partition, by the name of the directory (empty and -1
                     where it has none); offset
  %T                 timestamp in milliseconds since 1970, -1 for none
  %k, %s             bytes of key and value, nothing for null
  %K, %S             their sizes, -1 for null
  %R                 size of the value in 4 bytes, big endian, -1 for null
  %h                 headers: name=value,name=NULL
  %%                 a percent sign
  \n \r \t \0 \xNN   line end, carriage return, tab, and bytes by their number
"""


class RecordPlace(NamedTuple):
    """Topic and partition of a file."""

    topic: str = ""
    partition: int = _NONE


def place_of(file: str | Path | None) -> RecordPlace:
    """Return topic and partition of a segment, from the name of its directory."""
    if file is None:
        return RecordPlace()
    path = as_path(file) if "://" in str(file) else Path(file).absolute()
    found = parse_partition(path.parent.name)
    return RecordPlace() if found is None else RecordPlace(found.topic, found.partition)


@dataclass(frozen=True, slots=True)
class FormatString:
    """A format string.

    Attributes:
        parts: bytes that all records have, and letters of what a record has.
    """

    parts: tuple[bytes | str, ...]

    @classmethod
    def parse(cls, text: str) -> FormatString:
        """Read a format string.

        Raises:
            ValueError: there is no such letter, or there are too many parts.
        """
        parts: list[bytes | str] = []
        whole = text.encode("utf-8", "surrogateescape")
        while whole:
            before, percent, whole = whole.partition(b"%")
            if before:
                parts.append(_ESCAPE.sub(_unescaped, before))
            if not percent:
                break
            letter = whole[:1].decode("latin-1")
            if letter == "%":
                parts.append(b"%")
            elif letter in _COLUMNS or (letter and letter in _TOPIC + _PARTITION):
                parts.append(letter)
            else:
                known = ", ".join(f"%{each}" for each in (_TOPIC, _PARTITION, *_COLUMNS, "%"))
                shown = whole[:1].decode("utf-8", "backslashreplace")
                raise ValueError(f"there is no %{shown} in a format string; there are {known}")
            whole = whole[1:]
        if len(parts) > MOST_PARTS:
            raise ValueError(f"a format string has {MOST_PARTS} parts at most, not {len(parts)}")
        return cls(tuple(parts))

    def placed(self, place: RecordPlace) -> tuple[bytes | str, ...]:
        """Return the parts with topic and partition as bytes."""
        texts = {
            _TOPIC: place.topic.encode("utf-8", "surrogateescape"),
            _PARTITION: b"%d" % place.partition,
        }
        return tuple(
            texts.get(part, part) if isinstance(part, str) else part for part in self.parts
        )

    def texts(self, place: RecordPlace, records: Iterable[Record]) -> Iterator[bytes]:
        """Yield each of some records of a partition as the string shows it."""
        parts = self.placed(place)
        for record in records:
            yield b"".join(
                part if isinstance(part, bytes) else _shown(part, record) for part in parts
            )


def _unescaped(found: re.Match[bytes]) -> bytes:
    hexadecimal, digits, other = found.groups()
    if hexadecimal is not None:
        return bytes((int(hexadecimal, 16),))
    if digits is not None:  # as strtoul with base 0 reads them
        return bytes((int(digits, 8 if digits.startswith(b"0") else 10) & 0xFF,))
    return _LETTERS.get(other, other)


def _shown(letter: str, record: Record) -> bytes:
    source, form = _COLUMNS[letter]
    if source == names.HEADERS:
        return b",".join(
            key.encode("utf-8", "surrogateescape") + b"=" + (b"NULL" if value is None else value)
            for key, value in record.headers
        )
    if source not in (names.KEY, names.VALUE):
        return b"%d" % (record.offset if source == names.OFFSET else record.timestamp)
    data = record.key if source == names.KEY else record.value
    if form is LineForm.RAW:
        return data or b""
    size = _NONE if data is None else len(data)
    return b"%d" % size if form is LineForm.SIZE else size.to_bytes(_SIZE_BYTES, "big", signed=True)


class FormatMaker:
    """Makes what a format string shows of rows of columns.

    Args:
        core: the extension.
        segment: the segment that has the records.
        template: the string.
    """

    def __init__(self, core: Core, segment: Segment, *, template: FormatString) -> None:
        plan: list[LinePiece] = []
        self._sources: list[str | None] = []
        before = b""
        for part in template.placed(place_of(segment.path)):
            if isinstance(part, bytes):
                before += part
                continue
            column = _COLUMNS[part]
            plan.append((before, 0, (), column.form))
            self._sources.append(column.source)
            before = b""
        plan.append((before, 0, (), LineForm.JSON))
        self._sources.append(None)
        self._lines = Lines(core, plan)

    has_control = False

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that it takes."""
        return tuple(dict.fromkeys(name for name in self._sources if name is not None))

    def lines(self, columns: Columns, rows: Iterable[tuple[int, int]]) -> Iterator[memoryview]:
        """Yield what the string shows of some ranges of rows, many at a time."""
        found: Sequence[Any] = [
            None if name is None else column_of(columns, name) for name in self._sources
        ]
        for first, stop in rows:
            yield from self._lines.of(found, stop, first)


class DumpFormat(_Choice):
    """Parameter type: a named format, or a format string, in which there is a ``%``."""

    name = "format"

    def __init__(self, *choices: str) -> None:
        self._choices = choices

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return f"[{'|'.join(self._choices)}|STRING]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | FormatString:
        if isinstance(value, FormatString) or value in self._choices:
            return value  # type: ignore[no-any-return]
        if "%" not in value:
            known = ", ".join(repr(each) for each in self._choices)
            self.fail(
                f"{value!r} is not one of {known}, and no format string: it has no %", param, ctx
            )
        try:
            return FormatString.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
