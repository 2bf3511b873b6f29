"""Choose the releases that the tests in this folder run with, and how many of the damaged logs."""

from __future__ import annotations

import os

from tools.brokers import versions
from tools.brokers.versions import Version, by_name

DEFAULT = [each.name for each in versions.VERSIONS if each.full or each is versions.VERSIONS[-1]]
"""The oldest that runs as it is, the last of each line, and the newest."""

VERSIONS: list[Version] = [
    by_name(name) for name in (os.environ.get("KAFKA_VERSIONS", "").split() or DEFAULT)
]

READERS: list[Version] = [version for version in VERSIONS if version.release >= (0, 11)]
"""Those that have ``FileRecords`` and ``MemoryRecords`` with batches."""

SAMPLE = int(os.environ.get("KAFKA_SAMPLE") or 1)
"""One of so many damaged partitions goes to a loader, which takes minutes for all of them."""
