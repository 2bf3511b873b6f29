"""The file that a command writes with ``-o``: as a whole or not at all, and never over an input."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import IO, Annotated, Any, Final, Literal, cast

import click

from kafkaspec.cli.console import Escaped
from kafkaspec.cli.options import Command
from kafkaspec.cli.sections import GIVEN
from kafkaspec.io.remote import address
from kafkaspec.output.atomic import cannot_write, file_aside
from kafkaspec.output.places import check_output
from kafkaspec.shown import some_of


def force_option(what: str) -> Callable[[Command], Command]:
    """Add ``--force``, which replaces an output that is called so in the help."""
    return click.option("--force", is_flag=True, help=f"Replace {what} if it exists.")


Force = Annotated[bool, force_option("OUT")]

OUTPUT_EPILOG: Final = """\
The file is written under another name and renamed when it is complete. It must
not be, or lie in, PATH.
"""


OutputContent = Literal["shown", "raw", "binary"]
"""What an output is: lines of the command and JSON, text that others read, or no text.

On standard output, what controls a terminal is escaped in the first, and in the second where
standard output is a terminal.
"""


def content_of(form: str) -> OutputContent:
    """Return what a table is in a format."""
    if form in ("json", "jsonl"):
        return "shown"
    return "raw" if form == "csv" else "binary"


def file_option(*, required: bool) -> Callable[[Command], Command]:
    """Add ``-o OUT``, a file or ``-``."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
        required=required,
        metavar="OUT",
        help="File to write, or - for standard output.",
    )


def report_options(command: Command) -> Command:
    """Add ``--html REPORT`` as ``report``, and ``--force``."""
    add_file = click.option(
        "--html",
        "report",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="REPORT",
        help="Also write a self-contained HTML report that works offline.",
    )
    return add_file(force_option("REPORT")(command))


def require_all(*names: str, what: str, extra: str) -> None:
    """Look for modules of an extra.

    Raises:
        ImportError: one is not installed.
    """
    for name in names:
        try:
            import_module(name)
        except ModuleNotFoundError:
            text = f"{what} {name}: pip install 'kafkaspec[{extra}]'"
            raise ImportError(text) from None


def require_html() -> None:
    """Look for what pages need.

    Raises:
        ImportError: it is not installed.
    """
    require_all("jinja2", what="pages need", extra="html")


def report_source(paths: Iterable[str | PathLike[str]]) -> list[tuple[str, str]]:
    """Return what a report says of its origin: the places that were read, and the command."""
    texts = [path if isinstance(path, str) else address(path) for path in paths]
    places = [text if "://" in text else os.path.abspath(text) for text in texts]
    given = click.get_current_context().meta.get(GIVEN, ())
    return [("Read", some_of(places)), ("Command", shlex.join(["kafkaspec", *given]))]


@contextmanager
def opened_report(report: Path | None, *inputs: Any, replace: bool) -> Iterator[IO[bytes] | None]:
    """Open the file of ``--html`` as ``opened_output`` does; None if it was not given."""
    if report is None:
        yield None
        return
    with opened_output(report, *inputs, replace=replace) as file:
        yield file


def is_file(output: Path | None) -> bool:
    """Return whether an output is not standard output."""
    return output is not None and str(output) != "-"


@contextmanager
def opened_output(
    output: Path | None, *inputs: Any, replace: bool, content: OutputContent = "binary"
) -> Iterator[IO[bytes]]:
    """Open an output, which appears at the end, unless there is an error.

    Args:
        output: its path; None or ``-`` for standard output.
        inputs: paths that it must not be, or lie in.
        replace: whether to replace a file.
        content: what is written.

    Raises:
        click.UsageError: there is a file of that name.
        KafkaSpecError: ``unreadable``: it cannot be written, or not there.
    """
    if output is None or not is_file(output):
        if content == "shown" or (content == "raw" and sys.stdout.isatty()):
            with Escaped(sys.stdout.buffer) as escaped:
                yield cast(IO[bytes], escaped)
        else:
            yield sys.stdout.buffer
        return
    check_output(output, *inputs)
    try:
        with file_aside(output, replace=replace) as file:
            yield file
    except FileExistsError:
        raise click.UsageError(f"{output} exists already; --force replaces it") from None
    except OSError as error:
        raise cannot_write(output, error.strerror or str(error)) from None
