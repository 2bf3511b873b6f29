"""Check the text files of a log directory, by themselves and against its logs."""

from __future__ import annotations

import itertools
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any
from uuid import UUID

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.analysis.consequences import BAD_FILE, DECIDED
from kafkaspec.analysis.findings import Area, Finding, Place, Severity
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.analysis.report import FileKind, FileResult
from kafkaspec.broker.actions import BrokerAction
from kafkaspec.broker.text_files import fault_of, first_negative, stopped_cleanly
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files import names
from kafkaspec.files.checkpoints import (
    clean_shutdown,
    kafka_uuid,
    leader_epoch_checkpoint,
    meta_properties,
    offset_checkpoint,
    partition_metadata,
    quorum_state,
)
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.files.checkpoints.log_directory import Checkpoints
from kafkaspec.files.checkpoints.meta_properties import MetaProperties
from kafkaspec.files.checkpoints.offset_checkpoint import PartitionOffset
from kafkaspec.files.checkpoints.partition_metadata import PartitionMetadata
from kafkaspec.files.checkpoints.quorum_state import QuorumState

MAX_RUNS = 100_000
"""Number of leader epoch changes of a partition that are remembered, the first ones."""


@dataclass(slots=True)
class EpochRun:
    """Consecutive batches with the same leader epoch.

    Attributes:
        epoch: leader epoch.
        base_offset: base offset of the first batch.
        last_offset: last offset of the last batch.
    """

    epoch: int
    base_offset: int
    last_offset: int


@dataclass(slots=True)
class LogState:
    """The content of a partition directory.

    Attributes:
        path: path of the directory.
        topic: topic in its name, "" if it is not that of a partition.
        partition: number in its name, -1 for none.
        state: ``-delete``, ``-future``, ``-stray`` or "".
        start_offset: offset in the name of the first segment, None without segments.
        end_offset: offset after the last batch; None without segments, or if one of them could not
            be read.
        runs: epochs of the batches in order.
        topic_id: topic id in ``partition.metadata``, None for none.
    """

    path: Path
    topic: str = ""
    partition: int = -1
    state: str = ""
    start_offset: int | None = None
    end_offset: int | None = None
    runs: list[EpochRun] = field(default_factory=list)
    topic_id: UUID | None = None

    @property
    def key(self) -> tuple[str, int]:
        """Topic and partition."""
        return self.topic, self.partition


def add_to_runs(runs: list[EpochRun], epoch: int, base_offset: int, last_offset: int) -> None:
    """Note the next batch of a partition."""
    if runs and runs[-1].epoch == epoch:
        runs[-1].last_offset = max(runs[-1].last_offset, last_offset)
    elif len(runs) < MAX_RUNS:
        runs.append(EpochRun(epoch, base_offset, last_offset))


def verify_text(
    path: Path,
    kind: FileKind,
    area: Area,
    read: Callable[[str | PathLike[str]], Any],
    check: Callable[[Any, Place], Iterator[Finding]] | None = None,
    *,
    partition: str = "",
    severity: Severity = Severity.ERROR,
) -> Iterator[Finding | FileResult]:
    """Yield findings about a text file, then its result.

    Args:
        read: function that reads it; errors of entries are in the list that it returns.
        check: function that takes its content and yields findings, None if there is none.
        severity: severity of the finding if it cannot be parsed.
    """
    place = Place(os.fspath(path), area)
    result = FileResult(file=place.file, kind=kind, partition=partition, size=size_of(path))
    try:
        content = read(path)
    except KafkaSpecError as error:
        yield _refused(path, place, error, error, severity)
    except OSError:
        result.size = 0
    else:
        if isinstance(content, list):
            errors = [item for item in content if isinstance(item, KafkaSpecError)]
            for item in errors:
                yield _refused(path, place, item, errors[0], severity)
            content = [item for item in content if not isinstance(item, KafkaSpecError)]
            result.entries = len(content)
        if check is not None:
            yield from check(content, place)
    yield result


def _refused(
    path: Path, place: Place, error: KafkaSpecError, first: KafkaSpecError, severity: Severity
) -> Finding:
    """Return the finding for an error, with what a broker does about the first one in the file."""
    found = place.refused(error, severity)
    decided = place.area in DECIDED and first.reason not in (Reason.UNREADABLE, Reason.CHANGED)
    return replace(found, predicted=BAD_FILE[fault_of(path, first)]) if decided else found


def size_of(path: Path) -> int:
    """Return the size of a file in bytes, 0 if there is none or it cannot be accessed."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except (OSError, KafkaSpecError):
        return 0


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

    def found(reason: R, attribute: str, message: str) -> Finding:
        key = meta_properties.LAYOUT.key_of(attribute, own.version)
        return place.error(reason, message, own.positions.get(key), path=f"/{key}")

    if own.directory_id is not None and meta_properties.is_reserved(own.directory_id):
        text = f"{kafka_uuid.to_text(own.directory_id)} is one of the ids that Kafka reserves"
        yield found(R.DIRECTORY_ID, "directory_id", text)
    for path, other in others.items():
        if None not in (own.cluster_id, other.cluster_id) and own.cluster_id != other.cluster_id:
            text = f"cluster {own.cluster_id!r}, but {path} belongs to {other.cluster_id!r}"
            yield found(R.OTHER_CLUSTER, "cluster_id", text)
        if None not in (own.node_id, other.node_id) and own.node_id != other.node_id:
            text = f"node {own.node_id}, but {path} belongs to {other.node_id}"
            yield found(R.OTHER_NODE, "node_id", text)
        if own.directory_id is not None and own.directory_id == other.directory_id:
            text = f"{path} has the same directory id"
            yield found(R.DIRECTORY_ID, "directory_id", text)


def _leader_epochs(log: LogState, entries: Sequence[EpochEntry], place: Place) -> Iterator[Finding]:
    """Check a leader epoch checkpoint, by itself and against the batches of its log.

    These unusual cases are legal: A leader lists an epoch that has no batch yet, at the end of its
    log. Batches of magic 0 and 1 have no epoch. The first entry begins at the log start offset,
    which can be inside the first segment, and even inside a batch. Brokers before 0.11 and topics
    of magic 0 and 1 have a file without entries, or none.
    """
    start = log_start_offset(log)  # lower offsets have no epoch
    wrong = first_negative(entries)
    if wrong is not None:
        text = f"epoch {wrong.epoch} from offset {wrong.start_offset}: neither may be negative"
        found = place.error(R.INVALID_VALUE, text, wrong.position)
        yield replace(found, predicted=BAD_FILE[BrokerAction.REFUSES_START])
        return
    for before, entry in itertools.pairwise(entries):
        if entry.epoch <= before.epoch or entry.start_offset <= before.start_offset:
            text = f"epoch {before.epoch} from offset {before.start_offset} is followed by epoch "
            text += f"{entry.epoch} from offset {entry.start_offset}"
            yield place.warning(R.LEADER_EPOCH_ORDER, text, entry.position, entry.start_offset)
            return
    for entry in entries:
        if log.end_offset is not None and entry.start_offset > log.end_offset:
            text = f"epoch {entry.epoch} begins at offset {entry.start_offset}, "
            text += f"but the log ends at {log.end_offset}"
            yield place.warning(R.CHECKPOINT_BEYOND_LOG, text, entry.position, entry.start_offset)
    epochs = [entry.epoch for entry in entries]
    reported: set[int] = set()
    for run in log.runs:
        if run.last_offset < start or run.epoch in reported:
            continue
        number = bisect_right(epochs, run.epoch)
        own = entries[number - 1] if number and epochs[number - 1] == run.epoch else None
        after = entries[number] if number < len(entries) else None
        if own is None:
            reported.add(run.epoch)
            yield place.warning(
                R.LEADER_EPOCH_MISSING,
                f"the log has epoch {run.epoch} from offset {run.base_offset}, which is not listed",
                None if after is None else after.position,
                run.base_offset,
            )
            continue
        wrong = _wrong_entry(run, own, after, start)
        if wrong is not None:
            reported.add(run.epoch)
            text = f"epoch {wrong.epoch} is listed from offset {wrong.start_offset}, but the log "
            text += f"has epoch {run.epoch} from {run.base_offset} to {run.last_offset}"
            yield place.warning(R.LEADER_EPOCH_START, text, wrong.position, run.base_offset)


def _wrong_entry(
    run: EpochRun, own: EpochEntry, after: EpochEntry | None, log_start_offset: int
) -> EpochEntry | None:
    """Return the entry that the batches contradict: that of their epoch, or the next one."""
    if max(run.base_offset, log_start_offset) < own.start_offset:
        return own
    if after is not None and run.last_offset >= after.start_offset:
        return after
    return None


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


ROOT_KINDS = (
    FileKind.OFFSET_CHECKPOINT,
    FileKind.META_PROPERTIES,
    FileKind.CLEAN_SHUTDOWN,
    FileKind.LOCK,
)
"""Kinds of text files in the root of a log directory."""

_OFFSETS = {
    Area.HIGH_WATERMARKS: "high watermark",
    Area.RECOVERY_POINTS: "recovery point",
    Area.LOG_START_OFFSETS: "log start offset",
    Area.CLEANER_OFFSETS: "first dirty offset",
}


def verify_root_file(
    path: Path,
    kind: FileKind,
    logs: Sequence[LogState] | None = None,
    others: Mapping[str, MetaProperties] | None = None,
) -> Iterator[Finding | FileResult]:
    """Check one text file of a log directory.

    Args:
        kind: its kind, one of ``ROOT_KINDS``.
        logs: partitions of the log directory, None for a file that is checked on its own.
        others: ``meta.properties`` of other log directories of the same broker, by path.
    """
    if kind is FileKind.OFFSET_CHECKPOINT:
        area = Area(path.name.replace("-", "_"))
        yield from verify_text(
            path, kind, area, offset_checkpoint.scan, partial(_check_offsets, logs)
        )
    elif kind is FileKind.META_PROPERTIES:
        yield from verify_text(
            path, kind, Area.META_PROPERTIES, meta_properties.read, partial(check_ids, others or {})
        )
    elif kind is FileKind.CLEAN_SHUTDOWN:
        # Kafka reads its content too late to refuse it.
        yield from verify_text(
            path, kind, Area.CLEAN_SHUTDOWN, clean_shutdown.read, severity=Severity.WARNING
        )
    else:
        yield FileResult(file=os.fspath(path), kind=kind, size=size_of(path))


def check_stop(paths: Sequence[Path]) -> Iterator[Finding]:
    """Yield a finding if a broker's log directory has no flag of a clean stop.

    Args:
        paths: text files in the root of a log directory.
    """
    by_name = {path.name: path for path in paths}
    if stopped_cleanly(by_name.__contains__) is not False:
        return
    yield Place(os.fspath(by_name[names.RECOVERY_POINTS]), Area.CLEAN_SHUTDOWN).info(
        R.UNCLEAN_STOP,
        f"there is no {names.CLEAN_SHUTDOWN} in its directory: the broker is running, or was not "
        "stopped cleanly",
    )


def check_topic_ids(logs: Sequence[LogState]) -> Iterator[Finding]:
    """Check that partitions of one topic have the same topic id.

    Partitions that are being deleted may belong to an earlier topic of the same name.
    """
    first: dict[str, LogState] = {}
    for log in logs:
        if log.topic_id is None or log.state:
            continue
        before = first.setdefault(log.topic, log)
        if before.topic_id != log.topic_id:
            place = Place(os.fspath(log.path / names.PARTITION_METADATA), Area.PARTITION_METADATA)
            text = f"the topic id differs from that of {before.path.name}"
            yield place.error(R.TOPIC_ID, text)


def _check_offsets(
    logs: Sequence[LogState] | None, entries: Sequence[PartitionOffset], place: Place
) -> Iterator[Finding]:
    def found(entry: PartitionOffset, severity: Severity, reason: R, message: str) -> Finding:
        text = f"{entry.topic}-{entry.partition}: {message}"
        return place.found(severity, reason, text, entry.position, entry.offset)

    seen: set[tuple[str, int]] = set()
    for entry in entries:
        key = entry.topic, entry.partition
        if key in seen:
            yield found(entry, Severity.WARNING, R.CHECKPOINT_DUPLICATE, "it is listed twice")
        seen.add(key)
    if logs is None:
        return
    known = {log.key for log in logs}
    current = {log.key: log for log in logs if not log.state}
    has_starts = place.area is Area.LOG_START_OFFSETS
    for key, entry in offset_checkpoint.by_partition(entries).items():
        if key not in known:
            text = "it has no directory here"
            yield found(entry, Severity.WARNING, R.CHECKPOINT_PARTITION, text)
        if key not in current:
            continue
        start, end = current[key].start_offset, current[key].end_offset
        text = f"the {_OFFSETS[place.area]} {entry.offset} is"
        if end is not None and entry.offset > end:
            text += f" after the end of the log, {end}"
            severity = Severity.ERROR if has_starts else Severity.WARNING
            yield found(entry, severity, R.CHECKPOINT_BEYOND_LOG, text)
        elif has_starts and start is not None and entry.offset < start:
            text += f" before the first segment, {start}"
            yield found(entry, Severity.INFO, R.CHECKPOINT_BELOW_LOG, text)
