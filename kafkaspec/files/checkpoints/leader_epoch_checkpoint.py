"""``leader-epoch-checkpoint``: which leader epoch began at which offset of a partition.

Kafka: ``LeaderEpochCheckpointFile``, ``EpochEntry``; KIP-101. Since 0.11. A broker lists an epoch
when it becomes leader, so the last epoch may not have a batch yet.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkaspec._generated.layout.texts import TEXTS
from kafkaspec.files import names
from kafkaspec.files.checkpoints.checkpoint_file import CheckpointFormat


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


_FORMAT = CheckpointFormat(TEXTS[names.LEADER_EPOCHS], EpochEntry)
parse, read, scan, serialize = _FORMAT.parse, _FORMAT.read, _FORMAT.scan, _FORMAT.serialize
