"""Work that is dealt out to tasks."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from kafkaspec.spark.jobs.units import computed, spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_each_task_gets_its_hand_and_spark_reads_the_units_once(spark: SparkSession) -> None:
    """A shuffle and its result are two jobs of Spark; to divide by ranges, it would run more."""
    units = list(range(10))
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup(None))
    assert dict(computed(spark, units, [1] * 10, operator.neg, 5)) == {n: -n for n in units}
    assert len(set(tracker.getJobIdsForGroup(None)) - before) == 2
    hands = spread(spark, units, [8, 1, 1, 1, 1, 1, 1, 1, 1, 0], 3).rdd.glom().map(len).collect()
    assert sorted(hands) == [1, 4, 5]
