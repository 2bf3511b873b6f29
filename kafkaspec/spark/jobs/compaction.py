"""Compaction of many logs, each by one task, byte for byte as a broker's cleaner does it.

The rules are those of ``kafkaspec.forensics.cleaner``, which ``kafkaspec compaction`` has too.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kafkaspec.broker.profiles import DEFAULT_PROFILE, get_profile
from kafkaspec.errors import KafkaSpecError, none_of, unreadable
from kafkaspec.forensics.cleaner.compaction import compaction
from kafkaspec.forensics.cleaner.settings import ClusterSettings, Settings
from kafkaspec.forensics.cleaner.view import opened
from kafkaspec.log.damage import ALWAYS_RAISED, judge
from kafkaspec.log.missing import missing
from kafkaspec.log.partition import Partition
from kafkaspec.output.atomic import DirectoryAside, require_new
from kafkaspec.output.places import check_output
from kafkaspec.spark.jobs.cleaned import CleanedLog
from kafkaspec.spark.jobs.units import computed, size_of
from kafkaspec.spark.paths import check_place, find_logs
from kafkaspec.writing.carried import CarriedEntry, WrittenLog, carry

__all__ = ["CleanedLog", "compact_logs"]

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class _Work:
    """A partition for a task."""

    directory: Path
    target: str | None
    config: Mapping[str, str]
    now: int
    profile: str


def compact_logs(
    spark: SparkSession,
    paths: str | Sequence[str],
    out: str | None,
    *,
    now: int,
    config: Mapping[str, str] | None = None,
    profile: str = DEFAULT_PROFILE,
) -> list[CleanedLog]:
    """Write what a pass of the cleaner leaves of each log, as one task for each partition.

    All records count as replicated. Logs that cannot be read are left out, and their result says
    why; so does that of one at which the cleaner fails, which is copied as it is.

    Args:
        spark: a session whose workers see the same files.
        paths: partitions or log directories, or globs; with ``out`` local ones.
        out: a new or empty directory that all machines see: a log directory with the partitions
            and the checkpoints that hold. None writes nothing.
        now: the clock of the broker, ms since the Unix epoch.
        config: settings by Kafka's names; others are those of the metadata beside the log, or
            Kafka's defaults.
        profile: version of Kafka, from 2.4.1 on.

    Raises:
        KafkaSpecError: ``unreadable``: there is no log, none can be read, or ``out`` cannot be
            written.
        ValueError: a setting or the profile is unknown.
    """
    Settings(dict(config or {}))
    if not get_profile(profile).has_cleaner_rules:
        raise ValueError("the cleaner of Kafka before 2.4.1 had other rules")
    logs = find_logs(paths)
    with ExitStack() as stack:
        aside = None
        if out is not None:
            check_place(out, paths)
            check_output(out, *(log.directory for log in logs))
            require_new(Path(out))
            _refuse_same_names([log.directory for log in logs])
            aside = DirectoryAside(out)
            stack.callback(aside.discard)
        target = None if aside is None else str(aside.path)
        work = [_Work(log.directory, target, dict(config or {}), now, profile) for log in logs]
        sizes = [sum(map(size_of, log.segments)) for log in logs]
        found = dict(computed(spark, work, sizes, _cleaned))
        results: list[CleanedLog] = [found[number] for number in range(len(work))]
        failed = [item.error for item in results if item.error is not None]
        # A damaged log was read: without an output, its result says all.
        unread = [item for item in failed if aside is not None or item.reason in ALWAYS_RAISED]
        if len(unread) == len(results):
            raise none_of(failed, "compacted")
        if aside is not None:
            results = _carried(aside, results)
            aside.commit()
    return results


def _carried(aside: DirectoryAside, results: Sequence[CleanedLog]) -> list[CleanedLog]:
    """Write the checkpoints that hold, and return the results with what happened to them."""
    logs: list[WrittenLog] = []
    for item in results:
        if item.error is None:
            end = None if item.fails is not None else item.end_offset
            place = Path(item.directory)
            path = aside.path / place.absolute().name
            logs.append(WrittenLog(Partition(place), path, cleaned=end))
    carried = carry(aside, logs)
    by_log: dict[object, tuple[CarriedEntry, ...]] = {}
    for entry in carried.entries:
        by_log[entry.topic, entry.partition] = (
            *by_log.get((entry.topic, entry.partition), ()),
            entry,
        )
    found = [
        replace(item, checkpoints=by_log.get((item.topic, item.partition), ())) for item in results
    ]
    broken = tuple(f"not carried: {error}" for error in carried.errors)
    return [replace(found[0], notes=(*found[0].notes, *broken)), *found[1:]]


def _refuse_same_names(directories: Sequence[Path]) -> None:
    known: dict[str, Path] = {}
    for directory in directories:
        name = directory.absolute().name
        if name in known:
            detail = f"its output has the name of that of {known[name]}"
            raise unreadable(str(directory), detail)
        known[name] = directory


def _cleaned(work: _Work) -> CleanedLog:
    """Clean a partition, and say what it does not deliver."""
    place, topic, number = str(work.directory), None, None
    try:
        with Partition(work.directory) as partition:
            topic, number = partition.topic, partition.partition
            error = None
            try:
                made = _passed(partition, work)
            except KafkaSpecError as failure:
                if failure.reason in ALWAYS_RAISED:
                    raise
                made, error = CleanedLog(place, topic, number), failure
            # What a log lacks is judged with all that is there, as by the command.
            lost = missing(
                partition, log_start="ignore", ends_only=True, judge=judge, check=error is not None
            )
            return replace(made, missing=tuple(lost), error=error)
    except KafkaSpecError as error:
        return CleanedLog(place, topic, number, error=error)


def _passed(partition: Partition, work: _Work) -> CleanedLog:
    """Clean a partition into a separate directory, which gets its name when it is whole."""
    path = work.directory
    made: Path | None = None
    try:
        view, settings, notes = opened(
            partition, work.config, ClusterSettings(path.absolute().parent)
        )
        if view.damaged is not None:
            raise view.damaged
        if work.target is not None:
            made = Path(work.target) / f"{uuid.uuid4().hex}.part"
            made.mkdir()
        found = compaction(view, settings, work.now, work.profile, target=made)
    except KafkaSpecError:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)
        raise
    if made is not None and work.target is not None:
        _published(made, Path(work.target) / path.absolute().name)
    removed = {str(rule): count for rule, count in found.removed.items()}
    return CleanedLog(
        str(path), partition.topic, partition.partition, found.records, removed, found.end_offset,
        found.fails, None if found.dirty.not_yet is None else str(found.dirty.not_yet),
        tuple(notes),
    )  # fmt: skip


def _published(made: Path, target: Path) -> None:
    """Give a directory its name; a task that ran twice made the same."""
    try:
        os.rename(made, target)
    except OSError:
        if not target.is_dir():
            raise
        shutil.rmtree(made)
