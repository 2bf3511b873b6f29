"""The indexes of segments made anew from their logs, and compared with those that lie beside them.

Kafka: ``LogSegment.recover`` and ``LogLoader.recoverLog`` for the rule of recovery, and
``LogSegment.append`` for that of a leader.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from os import PathLike
from pathlib import Path
from typing import Final

from kafkaspec._generated.python.model.transaction_index import AbortedTransaction
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.log import names
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.writing.acceptance import unreadable_markers
from kafkaspec.writing.atomic import DirectoryAside, cannot_write
from kafkaspec.writing.comparison import (
    RESTARTED,
    Circumstances,
    Comparison,
    compare,
    entries_of,
)
from kafkaspec.writing.headers import BATCH_MAGIC, NONE, Headers, read_headers
from kafkaspec.writing.index_rules import INDEX_INTERVAL_BYTES, IndexBuilder, Rule
from kafkaspec.writing.producer_state import ProducerState, transaction_index
from kafkaspec.writing.profiles import Profile, get_profile

Progress = Callable[[int, str], None]
"""Takes bytes that were read and the name of the file."""


@dataclass(frozen=True, slots=True)
class RebuiltFile:
    """A file that was made.

    Attributes:
        name: its path below the output directory.
        size: bytes.
        entries: how many it has.
        comparison: with the file of that name beside the log.
        why: what is known of why they differ, "" for nothing.
    """

    name: str
    size: int
    entries: int
    comparison: Comparison
    why: str = ""


@dataclass(frozen=True, slots=True)
class RebuiltSegment:
    """A segment whose indexes were made.

    Attributes:
        path: of the log.
        size: bytes of the log.
        valid_bytes: bytes up to which it is sound; recovery cuts it there.
        error: what is wrong behind them, None for a cut entry or zeros, or if nothing is.
        note: what a broker would do about it, "" for nothing.
        files: what was made.
    """

    path: str
    size: int
    valid_bytes: int
    error: KafkaSpecError | None
    note: str
    files: tuple[RebuiltFile, ...]


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """What ``rebuild_indexes`` did.

    Attributes:
        rule: that was followed.
        profile: version whose rules they are.
        index_interval_bytes: that was used.
        segments: in order.
    """

    rule: Rule
    profile: Profile
    index_interval_bytes: int
    segments: tuple[RebuiltSegment, ...]

    @property
    def files(self) -> tuple[RebuiltFile, ...]:
        """All files of all segments."""
        return tuple(file for segment in self.segments for file in segment.files)

    @property
    def is_sound(self) -> bool:
        """Whether all logs are valid up to their end."""
        return all(segment.valid_bytes == segment.size for segment in self.segments)


def rebuild_indexes(
    source: str | PathLike[str] | Segment | Partition | LogDirectory,
    out: str | PathLike[str] | None = None,
    *,
    rule: str = Rule.RECOVERY,
    profile: str | Profile = "4.3",
    index_interval_bytes: int = INDEX_INTERVAL_BYTES,
    sync: bool = True,
    progress: Progress | None = None,
) -> RebuildReport:
    """Make offset, time and transaction indexes and producer snapshots of segments anew.

    Args:
        source: a segment, a partition or a log directory, or the path of one. It is not changed.
        out: a directory that is new or empty, with the names that the files have beside the log,
            in directories of partitions for a log directory. None compares only.
        rule: ``recovery``, as a broker that does not trust what it finds; ``append``, as a leader
            that appends each entry by itself.
        profile: version whose rules they are, ``4.3`` or ``2.8.2``.
        index_interval_bytes: ``index.interval.bytes``, which no file tells.
        sync: whether files are forced to disk.
        progress: is told how far it is.

    Raises:
        KafkaSpecError: ``unreadable``; a transaction marker that cannot be read. Damage of a log is
            no error: it is in the report, as a broker would take it.
        ValueError: no such rule or profile.
    """
    work = _Work(
        Rule(rule),
        get_profile(profile) if isinstance(profile, str) else profile,
        index_interval_bytes,
        progress or (lambda _bytes, _name: None),
    )
    aside = None
    if out is not None:
        target = Path(out)
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise cannot_write(target, "it is there already, and not empty")
        aside = DirectoryAside(target, sync=sync)
    made: list[str] = []

    def put(name: str, data: bytes) -> None:
        if aside is not None:
            aside.write(name, data)
            made.append(name)

    try:
        opened = open_log(source) if isinstance(source, str | PathLike) else source
        try:
            segments = tuple(work.all_of(opened, put))
        finally:
            if opened is not source:
                opened.close()
        if aside is not None:
            aside.commit(made)
    except BaseException:
        if aside is not None:
            aside.discard()
        raise
    return RebuildReport(work.rule, work.profile, index_interval_bytes, segments)


_SAME: Final = (Comparison.EQUAL, Comparison.PREALLOCATED)

_SNAPSHOT_LOST: Final = (
    "no producer snapshot lies at the first offset: transactions that began before it are not known"
)


@dataclass(frozen=True, slots=True)
class _Work:
    rule: Rule
    profile: Profile
    interval: int
    progress: Progress

    def all_of(
        self, opened: Segment | Partition | LogDirectory, put: Callable[[str, bytes], None]
    ) -> Iterator[RebuiltSegment]:
        if isinstance(opened, Segment):
            yield from self._partition([opened], [], "", put)
            return
        partitions = [opened] if isinstance(opened, Partition) else opened.partitions
        for partition in partitions:
            prefix = "" if partition is opened else f"{partition.path.name}/"
            bases = [int(path.stem) for path in partition.segment_paths]
            yield from self._partition(partition.segments_from(None), bases, prefix, put)

    def _partition(
        self,
        segments: Iterable[Segment],
        bases: list[int],
        prefix: str,
        put: Callable[[str, bytes], None],
    ) -> Iterator[RebuiltSegment]:
        state: ProducerState | None = None
        cut = False
        for segment, following in zip_longest(segments, bases[1:]):
            if not isinstance(segment.path, Path) or segment.base_offset is None:
                raise _cannot_index(segment)
            if cut:
                note = "a broker removes it, since the segment before it was cut"
                yield RebuiltSegment(str(segment.path), segment.size, 0, None, note, ())
                continue
            known = True
            if state is None:
                state, known = self._state_at(segment)
            run = _Run(self, segment, state, known)
            run.read()
            done = run.result(following, prefix, put)
            cut = done.valid_bytes < done.size and self.rule is Rule.RECOVERY
            yield done

    def _state_at(self, segment: Segment) -> tuple[ProducerState, bool]:
        """The producers in front of a segment, and whether they are known."""
        if not segment.base_offset:
            return ProducerState(self.profile), True
        snapshot = segment.producer_snapshot
        if snapshot is None:
            return ProducerState(self.profile), False
        try:
            if snapshot.crc_valid:
                return ProducerState(self.profile, snapshot.entries), True
        except KafkaSpecError:  # a broker removes such a file, and goes on without it
            pass
        return ProducerState(self.profile), False


class _Run:
    """One pass over a segment."""

    def __init__(self, work: _Work, segment: Segment, state: ProducerState, known: bool) -> None:
        assert segment.base_offset is not None
        self._work = work
        self._segment = segment
        self._state = state
        self._indexes = self._new_builder()
        self._again: dict[str, bytes] | None = None
        self._epoch = NONE
        self._aborted: list[AbortedTransaction] = []
        self._valid = 0
        self._error: KafkaSpecError | None = None
        self._next_offset = segment.base_offset
        self._circumstances = Circumstances(work.rule, work.profile, producers_known=known)

    def read(self) -> None:
        """Take all entries that a broker would take."""
        indexes, segment = self._indexes, self._segment
        try:
            for headers in read_headers(segment):
                count = len(headers)
                wrong = headers.wrong_checksum()
                if wrong is not None:
                    count, self._error = wrong, headers.batch(wrong).crc_error()
                for number in range(count):
                    if not indexes.fits(headers.last_offset[number]):
                        count, self._error = number, _too_far(segment, headers.position[number])
                        break
                if self._work.profile.producer_state:
                    for number, error in unreadable_markers(headers):
                        if number < count:
                            count, self._error = number, error
                if count:
                    indexes.append_each(headers, 0, count)
                    indexes.settle()
                    if self._work.profile.producer_state:
                        self._aborted += self._state.append(headers, 0, count)
                    self._next_offset = headers.last_offset[count - 1] + 1
                    self._note(headers, count)
                    self._valid = headers.position[count - 1] + headers.size[count - 1]
                    self._work.progress(
                        self._valid - headers.position[0], os.fspath(segment.path or "")
                    )
                if self._error is not None:
                    break
        except KafkaSpecError as error:
            if error.reason in (Reason.UNREADABLE, Reason.CHANGED):
                raise
            self._error = error
        indexes.finish()

    def _note(self, headers: Headers, count: int) -> None:
        """Remember what may explain a difference."""
        known = self._circumstances
        epochs = known.epochs
        if max(headers.leader_epoch[:count]) > self._epoch:
            for epoch in headers.leader_epoch[:count]:
                if epoch > self._epoch:
                    epochs, self._epoch = epochs + 1, epoch
        self._circumstances = replace(
            known,
            messages=known.messages or min(headers.magic[:count]) < BATCH_MAGIC,
            producers=known.producers or max(headers.producer_id[:count]) != NONE,
            epochs=epochs,
        )

    def result(
        self, following: int | None, prefix: str, put: Callable[[str, bytes], None]
    ) -> RebuiltSegment:
        """Write and compare what was made.

        Args:
            following: base offset of the next segment, None for the last one.
            prefix: of file names.
            put: takes name and content of a file.
        """
        segment, known = self._segment, self._circumstances.producers_known
        assert segment.path is not None
        whole = self._valid == segment.size
        circumstances = replace(self._circumstances, whole=whole)
        files = []
        for offset, kind, data in self._made(following):
            name = names.SegmentName(offset, "").sibling(kind)
            beside = segment.path.with_name(name)
            comparison, why = compare(beside, kind, data, circumstances)
            if comparison is Comparison.DIFFERENT and circumstances.epochs > 1:
                again = self._restarted().get(kind)
                if again is not None and compare(beside, kind, again, circumstances)[0] in _SAME:
                    why = RESTARTED
            if data is None and comparison is Comparison.MISSING:
                continue
            if data is not None:
                put(prefix + name, data)
            count = entries_of(kind, data or b"", len(self._state))
            files.append(RebuiltFile(prefix + name, len(data or b""), count, comparison, why))
        note = "" if whole else f"recovery cuts the log at byte {self._valid}"
        if circumstances.producers and not known:
            note = "; ".join(filter(None, (note, _SNAPSHOT_LOST)))
        return RebuiltSegment(
            str(segment.path), segment.size, self._valid, self._error, note, tuple(files)
        )

    def _restarted(self) -> dict[str, bytes]:
        """The indexes of a broker that was restarted where the leader epoch changes."""
        if self._again is None:
            indexes = self._new_builder()
            latest = NONE
            for headers in read_headers(self._segment):
                start = 0
                for number, epoch in enumerate(headers.leader_epoch):
                    if headers.position[number] >= self._valid:
                        break
                    if epoch > latest:
                        indexes.append_each(headers, start, number)
                        if indexes.size:
                            indexes.restart()
                        start, latest = number, epoch
                else:
                    number = len(headers)
                indexes.append_each(headers, start, number)
                indexes.settle()
                if number < len(headers):
                    break
            indexes.finish()
            self._again = {
                names.OFFSET_INDEX: indexes.offset_index(),
                names.TIME_INDEX: indexes.time_index(),
            }
        return self._again

    def _new_builder(self) -> IndexBuilder:
        work, base_offset = self._work, self._segment.base_offset
        assert base_offset is not None
        return IndexBuilder(base_offset, work.profile, rule=work.rule, interval=work.interval)

    def _made(self, following: int | None) -> Iterator[tuple[int, str, bytes | None]]:
        """Offset in the name, kind and content of each file; None for one without content."""
        profile, indexes = self._work.profile, self._indexes
        base = indexes.base_offset
        yield base, names.OFFSET_INDEX, indexes.offset_index()
        if profile.has_time_index:
            yield base, names.TIME_INDEX, indexes.time_index()
        if not profile.producer_state:
            return
        aborted = transaction_index(self._aborted) if self._aborted else None
        yield base, names.TRANSACTION_INDEX, aborted
        behind = self._next_offset if following is None else following
        if self._circumstances.producers_known and behind > base:
            yield behind, names.PRODUCER_SNAPSHOT, self._state.snapshot(self._segment.codec)


def _too_far(segment: Segment, position: int) -> KafkaSpecError:
    detail = f"its last offset is too far from the base offset {segment.base_offset}"
    return make_error(Reason.INVALID_VALUE, detail, file=segment.name, offset=position)


def _cannot_index(segment: Segment) -> KafkaSpecError:
    """The error about something that has no base offset, or is no local file."""
    detail = "only a local segment whose name says its base offset can have indexes"
    return make_error(Reason.UNREADABLE, detail, file=segment.name)
