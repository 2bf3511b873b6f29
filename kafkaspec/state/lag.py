"""The lag of committed offsets to the ends of their partitions, in records and in time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from uuid import UUID

import pyarrow as pa

from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.partition import Partition
from kafkaspec.log.past_end import PastEnd, past_end
from kafkaspec.times import Time, milliseconds

LAG: Final = pa.schema([
    ("log_end_offset", pa.int64()), ("log_end_least", pa.int64()), ("log_end_most", pa.int64()),
    ("lag", pa.int64()), ("lag_ms", pa.int64()),
])  # fmt: skip
"""Columns that ``with_lag`` adds. ``log_end_offset`` is where the partition ended at that time, and
``log_end_least`` and ``log_end_most`` the bounds of it: where they are the same, the end is exact,
else it is assumed by the timestamps of producers. ``lag`` is the number of offsets from the
committed one to it. ``lag_ms`` is the time between the first record that was not consumed and the
last one; null without timestamps. All are null where the partition is not there, or has another
topic id than the offset was committed for."""


def with_lag(
    offsets: pa.Table, partitions: Iterable[Partition], *, at: Time | None = None
) -> tuple[pa.Table, list[KafkaSpecError]]:
    """Return committed offsets with their lag, and why partitions could not be asked.

    Args:
        offsets: as ``read_groups`` returns them.
        partitions: data partitions, of which those with offsets are read.
        at: the time at which they are compared, see ``kafkaspec.times.Time``. Where a
            partition ended at that time is found by the timestamps of its records, so it is exact
            for LogAppendTime only.
    """
    until = None if at is None else milliseconds(at, "at")
    logs = {(each.topic, each.partition): each for each in partitions}
    errors: list[KafkaSpecError] = []
    ends: dict[tuple[str, int], tuple[PastEnd, int | None] | None] = {}
    rows: list[dict[str, int | None]] = []
    names = ("topic", "partition", "offset", "topic_id")
    for place in zip(*(offsets[name].to_pylist() for name in names), strict=True):
        topic, partition, offset, topic_id = place
        log = logs.get((topic, partition))
        same = not topic_id or not any(topic_id)
        if log is None or not (same or log.topic_id in (None, UUID(bytes=topic_id))):
            rows.append({})
            continue
        try:
            if (topic, partition) not in ends:
                ends[topic, partition] = _end(log, until)
            found = ends[topic, partition]
            rows.append({} if found is None else _lag(log, offset, *found))
        except KafkaSpecError as error:
            if ends.setdefault((topic, partition), None) is None:
                errors.append(error)
            rows.append({})
    added = pa.Table.from_pylist(rows, LAG)
    for field in LAG:
        offsets = offsets.append_column(field, added[field.name])
    return offsets, errors


def _end(log: Partition, at: int | None) -> tuple[PastEnd, int | None]:
    """Return the end of a partition at a time, and the timestamp that it had come to."""
    if at is not None:
        return past_end(log, at), at
    last = log.find(max_timestamp=True)
    newest = None if last.record is None else last.record.timestamp
    end = log.log_end_offset
    return PastEnd(end, end, end), newest


def _lag(log: Partition, offset: int, end: PastEnd, newest: int | None) -> dict[str, int | None]:
    row: dict[str, int | None] = dict(zip(LAG.names, end, strict=False))
    if offset >= end.offset:
        return row | {"lag": 0, "lag_ms": 0}
    record = log.find(offset=offset).record
    first = None if record is None or record.timestamp < 0 else record.timestamp
    waiting = None if first is None or newest is None else max(newest - first, 0)
    return row | {"lag": end.offset - offset, "lag_ms": waiting}
