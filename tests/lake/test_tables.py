"""Rows of increments in the tables of both formats, read by libraries that did not write them."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog
from sqlalchemy import URL

from kafkaspec.errors import KafkaSpecError
from kafkaspec.lake.base import Lake, LakeCondition, LakeConflictError
from kafkaspec.lake.epochs import commit
from kafkaspec.lake.maintenance import maintain
from kafkaspec.lake.manifest import Mark
from kafkaspec.lake.schema import PROGRESS, RAW, RAW_SCHEMA, SCHEMAS, folder
from kafkaspec.lake.store import Store
from kafkaspec.lake.tables import open_lake
from tests.lake.conftest import Opening
from tests.lake.increments import TYPED, columns, drive, expected, ordered, read, rows, write

TABLES = (*SCHEMAS, TYPED)


def theirs(lake: Lake, table: str) -> Any:
    """The rows of a table as the library of its format reads them."""
    if lake.to == "delta":
        return DeltaTable(lake.store.url(table)).to_pyarrow_table()
    uri = URL.create("sqlite", database=lake.store.url("catalog.db")).render_as_string()
    catalog = load_catalog("kafkaspec", type="sql", uri=uri)
    return catalog.load_table(("kafka", table)).scan().to_arrow()


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_all_readers_see_the_rows(opening: Opening, table: str) -> None:
    lake = opening()
    for _ in range(3):
        drive(opening())
    assert expected(table, 3)
    assert read(lake, table) == expected(table, 3)
    schema = columns(table)
    assert ordered(theirs(lake, table).cast(schema, safe=True)) == expected(table, 3)
    paths = [lake.store.url(file.path) for file in lake.table(table).files()]
    plain = pa.concat_tables(pq.ParquetFile(path).read() for path in paths)
    assert plain.schema.equals(schema)
    assert ordered(plain) == expected(table, 3)
    found: Any = duckdb.connect().execute(
        "SET TimeZone='UTC'; SELECT * FROM read_parquet(?)", [paths]
    )
    assert ordered(found.to_arrow_table().cast(schema)) == expected(table, 3)


@pytest.mark.slow
def test_a_table_says_what_it_has(lake: Lake) -> None:
    table = lake.table(RAW)
    assert (table.mark(), table.schema(), table.files(), lake.tables()) == (None, None, [], [])
    assert table.scan().read_all().num_rows == 0
    mark = drive(lake)
    assert table.mark() == lake.table(PROGRESS).mark() == mark
    assert table.schema() == RAW_SCHEMA
    assert lake.tables() == sorted(TABLES)
    files = table.files()
    assert sum(file.rows for file in files) == len(rows(RAW, 1))
    for file in files:
        assert Path(lake.store.url(file.path)).stat().st_size == file.size
        found = table.scan(where=[(name, "=", value) for name, value in file.values.items()
                                  if value is not None]).read_all()  # fmt: skip
        assert found.num_rows >= file.rows
        assert file.path.startswith(f"raw/{folder(file.values)}")


@pytest.mark.slow
def test_rows_are_chosen_by_conditions(lake: Lake) -> None:
    for _ in range(3):
        drive(lake)
    table = lake.table(RAW)
    cases: list[tuple[list[LakeCondition], Callable[[dict[str, Any]], bool]]] = [
        ([("epoch", "=", 2)], lambda row: bool(row["epoch"] == 2)),
        ([("batch_base_offset", "=", 6)], lambda row: bool(row["batch_base_offset"] == 6)),
        ([("offset", ">=", 5), ("offset", "<", 9)], lambda row: 5 <= row["offset"] < 9),
        (
            [("topic", "!=", "a"), ("partition", "in", [0, 7])],
            lambda row: bool(row["topic"] != "a"),
        ),
    ]
    for where, chosen in cases:
        found = table.scan(["offset", "topic", "timestamp"], where).read_all()
        assert found.column_names == ["offset", "topic", "timestamp"]
        right = [row for row in expected(RAW, 3) if chosen(row)]
        assert right
        assert sorted(found["offset"].to_pylist()) == sorted(row["offset"] for row in right)


@pytest.mark.slow
def test_a_lake_has_one_format(lake: Lake, to: str) -> None:
    with pytest.raises(KafkaSpecError, match="no lake is there"):
        open_lake(lake.place)
    drive(lake)
    assert open_lake(lake.place).to == to
    other = {"delta": "iceberg", "iceberg": "delta"}[to]
    with pytest.raises(KafkaSpecError, match=f"its tables are {to}, not {other}"):
        open_lake(lake.place, other, create=True)
    with pytest.raises(ValueError, match="there are delta, iceberg"):
        open_lake(lake.place, "hudi")


def test_no_lake_changes_nothing(tmp_path: Path) -> None:
    for to in (None, "delta", "iceberg"):
        with pytest.raises(KafkaSpecError, match="no lake is there"):
            open_lake(str(tmp_path / "none"), to)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_deltalake_does_not_find_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KafkaSpecError, match=r"a name with %20; choose another"):
        open_lake(str(tmp_path / "a%20lake"), "delta", create=True)


def test_a_place_is_a_path_or_a_url(tmp_path: Path) -> None:
    assert Store(f"file://{tmp_path}/x").place == Store(f"{tmp_path}/x/").place == f"{tmp_path}/x"
    assert Store("s3://bucket/x/").url("raw") == "s3://bucket/x/raw"


@pytest.mark.slow
def test_a_file_that_is_gone_is_found_before_the_first_commit(lake: Lake) -> None:
    manifest = write(lake, Mark.new(1))
    last = manifest.files[-1]
    lake.store.remove(last.path)
    with pytest.raises(KafkaSpecError, match="it is not there, and the manifest") as caught:
        commit(lake, manifest)
    assert caught.value.file == lake.store.url(last.path)
    lake.store.write(last.path, b"")
    with pytest.raises(KafkaSpecError, match="it has 0 bytes, and the manifest"):
        commit(lake, manifest)
    assert lake.tables() == []
    drive(lake)
    assert read(lake, RAW) == expected(RAW, 1)


@pytest.mark.slow
def test_a_lake_in_an_object_store(bucket: str, to: str, tmp_path: Path) -> None:
    """Commits, two drivers at once, and maintenance."""
    catalog = {"uri": f"sqlite:///{tmp_path}/catalog.db", "type": "sql"}

    def opened() -> Lake:
        return open_lake(
            f"{bucket}/a/lake", to, catalog=catalog if to == "iceberg" else None, create=True
        )

    for _ in range(2):
        drive(opened())
    first, second = opened(), opened()
    manifest, rival = write(first, Mark.new(3)), write(second, Mark.new(3))
    commit(first, manifest)
    with pytest.raises(LakeConflictError):
        commit(second, rival)
    lake = opened()
    assert lake.tables() == sorted(TABLES)
    for table in TABLES:
        assert read(lake, table) == expected(table, 3)
    time.sleep(1.1)  # a store says when a file was written in whole seconds
    done = {item.table: item for item in maintain(lake, age=timedelta(0))}
    assert done[RAW].merged > done[RAW].made > 0
    for table in TABLES:
        assert read(opened(), table) == expected(table, 3)
        named = {file.path for file in opened().table(table).files()}
        there = {file.path for file in lake.store.files(table) if file.path.endswith(".parquet")}
        there = {path for path in there if "/_delta_log/" not in path}
        assert named <= there
        assert there & {file.path for file in rival.files} == set()
    drive(opened())
    assert read(opened(), RAW) == expected(RAW, 4)


def test_an_iceberg_lake_in_a_store_needs_a_catalogue() -> None:
    with pytest.raises(KafkaSpecError, match="needs a catalogue"):
        open_lake("memory://lake", "iceberg", create=True)


@pytest.mark.slow
def test_an_iceberg_lake_whose_catalogue_is_gone_is_not_begun_again(tmp_path: Path) -> None:
    """Its tables may be in a catalogue that has to be named."""
    uri = URL.create("sqlite", database=str(tmp_path / "other.db")).render_as_string()
    place, catalog = str(tmp_path / "lake"), {"type": "sql", "uri": uri}
    drive(open_lake(place, "iceberg", catalog=catalog, create=True))
    with pytest.raises(KafkaSpecError, match=r"catalog\.db, is not there; name the one"):
        open_lake(place, create=True)
    assert read(open_lake(place, catalog=catalog), RAW) == expected(RAW, 1)


@pytest.mark.slow
def test_tables_of_another_catalogue_are_no_new_lake(tmp_path: Path) -> None:
    """Its rows would be added again, to tables that nobody asked for."""
    place = str(tmp_path / "lake")
    own = {"type": "sql", "uri": f"sqlite:///{tmp_path}/own.db", "namespace": "mine"}
    drive(open_lake(place, "iceberg", catalog=own, create=True))
    wrong = ({**own, "namespace": "yours"}, {**own, "name": "other"})
    for catalog in wrong:
        for create in (False, True):
            with pytest.raises(KafkaSpecError, match="the catalogue has no table of progress"):
                open_lake(place, catalog=catalog, create=create)
    assert open_lake(place, catalog=own).table(PROGRESS).mark() is not None
