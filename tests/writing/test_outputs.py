"""Every writer: what another run wrote stays, and so does every input."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files.names import parse_partition
from kafkaspec.model import Record
from kafkaspec.output import atomic
from kafkaspec.tables.exports import export
from tests.cli.helpers import fingerprint, golden, run

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("plain-0", "segments-0")
RECORDS = [Record(number, number, b"k", b"v") for number in range(3)]

Call = Callable[[], object]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for name in NAMES:
        shutil.copytree(golden("2.8.2", name), tmp_path / "logs" / name)
    return tmp_path / "logs"


def once(action: Call) -> Callable[..., None]:
    """A function for progress that acts when it is called first."""
    left = [action]

    def call(*_: object) -> None:
        if left:
            left.pop()()

    return call


def _convert(source: Path, out: Path, progress: Any = None) -> None:
    ks.convert(source, out, progress=progress)


def _rebuild(source: Path, out: Path, progress: Any = None) -> None:
    ks.rebuild_indexes(source, out, progress=progress)


def _export(source: Path, out: Path, progress: Any = None) -> None:
    with ks.open(source) as log:
        export(log, out, "jsonl", progress=progress)


def _write(source: Path, out: Path, progress: Any = None) -> None:
    with ks.SegmentWriter(out) as writer:
        writer.append_records(RECORDS)
        if progress is not None:
            progress()


WRITERS = (_convert, _rebuild, _export, _write)
each_writer = pytest.mark.parametrize("write", WRITERS, ids=lambda item: item.__name__)


# -- two runs with the same output ---------------------------------------------------------------


@each_writer
@pytest.mark.parametrize("source", [".", "segments-0"])
def test_a_run_that_comes_too_late_removes_nothing(write: Any, source: str, logs: Path) -> None:
    out = logs.parent / "out-0"
    there: list[Any] = []

    def other() -> None:
        write(logs / source, out)
        there.append(_finished(logs.parent))

    with pytest.raises((KafkaSpecError, FileExistsError), match="already"):
        write(logs / source, out, once(other))
    assert _finished(logs.parent) == there[0]
    assert {item.name for item in logs.parent.iterdir()} == {"logs", "out-0"}


def _finished(directory: Path) -> dict[str, tuple[str, int]]:
    """Everything that has its final name."""
    return {
        name: value
        for name, value in fingerprint(directory).items()
        if not name.split("/")[0].endswith(("-delete", ".part"))
    }


def test_a_run_does_not_remove_the_unfinished_file_of_another(logs: Path) -> None:
    """Both may have the same process id, on two machines or in two containers."""
    out = logs.parent / "out"
    with suppress(KafkaSpecError, FileExistsError):
        _export(logs, out, once(lambda: _fails(logs, out)))
    assert out.exists()


def _fails(logs: Path, out: Path) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        _export(logs, out, fail)


@pytest.mark.parametrize("links", [True, False])
def test_files_are_published_one_by_one_or_not_at_all(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the output has files already, and on file systems without links."""
    if not links:
        monkeypatch.setattr(os, "link", _no_links)
    out = tmp_path / "out-0"
    out.mkdir()
    (out / "partition.metadata").write_bytes(b"there")
    (out / "leader-epoch-checkpoint").write_bytes(b"another's")  # the last file
    before = fingerprint(out)
    writer = ks.SegmentWriter(out, leader_epoch=0)
    writer.append_records(RECORDS)
    with pytest.raises(KafkaSpecError, match="leader-epoch-checkpoint exists already"):
        writer.close()
    assert {name: value[0] for name, value in fingerprint(out).items()} == {
        name: value[0] for name, value in before.items()
    }
    (out / "leader-epoch-checkpoint").unlink()
    with ks.SegmentWriter(out, leader_epoch=0) as writer:
        writer.append_records(RECORDS)
    assert len(list(ks.Partition(out).records())) == len(RECORDS)
    assert [item.name for item in tmp_path.iterdir()] == ["out-0"]


def _no_links(*_: object) -> None:
    raise OSError(1, "Operation not permitted")


def test_an_error_names_the_output(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = logs.parent / "out"
    monkeypatch.setattr(os, "fsync", _no_links)
    with pytest.raises(KafkaSpecError, match="not permitted") as caught:
        _convert(logs, out)
    assert (caught.value.file or "").startswith(f"{out}/plain-0")
    assert [item.name for item in logs.parent.iterdir()] == ["logs"]


def test_an_output_that_is_a_mount_point(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside it is another file system, so that nothing can be renamed to it."""
    out = logs.parent / "out"
    out.mkdir()
    real = os.rename

    def rename(source: Path, target: Path) -> None:
        if Path(target) == out:
            raise OSError(16, "Device or resource busy")
        assert out in Path(source).parents
        real(source, target)

    monkeypatch.setattr(os, "rename", rename)
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path) == out)
    _convert(logs, out)
    assert sorted(item.name for item in out.iterdir()) == sorted(NAMES)
    with pytest.raises(KafkaSpecError, match="not an empty"):
        _convert(logs, out)
    assert sorted(item.name for item in out.iterdir()) == sorted(NAMES)


def test_an_empty_output_keeps_its_mode_and_stays_the_working_directory(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = logs.parent / "out"
    out.mkdir()
    out.chmod(0o750)
    _convert(logs, out)
    assert out.stat().st_mode & 0o777 == 0o750
    here = logs.parent / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    _convert(logs, Path())
    assert sorted(item.name for item in Path().iterdir()) == sorted(NAMES)
    assert sorted(item.name for item in here.iterdir()) == sorted(NAMES)


# -- death --------------------------------------------------------------------------------------

_PROGRAM = """
    import os, signal, sys
    sys.path.insert(0, sys.argv[1])
    from pathlib import Path
    from tests.writing import test_outputs

    def die_at(count):
        done = 0

        def step(*_):
            nonlocal done
            done += 1
            if done == count:
                os.kill(os.getpid(), signal.SIGKILL)

        def dying(real):
            def call(*arguments, **options):
                step()
                return real(*arguments, **options)
            return call

        for name in ("fsync", "rename", "link", "mkdir"):
            setattr(os, name, dying(getattr(os, name)))
        return step

    root = Path(sys.argv[2])
    for write in test_outputs.WRITERS[:3]:
        count = 1
        while True:
            place = root / write.__name__ / str(count)
            place.mkdir(parents=True)
            child = os.fork()
            if not child:
                write(root / "logs", place / "out", die_at(count))
                os._exit(0)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            assert status in (0, -signal.SIGKILL), status
            if not status:
                break
            count *= 2
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_killed_run_leaves_no_part_of_an_output(logs: Path) -> None:
    """SIGKILL at several moments: while it reads, and while it gives names."""
    command = [sys.executable, "-c", textwrap.dedent(_PROGRAM), str(ROOT), str(logs.parent)]
    done = subprocess.run(command, check=False, timeout=300, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for write in WRITERS[:3]:
        places = sorted((logs.parent / write.__name__).iterdir(), key=lambda item: int(item.name))
        assert len(places) >= 5
        (whole,) = (places.pop() / "out",)
        for place in places:
            names = {item.name for item in place.iterdir()}
            if "out" in names:
                assert _content(place / "out") == _content(whole), place
            for name in names - {"out"}:
                parsed = parse_partition(name)  # a broker must be willing to remove it
                assert name.endswith(".part") or (parsed and parsed.state == "-delete"), name
        shutil.rmtree(places[-1] / "out", ignore_errors=True)
        (places[-1] / "out").unlink(missing_ok=True)
        write(logs, places[-1] / "out")
        assert _content(places[-1] / "out") == _content(whole)


_HOLDING = """
    import sys
    from kafkaspec.output.atomic import DirectoryAside, file_aside

    aside = DirectoryAside(sys.argv[1])
    aside.write("a", b"a")
    with file_aside(sys.argv[2], replace=False) as file:
        file.write(b"a")
        file.flush()
        print(flush=True)
        sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the other process is killed by a signal")
def test_the_next_run_removes_what_a_killed_run_left_and_nothing_else(logs: Path) -> None:
    home = logs.parent
    out, file = home / "out-0", home / "out.jsonl"
    other = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_HOLDING), out, file],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert other.stdin is not None
    assert other.stdout is not None
    other.stdout.readline()
    held = {item for item in home.iterdir() if item != logs}
    assert len(held) == 2
    brokers = home / f"out-0.{'0' * 32}-delete"
    shutil.copytree(logs / "plain-0", brokers)
    older = home / f"out-0.{'1' * 32}-delete"
    (older / "out-0").mkdir(parents=True)
    runs: tuple[list[str | Path], ...]
    runs = (["convert", logs / "plain-0", "-o", out], ["export", logs, "--to", "jsonl", "-o", file])
    for command in runs:
        result = run(*command)
        assert result.exit_code == 0
        assert "another run is writing it now" in result.stderr
        assert set(home.iterdir()) > held
        shutil.rmtree(out, ignore_errors=True)
    file.unlink()
    other.kill()
    other.communicate()
    result = run(*runs[0])
    assert result.exit_code == 0
    assert re.search(r"-delete: removed, a killed run left it \d+ seconds? ago\n", result.stderr)
    assert re.search(r"left it \d seconds? ago; it stays", result.stderr)
    file.write_bytes(b"")  # where the output is refused, too
    result = run(*runs[1])
    assert result.exit_code == 2
    assert re.search(r"\.part: removed, a killed run left it \d+ seconds? ago\n", result.stderr)
    assert set(home.iterdir()) == {logs, out, file, brokers, older}
    long_ago = time.time() - 2 * 24 * 60 * 60
    for item in (older / "out-0", older):
        os.utime(item, (long_ago, long_ago))
    result = run("convert", logs / "plain-0", "-o", out)  # it is there
    assert result.exit_code == 2
    assert f"{older}: removed, a killed run left it 2 days ago" in result.stderr
    assert brokers.exists()


def test_an_output_without_a_directory_says_what_to_make(logs: Path) -> None:
    new = logs.parent / "new"
    source = logs / "plain-0"
    for command in (
        ["salvage", "-o", "plain-0"],
        ["convert", "-o", "plain-0"],
        ["index", "-o", "plain-0"],
        ["export", "--to", "jsonl", "-o", "out"],
        ["verify", "--html", "out"],
    ):
        result = run(*command[:-1], new / command[-1], source)
        assert result.exit_code == 2
        assert f"there is no directory {new}; make it first" in result.stderr, command
        assert not new.exists()


def _content(path: Path) -> object:
    return (
        {name: value[0] for name, value in fingerprint(path).items()}
        if path.is_dir()
        else path.read_bytes()
    )


# -- outputs in inputs ---------------------------------------------------------------------------


def _outputs(logs: Path) -> Iterator[tuple[Path, Path]]:
    """Yield inputs, and outputs that are, hold or lie in them."""
    partition, beside = logs / "plain-0", logs.parent
    (segment,) = partition.glob("*.log")
    yield logs, logs
    yield logs, logs / "out"
    yield logs, partition / "out"
    yield partition, partition / "out"
    yield partition, segment
    yield partition, partition / "00000000000000000000.index"
    yield segment, segment
    yield segment, partition / "00000000000000000000.timeindex"
    yield segment, partition / "00000000000000099999.log"
    yield partition, logs / "log-start-offset-checkpoint"
    yield logs, beside
    (beside / "to-logs").symlink_to(logs)
    yield beside / "to-logs", logs / "out"
    yield logs, beside / "to-logs" / "out"
    yield logs, beside / "to-logs" / ".." / "logs" / "out"
    (beside / "to-segment").symlink_to(segment)
    yield partition, beside / "to-segment"
    yield beside / "to-segment", segment
    os.link(segment, beside / "same-file")
    yield partition, beside / "same-file"
    yield segment, beside / "same-file"
    yield logs, beside / "same-file"
    shutil.move(partition, beside / "moved-0")
    partition.symlink_to(beside / "moved-0")
    yield logs, beside / "moved-0" / "out"
    yield logs, beside
    (partition / "00000000000000000000.timeindex").rename(beside / "elsewhere")
    (partition / "00000000000000000000.timeindex").symlink_to(beside / "elsewhere")
    yield logs, beside / "elsewhere"


@pytest.mark.slow
def test_no_writer_touches_its_input(logs: Path) -> None:
    for source, out in _outputs(logs):
        before = fingerprint(logs.parent)
        commands: list[list[str | Path]] = [
            ["convert", source, "-o", out],
            ["index", source, "-o", out],
            ["export", source, "-o", out, "--to", "jsonl", "--force"],
        ]
        for command in commands:
            result = run(*command)
            assert result.exit_code == 2, command
            assert fingerprint(logs.parent) == before, command
        with ks.open(source) as log:
            for call in (
                lambda: export(log, out, "arrow", replace_existing=True),  # noqa: B023
                lambda: ks.rebuild_indexes(log, out),  # noqa: B023
                lambda: ks.convert(source, out),  # noqa: B023
            ):
                with pytest.raises((KafkaSpecError, FileExistsError)):
                    call()
        assert fingerprint(logs.parent) == before, (source, out)


@pytest.mark.parametrize("name", ["logs-out", "logs.jsonl", "plain-0"])
def test_an_output_beside_the_input_is_fine(name: str, logs: Path) -> None:
    for source in (logs, logs / "plain-0", next((logs / "plain-0").glob("*.log"))):
        for write in WRITERS[:3]:
            out = logs.parent / name
            write(source, out)
            shutil.rmtree(out) if out.is_dir() else out.unlink()


# -- an input that changes -----------------------------------------------------------------------

_CUTTING = """
    import json, os, sys
    sys.path.insert(0, sys.argv[1])
    import kafkaspec as ks

    source, out, plan = sys.argv[2:]

    def cut(*_):
        os.truncate(source, 1000)

    try:
        ks.convert(source, out, progress=cut, **json.loads(plan))
    except ks.KafkaSpecError as error:
        print(error.reason)
"""


@pytest.mark.slow
@pytest.mark.parametrize("plan", [{"magic": 1}, {"batch_bytes": 100}, {"compression": "lz4"}])
def test_an_input_that_is_cut_is_an_error(plan: dict[str, Any], tmp_path: Path) -> None:
    """A page of a mapped file that is gone kills the process (SIGBUS)."""
    source = tmp_path / "00000000000000000000.log"
    batches = (ks.encode([Record(number, 1, None, bytes(400_000))]) for number in range(3))
    source.write_bytes(b"".join(batches))
    command = [
        sys.executable,
        "-c",
        textwrap.dedent(_CUTTING),
        *map(str, (ROOT, source, tmp_path / "out-0", json.dumps(plan))),
    ]
    done = subprocess.run(command, check=False, timeout=60, capture_output=True, text=True)
    assert done.returncode != -signal.SIGBUS
    assert done.stdout.strip() == Reason.CHANGED, done.stderr
    assert list(tmp_path.iterdir()) == [source]


def test_a_long_name(tmp_path: Path) -> None:
    """Topics have up to 249 characters, names of files up to 255."""
    out = tmp_path / ("x" * 249 + "-0")
    with ks.SegmentWriter(out) as writer:
        writer.append_records(RECORDS)
        (aside,) = tmp_path.iterdir()
        assert aside.name.endswith("-delete")
    assert [item.name for item in tmp_path.iterdir()] == [out.name]
    with atomic.file_aside(tmp_path / ("y" * 255), replace=False) as file:
        file.write(b"y")
    assert (tmp_path / ("y" * 255)).read_bytes() == b"y"
