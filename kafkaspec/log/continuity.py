"""Tell whether a log is still the one that was read, and where it ends.

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
from kafkaspec.log.entries import entry_end
from kafkaspec.log.headers import header_tables
from kafkaspec.log.listed import SegmentFile, TopicLog
from kafkaspec.log.lookup import last_headers
from kafkaspec.log.segment import Segment


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


class Continued(NamedTuple):
    """The offset up to which a log is still what was read, and what happened to it, if anything."""

    offset: int
    broken: str = ""


def continued(log: TopicLog, read: Reached, end: int, epochs: EpochFiles) -> Continued:
    """Return the offset up to which a log that ends at ``end`` is the one that was read."""
    same = read.topic_id is None or log.topic_id in (None, read.topic_id)
    if end != read.offset and not same:
        return Continued(
            log.first_offset,
            f"{log} was created again: its topic id is {log.topic_id}; it was {read.topic_id}"
            f" when the next offset was {read.offset}",
        )
    kept = epochs.kept(log, read, end)
    if end < read.offset:
        return Continued(kept, f"{log} ends at {end}; its next offset was {read.offset}")
    if kept < read.offset:
        return Continued(
            kept,
            f"{log} was cut back to offset {kept} or created again: the leader epoch before"
            f" offset {read.offset} was {read.epoch}",
        )
    return Continued(kept)


def gone(log: TopicLog, offset: int) -> str:
    """Return what a log from which ``offset`` is to be read has no more; "" if it has all."""
    first = log.first_offset
    if offset >= first:
        return ""
    return f"offsets {offset}..{first - 1} of {log} are gone: the log begins at {first}"


def _base(item: SegmentFile) -> int:
    return item.base_offset or 0


def _epoch_before(item: SegmentFile, offset: int) -> int:
    """Return the epoch of the batch with the offset before; -1 if compaction removed it."""
    try:
        with Segment(item.path, mapped=False) as segment:
            found = _epoch_at_end(segment, offset)
            if found is not None:
                return found
            batch = next(segment.batches(start_offset=offset - 1), None)
            return (
                NONE
                if batch is None or batch.base_offset >= offset
                else batch.partition_leader_epoch
            )
    except KafkaSpecError:  # reading says what is damaged
        return NONE


def _epoch_at_end(segment: Segment, offset: int) -> int | None:
    """Return the same by one read, if the batch is near the end of the segment; None if not."""
    for table in last_headers(segment) or ():
        if isinstance(table, KafkaSpecError):
            return None
        rows = zip(table.first_offset, table.last_offset, table.leader_epoch, strict=True)
        for first, last, epoch in rows:
            if last >= offset - 1:
                return epoch if first < offset else None
    return None


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
class SoundEnd:
    """The last sound batch of a segment; nothing is new while the file ends at its ``stop``."""

    position: int
    stop: int
    end: int
    epoch: int


def last_sound(segment: Segment, begin: int) -> SoundEnd | None:
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
    return next(filter(None, (sound_at(segment, at) for at in reversed(found))), None)


def sound_at(segment: Segment, position: int) -> SoundEnd | None:
    """Return the end if the batch at a byte offset is the last one; None if it is not sound."""
    try:
        batch = segment.batch_at(position)
        if not batch.crc_valid:
            return None
        return SoundEnd(position, batch.end, batch.last_offset + 1, batch.partition_leader_epoch)
    except KafkaSpecError:  # ends before, or is damaged
        return None
