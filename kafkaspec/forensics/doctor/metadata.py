"""The partitions of a node, by the metadata of the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.log.partition import Partition

if TYPE_CHECKING:
    from kafkaspec.state.image import Image


class Replica(NamedTuple):
    """A replica that the metadata has on a node."""

    topic: str
    partition: int
    replicas: Sequence[int]
    place: str | None
    """Id of its log directory, None where it is not known."""


class ClusterMetadata:
    """The partitions of a cluster, as a node sees them that starts."""

    def __init__(self, image: Image, node: int) -> None:
        from kafkaspec.state.directory import place_of, stray_reason
        from kafkaspec.state.image import ClusterKind

        self._image, self._node = image, node
        self._place_of, self._stray_reason = place_of, stray_reason
        self._partitions = image.items[ClusterKind.PARTITION]
        topics = image.items[ClusterKind.TOPIC].values()
        self._ids = {topic["name"]: topic["topic_id"] for topic in topics}

    def why_stray(self, topic_id: UUID | None, partition: int) -> str | None:
        """Return why the node takes a directory for a stray one; None if it does not."""
        return self._stray_reason(self._image, self._node, topic_id, partition)

    def topic_id(self, name: str) -> str | None:
        """Return the id of a topic as text."""
        return self._ids.get(name)

    def name_of(self, topic_id: UUID) -> str | None:
        """Return the name of the topic with an id."""
        return self._image.topic_name(kafka_uuid.to_text(topic_id))

    def place_of(self, topic_id: UUID, partition: int) -> str | None:
        """Return the id of the log directory of the node that has a replica; None if not known."""
        found = self._partitions.get((kafka_uuid.to_text(topic_id), partition))
        if found is None or self._node not in found["replicas"]:
            return None
        return self._place_of(found, self._node)

    def replicas(self) -> Iterator[Replica]:
        """Yield the replicas on the node, by topic and partition."""
        found = []
        for (topic_id, number), partition in self._partitions.items():
            name = self._image.topic_name(topic_id)
            if name is not None and self._node in partition["replicas"]:
                place = self._place_of(partition, self._node)
                found.append(Replica(name, number, tuple(partition["replicas"]), place))
        yield from sorted(found, key=lambda item: item[:2])


def read_metadata(path: Path, node: int | None, end: int | None) -> ClusterMetadata | str:
    """Return the metadata of a cluster, or why they are not known.

    Args:
        end: end of the log that the node keeps; None for all of it.
    """
    if node is None:
        return "no meta.properties says which node this is"
    try:
        from kafkaspec.state.cluster import read_cluster
    except ImportError as error:
        return f"reading {path.name} needs PyArrow: {error}"
    try:
        log = Partition(path)
        # A log that ends before the newest snapshot is emptied: the snapshot says what it held.
        found = [names.parse_checkpoint(item.name) for item in log.checkpoint_paths]
        ends = [name.end_offset for name in found if name is not None]
        at = None if end is None else max(end, *ends, 0)
        cluster = read_cluster(log, at=at, on_error=lambda _error: None)
    except KafkaSpecError as error:
        return str(error)
    return ClusterMetadata(cluster.image, node)
