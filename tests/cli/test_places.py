"""Places that are given to a command: URLs, and folders above log directories."""

from __future__ import annotations

from pathlib import Path

import pytest

import kafkaspec as ks
from tests.cli.helpers import lines, run

LOG = f"{0:020d}.log"


def data() -> bytes:
    return ks.encode([ks.Record(0, 1_700_000_000_000, b"k", b"v")])


def test_dump_and_find_read_urls() -> None:
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    url = f"memory://cli/logs/orders-0/{LOG}"
    files.pipe_file(f"/cli/logs/orders-0/{LOG}", data())
    for place in ("memory://cli/logs", "memory://cli/logs/orders-0", url):
        (record,) = lines(run("dump", "--format", "json", place))
        assert (record["file"], record["value"]) == (url, "v")
        (found,) = lines(run("find", "--offset", "0", "--format", "json", place))
        assert (found["file"], found["found"]) == (url, True)
        assert url in run("dump", place).stdout
    for command in (["dump"], ["find", "--offset", "0"]):
        result = run(*command, "memory://cli/nothing")
        assert result.exit_code == 2
        assert "memory://cli/nothing: there is no such file" in result.stderr
        result = run(*command, "nosuch://me:secret@place/x")
        assert result.exit_code == 2
        assert "nosuch://***@place/x" in result.stderr
        assert "secret" not in result.stderr
    files.rm("/cli", recursive=True)


@pytest.mark.parametrize(
    "command",
    [
        ["verify"],
        ["dump"],
        ["find", "--offset", "0"],
        ["explain"],
        ["index", "-o", "out"],
        ["convert", "-o", "out"],
        ["export", "--to", "jsonl", "-o", "out"],
    ],
    ids=lambda command: command[0],
)
def test_a_folder_above_log_directories_names_them(tmp_path: Path, command: list[str]) -> None:
    top = tmp_path / "kafka"
    for number in range(7):
        (top / f"disk{number}" / "orders-0").mkdir(parents=True)
        (top / f"disk{number}" / "orders-0" / LOG).write_bytes(data())
    (top / "other").mkdir()
    out = tmp_path / "out"
    result = run(*(str(out) if part == "out" else part for part in command), top)
    assert result.exit_code == 2
    said = " ".join(result.stderr.split())
    assert "folders in it do: disk0, disk1, disk2, disk3, disk4 and 2 more." in said
    assert not out.exists()
