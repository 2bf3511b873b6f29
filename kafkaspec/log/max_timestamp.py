"""The offset of the largest timestamp, as a broker answers it (KIP-734: ListOffsets with -3).

The answer is not simply the record with the largest timestamp. The last entry of a segment's time
index says what its largest timestamp is; the first segment with the greatest of these decides; in
it the first batch whose header has exactly that timestamp, and in that batch the first record that
has it. A batch that compaction emptied has no such record, and then there is no answer. Transaction
markers count, the log start offset does not. Kafka: ``UnifiedLog.fetchOffsetByTimestamp``,
``LogSegment.readMaxTimestampAndOffsetSoFar``, ``RecordBatch.offsetOfMaxTimestamp``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kafkaspec._generated.python.model.index import TimeIndexEntry
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log import lookup
from kafkaspec.log.batch import NO_TIMESTAMP
from kafkaspec.log.headers import skip_older

if TYPE_CHECKING:
    from kafkaspec.log.segment import Segment


class MaxTimestamp(NamedTuple):
    """What a broker that loads a segment takes for its largest timestamp and where that is.

    Attributes:
        timestamp: ms since the Unix epoch, -1 for none.
        offset: of the batch or record that has it; where the search begins.
        source: what says so.
        entry: of the time index, None for none.
    """

    timestamp: int
    offset: int
    source: lookup.LargestTimestamp
    entry: TimeIndexEntry | None = None


def max_timestamp_so_far(segment: Segment) -> MaxTimestamp:
    """What the time index says; without an offset index the batches, which a broker reads then.

    Unlike for look-ups by timestamp, the modification time of the file does not count.
    """
    largest, offset = NO_TIMESTAMP, segment.base_offset or 0
    if segment.offset_index is None:
        for item in segment.scan():
            if isinstance(item, KafkaSpecError):  # recovery cuts the log here
                break
            if item.max_timestamp > largest:
                largest, offset = item.max_timestamp, item.last_offset
        return MaxTimestamp(largest, offset, lookup.LargestTimestamp(largest, "batches"))
    index = segment.time_index
    if index is None or not len(index):
        return MaxTimestamp(largest, offset, lookup.LargestTimestamp(largest, "time index"))
    entry = index.entry(len(index) - 1)
    source = lookup.LargestTimestamp(entry.timestamp, "time index")
    return MaxTimestamp(entry.timestamp, entry.offset, source, entry)


def find_max_timestamp(
    segment: Segment, *, known: MaxTimestamp | None = None, use_index: bool = True
) -> lookup.Found:
    """See ``Segment.find``.

    Args:
        segment: to be searched.
        known: what ``max_timestamp_so_far`` said of it.
        use_index: whether the offset index is used to get there.
    """
    wanted = max_timestamp_so_far(segment) if known is None else known
    position, entry, rejected = 0, None, False
    if use_index:
        position, entry, rejected = lookup.start_position(segment, wanted.offset)
    found = lookup.Found(
        "max_timestamp",
        wanted.timestamp,
        segment.path,
        index_answer=entry,
        time_index_answer=wanted.entry,
        index_rejected=rejected,
        decided_by=wanted.source,
    )
    position, scanned = skip_older(segment, position, wanted.timestamp)
    for batch in segment.batches(position):
        scanned += 1
        if batch.max_timestamp != wanted.timestamp:
            continue
        records = () if batch.magic == 0 else batch.records()
        record = next((item for item in records if item.timestamp == wanted.timestamp), None)
        if record is not None:
            found = replace(found, batch=batch, record=record)
        break  # the first such batch decides, even if it has no such record
    return replace(found, scanned_batches=scanned)
