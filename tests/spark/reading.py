"""The data source without a JVM: what planner and workers call, with a pickle in between."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from kafkaspec.spark.options import read_options
from kafkaspec.spark.partitions import Piece
from kafkaspec.spark.schema import schema_of
from kafkaspec.spark.source import KafkaSegmentDataSource


def _source(path: str | Path | list[str], options: dict[str, Any]) -> KafkaSegmentDataSource:
    """Options as Spark hands them over."""
    texts = {
        name.replace("_", "."): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in options.items()
    }
    if isinstance(path, list):
        return KafkaSegmentDataSource({"paths": json.dumps(path), **texts})
    return KafkaSegmentDataSource({"path": str(path), **texts})


def _schema(source: KafkaSegmentDataSource, columns: Sequence[str] | None) -> Any:
    if columns is None:
        return source.schema()
    return schema_of(columns, read_options(source.options).corrupt)


def tasks(path: str | Path | list[str], **options: Any) -> list[tuple[Piece, ...]]:
    """The pieces of each task."""
    source = _source(path, options)
    planned = source.reader(source.schema()).partitions()
    return [task.pieces for task in pickle.loads(pickle.dumps(planned))]


def batches(
    path: str | Path | list[str], columns: Sequence[str] | None = None, **options: Any
) -> Iterator[pa.RecordBatch]:
    """The record batches of all tasks. A ``_`` in the name of an option is a ``.``."""
    source = _source(path, options)
    schema = _schema(source, columns)
    reader = source.reader(schema)
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
    schema = _schema(_source(path, options), columns)
    empty = to_arrow_schema(schema, timezone="UTC").empty_table()
    made = batches(path, columns, **options)
    return pa.concat_tables([empty, *(pa.Table.from_batches([batch]) for batch in made)])


def stream_reader(path: str | Path, **options: Any) -> Any:
    """The reader of a stream."""
    source = _source(path, options)
    return source.streamReader(source.schema())
