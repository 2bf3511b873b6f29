"""Where reading begins and ends in each log."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from kafkaspec.log.continuity import gone
from kafkaspec.log.listed import TopicLog
from kafkaspec.options import did_you_mean
from kafkaspec.shown import some_of
from kafkaspec.spark.failing import DataLossError, NotThereError
from kafkaspec.spark.options import EARLIEST, LATEST, RangeBound, ReadOptions
from kafkaspec.spark.parsing import OptionError
from kafkaspec.spark.paths import LOGGER


@dataclass(frozen=True)
class OffsetSpan:
    """Offsets of a log that are wanted, without ``end``; None for as far as there are any."""

    start: int | None = None
    end: int | None = None


def check_partitions(bound: RangeBound, logs: Iterable[TopicLog], name: str) -> None:
    """Make sure that offsets by topic-partition are those of all that is read, as in Spark."""
    given = bound.offsets if bound.offsets is not None else bound.timestamps
    if not isinstance(given, dict):
        return
    there = {(log.topic, log.partition) for log in logs}
    missing = sorted(f"{topic}-{partition}" for topic, partition in there - set(given))
    if missing:
        raise OptionError(f"{name} specifies no offset for {', '.join(missing)}")
    more = sorted(f"{topic}-{partition}" for topic, partition in set(given) - there)
    if more:
        raise NotThereError(f"{name} specifies offsets for {', '.join(more)}, which is not there")


def check_selected(
    options: ReadOptions, logs: Collection[TopicLog], found: Collection[TopicLog] | None = None
) -> None:
    """Make sure that ``subscribe`` and ``assign`` name only what is there, as in Spark.

    ``found`` are all logs; None for a stream, in which topics may appear later: then a pattern
    without a match is logged.
    """
    if options.pattern is not None and not logs:
        text = f"subscribePattern {options.pattern} matches no topic"
        if found is not None:
            topics = sorted({log.topic for log in found if log.topic is not None})
            raise NotThereError(f"{text}; there are {some_of(topics) or 'none'}")
        LOGGER.warning("%s", text)
    there = {(log.topic, log.partition) for log in (found or logs) if log.topic is not None}
    known = {topic for topic, _ in there if topic is not None}
    _refuse("subscribe", (options.topics or frozenset()) - known, known)
    names = {f"{topic}-{partition}" for topic, partition in there}
    missing = (options.assigned or frozenset()) - there
    _refuse("assign", {f"{topic}-{partition}" for topic, partition in missing}, names)


def _refuse(option: str, missing: Collection[str], known: Collection[str]) -> None:
    if missing:
        names = sorted(missing)
        near = did_you_mean(names[0], known)
        raise NotThereError(f"{option} names {', '.join(names)}, which is not there{near}")


def span_of(log: TopicLog, options: ReadOptions) -> OffsetSpan:
    """Return the offsets that the options ask for."""
    start = _offset(log, options.start, options)
    if start is None and options.start.timestamps is None and log.start_offset is not None:
        start = log.start_offset
        below = log.segments[0].base_offset
        LOGGER.warning("%s begins at its log start offset %s, not at %s", log, start, below)
    if start is None and options.start.timestamps is not None:
        if not options.latest_without_match:
            wanted = _of(log, options.start.timestamps)
            raise NotThereError(
                f"no record of {log} reaches the starting timestamp {wanted};"
                " startingOffsetsByTimestampStrategy=latest takes that for the end of the log"
            )
        start = log.opened.log_end_offset
    return OffsetSpan(start, _offset(log, options.end, options))


def _offset(log: TopicLog, bound: RangeBound, options: ReadOptions) -> int | None:
    timestamp = _of(log, bound.timestamps)
    if timestamp is not None:
        return log.opened.find(timestamp=timestamp, plain=not options.broker_times).offset
    offset = _of(log, bound.offsets)
    return None if offset in (EARLIEST, LATEST) else offset


def _of(log: TopicLog, value: int | dict[tuple[str, int], int] | None) -> int | None:
    if value is not None and isinstance(value, dict):
        return value[log.topic or "", -1 if log.partition is None else log.partition]
    return value


def available(log: TopicLog, span: OffsetSpan, options: ReadOptions) -> OffsetSpan:
    """Return the part of a span that still exists; report it if that is not all."""
    text = "" if span.start is None else gone(log, span.start)
    if not text:
        return span
    report_loss(text, options)
    return replace(span, start=log.first_offset)


def report_loss(text: str, options: ReadOptions) -> None:
    """Say that data is lost."""
    if options.fail_on_data_loss:
        raise DataLossError(f"{text}; failOnDataLoss=false goes on with what is there")
    LOGGER.warning("data is lost: %s", text)
