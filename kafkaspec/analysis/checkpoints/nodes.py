"""Check ``meta.properties`` against those of the other log directories of the same broker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kafkaspec.analysis.findings import Area, Finding, FindingReason, Severity
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
    own: MetaProperties, others: Mapping[str, MetaProperties], file: str
) -> Iterator[Finding]:
    """Check the ids. Kafka: ``MetaPropertiesEnsemble.verify``.

    Args:
        own: properties in the file.
        others: properties of the other log directories of the broker, by path.
        file: path of the file.
    """

    def found(reason: FindingReason, key: str, message: str) -> Finding:
        position = own.positions.get(key)
        return Finding(
            file, Severity.ERROR, Area.META_PROPERTIES, reason, message, position, path=f"/{key}"
        )

    directory_key = meta_properties.DIRECTORY_ID
    if own.directory_id is not None and meta_properties.is_reserved(own.directory_id):
        yield found(
            FindingReason.DIRECTORY_ID,
            directory_key,
            f"{kafka_uuid.to_text(own.directory_id)} is one of the ids that Kafka reserves",
        )
    for path, other in others.items():
        if None not in (own.cluster_id, other.cluster_id) and own.cluster_id != other.cluster_id:
            yield found(
                FindingReason.OTHER_CLUSTER,
                meta_properties.CLUSTER_ID,
                f"cluster {own.cluster_id!r}, but {path} belongs to {other.cluster_id!r}",
            )
        if None not in (own.node_id, other.node_id) and own.node_id != other.node_id:
            yield found(
                FindingReason.OTHER_NODE,
                meta_properties.NODE_ID if own.version else meta_properties.BROKER_ID,
                f"node {own.node_id}, but {path} belongs to {other.node_id}",
            )
        if own.directory_id is not None and own.directory_id == other.directory_id:
            yield found(
                FindingReason.DIRECTORY_ID,
                directory_key,
                f"{path} has the same directory id",
            )
