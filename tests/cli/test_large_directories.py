"""Directories with very many files: work and output grow with their number, and no faster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.analysis.verification import verify
from kafkaspec.cli import console
from kafkaspec.files.checkpoints import offset_checkpoint
from tests.cli.helpers import run
from tests.work import lines

FEW, ROWS = 40, 10


def directory(top: Path, segments: int, others: int) -> Path:
    path = top / f"s{segments}-0"
    path.mkdir()
    for offset in range(segments):
        data = ks.encode([ks.Record(offset, 1_700_000_000_000, b"k", b"v")])
        (path / f"{offset:020d}.log").write_bytes(data)
    for number in range(others):
        (path / f"other{number}").touch()
    return path


def log_directory(top: Path, partitions: int, _others: int) -> Path:
    """Partitions that each have a finding which waits for all topic ids."""
    path = top / f"logs{partitions}"
    for number in range(partitions):
        partition = path / f"x-{number}"
        partition.mkdir(parents=True)
        (partition / f"{0:020d}.log").write_bytes(b"")
        (partition / "partition.metadata").write_bytes(b"?")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("make", [directory, log_directory], ids=["files", "partitions"])
def test_work_grows_with_the_number_of_files(
    tmp_path: Path, make: Callable[[Path, int, int], Path]
) -> None:
    counted = []
    for number in (FEW, 4 * FEW):
        place = make(tmp_path, number, number)
        counted.append(
            lines(partial(verify, place), "analysis/verification.py", "analysis/files.py")
        )
    assert counted[1] < 4.5 * counted[0], counted


@pytest.mark.parametrize(
    "command", [["dump"], ["find", "--timestamp", "1"], ["convert", "--no-check"]], ids=str
)
def test_checkpoints_are_read_once_for_all_partitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    place = log_directory(tmp_path, 5, 0)
    for name in ("log-start-offset-checkpoint", "replication-offset-checkpoint"):
        (place / name).write_text("0\n0\n")
    read: Counter[str] = Counter()
    original = offset_checkpoint.read

    def counted(path: Path) -> Any:
        read[path.name] += 1
        return original(path)

    monkeypatch.setattr(offset_checkpoint, "read", counted)
    output = ["-o", str(tmp_path / "out")] if command[0] == "convert" else []
    run(*command, place, *output)
    assert read["log-start-offset-checkpoint"] == 1
    assert set(read.values()) == {1}


@pytest.mark.slow
def test_a_table_has_so_many_rows_and_one_for_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "MAX_ROWS", ROWS)
    place = directory(tmp_path, FEW, FEW)
    damaged = place / f"{FEW - 1:020d}.log"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    result = run("verify", place)
    assert result.exit_code == 1
    table = result.stdout.split("\n\n")[1].splitlines()
    assert len(table) == 2 + ROWS + 1  # with the names of the columns and the line below them
    assert table[-1].split()[:4] == ["...", str(2 * FEW - ROWS), "more", str(2 * FEW - ROWS)]
    assert any(damaged.name in row and "1 error" in row for row in table)
    assert f"{FEW} files checked" in result.stdout


def test_index_shows_so_many_rows_and_one_for_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "MAX_ROWS", ROWS)
    place = directory(tmp_path, FEW, 0)
    result = run("index", place, "-o", tmp_path / "out")
    made = sum(1 for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert f"... {made - ROWS:,} more" in result.stdout
    assert f"{made:,} files made" in result.stdout
