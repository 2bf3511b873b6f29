"""Transactions in partitions: which are open, and which of them hang."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from kafkaspec._generated.python.model.enumeration import TransactionState
from kafkaspec.layout.kinds import shown_name
from kafkaspec.log.partition import Partition

_STATE: Final = "enumeration.transaction_state"
_OPEN: Final = frozenset(
    shown_name(_STATE, state)
    for state in (
        TransactionState.ONGOING,
        TransactionState.PREPARE_COMMIT,
        TransactionState.PREPARE_ABORT,
        TransactionState.PREPARE_EPOCH_FENCE,
    )
)
"""States in which partitions still have to get their markers."""

OPEN: Final = pa.schema([
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("producer_id", pa.int64()),
    ("producer_epoch", pa.int16()),
    ("first_offset", pa.int64()),
    ("last_timestamp", pa.int64()),
    ("transactional_id", pa.string()),
    ("state", pa.string()),
    ("hanging", pa.bool_()),
])  # fmt: skip
"""Columns of transactions that are open in partitions. ``state`` is what the coordinator says of
``transactional_id``; ``hanging`` is null where no coordinator's partition was there to ask."""


def open_transactions(
    partitions: Iterable[Partition], ids: pa.Table | None, *, complete: bool
) -> pa.Table:
    """Return the transactions that are open in partitions, and whether they hang.

    A transaction hangs when its coordinator knows that it has ended, or never knew it, so that no
    marker will come: consumers with ``read_committed`` wait at its first offset for good. Kafka:
    ``kafka-transactions.sh find-hanging``; KIP-664. A producer of transaction version 2 may have
    raised its epoch by one since (KIP-890).

    Args:
        partitions: those to look into.
        ids: of the coordinators, as ``read_transactions`` returns them; None without any.
        complete: whether these are all ids of the cluster. Otherwise the coordinator of a producer
            that is not among them may know it, and whether it hangs is null.

    Raises:
        KafkaSpecError: a segment cannot be read.
    """
    known: dict[int, dict[str, Any]] = {}
    for row in [] if ids is None else ids.to_pylist():
        for name in ("previous_producer_id", "next_producer_id", "producer_id"):
            if row[name] is not None and row[name] >= 0:
                known[row[name]] = row
    rows = []
    for partition in partitions:
        for each in partition.open_transactions:
            row = known.get(each.producer_id)
            hanging: bool | None
            if row is None:
                hanging = True if complete else None
            else:
                hanging = not _knows(row, partition, each.producer_epoch)
            rows.append(
                {
                    "topic": partition.topic,
                    "partition": partition.partition,
                    "producer_id": each.producer_id,
                    "producer_epoch": each.producer_epoch,
                    "first_offset": each.first_offset,
                    "last_timestamp": each.last_timestamp if each.last_timestamp >= 0 else None,
                    "transactional_id": row and row["transactional_id"],
                    "state": row and row["state"],
                    "hanging": hanging,
                }
            )
    return pa.Table.from_pylist(rows, OPEN)


def _knows(row: Mapping[str, Any], partition: Partition, epoch: int) -> bool:
    """Return whether the coordinator still has to end the transaction in a partition."""
    listed = any(
        item["topic"] == partition.topic and partition.partition in item["partition_ids"]
        for item in row["partitions"]
    )
    return listed and row["state"] in _OPEN and row["producer_epoch"] in (epoch, epoch + 1)
