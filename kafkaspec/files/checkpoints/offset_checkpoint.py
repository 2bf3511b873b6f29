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
from os import PathLike

from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files.checkpoints import checkpoint_file
from kafkaspec.files.checkpoints.text import INT_BITS, LONG_BITS, Piece, Text, shown, writable


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


def parse(data: bytes, *, file: str | None = None) -> tuple[PartitionOffset, ...]:
    """Parse the entries of a checkpoint, in the order of the file.

    Args:
        data: all bytes of the file.
        file: its name in errors.

    Raises:
        CorruptError: a line is malformed, or their number differs from line 2.
        UnsupportedError: another version than 0.
    """
    return checkpoint_file.parse(Text(data, file), 3, _entry)


def read(path: str | PathLike[str]) -> tuple[PartitionOffset, ...]:
    """Read the entries of the checkpoint at ``path``.

    Raises:
        KafkaSpecError: ``unreadable``, and as ``parse``.
    """
    text = Text.load(path)
    return parse(text.data, file=text.file)


def scan(path: str | PathLike[str]) -> list[PartitionOffset | KafkaSpecError]:
    """Read the entries of the checkpoint at ``path``, and the error of each malformed line.

    Raises:
        KafkaSpecError: ``unreadable``, or the first two lines are malformed.
    """
    return list(checkpoint_file.scan(Text.load(path), 3, _entry))


def by_partition(entries: Iterable[PartitionOffset]) -> dict[tuple[str, int], PartitionOffset]:
    """Return the entries by topic and partition; as in Kafka, the last of duplicates counts."""
    return {(entry.topic, entry.partition): entry for entry in entries}


def serialize(entries: Iterable[PartitionOffset]) -> bytes:
    """Serialize entries as Kafka does, but in the given order. Kafka's order is that of a hash map.

    Raises:
        KafkaSpecError: ``unencodable``: a number does not fit, or a topic name is not legal.
    """
    return checkpoint_file.serialize([_line(entry) for entry in entries])


def _line(entry: PartitionOffset) -> str:
    if not _TOPIC.fullmatch(entry.topic):
        raise make_error(
            Reason.UNENCODABLE, f"{shown(entry.topic)} is not the name of a topic", path="/topic"
        )
    partition = writable(entry.partition, INT_BITS, "partition")
    return f"{entry.topic} {partition} {writable(entry.offset, LONG_BITS, 'offset')}"


def _entry(text: Text, found: Sequence[Piece], path: str) -> PartitionOffset:
    topic, partition, offset = found
    return PartitionOffset(
        topic.text,
        text.number(partition, INT_BITS, f"{path}/partition"),
        text.number(offset, LONG_BITS, f"{path}/offset"),
        topic.position,
    )
