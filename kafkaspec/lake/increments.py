"""Find what is new in logs, and divide it into increments by what a lake has read of them.

Whether a log is still the one that was read, and what it has lost, is decided where the stream
source of Spark asks too: ``kafkaspec.log.continuity`` and ``kafkaspec.log.missing``.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePath
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.errors import KafkaSpecError, Reason, unreadable
from kafkaspec.files.names import is_topic, parse_segment
from kafkaspec.io.remote import RemotePath, address, is_mounted
from kafkaspec.lake.results import LakeLoss
from kafkaspec.lake.schema import PROGRESS_SCHEMA
from kafkaspec.lake.units import LakeUnit, parts_of
from kafkaspec.log.batch import NONE
from kafkaspec.log.continuity import EpochFiles, Reached, continued, gone, last_sound
from kafkaspec.log.listed import SegmentFile, TopicLog, delivers_all, missing_in
from kafkaspec.log.segment import Segment
from kafkaspec.policy import OnLoss
from kafkaspec.results import OffsetRange
from kafkaspec.shown import some_of

LakePlace = tuple[str, int]
"""A topic-partition."""

REQUESTS: Final = 32
"""Logs in a store whose ends are read at the same time: each waits for its requests."""
_TOGETHER: Final = 1000
"""Segments of a log in a store whose ends one thread reads."""
_STATE: Final = ("generation", "next_offset", "leader_epoch", "topic_id", "file", "size")
_COUNTS: Final = ("batches", "rows", "dead")


class LakePlanner(Protocol):
    """Calls a function of a module on units, in one call or in many of some units each.

    ``sizes`` are numbers of files that each unit reads from.
    """

    def __call__(
        self,
        function: Callable[[Sequence[Any]], Sequence[Any]],
        units: Sequence[Any],
        sizes: Sequence[int],
        /,
    ) -> Iterable[Any]:
        """Return the results in the order of the units."""


class LakeLossError(KafkaSpecError):
    """A log does not go on where the lake has read to; nothing was written."""


@dataclass(frozen=True, slots=True)
class LakeState:
    """The part of a partition that a lake has: its last row of ``progress``."""

    generation: int
    next_offset: int
    leader_epoch: int
    topic_id: str | None
    file: str | None
    size: int


@dataclass(frozen=True, slots=True)
class NewSegment:
    """A segment, or the part of one, that no increment has read.

    Attributes:
        unit: what a task reads.
        size: bytes to read.
        next_offset: the offset after it; None if its reader finds that out.
        epoch: the leader epoch before it, -1 if none is known.
        lost: number of offsets that are lost before its end.
    """

    unit: LakeUnit
    size: int
    next_offset: int | None
    epoch: int = NONE
    lost: int = 0

    def parts(self, target: int) -> list[NewSegment]:
        """Cut it into parts of about so many bytes; the last one ends as this does."""
        *others, last = parts_of(self.unit, self.size, target)
        made = [replace(self, unit=unit, size=size, lost=0) for unit, size in others]
        return [*made, replace(self, unit=last[0], size=last[1])]


@dataclass(frozen=True, slots=True)
class Increment:
    """The part of what is new that goes into the tables by one commit.

    Attributes:
        segments: in the order of their offsets, partition by partition.
        losses: what is lost in it.
        left: number of further segments that can be read now.
        active: bytes of segments to which a broker may still write, left out.
    """

    segments: tuple[NewSegment, ...] = ()
    losses: tuple[LakeLoss, ...] = ()
    left: int = 0
    active: int = 0

    @property
    def size(self) -> int:
        """Bytes to read."""
        return sum(item.size for item in self.segments)


def states_of(progress: Iterable[pa.RecordBatch]) -> dict[LakePlace, LakeState]:
    """Return the state of each partition by the rows of ``progress``."""
    names = ["topic", "partition", "epoch", *_STATE]
    schema = pa.schema([PROGRESS_SCHEMA.field(name) for name in names])
    table = pa.Table.from_batches((batch.select(names) for batch in progress), schema)
    options = pc.ScalarAggregateOptions(skip_nulls=False)
    last = table.sort_by("epoch").group_by(names[:2], use_threads=False)
    rows = last.aggregate([(name, "last", options) for name in _STATE])
    return {
        (row["topic"], row["partition"]): LakeState(*(row[f"{name}_last"] for name in _STATE))
        for row in rows.to_pylist()
    }


def progress_of(
    segments: Sequence[NewSegment], results: Sequence[Mapping[str, Any]], epoch: int
) -> pa.RecordBatch:
    """Return the rows of ``progress`` of an increment: one for each partition.

    What a segment could have had before the next one begins is read, whether or not compaction has
    left it, so that its part of the log is done.

    Args:
        segments: of the increment.
        results: the row of progress of each, as its task says.
        epoch: number of the increment.
    """
    rows: dict[LakePlace, dict[str, Any]] = {}
    for item, result in zip(segments, results, strict=True):
        unit = item.unit
        start: dict[str, Any] = {"leader_epoch": item.epoch, "lost": 0, "next_offset": 0}
        row = rows.setdefault((unit.topic, unit.partition), start | dict.fromkeys(_COUNTS, 0))
        end = result["next_offset"] if item.next_offset is None else item.next_offset
        reached = (row["next_offset"], end, unit.start_offset)
        known = result["leader_epoch"]
        rows[unit.topic, unit.partition] = {
            **result,
            **{name: row[name] + result[name] for name in _COUNTS},
            "epoch": epoch,
            "leader_epoch": row["leader_epoch"] if known == NONE else known,
            "lost": row["lost"] + item.lost,
            "size": unit.start + item.size,
            "next_offset": max(offset for offset in reached if offset is not None),
        }
    return pa.RecordBatch.from_pylist(list(rows.values()), PROGRESS_SCHEMA)


def by_place(logs: Iterable[TopicLog]) -> dict[LakePlace, TopicLog]:
    """Return logs by topic and partition.

    Raises:
        KafkaSpecError: ``unreadable``: one has neither, Kafka allows no topic of its name, or two
            are of one topic-partition.
    """
    found: dict[LakePlace, TopicLog] = {}
    for log in logs:
        if log.topic is None or log.partition is None:
            detail = "a lake has rows by topic and partition: name directories of partitions"
            raise unreadable(str(log.directory), detail)
        if not is_topic(log.topic):  # names of directories and tables are made of it
            raise unreadable(str(log.directory), f"Kafka allows no topic of the name {log.topic!r}")
        other = found.setdefault((log.topic, log.partition), log)
        if other is not log:
            detail = f"{log} is in {other.directory} too; name one of them"
            raise unreadable(str(log.directory), detail)
    return found


def planned_here(
    function: Callable[[Sequence[Any]], Sequence[Any]], units: Sequence[Any], _: Sequence[int]
) -> Iterable[Any]:
    """Plan in this process: see ``LakePlanner``."""
    return function(units)


def plan_increment(
    logs: Iterable[TopicLog],
    states: Mapping[LakePlace, LakeState],
    *,
    on_loss: OnLoss = "stop",
    active: bool = False,
    most: int | None = None,
    until: Mapping[LakePlace, int] | None = None,
    planner: LakePlanner = planned_here,
    losses: bool = True,
) -> Increment:
    """Return the next increment of logs.

    Args:
        logs: as they were listed now, from their first segments.
        states: what the lake has.
        on_loss: whether a loss ends the job, or is counted.
        active: whether segments to which a broker may still write are read too, up to their last
            sound batches.
        most: number of segments.
        until: offsets that are the first not to read, by topic-partition: others are not read.
        planner: reads what the listing does not say.
        losses: whether to look for what is lost, which reads the end of each segment.

    Raises:
        LakeLossError: ``changed``: something is lost, and ``on_loss`` is ``stop``. A damaged end of
            a segment is not a reason to stop.
        KafkaSpecError: ``unreadable``.
    """
    found = [
        LogNews(log, states.get(place), active=active or until is not None,
                until=None if until is None else until[place], looks=losses)
        for place, log in sorted(by_place(logs).items()) if until is None or place in until
    ]  # fmt: skip
    unsure = [number for number, news in enumerate(found) if not news.is_listed]
    looked = planner(look_at, [found[number] for number in unsure], [1] * len(unsure))
    for number, news in zip(unsure, looked, strict=True):
        found[number] = news
    segments: list[NewSegment] = []
    queue = deque(news for news in found if news.unread)
    while queue and (most is None or len(segments) < most):
        room = sys.maxsize if most is None else most - len(segments)
        chosen: list[LogNews] = []
        while queue and room:
            chosen.append(queue.popleft())
            chosen[-1].take(room)
            room -= len(chosen[-1].taken)
        made = planner(read_ends, chosen, [len(news.taken) for news in chosen])
        for news, (items, lost) in zip(chosen, made, strict=True):
            segments += items
            news.losses += lost
    lost = [loss for news in found for loss in news.losses]
    fatal = [str(item) for item in lost if not item.is_damage]
    if fatal and on_loss == "stop":
        detail = f"{some_of(fatal)}. Nothing was written for it;"
        detail += " --on-loss continue goes on with what is there"
        raise LakeLossError(detail, reason=Reason.CHANGED)
    left = sum(len(news.unread) - len(news.taken) for news in found)
    return Increment(tuple(segments), tuple(lost), left, sum(news.active for news in found))


def look_at(found: Sequence[LogNews]) -> list[LogNews]:
    """Look at logs of which the listing does not say what is new."""
    with _each(found) as each:
        return list(each(LogNews.looked, found))


def read_ends(found: Sequence[LogNews]) -> list[tuple[list[NewSegment], list[LakeLoss]]]:
    """Return what is to be read of the segments that were taken, and what is lost there."""
    with _each(found) as each:
        made = list(each(LogNews.segments, found))
        parts = [(news, low, high) for news, items in zip(found, made, strict=True)
                 for low, high in news.ranges(items)]  # fmt: skip
        lost: dict[int, list[LakeLoss]] = {id(news): [] for news in found}
        for (news, _, _), more in zip(parts, each(_lost_in, parts), strict=True):
            lost[id(news)] += [loss for loss in more if loss not in lost[id(news)]]
    return [
        (_counted(items, [*news.losses, *lost[id(news)]]), lost[id(news)])
        for news, items in zip(found, made, strict=True)
    ]


def cut_segments(target: int, found: Sequence[NewSegment]) -> list[list[NewSegment]]:
    """Cut segments into parts of about so many bytes."""
    return [item.parts(target) for item in found]


def _lost_in(part: tuple[LogNews, int, int | None]) -> list[LakeLoss]:
    news, low, high = part
    return news.lost(low, high)


def _counted(items: list[NewSegment], losses: Iterable[LakeLoss]) -> list[NewSegment]:
    """Return segments with the number of offsets that are lost up to their end."""
    lost = sum((loss.offsets and loss.offsets.size) or 0 for loss in losses)
    return items[:-1] + [replace(item, lost=lost) for item in items[-1:]]


@contextmanager
def _each(found: Sequence[LogNews]) -> Iterator[Callable[..., Iterable[Any]]]:
    """Return ``map``, for a store one that waits for many requests at the same time."""
    if not any(isinstance(news.log.directory, RemotePath) for news in found):
        yield map
        return
    with ThreadPoolExecutor(REQUESTS) as pool:
        yield pool.map


class LogNews:
    """The part of a log that a lake does not have.

    Attributes:
        log: as it was listed.
        begin: the first offset that the lake does not have; None for all.
        generation: of the log.
        is_listed: whether the listing says what is new.
        unread: the segments with offsets that the lake does not have, as far as was looked.
        taken: those of them that are to be read now.
        losses: what is lost, as far as it was looked at.
        active: bytes of a segment to which a broker may still write, unless that was asked for.
    """

    def __init__(
        self,
        log: TopicLog,
        state: LakeState | None,
        *,
        active: bool,
        until: int | None = None,
        looks: bool = True,
    ) -> None:
        """Take what the listing says; see ``plan_increment``."""
        self.log = log
        self.begin = None if state is None else state.next_offset
        self.generation = 0 if state is None else state.generation
        self.losses: list[LakeLoss] = []
        self.active = 0
        self.unread: list[SegmentFile] = []
        self.taken: list[SegmentFile] = []
        self._state = state
        self._reads_active = active
        self._until = until
        self._looks = looks
        for item in log.segments:
            if item.base_offset is None:
                raise unreadable(str(item.path), "a segment of a lake has its offset in its name")
        self.is_listed = self._is_as_it_was()
        if self.is_listed:
            self._list()

    def _is_as_it_was(self) -> bool:
        """Return whether nothing is new, or only a segment begins where what was read ends."""
        state = self._state
        if state is None or not self.log.segments:
            return True
        last = self.log.segments[-1]
        if last.path.name == state.file:
            return last.size == state.size
        # If it is read, what is before it tells whether it is of the same log.
        is_read = self._reads(last) and last.size > 0
        return last.base_offset == state.next_offset and not is_read

    def looked(self) -> LogNews:
        """Return this after a look at whether the log is the one that was read."""
        state = self._state
        assert state is not None
        read = Reached(state.next_offset, state.leader_epoch, state.topic_id)
        end = self._end(self.log.segments[-1], state)
        found = continued(self.log, read, end, EpochFiles())
        if found.broken:
            self.losses.append(self._loss(found.broken))
            self.begin, self._state = found.offset, None
            self.generation += 1
        self._list()
        return self

    def _end(self, last: SegmentFile, state: LakeState) -> int:
        """Return an offset that the log reaches, the last one if it may be below what was read."""
        base = last.base_offset or 0
        return base if base > state.next_offset else max(base, _sound_end(last, state)[1])

    def _list(self) -> None:
        """List the segments with offsets that the lake does not have."""
        for item in self.log.segments:
            following = self._following(item)
            if following is not None:
                if self.begin is not None and following <= self.begin:
                    continue
            elif not self._reads(item):
                self.active += item.size - self._read_of(item)
                continue
            elif not self._grew(item):
                continue
            if self._until is None or (item.base_offset or 0) < self._until:
                self.unread.append(item)

    def take(self, room: int) -> None:
        """Take no more segments than there is room for."""
        self.taken = self.unread[:room]

    def _reads(self, last: SegmentFile) -> bool:
        """Return whether the last segment is read."""
        return is_mounted(last.path) or self._reads_active

    def _following(self, item: SegmentFile) -> int | None:
        """Return the offset at which the next segment of the directory begins; None for none.

        Remote storage may have the producer snapshot of that offset before it has that segment.
        """
        bases, base = self.log.opened.base_offsets, item.base_offset or 0
        at = bisect_right(bases, base)
        if at < len(bases):
            return bases[at]
        if is_mounted(item.path):
            for path in self.log.opened.snapshot_paths[-1:]:
                name = parse_segment(path.name)
                if name is not None and name.base_offset > base:
                    return name.base_offset
        return None

    def _grew(self, item: SegmentFile) -> bool:
        """Return whether the last segment has more than the lake."""
        if self.begin is None or (item.base_offset or 0) >= self.begin:
            return item.size > 0
        state = self._state
        if state is not None and item.path.name == state.file:
            return item.size > state.size
        return _sound_end(item, state)[1] > self.begin

    def segments(self) -> list[NewSegment]:
        """Return what is to be read of the segments that were taken."""
        made: list[NewSegment] = []
        until = self._until
        for item in self.taken:
            start, following, stop = self._start(item), self._following(item), None
            if (following is None and not is_mounted(item.path)) or (
                until is not None and following is not None and until < following
            ):
                stop, following = _sound_end(item, self._state, until)
            if stop is not None and stop <= start:
                continue
            size = (item.size if stop is None else stop) - start
            first = self.begin if self.begin and (item.base_offset or 0) < self.begin else None
            topic, partition = self._place
            unit = LakeUnit(
                path=address(item.path), topic=topic, partition=partition,
                topic_id=self.log.topic_id, generation=self.generation, start=start, end=stop,
                start_offset=first,
            )  # fmt: skip
            epoch = NONE if self._state is None else self._state.leader_epoch
            made.append(NewSegment(unit, size, following, epoch))
        return made

    def ranges(self, made: Sequence[NewSegment]) -> Iterator[tuple[int, int | None]]:
        """Yield ranges of offsets that together are what was made, to look for losses in each."""
        if not made or not self._looks:
            return
        waits = isinstance(self.log.directory, RemotePath)  # each range looks at the whole listing
        together = _TOGETHER if waits else len(self.taken)
        lows = [item.base_offset or 0 for item in self.taken[::together]]
        yield from pairwise([*lows, made[-1].next_offset])

    def lost(self, low: int, high: int | None) -> list[LakeLoss]:
        """Return what is lost between two offsets."""
        found: list[LakeLoss] = []
        if self.begin is not None:
            text = gone(self.log, self.begin)
            if text:
                found.append(self._loss(text, OffsetRange(self.begin, self.log.first_offset)))
            low = max(low, self.begin)
        lost = [
            item for item in missing_in(self.log, low, high, log_start=False)
            if item.is_loss and not delivers_all(item)
        ]  # fmt: skip
        segments = {each.path.name: each for each in self.taken if lost}
        for item in lost:
            segment = segments.get(PurePath(item.file).name)
            is_damage = segment is not None and _is_torn(segment)
            found.append(self._loss(str(item), item.lost, is_damage=is_damage))
        return found

    @property
    def _place(self) -> LakePlace:
        return self.log.topic or "", self.log.partition or 0

    def _loss(
        self, text: str, offsets: OffsetRange | None = None, *, is_damage: bool = False
    ) -> LakeLoss:
        return LakeLoss(*self._place, text, offsets, is_damage)

    def _read_of(self, item: SegmentFile) -> int:
        """Return the bytes of a segment that the lake has, if it has not been written again."""
        state = self._state
        is_it = state is not None and item.path.name == state.file and item.size >= state.size
        return state.size if state is not None and is_it else 0

    def _start(self, item: SegmentFile) -> int:
        """Return the byte offset at which what is new begins, as far as that is sure."""
        state, size = self._state, self._read_of(item)
        if state is None or size in (0, item.size):
            return size
        try:
            with Segment(item.path, mapped=False) as segment:
                batch = next(segment.batches(size), None)
                # Compaction writes other bytes under the same name.
                return size if batch is None or batch.base_offset >= state.next_offset else 0
        except KafkaSpecError:
            return 0  # the task finds the batch by its offset


def _is_torn(item: SegmentFile) -> bool:
    """Return whether a segment has bytes after its last sound batch."""
    return item.size > 0 and _sound_end(item, None)[0] < item.size


def _sound_end(
    item: SegmentFile, state: LakeState | None, until: int | None = None
) -> tuple[int, int]:
    """Return the byte and the offset after the last sound batch, or after one that is wanted."""
    base = item.base_offset or 0
    with Segment(item.path, mapped=False) as segment:
        if until is not None:
            batch = next(segment.batches(start_offset=until), None)
            if batch is not None:
                if batch.base_offset >= until:
                    return batch.position, until
                return batch.end, batch.last_offset + 1
        begin = 0
        if state is not None and state.file == item.path.name and state.size <= segment.size:
            begin = state.size
        found = last_sound(segment, begin) or (last_sound(segment, 0) if begin else None)
    return (0, base) if found is None else (found.stop, found.end)
