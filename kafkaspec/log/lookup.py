"""Find offsets and timestamps.

By offset there is one answer. By timestamp there are two: that of a broker (the
first segment whose largest timestamp reaches the wanted one decides, and later ones are never
tried), and the plain one, the first data record with such a timestamp. Kafka:
``LogSegment.translateOffset`` and ``findOffsetByTimestamp``, ``FileRecords.searchForTimestamp``,
``UnifiedLog.fetchOffsetByTimestamp``.

The offset of the largest timestamp (KIP-734: ListOffsets with -3) is not simply that of the record
with the largest timestamp. The last entry of a segment's time
index says what its largest timestamp is; the first segment with the greatest of these decides; in
it the first batch whose header has exactly that timestamp, and in that batch the first record that
has it. A batch that compaction emptied has no such record, and then there is no answer. Transaction
markers count, the log start offset does not. Kafka: ``UnifiedLog.fetchOffsetByTimestamp``,
``LogSegment.readMaxTimestampAndOffsetSoFar``, ``RecordBatch.offsetOfMaxTimestamp``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from kafkaspec._generated.python.model.index import OffsetIndexEntry, TimeIndexEntry
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import names
from kafkaspec.layout.stand_ins import UNKNOWN
from kafkaspec.log.batch import NO_TIMESTAMP, Batch
from kafkaspec.log.entries import Entries
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import readable_headers, skip, skip_older
from kafkaspec.model import Record


@dataclass(frozen=True, slots=True)
class LargestTimestamp:
    """The largest timestamp of a segment, as a broker sees it.

    Attributes:
        value: ms since the Unix epoch; -1 for a buffer without any timestamp.
        source: ``time index``, its last entry; ``batches``, their headers, which a broker reads
            when it finds no offset index and recovers the segment; ``file time``, the
            modification time of the file, where there is no timestamp at all.
    """

    value: int
    source: Literal["time index", "batches", "file time"]


How = Literal["offset", "broker", "plain", "max_timestamp", "key", "where"]
"""Kind of a lookup; see ``Found``."""


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a lookup.

    Attributes:
        how: ``offset``; for a timestamp ``broker`` or ``plain``; ``max_timestamp``; ``key``;
            ``where``.
        target: the wanted offset, or ms since the Unix epoch; -1 if there is no
            timestamp. By key or condition, the offset of the record.
        path: path of the segment that decided, even if it has no answer; None if none was tried.
        batch: batch of the answer, None if there is none.
        record: the first record of the batch that qualifies. None by offset if the batch has no
            record at or after it any more: compaction removed it.
        index_answer: entry of the offset index that the scan started from, None for none.
        time_index_answer: entry of the time index that led to it, None for none.
        index_rejected: an index gave an entry that cannot be right, or that leads to a damaged
            batch, so the scan started at 0.
        scanned_batches: number of batches whose header was read.
        decided_by: the largest timestamp of the deciding segment and its source; None if it was
            not needed.
        last_stable_offset: with ``read_committed``, None otherwise.
        hidden_offset: offset of the answer that ``read_committed`` hides, None for none.
    """

    how: How
    target: int
    path: Path | None
    batch: Batch | None = None
    record: Record | None = None
    index_answer: OffsetIndexEntry | None = None
    time_index_answer: TimeIndexEntry | None = None
    index_rejected: bool = False
    scanned_batches: int = 0
    decided_by: LargestTimestamp | None = None
    last_stable_offset: int | None = None
    hidden_offset: int | None = None

    @property
    def position(self) -> int | None:
        """Byte offset of the batch in the segment."""
        return self.batch.position if self.batch else None

    @property
    def base_offset(self) -> int | None:
        """Base offset of the batch."""
        return self.batch.base_offset if self.batch else None

    @property
    def offset(self) -> int | None:
        """Offset of the record."""
        return self.record.offset if self.record else None

    @property
    def timestamp(self) -> int | None:
        """Timestamp of the record, ms since the Unix epoch."""
        return self.record.timestamp if self.record else None


def below(found: Found, last_stable_offset: int) -> Found:
    """Return the answer under ``read_committed``: none at or after the last stable offset.

    A broker then does not look for another one, even if there is an earlier one.
    """
    found = replace(found, last_stable_offset=last_stable_offset)
    if found.offset is None or found.offset < last_stable_offset:
        return found
    return replace(found, batch=None, record=None, hidden_offset=found.offset)


def start_position(segment: Entries, offset: int) -> tuple[int, OffsetIndexEntry | None, bool]:
    """Return the place where a scan for ``offset`` starts.

    Returns:
        The byte position, the index entry that says so (None for the start of the segment), and
        whether an entry was ignored because it cannot be right.
    """
    index = segment.offset_index
    entry = index.lookup(offset) if index else None
    if entry is None:
        return 0, None, False
    if not _plausible(segment, entry):
        return 0, entry, True
    return entry.position, entry, False


def _plausible(segment: Entries, entry: OffsetIndexEntry) -> bool:
    """Return whether a sound batch starts where an entry says, and not after its offset."""
    # A broker does not check. But a reader for damaged logs that follows a wrong entry would hide
    # records that are there. Bytes inside a batch may look like a header: the checksum tells.
    if not 0 <= entry.position < segment.size:
        return False
    try:
        batch = segment.batch_at(entry.position)
        if not batch.crc_valid:
            return False
    except KafkaSpecError:
        return False
    if batch.num_records is None:  # a wrapper: up to 1.1 its first offset was the key
        return True
    return batch.base_offset <= entry.offset


def last_headers(segment: Entries) -> Iterator[HeaderTable | KafkaSpecError] | None:
    """Return the headers from the last entry of the offset index on, in one pass.

    None if there is no such entry, or it does not lead to a batch: see ``start_position``.
    """
    index = segment.offset_index
    entry = index.entry(len(index) - 1) if index else None
    if entry is None or not 0 <= entry.position < segment.size:
        return None
    items = readable_headers(segment, entry.position)
    first = next(items, None)
    if not isinstance(first, HeaderTable) or first.position[0] != entry.position:
        return None
    unknown = first.list(names.NUM_RECORDS)[0] == UNKNOWN
    return chain([first], items) if unknown or first.first_offset[0] <= entry.offset else None


def find_offset(segment: Entries, offset: int, *, use_index: bool = True) -> Found:
    """See ``Segment.find``."""
    position, entry, rejected = start_position(segment, offset) if use_index else (0, None, False)
    found = Found("offset", offset, segment.path, index_answer=entry, index_rejected=rejected)
    batch, scanned = first_reaching(segment, offset, position)
    record = None
    if batch is not None:
        record = next((item for item in batch.records() if item.offset >= offset), None)
    return replace(found, batch=batch, record=record, scanned_batches=scanned)


def first_reaching(segment: Entries, offset: int, position: int) -> tuple[Batch | None, int]:
    """Return the first batch that ends at or after an offset, and how many headers were read.

    A broken entry before it is passed over, unless it may be the one that holds the offset.

    Args:
        position: byte offset of the entry to begin with, from ``start_position``.

    Raises:
        KafkaSpecError: the offset may be in an entry that cannot be read.
    """
    position, scanned = skip(segment, position, offset)
    error = None
    for item in segment.scan(position):
        scanned += 1
        if isinstance(item, KafkaSpecError):
            error = item
        elif item.last_offset >= offset:
            if error is not None and not holds(item, offset):
                raise error
            return item, scanned
    if error is not None:
        raise error
    if segment.tail is not None:
        for _ in segment.entries(segment.tail.position):  # an error, if the end must be one
            pass
    return None, scanned


def holds(batch: Batch, offset: int) -> bool:
    """Return whether an offset is between the first and last of a batch that ends at or after it.

    The first offset of a wrapper needs decompression, so that it counts as holding the offset.
    """
    return batch.num_records is None or batch.base_offset <= offset


def find_timestamp(
    segment: Entries,
    timestamp: int,
    *,
    plain: bool = False,
    start_offset: int | None = None,
    use_index: bool = True,
) -> Found:
    """See ``Segment.find``."""
    position = 0
    time_entry = entry = None
    rejected = False
    if use_index:
        floor = start_offset
        if segment.time_index is not None:
            time_entry = segment.time_index.lookup(timestamp)
        if time_entry is not None:
            floor = max(time_entry.offset, time_entry.offset if floor is None else floor)
        if floor is not None:
            position, entry, rejected = start_position(segment, floor)
    found = Found(
        "plain" if plain else "broker",
        timestamp,
        segment.path,
        index_answer=entry,
        time_index_answer=time_entry,
        index_rejected=rejected,
    )
    position, scanned = skip_older(segment, position, timestamp)
    for batch in segment.entries(position):
        scanned += 1
        if batch.max_timestamp < timestamp or (plain and batch.is_control):
            continue
        for record in batch.records():
            if record.timestamp >= timestamp and (
                start_offset is None or record.offset >= start_offset
            ):
                return replace(found, batch=batch, record=record, scanned_batches=scanned)
    return replace(found, scanned_batches=scanned)


def largest_timestamp(segment: Entries, *, open_end: bool = False) -> LargestTimestamp:
    """See ``Segment.largest_timestamp``. Kafka: ``LogSegment.largestTimestamp``.

    Args:
        open_end: see ``max_timestamp_so_far``.
    """
    known = max_timestamp_so_far(segment, open_end=open_end)
    if known.timestamp >= 0:
        return known.source
    return LargestTimestamp(
        NO_TIMESTAMP if segment.modified is None else segment.modified, "file time"
    )


class MaxTimestamp(NamedTuple):
    """The largest timestamp of a segment and its place, as a broker that loads it sees them.

    Attributes:
        timestamp: ms since the Unix epoch, -1 for none.
        offset: offset of the batch or record that has it; the search begins there.
        source: source of the timestamp.
        entry: entry of the time index, None for none.
    """

    timestamp: int
    offset: int
    source: LargestTimestamp
    entry: TimeIndexEntry | None = None


def max_timestamp_so_far(segment: Entries, *, open_end: bool = False) -> MaxTimestamp:
    """Return the largest timestamp by the time index or, without an offset index, by the batches.

    A broker does the same. Unlike for lookups by timestamp, the modification time of the file does
    not count.

    Args:
        open_end: whether batches may follow the last entry of the time index, so that they count
            too. In the active segment, a broker adds the last entry when it stops cleanly: while it
            runs, it has the largest timestamp in memory, and if it was killed, it rebuilds the
            index. Kafka: ``LogSegment.append``, ``close``, ``recover``.
    """
    if segment.offset_index is None:
        largest, offset = _largest_of_batches(segment)
        return MaxTimestamp(largest, offset, LargestTimestamp(largest, "batches"))
    index = segment.time_index
    entry = index.entry(len(index) - 1) if index else None
    largest = entry.timestamp if entry else NO_TIMESTAMP
    offset = entry.offset if entry else segment.base_offset or 0
    if open_end and index is not None:
        position, _, _ = start_position(segment, offset)
        last, end = _largest_of_batches(segment, position)
        if last > largest:
            return MaxTimestamp(last, end, LargestTimestamp(last, "batches"), entry)
    return MaxTimestamp(largest, offset, LargestTimestamp(largest, "time index"), entry)


def _largest_of_batches(segment: Entries, position: int = 0) -> tuple[int, int]:
    """Return the largest timestamp in the headers, and the last offset of the first such batch."""
    largest, offset = NO_TIMESTAMP, segment.base_offset or 0
    for table in readable_headers(segment, position):
        if isinstance(table, KafkaSpecError):  # recovery cuts the log here
            break
        times = table.max_timestamp
        most = max(times)
        if most > largest:
            row = next(row for row, time in enumerate(times) if time == most)
            largest, offset = most, table.last_offset[row]
    return largest, offset


def find_max_timestamp(
    segment: Entries, *, known: MaxTimestamp | None = None, use_index: bool = True
) -> Found:
    """See ``Segment.find``.

    Args:
        known: the result of ``max_timestamp_so_far`` for it.
        use_index: whether the offset index is used to get there.
    """
    wanted = max_timestamp_so_far(segment) if known is None else known
    position, entry, rejected = 0, None, False
    if use_index:
        position, entry, rejected = start_position(segment, wanted.offset)
    found = Found(
        "max_timestamp",
        wanted.timestamp,
        segment.path,
        index_answer=entry,
        time_index_answer=wanted.entry,
        index_rejected=rejected,
        decided_by=wanted.source,
    )
    position, scanned = skip_older(segment, position, wanted.timestamp)
    for batch in segment.entries(position):
        scanned += 1
        if batch.max_timestamp != wanted.timestamp:
            continue
        records = batch.records() if batch.kind.has_timestamps else ()
        record = next((item for item in records if item.timestamp == wanted.timestamp), None)
        if record is not None:
            found = replace(found, batch=batch, record=record)
        break  # the first such batch decides, even if it has no such record
    return replace(found, scanned_batches=scanned)
