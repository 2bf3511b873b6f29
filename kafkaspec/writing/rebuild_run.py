"""Rebuild the indexes of one segment in one pass over it."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kafkaspec._generated.python.model.transaction_index import AbortedTransaction
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files import names
from kafkaspec.log.batch import NONE
from kafkaspec.log.segment import Segment
from kafkaspec.writing import recovery
from kafkaspec.writing.acceptance import unreadable_markers
from kafkaspec.writing.comparison import (
    BY_BATCH,
    INDEXES,
    RESTARTED,
    Circumstances,
    Comparison,
    compare,
    entries_of,
)
from kafkaspec.writing.headers import UNKNOWN, Headers, read_headers
from kafkaspec.writing.index_rules import IndexBuilder, Rule
from kafkaspec.writing.leader_epochs import LeaderEpochs
from kafkaspec.writing.producer_state import ProducerState, transaction_index
from kafkaspec.writing.profiles import Profile, TimeEntry
from kafkaspec.writing.rebuilt import RebuiltFile, RebuiltSegment, Recovery

_SAME: Final = (Comparison.EQUAL, Comparison.PREALLOCATED)

_AFTER_END: Final = "the log ends before its offset: a broker removes it when it starts"
_INSIDE: Final = "its offset lies inside a batch"
_SNAPSHOT_LOST: Final = (
    "there is no producer snapshot at the first offset: transactions that began before it are not"
    " known"
)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings for rebuilding indexes.

    Attributes:
        rule: the rule to follow.
        profile: profile of the version whose rules to follow.
        interval: ``index.interval.bytes``.
        progress: called with the number of bytes read and the name of the file.
    """

    rule: Rule
    profile: Profile
    interval: int
    progress: Callable[[int, str], None]


class SegmentRun:
    """One pass over a segment.

    Args:
        settings: rule and version to follow.
        segment: a local segment with a base offset.
        state: state of the producers before the segment; the pass updates it.
        known: whether this state is known.
        epochs: leader epochs before the segment; the pass updates them.
        stops: offsets of the producer snapshots beside the log that lie within the segment, in
            order: the broker was stopped there.

    Attributes:
        known: whether the state of producers before the segment is known.
        next_offset: offset after the last accepted entry.
        producers_end: offset after the last accepted batch; None if all entries are messages.
    """

    def __init__(
        self,
        settings: Settings,
        segment: Segment,
        state: ProducerState,
        known: bool,
        epochs: LeaderEpochs,
        stops: Sequence[int] = (),
    ) -> None:
        assert segment.base_offset is not None
        self._settings = settings
        self._recovers = settings.rule is Rule.RECOVERY
        self._segment = segment
        self._state = state
        self._epochs = epochs
        self._stops = stops
        self._producers = state.entries if stops else []
        self._indexes = self._new_builder(() if self._recovers else self._stops)
        self._others: list[tuple[str, dict[str, bytes]]] | None = None
        self._aborted: list[AbortedTransaction] = []
        self._valid = 0
        self._ended: Recovery | None = None
        self._error: KafkaSpecError | None = None
        self._refused: list[KafkaSpecError] = []
        self.next_offset = segment.base_offset
        self.producers_end: int | None = None
        state.begin_segment()
        self.known = known
        self._circumstances = Circumstances(
            settings.rule, settings.profile, self._is_cleaned, producers_known=known
        )

    def read(self) -> None:
        """Read all entries that a broker would accept."""
        while self._ended is None:
            try:
                for headers in read_headers(self._segment, self._valid):
                    self._take(headers)
                    if self._ended is not None:
                        break
                break
            except KafkaSpecError as error:
                if error.reason in (Reason.UNREADABLE, Reason.CHANGED):
                    raise
                entry = recovery.entry_at(self._segment, self._valid) if self._recovers else None
                if entry is None:
                    self._end(Recovery.CUTS, error)
                else:
                    self._refused.append(error)
                    self._take(entry)
        self._indexes.finish()
        if self._recovers and self._indexes.went_back:
            self._empty()
        if self._ended is None and self._valid < self._segment.size:
            self._ended = Recovery.CUTS

    @property
    def valid(self) -> int:
        """Number of bytes that were accepted."""
        return self._valid

    @property
    def ended(self) -> Recovery | None:
        """Why the pass ended before the end of the segment; None if it did not."""
        return self._ended

    @property
    def error(self) -> KafkaSpecError | None:
        """The error that it ended with."""
        return self._error

    @property
    def entries(self) -> tuple[Sequence[int], Sequence[int]]:
        """Offsets and positions of the entries of the offset index."""
        return self._indexes.entries

    def release(self) -> None:
        """Free what only ``result`` needs: the producers, and the bytes of the segment."""
        self._state = ProducerState(self._settings.profile)
        self._segment.close()

    def refuse(self, error: KafkaSpecError) -> None:
        """Note that the broker fails after it has recovered the segment."""
        self._end(Recovery.REFUSES, error)

    def _take(self, headers: Headers) -> None:
        """Add the entries before the first one that ends the log."""
        count = len(headers)
        wrong = headers.wrong_checksum()
        if wrong is not None:
            count = wrong
            self._end(Recovery.CUTS, headers.crc_error(wrong))
        for number in range(count):
            if not self._indexes.fits(headers.last_offset[number]):
                count = number
                kind = recovery.of_overflow(self._segment) if self._recovers else Recovery.REFUSES
                self._end(kind, _too_far(self._segment, headers.position[number]))
                break
        if self._settings.profile.producer_state:
            count = self._take_producers(headers, count)
        if not count:
            return
        self._indexes.append_each(headers, 0, count)
        self._indexes.settle()
        for number in range(count - 1, -1, -1):
            if not headers.has_messages(number, number + 1):
                self.producers_end = headers.last_offset[number] + 1
                break
        self.next_offset = headers.last_offset[count - 1] + 1
        self._epochs.append(headers, 0, count)
        self._note(headers, count)
        self._valid = headers.position[count - 1] + headers.size[count - 1]
        read = self._valid - headers.position[0]
        self._settings.progress(read, os.fspath(self._segment.path or ""))

    def _take_producers(self, headers: Headers, count: int) -> int:
        """Update producers from the first ``count`` entries; return how many are accepted."""
        if max(headers.producer_id[:count], default=NONE) <= NONE:
            return count
        if self._recovers:
            found = recovery.unreadable_marker(headers, count)
        else:
            found = min(unreadable_markers(headers), default=None, key=lambda item: item[0])
        if found is not None and found[0] < count:
            count = found[0]
            self._end(Recovery.REFUSES, found[1])
        self._aborted += self._state.append(headers, 0, count)
        refused = self._state.refused
        if not self._recovers or refused is None:
            return count
        self._end(Recovery.REFUSES, refused_entry(headers, *refused))
        return refused[0]

    def _end(self, kind: Recovery, error: KafkaSpecError) -> None:
        self._ended, self._error = kind, error

    def _empty(self) -> None:
        """Drop all entries: recovery empties the segment, since offsets are out of order."""
        base_offset = self._indexes.base_offset
        self._indexes = self._new_builder(())
        self._aborted, self._refused = [], []
        self._valid, self.next_offset = 0, base_offset
        detail = "its offsets are out of order at an index entry"
        error = make_error(
            Reason.INVALID_VALUE, detail, file=self._segment.name, offset=self._valid
        )
        self._end(Recovery.EMPTIES, error)

    def _note(self, headers: Headers, count: int) -> None:
        """Record facts that may explain a difference."""
        found = self._circumstances
        self._circumstances = replace(
            found,
            messages=found.messages or headers.has_messages(0, count),
            producers=found.producers or max(headers.producer_id[:count]) > NONE,
        )

    def result(
        self, end: int | None, prefix: str, put: Callable[[str, bytes], None]
    ) -> RebuiltSegment:
        """Write and compare the rebuilt files.

        Args:
            end: offset of the producer snapshot after the segment, None to make no snapshots.
            prefix: prefix of file names.
            put: called with name and content of a file.
        """
        segment = self._segment
        assert segment.path is not None
        whole = self._valid == segment.size
        circumstances = replace(self._circumstances, whole=whole)
        files = []
        for made in self._made(end):
            name = names.SegmentName(made.offset, "").sibling(made.kind)
            comparison, why = self._compared(made, segment.path.with_name(name), circumstances)
            if made.data is not None:
                put(prefix + name, made.data)
            elif comparison is Comparison.MISSING:
                continue
            size = len(made.data or b"")
            files.append(RebuiltFile(prefix + name, size, made.entries, comparison, why))
        outcome = (self._ended or Recovery.KEEPS) if self._recovers else None
        notes = list(self._notes(outcome))
        if circumstances.producers and not self.known:
            notes.append(_SNAPSHOT_LOST)
        return RebuiltSegment(
            path=str(segment.path),
            size=segment.size,
            valid_bytes=self._valid,
            error=self._error,
            note="; ".join(notes),
            files=tuple(files),
            refused=tuple(self._refused),
            recovery=outcome,
        )

    def _compared(
        self, made: _Made, beside: Path, circumstances: Circumstances
    ) -> tuple[Comparison, str]:
        """Compare a file with the one beside the log; see ``compare``."""
        if made.why:
            return Comparison.NOT_MADE, made.why
        comparison, why = compare(beside, made.kind, made.data, circumstances)
        if comparison is Comparison.DIFFERENT and made.kind in INDEXES:
            for reason, files in self._under_others():
                if compare(beside, made.kind, files[made.kind], circumstances)[0] in _SAME:
                    return comparison, reason
        return comparison, why

    @property
    def goes_on(self) -> bool:
        """Whether the state of producers after the segment is that of a broker."""
        return self._ended in (None, Recovery.CUTS)

    def _notes(self, kind: Recovery | None) -> Iterator[str]:
        """Yield notes on what happened."""
        if self._refused:
            yield (
                f"recovery keeps what kafkaspec refuses ({len(self._refused)} entries, the first"
                f" at byte {self._refused[0].offset}): it only checks size, checksum and offsets"
            )
        if kind is None:
            if self._valid < self._segment.size:
                yield f"the indexes end at byte {self._valid}"
        elif kind in _NOTES:
            yield _NOTES[kind].format(self._valid)

    def _under_others(self) -> list[tuple[str, dict[str, bytes]]]:
        """Return the indexes under other circumstances, each with a name for these.

        Snapshots show where a broker was restarted, and changes of the leader epoch may.
        """
        if self._others is None:
            base, end = self._indexes.base_offset, self.next_offset
            begun = [entry.start_offset for entry in self._epochs.entries]
            changed = {offset for offset in begun if base < offset < end}
            profile = self._settings.profile
            cases = []
            if self._recovers and self._stops:
                cases.append((RESTARTED, self._new_builder(self._stops)))
            if not changed.issubset(self._stops):
                stops = sorted(changed.union(self._stops))
                cases.append((RESTARTED, self._new_builder(stops)))
            if not self._recovers and profile.time_entry is TimeEntry.RECORD:
                by_batch = replace(profile, time_entry=TimeEntry.BATCH)
                cases.append((BY_BATCH, self._new_builder(self._stops, by_batch)))
            self._others = [(why, self._files_of(indexes)) for why, indexes in cases]
        return self._others

    def _files_of(self, indexes: IndexBuilder) -> dict[str, bytes]:
        """Return the indexes of the accepted entries."""
        for headers, first, stop in self._entries():
            indexes.append_each(headers, first, stop)
            indexes.settle()
        indexes.finish()
        return indexes.files()

    def _entries(self) -> Iterator[tuple[Headers, int, int]]:
        """Yield the accepted entries again; see ``recovery.entries``."""
        return recovery.entries(self._segment, 0, self._valid)

    def _is_cleaned(self) -> bool:
        """Return whether offsets are missing, as in a segment that the cleaner has compacted."""
        expected = self._indexes.base_offset
        for headers, first, stop in self._entries():
            for number in range(first, stop):
                if headers.first_offset[number] not in (UNKNOWN, expected):
                    return True
                expected = headers.last_offset[number] + 1
        return False

    def _new_builder(self, restarts: Sequence[int], profile: Profile | None = None) -> IndexBuilder:
        settings, base_offset = self._settings, self._segment.base_offset
        assert base_offset is not None
        return IndexBuilder(
            base_offset,
            profile or settings.profile,
            rule=settings.rule,
            interval=settings.interval,
            restarts=restarts,
        )

    def _made(self, end: int | None) -> Iterator[_Made]:
        """Yield the files; see ``result``."""
        profile, base = self._settings.profile, self._indexes.base_offset
        for kind, data in self._indexes.files().items():
            yield _Made(base, kind, data, entries_of(kind, data))
        if not profile.producer_state:
            return
        aborted = self._listed()
        listed = transaction_index(aborted) if aborted else None
        yield _Made(base, names.TRANSACTION_INDEX, listed, len(aborted))
        if end is None or not self.goes_on:
            return
        yield from self._earlier_snapshots(end)
        if end > base:
            yield self._snapshot(end, self._state)

    def _snapshot(self, offset: int, state: ProducerState) -> _Made:
        data = state.snapshot(self._segment.codec)
        return _Made(offset, names.PRODUCER_SNAPSHOT, data, len(state))

    def _listed(self) -> list[AbortedTransaction]:
        """Return the entries of the transaction index.

        The cleaner drops those of transactions whose data it has removed, although it keeps their
        markers for some time; recovery lists them again.
        """
        with_data = [item for item in self._aborted if item.first_offset < item.last_offset]
        if self._recovers or len(with_data) == len(self._aborted) or not self._is_cleaned():
            return self._aborted
        return with_data

    def _earlier_snapshots(self, end: int) -> Iterator[_Made]:
        """Yield the snapshots of earlier stops of the broker; see ``result``."""
        left = deque(self._stops)
        state = ProducerState(self._settings.profile, self._producers)
        for headers, first, stop in self._entries() if left else ():
            if self._recovers:
                recovery.unreadable_marker(headers, stop)  # keeps markers that only it can read
            while left and first < stop and left[0] <= headers.last_offset[stop - 1]:
                offset = left.popleft()
                number = bisect_left(headers.last_offset, offset, first, stop)
                state.append(headers, first, number)
                first = number
                if UNKNOWN < headers.first_offset[number] < offset:
                    yield _Made(offset, names.PRODUCER_SNAPSHOT, why=_INSIDE)
                else:
                    yield self._snapshot(offset, state)
            state.append(headers, first, stop)
        for offset in left:
            if offset > end:
                yield _Made(offset, names.PRODUCER_SNAPSHOT, why=_AFTER_END)
            elif offset < end:
                yield self._snapshot(offset, state)


@dataclass(frozen=True, slots=True)
class _Made:
    """A file.

    Attributes:
        offset: offset in its name.
        kind: extension of its name.
        data: its content; None for a file without content, or one that cannot be made.
        entries: number of entries.
        why: why it cannot be made, "" if it can.
    """

    offset: int
    kind: str
    data: bytes | None = None
    entries: int = 0
    why: str = ""


_NOTES: Final = {
    Recovery.CUTS: "recovery cuts the log at byte {}",
    Recovery.EMPTIES: (
        "recovery empties the segment; if one of its indexes is missing, the broker does not load"
        " the log"
    ),
    Recovery.SPLITS: (
        "from byte {} on, offsets do not fit into the segment: recovery of Kafka 2.0 and later"
        " splits it and continues with the parts"
    ),
    Recovery.REFUSES: "a broker fails here and does not load the log",
}


def refused_entry(headers: Headers, number: int, detail: str) -> KafkaSpecError:
    """Return the error for an entry of a producer that a broker fails at."""
    segment, position = headers.segment, headers.position[number]
    return make_error(Reason.INVALID_VALUE, detail, file=segment.name, offset=position)


def _too_far(segment: Segment, position: int) -> KafkaSpecError:
    detail = f"its last offset is too far from the base offset {segment.base_offset}"
    return make_error(Reason.INVALID_VALUE, detail, file=segment.name, offset=position)
