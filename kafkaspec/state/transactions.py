"""Transactional ids, and what their coordinators last knew of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Unpack

import pyarrow as pa

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.arrow.outcomes import OFFSET
from kafkaspec.layout.kinds import shown_name
from kafkaspec.log.partition import PartitionLog
from kafkaspec.options import checked
from kafkaspec.state.framed import LeftOut, columns_of
from kafkaspec.state.latest import KEY, TIMESTAMP, VALUE, StateOptions, latest

_RECORD: Final = "TransactionLog"
_STATE: Final = "enumeration.transaction_state"
TRANSACTIONS: Final = pa.schema([
    *columns_of("transaction_log_key", "transactional_id"),
    ("state", pa.string()),
    *columns_of(
        "transaction_log_value",
        "producer_id", "producer_epoch", "previous_producer_id", "next_producer_id",
        "client_transaction_version",
        timeout_ms="transaction_timeout_ms", partitions="transaction_partitions",
        start_timestamp="transaction_start_timestamp_ms",
        update_timestamp="transaction_last_update_timestamp_ms",
    ),
    ("log_offset", pa.int64()),
    ("timestamp", pa.int64()),
])  # fmt: skip
"""Columns of transactional ids; timestamps in ms, null for none. ``log_offset`` and ``timestamp``
are those of the record."""


@dataclass
class TransactionsState(LeftOut):
    """The state in a partition of ``__transaction_state``.

    Attributes:
        ids: see ``TRANSACTIONS``.
    """

    ids: pa.Table


@checked
def read_transactions(log: PartitionLog, **options: Unpack[StateOptions]) -> TransactionsState:
    """Return the transactional ids that a partition of ``__transaction_state`` keeps.

    Kafka: ``TransactionStateManager.loadTransactionMetadata``.

    For the arguments see ``kafkaspec.state.groups.read_groups``.
    """
    found = latest(log, Topic.TRANSACTION_STATE, **options)
    table = found.tables.get(_RECORD)
    rows = [] if table is None else [_row(row) for row in table.to_pylist()]
    rows.sort(key=lambda row: row["transactional_id"])
    state = TransactionsState(pa.Table.from_pylist(rows, TRANSACTIONS))
    found.left_to(state, _RECORD)
    return state


def joined(parts: Iterable[TransactionsState]) -> pa.Table:
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
        "client_transaction_version": value.get("client_transaction_version") or 0,
        "timeout_ms": value["transaction_timeout_ms"],
        "partitions": value["transaction_partitions"] or [],
        "start_timestamp": start if start >= 0 else None,
        "update_timestamp": update if update >= 0 else None,
        "log_offset": row[OFFSET],
        "timestamp": row[TIMESTAMP],
    }
