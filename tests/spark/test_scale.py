"""Many segments, large ones, and workers that die: rows once each, and memory that stays small."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

import kafkaspec as ks
from kafkaspec.analysis.report import FileKind
from kafkaspec.spark.jobs.stats import stats
from kafkaspec.spark.jobs.verify import units_of, verify
from tests.spark import logs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEBIBYTE = 1 << 20
PARTITIONS, SEGMENTS, RECORDS = 30, 100, 3
VALUE = 1 << 20


def test_a_worker_that_is_killed_while_it_reads_gives_no_doubles(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark starts the task again; what the first attempt sent does not count."""
    from pyspark import TaskContext
    from pyspark.sql.datasource import DataSourceReader

    from kafkaspec.spark.batch_reader import SegmentReader
    from kafkaspec.spark.source import KafkaSegmentDataSource

    graves = tmp_path / "graves"
    graves.mkdir()

    class Dying(DataSourceReader):  # type: ignore[misc]  # sent by value, as it is local
        def __init__(self, real: SegmentReader) -> None:
            self._real = real

        def partitions(self) -> Any:
            return self._real.partitions()

        def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
            context = TaskContext.get()
            assert context is not None
            for number, batch in enumerate(self._real.read(partition)):
                if number == 2 and context.attemptNumber() == 0:
                    (graves / f"{context.partitionId()}").touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                yield batch

    class Source(KafkaSegmentDataSource):
        @classmethod
        def name(cls) -> str:
            return "dying"

        def reader(self, schema: Any) -> DataSourceReader:
            real = super().reader(schema)
            assert isinstance(real, SegmentReader)
            return Dying(real)

    count = 20_000
    logs.make(tmp_path / "orders-0", count // 500, 500, 150)
    spark.dataSource.register(Source)
    rows = spark.read.format("dying").option("maxPartitionBytes", "1m").load(str(tmp_path))
    rows.write.parquet(str(tmp_path / "rows"))
    tasks = len(list((tmp_path / "rows").glob("*.parquet")))
    assert tasks > 2
    assert len(list(graves.iterdir())) == tasks  # each task died once
    found = spark.read.parquet(str(tmp_path / "rows")).select("offset", "value").collect()
    assert sorted(row.offset for row in found) == list(range(count))
    assert all(bytes(row.value) == logs.record(row.offset, 150).value for row in found)


def _memory(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Peak memory of this worker, since the last time that it was asked."""
    list(batches)
    time.sleep(0.5)  # so that no worker gets two of these tasks
    status = Path("/proc/self/status").read_text()
    peak, now = (int(re.search(rf"{name}:\s+(\d+)", status)[1]) for name in ("VmHWM", "VmRSS"))  # type: ignore[index]
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    yield pa.record_batch({"pid": [os.getpid()], "peak": [peak << 10], "now": [now << 10]})


def memory(spark: SparkSession) -> dict[int, tuple[int, int]]:
    """Peak and present size of each worker."""
    frame = spark.range(2, numPartitions=2).mapInArrow(_memory, "pid long, peak long, now long")
    return {row.pid: (row.peak, row.now) for row in frame.collect()}


@pytest.fixture
def grown(spark: SparkSession) -> Callable[[], list[float]]:
    """The growth of the workers' peak memory, in MiB."""
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("only Linux reports how much memory a process took")
    memory(spark)
    before = memory(spark)

    def grown() -> list[float]:
        after = memory(spark)
        same = before.keys() & after.keys()
        assert same, "the workers are others"
        return [(after[pid][0] - before[pid][1]) / MEBIBYTE for pid in same]

    return grown


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3,000 segments of a few hundred bytes."""
    root = tmp_path_factory.mktemp("many")
    tail = logs.batch(0, RECORDS)[8:]  # the base offset is outside of the checksum
    for partition in range(PARTITIONS):
        directory = root / f"orders-{partition}"
        directory.mkdir()
        for number in range(SEGMENTS):
            base = number * RECORDS
            (directory / f"{base:020d}.log").write_bytes(base.to_bytes(8, "big") + tail)
    return root


def test_thousands_of_segments(
    spark: SparkSession, many: Path, grown: Callable[[], list[float]]
) -> None:
    report = verify(spark, str(many), tasks=4).report
    count = PARTITIONS * SEGMENTS
    assert (report.totals.batches, report.totals.records) == (count, RECORDS * count)
    assert report.totals.files[FileKind.SEGMENT] == count
    found = stats(spark, str(many), tasks=4)
    assert len(found.partitions) == PARTITIONS
    counts = {(row["segments"], row["records"]) for row in found.partitions}
    assert counts == {(SEGMENTS, RECORDS * SEGMENTS)}
    assert found.rows("gaps") == []
    sizes = grown()
    print(f"workers grew by {sizes} MiB")
    assert max(sizes) < 50  # some 30 for the first segment of a worker, then 10 KiB for each


def test_a_sparse_segment_of_two_gigabytes(
    spark: SparkSession, disk_path: Path, grown: Callable[[], list[float]]
) -> None:
    directory = disk_path / "orders-0"
    count = 2048
    path = logs.sparse(directory, count, VALUE)
    assert path.stat().st_size > 2 << 30
    ks.rebuild_indexes(directory, disk_path / "indexes")
    for index in (disk_path / "indexes").rglob("*.index"):  # where a segment may be divided
        index.rename(path.with_suffix(".index"))
    units = units_of(directory, ("native",), 256 * MEBIBYTE)
    assert len(units) == 8
    report = verify(spark, str(directory), split_bytes=256 * MEBIBYTE).report
    assert (report.totals.batches, report.totals.records) == (count, count)
    assert [item.reason for item in report.findings if item.severity == "error"] == []
    (row,) = stats(spark, str(directory), records=False).partitions
    assert (row["batches"], row["records"]) == (count, count)
    assert row["file_bytes"] == path.stat().st_size
    sizes = grown()
    print(f"workers grew by {sizes} MiB")
    assert max(sizes) < 100
