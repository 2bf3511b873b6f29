"""Options for commands that follow Kafka's rules for the files of a log."""

from __future__ import annotations

from typing import Annotated, Final

import click

from kafkaspec.broker.index_rules import INDEX_INTERVAL_BYTES
from kafkaspec.broker.profiles import Profile, get_profile
from kafkaspec.broker.settings import BOUNDS


def rules_of(profile: str) -> Profile:
    """Return the rules of a version of Kafka.

    Raises:
        click.BadParameter: there is none.
    """
    try:
        return get_profile(profile)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--profile") from None


interval_option: Final = click.option(
    "--interval",
    type=click.IntRange(*BOUNDS["index_interval_bytes"]),
    default=INDEX_INTERVAL_BYTES,
    show_default=True,
    metavar="BYTES",
    help="index.interval.bytes of the topic.",
)
Interval = Annotated[int, interval_option]
