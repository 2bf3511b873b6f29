"""Choose the releases that the tests in this folder run with, and how many of the damaged logs."""

from __future__ import annotations

import os

from tools.brokers.versions import Version, by_name

DEFAULT = "0.8.2.2 0.10.2.2 0.11.0.3 1.1.1 2.8.2 3.9.2 4.3.1 4.4.0"
"""The oldest that runs as it is, the last of each line, and the newest."""

VERSIONS: list[Version] = [
    by_name(name) for name in (os.environ.get("KAFKA_VERSIONS") or DEFAULT).split()
]

READERS: list[Version] = [version for version in VERSIONS if version.release >= (0, 11)]
"""Those that have ``FileRecords`` and ``MemoryRecords`` with batches."""

SAMPLE = int(os.environ.get("KAFKA_SAMPLE") or 1)
"""One of so many damaged partitions goes to a loader, which takes minutes for all of them."""
