"""Check a segment and its indexes in one pass over the log, with one batch in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.analysis.check_batch import check_control, check_header, check_records, content_area
from kafkaspec.analysis.check_index import OffsetIndexCheck
from kafkaspec.analysis.check_order import LogOrder
from kafkaspec.analysis.check_wrapper import check_slack, check_surplus
from kafkaspec.analysis.compare import CodecComparison, Content, content_of
from kafkaspec.analysis.compare_sidecars import compare_sidecar
from kafkaspec.analysis.findings import (
    Area,
    Finding,
    FindingReason,
    Severity,
    finding_of_error,
)
from kafkaspec.analysis.parts import WHOLE, Elsewhere, Span, Survey
from kafkaspec.analysis.report import FileKind, FileResult
from kafkaspec.analysis.verify_index import IndexFile, TransactionFile
from kafkaspec.codecs import Origin
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.log.batch import Batch
from kafkaspec.log.control import ControlRecord, decode_control
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record

Event = Finding | FileResult
"""An event of verification: a finding, or the result of a file that is done."""

_PROGRESS_STEP = 1 << 20


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a run of ``verify``.

    Attributes:
        codecs: names of the codecs; findings come from the first, the others must agree.
        max_output: largest decompressed size of a batch in bytes, None for the default.
        progress: function that takes the bytes read and the path of the file.
        beside: other log directories of the same broker.
        elsewhere: function that returns the results of segments that were verified elsewhere.
        mapped: whether segments are mapped into memory, if that is possible.
    """

    codecs: tuple[str, ...]
    max_output: int | None = None
    progress: Callable[[int, str], None] | None = None
    beside: tuple[Path, ...] = ()
    elsewhere: Elsewhere | None = None
    mapped: bool = True


def open_segment(path: Path, codec: str, options: Options) -> Segment:
    """Open a segment for verification, which reads records only if the checksum is right."""
    if options.max_output is None:
        return Segment(path, codec=codec, mapped=options.mapped)
    return Segment(path, codec=codec, max_output=options.max_output, mapped=options.mapped)


class SegmentVerifier:
    """Checks one segment or KRaft snapshot and its indexes."""

    def __init__(
        self,
        path: Path,
        options: Options,
        *,
        order: LogOrder | None = None,
        partition: str = "",
        is_last: bool = True,
        span: Span = WHOLE,
        before: Survey | None = None,
    ) -> None:
        """Remember the arguments; nothing is opened yet.

        Args:
            path: path of the segment.
            options: options of the run.
            order: state of the partition so far, a new one by default.
            partition: path of the partition directory for results.
            is_last: whether no segment follows, which makes an unfinished end legal.
            span: range of the part to check.
            before: survey of the earlier parts of the segment, None for the first one.
        """
        self._span = span
        self._before = before
        self._path = path
        self._file = os.fspath(path)
        self._options = options
        self._codec = options.codecs[0]
        self._order = LogOrder() if order is None else order
        self._partition = partition
        self._is_last = is_last
        self._name = names.parse_segment(path.name)
        self._base = self._name.base_offset if self._name else None
        kraft = self._name is None and names.is_log(path.name)
        self._result = FileResult(
            file=self._file,
            kind=FileKind.KRAFT_SNAPSHOT if kraft else FileKind.SEGMENT,
            partition=partition,
        )
        self._indexes: list[IndexFile] = []
        self._transactions: TransactionFile | None = None
        self._last_controls: Sequence[ControlRecord] = ()
        self._first_controls: Sequence[ControlRecord] = ()

    def run(self) -> Iterator[Event]:
        """Yield findings, then the results of the segment and of its indexes."""
        with ExitStack() as stack:
            problems = self._open_sidecars(stack)
            if self._before is None:
                yield from problems
            else:
                for _ in problems:
                    pass  # reported with the first part
                self._resume(self._before)
            try:
                yield from self._read_log(stack)
            except KafkaSpecError as error:
                yield finding_of_error(error, Area.BATCH, file=self._file)
        yield self._result
        if self._before is not None:
            return  # the first part reports on the indexes
        for index in self._indexes:
            yield index.result
        if self._transactions is not None and self._transactions.result is not None:
            yield self._transactions.result

    # -- the indexes --------------------------------------------------------------------------

    def _open_sidecars(self, stack: ExitStack) -> Iterator[Event]:
        if self._name is None:
            return
        present = 0
        for kind, suffix in (
            (FileKind.OFFSET_INDEX, names.OFFSET_INDEX),
            (FileKind.TIME_INDEX, names.TIME_INDEX),
        ):
            path = self._path.with_name(self._name.sibling(suffix))
            if not path.exists():
                if kind is FileKind.OFFSET_INDEX:
                    yield Finding(
                        self._file,
                        Severity.INFO,
                        Area.OFFSET_INDEX,
                        FindingReason.MISSING_INDEX,
                        "the segment has no offset index",
                    )
                continue
            present += 1
            try:
                index = IndexFile(path, kind, self._partition, self._codec)
            except KafkaSpecError as error:
                yield finding_of_error(error, Area(str(kind)), file=os.fspath(path))
                continue
            stack.callback(index.close)
            self._indexes.append(index)
            yield from index.problems()
            yield from compare_sidecar(path, kind, self._options.codecs)
        path = self._path.with_name(self._name.sibling(names.TRANSACTION_INDEX))
        exists = path.exists()
        # A segment without any of its other files was copied alone: that is no finding.
        if not exists and not present:
            return
        try:
            self._transactions = TransactionFile(
                path if exists else None, self._file, self._base, self._partition, self._codec
            )
        except KafkaSpecError as error:
            yield finding_of_error(error, Area.TRANSACTION_INDEX, file=os.fspath(path))
            return
        yield from self._transactions.problems()
        if exists:
            yield from compare_sidecar(path, FileKind.TRANSACTION_INDEX, self._options.codecs)

    def _resume(self, before: Survey) -> None:
        """Let the checks of the indexes continue after the earlier parts."""
        for index in self._indexes:
            if isinstance(index.check, OffsetIndexCheck):
                index.check.resume(self._span.start, before.last_offset)
            else:
                index.check.resume(
                    before.highest_first, before.last_offset, before.latest, before.has_untimed
                )
        if self._transactions is not None:
            self._transactions.check.resume(before.highest_last)

    # -- the log ------------------------------------------------------------------------------

    def _read_log(self, stack: ExitStack) -> Iterator[Event]:
        segment = stack.enter_context(open_segment(self._path, self._codec, self._options))
        self._result.size = segment.size
        further = self._options.codecs[1:]
        comparison = CodecComparison(
            [
                stack.enter_context(open_segment(self._path, codec, self._options))
                for codec in further
            ],
            further,
            self._codec,
            self._file,
            self._span.start,
        )
        reported = end = self._span.start
        stop = self._span.end
        for item in segment.scan(self._span.start):
            content = None
            if isinstance(item, Batch):
                if stop is not None and item.position >= stop:
                    break
                end = item.end
                if item.crc_valid:
                    content = content_of(item)
                yield from self._take(item, content)
            else:
                self._result.batches += 1
                self._result.unread += 1
                yield finding_of_error(item, Area.BATCH, file=self._file)
            yield from comparison.check(item, content)
            if end - reported >= _PROGRESS_STEP:
                self._progress(end - reported)
                reported = end
        if stop is not None:
            for index in self._indexes:
                if isinstance(index.check, OffsetIndexCheck):
                    yield from index.check.pause()
            self._progress(end - reported)
            return
        yield from comparison.finish()
        yield from self._tail(segment)
        for index in self._indexes:
            if isinstance(index.check, OffsetIndexCheck):
                yield from index.check.finish(end)
            else:
                yield from index.check.finish()
        if self._transactions is not None and self._transactions.sound:
            yield from self._transactions.check.finish()
        if self._result.kind is FileKind.KRAFT_SNAPSHOT:
            yield from self._kraft_end()
        self._progress(segment.size - reported)

    def _progress(self, done: int) -> None:
        if self._options.progress is not None:
            self._options.progress(done, self._file)

    def _take(self, batch: Batch, content: Content | None) -> Iterator[Finding]:
        self._count(batch, content)
        yield from check_header(batch, self._file)
        records: Sequence[Record] = ()
        first_offset = batch.stored_offset
        if content is None:
            yield finding_of_error(
                batch.crc_error(),
                Area.WRAPPER if batch.is_wrapper else Area.BATCH,
                file=self._file,
                offset=batch.last_offset,
            )
        elif isinstance(content, KafkaSpecError):
            yield finding_of_error(
                content,
                content_area(batch),
                file=self._file,
                offset=batch.last_offset,
                position=batch.position,
            )
        else:
            records = content
            if not batch.kind.has_record_sets:
                first_offset = records[0].offset
                yield from check_slack(batch, self._file)
                if batch.is_compressed:
                    yield from check_surplus(batch, self._file)
            elif not records and batch.payload is not None and len(batch.payload):
                yield Finding(
                    self._file,
                    Severity.WARNING,
                    Area.RECORDS,
                    FindingReason.IGNORED_PAYLOAD,
                    f"a batch without records has {len(batch.payload)} bytes after its header",
                    batch.payload_position,
                    batch.last_offset,
                )
            yield from check_records(batch, records, self._file)
        yield from self._order.check(batch, first_offset, self._base, self._file)
        for index in self._indexes:
            yield from index.check.batch(batch, records)
        yield from self._take_control(batch, records)

    def _count(self, batch: Batch, content: Content | None) -> None:
        result = self._result
        result.batches += 1
        result.magics[batch.magic_name] += 1
        result.codecs[batch.compression_name] += 1
        result.control_batches += batch.is_control
        if result.first_offset is None:
            result.first_offset = batch.stored_offset
            if (
                not batch.kind.has_record_sets
                and content
                and not isinstance(content, KafkaSpecError)
            ):
                result.first_offset = content[0].offset
        result.last_offset = batch.last_offset
        if content is None or isinstance(content, KafkaSpecError):
            result.unread += 1
        else:
            result.records += len(content)

    # -- control records ----------------------------------------------------------------------

    def _take_control(self, batch: Batch, records: Sequence[Record]) -> Iterator[Finding]:
        aborts, aborted = False, None
        self._last_controls = ()
        if batch.is_control and records:
            origin = Origin(self._file, batch.position, path=batch.payload_path)
            try:
                controls = [
                    decode_control(record, codec=self._codec, origin=origin) for record in records
                ]
            except KafkaSpecError as error:
                yield self._bad_control(batch, error)
            else:
                self._last_controls = controls
                if self._result.batches == 1:
                    self._first_controls = controls
                yield from check_control(batch, controls, self._file)
                if batch.producer_id >= 0:
                    aborts = controls[0].key.type == ControlRecordType.ABORT
                    aborted, findings = self._order.end_transaction(batch, aborts, self._file)
                    yield from findings
        if self._transactions is not None and self._transactions.sound:
            yield from self._transactions.check.batch(batch, aborts, aborted)

    def _bad_control(self, batch: Batch, error: KafkaSpecError) -> Finding:
        marker = batch.producer_id >= 0
        return Finding(
            self._file,
            Severity.ERROR,
            Area.RECORDS,
            FindingReason.CONTROL_RECORD if marker else FindingReason(str(error.reason)),
            f"a control record cannot be read: {error.detail}",
            batch.position,
            batch.last_offset,
            error.path,
        )

    def _kraft_end(self) -> Iterator[Finding]:
        """Check that a snapshot that begins with its header (since 3.0) ends with its footer."""

        def has(controls: Sequence[ControlRecord], wanted: ControlRecordType) -> bool:
            return any(control.key.type == wanted for control in controls)

        if has(self._first_controls, ControlRecordType.SNAPSHOT_HEADER) and not has(
            self._last_controls, ControlRecordType.SNAPSHOT_FOOTER
        ):
            yield Finding(
                self._file,
                Severity.ERROR,
                Area.KRAFT_SNAPSHOT,
                FindingReason.SNAPSHOT_INCOMPLETE,
                "the snapshot does not end with a footer record",
                self._result.size,
            )

    # -- the end ------------------------------------------------------------------------------

    def _tail(self, segment: Segment) -> Iterator[Finding]:
        tail = segment.tail
        if tail is None:
            return
        reason = TAILS.get(tail.reason)
        if reason is None:  # the entry at which the log breaks off was reported
            return
        yield Finding(
            self._file,
            Severity.WARNING if self._is_last else Severity.ERROR,
            Area.BATCH,
            reason,
            str(tail) if self._is_last else f"{tail}, and later segments follow",
            tail.position,
        )


TAILS = {
    "torn": FindingReason.TORN_TAIL,
    "zeros": FindingReason.ZERO_TAIL,
    "short": FindingReason.SHORT_TAIL,
}
"""The reasons for what ends a log."""
