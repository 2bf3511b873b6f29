"""Which transactions of a partition ``read_committed`` does not deliver.

A broker tells a consumer which transactions were aborted, by producer id and first offset, and the
consumer leaves out what that producer wrote up to the marker. Kafka: ``UnifiedLog.read``,
``LocalLog.collectAbortedTransactions``, ``CompletedFetch.nextFetchedRecord``; KIP-98.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, compress
from typing import Any, Final, NamedTuple, overload

from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.codecs import Codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.snapshots import TransactionIndex
from kafkaspec.layout import names
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.log.batch import Batch
from kafkaspec.log.control import decode_control
from kafkaspec.log.entries import Entries
from kafkaspec.log.header_table import POSITION, HeaderTable, is_constant
from kafkaspec.log.headers import (
    HEADERS_AT_ONCE,
    readable_headers,
    skip,
    sound_headers,
)
from kafkaspec.log.pieces import WHOLE_BYTES
from kafkaspec.model import Record

_PRODUCER, _FIRST, _LAST = "producer_id", "first_offset", "last_offset"
_ABORT: Final = ControlRecordType.ABORT
_COLUMNS: Final = (
    names.PRODUCER_ID, names.IS_CONTROL, names.BASE_OFFSET, names.LAST_OFFSET,
    names.PRODUCER_EPOCH, names.MAX_TIMESTAMP, names.NUM_RECORDS, POSITION,
)  # fmt: skip
_IDENTITY: Final = (names.PRODUCER_ID, names.IS_CONTROL, names.BASE_OFFSET)


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
        return AbortedTransactions(
            item for item in found if high is None or item.first_offset < high
        )

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
        return self._reach(batch.producer_id, batch.base_offset)

    @cached_property
    def _by_producer(self) -> dict[int, tuple[list[int], list[int]]]:
        """By producer: first offsets in order, and the largest offset of a marker up to each."""
        found: dict[int, tuple[list[int], list[int]]] = {}
        columns = zip(self.producer_ids, self.first_offsets, self.markers, strict=True)
        for producer_id, first, marker in sorted(columns):
            first_offsets, reached = found.setdefault(producer_id, ([], []))
            first_offsets.append(first)
            reached.append(max(marker, reached[-1]) if reached else marker)
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
        producer_ids, controls, base_offsets = map(table.list, _IDENTITY)
        if "numpy" in sys.modules:
            import numpy as np

            found = self.among(np.asarray(producer_ids), np.asarray(base_offsets))
            found &= (np.asarray(flags) != 0) & (np.asarray(controls) == 0)
            return found.tobytes() if found.any() else None
        marks = bytearray(len(table))
        rows = zip(range(len(table)), producer_ids, controls, base_offsets, strict=True)
        for entry, producer_id, is_control, base_offset in compress(rows, flags):
            if not is_control and self._reach(producer_id, base_offset):
                marks[entry] = 1
        return marks if any(marks) else None

    def _reach(self, producer_id: int, base_offset: int) -> bool:
        """Return whether a data batch of a transaction belongs to one of them."""
        of_producer = self._by_producer.get(producer_id)
        if of_producer is None:
            return False
        first_offsets, reached = of_producer
        place = bisect_right(first_offsets, base_offset) - 1
        return place >= 0 and base_offset < reached[place]

    def among(self, producer_ids: Any, base_offsets: Any) -> Any:
        """Return which of many transactional batches belong to one of them, with NumPy.

        Args:
            producer_ids: int64 array of the producers of data batches.
            base_offsets: int64 array of their base offsets.

        Returns:
            A bool array.
        """
        import numpy as np

        if not self:
            return np.zeros(len(base_offsets), bool)
        producers, groups, first_offsets, places, reached = self._sorted
        group = np.minimum(np.searchsorted(producers, producer_ids), len(producers) - 1)
        known = producers[group] == producer_ids
        before = np.searchsorted(first_offsets, base_offsets, side="right") - 1
        width = len(first_offsets)
        place = np.searchsorted(places, group * width + before, side="right") - 1
        known &= (before >= 0) & (place >= 0)
        return known & (groups[place] == group) & (base_offsets < reached[place])

    @cached_property
    def _sorted(self) -> tuple[Any, ...]:
        """Arrays for ``among``: places order the transactions by producer and first offset."""
        import numpy as np

        columns = (self.producer_ids, self.first_offsets, self.markers)
        producer_ids, firsts, markers = (np.frombuffer(item, np.int64) for item in columns)
        order = np.lexsort((firsts, producer_ids))
        producers, groups = np.unique(producer_ids[order], return_inverse=True)
        ascending = np.sort(firsts)
        places = groups * len(firsts) + np.searchsorted(ascending, firsts[order])
        reached = markers[order]
        if len(reached) > 1 and ((reached[1:] < reached[:-1]) & (groups[1:] == groups[:-1])).any():
            # One within another, as only a damaged index has them.
            reached = np.array([end for _, ends in self._by_producer.values() for end in ends])
        return producers, groups, ascending, places, reached


def _made(*columns: array[int]) -> AbortedTransactions:
    made = AbortedTransactions()
    made.producer_ids, made.first_offsets, made.markers = columns
    return made


NO_TRANSACTIONS: Final = AbortedTransactions()


def aborted_transactions(
    segments: Callable[[], Iterable[Entries]],
) -> tuple[AbortedTransactions, dict[int, OpenTransaction] | None]:
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
    ongoing: dict[int, OpenTransaction] = {}
    marked: list[Aborted] = []
    whole = True
    for segment in segments():
        known = _listed(segment) is not None
        for item in readable_headers(segment, most=HEADERS_AT_ONCE):
            if isinstance(item, KafkaSpecError):
                whole = False
                continue
            part = _part_of(item)
            if part is not None:
                if not known:
                    marked += part.aborted(segment, ongoing)
                part.follow(-LARGEST_OFFSET, ongoing)
    found.extend(AbortedTransactions(marked))
    return found, _named(ongoing) if whole else None


def follow_transactions(
    segments: Iterable[Entries], start: int, ongoing: dict[int, OpenTransaction]
) -> None:
    """Follow the transactions of all batches that end at or after an offset.

    Args:
        segments: the segments in order.
        start: the offset.
        ongoing: the transactions that are open there, by producer id; those that are open after
            the last batch take their place.

    Raises:
        KafkaSpecError: an entry that cannot be parsed.
    """
    for segment in segments:
        position = skip(segment, 0, start)[0]
        for item in sound_headers(segment, position, most=HEADERS_AT_ONCE):
            part = _part_of(item)
            if part is not None:
                part.follow(start, ongoing)
    _named(ongoing)


class _Part:
    """The facts about transactions in the batches of a table.

    Functions in C go through the columns: a loop in Python over all rows takes longer than it takes
    to decode small batches.
    """

    def __init__(self, columns: Sequence[Sequence[int]], headers: HeaderTable) -> None:
        producer_ids, controls, *_ = columns
        self._producer_ids, self._controls = list(producer_ids), list(controls)
        (
            _, _, self._first_offsets, self._last_offsets, self._epochs, self._timestamps,
            self._counts, self._positions, self._entries,
        ) = columns  # fmt: skip
        self._headers = headers
        self._rows = range(len(self._positions))

    def follow(self, start: int, ongoing: dict[int, OpenTransaction]) -> None:
        """Follow them; see ``follow_transactions``. What is open becomes plain tuples."""
        producer_ids, controls, rows = self._producer_ids, self._controls, self._rows
        marked = any(controls)
        emptied = marked and 0 in compress(self._counts, controls)
        earlier = start > -LARGEST_OFFSET and min(self._last_offsets) < start
        if emptied or earlier or min(producer_ids) < 0:
            for row in rows:
                if self._last_offsets[row] >= start and producer_ids[row] >= 0:
                    self._step(row, ongoing)
            return
        last = dict(zip(producer_ids, rows, strict=True))
        pairs = compress(zip(producer_ids, rows, strict=True), controls) if marked else ()
        markers = dict(pairs)
        for producer in ongoing.keys() & markers.keys():
            del ongoing[producer]
        opened = [producer for producer, row in last.items() if not controls[row]]
        if not opened:
            return
        first = dict(zip(reversed(producer_ids), reversed(rows), strict=True))
        again = [producer for producer in opened if producer in markers]
        if again:  # their first batch comes after their last marker
            for producer in again:
                del first[producer]
            after = min(map(markers.__getitem__, again))
            for row in rows[after:]:
                if row > markers.get(producer_ids[row], row):
                    first.setdefault(producer_ids[row], row)
        for producer in opened:
            self._step(first[producer], ongoing)
            self._step(last[producer], ongoing)

    def _step(self, row: int, ongoing: dict[int, OpenTransaction]) -> None:
        producer = self._producer_ids[row]
        if not self._controls[row]:
            known = ongoing.get(producer)
            first = self._first_offsets[row] if known is None else known[2]
            # A plain tuple takes a fraction of the time, of which most are replaced.
            made = producer, self._epochs[row], first, self._timestamps[row]
            ongoing[producer] = made  # type: ignore[assignment]
        elif self._counts[row]:  # one that compaction has emptied ends nothing
            ongoing.pop(producer, None)

    def aborted(self, segment: Entries, ongoing: dict[int, OpenTransaction]) -> Iterator[Aborted]:
        """Yield the transactions that markers abort.

        Args:
            segment: the segment.
            ongoing: what is open before.
        """
        aborts = self._aborts(segment)
        producers = {self._producer_ids[row] for row in aborts}
        begun = {each: ongoing[each][2] for each in producers if each in ongoing}
        for row in compress(self._rows, map(producers.__contains__, self._producer_ids)):
            producer = self._producer_ids[row]
            if not self._controls[row]:
                begun.setdefault(producer, self._first_offsets[row])
            elif self._counts[row]:
                began = begun.pop(producer, None)
                if began is not None and row in aborts:
                    yield Aborted(producer, began, self._last_offsets[row])

    def _aborts(self, segment: Entries) -> set[int]:
        """Return the rows of the markers that abort; a consumer skips one that cannot be read."""
        markers = list(compress(self._rows, self._controls))
        types = self._types(segment, markers) if markers else []
        found = {row for row, kind in zip(markers, types, strict=False) if kind == _ABORT}
        rest = markers[len(types) :]
        return found | {row for row in rest if _is_abort(segment, self._positions[row])}

    def _types(self, segment: Entries, markers: list[int]) -> list[int | None]:
        """Return the types of the first of some markers, as far as they need only decoding."""
        table = self._headers
        if table.scan is None or {self._counts[row] for row in markers} != {1}:
            return []
        segment.check()
        buffer, start = segment.around(segment.cursor(), self._positions[markers[0]])
        if start != table.start:
            return []
        passed = bytearray(b"\1") * len(table)
        for row in markers:
            passed[self._entries[row]] = 0
        first, verify = table.position[0] - start, segment.crc == "raise"
        records = segment.codec.plain_records(
            buffer, first, verify, WHOLE_BYTES, None, (table.scan, passed)
        )
        return [_type_of(segment.codec, each.key, each.value) for each in records or ()]


@lru_cache(maxsize=1024)
def _type_of(codec: Codec, key: bytes | None, value: bytes | None) -> int | None:
    """Return the type of a control record; None if it cannot be decoded."""
    try:
        kind: int = decode_control(Record(0, 0, key, value), codec=codec).key.type
    except KafkaSpecError:
        return None
    return kind


def _named(ongoing: dict[int, OpenTransaction]) -> dict[int, OpenTransaction]:
    """Make transactions of the plain tuples."""
    ongoing.update({producer: OpenTransaction(*found) for producer, found in ongoing.items()})
    return ongoing


def _listed(segment: Entries) -> AbortedTransactions | None:
    """Return the entries of the transaction index; None without a readable one."""
    try:
        index = segment.transaction_index
        if index is None:
            return None
        return AbortedTransactions.listed_in(index)
    except KafkaSpecError:
        return None


def _part_of(table: HeaderTable) -> _Part | None:
    """Return what batches say; None if none of them is of a transaction."""
    flags = table.transactional
    if not (flags[0] or any(flags)):
        return None
    columns = [*map(table.list, _COLUMNS), range(len(table))]
    if not (flags[0] and is_constant(flags)) and not all(flags):
        columns = [list(compress(column, flags)) for column in columns]
    return _Part(columns, table)


def _is_abort(segment: Entries, position: int) -> bool:
    """Return whether a marker aborts; a consumer also skips one that cannot be read."""
    try:
        marker = segment.batch_at(position).marker()
    except KafkaSpecError:
        return False
    return marker is not None and marker.key.type == _ABORT
