"""``latest`` against what producers sent: the last record of each key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

import kafkaspec as ks
import kafkaspec.spark
from tests.goldens import GOLDEN, produced

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VERSION = "4.3.1"
LOGS = GOLDEN / VERSION / "logs"

Rows = list[tuple[int, bytes | None, bytes | None]]


def rows(frame: DataFrame) -> Rows:
    chosen = frame.orderBy("offset").collect()
    return [(row.offset, _bytes(row.key), _bytes(row.value)) for row in chosen]


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def test_one_key_has_nearly_all_records(spark: SparkSession, tmp_path: Path) -> None:
    """A second partition has the same keys."""
    hot = [ks.Record(n, n, b"hot" if n % 50 else b"k%d" % n, b"%d" % n) for n in range(5000)]
    hot[7] = hot[7]._replace(key=None)
    for number in range(2):
        place = tmp_path / f"skewed-{number}"
        place.mkdir()
        (place / f"{0:020}.log").write_bytes(ks.encode(hot, magic=2))
    last = kafkaspec.spark.latest(kafkaspec.spark.read(spark, str(tmp_path)))
    expected = [(n, b"k%d" % n, b"%d" % n) for n in range(0, 5000, 50)]
    expected.append((4999, b"hot", b"4999"))
    for number in range(2):
        assert rows(last.where(f"partition = {number}")) == expected
    assert last.columns == kafkaspec.spark.read(spark, str(tmp_path)).columns


def test_new_segments_of_what_was_committed(spark: SparkSession, tmp_path: Path) -> None:
    sent = produced(VERSION)["transactions-segments-0"]
    last = {item["key"]: item for item in sent if item["transaction"] == "committed"}
    keyed = [item for key, item in last.items() if key is not None and item["value"] is not None]
    expected = sorted((item["offset"], item["key"], item["value"]) for item in keyed)
    path = str(LOGS / "transactions-segments-0")
    committed = kafkaspec.spark.read(spark, path, isolation_level="read_committed")
    live = kafkaspec.spark.latest(committed).where("value is not null")
    assert rows(live) == expected
    kafkaspec.spark.write(live, str(tmp_path / "out"), compression="zstd", allowGaps=True)
    with ks.open(tmp_path / "out" / "transactions-segments-0") as log:
        assert [(r.offset, r.key, r.value) for r in log.records()] == expected
    assert ks.verify(tmp_path / "out").clean
