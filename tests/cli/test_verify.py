"""``kafkaspec verify``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kafkaspec.codecs import DEFAULT_CODEC, codec_names
from tests.cli.helpers import first_segment, golden, lines, run
from tests.goldens import FULL, GOLDEN

LOGS = [GOLDEN / version / "logs" for version in (FULL[0], FULL[-1])]


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """A copy of a golden partition with several segments."""
    return Path(shutil.copytree(golden("3.9.2", "segments-0"), tmp_path / "segments-0"))


@pytest.mark.slow
def test_golden_logs_of_two_versions(tmp_path: Path) -> None:
    result = run("verify", "--codec", "all", *LOGS)
    assert result.exit_code == 0
    assert result.stderr == ""
    for place in LOGS:
        assert f"{place.parent.name}/logs" in result.stdout
    last = result.stdout.splitlines()[-1]
    assert last.startswith("clean: ")
    assert f"codecs {', '.join(codec_names())} agree" in last


@pytest.mark.parametrize("codec", codec_names())
def test_each_codec(codec: str) -> None:
    result = run("verify", "--codec", codec, golden("2.8.2", "format-mixed-gzip-0"))
    assert result.exit_code == 0
    assert f"codec {codec}" in result.stdout


def test_log_directories_of_one_broker(tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(GOLDEN / "4.3.1" / "logs" / "plain-0", tmp_path / name / "plain-0")
        shutil.copy(GOLDEN / "4.3.1" / "logs" / "meta.properties", tmp_path / name)
    paths = (tmp_path / "one", tmp_path / "two")
    assert run("verify", *paths).exit_code == 0
    result = run("verify", "--one-broker", "--format", "json", *paths)
    assert result.exit_code == 1
    findings = [line for line in lines(result) if line["type"] == "finding"]
    assert [(line["reason"], line["action"]) for line in findings] == [
        ("directory_id", "refuses_start")
    ]
    data = (paths[1] / "meta.properties").read_bytes()
    assert findings[0]["file"] == str(paths[1] / "meta.properties")
    assert data[findings[0]["position"] :].startswith(b"directory.id=")


def test_rows_are_segments_of_one_partition(partition: Path) -> None:
    result = run("verify", partition)
    for path in partition.glob("*.log"):
        assert path.name in result.stdout
    assert "ok" in result.stdout


def test_rows_are_partitions_of_one_log_directory() -> None:
    result = run("verify", GOLDEN / "3.9.2" / "logs")
    assert "transactions-segments-0" in result.stdout
    assert "empty-0" in result.stdout


@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex", ".snapshot"])
def test_a_file_on_its_own(partition: Path, suffix: str) -> None:
    path = sorted(partition.glob(f"*{suffix}"))[0]
    result = run("verify", path)
    assert result.exit_code == 0
    assert path.name in result.stdout


def test_several_paths_and_a_missing_one(partition: Path) -> None:
    result = run("verify", partition, partition / "nope", golden("3.9.2", "plain-0"))
    assert result.exit_code == 2
    assert "no such file" in result.stderr
    assert "plain-0" in result.stdout


def test_findings_are_told_with_their_consequences(partition: Path) -> None:
    path = first_segment(partition)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    result = run("verify", partition)
    assert result.exit_code == 1
    assert "checksum_mismatch" in result.stdout
    assert "reader: A consumer fails at this batch" in result.stdout
    assert "broker: Recovery cuts the log here" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("not clean: ")


def test_json_lines(partition: Path) -> None:
    path = first_segment(partition)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    result = run("verify", "--format", "json", partition, partition / "nope")
    assert result.exit_code == 2
    events = lines(result)
    assert {event["type"] for event in events} == {"finding", "file", "failure", "summary"}
    finding = next(event for event in events if event["type"] == "finding")
    assert list(finding) == [
        "type",
        "file",
        "severity",
        "area",
        "reason",
        "message",
        "position",
        "offset",
        "path",
        "codec",
        "reader",
        "broker",
        "action",
    ]
    assert (finding["severity"], finding["action"]) == ("error", "cuts_log")
    files = [event for event in events if event["type"] == "file"]
    assert {event["file"] for event in files} == {
        str(item) for item in partition.iterdir() if item.is_file()
    }
    broken = next(event for event in files if event["file"] == str(path))
    assert not broken["clean"]
    assert broken["findings"] == {"error": 1, "warning": 0, "info": 0}
    summary = events[-1]
    assert summary["type"] == "summary"
    assert summary["batches"] == sum(event["batches"] for event in files)
    assert summary["codecs_used"] == [DEFAULT_CODEC]


def test_notes_do_not_make_it_unclean(partition: Path) -> None:
    (partition / "notes.txt").write_text("mine")
    result = run("verify", partition)
    assert result.exit_code == 0
    assert "notes.txt" in result.stdout
    assert "unknown_file" in result.stdout


def test_the_bound_of_decompression() -> None:
    result = run("verify", "--max-output", "100", golden("3.9.2", "codec-gzip-0"))
    assert result.exit_code == 1
    assert "decompressed_too_large" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify"],
        ["verify", "--nope", "x"],
        ["verify", "--codec", "nope", "x"],
        ["verify", "--format", "xml", "x"],
        ["verify", "--max-output", "0", "x"],
        ["nope"],
        ["--nope"],
        ["find", "x"],
        ["find", "x", "--offset", "1", "--timestamp", "1"],
        ["find", "x", "--offset", "1", "--plain"],
        ["find", "x", "--timestamp", "yesterday"],
        ["dump", "x", "--bytes", "hex"],
        ["explain", "x", "--offset", "1", "--position", "1"],
    ],
    ids=" ".join,
)
def test_wrong_usage(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage:" in result.stderr
    assert "Error:" in result.stderr


@pytest.mark.parametrize("command", ["verify", "dump", "find", "explain"])
def test_help_tells_the_exit_codes(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "Exit codes:" in " ".join(result.stdout.split())
