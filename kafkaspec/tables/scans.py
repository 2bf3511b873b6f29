"""Segments as lazy tables of other engines: a data set for DuckDB, a lazy frame of Polars."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, Unpack

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.dataset import Dataset

from kafkaspec.arrow.record_batches import place_of, record_batches
from kafkaspec.arrow.schema import Request
from kafkaspec.errors import unreadable
from kafkaspec.io.remote import as_path, exists
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.log.options import BatchOptions
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.options import checked
from kafkaspec.tables.sql.pushdown import Filter
from kafkaspec.tables.sql.topics import Scans, Topic, is_at

if TYPE_CHECKING:
    from polars import LazyFrame

LogPaths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

SCAN_COLUMNS: Final = (
    "topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers"
)  # fmt: skip
"""Columns of a scan by default."""


@checked
def read_kafka(
    paths: LogPaths, *, columns: Sequence[str] | None = None, **options: Unpack[BatchOptions]
) -> Dataset:
    """Return segments as a data set of Arrow, which reads what a query needs.

    DuckDB takes it by the name of its variable: ``logs = read_kafka("logs/*"); duckdb.sql("FROM
    logs")``. Conditions on ``offset``, ``timestamp``, ``topic`` and ``partition`` leave out
    batches, segments and partitions before they are read; only columns that a query names are
    decoded. Nothing is read before a query asks, and again for each query.

    Args:
        paths: a segment, a partition, a log directory, a glob or a URL, or several.
        columns: names, as ``to_batches`` has them; those of ``SCAN_COLUMNS`` by default.
        options: as ``to_batches`` takes them: ``isolation``, ``on_error`` ...

    Raises:
        KafkaSpecError: ``unreadable``: there is nothing at a path, or it cannot be opened.
        ValueError: no such column or option.
    """
    return _Logs(_opened(paths), SCAN_COLUMNS if columns is None else columns, options)


@checked
def scan_kafka(
    paths: LogPaths, *, columns: Sequence[str] | None = None, **options: Unpack[BatchOptions]
) -> LazyFrame:
    """Return segments as a lazy frame of Polars; see ``read_kafka``.

    Raises:
        KafkaSpecError: as ``read_kafka``.
        ValueError: as ``read_kafka``.
        ImportError: Polars is not installed.
    """
    from polars import scan_pyarrow_dataset

    return scan_pyarrow_dataset(read_kafka(paths, columns=columns, **options))


class _Logs(Topic):
    """Several logs as one table."""

    def __init__(
        self, logs: Sequence[Partition | Segment], columns: Sequence[str], options: BatchOptions
    ) -> None:
        super().__init__(logs[0], None, (), columns, options, Scans())
        self._logs = logs
        self._show_columns()

    def _read(self, request: Request, names: list[str], found: Filter) -> Iterator[pa.RecordBatch]:
        for log in self._logs:
            place = place_of(log) if isinstance(log, Segment) else log
            if self._may_be_in(found, place.topic, place.partition):
                yield from record_batches(log, request)

    def _may_be_in(self, found: Filter, topic: str | None, partition: int | None) -> bool:
        known: pc.Expression | None = None
        for name, value in (("topic", topic), ("partition", partition)):
            if name in self._schema.names:
                each = is_at(name, value)
                known = each if known is None else known & each
        return known is None or found.may_hold(known)


def _opened(paths: LogPaths) -> list[Partition | Segment]:
    found: list[Partition | Segment] = []
    for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
        for each in _matching(os.fspath(path)):
            log = open_log(each)
            found += log.current if isinstance(log, LogDirectory) else [log]
    if not found:
        raise unreadable(str(paths), "there is no log")
    return found


def _matching(path: str) -> list[str]:
    if exists(as_path(path)) or not glob.has_magic(path):
        return [path]
    found = sorted(glob.glob(path, recursive=True))
    if not found:
        raise unreadable(path, "nothing matches it")
    return found
