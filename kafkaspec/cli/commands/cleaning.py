"""Shared by ``compaction`` and ``retention``: logs, settings, the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import click

from kafkaspec.broker.profiles import Profile
from kafkaspec.cli import options
from kafkaspec.cli.console import warn
from kafkaspec.cli.inputs import Inputs
from kafkaspec.cli.rules import profile_option, rules_of
from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.cleaner.settings import ClusterSettings, Settings
from kafkaspec.forensics.cleaner.view import LogView, opened
from kafkaspec.log.partition import Partition

_config_option: Final = click.option(
    "--config",
    "config",
    multiple=True,
    metavar="K=V",
    help="A setting of the topic or the broker, by Kafka's name. Others are those in "
    "__cluster_metadata-0 of the same log directory, or Kafka's defaults.",
)
_clock_option: Final = options.renamed_option(
    "--clock",
    old="--at",
    type=options.Timestamp(),
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


@dataclass(frozen=True, slots=True)
class Cleaning:
    """The settings by name, the clock in ms, the rules, the high watermark."""

    config: dict[str, str]
    now: int
    profile: str
    rules: Profile
    high_watermark: int | None


def cleaning_options(
    profile: str, *, high_watermark: bool = True
) -> Callable[[options.Command], options.Command]:
    """Add the settings, the clock, the version and the high watermark, as one argument ``asked``.

    Args:
        profile: help for the version of Kafka.
        high_watermark: whether the command takes one.
    """
    added = {"config": _config_option, "clock": _clock_option}
    if high_watermark:
        added["high_watermark"] = _high_watermark_option
    added["profile"] = profile_option(help=profile)
    return options.packed("asked", added, _asked)


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


def _asked(
    config: Sequence[str], clock: int | None, profile: str, high_watermark: int | None = None
) -> Cleaning:
    """Return what the options say; the clock is now by default.

    Raises:
        click.BadParameter: a setting is none of those that count here, or the version is unknown.
    """
    now = time.time_ns() // 1_000_000 if clock is None else clock
    return Cleaning(_parsed(config), now, profile, rules_of(profile), high_watermark)


def views(inputs: Inputs, asked: Cleaning) -> Iterator[tuple[LogView, Settings]]:
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
            view, settings, notes = opened(partition, asked.config, beside, asked.high_watermark)
            for text in notes:
                warn(f"note: {text}")
            inputs.read += 1
            yield view, settings
            inputs.report_missing(partition, ends_only=True)
        except KafkaSpecError as error:
            inputs.cannot_read(error)
