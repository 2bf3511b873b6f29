"""Segments as a data source of Spark, through PySpark: the extra ``spark``.

``register(spark)`` makes ``spark.read.format("kafkasegment")`` known; the package
``pyspark_kafkasegment`` does the same where Spark finds it by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["read", "register"]


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
    """The records of segments.

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
