"""Losses and changes of a conversion, counted by kind."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final


class Loss(StrEnum):
    """A kind of loss or change. The list is closed."""

    HEADERS = "headers"
    """Magic 0 and 1 have no headers."""
    TIMESTAMPS = "timestamps"
    """Magic 0 has no timestamps."""
    TIMESTAMP_TYPES = "timestamp_types"
    """LogAppendTime was lost (magic 0) or became CreateTime: a batch of magic 2 has one append time
    for all records, and records of magic 0 in a wrapper (KAFKA-4298) have none."""
    PRODUCERS = "producers"
    """Magic 0 and 1 have neither producer id, nor epoch, nor sequence numbers."""
    SEQUENCES = "sequences"
    """Sequence numbers that changed together with the offsets."""
    TRANSACTIONS = "transactions"
    """Records of transactions, which magic 0 and 1 cannot mark as such."""
    LEADER_EPOCHS = "leader_epochs"
    """Magic 0 and 1 have no leader epoch."""
    DELETE_HORIZONS = "delete_horizons"
    """Magic 0 and 1 have no delete horizon."""
    CONTROL_RECORDS = "control_records"
    """Control records left out: magic 0 and 1 have none."""
    EMPTY_BATCHES = "empty_batches"
    """Batches without records, which compaction keeps for the state of a producer, left out."""
    ABORTED_KEPT = "aborted_kept"
    """Records of aborted transactions that every consumer of magic 0 and 1 will see."""
    ABORTED_DROPPED = "aborted_dropped"
    """Records of aborted transactions left out."""
    OPEN_KEPT = "open_kept"
    """Records of transactions without an end that every consumer of magic 0 and 1 will see."""
    DELETED = "deleted"
    """Records below the log start offset, which no broker delivers, left out."""
    OUT_OF_RANGE = "out_of_range"
    """Records outside the requested ranges of offsets and timestamps, left out."""
    DAMAGED = "damaged"
    """Batches that cannot be read, left out."""
    UNUSED_BYTES = "unused_bytes"
    """Bytes after the value of a message, which no reader looks at, left out."""
    FIELDS = "fields"
    """Other fields that the format, or an entry of it, has no place for; counted by name."""


_LEFT_OUT: Final = (
    Loss.CONTROL_RECORDS,
    Loss.EMPTY_BATCHES,
    Loss.ABORTED_DROPPED,
    Loss.DELETED,
    Loss.OUT_OF_RANGE,
    Loss.DAMAGED,
)


@dataclass(slots=True)
class Count:
    """Counts of one kind of loss.

    Attributes:
        batches: number of affected batches.
        records: number of affected records, as far as headers show it.
    """

    batches: int = 0
    records: int = 0


@dataclass(slots=True)
class Losses:
    """Counts of losses.

    Attributes:
        counts: counts by kind.
        fields: counts of ``Loss.FIELDS`` by name, such as ``header.attributes.reserved`` or
            ``record.attributes``.
    """

    counts: dict[Loss, Count] = field(default_factory=dict)
    fields: dict[str, Count] = field(default_factory=dict)

    def add(self, kind: Loss, *, batches: int = 0, records: int = 0) -> None:
        """Count a loss.

        Args:
            kind: the kind of loss.
            batches: number of affected batches.
            records: number of affected records.
        """
        count = self.counts.setdefault(kind, Count())
        count.batches += batches
        count.records += records

    def add_field(self, name: str, *, batches: int = 0, records: int = 0) -> None:
        """Count a field that is lost.

        Args:
            name: such as ``record.attributes``.
            batches: number of affected batches.
            records: number of affected records.
        """
        self.add(Loss.FIELDS, batches=batches, records=records)
        count = self.fields.setdefault(name, Count())
        count.batches += batches
        count.records += records

    def update(self, other: Losses) -> None:
        """Add the counts of ``other``."""
        for kind, count in other.counts.items():
            if kind is not Loss.FIELDS:
                self.add(kind, batches=count.batches, records=count.records)
        for name, count in other.fields.items():
            self.add_field(name, batches=count.batches, records=count.records)

    @property
    def left_out(self) -> Count:
        """Sums over the kinds of batches and records that are not in the output."""
        found = [self[kind] for kind in _LEFT_OUT]
        return Count(sum(one.batches for one in found), sum(one.records for one in found))

    def __getitem__(self, kind: Loss) -> Count:
        return self.counts.get(kind, Count())

    def as_dict(self) -> dict[str, Any]:
        """Return the counts for JSON, in the order of ``Loss``; ``fields`` has counts by name."""
        made: dict[str, Any] = {
            str(kind): asdict(self[kind]) for kind in Loss if kind in self.counts
        }
        if self.fields:
            named = {name: asdict(count) for name, count in sorted(self.fields.items())}
            made[str(Loss.FIELDS)]["names"] = named
        return made
