"""``messages``: what the library reads of Kafka's own topics, for several brokers at a time."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from click.testing import CliRunner

import kafkaspec as ks
from kafkaspec.cli.main import main
from kafkaspec.log.partition import Partition
from kafkaspec.spark.jobs import units
from kafkaspec.spark.jobs.messages import LEFT_OUT, STATES, state, topic_messages
from tests.goldens import GOLDEN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VERSION = GOLDEN / "4.3.1"
PATHS = [str(VERSION / "logs"), str(VERSION / "administered" / "logs")]


def _partitions(topic: str) -> list[Partition]:
    return [Partition(path) for path in sorted(VERSION.glob(f"**/logs/{topic}-0"))]


def test_records_are_those_of_the_library(spark: SparkSession) -> None:
    paths = [*PATHS, str(VERSION / "tiered" / "logs")]
    for name in ("OffsetCommit", "StreamsGroupTopology", "RegisterBroker"):
        rows = topic_messages(spark, paths, name).collect()
        assert not [row.error for row in rows if row.error]
        topic = "__cluster_metadata" if name == "RegisterBroker" else "__consumer_offsets"
        expected = 0
        for log in _partitions(topic):
            paths_ = [*log.segment_paths, *log.checkpoint_paths]
            tables = [log.open_segment(each).topic_messages(name).read_all() for each in paths_]
            expected += sum(table.num_rows for table in tables)
        assert len(rows) == expected > 0, name
    commits = topic_messages(spark, PATHS[:1], "OffsetCommit").select("key.group", "value.offset")
    assert ("group-b", 12) in [tuple(row) for row in commits.collect()]


def test_a_large_segment_is_read_in_parts(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = topic_messages(spark, PATHS, "OffsetCommit")
    monkeypatch.setattr(units, "PART_BYTES", 500)
    parts = topic_messages(spark, PATHS, "OffsetCommit")
    paths = [path for log in _partitions("__consumer_offsets") for path in log.segment_paths]
    sizes = [path.stat().st_size for path in paths]
    assert max(map(len, units.parts_of(spark, list(map(str, paths)), sizes))) > 1
    assert sorted(map(repr, parts.collect())) == sorted(map(repr, whole.collect()))


def test_states_are_those_of_the_library(spark: SparkSession) -> None:
    for kind, wanted in STATES.items():
        paths = [str(VERSION / "tiered" / "logs")] if kind == "remote_segments" else PATHS
        found = state(spark, paths, kind).collect()
        logs = [log for log in _partitions(wanted.topic) if str(log.path.parent) in paths]
        expected = sum(getattr(wanted.read(log), wanted.table).num_rows for log in logs)
        assert len(found) == expected, kind
        assert not any(row[LEFT_OUT] for row in found), kind
        if kind not in ("members",):  # all of them have left
            assert expected, kind


def test_the_command_writes_a_table(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ["spark", "messages", "offsets", *PATHS, "-o", str(out)]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert spark.read.parquet(str(out / "offsets")).filter("`group` = 'group-b'").count() == 1
    wrong = CliRunner().invoke(main, ["spark", "messages", "Nothing", *PATHS, "-o", str(out)])
    assert wrong.exit_code == 2
    assert "no topic has records called" in wrong.output
    none = CliRunner().invoke(
        main, ["spark", "messages", "remote_segments", PATHS[1], "-o", str(out)]
    )
    assert none.exit_code == 2
    assert "there is no partition of __remote_log_metadata" in none.output


def test_what_is_missing_or_does_not_decode_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    """A key of a type that nobody knows, and a log that ends within a batch."""
    log = tmp_path / "logs" / "__consumer_offsets-0"
    shutil.copytree(VERSION / "logs" / log.name, log)
    path = log / "00000000000000000000.log"
    more = ks.encode([ks.Record(1000, 0, b"\x7f\xff", b"")], magic=2)
    path.write_bytes(path.read_bytes() + more + more[:20])
    rows = state(spark, str(log), "offsets").collect()
    assert {row[LEFT_OUT] for row in rows} == {1}
    out = tmp_path / "out"
    command = ["spark", "messages", "offsets", str(log), "-o", str(out)]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1, result.output
    assert "1 record not decoded" in result.output
    assert "the last 20 bytes are the beginning of a batch" in result.output
