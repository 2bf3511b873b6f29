"""Records of a registry's topic as a consumer sees them: what was never committed is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.outcomes import CONTROL, OFFSET, PRODUCER, markers_in, outcomes
from kafkaspec.arrow.reading import record_batches
from kafkaspec.arrow.schema import request_of
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.partition import PartitionLog
from kafkaspec.log.transactions import Outcome

_TRANSACTIONAL: Final = "transactional"


class RegistryRecord(NamedTuple):
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


def uncommitted(log: PartitionLog) -> Uncommitted:
    """Return what was not committed of a log; damage is for ``records`` to report."""
    columns = [OFFSET, PRODUCER, CONTROL, _TRANSACTIONAL]
    tables = [pa.Table.from_batches([rows]) for rows in _batches(log, columns, lambda _: None)]
    tables = [table.filter(table[_TRANSACTIONAL]) for table in tables]
    if not any(tables):
        return Uncommitted(set(), set())
    rows = pa.concat_tables(tables)
    data = rows.filter(rows[CONTROL].is_null())
    found = outcomes(data, markers_in(rows))
    aborted, unfinished = (
        set(data.filter(pc.equal(found, str(each)))[OFFSET].to_pylist())
        for each in (Outcome.ABORTED, Outcome.OPEN)
    )
    return Uncommitted(aborted, unfinished)


def records(
    log: PartitionLog, report: Callable[[KafkaSpecError], None]
) -> Iterator[RegistryRecord]:
    """Yield the records of a log without control records; report what cannot be read."""
    for rows in _batches(log, [OFFSET, "key", "value"], report, include_control=False):
        for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            yield RegistryRecord(*row)


def _batches(
    log: PartitionLog,
    columns: list[str],
    report: Callable[[KafkaSpecError], None],
    include_control: bool = True,
) -> Iterator[pa.RecordBatch]:
    request = request_of(
        (),
        columns,
        layout="binary",
        include_control=include_control,
        on_error=report,
        on_unreadable=report,
    )
    try:
        yield from record_batches(log, request)
    except KafkaSpecError as error:
        report(error)
