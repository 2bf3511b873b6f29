"""Golden remote storage, and the local files that it was copied from."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from kafkaspec.io.local import read_beside
from kafkaspec.log.partition import Partition
from tests.goldens import GOLDEN

AIVEN = Path(__file__).parent / "golden"
KEY = AIVEN / "key.pem"
SETTINGS = ("plain", "zstd", "encrypted", "encrypted-only")
LOCAL = GOLDEN / "3.9.2" / "logs"
"""What Aiven's plugin copied."""
KAFKA = sorted(GOLDEN.glob("*/tiered/remote"))
"""What Kafka's own LocalTieredStorage copied, by release."""


def content(path: Path) -> bytes:
    """Return the bytes of a file as the library reads it."""
    return bytes(read_beside(path).buffer)


def copied(tmp_path: Path, setting: str) -> Path:
    """Return a copy to change."""
    return Path(shutil.copytree(AIVEN / setting, tmp_path / setting))


def objects(place: Path, suffix: str) -> list[Path]:
    """Return the objects with a suffix, in the order of topics and offsets."""
    return sorted(place.rglob(f"*{suffix}"))


def pairs(partition: Partition) -> Iterator[tuple[Path, Path]]:
    """Yield each file of a partition in remote storage, and the local one."""
    for path in partition.files:
        yield path, LOCAL / partition.path.name / path.name
