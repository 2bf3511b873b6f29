"""Options that several jobs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_MEBIBYTE: Final = 1 << 20


def _bytes(_: click.Context, __: click.Parameter, value: int) -> int:
    return value * _MEBIBYTE


def split_option(command: Command) -> Command:
    """Add ``--split MIB``."""
    return click.option(
        "--split",
        "split_bytes",
        type=click.IntRange(min=1),
        default=256,
        show_default=True,
        callback=_bytes,
        metavar="MIB",
        help="Read larger segments in parts.",
    )(command)


def tasks_option(command: Command) -> Command:
    """Add ``--tasks N``."""
    return click.option(
        "--tasks",
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of tasks; three for each slot by default.",
    )(command)


def output_option(text: str) -> Callable[[Command], Command]:
    """Add ``-o OUT``."""

    def decorate(command: Command) -> Command:
        return click.option("-o", "--output", metavar="OUT", help=text)(command)

    return decorate


def create_time_option(command: Command) -> Command:
    """Add ``--as-create-time``."""
    return click.option(
        "--as-create-time",
        is_flag=True,
        help="Write timestamps of brokers (LogAppendTime) as ones of producers.",
    )(command)
