"""Files beside a log that are no files, are endless or lead nowhere: trouble stays where it is."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.files import names
from kafkaspec.io.local import SIDE_FILE_BYTES
from kafkaspec.log.directory import LogDirectory
from tests.cli.helpers import lines, process, run
from tests.log.forge import legacy

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes and links")

LOG, INDEX = f"{0:020d}.log", f"{0:020d}.index"
SIDE_FILES = (
    INDEX,
    f"{0:020d}.timeindex",
    f"{0:020d}.txnindex",
    f"{0:020d}.snapshot",
    names.LEADER_EPOCHS,
    names.PARTITION_METADATA,
    names.QUORUM_STATE,
)
ROOT_FILES = (*names.OFFSET_CHECKPOINTS, names.META_PROPERTIES, names.CLEAN_SHUTDOWN)


@pytest.fixture(autouse=True)
def _no_waiting() -> Iterator[None]:
    """A read that would wait for ever, or never end, is interrupted."""

    def stop(*_: Any) -> None:
        raise TimeoutError("it waits")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def partition(logs: Path, name: str) -> Path:
    path = logs / name
    path.mkdir(parents=True)
    (path / LOG).write_bytes(ks.encode([ks.Record(0, 1_700_000_000_000, b"k", b"v")]))
    return path


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def circle(path: Path) -> None:
    path.symlink_to(path.name)


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


WRONG = (pipe, endless, circle, huge)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A partition for each wrong kind of file, with one of each name, and a sound one."""
    top = tmp_path / "logs"
    for wrong in WRONG:
        place = partition(top, f"{wrong.__name__}-0")
        for name in SIDE_FILES:
            wrong(place / name)
    for number, name in enumerate(ROOT_FILES):
        WRONG[number % len(WRONG)](top / name)
    partition(top, "sound-0")
    return top


@pytest.mark.slow
def test_verify_has_a_finding_for_each_and_goes_on(logs: Path) -> None:
    (logs / "lost-0").symlink_to("lost-0")
    (logs / "circle-0" / f"{5:020d}.log").symlink_to(f"{5:020d}.log")
    result = run("verify", "--format", "json", logs)
    found = lines(result)
    assert result.exit_code == 1
    assert found[-1]["type"] == "summary"
    refused = {line["file"] for line in found if line.get("reason") == "unreadable"}
    expected = {
        str(logs / f"{wrong.__name__}-0" / name)
        for wrong in WRONG
        for name in SIDE_FILES
        if not (wrong is huge and name.endswith("index"))  # mapped, and never read as a whole
    }
    expected |= {str(logs / name) for name in ROOT_FILES}
    expected |= {str(logs / "lost-0"), str(logs / "circle-0" / f"{5:020d}.log")}
    assert expected <= refused
    checked = {line["file"] for line in found if line["type"] == "file" and line.get("records")}
    assert checked == {str(path) for path in logs.glob(f"*/{LOG}")} - {
        str(logs / "circle-0" / f"{5:020d}.log")
    }


@pytest.mark.parametrize(
    "command",
    [
        ["convert", "-o", "out"],
        ["index", "-o", "out"],
        ["dump"],
        ["export", "--to", "jsonl"],
        ["transactions"],
        ["retention"],
        ["producers"],
        ["salvage", "-o", "out"],
        ["redact", "--all-values", "--on-error", "skip", "-o", "out"],
        ["gaps"],
        ["compaction"],
        ["doctor"],
        ["partitions"],
        ["schemas", "--topic", "endless"],
    ],
    ids=lambda command: command[0],
)
def test_no_command_waits_or_reads_without_end(logs: Path, command: list[str]) -> None:
    output = logs.parent / "out"
    given = [str(output) if part == "out" else part for part in command]
    if command[0] == "export":
        given += ["-o", str(output)]
    result = run(*given, logs)
    assert result.exit_code in (0, 1), result.stderr


def test_side_files_of_the_library_are_bounded(logs: Path) -> None:
    for wrong in WRONG:
        place = ks.Partition(logs / f"{wrong.__name__}-0")
        reads: dict[str, Any] = {
            names.PARTITION_METADATA: lambda place=place: place.topic_id,
            names.LEADER_EPOCHS: lambda place=place: place.leader_epochs,
            ".snapshot": lambda place=place: place.snapshots,
        }
        for name, read in reads.items():
            if wrong is circle and name != ".snapshot":
                continue  # does not exist, as far as the operating system says
            with pytest.raises(ks.KafkaSpecError) as caught:
                read()
            assert caught.value.reason is ks.Reason.UNREADABLE, name
    assert SIDE_FILE_BYTES < 1 << 30


@pytest.mark.parametrize(
    "command",
    [["dump"], ["find", "--offset", "0"], ["export", "--to", "jsonl", "-o", "-"]],
    ids=lambda command: command[0],
)
def test_errors_of_one_file_stay_with_it(tmp_path: Path, command: list[str]) -> None:
    """What cannot be read is named, the rest is delivered, and the exit code is 1."""
    partition(tmp_path, "first-0")
    last = partition(tmp_path, "last-0")
    (tmp_path / "between-0").symlink_to("between-0")
    result = run(*command, tmp_path)
    assert (result.exit_code, result.stderr.count("unreadable")) == (1, 1)
    assert str(tmp_path / "between-0") in result.stderr
    answers = len(result.stdout.splitlines())
    if command[0] != "export":
        for name in ("first-0", "last-0"):
            assert str(tmp_path / name) in result.stdout
    (last / f"{1:020d}.log").symlink_to("nowhere")
    result = run(*command, tmp_path)
    if command[0] != "find":  # the segment with offset 0 has the answer
        assert str(last / f"{1:020d}.log") in result.stderr
    assert (result.exit_code, len(result.stdout.splitlines())) == (1, answers)


@pytest.mark.parametrize("jobs", [1, 2])
def test_find_names_a_topic_that_is_not_there_beside_an_unreadable_one(
    tmp_path: Path, jobs: int
) -> None:
    partition(tmp_path, "first-0")
    (tmp_path / "between-0").symlink_to("between-0")
    result = run("find", "--offset", "0", "--topic", "other", "--jobs", str(jobs), tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no topic 'other'; there is 'first'" in result.stderr


@pytest.mark.parametrize("command", ["dump", "find --offset 0", "export --to jsonl --force"])
def test_a_path_of_which_nothing_can_be_read(tmp_path: Path, command: str) -> None:
    place, out = tmp_path / "orders-0", tmp_path / "out"
    place.mkdir()
    (place / LOG).symlink_to("nowhere")
    out.write_bytes(b"what was there")
    output = ["-o", str(out)] if "export" in command else []
    result = run(*command.split(), place, *output)
    assert (result.exit_code, result.stdout) == (2, "")
    assert str(place / LOG) in result.stderr
    assert out.read_bytes() == b"what was there"


def test_directories_with_an_unreadable_partition_in_the_library(tmp_path: Path) -> None:
    for name in ("first-0", "last-0"):
        partition(tmp_path, name)
    (tmp_path / "between-0").symlink_to("between-0")
    directory = LogDirectory(tmp_path)
    assert [item.topic for item in directory.readable] == ["first", "last"]
    assert list(directory.unreadable) == [str(tmp_path / "between-0")]
    with pytest.raises(ks.KafkaSpecError):
        list(directory.records())


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs permissions")
def test_a_partition_without_permission_does_not_stop_the_others(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    partition(tmp_path, "first-0")
    partition(tmp_path, "hidden-0").chmod(0)
    partition(tmp_path, "last-0").chmod(0o444)  # may be listed only
    for command in (["verify"], ["dump"], ["find", "--offset", "0"]):
        result = process(*command, tmp_path)
        assert result.returncode == 1
        assert "Traceback" not in result.stderr
        assert str(tmp_path / "first-0") in result.stdout
        assert "hidden-0" in result.stdout + result.stderr
    for path in tmp_path.iterdir():
        path.chmod(0o755)


def test_an_entry_without_permission_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link into a place that only others may look into."""
    place = partition(tmp_path, "first-0")
    for path in (tmp_path / "foreign", place / "foreign"):
        path.symlink_to("/foreign")
    is_dir = Path.is_dir

    def refused(path: Path) -> bool:
        if path.name == "foreign":
            raise PermissionError(13, "Permission denied", str(path))
        return is_dir(path)

    monkeypatch.setattr(Path, "is_dir", refused)
    for command in (["dump"], ["find", "--offset", "0"]):
        assert run(*command, tmp_path).exit_code == 0


def test_a_partition_is_an_int(tmp_path: Path) -> None:
    place = partition(tmp_path, "x-99999999999")
    assert names.parse_partition(place.name) is None
    assert names.parse_partition(f"x-{2**31 - 1}") == ("x", 2**31 - 1, "")
    assert names.parse_partition(f"x-{2**31}") is None
    with ks.open(place) as opened:
        assert isinstance(opened, ks.Partition)
        pytest.importorskip("pyarrow")
        row = opened.to_arrow(["topic", "partition", "offset"]).to_pylist()
    assert row == [{"topic": None, "partition": None, "offset": 0}]
    for command in (["verify"], ["dump"], ["find", "--offset", "0"]):
        assert run(*command, place).exit_code == 0


LARGEST = 2**63 - 1


@pytest.mark.parametrize("source", [1, 2])
@pytest.mark.parametrize("compression", [(), ("--compression", "gzip")], ids=["as it is", "gzip"])
@pytest.mark.parametrize("magic", [(), *(("--magic", number) for number in "012")], ids=str)
def test_renumbered_offsets_end_with_the_largest(
    tmp_path: Path, magic: tuple[str, ...], compression: tuple[str, ...], source: int
) -> None:
    place = tmp_path / "x-0"
    place.mkdir()
    records = [ks.Record(offset, 1_700_000_000_000, b"k", b"v") for offset in range(6)]
    data = [ks.encode(records[first : first + 2]) for first in range(0, 6, 2)]
    if source == 1:
        data = [legacy(offset, b"v", timestamp=1000) for offset in range(6)]
    (place / LOG).write_bytes(b"".join(data))
    for base, code in ((LARGEST - 5, 0), (LARGEST - 4, 2), (LARGEST - 3, 2), (LARGEST, 2)):
        out = tmp_path / f"out-{base}"
        offsets = ("--offsets", "renumber", "--base-offset", str(base))
        result = run("convert", place, "-o", out, *offsets, *magic, *compression)
        assert result.exit_code == code, result.stderr
        assert out.exists() == (code == 0)
        if code:
            assert "[unencodable]" in result.stderr
        else:
            assert [record.offset for record in ks.open(out).records()][-1] == LARGEST
