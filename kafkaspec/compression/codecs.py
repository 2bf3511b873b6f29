"""Which compression a batch uses: the ids and names, and nothing else."""

from __future__ import annotations

from enum import IntEnum


class CompressionType(IntEnum):
    """The lowest three bits of a batch's or message's attributes.

    Ids 5 to 7 can be written in those bits and mean nothing. Kafka: ``CompressionType``.
    """

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4
