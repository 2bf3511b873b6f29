"""Check the text files in the directory of a partition."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kafkaspec.analysis.checkpoints.leader_epochs import check_leader_epochs
from kafkaspec.analysis.checkpoints.log_state import LogState
from kafkaspec.analysis.checkpoints.parsing import Parsed
from kafkaspec.analysis.findings import Area, Finding, FindingReason, Severity
from kafkaspec.analysis.report import FileKind, FileResult
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.checkpoints import leader_epoch_checkpoint, partition_metadata, quorum_state
from kafkaspec.files.checkpoints.log_directory import Checkpoints

PARTITION_KINDS = (
    FileKind.LEADER_EPOCH_CHECKPOINT,
    FileKind.PARTITION_METADATA,
    FileKind.QUORUM_STATE,
)
"""Kinds of text files in the directory of a partition."""


def verify_partition_file(
    path: Path, kind: FileKind, log: LogState | None, partition: str
) -> Iterator[Finding | FileResult]:
    """Check one text file of a partition.

    Args:
        path: path of the file.
        kind: its kind, one of ``PARTITION_KINDS``.
        log: state of the log, None for a file that is checked on its own; receives the topic id.
        partition: path of the directory for the result.
    """
    if kind is FileKind.LEADER_EPOCH_CHECKPOINT:
        yield from _leader_epochs(path, log, partition)
    elif kind is FileKind.PARTITION_METADATA:
        metadata = Parsed(path, kind, Area.PARTITION_METADATA, partition_metadata.read, partition)
        yield from metadata.problems()
        if log is not None and metadata.content is not None:
            log.topic_id = metadata.content.topic_id
        yield metadata.result
    else:
        yield from _quorum_state(path, log, partition)


def _leader_epochs(
    path: Path, log: LogState | None, partition: str
) -> Iterator[Finding | FileResult]:
    checkpoint = Parsed(
        path,
        FileKind.LEADER_EPOCH_CHECKPOINT,
        Area.LEADER_EPOCH_CHECKPOINT,
        leader_epoch_checkpoint.read,
        partition,
    )
    yield from checkpoint.problems()
    if checkpoint.content is not None:
        checkpoint.result.entries = len(checkpoint.content)
        against = log or LogState(path.parent)
        yield from check_leader_epochs(
            checkpoint.content, against, log_start_offset(against), checkpoint.file
        )
    yield checkpoint.result


def _quorum_state(
    path: Path, log: LogState | None, partition: str
) -> Iterator[Finding | FileResult]:
    state = Parsed(path, FileKind.QUORUM_STATE, Area.QUORUM_STATE, quorum_state.read, partition)
    yield from state.problems()
    reached = max((run.epoch for run in log.runs), default=-1) if log is not None else -1
    if state.content is not None and state.content.leader_epoch < reached:
        yield Finding(
            state.file,
            Severity.WARNING,
            Area.QUORUM_STATE,
            FindingReason.QUORUM_EPOCH,
            f"leader epoch {state.content.leader_epoch} is below epoch {reached} of the log",
            state.content.position,
        )
    yield state.result


def log_start_offset(log: LogState) -> int:
    """Return the first offset that a broker would deliver, as far as it is known.

    The metadata log of KRaft has no checkpoint for it: it begins at its latest snapshot.
    """
    start = log.start_offset or 0
    if log.topic == names.METADATA_TOPIC:
        found = (
            names.parse_checkpoint(path.name) for path in log.path.glob("*" + names.CHECKPOINT)
        )
        ends = [name.end_offset for name in found if name is not None and not name.state]
        return max(start, *ends) if ends else start
    try:
        listed = Checkpoints(log.path.absolute().parent).log_start_offsets
    except KafkaSpecError:  # this is a finding about that file
        return start
    return max(start, listed.get(log.key, start))
