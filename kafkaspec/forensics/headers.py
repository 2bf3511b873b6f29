"""Headers of the batches of a partition, one table at a time, and rows that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkaspec.arrow.schema import SIMPLE
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import names
from kafkaspec.log.batch import NO_TIMESTAMP
from kafkaspec.log.damage import Kept, KeptRange
from kafkaspec.log.entries import Tail
from kafkaspec.log.header_table import POSITION, SIZE, HeaderTable
from kafkaspec.log.headers import readable_headers
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.log.transactions import OpenTransaction

PerBatch = NDArray[np.int64]
"""A number for each batch."""


def first_timestamps(table: HeaderTable) -> PerBatch:
    """Return the time of the first record of each batch; -1 where the cleaner wrote another there.

    A batch with a delete horizon has that in its place.
    """
    horizon = table.numpy(names.HAS_DELETE_HORIZON) != 0
    return np.where(horizon, NO_TIMESTAMP, table.numpy(names.BASE_TIMESTAMP))


NAMED: Final = pa.dictionary(pa.int32(), pa.string())
"""Type of a column with few different texts."""
EPOCH: Final = SIMPLE["producer_epoch"][0]
"""Type of a column of epochs of producers."""
SEQUENCE: Final = SIMPLE["sequence"][0]
"""Type of a column of sequence numbers."""


def named(numbers: PerBatch, texts: Sequence[str]) -> pa.Array:
    """Return a column of texts by their numbers, null for negative ones."""
    indices = pa.array(numbers.astype(np.int32), mask=numbers < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(texts or [""], pa.string()))


def table_of(
    schema: pa.Schema,
    rows: Mapping[str, PerBatch],
    made: Mapping[str, pa.Array],
    known: Container[str],
) -> pa.Table:
    """Return rows as a table.

    Args:
        made: columns that are not numbers of the rows.
        known: columns that have negative numbers; those of the others are null.
    """
    arrays = []
    for item in schema:
        array = made.get(item.name)
        if array is None:
            numbers = rows[item.name]
            array = pa.array(numbers, mask=None if item.name in known else numbers < 0)
        arrays.append(array.cast(item.type))
    return pa.Table.from_arrays(arrays, schema=schema)


_OF_RUN: Final = {
    "producer_id": names.PRODUCER_ID, "epoch": names.PRODUCER_EPOCH, "records": names.NUM_RECORDS,
    "first_offset": names.BASE_OFFSET, "last_offset": names.LAST_OFFSET,
    "last_timestamp": names.MAX_TIMESTAMP, "position": POSITION,
}  # fmt: skip


def rows_of(table: HeaderTable, rows: NDArray[np.intp]) -> dict[str, PerBatch]:
    """Return the columns that ``joined_rows`` joins of some batches of a table."""
    return {name: table.numpy(column)[rows] for name, column in _OF_RUN.items()} | {
        "first_timestamp": first_timestamps(table)[rows],
        "batches": np.ones(len(rows), np.int64),
        "file": np.full(len(rows), table.file, np.int64),
    }


def joined_rows(
    rows: dict[str, PerBatch],
    order: NDArray[np.intp],
    begins: NDArray[np.bool_],
    ends: Container[str],
    sums: Container[str],
) -> dict[str, PerBatch]:
    """Join rows in an order; columns not in ``ends`` and ``sums`` come from the first of them."""
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
    """The unreadable parts of a partition: errors, and bytes at ends that are not a batch."""

    errors: list[KafkaSpecError] = field(default_factory=list)
    tails: dict[int, Tail] = field(default_factory=dict)


def tables(
    log: Partition | Segment,
    unread: Unread,
    kept: Callable[[Segment], Kept | None] | None = None,
    each: Callable[[HeaderTable], None] = lambda _: None,
) -> Iterator[HeaderTable]:
    """Yield the headers of a log, or of entries that ``kept`` names; note what cannot be read.

    Args:
        each: also takes the headers, those of all entries.
    """
    for number, segment in _segments(log, unread):
        noted, ranges = unread, None
        try:
            chosen = None if kept is None else kept(segment)
            if chosen is not None and not chosen.is_whole(segment.size):
                ranges = chosen.ranges
        except KafkaSpecError as error:
            unread.errors.append(error)
            noted, ranges = Unread(), ()
        try:
            whole = _of_segment(segment, number, noted)
            if ranges is None:
                for table in whole:
                    each(table)
                    yield table
            else:
                yield from _within(segment, number, noted, ranges, whole, each)
        except KafkaSpecError as error:
            noted.errors.append(error)


def _within(
    segment: Segment,
    number: int,
    unread: Unread,
    ranges: Sequence[KeptRange],
    whole: Iterable[HeaderTable],
    each: Callable[[HeaderTable], None],
) -> Iterator[HeaderTable]:
    """Yield the headers in some ranges, many ranges of a table of all headers together."""
    bounds = np.array([(part.start, part.end) for part in ranges], np.int64).reshape(-1, 2)
    starts, stops = bounds.T
    in_order = bool((starts[1:] >= stops[:-1]).all())
    done = 0
    for table in whole:
        each(table)
        if not in_order:
            continue
        begun, done = done, int(np.searchsorted(starts, table.end))
        first, last, fits = _rows_of(table, starts[begun:done], stops[begun:done])
        for fit, places in groupby(range(done - begun), key=fits.tolist().__getitem__):
            few = list(places)
            if fit:
                yield table.some(_all_rows(first[few], last[few], len(table)))
            else:
                for place in few:
                    yield from _of_segment(segment, number, unread, *bounds[begun + place].tolist())
    for start, stop in bounds[done:].tolist():
        yield from _of_segment(segment, number, unread, start, stop)


def _rows_of(
    table: HeaderTable, starts: PerBatch, stops: PerBatch
) -> tuple[PerBatch, PerBatch, NDArray[np.bool_]]:
    """Return the first and the last row of each range, and whether it begins and ends with one."""
    begin = table.numpy(POSITION)
    end = begin + table.numpy(SIZE)
    first, last = np.searchsorted(begin, starts), np.searchsorted(end, stops)
    most = len(begin) - 1
    fits = (begin[np.minimum(first, most)] == starts) & (end[np.minimum(last, most)] == stops)
    return first, last, fits


def _all_rows(first: PerBatch, last: PerBatch, rows: int) -> PerBatch:
    """Return the rows from each first to its last one."""
    marks = np.zeros(rows + 1, np.int64)
    marks[first] += 1
    marks[last + 1] -= 1
    return np.flatnonzero(np.cumsum(marks)[:-1])


def open_before(log: Partition | Segment) -> list[OpenTransaction]:
    """Return the transactions that were open at the start of a log, by its first snapshot."""
    if isinstance(log, Segment) or log.first_base_offset is None:
        return []
    return log.open_at(log.first_base_offset)


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
) -> Iterator[HeaderTable]:
    for item in readable_headers(segment, start, stop):
        if isinstance(item, KafkaSpecError):
            unread.errors.append(item)
        else:
            table = item.opened()
            table.file = number
            yield table
    if stop is None and segment.tail is not None and segment.tail.reason != "zeros":
        unread.tails[number] = segment.tail
