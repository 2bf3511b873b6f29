"""What the commands about Kafka's own topics share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kafkaspec.cli.console import count_text, print_json, say, warn
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.options import Timestamp, iso
from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.layout.names import MESSAGE_FRAME
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment

if TYPE_CHECKING:
    from kafkaspec.state.framed import LeftOut
    from kafkaspec.state.history import Event

_SHOWN: Final = 10
"""Errors of a log that are shown one by one."""

at_option: Final = click.option(
    "--at",
    type=Timestamp(),
    metavar="TIME",
    help="The state at this time: milliseconds since 1970, or ISO 8601 (UTC if it names no zone).",
)
release_option: Final = click.option(
    "--release",
    metavar="VERSION",
    help="Release of the brokers that wrote it, for layouts that bytes alone do not tell apart.",
)


def internal_logs(
    path: Path, topic: str, *, required: bool = True
) -> Iterator[Segment | Partition]:
    """Yield the partitions of an internal topic that a path leads to, or the segment that it is.

    Raises:
        KafkaSpecError: ``unreadable``, also where a log directory has none and it is required.
    """
    with open_log(path) as opened:
        if not isinstance(opened, LogDirectory):
            yield opened
            return
        partitions = [each for each in opened.current if each.topic == topic]
        if required and not partitions:
            raise unreadable(str(path), f"there is no partition of {topic}")
        yield from partitions


def neighbours(log: Segment | Partition) -> Sequence[Partition]:
    """Return the partitions of the log directory that a log is in; none if it is in none."""
    path = log.path
    if path is None:
        return ()
    home = path.absolute().parent
    home = home.parent if isinstance(log, Segment) else home
    try:
        return LogDirectory(home).current
    except KafkaSpecError:
        return ()


def report_left_out(log: Segment | Partition, left_out: LeftOut) -> int:
    """Print what could not be decoded in a log; return the exit code."""
    errors, unknown = left_out.errors, left_out.unknown
    for error in errors[:_SHOWN]:
        warn(str(error))
    if len(errors) > _SHOWN:
        warn(f"{log.path}: {count_text(len(errors) - _SHOWN, 'more record')} not decoded")
    for number, count in unknown.items():
        what = "without a type" if number is None else f"of type {number}, which is not known"
        warn(f"{log.path}: {count_text(count, 'record')} {what}, left out")
    return FINDINGS if errors or unknown else CLEAN


def report_compacted(log: Segment | Partition, at: int | None) -> int:
    """Say if a log no longer holds all records of a time; return the exit code.

    Compaction removes what later records of the same keys replace, up to the offset in the
    checkpoint of the cleaner: for a time after the first record from there on, nothing is missing.
    """
    if at is None or isinstance(log, Segment) or not log.cleaner_offset:
        return CLEAN
    first = log.find(offset=log.cleaner_offset).record
    if first is not None and first.timestamp <= at:
        return CLEAN
    warn(
        f"{log.path}: compacted up to offset {log.cleaner_offset}: what later records replaced is "
        f"missing at {iso(at)}"
    )
    return FINDINGS


def show_event(event: Event, output_format: str) -> None:
    """Print a record of a group or transactional id."""
    if output_format == "json":
        print_json("event", event._asdict())
        return
    value = "deleted" if event.value is None else _summary(event.value)
    key = " ".join(f"{item}" for name, item in event.key.items() if name not in MESSAGE_FRAME)
    say(f"{event.offset}  {iso(event.timestamp)}  {event.name}  {key}: {value}")


def _summary(value: Mapping[str, Any]) -> str:
    parts = (
        f"{name}={item}"
        for name, item in value.items()
        if name not in MESSAGE_FRAME and item is not None
    )
    return " ".join(parts)
