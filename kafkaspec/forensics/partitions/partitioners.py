"""Partitioners of Kafka's Java clients and of librdkafka: which hash, and what of empty keys."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkaspec.forensics.partitions.hashes import Hashes, hash_keys

_POSITIVE: Final = np.uint32(0x7FFFFFFF)


class Partitioner(NamedTuple):
    """A partitioner.

    Attributes:
        hash: name of its hash.
        null: whether it hashes a null key as an empty one; otherwise such a record goes anywhere.
        empty: the same for an empty key.
        of: whose it is.
    """

    hash: str
    null: bool
    empty: bool
    of: str


PARTITIONERS: Final = {
    "default": Partitioner("murmur2", False, True, "Kafka's Java clients"),
    "murmur2": Partitioner("murmur2", True, True, "librdkafka"),
    "murmur2_random": Partitioner("murmur2", False, True, "librdkafka"),
    "consistent": Partitioner("crc32", True, True, "librdkafka"),
    "consistent_random": Partitioner("crc32", False, False, "librdkafka, its default"),
    "fnv1a": Partitioner("fnv1a", True, True, "librdkafka"),
    "fnv1a_random": Partitioner("fnv1a", False, True, "librdkafka"),
}
"""By the names that configurations have; ``default`` is that of the Java clients. Kafka:
``BuiltInPartitioner.partitionForKey``. librdkafka: ``rd_kafka_msg_partitioner_murmur2`` ..."""


def partitions_of(name: str, hashes: Hashes, count: int) -> NDArray[np.int64]:
    """Return the partition for each hash.

    Args:
        name: of the hash.
        hashes: hashes of keys.
        count: number of partitions.
    """
    positive = hashes & _POSITIVE if name == "murmur2" else hashes
    return (positive % np.uint32(count)).astype(np.int64)


def partition_of(partitioner: str, key: bytes | None, count: int) -> int | None:
    """Return the partition of a key; None where the partitioner takes any.

    Args:
        partitioner: one of ``PARTITIONERS``.
        key: the key, None for a record without one.
        count: number of partitions.
    """
    chosen = PARTITIONERS[partitioner]
    if (key is None and not chosen.null) or (key == b"" and not chosen.empty):
        return None
    data = np.frombuffer(key or b"", dtype=np.uint8)
    places = np.zeros(1, dtype=np.int64), np.array([len(data)], dtype=np.int64)
    hashes = hash_keys(chosen.hash, data, *places)
    return int(partitions_of(chosen.hash, hashes, count)[0])
