"""What checkpoints are held against: what the batches of a partition say."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

MAX_RUNS = 100_000
"""Changes of the leader epoch that are remembered of a partition, the first ones."""


@dataclass(slots=True)
class EpochRun:
    """Batches in a row with the same leader epoch.

    Attributes:
        epoch: of the leader.
        base_offset: of the first of them.
        last_offset: of the last of them.
    """

    epoch: int
    base_offset: int
    last_offset: int


@dataclass(slots=True)
class LogState:
    """What is in the directory of a partition.

    Attributes:
        path: of the directory.
        topic: from its name, "" where that is none of a partition.
        partition: number from its name, -1 for none.
        state: ``-delete``, ``-future``, ``-stray`` or "".
        start_offset: in the name of the first segment, None without segments.
        end_offset: behind the last batch; None without segments, and where one of them could not
            be read.
        runs: epochs of the batches in order.
        topic_id: of ``partition.metadata``, None for none.
    """

    path: Path
    topic: str = ""
    partition: int = -1
    state: str = ""
    start_offset: int | None = None
    end_offset: int | None = None
    runs: list[EpochRun] = field(default_factory=list)
    topic_id: UUID | None = None

    @property
    def key(self) -> tuple[str, int]:
        """Topic and partition."""
        return self.topic, self.partition


def add_to_runs(runs: list[EpochRun], epoch: int, base_offset: int, last_offset: int) -> None:
    """Note the next batch of a partition."""
    if runs and runs[-1].epoch == epoch:
        runs[-1].last_offset = max(runs[-1].last_offset, last_offset)
    elif len(runs) < MAX_RUNS:
        runs.append(EpochRun(epoch, base_offset, last_offset))
