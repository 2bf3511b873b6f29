"""Check ``meta.properties`` against those of the other log directories of the same broker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kafkaspec.analysis.findings import Finding, Place
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.checkpoints import kafka_uuid, meta_properties
from kafkaspec.files.checkpoints.meta_properties import MetaProperties


def read_ids(directories: Sequence[Path]) -> dict[str, MetaProperties]:
    """Return the properties of other log directories by path, without those that have none."""
    found = {}
    for directory in directories:
        try:
            path = directory / names.META_PROPERTIES
            if path.is_file():
                found[str(directory)] = meta_properties.read(path)
        except (KafkaSpecError, OSError):  # this is a finding about that directory
            continue
    return found


def check_ids(
    others: Mapping[str, MetaProperties], own: MetaProperties, place: Place
) -> Iterator[Finding]:
    """Check the ids. Kafka: ``MetaPropertiesEnsemble.verify``.

    Args:
        others: properties of the other log directories of the broker, by path.
    """

    def found(reason: R, key: str, message: str) -> Finding:
        return place.error(reason, message, own.positions.get(key), path=f"/{key}")

    if own.directory_id is not None and meta_properties.is_reserved(own.directory_id):
        text = f"{kafka_uuid.to_text(own.directory_id)} is one of the ids that Kafka reserves"
        yield found(R.DIRECTORY_ID, meta_properties.DIRECTORY_ID, text)
    for path, other in others.items():
        if None not in (own.cluster_id, other.cluster_id) and own.cluster_id != other.cluster_id:
            text = f"cluster {own.cluster_id!r}, but {path} belongs to {other.cluster_id!r}"
            yield found(R.OTHER_CLUSTER, meta_properties.CLUSTER_ID, text)
        if None not in (own.node_id, other.node_id) and own.node_id != other.node_id:
            text = f"node {own.node_id}, but {path} belongs to {other.node_id}"
            key = meta_properties.NODE_ID if own.version else meta_properties.BROKER_ID
            yield found(R.OTHER_NODE, key, text)
        if own.directory_id is not None and own.directory_id == other.directory_id:
            text = f"{path} has the same directory id"
            yield found(R.DIRECTORY_ID, meta_properties.DIRECTORY_ID, text)
