"""``leader-epoch-checkpoint``: which leader epoch began at which offset of a partition.

Kafka: ``LeaderEpochCheckpointFile``, ``EpochEntry``; KIP-101. Since 0.11. A broker lists an epoch
when it becomes leader, so the last epoch may not have a batch yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.checkpoints import checkpoint_file
from kafkaspec.files.checkpoints.text import INT_BITS, LONG_BITS, Piece, Text, writable


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


def parse(data: bytes, *, file: str | None = None) -> tuple[EpochEntry, ...]:
    """Parse the entries of a checkpoint, in the order of the file.

    Args:
        data: all bytes of the file.
        file: its name in errors.

    Raises:
        CorruptError: a line is malformed, or their number differs from line 2.
        UnsupportedError: another version than 0.
    """
    return checkpoint_file.parse(Text(data, file), 2, _entry)


def read(path: str | PathLike[str]) -> tuple[EpochEntry, ...]:
    """Read the entries of the checkpoint at ``path``.

    Raises:
        KafkaSpecError: ``unreadable``, and as ``parse``.
    """
    text = Text.load(path)
    return parse(text.data, file=text.file)


def scan(path: str | PathLike[str]) -> list[EpochEntry | KafkaSpecError]:
    """Read the entries of the checkpoint at ``path``, and the error of each malformed line.

    Raises:
        KafkaSpecError: ``unreadable``, or the first two lines are malformed.
    """
    return list(checkpoint_file.scan(Text.load(path), 2, _entry))


def serialize(entries: Iterable[EpochEntry]) -> bytes:
    """Serialize entries as Kafka does. Kafka sorts them; this function keeps their order.

    Raises:
        KafkaSpecError: ``unencodable``: a number does not fit.
    """
    return checkpoint_file.serialize(
        [
            f"{writable(entry.epoch, INT_BITS, 'epoch')} "
            f"{writable(entry.start_offset, LONG_BITS, 'start_offset')}"
            for entry in entries
        ]
    )


def _entry(text: Text, found: Sequence[Piece], path: str) -> EpochEntry:
    epoch, start_offset = found
    return EpochEntry(
        text.number(epoch, INT_BITS, f"{path}/epoch"),
        text.number(start_offset, LONG_BITS, f"{path}/start_offset"),
        epoch.position,
    )
