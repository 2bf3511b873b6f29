"""Compare a log directory with what the cluster's metadata says of its node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar
from uuid import UUID

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.files.checkpoints.log_directory import Checkpoints
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.partition import Partition
from kafkaspec.results import Finding
from kafkaspec.state.image import ClusterKind, Fields, Image


class Mismatch(StrEnum):
    """How a log directory differs from the metadata."""

    STRAY = "stray"
    """A partition that the metadata has not, or not on this node; a broker renames it at start."""
    TOPIC_ID = "topic_id"
    """A partition of an earlier topic with the same name, or of none; a stray too."""
    ELSEWHERE = "elsewhere"
    """A partition that the metadata has in another log directory of this node."""
    MISSING = "missing"
    """A replica on this node that is not in the log directory."""
    UNREADABLE = "unreadable"
    """Its ``partition.metadata`` cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryMismatch(Finding):
    """A partition that differs; ``file`` is its directory, None if it is missing.

    Attributes:
        topic: name of the topic.
        partition: its number.
    """

    reason: Mismatch
    topic: str
    partition: int
    ALSO: ClassVar = ("kind", "detail")

    @property
    def kind(self) -> Mismatch:
        """``reason``, by the name that it had before 0.3."""
        return self.reason

    @property
    def detail(self) -> str:
        """``message``, by the name that it had before 0.3."""
        return self.message


def compare_directory(image: Image, directory: LogDirectory) -> Iterator[DirectoryMismatch]:
    """Yield what differs between a log directory and the metadata of its cluster.

    Kafka: ``LogManager.isStrayReplica``, ``LogManager.loadLogs``; KIP-866, KIP-858.

    Args:
        image: the metadata.
        directory: with ``meta.properties``, which says whose it is.

    Raises:
        KafkaSpecError: ``meta.properties`` cannot be read.
        ValueError: there is none, or it names no node.
    """
    meta = Checkpoints(directory.path).meta_properties
    if meta is None or meta.node_id is None:
        raise ValueError(f"{directory.path}: no meta.properties that says which node it is of")
    own = None if meta.directory_id is None else kafka_uuid.to_text(meta.directory_id)
    topics = {topic["name"]: topic["topic_id"] for topic in image.items[ClusterKind.TOPIC].values()}
    there = set()
    for log in directory.current:
        if log.topic is None or log.partition is None or image.is_own(log.topic):
            continue
        found = _partition(image, topics, meta.node_id, own, log)
        if found is not None:
            reason, message = found
            yield DirectoryMismatch(
                reason=reason,
                message=message,
                file=str(log.path),
                topic=log.topic,
                partition=log.partition,
            )
        if log.topic in topics:
            there.add((topics[log.topic], log.partition))
    for key, partition in sorted(image.items[ClusterKind.PARTITION].items(), key=repr):
        name = image.topic_name(key[0])
        if key in there or name is None or meta.node_id not in partition["replicas"]:
            continue
        place = place_of(partition, meta.node_id)
        if (
            place is None
            or meta.directory_id is None
            or place == kafka_uuid.to_text(meta.directory_id)
        ):
            yield DirectoryMismatch(
                reason=Mismatch.MISSING,
                message=f"node {meta.node_id} has a replica",
                topic=name,
                partition=key[1],
            )


def _partition(
    image: Image, topics: dict[str, str], node: int, own: str | None, log: Partition
) -> tuple[Mismatch, str] | None:
    assert log.topic is not None
    wanted = topics.get(log.topic)
    if wanted is None:
        return Mismatch.STRAY, "the cluster has no such topic"
    try:
        stored = log.topic_id
    except KafkaSpecError as error:
        return Mismatch.UNREADABLE, str(error)
    stray = stray_reason(image, node, stored, log.partition)
    if stray is not None:
        other = None if stored is None else kafka_uuid.to_text(stored)
        if other not in (None, wanted) and image.topic_name(other) is None:
            return Mismatch.TOPIC_ID, "of an earlier topic of this name"
        return Mismatch.STRAY, stray
    if stored is None or kafka_uuid.to_text(stored) != wanted:
        return Mismatch.TOPIC_ID, "of another topic: it is loaded, and never served"
    partition = image.items[ClusterKind.PARTITION][wanted, log.partition]
    place = place_of(partition, node)
    if place is not None and own not in (None, place):
        return Mismatch.ELSEWHERE, "the metadata has it in another directory of the node"
    return None


def stray_reason(image: Image, node: int, topic_id: UUID | None, partition: Any) -> str | None:
    """Return why a broker treats a directory as a stray one at its start; None if it does not.

    What decides is the topic id in ``partition.metadata``, None without one, not the name of the
    topic. Kafka: ``LogManager.isStrayReplica``.
    """
    if topic_id is None:
        return "it has no topic id"
    text = kafka_uuid.to_text(topic_id)
    found = image.items[ClusterKind.PARTITION].get((text, partition))
    if found is None:
        if image.topic_name(text) is None:
            return "the cluster has no topic with its id"
        return "the topic has no such partition"
    if node not in found["replicas"]:
        nodes = ", ".join(map(str, found["replicas"]))
        return f"its replicas are on {nodes}, not on node {node}"
    return None


def place_of(partition: Fields, node: Any) -> str | None:
    """Return the id of the log directory that has a replica, None where it is not known.

    Kafka: ``DirectoryId``: ids with only the low bytes set are reserved.
    """
    directories = partition.get("directories")
    if not directories:
        return None
    place: str = directories[partition["replicas"].index(node)]
    known = kafka_uuid.from_text(place)
    return place if known is not None and any(known.bytes[:_RESERVED]) else None


_RESERVED = 8
"""Bytes that are zero in ids that stand for no directory: unassigned, lost, migrating."""
