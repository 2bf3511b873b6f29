"""Segments of Kafka 0.7: each alone, and whether they join without a gap."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

from kafkaspec.analysis.compare import CodecComparison, Content, content_of
from kafkaspec.analysis.findings import (
    Area,
    Finding,
    FindingReason,
    Severity,
    finding_of_error,
)
from kafkaspec.analysis.report import FileKind, FileResult
from kafkaspec.analysis.verify_segment import TAILS, Event, Options, open_segment
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.log.batch import Batch
from kafkaspec.log.segment import Segment


def verify_message_sets(
    paths: Sequence[Path], options: Options, partition: str = ""
) -> Iterator[Event]:
    """Yield findings about the segments of a log in order, and a result for each.

    Args:
        paths: the segments in the order of their names.
        options: of the run.
        partition: path of the partition directory for results.
    """
    for path, following in pairwise(paths):
        yield from _join(path, following)
    for path in paths:
        yield from _Verifier(path, options, partition, is_last=path == paths[-1]).run()


def _join(path: Path, following: Path) -> Iterator[Finding]:
    """Report a segment that does not begin where the one before it ends."""
    name, after = names.parse_segment(path.name), names.parse_segment(following.name)
    if name is None or after is None:
        return
    try:
        end = name.base_offset + path.stat().st_size
    except OSError:
        return  # reading it says so
    if end != after.base_offset:
        yield Finding(
            os.fspath(following),
            Severity.ERROR,
            Area.MESSAGE,
            FindingReason.SEGMENT_POSITION,
            f"{path.name} ends at {end}, but the name of this segment says that it begins at "
            f"{after.base_offset}",
            offset=after.base_offset,
        )


class _Verifier:
    """Checks one segment."""

    def __init__(self, path: Path, options: Options, partition: str, *, is_last: bool) -> None:
        self._path = path
        self._file = os.fspath(path)
        self._options = options
        self._is_last = is_last
        self._result = FileResult(file=self._file, kind=FileKind.MESSAGE_SET, partition=partition)

    def run(self) -> Iterator[Event]:
        with ExitStack() as stack:
            try:
                yield from self._read(stack)
            except KafkaSpecError as error:
                yield finding_of_error(error, Area.MESSAGE, file=self._file)
        yield self._result

    def _read(self, stack: ExitStack) -> Iterator[Event]:
        first, *further = self._options.codecs
        segment = stack.enter_context(open_segment(self._path, first, self._options))
        self._result.size = segment.size
        others = [
            stack.enter_context(open_segment(self._path, codec, self._options)) for codec in further
        ]
        comparison = CodecComparison(others, further, first, self._file)
        for item in segment.scan():
            content = None
            self._result.batches += 1
            if isinstance(item, KafkaSpecError):
                self._result.unread += 1
                yield finding_of_error(item, Area.MESSAGE, file=self._file)
            else:
                if item.crc_valid:
                    content = content_of(item)
                yield from self._message(item, content)
                self._progress(item.size)
            yield from comparison.check(item, content)
        yield from comparison.finish()
        yield from self._tail(segment)

    def _progress(self, done: int) -> None:
        if self._options.progress is not None:
            self._options.progress(done, self._file)

    def _message(self, batch: Batch, content: Content | None) -> Iterator[Finding]:
        result, offset = self._result, batch.base_offset
        result.magics[batch.magic_name] += 1
        result.codecs[batch.compression_name] += 1
        if result.first_offset is None:
            result.first_offset = offset
        result.last_offset = offset
        if content is None:
            result.unread += 1
            yield finding_of_error(batch.crc_error(), Area.MESSAGE, file=self._file, offset=offset)
        elif isinstance(content, KafkaSpecError):
            result.unread += 1
            yield finding_of_error(
                content, Area.MESSAGE_SET, file=self._file, offset=offset, position=batch.position
            )
        else:
            result.records += len(content)
            if batch.ignored_bytes:
                yield Finding(
                    self._file,
                    Severity.ERROR,
                    Area.MESSAGE_SET,
                    FindingReason.TRAILING_BYTES,
                    f"a compressed set ends in {batch.ignored_bytes} bytes that are no whole "
                    "message, and are dropped in silence",
                    batch.position,
                    offset,
                )

    def _tail(self, segment: Segment) -> Iterator[Finding]:
        tail = segment.tail
        reason = None if tail is None else TAILS.get(tail.reason)
        if tail is not None and reason is not None:
            yield Finding(
                self._file,
                Severity.WARNING if self._is_last else Severity.ERROR,
                Area.MESSAGE,
                reason,
                str(tail) if self._is_last else f"{tail}, and later segments follow",
                tail.position,
            )
