"""Levels of features that a new cluster of each release begins with.

Kafka: ``MetadataVersion.latestProduction``, ``Feature.bootstrapFeatureLevels``. A level above that
of the broker is fatal to it, one below is not, so the levels of the target are what a restored
cluster gets where no metadata says others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

METADATA_VERSION: Final = "metadata.version"
_GROUPS: Final = {"group.version": 1, "transaction.version": 2}
_SHARED: Final = {
    **_GROUPS, "eligible.leader.replicas.version": 1, "share.version": 1, "streams.version": 1,
}  # fmt: skip
FEATURE_LEVELS: Final[Mapping[str, Mapping[str, int]]] = {
    "3.9": {METADATA_VERSION: 21},
    "4.0": {METADATA_VERSION: 25, **_GROUPS},
    "4.1": {METADATA_VERSION: 29, **_SHARED},
    "4.2": {METADATA_VERSION: 29, **_SHARED},
    "4.3": {METADATA_VERSION: 30, **_SHARED},
    "4.4": {METADATA_VERSION: 33, **_SHARED, "share.version": 2},
}
"""By minor release: from 3.9 on, whose voters are in the metadata (KIP-853)."""
DEFAULT_RELEASE: Final = "4.4"
DIRECTORIES_LEVEL: Final = 17
"""The level of ``metadata.version`` that knows directories of replicas (KIP-858): 3.7-IV2. A
controller with a lower one ends when it finds them in its metadata."""
