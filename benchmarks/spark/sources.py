"""The same rows in every form that a Spark job may find them in."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

import kafkaspec as ks
import kafkaspec.spark
from benchmarks.data import MIB, Shape, segment

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

OURS, PARQUET = "segments", "Parquet"
TOPIC = "orders"
COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
NARROW = ("offset", "timestamp")
_DECODED = "key binary, value binary, offset bigint, timestamp timestamp"
_SEGMENT = 64 * MIB


@dataclass(frozen=True)
class Rows:
    """Rows of one shape.

    Attributes:
        shape: of the records.
        root: the directory of the log directory, of the Parquet files and of what is written.
        count: how many.
    """

    shape: Shape
    root: Path
    count: int

    @property
    def logs(self) -> Path:
        """The log directory."""
        return self.root / "logs"

    @property
    def parquet(self) -> Path:
        """The Parquet files."""
        return self.root / "parquet"

    def segments(self, spark: SparkSession, columns: tuple[str, ...] = COLUMNS) -> DataFrame:
        """From segments, by the data source; its own schema has the columns of ``COLUMNS``."""
        reader = spark.read.format("kafkasegment")
        if columns != COLUMNS:
            return kafkaspec.spark.read(spark, str(self.logs), columns)
        return reader.load(str(self.logs))

    def headers(self, spark: SparkSession) -> DataFrame:
        """The number of records of each batch, by the data source."""
        return kafkaspec.spark.read(spark, str(self.logs), ("records",), rows="batches")

    def lake(self, spark: SparkSession, place: Path | None = None) -> None:
        """Put them into a new lake, by the job: ``raw`` and ``batches``."""
        place = place or self.root / "lake"
        shutil.rmtree(place, ignore_errors=True)
        kafkaspec.spark.lake(spark, str(self.logs), str(place), active=True)

    def again(self, spark: SparkSession, kept: Path) -> None:
        """Read the Parquet files of ``raw``, and write their rows as Parquet by Spark."""
        files = [str(path) for path in (kept / "raw").rglob("*.parquet")]
        target = self.root / "again"
        shutil.rmtree(target, ignore_errors=True)
        spark.read.parquet(*files).write.option("compression", "zstd").parquet(str(target))

    def files(self, spark: SparkSession, columns: tuple[str, ...] = COLUMNS) -> DataFrame:
        """From Parquet, by Spark."""
        return spark.read.parquet(str(self.parquet)).select(*columns)

    def binary(self, spark: SparkSession) -> DataFrame:
        """From segments as values of ``binaryFile``, decoded in ``mapInPandas``."""
        found = spark.read.format("binaryFile").load(f"{self.logs}/*/*.log").select("content")
        return found.mapInPandas(decode, _DECODED)

    def prepared(self, spark: SparkSession) -> DataFrame:
        """The same number of rows that cost nothing to make: what a Python source can reach."""
        spark.dataSource.register(PreparedSource)
        return spark.read.format("prepared").option("rows", self.count).load(str(self.logs))

    def counted(self, spark: SparkSession) -> DataFrame:
        """The number of records, by a Python source that reads nothing: what counting can reach."""
        spark.dataSource.register(CountedSource)
        return spark.read.format("counted").option("rows", self.count).load()


def make(shape: Shape, root: Path, size: int) -> Rows:
    """Write a partition.

    Args:
        shape: of the records.
        root: where to.
        size: bytes of its records.
    """
    data = segment(shape, size)
    (root / "logs").mkdir(parents=True)
    with ks.SegmentWriter(
        root / "logs" / f"{TOPIC}-0", segment_bytes=_SEGMENT, leader_epoch=0, sync=False
    ) as writer:
        writer.append(data.data)
    return Rows(shape, root, data.records)


def decode(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """The code of a user who has our library and no data source."""
    for frame in frames:
        for content in frame["content"]:
            with ks.Segment(content) as found:
                columns = ["key", "value", "offset", "timestamp"]
                for batch in found.to_batches(columns=columns, layout="binary"):
                    yield batch.to_pandas()


class _Part(InputPartition):
    """A task of the real source, and how many rows to give for it."""

    def __init__(self, task: Any, rows: int) -> None:
        super().__init__(None)
        self.task = task
        self.rows = rows


class PreparedSource(DataSource):
    """The tasks and rows of the real source, each task one batch of it again and again."""

    @classmethod
    def name(cls) -> str:
        """The argument of ``format``."""
        return "prepared"

    def schema(self) -> StructType:
        """The schema of the real source."""
        return _real(self.options).schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads them."""
        options = dict(self.options)
        rows = int(options.pop("rows"))
        return _PreparedReader(_real(options).reader(schema), rows)


def _real(options: Any) -> Any:
    from kafkaspec.spark.source import KafkaSegmentDataSource

    return KafkaSegmentDataSource({name: text for name, text in options.items() if name != "rows"})


class _PreparedReader(DataSourceReader):
    def __init__(self, real: Any, rows: int) -> None:
        self._real = real
        self._rows = rows

    def partitions(self) -> Sequence[_Part]:
        tasks = self._real.partitions()
        sizes = [sum(piece.size for piece in task.pieces) for task in tasks]
        parts, begun, before = [], 0, 0
        for task, size in zip(tasks, sizes, strict=True):
            before += size
            ended = self._rows * before // sum(sizes)
            parts.append(_Part(task, ended - begun))
            begun = ended
        return parts

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        some = itertools.islice(self._real.read(partition.task), _SAMPLE)
        batch = max(some, key=lambda item: item.num_rows)
        left = partition.rows
        while left > 0:
            yield batch.slice(0, min(left, batch.num_rows))
            left -= batch.num_rows


class CountedSource(DataSource):
    """One row with the number of records, which is an option."""

    @classmethod
    def name(cls) -> str:
        """The argument of ``format``."""
        return "counted"

    def schema(self) -> str:
        """The schema of counts by headers."""
        return "records int"

    def reader(self, schema: StructType) -> DataSourceReader:
        """Gives it."""
        return _CountedReader(int(self.options["rows"]))


class _CountedReader(DataSourceReader):
    def __init__(self, rows: int) -> None:
        self._rows = rows

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"records": pa.array([self._rows], pa.int32())})


_SAMPLE = 4
"""Batches of which the largest is repeated: the first one of a task is small."""
