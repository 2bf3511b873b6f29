"""What one task of an increment writes."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import kafkaspec
from kafkaspec.lake.manifest import Mark
from kafkaspec.lake.schema import SCHEMAS
from kafkaspec.lake.units import LakeSettings, LakeUnit, write_units

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("version", ["0.9.0.1", "0.10.2.2", "4.4.0"])
def test_a_segment_becomes_rows(version: str, tmp_path: Path) -> None:
    path = next((GOLDEN / version).rglob("*.log"))
    unit = LakeUnit(path=str(path), topic="orders", partition=3)
    (result,) = write_units([unit], LakeSettings(place=str(tmp_path)), Mark(1, "run"))
    tables = {file.table: pq.ParquetFile(tmp_path / file.path).read() for file in result.files}
    records = list(kafkaspec.open(path).records())
    assert tables["raw"]["offset"].to_pylist() == [record.offset for record in records]
    assert tables["raw"]["value"].to_pylist() == [record.value for record in records]
    assert sum(tables["batches"]["length"].to_pylist()) == result.progress["size"]
    for name, table in tables.items():
        assert table.schema.equals(SCHEMAS[name])
