"""Which transactions the cleaner takes for aborted, and which of their batches and markers go.

Kafka: ``CleanedTransactionMetadata``, ``UnifiedLog.collectAbortedTransactions``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import compress, islice
from operator import itemgetter

from kafkaspec._generated.python.model.transaction_index import AbortedTransaction
from kafkaspec.files import names
from kafkaspec.files.snapshots import TransactionIndex
from kafkaspec.forensics.cleaner.view import SegmentView
from kafkaspec.log.control import ControlRecord
from kafkaspec.log.headers import read_headers
from kafkaspec.log.segment import Segment

_base = itemgetter(0)


class AbortIndex:
    """The transaction indexes of a log, as a broker searches them for its cleaner."""

    def __init__(self, segments: Sequence[SegmentView], log_start: int) -> None:
        """Read the indexes; a segment without one has no aborted transactions."""
        self._log_start = log_start
        self._bases = sorted(segment.base_offset for segment in segments)
        self._of: list[tuple[int, list[AbortedTransaction]]] = []
        for segment in segments:
            path = segment.path.with_suffix(names.TRANSACTION_INDEX)
            entries: list[AbortedTransaction] = []
            if path.exists():
                index = TransactionIndex(path)
                entries = [index.entry(number) for number in range(len(index))]
            if any(entry.last_offset < segment.base_offset for entry in entries):
                # A broker that starts refuses such an index, and makes it from the markers.
                markers = _markers(segment)
                entries = [entry for entry in entries if entry.last_offset in markers]
            if entries:
                self._of.append((segment.base_offset, entries))
        self._of.sort(key=_base)

    def between(self, start: int, end: int) -> list[AbortedTransaction]:
        """Return the transactions that the cleaner of a broker is told of for some offsets.

        They begin before ``end``, and their markers are in the segment of ``start`` or a later one,
        even before ``start``: a broker compares them with the log start offset.
        """
        found: list[AbortedTransaction] = []
        number = bisect_right(self._bases, start)
        if not number:
            return found
        first = bisect_left(self._of, self._bases[number - 1], key=_base)
        for _, entries in islice(self._of, first, None):
            for entry in entries:
                if entry.last_offset >= self._log_start and entry.first_offset < end:
                    found.append(entry)
                if entry.last_stable_offset >= end:
                    return found
        return found


def _markers(segment: SegmentView) -> set[int]:
    """Return the offsets of the control batches of a segment."""
    found: set[int] = set()
    with Segment(segment.path) as opened:
        for headers in read_headers(opened):
            found.update(compress(headers.last_offset, headers.control))
    return found


@dataclass(slots=True)
class _Aborted:
    """An aborted transaction, and whether a batch of it was seen."""

    entry: AbortedTransaction
    seen: bool = False


class AbortedRanges:
    """The transactions of the batches so far; ``kept`` are aborted ones whose markers stay."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, AbortedTransaction]] = []
        self._number = 0
        self._aborted: dict[int, _Aborted] = {}
        self._committed: set[int] = set()
        self.kept: list[AbortedTransaction] = []

    def add(self, entries: Sequence[AbortedTransaction]) -> None:
        """Add transactions that an index lists."""
        for entry in entries:
            self._number += 1
            heappush(self._waiting, (entry.first_offset, self._number, entry))

    def _reach(self, offset: int) -> None:
        while self._waiting and self._waiting[0][0] <= offset:
            entry = heappop(self._waiting)[2]
            self._aborted.setdefault(entry.producer_id, _Aborted(entry))

    def data(self, last_offset: int, producer_id: int, transactional: bool) -> bool:
        """Take a batch of data; return whether it was aborted."""
        self._reach(last_offset)
        if not transactional:
            return False
        aborted = self._aborted.get(producer_id)
        if aborted is None:
            self._committed.add(producer_id)
            return False
        aborted.seen = True
        return True

    def marker(self, last_offset: int, producer_id: int, control: ControlRecord | None) -> bool:
        """Take a control batch, and its first record if it has one.

        Return whether no batch of its transaction was seen.
        """
        self._reach(last_offset)
        if control is None:
            return True
        if control.aborts is None:
            return False
        if control.aborts:
            aborted = self._aborted.pop(producer_id, None)
            if aborted is not None and aborted.seen:
                self.kept.append(aborted.entry)
                return False
            return True
        seen = producer_id in self._committed
        self._committed.discard(producer_id)
        return not seen
