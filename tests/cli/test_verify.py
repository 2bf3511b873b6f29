"""``kafkaspec verify``."""

from __future__ import annotations

import io
import os
import shlex
import shutil
from functools import partial as partial_of
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import kafkaspec as ks
from kafkaspec.analysis import files as analysis_files
from kafkaspec.analysis import verification
from kafkaspec.analysis.files import read_directories
from kafkaspec.analysis.verify_segment import VerifyChecks
from kafkaspec.cli.commands.verify import print_report
from kafkaspec.codecs import DEFAULT_CODEC, codec_names
from kafkaspec.jobs import in_processes
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


@pytest.mark.slow
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
    assert "broker: Recovery truncates the log here" in result.stdout
    assert result.stdout.splitlines()[-2].startswith("not clean: ")


@pytest.mark.slow
def test_the_last_line_names_a_command_that_shows_the_worst_finding(partition: Path) -> None:
    path = first_segment(partition)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    path.with_suffix(".index").write_bytes(bytes(3))  # a warning
    last = run("verify", partition).stdout.splitlines()[-1]
    prompt, program, *command = shlex.split(last)
    assert (prompt, program) == ("next:", "kafkaspec")
    shown = run(*command)
    assert "WRONG" in shown.stdout
    assert "is in /message/content/crc" in shown.stdout
    path.write_bytes(golden("3.9.2", "segments-0").joinpath(path.name).read_bytes())
    last = run("verify", partition).stdout.splitlines()[-1]
    assert last == f"next: kafkaspec index {partition} -o OUT"


def test_both_positions_of_a_finding(partition: Path) -> None:
    """That of the field, and that of its batch, which the library tells too."""
    path = first_segment(partition)
    batches = list(ks.Segment(path).batches())
    data = bytearray(path.read_bytes())
    data[batches[2].end - 1] ^= 1
    path.write_bytes(data)
    result = run("verify", "--format", "json", partition)
    finding, gone = [event for event in lines(result) if event["type"] == "finding"]
    assert (gone["reason"], gone["offset"]) == ("missing_offsets", batches[2].base_offset)
    assert finding["entry"] == batches[2].position
    assert batches[2].position < finding["position"] < batches[2].end
    text = run("verify", partition).stdout
    assert f"at byte {finding['position']}, in the batch at byte {finding['entry']}" in text


def test_what_follows_from_one_cause_is_one_finding(tmp_path: Path) -> None:
    """A zeroed page: the log breaks off, and the indexes go on."""
    with ks.SegmentWriter(tmp_path / "t-0", index_interval_bytes=100) as writer:
        for number in range(100):
            record = ks.Record(number, 1_700_000_000_000 + number, None, bytes(range(150)), ())
            writer.append(ks.encode([record], magic=2))
    path = first_segment(tmp_path / "t-0")
    data = bytearray(path.read_bytes())
    data[4096:8192] = bytes(4096)
    path.write_bytes(data)
    findings = [
        event
        for event in lines(run("verify", "--format", "json", tmp_path / "t-0"))
        if event["type"] == "finding"
    ]
    assert [(event["area"], event["reason"]) for event in findings] == [
        ("batch", "checksum_mismatch"),
        ("batch", "invalid_value"),
        ("offset_index", "index_unchecked"),
        ("time_index", "index_unchecked"),
        ("files", "missing_offsets"),
    ]
    # Entries that point after the end of the file are wrong, and share one finding.
    path.write_bytes(data[:4000])
    reasons = {
        event["reason"]: event["message"]
        for event in lines(run("verify", "--format", "json", tmp_path / "t-0"))
        if event["type"] == "finding"
    }
    assert "torn_tail" in reasons


def test_findings_of_one_kind_are_grouped(partition: Path) -> None:
    path = first_segment(partition)
    batches = list(ks.Segment(path).batches())
    data = bytearray(path.read_bytes())
    for batch in batches:
        data[batch.end - 1] ^= 1
    path.write_bytes(data)
    assert len(batches) > 3
    text = run("verify", partition).stdout
    assert text.count("[checksum_mismatch]") == 1
    assert f"and {len(batches) - 1} more of this kind in the same file" in text
    assert sum(
        event["type"] == "finding" and event["reason"] == "checksum_mismatch"
        for event in lines(run("verify", "--format", "json", partition))
    ) == len(batches)


def test_quiet_and_severity(partition: Path) -> None:
    assert run("verify", "--quiet", partition).stdout == ""
    (partition / "notes.txt").write_text("mine")
    first_segment(partition).with_suffix(".index").write_bytes(bytes(3))
    quiet = run("verify", "-q", partition)
    assert quiet.exit_code == 1
    assert "unknown_file" in quiet.stdout
    assert "index_size" in quiet.stdout
    assert ".timeindex" not in quiet.stdout.replace(str(partition), "")
    severe = run("verify", "-q", "--severity", "warning", partition)
    assert "unknown_file" not in severe.stdout
    assert "index_size" in severe.stdout
    errors = run("verify", "--severity", "error", "--format", "json", "--quiet", partition)
    assert errors.exit_code == 1
    assert [event["type"] for event in lines(errors)] == ["summary"]


def test_a_narrow_terminal_keeps_names_whole(partition: Path) -> None:
    """A terminal of 80 columns has fewer columns of numbers, not names of several lines."""
    report = ks.verify(partition)
    for width, columns in ((200, "files size magic codecs"), (80, "batches records result")):
        out = io.StringIO()
        print_report(report, Console(file=out, width=width))
        text = out.getvalue()
        assert all(name in text for name in columns.split())
        for path in partition.glob("*.log"):
            assert path.name in text


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
    assert set(finding) == {
        "type", "file", "severity", "area", "reason", "message", "position", "offset", "offsets",
        "strength", "path", "codec", "entry", "reader", "broker", "action",
    }  # fmt: skip
    assert (finding["severity"], finding["action"]) == ("error", "cuts_log")
    files = [event for event in events if event["type"] == "file"]
    assert {event["file"] for event in files} == {
        str(item) for item in partition.iterdir() if item.is_file()
    }
    broken = next(event for event in files if event["file"] == str(path))
    assert not broken["clean"]
    # The warning says which offsets are missing.
    assert broken["findings"] == {"error": 1, "warning": 1, "info": 0}
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


@pytest.mark.slow
@pytest.mark.parametrize("form", ["text", "json"])
def test_jobs_change_nothing(partition: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setattr(verification, "VerifyChecks", partial_of(VerifyChecks, part_bytes=1 << 10))
    log = first_segment(partition)
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    command = ("verify", "--format", form, partition)
    one, many = (run(*command, "--jobs", jobs) for jobs in ("1", "3"))
    assert one.exit_code == many.exit_code == 1
    assert one.output == many.output


@pytest.mark.slow
@pytest.mark.parametrize("form", [pytest.param("text", marks=pytest.mark.slow), "json"])
@pytest.mark.parametrize("mapped", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_jobs_change_nothing_in_a_log_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, mapped: bool
) -> None:
    """Groups of small partitions, which other processes verify, between large ones."""
    monkeypatch.setattr(analysis_files, "MANY", 2)
    monkeypatch.setattr(analysis_files, "_MOST", 3)
    monkeypatch.setattr(verification, "VerifyChecks", partial_of(VerifyChecks, part_bytes=4 << 10))
    logs = tmp_path / "logs"
    shutil.copytree(golden("4.3.1", "plain-0").parent, logs)
    shutil.copytree(logs / "plain-0", logs / "plain-1.0123456789abcdef0123456789abcdef-delete")
    for number, path in enumerate(sorted(logs.glob("*/*.log"))):
        data = bytearray(path.read_bytes())
        if data and number % 3 == 0:
            data[len(data) // 2] ^= 1
            path.write_bytes(data)
    (logs / "plain-0" / "partition.metadata").write_text("version: 0\ntopic_id: x\n")
    directories = read_directories(logs)[1:]
    assert {group.small for group in analysis_files.groups_of(directories, 4 << 10)} == {
        True,
        False,
    }
    done: list[Any] = []
    processes = in_processes

    def seen(work: Any, items: Any, jobs: int) -> Any:
        for result in processes(work, items, jobs):
            done.append(result)
            yield result

    monkeypatch.setattr(verification, "in_processes", seen)
    command: list[str | Path] = ["verify", "--format", form, logs]
    command += [] if mapped else ["--no-mmap"]
    assert not done
    one, many = (run(*command, "--jobs", jobs) for jobs in ("1", "3"))
    assert one.exit_code == many.exit_code == 1
    assert one.output == many.output
    assert sum(map(len, done)) > 2


def _die(task: object) -> None:
    os._exit(9)


@pytest.mark.slow
def test_a_process_that_ends_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the system ends one that takes too much memory."""
    monkeypatch.setattr(analysis_files, "MANY", 2)
    monkeypatch.setattr(analysis_files, "_MOST", 1)
    monkeypatch.setattr(verification, "_group", _die)
    logs = golden("4.3.1", "plain-0").parent
    result = run("verify", logs, "--jobs", "2")
    assert result.exit_code == 2
    assert "one of the processes ended before its work was done" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_of_another_name_as_a_type(partition: Path, tmp_path: Path) -> None:
    """The same file, and the command that shows its damage knows what the file is."""
    data = bytearray(first_segment(partition).read_bytes())
    with ks.Segment(bytes(data)) as segment:
        *_, last = segment.batches()
    file = tmp_path / "upload.bin"
    file.write_bytes(data)
    assert run("verify", "--as", "recordbatch", file).exit_code == 0
    data[last.end - 1] ^= 1
    file.write_bytes(data)
    result = run("verify", "--as", "recordbatch", file)
    assert result.exit_code == 1
    shown = result.stdout.splitlines()[-1].removeprefix("next: kafkaspec ")
    assert f"--as recordbatch.entry --position {last.position}" in shown
    assert f"at byte {last.position}, {last.size} bytes" in run(*shlex.split(shown)).stdout
    for command in ("dump", "verify"):
        result = run(command, "--as", "index", file)
        assert result.exit_code == 2
        assert "Invalid value for '--as': 'index' is not one of" in result.stderr
