"""Check the text files in the root of a log directory against its partitions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kafkaspec.analysis.checkpoints.log_state import LogState
from kafkaspec.analysis.checkpoints.nodes import check_ids
from kafkaspec.analysis.checkpoints.parsing import Parsed
from kafkaspec.analysis.findings import Area, Finding, FindingReason, Severity
from kafkaspec.analysis.report import FileKind, FileResult
from kafkaspec.files import names
from kafkaspec.files.checkpoints import clean_shutdown, meta_properties, offset_checkpoint
from kafkaspec.files.checkpoints.meta_properties import MetaProperties
from kafkaspec.files.checkpoints.offset_checkpoint import PartitionOffset

ROOT_KINDS = (
    FileKind.OFFSET_CHECKPOINT,
    FileKind.META_PROPERTIES,
    FileKind.CLEAN_SHUTDOWN,
    FileKind.LOCK,
)
"""Kinds of text files in the root of a log directory."""

_AREAS = {
    names.HIGH_WATERMARKS: Area.HIGH_WATERMARKS,
    names.RECOVERY_POINTS: Area.RECOVERY_POINTS,
    names.LOG_START_OFFSETS: Area.LOG_START_OFFSETS,
    names.CLEANER_OFFSETS: Area.CLEANER_OFFSETS,
}

_WHAT = {
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
        path: path of the file.
        kind: its kind, one of ``ROOT_KINDS``.
        logs: partitions of the log directory, None for a file that is checked on its own.
        others: ``meta.properties`` of other log directories of the same broker, by path.
    """
    if kind is FileKind.OFFSET_CHECKPOINT:
        yield from _offsets(path, logs)
    elif kind is FileKind.META_PROPERTIES:
        properties = Parsed(path, kind, Area.META_PROPERTIES, meta_properties.read)
        yield from properties.problems()
        if properties.content is not None:
            yield from check_ids(properties.content, others or {}, properties.file)
        yield properties.result
    elif kind is FileKind.CLEAN_SHUTDOWN:
        # Kafka reads its content too late to refuse it.
        flag = Parsed(
            path, kind, Area.CLEAN_SHUTDOWN, clean_shutdown.read, severity=Severity.WARNING
        )
        yield from flag.problems()
        yield flag.result
    else:
        size = path.stat().st_size if path.is_file() else 0
        yield FileResult(file=os.fspath(path), kind=kind, size=size)


def check_stop(paths: Sequence[Path]) -> Iterator[Finding]:
    """Yield a finding if a broker's log directory has no flag of a clean stop.

    Args:
        paths: text files in the root of a log directory.
    """
    by_name = {path.name: path for path in paths}
    if names.CLEAN_SHUTDOWN in by_name or names.RECOVERY_POINTS not in by_name:
        return
    yield Finding(
        os.fspath(by_name[names.RECOVERY_POINTS]),
        Severity.INFO,
        Area.CLEAN_SHUTDOWN,
        FindingReason.UNCLEAN_STOP,
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
            yield Finding(
                os.fspath(log.path / names.PARTITION_METADATA),
                Severity.ERROR,
                Area.PARTITION_METADATA,
                FindingReason.TOPIC_ID,
                f"the topic id differs from that of {before.path.name}",
            )


def _offsets(path: Path, logs: Sequence[LogState] | None) -> Iterator[Finding | FileResult]:
    area = _AREAS[path.name]
    checkpoint = Parsed(path, FileKind.OFFSET_CHECKPOINT, area, offset_checkpoint.read)
    yield from checkpoint.problems()
    if checkpoint.content is not None:
        checkpoint.result.entries = len(checkpoint.content)
        yield from _duplicates(checkpoint.content, area, checkpoint.file)
        if logs is not None:
            entries = offset_checkpoint.by_partition(checkpoint.content)
            yield from _against_logs(entries.values(), logs, area, checkpoint.file)
    yield checkpoint.result


def _duplicates(entries: Sequence[PartitionOffset], area: Area, file: str) -> Iterator[Finding]:
    seen: set[tuple[str, int]] = set()
    for entry in entries:
        key = entry.topic, entry.partition
        if key in seen:
            yield _found(
                entry, area, FindingReason.CHECKPOINT_DUPLICATE, "it is listed twice", file
            )
        seen.add(key)


def _against_logs(
    entries: Iterable[PartitionOffset], logs: Sequence[LogState], area: Area, file: str
) -> Iterator[Finding]:
    known = {log.key for log in logs}
    current = {log.key: log for log in logs if not log.state}
    for entry in entries:
        key = entry.topic, entry.partition
        what = f"the {_WHAT[area]} {entry.offset}"
        if key not in known:
            yield _found(
                entry, area, FindingReason.CHECKPOINT_PARTITION, "it has no directory here", file
            )
        if key not in current:
            continue
        start, end = current[key].start_offset, current[key].end_offset
        if end is not None and entry.offset > end:
            yield _found(
                entry,
                area,
                FindingReason.CHECKPOINT_BEYOND_LOG,
                f"{what} is after the end of the log, {end}",
                file,
                Severity.ERROR if area is Area.LOG_START_OFFSETS else Severity.WARNING,
            )
        elif area is Area.LOG_START_OFFSETS and start is not None and entry.offset < start:
            yield _found(
                entry,
                area,
                FindingReason.CHECKPOINT_BELOW_LOG,
                f"{what} is before the first segment, {start}",
                file,
                Severity.INFO,
            )


def _found(
    entry: PartitionOffset,
    area: Area,
    reason: FindingReason,
    message: str,
    file: str,
    severity: Severity = Severity.WARNING,
) -> Finding:
    return Finding(
        file,
        severity,
        area,
        reason,
        f"{entry.topic}-{entry.partition}: {message}",
        entry.position,
        entry.offset,
    )
