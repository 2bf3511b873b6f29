"""Make the index entries of a segment as a broker does when it appends and when it recovers.

Kafka: ``LogSegment.append``, ``LogSegment.recover``, ``OffsetIndex``, ``TimeIndex.maybeAppend``.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Final

from kafkaspec._generated.layout.files import FILES
from kafkaspec._generated.python.model.recordbatch import TimestampType
from kafkaspec.broker.profiles import IndexKey, IndexUnit, Profile, TimeEntry
from kafkaspec.codecs import Codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.arrays import serialize_array
from kafkaspec.files.indexes import INDEXES, LARGEST_RELATIVE_OFFSET
from kafkaspec.layout.framing import fixed_size
from kafkaspec.layout.names import RELATIVE_OFFSET
from kafkaspec.layout.stand_ins import LACKING, NONE
from kafkaspec.log.batch import Batch
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.segment import Segment

_BY_BROKER: Final = TimestampType.LOG_APPEND_TIME
_BY_POSITION: Final = tuple(kind for kind in names.INDEXES if FILES[kind].largest is None)
"""The offset index, and others with the positions of the same batches."""
_OTHERS: Final = tuple(kind for kind in names.NEW_INDEXES if FILES[kind].largest)
"""Indexes of the largest numbers of a header besides the time index."""

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


class _Largest:
    """Entries of an index of the largest number so far, each with the offset that has it.

    Attributes:
        kind: kind of the file.
        name: name of the number in headers.
        number: the largest number so far, -1 for none.
        offset: the offset that has it.
        is_known: whether an entry of the log has such a number.
        most: entries that the file has room for; a slot is left for the one that is added when the
            segment is closed.
        numbers: the entries.
        offsets: their offsets, less that of the segment.
    """

    def __init__(self, kind: str, base_offset: int, max_bytes: int) -> None:
        source = FILES[kind].largest
        assert source is not None
        self.kind, self.name, self._field = kind, source.name, source.field
        self.number, self.offset = NONE, base_offset
        self.is_known = False
        self.most = max_bytes // fixed_size(INDEXES[kind].type_key) - 1
        self._base_offset = base_offset
        self.numbers, self.offsets = array("q"), array("q")

    def take(self, headers: HeaderTable, first: int, last: int) -> None:
        """Take the numbers of entries of the log."""
        self.is_known = self.is_known or not headers.magics <= LACKING[self.name]
        numbers = headers.list(self.name)[first:last]
        largest = max(numbers, default=NONE)
        if largest > self.number:
            self.number = largest
            self.offset = headers.last_offset[first + list(numbers).index(largest)]

    @property
    def is_due(self) -> bool:
        """Whether the largest number is not in an entry yet."""
        return self.number > (self.numbers[-1] if self.numbers else NONE)

    def add(self) -> bool:
        """Add an entry; return whether its offset is in order."""
        relative = self.offset - self._base_offset
        in_order = not self.numbers or relative >= self.offsets[-1]
        self.numbers.append(self.number)
        self.offsets.append(relative)
        return in_order

    def columns(self) -> dict[str, array[int]]:
        """Return the entries in columns."""
        return {self._field: self.numbers, RELATIVE_OFFSET: self.offsets}


class IndexBuilder:
    """Builds the entries of all indexes of one segment from its log entries, in order.

    An entry of the offset index is added when more than ``interval`` bytes follow the last one, so
    the first append never gets one. An index of the largest numbers so far, such as the time index,
    gets the one there is whenever the offset index gets an entry, and once more at the end.

    Args:
        max_bytes: ``segment.index.bytes``, which limits the size of each index.
        restarts: log end offsets, in order, at which the broker was restarted with the segment
            open; ``append_each`` follows them.

    Attributes:
        size: bytes of the log so far.
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
        self.went_back = False
        self._profile = profile
        self._interval = interval
        sizes = [fixed_size(INDEXES[kind].type_key) for kind in _BY_POSITION]
        self._most = max_bytes // max(sizes)
        self._by_batch = rule is Rule.RECOVERY or profile.index_unit is IndexUnit.BATCH
        self._by_record = rule is Rule.APPEND and profile.time_entry is TimeEntry.RECORD
        self._first_key = profile.index_key is IndexKey.FIRST
        self._restarts = deque(restarts)
        self._since_entry = 0
        self._find_max: Callable[[], int] | None = None
        self._offsets, self._positions = array("q"), array("q")
        self._time = _Largest(names.TIME_INDEX, base_offset, max_bytes)
        self._others = [_Largest(kind, base_offset, max_bytes) for kind in _OTHERS]

    @property
    def room(self) -> int:
        """Number of entries that all indexes have room for; at 0 the segment is full."""
        rooms = [each.most - len(each.numbers) for each in self._written()]
        return max(min([self._most - len(self._offsets), *rooms]), 0)

    @property
    def max_timestamp(self) -> int:
        """Largest timestamp so far in ms, -1 for none."""
        return self._time.number

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
        size, since, begin = self.size, self._since_entry, first
        for number, length in enumerate(headers.size[first:last], first):
            if since > self._interval:
                self._take(headers, begin, number + 1)
                self._add(headers.last_offset[number], size)
                since, begin = 0, number + 1
            size += length
            since += length
        self._take(headers, begin, last)
        self.size, self._since_entry = size, since

    def _append(self, headers: HeaderTable, first: int, last: int, key: int | None = None) -> None:
        self._take(headers, first, last)
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

    def _take(self, headers: HeaderTable, first: int, last: int) -> None:
        """Take the numbers of entries of which the largest are indexed."""
        for each in self._others:
            each.take(headers, first, last)
        before = self._time.number
        self._time.take(headers, first, last)
        if self._time.number == before:
            return
        self._find_max = None
        number = first + list(headers.max_timestamp[first:last]).index(self._time.number)
        if not self._by_record or headers.compression[number]:
            return
        if headers.has_messages(number, number + 1):
            # If the broker set the timestamps of the messages of an append, the first one counts.
            if headers.timestamp_type[number] == _BY_BROKER:
                self._time.offset = headers.first_offset[first]
        elif headers.timestamp_type[number] != _BY_BROKER:
            data, codec = headers.data(number, number + 1), headers.segment.codec
            largest, offset = self._time.number, self._time.offset
            self._find_max = lambda: _offset_of(data, codec, largest, offset)

    def settle(self) -> None:
        """Look up the offset of the largest timestamp, while the bytes of its entry are valid."""
        if self._find_max is not None:
            self._time.offset = self._find_max()
            self._find_max = None

    def _add(self, offset: int, position: int) -> None:
        relative = offset - self.base_offset
        if self._offsets and relative <= self._offsets[-1]:
            self.went_back = True
        self._offsets.append(relative)
        self._positions.append(position)
        self.finish()

    def finish(self) -> None:
        """Add the entries for the largest numbers, as a roll and a clean stop do."""
        for each in (self._time, *self._others):
            if each.is_due:
                self.settle()
                self.went_back |= not each.add()

    def _written(self) -> Iterator[_Largest]:
        """Yield the indexes that are written besides the offset index."""
        if self._profile.has_time_index:
            yield self._time
        yield from (each for each in self._others if each.is_known)

    def files(self) -> dict[str, bytes]:
        """Return the bytes of the indexes that the version has, by the extension of the file.

        An index of numbers that only some formats have is made where the log has such an entry.

        Raises:
            KafkaSpecError: ``unencodable``: an offset is too far from the base offset.
        """
        files = {}
        for kind in _BY_POSITION:
            index = INDEXES[kind]
            columns = {RELATIVE_OFFSET: self._offsets, index.other: self._positions}
            files[kind] = serialize_array(index.type_key, columns)
        for each in self._written():
            files[each.kind] = serialize_array(INDEXES[each.kind].type_key, each.columns())
        return files


def _offset_of(data: memoryview, codec: Codec, timestamp: int, otherwise: int) -> int:
    """Return the offset of the first record with a timestamp in an entry."""
    batch: Batch = Segment(data, codec=codec, crc="ignore").batch_at(0)
    try:
        records = batch.records()
    except KafkaSpecError:  # a leader refuses such a batch, but once in a log it must be indexed
        return otherwise
    return next((item.offset for item in records if item.timestamp == timestamp), otherwise)
