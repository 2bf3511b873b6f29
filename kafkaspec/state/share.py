"""Share groups: what was delivered of each partition, from ``__share_group_state``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Unpack

import pyarrow as pa

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.arrow.outcomes import OFFSET
from kafkaspec.layout.kinds import shown_name
from kafkaspec.log.partition import PartitionLog
from kafkaspec.options import checked
from kafkaspec.state.framed import LeftOut, OtherRecord, columns_of
from kafkaspec.state.latest import KEY, VALUE, Latest, StateOptions, pieces
from kafkaspec.tables.json_values import json_rows

_SNAPSHOT: Final = "ShareSnapshot"
_STATE: Final = "enumeration.record_state"
_EPOCHS: Final = ("snapshot_epoch", "state_epoch", "leader_epoch")
DELIVERIES: Final = pa.schema([
    *columns_of("share_snapshot_key", group="group_id"),
    ("topic_id", pa.string()),
    *columns_of("share_snapshot_key", "partition"),
    *columns_of("share_snapshot_value", *_EPOCHS, "start_offset"),
    ("batches", pa.list_(pa.struct([
        *columns_of("share_snapshot_value.state_batches", "first_offset", "last_offset"),
        ("state", pa.string()),
        *columns_of("share_snapshot_value.state_batches", "delivery_count"),
    ]))),
    ("log_offset", pa.int64()),
])  # fmt: skip
"""Columns of partitions of share groups. Offsets below ``start_offset`` are done; -1 stands for
none yet. ``log_offset`` is that of the last record about it."""
_RECORDS: Final = (_SNAPSHOT, "ShareUpdate")
_UNCHANGED: Final = -1


@dataclass
class Deliveries(LeftOut):
    """The state in a partition of ``__share_group_state``.

    Attributes:
        partitions: see ``DELIVERIES``.
        alone: numbers of updates without the snapshot that they belong to, by group.
    """

    partitions: pa.Table = field(default_factory=DELIVERIES.empty_table)
    alone: dict[str, int] = field(default_factory=dict)


@checked
def read_deliveries(log: PartitionLog, **options: Unpack[StateOptions]) -> Deliveries:
    """Return what share groups have had delivered, by partition.

    An update patches the last snapshot of the same epoch. Kafka: ``ShareCoordinatorShard.replay``,
    ``PersisterStateBatchCombiner``; KIP-932.

    For the arguments see ``kafkaspec.state.groups.read_groups``.
    """
    found = Latest(None if log.path is None else str(log.path))
    result = Deliveries(errors=found.errors, unknown=found.unknown)
    known: dict[tuple[Any, ...], dict[str, Any]] = {}
    others: dict[str, OtherRecord | None] = {}
    for tables, _ in pieces(log, Topic.SHARE_GROUP_STATE, found, **options):
        rows = [(row, name) for name, table in tables.items() for row in json_rows(table)]
        for row, name in sorted(rows, key=lambda each: each[0][OFFSET]):
            if name not in _RECORDS:
                others[f"{name} {row[KEY]}"] = row[VALUE] and OtherRecord.of(name, row)
                continue
            key = tuple(row[KEY][part] for part in ("group_id", "topic_id", "partition"))
            value = row[VALUE]
            if value is None:
                known.pop(key, None)
            elif name == _SNAPSHOT:
                known[key] = {**value, OFFSET: row[OFFSET]}
            elif key in known and known[key]["snapshot_epoch"] == value["snapshot_epoch"]:
                _patch(known[key], value, row[OFFSET])
            else:
                result.alone[key[0]] = result.alone.get(key[0], 0) + 1
    deliveries = [_row(key, value) for key, value in sorted(known.items())]
    result.records = [each for each in others.values() if each]
    result.partitions = pa.Table.from_pylist(deliveries, DELIVERIES)
    return result


def _patch(known: dict[str, Any], update: Mapping[str, Any], offset: int) -> None:
    known[OFFSET] = offset
    known["leader_epoch"] = update["leader_epoch"]
    if update["start_offset"] != _UNCHANGED:
        known["start_offset"] = update["start_offset"]
    batches = known["state_batches"]
    for batch in update["state_batches"]:
        batches = [part for old in batches for part in _outside(old, batch)] + [batch]
    start = known["start_offset"]
    known["state_batches"] = _joined([each for each in batches if each["last_offset"] >= start])


def _outside(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a batch that another one does not cover."""
    parts = []
    if old["first_offset"] < new["first_offset"]:
        parts.append({**old, "last_offset": min(old["last_offset"], new["first_offset"] - 1)})
    if old["last_offset"] > new["last_offset"]:
        parts.append({**old, "first_offset": max(old["first_offset"], new["last_offset"] + 1)})
    return parts


def _joined(batches: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return batches in order, neighbours with the same state as one."""
    joined: list[dict[str, Any]] = []
    for batch in sorted(batches, key=lambda each: each["first_offset"]):
        last = joined[-1] if joined else None
        if (
            last is not None
            and last["last_offset"] + 1 == batch["first_offset"]
            and all(last[name] == batch[name] for name in ("delivery_state", "delivery_count"))
        ):
            last["last_offset"] = batch["last_offset"]
        else:
            joined.append(dict(batch))
    return joined


def _row(key: Sequence[Any], value: Mapping[str, Any]) -> dict[str, Any]:
    group, topic_id, partition = key
    return {name: value.get(name) for name in (*_EPOCHS, "start_offset")} | {
        "group": group,
        "topic_id": topic_id,
        "partition": partition,
        "log_offset": value[OFFSET],
        "batches": [
            {
                "first_offset": batch["first_offset"],
                "last_offset": batch["last_offset"],
                "state": shown_name(_STATE, batch["delivery_state"]),
                "delivery_count": batch["delivery_count"],
            }
            for batch in value["state_batches"]
        ],
    }
