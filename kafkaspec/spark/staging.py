"""Where tasks write until all of them have succeeded: in a staging directory of the job.

No file there has its final name. The directory is named like that of a partition that a broker has
begun to delete: if a crash leaves one, brokers still start, and readers of log directories skip it.
"""

from __future__ import annotations

import os
import shutil
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa

from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.output.atomic import writing
from kafkaspec.output.leftovers import STALE_SECONDS, age_of, age_text
from kafkaspec.spark.paths import LOGGER
from kafkaspec.spark.write_columns import by_partition, together
from kafkaspec.spark.write_options import WriteOptions
from kafkaspec.writing.segment_writer import SegmentWriter

PREFIX: Final = "_staging-"
SUFFIX: Final = "-delete"

OPEN_LOGS: Final = 64
"""Logs that a task writes at a time. If there are more, one is closed and continued later."""
HELD_BYTES: Final = 32 << 20
"""Bytes of rows that a task holds before it writes them, so that few rows of many logs do not
become many small batches."""


@dataclass(frozen=True, slots=True)
class Staging:
    """The staging directory of a write, or of a micro-batch of a query; ``job`` is its id."""

    root: str
    job: str
    batch: int = 0

    @property
    def path(self) -> Path:
        """Of the directory."""
        return Path(self.root) / f"{PREFIX}{self.batch}.{self.job}{SUFFIX}"

    def make(self) -> None:
        """Make the directory, unless it is there."""
        with writing(self.path):
            os.makedirs(self.path, exist_ok=True)

    def remove(self) -> None:
        """Remove the directory and everything in it."""
        shutil.rmtree(self.path, ignore_errors=True)

    def of_job(self) -> Iterator[Path]:
        """Yield the staging directories of all micro-batches of the job."""
        yield from Path(self.root).glob(f"{PREFIX}*.{self.job}{SUFFIX}")


def all_staging(root: str) -> list[Path]:
    """Return the staging directories of all jobs."""
    return sorted(Path(root).glob(f"{PREFIX}*.{'[0-9a-f]' * 32}{SUFFIX}"))


def remove_stale(staging: Staging, plan_name: str) -> None:
    """Remove the staging directories of jobs that were killed long ago before they published.

    The machines of a cluster share no locks, so the age decides. All of them are named.
    """
    for path in all_staging(staging.root):
        age = None if path == staging.path else age_of(path)
        if age is None:
            continue
        changed = f"last changed {age_text(age)} ago"
        if (path / plan_name).exists():
            LOGGER.warning("%s: %s, half published: the next commit finishes it", path, changed)
        elif age < STALE_SECONDS:
            LOGGER.warning("%s: %s: of another job, or a killed one; it stays", path, changed)
        else:
            shutil.rmtree(path, ignore_errors=True)
            LOGGER.warning("%s: %s: removed, its job was killed", path, changed)


@dataclass(frozen=True, slots=True)
class StagedRun:
    """Records of one partition that a task has written, in a directory below the staging directory.

    Offsets begin at 0 where they are still to be assigned; ``segments`` are base offsets and bytes.
    """

    topic: str
    partition: int
    first_offset: int
    next_offset: int
    records: int
    directory: str
    segments: tuple[tuple[int, int], ...]

    @property
    def place(self) -> str:
        """Name of the directory of the partition."""
        return f"{self.topic}-{self.partition}"


@dataclass(slots=True)
class _OpenRun:
    """A run in the making."""

    writer: SegmentWriter
    topic: str
    partition: int
    first_offset: int
    next_offset: int
    records: int = 0
    pending: list[pa.RecordBatch] = field(default_factory=list)


class TaskOutput:
    """The output of one attempt of a task; ``abort`` removes all of it."""

    def __init__(self, options: WriteOptions, keep: bool, staging: Staging, name: str) -> None:
        self._options = options
        self._keep = keep
        self._staging = staging
        self._name = name
        self._open: OrderedDict[tuple[str, int], _OpenRun] = OrderedDict()
        self._ends: dict[tuple[str, int], int] = {}
        self._finished: list[StagedRun] = []
        self._begun = 0
        self._held = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Take rows."""
        for topic, partition, rows in by_partition(batch, self._options, self._keep):
            run = self._run(topic, partition, rows)
            if self._keep:
                self._follow(run, rows)
            run.pending.append(rows)
            run.records += rows.num_rows
        self._held += batch.nbytes
        if self._held >= HELD_BYTES:
            self._flush()

    def finish(self) -> tuple[StagedRun, ...]:
        """Close all logs, and return what was written."""
        while self._open:
            self._close()
        return tuple(self._finished)

    def abort(self) -> None:
        """Remove what was written."""
        for run in self._open.values():
            run.writer.abort()
        self._open.clear()
        for done in self._finished:
            shutil.rmtree(self._staging.path / done.directory, ignore_errors=True)

    def _run(self, topic: str, partition: int, rows: pa.RecordBatch) -> _OpenRun:
        """Return the run that the rows go to."""
        run = self._open.get((topic, partition))
        if run is not None:
            self._open.move_to_end((topic, partition))
            return run
        if len(self._open) >= OPEN_LOGS:
            self._close()
        options = self._options
        name = f"{self._name}-{self._begun}"
        self._begun += 1
        first = rows.column("offset")[0].as_py() if self._keep else 0
        writer = SegmentWriter(
            self._staging.path / name,
            first,
            options.profile,
            segment_bytes=options.segment_bytes,
            index_interval_bytes=options.index_interval_bytes,
            leader_epoch=options.leader_epoch,
            topic_id=options.topic_id,
            sync=options.sync,
        )
        run = self._open[topic, partition] = _OpenRun(writer, topic, partition, first, first)
        return run

    def _follow(self, run: _OpenRun, rows: pa.RecordBatch) -> None:
        """Check that offsets follow those before."""
        first, last = (rows.column("offset")[at].as_py() for at in (0, rows.num_rows - 1))
        place = run.topic, run.partition
        end = run.next_offset if run.records else self._ends.get(place, first)
        name = f"{run.topic}-{run.partition}"
        if first < end:
            detail = (
                f"the rows of {name} do not come in the order of their offsets: {first} comes "
                f"after {end - 1}; kafkaspec.spark.write sorts them, or sortWithinPartitions"
            )
            raise make_error(Reason.UNENCODABLE, detail)
        if not self._options.allow_gaps and (first > end or last - first + 1 != rows.num_rows):
            raise gap(name, f"between {min(end, first)} and {last}")
        run.next_offset = last + 1

    def _flush(self) -> None:
        for run in self._open.values():
            self._write(run)
        self._held = 0

    def _write(self, run: _OpenRun) -> None:
        if not run.pending:
            return
        rows = together(run.pending)
        run.pending.clear()
        run.writer.append_columns(
            rows,
            offsets="keep" if self._keep else "assign",
            magic=self._options.magic,
            compression=self._options.compression,
            level=self._options.level,
            batch_bytes=self._options.batch_bytes,
        )

    def _close(self) -> None:
        """Finish the log that has had no rows for the longest time."""
        place, run = next(iter(self._open.items()))
        self._write(run)
        run.writer.close()
        del self._open[place]
        self._ends[place] = run.writer.next_offset
        self._finished.append(
            StagedRun(
                run.topic,
                run.partition,
                run.first_offset,
                run.writer.next_offset,
                run.records,
                run.writer.directory.name,
                tuple((item.base_offset, item.size) for item in run.writer.segments),
            )
        )


def gap(name: str, where: str) -> KafkaSpecError:
    """Return the error about offsets that are left out."""
    detail = f"offsets of {name} are missing {where}; with allowGaps=true they may be"
    return make_error(Reason.UNENCODABLE, detail)
