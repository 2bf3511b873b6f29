"""Which records of a log to deliver: ranges, isolation, the log start, and damage.

One set of options for all readers: ``records``, ``to_batches``, and the commands that print or
export records. ``Partition.resolve`` turns what a partition decides (its log start offset, its
transactions) into offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TypeVar, Unpack

from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.batch import NO_TIMESTAMP, Batch
from kafkaspec.log.entries import Entries
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import skip
from kafkaspec.log.lookup import start_position
from kafkaspec.log.options import LOG_START, Isolation, LogStart, RecordOptions
from kafkaspec.log.pieces import runs_of
from kafkaspec.log.transactions import NO_TRANSACTIONS, AbortedTransactions
from kafkaspec.model import Record
from kafkaspec.options import checked
from kafkaspec.policy import OnError, report
from kafkaspec.times import with_milliseconds


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The records to deliver.

    Attributes:
        start_offset: smallest offset.
        end_offset: first offset to leave out. Nothing is read after the batch that reaches it.
        start_timestamp: smallest timestamp in ms since the Unix epoch.
        end_timestamp: first timestamp to leave out. With a range of timestamps, records without a
            timestamp are left out.
        include_control: whether to include control records, which no consumer sees.
        isolation: ``read_committed`` leaves out aborted transactions, and ends at the last stable
            offset. For partitions only.
        log_start: see ``LogStart``. For partitions only.
        on_error: see ``OnError``.
        aborted: transactions to leave out.
    """

    start_offset: int | None = None
    end_offset: int | None = None
    start_timestamp: int | None = None
    end_timestamp: int | None = None
    include_control: bool = False
    isolation: Isolation = "read_uncommitted"
    log_start: LogStart = LOG_START
    on_error: OnError = "raise"
    aborted: AbortedTransactions = NO_TRANSACTIONS

    @property
    def is_plain(self) -> bool:
        """Whether at most offsets are limited, and errors are raised."""
        bounds = (self.start_timestamp, self.end_timestamp)
        return bounds == (None, None) and self.on_error == "raise"

    @property
    def takes_all(self) -> bool:
        """Whether every data batch is wanted."""
        return not self.is_range and not self.aborted

    @property
    def is_range(self) -> bool:
        """Whether offsets or timestamps are limited."""
        bounds = (self.start_offset, self.end_offset, self.start_timestamp, self.end_timestamp)
        return bounds != (None, None, None, None)

    def keeps(self, record: Record) -> bool:
        """Return whether a record of a wanted batch is in the ranges."""
        low, high = self.start_offset, self.end_offset
        if (low is not None and record.offset < low) or (
            high is not None and record.offset >= high
        ):
            return False
        return is_timely(record.timestamp, self.start_timestamp, self.end_timestamp)


def selection_of(start_offset: int | None = None, **options: Unpack[RecordOptions]) -> Selection:
    """Return the selection that the options of ``records`` ask for."""
    return Selection(start_offset=start_offset, **with_milliseconds(options))


def is_timely(timestamp: int, earliest: int | None, end: int | None) -> bool:
    """Return whether a timestamp is in a range; no timestamp is in none but the unlimited one."""
    if earliest is None and end is None:
        return True
    return (
        timestamp != NO_TIMESTAMP
        and (earliest is None or timestamp >= earliest)
        and (end is None or timestamp < end)
    )


W = TypeVar("W", bound=Selection)


def check_isolation(isolation: Isolation) -> None:
    """Refuse what a segment alone cannot know.

    Raises:
        ValueError: ``read_committed`` is wanted.
    """
    if isolation == "read_committed":
        raise ValueError("read_committed needs a partition, not a segment")


def selected_batches(
    segment: Entries, wanted: Selection, position: int | None = None
) -> Iterator[Batch]:
    """Yield the batches of a segment that may hold wanted records.

    Args:
        segment: the segment.
        wanted: the records.
        position: byte offset of the entry to begin with; where the selection does by default.

    Raises:
        KafkaSpecError: an entry that cannot be parsed, if ``on_error`` is ``raise``.
    """
    if position is None:
        position = first_position(segment, wanted)
    fails = wanted.on_error == "raise"
    for item in segment.entries(position) if fails else segment.scan(position):
        batch, more = chosen(item, wanted)
        if batch is not None:
            yield batch
        if not more:
            return


def first_position(segment: Entries, wanted: Selection) -> int:
    """Return the byte offset of an entry such that those before it hold nothing wanted."""
    if wanted.start_offset is None:
        return segment.first
    position, _, _ = start_position(segment, wanted.start_offset)
    return skip(segment, max(position, segment.first), wanted.start_offset)[0]


def chosen(item: Batch | KafkaSpecError, wanted: Selection) -> tuple[Batch | None, bool]:
    """Return an entry if it may hold wanted records, and whether those after it may.

    Raises:
        KafkaSpecError: the item, if ``on_error`` is ``raise``.
    """
    if isinstance(item, KafkaSpecError):
        report(wanted.on_error, item)
        return None, True
    low, high = wanted.start_offset, wanted.end_offset
    is_set = item.kind.has_record_sets
    # The first offset of a wrapper needs decompression.
    if high is not None and (is_set or not item.is_compressed) and item.base_offset >= high:
        return None, False
    kept = (low is None or item.last_offset >= low) and _may_hold(item, wanted, is_set)
    return item if kept else None, high is None or item.last_offset < high - 1


def left_out(table: HeaderTable, wanted: Selection) -> bytearray:
    """Return which entries hold nothing wanted, 1 for each, up to one that ``chosen`` has to judge.

    Args:
        table: headers of entries.
        wanted: the records; no first offset, no timestamps.
    """
    marks = bytearray(wanted.aborted.left_out(table) or len(table))
    if table.has_messages(0, len(table)):
        return marks[:0]
    if not wanted.include_control:
        for entry in compress(range(len(table)), table.control):
            marks[entry] = 1
    end = wanted.end_offset
    if end is None:
        return marks
    firsts, lasts = table.first_offset, table.last_offset
    if max(lasts) < end - 1 and max(firsts) < end:
        return marks
    reach = enumerate(zip(firsts, lasts, strict=True))
    return marks[: next(entry for entry, (a, b) in reach if b >= end - 1 or a >= end)]


def selected(segment: Entries, wanted: Selection) -> Iterator[tuple[Batch, Sequence[Record]]]:
    """Yield the batches of a segment with wanted records, and these records.

    A large batch comes more than once, with some of its records each time.

    Raises:
        KafkaSpecError: a batch cannot be read, if ``on_error`` is ``raise``.
    """
    for batch in selected_batches(segment, wanted):
        try:
            records = batch.records()
        except KafkaSpecError as error:
            report(wanted.on_error, error)
            continue
        for run in runs_of(records):
            if wanted.is_range:
                run = [record for record in run if wanted.keeps(record)]
            yield batch, run


def _may_hold(batch: Batch, wanted: Selection, is_set: bool) -> bool:
    if batch.is_control:
        return wanted.include_control
    earliest = wanted.start_timestamp
    if earliest is not None and is_set and batch.max_timestamp < earliest:
        return False
    return not wanted.aborted or not wanted.aborted.holds(batch)
