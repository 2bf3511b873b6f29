"""Read a partition for its transactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.headers import EPOCH, NAMED, Unread, named, segment_paths, table_of, tables
from kafkaspec.forensics.timeline.indexes import IndexFinding, check_index
from kafkaspec.forensics.timeline.walk import OPEN, OUTCOMES, UNKNOWN, TimelineRows, TransactionRows
from kafkaspec.log.batch import NONE
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.log.transactions import OpenTransaction
from kafkaspec.results import Assumption

TIMELINE: Final = pa.schema([
    ("producer_id", pa.int64()), ("producer_epoch", EPOCH), ("last_epoch", EPOCH),
    ("first_offset", pa.int64()), ("last_offset", pa.int64()), ("batches", pa.int64()),
    ("records", pa.int64()), ("first_timestamp", pa.int64()), ("last_timestamp", pa.int64()),
    ("marker", pa.int64()), ("marker_epoch", EPOCH), ("coordinator_epoch", pa.int32()),
    ("marker_timestamp", pa.int64()), ("duration_ms", pa.int64()), ("outcome", NAMED),
    ("strength", NAMED), ("file", NAMED), ("position", pa.int64()),
])  # fmt: skip
"""Columns of transactions; timestamps in ms, null for none. ``producer_epoch`` is that of the first
batch, ``last_epoch`` that of the last one; ``file`` and ``position`` are those of the first batch,
or of a marker without data.
``outcome`` is ``committed``, ``aborted``, ``open``, or ``unknown`` where the marker cannot be read.
``duration_ms`` is the marker's time, of the broker's clock, less that of the first record, of the
producer's: it can be negative."""


@dataclass
class Timeline:
    """Transactions of a partition.

    Attributes:
        transactions: see ``TIMELINE``; by first offset, those without data by their marker.
        log_start_offset: the first offset that was read; None without a batch.
        log_end_offset: the offset after the last batch.
        last_stable_offset: first offset of the earliest open transaction, or the end: consumers
            with ``read_committed`` read up to here.
        index: contradictions between transaction indexes and the log.
        index_entries: number of entries that were compared.
        assumptions: what the answers depend on.
        unread: what could not be read.
    """

    transactions: pa.Table
    log_start_offset: int | None
    log_end_offset: int
    last_stable_offset: int
    index: list[IndexFinding]
    index_entries: int
    assumptions: list[Assumption]
    unread: list[KafkaSpecError]

    @property
    def outcomes(self) -> dict[str, int]:
        """Number of transactions by outcome."""
        counted = self.transactions["outcome"].cast(pa.string()).value_counts().to_pylist()
        found = {item["values"]: item["counts"] for item in counted}
        return {name: found.get(name, 0) for name in OUTCOMES}

    @property
    def open_transactions(self) -> list[OpenTransaction]:
        """The transactions that no marker has ended, by first offset."""
        rows = self.transactions.filter(
            pc.equal(self.transactions["outcome"].cast(pa.string()), "open")
        )
        names_of = ("producer_id", "last_epoch", "first_offset", "last_timestamp")
        return [
            OpenTransaction(*(NONE if row[name] is None else row[name] for name in names_of))
            for row in rows.to_pylist()
        ]


def read_timeline(log: Partition | Segment) -> Timeline:
    """Return the transactions of a partition, or of a segment alone.

    Only headers of batches and the records of markers are read; checksums are not verified. A
    transaction that began before the first batch begins where the producer snapshot at the start of
    the log says.

    Args:
        log: the partition or segment.

    Raises:
        KafkaSpecError: nothing in it can be read.
    """
    unread = Unread()
    walk = TimelineRows(log, unread)
    for table in tables(log, unread):
        walk.take(table)
    rows = walk.transactions
    transactions = _transactions(rows, segment_paths(log))
    index, entries = check_index(log, rows, walk.end, unread)
    return Timeline(
        transactions=transactions,
        log_start_offset=walk.first,
        log_end_offset=walk.end,
        last_stable_offset=last_stable_offset(log, walk.end, rows),
        index=index,
        index_entries=entries,
        assumptions=_assumptions(log, walk.end),
        unread=unread.errors,
    )


def last_stable_offset(log: Partition | Segment, end: int, rows: TransactionRows) -> int:
    """Return the first offset of the earliest open transaction, or the end of a log."""
    is_open = (rows["outcome"] == OPEN) & (rows["first_offset"] >= 0)
    open_offsets = rows["first_offset"][is_open]
    start = (log.log_start_offset or 0) if isinstance(log, Partition) else 0
    return max(int(open_offsets.min()) if len(open_offsets) else end, start)


def _assumptions(log: Partition | Segment, end: int) -> list[Assumption]:
    listed = None
    if isinstance(log, Partition):
        try:
            listed = log.high_watermark
        except KafkaSpecError:
            listed = None
    why = "every record counts as replicated"
    if listed is not None and listed < end:
        why += f"; the checkpoint of the broker says {listed}"
    return [Assumption("high watermark", str(end), why)]


def _transactions(rows: TransactionRows, paths: list[str]) -> pa.Table:
    timed = (rows["first_timestamp"] >= 0) & (rows["marker_timestamp"] >= 0)
    spent = rows["marker_timestamp"] - rows["first_timestamp"]
    made = {
        "outcome": named(rows["outcome"], OUTCOMES),
        "strength": named((rows["outcome"] == UNKNOWN).astype(np.int64), ("proof", "unknown")),
        "file": named(rows["file"], paths),
        "duration_ms": pa.array(spent, mask=~timed),
    }
    return table_of(TIMELINE, rows, made, ("producer_id", "batches", "records"))
