"""Segments as a data source of Spark, through PySpark (the extra ``spark``).

``register(spark)`` makes ``spark.read.format("kafkasegment")`` known. Where Spark finds the package
``pyspark_kafkasegment``, it does so itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

if not os.path.isfile(__file__):  # in a zip or a wheel: before what imports native code
    raise ImportError(
        f"{os.path.dirname(__file__)}: native code does not load from an archive of Python files"
        " (--py-files). Give Spark an environment with --archives: kafkaspec spark --archive FILE"
        " makes one"
    )

from kafkaspec.lake.options import LakeOptions
from kafkaspec.lake.results import LakeIncrement, LakeReport
from kafkaspec.options import checked
from kafkaspec.output.metrics import write_metrics as write_file
from kafkaspec.spark.failing import DataLossError, MissingDataError, NotThereError
from kafkaspec.spark.named import ReadNames, WriteNames
from kafkaspec.spark.parsing import OptionError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Observation, SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryListener, StreamingQueryProgress

__all__ = [
    "DataLossError",
    "MissingDataError",
    "NotThereError",
    "OptionError",
    "lag",
    "lake",
    "lake_batches",
    "latest",
    "metrics",
    "observe",
    "progress",
    "read",
    "register",
    "write",
    "write_metrics",
]

SaveMode = Literal["append", "overwrite"]
"""What happens with logs that exist."""


def register(spark: SparkSession) -> None:
    """Make the data source ``kafkasegment`` known to a session, also one of Spark Connect."""
    from kafkaspec.spark.source import KafkaSegmentDataSource

    spark.dataSource.register(KafkaSegmentDataSource)


def read(
    spark: SparkSession,
    path: str | Sequence[str],
    columns: Sequence[str] | None = None,
    **options: Unpack[ReadNames],
) -> DataFrame:
    """Return the records of segments.

    Args:
        spark: a session.
        path: a segment, a partition directory, a log directory, a glob or a URL, or several.
        columns: names; only they are decoded. Spark hands no choice of columns down to a Python
            data source.
        options: of the data source. An underscore stands for a dot: ``isolation_level``,
            ``value_decode``, ``key_decode`` ...

    Raises:
        OptionError: there is no such column or option, or an option has another value.
    """
    from kafkaspec.spark.options import read_options
    from kafkaspec.spark.parsing import lowered
    from kafkaspec.spark.schema import schema_of
    from kafkaspec.spark.source import NAME, typed_options

    given: dict[str, Any] = {name.replace("_", "."): value for name, value in options.items()}
    paths = json.dumps([path] if isinstance(path, str) else list(path))
    known = read_options if columns is None else typed_options
    parsed = known(lowered({**given, "paths": paths}), streaming=None)
    register(spark)
    reader = spark.read.format(NAME).options(**given)
    if columns is not None:
        reader = reader.schema(schema_of(columns, parsed.corrupt_column, parsed.content))
    return reader.load(path if isinstance(path, str) else list(path))


@checked(own=True)
def write(
    rows: DataFrame,
    path: str,
    *,
    mode: SaveMode = "append",
    tasks: int | None = None,
    **options: Unpack[WriteNames],
) -> None:
    """Write rows as segments in partition directories.

    Rows with a column ``offset`` are brought into the order of their offsets first, each task with
    a range of them, so that one large partition keeps all tasks busy. Other rows are written in
    the order in which they arrive, and get offsets in the order of the tasks.

    Args:
        rows: columns of Spark's Kafka source; ``value`` has to be there, and ``topic``, unless
            there is an option ``topic``.
        path: a local directory, or one that is mounted alike on all machines.
        mode: ``append`` continues the logs that exist; ``overwrite`` removes them.
        tasks: number of tasks; if None, at most ``spark.sql.shuffle.partitions``, and fewer for
            little data.
        options: of the data source; see ``kafkaspec.spark.named.WriteNames``.

    Raises:
        ValueError: there is no such option, or an option has another value.
    """
    from pyspark.sql import functions

    from kafkaspec.spark.parsing import lowered
    from kafkaspec.spark.source import NAME
    from kafkaspec.spark.write_options import parse_write_options

    parse_write_options({**lowered(options), "path": path})
    session = rows.sparkSession
    register(session)
    if "headers" in rows.columns:  # nulls are slow on their way out of the JVM
        kind = rows.schema["headers"].dataType
        empty = functions.array().cast(kind)
        rows = rows.withColumn("headers", functions.coalesce("headers", empty))
    if "offset" in rows.columns and lowered(options).get("offsets", "").lower() != "assign":
        order = [name for name in ("topic", "partition", "offset") if name in rows.columns]
        number = [] if tasks is None else [tasks]
        rows = rows.repartitionByRange(*number, *order).sortWithinPartitions(*order)
    rows.write.format(NAME).mode(mode).options(**options).save(path)


def latest(rows: DataFrame) -> DataFrame:
    """Return the last record of each key of each topic-partition; records without a key are not.

    A key with most of the rows does no harm: each task keeps its last record of it only, before
    rows go to where keys meet. To leave out aborted transactions, read with
    ``isolation_level="read_committed"``; to leave out tombstones, filter the result. The job
    ``compaction`` leaves what a broker's cleaner does instead.

    Args:
        rows: the columns of ``read``; ``topic``, ``partition``, ``offset`` and ``key`` at least.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    last_first = Window.partitionBy("topic", "partition", "key").orderBy(f.desc("offset"))
    ranked = rows.where("key is not null").withColumn("_rank", f.row_number().over(last_first))
    return ranked.where("_rank = 1").drop("_rank")


def observe(
    rows: DataFrame, name: str | Observation = "kafkasegment", corrupt: str | None = None
) -> DataFrame:
    """Count what is read, for ``observedMetrics`` in the progress of a streaming query.

    Spark 4.3 takes no metrics from a Python data source itself.

    Args:
        rows: the records, as they were loaded, or the batches of ``rows=batches``, whose records
            and sizes are added up.
        name: under which the counts stand: ``rows``, ``bytes`` of keys and values, and
            ``damaged``, the batches left out. For a batch query, an ``Observation`` of PySpark.
        corrupt: column in which mode ``PERMISSIVE`` describes damage; that of the option
            ``columnNameOfCorruptRecord`` by default. Without it, ``damaged`` is null.
    """
    from pyspark.sql import functions as f

    from kafkaspec.spark.options import ReadOptions

    def total(column: Column) -> Column:
        return f.coalesce(f.sum(column), f.lit(0)).cast("bigint")

    column = corrupt or ReadOptions.corrupt_column
    there = column in rows.columns
    damaged = f.count(column) if there else f.max(f.lit(None).cast("bigint"))
    sound = f.count_if(f.col(column).isNull() if there else f.lit(True))
    sizes = [f.coalesce(f.octet_length(each), f.lit(0)) for each in ("key", "value")
             if each in rows.columns]  # fmt: skip
    of_batches = {"records", "size"} <= set(rows.columns)
    return rows.observe(
        name,
        (total(f.col("records")) if of_batches else sound).alias("rows"),
        total(f.col("size") if of_batches else sum(sizes, f.lit(0))).alias("bytes"),
        damaged.alias("damaged"),
    )


def progress(
    spark: SparkSession, batches: Iterable[StreamingQueryProgress], name: str = "kafkasegment"
) -> DataFrame:
    """Return the progress of a query as a table: a row for each micro-batch.

    Args:
        spark: a session.
        batches: ``recentProgress`` of a query, or what a listener gets.
        name: under which ``observe`` counts.

    Returns:
        Columns ``query``, ``runId``, ``batchId``, ``timestamp``, ``durationMs``, ``rows``,
        ``bytes``, ``damaged`` and ``lag`` by topic-partition.
    """
    from kafkaspec.spark.streamed_counts import table_of

    return table_of(spark, batches, name)


def metrics(
    spark: SparkSession,
    file: str | Path,
    name: str = "kafkasegment",
    query: str | None = None,
) -> StreamingQueryListener:
    """Keep a file of metrics for Prometheus' collector of text files, as queries go on.

    After each micro-batch the file is replaced. It has the rows, bytes and damaged batches that
    ``observe`` has counted since the call, and the lag of each topic-partition.

    Args:
        spark: a session.
        file: where to.
        name: under which ``observe`` counts.
        query: name of the query; all of the session if None.

    Returns:
        A listener that is added: ``spark.streams.removeListener`` ends it.
    """
    from kafkaspec.spark.streamed_counts import MetricsListener

    made = MetricsListener(Path(file), name, query)
    spark.streams.addListener(made)
    return made


def write_metrics(file: str | Path, counts: Mapping[str, Any]) -> None:
    """Write counts to a file for Prometheus' collector of text files.

    Args:
        file: where to; it is replaced when the new one is whole.
        counts: what the ``Observation`` of a batch query has, or counts of a job.

    Raises:
        KafkaSpecError: ``unreadable``: it cannot be written.
    """
    write_file(Path(file), {"command": "spark", **counts})


def lag(progress: StreamingQueryProgress) -> dict[str, int]:
    """Return the number of offsets between a query and the end of each topic-partition.

    Args:
        progress: ``lastProgress`` of a query, or what a listener gets. Other sources than this
            one are left out.
    """
    from kafkaspec.spark.streamed_counts import lag_of

    return lag_of(progress)


@checked
def lake(
    spark: SparkSession,
    paths: str | Sequence[str],
    output: str,
    *,
    on_increment: Callable[[LakeIncrement], None] | None = None,
    tasks: int | None = None,
    **options: Unpack[LakeOptions],
) -> LakeReport:
    """Add what is new in logs to the tables of a lake, until nothing is new.

    Args:
        spark: a session whose workers see the same files, and can write to the lake.
        paths: partition directories, log directories, globs, URLs, or remote storage.
        output: directory or URL of the lake, which is made if it is not there.
        on_increment: called after each commit.
        tasks: number of tasks of an increment; by their bytes if None, at most three a slot.
        options: see ``kafkaspec.lake.options.LakeOptions``.

    Raises:
        LakeLossError: something is lost, or a log is not the one that was read; what was committed
            before stays.
        LakeConflictError: another run commits to the same lake.
        KafkaSpecError: ``unreadable``.
        OptionError: a topic is not there.
    """
    from kafkaspec.spark.jobs.lake import fill

    return fill(lambda: spark, paths, output, options, on_increment=on_increment, tasks=tasks)


@checked
def lake_batches(
    paths: str | Sequence[str],
    output: str,
    *,
    on_increment: Callable[[LakeIncrement], None] | None = None,
    tasks: int | None = None,
    **options: Unpack[LakeOptions],
) -> Callable[[DataFrame, int], None]:
    """Return the function for ``foreachBatch`` of a stream that feeds a lake.

    A micro-batch says up to which offsets the next increment goes; the increment reads the segments
    itself. One that Spark repeats after a failure finds nothing new, and commits nothing.

    Args:
        paths: what the stream reads.
        output: directory or URL of the lake.
        on_increment: called after each commit.
        tasks: see ``lake``.
        options: see ``kafkaspec.lake.options.LakeOptions``.
    """
    from kafkaspec.spark.jobs.lake import fill_batches

    return fill_batches(paths, output, options, on_increment=on_increment, tasks=tasks)
