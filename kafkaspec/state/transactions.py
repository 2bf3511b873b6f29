"""Transactional ids, what their coordinators last knew of them, and transactions that hang."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model.enumeration import TransactionState
from kafkaspec.layout.kinds import shown_name
from kafkaspec.log.partition import Partition
from kafkaspec.state.framed import LeftOut
from kafkaspec.state.latest import KEY, OFFSET, TIMESTAMP, VALUE, Source, latest

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

TRANSACTIONS: Final = pa.schema([
    ("transactional_id", pa.string()),
    ("state", pa.string()),
    ("producer_id", pa.int64()),
    ("producer_epoch", pa.int16()),
    ("previous_producer_id", pa.int64()),
    ("next_producer_id", pa.int64()),
    ("timeout_ms", pa.int32()),
    ("partitions", pa.list_(pa.struct([
        ("topic", pa.string()), ("partition_ids", pa.list_(pa.int32())),
    ]))),
    ("start_timestamp", pa.int64()),
    ("update_timestamp", pa.int64()),
    ("log_offset", pa.int64()),
    ("timestamp", pa.int64()),
])  # fmt: skip
"""Columns of transactional ids; timestamps in ms, null for none. ``log_offset`` and ``timestamp``
are those of the record."""
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


@dataclass
class Transactions(LeftOut):
    """What a partition of ``__transaction_state`` keeps.

    Attributes:
        ids: see ``TRANSACTIONS``.
    """

    ids: pa.Table


def read_transactions(
    log: Source, *, at: int | None = None, release: str | None = None, **options: Any
) -> Transactions:
    """Return the transactional ids that a partition of ``__transaction_state`` keeps.

    Kafka: ``TransactionStateManager.loadTransactionMetadata``.

    Args:
        log: the partition, or a segment of it.
        at: the state at this time, ms since the epoch, as far as the log still holds it.
        release: of the brokers that wrote it, ``4.0``; None if it is not known.
        options: which records, as ``to_batches`` takes them.

    Raises:
        KafkaSpecError: a batch cannot be read.
    """
    found = latest(log, Topic.TRANSACTION_STATE, at=at, release=release, **options)
    table = found.tables.get("TransactionLog")
    rows = [] if table is None else [_row(row) for row in table.to_pylist()]
    rows.sort(key=lambda row: row["transactional_id"])
    return Transactions(
        pa.Table.from_pylist(rows, TRANSACTIONS), errors=found.errors, unknown=found.unknown
    )


def joined(parts: Iterable[Transactions]) -> pa.Table:
    """Return the ids of several partitions as one table, by id."""
    tables = [TRANSACTIONS.empty_table(), *(part.ids for part in parts)]
    return pa.concat_tables(tables).sort_by("transactional_id")


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    value = row[VALUE]
    start, update = (
        value[name]
        for name in ("transaction_start_timestamp_ms", "transaction_last_update_timestamp_ms")
    )
    return {
        "transactional_id": row[KEY]["transactional_id"],
        "state": shown_name(_STATE, value["transaction_status"]),
        "producer_id": value["producer_id"],
        "producer_epoch": value["producer_epoch"],
        "previous_producer_id": value.get("previous_producer_id"),
        "next_producer_id": value.get("next_producer_id"),
        "timeout_ms": value["transaction_timeout_ms"],
        "partitions": value["transaction_partitions"] or [],
        "start_timestamp": start if start >= 0 else None,
        "update_timestamp": update if update >= 0 else None,
        "log_offset": row[OFFSET],
        "timestamp": row[TIMESTAMP],
    }


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
