"""The two ends of ``df.write`` and ``df.writeStream``: what runs in tasks, and what commits.

Kafka has no part in it: rows become the files that a broker of the chosen profile would have made.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from kafkaspec.spark.commit import PLAN, check_root, publish, publish_batch
from kafkaspec.spark.staging import Run, Staging, TaskOutput, new_job, remove_stale
from kafkaspec.spark.write_columns import check_columns
from kafkaspec.spark.write_options import WriteOptions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_QUERY: Final = "sql.streaming.queryId"
_BATCH: Final = "streaming.sql.batchId"
"""Local properties of the tasks of a streaming query (Spark: ``MicroBatchExecution``)."""


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """The output of a task.

    Attributes:
        runs: in the order of the task.
        job: the staging directory's, of which a sink does not know otherwise.
    """

    runs: tuple[Run, ...]
    job: str


class SegmentsWriter(DataSourceArrowWriter):
    """Writes rows into partition directories; see ``WriteOptions``.

    Args:
        options: of the write.
        schema: of the rows.
        overwrite: whether partitions that are there are removed.

    Raises:
        ValueError: columns that cannot be written.
        KafkaSpecError: the place cannot be written, or is a broker's.
    """

    def __init__(self, options: WriteOptions, schema: StructType, overwrite: bool) -> None:
        self._options = options
        self._overwrite = overwrite
        self._keep = check_columns(schema.names, options)
        self._staging = Staging(options.path, new_job())
        check_root(self._staging.path.parent)
        self._staging.make()
        remove_stale(options.path, PLAN)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of a task aside."""
        runs = _write(self._options, self._keep, self._staging, iterator)
        return Written(runs, self._staging.job)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Publish the files of all tasks."""
        publish(
            self._options,
            self._staging,
            _runs(messages),
            keep=self._keep,
            overwrite=self._overwrite,
        )

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Remove what any task has written, unless it is half published: then it is finished."""
        if not (self._staging.path / PLAN).exists():
            self._staging.remove()


class SegmentsStreamWriter(DataSourceStreamArrowWriter):
    """The same for the micro-batches of a streaming query, each published exactly once.

    Args:
        options: of the query.
        schema: of the rows.
        overwrite: whether each micro-batch replaces what is there (output mode ``complete``).

    Raises:
        ValueError: columns that cannot be written.
        KafkaSpecError: the place cannot be written, or is a broker's.
    """

    def __init__(self, options: WriteOptions, schema: StructType, overwrite: bool) -> None:
        self._options = options
        self._overwrite = overwrite
        self._keep = check_columns(schema.names, options)
        check_root(Staging(options.path, "").path.parent)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of a task aside."""
        context = TaskContext.get()
        query = context.getLocalProperty(_QUERY) if context is not None else None
        batch = context.getLocalProperty(_BATCH) if context is not None else None
        if query is None or batch is None:
            raise ValueError("this task is not one of a streaming query")
        staging = Staging(self._options.path, uuid.UUID(query).hex, int(batch))
        staging.make()
        return Written(_write(self._options, self._keep, staging, iterator), staging.job)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Publish a micro-batch unless it was published already."""
        for staging in self._staging(messages, batchId):
            publish_batch(
                self._options,
                staging,
                _runs(messages),
                keep=self._keep,
                overwrite=self._overwrite,
            )

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Remove what tasks have written; what is not known here goes with the next commit."""
        for staging in self._staging(messages, batchId):
            staging.remove()

    def _staging(
        self, messages: Sequence[WriterCommitMessage | None], batch: int
    ) -> Iterator[Staging]:
        """Yield the staging directory if a task has reported it."""
        for job in {item.job for item in messages if isinstance(item, Written)}:
            yield Staging(self._options.path, job, batch)


def _write(
    options: WriteOptions, keep: bool, staging: Staging, iterator: Iterator[pa.RecordBatch]
) -> tuple[Run, ...]:
    output = TaskOutput(options, keep, staging, _attempt())
    try:
        for batch in iterator:
            output.add(batch)
        return output.finish()
    except BaseException:
        output.abort()
        raise


def _attempt() -> str:
    """Return a name for this attempt of the task that no other has."""
    context = TaskContext.get()
    task = "" if context is None else f"{context.partitionId()}-{context.attemptNumber()}-"
    return f"{task}{uuid.uuid4().hex}"


def _runs(messages: Sequence[WriterCommitMessage | None]) -> Iterator[Run]:
    for message in messages:
        if isinstance(message, Written):
            yield from message.runs
