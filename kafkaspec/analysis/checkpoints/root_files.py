"""Check the text files in the root of a log directory against its partitions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from kafkaspec.analysis.checkpoints.log_state import LogState
from kafkaspec.analysis.checkpoints.nodes import check_ids
from kafkaspec.analysis.checkpoints.parsing import size_of, verify_text
from kafkaspec.analysis.findings import Area, Finding, Place, Severity
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.analysis.report import FileKind, FileResult
from kafkaspec.broker.text_files import stopped_cleanly
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
            path,
            kind,
            Area.META_PROPERTIES,
            meta_properties.read,
            partial(check_ids, others or {}),
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
