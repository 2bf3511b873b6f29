"""Open a partition as the cleaner and retention see it, with the settings of its topic."""

from __future__ import annotations

from collections.abc import Mapping

from kafkaspec.errors import unreadable
from kafkaspec.files import names
from kafkaspec.forensics.cleaner.settings import ClusterSettings, Settings
from kafkaspec.forensics.cleaner.view import LogView
from kafkaspec.log.partition import Partition


def opened(
    partition: Partition,
    config: Mapping[str, str],
    cluster: ClusterSettings,
    high_watermark: int | None = None,
) -> tuple[LogView, Settings, list[str]]:
    """Return a partition, the settings of its topic, and notes about these.

    Args:
        partition: the partition.
        config: settings that are given, by Kafka's names.
        cluster: what the metadata beside it says of others.
        high_watermark: of the partition, None if all records are on all replicas.

    Raises:
        KafkaSpecError: ``unreadable``: it has no segments, or those of Kafka 0.7.
    """
    if not partition.segment_paths:
        raise unreadable(str(partition.path), "there is no segment in it")
    if any(item.suffix != names.LOG for item in partition.segment_paths):
        detail = "brokers of this version of Kafka have no such cleaner and retention"
        raise unreadable(str(partition.path), detail)
    of_topic = cluster.of(partition.topic or "")
    notes = [cluster.note] if cluster.note else []
    cluster.note = ""
    view = LogView(partition, high_watermark=high_watermark)
    try:
        return view, Settings(config, of_topic), notes
    except ValueError as error:
        notes.append(f"{partition.path}: the metadata beside it: {error}")
        return view, Settings(config), notes
