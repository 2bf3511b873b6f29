"""Groups that list their commands from a table, and import one only to run it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


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
        command: click.Command = getattr(
            import_module(self._prefix + cmd_name), f"{cmd_name}_command"
        )
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._summaries.items()))
