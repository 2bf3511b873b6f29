"""From key to partition: which partitioner wrote a topic, and which keys are in another place."""

from __future__ import annotations

from kafkaspec.forensics.partitions.fitting import (
    Fit,
    GrowthPoint,
    Placement,
    TopicKeys,
    place_keys,
)
from kafkaspec.forensics.partitions.partitioners import (
    HASHES,
    PARTITIONERS,
    Partitioner,
    hash_keys,
    partition_of,
)

__all__ = [
    "HASHES",
    "PARTITIONERS",
    "Fit",
    "GrowthPoint",
    "Partitioner",
    "Placement",
    "TopicKeys",
    "hash_keys",
    "partition_of",
    "place_keys",
]
