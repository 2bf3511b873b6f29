"""Where a partition ended at a past time: by what brokers wrote with their own clock.

A broker stamps control records, and the batches of a topic with LogAppendTime, as it appends them.
Producers stamp all others, before they send them, so that those only suggest an end between two
stamps of brokers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from kafkaspec._generated.python.model.recordbatch import TimestampType
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.headers import readable_headers
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment

_BY_BROKER: Final = TimestampType.LOG_APPEND_TIME


class PastEnd(NamedTuple):
    """Where a partition ended at a past time.

    Attributes:
        offset: where it ended, by the timestamps of records where brokers' do not say it.
        least: the end was not before this offset.
        most: the end was not after this offset.
    """

    offset: int
    least: int
    most: int


def past_end(log: Partition, at: int) -> PastEnd:
    """Return where a partition ended at a time.

    Segments are read from the last one back, up to one with a batch that a broker stamped before.

    Raises:
        KafkaSpecError: a batch on the way cannot be read.
    """
    least, most = 0, log.log_end_offset
    for path in reversed(log.segment_paths):
        segment = log.open_segment(path)
        before: int | None = None
        after: int | None = None
        for time, position, last in _stamped(segment):
            if time <= at:
                before, after = last + 1, None
            elif after is None:
                after = position
        most = most if after is None else segment.batch_at(after).base_offset
        if before is not None:
            least = before
            break
    return PastEnd(min(_first_later(log, at, least), most), least, most)


def _first_later(log: Partition, at: int, least: int) -> int:
    """Return the offset of the first record that is later, among those that came after an end."""
    for segment in log.segments_from(least):
        found = segment.find(timestamp=at + 1, plain=True, start_offset=least)
        if found.record is not None:
            return found.record.offset
    return log.log_end_offset


def _stamped(segment: Segment) -> Iterator[tuple[int, int, int]]:
    """Yield time, position and last offset of the batches that a broker stamped."""
    for item in readable_headers(segment):
        if isinstance(item, KafkaSpecError):
            continue
        types, controls = item.timestamp_type, item.control
        if _BY_BROKER not in types and not any(controls):
            continue
        for entry, (kind, control) in enumerate(zip(types, controls, strict=True)):
            if control or kind == _BY_BROKER:
                yield item.max_timestamp[entry], item.position[entry], item.last_offset[entry]
