"""Unclean elections, as the metadata of a cluster tells of them."""

from __future__ import annotations

from dataclasses import dataclass

from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.policy import OnError
from kafkaspec.state.cluster import read_cluster
from kafkaspec.state.framed import Change
from kafkaspec.state.image import ClusterKind, Image, key_of


@dataclass(frozen=True, slots=True)
class UncleanElection:
    """A leader that was not in sync: what only the others had is lost.

    Attributes:
        topic: name of the topic.
        partition: its number.
        offset: of the record in ``__cluster_metadata``.
        timestamp: of that record, ms.
        leader: broker that was elected.
        leader_epoch: its epoch.
        former_leader: the leader before, -1 for none.
        former_isr: brokers that were in sync.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    leader: int
    leader_epoch: int
    former_leader: int
    former_isr: tuple[int, ...]


def unclean_elections(
    metadata: Partition | Segment, *, on_error: OnError = "raise"
) -> list[UncleanElection]:
    """Return the elections of leaders that were not in sync, in order.

    A leader is in sync if it is among the in-sync replicas, or the eligible leader replicas, before
    the election. Kafka: ``PartitionChangeBuilder``, ``LeaderRecoveryState``; KIP-704, KIP-966.

    Args:
        metadata: the partition of ``__cluster_metadata``, or a segment of it. What a snapshot
            holds is the state, and tells of no election.
        on_error: what happens with a batch that cannot be read.

    Raises:
        KafkaSpecError: a batch cannot be read.
    """
    found: list[UncleanElection] = []

    def watch(image: Image, change: Change) -> None:
        leader = change.value.get("leader")
        if change.name != "partition_change_record" or leader is None or leader < 0:
            return
        before = image.items[ClusterKind.PARTITION].get(key_of(ClusterKind.PARTITION, change.value))
        if before is None or leader in (before["isr"] or ()):
            return
        if leader in (before.get("eligible_leader_replicas") or ()):
            return
        name = image.topic_name(before["topic_id"])
        found.append(
            UncleanElection(
                name or str(before["topic_id"]),
                before["partition_id"],
                change.offset,
                change.timestamp,
                leader,
                before["leader_epoch"] + 1,
                before["leader"],
                tuple(before["isr"] or ()),
            )
        )

    read_cluster(metadata, on_error=on_error, watch=watch)
    return found
