"""The file that a command writes with ``-o``: as a whole or not at all, and never over an input."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

import click

from kafkaspec.cli.options import Command
from kafkaspec.writing.atomic import cannot_write, file_aside
from kafkaspec.writing.places import check_output

force_option: Final = click.option("--force", is_flag=True, help="Replace OUT if it exists.")

OUTPUT_EPILOG: Final = """\
The file is written under another name and renamed when it is complete. It must
not be, or lie in, PATH.
"""


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


def is_file(output: Path | None) -> bool:
    """Return whether an output is not standard output."""
    return output is not None and str(output) != "-"


@contextmanager
def opened_output(output: Path | None, *inputs: Any, replace: bool) -> Iterator[IO[bytes]]:
    """Open an output, which appears at the end, unless there is an error.

    Args:
        output: its path; None or ``-`` for standard output.
        inputs: paths that it must not be, or lie in.
        replace: whether to replace a file.

    Raises:
        click.UsageError: there is a file of that name.
        KafkaSpecError: ``unreadable``: it cannot be written, or not there.
    """
    if output is None or not is_file(output):
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
