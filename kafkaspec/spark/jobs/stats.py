"""Figures of logs, measured in tasks: those of ``kafkaspec.stats``, by the same code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kafkaspec.io.remote import address
from kafkaspec.log.listed import TopicLog
from kafkaspec.spark.jobs.units import ROUNDS, computed, dealt, parts_of, size_of, slots_of
from kafkaspec.spark.paths import find_logs
from kafkaspec.spark.schema import spark_schema
from kafkaspec.stats.figures import Figures
from kafkaspec.stats.measure import measured
from kafkaspec.stats.tables import StatsTables, merged
from kafkaspec.stats.units import StatsUnit, units_of

__all__ = ["TABLES", "frames", "stats"]

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLES: Final = (
    "partitions", "codecs", "sizes", "producers", "times", "gaps", "transactions", "errors"
)  # fmt: skip
"""Names for ``frames``."""
_HEADERS: Final = 50
"""Bytes of a log for each byte of headers, about: what its history costs."""


def stats(
    spark: SparkSession,
    paths: str | Sequence[str],
    *,
    records: bool = True,
    tasks: int | None = None,
) -> Figures:
    """Return the figures of the logs under paths.

    Each task measures some segments, or parts of large ones, and merges what it found, so that
    little comes back.

    Args:
        spark: a session whose workers have kafkaspec and see the same files.
        paths: segments, partition directories, log directories, globs or URLs.
        records: whether records are read. Otherwise only headers are: there are no keys, ratios and
            sizes of records, and of wrappers of magic 0 and 1 the records are not known.
        tasks: how many there are to be; three a slot by default.

    Raises:
        KafkaSpecError: ``unreadable``: there is nothing under a path.
    """
    units: list[StatsUnit] = []
    sizes: list[int] = []
    for log in find_logs(paths):
        units += _units(log, records)
        own = [size_of(item) for item in log.segments]
        sizes += [sum(own) // _HEADERS, *own]
    if records:
        units, sizes = _even(spark, units, sizes, tasks)
    hands = dealt(sizes, tasks or ROUNDS * slots_of(spark))
    work = [[units[number] for number in hand] for hand in hands]
    weights = [sum(sizes[number] for number in hand) for hand in hands]
    found = [part for _, part in computed(spark, work, weights, _together, len(work))]
    return Figures(merged(found))


def _units(log: TopicLog, records: bool) -> list[StatsUnit]:
    paths = (address(item.path) for item in log.segments)
    place = address(log.directory), log.topic, log.partition
    return list(units_of(*place, paths, records=records, mapped=False))


def _even(
    spark: SparkSession, units: Sequence[StatsUnit], sizes: Sequence[int], tasks: int | None
) -> tuple[list[StatsUnit], list[int]]:
    """Return the units and their bytes, with large segments in parts: figures are merged in any
    order."""
    files = ["" if unit.is_history else unit.paths[0] for unit in units]
    found = [
        (replace(unit, start=part.start, end=part.end), part.size)
        for unit, parts in zip(units, parts_of(spark, files, sizes, tasks), strict=True)
        for part in parts
    ]
    return [unit for unit, _ in found], [size for _, size in found]


def _together(units: Sequence[StatsUnit]) -> StatsTables:
    return merged([measured(units)])


def frames(spark: SparkSession, figures: Figures) -> dict[str, DataFrame]:
    """Return the tables of figures as DataFrames, by their names in ``TABLES``."""
    tables = {name: _table(figures, name) for name in TABLES}
    return {
        name: spark.createDataFrame(table)
        if len(table)
        else spark.createDataFrame([], spark_schema(table.schema))  # as Spark Connect asks
        for name, table in tables.items()
    }


def _table(figures: Figures, name: str) -> Any:
    if name == "partitions":
        return figures.partition_table
    found = figures.part[name]
    return found if len(found) else pa.Table.from_batches([], found.schema)
