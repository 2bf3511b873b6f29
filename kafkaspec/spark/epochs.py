"""Tell by leader epochs and topic ids whether a log is still the one that was read.

A log that a broker cut back has later records of a higher leader epoch; one that was created again
begins with lower ones, and its topic has another id. Kafka: KIP-101, KIP-320,
``LeaderEpochFileCache.endOffsetFor``; KIP-516.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.batch import NONE
from kafkaspec.log.segment import Segment
from kafkaspec.spark.paths import SegmentFile, TopicLog


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
