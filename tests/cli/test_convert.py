"""``kafkaspec convert``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kafkaspec.cli import console
from kafkaspec.log.partition import Partition
from tests.cli.helpers import golden, lines, run


def test_it_says_what_was_lost_and_that_the_result_is_right(tmp_path: Path) -> None:
    source = golden("4.3.1", "headers-0")
    result = run("convert", source, "-o", tmp_path / "out-0", "--magic", "1")
    assert result.exit_code == 0
    with_headers = sum(bool(item.headers) for item in Partition(source).records())
    assert f"{with_headers} records: headers lost" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("verified: 1 partition")
    assert {batch.magic for batch in Partition(tmp_path / "out-0").batches()} == {1}


@pytest.mark.slow
def test_json_has_a_line_for_each_partition_and_sums(tmp_path: Path) -> None:
    source = golden("2.8.2", "plain-0").parent
    result = run("convert", source, "-o", tmp_path / "out", "--magic", "0", "--compression",
                 "gzip", "--aborted", "drop", "--format", "json")  # fmt: skip
    *others, summary = lines(result)
    assert result.exit_code == 0
    partitions = [item for item in others if item["type"] == "partition"]
    assert {item["type"] for item in others} == {"partition", "checkpoint"}
    assert summary["type"] == "summary"
    assert summary["clean"]
    assert summary["partitions"] == len(partitions)
    for kind, count in summary["losses"].items():
        for unit, number in count.items():
            sums = (item["losses"].get(kind, {}).get(unit, 0) for item in partitions)
            assert number == sum(sums)
    assert summary["losses"]["aborted_dropped"]["records"]
    assert "aborted_kept" not in summary["losses"]


def test_damage_is_exit_code_2_or_left_out_with_1(tmp_path: Path) -> None:
    shutil.copytree(golden("2.8.2", "plain-0"), tmp_path / "plain-0")
    (path,) = (tmp_path / "plain-0").glob("*.log")
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    out = tmp_path / "out-0"
    result = run("convert", tmp_path / "plain-0", "-o", out)
    assert result.exit_code == 2
    assert f"{path} at byte" in result.stderr
    assert not out.exists()
    result = run("convert", tmp_path / "plain-0", "-o", out, "--on-error", "skip")
    assert result.exit_code == 1
    assert f"left out: {path} at byte" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("1 batch left out")


@pytest.mark.slow
def test_an_error_of_one_partition_stays_with_it(tmp_path: Path) -> None:
    """Whoever reads the report at night sees what is missing, and what to do about it."""
    logs, out = tmp_path / "logs", tmp_path / "out"
    for name in ("plain-0", "headers-0"):
        shutil.copytree(golden("4.3.1", name), logs / name)
    (logs / f"plain-0.{'a' * 32}-delete").mkdir()
    (logs / "lost+found").mkdir()
    (path,) = (logs / "headers-0").glob("*.log")
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    result = run("convert", logs, "-o", out)
    *_, failed, last, following = result.stdout.splitlines()
    assert result.exit_code == 1
    assert failed.startswith(f"not converted: {path} at byte")
    assert last.startswith("1 partition not converted; others verified: 1 partition, ")
    assert "--on-error skip" in following
    assert "-delete: left out: a partition that is being deleted" in result.stdout
    assert f"note: {logs}: 1 folder was not read: lost+found" in result.stdout
    assert [item.name for item in out.iterdir()] == ["plain-0"]
    summary = lines(run("convert", logs, "-o", tmp_path / "json", "--format", "json"))[-1]
    assert [item["path"] for item in summary["failed"]] == [str(logs / "headers-0")]


def test_its_table_has_so_many_rows_and_one_for_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "MAX_ROWS", 2)
    for number in range(5):
        shutil.copytree(golden("0.8.2.2", "empty-0"), tmp_path / "logs" / f"empty-{number}")
    shutil.copytree(golden("4.3.1", "plain-0"), tmp_path / "logs" / "plain-0")
    (tmp_path / "logs" / "plain-0" / "partition.metadata").write_text("junk")
    result = run("convert", tmp_path / "logs", "-o", tmp_path / "out")
    assert result.exit_code == 1
    rows = [line.split() for line in result.stdout.split("\n\n")[0].splitlines()[3:]]
    assert [row[:2] for row in rows] == [["empty-0", "1"], ["plain-0", "1"], ["...", "4"]]


def test_it_takes_the_options_of_dump_and_export(tmp_path: Path) -> None:
    source = golden("4.3.1", "transactions-0")
    wanted = ("--from-time", "2021-01-01T00:00:01Z", "--until-time", "2021-01-01T00:00:02",
              "--isolation", "read_committed", "--until-offset", "20")  # fmt: skip
    assert run("convert", source, "-o", tmp_path / "out-0", *wanted).exit_code == 0
    converted, expected = (
        [(item["offset"], item["value"]) for item in lines(result) if not item["control"]]
        for result in (
            run("dump", tmp_path / "out-0", "--format", "json"),
            run("dump", source, "--format", "json", *wanted),
        )
    )
    assert converted == expected != []


@pytest.mark.parametrize(
    "options",
    [
        ["--magic", "3"], ["--compression", "zstd", "--magic", "1"], ["--level", "3"],
        ["--base-offset", "4"], ["--profile", "17.3"], ["--segment-bytes", "0"],
        ["--from-offset", "9", "--until-offset", "3"], ["--leader-epoch", "-2"],
        ["--profile", "0.8.2"], ["--from-time", "9", "--until-time", "3"],
    ],
)  # fmt: skip
def test_wrong_usage_is_exit_code_2_and_writes_nothing(options: list[str], tmp_path: Path) -> None:
    result = run("convert", golden("2.8.2", "plain-0"), "-o", tmp_path / "out-0", *options)
    assert result.exit_code == 2
    assert result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_is_not_there_is_exit_code_2(tmp_path: Path) -> None:
    result = run("convert", tmp_path / "none", "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert "no such file" in result.stderr


def test_out_must_be_new(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = run("convert", golden("2.8.2", "plain-0"), "-o", tmp_path)
    assert result.exit_code == 2
    assert "exists already" in result.stderr
