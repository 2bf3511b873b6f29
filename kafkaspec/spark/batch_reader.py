"""Reads a batch: plans on the driver, decodes in the tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from kafkaspec.spark.filters import Narrowed, narrowed
from kafkaspec.spark.options import ReadOptions
from kafkaspec.spark.partitions import SegmentTask
from kafkaspec.spark.pieces import FIRST_ROWS, Wanted, read_piece
from kafkaspec.spark.planning import plan
from kafkaspec.spark.schema import Output


def wanted_of(output: Output, options: ReadOptions) -> Wanted:
    """Return the settings that a task needs in addition to its pieces."""
    return Wanted(
        output, options.mode, options.control, options.fail_on_data_loss, options.check_crcs
    )


def read_task(task: InputPartition, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of a task. Nothing planned is a task without pieces."""
    pieces = task.pieces if isinstance(task, SegmentTask) else ()
    first = True
    for piece in pieces:
        for batch in read_piece(piece, wanted):
            if first and batch.num_rows > FIRST_ROWS:
                yield batch.slice(0, FIRST_ROWS)
                batch = batch.slice(FIRST_ROWS)
            first = False
            yield batch


class SegmentReader(DataSourceReader):
    """Reads segments as a batch."""

    def __init__(self, options: ReadOptions, output: Output) -> None:
        """Make a reader.

        Args:
            options: options of the read.
            output: columns to read.
        """
        self._options = options
        self._narrow: Narrowed | None = None
        self._wanted = wanted_of(output, options)

    def partitions(self) -> list[InputPartition]:
        """Return the tasks.

        Raises:
            KafkaSpecError: see ``kafkaspec.spark.planning``.
            OptionError: an option cannot be followed.
        """
        return list(plan(self._options, self._narrow))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the record batches of a task.

        Raises:
            KafkaSpecError: damage, in mode ``FAILFAST``; data that is gone.
        """
        return read_task(partition, self._wanted)


class FilteringReader(SegmentReader):
    """A reader that takes filters over. Spark refuses one while its own setting for it is off."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Leave out what the filters exclude for certain; Spark applies all of them again."""
        self._narrow = narrowed(filters)
        return filters
