"""Compaction, expiry and orphans, ours and of other programs: rows and progress stay."""

from __future__ import annotations

import os
import shutil
import time
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from kafkaspec.lake.base import Lake, LakeTable
from kafkaspec.lake.epochs import finish
from kafkaspec.lake.iceberg import IcebergLake
from kafkaspec.lake.maintenance import maintain
from kafkaspec.lake.manifest import LakeFile, Mark
from kafkaspec.lake.schema import BATCHES, PROGRESS, RAW, SCHEMAS
from tests.lake.conftest import Opening
from tests.lake.increments import drive, write
from tests.lake.test_exactly_once import TABLES, check, foreign

pytestmark = pytest.mark.slow  # ``test_tables.py`` and ``test_units.py`` are for make quick

DAY = timedelta(days=1)


def aged(lake: Lake, seconds: float = 10 * 86400) -> None:
    """Make all files older."""
    then = time.time() - seconds
    for file in lake.store.files():
        os.utime(lake.store.url(file.path), (then, then))


def test_small_files_are_merged(opening: Opening) -> None:
    for _ in range(4):
        drive(opening())
    lake = opening()
    before = {name: lake.table(name).files() for name in TABLES}
    mark = lake.table(PROGRESS).mark()
    done = {item.table: item for item in maintain(lake, age=DAY)}
    assert check(opening()) == 4
    for name in TABLES:
        table = opening().table(name)
        files = table.files()
        groups = {tuple(file.values.items()) for file in files}
        assert len(files) == len(groups)  # one in each directory
        assert groups == {tuple(file.values.items()) for file in before[name]}
        assert done[name].merged == len(before[name]) > len(files) == done[name].made
        assert table.mark() == (mark if name != "dead" else before_even(mark, table.mark()))
        assert not done[name].orphans  # they are young
        for file in files:
            assert file.path.startswith(f"{name}/")
    for file in lake.table(RAW).files():
        rows = pq.ParquetFile(lake.store.url(file.path)).read(["partition", "offset"]).to_pylist()
        keys = [(row["partition"], row["offset"]) for row in rows]
        assert keys == sorted(keys)
        assert len(keys) == file.rows
    for file in lake.table(BATCHES).files():
        rows = (
            pq.ParquetFile(lake.store.url(file.path)).read(["partition", "base_offset"]).to_pylist()
        )
        assert rows == sorted(rows, key=lambda row: (row["partition"], row["base_offset"]))
    again = maintain(opening(), age=DAY)
    assert {(item.merged, item.made) for item in again} == {(0, 0)}
    drive(opening())
    assert check(opening()) == 5


def before_even(mark: Mark | None, known: Mark | None) -> Mark | None:
    """The table of dead rows has rows of odd increments only."""
    assert mark is not None
    assert known is not None
    assert known.epoch == mark.epoch - 1
    return known


def test_files_that_nothing_names_are_removed_by_age(opening: Opening) -> None:
    for _ in range(3):
        drive(opening())
    lake = opening()
    orphans = [file.path for file in write(lake, Mark.new(4)).files]  # a driver that died
    part = f"{RAW}/topic=a/.x.0123.part"
    lake.store.write(part, b"x")
    assert not any(item.orphans for item in maintain(lake, age=DAY))
    replaced = {file.path for file in lake.store.files() if file.path.endswith(".parquet")}
    named = {file.path for name in TABLES for file in lake.table(name).files()}
    assert len(replaced - named) > len(orphans)
    aged(lake)
    time.sleep(1.1)
    removed = {path for item in maintain(lake, age=timedelta(0)) for path in item.orphans}
    assert removed >= {*orphans, part}
    assert removed & named == set()
    left = {file.path for file in lake.store.files() if file.path.endswith((".parquet", ".part"))}
    assert left == named
    assert check(opening()) == 3
    assert not any(item.orphans for item in maintain(opening(), age=DAY))
    drive(opening())
    assert check(opening()) == 4


def test_a_pending_increment_is_finished_first(opening: Opening) -> None:
    lake = opening()
    drive(lake)
    manifest = write(lake, Mark.new(2))
    files = [file for file in manifest.files if file.table == PROGRESS]
    lake.table(PROGRESS).append(files, manifest.mark, SCHEMAS[PROGRESS], ())
    aged(lake)
    maintain(opening(), age=DAY)
    assert check(opening()) == 2


def test_progress_survives_expiry(opening: Opening) -> None:
    for _ in range(4):
        drive(opening())
    lake = opening()
    if isinstance(lake, IcebergLake):
        time.sleep(0.01)
        done = {item.table: item for item in maintain(lake, age=timedelta(0))}
        assert done[RAW].expired >= 4
        for name in TABLES:
            loaded = opening()
            assert isinstance(loaded, IcebergLake)
            assert len(loaded.catalog.load_table((loaded.namespace, name)).snapshots()) == 1
    else:
        for name in TABLES:
            table = DeltaTable(lake.store.url(name))
            table.alter.set_table_properties({"delta.logRetentionDuration": "interval 0 days"})
            table.create_checkpoint()
        aged(lake)
        maintain(lake, age=DAY)
        for name in TABLES:  # by deltalake's commit of the merged files, if not by us
            logs = [file.path for file in lake.store.files(f"{name}/_delta_log")]
            assert not any(path.endswith("00000000000000000001.json") for path in logs)
    assert check(opening()) == 4
    drive(opening())
    assert check(opening()) == 5


def test_progress_survives_what_other_programs_do(opening: Opening) -> None:
    """A foreign snapshot says nothing about an increment, and then all older ones expire."""
    mark = drive(opening())
    for name in TABLES:
        foreign(opening(), name)
        assert opening().table(name).mark() == mark
    lake = opening()
    if isinstance(lake, IcebergLake):
        for name in TABLES:
            table = lake.catalog.load_table((lake.namespace, name))
            kept = table.metadata.current_snapshot_id
            old = [each.snapshot_id for each in table.snapshots() if each.snapshot_id != kept]
            table.maintenance.expire_snapshots().by_ids(old).commit()
            assert opening().table(name).mark() == mark
    assert finish(opening()) == mark
    assert check(opening()) == 1
    drive(opening())
    assert check(opening()) == 2


def test_progress_is_counted_where_a_copy_has_no_marks(opening: Opening) -> None:
    """Such as a clone: nothing is added twice."""
    for _ in range(3):
        drive(opening())
    lake = opening()
    for name in TABLES:
        if isinstance(lake, IcebergLake):
            table = lake.catalog.load_table((lake.namespace, name))
            rows, location = table.scan().to_arrow(), table.location()
            lake.catalog.drop_table((lake.namespace, name))
            copy = lake.catalog.create_table((lake.namespace, name), rows.schema, location)
            copy.append(rows)
        else:
            place = lake.store.url(name)
            old = DeltaTable(place).to_pyarrow_table()
            shutil.rmtree(f"{place}/_delta_log")
            write_deltalake(place, old)
        known = opening().table(name).mark()
        assert known == Mark(3, "")
    assert finish(opening()) == known
    drive(opening())
    assert check(opening()) == 4


def test_a_lake_without_increments_needs_nothing(lake: Lake, tmp_path: Path) -> None:
    assert maintain(lake) == ()


def test_files_that_another_program_replaced_stay_replaced(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes between the look at the files and the commit; what was written for it goes."""
    for _ in range(3):
        drive(opening())
    lake = opening()
    replace = type(lake.table(RAW)).replace
    calls: list[list[str]] = []

    def late(self: LakeTable, old: list[LakeFile], new: list[LakeFile], mark: Mark) -> bool:
        if self.name == RAW:
            calls.append([file.path for file in new])
            foreign(opening(), RAW)
        return replace(self, old, new, mark)

    monkeypatch.setattr(type(lake.table(RAW)), "replace", late)
    done = {item.table: item for item in maintain(lake, age=DAY)}
    assert (done[RAW].merged, done[RAW].made) == (0, 0)
    assert calls
    assert not {path for new in calls for path in new} & {file.path for file in lake.store.files()}
    assert check(opening()) == 3
