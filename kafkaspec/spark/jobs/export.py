"""Records to Parquet, or any format of Spark, by topic and day; and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Unpack

from pyspark.sql import functions as f

from kafkaspec.spark import read, write
from kafkaspec.spark.failing import NotThereError
from kafkaspec.spark.named import CommittedNames, RecordsNames, WriteNames
from kafkaspec.spark.options import read_options
from kafkaspec.spark.parsing import OptionError
from kafkaspec.spark.paths import check_place, find_logs
from kafkaspec.spark.schema import default_schema

__all__ = ["count_failed", "export", "export_typed", "exported", "records_by_day", "restore"]

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAY: Final = "date_from_unix_date(cast(floor(unix_micros(timestamp) / 86400000000) as int))"
"""In UTC, whatever the time zone of the session is."""

_FOLDERS: Final = ("topic", "day")
_TIMES: Final = "spark.sql.parquet.outputTimestampType"
"""By default Spark writes INT96, which other readers take for ns: no year 9999."""


_MODES: Final = {"errorifexists": "error"}
"""Spark has two words for one mode, and Spark Connect knows one of them."""


def records_by_day(
    spark: SparkSession,
    paths: str | Sequence[str],
    *,
    batch: bool = False,
    **options: Unpack[RecordsNames],
) -> DataFrame:
    """Return the records with all columns of Spark's Kafka source, and their UTC ``day``.

    Args:
        spark: a session.
        paths: what the data source reads.
        batch: whether the columns of their batches come too.
        options: of the data source.
    """
    rows = read(spark, paths, includeHeaders=True, includeBatch=batch, **options)
    return rows.withColumn("day", f.expr(DAY))


def export(
    spark: SparkSession,
    paths: str | Sequence[str],
    output: str,
    *,
    to: str = "parquet",
    mode: str = "errorifexists",
    batch: bool = False,
    **options: Unpack[RecordsNames],
) -> None:
    """Write records, in folders by topic and day.

    Args:
        spark: a session.
        paths: what the data source reads.
        output: a path or URL that Spark can write to.
        to: a format of Spark that takes binary columns and lists: ``parquet``, ``orc``, ``json``.
        mode: of Spark: ``append``, ``overwrite`` ...
        batch: whether the columns of batches come too.
        options: of the data source.

    Raises:
        KafkaSpecError: ``unreadable``: the output overlaps what is read.
    """
    check_place(output, paths)
    rows = records_by_day(spark, paths, batch=batch, **options)
    rows.write.format(to).partitionBy(*_FOLDERS).mode(_MODES.get(mode, mode)).save(output)


def export_typed(
    spark: SparkSession,
    paths: str | Sequence[str],
    output: str,
    *,
    topics: Sequence[str] | None = None,
    to: str = "parquet",
    mode: str = "errorifexists",
    batch: bool = False,
    on_topic: Callable[[str, Exception], None] | None = None,
    **options: Unpack[CommittedNames],
) -> dict[str, DataFrame]:
    """Write records with typed keys and values, in the folders that ``export`` makes.

    Each topic has its own columns. All topics are planned before the first one is written.

    Args:
        spark: a session.
        paths: what the data source reads.
        output: a path or URL that Spark can write to.
        topics: their names; None for all but Kafka's own and that of the registry.
        to: a format of Spark with types: ``parquet``, ``orc``.
        mode: of Spark: ``append``, ``overwrite`` ...
        batch: whether the columns of batches come too.
        on_topic: called with a topic that cannot be exported, and why; by default it is raised.
        options: of the data source: ``value_decode``, ``key_decode``, ``schemas`` ...

    Returns:
        What was written, by topic.

    Raises:
        KafkaSpecError: ``unreadable``: the output overlaps what is read.
        NotThereError: no topic was found in the paths.
    """
    from kafkaspec.values.reading.request import is_internal

    check_place(output, paths)
    if topics is None:
        found = {log.topic for log in find_logs(paths) if log.segments and log.topic is not None}
        topics = sorted(topic for topic in found if not is_internal(topic))
    if not topics:
        raise NotThereError(f"there is no topic in {paths}")
    frames = {}
    for topic in dict.fromkeys(topics):
        try:
            frames[topic] = records_by_day(spark, paths, batch=batch, subscribe=topic, **options)
        except OptionError as error:
            if on_topic is None:
                raise
            on_topic(topic, error)
    written = {}
    before = spark.conf.get(_TIMES)
    spark.conf.set(_TIMES, "TIMESTAMP_MICROS")
    try:
        for topic, rows in frames.items():
            place = f"{output.rstrip('/')}/{_FOLDERS[0]}={topic}"
            rows = rows.drop(_FOLDERS[0])
            rows.write.format(to).partitionBy(_FOLDERS[1]).mode(_MODES.get(mode, mode)).save(place)
            written[topic] = spark.read.format(to).schema(rows.schema).load(place)
    finally:
        spark.conf.set(_TIMES, str(before))
    return written


def count_failed(rows: DataFrame) -> tuple[int, dict[str, int]]:
    """Return the number of records, and of those that columns of errors name, by column."""
    errors = [name for name in ("key_error", "value_error") if name in rows.columns]
    (counts,) = rows.agg(f.count(f.lit(1)), *map(f.count, errors)).collect()
    return counts[0], dict(zip(errors, counts[1:], strict=True))


def exported(spark: SparkSession, path: str, *, to: str = "parquet") -> DataFrame:
    """Read the output of ``export``, with the columns of Spark's Kafka source.

    Args:
        spark: a session.
        path: ``output`` of ``export``.
        to: its format.
    """
    schema = default_schema(read_options({"path": path, "includeHeaders": "true"}))
    # Given, as Spark takes a topic "2024" for a number otherwise.
    return spark.read.format(to).schema(schema.add("day", "date")).load(path).drop("day")


def restore(
    spark: SparkSession,
    path: str,
    logs: str,
    *,
    to: str = "parquet",
    as_create_time: bool = False,
    **options: Unpack[WriteNames],
) -> None:
    """Write what was exported as segments again, with the offsets that the records had.

    What no column has is lost: leader epochs, producers and transactions, control records, and
    where batches and segments ended.

    Args:
        spark: a session.
        path: ``output`` of ``export``.
        logs: a local directory, or one that is mounted alike on all machines.
        to: the format.
        as_create_time: whether timestamps of brokers (LogAppendTime) become ones of producers.
        options: of the writer: ``compression``, ``segmentBytes`` ...

    Raises:
        KafkaSpecError: ``unreadable``: the output overlaps what is read.
    """
    check_place(logs, path)
    rows = exported(spark, path, to=to)
    if as_create_time:
        rows = rows.drop("timestampType")
    chosen: WriteNames = {"allowGaps": True, "offsets": "keep", **options}
    write(rows, logs, **chosen)
