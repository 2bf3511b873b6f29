"""Drives the writers as Spark does, without a JVM: tasks and commit work on copies."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StringType, StructType

import kafkaspec as ks
from kafkaspec.spark.write_options import parse_write_options
from kafkaspec.spark.writer import SegmentsWriter

Task = Sequence[pa.RecordBatch]


def schema_of(names: Iterable[str]) -> StructType:
    """A schema with these names; writers look at nothing else of it."""
    schema = StructType()
    for name in names:
        schema.add(name, StringType())
    return schema


def rows(topic: str, partition: int, offsets: Iterable[int], *, size: int = 10) -> pa.RecordBatch:
    """Records that say where they belong."""
    listed = list(offsets)
    count = len(listed)
    return pa.record_batch(
        {
            "topic": pa.array([topic] * count, pa.string()),
            "partition": pa.array([partition] * count, pa.int32()),
            "offset": pa.array(listed, pa.int64()),
            "timestamp": pa.array([at * 1000 for at in listed], pa.timestamp("us", "UTC")),
            "key": pa.array([b"%d" % at if at % 3 else None for at in listed], pa.binary()),
            "value": pa.array([b"%*d" % (size, at) for at in listed], pa.binary()),
        }
    )


def without(batch: pa.RecordBatch, *names: str) -> pa.RecordBatch:
    return batch.select([name for name in batch.schema.names if name not in names])


def writer_for(path: Path, names: Iterable[str], *, overwrite: bool = False, **given: Any) -> Any:
    options = {name: str(value) for name, value in given.items()}
    parsed = parse_write_options({"path": str(path), "sync": "false", **options})
    return SegmentsWriter(parsed, schema_of(names), overwrite)


def write(path: Path, tasks: Sequence[Task], **given: Any) -> None:
    """A whole write."""
    names = next(batch.schema.names for task in tasks for batch in task)
    writer = writer_for(path, names, **given)
    messages: list[Any] = []
    try:
        for task in tasks:
            message = _copy(writer).write(iter(task))
            messages.append(_copy(message))
        _copy(writer).commit(messages)
    except BaseException:
        _copy(writer).abort([*messages, *([None] * (len(tasks) - len(messages)))])
        raise


def _copy(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def listing(path: Path) -> list[str]:
    """All files and directories."""
    return sorted(item.relative_to(path).as_posix() for item in path.rglob("*"))


def contents(path: Path) -> dict[str, bytes]:
    """All files."""
    return {name: (path / name).read_bytes() for name in listing(path) if (path / name).is_file()}


def offsets(path: Path) -> list[int]:
    with ks.Partition(path) as partition:
        return [record.offset for record in partition.records()]
