"""``dead_letters``: what ``dlq`` finds and joins, in tasks."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

import kafkaspec as ks
from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.dead_letters import read_dead_letters
from kafkaspec.spark.jobs.dead_letters import dead_letters
from tests.forensics.test_dead_letters import BROKER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ORDER = ["topic", "offset"]


def test_letters_are_those_of_the_command(spark: SparkSession) -> None:
    with ks.LogDirectory(BROKER) as directory:
        wanted = read_dead_letters(directory.current, directory.current).letters
    found = dead_letters(spark, str(BROKER)).orderBy(*_ORDER).collect()
    rows = sorted(wanted.to_pylist(), key=itemgetter(*_ORDER))
    assert [row.asDict() for row in found] == rows


def test_sources_may_be_elsewhere(spark: SparkSession, tmp_path: Path) -> None:
    letters = [str(BROKER / f"dlq.{group}-0") for group in ("copies", "references")]
    without = dead_letters(spark, letters).select("source").distinct().collect()
    assert [row.source for row in without] == ["no_log"]
    joined = dead_letters(spark, letters, str(BROKER)).select("source").distinct().collect()
    assert sorted(row.source for row in joined) == ["reference", "same"]
    with pytest.raises(KafkaSpecError, match="none"):
        dead_letters(spark, str(tmp_path / "none"))
