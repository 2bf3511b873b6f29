"""``cluster``: the log of the controllers, which begins at a snapshot, and what it describes.

Kafka: ``PartitionRegistration.merge``, ``ConfigurationDelta``, ``RecordsSnapshotWriter``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model.config_record import ConfigRecord
from kafkaspec._generated.python.model.control_record import (
    ControlRecordType,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    Voter,
)
from kafkaspec._generated.python.model.enumeration import ConfigResourceType
from kafkaspec._generated.python.model.feature_level_record import FeatureLevelRecord
from kafkaspec._generated.python.model.no_op_record import NoOpRecord
from kafkaspec._generated.python.model.partition_change_record import (
    IsrTag,
    LeaderTag,
    MessageTag,
    MessageTags,
    PartitionChangeRecord,
)
from kafkaspec._generated.python.model.partition_record import PartitionRecord
from kafkaspec._generated.python.model.remove_topic_record import RemoveTopicRecord
from kafkaspec._generated.python.model.topic_record import TopicRecord
from kafkaspec.codecs import get_codec
from kafkaspec.files import names
from kafkaspec.files.checkpoints import kafka_uuid, quorum_state
from kafkaspec.files.checkpoints.quorum_state import QuorumState
from kafkaspec.log.control import encode_control
from kafkaspec.log.encoding import encode
from kafkaspec.model import Record
from kafkaspec.scenarios.scenario_plan import ScenarioPlan

_NODES: Final = (0, 1, 2)
_CONFIGS: Final = ("retention.ms", "cleanup.policy", "segment.bytes", "min.insync.replicas")
_FEATURES: Final = {"metadata.version": 20, "group.version": 1}
_LEAST: Final = 3
"""Segments of the log."""
_KEYS: Final[dict[type, str]] = {
    ConfigRecord: "config_record", FeatureLevelRecord: "feature_level_record",
    NoOpRecord: "no_op_record", PartitionChangeRecord: "partition_change_record",
    PartitionRecord: "partition_record", RemoveTopicRecord: "remove_topic_record",
    TopicRecord: "topic_record",
}  # fmt: skip
_TAGS: Final = "partition_change_record.message_tag"


@dataclass
class _MadeCluster:
    """The cluster that the records so far describe.

    Attributes:
        topics: id by name.
        partitions: by topic and number, as ``PartitionRecord`` has them.
        configs: value by topic and name.
        removed: names of topics that are gone.
    """

    topics: dict[str, UUID] = field(default_factory=dict)
    partitions: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    configs: dict[tuple[str, str], str] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)

    def records(self) -> list[Any]:
        """Return the records of a snapshot."""
        return [
            *(FeatureLevelRecord(name=name.encode(), feature_level=level)
              for name, level in _FEATURES.items()),
            *(TopicRecord(name=name.encode(), topic_id=id_.bytes)
              for name, id_ in self.topics.items()),
            *(self.partition(topic, number) for topic, number in self.partitions),
            *(_config(topic, name, value) for (topic, name), value in self.configs.items()),
        ]  # fmt: skip

    def partition(self, topic: str, number: int) -> PartitionRecord:
        """Return the record of a partition."""
        state: dict[str, Any] = {
            name: list(value) if isinstance(value, list) else value
            for name, value in self.partitions[topic, number].items()
        }
        return PartitionRecord(
            schema_version=0, partition_id=number, topic_id=self.topics[topic].bytes,
            removing_replicas=[], adding_replicas=[], **state,
        )  # fmt: skip

    def facts(self) -> dict[str, Any]:
        """Return it for ``expected.json``."""
        return {
            "features": [
                {"name": name, "feature_level": level} for name, level in sorted(_FEATURES.items())
            ],
            "topics": [
                {"name": name, "topic_id": kafka_uuid.to_text(id_)}
                for name, id_ in sorted(self.topics.items())
            ],
            "partitions": [
                {"topic": topic, "partition_id": number, **self.partitions[topic, number]}
                for topic, number in sorted(self.partitions)
            ],
            "configs": [
                {"resource_name": topic, "name": name, "value": value}
                for (topic, name), value in sorted(self.configs.items())
            ],
            "removed_topics": self.removed,
        }


def _config(topic: str, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(
        resource_type=ConfigResourceType.TOPIC, resource_name=topic.encode(), name=name.encode(),
        value=None if value is None else value.encode(),
    )  # fmt: skip


def _tag(content: IsrTag | LeaderTag) -> MessageTag:
    """Return a tagged field; the layout says its number."""
    switch = next(item for item in LAYOUTS[f"{_TAGS}_content"].fields if item.cases)
    wanted = "isr_tag" if isinstance(content, IsrTag) else "leader_tag"
    (number,) = (tag for tag, key in switch.cases if tag is not None and key.endswith(f".{wanted}"))
    return MessageTag(tag=number, content=content)


class _Controllers:
    """The controllers, and the log that they keep."""

    def __init__(self, plan: ScenarioPlan) -> None:
        self._plan, self._codec = plan, get_codec()
        self.log = plan.partition(Topic.CLUSTER_METADATA)
        self.state = _MadeCluster()
        self.leader, self._number = -1, 0

    def elect(self) -> None:
        """Elect a leader, which begins with a control record."""
        self.leader = self._plan.chance.choice([each for each in _NODES if each != self.leader])
        self.log.epoch += 1 if self.log.end else 0
        voters = [Voter(voter_id=node) for node in _NODES]
        body = LeaderChangeMessage(leader_id=self.leader, voters=voters, granting_voters=voters[:2])
        self.log.control(ControlRecordType.LEADER_CHANGE, body, self._plan.tick())
        self.log.facts.setdefault("elections", []).append(
            {"offset": self.log.end - 1, "epoch": self.log.epoch, "leader": self.leader}
        )

    def append(self, *messages: Any) -> None:
        """Append the records of one change as a batch."""
        first = self.log.end
        self.log.add(
            [
                Record(first + at, self._plan.tick(), None, self._bytes(message))
                for at, message in enumerate(messages)
            ]
        )

    def _bytes(self, message: Any) -> bytes:
        key = _KEYS[type(message)]
        return self._codec.serialize(f"{key}.{key}", message)

    def create(self) -> None:
        """Create a topic."""
        chance, state = self._plan.chance, self.state
        self._number += 1
        topic = f"topic-{self._number}"
        state.topics[topic] = self._plan.uuid()
        for number in range(chance.randint(1, 3)):
            replicas = chance.sample(_NODES, 2)
            state.partitions[topic, number] = {
                "replicas": replicas, "isr": list(replicas), "leader": replicas[0],
                "leader_epoch": 0, "partition_epoch": 0,
            }  # fmt: skip
        numbers = [number for name, number in state.partitions if name == topic]
        self.append(
            TopicRecord(name=topic.encode(), topic_id=state.topics[topic].bytes),
            *(state.partition(topic, number) for number in numbers),
        )

    def change(self) -> None:
        """Shrink or expand the in-sync replicas of a partition; its leader may be another then."""
        chance = self._plan.chance
        topic, number = chance.choice(list(self.state.partitions))
        state = self.state.partitions[topic, number]
        isr = state["replicas"] if len(state["isr"]) == 1 else [chance.choice(state["isr"])]
        tags = [_tag(IsrTag(isr=list(isr)))]
        state["isr"] = list(isr)
        if state["leader"] not in isr or not chance.randrange(3):
            state["leader"] = isr[-1]
            state["leader_epoch"] += 1
            tags.append(_tag(LeaderTag(leader=isr[-1])))
        state["partition_epoch"] += 1
        self.append(
            PartitionChangeRecord(
                schema_version=0, partition_id=number, topic_id=self.state.topics[topic].bytes,
                tagged_fields=MessageTags(fields=tags),
            )
        )  # fmt: skip

    def configure(self) -> None:
        """Set or delete a setting of a topic."""
        chance, configs = self._plan.chance, self.state.configs
        place = chance.choice(list(self.state.topics)), chance.choice(_CONFIGS)
        value = None if place in configs and chance.randrange(2) else str(chance.randrange(1, 99))
        if value is None:
            del configs[place]
        else:
            configs[place] = value
        self.append(_config(*place, value))

    def remove(self) -> None:
        """Delete a topic with all that is about it."""
        topic = self._plan.chance.choice(list(self.state.topics))
        state = self.state
        deleted = [place for place in state.configs if place[0] == topic]
        self.append(
            *(_config(*place, None) for place in deleted),
            RemoveTopicRecord(topic_id=state.topics.pop(topic).bytes),
        )
        for place in deleted:
            del state.configs[place]
        state.partitions = {at: each for at, each in state.partitions.items() if at[0] != topic}
        state.removed.append(topic)

    def snapshot(self) -> str:
        """Write what the records so far say into a snapshot; return its name."""
        log, time = self.log, self._plan.tick()
        options: dict[str, Any] = {"partition_leader_epoch": log.epoch}
        header = SnapshotHeaderRecord(last_contained_log_timestamp=time)
        bodies: list[tuple[ControlRecordType, Any]] = [
            (ControlRecordType.SNAPSHOT_HEADER, header),
            (ControlRecordType.SNAPSHOT_FOOTER, SnapshotFooterRecord()),
        ]
        records = [
            Record(1 + at, time, None, self._bytes(message))
            for at, message in enumerate(self.state.records())
        ]
        ends = [
            encode([Record(at, time, *encode_control(kind, body))], control=True, **options)
            for at, (kind, body) in zip((0, 1 + len(records)), bodies, strict=True)
        ]
        name = names.checkpoint_name(log.end, log.epoch)
        log.others[name] = ends[0] + encode(records, **options) + ends[1]
        return name


def cluster(plan: ScenarioPlan) -> None:
    """Plan the scenario."""
    chance, run = plan.chance, _Controllers(plan)
    log = run.log
    run.elect()
    run.append(*run.state.records())  # features
    run.create()
    begun = 0
    while log.end < plan.most:
        match chance.randrange(12):
            case 0 | 1:
                run.create()
            case 2 if len(run.state.topics) > 2:
                run.remove()
            case 3:
                run.append(NoOpRecord())
            case 4:
                run.elect()
            case 5 | 6 | 7:
                run.configure()
            case _:
                run.change()
        if log.end * _LEAST >= plan.most * (begun + 1) and begun < _LEAST - 1:
            begun += 1
            log.facts["snapshot"] = run.snapshot()
            log.roll()
    # The log before the last snapshot is deleted.
    _, start = sorted(log.entries)[-2:]
    log.start, log.dropped = start, {base for base in log.entries if base < start}
    log.others = {name: data for name, data in log.others.items() if name == log.facts["snapshot"]}
    state = QuorumState(leader_id=run.leader, leader_epoch=log.epoch)
    log.others[names.QUORUM_STATE] = quorum_state.serialize(state)
    log.facts |= {"cluster": run.state.facts(), "leader": run.leader}
