"""Plan tasks: prune logs by names and indexes, cut them at batches, pack the pieces by bytes."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from kafkaspec.errors import KafkaSpecError
from kafkaspec.io.remote import address
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.headers import header_tables
from kafkaspec.log.listed import SegmentFile, TopicLog
from kafkaspec.log.lookup import start_position
from kafkaspec.log.missing import Missing
from kafkaspec.log.segment import Segment
from kafkaspec.log.transactions import NO_TRANSACTIONS
from kafkaspec.shown import without_credentials
from kafkaspec.spark.filters import Narrowed
from kafkaspec.spark.losses import report_missing
from kafkaspec.spark.offsets import OffsetSpan, available, check_partitions, check_selected, span_of
from kafkaspec.spark.options import ReadOptions
from kafkaspec.spark.paths import LOGGER, find_logs
from kafkaspec.spark.pieces import SegmentTask, TaskPiece

OPEN_BYTES: Final = 256 << 10
"""Cost of opening a file, in bytes; a separate task costs a hundred times as much."""
SLACK: Final = 8
"""A task may be larger by an eighth before its segment is cut."""


@dataclass
class PlannedTally:
    """The result of planning, for the log: what was left out by names, by topics and by indexes."""

    segments: int = 0
    bytes: int = 0
    by_name: int = 0
    by_topic: int = 0
    read_bytes: int = 0
    began: float = field(default_factory=time.monotonic)

    def say(self, tasks: int) -> None:
        """Log it."""
        LOGGER.info(
            "%d tasks of %d bytes from %d segments; pruned: %d topic-partitions by option,"
            " %d segments by name, %d bytes by index; planned in %.3f s",
            tasks,
            self.read_bytes,
            self.segments,
            self.by_topic,
            self.by_name,
            max(0, self.bytes - self.read_bytes),
            time.monotonic() - self.began,
        )


def plan(options: ReadOptions, narrow: Narrowed | None = None) -> list[SegmentTask]:
    """Return the tasks of a batch."""
    tally = PlannedTally()
    found = find_logs(options.paths, log_start=options.log_start)
    if not any(log.segments for log in found):
        LOGGER.warning("there is no segment in %s", without_credentials(", ".join(options.paths)))
    logs = [log for log in found if options.selects(log.topic, log.partition)]
    tally.by_topic = len(found) - len(logs)
    check_selected(options, logs, found)
    check_partitions(options.start, logs, "startingOffsets")
    check_partitions(options.end, logs, "endingOffsets")
    spans = []
    for log in logs:
        span = available(log, span_of(log, options), options)
        if narrow is None:
            spans.append((log, span))
        elif narrow.selects(log.topic, log.partition):
            spans.append((log, narrow.cut(span)))
        else:
            tally.by_topic += 1
    return plan_spans(spans, options, tally)


def plan_spans(
    spans: Iterable[tuple[TopicLog, OffsetSpan]],
    options: ReadOptions,
    tally: PlannedTally | None = None,
) -> list[SegmentTask]:
    """Return the tasks for offsets of logs."""
    tally = tally or PlannedTally()
    chosen = [(log, span, _segments(log, span, tally)) for log, span in spans]
    total = sum(_size(item, options) for _, _, segments in chosen for item in segments)
    tally.bytes += total
    target = options.max_bytes
    if options.min_partitions > 1:
        target = max(1, min(target, -(-total // options.min_partitions)))
    pieces: list[TaskPiece] = []
    for log, span, segments in chosen:
        if segments:
            lost = report_missing(log, span, options)
            pieces.extend(_pieces(log, span, segments, target, options))
            if options.corrupt is not None:
                pieces.extend(_lost(log, item) for item in lost)
    tally.read_bytes = sum(piece.size for piece in pieces)
    tasks = list(_packed(pieces, target, options))
    tally.say(len(tasks))
    return tasks


def _size(item: SegmentFile, options: ReadOptions) -> int:
    """Return the bytes of a segment; if it cannot be read, its task will say so."""
    try:
        return item.size
    except KafkaSpecError:
        if options.on_error == "raise" and options.fail_on_data_loss:
            raise
        return 0


def _segments(log: TopicLog, span: OffsetSpan, tally: PlannedTally) -> list[SegmentFile]:
    """Return the segments that may have wanted offsets, by their names."""
    start = -1 if span.start is None else span.start
    chosen = [
        item
        for item in log.segments
        if (item.next_offset is None or item.next_offset > start)
        and (span.end is None or item.base_offset is None or item.base_offset < span.end)
    ]
    tally.segments += len(log.segments)
    tally.by_name += len(log.segments) - len(chosen)
    return chosen


def _pieces(
    log: TopicLog, span: OffsetSpan, segments: list[SegmentFile], target: int, options: ReadOptions
) -> Iterator[TaskPiece]:
    """Yield the pieces of a log in order."""
    aborted = NO_TRANSACTIONS
    if options.committed:
        aborted = log.opened.aborted_transactions(span.start)
        stable = log.opened.stable_offset(strict=options.on_error == "raise")
        if stable is not None and (span.end is None or stable < span.end):
            span = replace(span, end=stable)
    for item in segments:
        for piece, low, high in _cut(log, item, span, target, options):
            if not aborted:
                yield piece
                continue
            yield replace(piece, aborted=aborted.between(low, high))


def _lost(log: TopicLog, item: Missing) -> TaskPiece:
    """Return a piece without bytes, of which a row says what is lost."""
    piece = TaskPiece(
        item.file, log.topic, log.partition, item.position or 0, item.position or 0, False
    )
    return replace(piece, start_offset=item.through[0], lost=item.message)


def _cut(
    log: TopicLog, item: SegmentFile, span: OffsetSpan, target: int, options: ReadOptions
) -> Iterator[tuple[TaskPiece, int | None, int | None]]:
    """Yield the pieces of a segment, each with the offsets that it lies between."""
    size = _size(item, options)
    whole = TaskPiece(
        address(item.path), log.topic, log.partition, 0, size, True, span.start, span.end
    )
    inner = _outside(item, span)
    if not inner:
        whole = replace(whole, start_offset=None, end_offset=None)
    elif span.end is not None and span.start is not None and span.end <= span.start:
        return
    large = size > target + target // SLACK
    if not (large or inner or options.max_records) or size == 0:
        if size or options.on_error != "raise":
            yield whole, item.base_offset, item.next_offset
        return
    try:
        with Segment(item.path, mapped=False) as segment:
            cuts = _cuts(segment, span, target, options.max_records)
    except KafkaSpecError:
        if options.on_error == "raise":
            raise
        cuts = [(0, item.base_offset)]
    for (start, low), (end, high) in zip(cuts, [*cuts[1:], (size, item.next_offset)], strict=True):
        if span.end is not None and low is not None and low >= span.end:
            return
        piece = replace(whole, start=start, end=end, last=end == size)
        yield piece, low, high


def _outside(item: SegmentFile, span: OffsetSpan) -> bool:
    """Return whether the segment may hold offsets that are not wanted."""
    low = span.start is not None and (item.base_offset is None or item.base_offset < span.start)
    high = span.end is not None and (item.next_offset is None or item.next_offset > span.end)
    return low or high


Cut = tuple[int, int | None]
"""Byte offset of a batch, and its base offset."""


def _cuts(segment: Segment, span: OffsetSpan, target: int, max_records: int) -> list[Cut]:
    """Return the starts of pieces: the first wanted batch, then about every ``target`` bytes."""
    start = 0
    if span.start is not None:
        start = start_position(segment, span.start)[0]
    cuts: list[Cut] = [(start, segment.base_offset if start == 0 else None)]
    if max_records:
        return _by_headers(segment, cuts, target, max_records)
    stop = _stop(segment, span)
    if stop - start <= target + target // SLACK:
        return cuts if stop == segment.size else [*cuts, (stop, span.end)]
    found = _by_index(segment, cuts, target, (stop, span.end))
    return found if found is not None else _by_headers(segment, cuts, target, 0)


def _stop(segment: Segment, span: OffsetSpan) -> int:
    """Return a byte offset after which nothing is wanted."""
    index = segment.offset_index
    if span.end is None or index is None:
        return segment.size
    # An entry has an offset of the batch at its position, or one after it.
    number = bisect_left(range(len(index)), span.end, key=lambda at: index.entry(at).offset)
    while number < len(index):
        cut = _confirmed(segment, index.entry(number).position, index.entry(number).offset)
        if cut is not None and cut[1] is not None and cut[1] >= span.end:
            return cut[0]
        number += 1
    return segment.size


def _by_index(segment: Segment, cuts: list[Cut], target: int, end: Cut) -> list[Cut] | None:
    """Return cuts at index entries that the segment confirms; None if they are not enough."""
    index = segment.offset_index
    if index is None or len(index) == 0:
        return None
    stop = end[0]
    made = list(cuts)
    while stop - made[-1][0] > target + target // SLACK:
        wanted = made[-1][0] + target
        number = bisect_left(range(len(index)), wanted, key=lambda at: index.entry(at).position)
        if number == len(index):
            return None if stop - made[-1][0] > 2 * target else made
        entry = index.entry(number)
        cut = _confirmed(segment, entry.position, entry.offset)
        if cut is None or cut[0] <= made[-1][0]:
            return None
        if cut[0] >= stop:
            break
        made.append(cut)
    if stop < segment.size:
        made.append(end)
    return made


def _confirmed(segment: Segment, position: int, offset: int) -> Cut | None:
    """Return the batch that an index entry leads to; None if it leads to none that is sound."""
    try:
        batch = segment.batch_at(position)
        if not batch.crc_valid or (batch.num_records is not None and batch.base_offset > offset):
            return None
        return position, batch.base_offset if batch.num_records is not None else None
    except KafkaSpecError:
        return None


def _by_headers(segment: Segment, cuts: list[Cut], target: int, max_records: int) -> list[Cut]:
    """Return cuts from the headers of all batches."""
    made = list(cuts)
    first = made[-1][1]
    for table in header_tables(segment, made[-1][0]):
        entries = zip(
            table.position, table.first_offset, table.last_offset, table.magic, strict=True
        )
        for at, offset, last, magic in entries:
            known = KINDS[magic].has_record_sets
            many = bool(max_records) and known and first is not None and last >= first + max_records
            if at > made[-1][0] and (at - made[-1][0] >= target or many):
                made.append((at, offset if known else None))
                first = offset if known else last
            elif first is None:
                first = offset if known else last
    return made


def _packed(pieces: list[TaskPiece], target: int, options: ReadOptions) -> Iterator[SegmentTask]:
    """Yield tasks of pieces in order, each with as many as its bytes allow."""
    together: list[TaskPiece] = []
    weight = 0
    cost = min(OPEN_BYTES, max(1, target // 32))
    for piece in pieces:
        full = weight + piece.size > target + target // SLACK or options.max_records
        if together and full:
            yield SegmentTask(tuple(together))
            together, weight = [], 0
        together.append(piece)
        weight += piece.size + cost
    if together:
        yield SegmentTask(tuple(together))
