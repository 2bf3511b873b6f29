"""The four checkpoints of a log directory that hold an offset for each partition.

What the offset is says the name of the file: ``replication-offset-checkpoint`` high watermarks,
``recovery-point-offset-checkpoint`` first offsets that may not be on disk yet,
``log-start-offset-checkpoint`` first offsets that are delivered (only of partitions where it is
not the first of the first segment), ``cleaner-offset-checkpoint`` first offsets that compaction
has not reached. Kafka: ``OffsetCheckpointFile``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike

from kafkaspec.errors import Reason, make_error
from kafkaspec.files.checkpoints import checkpoint_file
from kafkaspec.files.checkpoints.text import INT_BITS, LONG_BITS, Piece, Text, shown, writable


@dataclass(frozen=True, slots=True)
class PartitionOffset:
    """The offset of one partition.

    Attributes:
        topic: its name.
        partition: its number.
        offset: see the name of the file.
        position: byte offset of the line in the file, None for an entry that was not read.
    """

    topic: str
    partition: int
    offset: int
    position: int | None = field(default=None, compare=False)


# Kafka's Topic.LEGAL_CHARS.
_TOPIC = re.compile(r"[a-zA-Z0-9._-]+")


def parse(data: bytes, *, file: str | None = None) -> tuple[PartitionOffset, ...]:
    """The entries of a checkpoint in the order of the file.

    Args:
        data: all bytes of the file.
        file: its name in errors.

    Raises:
        CorruptError: a line is malformed, or their number is not the one that line 2 says.
        UnsupportedError: another version than 0.
    """
    return checkpoint_file.parse(Text(data, file), 3, _entry)


def read(path: str | PathLike[str]) -> tuple[PartitionOffset, ...]:
    """The entries of the checkpoint at ``path``.

    Raises:
        KafkaSpecError: ``unreadable``, and as ``parse``.
    """
    text = Text.load(path)
    return parse(text.data, file=text.file)


def by_partition(entries: Iterable[PartitionOffset]) -> dict[tuple[str, int], PartitionOffset]:
    """The entries by topic and partition. Of two for the same one the later counts, as in Kafka."""
    return {(entry.topic, entry.partition): entry for entry in entries}


def serialize(entries: Iterable[PartitionOffset]) -> bytes:
    """The bytes that Kafka writes. Its order is that of a hash map; here the order is kept.

    Raises:
        KafkaSpecError: ``unencodable``: a number does not fit, or no topic has this name.
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
