"""The writers of ``df.write`` and ``df.writeStream``: they write in tasks, and commit at the end.

No Kafka is needed: rows become the files that a broker of the chosen profile would have made.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from kafkaspec.spark.commit import PLAN, Publishing, check_root, publish, publish_batch
from kafkaspec.spark.failing import plainly
from kafkaspec.spark.staging import StagedRun, Staging, TaskOutput, remove_stale
from kafkaspec.spark.write_columns import check_columns, spelled
from kafkaspec.spark.write_options import WriteOptions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_QUERY: Final = "sql.streaming.queryId"
_BATCH: Final = "streaming.sql.batchId"
"""Local properties of the tasks of a streaming query (Spark: ``MicroBatchExecution``)."""


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """The output of a task, and the job, which a sink does not know otherwise."""

    runs: tuple[StagedRun, ...]
    job: str


_Messages = Sequence[WriterCommitMessage | None]


class _Writer:
    """The common part of both writers.

    With ``overwrite``, a write, or each micro-batch of output mode ``complete``, replaces the logs.
    """

    def __init__(self, options: WriteOptions, schema: StructType, overwrite: bool) -> None:
        self._options = options
        self._names = spelled(schema.names)
        self._how = Publishing(check_columns(self._names, options), overwrite)
        check_root(Path(options.path))

    @plainly()
    def _write(self, staging: Staging, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of a task to the staging directory."""
        output = TaskOutput(self._options, self._how.keep, staging, _attempt())
        try:
            for batch in iterator:
                output.add(batch.rename_columns(self._names))
            return Written(output.finish(), staging.job)
        except BaseException:
            output.abort()
            raise


class SegmentsWriter(_Writer, DataSourceArrowWriter):
    """Writes rows into partition directories; see ``WriteOptions``."""

    def __init__(self, options: WriteOptions, schema: StructType, overwrite: bool) -> None:
        super().__init__(options, schema, overwrite)
        self._staging = Staging(options.path, uuid.uuid4().hex)
        self._staging.make()
        remove_stale(self._staging, PLAN)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of a task to the staging directory."""
        return self._write(self._staging, iterator)

    @plainly()
    def commit(self, messages: _Messages) -> None:
        """Publish the files of all tasks."""
        publish(self._options, self._staging, _runs(messages), self._how)

    def abort(self, messages: _Messages) -> None:
        """Remove what any task has written, unless it is half published: then it is finished."""
        if not (self._staging.path / PLAN).exists():
            self._staging.remove()


class SegmentsStreamWriter(_Writer, DataSourceStreamArrowWriter):
    """The same for the micro-batches of a streaming query, each published exactly once."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of a task to the staging directory."""
        context = TaskContext.get()
        query = context.getLocalProperty(_QUERY) if context is not None else None
        batch = context.getLocalProperty(_BATCH) if context is not None else None
        if query is None or batch is None:
            raise ValueError("this task is not one of a streaming query")
        staging = Staging(self._options.path, uuid.UUID(query).hex, int(batch))
        staging.make()
        return self._write(staging, iterator)

    @plainly()
    def commit(self, messages: _Messages, batchId: int) -> None:  # noqa: N803
        """Publish a micro-batch unless it was published already."""
        for staging in self._reported(messages, batchId):
            publish_batch(self._options, staging, _runs(messages), self._how)

    def abort(self, messages: _Messages, batchId: int) -> None:  # noqa: N803
        """Remove what tasks have written; what is not known here goes with the next commit."""
        for staging in self._reported(messages, batchId):
            staging.remove()

    def _reported(self, messages: _Messages, batch: int) -> Iterator[Staging]:
        """Yield the staging directory if a task has reported it."""
        for job in {item.job for item in messages if isinstance(item, Written)}:
            yield Staging(self._options.path, job, batch)


def _attempt() -> str:
    """Return a name for this attempt of the task that no other has."""
    context = TaskContext.get()
    task = "" if context is None else f"{context.partitionId()}-{context.attemptNumber()}-"
    return f"{task}{uuid.uuid4().hex}"


def _runs(messages: _Messages) -> list[StagedRun]:
    return [run for item in messages if isinstance(item, Written) for run in item.runs]
