"""The last stable offset: what a consumer with read_committed may see of a log ends there.

Kafka: ``ProducerStateManager.firstUnstableOffset``, ``UnifiedLog.lastStableOffset``; KIP-98.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkaspec.errors import KafkaSpecError

if TYPE_CHECKING:
    from kafkaspec.log.partition import Partition


def log_end_offset(partition: Partition) -> int:
    """The offset behind the last batch; the name of the last segment where that has none.

    Raises:
        KafkaSpecError: a segment cannot be read.
    """
    end = 0
    for segment in partition.segments_from(partition.last_base_offset):
        end = segment.base_offset or 0
        for batch in segment.batches():
            end = max(end, batch.last_offset + 1)
    return end


def last_stable_offset(partition: Partition) -> int:
    """The first offset of a transaction that no marker has ended, or the end of the log.

    As a broker does, it begins with the newest producer snapshot that is sound and reads the
    headers of the batches behind it. All is taken for replicated: a high watermark below is
    not looked at.

    Raises:
        KafkaSpecError: a segment cannot be read.
    """
    end = log_end_offset(partition)
    ongoing, start = _from_snapshots(partition, end)
    for batch in partition.batches(start_offset=start):
        if batch.last_offset < start or batch.producer_id < 0 or not batch.is_transactional:
            continue
        if batch.is_control:
            ongoing.pop(batch.producer_id, None)
        else:
            ongoing.setdefault(batch.producer_id, batch.base_offset)
    return max(min(ongoing.values(), default=end), partition.log_start_offset or 0)


def _from_snapshots(partition: Partition, end: int) -> tuple[dict[int, int], int]:
    """First offsets of open transactions by producer id, and the offset that this holds in."""
    for snapshot in reversed(partition.snapshots):
        if snapshot.offset is None or snapshot.offset > end:
            continue
        try:
            if not snapshot.crc_valid:
                continue
            entries = snapshot.entries
        except KafkaSpecError:  # a broker takes an older one
            continue
        first = {
            entry.producer_id: entry.current_txn_first_offset
            for entry in entries
            if entry.current_txn_first_offset >= 0
        }
        return first, snapshot.offset
    return {}, partition.first_base_offset or 0
