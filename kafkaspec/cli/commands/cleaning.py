"""Shared by ``compaction`` and ``retention``: logs, settings, the clock."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

import click

from kafkaspec.broker.profiles import Profile
from kafkaspec.cli.console import warn
from kafkaspec.cli.inputs import Inputs
from kafkaspec.cli.options import Command, Timestamp, paths_argument, renamed_option, rules_of
from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.cleaner.settings import ClusterSettings, Settings
from kafkaspec.forensics.cleaner.view import LogView, opened
from kafkaspec.log.partition import Partition

config_option: Final = click.option(
    "--config",
    "config",
    multiple=True,
    metavar="K=V",
    help="A setting of the topic or the broker, by Kafka's name. Others are those in "
    "__cluster_metadata-0 of the same log directory, or Kafka's defaults.",
)
clock_option: Final = renamed_option(
    "--clock",
    old="--at",
    type=Timestamp(),
    metavar="TIME",
    help="The clock of the broker: milliseconds since 1970, or ISO 8601 (UTC if it names no "
    "zone). By default now.",
)
_high_watermark_option: Final = click.option(
    "--high-watermark",
    type=click.IntRange(min=0),
    metavar="N",
    help="First offset that is not on all replicas; by default all records are.",
)


def cleaning_options(command: Command) -> Command:
    """Add the paths, the settings, the clock and the high watermark."""
    return paths_argument(config_option(clock_option(_high_watermark_option(command))))


def _parsed(config: Sequence[str]) -> dict[str, str]:
    """Return settings by name.

    Raises:
        click.BadParameter: one is not K=V, or none of those that count here.
    """
    found: dict[str, str] = {}
    for item in config:
        name, equals, value = item.partition("=")
        if not equals:
            raise click.BadParameter(f"{item!r} is not K=V", param_hint="--config")
        found[name.strip()] = value.strip()
    try:
        Settings(found)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--config") from None
    return found


def asked(
    config: Sequence[str], clock: int | None, profile: str
) -> tuple[dict[str, str], int, Profile]:
    """Return settings by name, the clock in ms, which is now by default, and the rules.

    Raises:
        click.BadParameter: a setting is none of those that count here, or the version is unknown.
    """
    now = time.time_ns() // 1_000_000 if clock is None else clock
    return _parsed(config), now, rules_of(profile)


def views(
    inputs: Inputs, config: Mapping[str, str], high_watermark: int | None
) -> Iterator[tuple[LogView, Settings]]:
    """Yield each partition of the inputs, and its settings. A segment stands for its partition.

    What cannot be read is reported, and counted in ``inputs``.
    """
    cluster = cache(ClusterSettings)
    for _, log in inputs.logs():
        path = log.path
        assert path is not None
        try:
            partition = log if isinstance(log, Partition) else Partition(path.absolute().parent)
            beside = cluster(partition.path.absolute().parent)
            view, settings, notes = opened(partition, config, beside, high_watermark)
            for text in notes:
                warn(f"note: {text}")
            inputs.read += 1
            yield view, settings
            inputs.report_missing(partition, ends_only=True)
        except KafkaSpecError as error:
            inputs.cannot_read(error)
