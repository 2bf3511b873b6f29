"""The settings of topics in the metadata of a cluster."""

from __future__ import annotations

from kafkaspec._generated.python.model.enumeration import ConfigResourceType
from kafkaspec.log.partition import Partition
from kafkaspec.state.cluster import read_cluster
from kafkaspec.state.image import Kind


def topic_configs(log: Partition) -> dict[str, dict[str, str]]:
    """Return what is set for topics, by topic and name; "" are the defaults of all topics.

    Args:
        log: the directory of ``__cluster_metadata-0``.

    Raises:
        KafkaSpecError: it cannot be read.
    """
    found: dict[str, dict[str, str]] = {}
    for fields in read_cluster(log).image.items[Kind.CONFIG].values():
        if fields["resource_type"] == ConfigResourceType.TOPIC:
            found.setdefault(fields["resource_name"], {})[fields["name"]] = fields["value"]
    return found
