"""Check a segment and its indexes in one pass over the log, with one batch in memory."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.analysis import check_batch
from kafkaspec.analysis.broker_start import BrokerStart
from kafkaspec.analysis.check_index import EntryCheck
from kafkaspec.analysis.check_order import Header, LogOrder
from kafkaspec.analysis.check_producers import check_producers
from kafkaspec.analysis.compare import CodecComparison, ReadRecords, compare_sidecar, content_of
from kafkaspec.analysis.consequences import NOT_LOADED
from kafkaspec.analysis.files import kind_of
from kafkaspec.analysis.findings import Area, BrokerAction, Finding, Place, Severity
from kafkaspec.analysis.parts import WHOLE, BatchSpan, Elsewhere, PartSurvey, nowhere
from kafkaspec.analysis.reasons import TAIL_REASONS, Consequence
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.analysis.regular import PART_BYTES, HeaderRow, RegularPart, RegularReader
from kafkaspec.analysis.report import FileKind, FileResult
from kafkaspec.analysis.verify_index import IndexFile, TransactionFile
from kafkaspec.analysis.watch import SegmentWatch
from kafkaspec.broker.index_rules import INDEX_INTERVAL_BYTES
from kafkaspec.codecs import Origin
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.io.remote import exists
from kafkaspec.io.window import Cursor
from kafkaspec.layout.names import NUM_RECORDS
from kafkaspec.log.batch import Batch, crc_error, magic_name, payload_path, stored_offset
from kafkaspec.log.control import ControlRecord, decode_controls
from kafkaspec.log.formats import FormatName
from kafkaspec.log.legacy import LegacyBatch
from kafkaspec.log.markers import read_marker
from kafkaspec.log.segment import Segment
from kafkaspec.messages.topics import topic_of
from kafkaspec.model import Record

if TYPE_CHECKING:
    from kafkaspec.analysis.remembered import Memory

VerifyEvent = Finding | FileResult
"""An event of verification: a finding, or the result of a file that is done."""

ProducersCheck = Callable[..., Iterator[Finding]]
"""``check_producers``, or what does the same with what it remembers."""

_PROGRESS_STEP = 1 << 20


Deal = Callable[[Callable[[Any], Any], Iterable[Any]], Generator[Any, None, None]]
"""Calls a function of a module for items, elsewhere, and yields the results in their order."""


@dataclass(frozen=True, slots=True)
class VerifyChecks:
    """The options of a run of ``verify``.

    Attributes:
        codecs: names of the codecs; findings come from the first, the others must agree.
        max_output: largest decompressed size of a batch in bytes, None for the default.
        progress: function that takes the bytes read and the path of the file.
        beside: other log directories of the same broker.
        elsewhere: function that returns the results of segments that were verified elsewhere.
        mapped: whether segments are mapped into memory, if that is possible.
        interval: ``index.interval.bytes``, by which a broker makes the indexes when it starts.
        jobs: number of threads that work on one segment.
        part_bytes: bytes of it that a thread works on at a time.
        by_columns: whether sound batches are checked many at a time, where the codec can do that.
        log_format: what the file is, None if its name says it.
        memory: what earlier runs have read, None if all is read.
        deal: has groups of partitions verified elsewhere, None if they are verified here.
    """

    codecs: tuple[str, ...]
    max_output: int | None = None
    progress: Callable[[int, str], None] | None = None
    beside: tuple[Path, ...] = ()
    elsewhere: Elsewhere = nowhere
    mapped: bool = True
    interval: int = INDEX_INTERVAL_BYTES
    jobs: int = 1
    part_bytes: int = PART_BYTES
    by_columns: bool = True
    log_format: FormatName | None = None
    memory: Memory | None = None
    deal: Deal | None = None


def open_segment(path: Path, codec: str, options: VerifyChecks) -> Segment:
    """Open a segment for verification, which reads records only if the checksum is right."""
    return Segment(
        path,
        codec=codec,
        max_output=options.max_output,
        mapped=options.mapped,
        log_format=options.log_format,
    )


class SegmentVerifier:
    """Checks one segment or KRaft snapshot and its indexes."""

    area = Area.BATCH

    def __init__(
        self,
        path: Path,
        options: VerifyChecks,
        *,
        order: LogOrder | None = None,
        partition: str = "",
        is_last: bool = True,
        span: BatchSpan = WHOLE,
        before: PartSurvey | None = None,
        start: BrokerStart | None = None,
        watch: SegmentWatch | None = None,
        known: FileResult | None = None,
        producers: ProducersCheck = check_producers,
    ) -> None:
        """Remember the arguments; nothing is opened yet.

        Args:
            order: state of the partition so far, a new one by default.
            is_last: whether no segment follows, which makes an unfinished end legal.
            before: survey of the earlier parts of the segment, None for the first one.
            start: start of a broker on the partition; by default one that reads the directory.
            watch: notes the batches.
            known: what an earlier run counted in the earlier parts, of which it found nothing; then
                this run reports on the indexes.
            producers: the check of the producer snapshots after the last segment.
        """
        self._watch = watch
        self._check_producers = producers
        self._start = BrokerStart(path.parent, options.interval) if start is None else start
        self._span = span
        self._before = before
        self._path = path
        self._file = os.fspath(path)
        self._place = Place(self._file, self.area)
        self._options = options
        self._codec = options.codecs[0]
        self._order = LogOrder() if order is None else order
        self._is_last = is_last
        self._name = names.parse_segment(path.name)
        self._base = self._name.base_offset if self._name else None
        self._topic = topic_of(path)
        self._begins = before is None or known is not None
        self._result = FileResult(file=self._file, kind=self._kind(), partition=partition)
        if known is not None:
            self._result = replace(known, findings=Counter())
        self._indexes: list[IndexFile] = []
        self._transactions: TransactionFile | None = None
        self._end = self._reported = span.start
        self._last_controls: Sequence[ControlRecord] = ()
        self._first_controls: Sequence[ControlRecord] = ()

    def _kind(self) -> FileKind:
        kraft = self._name is None and names.is_log(self._path.name)
        return FileKind.KRAFT_SNAPSHOT if kraft else FileKind.SEGMENT

    def run(self) -> Iterator[VerifyEvent]:
        """Yield findings, then the results of the segment and of its indexes."""
        actions: set[BrokerAction] = set()
        for event in self._run():
            if isinstance(event, Finding):
                if self._order.has_offsets:
                    event = self._start.judged(event, self._path)
                else:
                    event = replace(event, predicted=Consequence(event.reader, NOT_LOADED))
                actions.add(event.action)
            elif event is self._result:
                if not self._order.has_offsets:
                    self._result.first_offset = self._result.last_offset = None
                yield from self._start.unexplained(self._path, actions)
                yield from self._producers()
            yield event

    def _producers(self) -> Iterator[Finding]:
        """Check the producer snapshots of a partition after its last segment."""
        if self._result.partition and self._is_last and self._span.end is None:
            yield from self._check_producers(self._start, has_producers=self._order.has_producers)

    def _run(self) -> Iterator[VerifyEvent]:
        with ExitStack() as stack:
            problems = self._open_sidecars(stack)
            for problem in problems:
                if self._begins:  # else they were reported with the first part
                    yield problem
            if self._before is not None:
                checks: list[EntryCheck[Any]] = [index.check for index in self._indexes]
                if self._transactions is not None:
                    checks.append(self._transactions.check)
                for check in checks:
                    check.resume(self._span.start, self._before)
            try:
                yield from self._read_log(stack)
            except KafkaSpecError as error:
                yield self._place.refused(error)
        yield self._result
        if self._begins:  # the first part reports on the indexes
            yield from (index.result for index in self._indexes)
            if self._transactions is not None and self._transactions.result is not None:
                yield self._transactions.result

    # -- the indexes --------------------------------------------------------------------------

    def _open_sidecars(self, stack: ExitStack) -> Iterator[Finding]:
        if self._name is None:
            return
        partition, codecs = self._result.partition, self._options.codecs
        present = 0
        for suffix in names.INDEXES:
            path = self._path.with_name(self._name.sibling(suffix))
            kind = kind_of(path.name)
            if not exists(path):
                if kind is FileKind.OFFSET_INDEX:
                    place = Place(self._file, Area.OFFSET_INDEX)
                    yield place.info(R.MISSING_INDEX, "the segment has no offset index")
                continue
            present += 1
            try:
                index = IndexFile(path, kind, partition, self._codec)
            except KafkaSpecError as error:
                yield Place(os.fspath(path), Area(kind)).refused(error)
                continue
            self._indexes.append(stack.enter_context(closing(index)))
            yield from index.problems()
            yield from compare_sidecar(path, kind, codecs)
        path = self._path.with_name(self._name.sibling(names.TRANSACTION_INDEX))
        is_there = exists(path)
        # A segment without any of its other files was copied alone: that is no finding.
        if not is_there and not present:
            return
        try:
            self._transactions = TransactionFile(
                path if is_there else None, self._file, self._base, partition, self._codec
            )
        except KafkaSpecError as error:
            yield Place(os.fspath(path), Area.TRANSACTION_INDEX).refused(error)
            return
        yield from self._transactions.problems()
        if is_there:
            yield from compare_sidecar(path, FileKind.TRANSACTION_INDEX, codecs)

    # -- the log ------------------------------------------------------------------------------

    def _read_log(self, stack: ExitStack) -> Iterator[VerifyEvent]:
        segment, *others = (
            stack.enter_context(open_segment(self._path, codec, self._options))
            for codec in self._options.codecs
        )
        self._result.size = segment.size
        segment.check_header()
        further = self._options.codecs[1:]
        stop = self._span.end
        self._end = self._reported = self._span.start
        comparison = CodecComparison(others, further, self._codec, self._file, self._end)
        yield from self._entries(segment, comparison)
        if stop is not None:
            for index in self._indexes:
                yield from index.check.pause()
            self._progress()
            return
        yield from comparison.finish()
        yield from self._tail(segment)
        end = self._end
        hidden = segment.tail is not None and segment.tail.reason in _HIDING
        for index in self._indexes:
            yield from index.check.unread(end) if hidden else index.check.finish(end)
        if self._transactions is not None and self._transactions.sound:
            transactions = self._transactions.check
            yield from transactions.unread(end) if hidden else transactions.finish()
        if self._result.kind is FileKind.KRAFT_SNAPSHOT:
            yield from self._kraft_end()
        self._end = segment.size
        self._progress()

    def _entries(self, segment: Segment, comparison: CodecComparison) -> Iterator[Finding]:
        """Check all entries: regular ones by columns, each other one by itself."""
        stop, position = self._span.end, self._span.start
        regular = self._regular(segment)
        while True:
            if regular is not None:
                for part in regular.parts(position, stop):
                    yield from self._part(segment, part, comparison)
                    position = part.end
            for at, item in segment.scan_entries(position):
                if stop is not None and isinstance(item, Batch) and item.position >= stop:
                    return
                yield from self._entry(at, item, comparison)
                if regular is not None and isinstance(item, Batch):
                    position = item.end  # the next ones may be regular
                    break
            else:
                return

    def _regular(self, segment: Segment) -> RegularReader | None:
        """Return a reader of regular entries, None if there are others to compare, or no core."""
        core = segment.codec.core
        options = self._options
        if core is None or not segment.format.has_columns or len(options.codecs) > 1:
            return None
        if not options.by_columns:
            return None
        return RegularReader(segment, core, options.jobs, options.part_bytes, self._topic)

    def _part(
        self, segment: Segment, part: RegularPart, comparison: CodecComparison
    ) -> Iterator[Finding]:
        """Check the entries of a part: runs of sound batches at once, each other one by itself."""
        cursor = segment.cursor()
        number = 0
        for stop in part.stops():
            while number < stop:
                end = self._agreed(part, number, stop)
                aborts = None
                if end == number:
                    aborts = self._aborts(segment, part, number, cursor)
                if end > number:
                    yield from self._sound(part, number, end)
                elif aborts is not None:
                    end = number + 1
                    yield from self._marker(part, number, aborts)
                else:
                    position, end = part.position(number), number + 1
                    item: Batch | KafkaSpecError
                    try:
                        item = segment.batch_at(position, cursor)
                    except KafkaSpecError as error:
                        item = error
                    yield from self._entry(position, item, comparison)
                number = end

    def _agreed(self, part: RegularPart, first: int, stop: int) -> int:
        """Return up to which of these entries batches are sound and agree with the indexes."""
        if part.is_alone(first):
            return first
        for index in self._indexes:
            stop = index.check.follow(part, first, stop)
        if self._transactions is not None and self._transactions.sound:
            stop = self._transactions.check.follow(part, first, stop)
        return stop

    def _sound(self, part: RegularPart, first: int, stop: int) -> Iterator[Finding]:
        """Take a run of sound batches, with which the indexes agree."""
        for finding, row in self._ordered(part, first, stop):
            yield replace(finding, entry=row.position) if self._is_in(finding) else finding
        self._taken(part, first, stop)

    def _taken(self, part: RegularPart, first: int, stop: int) -> None:
        """Count the entries of a run."""
        for index in self._indexes:
            index.check.take(part, first, stop)
        part.count(self._result, first, stop)
        if self._watch is not None:
            self._watch.run(part, first, stop, part.position(stop - 1), part.position(stop))
        self._last_controls = ()
        self._end = part.position(stop)
        if self._end - self._reported >= _PROGRESS_STEP:
            self._progress()

    def _aborts(
        self, segment: Segment, part: RegularPart, number: int, cursor: Cursor
    ) -> bool | None:
        """Return what a sound marker that agrees with the indexes does; None for other entries."""
        stored = part.marker(number)
        if stored is None or any(
            index.check.follow(part, number, number + 1) == number for index in self._indexes
        ):
            return None
        read = partial(segment.batch_at, part.position(number), cursor)
        try:
            marker = read_marker(read, (segment.codec, *stored))
        except KafkaSpecError:
            return None
        return None if marker is None else marker.aborts

    def _marker(self, part: RegularPart, number: int, aborts: bool) -> Iterator[Finding]:
        """Take a sound marker."""
        row = part.row(number)
        for finding in chain(
            self._order.check(row, row.base_offset, self._base, self._file),
            self._end_transaction(row, aborts),
        ):
            yield replace(finding, entry=row.position) if self._is_in(finding) else finding
        self._taken(part, number, number + 1)

    def _ordered(
        self, part: RegularPart, first: int, stop: int
    ) -> Iterator[tuple[Finding, HeaderRow]]:
        """Check a run against the earlier batches, and yield findings and the batches they have."""
        order, row = self._order, part.row(first)
        for finding in order.check(row, row.base_offset, self._base, self._file):
            yield finding, row
        order.extend(part.row(stop - 1))
        for begin, end in part.data(first, stop):
            number = begin
            while number < end:
                row = part.row(number)
                if number > first:
                    for finding in order.check_data(row, self._file):
                        yield finding, row
                number += 1
                if number < end and order.extends(row):
                    order.extend_data(part.row(end - 1), sum(part.column(NUM_RECORDS)[number:end]))
                    number = end

    def _entry(
        self, position: int, item: Batch | KafkaSpecError, comparison: CodecComparison
    ) -> Iterator[Finding]:
        """Check an entry by itself."""
        content = None
        if self._watch is not None:
            self._watch.entry(item)
        if isinstance(item, Batch):
            self._end = item.end
            if item.crc_valid:
                content = content_of(item)
            self._count(item, content)
            for finding in self._take(item, content):
                yield replace(finding, entry=position) if self._is_in(finding) else finding
        else:
            self._result.batches += 1
            self._result.unread += 1
            yield replace(self._place.refused(item), entry=position)
        yield from comparison.check(item, content)
        if self._end - self._reported >= _PROGRESS_STEP:
            self._progress()

    def _progress(self) -> None:
        if self._options.progress is not None:
            self._options.progress(self._end - self._reported, self._file)
        self._reported = self._end

    def _take(self, batch: Batch, content: ReadRecords | None) -> Iterator[Finding]:
        yield from check_batch.check_header(batch, self._file)
        records: Sequence[Record] = ()
        first_offset = stored_offset(batch)
        if content is None:
            area = Area.WRAPPER if batch.is_wrapper else Area.BATCH
            yield Place(self._file, area, offset=batch.last_offset).refused(crc_error(batch))
        elif isinstance(content, KafkaSpecError):
            place = Place(
                self._file, check_batch.content_area(batch), batch.position, batch.last_offset
            )
            yield place.refused(content)
        else:
            records = content
            if not batch.kind.has_record_sets:
                first_offset = records[0].offset
                yield from check_batch.check_slack(batch, self._file)
                if isinstance(batch, LegacyBatch):
                    yield from check_batch.check_wrapper(batch, self._file)
            elif not records and batch.payload is not None and len(batch.payload):
                text = f"a batch without records has {len(batch.payload)} bytes after its header"
                yield Place(self._file, Area.RECORDS).warning(
                    R.IGNORED_PAYLOAD, text, batch.payload_position, batch.last_offset
                )
            yield from check_batch.check_records(batch, records, self._file)
            if self._topic is not None and not batch.is_control:
                yield from check_batch.check_messages(
                    batch, records, self._topic, self._codec, self._file
                )
        yield from self._order.check(batch, first_offset, self._base, self._file)
        for index in self._indexes:
            yield from index.check.batch(batch, records)
        yield from self._take_control(batch, records)

    def _is_in(self, finding: Finding) -> bool:
        """Whether a finding is about a place in an entry of the log."""
        return finding.file == self._file and finding.position is not None

    def _count(self, batch: Batch, content: ReadRecords | None) -> None:
        result = self._result
        result.batches += 1
        result.magics[magic_name(batch)] += 1
        result.codecs[batch.compression_name] += 1
        result.control_batches += batch.is_control
        records = None if isinstance(content, KafkaSpecError) else content
        if result.first_offset is None:
            legacy = not batch.kind.has_record_sets and records
            result.first_offset = legacy[0].offset if legacy else stored_offset(batch)
        result.last_offset = batch.last_offset
        if records is None:
            result.unread += 1
        else:
            result.records += len(records)

    # -- control records ----------------------------------------------------------------------

    def _take_control(self, batch: Batch, records: Sequence[Record]) -> Iterator[Finding]:
        aborts = None
        self._last_controls = ()
        if batch.is_control and records:
            origin = Origin(self._file, batch.position, path=payload_path(batch))
            try:
                controls = decode_controls(records, codec=self._codec, origin=origin)
            except KafkaSpecError as error:
                yield Place(self._file, Area.RECORDS).error(
                    R.CONTROL_RECORD if batch.producer_id >= 0 else R.HIDDEN_RECORDS,
                    f"a control record cannot be read: {error.detail}",
                    batch.position,
                    batch.last_offset,
                    path=error.path,
                )
            else:
                self._last_controls = controls
                if self._result.batches == 1:
                    self._first_controls = controls
                yield from check_batch.check_control(batch, controls, self._file)
                if batch.producer_id >= 0:
                    aborts = bool(controls[0].aborts)
        yield from self._end_transaction(batch, aborts)

    def _end_transaction(self, batch: Header, aborts: bool | None) -> Iterator[Finding]:
        """Take a batch that aborts or commits a transaction, or with None does neither."""
        aborted = None
        if aborts is not None:
            aborted, findings = self._order.end_transaction(batch, aborts, self._file)
            yield from findings
        if self._transactions is not None and self._transactions.sound:
            yield from self._transactions.check.batch(batch, bool(aborts), aborted)

    def _kraft_end(self) -> Iterator[Finding]:
        """Check that a snapshot that begins with its header (since 3.0) ends with its footer."""

        def has(controls: Sequence[ControlRecord], wanted: ControlRecordType) -> bool:
            return any(control.key.type == wanted for control in controls)

        if has(self._first_controls, ControlRecordType.SNAPSHOT_HEADER) and not has(
            self._last_controls, ControlRecordType.SNAPSHOT_FOOTER
        ):
            text = "the snapshot does not end with a footer record"
            place = Place(self._file, Area.KRAFT_SNAPSHOT, self._result.size)
            yield place.error(R.SNAPSHOT_INCOMPLETE, text)

    # -- the end ------------------------------------------------------------------------------

    def _tail(self, segment: Segment) -> Iterator[Finding]:
        tail = segment.tail
        reason = None if tail is None else TAIL_REASONS.get(tail.reason)
        if tail is None or reason is None:  # the entry at which the log breaks off was reported
            return
        text = str(tail) if self._is_last else f"{tail}, and later segments follow"
        severity = Severity.WARNING if self._is_last else Severity.ERROR
        yield self._place.found(severity, reason, text, tail.position)


_HIDING = frozenset({"torn", "corrupt"})
"""Ends of a log that may hide batches: entries of indexes that point there are not compared."""
