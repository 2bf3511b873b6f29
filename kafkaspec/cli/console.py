"""What goes to people: rich consoles, a progress bar on a terminal, numbers in short form."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, TextIO, cast

if TYPE_CHECKING:
    from rich.console import Console

Advance = Callable[[int, str], None]
"""Takes bytes that were done and the name of what is being worked on."""

_PIPE_WIDTH = 200  # a table in a pipe is not squeezed into 80 columns


class _Stripped(io.TextIOBase):
    """Takes away the blanks that fill the lines of a table up to its width."""

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


def stdout_console() -> Console:
    """The console for results. In a pipe or file it writes no colour and does not wrap early."""
    from rich.console import Console

    terminal = sys.stdout.isatty()
    return Console(
        file=sys.stdout if terminal else cast(IO[str], _Stripped(sys.stdout)),
        width=None if terminal else _PIPE_WIDTH,
        highlight=False,
        emoji=False,
        markup=False,
        soft_wrap=not terminal,
    )


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Advance]:
    """A progress bar on stderr if that is a terminal, nothing otherwise."""
    if not sys.stderr.isatty():
        yield lambda _bytes, _name: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[name]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=total, name="")

        def advance(done: int, name: str) -> None:
            progress.update(task, advance=done, name=name)

        yield advance


def size_text(size: int) -> str:
    """Bytes in a form that is quick to read: ``512 B``, ``1.5 MiB``."""
    if size < 1024:
        return f"{size} B"
    scaled = float(size)
    for unit in ("KiB", "MiB", "GiB"):
        scaled /= 1024
        if scaled < 1024:
            return f"{scaled:.1f} {unit}"
    return f"{scaled / 1024:.1f} TiB"


def count_text(number: int, what: str, many: str = "") -> str:
    """``1 record``, ``2,000 records``."""
    return f"{number:,} {what if number == 1 else many or what + 's'}"
