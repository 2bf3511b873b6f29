"""Plan tasks: prune logs by names and indexes, cut them at batches, pack the pieces by bytes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, pairwise
from typing import Final

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.indexes import OffsetIndex
from kafkaspec.io.remote import RemotePath, address
from kafkaspec.lazy import uncollected
from kafkaspec.log.cuts import Cut, cuts_by_headers, cuts_by_index, too_large
from kafkaspec.log.listed import SegmentFile, TopicLog
from kafkaspec.log.missing import Missing
from kafkaspec.log.transactions import NO_TRANSACTIONS
from kafkaspec.shown import without_credentials
from kafkaspec.spark.filters import Narrowed
from kafkaspec.spark.losses import report_missing
from kafkaspec.spark.offsets import OffsetSpan, available, check_partitions, check_selected, span_of
from kafkaspec.spark.options import ReadOptions
from kafkaspec.spark.paths import LOGGER, find_logs
from kafkaspec.spark.pieces import SegmentTask, TaskPiece

REQUESTS: Final = 32
"""Logs in a store that are planned at the same time: each waits for its requests."""
_BYTES: Final = 128 << 20
"""Bytes of files for a task."""
_HEADER_BYTES: Final = 1 << 30
"""The same where hardly more than headers is read, for which 0.1 s, what Spark needs for a task,
are enough."""
OPEN_BYTES: Final = 256 << 10
"""Cost of opening a file, in bytes; a separate task costs a hundred times as much."""


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
    with uncollected():  # of the many objects, nearly all stay
        return _planned_batch(options, narrow)


def _planned_batch(options: ReadOptions, narrow: Narrowed | None) -> list[SegmentTask]:
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
    some = [each for each in chosen if each[2]]
    waits = any(isinstance(log.directory, RemotePath) for log, _, _ in some)
    with ThreadPoolExecutor(REQUESTS if waits else 1) as pool:
        each_log = pool.map if waits else map
        # That opens each segment once, which says its size.
        lost = list(each_log(lambda each: report_missing(each[0], each[1], options), some))
        sizes = [[_size(log, item, options) for item in segments] for log, _, segments in some]
        total = sum(map(sum, sizes))
        tally.bytes += total
        target = options.max_bytes or (
            _HEADER_BYTES if options.batch_rows and not waits else _BYTES
        )
        if options.min_partitions > 1:
            target = max(1, min(target, -(-total // options.min_partitions)))
        planned = each_log(partial(_planned, target, options), some, sizes, lost)
        pieces = list(chain.from_iterable(planned))
    tally.read_bytes = sum([piece.end - piece.start for piece in pieces])
    tasks = list(_packed(pieces, target, options))
    tally.say(len(tasks))
    return tasks


def _planned(
    target: int,
    options: ReadOptions,
    chosen: tuple[TopicLog, OffsetSpan, list[SegmentFile]],
    sizes: Sequence[int],
    lost: Iterable[Missing],
) -> list[TaskPiece]:
    """Return the pieces of a log, and of what it does not deliver."""
    log, span, segments = chosen
    pieces = list(_pieces(log, span, segments, sizes, target, options))
    if options.corrupt is not None:
        pieces.extend(_lost(log, item) for item in lost)
    return pieces


def _size(log: TopicLog, item: SegmentFile, options: ReadOptions) -> int:
    """Return the bytes of a segment; if it cannot be read, its task will say so."""
    known = None if item.base_offset is None else log.opened.sizes.get(item.base_offset)
    if known is not None:
        return known
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
    log: TopicLog,
    span: OffsetSpan,
    segments: list[SegmentFile],
    sizes: Sequence[int],
    target: int,
    options: ReadOptions,
) -> Iterator[TaskPiece]:
    """Yield the pieces of a log in order."""
    aborted = NO_TRANSACTIONS
    if options.committed:
        aborted = log.opened.aborted_transactions(span.start)
        stable = log.opened.stable_offset(strict=options.on_error == "raise")
        if stable is not None and (span.end is None or stable < span.end):
            span = replace(span, end=stable)
    topic, partition, whole = log.topic, log.partition, not aborted and not options.max_records
    every = span.start is None and span.end is None
    for item, size in zip(segments, sizes, strict=True):
        if whole and 0 < size <= target and (every or not _outside(item, span)):
            yield TaskPiece(address(item.path), topic, partition, 0, size, True)
            continue
        for piece, low, high in _cut(log, item, size, span, target, options):
            if aborted:
                piece = piece._replace(aborted=aborted.between(low, high))
            yield piece


def _lost(log: TopicLog, item: Missing) -> TaskPiece:
    """Return a piece without bytes, of which a row says what is lost."""
    piece = TaskPiece(
        item.file, log.topic, log.partition, item.position or 0, item.position or 0, False
    )
    return piece._replace(start_offset=item.through[0], lost=item.message)


def _cut(
    log: TopicLog,
    item: SegmentFile,
    size: int,
    span: OffsetSpan,
    target: int,
    options: ReadOptions,
) -> Iterator[tuple[TaskPiece, int | None, int | None]]:
    """Yield the pieces of a segment, each with the offsets that it lies between."""
    inner = _outside(item, span)
    if inner and span.end is not None and span.start is not None and span.end <= span.start:
        return
    wanted = (span.start, span.end) if inner else (None, None)
    place = address(item.path)
    large = too_large(size, target)
    if not (large or inner or options.max_records) or size == 0:
        if size or options.on_error != "raise":
            whole = TaskPiece(place, log.topic, log.partition, 0, size, True, *wanted)
            yield whole, item.base_offset, item.next_offset
        return
    cuts = _cuts(log, item, size, span if inner else OffsetSpan(), target, options)
    for number, (cut, end) in enumerate(pairwise(cuts)):
        if span.end is not None and cut.offset is not None and cut.offset >= span.end:
            return
        claims = (cut.claim, end.claim, size) if cut.claim or end.claim else None
        piece = TaskPiece(
            place,
            log.topic,
            log.partition,
            cut.position,
            end.position,
            end.position == size,
            *wanted,
            claims=claims,
        )
        low = item.base_offset if cut.offset is None or not number else cut.offset
        yield piece, low, item.next_offset if end.offset is None else end.offset


def _outside(item: SegmentFile, span: OffsetSpan) -> bool:
    """Return whether the segment may hold offsets that are not wanted."""
    low = span.start is not None and (item.base_offset is None or item.base_offset < span.start)
    high = span.end is not None and (item.next_offset is None or item.next_offset > span.end)
    return low or high


def _cuts(
    log: TopicLog,
    item: SegmentFile,
    size: int,
    span: OffsetSpan,
    target: int,
    options: ReadOptions,
) -> list[Cut]:
    """Return where pieces begin, about every ``target`` bytes, and where the last of them ends.

    The segment is opened only if there is no index that says it.
    """
    cuts = None
    path = None if options.max_records else log.opened.beside(item.path, names.OFFSET_INDEX)
    try:
        if path is not None:
            with closing(OffsetIndex(path)) as index:
                cuts = cuts_by_index(index, size, target, span.start, span.end)
    except KafkaSpecError:
        cuts = None  # of a file that says nothing about records
    if cuts is None and (options.max_records or too_large(size, target)):
        try:
            with log.opened.open_segment(item.path) as segment:
                cuts = cuts_by_headers(segment, size, target, span.start, options.max_records)
        except KafkaSpecError:
            if options.on_error == "raise":
                raise
    return cuts or [Cut(0), Cut(size)]


def _packed(pieces: list[TaskPiece], target: int, options: ReadOptions) -> Iterator[SegmentTask]:
    """Yield tasks of pieces in order, each with as many as its bytes allow."""
    together: list[TaskPiece] = []
    weight = 0
    cost = min(OPEN_BYTES, max(1, target // 32))
    for piece in pieces:
        size = piece.end - piece.start
        if together and (options.max_records or too_large(weight + size, target)):
            yield SegmentTask(tuple(together))
            together, weight = [], 0
        together.append(piece)
        weight += size + cost
    if together:
        yield SegmentTask(tuple(together))
