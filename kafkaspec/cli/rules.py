"""Options that choose the rules of a broker; other commands start without these rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import click

from kafkaspec.broker.index_rules import INDEX_INTERVAL_BYTES
from kafkaspec.broker.profiles import DEFAULT_PROFILE, Profile, get_profile
from kafkaspec.broker.settings import BOUNDS
from kafkaspec.cli.options import Command, library_option

Interval = Annotated[
    int,
    library_option(
        "index_interval_bytes",
        into="interval",
        type=click.IntRange(*BOUNDS["index_interval_bytes"]),
        default=INDEX_INTERVAL_BYTES,
        metavar="BYTES",
    ),
]


def profile_option(**settings: Any) -> Callable[[Command], Command]:
    """Add ``--profile VERSION``, a version of Kafka."""
    return library_option("profile", default=DEFAULT_PROFILE, metavar="VERSION", **settings)


def rules_of(profile: str) -> Profile:
    """Return the rules of a version of Kafka.

    Raises:
        click.BadParameter: there is none.
    """
    try:
        return get_profile(profile)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--profile") from None
