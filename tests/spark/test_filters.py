"""Filters that Spark hands down, and why nobody should ask for it yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.datasource import (
    EqualTo,
    GreaterThan,
    In,
    IsNotNull,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from kafkaspec.spark.filters import Narrowed, narrowed
from kafkaspec.spark.offsets import OffsetSpan
from tests.spark import logs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENABLED = "spark.sql.python.filterPushdown.enabled"


def test_filters_that_narrow() -> None:
    topic, partition, offset = ("topic",), ("partition",), ("offset",)
    found = narrowed(
        [
            IsNotNull(topic),
            EqualTo(topic, "orders"),
            In(partition, [0, 1, 2]),
            In(partition, [2, 3]),
            GreaterThan(offset, 4),
            LessThanOrEqual(offset, 9),
            EqualTo(("key",), b"x"),
            Not(EqualTo(partition, 2)),
        ]
    )
    assert found == Narrowed(frozenset({"orders"}), frozenset({2}), (), OffsetSpan(5, 10))
    assert narrowed([StringStartsWith(topic, "ord")]).selects("orders", 0)
    assert not narrowed([StringStartsWith(topic, "ord")]).selects("stock", 0)
    assert found.cut(OffsetSpan(None, 7)) == OffsetSpan(5, 7)


@pytest.fixture(name="four", scope="module")
def _four(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Four partitions of ten records, and push-down on."""
    folder = tmp_path_factory.mktemp("filters")
    for number in range(4):
        logs.make(folder / f"t-{number}", 2)
    spark.conf.set(ENABLED, "true")
    yield folder
    spark.conf.set(ENABLED, "false")


def load(spark: SparkSession, four: Path, **options: Any) -> DataFrame:
    return (
        spark.read.format("kafkasegment").options(filterPushdown="true", **options).load(str(four))
    )


def test_a_dataframe_that_is_used_once(spark: SparkSession, four: Path) -> None:
    rows = load(spark, four).where("partition = 1 and offset >= 7").collect()
    assert sorted((row.partition, row.offset) for row in rows) == [(1, 7), (1, 8), (1, 9)]


def _twice(frame: DataFrame) -> Any:
    return [frame.where("partition = 1").count(), frame.count()]


def _union(frame: DataFrame) -> Any:
    both = frame.where("partition = 1").union(frame.where("partition = 2"))
    return dict(Counter(row.partition for row in both.collect()))


def _part_and_all(frame: DataFrame) -> Any:
    return frame.union(frame.where("partition = 1")).count()


TABLE = [(_twice, [10, 40]), (_union, {1: 10, 2: 10}), (_part_and_all, 50)]
"""Uses of one DataFrame, and the right answers."""


@pytest.mark.parametrize(("use", "right"), TABLE)
def test_without_the_option_answers_are_right(
    spark: SparkSession, four: Path, use: Any, right: Any
) -> None:
    frame = spark.read.format("kafkasegment").load(str(four))
    spark.conf.set(ENABLED, "false")
    try:
        assert use(frame) == right
    finally:
        spark.conf.set(ENABLED, "true")


@pytest.mark.xfail(
    strict=True,
    reason="Spark shares one plan between scans (SPARK-58551); the day this passes,"
    " filterPushdown may become the default",
)
@pytest.mark.parametrize(("use", "right"), TABLE)
def test_one_dataframe_used_twice(spark: SparkSession, four: Path, use: Any, right: Any) -> None:
    assert use(load(spark, four)) == right
