"""``verify --state``: what is remembered of partitions, so that only what is new is read.

Findings of a segment depend on the segments before it, by the state of producers and of offsets.
That state is kept before and after the last segment alone. So the segments of a partition are kept
as they are up to its last one, which is read on or again; if another one has changed, the partition
is read again. Segments that retention has deleted at the start change nothing.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from kafkaspec.analysis import files
from kafkaspec.analysis.broker_start import BrokerStart
from kafkaspec.analysis.changes import BytesCheck, FileStamp, SegmentChange, change_of, stamp_of
from kafkaspec.analysis.check_order import LogOrder, OrderState
from kafkaspec.analysis.check_producers import ProducerWalk, check_producers
from kafkaspec.analysis.findings import Area, Finding, Place
from kafkaspec.analysis.parts import WHOLE, BatchSpan, PartSurvey, Settled
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.analysis.report import FileKind, FileResult
from kafkaspec.analysis.state_file import StateStore, read_state, state_lines
from kafkaspec.analysis.state_memory import LogMemory, ProducersMemory, SegmentMemory, StoredLog
from kafkaspec.analysis.text_checks import add_to_runs
from kafkaspec.analysis.tree import differences
from kafkaspec.analysis.watch import SegmentWatch
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files import names
from kafkaspec.log.batch import Batch, stored_offset
from kafkaspec.log.segment import Segment
from kafkaspec.results import OffsetRange
from kafkaspec.shown import some_of

_SAVED_EVERY: Final = 10.0
"""Seconds after which what is remembered is saved while a run goes on."""

_AT_THE_END: Final = (
    R.TORN_TAIL, R.ZERO_TAIL, R.SHORT_TAIL, R.INDEX_UNCHECKED, R.MISSING_INDEX
)  # fmt: skip
"""Findings that do not depend on the batches: a segment with no others can be read on."""

_BY_ORDER: Final = frozenset({
    R.OFFSET_ORDER, R.LEADER_EPOCH_ORDER, R.SEQUENCE_ORDER, R.SEQUENCE_GAP, R.PRODUCER_EPOCH_ORDER,
    R.TRANSACTION_STATE, R.TRANSACTION_RANGE, R.TRANSACTION_MISSING, R.TRANSACTION_MARKER,
})  # fmt: skip
"""Findings that may be other ones without the segments before."""

_SAME_FILE: Final = (SegmentChange.UNCHANGED, SegmentChange.GROWN, SegmentChange.INDEX)
"""Changes after which the bytes that were read before are still those of the file."""

_TOLD: Final = {
    SegmentChange.TRUNCATED: "truncated: the same file is shorter",
    SegmentChange.REWRITTEN: "rewritten: the same file was written to before its end",
    SegmentChange.CLEANED: "cleaned: another file, which is smaller",
    SegmentChange.REPLACED: "replaced: another file",
    SegmentChange.RESTORED: "restored: a file that is older than the one that was read",
    SegmentChange.INDEX: "index: its indexes are other ones",
}
"""Changes with a finding each; the usual ones are only counted."""


@dataclass(slots=True)
class Memory:
    """The memory of runs of ``verify``, and what this one made of it.

    Attributes:
        options: those that change what is found, by name.
        logs: what is remembered, by absolute path of the partition.
        changes: number of segments by what they are now.
        bytes_read: bytes of segments that were read.
        reread: segments to read again though they are unchanged, by partition.
        store: where it is saved, None if it is not.
        saved: when, by the clock of ``time.monotonic``.
        is_saved: whether the store has all of it.
        current: the partition that is read now.
    """

    options: dict[str, str] = field(default_factory=dict)
    logs: dict[str, StoredLog] = field(default_factory=dict)
    changes: Counter[SegmentChange] = field(default_factory=Counter)
    bytes_read: int = 0
    reread: dict[str, set[str]] = field(default_factory=dict)
    store: StateStore | None = None
    saved: float = field(default_factory=time.monotonic)
    is_saved: bool = False
    current: Recall | None = None

    @classmethod
    def of_store(
        cls,
        store: StateStore,
        options: Mapping[str, str],
        *,
        start_over: bool = False,
        reread: float = 0,
    ) -> Memory:
        """Return what a state remembers; nothing if there is none yet.

        Args:
            options: those of this run.
            start_over: whether to forget what the state has.
            reread: share of the bytes to read again, those first that were not read for longest.

        Raises:
            KafkaSpecError: the state cannot be read, or is of a run with other options.
        """
        memory = cls(dict(options), store=store)
        state = None if start_over else read_state(store)
        if state is None:
            return memory
        known, logs = state
        for name in sorted({*known, *options}):
            if known.get(name) != options.get(name):
                text = f"it is of runs with {name} {known.get(name)}, and this one has "
                text += f"{options.get(name)}: take the same, another file, or start over"
                raise make_error(
                    Reason.INVALID_VALUE, text, file=store.place, offset=0, path=f"/{name}"
                )
        memory.logs = {log.path: log for log in logs}
        memory.is_saved = True
        if reread:
            memory._choose(reread)
        return memory

    def _choose(self, share: float) -> None:
        """Choose what is read again."""
        known = [
            (read, log.path, name, size)
            for log in self.logs.values()
            for rows in (log.read().segments,)
            for read, name, size in zip(rows.read, rows.names, rows.sizes, strict=True)
        ]
        left = share * sum(size for *_, size in known)
        for _, path, name, size in sorted(known):
            if left <= 0:
                break
            self.reread.setdefault(path, set()).add(name)
            left -= size

    @property
    def all_read_since(self) -> float | None:
        """When the segment was read that was not read for longest, in s; None without any."""
        known = (log.oldest() for log in self.logs.values())
        found = min((time for time in known if time is not None), default=None)
        return None if found is None else found / 1000

    def as_dict(self) -> dict[str, Any]:
        """Return what this run has read, for a summary."""
        return {
            "bytes_read": self.bytes_read,
            "segments": {str(change): count for change, count in self.changes.items()},
            "all_read_since_timestamp_seconds": self.all_read_since,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Save what was read, after an error too."""
        self.save()

    def of(self, directory: files.Directory) -> Recall | None:
        """Return what to do in a directory; None if it is not remembered."""
        if not directory.of(FileKind.SEGMENT) or type(directory.path) is not type(Path()):
            return None
        return Recall(self, directory)

    def is_same(self, directory: files.Directory) -> bool:
        """Return whether no segment of a directory has to be read."""
        recall = self.of(directory)
        return recall is not None and recall.is_same

    def part(self, directories: Iterable[files.Directory]) -> Memory:
        """Return what another process needs for some directories."""
        paths = [os.path.abspath(directory.path) for directory in directories]
        logs = {path: self.logs[path] for path in paths if path in self.logs}
        again = {path: self.reread[path] for path in paths if path in self.reread}
        return Memory(self.options, logs, reread=again)

    def join(self, other: Memory) -> None:
        """Take over what another process made of its part."""
        self.logs |= other.logs
        self.changes.update(other.changes)
        self.bytes_read += other.bytes_read
        self.is_saved = False
        self.save_if_due()

    def forget(self, path: Path, there: Iterable[files.Directory]) -> Iterator[Finding]:
        """Forget the partitions of a log directory that are gone, and report them."""
        home = os.path.abspath(path)
        known = {os.path.abspath(directory.path) for directory in there}
        gone = [
            log for log in self.logs.values()
            if log.path not in known and home in (log.path, os.path.dirname(log.path))
        ]  # fmt: skip
        self.is_saved &= not gone
        for log in gone:
            count = len(self.logs.pop(log.path).read().segments)
            self.changes[SegmentChange.DELETED] += count
            shown = os.path.join(path, os.path.basename(log.path))
            text = f"since the last run: deleted: the partition with {count} segments"
            yield Place(shown, Area.FILES).info(R.CHANGED_SINCE, text)

    def save(self) -> None:
        """Save it.

        Raises:
            KafkaSpecError: ``unreadable``: the state cannot be written.
        """
        if self.current is not None:
            self.current.put()
        if self.store is not None and not self.is_saved:
            self.store.write(state_lines(self.options, self.logs.values()))
            self.saved, self.is_saved = time.monotonic(), True

    def save_if_due(self) -> None:
        """Save it if that was some seconds ago."""
        if time.monotonic() - self.saved >= _SAVED_EVERY:
            self.save()


class Recall:
    """The plan for the segments of one directory, and what to remember of them.

    Attributes:
        findings: what happened to them since the last run.
        to_reread: numbers of segments to read again to see whether they are still what was read.
        is_same: whether none has to be read.
    """

    def __init__(self, memory: Memory, directory: files.Directory) -> None:
        self._memory = memory
        self._path = directory.path
        key = os.path.abspath(directory.path)
        self._old = memory.logs[key].read() if key in memory.logs else LogMemory(key)
        self._new = LogMemory(key)
        self._is_other = bool(memory.reread)
        self._stamps = {path.name: _stamps(path) for path in directory.of(FileKind.SEGMENT)}
        self._snapshots = {
            path.name: stamp
            for path in directory.of(FileKind.PRODUCER_SNAPSHOT)
            if (stamp := stamp_of(path)) is not None
        }
        self._changes: dict[str, SegmentChange] = {}
        self._kept: dict[str, int] = {}
        self._on: SegmentMemory | None = None
        self._state = self._old.after
        self._came_to: OrderState | None = None
        self._again = False
        self.findings: list[Finding] = []
        self.missing: tuple[int | None, list[Finding]] = (None, [])
        again = memory.reread.get(key, ())
        self._plan(again)
        self.to_reread = [number for name, number in self._kept.items() if name in again]
        self.is_same = len(self._kept) == len(self._stamps) and not self.to_reread

    # -- the plan ------------------------------------------------------------------------------

    def _plan(self, again: Container[str]) -> None:
        """Decide what is kept, and where the last segment is read on.

        Args:
            again: segments that are not read on.
        """
        rows = self._old.segments
        old = {name: number for number, name in enumerate(rows.names)}
        self._changes = {
            name: self._change(old.get(name), stamps) for name, stamps in self._stamps.items()
        }
        gone = [name for name in old if name not in self._stamps]
        self._changes |= dict.fromkeys(gone, SegmentChange.DELETED)
        self.at_rest = {
            name: [item for item in rows.findings(old[name]) if item.reason is R.DAMAGE_AT_REST]
            for name, change in self._changes.items()
            if change in _SAME_FILE and rows.has_findings(old[name])
        }
        for name, change in self._changes.items():
            if change in _TOLD:
                place = Place(os.fspath(self._path / name), Area.FILES)
                text = f"since the last run: {_TOLD[change]}"
                self.findings.append(place.info(R.CHANGED_SINCE, text))
        if gone:
            text = f"since the last run: deleted: {some_of(gone)}"
            place = Place(os.fspath(self._path), Area.FILES)
            self.findings.append(place.info(R.CHANGED_SINCE, text))
        if len(gone) == len(rows) or not self._follows(gone):
            return
        rows = self._old.segments
        *before, last = rows.names
        if any(self._changes[name] is not SegmentChange.UNCHANGED for name in before):
            return
        self._kept = {name: number for number, name in enumerate(before)}
        change, number = self._changes[last], len(before)
        is_last = last == next(reversed(self._stamps))
        if change is SegmentChange.UNCHANGED and (is_last or not rows.has_findings(number)):
            self._kept[last] = number
            return
        segment = rows[number]
        if (
            all(item.reason in _AT_THE_END for item in segment.done.findings)
            and change in _SAME_FILE
            and last not in again
            and _same_bytes(self._path, segment)
        ):
            self._on, self._state = segment, self._old.before
        else:
            self._again, self._state = True, self._old.before

    def _change(self, number: int | None, stamps: dict[str, FileStamp]) -> SegmentChange:
        """Return what happened to a segment with its indexes."""
        if number is None:
            return SegmentChange.NEW
        rows = self._old.segments
        files = rows.stamps(number)
        if files == stamps:
            return SegmentChange.UNCHANGED
        name = rows.names[number]
        change = change_of(files[name], stamps.get(name))
        if change is SegmentChange.GROWN and not _holds(self._path, rows[number], name):
            return SegmentChange.REWRITTEN
        return SegmentChange.INDEX if change is SegmentChange.UNCHANGED else change

    def _follows(self, gone: list[str]) -> bool:
        """Return whether what is left is what a log has that began later, and keep that alone."""
        if not gone:
            return True
        rows = self._old.segments.part(len(gone), len(self._old.segments))
        first = names.parse_segment(rows.names[0])
        if first is None or gone != self._old.segments.names[: len(gone)]:
            return False
        found = chain.from_iterable(map(rows.findings, range(len(rows))))
        if any(item.reason in _BY_ORDER for item in found):
            return False
        states = [each.without_before(first.base_offset)
                  for each in (self._old.before, self._old.after)]  # fmt: skip
        before, after = states
        if before is None or after is None:
            return False
        self._old = replace(self._old, segments=rows, before=before, after=after)
        self._is_other = True
        self._state = after
        return True

    @property
    def after(self) -> OrderState:
        """The state after the last segment that was read."""
        return self._old.after

    # -- damage at rest ----------------------------------------------------------------------

    def path(self, number: int) -> Path:
        """Return the path of a segment that is remembered."""
        return self._path / self._old.segments.names[number]

    def reread(self, number: int, watch: SegmentWatch) -> None:
        """Compare a segment that was read again with what is remembered of it.

        If they differ, all of the partition is read.
        """
        segment = self._old.segments[number]
        when = _day(segment.read)
        self.count(segment.files[segment.name].size)
        found = [
            Place(name, Area.FILES).error(R.DAMAGE_AT_REST, f"{_OTHERS}{when}{_SAME}")
            for name in segment.files
            if name != segment.name and not _holds(self._path, segment, name)
        ]
        for item in differences([segment.watch.tree], [watch.tree]):
            found.append(_damage(self._path, segment, item.offsets))
        if found:
            self.at_rest.setdefault(segment.name, []).extend(found)
            self._kept, self._on, self._again = {}, None, False
            self._state = OrderState()
        self._old.segments.read[number] = int(time.time() * 1000)

    # -- segments --------------------------------------------------------------------------------

    def begin(self, order: LogOrder) -> Iterator[Finding]:
        """Yield what happened to the segments, and count it."""
        self._memory.changes.update(self._changes.values())
        self._new.segments = self._old.segments.part(0, len(self._kept))
        self._is_other |= len(self._kept) != len(self._old.segments)
        self._new.before, self._new.after = self._old.before, self._state
        self._memory.current = self
        if not self._kept:
            self._restore(order)
        yield from self.findings

    def _restore(self, order: LogOrder) -> None:
        """Give the order what the segments before the first one to read have left."""
        if self._on is not None or self._again or self._kept:
            order.restore(self._state)

    def kept(self, path: Path, order: LogOrder) -> Settled | None:
        """Return what is remembered of a segment that is not read; None for any other."""
        number = self._kept.get(path.name)
        if number is None:
            return None
        if number == len(self._kept) - 1:
            self._restore(order)
        return self._old.segments.done(number, os.fspath(self._path))

    def reading(self, path: Path, order: LogOrder) -> SegmentReading:
        """Return what notes a segment that is read."""
        on = self._on if self._on is not None and self._on.name == path.name else None
        return SegmentReading(self, path, order, on, self._stamps[path.name])

    def note(self, segment: SegmentMemory, order: LogOrder) -> None:
        """Remember a segment that was read, and the state after it."""
        self._new.segments.append(segment)
        self._is_other = True
        if self._came_to is not None:
            self._new.before, self._came_to = self._came_to, None
        self._new.after = order.state()
        self._memory.save_if_due()

    def end(self) -> None:
        """Put what is remembered in the place of what was."""
        self.put()
        self._memory.current = None

    def put(self) -> None:
        """Put what is remembered by now in the place of what was."""
        if self._is_other:
            self._memory.is_saved = False
            self._memory.logs[self._new.path] = StoredLog.of(self._new)

    def came_to(self, order: LogOrder) -> None:
        """Note the state before a segment that is read whole."""
        self._came_to = order.state()

    def missing_in(self, path: Path, following: int | None) -> Iterable[Finding] | None:
        """Return what is missing in and after a segment that is not read; None if not known.

        Args:
            following: base offset of the next segment. After the last one, the checkpoints of the
                broker say what is missing, so that is not known.
        """
        number, rows = self._kept.get(path.name), self._old.segments
        if number is None or following is None or following != rows.following[number]:
            return None
        return (_placed(self._path, item) for item in rows.missing(number))

    def note_missing(self, path: Path, following: int | None, found: Sequence[Finding]) -> None:
        """Remember what is missing in and after a segment, or that nothing is."""
        missing = [_named(item) for item in found]
        number = self._kept.get(path.name)
        if number is not None:
            self._is_other |= self._new.segments.note_missing(number, following, missing)
        self.missing = following, missing

    def count(self, size: int) -> None:
        """Count bytes that are read."""
        self._memory.bytes_read += size

    # -- producer snapshots ------------------------------------------------------------------------

    def producers(self, start: BrokerStart, *, has_producers: bool) -> Iterator[Finding]:
        """Check producer snapshots as ``check_producers`` does, from where an earlier run ended."""
        known = self._old.producers
        clean = start.stopped_cleanly
        same_log = (
            len(self._kept) == len(self._stamps)
            and SegmentChange.DELETED not in self._changes.values()
        )
        if known is not None and same_log and known.stopped_cleanly == clean and (
            known.snapshots == self._snapshots
        ):  # fmt: skip
            self._new.producers = known
            yield from (_placed(self._path, item) for item in known.findings)
            return
        self._is_other = True
        walks: list[ProducerWalk] = []
        earlier = self._earlier_walk(start)
        found = []
        for item in check_producers(
            start, has_producers=has_producers, earlier=earlier, ended=walks.append
        ):
            found.append(_named(item))
            yield item
        walk = walks[0] if walks and not found else None
        self._new.producers = ProducersMemory(self._snapshots, clean, found, walk)

    def _earlier_walk(self, start: BrokerStart) -> ProducerWalk | None:
        """Return where an earlier check ended, if what it has checked is the same."""
        known = self._old.producers
        walk = None if known is None else known.walk
        if known is None or walk is None or not (self._kept or self._on is not None) or self._again:
            return None
        if walk.segment not in self._stamps:
            return None
        old = {offset: path.name for offset, path in start.snapshots.items() if offset < walk.end}
        if any(known.snapshots.get(name) != self._snapshots.get(name) for name in old.values()):
            return None
        if SegmentChange.DELETED not in self._changes.values() or start.log is None:
            return walk
        begin = start.log.base_offsets[0]
        index = [item for item in walk.entries if max(item[_LAST], item[_TRANSACTION]) >= begin]
        return replace(walk, whole=False, entries=index)


_LAST, _TRANSACTION = (
    ProducerWalk.NAMES.index(name) for name in ("last_offset", "current_txn_first_offset")
)


class SegmentReading:
    """The reading of one segment.

    Attributes:
        watch: what the verifier notes.
        span: the part of the segment that is read.
        before: what the batches before that part have left, None if there are none.
        known: what an earlier run counted there, None if there is nothing before.
    """

    def __init__(
        self,
        recall: Recall,
        path: Path,
        order: LogOrder,
        on: SegmentMemory | None,
        stamps: dict[str, FileStamp],
    ) -> None:
        self._recall, self._path, self._order, self._stamps = recall, path, order, stamps
        self.watch = SegmentWatch.from_start()
        self.span = WHOLE
        self.before: PartSurvey | None = None
        self.known: FileResult | None = None
        self._own: list[Finding] = []
        if on is not None:
            order.restore(recall.after)
            old = on.watch
            self.span, self.before = BatchSpan(old.end), old.survey
            counted = next(item for item in on.done.results if item.file == path.name)
            self.known = _placed_result(path.parent, counted)
            epochs = [replace(run) for run in old.epochs]
            survey = replace(old.survey, numbers=Counter(old.survey.numbers))
            self.watch = SegmentWatch(old.tree.copy(), survey, epochs, old.last, old.end)
            for run in epochs:
                add_to_runs(order.epochs, run.epoch, run.base_offset, run.last_offset)
        else:
            recall.came_to(order)

    def producers(self, start: BrokerStart, *, has_producers: bool) -> Iterator[Finding]:
        """Check the producer snapshots; the findings are not those of the segment."""
        for item in self._recall.producers(start, has_producers=has_producers):
            self._own.append(item)
            yield item

    def noted(self, events: Iterable[Finding | FileResult]) -> Iterator[Finding | FileResult]:
        """Yield the events of the segment, and remember them at the end.

        Damage at rest that an earlier run has found is still there.
        """
        began = time.time()
        self._recall.missing = None, []
        done = Settled()
        start = self.watch.end
        at_rest = self._recall.at_rest.get(self._path.name, ())
        for event in chain((_placed(self._path.parent, item) for item in at_rest), events):
            if not any(event is item for item in self._own):
                done.take(_named(event))
            yield event
        done.last_offset, done.epochs = self._order.last_offset, self.watch.epochs
        size = next((item.size for item in done.results if item.file == self._path.name), 0)
        self._recall.count(size - start)
        if any(item.reason in (R.UNREADABLE, R.CHANGED) for item in done.findings):
            return
        checks = {}
        with suppress(OSError):
            checks[self._path.name] = BytesCheck.of(self._path, self.watch.last, self.watch.end)
            for name in self._stamps:
                if name != self._path.name:
                    checks[name] = BytesCheck.of(self._path.with_name(name), 0)
        memory = SegmentMemory(
            self._path.name,
            self._stamps,
            checks,
            self.watch,
            done,
            int(began * 1000),
            *self._recall.missing,
        )
        self._recall.note(memory, self._order)


_OTHERS: Final = "other bytes than those that were read "
_SAME: Final = ", though size, time and inode of the file are the same"


def _day(ms: int) -> str:
    return f"at {datetime.fromtimestamp(ms // 1000, UTC).isoformat()}"


def _damage(directory: Path, segment: SegmentMemory, offsets: OffsetRange) -> Finding:
    """Return the finding about a range of offsets whose batches are other ones."""
    tree = segment.watch.tree
    last = segment.watch.survey.highest_last + 1
    reach = last if offsets.end is None else max(offsets.start + 1, min(offsets.end, last))
    sizes = sorted((number << tree.level, leaf.size) for number, leaf in tree.leaves.items())
    start = sum(size for first, size in sizes if first < offsets.start)
    end = sum(size for first, size in sizes if first < reach)
    offsets = OffsetRange(_first_offset(directory / segment.name, start, offsets.start), reach)
    text = f"offsets {offsets.start} to {reach - 1}, bytes {start} to {end - 1}: "
    text += f"{_OTHERS}{_day(segment.read)}{_SAME}"
    place = Place(segment.name, Area.FILES, start, offsets.start)
    return place.error(R.DAMAGE_AT_REST, text, offsets=offsets)


def _first_offset(path: Path, position: int, offset: int) -> int:
    """Return the first offset of the batch at a position, which may be before that of its leaf."""
    with suppress(KafkaSpecError), Segment(path) as segment:
        for item in segment.scan(position):
            return min(offset, max(0, stored_offset(item))) if isinstance(item, Batch) else offset
    return offset


def _stamps(path: Path) -> dict[str, FileStamp]:
    """Return the stamps of a segment and its indexes; the segment comes first."""
    own, directory = path.name, os.path.dirname(path)
    name = names.parse_segment(own)
    siblings = () if name is None else map(name.sibling, _BESIDE)
    found = {each: stamp_of(os.path.join(directory, each)) for each in (own, *siblings)}
    return {each: stamp for each, stamp in found.items() if stamp is not None}


_BESIDE: Final = (*names.INDEXES, names.TRANSACTION_INDEX)


def _same_bytes(path: Path, old: SegmentMemory) -> bool:
    """Return whether a segment and its indexes are what they were, up to where it was read."""
    own = old.checks.get(old.name)
    is_last = own is not None and (own.start, own.end) == (old.watch.last, old.watch.end)
    return is_last and all(_holds(path, old, name) for name in old.files)


def _holds(path: Path, old: SegmentMemory, name: str) -> bool:
    check = old.checks.get(name)
    return check is not None and check.holds(path / name)


Event = TypeVar("Event", bound=Finding | FileResult)


def _named(event: Event) -> Event:
    """Return an event with the name of its file instead of the path."""
    return replace(event, file=os.path.basename(event.file))


def _placed(path: Path, found: Finding) -> Finding:
    return replace(found, file=os.path.join(path, found.file))


def _placed_result(path: Path, found: FileResult) -> FileResult:
    return replace(
        found,
        file=os.path.join(path, found.file),
        partition=os.fspath(path),
        magics=Counter(found.magics),
        codecs=Counter(found.codecs),
        findings=Counter(),
    )
