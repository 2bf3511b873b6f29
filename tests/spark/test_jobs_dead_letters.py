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
from kafkaspec.spark.parsing import OptionError
from tests.forensics.test_dead_letters import BROKER, with_letters

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


@pytest.mark.parametrize("topic", ["orders", "bad"])
def test_letters_are_typed_as_the_data_source_reads_their_topic(
    spark: SparkSession, topic: str, tmp_path: Path
) -> None:
    logs = str(with_letters(tmp_path / "logs", topic))
    read = spark.read.format("kafkasegment").option("subscribe", topic)
    rows = read.option("value.decode", "true").option("includeHeaders", "true").load(logs).collect()
    wanted = {row.offset: row.asDict(recursive=True) for row in rows}
    found = dead_letters(spark, logs, value="decode").orderBy("source_offset").collect()
    assert [row.source_offset for row in found] == sorted(wanted)[::2]
    for row in found:
        typed = row.letter_record.asDict(recursive=True)
        assert typed == row.source_record.asDict(recursive=True)
        assert typed == {name: wanted[row.source_offset][name] for name in typed}
    alone = dead_letters(spark, f"{logs}/dead-0", value="decode", schemas=logs).collect()
    assert {row.source_record for row in alone} == {None}


def test_typed_letters_are_of_one_topic(spark: SparkSession, tmp_path: Path) -> None:
    logs = str(with_letters(tmp_path / "logs", "orders", "bad"))
    with pytest.raises(OptionError, match="bad, orders"):
        dead_letters(spark, logs, value="decode")
    one = dead_letters(spark, logs, topic="orders", value="decode").collect()
    assert {row.source_topic for row in one} == {"orders"}
    with pytest.raises(OptionError, match="stay bytes"):
        dead_letters(spark, str(BROKER), topic="orders", value="decode", schemas=logs)
