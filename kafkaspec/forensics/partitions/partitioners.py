"""Partitioners of Kafka's Java clients and of librdkafka, and their hashes of whole columns.

Kafka: ``Utils.murmur2``. librdkafka: ``rd_murmur2``, ``rd_crc32``, ``rd_fnv1a``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint32]
_Places = NDArray[np.int64]
_Bytes = NDArray[np.uint8]

_MURMUR_SEED: Final = 0x9747B28C
_MURMUR_M: Final = 0x5BD1E995
_MURMUR_R: Final = 24
_WORD: Final = 4
_FNV_OFFSET: Final = 0x811C9DC5
_FNV_PRIME: Final = 0x01000193
_CRC_POLYNOMIAL: Final = 0xEDB88320
_ALL: Final = 0xFFFFFFFF


def _crc_table() -> Hashes:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> np.uint32(1)) ^ np.where(table & 1, np.uint32(_CRC_POLYNOMIAL), 0).astype(
            np.uint32
        )
    return table


_CRC: Final = _crc_table()


def hash_keys(name: str, data: _Bytes, starts: _Places, sizes: _Places) -> Hashes:
    """Return the hash of each of some keys.

    Each step takes the next bytes of all keys that are that long, so the work grows with the sum
    of their sizes.

    Args:
        name: of the hash, one of ``HASHES``.
        data: bytes that the keys are in.
        starts: where each key begins in them.
        sizes: number of bytes of each key.
    """
    order = np.argsort(-sizes, kind="stable")
    hashes = np.empty(len(sizes), dtype=np.uint32)
    hashes[order] = HASHES[name](data, starts[order], sizes[order])
    return hashes


def _active(sizes: _Places, step: int) -> int:
    """Return how many keys, the longest first, have at least ``step`` bytes."""
    return int(np.searchsorted(-sizes, -step, side="right"))


def _murmur2(data: _Bytes, starts: _Places, sizes: _Places) -> Hashes:
    m, r = np.uint32(_MURMUR_M), np.uint32(_MURMUR_R)
    found = np.uint32(_MURMUR_SEED) ^ sizes.astype(np.uint32)
    longest = int(sizes[0]) if len(sizes) else 0
    for at in range(0, longest - longest % _WORD, _WORD):
        count = _active(sizes, at + _WORD)
        places = starts[:count] + at
        k = data[places].astype(np.uint32)
        for number in range(1, _WORD):
            k |= data[places + number].astype(np.uint32) << np.uint32(8 * number)
        k *= m
        k ^= k >> r
        k *= m
        found[:count] = (found[:count] * m) ^ k
    rest = sizes % _WORD
    ends = starts + sizes - rest
    for number in (3, 2, 1):
        rows = np.flatnonzero(rest >= number)
        tail = data[ends[rows] + number - 1].astype(np.uint32)
        found[rows] ^= tail << np.uint32(8 * (number - 1))
    rows = np.flatnonzero(rest)
    found[rows] *= m
    found ^= found >> np.uint32(13)
    found *= m
    found ^= found >> np.uint32(15)
    return found


def _crc32(data: _Bytes, starts: _Places, sizes: _Places) -> Hashes:
    found = np.full(len(sizes), _ALL, dtype=np.uint32)
    for at in range(int(sizes[0]) if len(sizes) else 0):
        count = _active(sizes, at + 1)
        head = found[:count]
        found[:count] = _CRC[(head ^ data[starts[:count] + at]) & np.uint32(255)] ^ (
            head >> np.uint32(8)
        )
    return found ^ np.uint32(_ALL)


def _fnv1a(data: _Bytes, starts: _Places, sizes: _Places) -> Hashes:
    found = np.full(len(sizes), _FNV_OFFSET, dtype=np.uint32)
    prime = np.uint32(_FNV_PRIME)
    for at in range(int(sizes[0]) if len(sizes) else 0):
        count = _active(sizes, at + 1)
        found[:count] = (found[:count] ^ data[starts[:count] + at]) * prime
    negative = found >= np.uint32(1 << 31)  # its absolute value, as Sarama has it
    return np.where(negative, ~found + np.uint32(1), found).astype(np.uint32)


HASHES: Final[dict[str, Callable[[_Bytes, _Places, _Places], Hashes]]] = {
    "murmur2": _murmur2,
    "crc32": _crc32,
    "fnv1a": _fnv1a,
}
"""By name; each takes the keys with the longest first."""


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
    """Return the partition for each hash."""
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
