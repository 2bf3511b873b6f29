"""The four checkpoints of a log directory that hold an offset for each partition.

The name of the file says which offset it is:

- ``replication-offset-checkpoint``: high watermarks
- ``recovery-point-offset-checkpoint``: first offsets that may not be on disk yet
- ``log-start-offset-checkpoint``: first offsets that are delivered, only for partitions where it is
  not the base offset of the first segment
- ``cleaner-offset-checkpoint``: first offsets that compaction has not reached

Kafka: ``OffsetCheckpointFile``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kafkaspec._generated.layout.texts import TEXTS
from kafkaspec.files import names
from kafkaspec.files.checkpoints.checkpoint_file import CheckpointFormat


@dataclass(frozen=True, slots=True)
class PartitionOffset:
    """The offset of one partition.

    Attributes:
        topic: name of the topic.
        partition: number of the partition.
        offset: offset with the meaning that the file name gives it.
        position: byte offset of the line in the file, None for an entry that was not read.
    """

    topic: str
    partition: int
    offset: int
    position: int | None = field(default=None, compare=False)


def by_partition(entries: Iterable[PartitionOffset]) -> dict[tuple[str, int], PartitionOffset]:
    """Return the entries by topic and partition; as in Kafka, the last of duplicates counts."""
    return {(entry.topic, entry.partition): entry for entry in entries}


_FORMAT = CheckpointFormat(TEXTS[names.HIGH_WATERMARKS], PartitionOffset)
parse, read, scan, serialize = _FORMAT.parse, _FORMAT.read, _FORMAT.scan, _FORMAT.serialize
