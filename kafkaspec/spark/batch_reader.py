"""Read a batch: plan on the driver, decode in the tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from kafkaspec.spark.failing import plainly
from kafkaspec.spark.filters import Narrowed, narrowed
from kafkaspec.spark.options import ReadOptions
from kafkaspec.spark.pieces import FIRST_ROWS, SegmentTask, read_piece
from kafkaspec.spark.planning import plan
from kafkaspec.spark.schema import WantedColumns


class TaskReader:
    """The common part of both readers."""

    def __init__(self, options: ReadOptions, output: WantedColumns) -> None:
        self._options = options
        self._output = output

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the record batches of a task. If nothing was planned, it has no pieces."""
        with plainly():
            yield from self._batches(partition)

    def _batches(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        first = True
        for piece in partition.pieces if isinstance(partition, SegmentTask) else ():
            for batch in read_piece(piece, self._output, self._options):
                if first and batch.num_rows > FIRST_ROWS:
                    yield batch.slice(0, FIRST_ROWS)
                    batch = batch.slice(FIRST_ROWS)
                first = False
                yield batch


class SegmentReader(TaskReader, DataSourceReader):
    """Reads segments as a batch."""

    _narrow: Narrowed | None = None

    @plainly()
    def partitions(self) -> list[InputPartition]:
        """Return the tasks."""
        return list(plan(self._options, self._narrow))


class FilteringReader(SegmentReader):
    """A reader that takes filters over. Spark refuses one while its own setting for it is off."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Leave out what the filters exclude for certain; Spark applies all of them again."""
        self._narrow = narrowed(filters)
        return filters
