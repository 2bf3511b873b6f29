"""Read a stream: offsets by topic-partition, new segments and partitions as they come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from kafkaspec.log.batch import NONE
from kafkaspec.log.continuity import EpochFiles, Reached, continued
from kafkaspec.log.listed import TopicLog
from kafkaspec.spark.batch_reader import TaskReader
from kafkaspec.spark.failing import plainly
from kafkaspec.spark.offsets import (
    OffsetSpan,
    check_partitions,
    check_selected,
    report_loss,
    span_of,
)
from kafkaspec.spark.options import EARLIEST, LATEST, RangeBound, ReadOptions
from kafkaspec.spark.parsing import OptionError, TopicPartition
from kafkaspec.spark.planning import plan_spans
from kafkaspec.spark.schema import WantedColumns
from kafkaspec.spark.tails import Tails

_Offsets = dict[TopicPartition, int]
"""The next offset by topic-partition."""

OFFSET: Final = "offset"
LEADER_EPOCH: Final = "leaderEpoch"
TOPIC_ID: Final = "topicId"
"""Names in the checkpoint."""


class SegmentStreamReader(TaskReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads segments as a stream.

    The checkpoint holds the next offset of each partition, ``{"topic":{"0":23}}``; as far as they
    are known, also the leader epoch before it and the id of the topic:
    ``{"topic":{"0":{"offset":23,"leaderEpoch":5,"topicId":"..."}}}``.
    """

    def __init__(self, options: ReadOptions, output: WantedColumns) -> None:
        """Make a reader."""
        super().__init__(options, output)
        self._tails = Tails(options)
        self._epochs = EpochFiles()
        self._target: _Offsets | None = None
        self._said: set[str] = set()

    # -- offsets ----------------------------------------------------------------------------

    @plainly()
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return where a new query begins."""
        logs = self._tails.logs()
        bound = self._options.start
        check_selected(self._options, logs.values())
        check_partitions(bound, logs.values(), "startingOffsets")
        found: _Offsets = {}
        for place, log in logs.items():
            start = span_of(log, self._options).start
            given = bound.offsets
            offset = given.get(place) if isinstance(given, dict) else given
            if offset == LATEST:
                start = self._tails.end(log)
            elif start is None or offset == EARLIEST:
                start = log.first_offset
            found[place] = start
        return self._json(found, logs)

    @plainly()
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return where the next micro-batch ends: what is whole, and no more than the limit."""
        given = _parsed(start)
        logs = self._tails.logs()
        begin = {place: self._still(place, read, logs) for place, read in given.items()}
        end = {place: self._tails.end(log) for place, log in logs.items()}
        if self._target is not None:
            target = self._target
            end = {place: min(to, target[place]) for place, to in end.items() if place in target}
        for place, to in end.items():  # a partition that is new: from its beginning
            begin.setdefault(place, min(to, logs[place].first_offset))
        for place, offset in begin.items():  # a stable offset, or a target, may be lower
            end[place] = max(offset, end.get(place, offset))
        if isinstance(limit, ReadMaxRows):
            end = _limited(begin, end, limit.max_rows)
        same = {place: read for place, read in given.items() if begin[place] == read.offset}
        return self._json(end, logs, same)

    def _still(
        self, place: TopicPartition, read: Reached, logs: Mapping[TopicPartition, TopicLog]
    ) -> int:
        """Return the offset up to which a log is what was read, and report it if it is lower."""
        log = logs.get(place)
        if log is None:
            self._report(f"{place[0]}-{place[1]} is gone; its next offset was {read.offset}")
            return read.offset
        offset, broken = continued(log, read, self._tails.log_end(log), self._epochs)
        if broken:
            self._report(broken)
        return offset

    def _report(self, text: str) -> None:
        """Report a loss; if it is not an error, once."""
        if self._options.fail_on_data_loss or text not in self._said:
            report_loss(text, self._options)
            self._said.add(text)

    def _json(
        self,
        offsets: _Offsets,
        logs: Mapping[TopicPartition, TopicLog],
        before: Mapping[TopicPartition, Reached] | None = None,
    ) -> dict[str, Any]:
        """Return offsets with their epochs; what has not moved is as it was."""
        reached = {
            place: known
            if (known := (before or {}).get(place)) is not None and known.offset == offset
            else self._epochs.reached(logs[place], offset)
            for place, offset in offsets.items()
        }
        return _text(reached)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return ``maxOffsetsPerTrigger``."""
        most = self._options.max_offsets
        return ReadMaxRows(most) if most else ReadAllAvailable()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """Return the ends of the logs, for the progress of the query."""
        return _text({place: Reached(offset) for place, offset in self._ends().items()})

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix the ends of the logs: later records do not count."""
        self._target = self._ends()

    def _ends(self) -> _Offsets:
        return {place: self._tails.end(log) for place, log in self._tails.logs().items()}

    @staticmethod
    def lag(end: Any, latest: Any) -> dict[str, int]:
        """Return the offsets between two places by topic-partition; {} if they are of no log."""
        try:
            before, after = _parsed(end), _parsed(latest)
        except (AttributeError, TypeError, ValueError, KeyError):  # another source's
            return {}
        return {
            f"{topic}-{number}": max(0, offset - before.get((topic, number), Reached(0)).offset)
            for (topic, number), (offset, *_) in after.items()
        }

    # -- tasks ------------------------------------------------------------------------------

    @plainly()
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return the tasks of a micro-batch."""
        begin, stop = _parsed(start), _parsed(end)
        logs = self._tails.logs()
        spans: list[tuple[TopicLog, OffsetSpan]] = []
        for place, reached in sorted(stop.items()):
            to, log = reached.offset, logs.get(place)
            first = log.first_offset if log is not None else 0
            low = self._still(place, begin.get(place, Reached(min(first, to))), logs)
            if log is None or not log.segments:
                continue
            if low < to and low < first:
                gone = min(first, to) - 1
                text = f"offsets {low}..{gone} of {log} are gone: the log begins at {first}"
                report_loss(text, self._options)
            if max(low, first) < to:
                self._still(place, reached, logs)
                spans.append((log, OffsetSpan(max(low, first), to)))
        return list(plan_spans(spans, replace(self._options, start=RangeBound(), end=RangeBound())))

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: no data is kept for a commit."""

    def stop(self) -> None:
        """Do nothing: nothing is open."""


class RefusedStream(DataSourceStreamReader):
    """A stream that cannot begin: whatever is asked of it first raises an error."""

    def __init__(self, error: OptionError) -> None:
        self._error = error

    @plainly()
    def _refuse(self, start: Any = None, end: Any = None) -> Any:
        raise self._error

    initialOffset = latestOffset = partitions = read = _refuse  # noqa: N815


def _text(reached: Mapping[TopicPartition, Reached]) -> dict[str, Any]:
    """Return offsets in a fixed order, since Spark compares them as text."""
    made: dict[str, Any] = {}
    for (topic, partition), (offset, epoch, topic_id) in sorted(reached.items()):
        more: dict[str, Any] = {} if epoch == NONE else {LEADER_EPOCH: epoch}
        more |= {} if topic_id is None else {TOPIC_ID: topic_id}
        made.setdefault(topic, {})[str(partition)] = {OFFSET: offset, **more} if more else offset
    return made


def _parsed(offsets: dict[str, Any]) -> dict[TopicPartition, Reached]:
    """Return offsets, also those of earlier versions, which are numbers alone."""
    return {
        (topic, int(partition)): Reached(
            value[OFFSET], value.get(LEADER_EPOCH, NONE), value.get(TOPIC_ID)
        )
        if isinstance(value, dict)
        else Reached(int(value))
        for topic, numbers in offsets.items()
        for partition, value in numbers.items()
    }


def _limited(begin: _Offsets, end: _Offsets, most: int) -> _Offsets:
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
