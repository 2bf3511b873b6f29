"""Make the index entries of a segment as a broker does when it appends and when it recovers.

Kafka: ``LogSegment.append``, ``LogSegment.recover``, ``OffsetIndex``, ``TimeIndex.maybeAppend``.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Final

from kafkaspec._generated.python.model.recordbatch import TimestampType
from kafkaspec.broker.profiles import IndexKey, IndexUnit, Profile, TimeEntry
from kafkaspec.codecs import Codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.arrays import serialize_array
from kafkaspec.files.indexes import LARGEST_RELATIVE_OFFSET, OffsetIndex, TimeIndex
from kafkaspec.layout.framing import fixed_size
from kafkaspec.log.batch import NO_TIMESTAMP, Batch
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.segment import Segment

_BY_BROKER: Final = TimestampType.LOG_APPEND_TIME

INDEX_INTERVAL_BYTES: Final = 4096
"""Kafka's default of ``index.interval.bytes``."""
SEGMENT_INDEX_BYTES: Final = 10 << 20
"""Kafka's default of ``segment.index.bytes``."""


class Rule(StrEnum):
    """Rule by which a broker makes index entries."""

    APPEND = "append"
    """As a leader that appends the batches of producers."""
    RECOVERY = "recovery"
    """As a broker that starts and does not trust the indexes it finds."""
    CLEANER = "cleaner"
    """As the cleaner, which appends what is left of some batches at once."""


class IndexBuilder:
    """Builds the entries of both indexes of one segment from its log entries, in order.

    An index entry is added when more than ``interval`` bytes follow the last one, so the first
    append never gets one. The time index gets the largest timestamp so far whenever the offset
    index gets an entry, and once more at the end.

    Args:
        max_bytes: ``segment.index.bytes``, which limits the size of each index.
        restarts: log end offsets, in order, at which the broker was restarted with the segment
            open; ``append_each`` follows them.

    Attributes:
        size: bytes of the log so far.
        max_timestamp: largest timestamp so far in ms, -1 for none.
        went_back: whether the offset of an entry is out of order, which a broker treats as an
            error.
    """

    def __init__(
        self,
        base_offset: int,
        profile: Profile,
        *,
        rule: Rule = Rule.APPEND,
        interval: int = INDEX_INTERVAL_BYTES,
        max_bytes: int = SEGMENT_INDEX_BYTES,
        restarts: Iterable[int] = (),
    ) -> None:
        self.base_offset = base_offset
        self.size = 0
        self.max_timestamp = NO_TIMESTAMP
        self.went_back = False
        self._profile = profile
        self._interval = interval
        self._most = max_bytes // fixed_size(OffsetIndex.type_key)
        # One slot is reserved for the entry that is added when the segment is closed.
        self._most_times = max_bytes // fixed_size(TimeIndex.type_key) - 1
        self._by_batch = rule is Rule.RECOVERY or profile.index_unit is IndexUnit.BATCH
        self._by_record = rule is Rule.APPEND and profile.time_entry is TimeEntry.RECORD
        self._first_key = profile.index_key is IndexKey.FIRST
        self._restarts = deque(restarts)
        self._since_entry = 0
        self._max_offset = base_offset
        self._find_max: Callable[[], int] | None = None
        self._offsets, self._positions = array("q"), array("q")
        self._timestamps, self._time_offsets = array("q"), array("q")

    @property
    def room(self) -> int:
        """Number of entries that both indexes have room for; at 0 the segment is full."""
        left = self._most - len(self._offsets)
        if self._profile.has_time_index:
            left = min(left, self._most_times - len(self._timestamps))
        return max(left, 0)

    @property
    def entries(self) -> tuple[list[int], list[int]]:
        """Offsets and positions of the entries of the offset index."""
        return [self.base_offset + offset for offset in self._offsets], list(self._positions)

    def fits(self, offset: int) -> bool:
        """Return whether an index entry can express an offset."""
        return 0 <= offset - self.base_offset <= LARGEST_RELATIVE_OFFSET

    def append(
        self, headers: HeaderTable, first: int, last: int, *, key: int | None = None
    ) -> None:
        """Add one append: the entries from number ``first`` up to, but not including, ``last``.

        Args:
            key: offset that an index entry for the append as a whole gets, None for that of the
                profile.
        """
        if self._by_batch:
            for number in range(first, last):
                self._append(headers, number, number + 1)
        else:
            self._append(headers, first, last, key)

    def append_each(self, headers: HeaderTable, first: int, last: int) -> None:
        """Add some entries, each as a separate append."""
        end = headers.last_offset[last - 1]
        while self._restarts and first < last and self._restarts[0] <= end:
            stop = bisect_left(headers.last_offset, self._restarts.popleft(), first, last)
            self._append_each(headers, first, stop)
            self.finish()
            self._since_entry = 0
            first = stop
        self._append_each(headers, first, last)

    def _append_each(self, headers: HeaderTable, first: int, last: int) -> None:
        if self._first_key or self._by_record:
            for number in range(first, last):
                self._append(headers, number, number + 1)
            return
        size, since, largest = self.size, self._since_entry, self.max_timestamp
        interval = self._interval
        for length, offset, timestamp in zip(
            headers.size[first:last],
            headers.last_offset[first:last],
            headers.max_timestamp[first:last],
            strict=True,
        ):
            if timestamp > largest:
                largest = timestamp
                self.max_timestamp, self._max_offset = timestamp, offset
            if since > interval:
                self._add(offset, size)
                since = 0
            size += length
            since += length
        self.size, self._since_entry = size, since

    def _append(self, headers: HeaderTable, first: int, last: int, key: int | None = None) -> None:
        self._take_timestamp(headers, first, last)
        length = sum(headers.size[first:last])
        if self._since_entry > self._interval:
            if key is not None:
                self._add(key, self.size)
            elif self._first_key:
                self._add(headers.first_offset_of(first), self.size)
            else:
                self._add(headers.last_offset[last - 1], self.size)
            self._since_entry = 0
        self.size += length
        self._since_entry += length

    def _take_timestamp(self, headers: HeaderTable, first: int, last: int) -> None:
        timestamps = list(headers.max_timestamp[first:last])
        largest = max(timestamps)
        if largest <= self.max_timestamp:
            return
        number = first + timestamps.index(largest)
        self.max_timestamp = largest
        self._find_max = None
        self._max_offset = headers.last_offset[number]
        if not self._by_record or headers.compression[number]:
            return
        if headers.has_messages(number, number + 1):
            # If the broker set the timestamps of the messages of an append, the first one counts.
            if headers.timestamp_type[number] == _BY_BROKER:
                self._max_offset = headers.first_offset[first]
        elif headers.timestamp_type[number] != _BY_BROKER:
            data, codec = headers.data(number, number + 1), headers.segment.codec
            self._find_max = lambda: _offset_of(data, codec, largest, self._max_offset)

    def settle(self) -> None:
        """Look up the offset of the largest timestamp, while the bytes of its entry are valid."""
        if self._find_max is not None:
            self._max_offset = self._find_max()
            self._find_max = None

    def _add(self, offset: int, position: int) -> None:
        relative = offset - self.base_offset
        if self._offsets and relative <= self._offsets[-1]:
            self.went_back = True
        self._offsets.append(relative)
        self._positions.append(position)
        self._add_time()

    def _add_time(self) -> None:
        timestamps = self._timestamps
        if self.max_timestamp > (timestamps[-1] if timestamps else NO_TIMESTAMP):
            self.settle()
            relative = self._max_offset - self.base_offset
            if timestamps and relative < self._time_offsets[-1]:
                self.went_back = True
            timestamps.append(self.max_timestamp)
            self._time_offsets.append(relative)

    def finish(self) -> None:
        """Add the entry for the largest timestamp, as a roll and a clean stop do."""
        self._add_time()

    def files(self) -> dict[str, bytes]:
        """Return the bytes of the indexes that the version has, by the extension of the file.

        Raises:
            KafkaSpecError: ``unencodable``: an offset is too far from the base offset.
        """
        offsets = {"relative_offset": self._offsets, "position": self._positions}
        files = {names.OFFSET_INDEX: serialize_array(OffsetIndex.type_key, offsets)}
        if self._profile.has_time_index:
            times = {"timestamp": self._timestamps, "relative_offset": self._time_offsets}
            files[names.TIME_INDEX] = serialize_array(TimeIndex.type_key, times)
        return files


def _offset_of(data: memoryview, codec: Codec, timestamp: int, otherwise: int) -> int:
    """Return the offset of the first record with a timestamp in an entry."""
    batch: Batch = Segment(data, codec=codec, crc="ignore").batch_at(0)
    try:
        records = batch.records()
    except KafkaSpecError:  # a leader refuses such a batch, but once in a log it must be indexed
        return otherwise
    return next((item.offset for item in records if item.timestamp == timestamp), otherwise)
