"""Compare codecs on the same log: they must agree on every record and every error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from kafkaspec.analysis.check_batch import content_area
from kafkaspec.analysis.findings import Area, Finding, FindingReason, Severity
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.batch import Batch
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record

Content = Sequence[Record] | KafkaSpecError
"""The records of a batch, or the error that reading them raised."""


def content_of(batch: Batch) -> Content:
    """Return the records of a batch, or the error that reading them raises."""
    try:
        return batch.records()
    except KafkaSpecError as error:
        return error


class CodecComparison:
    """Reads a log with further codecs, in step with the first one, whose findings are reported.

    Args:
        segments: the same log, opened with each further codec.
        codecs: names of these codecs.
        first: name of the codec with which the others are compared.
        file: path of the log.
        start: byte offset of the first entry that is compared.
    """

    def __init__(
        self,
        segments: Sequence[Segment],
        codecs: Sequence[str],
        first: str,
        file: str,
        start: int = 0,
    ) -> None:
        self._scans = [segment.scan(start) for segment in segments]
        self._codecs = codecs
        self._first = first
        self._file = file

    def check(self, item: Batch | KafkaSpecError, content: Content | None) -> Iterator[Finding]:
        """Compare a result of the first codec with those of the others.

        Args:
            item: entry of the log, or the error of reading it.
            content: its records, or the error of reading them; None if they were not read.
        """
        for scan, codec in zip(self._scans, self._codecs, strict=True):
            other = next(scan, None)
            difference = _items_differ(item, other)
            if not difference and content is not None and isinstance(other, Batch):
                difference = _contents_differ(content, content_of(other))
            if difference:
                yield self._found(item, codec, difference)

    def finish(self) -> Iterator[Finding]:
        """Check that no codec reads more entries."""
        for scan, codec in zip(self._scans, self._codecs, strict=True):
            more = next(scan, None)
            if more is not None:
                yield self._found(more, codec, f"{codec} reads on where {self._first} ends")

    def _found(self, item: Batch | KafkaSpecError, codec: str, difference: str) -> Finding:
        if isinstance(item, Batch):
            area, position, offset = content_area(item), item.position, item.last_offset
            return self._finding(area, codec, difference, position, offset)
        return self._finding(Area.BATCH, codec, difference, item.offset, None)

    def _finding(
        self, area: Area, codec: str, difference: str, position: int | None, offset: int | None
    ) -> Finding:
        return Finding(
            file=self._file,
            severity=Severity.ERROR,
            area=area,
            reason=FindingReason.CODECS_DISAGREE,
            message=f"{self._first} and {codec} disagree: {difference}",
            position=position,
            offset=offset,
            codec=codec,
        )


def error_key(error: KafkaSpecError) -> tuple[object, ...]:
    """Return the part of an error that must be the same for all codecs."""
    return (error.reason, error.path, error.offset, error.inner_offset, error.spec)


def describe_error(error: KafkaSpecError) -> str:
    """Return reason and place of an error as text."""
    return f"{error.reason} at byte {error.offset} {error.path}"


def _items_differ(item: Batch | KafkaSpecError, other: Batch | KafkaSpecError | None) -> str:
    if other is None:
        return "the other one ends here"
    if isinstance(item, Batch) and isinstance(other, Batch):
        if (item.position, item.size) != (other.position, other.size):
            return f"the batch is at {item.position} or {other.position}"
        return "" if item.message == other.message else "the headers differ"
    if isinstance(item, KafkaSpecError) and isinstance(other, KafkaSpecError):
        if error_key(item) == error_key(other):
            return ""
        return f"{describe_error(item)}, or {describe_error(other)}"
    refusal = item if isinstance(item, KafkaSpecError) else other
    assert isinstance(refusal, KafkaSpecError)
    return f"one reads it, the other reports {describe_error(refusal)}"


def _contents_differ(content: Content, other: Content) -> str:
    if isinstance(content, KafkaSpecError) and isinstance(other, KafkaSpecError):
        if error_key(content) == error_key(other):
            return ""
        return f"{describe_error(content)}, or {describe_error(other)}"
    if isinstance(content, KafkaSpecError) or isinstance(other, KafkaSpecError):
        refusal = content if isinstance(content, KafkaSpecError) else other
        assert isinstance(refusal, KafkaSpecError)
        return f"one reads the records, the other reports {describe_error(refusal)}"
    if content == other:
        return ""
    for mine, its in zip_longest(content, other):
        if mine != its:
            offset = (mine or its).offset
            return f"the record with offset {offset} differs"
    return "the records differ"
