"""Logs to look at: one for pictures, with some of everything, and large ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Final

import kafkaspec as ks

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
NAME: Final = f"{0:020d}.log"
_BEGIN: Final = 1_767_225_600_000


def _value(offset: int) -> bytes:
    order = {
        "order": 70_000 + offset,
        "customer": f"c-{offset * 7919 % 503:03d}",
        "status": ("placed", "paid", "packed", "sent")[offset % 4],
        "lines": [{"sku": f"K{offset * 31 % 97:02d}", "qty": 1 + offset % 3, "price": 12.5}],
    }
    return json.dumps(order).encode()


def partition(folder: Path, batches: int = 240) -> Path:
    """Write a partition with all codecs, transactions and indexes; two places of it are damaged."""
    directory = folder / "orders-0"
    offset = 0
    positions = []
    with ks.SegmentWriter(directory, index_interval_bytes=2048, sync=False) as writer:
        size = 0
        for number in range(batches):
            records = [
                ks.Record(
                    offset + index,
                    _BEGIN + (offset + index) * 250,
                    f"c-{(offset + index) * 7919 % 503:03d}".encode(),
                    _value(offset + index),
                    (("trace", f"{offset + index:08x}".encode()),),
                )
                for index in range(4 + number * 37 % 29)
            ]
            in_transaction = number % 60 in range(36, 52)
            data = ks.encode(
                records,
                compression=CODECS[number * len(CODECS) // batches],
                producer_id=4711 if in_transaction else -1,
                producer_epoch=0 if in_transaction else -1,
                base_sequence=offset if in_transaction else -1,
                transactional=in_transaction,
                partition_leader_epoch=3,
            )
            positions.append(size)
            writer.append(data)
            size += len(data)
            offset += len(records)
    path = directory / NAME
    content = bytearray(path.read_bytes())
    content[positions[batches * 5 // 12] + 70] ^= 0x20
    content[positions[batches * 3 // 4] + 16] = 99
    path.write_bytes(content)
    return directory


def large(path: Path, size: int, batches: int) -> None:
    """Write a segment of about a size, with as many batches, each with a few records."""
    value = bytes(range(256)) * (size // batches // 256 // 4)
    with path.open("wb") as file:
        for batch in _batches(value, batches):
            file.write(batch)


def _batches(value: bytes, batches: int) -> Iterator[bytes]:
    offsets = count(step=4)
    for offset, _ in zip(offsets, range(batches), strict=False):
        records = [
            ks.Record(offset + index, _BEGIN + offset, f"k{offset + index}".encode(), value)
            for index in range(4)
        ]
        yield ks.encode(records)
