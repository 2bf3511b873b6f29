"""Kafka's own topics over the log directories of many brokers: typed records, and states."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.arrow.messages.topics import (
    ERROR,
    kind_of_record,
    read_messages,
    schema_of_messages,
)
from kafkaspec.errors import unreadable
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.spark.jobs.units import FilePart, parts_of, rows_of
from kafkaspec.spark.paths import local
from kafkaspec.state import groups, remote, share, transactions
from kafkaspec.state.framed import LeftOut
from kafkaspec.tables.engine_types import spark_nested
from kafkaspec.times import Time

__all__ = ["ERROR", "LEFT_OUT", "LOG", "STATES", "state", "topic_messages"]

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOG: Final = "log"
"""Name of the column with the path of the log that a row is of."""


LEFT_OUT: Final = "left_out"
"""Name of the column with the number of records of that log that are not in the state: they could
not be decoded, or are of a type that is not known."""


class StateTable(NamedTuple):
    """A table of states: attribute ``table`` of what ``read`` returns for a partition."""

    topic: str
    schema: pa.Schema
    read: Callable[..., LeftOut]
    table: str


STATES: Final[dict[str, StateTable]] = {
    "groups": StateTable(Topic.CONSUMER_OFFSETS, groups.GROUPS, groups.read_groups, "groups"),
    "members": StateTable(Topic.CONSUMER_OFFSETS, groups.MEMBERS, groups.read_groups, "members"),
    "offsets": StateTable(Topic.CONSUMER_OFFSETS, groups.OFFSETS, groups.read_groups, "offsets"),
    "transactional_ids": StateTable(
        Topic.TRANSACTION_STATE, transactions.TRANSACTIONS, transactions.read_transactions, "ids"
    ),
    "remote_segments": StateTable(
        Topic.REMOTE_LOG_METADATA, remote.SEGMENTS, remote.read_remote_segments, "segments"
    ),
    "deliveries": StateTable(
        Topic.SHARE_GROUP_STATE, share.DELIVERIES, share.read_deliveries, "partitions"
    ),
}
"""The kinds of states, by name."""


def topic_messages(
    spark: SparkSession,
    paths: str | Sequence[str],
    name: str,
    *,
    release: str | None = None,
    tasks: int | None = None,
) -> DataFrame:
    """Return the records of one type of an internal topic, decoded, one task for some segments, or
    parts of large ones.

    The columns are ``log``, those of ``topic_messages`` of a segment, and ``error``: why the key or
    value of a record is null although there are bytes.

    Args:
        spark: a session whose workers have kafkaspec and see the same files.
        paths: log directories, partitions or segments; with ``file:`` or without.
        name: ``OffsetCommit``, ``PartitionChange`` ...: see ``Columnar.topic_messages``.
        release: of the brokers that wrote them, where their layout is an old one.
        tasks: how many there are to be; three a slot by default.

    Raises:
        KafkaSpecError: ``unreadable``, if a path does not exist or none has the topic.
        ValueError: no topic has records of that name.
    """
    kind = kind_of_record(name, release)
    segments = [path for log in logs_of(paths, name) for path in _segments(log)]
    schema = _with_log(schema_of_messages(kind, "column", of_segment=True))
    sizes = [path.stat().st_size for path in segments]
    parts = parts_of(spark, [os.fspath(path) for path in segments], sizes, tasks)
    units = [(path, part) for path, own in zip(segments, parts, strict=True) for part in own]
    weights = [part.size for _, part in units]
    return rows_of(spark, units, weights, partial(_messages, name, release, schema), schema, tasks)


def _messages(
    name: str, release: str | None, schema: pa.Schema, unit: tuple[Path, FilePart]
) -> Iterator[pa.RecordBatch]:
    path, part = unit
    with Segment(path) as segment:
        for batch in read_messages(
            segment, name, release=release, on_value_error="column",
            start_position=part.start, end_position=part.end,
        ):  # fmt: skip
            yield _placed(batch, path, schema)


def state(
    spark: SparkSession,
    paths: str | Sequence[str],
    kind: str,
    *,
    at: Time | None = None,
    release: str | None = None,
    tasks: int | None = None,
) -> DataFrame:
    """Return a table of states, one task for some partitions of the internal topic.

    The columns are ``log``, those of the kind, and ``left_out``.

    Args:
        spark: a session whose workers have kafkaspec and see the same files.
        paths: log directories of brokers, or partitions of the internal topic. A replica of a
            partition on another broker gives the same rows again; ``log`` tells them apart.
        kind: one of ``STATES``.
        at: the state at this time, see ``kafkaspec.times.Time``.
        release: of the brokers; None if it is not known.
        tasks: how many there are to be; three a slot by default.

    Raises:
        KafkaSpecError: ``unreadable``, if a path does not exist or none has the topic. In a
            task: a batch cannot be read, or no record of a log is in the state.
        KeyError: no such kind.
    """
    partitions = [log.path for log in logs_of(paths, kind) if isinstance(log, Partition)]
    schema = _with_log(STATES[kind].schema).append(pa.field(LEFT_OUT, pa.int64(), nullable=False))
    sizes = [sum(path.stat().st_size for path in place.glob("*.log")) for place in partitions]
    read = partial(_state, kind, {"at": at, "release": release}, schema)
    return rows_of(spark, partitions, sizes, read, schema, tasks)


def _state(
    kind: str, options: dict[str, Any], schema: pa.Schema, path: Path
) -> Iterator[pa.RecordBatch]:
    wanted = STATES[kind]
    with Partition(path) as partition:
        found = wanted.read(partition, **options)
    table: pa.Table = getattr(found, wanted.table)
    left_out = found.left_out
    if left_out and not table.num_rows:
        raise next(iter(found.errors), unreadable(path, "it has records of unknown types only"))
    table = table.append_column(LEFT_OUT, pa.repeat(left_out, table.num_rows))
    for batch in table.to_batches():
        yield _placed(batch, path, schema)


def _placed(batch: pa.RecordBatch, path: Path, schema: pa.Schema) -> pa.RecordBatch:
    columns = [column.cast(schema[place].type) for place, column in enumerate(batch.columns, 1)]
    return pa.RecordBatch.from_arrays(
        [pa.repeat(str(path), batch.num_rows), *columns], schema=schema
    )


def _with_log(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(LOG, pa.string(), nullable=False), *map(_field, schema)])


def _field(field: pa.Field) -> pa.Field:
    return field.with_type(spark_nested(field.type))


def logs_of(paths: str | Sequence[str], name: str) -> list[Partition | Segment]:
    """Return the logs that a kind of states, or records of a type, are in."""
    topic = STATES[name].topic if name in STATES else kind_of_record(name).topic
    found: list[Partition | Segment] = []
    for path in [paths] if isinstance(paths, str) else paths:
        opened = open_log(local_path(path))
        if isinstance(opened, LogDirectory):
            found += [each for each in opened.current if each.topic == topic]
        else:
            found.append(opened)
    if not found:
        raise unreadable(str(paths), f"there is no partition of {topic}")
    return found


def local_path(path: str) -> str:
    """Return the path of a local file system that tasks open themselves.

    Raises:
        KafkaSpecError: ``unreadable``: it is of another one.
    """
    place = local(path)
    if place is None:
        raise unreadable(path, "not of a local file system; mount it, or copy the files")
    return place


def _segments(log: Partition | Segment) -> list[Path]:
    if isinstance(log, Partition):
        return [*log.segment_paths, *log.checkpoint_paths]
    return [] if log.path is None else [log.path]
