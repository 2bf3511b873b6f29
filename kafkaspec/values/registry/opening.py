"""Find the schemas at a path: a registry's topic in a log directory, or files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.outcomes import CONTROL, OFFSET, PRODUCER, markers_in, outcomes
from kafkaspec.arrow.record_batches import record_batches
from kafkaspec.arrow.schema import request_of
from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.files import names
from kafkaspec.io.remote import as_path
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.missing import missing
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition, PartitionLog
from kafkaspec.log.segment import Segment
from kafkaspec.log.transactions import Outcome
from kafkaspec.messages.topics import another_topic
from kafkaspec.options import did_you_mean
from kafkaspec.values.options import Bounds
from kafkaspec.values.registry.files import is_schema_file, read_files, schema_files
from kafkaspec.values.registry.problems import Fault, problem_at, problem_in
from kafkaspec.values.registry.replay import RegistryRecord, Replay


def read_schemas(path: str | PathLike[str], topic: str, bounds: Bounds) -> Replay:
    """Read the schemas at a path; see ``SchemaLog.open``."""
    text = os.fspath(path)
    place = as_path(path)
    replay = Replay(bounds)
    if "://" not in text and not _has_logs(place):
        read_files(place, replay)
        return replay
    with open_log(path) as opened:
        logs = list(_logs(opened, topic))
        for log in logs:
            with closing(log):
                _replay(log, replay)
        near = did_you_mean(topic, {log.topic or "" for log in _near(opened)})
    if not logs:
        raise unreadable(text, f"there is no partition of {topic}, in it or beside it{near}")
    return replay


def _has_logs(place: Path) -> bool:
    """Return whether a path is to be opened as a log, also to say that there is no such path."""
    if not place.is_dir():
        return not is_schema_file(place) or not place.exists()
    try:
        below = [names.parse_partition(item.name) for item in place.iterdir() if item.is_dir()]
        return any(below) or bool(Partition(place).segment_paths) or not any(schema_files(place))
    except (OSError, KafkaSpecError):
        return True


def _logs(opened: Segment | Partition | LogDirectory, topic: str) -> Iterator[PartitionLog]:
    """Yield the partitions of a topic, or segments, that a path leads to."""
    if not isinstance(opened, LogDirectory) and (
        opened.path is None
        or another_topic(opened.path, topic, segment=isinstance(opened, Segment)) is None
    ):
        yield opened
    else:
        yield from (log for log in _near(opened) if log.topic == topic)


def _near(opened: Segment | Partition | LogDirectory) -> list[Partition]:
    """Return the partitions of a log directory, or of the one that a log is in."""
    if isinstance(opened, LogDirectory):
        return opened.current
    if opened.path is None:
        return []
    home = opened.path.absolute().parent
    return LogDirectory(home.parent if isinstance(opened, Segment) else home).current


def _replay(log: PartitionLog, replay: Replay) -> None:
    def report(error: KafkaSpecError) -> None:
        replay.problems.append(problem_in(Fault.DAMAGED, error))

    left_out = uncommitted(log)
    for record in records(log, report):
        if record.offset in left_out.unfinished:
            reason = "its transaction has no end"
            replay.problems.append(problem_at(Fault.UNFINISHED, reason, record.offset))
        elif record.offset not in left_out.aborted:
            replay.add(record)
    for item in missing(log, log_start="ignore", ends_only=True):
        if item.is_loss:
            replay.problems.append(problem_in(Fault.MISSING, item))


_TRANSACTIONAL: Final = "transactional"


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
        log_start="ignore",
        on_error=report,
        on_unreadable=report,
    )
    try:
        yield from record_batches(log, request)
    except KafkaSpecError as error:
        report(error)
