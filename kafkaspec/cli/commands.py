"""Groups that list their commands from a table, and import one only to run it."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click


@contextmanager
def _uncollected() -> Iterator[None]:
    """Collect no garbage in the block: modules are none, and looking for it takes a tenth of it."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Commands(click.Group):
    """A group whose command ``name`` is ``name_command`` of the module ``prefix + name``."""

    def __init__(self, *, prefix: str, summaries: Mapping[str, str], **settings: Any) -> None:
        """Make a group without importing its commands.

        Args:
            prefix: first part of the names of the modules.
            summaries: the commands, each with its line in ``--help``.
        """
        super().__init__(**settings)
        self._prefix = prefix
        self._summaries = summaries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._summaries:
            return None
        with _uncollected():
            module = import_module(self._prefix + cmd_name)
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._summaries.items()))
