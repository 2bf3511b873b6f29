"""Options that several jobs share."""

from __future__ import annotations

from typing import Annotated, Any

import click

from kafkaspec.cli.command import option

JobPaths = Annotated[
    tuple[str, ...], click.argument("paths", metavar="PATH...", nargs=-1, required=True)
]


def tasks_option() -> Any:
    """Declare ``--tasks N``."""
    text = "Number of tasks; three for each slot by default."
    return option("--tasks", text, type=click.IntRange(min=1), metavar="N")


def output_option(text: str, *, required: bool = False) -> Any:
    """Declare ``-o OUT``, a directory or URL."""
    return option("-o", "--output", text, metavar="OUT", required=required)


def restore_option() -> Any:
    """Declare ``--restore``: the way back of a job that writes rows."""
    return option(
        "--restore",
        "Do the reverse: PATH is what this job wrote, and -o gets partition directories.",
    )
