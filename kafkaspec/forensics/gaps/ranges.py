"""Offsets of a partition that no consumer gets, why, and how well the files prove it.

Three things look alike to a consumer: what is in the log and not delivered (markers, aborted
records, records below the log start), offsets without a record in a batch that is there, and
offsets between batches. Only a cleaner makes the second one. A log that was never compacted has the
third one by loss alone: by damage, by recovery that cut it, or by segments that are gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.headers import NAMED, PerBatch
from kafkaspec.results import Assumption


class GapKind(StrEnum):
    """Where offsets are missing; a closed list."""

    WITHHELD = "withheld"
    """In the log, and not delivered."""
    INSIDE = "inside"
    """In the range of a batch that has fewer records than offsets."""
    EMPTIED = "emptied"
    """In the range of a batch without records."""
    BETWEEN = "between"
    """Between two batches, or before the first one of its segment."""
    BEFORE = "before"
    """Before the first segment."""
    END = "end"
    """After the last batch."""


class Why(StrEnum):
    """Why offsets are missing; a closed list."""

    MARKER = "marker"
    """The end of a transaction."""
    ABORTED = "aborted"
    """An aborted transaction; withheld with ``read_committed``. Others write in between."""
    DELETE_RECORDS = "delete_records"
    """Below the log start offset of the broker, which is above the first segment."""
    RETENTION = "retention"
    """Below the first segment: deleted by retention, or by ``deleteRecords``."""
    TIERED = "tiered"
    """Below the first segment, in remote storage."""
    COMPACTION = "compaction"
    """The cleaner removed records of other batches, or of a batch that is there."""
    ABORTED_REMOVED = "aborted_removed"
    """The cleaner removed an aborted transaction."""
    MARKER_REMOVED = "marker_removed"
    """The cleaner removed the end of a transaction."""
    SUPERSEDED = "superseded"
    """Another copy has the records, and newer ones with the same keys that were cleaned too."""
    BEHIND = "behind"
    """Intact, after bytes that no reader gets past: ``salvage`` gets them back."""
    UNREADABLE = "unreadable"
    """Bytes that cannot be read lie in their place."""
    SEGMENT_LOST = "segment_lost"
    """A file of a segment is there whose log is gone or ends too early."""
    CUT = "cut"
    """From the end of a batch to the next segment: recovery cut it, or a segment is gone."""
    LOST = "lost"
    """Compaction does not explain it; with another copy: that has the records."""
    UNKNOWN = "unknown"
    """Compaction or loss."""


LEGAL: Final = frozenset({
    Why.MARKER, Why.ABORTED, Why.DELETE_RECORDS, Why.RETENTION, Why.TIERED, Why.COMPACTION,
    Why.ABORTED_REMOVED, Why.MARKER_REMOVED, Why.SUPERSEDED,
})  # fmt: skip
"""What brokers do that work."""

GAPS: Final = pa.schema([
    ("first_offset", pa.int64()), ("last_offset", pa.int64()), ("missing", pa.int64()),
    ("kind", NAMED), ("why", NAMED), ("strength", NAMED), ("producer_id", pa.int64()),
    ("detail", pa.string()), ("file", NAMED), ("position", pa.int64()),
])  # fmt: skip
"""Columns of missing ranges, by offset. ``missing`` is their number: in a batch that is there,
fewer than the range has. ``producer_id`` is the producer whose sequence numbers leave out just as
many, null for none; that is a strong sign of whose records they were, and not of why they are gone.
``position`` is that of the batch, or of the one after the gap."""


@dataclass
class Gaps:
    """Offsets of a partition that no consumer gets.

    Attributes:
        ranges: see ``GAPS``.
        log_start_offset: the first offset that a broker delivers.
        log_end_offset: the offset after the last batch.
        assumptions: what the answers depend on.
        unread: what could not be read.
    """

    ranges: pa.Table
    log_start_offset: int
    log_end_offset: int
    assumptions: list[Assumption]
    unread: list[KafkaSpecError]

    @property
    def unexplained(self) -> pa.Table:
        """The ranges that brokers which work do not leave, as far as is known."""
        legal = pa.array(sorted(LEGAL), pa.string())
        return self.ranges.filter(pc.invert(pc.is_in(self.ranges["why"].cast(pa.string()), legal)))

    @property
    def illegal(self) -> int:
        """Number of those."""
        return len(self.unexplained)


GapColumns = dict[str, PerBatch]
KIND_NUMBERS: Final = {kind: number for number, kind in enumerate(GapKind)}
"""What stands for kinds in columns of numbers."""
