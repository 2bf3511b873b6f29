"""``consumer-groups``: groups of the consumer protocol (KIP-848), as brokers of 4.0 write them.

Kafka: ``GroupCoordinatorRecordHelpers``, ``ConsumerGroup.maybeUpdateGroupState``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kafkaspec._generated.python.model.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from kafkaspec._generated.python.model.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from kafkaspec._generated.python.model.consumer_group_member_metadata_key import (
    ConsumerGroupMemberMetadataKey,
)
from kafkaspec._generated.python.model.consumer_group_member_metadata_value import (
    ConsumerGroupMemberMetadataValue,
)
from kafkaspec._generated.python.model.consumer_group_metadata_key import ConsumerGroupMetadataKey
from kafkaspec._generated.python.model.consumer_group_metadata_value import (
    ConsumerGroupMetadataValue,
)
from kafkaspec._generated.python.model.consumer_group_target_assignment_member_key import (
    ConsumerGroupTargetAssignmentMemberKey,
)
from kafkaspec._generated.python.model.consumer_group_target_assignment_member_value import (
    ConsumerGroupTargetAssignmentMemberValue,
    TopicPartition,
)
from kafkaspec._generated.python.model.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey,
)
from kafkaspec._generated.python.model.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)
from kafkaspec._generated.python.model.enumeration import MemberState
from kafkaspec.codecs import get_codec
from kafkaspec.model import Record
from kafkaspec.scenarios.groups import TOPIC, Coordinator
from kafkaspec.scenarios.scenario_plan import ScenarioPlan

_PARTITIONS: Final = 6
_LAST: Final = 40
"""Most records at the end, besides those of the loop."""
_NAMES: Final[dict[type, str]] = {
    ConsumerGroupMetadataKey: "metadata",
    ConsumerGroupMemberMetadataKey: "member_metadata",
    ConsumerGroupTargetAssignmentMetadataKey: "target_assignment_metadata",
    ConsumerGroupTargetAssignmentMemberKey: "target_assignment_member",
    ConsumerGroupCurrentMemberAssignmentKey: "current_member_assignment",
}


@dataclass
class _MadeGroup:
    """A group.

    Attributes:
        epoch: of the group.
        members: ids of its members.
        state: see ``ConsumerGroup.ConsumerGroupState``.
    """

    epoch: int = 0
    members: list[str] = field(default_factory=list)
    state: str = "Empty"


class _Groups(Coordinator):
    """Groups of the consumer protocol, and the log of their coordinator."""

    def __init__(self, plan: ScenarioPlan) -> None:
        super().__init__(plan)
        self._topic = plan.uuid().bytes
        self.consumers: dict[str, _MadeGroup] = {}

    def rebalance(self, name: str, members: Sequence[str], *, until: str = "Stable") -> None:
        """Change the members of a group; it gets until a state: assigning, reconciling, stable."""
        group, id_ = self.consumers.setdefault(name, _MadeGroup()), name.encode()
        for gone in [each for each in group.members if each not in members]:
            self._forget(name, gone)
        for member in [each for each in members if each not in group.members]:
            self._write(
                ConsumerGroupMemberMetadataKey(group_id=id_, member_id=member.encode()),
                ConsumerGroupMemberMetadataValue(
                    instance_id=None, rack_id=None, client_id=b"client", client_host=b"/127.0.0.1",
                    subscribed_topic_names=[TOPIC.encode()], subscribed_topic_regex=None,
                    rebalance_timeout_ms=300_000, server_assignor=None,
                ),
            )  # fmt: skip
        group.epoch, group.members = group.epoch + 1, list(members)
        group.state = until if members else "Empty"
        self._write(
            ConsumerGroupMetadataKey(group_id=id_), ConsumerGroupMetadataValue(epoch=group.epoch)
        )
        if until == "Assigning":
            return
        shares = {
            member: list(range(at, _PARTITIONS, len(members))) for at, member in enumerate(members)
        }
        for member, share in shares.items():
            self._write(
                ConsumerGroupTargetAssignmentMemberKey(group_id=id_, member_id=member.encode()),
                ConsumerGroupTargetAssignmentMemberValue(
                    topic_partitions=[TopicPartition(topic_id=self._topic, partitions=share)]
                ),
            )
        self._write(
            ConsumerGroupTargetAssignmentMetadataKey(group_id=id_),
            ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=group.epoch),
        )
        for at, (member, share) in enumerate(shares.items()):
            waits = until == "Reconciling" and not at
            given = TopicPartitions(topic_id=self._topic, partitions=share)
            self._write(
                ConsumerGroupCurrentMemberAssignmentKey(group_id=id_, member_id=member.encode()),
                ConsumerGroupCurrentMemberAssignmentValue(
                    member_epoch=group.epoch - waits, previous_member_epoch=group.epoch - 1,
                    state=MemberState.UNREVOKED_PARTITIONS if waits else MemberState.STABLE,
                    assigned_partitions=[] if waits else [given],
                    partitions_pending_revocation=[given] if waits else [],
                ),
            )  # fmt: skip

    def delete(self, name: str) -> None:
        """Delete a group with its members and offsets."""
        group = self.consumers.pop(name, None)
        for _, _, partition in sorted(place for place in self.offsets if place[0] == name):
            self.commit(name, partition, None)
        if group is not None:
            for member in group.members:
                self._forget(name, member)
            self._write(ConsumerGroupTargetAssignmentMetadataKey(group_id=name.encode()), None)
            self._write(ConsumerGroupMetadataKey(group_id=name.encode()), None)

    def _forget(self, name: str, member: str) -> None:
        for key in (
            ConsumerGroupCurrentMemberAssignmentKey,
            ConsumerGroupTargetAssignmentMemberKey,
            ConsumerGroupMemberMetadataKey,
        ):
            self._write(key(group_id=name.encode(), member_id=member.encode()), None)

    def _write(self, key: Any, value: Any) -> None:
        name, codec = f"consumer_group_{_NAMES[type(key)]}", get_codec()
        data = None if value is None else codec.serialize(f"{name}_value.{name}_value", value)
        record = Record(
            self.log.end, self.plan.tick(), codec.serialize(f"{name}_key.{name}_key", key), data
        )
        self.log.add([record])


def consumer_groups(plan: ScenarioPlan) -> None:
    """Plan the scenario."""
    chance, run = plan.chance, _Groups(plan)
    names = [f"consumers-{letter}" for letter in "abcd"]
    numbers = iter(range(plan.most))
    while len(run.log.records) < plan.most - _LAST - 20:
        name = chance.choice(names)
        match chance.randrange(8):
            case 0 | 1 | 2:
                there = run.consumers.get(name, _MadeGroup()).members
                stay = chance.sample(there, chance.randint(0, len(there)))[:2]
                run.rebalance(name, [*stay, f"member-{next(numbers)}"])
            case 3:
                run.delete(name)
            case 4 if not chance.randrange(3):
                run.log.roll()
            case _ if name in run.consumers:
                run.commit(name, chance.randrange(_PARTITIONS), chance.randrange(10_000))
            case _:
                run.rebalance(name, [f"member-{next(numbers)}"])
    for name, members, until in (
        ("stable", ["s-0", "s-1"], "Stable"),
        ("assigning", ["a-0"], "Stable"),
        ("assigning", ["a-0", "a-1"], "Assigning"),
        ("reconciling", ["r-0", "r-1"], "Reconciling"),
        ("left", ["l-0"], "Stable"),
    ):
        run.rebalance(name, members, until=until)
        run.commit(name, 0, 7)
    run.rebalance("left", [])
    run.log.facts |= {
        "consumer_groups": {
            name: {"state": each.state, "members": sorted(each.members), "epoch": each.epoch}
            for name, each in sorted(run.consumers.items())
        },
        "offsets": run.offset_facts(),
    }
