"""Everything that the command prints: lines, tables, JSON, a progress bar, short forms of numbers.

Names and messages come from anywhere. What is printed as text goes through ``printable`` here, each
line and each cell of a table on its own; nothing else in ``kafkaspec`` prints.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import timedelta
from functools import lru_cache
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, Final, TextIO, TypeVar, cast

import click

from kafkaspec.model import Buffer
from kafkaspec.shown import duration_text, printable, size_text
from kafkaspec.times import EPOCH

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment
    from rich.table import Table
    from rich.text import Text

Advance = Callable[[int, str], None]
"""Callback that takes the number of bytes done and the name of the current input."""

_PIPE_WIDTH = 200  # a table in a pipe is not squeezed into 80 columns


class _Stripped(io.TextIOBase):
    """Writer that strips the blanks at the ends of the lines of a table."""

    def __init__(self, inner: TextIO) -> None:
        self._inner = inner

    def write(self, text: str) -> int:
        self._inner.write(re.sub(r" +$", "", text, flags=re.MULTILINE))
        return len(text)

    def flush(self) -> None:
        self._inner.flush()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # rich asks what it may draw with
        return self._inner.encoding


_PLAIN: Final = bytes((*b"\t\n", *range(ord(" "), ord("~") + 1)))
"""Bytes that cannot control a terminal: plain ASCII. To leave them out is faster than a search."""


class Escaped(io.RawIOBase):
    """Writer of UTF-8 that escapes what controls a terminal, as JSON does: ``\\u001b``.

    Lines of JSON stay JSON: they have such characters in strings only.

    Args:
        inner: takes the bytes.
    """

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if not bytes(data).translate(None, _PLAIN) and not self._decoder.getstate()[0]:
            self._inner.write(data)
        else:
            self._inner.write(_escaped(self._decoder.decode(data)))
        return len(data)

    def flush(self) -> None:
        if not self.closed:
            self._inner.flush()

    def close(self) -> None:
        if not self.closed:
            self._inner.write(_escaped(self._decoder.decode(b"", final=True)))
            self.flush()
        super().close()


def _escaped(text: str) -> bytes:
    if not text.replace("\n", "").isprintable():
        text = "".join(c if c.isprintable() or c in "\t\n" else json.dumps(c)[1:-1] for c in text)
    return text.encode()


_LINES_AT_ONCE = 64

MAX_ROWS = 200
"""Number of rows of a table; the rest is one row. JSON has all of them."""

MORE: Final = "... and {:,} more; --format json has all"
"""The line after a table that does not have all rows."""

T = TypeVar("T")


def write_any_character() -> None:
    """Let stdout and stderr take all of Unicode, where their encoding is another than UTF-8.

    Files and pipes get UTF-8, as from what writes bytes; a terminal shows an escape instead.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() not in (
            "utf-8",
            "utf8",
        ):
            if stream.isatty():
                stream.reconfigure(errors="backslashreplace")
            else:
                stream.reconfigure(encoding="utf-8")


def say(line: str = "") -> None:
    """Print a line of the result."""
    click.echo(printable(line))


def warn(line: str) -> None:
    """Print a line on stderr, which begins with the name of the command."""
    click.echo(f"kafkaspec: {printable(line)}", err=True)


def note(line: str) -> None:
    """Print a line about the result on stderr."""
    click.echo(printable(line), err=True)


@contextmanager
def captured() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """Keep what is printed in the block on stdout and on stderr, for ``print_again``."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        yield out, err


def print_again(out: str, err: str) -> None:
    """Print what was captured, perhaps in another process."""
    click.echo(err, err=True, nl=False)
    click.echo(out, nl=False)


ShownLine = str | Buffer | Iterator[str]
"""A line as text, any number of them as bytes, or a long one as its pieces."""


def write_lines(lines: Iterable[ShownLine], out: IO[bytes]) -> None:
    """Write lines as UTF-8, many at a time: JSON, or text that is printable already.

    Args:
        lines: the lines.
        out: the file.
    """
    waiting: list[str] = []

    def write() -> None:
        out.write("".join(waiting).encode("utf-8", "backslashreplace"))
        waiting.clear()

    for line in lines:
        if isinstance(line, str):
            waiting.append(line)
            if len(waiting) == _LINES_AT_ONCE:
                write()
            continue
        if waiting:
            write()
        for piece in line if isinstance(line, Iterator) else ():
            waiting.append(piece)
            write()
        if not isinstance(line, Iterator):
            out.write(line)
    write()
    out.flush()


def safe(content: Any) -> Any:
    """Return a string or a rich text with one printable line; anything else as it is."""
    if isinstance(content, str):
        return printable(content)
    plain = getattr(content, "plain", None)  # of a rich text
    if plain is None or plain.isprintable():
        return content
    from rich.text import Text

    return Text(printable(plain), style=content.style)


def stdout_console() -> Console:
    """Return the console for results; in a pipe or file without colour and early wrapping.

    It prints tables of ``new_table``, and strings and texts of one line each.
    """
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            raise  # main handles it for all commands

        def print(self, *objects: Any, **options: Any) -> None:
            super().print(*map(safe, objects), **options)

        def render(self, *arguments: Any, **options: Any) -> Iterator[Segment]:
            """Escape whatever comes from a name and has not been escaped before."""
            for segment in super().render(*arguments, **options):
                if segment.control or segment.text.replace("\n", "").isprintable():
                    yield segment
                else:
                    yield segment._replace(text="\n".join(map(printable, segment.text.split("\n"))))

    terminal = sys.stdout.isatty()
    return Piped(
        file=sys.stdout if terminal else cast(IO[str], _Stripped(sys.stdout)),
        width=None if terminal else _PIPE_WIDTH,
        highlight=False,
        emoji=False,
        markup=False,
        soft_wrap=not terminal,
    )


@contextmanager
def progress_bar(title: str, total: int, *, counts: bool = False) -> Iterator[Advance]:
    """Show a progress bar on stderr if that is a terminal, nothing otherwise.

    Args:
        title: what is done.
        total: how many bytes or, with ``counts``, how many things.
        counts: whether it counts things.
    """
    if not sys.stderr.isatty():
        yield lambda _bytes, _name: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        *(
            (MofNCompleteColumn(),)
            if counts
            else (DownloadColumn(binary_units=True), TransferSpeedColumn())
        ),
        TimeRemainingColumn(),
        TextColumn("{task.fields[name]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=total, name="")

        def advance(done: int, name: str) -> None:
            progress.update(task, advance=done, name=printable(name))

        yield advance


def iso(timestamp: int | None) -> str:
    """Return milliseconds since the Unix epoch as ISO 8601 in UTC, ``-`` for none.

    A time outside the range of Python's calendar stays a number.
    """
    if timestamp is None or timestamp == -1:
        return "-"
    try:
        return f"{(EPOCH + timedelta(milliseconds=timestamp)).isoformat('T', 'milliseconds')}Z"
    except OverflowError:
        return str(timestamp)


def count_text(number: int, what: str, many: str = "") -> str:
    """Return a number with its noun: ``1 record``, ``2,000 records``."""
    return f"{number:,} {what if number == 1 else many or what + 's'}"


def styled(*parts: str | tuple[str, str]) -> Text:
    """Return a text for tables and ``Reporter.say`` of parts, some of which have a style."""
    from rich.text import Text

    return Text.assemble(*parts)


def new_table(*columns: str, many_lines: Collection[int] = (), **settings: Any) -> Table:
    """Return a table without rows; a column whose name follows ">" is aligned to the right.

    Args:
        columns: their names.
        many_lines: numbers of columns whose cells may have several lines, made by the command.
        settings: of rich's tables.
    """
    from rich import box
    from rich.table import Table

    class Safe(Table):
        def add_row(self, *cells: Any, **options: Any) -> None:
            shown = (
                cell if number in many_lines else safe(cell) for number, cell in enumerate(cells)
            )
            super().add_row(*shown, **options)

    if settings.get("title"):
        settings["title"] = safe(settings["title"])
    drawn = getattr(box, settings.pop("box", "SIMPLE") or "", None)
    table = Safe(**{"box": drawn, "pad_edge": False, **settings})
    for name in map(printable, columns):
        if name.startswith(">"):
            table.add_column(name[1:], justify="right")
        else:
            table.add_column(name, overflow="fold")
    return table


def limited(
    items: Sequence[T], matters: Callable[[T], bool] | None = None, most: int | None = None
) -> tuple[list[T], list[T]]:
    """Return the items to show as rows of a table, and the rest if there are too many.

    Both are in order; items that matter are shown before others. rich takes milliseconds for a row.
    """
    most = MAX_ROWS if most is None else most
    if matters is None or len(items) <= most:
        return list(items[:most]), list(items[most:])
    ranked = sorted(range(len(items)), key=lambda number: not matters(items[number]))
    shown = set(ranked[:most])
    return (
        [item for number, item in enumerate(items) if number in shown],
        [item for number, item in enumerate(items) if number not in shown],
    )


TableColumn = str | Callable[[Any], Any]
"""What a column shows of a row: ``name:form`` of a member, or what a function returns."""
_FORMS: Final[dict[str, Callable[[Any], str]]] = {
    "": str, ",": "{:,}".format, "iso": iso, "size": size_text, "duration": duration_text
}  # fmt: skip


def print_table(
    columns: Mapping[str, TableColumn],
    rows: Sequence[T],
    matters: Callable[[T], bool] | None = None,
    *,
    most: int | None = None,
    more: str | None = None,
    last: Callable[[Sequence[T]], Sequence[Any]] | None = None,
    dispensable: Sequence[str] = (),
    **look: Any,
) -> None:
    """Print a table of some mappings or objects.

    Args:
        columns: by name, as ``new_table`` takes it. The forms of a member are none, ``,`` of a
            number, ``iso`` of a time, ``size`` and ``duration``; ``-`` stands for None.
        rows: the rows.
        matters: says which ones are shown first, if there are too many.
        most: number of rows to show, ``MAX_ROWS`` by default.
        more: line after the table with the number of the others; by default a row has it.
        last: returns the cells of that row.
        dispensable: columns that a narrow terminal leaves out, the first one first.
        look: of ``new_table``.
    """
    shown, rest = limited(rows, matters, most)
    cells = [[_cell(row, column) for column in columns.values()] for row in shown]
    if rest and more is None:
        cells.append([*(last(rest) if last else (f"... {len(rest):,} more",))])
    console = stdout_console()
    text = None if console.is_terminal or "many_lines" in look else _laid_out(columns, cells, look)
    if text is None:
        console.print(_fitting(list(columns), cells, dispensable, console, look))
    else:
        console.file.write(text)
    if rest and more is not None:
        say(more.format(len(rest)))


def _fitting(
    columns: list[str],
    rows: Sequence[Sequence[Any]],
    dispensable: Sequence[str],
    console: Console,
    look: dict[str, Any],
) -> Table:
    """Return a table with as many columns as the console has room for."""
    without_limit = console.options.update_width(sys.maxsize)
    for name in ("", *dispensable):
        if name:
            place = columns.index(name)
            columns = columns[:place] + columns[place + 1 :]
            rows = [[*row[:place], *row[place + 1 :]] for row in rows]
        table = _filled(columns, rows, look)
        if console.measure(table, options=without_limit).maximum <= console.width:
            break
    return table


def _filled(columns: Iterable[str], rows: Iterable[Iterable[Any]], look: dict[str, Any]) -> Table:
    table = new_table(*columns, **look)
    for row in rows:
        table.add_row(*row)
    return table


_MARKS: Final = "\u2588\u2593"
"""Placeholders for the cells of even and odd columns in a layout."""
_LAYOUTS: Final = 1 << 10
"""Layouts of tables that are kept."""


def _laid_out(
    columns: Iterable[str], rows: Sequence[Sequence[Any]], look: dict[str, Any]
) -> str | None:
    """Return the text of a table without styles; None if rich has to lay out all rows.

    It lays one row out, with the widths of all, which takes it milliseconds; others follow it. Not
    where a row takes more than one line, or a character another width than one.
    """
    from rich.cells import cell_len

    names = tuple(columns)
    every = [list(map(_plain, row)) for row in rows]
    if not every or any(len(row) > len(names) for row in every):
        return None
    every = [row + [""] * (len(names) - len(row)) for row in every]
    named = [printable(name).removeprefix(">") for name in names]
    texts = [named, *every]
    if not all(text.isascii() or {1}.issuperset(map(cell_len, text)) for text in chain(*texts)):
        return None
    widths = tuple(max(map(len, column)) for column in zip(*texts, strict=True))
    for number, name in enumerate(names):
        for row in every if name.startswith(">") else ():
            row[number] = row[number].rstrip()  # as rich does
    layout = _layout(names, widths, tuple(sorted(look.items())), sys.stdout.encoding)
    if layout is None:
        return None
    before, around, after = layout
    form = "".join(
        f"{part.replace('{', '{{').replace('}', '}}')}{{:{'>' if right else ''}{width}}}"
        for part, right, width in zip(
            around[:-1], (name[:1] == ">" for name in names), widths, strict=True
        )
    )
    lines = [before, *(form.format(*row) + around[-1] for row in every)]
    return "".join([*lines, after])


@lru_cache(_LAYOUTS)
def _layout(
    names: Sequence[str], widths: Sequence[int], look: Iterable[tuple[str, Any]], _: str
) -> tuple[str, list[str], str] | None:
    """Return what stands before the rows of a table, around the cells of each, and after them.

    The last argument is the encoding, which decides how rich draws.
    """
    marks = [_MARKS[number % 2] * width for number, width in enumerate(widths)]
    console = stdout_console()
    with console.capture() as captured_text:
        console.print(_filled(names, [marks], dict(look)))
    lines = captured_text.get().splitlines(keepends=True)
    marked = [number for number, line in enumerate(lines) if any(map(line.__contains__, _MARKS))]
    if len(marked) != 1:
        return None
    (place,) = marked
    around = re.split(f"([{_MARKS[0]}]+|[{_MARKS[1]}]+)", lines[place])
    if around[1::2] != marks:
        return None
    return "".join(lines[:place]), around[::2], "".join(lines[place + 1 :])


def _plain(cell: Any) -> str:
    return printable(cell if isinstance(cell, str) else str(cell.plain))


def _cell(row: Any, column: TableColumn) -> Any:
    form = ""
    if isinstance(column, str):
        name, _, form = column.partition(":")
        value = row[name] if isinstance(row, Mapping) else getattr(row, name)
    else:
        value = column(row)
    if value is None:
        return "-"
    return value if hasattr(value, "plain") else _FORMS[form](value)


def print_json(kind: str, content: Mapping[str, Any]) -> None:
    """Print an object with its type as one line; what JSON lacks becomes a string."""
    print_object({"type": kind, **content})


LONG: Final = "\0"
"""Placeholder for the long part of an object that does not contain this text."""


def print_object(content: Mapping[str, Any], *long: Iterable[str]) -> None:
    """Print an object as one line of JSON in ASCII, in which names are what they are.

    Args:
        content: the object.
        long: for each ``LONG`` in it, the pieces of the JSON that is printed there.
    """
    shown = json.dumps(content, default=str)
    first, *rest = shown.split(json.dumps(LONG)) if long else [shown]
    click.echo(first, nl=not rest)
    for pieces, text in zip(long, rest, strict=True):
        for piece in pieces:
            plain = piece.isascii() and piece.isprintable()
            piece = piece if plain else _NOT_PLAIN.sub(_json_escape, piece)
            click.echo(piece, nl=False, color=True)  # it has no escape of a terminal
        click.echo(text, nl=False)
    if rest:
        click.echo()


_NOT_PLAIN: Final = re.compile("[^ -~]+")


def _json_escape(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]
