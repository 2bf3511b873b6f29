"""The tree of commands, and the options of each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import click

from kafkaspec.cli.main import main


def _walk(
    command: click.Command, name: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield " ".join(name), command
        return
    context = click.Context(command)
    for each in command.list_commands(context):
        inner = command.get_command(context, each)
        assert inner is not None
        yield from _walk(inner, (*name, each))


@cache
def commands() -> dict[str, click.Command]:
    """Return all commands that do something, by name: ``spark export``."""
    return dict(_walk(main))


def option_name(option: click.Option) -> str:
    """Return the long name of an option."""
    return max(option.opts, key=len)
