"""Groups that list their commands from a table, and import one only to run it."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Section:
    """Commands that ``--help`` lists together.

    Attributes:
        prefix: first part of the names of their modules: the module ``prefix + name`` has the
            command ``name_command``.
        summaries: the commands, each with its line in ``--help``.
        title: what they have in common.
    """

    prefix: str
    summaries: Mapping[str, str]
    title: str = "Commands"


class Commands(click.Group):
    """A group of commands that are imported when they are run."""

    def __init__(self, *, sections: Sequence[Section], **settings: Any) -> None:
        """Make a group without importing its commands.

        Args:
            sections: in the order of ``--help``.
        """
        super().__init__(**settings)
        self._sections = sections

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for section in self._sections for name in section.summaries]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for section in self._sections:
            if cmd_name in section.summaries:
                with _uncollected():
                    module = import_module(section.prefix + cmd_name)
                command: click.Command = getattr(module, f"{cmd_name}_command")
                return command
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section in self._sections:
            with formatter.section(section.title):
                formatter.write_dl(list(section.summaries.items()))
