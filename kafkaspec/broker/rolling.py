"""Rules for when a segment is full and a new one begins.

Kafka: ``LogSegment.shouldRoll``, ``RollParams``, ``LocalLog.roll``, ``UnifiedLog.maybeRoll``.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from kafkaspec.broker.index_rules import IndexBuilder
from kafkaspec.broker.profiles import Profile
from kafkaspec.files.indexes import LARGEST_RELATIVE_OFFSET
from kafkaspec.layout.stand_ins import UNKNOWN
from kafkaspec.log.batch import NO_TIMESTAMP
from kafkaspec.log.header_table import HeaderTable


@dataclass(frozen=True, slots=True)
class RollRules:
    """The limits of a segment.

    Attributes:
        profile: rules of the version.
        segment_bytes: ``segment.bytes``.
        segment_ms: ``segment.ms``.
    """

    profile: Profile
    segment_bytes: int
    segment_ms: int

    def fitting(
        self,
        indexes: IndexBuilder,
        first_timestamp: int,
        headers: HeaderTable,
        first: int,
        last: int,
    ) -> int:
        """Return the first entry that needs another segment, each being a separate append.

        The caller checks whether the indexes are full.

        Args:
            first_timestamp: timestamp of its first append; ignored if there was none yet.
        """
        position = headers.position
        limit = self.segment_bytes - indexes.size + position[first]
        stop = bisect_right(position, limit, first, last)
        if self.profile.size_of_append and stop > first:
            stop -= position[stop - 1] + headers.size[stop - 1] > limit
        if not indexes.size:  # the first append may have any size
            stop = max(stop, first + 1)
            first_timestamp = headers.max_timestamp[first]
        if stop > first and self.profile.timestamp_roll and first_timestamp != NO_TIMESTAMP:
            timestamps = headers.max_timestamp[first:stop]
            latest = first_timestamp + self.segment_ms
            if max(timestamps) > latest:
                stop = next(n for n, time in enumerate(timestamps, first) if time > latest)
        if stop > first and not indexes.fits(headers.last_offset[stop - 1]):
            largest = indexes.base_offset + LARGEST_RELATIVE_OFFSET
            stop = bisect_right(headers.last_offset, largest, first, stop)
        return stop

    def fits_together(
        self, indexes: IndexBuilder, first_timestamp: int, headers: HeaderTable
    ) -> bool:
        """Return whether all entries fit into the active segment as one append."""
        if not indexes.room or not indexes.fits(headers.last_offset[-1]):
            return False
        if not indexes.size:
            return True
        added = headers.end - headers.position[0] if self.profile.size_of_append else 0
        if indexes.size + added > self.segment_bytes:
            return False
        if not self.profile.timestamp_roll or first_timestamp == NO_TIMESTAMP:
            return True
        return max(headers.max_timestamp) - first_timestamp <= self.segment_ms

    def base_offset(self, next_offset: int, first_offset: int, last_offset: int) -> int:
        """Return the base offset of a segment that begins with an append.

        Args:
            next_offset: log end offset before the append.
            first_offset: first offset of the append, ``UNKNOWN`` for a compressed message.
            last_offset: last offset of the append. If the first one is unknown or not used, the
                base offset is large enough for indexes to express the last one (KAFKA-4451).
        """
        least = last_offset - LARGEST_RELATIVE_OFFSET
        if self.profile.roll_to_first and first_offset != UNKNOWN:
            least = first_offset
        return max(least, next_offset)
