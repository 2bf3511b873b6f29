"""Read a stream: offsets by topic-partition, new segments and partitions as they come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from kafkaspec.spark.batch_reader import TaskReader
from kafkaspec.spark.offsets import Span, check_partitions, report_loss, span_of
from kafkaspec.spark.options import EARLIEST, LATEST, Bound, ReadOptions, TopicPartition
from kafkaspec.spark.paths import Log
from kafkaspec.spark.planning import plan_spans
from kafkaspec.spark.schema import Output
from kafkaspec.spark.tails import Tails

Offsets = dict[TopicPartition, int]
"""The next offset by topic-partition."""


class SegmentStreamReader(TaskReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads segments as a stream.

    The checkpoint holds what ``startingOffsets`` takes: ``{"topic":{"0":23}}``.
    """

    def __init__(self, options: ReadOptions, output: Output) -> None:
        """Make a reader.

        Args:
            options: options of the read.
            output: columns to read.
        """
        super().__init__(options, output)
        self._tails = Tails(options)
        self._target: Offsets | None = None

    # -- offsets ----------------------------------------------------------------------------

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return where a new query begins.

        Raises:
            KafkaSpecError: a log cannot be read.
            OptionError: ``startingOffsets`` are not of what is there.
        """
        logs = self._tails.logs()
        bound = self._options.start
        check_partitions(bound, logs.values(), "startingOffsets")
        found: Offsets = {}
        for place, log in logs.items():
            start = span_of(log, self._options).start
            offset = _given(bound, place)
            if offset == LATEST:
                start = self._tails.end(log)
            elif start is None or offset == EARLIEST:
                start = log.first_offset
            found[place] = start
        return _json(found)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return where the next micro-batch ends: what is whole, and no more than the limit.

        Raises:
            KafkaSpecError: a log cannot be read.
        """
        begin = _parsed(start)
        logs = self._tails.logs()
        end = {place: self._tails.end(log) for place, log in logs.items()}
        if self._target is not None:
            target = self._target
            end = {place: min(to, target[place]) for place, to in end.items() if place in target}
        for place, to in end.items():  # a partition that is new: from its beginning
            begin.setdefault(place, min(to, logs[place].first_offset))
        for place, offset in begin.items():  # nothing goes back here; partitions() sees that
            end[place] = max(offset, end.get(place, offset))
        if isinstance(limit, ReadMaxRows):
            end = _limited(begin, end, limit.max_rows)
        return _json(end)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return ``maxOffsetsPerTrigger``."""
        most = self._options.max_offsets
        return ReadMaxRows(most) if most else ReadAllAvailable()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """Return the ends of the logs, for the progress of the query."""
        return _json(self._ends())

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix the ends of the logs: later records do not count."""
        self._target = self._ends()

    def _ends(self) -> Offsets:
        return {place: self._tails.end(log) for place, log in self._tails.logs().items()}

    # -- tasks ------------------------------------------------------------------------------

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return the tasks of a micro-batch.

        Raises:
            KafkaSpecError: a log cannot be read.
            OptionError: offsets are gone, and ``failOnDataLoss``.
        """
        begin, stop = _parsed(start), _parsed(end)
        logs = self._tails.logs()
        spans: list[tuple[Log, Span]] = []
        for place, to in sorted(stop.items()):
            log = logs.get(place)
            low = begin.get(place, log.first_offset if log is not None else 0)
            if log is None or not log.segments:
                if low < to:
                    text = f"offsets {low}..{to - 1} of {place[0]}-{place[1]} are gone"
                    report_loss(text, self._options)
                continue
            first = log.first_offset
            if low < to and low < first:
                gone = min(first, to) - 1
                text = f"offsets {low}..{gone} of {log} are gone: the log begins at {first}"
                report_loss(text, self._options)
            ends_at = self._tails.end(log)
            if ends_at < max(low, to):
                text = f"{log} ends at {ends_at}, and offsets up to {max(low, to)} were there"
                report_loss(text, self._options)
            if max(low, first) < to:
                spans.append((log, Span(max(low, first), to)))
        return list(plan_spans(spans, replace(self._options, start=Bound(), end=Bound())))

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: no data is kept for a commit."""

    def stop(self) -> None:
        """Do nothing: nothing is open."""


def _given(bound: Bound, place: TopicPartition) -> int | None:
    return bound.offsets.get(place) if isinstance(bound.offsets, dict) else bound.offsets


def _json(offsets: Offsets) -> dict[str, Any]:
    """Return offsets in a fixed order, since Spark compares them as text."""
    made: dict[str, Any] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        made.setdefault(topic, {})[str(partition)] = offset
    return made


def _parsed(offsets: dict[str, Any]) -> Offsets:
    return {
        (topic, int(partition)): int(offset)
        for topic, numbers in offsets.items()
        for partition, offset in numbers.items()
    }


def _limited(begin: Offsets, end: Offsets, most: int) -> Offsets:
    """Divide the offsets of a micro-batch by backlog. Spark: ``KafkaOffsetReader.rateLimit``."""
    backlog = {place: end[place] - begin[place] for place in end}
    total = sum(backlog.values())
    if total <= most:
        return end
    shares = {place: most * size // total for place, size in backlog.items()}
    left = most - sum(shares.values())
    for place in sorted(backlog, key=lambda item: (-backlog[item], item)):
        if left and shares[place] < backlog[place]:
            shares[place] += 1
            left -= 1
    return {place: begin[place] + share for place, share in shares.items()}
