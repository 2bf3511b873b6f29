"""Rows that are batches: what the library says of their headers, and the count of their records."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pytest

pytest.importorskip("pyspark")

import kafkaspec as ks
import kafkaspec.spark
from kafkaspec.spark.options import read_options
from kafkaspec.spark.parsing import OptionError
from kafkaspec.spark.planning import plan
from tests.goldens import GOLDEN, VERSIONS
from tests.spark import logs
from tests.spark.reading import stream_reader, table
from tests.spark.test_stream_reader import ALL, offsets
from tests.work import calls

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_are_the_headers_of_the_library(version: str) -> None:
    """Of all releases: by objects, one batch at a time."""
    root = GOLDEN / version / "logs"
    found = table(root, rows="batches", logStart="ignore")
    expected = []
    with ks.LogDirectory(root) as log:
        for partition in log.current:
            for segment in partition.segments_from(None):
                expected += [
                    (partition.topic, partition.partition, each.position, each.size,
                     each.base_offset, each.last_offset, len(each.records()), each.magic,
                     each.crc, each.is_control, each.is_transactional, each.producer_id)
                    for each in segment.batches()
                ]  # fmt: skip
    names = ["topic", "partition", "position", "size", "baseOffset", "lastOffset", "records",
             "magic", "crc", "isControl", "isTransactional", "producerId"]  # fmt: skip
    rows = [tuple(row.values()) for row in found.select(names).to_pylist()]
    assert sorted(rows) == sorted(expected)
    assert len(rows) > 10


def test_a_count_is_that_of_all_records(spark: SparkSession) -> None:
    """Control records and aborted ones count: both are records of the log."""
    path = str(GOLDEN / "4.3.1" / "logs")
    rows = kafkaspec.spark.read(spark, path, rows="batches", logStart="ignore")
    every = kafkaspec.spark.read(
        spark, path, columns=["topic", "offset"], includeControl=True, logStart="ignore"
    )
    counted = dict(rows.groupBy("topic").sum("records").collect())
    assert counted == dict(every.groupBy("topic").count().collect())
    narrow = kafkaspec.spark.read(
        spark, path, columns=["records", "isControl"], rows="batches", logStart="ignore"
    )
    data = kafkaspec.spark.read(spark, path, columns=["offset"], logStart="ignore")
    assert narrow.where("not isControl").agg({"records": "sum"}).collect()[0][0] == data.count()
    spark.sql(
        f"CREATE TEMPORARY VIEW heads USING kafkasegment OPTIONS (path '{path}', rows 'batches')"
    )
    assert spark.sql("SELECT sum(records) FROM heads").collect()[0][0] == sum(counted.values())
    spark.catalog.dropTempView("heads")


@pytest.mark.parametrize("size", ["200", "64k"])
def test_a_batch_is_where_its_last_offset_is(tmp_path: Path, size: str) -> None:
    """So that ranges which meet inside a batch have each batch once."""
    logs.make(tmp_path / "orders-0", 12)
    options = {"rows": "batches", "maxPartitionBytes": size}
    every = table(tmp_path, ["position", "lastOffset"], **options).to_pylist()
    assert [row["lastOffset"] for row in every] == list(range(4, 60, 5))
    for cut in range(61):
        found = [
            row
            for low, high in ((0, cut), (cut, 60))
            for row in table(
                tmp_path, ["position", "lastOffset"],
                startingOffsets=f'{{"orders":{{"0":{low}}}}}',
                endingOffsets=f'{{"orders":{{"0":{high}}}}}', **options,
            ).to_pylist()
        ]  # fmt: skip
        assert found == every, cut


def test_a_stream_has_each_batch_once(tmp_path: Path) -> None:
    logs.make(tmp_path / "orders-0", 12)
    reader = stream_reader(
        tmp_path, rows="batches", startingOffsets="earliest", maxOffsetsPerTrigger=7
    )
    start, found = reader.initialOffset(), []
    while (end := reader.latestOffset(start, reader.getDefaultReadLimit())) != start:
        found += offsets(reader, start, end, "baseOffset")
        start = end
    assert found == list(range(0, 60, 5))
    assert (
        offsets(reader, {"orders": {"0": 0}}, reader.latestOffset(start, ALL), "records")
        == [5] * 12
    )


def test_payloads_are_not_read(tmp_path: Path) -> None:
    """Bytes that are read, of batches of 1 MiB."""
    path = tmp_path / "orders-0"
    logs.make(path, 8, count=1, size=1 << 20)
    file = logs.segment(path)
    with ks.Segment(file) as segment:
        first = next(iter(segment.batches()))
    damaged = first.end - 5
    logs.overwrite(file, damaged, b"\xff\xff")
    assert table(tmp_path, ["records"], rows="batches").column("records").to_pylist() == [1] * 8
    with pytest.raises(ks.ChecksumError):
        table(tmp_path, ["offset"])
    few = calls(lambda: table(tmp_path, ["records"], rows="batches"))
    logs.make(tmp_path / "others-0", 800, count=1, size=1 << 10)
    many = calls(lambda: table(tmp_path / "others-0", ["records"], rows="batches"))
    assert many < 2 * few  # not one by one


def test_wrappers_are_opened_for_a_count(tmp_path: Path) -> None:
    """A compressed message of magic 0 or 1 says only inside how many records it has."""
    path = tmp_path / "orders-0"
    path.mkdir()
    data = [logs.batch(first, 5, magic=1, compression="gzip") for first in range(0, 20, 5)]
    (path / f"{0:020}.log").write_bytes(b"".join(data))
    with ks.open(path) as log:
        count = sum(1 for _ in log.records())
        assert log.batch_table().column("num_records").null_count == 4
    assert pc.sum(table(path, rows="batches").column("records")).as_py() == count == 20
    with ks.Segment(logs.segment(path)) as segment:
        second = list(segment.batches())[1]
    logs.overwrite(logs.segment(path), second.end - 9, b"\xff" * 9)
    with pytest.raises(ks.KafkaSpecError, match=f"{logs.segment(path)}"):
        table(path, rows="batches")
    kept = table(path, ["position", "records"], rows="batches", mode="DROPCORRUPT").to_pylist()
    assert [row["records"] for row in kept] == [5, 5, 5]
    assert second.position not in [row["position"] for row in kept]
    assert table(path, ["position"], rows="batches").num_rows == 4  # nothing inside is asked for


def test_damage_by_mode(tmp_path: Path) -> None:
    path = logs.make(tmp_path / "orders-0", 12)
    with ks.Segment(logs.segment(path)) as segment:
        third = list(segment.batches())[2]
    logs.overwrite(logs.segment(path), third.position + 16, b"\x09")
    with pytest.raises(ks.KafkaSpecError, match="magic"):
        table(path, rows="batches")
    assert table(path, rows="batches", mode="DROPCORRUPT").num_rows == 11
    rows = table(path, rows="batches", mode="PERMISSIVE").to_pylist()
    assert len(rows) == 12
    (bad,) = [row for row in rows if row["_corrupt_record"] is not None]
    assert (bad["topic"], bad["position"], bad["records"]) == ("orders", third.position, None)


@pytest.mark.parametrize(
    "options",
    [{"includeHeaders": True}, {"messages": "OffsetCommit"}, {"value_decode": "json"},
     {"isolation_level": "read_committed"}, {"check_crcs": True}, {"includeControl": False}],
)  # fmt: skip
def test_options_about_records_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(OptionError, match=f"rows=batches .*{name.replace('_', '.')} is about"):
        table(tmp_path, rows="batches", **options)
    with pytest.raises(OptionError, match="batches have no value; there are topic, "):
        table(tmp_path, ["value"], rows="batches")


def test_a_task_of_local_headers_has_more_bytes(disk_path: Path) -> None:
    """Three sparse segments of 300 MiB: one task for headers, as many as there are for records."""
    path = disk_path / "orders-0"
    path.mkdir()
    for number in range(3):
        file = path / f"{5 * number:020}.log"
        file.write_bytes(logs.batch(5 * number, 5))
        os.truncate(file, 300 << 20)
    given = {"path": str(disk_path)}
    assert len(plan(read_options({**given, "rows": "batches"}))) == 1
    assert len(plan(read_options(given))) > 2
    small = {"rows": "batches", "maxPartitionBytes": "128m"}
    assert len(plan(read_options({**given, **small}))) > 2
    found = table(disk_path, ["records"], rows="batches").column("records").to_pylist()
    assert found == [5, 5, 5]
