"""No row is twice or missing, whenever a driver dies and however many there are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from kafkaspec.errors import KafkaSpecError
from kafkaspec.lake.base import ATTEMPTS, Lake, LakeConflictError, LakeTable
from kafkaspec.lake.epochs import commit, finish, folders, newest, read_manifest
from kafkaspec.lake.iceberg import IcebergLake
from kafkaspec.lake.manifest import Manifest, Mark
from kafkaspec.lake.schema import BATCHES, DEAD, PROGRESS, RAW, SCHEMAS
from kafkaspec.lake.tables import open_lake
from tests.lake.conftest import Opening
from tests.lake.increments import TYPED, columns, drive, expected, read, write

pytestmark = pytest.mark.slow  # ``test_tables.py`` and ``test_units.py`` are for make quick

TABLES = (*SCHEMAS, TYPED)
ROOT = Path(__file__).parents[2]


def check(lake: Lake) -> int:
    """Check that all tables have the same increments, each once; return how many."""
    mark = lake.table(PROGRESS).mark()
    assert mark is not None
    assert newest(lake) == (mark, None)
    for table in TABLES:
        assert read(lake, table) == expected(table, mark.epoch), table
    return mark.epoch


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 10])
def test_killed_drivers_leave_nothing_twice_and_nothing_missing(
    tmp_path: Path, to: str, times: int
) -> None:
    """At each step: before and after the manifest, each table made, and each commit."""
    program = [sys.executable, "-m", "tests.lake.killing", str(tmp_path), to, str(times), "0", "1"]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lakes = [path for path in tmp_path.iterdir() if path.is_dir() and path.name != "steps"]
    least = {("delta", 1): 22, ("delta", 10): 12, ("iceberg", 1): 38, ("iceberg", 10): 22}
    assert len(lakes) >= least[to, times]
    for path in lakes:
        assert check(open_lake(str(path))) >= times


def test_an_increment_that_is_pending_is_finished(opening: Opening) -> None:
    """By a driver that knows nothing of the one that began it, table by table."""
    for tables in ((PROGRESS,), (PROGRESS, BATCHES), (PROGRESS, BATCHES, DEAD, TYPED), TABLES):
        lake = opening()
        known = finish(lake)
        mark = Mark.new(1 if known is None else known.epoch + 1)
        manifest = write(lake, mark)
        for name in tables:
            files = [file for file in manifest.files if file.table == name]
            if files:
                table = lake.table(name)
                table.append(files, mark, columns(name), folders(name))
        other = opening()
        assert newest(other) == (mark, None if tables == TABLES else manifest)
        assert finish(other) == mark
        assert finish(other) == mark
        assert check(opening()) == mark.epoch


def test_two_drivers_from_the_same_progress(opening: Opening) -> None:
    """One wins; the other stops, whether its tables were opened before or after."""
    drive(opening())
    for fresh in (False, True):
        first, second = opening(), opening()
        known = finish(first)
        assert known is not None
        assert finish(second) == known
        mine, others = Mark.new(known.epoch + 1), Mark.new(known.epoch + 1)
        manifest = write(first, mine)
        rival = write(second, others)
        assert commit(first, manifest) == commit_order(manifest)
        with pytest.raises(LakeConflictError) as caught:
            commit(opening() if fresh else second, rival)
        assert caught.value.file == second.store.url(PROGRESS)
        for text in (f"increment {mine.epoch} belongs to another run", mine.run, others.run):
            assert text in str(caught.value)
        assert commit(first, manifest) == []
        assert check(opening()) == mine.epoch
    late = write(second, others)  # long after
    with pytest.raises(LakeConflictError):
        commit(second, late)
    drive(second)
    check(opening())


def commit_order(manifest: Manifest) -> list[str]:
    names = [file.table for file in manifest.files]
    return [name for name in (PROGRESS, BATCHES, DEAD, TYPED, RAW) if name in names]


def test_a_commit_between_the_look_and_the_commit(
    opening: Opening, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rival commits when the other has looked already: its commit fails, and it looks again."""
    drive(opening())
    first, second = opening(), opening()
    manifest, rival = write(first, Mark.new(2)), write(second, Mark.new(2))
    table = first.table(PROGRESS)
    cls: Any = type(table)
    look = cls._mark

    def looked(self: LakeTable, handle: Any) -> Mark | None:
        found: Mark | None = look(self, handle)
        monkeypatch.setattr(cls, "_mark", look)
        commit(second, rival)
        return found

    monkeypatch.setattr(cls, "_mark", looked)
    with pytest.raises(LakeConflictError):
        commit(first, manifest)
    assert check(opening()) == 2


def test_a_commit_of_others_between_is_no_conflict(
    opening: Opening, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a new property or a compaction: the commit is tried again."""
    drive(opening())
    lake = opening()
    manifest = write(lake, Mark.new(2))
    cls: Any = type(lake.table(RAW))
    look = cls._mark
    times: list[int] = []

    def looked(self: LakeTable, handle: Any) -> Mark | None:
        found: Mark | None = look(self, handle)
        if len(times) < ATTEMPTS - 5:
            times.append(1)
            foreign(opening(), self.name)
        return found

    monkeypatch.setattr(cls, "_mark", looked)
    commit(lake, manifest)
    assert check(opening()) == 2


def foreign(lake: Lake, name: str) -> None:
    """Commit something of another program's to a table."""
    if isinstance(lake, IcebergLake):
        loaded = lake.catalog.load_table((lake.namespace, name))
        with loaded.transaction() as transaction:
            transaction.overwrite(loaded.scan().to_arrow())
    else:
        DeltaTable(lake.store.url(name)).optimize.compact(min_commit_interval=0)


def test_no_news_makes_no_snapshot(opening: Opening) -> None:
    for _ in range(2):
        drive(opening())
    lake = opening()
    before = {file.path: file.size for file in lake.store.files()}
    mark = finish(opening())
    assert mark is not None
    commit(opening(), read_manifest(opening(), mark))
    finish(opening())
    assert {file.path: file.size for file in lake.store.files()} == before


def test_an_increment_has_progress(lake: Lake) -> None:
    manifest = write(lake, Mark.new(1), (RAW,))
    with pytest.raises(KafkaSpecError, match="the increment has no file of progress"):
        commit(lake, manifest)
    assert lake.tables() == []


def test_a_manifest_that_is_lost_or_no_manifest_is_an_error(lake: Lake) -> None:
    mark = drive(lake)
    path = f"_epochs/{mark.epoch}-{mark.run}.json"
    whole = json.loads(lake.store.read(path))
    file = next(item for item in whole["files"] if item["table"] == RAW)
    files = [
        {**file, "path": f"{RAW}/../../other.parquet"},
        {**file, "path": "/other.parquet"},
        {**file, "table": "../other", "path": "../other/a.parquet"},
        {**file, "values": []},
        {**file, "values": {"day": "yesterday"}},
        {},
    ]
    for content in (
        b"", b"[]", b'{"version": 2}',
        *(json.dumps({**whole, "files": [item]}).encode() for item in files),
        *(json.dumps({**whole, **other}).encode() for other in ({"epoch": 7}, {"run": "0"})),
    ):  # fmt: skip
        lake.store.write(path, content)
        with pytest.raises(KafkaSpecError, match=path):
            finish(lake)
    lake.store.remove(path)
    with pytest.raises(KafkaSpecError, match=path):
        finish(lake)
