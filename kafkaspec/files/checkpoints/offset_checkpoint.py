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

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kafkaspec.errors import Reason, make_error
from kafkaspec.files.checkpoints.checkpoint_file import CheckpointFormat
from kafkaspec.files.checkpoints.text import INT_BITS, LONG_BITS, Text, TextPiece, shown, writable


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


# Kafka's Topic.LEGAL_CHARS.
_TOPIC = re.compile(r"[a-zA-Z0-9._-]+")


def by_partition(entries: Iterable[PartitionOffset]) -> dict[tuple[str, int], PartitionOffset]:
    """Return the entries by topic and partition; as in Kafka, the last of duplicates counts."""
    return {(entry.topic, entry.partition): entry for entry in entries}


def _line(entry: PartitionOffset) -> str:
    if not _TOPIC.fullmatch(entry.topic):
        detail = f"{shown(entry.topic)} is not the name of a topic"
        raise make_error(Reason.UNENCODABLE, detail, path="/topic")
    partition = writable(entry.partition, INT_BITS, "partition")
    return f"{entry.topic} {partition} {writable(entry.offset, LONG_BITS, 'offset')}"


def _entry(text: Text, found: Sequence[TextPiece], path: str) -> PartitionOffset:
    topic, partition, offset = found
    return PartitionOffset(
        topic.text,
        text.number(partition, INT_BITS, f"{path}/partition"),
        text.number(offset, LONG_BITS, f"{path}/offset"),
        topic.position,
    )


_FORMAT = CheckpointFormat(3, _entry, _line)
parse, read, scan, serialize = _FORMAT.parse, _FORMAT.read, _FORMAT.scan, _FORMAT.serialize
