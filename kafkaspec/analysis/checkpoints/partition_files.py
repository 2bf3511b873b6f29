"""Check the text files in the directory of a partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.analysis.checkpoints.leader_epochs import check_leader_epochs
from kafkaspec.analysis.checkpoints.log_state import LogState
from kafkaspec.analysis.checkpoints.parsing import verify_text
from kafkaspec.analysis.findings import Area, Finding, Place
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.analysis.report import FileKind, FileResult
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.checkpoints import leader_epoch_checkpoint, partition_metadata, quorum_state
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.files.checkpoints.log_directory import Checkpoints
from kafkaspec.files.checkpoints.partition_metadata import PartitionMetadata
from kafkaspec.files.checkpoints.quorum_state import QuorumState


def verify_partition_file(
    path: Path, kind: FileKind, log: LogState | None, partition: str
) -> Iterator[Finding | FileResult]:
    """Check one text file of a partition.

    Args:
        kind: its kind, one of ``PARTITION_KINDS``.
        log: state of the log, None for a file that is checked on its own; receives the topic id.
    """
    read, check = _CHECKS[kind]
    check = partial(check, LogState(path.parent) if log is None else log)
    yield from verify_text(path, kind, Area(kind), read, check, partition=partition)


def _leader_epochs(log: LogState, entries: Sequence[EpochEntry], place: Place) -> Iterator[Finding]:
    yield from check_leader_epochs(entries, log, log_start_offset(log), place)


def _metadata(log: LogState, metadata: PartitionMetadata, place: Place) -> Iterator[Finding]:
    log.topic_id = metadata.topic_id
    yield from ()


def _quorum_state(log: LogState, state: QuorumState, place: Place) -> Iterator[Finding]:
    reached = max((run.epoch for run in log.runs), default=-1)
    if state.leader_epoch < reached:
        text = f"leader epoch {state.leader_epoch} is below epoch {reached} of the log"
        yield place.warning(R.QUORUM_EPOCH, text, state.position)


_CHECKS: dict[FileKind, tuple[Callable[..., Any], Callable[..., Iterator[Finding]]]] = {
    FileKind.LEADER_EPOCH_CHECKPOINT: (leader_epoch_checkpoint.scan, _leader_epochs),
    FileKind.PARTITION_METADATA: (partition_metadata.read, _metadata),
    FileKind.QUORUM_STATE: (quorum_state.read, _quorum_state),
}

PARTITION_KINDS = tuple(_CHECKS)
"""Kinds of text files in the directory of a partition."""


def log_start_offset(log: LogState) -> int:
    """Return the first offset that a broker would deliver, as far as it is known.

    The metadata log of KRaft has no checkpoint for it: it begins at its latest snapshot.
    """
    start = log.start_offset or 0
    if log.topic == Topic.CLUSTER_METADATA:
        found = (names.parse_checkpoint(path.name) for path in log.path.iterdir())
        ends = [name.end_offset for name in found if name is not None and not name.state]
        return max(start, *ends) if ends else start
    try:
        listed = Checkpoints(log.path.absolute().parent).log_start_offsets
    except KafkaSpecError:  # this is a finding about that file
        return start
    return max(start, listed.get(log.key, start))
