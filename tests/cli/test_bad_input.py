"""Input that is broken, missing or something else: a clear message, the right exit code."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkaspec.cli.main import main
from kafkaspec.io import local
from tests.cli.helpers import ROOT, fingerprint, first_segment, golden, lines, run
from tests.goldens import GOLDEN


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    return Path(shutil.copytree(golden("3.9.2", "segments-0"), tmp_path / "segments-0"))


def missing(partition: Path) -> Path:
    return partition / "00000000000000009999.log"


def empty_segment(partition: Path) -> Path:
    path = first_segment(partition)
    for file in partition.iterdir():
        file.unlink()
    path.write_bytes(b"")
    return path


def empty_other(partition: Path) -> Path:
    path = partition / "data.bin"
    path.write_bytes(b"")
    return path


def no_segments(partition: Path) -> Path:
    for path in partition.iterdir():
        path.unlink()
    (partition / "notes.txt").write_text("nothing of Kafka's")
    return partition


def text_file(partition: Path) -> Path:
    path = partition / "notes.txt"
    path.write_text("This is a text file, and not a short one at that.\n" * 20)
    return path


def text_segment(partition: Path) -> Path:
    path = first_segment(partition)
    path.write_text("This is a text file, and not a short one at that.\n" * 20)
    return path


def cut(partition: Path) -> Path:
    path = sorted(partition.glob("*.log"))[-1]
    os.truncate(path, path.stat().st_size - 5)
    return partition


def zeros(partition: Path) -> Path:
    path = sorted(partition.glob("*.log"))[-1]
    path.write_bytes(path.read_bytes() + bytes(4096))
    return partition


def flipped_bit(partition: Path) -> Path:
    path = first_segment(partition)
    data = bytearray(path.read_bytes())
    data[100] ^= 0x10
    path.write_bytes(data)
    return partition


def wrong_index(partition: Path) -> Path:
    path = first_segment(partition).with_suffix(".index")
    data = bytearray(path.read_bytes())
    data[4:8] = struct.pack(">i", 17)
    path.write_bytes(data)
    return partition


def wrong_time_index(partition: Path) -> Path:
    path = first_segment(partition).with_suffix(".timeindex")
    data = bytearray(path.read_bytes())
    data[8:12] = struct.pack(">i", 11)
    path.write_bytes(data)
    return partition


def dangling_link(partition: Path) -> Path:
    (partition / "00000000000000009999.log").symlink_to("nowhere")
    return partition


def pipe(partition: Path) -> Path:
    path = partition / "00000000000000009999.log"
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    return path


@pytest.mark.parametrize(
    ("damage", "code", "message"),
    [
        (missing, 2, "there is no such file or directory"),
        (empty_segment, 0, "empty"),
        (empty_other, 2, "it is not a Kafka log segment"),
        (no_segments, 2, "there is no Kafka log here"),
        (text_file, 2, "it is not a Kafka log segment"),
        (text_segment, 1, "torn_tail"),
        (cut, 1, "torn_tail"),
        (zeros, 1, "zero_tail"),
        (flipped_bit, 1, "checksum_mismatch"),
        (wrong_index, 1, "index_position"),
        (wrong_time_index, 1, "time_index_meaning"),
        (dangling_link, 1, "No such file"),
        (pipe, 2, "not a regular file"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_verify(partition: Path, damage: Callable[[Path], Path], code: int, message: str) -> None:
    path = damage(partition)
    before = None if damage is pipe else fingerprint(partition)
    result = run("verify", path)
    assert message in result.output
    assert result.exit_code == code
    assert before is None or fingerprint(partition) == before


@pytest.mark.parametrize("command", [["dump"], ["find", "--offset", "1"], ["explain"]], ids=str)
@pytest.mark.parametrize("damage", [missing, empty_other, no_segments, text_file])
def test_other_commands_do_not_read_what_is_no_log(
    partition: Path, damage: Callable[[Path], Path], command: list[str]
) -> None:
    result = run(*command, damage(partition))
    assert result.exit_code == 2
    assert result.stderr.startswith("kafkaspec: ")


@pytest.mark.parametrize("damage", [cut, zeros, flipped_bit, wrong_index, wrong_time_index])
@pytest.mark.parametrize(
    "command",
    [
        ["dump"],
        ["dump", "--batches"],
        ["dump", "--format", "json"],
        ["find", "--offset", "1"],
        ["find", "--timestamp", "2021-01-01"],
    ],
    ids=str,
)
def test_nothing_on_disk_changes(
    partition: Path, damage: Callable[[Path], Path], command: list[str]
) -> None:
    path = damage(partition)
    before = fingerprint(partition)
    result = run(*command, path)
    assert result.exit_code in (0, 1)
    assert fingerprint(partition) == before


def test_a_path_that_cannot_be_read_is_not_clean(partition: Path) -> None:
    result = run("verify", "--format", "json", partition, missing(partition))
    assert result.exit_code == 2
    assert lines(result)[-1]["clean"] is False


@pytest.mark.parametrize(
    "command",
    [
        ["convert", "-o", "out"],
        ["index", "-o", "out"],
        ["salvage", "-o", "out"],
    ],
    ids=lambda command: command[0],
)
def test_a_url_is_refused_by_name(command: list[str]) -> None:
    result = run(*command, "s3://me:secret@backup/logs/orders-0")
    assert result.exit_code == 2
    assert "s3://***@backup/logs/orders-0 is a URL" in result.stderr
    assert "which this command does not read" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    "command",
    [
        ["dump", "--force"],
        ["export", "--to", "jsonl", "--force"],
        ["convert"],
        ["index"],
        ["salvage"],
    ],
    ids=lambda command: command[0],
)
def test_no_output_inside_of_the_log(partition: Path, command: list[str]) -> None:
    before = fingerprint(partition)
    places = [partition / "out"] + [first_segment(partition)] * ("--force" in command)
    for place in places:
        result = run(*command, partition, "-o", place)
        assert result.exit_code == 2
        assert " inside " in result.stderr
    if "--force" in command:
        segment = first_segment(partition)
        assert run(*command, segment, "-o", segment).exit_code == 2
    assert fingerprint(partition) == before


@pytest.mark.parametrize("command", [["dump"], ["export", "--to", "jsonl"]], ids=str)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_no_device_or_pipe_is_replaced(partition: Path, tmp_path: Path, command: list[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    result = run(*command, "--force", partition, "-o", pipe)
    assert result.exit_code == 2
    assert f"{pipe}: it cannot be written: it is not a regular file" in result.stderr
    assert pipe.is_fifo()


def test_the_library_finds_out_what_cannot_be_read(
    partition: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its error has the file and the reason; that of click's parameters has neither."""
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    assert run("verify", partition).exit_code == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission(partition: Path) -> None:
    path = first_segment(partition)
    path.chmod(0)
    for place in (path, partition):
        result = run("verify", place)
        assert result.exit_code == (2 if place == path else 1)
        assert "Permission denied" in result.output


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_directory_without_permission(partition: Path) -> None:
    partition.chmod(0)
    try:
        result = run("verify", partition)
    finally:
        partition.chmod(0o700)
    assert result.exit_code == 2
    assert "Permission denied" in result.output


@pytest.mark.parametrize(
    ("damage", "message"),
    [(cut, "the beginning of a batch that is cut off"), (zeros, "are zeros")],
    ids=["cut", "zeros"],
)
@pytest.mark.parametrize("command", ["dump", "export"])
def test_the_torn_end_of_a_log_is_reported(
    partition: Path, damage: Callable[[Path], Path], message: str, command: str, tmp_path: Path
) -> None:
    options: dict[str, list[str]] = {
        "dump": ["--format", "json"],
        "export": ["--to", "jsonl", "-o", str(tmp_path / "out")],
    }
    for path in (damage(partition), sorted(partition.glob("*.log"))[-1]):
        result = run(command, *options[command], path)
        # A batch that is cut off is lost; zeros are what preallocated files have.
        assert (result.exit_code, message in result.stderr) == (int(damage is cut), True)
        assert result.stderr.count("the log ends there") == (damage is zeros)
        assert ("offsets 42 to 44 are missing: the last " in result.stderr) == (damage is cut)
        (tmp_path / "out").unlink(missing_ok=True)


COMMANDS: tuple[list[str], ...] = (
    ["dump"], ["verify"], ["find", "--offset", "3"], ["find", "--max-timestamp"],
    ["explain", "--position", "70"], ["explain", "--as", "recordbatch.entry"],
    ["index", "-o", "indexes"], ["convert", "-o", "converted-0"], ["salvage", "-o", "salvaged-0"],
    ["export", "--to", "arrow", "-o", "exported"],
)  # fmt: skip


@pytest.mark.slow
def test_without_mmap_no_file_is_mapped(
    partition: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading a page of a mapped file that became shorter kills the process."""
    monkeypatch.chdir(tmp_path)
    expected = [run(*command, *_inputs(command, partition)).stdout for command in COMMANDS]
    for name in ("indexes", "converted-0", "salvaged-0"):
        shutil.rmtree(name)
    Path("exported").unlink()
    monkeypatch.setattr(local, "mmap", None)
    with pytest.raises(AttributeError):
        run("dump", partition)
    for command, text in zip(COMMANDS, expected, strict=True):
        result = run(*command, "--no-mmap", *_inputs(command, partition))
        assert (result.exit_code, result.stdout) == (0, text), command
    with pytest.raises(AttributeError):
        run("dump", partition)


EVERY: dict[str, list[str | Path]] = {
    "transactions": [GOLDEN / "4.3.1" / "logs"],
    "groups": [GOLDEN / "4.3.1" / "logs"],
    "cluster": [GOLDEN / "4.3.1" / "logs"],
    "restore": [GOLDEN / "4.3.1" / "logs"],
    "producers": [golden("4.3.1", "idempotent-0")],
    "gaps": [golden("4.3.1", "compacted-0")],
    "dlq": [GOLDEN.parent / "forensics" / "dead_letters"],
    "doctor": [GOLDEN / "4.3.1" / "logs"],
    "retention": ["--clock", "0", golden("4.3.1", "segments-0")],
    "compaction": ["--clock", "0", golden("4.3.1", "compacted-0")],
    "diff": [ROOT / "tests/forensics/replicas" / each for each in "ab"],
    "redact": ["--all-values", "-o", "redacted-0", golden("4.3.1", "plain-0")],
    "partitions": [golden("4.3.1", "plain-0")],
    "remote": [GOLDEN / "4.3.1" / "tiered" / "logs"],
    "schemas": [ROOT / "tests/values/data/karapace/logs"],
    "stats": [golden("4.3.1", "plain-0")],
    "sql": [golden("4.3.1", "plain-0"), 'SELECT sum("offset") FROM plain'],
    "verify": [golden("4.3.1", "plain-0")],
}
"""Commands that ``COMMANDS`` does not have, each with paths."""
_NEVER_MAP = {"assemble", "explore", "conform", "generate", "spark", "spec"}


@pytest.mark.slow
def test_every_command_that_reads_logs_can_do_without_mapping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_commands = set(main.list_commands(None))  # type: ignore[arg-type]
    assert all_commands == {*EVERY, *(command[0] for command in COMMANDS), *_NEVER_MAP}
    monkeypatch.chdir(tmp_path)
    expected = {}
    for name, arguments in EVERY.items():
        expected[name] = run(name, *arguments)
        assert expected[name].exit_code in (0, 1), expected[name].output
        shutil.rmtree("redacted-0", ignore_errors=True)
    monkeypatch.setattr(local, "mmap", None)
    for name, arguments in EVERY.items():
        result = run(name, "--no-mmap", *arguments)
        assert (result.exit_code, result.stdout) == (
            expected[name].exit_code,
            expected[name].stdout,
        ), name


def _inputs(command: list[str], partition: Path) -> list[Path]:
    return [first_segment(partition) if command[0] == "explain" else partition]
