"""Places that are given to a command: URLs, and folders above log directories."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import kafkaspec as ks
from tests.cli.helpers import golden, lines, run

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


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("command", [["verify"], ["dump"]], ids=lambda command: command[0])
def test_logs_further_below_are_named(tmp_path: Path, command: list[str], depth: int) -> None:
    folders = ["data", "kafka", "logs"][:depth]
    place = tmp_path.joinpath(*folders, "orders-0")
    place.mkdir(parents=True)
    (place / LOG).write_bytes(data())
    (tmp_path / "loop").symlink_to(".")
    result = run(*command, tmp_path)
    assert result.exit_code == 2
    assert "/".join(folders) in result.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["verify"],
        ["dump"],
        ["find", "--offset", "0"],
        ["explain"],
        ["index", "-o", "out"],
        ["salvage", "-o", "out"],
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


DELIVERING = {
    "dump": ["--format", "json"],
    "find": ["--offset", "0", "--format", "json"],
    "export": ["--to", "jsonl", "-o", "-"],
}
COPIES = {
    f"orders-0.{'a' * 32}-delete": "a partition that is being deleted",
    f"orders-0.{'b' * 32}-future": "a copy that a broker is moving here",
    f"orders-0.{'c' * 32}-stray": "a partition that the cluster did not know",
}


@pytest.mark.parametrize("command", DELIVERING)
def test_copies_of_a_partition_are_left_out_and_named(tmp_path: Path, command: str) -> None:
    """Named by themselves they are read, and said to be copies."""
    for name in ("orders-0", *COPIES):
        (tmp_path / name).mkdir()
        (tmp_path / name / LOG).write_bytes(data())
    result = run(command, *DELIVERING[command], tmp_path)
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 1)
    for name, text in COPIES.items():
        assert f"note: {tmp_path / name}: left out: {text}" in result.stderr
        for place in (tmp_path / name, tmp_path / name / LOG):
            alone = run(command, *DELIVERING[command], place)
            assert (alone.exit_code, len(alone.stdout.splitlines())) == (0, 1)
            assert f"note: {place}: {text}" in alone.stderr
    with ks.open(tmp_path) as opened:
        assert len(list(opened.records())) == len(list(opened.batches())) == 1


@pytest.mark.parametrize("command", DELIVERING)
def test_what_is_passed_over_is_named(tmp_path: Path, command: str) -> None:
    """Folders that are no partitions, files with numbers that are no offsets, and leftovers."""
    orders = tmp_path / "orders-0"
    for place in (orders, orders / "old", *(tmp_path / f"x{number}" for number in range(7))):
        place.mkdir()
    (tmp_path / "remote-log-index-cache").mkdir()
    for name in (LOG, f"{1:020d}.log.swap", f"{1:020d}.index.swap"):
        (orders / name).write_bytes(data())
    result = run(command, *DELIVERING[command], tmp_path)
    said = result.stderr
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 1)
    assert f"note: {tmp_path}: 7 folders were not read: x0, x1, x2, x3, x4 and 2 more" in said
    assert f"note: {orders}: 1 folder was not read: old" in said
    assert f"note: {orders}: 1 segment was not read: {1:020d}.log.swap" in said
    assert len(said.splitlines()) == 3 + (command == "export")
    beyond = orders / f"{2**63:020d}.log"
    beyond.write_bytes(data())
    result = run(command, *DELIVERING[command], tmp_path)
    assert (result.exit_code, len(result.stdout.splitlines())) == (1, 1)
    assert f"{beyond}: not read: the number in its name is not an offset" in result.stderr


LOGS = golden("4.3.1", "plain-0").parent
JUDGING = ("gaps", "producers", "transactions", "partitions", "groups", "explain")


@pytest.mark.slow
@pytest.mark.parametrize("command", JUDGING)
def test_an_answer_about_a_url_is_that_about_the_files(command: str, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    wanted = (
        "segments-0",
        "transactions-open-0",
        "compacted-0",
        "__consumer_offsets-0",
        "groups-0",
    )
    for name in wanted:
        shutil.copytree(LOGS / name, tmp_path / name)
    for path in (path for name in wanted for path in (tmp_path / name).iterdir()):
        files.pipe_file(f"/judged/{path.parent.name}/{path.name}", path.read_bytes())
    for name in wanted if command != "groups" else wanted[3:4]:
        here, there = str(tmp_path / name), f"memory://judged/{name}"
        shown = run(command, there, "--format", "json")
        local = run(command, here, "--format", "json")
        assert shown.exit_code == local.exit_code
        assert shown.stdout.replace(there, here) == local.stdout
        assert lines(shown)
    files.rm("/judged", recursive=True)


@pytest.mark.parametrize(
    "command",
    [
        ["find", "--offset", "1"],
        ["stats"],
        ["gaps"],
        ["producers"],
        ["transactions"],
        ["compaction", "--clock", "2026-12-01"],
        ["retention", "--clock", "2026-12-01"],
    ],
    ids=lambda command: command[0],
)
def test_a_topic_of_a_log_directory_is_its_partitions(tmp_path: Path, command: list[str]) -> None:
    home, alone = tmp_path / "logs", tmp_path / "alone"
    for name in ("plain-0", "segments-0", "transactions-0", "transactions-1"):
        shutil.copytree(LOGS / name, home / name)
    shutil.copytree(LOGS / "transactions-0", alone / "transactions-0")
    shutil.copytree(LOGS / "transactions-1", alone / "transactions-1")
    chosen = run(*command, home, "--topic", "transactions", "--format", "json")
    expected = run(*command, alone, "--format", "json")
    assert chosen.exit_code == expected.exit_code
    assert chosen.stdout.replace(str(home), str(alone)) == expected.stdout
    wrong = run(*command, home, "--topic", "plan")
    assert wrong.exit_code == 2
    assert "there is no topic 'plan'; did you mean 'plain'?" in wrong.stderr
