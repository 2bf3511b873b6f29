"""Groups that list their commands from a table, and import one only to run it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import click

from kafkaspec.lazy import uncollected

GIVEN: Final = f"{__name__}.given"
"""Where a context has the arguments of the command line."""


class Commands(click.Group):
    """A group of commands that are imported when they are run."""

    def __init__(
        self, *, package: str, sections: Mapping[str, Mapping[str, str]], **settings: Any
    ) -> None:
        """Make a group without importing its commands.

        Args:
            package: has a module for each command: ``name`` has ``name_command``.
            sections: by title, in the order of ``--help``, the commands with their lines in it.
        """
        super().__init__(**settings)
        self._package = package
        self._sections = sections

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta.setdefault(GIVEN, tuple(args))
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for summaries in self._sections.values() for name in summaries]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        with uncollected():
            module = import_module(f"{self._package}.{cmd_name}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, summaries in self._sections.items():
            with formatter.section(title):
                formatter.write_dl(list(summaries.items()))
