"""Read and write a specification with a draft by Spark. Run by test_drafts.py.

All magics are in one partition; new fields of records and headers are columns.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import kafkaspec as ks
import kafkaspec.spark
from kafkaspec.columns.records import OWN, objects_of
from kafkaspec.layout.kinds import KINDS
from kafkaspec.spark.jobs.export import export, restore
from kafkaspec.spark.jobs.stats import stats
from kafkaspec.spark.jobs.verify import verify
from kafkaspec.spark.schema import OWN_COLUMNS
from tests.spark.session import session
from tests.specgen.programs.checks import run
from tests.specgen.programs.draft import batch, partition

NEWEST = max(KINDS)


def plain(value: Any) -> Any:
    """Bytes as such: Spark has byte arrays."""
    return bytes(value) if isinstance(value, bytearray) else value


def rows_of(root: Path, names: list[str]) -> list[tuple[Any, ...]]:
    """Records by the reference codec, with what the model says of new fields."""
    found = []
    for item in ks.Partition(root, codec="python").batches():
        objects = list(objects_of(item))
        for record, each in zip(item.records(), objects, strict=True):
            own = []
            for name in names:
                holder = item.message if OWN[name].of_batch else each
                own.append(getattr(holder, name) if item.magic in OWN[name].fields else None)
            found.append((record.offset, record.key, record.value, *own))
    return found


def numbered(root: Path) -> Path:
    """A partition with other values of each new number in each batch, and in each record."""
    path = root / "logs" / "own-0"
    path.mkdir(parents=True)
    made = [batch(0, 2)]
    for n in range(1, 5):
        header = {name: 1000 * n for name, column in OWN.items() if column.of_batch}
        record = [name for name, column in OWN.items() if not column.of_batch]
        fields = [dict.fromkeys(record, n + row) for row in range(3)]
        given = {"header": header or None, "fields": fields if record else None}
        made.append(batch(3 * n, NEWEST, compression=("none", "zstd")[n % 2], **given))
    (path / f"{0:020d}.log").write_bytes(b"".join(made))
    return path


def every_magic_is_read(spark: SparkSession, root: Path) -> None:
    (root / "logs").mkdir()
    path = partition(root / "logs")
    rows = kafkaspec.spark.read(spark, str(root / "logs"), includeBatch=True).collect()
    found = [(row.offset, row.key, row.value) for row in sorted(rows, key=lambda row: row.offset)]
    assert [tuple(map(plain, row)) for row in found] == rows_of(path, [])
    assert {row.magic for row in rows} == set(KINDS)
    kafkaspec.spark.write(
        kafkaspec.spark.read(spark, str(root / "logs")), str(root / "two"), compression="zstd"
    )
    back = list(ks.Partition(root / "two" / path.name).records())
    assert [(item.offset, item.key, item.value) for item in back] == rows_of(path, [])
    heads = kafkaspec.spark.read(spark, str(root / "logs"), rows="batches").collect()
    assert sum(row.records for row in heads) == len(found)
    assert {row.magic for row in heads} == set(KINDS)
    place = str(root / "logs")
    (measured,) = stats(spark, place).partitions
    assert (measured["records"], measured["magics"]) == (len(found), sorted(KINDS))
    report = verify(spark, place, codec="all").report
    assert report.findings == ks.verify(place, codec="all").findings


def new_fields_are_read_and_written(spark: SparkSession, root: Path) -> None:
    if not OWN:
        return
    names = list(OWN)
    path = numbered(root)
    columns = {OWN_COLUMNS[name].source: name for name in OWN_COLUMNS}
    shown = [columns[name] for name in names]
    rows = kafkaspec.spark.read(spark, str(root / "logs"), includeBatch=True)
    found = rows.orderBy("offset").select("offset", "key", "value", *shown).collect()
    expected = rows_of(path, names)
    assert [tuple(map(plain, row)) for row in found] == expected
    own = [columns[name] for name in names if OWN[name].of_batch]
    heads = kafkaspec.spark.read(spark, str(root / "logs"), rows="batches")
    assert not {columns[name] for name in names} - set(own) & set(heads.columns)
    by_base = {row.offset: row for row in rows.where("offset = baseOffset").collect()}
    for row in heads.collect():
        assert [plain(row[name]) for name in own] == [
            plain(by_base[row.baseOffset][name]) for name in own
        ]
    asked = kafkaspec.spark.read(spark, str(root / "logs"), ["offset", shown[0]])
    assert asked.where(f"{shown[0]} is not null").count() == 12
    kept = rows.where("offset >= 3").select("offset", "timestamp", "key", "value", "topic", *shown)
    for compression in ("none", "zstd"):
        out = root / compression
        kafkaspec.spark.write(kept, str(out), magic=NEWEST, compression=compression)
        assert rows_of(out / "own-0", names) == expected[3:]
        assert ks.verify(out).findings == []
    with pytest.raises(Exception, match="magic 2 has no place for"):
        kafkaspec.spark.write(kept, str(root / "old"), magic=2)
    export(spark, str(root / "logs"), str(root / "parquet"), batch=True)
    restore(spark, str(root / "parquet"), str(root / "back"))
    assert [row[:3] for row in rows_of(root / "back" / "own-0", [])] == [
        row[:3] for row in expected
    ]


CHECKS = (every_magic_is_read, new_fields_are_read_and_written)

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        made = session(Path(place))
        try:
            run(CHECKS, made)
        finally:
            made.stop()
