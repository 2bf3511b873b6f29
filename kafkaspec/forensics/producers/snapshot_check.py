"""Do the producer snapshots of a log agree with the batches before them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import numpy as np

from kafkaspec._generated.python.model.producer_snapshot import ProducerEntry
from kafkaspec.analysis.check_producers import batch_at, contradictions
from kafkaspec.broker.loading import read_snapshot
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names as files
from kafkaspec.files import snapshots
from kafkaspec.forensics.headers import Column
from kafkaspec.forensics.producers.verdicts import Break, ProducerVerdict
from kafkaspec.layout.sequences import shorter_way
from kafkaspec.log.batch import NONE
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.results import OffsetRange, Strength

_OF_STATE: Final = ("producer_id", "epoch", "last_sequence", "last_offset", "last_timestamp")


class SnapshotCheck:
    """Compares each producer snapshot of a log with what the log has before its offset.

    Attributes:
        breaks: the contradictions.
        compared: number of snapshots.
        compacted: the offset that the cleaner has reached; -1 for none.
    """

    def __init__(self, log: Partition | Segment) -> None:
        """Find the snapshots of a log; a segment has none."""
        self.breaks: list[Break] = []
        self.compared = 0
        self.compacted = -1
        self._log = log
        self._recent: list[dict[str, Column]] = []
        self._known: dict[int, ProducerEntry] = {}
        self._snapshots: dict[int, Path] = {}
        self._first = 0
        self._has_checkpoint = False
        if not isinstance(log, Partition):
            return
        named = ((files.parse_segment(path.name), path) for path in log.snapshot_paths)
        self._snapshots = {name.base_offset: path for name, path in named if name is not None}
        self._first = log.first_base_offset or 0
        self._has_checkpoint = (log.path.parent / files.CLEANER_OFFSETS).exists()
        try:
            self.compacted = log.cleaner_offset or -1
        except KafkaSpecError:
            self._has_checkpoint = False

    def take(self, rows: dict[str, Column]) -> None:
        """Take the next runs of producers."""
        if self._snapshots:
            self._recent.append(rows)

    def between(self, first: int, end: int) -> list[int]:
        """Return the offsets of snapshots between two batches, in order.

        That at the end is left for the start of the next batch, or the end of the segment.
        """
        return [offset for offset in sorted(self._snapshots) if first < offset < end]

    def end_segment(self, end: int | None) -> None:
        """Compare the snapshot at the end of a segment."""
        self._settle()
        self.at(end)

    def end(self, end: int | None) -> None:
        """Compare the snapshots at the end of the log and after it."""
        self.end_segment(end)
        for offset in sorted(self._snapshots):
            if end is None or offset > end:
                self.at(offset)

    def _settle(self) -> None:
        """Bring the state of producers up to the rows that were taken."""
        if not self._recent:
            return
        joined = {name: np.concatenate([part[name] for part in self._recent]) for name in _OF_STATE}
        self._recent = []
        order = np.argsort(joined["producer_id"], kind="stable")
        ids = joined["producer_id"][order]
        ends = order[np.append(ids[1:] != ids[:-1], True)]
        columns = [joined[name][ends].tolist() for name in _OF_STATE]
        for producer, epoch, sequence, offset, timestamp in zip(*columns, strict=True):
            self._known[producer] = snapshots.new_producer_entry(
                producer_id=producer,
                producer_epoch=epoch,
                last_sequence=sequence,
                last_offset=offset,
                offset_delta=0,
                timestamp=timestamp,
                coordinator_epoch=NONE,
                current_txn_first_offset=NONE,
            )

    def at(self, offset: int | None) -> None:
        """Compare the snapshot at an offset, if there is one, with the log before it."""
        path = None if offset is None else self._snapshots.get(offset)
        if path is None or offset is None or not isinstance(self._log, Partition):
            return
        self._settle()
        del self._snapshots[offset]
        entries = read_snapshot(path)
        self.compared += 1
        if entries is None:
            self._add(
                path, NONE, None, "it cannot be read, or its checksum is wrong", Strength.PROOF
            )
            return
        for finding, producer in contradictions(self._log, offset, path, self._known):
            known = self._known.get(producer)
            self._add(path, producer, known, finding.message, Strength.STRONG)
        for entry in entries:
            producer = entry.producer_id
            lost = self._lost(self._log, entry, self._known.get(producer), offset)
            if lost:
                # Without the cleaner's checkpoint, nothing says that the log was not compacted.
                strength = Strength.PROOF if self._has_checkpoint else Strength.LIKELY
                self._add(path, producer, entry, f"producer {producer}: {lost}", strength)

    def _lost(
        self, log: Partition, entry: ProducerEntry, known: ProducerEntry | None, offset: int
    ) -> str:
        """Return what a snapshot has of a producer that the log before it has not, "" for nothing.

        The cleaner keeps the last batch that a producer has in the whole log, not the last one
        before a snapshot: below its checkpoint, nothing follows.
        """
        place = entry.last_offset
        if entry.last_sequence < 0 or not max(self._first, self.compacted) <= place < offset:
            return ""
        if known is None:
            if batch_at(log, place) is not None:
                return ""  # a marker, or the batch of another one: ``contradictions`` says so
            return f"its batch with sequence {entry.last_sequence} at offset {place} is lost"
        ahead = shorter_way(entry.last_sequence - known.last_sequence)
        if ahead <= 0 or known.producer_epoch != entry.producer_epoch:
            return ""
        return (
            f"it has sequence {entry.last_sequence} at offset {place}, the log before offset "
            f"{offset} ends with {known.last_sequence}: {ahead} records are lost"
        )

    def _add(
        self,
        path: Path,
        producer: int,
        entry: ProducerEntry | None,
        text: str,
        strength: Strength,
    ) -> None:
        self.breaks.append(
            Break(
                reason=ProducerVerdict.SNAPSHOT,
                producer_id=producer,
                producer_epoch=entry.producer_epoch if entry else NONE,
                before=NONE,
                sequence=entry.last_sequence if entry else NONE,
                count=0,
                offsets=OffsetRange.through(entry.last_offset, entry.last_offset)
                if entry
                else None,
                idle_ms=None,
                legal=False,
                strength=strength,
                message=text,
                file=os.fspath(path),
            )
        )
