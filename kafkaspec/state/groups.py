"""Groups: their members, assignments and committed offsets, now or at a time in the past."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Unpack

import pyarrow as pa

from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model.enumeration import MemberState, StreamsMemberState
from kafkaspec.arrow.messages.arrays import decode_array
from kafkaspec.arrow.outcomes import OFFSET
from kafkaspec.log.partition import PartitionLog
from kafkaspec.messages.lookup import CONSUMER, EMBEDDED
from kafkaspec.options import checked
from kafkaspec.state.framed import LeftOut, columns_of
from kafkaspec.state.latest import (
    KEY,
    PENDING,
    TIMESTAMP,
    VALUE,
    Latest,
    StateOptions,
    latest,
)

_OWN: Final = (("log_offset", pa.int64()), ("timestamp", pa.int64()))
_ASSIGNED_TO: Final = "consumer_group_current_member_assignment_value.assigned_partitions"
GROUPS: Final = pa.schema([
    *columns_of("group_metadata_key", "group"),
    ("kind", pa.string()),
    ("state", pa.string()),
    *columns_of(
        "group_metadata_value", "protocol_type", "protocol", epoch="generation", leader="leader"
    ),
    ("members", pa.int32()),
    ("offsets", pa.int32()),
    *_OWN,
])  # fmt: skip
"""Columns of groups. ``kind`` is classic, consumer, share or streams. ``epoch`` is the generation
of a classic group. ``log_offset`` and ``timestamp`` (ms) are those of the record that says it."""
MEMBERS: Final = pa.schema([
    *columns_of("group_metadata_key", "group"),
    *columns_of(
        "group_metadata_value.members",
        "member_id", instance_id="group_instance_id", client_id="client_id",
        client_host="client_host",
    ),
    *columns_of("group_metadata_value", epoch="generation"),
    *columns_of(
        "consumer_group_member_metadata_value",
        subscription="subscribed_topic_names", subscription_regex="subscribed_topic_regex",
    ),
    ("assignment", pa.list_(pa.struct([
        ("topic", pa.string()), *columns_of(_ASSIGNED_TO, "topic_id", "partitions"),
    ]))),
])  # fmt: skip
"""Columns of members. A partition of a streams group's assignment is a task; ``topic`` is its
subtopology then. ``topic_id`` is null in classic groups, ``topic`` may be null in others."""
OFFSETS: Final = pa.schema([
    *columns_of("offset_commit_key", "group", "topic", "partition"),
    *columns_of(
        "offset_commit_value", "offset", "leader_epoch", "metadata", "commit_timestamp",
        "expire_timestamp", "topic_id",
    ),
    ("pending", pa.bool_()),
    _OWN[0],
])  # fmt: skip
"""Columns of committed offsets; timestamps in ms. ``pending``: of a transaction that is open."""


@dataclass
class GroupsState(LeftOut):
    """The groups of a partition of ``__consumer_offsets``.

    Attributes:
        groups: see ``GROUPS``.
        members: see ``MEMBERS``.
        offsets: see ``OFFSETS``.
    """

    groups: pa.Table
    members: pa.Table
    offsets: pa.Table


@checked
def read_groups(
    log: PartitionLog, *, topics: Mapping[bytes, str] | None = None, **options: Unpack[StateOptions]
) -> GroupsState:
    """Return the groups that a partition of ``__consumer_offsets`` keeps.

    Kafka: ``GroupMetadataManager`` (classic, and from 3.5 the one of KIP-848),
    ``OffsetMetadataManager``.

    Args:
        log: the partition, or a segment of it.
        at: the state at this time, see ``kafkaspec.times.Time``. The log must still hold it:
            compaction removes the commits that later ones have replaced.
        release: of the brokers that wrote it, ``4.0``; None if it is not known.
        topics: names of topics by id, for the members of groups that know ids only.
        options: which records, as ``to_batches`` takes them.

    Raises:
        KafkaSpecError: a batch cannot be read.
    """
    found = latest(log, Topic.CONSUMER_OFFSETS, **options)
    offsets = _offsets(found)
    counted = Counter(offsets.column("group").to_pylist())
    members = list(_members(found, topics or {}))
    groups = list(_groups(found, counted, members))
    state = GroupsState(
        pa.Table.from_pylist(sorted(groups, key=lambda row: row["group"]), GROUPS),
        pa.Table.from_pylist(
            sorted(members, key=lambda row: (row["group"], row["member_id"])), MEMBERS
        ),
        offsets,
    )
    of_protocols = (name for each in _PROTOCOLS for name in each.records)
    found.left_to(state, *_COMMITS, _CLASSIC, *of_protocols)
    return state


_COMMITS: Final = ("LegacyOffsetCommit", "OffsetCommit")
_CLASSIC: Final = "GroupMetadata"


def _offsets(found: Latest) -> pa.Table:
    tables = [OFFSETS.empty_table()]
    own = {"log_offset": OFFSET, "pending": PENDING}
    own |= {name: f"{KEY}.{name}" for name in ("group", "topic", "partition")}
    for name in _COMMITS:
        if name in found.tables:
            flat = found.tables[name].flatten()
            columns = []
            for field in OFFSETS:
                place = own.get(field.name, f"{VALUE}.{field.name}")
                there = place in flat.schema.names
                columns.append(flat[place] if there else pa.nulls(flat.num_rows, field.type))
            tables.append(pa.table(columns, schema=OFFSETS))
    order = [(name, "ascending") for name in ("group", "topic", "partition", "log_offset")]
    return pa.concat_tables(tables).sort_by(order)


@dataclass(frozen=True)
class _Protocol:
    """A kind of groups whose members the coordinator assigns: its record types.

    ``stable`` is the state of a member that has what it should have.
    """

    kind: str
    group: str
    assigned: str
    member: str
    current: str
    stable: int

    @property
    def records(self) -> tuple[str, ...]:
        """The record types."""
        return self.group, self.assigned, self.member, self.current

    @classmethod
    def named(cls, kind: str) -> _Protocol:
        """Return them by the names that they have in common."""
        name = f"{kind.capitalize()}Group"
        return cls(
            kind, f"{name}Metadata", f"{name}TargetAssignmentMetadata", f"{name}MemberMetadata",
            f"{name}CurrentMemberAssignment",
            StreamsMemberState.STABLE if kind == "streams" else MemberState.STABLE,
        )  # fmt: skip


_PROTOCOLS: Final = tuple(map(_Protocol.named, ("consumer", "share", "streams")))
_ASSIGNED: Final = ("assigned_partitions", "active_tasks")
"""Fields that hold what a member has."""


def _rows(found: Latest, name: str) -> Iterator[dict[str, Any]]:
    if name in found.tables:
        yield from found.tables[name].to_pylist()


def _members(found: Latest, topics: Mapping[bytes, str]) -> Iterator[dict[str, Any]]:
    for row in _rows(found, _CLASSIC):
        yield from _classic_members(row)
    for protocol in _PROTOCOLS:
        current = {
            (row[KEY]["group_id"], row[KEY]["member_id"]): row[VALUE]
            for row in _rows(found, protocol.current)
        }
        for row in _rows(found, protocol.member):
            group, member = row[KEY]["group_id"], row[KEY]["member_id"]
            value, has = row[VALUE], current.get((group, member), {})
            parts: list[Any] = next(filter(None, map(has.get, _ASSIGNED)), [])
            yield {
                "group": group,
                "member_id": member,
                "instance_id": value.get("instance_id"),
                "client_id": value["client_id"],
                "client_host": value["client_host"],
                "epoch": has.get("member_epoch"),
                "subscription": value.get("subscribed_topic_names"),
                "subscription_regex": value.get("subscribed_topic_regex"),
                "assignment": [_assigned(item, topics) for item in parts],
            }


def _assigned(item: Mapping[str, Any], topics: Mapping[bytes, str]) -> dict[str, Any]:
    topic_id = item.get("topic_id")
    return {
        "topic": item.get("subtopology_id") if topic_id is None else topics.get(topic_id),
        "topic_id": topic_id,
        "partitions": item["partitions"],
    }


def _classic_members(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    group, value = row[KEY]["group"], row[VALUE]
    for member in value["members"]:
        found = dict.fromkeys(EMBEDDED)
        if value["protocol_type"] == CONSUMER:
            found = {field: _embedded(name, member[field]) for field, name in EMBEDDED.items()}
        subscription, assignment = found["subscription"], found["assignment"]
        yield {
            "group": group,
            "member_id": member["member_id"],
            "instance_id": member["group_instance_id"],
            "client_id": member["client_id"],
            "client_host": member["client_host"],
            "epoch": value["generation"],
            "subscription": subscription and subscription["topics"],
            "subscription_regex": None,
            "assignment": assignment and assignment["assigned_partitions"],
        }


def _embedded(name: str, data: bytes) -> dict[str, Any] | None:
    """Return an embedded message, None where a client wrote something else or nothing."""
    if not data:
        return None
    (value,) = decode_array(name, pa.array([data]), on_error=lambda *_: None).to_pylist()
    return value  # type: ignore[no-any-return]


def _groups(
    found: Latest, offsets: Mapping[str, int], members: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    counted = Counter(member["group"] for member in members)
    seen = set()
    for row in _rows(found, _CLASSIC):
        value, group = row[VALUE], row[KEY]["group"]
        yield _group(row, "classic", group, offsets, counted) | {
            "state": "Stable" if value["members"] else "Empty",
            "protocol_type": value["protocol_type"],
            "protocol": value["protocol"],
            "epoch": value["generation"],
            "leader": value["leader"],
        }
        seen.add(group)
    for protocol in _PROTOCOLS:
        assigned = {row[KEY]["group_id"]: row[VALUE] for row in _rows(found, protocol.assigned)}
        current: dict[str, list[dict[str, Any]]] = {}
        for row in _rows(found, protocol.current):
            current.setdefault(row[KEY]["group_id"], []).append(row[VALUE])
        for row in _rows(found, protocol.group):
            group = row[KEY]["group_id"]
            epoch = row[VALUE]["epoch"]
            target = assigned.get(group, {}).get("assignment_epoch", 0)
            yield _group(row, protocol.kind, group, offsets, counted) | {
                "state": _state(protocol, epoch, target, current.get(group, ()), counted[group]),
                "epoch": epoch,
            }
            seen.add(group)
    # What is known of a group that only commits offsets are the offsets.
    for group in offsets.keys() - seen:
        yield {"group": group, "kind": "classic", "state": "Empty", "members": 0} | {
            "offsets": offsets[group]
        }


def _group(
    row: Mapping[str, Any],
    kind: str,
    group: str,
    offsets: Mapping[str, int],
    members: Mapping[str, int],
) -> dict[str, Any]:
    return {
        "group": group,
        "kind": kind,
        "members": members.get(group, 0),
        "offsets": offsets.get(group, 0),
        "log_offset": row[OFFSET],
        "timestamp": row[TIMESTAMP],
    }


def _state(
    protocol: _Protocol, epoch: int, target: int, current: Sequence[Mapping[str, Any]], members: int
) -> str:
    """Return a group's state as ``ConsumerGroup.maybeUpdateGroupState`` and its like find it."""
    if not members:
        return "Empty"
    if protocol.kind == "share":
        return "Stable"
    if epoch > target:
        return "Assigning"
    reconciled = all(
        each["state"] == protocol.stable and each["member_epoch"] == target for each in current
    )
    return "Stable" if reconciled and len(current) == members else "Reconciling"
