"""Commands that deliver records say what is missing, and exit with 1."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import kafkaspec as ks
from tests.cli.helpers import golden, lines, run

DELIVERING = ("dump", "dump --batches", "export", "convert", "find")


def deliver(command: str, path: Path, out: Path, *options: str) -> tuple[int, str]:
    """Return the exit code, and what was said."""
    more: list[str] = {
        "export": ["--to", "jsonl", "-o", str(out / "out.jsonl"), "--force"],
        "convert": ["-o", str(out / "out-0")],
        "find": ["--offset", "13"],
    }.get(command, [])
    shutil.rmtree(out / "out-0", ignore_errors=True)
    result = run(*command.split(), path, *more, *options)
    said = result.output if command == "convert" else result.stderr
    return result.exit_code, " ".join(said.split())


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """A partition with segments of 0 to 11, 12 to 23, 24 to 35 and the rest."""
    shutil.copytree(golden("4.3.1", "segments-0"), tmp_path / "segments-0")
    return tmp_path / "segments-0"


@pytest.mark.parametrize("command", DELIVERING)
def test_a_segment_cut_in_the_middle_of_a_log(
    partition: Path, command: str, tmp_path: Path
) -> None:
    assert deliver(command, partition, tmp_path)[0] == 0
    path = partition / f"{12:020d}.log"
    whole = path.read_bytes()
    for size, text in ((0, "offsets 12 to 23 are missing"), (300, "the last 300 bytes are the")):
        path.write_bytes(whole[:size])
        code, said = deliver(command, partition, tmp_path)
        assert (code, text in said, "offsets 12 to 23" in said) == (1, True, True), said
        assert path.name in said
        assert "verified" not in said


@pytest.mark.parametrize("command", DELIVERING)
def test_a_torn_end(partition: Path, command: str, tmp_path: Path) -> None:
    path = sorted(partition.glob("*.log"))[-1]
    os.truncate(path, path.stat().st_size - 5)
    code, said = deliver(command, partition, tmp_path)
    if command == "find":  # offset 13 lies before
        assert (code, said) == (0, "")
        assert run("find", "--offset", "44", partition).exit_code == 1
    else:
        assert code == 1
        assert "the beginning of a batch that is cut off" in said
        assert "verified" not in said


@pytest.mark.parametrize("command", ["dump", "export", "convert"])
def test_a_wrong_log_start_offset(partition: Path, command: str, tmp_path: Path) -> None:
    checkpoint = tmp_path / "log-start-offset-checkpoint"
    checkpoint.write_text("0\n1\nsegments 0 1000\n")
    code, said = deliver(command, partition, tmp_path, "--log-start", "checkpoint")
    assert code == 1
    assert "the log start offset 1000 is after the end of the log, 45: everything is left" in said
    assert "verified" not in said
    code, said = deliver(command, partition, tmp_path, "--log-start", "ignore")
    assert (code, "everything" in said) == (0, False)
    checkpoint.write_text("0\n1\nsegments 0 3\n")
    for path in partition.glob(f"{0:020d}.*"):
        path.unlink()
    code, said = deliver(command, partition, tmp_path, "--log-start", "checkpoint")
    assert code == 0
    assert "the log start offset 3 is before the first segment, 12" in said
    assert deliver(command, partition, tmp_path, "--log-start", "x")[0] == 2


@pytest.mark.slow
def test_all_commands_begin_where_a_broker_does(tmp_path: Path) -> None:
    """The log start offset is 25, and the batch with it begins at 24."""
    path = golden("4.3.1", "deleted-records-0")
    cases: list[tuple[list[str], int]] = [([], 25), (["--log-start", "ignore"], 24)]
    for number, (options, first) in enumerate(cases):
        export = ["--to", "jsonl", "-o", "-", *options]
        assert lines(run("dump", path, "--format", "json", *options))[0]["offset"] == first
        assert lines(run("export", path, *export))[0]["offset"] == first
        found = run("find", path, "--offset", "24", "--format", "json", *options)
        assert lines(found)[0]["record"]["offset"] == first
        out = tmp_path / f"out{number}-0"
        assert run("convert", path, "-o", out, *options).exit_code == 0
        assert next(iter(ks.open(out).records())).offset == first
        for command in ("dump", "export", "find"):
            code, said = deliver(command, path, tmp_path, *options)
            left = "below the log start offset 25 left out"
            assert (code, left in said) == (0, first == 25), command


@pytest.mark.slow
def test_convert_counts_what_it_leaves_out(partition: Path, tmp_path: Path) -> None:
    """Batches hold three records each."""
    for number, (option, value, records, batches) in enumerate(
        (
            ("--log-start", "13", "13 records", "4 whole batches"),
            ("--from-offset", "12", "12 records", "4 whole batches"),
            ("--until-offset", "44", "1 record", "0 whole batches"),
        )
    ):
        result = run("convert", partition, "-o", tmp_path / f"{number}-0", option, value)
        last = result.stdout.splitlines()[-1]
        assert result.exit_code == 0
        assert last.startswith(f"verified, left out: {records}, {batches}: 1 partition"), last
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nsegments 0 45\n")
    result = run("convert", partition, "-o", tmp_path / "all-0", "--format", "json")
    item, *_, summary = lines(result)
    assert result.exit_code == 0
    assert item["missing"] == []
    assert summary["losses"]["deleted"]["records"] == 45


def test_a_limit_ends_what_is_looked_at(partition: Path) -> None:
    os.truncate(partition / f"{12:020d}.log", 0)
    for limit, code in ((12, 0), (14, 1)):
        result = run("dump", "--format", "json", "--limit", str(limit), partition)
        assert (len(result.stdout.splitlines()), result.exit_code) == (limit, code)


def test_errors_end_a_dump_on_request_and_are_skipped_by_export(
    partition: Path, tmp_path: Path
) -> None:
    path = partition / f"{12:020d}.log"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    assert run("dump", "--on-error", "raise", partition).exit_code == 2
    assert run("dump", partition).exit_code == 1
    assert deliver("export", partition, tmp_path)[0] == 2
    assert not (tmp_path / "out.jsonl").exists()
    code, said = deliver("export", partition, tmp_path, "--on-error", "skip")
    assert (code, f"{path} at byte" in said, "42 records to" in said) == (1, True, True)


@pytest.mark.slow
def test_find_and_explain_agree_after_damage(partition: Path) -> None:
    """A broken batch is passed over unless it may hold the offset, with and without an index."""
    path = partition / f"{12:020d}.log"
    whole = path.read_bytes()
    for index in (True, False):
        if not index:
            path.with_suffix(".index").unlink()
        for position in (16, 8):  # of the second batch: its magic, its size
            data = bytearray(whole)
            data[399 + position] ^= 0x40
            path.write_bytes(data)
            for offset in (14, 16, 18, 21):
                found = run("find", "--format", "json", "--offset", str(offset), path)
                shown = run("explain", "--offset", str(offset), path)
                there = [item["position"] for item in lines(found) if item["found"]]
                if found.exit_code == 0:
                    assert shown.stdout.startswith(f"entry at byte {there[0]},"), offset
                else:
                    assert shown.exit_code == 2, offset
                    assert there == []
                # After a wrong size, only an entry of the index leads on: that of offset 20.
                reachable = offset // 3 != 5 if position == 16 else index and offset >= 20
                assert bool(there) == (offset < 15 or reachable), (offset, position, index)


def parquet_table(data: bytes) -> pa.Table:
    return parquet.read_table(pa.BufferReader(data))


def arrow_table(data: bytes) -> pa.Table:
    return pa.ipc.open_file(data).read_all()


@pytest.mark.parametrize("form", ["jsonl", "parquet", "arrow"])
def test_export_writes_to_standard_output(partition: Path, form: str, tmp_path: Path) -> None:
    file = tmp_path / "out"
    assert run("export", partition, "--to", form, "-o", file).exit_code == 0
    result = run("export", partition, "--to", form, "-o", "-")
    readers: dict[str, Callable[[bytes], object]] = {
        "jsonl": bytes,
        "parquet": parquet_table,
        "arrow": arrow_table,
    }
    read = readers[form]
    assert result.exit_code == 0
    assert read(result.stdout_bytes) == read(file.read_bytes())
    assert not (Path.cwd() / "-").exists()


@pytest.mark.parametrize("form", ["text", "json"])
def test_dump_writes_a_file_as_a_whole(partition: Path, form: str, tmp_path: Path) -> None:
    file = tmp_path / "out"
    command = ("dump", "--format", form, partition)
    printed = run(*command).stdout_bytes
    assert run(*command, "-o", "-").stdout_bytes == printed
    result = run(*command, "-o", file)
    assert (result.exit_code, result.stdout, file.read_bytes()) == (0, "", printed)
    assert run(*command, "-o", file).exit_code == 2  # it exists
    path = partition / f"{12:020d}.log"
    path.write_bytes(path.read_bytes()[:500])
    assert run(*command, "-o", file, "--force").exit_code == 1  # something is missing
    assert file.read_bytes() == run(*command).stdout_bytes != printed
    before = file.read_bytes()
    path.write_bytes(b"\0" * 30 + b"\2" * 300)
    assert run(*command, "-o", file, "--force", "--on-error", "raise").exit_code == 2
    assert file.read_bytes() == before
    assert sorted(item.name for item in tmp_path.iterdir()) == ["out", "segments-0"]
