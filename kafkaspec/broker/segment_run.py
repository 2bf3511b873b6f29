"""Read a segment as a broker that recovers it or appends to it, in one pass."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kafkaspec._generated.python.model.transaction_index import AbortedTransaction
from kafkaspec.broker import recovery
from kafkaspec.broker.acceptance import unreadable_markers
from kafkaspec.broker.actions import Recovery
from kafkaspec.broker.index_rules import INDEX_INTERVAL_BYTES, IndexBuilder, Rule
from kafkaspec.broker.leader_epochs import LeaderEpochs
from kafkaspec.broker.producer_state import ProducerState
from kafkaspec.broker.profiles import Profile
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.log.batch import NONE
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import read_headers
from kafkaspec.log.segment import Segment


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings for rebuilding indexes.

    Attributes:
        profile: profile of the version whose rules to follow.
        interval: ``index.interval.bytes``.
        progress: called with the number of bytes read and the name of the file.
        rule: the rule to follow.
    """

    profile: Profile
    interval: int = INDEX_INTERVAL_BYTES
    progress: Callable[[int, str], None] | None = None
    rule: Rule = Rule.RECOVERY


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
        recovers: whether it follows the rule of recovery.
        producers: state of the producers before the segment, if there are ``stops``.
        indexes: offset index and time index of the accepted entries.
        aborted: transactions that they abort.
        has_messages: whether one of them is a message.
        has_producers: whether one of them has a producer with an id.
        valid: number of bytes that were accepted.
        ended: why the pass ended before the end of the segment; None if it did not.
        error: the error that it ended with.
        refused: errors of accepted entries that kafkaspec refuses.
        next_offset: offset after the last accepted entry.
        producers_end: offset after the last accepted batch; None if all entries are messages.
    """

    def __init__(
        self,
        settings: RunSettings,
        segment: Segment,
        state: ProducerState,
        known: bool,
        epochs: LeaderEpochs,
        stops: Sequence[int] = (),
    ) -> None:
        assert segment.base_offset is not None
        state.begin_segment()
        self.settings = settings
        self.segment = segment
        self.state = state
        self.known = known
        self.epochs = epochs
        self.stops = stops
        self.recovers = settings.rule is Rule.RECOVERY
        self.producers = state.entries if stops else []
        self.indexes = self.new_indexes(() if self.recovers else stops)
        self.aborted: list[AbortedTransaction] = []
        self.has_messages = self.has_producers = False
        self.valid = 0
        self.ended: Recovery | None = None
        self.error: KafkaSpecError | None = None
        self.refused: list[KafkaSpecError] = []
        self.next_offset = segment.base_offset
        self.producers_end: int | None = None

    def read(self) -> None:
        """Read all entries that a broker would accept."""
        while self.ended is None:
            try:
                for headers in read_headers(self.segment, self.valid):
                    self._take(headers)
                    if self.ended is not None:
                        break
                break
            except KafkaSpecError as error:
                if error.reason in (Reason.UNREADABLE, Reason.CHANGED):
                    raise
                entry = recovery.entry_at(self.segment, self.valid) if self.recovers else None
                if entry is None:
                    self._end(Recovery.CUTS, error)
                else:
                    self.refused.append(error)
                    self._take(entry)
        self.indexes.finish()
        if self.recovers and self.indexes.went_back:
            self._empty()
        if self.ended is None and self.valid < self.segment.size:
            self.ended = Recovery.CUTS

    def release(self) -> None:
        """Free the producers and the bytes of the segment, which only rebuilt files need."""
        self.state = ProducerState(self.settings.profile)
        self.segment.close()

    def refuse(self, error: KafkaSpecError) -> None:
        """Note that the broker fails after it has recovered the segment."""
        self._end(Recovery.REFUSES, error)

    def _take(self, headers: HeaderTable) -> None:
        """Add the entries before the first one that ends the log."""
        count = len(headers)
        wrong = headers.wrong_checksum()
        if wrong is not None:
            count = wrong
            self._end(Recovery.CUTS, headers.crc_error(wrong))
        for number in range(count):
            if not self.indexes.fits(headers.last_offset[number]):
                count = number
                kind = recovery.of_overflow(self.segment) if self.recovers else Recovery.REFUSES
                far = f"its last offset is too far from the base offset {self.segment.base_offset}"
                self._end(kind, refused_entry(headers, number, far))
                break
        if self.settings.profile.producer_state:
            count = self._take_producers(headers, count)
        if not count:
            return
        self.indexes.append_each(headers, 0, count)
        self.indexes.settle()
        for number in range(count - 1, -1, -1):
            if not headers.has_messages(number, number + 1):
                self.producers_end = headers.last_offset[number] + 1
                break
        self.next_offset = headers.last_offset[count - 1] + 1
        self.epochs.append(headers, 0, count)
        self.has_messages = self.has_messages or headers.has_messages(0, count)
        self.has_producers = self.has_producers or max(headers.producer_id[:count]) > NONE
        self.valid = headers.position[count - 1] + headers.size[count - 1]
        read = self.valid - headers.position[0]
        if self.settings.progress is not None:
            self.settings.progress(read, os.fspath(self.segment.path or ""))

    def _take_producers(self, headers: HeaderTable, count: int) -> int:
        """Update producers from the first ``count`` entries; return how many are accepted."""
        if max(headers.producer_id[:count], default=NONE) <= NONE:
            return count
        if self.recovers:
            found = recovery.unreadable_marker(headers, count)
        else:
            found = min(unreadable_markers(headers), default=None, key=lambda item: item[0])
        if found is not None and found[0] < count:
            count = found[0]
            self._end(Recovery.REFUSES, found[1])
        self.aborted += self.state.append(headers, 0, count)
        refused = self.state.refused
        if not self.recovers or refused is None:
            return count
        self._end(Recovery.REFUSES, refused_entry(headers, *refused))
        return refused[0]

    def _end(self, kind: Recovery, error: KafkaSpecError) -> None:
        self.ended, self.error = kind, error

    def _empty(self) -> None:
        """Drop all entries: recovery empties the segment, since offsets are out of order."""
        base_offset = self.indexes.base_offset
        self.indexes = self.new_indexes(())
        self.aborted, self.refused = [], []
        self.valid, self.next_offset = 0, base_offset
        detail = "its offsets are out of order at an index entry"
        error = make_error(Reason.INVALID_VALUE, detail, file=self.segment.name, offset=self.valid)
        self._end(Recovery.EMPTIES, error)

    @property
    def goes_on(self) -> bool:
        """Whether the state of producers after the segment is that of a broker."""
        return self.ended in (None, Recovery.CUTS)

    def entries_again(self) -> Iterator[tuple[HeaderTable, int, int]]:
        """Yield the accepted entries again; see ``recovery.entries``."""
        return recovery.entries(self.segment, 0, self.valid)

    def new_indexes(self, restarts: Sequence[int], profile: Profile | None = None) -> IndexBuilder:
        """Return empty indexes.

        Args:
            profile: rules to follow, None for those of the pass.
        """
        settings, base_offset = self.settings, self.segment.base_offset
        assert base_offset is not None
        return IndexBuilder(
            base_offset,
            profile or settings.profile,
            rule=settings.rule,
            interval=settings.interval,
            restarts=restarts,
        )


def refused_entry(headers: HeaderTable, number: int, detail: str) -> KafkaSpecError:
    """Return the error for an entry of a producer that a broker fails at."""
    segment, position = headers.segment, headers.position[number]
    return make_error(Reason.INVALID_VALUE, detail, file=segment.name, offset=position)
