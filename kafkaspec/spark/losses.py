"""Report what logs do not deliver, by the one rule of all commands (``kafkaspec.log.missing``)."""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

from kafkaspec.files.names import LOG_START_OFFSETS
from kafkaspec.log.missing import Missing, MissingWhy, missing
from kafkaspec.log.options import LogStart
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.spark.offsets import OffsetSpan, report_loss
from kafkaspec.spark.options import ReadOptions
from kafkaspec.spark.paths import LOGGER, TopicLog


def missing_in(log: TopicLog, span: OffsetSpan, *, log_start: bool = True) -> Iterator[Missing]:
    """Yield what a log does not deliver of a span; only the ends of its segments are read."""
    low, high = span.start, span.end
    numbers = [item.base_offset for item in log.segments]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):  # files of other names
        for item in log.segments:
            with Segment(item.path, mapped=False) as segment:
                yield from missing(segment, start_offset=low, end_offset=high, ends_only=True)
        return
    if known:  # perhaps not all segments of the directory
        low = known[0] if low is None else max(low, known[0])
        bases = log.opened.base_offsets
        following = bases[bisect_right(bases, known[-1]) :]
        high = min([*following[:1], *([] if high is None else [high])], default=None)
    choice: LogStart = "checkpoint" if log_start else "ignore"
    others = {path.name for path in log.opened.segment_paths}
    others -= {item.path.name for item in log.segments}
    for found in missing(
        log.opened, start_offset=low, end_offset=high, log_start=choice, ends_only=True
    ):
        if PurePath(found.file).name not in others:
            yield found


def report_missing(log: TopicLog, span: OffsetSpan, options: ReadOptions) -> list[Missing]:
    """Report what a log does not deliver of a span; return it, if that is not an error.

    A broker writes an index after the log, so offsets that are missing at the end of the log are
    looked for again.
    """
    lost = []
    for item in missing_in(log, span, log_start=options.log_start):
        if item.reason is MissingWhy.END and _is_there_now(log, item):
            continue
        if item.is_loss and not _delivers_all(item):
            if options.on_error == "raise" and options.fail_on_data_loss:
                report_loss(str(item), options)
            lost.append(item)
        LOGGER.log(logging.WARNING if item.is_loss else logging.INFO, "%s", item)
    return lost


def _delivers_all(item: Missing) -> bool:
    """Return whether no offset is known to be missing.

    A broker may be writing the batch at the end of a log. Nothing is left out because of a
    checkpoint that cannot be read.
    """
    return item.reason is MissingWhy.TAIL or PurePath(item.file).name == LOG_START_OFFSETS


def _is_there_now(log: TopicLog, lost: Missing) -> bool:
    """Return whether what was missing at the end of a log was written meanwhile."""
    now = replace(log, opened=Partition(log.directory, mapped=False))
    now.opened.log_start_offset = log.first_offset
    again = missing_in(now, OffsetSpan(*(lost.offsets or (None, None))))
    return all(item.reason is not MissingWhy.END for item in again)
