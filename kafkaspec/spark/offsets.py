"""Where reading begins and ends in each log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kafkaspec.spark.options import EARLIEST, LATEST, Bound, ReadOptions
from kafkaspec.spark.parsing import OptionError
from kafkaspec.spark.paths import LOGGER, Log


@dataclass(frozen=True)
class Span:
    """Offsets of a log that are wanted; None for as far as there are any.

    Attributes:
        start: the smallest.
        end: the first one that is not wanted.
    """

    start: int | None = None
    end: int | None = None


def check_partitions(bound: Bound, logs: Iterable[Log], name: str) -> None:
    """Make sure that offsets by topic-partition are those of all that is read, as in Spark.

    Raises:
        OptionError: some are missing, or are of nothing that is read.
    """
    given = bound.offsets if bound.offsets is not None else bound.timestamps
    if not isinstance(given, dict):
        return
    there = {(log.topic, log.partition) for log in logs}
    missing = sorted(f"{topic}-{partition}" for topic, partition in there - set(given))
    if missing:
        raise OptionError(f"{name} specifies no offset for {', '.join(missing)}")
    more = sorted(f"{topic}-{partition}" for topic, partition in set(given) - there)
    if more:
        raise OptionError(f"{name} specifies offsets for {', '.join(more)}, which is not there")


def span_of(log: Log, options: ReadOptions) -> Span:
    """Return the offsets that the options ask for.

    Raises:
        KafkaSpecError: a look-up by timestamp meets what it cannot read.
        OptionError: no record reaches a starting timestamp.
    """
    start = _offset(log, options.start)
    if start is None and options.start.timestamps is not None:
        if not options.latest_without_match:
            wanted = _of(log, options.start.timestamps)
            raise OptionError(
                f"no record of {log} reaches the starting timestamp {wanted};"
                " startingOffsetsByTimestampStrategy=latest takes that for the end of the log"
            )
        start = log.opened.log_end_offset
    return Span(start, _offset(log, options.end))


def _offset(log: Log, bound: Bound) -> int | None:
    timestamp = _of(log, bound.timestamps)
    if timestamp is not None:
        return log.opened.find(timestamp=timestamp).offset
    offset = _of(log, bound.offsets)
    return None if offset in (EARLIEST, LATEST) else offset


def _of(log: Log, value: int | dict[tuple[str, int], int] | None) -> int | None:
    if isinstance(value, dict):
        return value[log.topic or "", -1 if log.partition is None else log.partition]
    return value


def first_offset(log: Log) -> int:
    """Return the first offset that the segments of a log may have."""
    return (log.segments[0].base_offset or 0) if log.segments else 0


def lost(log: Log, span: Span, options: ReadOptions) -> None:
    """Report that requested offsets no longer exist.

    Raises:
        OptionError: they do not, and ``failOnDataLoss``.
    """
    first = first_offset(log)
    if span.start is not None and span.start < first:
        text = f"offsets {span.start}..{first - 1} of {log} are gone: the log begins at {first}"
        report_loss(text, options)


def report_loss(text: str, options: ReadOptions) -> None:
    """Say that data is lost.

    Raises:
        OptionError: ``failOnDataLoss``.
    """
    if options.fail_on_data_loss:
        raise OptionError(f"{text}; failOnDataLoss=false goes on with what is there")
    LOGGER.warning("data is lost: %s", text)
