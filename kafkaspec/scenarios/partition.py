"""A partition in the making: its batches, and what is true of it.

What is true follows from what is appended, by a few lines of Kafka's rules that read no bytes, so
that it can judge whatever reads the partition afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack
from uuid import UUID

from kafkaspec._generated.python.model.control_record import EndTransactionMarker
from kafkaspec.broker.profiles import Profile
from kafkaspec.files import names
from kafkaspec.files.checkpoints import leader_epoch_checkpoint
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.layout.kinds import CURRENT, require_kind
from kafkaspec.log.batch import LOG_APPEND_TIME, NO_TIMESTAMP, NONE
from kafkaspec.log.control import encode_control, ending
from kafkaspec.log.encoding import EncodeOptions, encode
from kafkaspec.log.transactions import Outcome
from kafkaspec.model import Record
from kafkaspec.times import milliseconds
from kafkaspec.writing.segment_writer import SegmentWriter

INDEX_INTERVAL_BYTES = 400
"""``index.interval.bytes`` of all partitions, so that small ones have entries in their indexes."""


@dataclass(frozen=True, slots=True)
class MadeBatch:
    """An append: one batch, or messages of magic 0 or 1.

    Attributes:
        data: its bytes.
        first_offset: of the batch.
        last_offset: of the batch.
        count: number of records in it.
        epoch: leader epoch, -1 for none.
        max_timestamp: of its records, ms.
        control: whether they are control records.
    """

    data: bytes
    first_offset: int
    last_offset: int
    count: int
    epoch: int
    max_timestamp: int
    control: bool


@dataclass(slots=True)
class MadeTransaction:
    """A transaction in the partition.

    Attributes:
        producer_id: of its producer.
        producer_epoch: likewise.
        offsets: those of its records.
        marker: offset of the marker that ends it, None while it is open.
        outcome: its fate.
    """

    producer_id: int
    producer_epoch: int
    offsets: list[int]
    marker: int | None = None
    outcome: Outcome = Outcome.OPEN

    @property
    def first_offset(self) -> int:
        """Offset of its first record."""
        return self.offsets[0]


@dataclass
class MadePartition:
    """One partition in the making.

    Attributes:
        topic: its name.
        partition: its number.
        topic_id: its id, None for no ``partition.metadata``.
        entries: of each segment, by base offset: what was appended.
        records: what ``read_uncommitted`` delivers, control records excluded.
        transactions: in the order of their first offsets.
        end: log end offset.
        start: log start offset, where it is not the base offset of the first segment.
        dropped: base offsets of the segments that retention has deleted.
        clean: first offset that the cleaner has not cleaned, None for a log that it never cleaned.
        high_watermark: first offset that is not on all replicas, None for the end.
        crashed: whether its broker did not stop cleanly: its last segment was not flushed.
        epoch: leader epoch of new batches.
        epoch_starts: start offsets by leader epoch.
        others: other files in its directory, by name.
        facts: what else is true of it, for ``expected.json``.
    """

    topic: str
    partition: int = 0
    topic_id: UUID | None = None
    entries: dict[int, list[MadeBatch]] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    transactions: list[MadeTransaction] = field(default_factory=list)
    end: int = 0
    start: int | None = None
    dropped: set[int] = field(default_factory=set)
    clean: int | None = None
    high_watermark: int | None = None
    crashed: bool = False
    epoch: int = 0
    epoch_starts: dict[int, int] = field(default_factory=dict)
    others: dict[str, bytes] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of its directory."""
        return f"{self.topic}-{self.partition}"

    @property
    def batches(self) -> list[MadeBatch]:
        """All that is still there of what was appended."""
        kept = (batches for base, batches in self.entries.items() if base not in self.dropped)
        return [batch for batches in kept for batch in batches]

    @property
    def segments(self) -> list[int]:
        """The base offsets of the segments that are there."""
        return [base for base in self.entries if base not in self.dropped]

    # -- appending --------------------------------------------------------------------------

    def roll(self, base_offset: int | None = None) -> None:
        """Begin a segment."""
        self.end = self.end if base_offset is None else base_offset
        self.entries.setdefault(self.end, [])

    def add(
        self,
        records: Sequence[Record],
        *,
        magic: int = CURRENT,
        compression: str = "none",
        **options: Unpack[EncodeOptions],
    ) -> MadeBatch:
        """Append records as one batch, with the options of ``encode``; none for an empty batch."""
        if require_kind(magic).has_record_sets:
            options.setdefault("partition_leader_epoch", self.epoch)
        data = encode(records, magic=magic, compression=compression, **options)
        first, last = options.get("base_offset"), options.get("last_offset")
        first = records[0].offset if first is None else first
        last = records[-1].offset if last is None else last
        epoch = options.get("partition_leader_epoch", NONE)
        most = options.get("max_timestamp")
        if most is None:
            most = max((record.timestamp for record in records), default=NO_TIMESTAMP)
        most = milliseconds(most, "max_timestamp")
        control = options.get("control", False)
        made = MadeBatch(data, first, last, len(records), epoch, most, control)
        self._append(made)
        if not control:
            if options.get("timestamp_type") == LOG_APPEND_TIME:
                records = [item._replace(timestamp=made.max_timestamp) for item in records]
            self.records += records
            if options.get("transactional"):
                offsets = [record.offset for record in records]
                self._extend(options["producer_id"], options["producer_epoch"], offsets)
        return made

    def _append(self, batch: MadeBatch) -> None:
        if not self.entries:
            self.roll()
        self.entries[max(self.entries)].append(batch)
        if batch.epoch > NONE:
            self.epoch_starts.setdefault(batch.epoch, batch.first_offset)
        self.end = batch.last_offset + 1

    def marker(
        self, producer_id: int, producer_epoch: int, timestamp: int, *, commit: bool
    ) -> MadeBatch:
        """Append the end of a transaction."""
        found = self._open(producer_id)
        if found is not None:
            found.marker = self.end
            found.outcome = Outcome.COMMITTED if commit else Outcome.ABORTED
        kind = ending(aborts=not commit)
        body = EndTransactionMarker(version=0, coordinator_epoch=0)
        return self.control(
            kind, body, timestamp, producer_id=producer_id, producer_epoch=producer_epoch,
            transactional=True,
        )  # fmt: skip

    def control(
        self, kind: int, body: Any, timestamp: int, **options: Unpack[EncodeOptions]
    ) -> MadeBatch:
        """Append a control record of a type."""
        key, value = encode_control(kind, body)
        options["control"] = True
        return self.add([Record(self.end, timestamp, key, value)], **options)

    def fetch(self, leader: MadePartition) -> None:
        """Append what another replica has after the end of this one, as a follower does."""
        for base, batches in leader.entries.items():
            if base >= self.end:
                self.roll(base)
            for batch in batches:
                if batch.first_offset >= self.end:
                    self._append(batch)
        known = self.records[-1].offset if self.records else NONE
        self.records += [record for record in leader.records if record.offset > known]

    def truncate(self, offset: int) -> None:
        """Remove all batches from an offset on, as a follower does."""
        for base in [base for base in self.entries if base > offset]:
            del self.entries[base]
        kept = self.entries[max(self.entries)]
        kept[:] = [batch for batch in kept if batch.last_offset < offset]
        self.records = [record for record in self.records if record.offset < offset]
        self.epoch_starts = {e: start for e, start in self.epoch_starts.items() if start < offset}
        self.end = offset

    def _open(self, producer_id: int) -> MadeTransaction | None:
        for found in reversed(self.transactions):
            if found.producer_id == producer_id:
                return found if found.marker is None else None
        return None

    def _extend(self, producer_id: int, producer_epoch: int, offsets: list[int]) -> None:
        found = self._open(producer_id)
        if found is None:
            self.transactions.append(MadeTransaction(producer_id, producer_epoch, offsets))
        else:
            found.offsets += offsets

    # -- what is true of it -----------------------------------------------------------------

    @property
    def log_start(self) -> int:
        """The log start offset."""
        return min(self.segments) if self.start is None else self.start

    @property
    def flushed(self) -> int:
        """The recovery point of its checkpoint."""
        return max(self.entries) if self.crashed else self.end

    @property
    def replicated(self) -> int:
        """The high watermark of its checkpoint."""
        return self.flushed if self.high_watermark is None else self.high_watermark

    @property
    def stable(self) -> int:
        """The last stable offset."""
        open_ = (each.first_offset for each in self.transactions if each.marker is None)
        return min(open_, default=self.end)

    @property
    def uncommitted(self) -> list[Record]:
        """The records for a consumer that reads all."""
        return [record for record in self.records if record.offset >= self.log_start]

    @property
    def committed(self) -> list[Record]:
        """The records for a consumer that reads committed ones only."""
        hidden = self.hidden
        return [
            record
            for record in self.uncommitted
            if record.offset not in hidden and record.offset < self.stable
        ]

    @property
    def hidden(self) -> set[int]:
        """The offsets of records of aborted transactions."""
        aborted = (each for each in self.transactions if each.outcome is Outcome.ABORTED)
        return {offset for each in aborted for offset in each.offsets}

    @property
    def epochs(self) -> list[tuple[int, int]]:
        """The leader epochs that the log still reaches, with their start offsets."""
        starts = sorted(self.epoch_starts.items())
        begun = [start for _, start in starts if start <= self.log_start]
        return [
            (epoch, max(start, self.log_start))
            for epoch, start in starts
            if not begun or start >= begun[-1]
        ]

    # -- files ------------------------------------------------------------------------------

    def write(self, directory: Path, profile: Profile) -> None:
        """Write the segments with all files beside them, as a broker leaves them."""
        with SegmentWriter(
            directory, min(self.entries), profile, index_interval_bytes=INDEX_INTERVAL_BYTES,
            topic_id=self.topic_id, sync=False,
        ) as writer:  # fmt: skip
            for base, batches in self.entries.items():
                writer.roll(base)
                for batch in batches:
                    writer.append(batch.data, together=True)
        if self.crashed:
            snapshot = names.SegmentName(self.end, names.PRODUCER_SNAPSHOT)
            (directory / snapshot.sibling(names.PRODUCER_SNAPSHOT)).unlink()
        for base in self.dropped:
            for path in directory.glob(f"{names.SegmentName(base, '').sibling('')}.*"):
                path.unlink()
        for name, data in self.others.items():
            (directory / name).write_bytes(data)
        entries = [EpochEntry(epoch, start) for epoch, start in self.epochs]
        if entries:
            (directory / names.LEADER_EPOCHS).write_bytes(
                leader_epoch_checkpoint.serialize(entries)
            )
