"""Descriptions of tasks: flat and small, since each is pickled and sent."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.datasource import InputPartition

from kafkaspec.log.transactions import NO_TRANSACTIONS, AbortedTransactions


@dataclass(frozen=True, slots=True)
class TaskPiece:
    """A part of a segment, on batch boundaries.

    With ``last``, the segment ended there when it was planned: bytes that are not a batch are a
    torn tail there, and an error anywhere else. A piece that says what is ``lost`` has no bytes.
    """

    path: str
    topic: str | None
    partition: int | None
    start: int
    end: int
    last: bool
    start_offset: int | None = None
    end_offset: int | None = None
    aborted: AbortedTransactions = NO_TRANSACTIONS
    lost: str | None = None

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.end - self.start


class SegmentTask(InputPartition):
    """The pieces that one task reads, in this order."""

    def __init__(self, pieces: tuple[TaskPiece, ...]) -> None:
        """Make a task for pieces."""
        super().__init__(None)
        self.pieces = pieces

    def __repr__(self) -> str:
        return f"<SegmentTask {len(self.pieces)} pieces, {sum(p.size for p in self.pieces)} bytes>"
