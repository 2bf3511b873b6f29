"""The data source without a JVM: what planner and workers call, with a pickle in between."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from kafkaspec.spark.pieces import TaskPiece
from kafkaspec.spark.schema import schema_of
from kafkaspec.spark.source import KafkaSegmentDataSource, typed_options


def source(path: str | Path | list[str], options: dict[str, Any]) -> KafkaSegmentDataSource:
    """Options as Spark hands them over."""
    texts = {
        name.replace("_", "."): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in options.items()
    }
    if isinstance(path, list):
        return KafkaSegmentDataSource({"paths": json.dumps(path), **texts})
    return KafkaSegmentDataSource({"path": str(path), **texts})


def _schema(made: KafkaSegmentDataSource, columns: Sequence[str] | None) -> Any:
    if columns is None:
        return made.schema()
    given = typed_options(made.options)
    return schema_of(columns, given.corrupt, given.content)


def tasks(path: str | Path | list[str], **options: Any) -> list[tuple[TaskPiece, ...]]:
    """The pieces of each task."""
    made = source(path, options)
    planned = made.reader(made.schema()).partitions()
    return [task.pieces for task in pickle.loads(pickle.dumps(planned))]


def batches(
    path: str | Path | list[str], columns: Sequence[str] | None = None, **options: Any
) -> Iterator[pa.RecordBatch]:
    """The record batches of all tasks. A ``_`` in the name of an option is a ``.``."""
    made = source(path, options)
    schema = _schema(made, columns)
    reader = made.reader(schema)
    expected = to_arrow_schema(schema, timezone="UTC")
    planned = pickle.loads(pickle.dumps(reader.partitions()))
    sent = pickle.dumps(reader)
    for task in planned:
        for batch in pickle.loads(sent).read(task):
            assert batch.schema == expected
            yield batch


def table(
    path: str | Path | list[str], columns: Sequence[str] | None = None, **options: Any
) -> pa.Table:
    """All record batches as a table."""
    schema = _schema(source(path, options), columns)
    empty = to_arrow_schema(schema, timezone="UTC").empty_table()
    made = batches(path, columns, **options)
    return pa.concat_tables([empty, *(pa.Table.from_batches([batch]) for batch in made)])


def stream_reader(path: str | Path, **options: Any) -> Any:
    """The reader of a stream."""
    made = source(path, options)
    return made.streamReader(made.schema())
