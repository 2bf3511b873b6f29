"""Headers of the batches of a partition in NumPy, one table at a time.

Messages of magic 0 and 1 are batches of one record here; the first offset and the number of records
of a compressed one are found by reading it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkaspec.arrow.schema import SIMPLE
from kafkaspec.codecs import HeaderTable
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import names
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import NO_TIMESTAMP, NONE, Batch, stored_offset
from kafkaspec.log.damage import Kept
from kafkaspec.log.entries import Tail
from kafkaspec.log.headers import readable_headers
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment

Column = NDArray[np.int64]
"""A number for each batch."""

_COLUMNS: Final = {
    "magic": names.MAGIC,
    "base_offset": names.BASE_OFFSET,
    "last_offset": names.LAST_OFFSET,
    "num_records": names.NUM_RECORDS,
    "base_timestamp": names.BASE_TIMESTAMP,
    "max_timestamp": names.MAX_TIMESTAMP,
    "delete_horizon": names.HAS_DELETE_HORIZON,
    "producer_id": names.PRODUCER_ID,
    "producer_epoch": names.PRODUCER_EPOCH,
    "base_sequence": names.BASE_SEQUENCE,
    "last_sequence": names.LAST_SEQUENCE,
    "transactional": names.IS_TRANSACTIONAL,
    "control": names.IS_CONTROL,
}
_FLAGS: Final = frozenset({"delete_horizon", "transactional", "control"})
_SETS: Final = [magic for magic, kind in KINDS.items() if kind.has_record_sets]
_LACKING: Final = {
    name: [magic for magic in _SETS if column not in KINDS[magic].header]
    for name, column in _COLUMNS.items()
    if any(column not in KINDS[magic].header for magic in _SETS)
}
"""Magics of batches whose headers do not have a column."""

UNKNOWN: Final = -1
"""First offset, or number of records, of a compressed message that cannot be read."""


@dataclass(slots=True)
class BatchRows:
    """Headers of consecutive batches of one segment.

    Attributes:
        segment: the segment; it is open while the table is used.
        file: number of the segment in its partition.
        position: byte offset of each batch.
        scanned: the table that the codec made, and where its positions count from; None for a
            batch that the codec does not scan.
    """

    segment: Segment
    file: int
    position: Column
    scanned: tuple[HeaderTable, int] | None
    _columns: dict[str, Column] = field(default_factory=dict)
    _messages: tuple[Column, Column] | None = None
    _magics: frozenset[int] | None = None

    def __len__(self) -> int:
        return len(self.position)

    def __getitem__(self, name: str) -> Column:
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = self._make(name)
        return found

    def _make(self, name: str) -> Column:
        assert self.scanned is not None
        table = self.scanned[0]
        column = _COLUMNS[name]
        other = 0 if name in _FLAGS else NONE
        if column in table.names:
            values = _array(table, column)
        else:
            values = np.full(table.count, other, np.int64)
        if name == "magic":
            return values
        magics = self.magics
        if not magics.isdisjoint(_LACKING.get(name, ())):
            values = np.where(np.isin(self["magic"], _LACKING[name]), other, values)
        if magics.issubset(_SETS):
            return values
        return np.where(np.isin(self["magic"], _SETS), values, self._legacy(name, other))

    @property
    def first_timestamp(self) -> Column:
        """The time of the first record of each batch; -1 where the cleaner wrote another there.

        A batch with a delete horizon has that in its place.
        """
        return np.where(self["delete_horizon"] != 0, NO_TIMESTAMP, self["base_timestamp"])

    @property
    def magics(self) -> frozenset[int]:
        """The magics of the batches."""
        if self._magics is None:
            magic = self["magic"]
            least = int(magic.min())
            one = least == int(magic.max())
            self._magics = frozenset([least] if one else np.unique(magic).tolist())
        return self._magics

    def _legacy(self, name: str, other: int) -> Column | int:
        """Return a column for messages of magic 0 and 1."""
        if name == "last_offset":
            return self._stored(names.OFFSET)
        if name in ("base_offset", "num_records"):
            firsts, counts = self._wrapped()
            return firsts if name == "base_offset" else counts
        if name in ("base_timestamp", "max_timestamp"):
            timed = [magic for magic, kind in KINDS.items() if kind.has_timestamps]
            times = self._stored(names.TIMESTAMP)
            return np.where(np.isin(self["magic"], timed), times, NO_TIMESTAMP)
        return other

    def _stored(self, name: str) -> Column:
        assert self.scanned is not None
        table = self.scanned[0]
        return _array(table, name) if name in table.names else np.full(table.count, NONE, np.int64)

    def _wrapped(self) -> tuple[Column, Column]:
        """Return first offsets and numbers of records of messages; compressed ones are read."""
        if self._messages is None:
            firsts = self._stored(names.OFFSET).copy()
            counts = np.ones(len(self), np.int64)
            packed = (self._stored(names.COMPRESSION) > 0) & ~np.isin(self["magic"], _SETS)
            for row in np.flatnonzero(packed).tolist():
                firsts[row], counts[row] = _inside(self.segment, int(self.position[row]))
            self._messages = firsts, counts
        return self._messages


def _inside(segment: Segment, position: int) -> tuple[int, int]:
    """Return the first offset and the number of messages of a compressed message."""
    try:
        records = segment.batch_at(position).records()
        return (records[0].offset, len(records)) if records else (UNKNOWN, 0)
    except KafkaSpecError:
        return UNKNOWN, UNKNOWN


def _array(table: HeaderTable, name: str) -> Column:
    return np.frombuffer(table.column(name), np.int64, table.count)  # type: ignore[call-overload,no-any-return]


NAMED: Final = pa.dictionary(pa.int32(), pa.string())
"""Type of a column with few different texts."""
EPOCH: Final = SIMPLE["producer_epoch"][0]
"""Type of a column of epochs of producers."""
SEQUENCE: Final = SIMPLE["sequence"][0]
"""Type of a column of sequence numbers."""


def named(numbers: Column, texts: Sequence[str]) -> pa.Array:
    """Return a column of texts by their numbers, null for negative ones."""
    indices = pa.array(numbers.astype(np.int32), mask=numbers < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(texts or [""], pa.string()))


def joined_rows(
    rows: dict[str, Column],
    order: NDArray[np.intp],
    begins: NDArray[np.bool_],
    ends: Container[str],
    sums: Container[str],
) -> dict[str, Column]:
    """Join rows that come one after the other in an order.

    Args:
        rows: columns.
        order: the order.
        begins: whether a joined row begins with a row, in that order.
        ends: columns that come from the last row; the others from the first.
        sums: columns that are added up.
    """
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(order)) - 1
    firsts, lasts = order[first], order[last]
    return {
        name: np.add.reduceat(column[order], first)
        if name in sums
        else column[lasts if name in ends else firsts]
        for name, column in rows.items()
    }


@dataclass
class Unread:
    """The unreadable parts of a partition.

    Attributes:
        errors: of segments, batches and markers, in order.
        tails: bytes at the ends of segments that are not a batch, and no zeros, by segment.
    """

    errors: list[KafkaSpecError] = field(default_factory=list)
    tails: dict[int, Tail] = field(default_factory=dict)


def tables(
    log: Partition | Segment,
    unread: Unread,
    kept: Callable[[Segment], Kept | None] | None = None,
) -> Iterator[BatchRows]:
    """Yield the headers of a log, and note what cannot be read.

    Args:
        log: a partition, or a segment of one.
        unread: gets the errors.
        kept: function that returns the entries to read of a segment; all others are left out.
    """
    for number, segment in _segments(log, unread):
        try:
            chosen = None if kept is None else kept(segment)
            if chosen is None:
                yield from _of_segment(segment, number, unread)
                continue
            if [(part.start, part.end) for part in chosen.ranges] != [(0, segment.size)]:
                errors = readable_headers(segment)
                unread.errors += [item for item in errors if isinstance(item, KafkaSpecError)]
            for part in chosen.ranges:
                yield from _of_segment(segment, number, unread, part.start, part.end)
        except KafkaSpecError as error:
            unread.errors.append(error)


def segment_paths(log: Partition | Segment) -> list[str]:
    """Return the path of each segment, by the number that tables have for it."""
    if isinstance(log, Segment):
        return [log.name or ""]
    return [str(path) for path in log.segment_paths]


def _segments(log: Partition | Segment, unread: Unread) -> Iterator[tuple[int, Segment]]:
    if isinstance(log, Segment):
        yield 0, log
        return
    paths: Iterable[Path] = log.segment_paths
    for number, path in enumerate(paths):
        try:
            segment = log.open_segment(path)
        except KafkaSpecError as error:
            unread.errors.append(error)
            continue
        with segment:
            yield number, segment


def _of_segment(
    segment: Segment, number: int, unread: Unread, start: int = 0, stop: int | None = None
) -> Iterator[BatchRows]:
    for item in readable_headers(segment, start, stop):
        if isinstance(item, KafkaSpecError):
            unread.errors.append(item)
        elif isinstance(item, Batch):
            yield _of_batch(segment, number, item)
        else:
            table, base = item
            position = _array(table, "position")
            yield BatchRows(segment, number, position + base if base else position, item)
    if stop is None and segment.tail is not None and segment.tail.reason != "zeros":
        unread.tails[number] = segment.tail


def _of_batch(segment: Segment, number: int, batch: Batch) -> BatchRows:
    first, count = stored_offset(batch), batch.num_records
    if batch.is_wrapper:
        first, count = _inside(segment, batch.position)
    values = {
        "magic": batch.magic,
        "base_offset": first,
        "last_offset": batch.last_offset,
        "num_records": UNKNOWN if count is None else count,
        "base_timestamp": batch.base_timestamp,
        "max_timestamp": batch.max_timestamp,
        "delete_horizon": int(batch.delete_horizon is not None),
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "last_sequence": batch.last_sequence,
        "transactional": int(batch.is_transactional),
        "control": int(batch.is_control),
    }
    columns = {
        name: np.array([NONE if value is None else value], np.int64)
        for name, value in values.items()
    }
    return BatchRows(segment, number, np.array([batch.position], np.int64), None, columns)
