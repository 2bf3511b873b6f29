"""Bring what share groups had delivered into agreement with the ends of restored partitions.

What a group is done with is not handed out again, so of records that are written at these offsets
later, it would get none. Kafka: ``SharePartition``, ``ShareCoordinatorShard``; KIP-932.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kafkaspec._generated.python.model.enumeration import RecordState
from kafkaspec.log.encoding import encode
from kafkaspec.model import Record
from kafkaspec.restore.restore_plan import RestoreFinding, RestoreReason
from kafkaspec.results import OffsetRange
from kafkaspec.state.message_bytes import message_bytes

_DONE: Final = (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


def to_deliver(
    rows: Iterable[Mapping[str, Any]],
    topics: Mapping[str, str],
    ends: Mapping[tuple[str, int], int],
    file: str,
) -> tuple[list[dict[str, Any]], list[RestoreFinding]]:
    """Return the deliveries to write again, those beyond the ends of their partitions, and say so.

    Args:
        rows: of ``kafkaspec.state.share.DELIVERIES``.
        topics: names of topics by their ids.
        ends: end offsets of partitions.
        file: path of the partition of ``__share_group_state``.
    """
    found, findings = [], []
    for row in rows:
        topic, partition = topics.get(row["topic_id"]), row["partition"]
        end = None if topic is None else ends.get((topic, partition))
        reached = max([row["start_offset"], *(each["last_offset"] + 1 for each in row["batches"])])
        if end is None or reached <= end:
            continue
        batches = [
            {**each, "last_offset": min(each["last_offset"], end - 1)}
            for each in row["batches"]
            if each["first_offset"] < end
        ]
        found.append({**row, "start_offset": min(row["start_offset"], end), "batches": batches})
        findings.append(
            RestoreFinding(
                reason=RestoreReason.CLAMPED, message=f"delivered up to {reached}, set to {end}",
                file=file, offsets=OffsetRange(end, reached), topic=topic, partition=partition,
                group=row["group"],
            )
        )  # fmt: skip
    return found, findings


def deliveries(rows: Sequence[Mapping[str, Any]], offset: int, epoch: int) -> bytes:
    """Return a batch of snapshots that say what share groups have had delivered.

    Args:
        rows: of ``kafkaspec.state.share.DELIVERIES``.
        offset: of the first snapshot.
        epoch: leader epoch of the batch.

    Raises:
        KafkaSpecError: ``unencodable``: a row does not fit.
    """
    keys = message_bytes(
        "ShareSnapshotKey",
        [
            {"group_id": row["group"], **{name: row[name] for name in ("topic_id", "partition")}}
            for row in rows
        ],
    )
    values = message_bytes("ShareSnapshotValue", list(map(_snapshot, rows)))
    records = [
        Record(offset + number, 0, key, value)
        for number, (key, value) in enumerate(zip(keys, values, strict=True))
    ]
    return encode(records, partition_leader_epoch=epoch)


def _snapshot(row: Mapping[str, Any]) -> dict[str, Any]:
    batches = [
        {
            **{name: each[name] for name in ("first_offset", "last_offset", "delivery_count")},
            "delivery_state": int(RecordState[each["state"]]),
        }
        for each in row["batches"]
    ]
    done = sum(
        each["last_offset"] - each["first_offset"] + 1
        for each in batches
        if each["delivery_state"] in _DONE
    )
    return {
        **{name: row[name] for name in ("state_epoch", "leader_epoch", "start_offset")},
        "snapshot_epoch": row["snapshot_epoch"] + 1, "delivery_complete_count": done,
        "create_timestamp": 0, "write_timestamp": 0, "state_batches": batches,
    }  # fmt: skip
