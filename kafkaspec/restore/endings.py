"""Batches to append to restored partitions: markers of open transactions, and commits in range.

A consumer that reads committed records stops at the first open transaction. One that a coordinator
still has as ongoing or as being ended, the coordinator ends after its start; any other would stay
open for ever. A committed offset beyond the end of its partition makes consumers of 2.1 and later
fail, and older ones skip what is written next. Kafka: ``TransactionStateManager``,
``OffsetsForLeaderEpochClient``; KIP-320.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.log.batch import NONE
from kafkaspec.log.control import ending
from kafkaspec.log.encoding import encode, encode_marker
from kafkaspec.log.partition import Partition
from kafkaspec.log.transactions import OpenTransaction
from kafkaspec.model import Record
from kafkaspec.restore.restore_options import OpenTransactions
from kafkaspec.restore.restore_plan import RestoreFinding, RestoreReason
from kafkaspec.results import OffsetRange, Strength
from kafkaspec.state.message_bytes import message_bytes

_ONGOING: Final = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
_COMMITTED: Final = "CompleteCommit"


def endings(
    log: Partition, ids: Sequence[Mapping[str, Any]], wanted: OpenTransactions, epoch: int
) -> tuple[list[bytes], list[RestoreFinding]]:
    """Return the markers to append to a partition, and the fate of each open transaction.

    Args:
        log: the partition.
        ids: rows of ``kafkaspec.state.transactions.TRANSACTIONS``.
        wanted: see ``OpenTransactions``.
        epoch: leader epoch of the markers.

    Raises:
        KafkaSpecError: a segment cannot be read.
    """
    made: list[bytes] = []
    findings = []
    offset = log.log_end_offset
    for each in log.open_transactions:
        row = _row_of(ids, each)
        state = None if row is None else row["state"]
        listed = row is not None and any(
            item["topic"] == log.topic and log.partition in item["partition_ids"]
            for item in row["partitions"]
        )
        offsets = OffsetRange(each.first_offset, offset)
        strength = Strength.PROOF
        if state in _ONGOING and listed:
            reason = RestoreReason.TRANSACTION
            text = f"producer {each.producer_id}: its coordinator has it as {state}, and ends it"
        elif wanted == "leave":
            reason = RestoreReason.OPEN
            text = f"producer {each.producer_id}: no coordinator ends its transaction"
        else:
            commits = state == _COMMITTED and row is not None
            commits &= row is not None and row["producer_epoch"] == each.producer_epoch
            kind = ControlRecordType(ending(aborts=not commits))
            strength = Strength.STRONG if state else Strength.UNKNOWN
            reason = RestoreReason.MARKER
            why = f"its coordinator has {state}" if state else "no coordinator knows it"
            text = f"producer {each.producer_id}: {kind.name} is added at offset {offset}, {why}"
            made.append(
                encode_marker(
                    kind, offset, max(each.last_timestamp, 0), producer_id=each.producer_id,
                    producer_epoch=each.producer_epoch, partition_leader_epoch=epoch,
                )
            )  # fmt: skip
            offset += 1
        findings.append(
            RestoreFinding(
                reason=reason, message=text, file=str(log.path), offsets=offsets,
                strength=strength, topic=log.topic, partition=log.partition,
            )
        )  # fmt: skip
    return made, findings


def _row_of(
    ids: Iterable[Mapping[str, Any]], transaction: OpenTransaction
) -> Mapping[str, Any] | None:
    """Return what a coordinator has of a producer; its epoch may be one that has followed."""
    for row in ids:
        if transaction.producer_id in (row["producer_id"], row["previous_producer_id"]):
            return row
    return None


def commits(rows: Sequence[Mapping[str, Any]], offset: int, epoch: int) -> bytes:
    """Return a batch that commits offsets of groups.

    Args:
        rows: of ``kafkaspec.state.groups.OFFSETS``.
        offset: of the first commit.
        epoch: leader epoch of the batch.

    Raises:
        KafkaSpecError: ``unencodable``: a commit does not fit.
    """
    keys = message_bytes(
        "OffsetCommitKey",
        [{name: row[name] for name in ("group", "topic", "partition")} for row in rows],
    )
    values = message_bytes(
        "OffsetCommitValue",
        [
            {name: row[name] for name in ("offset", "metadata", "commit_timestamp")}
            | {"leader_epoch": NONE}
            for row in rows
        ],
    )
    records = [
        Record(offset + number, row["commit_timestamp"], key, value)
        for number, (row, key, value) in enumerate(zip(rows, keys, values, strict=True))
    ]
    return encode(records, partition_leader_epoch=epoch)


def to_commit(
    rows: Iterable[Mapping[str, Any]], ends: Mapping[tuple[str, int], int], file: str
) -> tuple[list[dict[str, Any]], list[RestoreFinding]]:
    """Return the commits to write again, as they are to be, and say so.

    They are those beyond the ends of their partitions, and those with a time to expire, which
    brokers up to 2.0 wrote: they are gone when they are loaded after it.

    Args:
        rows: of ``kafkaspec.state.groups.OFFSETS``.
        ends: end offsets of partitions.
        file: path of the partition of ``__consumer_offsets``.
    """
    found, findings = [], []
    for row in rows:
        end = ends.get((row["topic"], row["partition"]))
        is_beyond = end is not None and row["offset"] > end
        if not is_beyond and (row["expire_timestamp"] or NONE) == NONE:
            continue
        reason, text, offsets = RestoreReason.RENEWED, "without its time to expire", None
        offset = row["offset"]
        if is_beyond and end is not None:
            reason, text = RestoreReason.CLAMPED, f"committed {offset}, set to {end}"
            offsets, offset = OffsetRange(end, offset), end
        found.append({**row, "offset": offset})
        findings.append(
            RestoreFinding(
                reason=reason, message=text, file=file, offsets=offsets, topic=row["topic"],
                partition=row["partition"], group=row["group"],
            )
        )  # fmt: skip
    return found, findings
