"""Rebuild the indexes of segments from their logs, and compare them with those beside the logs.

Kafka: ``LogSegment.recover`` and ``LogLoader.recoverLog`` for the rule of recovery,
``LogSegment.append`` for the rule of a leader.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from threading import Event
from typing import Annotated

from kafkaspec.broker.actions import Recovery
from kafkaspec.broker.index_rules import INDEX_INTERVAL_BYTES, Rule
from kafkaspec.broker.leader_epochs import LeaderEpochs
from kafkaspec.broker.loading import (
    LoadedSegment,
    Loader,
    list_segments,
)
from kafkaspec.broker.producer_state import ProducerState
from kafkaspec.broker.profiles import DEFAULT_PROFILE, Profile, get_profile
from kafkaspec.broker.segment_run import RunSettings, SegmentRun
from kafkaspec.codecs import Codec
from kafkaspec.errors import KafkaSpecError, Reason, make_error, none_of
from kafkaspec.files import names
from kafkaspec.files.snapshots import Snapshots, find_snapshots, read_snapshot
from kafkaspec.io.local import file_size
from kafkaspec.jobs import in_order
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.missing import Missing, passed_over
from kafkaspec.log.opening import open_log
from kafkaspec.log.options import ProfileOptions
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.options import Option, explained
from kafkaspec.output.atomic import DirectoryAside, require_new
from kafkaspec.output.places import check_output
from kafkaspec.writing.comparison import Comparison
from kafkaspec.writing.rebuild_files import RebuiltFiles, rebuilt_checkpoint
from kafkaspec.writing.rebuilt import RebuildReport, RebuiltFile, RebuiltSegment

RebuildSource = str | PathLike[str] | Segment | Partition | LogDirectory
"""A segment, a partition or a log directory, or the path of one."""
Progress = Callable[[int, str], None]
"""Called with the number of bytes read and the name of the file."""


class RebuildOptions(ProfileOptions, total=False):
    """Options of ``rebuild_indexes``: the rules for what is written."""

    rule: Annotated[str, Option(
        "Index as a starting broker that does not trust its indexes, or as a leader that appends.",
        "--rule", more="``recovery``, or ``append``, which adds each entry by itself."
    )]  # fmt: skip


@explained(RebuildOptions)
def rebuild_indexes(
    source: RebuildSource | Sequence[RebuildSource],
    out: str | PathLike[str] | None = None,
    *,
    rule: str = Rule.RECOVERY,
    profile: str | Profile = DEFAULT_PROFILE,
    index_interval_bytes: int = INDEX_INTERVAL_BYTES,
    sync: bool = True,
    progress: Progress | None = None,
    jobs: int = 1,
) -> RebuildReport:
    """Rebuild the indexes and producer snapshots of segments, and leader epoch checkpoints.

    The indexes are the offset, time and transaction indexes. Partitions have the checkpoints. Of a
    log directory, partitions that are being deleted or moved are left out, and one that cannot be
    read does not stop the others: the report names them.

    Args:
        source: a segment, a partition or a log directory, or the path of one; or several of them.
            They are not changed.
        out: a new or empty directory for the files, which get the names that they have beside the
            log; those of a log directory, and of several sources, go into one directory per
            partition. With None, files are only compared.
        ...
        sync: whether to force files to disk.
        progress: called with the number of bytes read and the name of the file.
        jobs: partitions of a log directory to work on at the same time, in threads. The files are
            the same for any number.

    Raises:
        KafkaSpecError: ``unreadable``, a transaction marker cannot be read, or ``out`` cannot be
            used; of a log directory or several sources, no partition can be read. Damage to a log
            is not an error: the report says how a broker would handle it.
        ValueError: the rule or profile is unknown, or two sources have the same name.
    """
    one = isinstance(source, str | PathLike | Segment | Partition | LogDirectory)
    sources: Sequence[RebuildSource] = [source] if one else source  # type: ignore[list-item, assignment]
    stopped = Event()

    def advance(done: int, name: str) -> None:
        if stopped.is_set():
            raise _StoppedError
        if progress is not None:
            progress(done, name)

    settings = RunSettings(
        get_profile(profile) if isinstance(profile, str) else profile,
        index_interval_bytes,
        advance,
        Rule(rule),
    )
    aside = None
    if out is not None:
        check_output(out, *sources)
        require_new(Path(out))
        aside = DirectoryAside(out, sync=sync)

    def put(name: str, data: bytes) -> None:
        if aside is not None:
            aside.write(name, data)

    try:
        work = _Rebuild(settings, put, aside, jobs, stopped)
        segments: list[RebuiltSegment] = []
        notes: list[Missing] = []
        for each in sources:
            opened = None
            stopped.clear()  # where the partitions of the source before it ended
            try:
                opened = open_log(each) if isinstance(each, str | PathLike) else each
                segments += work.segments_of(opened, apart=len(sources) > 1)
                notes += () if isinstance(opened, Segment) else passed_over(opened)
            except KafkaSpecError as error:
                if len(sources) == 1 or (aside is not None and aside.concerns(error)):
                    raise
                work.failed[str(each)] = error
            finally:
                if opened is not None and opened is not each:
                    opened.close()
        if work.failed and not segments:
            raise none_of([*work.failed.values()], "read")
        if aside is not None:
            aside.commit()
    except BaseException:
        if aside is not None:
            aside.discard()
        raise
    return RebuildReport(
        settings.rule,
        settings.profile,
        index_interval_bytes,
        tuple(segments),
        work.failed,
        tuple(notes),
    )


def rebuild_into(
    aside: DirectoryAside,
    prefix: str = "",
    *,
    profile: str | Profile = DEFAULT_PROFILE,
    index_interval_bytes: int = INDEX_INTERVAL_BYTES,
    log_start: int = 0,
    progress: Progress | None = None,
) -> tuple[RebuiltSegment, ...]:
    """Make the files beside the segments of a partition that is being written, as recovery does.

    Args:
        aside: the directory that is being written.
        prefix: directory of the partition in it, with a slash; "" if it is the partition.
        profile: version whose rules to follow.
        index_interval_bytes: ``index.interval.bytes``.
        log_start: log start offset that the output will have, 0 for the name of the first segment.
        progress: called with the number of bytes read and the name of the file.

    Returns:
        The segments, and what a broker that recovers them would do with each.

    Raises:
        KafkaSpecError: ``unreadable``.
    """
    settings = RunSettings(
        get_profile(profile) if isinstance(profile, str) else profile,
        index_interval_bytes,
        progress,
    )
    work = _Rebuild(settings, aside.write, aside, 1, Event())
    with closing(Partition(aside.path / prefix)) as partition:
        return tuple(work.partition(partition, prefix, log_start))


class _StoppedError(Exception):
    """The run has ended, and what a thread still works on is of no use."""


_STATE_UNKNOWN = (Recovery.SPLITS, Recovery.REFUSES)
"""Outcomes after which the state of the log is unknown, so that no checkpoint is made."""


@dataclass(frozen=True, slots=True)
class _Log:
    """The segments of a partition, or one segment by itself.

    Attributes:
        segments: base offsets and paths of the segments in order.
        snapshots: the producer snapshots beside them.
        epochs: leader epochs; each pass updates them.
        log_start: log start offset in the checkpoint, 0 for none.
        codec: codec that reads the segments.
        whole: whether these are all segments of a partition.
    """

    segments: Sequence[tuple[int, Path]]
    snapshots: Snapshots
    epochs: LeaderEpochs
    log_start: int
    codec: Codec
    whole: bool


@dataclass(frozen=True, slots=True)
class _Rebuild:
    settings: RunSettings
    put: Callable[[str, bytes], None]
    aside: DirectoryAside | None
    jobs: int
    stopped: Event
    failed: dict[str, KafkaSpecError] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)

    def segments_of(
        self, opened: Segment | Partition | LogDirectory, *, apart: bool
    ) -> Iterator[RebuiltSegment]:
        """Yield the segments of a source; ``apart``: its files are in a directory of its name."""
        if isinstance(opened, Segment):
            base, path = _checked(opened)
            prefix = f"{path.absolute().parent.name}/" if apart else ""
            self._take(f"{prefix}{path.name}")
            snapshot = path.with_name(names.SegmentName(base, "").sibling(names.PRODUCER_SNAPSHOT))
            snapshots = find_snapshots([snapshot] if snapshot.exists() else [])
            log = _Log([(base, path)], snapshots, self._epochs(base), 0, opened.codec, whole=False)
            yield from self._segments(log, prefix)
            return
        if isinstance(opened, Partition) and not apart:
            yield from self.partition(opened, "")
            return
        partitions = [opened] if isinstance(opened, Partition) else opened.current
        for partition in partitions:
            self._take(f"{partition.path.absolute().name}/")
        self.failed.update({} if isinstance(opened, Partition) else opened.unreadable)
        for partition, done in in_order(self._tried, partitions, self.jobs, stop=self.stopped.set):
            if not isinstance(done, KafkaSpecError):
                yield from done
                continue
            self.failed[os.fspath(partition.path)] = done
            if self.aside is not None:
                self.aside.remove_directory(partition.path.absolute().name)

    def _take(self, name: str) -> None:
        """Note what is made of a source.

        Raises:
            ValueError: another one has the same name.
        """
        if name in self.made or f"{name.partition('/')[0]}/" in self.made:
            raise ValueError(f"two of the sources are called {name.rstrip('/')}")
        self.made.add(name)

    def _tried(
        self, partition: Partition
    ) -> tuple[Partition, list[RebuiltSegment] | KafkaSpecError]:
        """Return the segments of a partition, or why it cannot be read."""
        try:
            name = partition.path.absolute().name
            return partition, list(self.partition(partition, f"{name}/"))
        except KafkaSpecError as error:
            if self.aside is not None and self.aside.concerns(error):
                raise
            return partition, error

    def _epochs(self, base_offset: int) -> LeaderEpochs:
        return LeaderEpochs(self.settings.profile.epoch_file, None, base_offset)

    def partition(
        self, partition: Partition, prefix: str, log_start: int | None = None
    ) -> Iterator[RebuiltSegment]:
        """Yield the segments of a partition; the last one kept includes the checkpoint.

        Its log start offset is that of the checkpoint if None is given.
        """
        first = next(partition.segments_from(None), None)
        if first is None:
            return
        base, _ = _checked(first)
        segments = list(zip(partition.base_offsets, partition.segment_paths, strict=True))
        snapshots, epochs = find_snapshots(partition.snapshot_paths), self._epochs(base)
        if log_start is None:
            log_start = partition.log_start_of("checkpoint") or 0
        log = _Log(segments, snapshots, epochs, log_start, first.codec, whole=True)
        done = list(self._segments(log, prefix))
        if not done or any(one.recovery in _STATE_UNKNOWN for one in done):
            yield from done
            return
        made = rebuilt_checkpoint(partition.path, epochs, log_start, prefix, self.put)
        last = sum(one.recovery is not Recovery.REMOVES for one in done) - 1
        for number, one in enumerate(done):
            if made is not None and number == last:
                one = replace(one, files=(*one.files, made))
            yield one

    def _segments(self, log: _Log, prefix: str) -> Iterator[RebuiltSegment]:
        recovers = self.settings.rule is Rule.RECOVERY
        base = log.segments[0][0]
        for loaded in self._recovered(log) if recovers else self._appended(log):
            is_first = loaded.base_offset == base
            if loaded.run is None:
                done = _without_pass(loaded)
            else:
                # Where a partition begins without a snapshot, a broker assumes no producers.
                known = loaded.run.known or (log.whole and is_first)
                end = _end_of(loaded, loaded.run) if known else None
                done = RebuiltFiles(loaded.run, end, log.log_start).result(prefix, self.put)
                if loaded.recovery in (Recovery.CUTS, Recovery.EMPTIES):
                    log.epochs.truncate_from_end(loaded.run.next_offset)
                loaded.run = None  # and its mapping
            if is_first:
                before = _from_before([item for item in log.snapshots if item <= base], prefix)
                done = replace(done, files=(*done.files, *before))
            yield done

    def _recovered(self, log: _Log) -> Iterator[LoadedSegment]:
        """Yield each segment after recovery; after one that stops the broker, begin again."""
        segments = log.segments
        while segments:
            loader = Loader(
                segments,
                log.snapshots,
                self.settings,
                log.epochs,
                indexed=True,
                codec=log.codec,
                log_start=log.log_start,
            )
            done = 0
            for loaded in loader.recovered():
                yield loaded
                done += 1
            for loaded in loader.result.segments[done:]:
                if loaded.recovery is not Recovery.REMOVES:
                    break
                yield loaded
                done += 1
            segments = segments[done:]

    def _appended(self, log: _Log) -> Iterator[LoadedSegment]:
        """Yield each segment after a pass by the rule of a leader."""
        state: ProducerState | None = None
        for loaded in list_segments(log.segments, log.snapshots, codec=log.codec):
            known = True
            if state is None:
                snapshot = log.snapshots.get(loaded.base_offset)
                entries = None if snapshot is None else read_snapshot(snapshot)
                known = not loaded.base_offset or entries is not None
                state = ProducerState(self.settings.profile, entries or ())
            loaded.run = run = loaded.start(self.settings, state, known, log.epochs)
            run.read()
            if not run.goes_on:
                state = None
            yield loaded


def _end_of(loaded: LoadedSegment, run: SegmentRun) -> int:
    """Return the offset of the producer snapshot after a segment."""
    if loaded.following is None or loaded.recovery is Recovery.CUTS:
        return run.next_offset
    return loaded.following


def _from_before(offsets: Sequence[int], prefix: str) -> Iterator[RebuiltFile]:
    """Yield producer snapshots that the segments do not contribute to."""
    why = "the batches that it reflects come before the first segment"
    for offset in sorted(offsets):
        name = prefix + names.SegmentName(offset, "").sibling(names.PRODUCER_SNAPSHOT)
        yield RebuiltFile(name, 0, 0, Comparison.NOT_MADE, why)


def _without_pass(loaded: LoadedSegment) -> RebuiltSegment:
    """Return the result for a segment that recovery does not read."""
    size = file_size(loaded.path)
    note = "a broker removes it, since the segment before it was cut"
    if loaded.recovery is not Recovery.REMOVES:
        note = "a broker fails in an earlier segment when it begins to recover this one"
    path = str(loaded.path)
    return RebuiltSegment(path, size, 0, None, note, (), recovery=loaded.recovery)


def _checked(segment: Segment) -> tuple[int, Path]:
    """Return base offset and path of a segment that can have indexes."""
    if not isinstance(segment.path, Path) or segment.base_offset is None:
        raise _cannot_index(segment)
    if not segment.format.is_written:
        detail = f"Kafka {segment.format.name} has no indexes; convert the log first"
        raise make_error(Reason.UNREADABLE, detail, file=segment.name)
    return segment.base_offset, segment.path


def _cannot_index(segment: Segment) -> KafkaSpecError:
    """Return the error for a segment that has no base offset or is not a local file."""
    detail = "only a local segment named after its base offset can have indexes"
    return make_error(Reason.UNREADABLE, detail, file=segment.name)
