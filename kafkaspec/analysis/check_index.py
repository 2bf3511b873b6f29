"""Check both indexes of a segment against its log, in one pass over the log in its order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from kafkaspec.analysis.findings import Area, Finding, FindingReason, Severity
from kafkaspec.model import Record

if TYPE_CHECKING:
    from kafkaspec.log.batch import Batch


class OffsetEntry(Protocol):
    """An entry of an offset index."""

    @property
    def offset(self) -> int: ...
    @property
    def position(self) -> int: ...


class TimeEntry(Protocol):
    """An entry of a time index."""

    @property
    def timestamp(self) -> int: ...
    @property
    def offset(self) -> int: ...


class OffsetIndexCheck:
    """Checks the entries of an offset index against the batches, which come in order.

    An entry is right if it points at the start of a batch and no earlier batch holds its offset or
    a larger one: then a look-up that starts there misses nothing. In addition, its offset must be
    one that some version writes: the first offset of the append (up to 1.1), its last offset (since
    2.0; an append is one batch or a fetched chunk), or that of the last record that compaction
    kept. The file does not say which.

    Args:
        entries: entries without the padding.
        file: path of the index.
        entry_size: bytes of an entry, for the positions of findings.
    """

    def __init__(self, entries: Sequence[OffsetEntry], file: str, entry_size: int) -> None:
        self._entries = entries
        self._file = file
        self._entry_size = entry_size
        self._next = 0
        self._open: int | None = None
        self._last_offset: int | None = None

    def _found(self, number: int, severity: Severity, reason: FindingReason, text: str) -> Finding:
        return Finding(
            file=self._file,
            severity=severity,
            area=Area.OFFSET_INDEX,
            reason=reason,
            message=f"entry {number}: {text}",
            position=number * self._entry_size,
            offset=self._entries[number].offset,
        )

    def order(self) -> Iterator[Finding]:
        """Check the entries against each other, without the log."""
        for number, (entry, following) in enumerate(pairwise(self._entries)):
            if following.offset <= entry.offset:
                yield self._found(
                    number + 1,
                    Severity.ERROR,
                    FindingReason.INDEX_ORDER,
                    f"offset {entry.offset} is followed by {following.offset}",
                )
            elif following.position <= entry.position:
                yield self._found(
                    number + 1,
                    Severity.ERROR,
                    FindingReason.INDEX_ORDER,
                    f"position {entry.position} is followed by {following.position}",
                )

    def batch(self, batch: Batch, records: Sequence[Record]) -> Iterator[Finding]:
        """Take the next batch of the log.

        Args:
            batch: the batch.
            records: its records, empty if they cannot be read.
        """
        entries, position = self._entries, batch.position
        while self._next < len(entries) and entries[self._next].position <= position:
            yield from self._close()
            number = self._next
            self._next += 1
            entry = entries[number]
            if entry.position < position:
                yield self._found(
                    number,
                    Severity.ERROR,
                    FindingReason.INDEX_POSITION,
                    f"position {entry.position} is not the start of a batch",
                )
            elif self._last_offset is not None and entry.offset <= self._last_offset:
                yield self._found(
                    number,
                    Severity.ERROR,
                    FindingReason.INDEX_OFFSET,
                    f"offset {entry.offset} is before position {entry.position}, in a batch "
                    f"that ends with offset {self._last_offset}",
                )
            else:
                first = {records[0].offset if records else batch.last_offset}
                if batch.kind.has_record_sets:
                    first.add(batch.base_offset)
                self._open = None if entry.offset in first else number
        if self._open is not None:
            wanted = entries[self._open].offset
            last = records[-1].offset if records else batch.last_offset
            if wanted in (batch.last_offset, last):
                self._open = None
        self._last_offset = batch.last_offset

    def _close(self) -> Iterator[Finding]:
        if self._open is None:
            return
        number, self._open = self._open, None
        entry = self._entries[number]
        beyond = self._last_offset is not None and entry.offset > self._last_offset
        yield self._found(
            number,
            Severity.ERROR if beyond else Severity.WARNING,
            FindingReason.INDEX_OFFSET if beyond else FindingReason.INDEX_KEY,
            f"offset {entry.offset} is neither the first nor the last of the batches that begin "
            f"at position {entry.position}",
        )

    def resume(self, position: int, last_offset: int | None) -> None:
        """Start at the position of an entry, as if the batches before it had been checked.

        Args:
            position: byte offset of the next batch, to which an entry points.
            last_offset: last offset of the batch before it.
        """
        entries = self._entries
        self._next = bisect_left(range(len(entries)), position, key=lambda n: entries[n].position)
        self._last_offset = last_offset

    def pause(self) -> Iterator[Finding]:
        """Check the rest at the end of a part, where the next entry points to."""
        yield from self._close()

    def finish(self, end: int) -> Iterator[Finding]:
        """Check the rest at the end of the log, the position ``end`` after its last entry."""
        yield from self._close()
        for number in range(self._next, len(self._entries)):
            position = self._entries[number].position
            yield self._found(
                number,
                Severity.ERROR,
                FindingReason.INDEX_BEYOND_LOG,
                f"position {position} is at or after the end of the log at {end}",
            )


class TimeIndexCheck:
    """Checks the entries of a time index against the records, which come in order.

    An entry (T, O) means that every record later than T has an offset above O. T itself is the
    largest timestamp up to O, so the log must contain it.

    Args:
        entries: entries without the padding.
        file: path of the index.
        entry_size: bytes of an entry, for the positions of findings.
    """

    def __init__(self, entries: Sequence[TimeEntry], file: str, entry_size: int) -> None:
        self._entries = entries
        self._file = file
        self._entry_size = entry_size
        self._next = 0
        self._reported = -1
        self._latest = -1
        self._has_untimed = False
        self._last_offset: int | None = None

    def _found(self, number: int, severity: Severity, reason: FindingReason, text: str) -> Finding:
        return Finding(
            file=self._file,
            severity=severity,
            area=Area.TIME_INDEX,
            reason=reason,
            message=f"entry {number}: {text}",
            position=number * self._entry_size,
            offset=self._entries[number].offset,
        )

    def order(self) -> Iterator[Finding]:
        """Check the entries against each other, without the log."""
        for number, (entry, following) in enumerate(pairwise(self._entries)):
            if following.timestamp <= entry.timestamp:
                yield self._found(
                    number + 1,
                    Severity.ERROR,
                    FindingReason.INDEX_ORDER,
                    f"timestamp {entry.timestamp} is followed by {following.timestamp}",
                )
            elif following.offset < entry.offset:
                yield self._found(
                    number + 1,
                    Severity.ERROR,
                    FindingReason.INDEX_ORDER,
                    f"offset {entry.offset} is followed by {following.offset}",
                )

    def batch(self, batch: Batch, records: Sequence[Record]) -> Iterator[Finding]:
        """Take the next batch of the log.

        Args:
            batch: the batch.
            records: its records, empty if there are none or they cannot be read.
        """
        if not batch.kind.has_timestamps:
            # 0.10.2 wrote time entries before it removed the timestamps.
            self._has_untimed = True
        # A wrapper counts with its own timestamp, which 0.10.0 did not correct.
        cap = batch.max_timestamp if batch.is_wrapper and batch.kind.has_timestamps else None
        first = records[0].offset if records else batch.last_offset
        while self._next < len(self._entries) and self._entries[self._next].offset < first:
            yield from self._reach(self._next)
            self._next += 1
        yield from self._compare(records, cap)
        self._latest = max(self._latest, batch.max_timestamp)
        self._last_offset = batch.last_offset

    def resume(
        self, highest_first: int, last_offset: int | None, latest: int, has_untimed: bool
    ) -> None:
        """Start as if the earlier batches had been checked.

        Args:
            highest_first: largest first offset of these batches.
            last_offset: last offset of the last one.
            latest: largest timestamp so far.
            has_untimed: whether there was a message without timestamp.
        """
        entries = self._entries
        self._next = bisect_left(
            range(len(entries)), highest_first, key=lambda n: entries[n].offset
        )
        self._last_offset, self._latest = last_offset, latest
        self._has_untimed = has_untimed

    def _compare(self, records: Sequence[Record], cap: int | None) -> Iterator[Finding]:
        """Check each record against the first entry at or after it, which limits its timestamp."""
        number, latest = self._next, self._latest
        offset, bound = self._bound(number)
        for record in records:
            timestamp = record.timestamp if cap is None else min(record.timestamp, cap)
            if timestamp > latest:
                latest = timestamp
            while offset is not None and offset < record.offset:
                number += 1
                offset, bound = self._bound(number)
            if offset is not None and timestamp > bound and number > self._reported:
                self._reported = number
                yield self._found(
                    number,
                    Severity.ERROR,
                    FindingReason.TIME_INDEX_MEANING,
                    f"its timestamp {bound} is not the largest up to offset {offset}: "
                    f"offset {record.offset} has {timestamp}",
                )
        self._latest = latest

    def _bound(self, number: int) -> tuple[int | None, int]:
        if number >= len(self._entries):
            return None, 0
        entry = self._entries[number]
        return entry.offset, entry.timestamp

    def _reach(self, number: int) -> Iterator[Finding]:
        if self._entries[number].timestamp > self._latest and not self._has_untimed:
            yield self._found(
                number,
                Severity.WARNING,
                FindingReason.TIME_INDEX_TIMESTAMP,
                f"timestamp {self._entries[number].timestamp} is above the largest up to its "
                f"offset, {self._latest}",
            )

    def finish(self) -> Iterator[Finding]:
        """Check the rest at the end of the log."""
        for number in range(self._next, len(self._entries)):
            yield from self._reach(number)
            offset = self._entries[number].offset
            if self._last_offset is None or offset > self._last_offset:
                yield self._found(
                    number,
                    Severity.ERROR,
                    FindingReason.INDEX_BEYOND_LOG,
                    f"offset {offset} is after the end of the log"
                    + ("" if self._last_offset is None else f" at {self._last_offset}"),
                )
