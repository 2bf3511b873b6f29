"""Rebuild the indexes of segments from their logs, and compare them with those beside the logs.

Kafka: ``LogSegment.recover`` and ``LogLoader.recoverLog`` for the rule of recovery,
``LogSegment.append`` for the rule of a leader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from os import PathLike
from pathlib import Path

from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.writing.atomic import DirectoryAside, require_new
from kafkaspec.writing.index_rules import INDEX_INTERVAL_BYTES, Rule
from kafkaspec.writing.leader_epochs import LeaderEpochs
from kafkaspec.writing.places import check_output
from kafkaspec.writing.producer_state import ProducerState
from kafkaspec.writing.profiles import DEFAULT_PROFILE, Profile, get_profile
from kafkaspec.writing.rebuild_epochs import rebuilt_checkpoint
from kafkaspec.writing.rebuild_run import SegmentRun, Settings
from kafkaspec.writing.rebuilt import RebuildReport, RebuiltSegment, Recovery

Progress = Callable[[int, str], None]
"""Called with the number of bytes read and the name of the file."""


def rebuild_indexes(
    source: str | PathLike[str] | Segment | Partition | LogDirectory,
    out: str | PathLike[str] | None = None,
    *,
    rule: str = Rule.RECOVERY,
    profile: str | Profile = DEFAULT_PROFILE,
    index_interval_bytes: int = INDEX_INTERVAL_BYTES,
    sync: bool = True,
    progress: Progress | None = None,
) -> RebuildReport:
    """Rebuild the indexes and producer snapshots of segments, and leader epoch checkpoints.

    The indexes are the offset, time and transaction indexes. Partitions have the checkpoints.

    Args:
        source: a segment, a partition or a log directory, or the path of one. It is not changed.
        out: a new or empty directory for the files, which get the names that they have beside the
            log; those of a log directory go into one directory per partition. With None, files are
            only compared.
        rule: ``recovery``, as a broker that does not trust existing files; ``append``, as a leader
            that appends each entry by itself.
        profile: version whose rules to follow, such as ``4.3`` or ``2.8.2``.
        index_interval_bytes: ``index.interval.bytes``, which no file contains.
        sync: whether to force files to disk.
        progress: called with the number of bytes read and the name of the file.

    Raises:
        KafkaSpecError: ``unreadable``, a transaction marker cannot be read, or ``out`` cannot be
            used. Damage to a log is not an error: the report says how a broker would handle it.
        ValueError: the rule or profile is unknown.
    """
    settings = Settings(
        Rule(rule),
        get_profile(profile) if isinstance(profile, str) else profile,
        index_interval_bytes,
        progress or (lambda _bytes, _name: None),
    )
    aside = None
    if out is not None:
        check_output(out, source)
        require_new(Path(out))
        aside = DirectoryAside(out, sync=sync)

    def put(name: str, data: bytes) -> None:
        if aside is not None:
            aside.write(name, data)

    try:
        opened = open_log(source) if isinstance(source, str | PathLike) else source
        try:
            segments = tuple(_Work(settings).all_of(opened, put))
        finally:
            if opened is not source:
                opened.close()
        if aside is not None:
            aside.commit()
    except BaseException:
        if aside is not None:
            aside.discard()
        raise
    return RebuildReport(settings.rule, settings.profile, index_interval_bytes, segments)


_STATE_UNKNOWN = (Recovery.SPLITS, Recovery.REFUSES)
"""Outcomes after which the state of the log is unknown, so that no checkpoint is made."""


@dataclass(frozen=True, slots=True)
class _Work:
    settings: Settings

    def all_of(
        self, opened: Segment | Partition | LogDirectory, put: Callable[[str, bytes], None]
    ) -> Iterator[RebuiltSegment]:
        if isinstance(opened, Segment):
            yield from self._segments([opened], [], "", put, self._epochs(opened))
            return
        partitions = [opened] if isinstance(opened, Partition) else opened.partitions
        for partition in partitions:
            prefix = "" if partition is opened else f"{partition.path.name}/"
            yield from self._partition(partition, prefix, put)

    def _epochs(self, opened: Segment | Partition) -> LeaderEpochs:
        base = opened.base_offset if isinstance(opened, Segment) else opened.first_base_offset
        return LeaderEpochs(self.settings.profile.epoch_file, None, base or 0)

    def _partition(
        self, partition: Partition, prefix: str, put: Callable[[str, bytes], None]
    ) -> Iterator[RebuiltSegment]:
        """Yield the segments of a partition; the last one kept includes the checkpoint."""
        epochs = self._epochs(partition)
        segments = partition.segments_from(None)
        done = list(self._segments(segments, partition.base_offsets, prefix, put, epochs))
        if not done or any(one.recovery in _STATE_UNKNOWN for one in done):
            yield from done
            return
        epochs.truncate_from_start(partition.log_start_offset or 0)
        made = rebuilt_checkpoint(partition.path, epochs, prefix, put)
        last = sum(one.recovery is not Recovery.REMOVES for one in done) - 1
        for number, one in enumerate(done):
            if made is not None and number == last:
                one = replace(one, files=(*one.files, made))
            yield one

    def _segments(
        self,
        segments: Iterable[Segment],
        bases: list[int],
        prefix: str,
        put: Callable[[str, bytes], None],
        epochs: LeaderEpochs,
    ) -> Iterator[RebuiltSegment]:
        state: ProducerState | None = None
        lost = False
        for segment, following in zip_longest(segments, bases[1:]):
            if not isinstance(segment.path, Path) or segment.base_offset is None:
                raise _cannot_index(segment)
            if not segment.format.is_written:
                detail = f"Kafka {segment.format.name} has no indexes; convert the log first"
                raise make_error(Reason.UNREADABLE, detail, file=segment.name)
            if lost:
                yield _removed(segment)
                continue
            known = True
            if state is None:
                state, known = self._state_at(segment)
            run = SegmentRun(self.settings, segment, state, known, epochs)
            run.read()
            done = run.result(following, prefix, put)
            lost = done.recovery in (Recovery.CUTS, Recovery.EMPTIES)
            if lost:
                epochs.truncate_from_end(run.next_offset)
            if not run.goes_on:
                state = None
            yield done

    def _state_at(self, segment: Segment) -> tuple[ProducerState, bool]:
        """Return the state of producers before a segment, and whether it is known."""
        if not segment.base_offset:
            return ProducerState(self.settings.profile), True
        snapshot = segment.producer_snapshot
        if snapshot is None:
            return ProducerState(self.settings.profile), False
        try:
            if snapshot.crc_valid:
                return ProducerState(self.settings.profile, snapshot.entries), True
        except KafkaSpecError:  # a broker removes such a file and continues without it
            pass
        return ProducerState(self.settings.profile), False


def _removed(segment: Segment) -> RebuiltSegment:
    note = "a broker removes it, since the segment before it was cut"
    return RebuiltSegment(
        str(segment.path), segment.size, 0, None, note, (), recovery=Recovery.REMOVES
    )


def _cannot_index(segment: Segment) -> KafkaSpecError:
    """Return the error for a segment that has no base offset or is not a local file."""
    detail = "only a local segment named after its base offset can have indexes"
    return make_error(Reason.UNREADABLE, detail, file=segment.name)
