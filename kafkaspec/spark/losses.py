"""Report what logs do not deliver, by the one rule of all commands (``kafkaspec.log.missing``)."""

from __future__ import annotations

import logging
from dataclasses import replace

from kafkaspec.log.listed import TopicLog, delivers_all, missing_in
from kafkaspec.log.missing import Missing, MissingWhy
from kafkaspec.log.partition import Partition
from kafkaspec.spark.offsets import OffsetSpan, report_loss
from kafkaspec.spark.options import ReadOptions
from kafkaspec.spark.paths import LOGGER


def report_missing(log: TopicLog, span: OffsetSpan, options: ReadOptions) -> list[Missing]:
    """Report what a log does not deliver of a span; return it, if that is not an error.

    A broker writes an index after the log, so offsets that are missing at the end of the log are
    looked for again.
    """
    lost = []
    for item in missing_in(log, span.start, span.end, log_start=options.log_start):
        if item.reason is MissingWhy.END and _is_there_now(log, item):
            continue
        if item.is_loss and not delivers_all(item):
            if options.on_error == "raise" and options.fail_on_data_loss:
                report_loss(str(item), options)
            lost.append(item)
        LOGGER.log(logging.WARNING if item.is_loss else logging.INFO, "%s", item)
    return lost


def _is_there_now(log: TopicLog, lost: Missing) -> bool:
    """Return whether what was missing at the end of a log was written meanwhile."""
    now = replace(log, opened=Partition(log.directory, mapped=False))
    now.opened.log_start_offset = log.first_offset
    again = missing_in(now, *(lost.offsets or (None, None)))
    return all(item.reason is not MissingWhy.END for item in again)
