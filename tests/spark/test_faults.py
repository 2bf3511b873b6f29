"""Files that change under a query, workers that die, segments that are large."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import kafkaspec as ks
from kafkaspec.spark.source import KafkaSegmentDataSource
from tests.spark import logs
from tests.spark.reading import tasks

ROOT = Path(__file__).parents[2]


def planned(path: Path, **options: str) -> tuple[Any, Any]:
    source = KafkaSegmentDataSource({"path": str(path), **options})
    reader = source.reader(source.schema())
    return reader, reader.partitions()


def read(reader: Any, found: Any) -> list[int]:
    sent = pickle.dumps(reader)
    return [
        offset
        for task in found
        for batch in pickle.loads(sent).read(task)
        for offset in batch.column("offset").to_pylist()
    ]


@pytest.fixture(name="orders")
def _orders(tmp_path: Path) -> Path:
    return logs.make(tmp_path / "orders-0", 20, segment_bytes=2000)


def test_a_file_that_is_gone(orders: Path, caplog: pytest.LogCaptureFixture) -> None:
    reader, found = planned(orders)
    lenient, _ = planned(orders, failOnDataLoss="false")
    gone = logs.segment(orders)
    with ks.Segment(gone) as segment:
        lost = [record.offset for record in segment.records()]
    gone.unlink()
    with pytest.raises(ks.KafkaSpecError, match=gone.name):
        read(reader, found)
    assert read(lenient, found) == list(range(len(lost), 100))
    assert "data is lost" in caplog.text


def test_a_file_that_became_shorter(orders: Path) -> None:
    reader, found = planned(orders)
    permissive, _ = planned(orders, mode="PERMISSIVE")
    path = logs.segment(orders, 1)
    with path.open("r+b") as file:
        file.truncate(100)
    for each in (reader, permissive):  # no damage of data: what was planned is not there
        with pytest.raises(ks.CorruptError, match=rf"{path.name} at byte 100.*when it was planned"):
            read(each, found)


def test_a_file_that_grew(orders: Path) -> None:
    reader, found = planned(orders)
    with logs.segment(orders, -1).open("ab") as file:
        file.write(logs.batch(100, 5) + logs.batch(105, 5)[:20])
    assert read(reader, found) == list(range(100))
    assert read(*planned(orders)) == list(range(105))


def test_an_empty_directory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "orders-0").mkdir()
    for path in (tmp_path, tmp_path / "orders-0"):
        reader, found = planned(path)
        assert found == []
        assert list(reader.read(None)) == []  # what Spark makes of no partitions
        assert "there is no segment in" in caplog.text


MEMORY = """
import pickle, sys
from kafkaspec.spark.batch_reader import SegmentReader
import kafkaspec.arrow.record_batches, kafkaspec.codecs.native  # what every worker has

reader, task = pickle.load(sys.stdin.buffer)
def held():  # getrusage has the size of the parent where that was larger
    return next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))

before = held()
rows = size = 0
for batch in reader.read(task):
    rows += batch.num_rows
    size += batch.nbytes
print(rows, size, before, held())
"""


def test_a_sparse_segment_of_two_gigabytes(disk_path: Path) -> None:
    count, value = 2048, 1 << 20
    path = logs.sparse(disk_path / "orders-0", count, value)
    entry = path.stat().st_size // count
    assert path.stat().st_size > 2 << 30
    assert path.stat().st_blocks * 512 < 64 << 20
    found = tasks(path)
    assert len(found) == 16
    reader, planned_tasks = planned(path)
    middle = planned_tasks[8]
    done = subprocess.run(
        [sys.executable, "-c", MEMORY],
        input=pickle.dumps((reader, middle)),
        capture_output=True,
        cwd=ROOT,
        timeout=600,
        check=True,
    )
    rows, size, before, peak = (int(item) for item in done.stdout.split())
    print(f"{rows} rows, {size >> 20} MiB: {before >> 10} MiB before, at most {peak >> 10} MiB")
    assert rows == sum(piece.size for piece in middle.pieces) // entry
    assert size > 100 << 20
    assert (peak - before) << 10 < 48 << 20
