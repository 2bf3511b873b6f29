"""``groups``: commits, members and tombstones in ``__consumer_offsets``, some in transactions."""

from __future__ import annotations

from typing import Any, Final, Unpack

from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model import (
    consumer_protocol_assignment,
    consumer_protocol_subscription,
    group_metadata_value,
    offset_commit_value,
)
from kafkaspec._generated.python.model.group_metadata_key import GroupMetadataKey
from kafkaspec._generated.python.model.offset_commit_key import OffsetCommitKey
from kafkaspec.codecs import get_codec
from kafkaspec.log.encoding import EncodeOptions
from kafkaspec.model import Record
from kafkaspec.scenarios.scenario_plan import ScenarioPlan

_VERSION = 3
"""Of the values: the last one without tagged fields, which all brokers since 2.1 read."""
_PARTITIONS = 3
TOPIC: Final = "events"
"""Whose offsets are committed."""
_PRODUCER = 700
_SUBSCRIPTION, _ASSIGNMENT = "consumer_protocol_subscription", "consumer_protocol_assignment"
_LAST = 12
"""Most records at the end, besides those of the loop."""


class Coordinator:
    """Groups, and the log of their coordinator."""

    def __init__(self, plan: ScenarioPlan) -> None:
        self.plan, self._codec = plan, get_codec()
        self.log = plan.partition(Topic.CONSUMER_OFFSETS)
        self.offsets: dict[tuple[str, str, int], int] = {}
        self.groups: dict[str, dict[str, Any]] = {}
        self.pending: list[dict[str, Any]] = []
        self._generations: dict[str, int] = {}

    def commit(
        self, group: str, partition: int, offset: int | None, **options: Unpack[EncodeOptions]
    ) -> None:
        """Commit an offset; None removes it, as its expiry does."""
        place = (group, TOPIC, partition)
        key = self._key(
            OffsetCommitKey(group=group.encode(), topic=TOPIC.encode(), partition=partition)
        )
        value, time = None, self.plan.tick()
        if offset is not None:
            body = offset_commit_value.RigidBody(
                version=_VERSION, offset=offset, leader_epoch=0,
                metadata=b"" if self.plan.chance.randrange(3) else b"a note",
                commit_timestamp=time,
            )  # fmt: skip
            message = offset_commit_value.OffsetCommitValue(schema_version=_VERSION, body=body)
            value = self._codec.serialize("offset_commit_value.offset_commit_value", message)
        self.log.add([Record(self.log.end, time, key, value)], **options)
        if options.get("transactional"):
            return
        if offset is None:
            self.offsets.pop(place, None)
        else:
            self.offsets[place] = offset

    def join(self, group: str, members: list[str]) -> None:
        """Write a group after a rebalance; without members it is empty."""
        generation = self._generations[group] = self._generations.get(group, 0) + 1
        value = group_metadata_value.GroupMetadataValue(
            schema_version=_VERSION,
            body=group_metadata_value.RigidBody(
                version=_VERSION, protocol_type=b"consumer", generation=generation,
                protocol=b"range" if members else None,
                leader=members[0].encode() if members else None,
                current_state_timestamp=self.plan.tick(),
                members=[self._member(name, at, len(members)) for at, name in enumerate(members)],
            ),
        )  # fmt: skip
        data = self._codec.serialize("group_metadata_value.group_metadata_value", value)
        self._put(group, data)
        self.groups[group] = {
            "state": "Stable" if members else "Empty",
            "members": members,
            "generation": generation,
        }

    def transact(self, producer: int, sequences: dict[int, int], *, commit: int | None) -> None:
        """Commit an offset in a transaction; None leaves that open."""
        group, offset = f"group-of-{producer}", self.plan.chance.randrange(10_000)
        self.commit(
            group, 0, offset, producer_id=producer, producer_epoch=0,
            base_sequence=sequences[producer], transactional=True,
        )  # fmt: skip
        sequences[producer] += 1
        if commit is None:
            self.pending = [{"group": group, "topic": TOPIC, "partition": 0, "offset": offset}]
            return
        self.log.marker(producer, 0, self.plan.tick(), commit=bool(commit))
        if commit:
            self.offsets[group, TOPIC, 0] = offset

    def remove(self, group: str) -> None:
        """Delete a group with its offsets."""
        for name, _, partition in sorted(self.offsets):
            if name == group:
                self.commit(group, partition, None)
        if self.groups.pop(group, None) is not None:
            self._put(group, None)

    def offset_facts(self) -> list[dict[str, Any]]:
        """Return the committed offsets for ``expected.json``."""
        return [
            {"group": group, "topic": topic, "partition": partition, "offset": offset}
            for (group, topic, partition), offset in sorted(self.offsets.items())
        ]

    def _put(self, group: str, value: bytes | None) -> None:
        key = self._key(GroupMetadataKey(group=group.encode()))
        self.log.add([Record(self.log.end, self.plan.tick(), key, value)])

    def _key(self, key: OffsetCommitKey | GroupMetadataKey) -> bytes:
        name = "offset_commit_key" if isinstance(key, OffsetCommitKey) else "group_metadata_key"
        return self._codec.serialize(f"{name}.{name}", key)

    def _member(self, name: str, at: int, of: int) -> group_metadata_value.MemberMetadataRigid:
        return group_metadata_value.MemberMetadataRigid(
            version=_VERSION, member_id=name.encode(), client_id=b"client",
            client_host=b"/127.0.0.1", rebalance_timeout=300_000, session_timeout=45_000,
            subscription=_subscription(), assignment=_assignment(range(at, _PARTITIONS, of)),
        )  # fmt: skip


def _subscription() -> bytes:
    module = consumer_protocol_subscription
    value = module.ConsumerProtocolSubscription(schema_version=0, topics=[TOPIC.encode()])
    return get_codec().serialize(f"{_SUBSCRIPTION}.{_SUBSCRIPTION}", value)


def _assignment(partitions: range) -> bytes:
    module = consumer_protocol_assignment
    given = module.TopicPartition(topic=TOPIC.encode(), partitions=list(partitions))
    value = module.ConsumerProtocolAssignment(schema_version=0, assigned_partitions=[given])
    return get_codec().serialize(f"{_ASSIGNMENT}.{_ASSIGNMENT}", value)


def groups(plan: ScenarioPlan) -> None:
    """Plan the scenario."""
    chance, run = plan.chance, Coordinator(plan)
    names = [f"group-{letter}" for letter in "abcdef"]
    positions: dict[tuple[str, int], int] = {}
    sequences = dict.fromkeys(range(_PRODUCER, _PRODUCER + 3), 0)
    while len(run.log.records) < plan.most - _LAST:
        name = chance.choice(names)
        match chance.randrange(12):
            case 0 | 1:
                run.join(name, [f"{name}-{n}" for n in range(chance.randrange(_PARTITIONS + 1))])
            case 2 if len(run.log.records) < plan.most - _LAST - 5:
                run.remove(name)
            case 3:
                run.transact(
                    chance.choice(list(sequences)), sequences, commit=chance.choice((0, 1))
                )
            case 4 if not chance.randrange(3):
                run.log.roll()
            case _:
                partition = chance.randrange(_PARTITIONS)
                position = positions.get((name, partition), 0) + chance.randrange(50)
                positions[name, partition] = position
                run.commit(name, partition, position)
    run.join(names[0], [f"{names[0]}-0", f"{names[0]}-1"])
    run.commit(names[0], 0, 1000)
    run.remove(names[1])
    run.transact(_PRODUCER, sequences, commit=None)
    run.log.facts |= {
        "groups": run.groups,
        "offsets": run.offset_facts(),
        "pending": run.pending,
    }
