"""Where a follower truncates its log when it fetches from a leader whose log differs.

Kafka: ``AbstractFetcherThread.getOffsetTruncationState``, ``LeaderEpochFileCache.endOffsetFor``;
KIP-101, KIP-279.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry


@dataclass(frozen=True, slots=True)
class TruncationStep:
    """One question of the follower.

    Attributes:
        epoch: the follower's last epoch, which it asks for.
        leader_epoch: the leader's largest epoch up to that one, None if it has none.
        end_offset: where that epoch ends in the leader's log, None if it does not know.
        offset: the follower truncates to this offset.
    """

    epoch: int
    leader_epoch: int | None
    end_offset: int | None
    offset: int


class ReplicaEpochs:
    """The leader epochs of a log, as a running broker has them."""

    def __init__(self, entries: Sequence[EpochEntry], end_offset: int) -> None:
        self._epochs = [entry.epoch for entry in entries]
        self._starts = [entry.start_offset for entry in entries]
        self.end_offset = end_offset

    @property
    def latest(self) -> int | None:
        """The last epoch; None without any."""
        return self._epochs[-1] if self._epochs else None

    def end_of(self, epoch: int) -> tuple[int, int] | None:
        """Return the largest epoch up to one, and the offset that it ends at.

        None for an epoch above all. One below all ends where the first one begins: what was
        between them has been deleted.
        """
        if epoch == self.latest:
            return epoch, self.end_offset
        after = bisect_right(self._epochs, epoch)
        if after == len(self._epochs):
            return None
        return (self._epochs[after - 1] if after else epoch), self._starts[after]

    def truncated(self, end_offset: int) -> ReplicaEpochs:
        """Return the epochs of the log that ends at an offset; those that begin there are gone."""
        pairs = zip(self._epochs, self._starts, strict=True)
        kept = [EpochEntry(epoch, start) for epoch, start in pairs if start < end_offset]
        return ReplicaEpochs(kept, end_offset)

    def elected(self, epoch: int) -> ReplicaEpochs:
        """Return the epochs after this log's broker was elected: the new one begins at the end."""
        pairs = zip(self._epochs, self._starts, strict=True)
        entries = [EpochEntry(each, start) for each, start in pairs]
        return ReplicaEpochs([*entries, EpochEntry(epoch, self.end_offset)], self.end_offset)


def truncation(
    follower: ReplicaEpochs, leader: ReplicaEpochs, high_watermark: int
) -> tuple[int, list[TruncationStep]]:
    """Return the offset that a follower truncates its log to, and how it finds it.

    Args:
        high_watermark: of the follower, which it truncates to if it knows no epoch, or the leader
            none like it.
    """
    steps: list[TruncationStep] = []
    while follower.latest is not None:
        asked, end = follower.latest, follower.end_offset
        answer = leader.end_of(asked)
        if answer is None:
            offset, done = min(high_watermark, end), True
        else:
            epoch, leader_end = answer
            own, own_end = follower.end_of(epoch) or (epoch, end)
            done = own == epoch
            # Unless both mean the same epoch, the follower asks again, for its next lower one.
            offset = min(own_end, leader_end, end) if done else min(own_end, end)
        found, found_end = answer or (None, None)
        steps.append(TruncationStep(asked, found, found_end, offset))
        if done:
            return offset, steps
        follower = follower.truncated(offset)
    return min(high_watermark, follower.end_offset), steps
