"""Batches to append to restored partitions: markers of open transactions, and commits in range.

A consumer that reads committed records stops at the first open transaction. One that a coordinator
still has as ongoing or as being ended, the coordinator ends after its start; any other would stay
open for ever. From Kafka 4.3 on a coordinator treats a partition without a leader as a deleted
one, and its transaction ends without a marker there (KAFKA-20734; executed with 4.4.0, while 4.2.1
waits). So what is decided is written here, and the marker of the coordinator follows.

A committed offset beyond the end of its partition makes consumers of 2.1 and later fail, and older
ones skip what is written next. Kafka: ``TransactionStateManager``, ``OffsetsForLeaderEpochClient``;
KIP-320.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.forensics.transactions import (
    TransactionVerdict,
    by_producer,
    decision_of,
    verdict_of,
)
from kafkaspec.log.batch import NONE
from kafkaspec.log.control import ending
from kafkaspec.log.encoding import encode, encode_marker
from kafkaspec.log.partition import Partition
from kafkaspec.model import Record
from kafkaspec.restore.restore_options import OpenTransactions
from kafkaspec.restore.restore_plan import RestoreFinding, RestoreReason
from kafkaspec.results import OffsetRange, Strength
from kafkaspec.state.message_bytes import message_bytes

_LEADERLESS: Final = "4.3 and later leave it open where a partition has no leader (KAFKA-20734)"


def endings(
    log: Partition, ids: Sequence[Mapping[str, Any]], wanted: OpenTransactions, epoch: int, now: int
) -> tuple[list[bytes], list[RestoreFinding]]:
    """Return the markers to append to a partition, and the fate of each open transaction.

    Args:
        log: the partition.
        ids: rows of ``kafkaspec.state.transactions.TRANSACTIONS``.
        wanted: see ``OpenTransactions``.
        epoch: leader epoch of the markers.
        now: time in ms since the epoch; what is ongoing may still be committed before its timeout.

    Raises:
        KafkaSpecError: a segment cannot be read.
    """
    known = by_producer(ids)
    made: list[bytes] = []
    findings = []
    offset = log.log_end_offset
    for each in log.open_transactions:
        row = known.get(each.producer_id)
        verdict, _ = verdict_of(row, log, each.producer_epoch, complete=True)
        kind, strength = ControlRecordType(ending(aborts=True)), Strength.UNKNOWN
        why = "no coordinator knows it"
        if row is not None:
            why = f"its coordinator has it as {row['state']}"
            decision = decision_of(
                row, log.topic, log.partition, each.producer_id, each.producer_epoch
            )
            if not isinstance(decision, str):
                kind, strength = decision
            elif verdict is TransactionVerdict.HANGING:
                why = decision
        producer = f"producer {each.producer_id}:"
        offsets = OffsetRange(each.first_offset, offset)
        is_decided = verdict is not TransactionVerdict.OPEN or _is_over(row, now)
        is_hanging = verdict is TransactionVerdict.HANGING
        if is_decided and wanted != "leave":
            reason = RestoreReason.MARKER if is_hanging else RestoreReason.TRANSACTION
            text = f"{producer} {kind.name} is added at offset {offset}, {why}"
            if not is_hanging:
                text += ", and ends it again"
            made.append(
                encode_marker(
                    kind, offset, max(each.last_timestamp, 0), producer_id=each.producer_id,
                    producer_epoch=each.producer_epoch, partition_leader_epoch=epoch,
                )
            )  # fmt: skip
            offset += 1
        elif is_hanging:
            reason, text = RestoreReason.OPEN, f"{producer} no coordinator ends its transaction"
        else:
            reason = RestoreReason.TRANSACTION
            text = f"{producer} {why}, and ends it; {_LEADERLESS}"
        if reason is not RestoreReason.MARKER:
            strength = Strength.PROOF
        findings.append(
            RestoreFinding(
                reason=reason, message=text, file=str(log.path), offsets=offsets,
                strength=strength, topic=log.topic, partition=log.partition,
            )
        )  # fmt: skip
    return made, findings


def _is_over(row: Mapping[str, Any] | None, now: int) -> bool:
    """Return whether a coordinator aborts an ongoing transaction when it comes to it.

    Kafka: ``TransactionStateManager.timedOutTransactions``.
    """
    if row is None or row["start_timestamp"] is None:
        return False
    return bool(row["start_timestamp"] + row["timeout_ms"] < now)


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
