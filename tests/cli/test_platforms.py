"""What Windows and macOS do in another way, as far as Linux can show it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.analysis.files import MANY
from tests.goldens import GOLDEN

pytestmark = pytest.mark.slow

_ELSEWHERE = """
import multiprocessing, sys, types
from kafkaspec import jobs
jobs.sys = types.SimpleNamespace(platform="darwin")
begun = []
context = multiprocessing.get_context
multiprocessing.get_context = lambda kind: begun.append(kind) or context(kind)
from kafkaspec.cli.main import main
try:
    main()
finally:
    print(begun, file=sys.stderr)
"""
_VALUE = "日本 😀 \N{LATIN SMALL LETTER E WITH ACUTE}"


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    settings = os.environ | {"COLUMNS": "200"} | environment
    return subprocess.run([sys.executable, *command], env=settings, capture_output=True)


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    folder = tmp_path / "topic-0"
    folder.mkdir()
    record = ks.Record(0, 1_700_000_000_000, b"k", _VALUE.encode())
    (folder / "00000000000000000000.log").write_bytes(ks.encode([record]))
    return folder


@pytest.mark.parametrize(
    "options",
    [
        ["dump"],
        ["dump", "--format", "json"],
        ["dump", "-f", "%s\\n"],
        ["find", "--offset", "0"],
        ["export", "--to", "jsonl", "-o", "-"],
    ],
    ids=" ".join,
)
def test_pipes_get_utf8_whatever_the_terminal_speaks(partition: Path, options: list[str]) -> None:
    """Windows has a page of 256 characters for pipes; one that is missing ended the command."""
    done = run("-m", "kafkaspec", *options, partition, PYTHONIOENCODING="cp1252", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert _VALUE.encode() in done.stdout


def test_sql_gives_a_pipe_utf8(partition: Path) -> None:
    pytest.importorskip("duckdb")
    query = "SELECT decode(value) FROM topic"
    done = run(
        "-m", "kafkaspec", "sql", partition.parent, query, PYTHONIOENCODING="cp1252", PYTHONUTF8="0"
    )
    assert done.returncode == 0, done.stderr
    assert _VALUE.encode() in done.stdout


def test_processes_that_begin_anew_give_the_same(tmp_path: Path) -> None:
    """As on Windows and macOS, where a process is no copy of the one that starts it."""
    (original,) = (GOLDEN / "4.4.0" / "logs" / "empty-0").glob("*.log")
    for number in range(MANY):
        folder = tmp_path / f"topic-{number}"
        folder.mkdir()
        (folder / original.name).write_bytes(original.read_bytes())
    for options in (["verify", "--quiet"], ["find", "--offset", "0"]):
        given = [*options, "--jobs", "2", str(tmp_path)]
        copied = run("-m", "kafkaspec", *given)
        anew = run("-c", _ELSEWHERE, *given)
        assert b"'spawn'" in anew.stderr, anew.stderr
        assert (anew.returncode, anew.stdout) == (copied.returncode, copied.stdout)


def test_a_path_with_a_drive_is_no_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("C:\\logs\\topic-0", "C:/logs/topic-0"):
        with pytest.raises(ks.KafkaSpecError) as caught:
            ks.open(name)
        assert "there is no such file" in str(caught.value)
