"""Partitions to read, made by the writer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import kafkaspec as ks

START = 1_700_000_000_000
"""Timestamp of offset 0, in ms; each offset is a second later."""


def record(offset: int, size: int = 20) -> ks.Record:
    value = f"value of {offset} ".encode()
    return ks.Record(
        offset, START + 1000 * offset, f"key {offset % 7}".encode(), value.ljust(size, b".")
    )


def batch(first: int, count: int, size: int = 20, **options: Any) -> bytes:
    return ks.encode([record(first + number, size) for number in range(count)], **options)


def make(
    directory: Path, batches: int, count: int = 5, size: int = 20, base: int = 0, **options: Any
) -> Path:
    """A partition with so many batches of ``count`` records."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    compression = options.pop("compression", "none")
    options = {"index_interval_bytes": 200, "sync": False, "base_offset": base, **options}
    with ks.SegmentWriter(directory, **options) as writer:
        for number in range(batches):
            writer.append(batch(base + number * count, count, size, compression=compression))
    return directory


def segment(directory: Path, number: int = 0) -> Path:
    return sorted(directory.glob("*.log"))[number]


def overwrite(path: Path, position: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        file.write(data)


def offsets(found: Any) -> Sequence[int]:
    return list(found.column("offset").to_pylist())


def sparse(directory: Path, count: int, value: int) -> Path:
    """A segment of records with values of so many zeros, each in a batch, which are holes."""
    zeros = bytes(value)
    data = ks.encode([ks.Record(0, START, None, zeros)])
    head = data[: data.index(zeros)]
    directory.mkdir()
    path = directory / f"{0:020d}.log"
    with path.open("wb") as file:
        for offset in range(count):  # the base offset is outside of the checksum
            file.seek(offset * len(data))
            file.write(offset.to_bytes(8, "big") + head[8:])
        file.truncate(count * len(data))
    return path
