"""Predict what the loader of a broker makes of a partition directory when the broker starts.

Kafka: ``LogLoader.load``, ``LogSegment.readNextOffset``, ``UnifiedLog.rebuildProducerState``,
``ProducerStateManager``, ``AbstractIndex``, ``FileRecords.searchForOffsetFromPosition`` of 4.3.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kafkaspec._generated.python.model.producer_snapshot import ProducerEntry
from kafkaspec._generated.python.model.transaction_index import AbortedTransaction
from kafkaspec.broker import recovery
from kafkaspec.broker.actions import Recovery
from kafkaspec.broker.leader_epochs import LeaderEpochs
from kafkaspec.broker.producer_state import ProducerState
from kafkaspec.broker.profiles import PRODUCER_EXPIRATION_MS
from kafkaspec.broker.segment_run import RunSettings, SegmentRun, refused_entry
from kafkaspec.codecs import Codec
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files import names
from kafkaspec.files.indexes import OffsetIndex
from kafkaspec.files.snapshots import Snapshots, TransactionIndex, read_snapshot
from kafkaspec.io.local import file_size
from kafkaspec.layout.framing import fixed_size
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.segment import Segment

_WARM: Final = 8192 // fixed_size(OffsetIndex.type_key)
"""Entries at the end of an index that a lookup searches first (``AbstractIndex.warmEntries``)."""


_KEPT: Final = 2
"""Snapshots that a loader keeps of those that it took."""


@dataclass(slots=True)
class LoadedSegment:
    """A segment of a partition that a broker loads.

    Attributes:
        path: path of the segment.
        base_offset: offset in its name.
        end: number of its bytes that are left.
        following: base offset of the next segment, None for the last one.
        snapshots: offsets of the producer snapshots between these two.
        codec: codec that reads it.
        by_first: see ``Profile.first_offset_lookups``.
        alone: whether it is recovered for itself, since its offset index is missing or its
            transaction index is bad: what is cut of it costs no later segment.
        recovery: what recovery does with it; None if the broker does not recover it.
        run: the pass of recovery; None if there was none.
        offsets: offsets of the entries of its offset index.
        positions: their positions.
    """

    path: Path
    base_offset: int
    end: int
    following: int | None
    snapshots: Sequence[int]
    codec: Codec | None
    by_first: bool
    alone: bool = False
    recovery: Recovery | None = None
    run: SegmentRun | None = None
    offsets: Sequence[int] = ()
    positions: Sequence[int] = ()

    @classmethod
    def standing(cls, path: Path, base_offset: int, index: Path | None) -> LoadedSegment:
        """Return a segment by itself, with its offset index if it has one."""
        segment = cls(path, base_offset, file_size(path), None, (), None, by_first=True)
        if index is not None:
            segment.follow(index)
        return segment

    def follow(self, index: Path) -> None:
        """Take over the entries of its offset index.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        with closing(OffsetIndex(index)) as opened:
            self.offsets, self.positions = opened.slot_columns()

    def open(self) -> Segment:
        """Open the segment."""
        return Segment(self.path, codec=self.codec)

    def start(
        self, settings: RunSettings, state: ProducerState, known: bool, epochs: LeaderEpochs
    ) -> SegmentRun:
        """Return a new pass over the segment; see ``SegmentRun``."""
        return SegmentRun(settings, self.open(), state, known, epochs, self.snapshots)

    def next_offset(self) -> int:
        """Return the offset after the segment, which the broker finds through its index.

        Raises:
            KafkaSpecError: the broker fails at an entry.
        """
        found = self.base_offset
        position = self.search(self.offsets[-1] if self.offsets else self.base_offset)
        if position is not None:
            for headers, _, last in self.entries(position, self.end):
                found = headers.last_offset[last - 1] + 1
        return found

    def written_end(self) -> int:
        """Return the offset after the last entry that a reader finds from the first one on."""
        found = self.base_offset
        with suppress(KafkaSpecError):  # as far as it is sound
            for headers, _, last in self.entries(0, self.end):
                found = headers.last_offset[last - 1] + 1
        return found

    def search(self, offset: int) -> int | None:
        """Return the position of the entry that a lookup finds; None if the log ends before it.

        Raises:
            KafkaSpecError: the broker fails at an entry.
        """
        before: tuple[int, int] | None = None
        begins = self._indexed(offset)
        if begins < 0:  # FileChannel.read fails with IllegalArgumentException
            detail = f"its offset index leads to position {begins}"
            raise make_error(Reason.INVALID_VALUE, detail, file=str(self.path))
        for headers, begin, stop in self.entries(begins, self.end):
            for number in range(begin, stop):
                if not self.by_first:
                    if headers.last_offset[number] >= offset:
                        return headers.position[number]
                    continue
                first = recovery.first_offset_of(headers, number)
                if first >= offset:
                    if first > offset and before is not None and before[1] >= offset:
                        return before[0]
                    return headers.position[number]
                before = headers.position[number], headers.last_offset[number]
        return before[0] if before is not None and before[1] >= offset else None

    def _indexed(self, offset: int) -> int:
        """Return the position that the index has for an offset; its entries may be out of order."""
        offsets = self.offsets
        if not offsets:
            return 0
        low, high = 0, max(0, len(offsets) - 1 - _WARM)
        if offsets[high] < offset:
            low, high = high, len(offsets) - 1
        elif offsets[0] > offset:
            return 0
        while low < high:
            middle = (low + high + 1) // 2
            if offsets[middle] > offset:
                high = middle - 1
            else:
                low = middle
                if offsets[middle] == offset:
                    break
        return self.positions[low]

    def entries(self, position: int, end: int) -> Iterator[tuple[HeaderTable, int, int]]:
        """Yield entries of the segment; see ``recovery.entries``."""
        with self.open() as segment:
            yield from recovery.entries(segment, position, end)


@dataclass(slots=True)
class Load:
    """Result of loading a partition directory.

    Attributes:
        segments: the segments in order, also those that recovery removes.
        error: why the broker does not load the log; None if it does.
        failed: the segment that the error is about.
        end_offset: log end offset; None if the log is not loaded, or if recovery splits a segment:
            what follows is not predicted.
        producers: state of each producer, by id. A broker forgets those whose last timestamp is
            older than ``producer.id.expiration.ms``.
        deletes: whether it deletes all segments, since the log ends before the log start offset.
    """

    segments: list[LoadedSegment] = field(default_factory=list)
    error: KafkaSpecError | None = None
    failed: LoadedSegment | None = None
    end_offset: int | None = None
    producers: dict[int, ProducerEntry] = field(default_factory=dict)
    deletes: bool = False

    def of(self, path: Path) -> LoadedSegment | None:
        """Return what happens to a segment; None if that is not predicted."""
        return next((segment for segment in self.segments if segment.path == path), None)

    def hidden(self) -> tuple[int, int] | None:
        """Return the log end that the broker finds, and the real one, where that is higher.

        A broker that was stopped cleanly reads the last segment from the last entry of its offset
        index on (``LogSegment.readNextOffset``): a wrong entry leads it past all batches. It reads
        the batches of the segment from its start on.
        """
        if self.end_offset is None or self.deletes or self.segments[-1].recovery is not None:
            return None
        end = self.segments[-1].written_end()
        return (self.end_offset, end) if self.end_offset < end else None

    def fails_in(self, path: Path) -> bool:
        """Return whether the broker does not load the log because of this segment."""
        return self.failed is not None and self.failed.path == path


@dataclass(slots=True)
class _Producers:
    """Kafka's ``ProducerStateManager``."""

    state: ProducerState
    end: int = 0
    """Offset that the state is valid at."""
    snapshot: int = 0
    """Offset of the last snapshot."""


class Loader:
    """The loader of a broker, on a partition directory.

    Args:
        segments: base offsets and paths of the segments, in order.
        snapshots: the producer snapshots beside the segments.
        clean: whether the broker was stopped cleanly.
        epochs: leader epochs, which recovery updates; None if nobody asks for them.
        indexed: whether each segment counts as having an offset index, whatever is there.
        now: time of the start in ms, at which the broker forgets producers of a snapshot that
            have been idle for a day; None for a broker that forgets none.
        recovery_point: offset in ``recovery-point-offset-checkpoint``: after a crash, segments
            before the one that has it are not recovered.
        log_start: offset in ``log-start-offset-checkpoint``.
        beside: the files of the directory by name, where they are not what can be listed: a broker
            renames some first.
    """

    def __init__(
        self,
        segments: Sequence[tuple[int, Path]],
        snapshots: Snapshots,
        settings: RunSettings,
        epochs: LeaderEpochs | None = None,
        *,
        clean: bool = False,
        indexed: bool = False,
        codec: Codec | None = None,
        now: int | None = None,
        recovery_point: int = 0,
        log_start: int = 0,
        beside: Mapping[str, Path] | None = None,
    ) -> None:
        self._settings = settings
        self._clean = clean
        self._indexed = indexed
        self._epochs = epochs or LeaderEpochs(settings.profile.epoch_file, None, segments[0][0])
        self._snapshots: dict[int, Path | Sequence[ProducerEntry]] = dict(snapshots)
        self._taken: list[int] = []
        self._now = now
        self._recovery_point = recovery_point
        self._log_start = log_start
        self._beside = beside
        by_first = settings.profile.first_offset_lookups
        self._all = list_segments(segments, snapshots, codec=codec, by_first=by_first)
        self.result = Load(self._all)

    def load(self) -> Load:
        """Return the result for the whole partition."""
        for loaded in self.recovered():
            if loaded.run is not None:
                loaded.run.release()
        return self.result

    def recovered(self) -> Iterator[LoadedSegment]:
        """Yield the segments after a broker has opened or recovered them, in order.

        ``result`` is complete after the last one. If the broker does not load the log because of
        what it finds after recovery, the last segment that was kept refuses it.
        """
        current: LoadedSegment | None = None
        ready: list[LoadedSegment] = []
        try:
            for number, current in enumerate(self._all):
                current.alone = not self.open(current)
                if current.alone:
                    self._recover(current, self._all[:number], emptied=False)
            kept = self._all
            if not self._clean:
                bases = [segment.base_offset for segment in self._all]
                flushed = max(0, bisect_right(bases, self._recovery_point) - 1)
                for number, current in enumerate(self._all):
                    yield from ready
                    ready = [current]
                    if number < flushed:
                        continue
                    if current.recovery is Recovery.CUTS:  # in `open`, and the rest is sound
                        continue
                    self._recover(current, self._all)
                    if current.recovery in _ENDS:
                        kept = self._all[: number + 1]
                        for lost in self._all[number + 1 :]:
                            lost.recovery, lost.end = Recovery.REMOVES, 0
                            self._snapshots.pop(lost.base_offset, None)
                        break
            current = kept[-1]
            self._finish(kept)
        except _EndedError:
            pass
        except KafkaSpecError as error:
            if error.reason in (Reason.UNREADABLE, Reason.CHANGED):
                raise
            self.result.error, self.result.failed = error, current
            if current is not None and not self._clean:
                current.recovery = Recovery.REFUSES
                if current.run is not None:
                    current.run.refuse(error)
        yield from ready

    def open(self, segment: LoadedSegment) -> bool:
        """Open a segment; return whether it has an offset index, and no bad transaction index."""
        path = segment.path
        segment.end = file_size(path)
        name = names.SegmentName(segment.base_offset, names.LOG)
        if self._indexed:
            return True
        index = self._sidecar(path, name.sibling(names.OFFSET_INDEX))
        aborted = self._sidecar(path, name.sibling(names.TRANSACTION_INDEX))
        if index is None:
            return False
        entries = [] if aborted is None else list(self._aborted(aborted))
        if any(entry.last_offset < segment.base_offset for entry in entries):
            return False
        segment.follow(index)
        return True

    def _sidecar(self, path: Path, name: str) -> Path | None:
        if self._beside is not None:
            return self._beside.get(name)
        sidecar = path.with_name(name)
        return sidecar if sidecar.exists() else None

    def _aborted(self, path: Path) -> Iterator[AbortedTransaction]:
        """Yield the entries of a transaction index; raise what a broker refuses in it."""
        index = TransactionIndex(path)
        for number in range(len(index)):
            entry = index.entry(number)
            if entry.version and self._settings.profile.whole_versions:
                detail = f"the version {entry.version} of an aborted transaction is not known"
                at = number * index.entry_size
                raise make_error(Reason.UNSUPPORTED_VERSION, detail, file=str(path), offset=at)
            yield entry

    def _recover(
        self, segment: LoadedSegment, before: Sequence[LoadedSegment], *, emptied: bool = True
    ) -> None:
        """Recover a segment, with the state of producers from those ``before``."""
        # Unless it may be emptied, the broker fails if its offsets are out of order.
        # Without a snapshot at its base a transaction can have begun in what is no longer there.
        known = segment is not self._all[0] or not segment.base_offset
        if segment.base_offset > self._log_start:  # others are removed first
            known = known or self._entries(segment.base_offset) is not None
        producers = self._producers_at(segment.base_offset, before, self._log_start)
        segment.run = run = segment.start(self._settings, producers.state, known, self._epochs)
        run.read()
        segment.recovery, segment.end = run.ended or Recovery.KEEPS, run.valid
        segment.offsets, segment.positions = run.indexes.entries
        if segment.recovery is Recovery.EMPTIES and not emptied:
            segment.recovery = Recovery.REFUSES
        if segment.recovery in (Recovery.REFUSES, Recovery.SPLITS):
            if segment.recovery is Recovery.REFUSES:
                self.result.error, self.result.failed = run.error, segment
            raise _EndedError
        if segment.recovery is Recovery.EMPTIES:
            return
        if run.producers_end is not None:
            producers.end = run.producers_end
        self._take_snapshot(producers)

    def _finish(self, kept: Sequence[LoadedSegment]) -> None:
        """Find the end of the log, and load the producers."""
        end = kept[-1].next_offset()
        if end < self._log_start:
            self.result.deletes, end = True, self._log_start
            kept = []
        bases = {segment.base_offset for segment in kept}
        stray = [offset for offset in sorted(self._snapshots) if offset not in bases]
        if stray and stray[-1] >= max(bases, default=0):
            stray.pop()  # that of the last clean stop
        for offset in stray:
            del self._snapshots[offset]
        start = max(kept[0].base_offset, self._log_start) if kept else self._log_start
        producers = self._producers_at(end, kept, start, upgrade=self._clean)
        self.result.producers = {entry.producer_id: entry for entry in producers.state.entries}
        unstable = producers.state.first_open_offset
        if unstable is not None and start <= unstable < end:
            below = [segment for segment in kept if segment.base_offset <= unstable]
            (below or kept)[-1].search(unstable)
        self.result.end_offset = end

    def _producers_at(
        self, offset: int, segments: Sequence[LoadedSegment], start: int, *, upgrade: bool = False
    ) -> _Producers:
        """Return the state of producers at an offset, as ``rebuildProducerState`` does."""
        # ``upgrade``: a log without any snapshot is taken for one of an older release.
        profile = self._settings.profile
        marked = [segment.base_offset for segment in segments[-2:]]
        if upgrade and not self._snapshots:
            producers = _Producers(ProducerState(profile))
            for producers.end in (*marked, offset):
                self._take_snapshot(producers)
            return producers
        for taken in [item for item in self._snapshots if item > offset or item <= start]:
            del self._snapshots[taken]
        producers = (
            self._of_snapshot(start) if offset else _Producers(ProducerState(profile), start)
        )
        if offset > 0 and producers.end < offset:
            bases = [segment.base_offset for segment in segments]
            first = max((base for base in bases if base <= producers.end), default=producers.end)
            floor = max((base for base in bases if base <= offset), default=None)
            for segment in segments:
                base = segment.base_offset
                if not first <= base < offset:
                    continue
                producers.end = max(base, producers.end, start)
                if base in marked:
                    self._take_snapshot(producers)
                stop = segment.search(offset) if base == floor else None
                begin = segment.search(producers.end)
                if begin is not None:
                    until = segment.end if stop is None else stop
                    for headers, number, last in segment.entries(begin, until):
                        replay(producers.state, headers, number, last)
        producers.end = offset
        self._take_snapshot(producers)
        return producers

    def _of_snapshot(self, start: int) -> _Producers:
        """Return the state in the newest snapshot that can be read."""
        profile = self._settings.profile
        while self._snapshots:
            newest = max(self._snapshots)
            entries = self._entries(newest)
            if entries is not None:
                kept = [entry for entry in entries if not self._is_expired(entry)]
                return _Producers(ProducerState(profile, kept), newest, newest)
            del self._snapshots[newest]
        return _Producers(ProducerState(profile), start, start)

    def _entries(self, offset: int) -> Sequence[ProducerEntry] | None:
        """Return the entries of the snapshot at an offset; None for one that cannot be read."""
        found = self._snapshots.get(offset)
        return read_snapshot(found) if isinstance(found, Path) else found

    def _is_expired(self, entry: ProducerEntry) -> bool:
        if self._now is None or entry.current_txn_first_offset >= 0:
            return False
        idle = self._now - entry.timestamp
        return PRODUCER_EXPIRATION_MS <= idle < 1 << 63  # Java's subtraction overflows

    def _take_snapshot(self, producers: _Producers) -> None:
        """Keep the state of producers, as a broker does in a file."""
        # Only the last two are kept. The next segment begins with the newest one. If that one lies
        # after a segment that ends before the next one begins, the broker removes it as stray, and
        # reads the one before it, at the base of the segment.
        if producers.end > producers.snapshot:
            producers.snapshot = producers.end
            self._snapshots[producers.end] = producers.state.entries
            self._taken = [item for item in self._taken if item != producers.end] + [producers.end]
            for offset in self._taken[:-_KEPT]:
                self._snapshots.pop(offset, None)
            del self._taken[:-_KEPT]


def list_segments(
    segments: Sequence[tuple[int, Path]],
    snapshots: Snapshots,
    *,
    codec: Codec | None = None,
    by_first: bool = True,
) -> list[LoadedSegment]:
    """Return the segments of a partition before a broker loads them.

    Args:
        segments: base offsets and paths, in order.
        snapshots: the producer snapshots beside them.
    """
    offsets = sorted(snapshots)
    bases: list[int | None] = [base for base, _ in segments[1:]]
    loaded = []
    for (base, path), following in zip(segments, [*bases, None], strict=True):
        stop = None if following is None else bisect_left(offsets, following)
        within = offsets[bisect_right(offsets, base) : stop]
        loaded.append(LoadedSegment(path, base, 0, following, within, codec, by_first))
    return loaded


def replay(state: ProducerState, headers: HeaderTable, first: int, last: int) -> None:
    """Add entries to the state of producers, as a broker does that reads a log when it starts.

    Raises:
        KafkaSpecError: the broker fails at one of them.
    """
    found = recovery.unreadable_marker(headers, last)
    if found is not None:
        raise found[1]
    state.replay(headers, first, last)
    if state.refused is not None:
        raise refused_entry(headers, *state.refused)


class _EndedError(Exception):
    """Loading ended."""


_ENDS: Final = (Recovery.CUTS, Recovery.EMPTIES)
