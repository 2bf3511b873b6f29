"""Timestamp types on their way out: each batch has one, as Kafka writes them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

import kafkaspec as ks
from tests.goldens import GOLDEN
from tests.spark import reading
from tests.spark.writing import write

COLUMNS = ["topic", "partition", "offset", "timestamp", "timestampType", "key", "value"]


def rows(types: list[int | None], stamps: list[int], first: int = 0) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "offset": pa.array(range(first, first + len(types)), pa.int64()),
            "timestamp": pa.array([ms * 1000 for ms in stamps], pa.timestamp("us", "UTC")),
            "timestampType": pa.array(types, pa.int32()),
            "value": pa.array([b"v"] * len(types), pa.binary()),
        }
    )


@pytest.mark.parametrize("version", ["0.10.2.2", "2.8.2", "4.3.1"])
@pytest.mark.parametrize("compression", ["none", "lz4"])
def test_rows_survive_a_round_trip(tmp_path: Path, version: str, compression: str) -> None:
    golden = GOLDEN / version / "logs" / "log-append-time-0"
    before = reading.table(golden, COLUMNS)
    assert set(before.column("timestampType").to_pylist()) == {1}
    write(tmp_path, [before.to_batches()], compression=compression, profile=version)
    assert reading.table(tmp_path, COLUMNS).equals(before)
    for path in (tmp_path / "log-append-time-0").glob("*.log"):
        for batch in ks.Segment(path, codec="python").batches():
            assert batch.timestamp_type == "LogAppendTime"
    assert ks.verify(tmp_path).clean


def test_types_and_times_of_brokers_begin_batches_of_their_own(tmp_path: Path) -> None:
    """With LogAppendTime a batch has no timestamp of a record; KIP-32."""
    types: list[int | None] = [0, None, 1, 1, 1, -1, 0]
    parts = [
        rows([0, 0], [1, 2]),  # the column is left out of the first, and not of all
        rows(types, [3, 4, 5, 5, 6, -1, 7], 2),
        rows([0], [8], 9),
    ]
    write(tmp_path, [parts], topic="t")
    with ks.Partition(tmp_path / "t-0", codec="python") as partition:
        found = [
            (batch.timestamp_type, [record.timestamp for record in batch.records()])
            for batch in partition.batches()
        ]
    assert found == [
        ("CreateTime", [1, 2, 3, 4]),
        ("LogAppendTime", [5, 5]),
        ("LogAppendTime", [6]),
        ("CreateTime", [-1, 7, 8]),
    ]
    assert ks.verify(tmp_path).clean


def test_a_format_without_timestamps_has_no_place_for_them(tmp_path: Path) -> None:
    with pytest.raises(ks.KafkaSpecError, match="magic 0"):
        write(tmp_path, [[rows([1], [5])]], topic="t", profile="0.9")
    assert not any(tmp_path.iterdir())
