"""The state of a partition's log, with which checkpoints are compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

MAX_RUNS = 100_000
"""Number of leader epoch changes of a partition that are remembered, the first ones."""


@dataclass(slots=True)
class EpochRun:
    """Consecutive batches with the same leader epoch.

    Attributes:
        epoch: leader epoch.
        base_offset: base offset of the first batch.
        last_offset: last offset of the last batch.
    """

    epoch: int
    base_offset: int
    last_offset: int


@dataclass(slots=True)
class LogState:
    """The content of a partition directory.

    Attributes:
        path: path of the directory.
        topic: topic in its name, "" if it is not that of a partition.
        partition: number in its name, -1 for none.
        state: ``-delete``, ``-future``, ``-stray`` or "".
        start_offset: offset in the name of the first segment, None without segments.
        end_offset: offset after the last batch; None without segments, or if one of them could not
            be read.
        runs: epochs of the batches in order.
        topic_id: topic id in ``partition.metadata``, None for none.
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
