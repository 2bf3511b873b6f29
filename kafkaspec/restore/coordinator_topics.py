"""The topics of coordinators: their settings, and how many partitions they had.

A coordinator finds its partition by the hash of a name and the number of partitions that the topic
has, so a topic that comes back with another number loses its groups. Kafka:
``GroupMetadataManager.partitionFor``, ``TransactionStateManager.partitionFor``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kafkaspec._generated.layout.topics import Topic

_SEGMENT: Final = {"segment.bytes": "104857600"}
_KEPT: Final = {"cleanup.policy": "delete", "retention.ms": "-1"}
TOPIC_CONFIGS: Final[Mapping[str, Mapping[str, str]]] = {
    Topic.CONSUMER_OFFSETS: {
        "cleanup.policy": "compact", "compression.type": "producer", **_SEGMENT,
    },
    Topic.TRANSACTION_STATE: {
        "cleanup.policy": "compact", "compression.type": "uncompressed", **_SEGMENT,
        "min.insync.replicas": "1", "unclean.leader.election.enable": "false",
    },
    Topic.SHARE_GROUP_STATE: {
        **_KEPT, "compression.type": "producer", **_SEGMENT, "min.insync.replicas": "1",
    },
    Topic.REMOTE_LOG_METADATA: {**_KEPT, "remote.storage.enable": "false"},
}  # fmt: skip
"""What brokers set when they make these topics, for one replica."""

_MOST: Final = 10_000
_POSITIVE: Final = 0x7FFFFFFF
_WORD: Final = 1 << 32


def java_hash(text: str) -> int:
    """Return ``String.hashCode`` of a text, without its sign: ``Utils.abs``."""
    value = 0
    data = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(data[::2], data[1::2], strict=True):
        value = (31 * value + (high << 8) + low) % _WORD
    return value & _POSITIVE


def partition_count(owners: Iterable[tuple[str, int]], least: int) -> int | None:
    """Return the smallest number of partitions that puts each owner where it was found.

    Args:
        owners: names that are hashed, and the partitions that they were found in.
        least: smallest number of partitions.
    """
    hashed = {(java_hash(name), partition) for name, partition in owners}
    for count in range(least, max(least, _MOST) + 1):
        if all(value % count == partition for value, partition in hashed):
            return count
    return None
