"""Start offsets of leader epochs, updated while batches are appended.

Kafka: ``LeaderEpochFileCache`` (``assign``, ``truncateFromEnd``, ``truncateFromStart``),
``LogSegment.recover``; KIP-101.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafkaspec.broker.profiles import EpochFile
from kafkaspec.files.checkpoints import leader_epoch_checkpoint
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.log.batch import NONE
from kafkaspec.log.header_table import HeaderTable


class LeaderEpochs:
    """The content of a ``leader-epoch-checkpoint``.

    Args:
        kind: condition for the file.
        epoch: epoch of the leader that begins at ``start_offset``, None if not known.

    Attributes:
        has_messages: whether messages were added, which have no epoch.
    """

    def __init__(self, kind: EpochFile, epoch: int | None, start_offset: int) -> None:
        self._kind = kind
        self._entries: list[EpochEntry] = []
        self.has_messages = False
        self._leader = None if epoch is None else EpochEntry(epoch, start_offset)
        if self._leader is not None and kind is EpochFile.ALWAYS_ASSIGNED:
            self._entries.append(self._leader)

    @property
    def entries(self) -> tuple[EpochEntry, ...]:
        """The epochs in order."""
        return tuple(self._entries)

    def append(self, headers: HeaderTable, first: int, last: int) -> None:
        """Add the entries from number ``first`` up to, but not including, ``last``."""
        epochs = headers.leader_epoch[first:last]
        latest = self._entries[-1].epoch if self._entries else NONE
        self.has_messages = self.has_messages or headers.has_messages(first, last)
        if max(epochs) <= latest:
            return
        for number, epoch in enumerate(epochs, first):
            if epoch > latest:
                start = headers.first_offset[number]
                self.truncate_from_end(start)
                self._entries.append(EpochEntry(epoch, start))
                latest = epoch

    def truncate_from_end(self, end_offset: int) -> None:
        """Remove epochs that begin at or after an offset."""
        while self._entries and self._entries[-1].start_offset >= end_offset:
            self._entries.pop()

    def truncate_from_start(self, start_offset: int) -> None:
        """Remove epochs that ended before an offset; the epoch at the offset then begins there."""
        self._entries = list(begun_at(self._entries, start_offset))

    def checkpoint(self) -> bytes | None:
        """Return the bytes of the file; None if there is none."""
        if self._kind is EpochFile.NEVER:
            return None
        entries = self._entries
        if not entries and not self.has_messages and self._kind is EpochFile.ASSIGNED:
            entries = [self._leader] if self._leader is not None else []
        if entries:
            return leader_epoch_checkpoint.serialize(entries)
        return b"" if self._kind is EpochFile.ALWAYS else None


def begun_at(entries: Sequence[EpochEntry], start_offset: int) -> tuple[EpochEntry, ...]:
    """Return epochs without those that ended before an offset, where the one at it begins."""
    below = [entry for entry in entries if entry.start_offset <= start_offset]
    begun = [EpochEntry(below[-1].epoch, start_offset)] if below else []
    return (*begun, *entries[len(below) :])
