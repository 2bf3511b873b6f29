"""``kafkaspec spec``: questions about the specification, which a checkout answers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click

import kafkaspec

_CHECKOUT = Path(kafkaspec.__file__).parents[1]


@click.group("spec")
def spec_command() -> None:
    """Compare specifications of the format."""


@spec_command.command(
    "diff", context_settings={"ignore_unknown_options": True, "help_option_names": []}
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[A] [B]")
def diff_command(arguments: tuple[str, ...]) -> None:
    """Say what changed between two specifications, and whom each change breaks.

    It needs a checkout of kafkaspec, which has the generator.
    """
    if not (_CHECKOUT / "tools" / "specdiff").is_dir():
        raise click.UsageError("this needs a checkout of kafkaspec, and its own .venv")
    path = os.pathsep.join(filter(None, (str(_CHECKOUT), os.environ.get("PYTHONPATH"))))
    sys.exit(
        subprocess.run(
            [sys.executable, "-m", "tools.specdiff", *arguments],
            env={**os.environ, "PYTHONPATH": path},
        ).returncode
    )
