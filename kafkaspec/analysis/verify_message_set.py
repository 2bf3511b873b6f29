"""Segments of Kafka 0.7: each alone, and whether they join without a gap."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

from kafkaspec.analysis.compare import ReadRecords
from kafkaspec.analysis.findings import Area, Finding, Place
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.analysis.report import FileKind
from kafkaspec.analysis.verify_segment import SegmentVerifier, VerifyChecks, VerifyEvent
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.log.batch import Batch, crc_error, ignored_bytes


def verify_message_sets(
    paths: Sequence[Path], options: VerifyChecks, partition: str = ""
) -> Iterator[VerifyEvent]:
    """Yield findings about the segments of a log in order, and a result for each."""
    for path, following in pairwise(paths):
        yield from _join(path, following)
    for path in paths:
        is_last = path == paths[-1]
        yield from _Verifier(path, options, partition=partition, is_last=is_last).run()


def _join(path: Path, following: Path) -> Iterator[Finding]:
    """Report a segment that does not begin where the one before it ends."""
    name, after = names.parse_segment(path.name), names.parse_segment(following.name)
    if name is None or after is None:
        return
    try:
        end = name.base_offset + path.stat().st_size
    except OSError:
        return  # reading it gives the finding
    if end != after.base_offset:
        text = f"{path.name} ends at {end}, but the name of this segment says that it begins at "
        text += f"{after.base_offset}"
        yield Place(os.fspath(following), Area.MESSAGE).error(
            R.SEGMENT_POSITION, text, offset=after.base_offset
        )


class _Verifier(SegmentVerifier):
    """Checks one segment, which has no indexes."""

    area = Area.MESSAGE

    def _kind(self) -> FileKind:
        return FileKind.MESSAGE_SET

    def _open_sidecars(self, stack: ExitStack) -> Iterator[Finding]:
        yield from ()

    def _take(self, batch: Batch, content: ReadRecords | None) -> Iterator[Finding]:
        offset = batch.base_offset
        in_set = Place(self._file, Area.MESSAGE_SET, batch.position, offset)
        if content is None:
            yield Place(self._file, Area.MESSAGE, offset=offset).refused(crc_error(batch))
        elif isinstance(content, KafkaSpecError):
            yield in_set.refused(content)
        elif ignored_bytes(batch):
            text = f"a compressed set ends in {ignored_bytes(batch)} bytes that are not a whole "
            text += "message, and are dropped in silence"
            yield in_set.error(R.TRAILING_BYTES, text)
