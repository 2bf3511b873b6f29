"""``leader-epoch-checkpoint``: which leader epoch began at which offset of a partition.

Kafka: ``LeaderEpochCheckpointFile``, ``EpochEntry``; KIP-101. Since 0.11. A broker lists an epoch
when it becomes leader, so the last epoch may not have a batch yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kafkaspec.files.checkpoints.checkpoint_file import CheckpointFormat
from kafkaspec.files.checkpoints.text import INT_BITS, LONG_BITS, Text, TextPiece, writable


@dataclass(frozen=True, slots=True)
class EpochEntry:
    """One leader epoch.

    Attributes:
        epoch: number of the epoch.
        start_offset: first offset that was or will be written in it.
        position: byte offset of the line in the file, None for an entry that was not read.
    """

    epoch: int
    start_offset: int
    position: int | None = field(default=None, compare=False)


def _entry(text: Text, found: Sequence[TextPiece], path: str) -> EpochEntry:
    epoch, start_offset = found
    return EpochEntry(
        text.number(epoch, INT_BITS, f"{path}/epoch"),
        text.number(start_offset, LONG_BITS, f"{path}/start_offset"),
        epoch.position,
    )


def _line(entry: EpochEntry) -> str:
    epoch = writable(entry.epoch, INT_BITS, "epoch")
    return f"{epoch} {writable(entry.start_offset, LONG_BITS, 'start_offset')}"


_FORMAT = CheckpointFormat(2, _entry, _line)
parse, read, scan, serialize = _FORMAT.parse, _FORMAT.read, _FORMAT.scan, _FORMAT.serialize
