"""Segments for the tests of columns."""

from __future__ import annotations

import random
from pathlib import Path

import kafkaspec as ks

START = 1_700_000_000_000


def records(count: int, first: int = 0, *, size: int = 100, seed: int = 1) -> list[ks.Record]:
    """Records with all kinds of keys, values and headers."""
    chance = random.Random(seed)
    found = []
    for offset in range(first, first + count):
        key = chance.choice([None, b"", b"k%d" % offset, chance.randbytes(20)])
        value = chance.choice([None, b"", b"v", chance.randbytes(size)])
        headers = tuple(
            (chance.choice(["", "a", "trace-id", "correlation-id-of-it", "gr\u00fc\u00dfe"]), v)
            for v in chance.choices([None, b"", b"x", chance.randbytes(30)], k=offset % 4)
        )
        found.append(ks.Record(offset, START + offset * 10, key, value, headers))
    return found


def segment(directory: Path, parts: list[bytes], base_offset: int = 0) -> Path:
    """A file of entries."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{base_offset:020d}.log"
    path.write_bytes(b"".join(parts))
    return path


def repeated(path: Path, batch: bytes, count: int, step: int) -> None:
    """A file of one batch again and again; the base offset is outside of its checksum."""
    with path.open("wb") as file:
        for number in range(count):
            file.write((number * step).to_bytes(8, "big"))
            file.write(memoryview(batch)[8:])
