"""Segments as a data source of Spark, through PySpark: the extra ``spark``.

``register(spark)`` makes ``spark.read.format("kafkasegment")`` known; the package
``pyspark_kafkasegment`` does the same where Spark finds it by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["read", "register", "write"]


def register(spark: SparkSession) -> None:
    """Make the data source ``kafkasegment`` known to a session, also one of Spark Connect."""
    from kafkaspec.spark.source import KafkaSegmentDataSource

    spark.dataSource.register(KafkaSegmentDataSource)


def read(
    spark: SparkSession,
    path: str | Sequence[str],
    columns: Sequence[str] | None = None,
    **options: Any,
) -> DataFrame:
    """Return the records of segments.

    Args:
        spark: a session.
        path: a segment, a partition directory, a log directory, a glob or a URL, or several.
        columns: names; only they are decoded. Spark hands no choice of columns down to a Python
            data source.
        options: of the data source. ``kafka.isolation.level`` is ``isolation_level`` here.

    Raises:
        OptionError: there is no such column.
    """
    from kafkaspec.spark.options import CORRUPT_COLUMN
    from kafkaspec.spark.schema import COLUMNS, CORRUPT
    from kafkaspec.spark.source import NAME

    register(spark)
    if "isolation_level" in options:
        options["isolation.level"] = options.pop("isolation_level")
    reader = spark.read.format(NAME).options(**options)
    if columns is not None:
        from kafkaspec.spark.options import OptionError

        corrupt = str(options.get("columnNameOfCorruptRecord", CORRUPT_COLUMN))
        known = {**{name: item.spark for name, item in COLUMNS.items()}, corrupt: CORRUPT.spark}
        for name in columns:
            if name not in known:
                raise OptionError(f"there is no column {name!r}; there are {', '.join(COLUMNS)}")
        fields = (f"`{name}` {known[name].simpleString()}" for name in columns)
        reader = reader.schema(", ".join(fields))
    return reader.load(path if isinstance(path, str) else list(path))


def write(
    rows: DataFrame, path: str, *, mode: str = "append", tasks: int | None = None, **options: Any
) -> None:
    """Write rows as segments in partition directories.

    Rows with a column ``offset`` are brought into the order of their offsets first, each task with
    a range of them, so that one large partition keeps all tasks busy. Others are written as they
    come, and get offsets in the order of the tasks.

    Args:
        rows: columns of Spark's Kafka source; ``value`` has to be there, and ``topic``, unless
            there is an option ``topic``.
        path: a local directory, or one that is mounted alike on all machines.
        mode: ``append`` goes on from the logs that are there; ``overwrite`` removes them.
        tasks: how many; ``spark.sql.shuffle.partitions`` if None.
        options: of the data source; see ``kafkaspec.spark.write_options.WriteOptions``.
    """
    from pyspark.sql import functions

    from kafkaspec.spark.source import NAME
    from kafkaspec.spark.write_options import is_kept

    session = rows.sparkSession
    register(session)
    if "headers" in rows.columns:  # nulls are slow on their way out of the JVM
        kind = rows.schema["headers"].dataType
        empty = functions.array().cast(kind)
        rows = rows.withColumn("headers", functions.coalesce("headers", empty))
    if "offset" in rows.columns and is_kept(options):
        order = [name for name in ("topic", "partition", "offset") if name in rows.columns]
        number = tasks or int(session.conf.get("spark.sql.shuffle.partitions") or "0")
        rows = rows.repartitionByRange(number, *order).sortWithinPartitions(*order)
    rows.write.format(NAME).mode(mode).options(**options).save(path)
