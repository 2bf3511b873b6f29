"""Find the newest metadata of a cluster that survived."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.io.remote import as_path
from kafkaspec.log.partition import Partition
from kafkaspec.restore.replica_inventory import content_of
from kafkaspec.restore.restore_options import NO_METADATA
from kafkaspec.restore.restore_plan import RestoreFinding, RestoreReason
from kafkaspec.results import Strength
from kafkaspec.state.cluster import Cluster, read_cluster
from kafkaspec.state.image import ClusterKind


@dataclass(slots=True)
class SurvivingMetadata:
    """The metadata to begin with.

    Attributes:
        path: of its ``__cluster_metadata-0``; None for none.
        cluster: the metadata; None for none.
        findings: what is wrong with it, or with others.
    """

    path: str | None = None
    cluster: Cluster | None = None
    findings: list[RestoreFinding] = field(default_factory=list)


def surviving_metadata(
    places: Sequence[Path], wanted: str | PathLike[str] | None
) -> SurvivingMetadata:
    """Return the metadata with the largest epoch and end offset, as Kafka compares logs.

    Args:
        places: directories of ``__cluster_metadata-0`` that were found.
        wanted: the one to take, ``NO_METADATA`` for none; None for the newest of those found.

    Raises:
        KafkaSpecError: the one to take cannot be read, or has no metadata.
    """
    found = SurvivingMetadata()
    if wanted is not None:
        places = [] if os.fspath(wanted) == NO_METADATA else [as_path(wanted)]
    best: tuple[int, int, str] | None = None
    for place in places:
        try:
            with closing(Partition(place)) as log:
                cluster = read_cluster(log)
                rank = content_of(log).last_epoch, cluster.end_offset, str(place)
        except KafkaSpecError as error:
            if wanted is not None:
                raise
            found.findings.append(_about(str(place), error.detail))
            continue
        items = cluster.image.items
        if not items[ClusterKind.FEATURE] and not items[ClusterKind.TOPIC]:
            problems = [*cluster.notes, *(error.detail for error in cluster.errors)]
            found.findings += [_about(str(place), problem) for problem in problems]
        elif best is None or rank > best:
            best, found.path, found.cluster = rank, str(place), cluster
    if found.cluster is None:
        if wanted is not None and places:
            raise unreadable(str(wanted), "it has no metadata of a cluster")
        text = "no metadata of the cluster is here: ids and numbers of partitions are those of the"
        text += " directories, and settings, ACLs, quotas and users are not known"
        found.findings.append(
            RestoreFinding(
                reason=RestoreReason.NO_METADATA, message=text, strength=Strength.UNKNOWN
            )
        )
        return found
    problems = [*found.cluster.notes, *(error.detail for error in found.cluster.errors)]
    if found.cluster.unknown:
        many = sum(part.count for part in found.cluster.unknown.values())
        problems.append(f"records of unknown types are left out: {many}")
    found.findings += [_about(found.path, problem) for problem in problems]
    return found


def _about(file: str | None, message: str) -> RestoreFinding:
    return RestoreFinding(reason=RestoreReason.METADATA, message=message, file=file)
