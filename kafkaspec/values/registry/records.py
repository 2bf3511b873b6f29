"""Records of a registry's topic as a consumer sees them: what was never committed is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pyarrow as pa

from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment

Source = Segment | Partition
"""What is read: the partition of the topic, or a segment of it."""

_OFFSET, _PRODUCER, _CONTROL = "offset", "producer_id", "control_type"
_TRANSACTIONAL: Final = "transactional"
_ABORT: Final = "ABORT"


class Record(NamedTuple):
    """A record of the topic."""

    offset: int
    key: bytes | None
    value: bytes | None


class Uncommitted(NamedTuple):
    """Offsets of records that no consumer of committed records sees.

    Attributes:
        aborted: of transactions that were aborted.
        unfinished: of transactions that have no end.
    """

    aborted: set[int]
    unfinished: set[int]


def uncommitted(log: Source) -> Uncommitted:
    """Return what was not committed of a log; damage is for ``records`` to report."""
    aborted: set[int] = set()
    pending: dict[int, list[int]] = {}
    columns = [_OFFSET, _PRODUCER, _TRANSACTIONAL, _CONTROL]
    for rows in _batches(log, columns, lambda _: None):
        for offset, producer, control in _transactional(rows):
            if control is None:
                pending.setdefault(producer, []).append(offset)
                continue
            ended = pending.pop(producer, [])
            if control == _ABORT:
                aborted.update(ended)
    return Uncommitted(aborted, {offset for each in pending.values() for offset in each})


def _transactional(rows: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    table = pa.Table.from_batches([rows])
    table = table.filter(table[_TRANSACTIONAL]).drop_columns([_TRANSACTIONAL])
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


def records(log: Source, report: Callable[[KafkaSpecError], None]) -> Iterator[Record]:
    """Yield the records of a log without control records; report what cannot be read."""
    for rows in _batches(log, [_OFFSET, "key", "value"], report, include_control=False):
        for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            yield Record(*row)


def _batches(
    log: Source,
    columns: list[str],
    report: Callable[[KafkaSpecError], None],
    include_control: bool = True,
) -> Iterator[pa.RecordBatch]:
    for segment in _segments(log, report):
        try:
            yield from segment.to_batches(
                columns, layout="binary", include_control=include_control, on_error=report
            )
        except KafkaSpecError as error:
            report(error)


def _segments(log: Source, report: Callable[[KafkaSpecError], None]) -> Iterator[Segment]:
    if isinstance(log, Segment):
        yield log
        return
    for path in log.segment_paths:
        try:
            segment = log.open_segment(path)
        except KafkaSpecError as error:
            report(error)
            continue
        with segment:
            yield segment
