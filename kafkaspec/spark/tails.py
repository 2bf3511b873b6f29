"""Find the ends of the logs of a stream, and tell whether a log is still the one that was read.

A log that a broker cut back has later records of a higher leader epoch; one that was created again
begins with lower ones, and its topic has another id. Kafka: KIP-101, KIP-320,
``LeaderEpochFileCache.endOffsetFor``; KIP-516.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.batch import NONE
from kafkaspec.log.damage import entry_end
from kafkaspec.log.headers import header_tables
from kafkaspec.log.segment import Segment
from kafkaspec.spark.options import ReadOptions
from kafkaspec.spark.parsing import OptionError, TopicPartition
from kafkaspec.spark.paths import SegmentFile, TopicLog, find_logs


class Reached(NamedTuple):
    """A place in a log: the next offset, the leader epoch before it, and the id of the topic."""

    offset: int
    epoch: int = NONE
    topic_id: str | None = None


class EpochFiles:
    """Leader epochs of batches, cached as long as files keep their sizes."""

    def __init__(self) -> None:
        """Start with none."""
        self._known: dict[str, tuple[tuple[int, int], int]] = {}

    def reached(self, log: TopicLog, offset: int) -> Reached:
        """Return an offset with the epoch of the batch before it, and the id of the topic."""
        return Reached(offset, self._epoch(log, offset), log.topic_id)

    def _epoch(self, log: TopicLog, offset: int) -> int:
        item = next((item for item in reversed(log.segments) if _base(item) < offset), None)
        if item is None:
            return NONE
        file = item.size, offset
        known, epoch = self._known.get(str(item.path), (None, NONE))
        if known != file:
            epoch = _epoch_before(item, offset)
            self._known[str(item.path)] = file, epoch
        return epoch

    def kept(self, log: TopicLog, before: Reached, end: int) -> int:
        """Return the offset up to which a log is still what was read."""
        top = min(before.offset, end)
        now = self._epoch(log, top)
        if NONE in (before.epoch, now) or now == before.epoch:
            return top
        if now > before.epoch:
            return min(top, _first_above(log, before.epoch))
        return top if top < before.offset else log.first_offset


def _base(item: SegmentFile) -> int:
    return item.base_offset or 0


def _epoch_before(item: SegmentFile, offset: int) -> int:
    """Return the epoch of the batch with the offset before; -1 if compaction removed it."""
    try:
        with Segment(item.path, mapped=False) as segment:
            batch = next(segment.batches(start_offset=offset - 1), None)
            return (
                NONE
                if batch is None or batch.base_offset >= offset
                else batch.partition_leader_epoch
            )
    except KafkaSpecError:  # reading says what is damaged
        return NONE


def _first_above(log: TopicLog, epoch: int) -> int:
    """Return the first offset with a higher epoch; epochs never go down in a log."""
    at = bisect_right(log.segments, epoch, key=_first_epoch)
    for item in log.segments[max(at - 1, 0) : at]:
        with Segment(item.path, mapped=False) as segment:
            for batch in segment.batches():
                if batch.partition_leader_epoch > epoch:
                    return batch.base_offset
    return _base(log.segments[at]) if at < len(log.segments) else log.first_offset


def _first_epoch(item: SegmentFile) -> int:
    with Segment(item.path, mapped=False) as segment:
        batch = next(segment.batches(), None)
        return NONE if batch is None else batch.partition_leader_epoch


@dataclass(frozen=True)
class _Known:
    """The last sound batch of a segment; nothing is new while the file ends at its ``stop``."""

    position: int
    stop: int
    end: int
    epoch: int


class Tails:
    """The ends of logs. They are cached, so that nothing is read twice."""

    def __init__(self, options: ReadOptions) -> None:
        """Start without any known end."""
        self._options = options
        self._known: dict[str, _Known] = {}

    def logs(self) -> dict[TopicPartition, TopicLog]:
        """Return the logs that exist now."""
        found: dict[TopicPartition, TopicLog] = {}
        for log in find_logs(self._options.paths, log_start=self._options.log_start):
            if not self._options.selects(log.topic, log.partition):
                continue
            if log.topic is None or log.partition is None:
                raise OptionError(f"a stream needs directories of partitions; {log} is none")
            other = found.setdefault((log.topic, log.partition), log)
            if other is not log:
                raise OptionError(
                    f"a stream has offsets by topic-partition, and {log} is in"
                    f" {other.directory} and in {log.directory}"
                )
        return found

    def log_end(self, log: TopicLog) -> int:
        """Return the offset after the last complete batch with a right checksum.

        Broken batches before a sound one count: the mode decides what happens with them.
        """
        if not log.segments:
            return 0
        last = log.segments[-1]
        return max(self._end(last) or 0, last.base_offset or 0)

    def end(self, log: TopicLog) -> int:
        """Return the offset that a stream may read up to: of the isolation level."""
        end = self.log_end(log)
        if self._options.committed and log.segments:
            stable = log.opened.stable_offset(strict=False)
            return end if stable is None else min(end, stable)
        return end

    def _end(self, item: SegmentFile) -> int | None:
        """Return the end of a segment; None if no batch of it is whole."""
        known = self._known.get(str(item.path))
        if known is not None and known.stop == item.size:
            return known.end
        with Segment(item.path, mapped=False) as segment:
            same = known is not None and _known_at(segment, known.position) == known
            known = _last(segment, known.position if same and known is not None else 0)
        if known is None:
            return None
        self._known[str(item.path)] = known
        return known.end


def _last(segment: Segment, begin: int) -> _Known | None:
    """Return the last sound batch from a byte offset on."""
    found: list[int] = []  # positions of entries
    position: int | None = begin
    while position is not None and position < segment.size:
        start = position
        for table in header_tables(segment, start):
            found.extend(table.position)
            start = table.end
        # The codec cannot scan this entry, but may be able to scan those after it.
        position = entry_end(segment, start)
        if position is not None and position <= segment.size:
            found.append(start)
    return next(filter(None, (_known_at(segment, at) for at in reversed(found))), None)


def _known_at(segment: Segment, position: int) -> _Known | None:
    """Return the end if the batch at a byte offset is the last one; None if it is not sound."""
    try:
        batch = segment.batch_at(position)
        if not batch.crc_valid:
            return None
        return _Known(position, batch.end, batch.last_offset + 1, batch.partition_leader_epoch)
    except KafkaSpecError:  # ends before, or is damaged
        return None
