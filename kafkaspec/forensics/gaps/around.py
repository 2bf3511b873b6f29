"""Offsets before the first segment, below the log start and after the last batch."""

from __future__ import annotations

from typing import Final

import numpy as np

from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model.enumeration import RemoteLogSegmentState
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names as files
from kafkaspec.forensics.gaps.explained import Row
from kafkaspec.forensics.gaps.ranges import GapKind, Why
from kafkaspec.forensics.gaps.walk import Columns
from kafkaspec.layout.kinds import shown_name
from kafkaspec.log.missing import Missing
from kafkaspec.log.missing import Why as MissingWhy
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.results import Strength
from kafkaspec.state.remote import read_remote_segments

_COPIED: Final = shown_name(
    "enumeration.remote_log_segment_state", RemoteLogSegmentState.COPY_SEGMENT_FINISHED
)


def before_and_after(
    log: Partition | Segment, stop: int | None, around: list[Missing], rows: Columns
) -> list[Row]:
    """Return what is missing before the first segment and after the last batch.

    Args:
        log: the log.
        stop: the offset after its last batch, None without one.
        around: what the rule of all commands finds missing.
        rows: the other ranges: what they count below the log start offset is not counted twice.
    """
    if not isinstance(log, Partition) or log.first_base_offset is None:
        return []
    found: list[Row] = []
    first = log.first_base_offset
    gone = [item for item in around if item.reason is MissingWhy.START]
    try:
        listed = log.log_start_checkpoint
    except KafkaSpecError:
        listed = None
    if first > 0:
        text = "no log start offset is noted: as retention leaves it"
        if listed is not None and listed > first:
            text = "retention, or deleteRecords as after the first segment"
        at = 0
        kept = min([first, *(item.offsets.start for item in gone if item.offsets)])
        for begin, end in [*_tiered(log, kept), (kept, kept)]:
            if at < begin:
                found.append((at, begin - 1, begin - at, GapKind.BEFORE, Why.RETENTION,
                              Strength.LIKELY, text, None))  # fmt: skip
            if begin < end:
                found.append((begin, end - 1, end - begin, GapKind.BEFORE, Why.TIERED,
                              Strength.PROOF, f"{Topic.REMOTE_LOG_METADATA} lists it",
                              None))  # fmt: skip
            at = end
    for item in gone:
        at = item.offsets.start if item.offsets else 0
        found.append((at, first - 1, item.count, GapKind.BEFORE,
                      Why.SEGMENT_LOST, Strength.PROOF, item.message, None))  # fmt: skip
    end = stop or first
    if listed is not None and first < listed:
        last = min(listed, end) - 1
        if last >= first:
            text = f"the log start offset in {files.LOG_START_OFFSETS} is {listed}"
            left = last - first + 1 - _counted(rows, last)
            found.append((first, last, left, GapKind.WITHHELD, Why.DELETE_RECORDS,
                          Strength.PROOF, text, None))  # fmt: skip
    for item in around:
        if item.reason is MissingWhy.END and item.offsets and item.offsets.end is not None:
            at, stop = item.offsets.start, item.offsets.end
            found.append((at, stop - 1, stop - at, GapKind.END, Why.SEGMENT_LOST,
                          Strength.PROOF, item.message, item.file))  # fmt: skip
    return found


def _counted(rows: Columns, last: int) -> int:
    """Return how many offsets up to one are in ranges."""
    overlap = np.minimum(rows["last_offset"], last) - rows["first_offset"] + 1
    return int(np.minimum(np.maximum(overlap, 0), rows["missing"]).sum())


def _tiered(log: Partition, first: int) -> list[tuple[int, int]]:
    """Return the ranges before an offset that remote storage has, by the topic beside the log."""
    spans = []
    for path in sorted(log.path.parent.glob(f"{Topic.REMOTE_LOG_METADATA}-*")):
        try:
            found = read_remote_segments(Partition(path), on_error=lambda _: None).segments
        except KafkaSpecError:
            continue  # whoever reads it reports it
        for row in found.to_pylist():
            same = (row["topic"], row["partition"]) == (log.topic, log.partition)
            if same and row["state"] == _COPIED:
                spans.append((max(row["start_offset"], 0), min(row["end_offset"] + 1, first)))
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(span for span in spans if span[0] < span[1]):
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((begin, end))
    return joined
