"""Transactions of a log: which are open, and which were aborted.

A broker tells a consumer which transactions were aborted, by producer id and first offset, and the
consumer leaves out what that producer wrote up to the marker. Kafka: ``UnifiedLog.read``,
``LocalLog.collectAbortedTransactions``, ``CompletedFetch.nextFetchedRecord``; KIP-98.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import accumulate, compress
from typing import Any, Final, Literal, NamedTuple, overload

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.snapshots import TransactionIndex
from kafkaspec.layout import names
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.log.batch import NONE, Batch
from kafkaspec.log.entries import Entries
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import HEADERS_AT_ONCE, readable_headers, skip, sound_headers
from kafkaspec.log.markers import Marker, distinct_markers, markers

_PRODUCER, _FIRST, _LAST = "producer_id", "first_offset", "last_offset"
_IDENTITY: Final = (names.PRODUCER_ID, names.IS_CONTROL, names.BASE_OFFSET, names.LAST_OFFSET)
_STATE: Final = (*_IDENTITY, names.PRODUCER_EPOCH, names.MAX_TIMESTAMP)
_AT_ONCE: Final = 2 * HEADERS_AT_ONCE
"""Headers of a table: more, since what follows costs as much for each producer in a table."""


class Outcome(StrEnum):
    """The fate of a transaction; a closed list."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"
    """No marker has ended it."""
    UNKNOWN = "unknown"
    """Its marker cannot be read."""


class Aborted(NamedTuple):
    """An aborted transaction: its producer, its first offset, and the offset of its marker."""

    producer_id: int
    first_offset: int
    marker: int


class OpenTransaction(NamedTuple):
    """A transaction that no marker has ended.

    Attributes:
        producer_id: of its producer.
        producer_epoch: the one it last wrote with.
        first_offset: of the transaction.
        last_timestamp: the largest of its last batch, ms; -1 for none.
    """

    producer_id: int
    producer_epoch: int
    first_offset: int
    last_timestamp: int


class AbortedTransactions(Sequence[Aborted]):
    """Aborted transactions in columns: the one place that knows which batches belong to them.

    A batch does if a transaction of its producer begins after the last marker before the batch, and
    not after its last offset. So Kafka's consumer answers, which takes a producer for aborted from
    the first offset of a transaction on up to the next ABORT marker, whichever that is, also where
    a damaged index has one transaction within another: ``CompletedFetch.nextFetchedRecord``.

    Attributes:
        producer_ids: of their producers.
        first_offsets: of the transactions.
        markers: offsets of the markers that end them.
    """

    def __init__(self, entries: Iterable[Aborted] = ()) -> None:
        self.producer_ids, self.first_offsets, self.markers = array("q"), array("q"), array("q")
        for item in entries:
            self.producer_ids.append(item.producer_id)
            self.first_offsets.append(item.first_offset)
            self.markers.append(item.marker)

    @classmethod
    def listed_in(cls, index: TransactionIndex) -> AbortedTransactions:
        """Return the entries of a transaction index.

        Raises:
            KafkaSpecError: it cannot be read.
        """
        columns = index.columns()
        return _made(*(columns[name] for name in (_PRODUCER, _FIRST, _LAST)))

    def extend(self, other: AbortedTransactions) -> None:
        """Append others; nothing may have been asked before."""
        self.producer_ids += other.producer_ids
        self.first_offsets += other.first_offsets
        self.markers += other.markers

    @overload
    def __getitem__(self, index: int) -> Aborted: ...
    @overload
    def __getitem__(self, index: slice) -> AbortedTransactions: ...
    def __getitem__(self, index: int | slice) -> Aborted | AbortedTransactions:
        if isinstance(index, slice):
            return AbortedTransactions(self[number] for number in range(*index.indices(len(self))))
        return Aborted(self.producer_ids[index], self.first_offsets[index], self.markers[index])

    def __len__(self) -> int:
        return len(self.markers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbortedTransactions) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(self.markers.tobytes())

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self.producer_ids, self.first_offsets, self.markers)

    def between(self, low: int | None, high: int | None) -> AbortedTransactions:
        """Return those that reach into the offsets from ``low`` to before ``high``."""
        order, markers, least = self._by_marker
        start = 0 if low is None else bisect_left(markers, low)
        stop = len(order) if high is None else bisect_left(least, high)
        found = (self[number] for number in order[start:stop])
        reach = (item for item in found if high is None or item.first_offset < high)
        return AbortedTransactions(reach)

    @cached_property
    def _by_marker(self) -> tuple[list[int], list[int], list[int]]:
        """Places by marker, the markers, and the smallest first offset from each place on."""
        order = sorted(range(len(self)), key=self.markers.__getitem__)
        firsts = [self.first_offsets[number] for number in order]
        least = list(accumulate(reversed(firsts), min))[::-1]
        return order, [self.markers[number] for number in order], least

    def holds(self, batch: Batch) -> bool:
        """Return whether a batch belongs to one of them; a marker does not."""
        if not self or not batch.is_transactional or batch.is_control:
            return False
        return self._reach(batch.producer_id, batch.base_offset, batch.last_offset)

    @cached_property
    def _by_producer(self) -> dict[int, tuple[list[int], list[int]]]:
        """By producer: the first offsets and the markers, each in order."""
        found: dict[int, tuple[list[int], list[int]]] = {}
        columns = zip(self.producer_ids, self.first_offsets, self.markers, strict=True)
        for producer_id, first, marker in columns:
            firsts, markers = found.setdefault(producer_id, ([], []))
            firsts.append(first)
            markers.append(marker)
        for both in found.values():
            for offsets in both:
                offsets.sort()
        return found

    def left_out(self, table: HeaderTable) -> bytes | bytearray | None:
        """Return which entries of a table belong to one of them, 1 for each that does.

        With NumPy, where a program has loaded it: loading it takes longer than it saves.

        Returns:
            A byte for each entry; None if none belongs to any.
        """
        flags = table.transactional if self else ()
        if not any(flags):
            return None
        producer_ids, controls, base_offsets, last_offsets = map(table.list, _IDENTITY)
        if "numpy" in sys.modules:
            import numpy as np

            found = self.among(*map(np.asarray, (producer_ids, base_offsets, last_offsets)))
            found &= (np.asarray(flags) != 0) & (np.asarray(controls) == 0)
            return found.tobytes() if found.any() else None
        marks = bytearray(len(table))
        columns = (producer_ids, controls, base_offsets, last_offsets)
        rows = zip(range(len(table)), *columns, strict=True)
        for entry, producer_id, is_control, base_offset, last_offset in compress(rows, flags):
            if not is_control and self._reach(producer_id, base_offset, last_offset):
                marks[entry] = 1
        return marks if any(marks) else None

    def _reach(self, producer_id: int, base_offset: int, last_offset: int) -> bool:
        """Return whether a data batch of a transaction belongs to one of them."""
        of_producer = self._by_producer.get(producer_id)
        if of_producer is None:
            return False
        firsts, markers = of_producer
        begun, ended = bisect_right(firsts, last_offset), bisect_left(markers, base_offset)
        return begun > 0 and (not ended or firsts[begun - 1] > markers[ended - 1])

    def among(self, producer_ids: Any, base_offsets: Any, last_offsets: Any) -> Any:
        """Return which of many transactional batches belong to one of them, with NumPy.

        Args:
            producer_ids: int64 array of the producers of data batches.
            base_offsets: int64 array of their base offsets.
            last_offsets: int64 array of their last offsets.

        Returns:
            A bool array.
        """
        import numpy as np

        if not self:
            return np.zeros(len(base_offsets), bool)
        producers, firsts, markers = self._sorted
        group = np.minimum(np.searchsorted(producers, producer_ids), len(producers) - 1)
        begun, first = firsts.last(group, last_offsets, "right")
        ended, marker = markers.last(group, base_offsets, "left")
        return (producers[group] == producer_ids) & begun & (~ended | (first > marker))

    @cached_property
    def _sorted(self) -> tuple[Any, _Grouped, _Grouped]:
        """The producers, and their first offsets and markers, for ``among``."""
        import numpy as np

        columns = (self.producer_ids, self.first_offsets, self.markers)
        producer_ids, firsts, markers = (np.frombuffer(item, np.int64) for item in columns)
        producers, groups = np.unique(producer_ids, return_inverse=True)
        return producers, _Grouped(groups, firsts), _Grouped(groups, markers)


class _Grouped:
    """Offsets by group: NumPy arrays of places, which order them by group and offset."""

    def __init__(self, groups: Any, offsets: Any) -> None:
        import numpy as np

        self._ascending = np.sort(offsets)
        order = np.lexsort((offsets, groups))
        self._groups, self._offsets = groups[order], offsets[order]
        ranks = np.searchsorted(self._ascending, self._offsets)
        self._places = self._groups * len(offsets) + ranks

    def last(self, groups: Any, limits: Any, side: Literal["left", "right"]) -> tuple[Any, Any]:
        """Return the last offset of each group up to a limit, after whether there is one.

        Args:
            groups: numbers of groups.
            limits: an offset for each.
            side: ``right`` takes the limit itself too.
        """
        import numpy as np

        rank = np.searchsorted(self._ascending, limits, side=side) - 1
        width = len(self._ascending)
        place = np.searchsorted(self._places, groups * width + rank, side="right") - 1
        there = (rank >= 0) & (place >= 0) & (self._groups[place] == groups)
        return there, self._offsets[place]


def _made(*columns: array[int]) -> AbortedTransactions:
    made = AbortedTransactions()
    made.producer_ids, made.first_offsets, made.markers = columns
    return made


NO_TRANSACTIONS: Final = AbortedTransactions()


class Transactions:
    """Follows the transactions of a log, table by table.

    A producer has one transaction at a time, which its next marker ends: Kafka's
    ``ProducerAppendInfo.appendEndTxnMarker``. The epoch does not matter: with transaction version 2
    that of the marker is larger by one.

    Args:
        before: transactions that are open at the start.
        start: batches that end before this offset are left out.

    Attributes:
        open: the transactions that no marker has ended so far, by producer.
        aborted: those that markers have aborted, where the markers were read.
        errors: of markers that cannot be read. They end a transaction, and do not abort it.
    """

    def __init__(
        self, before: Iterable[OpenTransaction] = (), start: int = -LARGEST_OFFSET
    ) -> None:
        self.open = {each.producer_id: each for each in before}
        self.aborted = AbortedTransactions()
        self.errors: list[KafkaSpecError] = []
        self._start = start

    @property
    def first_unstable(self) -> int | None:
        """The first offset of a transaction that is open; None if none is."""
        return min((each.first_offset for each in self.open.values()), default=None)

    def step(self, table: HeaderTable, *, aborted: bool = True) -> None:
        """Take the next batches."""
        if any(table.transactional):
            take = self._by_columns if "numpy" in sys.modules else self._by_rows
            take(table, aborted)

    def data(self, producer_id: int, epoch: int, first_offset: int, timestamp: int) -> None:
        """Take a batch of a transaction."""
        known = self.open.get(producer_id)
        first = first_offset if known is None else known.first_offset
        self.open[producer_id] = OpenTransaction(producer_id, epoch, first, timestamp)

    def end(self, producer_id: int) -> OpenTransaction | None:
        """Take a marker; return the transaction that it ends, None for one without data."""
        return self.open.pop(producer_id, None)

    def _by_rows(self, table: HeaderTable, aborted: bool) -> None:
        marks = zip(table.transactional, table.producer_id, table.last_offset, strict=True)
        rows = [row for row, (flag, producer, last) in enumerate(marks)
                if flag and producer >= 0 and last >= self._start]  # fmt: skip
        if 0 in compress(table.list(names.NUM_RECORDS), table.control):  # emptied by compaction
            counts = table.list(names.NUM_RECORDS)
            rows = [row for row in rows if counts[row] or not table.control[row]]
        ends = [row for row in rows if table.control[row]] if aborted else []
        aborts = set(self._aborting(table, ends))
        columns = [table.list(name) for name in _STATE]
        found = []
        for row in rows:
            producer, ends_it, first, last, epoch, timestamp = (column[row] for column in columns)
            if not ends_it:
                self.data(producer, epoch, first, timestamp)
            else:
                ended = self.end(producer)
                if ended is not None and row in aborts:
                    found.append(Aborted(producer, ended.first_offset, last))
        self.aborted.extend(AbortedTransactions(found))

    def _by_columns(self, table: HeaderTable, aborted: bool) -> None:
        """Take the next batches, by the runs of each producer: its data, or one of its markers."""
        import numpy as np

        producers, ends, first, last, epochs, timestamps = map(table.numpy, _STATE)
        wanted = (table.numpy(names.IS_TRANSACTIONAL) != 0) & (producers >= 0)
        wanted &= (last >= self._start) & ((ends == 0) | (table.numpy(names.NUM_RECORDS) != 0))
        rows = np.flatnonzero(wanted)
        if not len(rows):
            return
        order, begins = producer_runs(producers[rows], ends[rows] != 0)
        order, starts = rows[order], np.flatnonzero(begins)
        rows, until = order[starts], order[np.append(starts[1:], len(order)) - 1]
        ids, is_end = producers[rows], ends[rows] != 0
        fresh = np.append(True, ids[1:] != ids[:-1])
        groups = np.flatnonzero(fresh)
        open_here, known = self._open_among(ids[groups])
        begun = np.where(is_end, NONE, first[rows])
        begun[groups[open_here]] = known
        ended = np.flatnonzero(is_end)
        if aborted and len(ended):
            begun[ended] = np.where(
                fresh[ended] | is_end[ended - 1], begun[ended], begun[ended - 1]
            )
            ended = ended[np.argsort(rows[ended])]
            said, numbers = distinct_markers(table, rows[ended])
            self.errors += [each for each in said if isinstance(each, KafkaSpecError)]
            aborts = [isinstance(each, Marker) and each.aborts for each in said]
            chosen = ended[np.array(aborts)[numbers] & (begun[ended] != NONE)]
            columns = (ids[chosen], begun[chosen], last[rows[chosen]])
            self.aborted.extend(_made(*(array("q", column.tobytes()) for column in columns)))
        open_here = open_here[np.logical_or.reduceat(is_end, groups)[open_here]]
        for producer in ids[groups[open_here]].tolist():
            del self.open[producer]
        left = np.flatnonzero(np.append(fresh[1:], True) & ~is_end)
        state = (ids[left], epochs[until[left]], begun[left], timestamps[until[left]])
        for each in zip(*(column.tolist() for column in state), strict=True):
            self.open[each[0]] = OpenTransaction(*each)

    def _open_among(self, producers: Any) -> tuple[Any, list[int]]:
        """Return the places of producers with an open transaction, and where each begins.

        Args:
            producers: NumPy array of different producers in order.
        """
        import numpy as np

        known = self.open
        if len(known) > len(producers):
            places = [place for place, each in enumerate(producers.tolist()) if each in known]
            found = np.array(places, np.intp)
        else:
            ids = np.fromiter(known, np.int64, len(known))
            found = np.searchsorted(producers, ids)
            found = found[producers[np.minimum(found, len(producers) - 1)] == ids]
        return found, [known[each].first_offset for each in producers[found].tolist()]

    def _aborting(self, table: HeaderTable, rows: Sequence[int]) -> list[int]:
        """Return the rows of markers that abort; a consumer skips one that cannot be read."""
        found = []
        for row, marker in zip(rows, markers(table, rows), strict=True):
            if isinstance(marker, KafkaSpecError):
                self.errors.append(marker)
            elif marker is not None and marker.aborts:
                found.append(row)
        return found


def producer_runs(producer_ids: Any, ends: Any) -> tuple[Any, Any]:
    """Return an order of batches by producer, and where in it runs of data and markers begin.

    Args:
        producer_ids: NumPy array of the producers of the batches.
        ends: which of them are markers; each is a run by itself.
    """
    import numpy as np

    low = producer_ids.min(initial=0)
    narrow = producer_ids.max(initial=0) - low < 1 << 16
    keys = (producer_ids - low).astype(np.uint16) if narrow else producer_ids
    order = np.argsort(keys, kind="stable")
    producer_ids, ends = producer_ids[order], ends[order]
    begins = np.ones(len(order), bool)
    begins[1:] = (producer_ids[1:] != producer_ids[:-1]) | ends[1:] | ends[:-1]
    return order, begins


class Markers:
    """The markers of a log by producer: the next one decides the outcome of what is before it."""

    def __init__(self, tables: Iterable[HeaderTable | KafkaSpecError]) -> None:
        """Read the markers of the tables; what cannot be read is passed over."""
        self._of: dict[int, tuple[list[int], list[bool]]] = {}
        for table in tables:
            if not isinstance(table, KafkaSpecError) and any(table.control):
                self._take(table)

    def _take(self, table: HeaderTable) -> None:
        rows = list(compress(range(len(table)), table.control))
        for row, marker in zip(rows, markers(table, rows), strict=True):
            if isinstance(marker, Marker):
                offsets, aborts = self._of.setdefault(table.producer_id[row], ([], []))
                offsets.append(table.last_offset[row])
                aborts.append(marker.aborts)

    def outcome(self, producer_id: int, offset: int) -> Outcome:
        """Return the outcome of the transaction of a producer at an offset."""
        offsets, aborts = self._of.get(producer_id, ([], []))
        number = bisect_right(offsets, offset)
        if number == len(offsets):
            return Outcome.OPEN
        return Outcome.ABORTED if aborts[number] else Outcome.COMMITTED


# -- of segments ----------------------------------------------------------------------------------


def aborted_transactions(
    segments: Callable[[], Iterable[Entries]],
) -> tuple[AbortedTransactions, Transactions | None]:
    """Return the aborted transactions that have their markers in some segments.

    The transaction index of a segment is trusted. Brokers make one only if a transaction was
    aborted, so for segments without one, the headers of all batches and the markers are read.

    Args:
        segments: returns the segments in order, each time that it is called.

    Returns:
        The transactions, and those that are open after the last batch, if all headers were read.

    Raises:
        KafkaSpecError: a file cannot be opened.
    """
    found = AbortedTransactions()
    missing = False
    for segment in segments():
        listed = _listed(segment)
        missing |= listed is None
        if listed is not None:
            found.extend(listed)
    if not missing:
        return found, None
    followed = Transactions()
    whole = True
    for segment in segments():
        unknown = _listed(segment) is None
        for item in readable_headers(segment, most=_AT_ONCE, again=True):
            if isinstance(item, KafkaSpecError):
                whole = False
            else:
                followed.step(item, aborted=unknown)
    found.extend(followed.aborted)
    return found, followed if whole else None


def follow_transactions(
    segments: Iterable[Entries], start: int, before: Iterable[OpenTransaction]
) -> Transactions:
    """Follow the transactions of all batches that end at or after an offset.

    Raises:
        KafkaSpecError: an entry that cannot be parsed.
    """
    followed = Transactions(before, start)
    for segment in segments:
        position = skip(segment, 0, start)[0]
        for table in sound_headers(segment, position, most=_AT_ONCE, again=True):
            followed.step(table, aborted=False)
    return followed


def _listed(segment: Entries) -> AbortedTransactions | None:
    """Return the entries of the transaction index; None without a readable one."""
    try:
        index = segment.transaction_index
        return None if index is None else AbortedTransactions.listed_in(index)
    except KafkaSpecError:
        return None
