"""Rebuild the indexes of one segment in one pass over it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kafkaspec._generated.python.model.transaction_index import AbortedTransaction
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files import names
from kafkaspec.log.batch import NONE
from kafkaspec.log.segment import Segment
from kafkaspec.writing import recovery
from kafkaspec.writing.acceptance import unreadable_markers
from kafkaspec.writing.comparison import (
    RESTARTED,
    Circumstances,
    Comparison,
    compare,
    entries_of,
)
from kafkaspec.writing.headers import Headers, read_headers
from kafkaspec.writing.index_rules import IndexBuilder, Rule
from kafkaspec.writing.leader_epochs import LeaderEpochs
from kafkaspec.writing.producer_state import ProducerState, transaction_index
from kafkaspec.writing.profiles import Profile
from kafkaspec.writing.rebuilt import RebuiltFile, RebuiltSegment, Recovery

_SAME: Final = (Comparison.EQUAL, Comparison.PREALLOCATED)

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

    Attributes:
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
    ) -> None:
        assert segment.base_offset is not None
        self._settings = settings
        self._recovers = settings.rule is Rule.RECOVERY
        self._segment = segment
        self._state = state
        self._epochs = epochs
        self._indexes = self._new_builder()
        self._again: dict[str, bytes] | None = None
        self._epoch = NONE
        self._aborted: list[AbortedTransaction] = []
        self._valid = 0
        self._ended: Recovery | None = None
        self._error: KafkaSpecError | None = None
        self._refused: list[KafkaSpecError] = []
        self.next_offset = segment.base_offset
        self.producers_end: int | None = None
        state.begin_segment()
        self._circumstances = Circumstances(settings.rule, settings.profile, producers_known=known)

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
        self._indexes = self._new_builder()
        self._aborted, self._refused = [], []
        self._valid, self.next_offset = 0, base_offset
        detail = "its offsets are out of order at an index entry"
        error = make_error(
            Reason.INVALID_VALUE, detail, file=self._segment.name, offset=self._valid
        )
        self._end(Recovery.EMPTIES, error)

    def _note(self, headers: Headers, count: int) -> None:
        """Record facts that may explain a difference."""
        known = self._circumstances
        epochs = known.epochs
        if max(headers.leader_epoch[:count]) > self._epoch:
            for epoch in headers.leader_epoch[:count]:
                if epoch > self._epoch:
                    epochs, self._epoch = epochs + 1, epoch
        self._circumstances = replace(
            known,
            messages=known.messages or headers.has_messages(0, count),
            producers=known.producers or max(headers.producer_id[:count]) > NONE,
            epochs=epochs,
        )

    def result(
        self, following: int | None, prefix: str, put: Callable[[str, bytes], None]
    ) -> RebuiltSegment:
        """Write and compare the rebuilt files.

        Args:
            following: base offset of the next segment, None for the last one.
            prefix: prefix of file names.
            put: called with name and content of a file.
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
        outcome = (self._ended or Recovery.KEEPS) if self._recovers else None
        notes = list(self._notes(outcome))
        if circumstances.producers and not known:
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

    def _restarted(self) -> dict[str, bytes]:
        """Return the indexes of a broker that was restarted where the leader epoch changes."""
        if self._again is None:
            indexes = self._new_builder()
            latest = NONE
            for headers, _, count in recovery.entries(self._segment, 0, self._valid):
                start = 0
                for number, epoch in enumerate(headers.leader_epoch[:count]):
                    if epoch > latest:
                        indexes.append_each(headers, start, number)
                        if indexes.size:
                            indexes.restart()
                        start, latest = number, epoch
                indexes.append_each(headers, start, count)
                indexes.settle()
            indexes.finish()
            self._again = {
                names.OFFSET_INDEX: indexes.offset_index(),
                names.TIME_INDEX: indexes.time_index(),
            }
        return self._again

    def _new_builder(self) -> IndexBuilder:
        settings, base_offset = self._settings, self._segment.base_offset
        assert base_offset is not None
        return IndexBuilder(
            base_offset, settings.profile, rule=settings.rule, interval=settings.interval
        )

    def _made(self, following: int | None) -> Iterator[tuple[int, str, bytes | None]]:
        """Yield offset in the name, kind and content of each file; None for one without content."""
        profile, indexes = self._settings.profile, self._indexes
        base = indexes.base_offset
        yield base, names.OFFSET_INDEX, indexes.offset_index()
        if profile.has_time_index:
            yield base, names.TIME_INDEX, indexes.time_index()
        if not profile.producer_state:
            return
        aborted = transaction_index(self._aborted) if self._aborted else None
        yield base, names.TRANSACTION_INDEX, aborted
        end = self.next_offset if following is None else following
        known = self._circumstances.producers_known and self.goes_on
        if known and end > base:
            yield end, names.PRODUCER_SNAPSHOT, self._state.snapshot(self._segment.codec)


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
