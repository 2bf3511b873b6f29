"""Options that several jobs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from kafkaspec.compression import NAMES

Command = TypeVar("Command", bound=Callable[..., Any])

paths_argument: Final = click.argument("paths", metavar="PATH...", nargs=-1, required=True)

split_option: Final = click.option(
    "--split",
    "split_bytes",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    callback=lambda _, __, value: value << 20,
    metavar="MIB",
    help="Read larger segments in parts.",
)

tasks_option: Final = click.option(
    "--tasks",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of tasks; three for each slot by default.",
)

create_time_option: Final = click.option(
    "--as-create-time",
    is_flag=True,
    help="Write timestamps of brokers (LogAppendTime) as ones of producers.",
)

compression_option: Final = click.option(
    "--compression",
    type=click.Choice(NAMES),
    default="none",
    show_default=True,
    help="Compression of new batches.",
)


def output_option(text: str, *, required: bool = False) -> Callable[[Command], Command]:
    """Add ``-o OUT``, a directory or URL."""
    return click.option("-o", "--output", metavar="OUT", required=required, help=text)
