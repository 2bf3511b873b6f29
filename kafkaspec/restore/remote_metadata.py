"""Make the records of ``__remote_log_metadata`` again, from the objects in remote storage.

A broker knows its segments in remote storage by that topic alone, and loads nothing without it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from typing import Any, Final
from uuid import UUID

from kafkaspec._generated.python.model.enumeration import RemoteLogSegmentState
from kafkaspec.errors import unreadable
from kafkaspec.files import names as files
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.forensics.partitions.partitioners import partition_of
from kafkaspec.layout import names
from kafkaspec.layout.stand_ins import NONE
from kafkaspec.log.encoding import encode
from kafkaspec.log.headers import read_headers
from kafkaspec.log.partition import Partition
from kafkaspec.model import Record
from kafkaspec.state.message_bytes import message_bytes
from kafkaspec.tiered.mount import segment_id

_WORD: Final = 32
_MASK: Final = (1 << _WORD) - 1


def metadata_partition(log: Partition, count: int) -> int:
    """Return the partition of the topic that has the segments of a partition.

    Kafka: ``RemoteLogMetadataTopicPartitioner``, with ``Objects.hash`` of its three numbers.

    Args:
        log: the segments in remote storage.
        count: number of partitions of ``__remote_log_metadata``.

    Raises:
        KafkaSpecError: no object says which topic it is of.
    """
    high, low = divmod(_topic_id(log).int, 1 << 2 * _WORD)
    value = 1
    for number in (low ^ low >> _WORD, high ^ high >> _WORD, log.partition or 0):
        value = (31 * value + number) & _MASK
    found = partition_of("default", value.to_bytes(_WORD // 8, "big"), count)
    assert found is not None
    return found


def remote_records(log: Partition, known: Collection[str], node: int) -> list[Record]:
    """Return the records that announce segments and say that they are copied, without offsets.

    Args:
        log: the segments in remote storage.
        known: ids of segments that need none.
        node: id of the broker that says it.

    Raises:
        KafkaSpecError: an object cannot be read, or is not of a segment.
    """
    return [
        Record(NONE, max_timestamp, None, value)
        for fields in _segments(log, known)
        for max_timestamp, value in _records_of(fields, node)
    ]


def encoded(records: Sequence[Record], offset: int, epoch: int) -> bytes:
    """Return records as a batch that begins at an offset."""
    placed = [
        Record(offset + number, each.timestamp, each.key, each.value)
        for number, each in enumerate(records)
    ]
    return encode(placed, partition_leader_epoch=epoch)


def _records_of(fields: dict[str, Any], node: int) -> Iterator[tuple[int, bytes]]:
    """Yield a segment that is being copied, and that it has been; each with a time."""
    time = fields["max_timestamp_ms"]
    own = {"broker_id": node, "event_timestamp_ms": max(time, 0)}
    copied = {
        "remote_log_segment_id": fields["remote_log_segment_id"],
        "remote_log_segment_state": int(RemoteLogSegmentState.COPY_SEGMENT_FINISHED),
    }
    started = {"remote_log_segment_state": int(RemoteLogSegmentState.COPY_SEGMENT_STARTED)}
    yield time, message_bytes("RemoteLogSegmentMetadataRecord", [fields | own | started])[0]
    yield time, message_bytes("RemoteLogSegmentMetadataUpdateRecord", [copied | own])[0]


def _segments(log: Partition, known: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield what the objects of each segment say."""
    topic_id = kafka_uuid.to_text(_topic_id(log))
    place = {"name": log.topic, "id": topic_id, "partition": log.partition}
    for start, path in zip(log.base_offsets, log.segment_paths, strict=True):
        own = segment_id(path)
        if own is None:
            raise unreadable(str(path), "it is not an object of a segment in remote storage")
        if own in known:
            continue
        end = latest = NONE
        epochs: list[EpochEntry] = []
        with closing(log.open_segment(path)) as segment:
            for table in read_headers(segment):
                end = max(end, int(table.numpy(names.LAST_OFFSET).max()))
                latest = max(latest, int(table.numpy(names.MAX_TIMESTAMP).max()))
                for number, epoch in enumerate(table.numpy(names.LEADER_EPOCH).tolist()):
                    if not epochs or epochs[-1].epoch != epoch:
                        epochs.append(EpochEntry(epoch, table.first_offset_of(number)))
        yield {
            "remote_log_segment_id": {"topic_id_partition": place, "id": own},
            "start_offset": start,
            "end_offset": end,
            "max_timestamp_ms": latest,
            "segment_leader_epochs": [
                {"leader_epoch": each.epoch, "offset": max(each.start_offset, start)}
                for each in _between(log.leader_epochs or epochs, start, end)
            ],
            "segment_size_in_bytes": path.stat().st_size,
            "txn_index_empty": not path.with_suffix(files.TRANSACTION_INDEX).is_file(),
        }


def _topic_id(log: Partition) -> UUID:
    if log.topic_id is None:
        raise unreadable(str(log.path), "its objects do not say which topic they are of")
    return log.topic_id


def _between(epochs: Sequence[EpochEntry], start: int, end: int) -> Iterator[EpochEntry]:
    """Yield the epochs of a segment: ``LeaderEpochFileCache.epochEntriesInRange``."""
    for number, each in enumerate(epochs):
        following = epochs[number + 1].start_offset if number + 1 < len(epochs) else end + 1
        if each.start_offset <= end and following > start:
            yield each
