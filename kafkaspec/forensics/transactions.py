"""Transactions that are open in partitions: which of them will end, and which of them hang."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, Protocol

import pyarrow as pa

from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec._generated.python.model.enumeration import TransactionState
from kafkaspec.forensics.headers import EPOCH
from kafkaspec.layout import names
from kafkaspec.layout.framing import RECORD_BATCH, field_of
from kafkaspec.layout.kinds import shown_name
from kafkaspec.log.partition import Partition
from kafkaspec.log.transactions import OpenTransaction
from kafkaspec.results import Assumption, Strength

_STATE: Final = "enumeration.transaction_state"
_ENDING: Final = frozenset(
    shown_name(_STATE, state)
    for state in (
        TransactionState.PREPARE_COMMIT,
        TransactionState.PREPARE_ABORT,
        TransactionState.PREPARE_EPOCH_FENCE,
    )
)
ONGOING: Final = shown_name(_STATE, TransactionState.ONGOING)
_OPEN: Final = _ENDING | {ONGOING}
"""States in which partitions still have to get their markers."""
_KINDS: Final = {
    shown_name(_STATE, state): kind
    for kind, states in (
        (
            ControlRecordType.COMMIT,
            (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT),
        ),
        (
            ControlRecordType.ABORT,
            (
                TransactionState.PREPARE_ABORT,
                TransactionState.PREPARE_EPOCH_FENCE,
                TransactionState.COMPLETE_ABORT,
            ),
        ),
    )
    for state in states
}
"""The markers that partitions get, by the state of the coordinator."""
_RAISES_EPOCH: Final = 2
"""The version of transactions from which every end raises the epoch of the producer."""
_EXHAUSTED: Final = field_of(RECORD_BATCH, names.PRODUCER_EPOCH).largest - 1
"""The last epoch of a producer id; the end that raises it gives the client another id. Kafka:
``TransactionMetadata.isProducerEpochExhausted``."""

OPEN: Final = pa.schema([
    ("topic", pa.string()), ("partition", pa.int32()), ("producer_id", pa.int64()),
    ("producer_epoch", EPOCH), ("first_offset", pa.int64()), ("last_timestamp", pa.int64()),
    ("transactional_id", pa.string()), ("state", pa.string()), ("hanging", pa.bool_()),
    ("verdict", pa.string()), ("strength", pa.string()), ("ends_at", pa.int64()),
])  # fmt: skip
"""Columns of transactions that are open in partitions. ``state`` is what the coordinator says of
``transactional_id``; ``hanging`` is null where no coordinator's partition was there to ask.
``verdict`` is one of ``TransactionVerdict``, ``strength`` says how well the files prove it;
``ends_at`` is the time after which the coordinator aborts it, ms."""


class TransactionVerdict(StrEnum):
    """The fate of an open transaction. The list is closed."""

    OPEN = "open"
    """The producer has not ended it, or the coordinator will abort it after its time-out."""
    ENDING = "ending"
    """The coordinator has decided, and its marker is on the way, or was lost with the tail."""
    HANGING = "hanging"
    """The coordinator has ended it, or does not know it: no marker will come."""
    UNKNOWN = "unknown"
    """The coordinator's partition is not here."""


SAME_TIME: Final = Assumption(
    "time of the copies", "the same", "logs that were copied at different times contradict"
)
"""What each verdict depends on that comes from two logs."""


def by_producer(ids: Iterable[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """Return the rows of transactional ids by each producer id that they name."""
    known: dict[int, Mapping[str, Any]] = {}
    for row in ids:
        for name in ("previous_producer_id", "next_producer_id", "producer_id"):
            if row[name] is not None and row[name] >= 0:
                known[row[name]] = row
    return known


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
    known = by_producer([] if ids is None else ids.to_pylist())
    rows = [
        judged(partition, each, known, complete=complete)
        for partition in partitions
        for each in partition.open_transactions
    ]
    return pa.Table.from_pylist(rows, OPEN)


def judged(
    place: Placed, each: OpenTransaction, known: Mapping[int, Mapping[str, Any]], *, complete: bool
) -> dict[str, Any]:
    """Return the row of an open transaction; see ``OPEN``."""
    row = known.get(each.producer_id)
    verdict, strength = verdict_of(row, place, each.producer_epoch, complete=complete)
    hanging = (
        None if verdict is TransactionVerdict.UNKNOWN else verdict is TransactionVerdict.HANGING
    )
    ends_at = None
    if verdict is TransactionVerdict.OPEN and row and row["start_timestamp"] is not None:
        ends_at = row["start_timestamp"] + row["timeout_ms"]
    return {
        "topic": place.topic,
        "partition": place.partition,
        "producer_id": each.producer_id,
        "producer_epoch": each.producer_epoch,
        "first_offset": each.first_offset,
        "last_timestamp": each.last_timestamp if each.last_timestamp >= 0 else None,
        "transactional_id": row and row["transactional_id"],
        "state": row and row["state"],
        "hanging": hanging,
        "verdict": str(verdict),
        "strength": str(strength),
        "ends_at": ends_at if ends_at is None or ends_at < 1 << 63 else None,
    }


class Placed(Protocol):
    """Something that has a topic and a partition."""

    @property
    def topic(self) -> str | None: ...
    @property
    def partition(self) -> int | None: ...


def verdict_of(
    row: Mapping[str, Any] | None, place: Placed, epoch: int, *, complete: bool
) -> tuple[TransactionVerdict, Strength]:
    """Return the fate of an open transaction, and how well it is proven.

    Args:
        row: of ``TRANSACTIONS``, of its producer; None if no coordinator knows it.
        place: where it is open.
        epoch: of its producer.
        complete: see ``open_transactions``.
    """
    if row is None:
        # The id may have expired at the coordinator: transactional.id.expiration.ms.
        if complete:
            return TransactionVerdict.HANGING, Strength.LIKELY
        return TransactionVerdict.UNKNOWN, Strength.UNKNOWN
    is_open = _is_listed(row, place.topic, place.partition) and row["state"] in _OPEN
    if not is_open or row["producer_epoch"] not in (epoch, epoch + 1):
        return TransactionVerdict.HANGING, Strength.STRONG
    if row["state"] in _ENDING:
        return TransactionVerdict.ENDING, Strength.LIKELY
    return TransactionVerdict.OPEN, Strength.STRONG


def decision_of(
    row: Mapping[str, Any], topic: str | None, partition: int | None, producer_id: int, epoch: int
) -> tuple[ControlRecordType, Strength] | str:
    """Return how a coordinator ended the transaction of a producer, or why that is not known.

    The epoch that follows is that of the same transaction if its client speaks version 2, whose
    every end raises it (KIP-890), or if it was aborted; otherwise a producer began again, and what
    it had open was aborted then. Kafka: ``TransactionMetadata.prepareAbortOrCommit``, and
    ``prepareComplete`` for an end that used up the id.

    Args:
        row: of ``TRANSACTIONS``, of the producer.
        topic: where the transaction is.
        partition: its number.
        producer_id: of the producer.
        epoch: of the producer.
    """
    state = row["state"]
    kind = _KINDS.get(state)
    if kind is None:
        return f"the state of its transactional id is {state}"
    raises = row["client_transaction_version"] >= _RAISES_EPOCH
    if producer_id == row["previous_producer_id"] != row["producer_id"]:
        if raises and epoch >= _EXHAUSTED and not row["producer_epoch"]:
            return kind, Strength.LIKELY
        return "the state of its transactional id is of another producer id"
    if row["producer_epoch"] not in (epoch + raises, epoch + 1):
        return "the state of its transactional id is of another epoch"
    if row["producer_epoch"] != epoch + raises and kind is ControlRecordType.COMMIT:
        return ControlRecordType.ABORT, Strength.LIKELY
    # Of the transaction that is listed there may be nothing here, and of an earlier one the marker
    # is lost.
    return kind, Strength.STRONG if _is_listed(row, topic, partition) else Strength.LIKELY


def _is_listed(row: Mapping[str, Any], topic: str | None, partition: int | None) -> bool:
    """Return whether a coordinator has a partition in the transaction of an id."""
    return any(
        item["topic"] == topic and partition in item["partition_ids"] for item in row["partitions"]
    )
