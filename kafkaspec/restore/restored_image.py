"""The metadata of a restored cluster: what was found, or what directories and releases say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafkaspec._generated.python.model.enumeration import (
    ConfigResourceType,
    LeaderRecoveryState,
)
from kafkaspec.restore.feature_levels import (
    DIRECTORIES_LEVEL,
    FEATURE_LEVELS,
    METADATA_VERSION,
)
from kafkaspec.restore.restore_plan import RestoredPartition
from kafkaspec.state.image import ClusterKind, Fields, Image, key_of

KRAFT_VERSION: Final = 1
"""``kraft.version`` with voters in the metadata (KIP-853)."""
_OF_NODES: Final = (
    ClusterKind.VOTER, ClusterKind.CONTROLLER, ClusterKind.BROKER, ClusterKind.TOPIC,
    ClusterKind.PARTITION, ClusterKind.PRODUCER_IDS, ClusterKind.ZK_MIGRATION,
)  # fmt: skip
"""What speaks of nodes that are gone, or is made from what is restored."""


def restored_image(
    found: Image | None,
    release: str,
    voters: Sequence[Fields],
    partitions: Sequence[RestoredPartition],
    placed: Mapping[tuple[str, int], Fields],
    configs: Mapping[str, Mapping[str, str]],
    next_producer_id: int,
) -> Image:
    """Return the metadata.

    Args:
        found: the metadata that survived, None for none.
        release: minor release of the target, one of ``FEATURE_LEVELS``.
        voters: fields of each voter.
        partitions: what is restored.
        placed: replicas, in-sync replicas, leader and directories of each partition.
        configs: settings of topics.
        next_producer_id: the first id that a new producer gets.
    """
    image = Image() if found is None else found.copy()
    levels = FEATURE_LEVELS[release]
    old = {key[0]: item["feature_level"] for key, item in image.items[ClusterKind.FEATURE].items()}
    for kind in (*_OF_NODES, ClusterKind.FEATURE):
        image.items[kind].clear()
    # Features depend on each other: none is added to those that the cluster had.
    for name, level in levels.items():
        if name in (old or levels) or name == METADATA_VERSION:
            wanted = min(level, old.get(name, level))
            _put(image, ClusterKind.FEATURE, {"name": name, "feature_level": wanted})
    image.kraft_version = KRAFT_VERSION
    for voter in voters:
        _put(image, ClusterKind.VOTER, voter)
    image.items[ClusterKind.CONFIG] = {
        key: item
        for key, item in image.items[ClusterKind.CONFIG].items()
        if item["resource_type"] not in (ConfigResourceType.TOPIC, ConfigResourceType.BROKER)
    }
    for topic, settings in configs.items():
        for name, value in settings.items():
            _put(image, ClusterKind.CONFIG, {
                "resource_type": int(ConfigResourceType.TOPIC), "resource_name": topic,
                "name": name, "value": value,
            })  # fmt: skip
    version = image.items[ClusterKind.FEATURE][METADATA_VERSION,]["feature_level"]
    unknown = () if version >= DIRECTORIES_LEVEL else ("directories",)
    for item in partitions:
        place = placed[item.topic, item.partition]
        _put(image, ClusterKind.TOPIC, {"name": item.topic, "topic_id": item.topic_id})
        _put(image, ClusterKind.PARTITION, {
            "partition_id": item.partition, "topic_id": item.topic_id, "removing_replicas": [],
            "adding_replicas": [], "leader_epoch": item.leader_epoch, "partition_epoch": 0,
            "leader_recovery_state": int(LeaderRecoveryState.RECOVERED),
            **{name: value for name, value in place.items() if name not in unknown},
        })  # fmt: skip
    image.items[ClusterKind.PRODUCER_IDS][()] = {"next_producer_id": next_producer_id}
    return image


def _put(image: Image, kind: ClusterKind, fields: dict[str, Any]) -> None:
    image.items[kind][key_of(kind, fields)] = fields
