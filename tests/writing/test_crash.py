"""A process that dies while it writes leaves nothing under a final name."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.model import Record

_PROGRAM = """
    import os, sys
    sys.path.insert(0, sys.argv[1])
    import kafkaspec as ks
    from kafkaspec.model import Record
    from kafkaspec.writing import segment_writer

    def write(target, count):
        done = 0

        def dying(real):
            def call(*arguments, **options):
                nonlocal done
                done += 1
                if done == count:
                    os._exit(9)
                return real(*arguments, **options)
            return call

        os.fsync, os.rename, os.mkdir = dying(os.fsync), dying(os.rename), dying(os.mkdir)
        with ks.SegmentWriter(target, segment_bytes=400, leader_epoch=0) as writer:
            for start in range(0, 12, 3):
                records = [Record(n, n, b"k", b"v" * 20) for n in range(start, start + 3)]
                writer.append_records(records)
        os._exit(0)

    for kind in ("new", "empty"):
        for count in range(1, 1000):
            place = os.path.join(sys.argv[2], kind, str(count))
            os.makedirs(place)
            target = os.path.join(place, "orders-0")
            if kind == "empty":
                os.mkdir(target)
            child = os.fork()
            if not child:
                write(target, count)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            assert status in (0, 9), status
            if not status:
                break
"""

_ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_death_at_every_step(tmp_path: Path) -> None:
    """Each step that others can see, or that is forced to disk, is once the last one."""
    program = textwrap.dedent(_PROGRAM)
    command = [sys.executable, "-c", program, str(_ROOT), str(tmp_path)]
    assert subprocess.run(command, check=False, timeout=300).returncode == 0
    for kind in ("new", "empty"):
        places = sorted((tmp_path / kind).iterdir(), key=lambda item: int(item.name))
        assert len(places) > 10
        complete = [is_complete(place / "orders-0") for place in places]
        # Behind the rename comes nothing but forcing its directory to disk.
        assert complete == [False] * (len(places) - 2) + [True] * 2
        for place in places[:-1]:
            for item in place.iterdir():
                parsed = names.parse_partition(item.name)
                assert parsed is not None  # a broker must be willing to remove it
                assert item.name == "orders-0" or parsed.state == "-delete"
            with ks.SegmentWriter(place / "orders-1", sync=False) as writer:
                writer.append_records(RECORDS)


def is_complete(target: Path) -> bool:
    """Whether all is there; else nothing must be."""
    if not target.exists() or not any(target.iterdir()):
        return False
    assert ks.verify(target).findings == []
    with ks.Partition(target) as partition:
        assert [record.offset for record in partition.records()] == list(range(12))
    return True


RECORDS = [Record(n, n, b"k", b"v" * 20) for n in range(3)]


def test_an_exception_in_the_block_leaves_nothing(tmp_path: Path) -> None:
    writer = ks.SegmentWriter(tmp_path / "a-0")

    def fail() -> None:
        with writer:
            writer.append_records(RECORDS)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="closed"):
        writer.append_records(RECORDS)
    writer.close()
    writer.abort()
    assert list(tmp_path.iterdir()) == []


def _full(*_: Any) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("function", ["fsync", "rename"])
def test_an_error_of_the_system_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    writer = ks.SegmentWriter(tmp_path / "a-0")
    writer.append_records(RECORDS)
    real: Callable[..., Any] = getattr(os, function)
    monkeypatch.setattr(os, function, _full)
    with pytest.raises(KafkaSpecError, match="No space left") as caught:
        writer.close()
    monkeypatch.setattr(os, function, real)
    assert caught.value.reason == "unreadable"
    assert list(tmp_path.iterdir()) == []
    writer.close()
    assert list(tmp_path.iterdir()) == []


def test_a_directory_with_segments_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "a-0"
    with ks.SegmentWriter(target) as writer:
        writer.append_records(RECORDS)
    before = {item.name: item.read_bytes() for item in target.iterdir()}
    with pytest.raises(KafkaSpecError) as caught:
        ks.SegmentWriter(target)
    assert caught.value.reason == "unreadable"
    assert {item.name: item.read_bytes() for item in target.iterdir()} == before
    assert [item.name for item in tmp_path.iterdir()] == ["a-0"]


def test_other_files_of_the_directory_stay(tmp_path: Path) -> None:
    target = tmp_path / "a-0"
    target.mkdir()
    (target / names.PARTITION_METADATA).write_bytes(b"as it was")
    with ks.SegmentWriter(target) as writer:
        writer.append_records(RECORDS)
    assert (target / names.PARTITION_METADATA).read_bytes() == b"as it was"
    assert (target / "00000000000000000000.log").exists()
    assert [item.name for item in tmp_path.iterdir()] == ["a-0"]


def test_a_name_that_is_taken_in_the_meantime(tmp_path: Path) -> None:
    target = tmp_path / "a-0"
    writer = ks.SegmentWriter(target)
    writer.append_records(RECORDS)
    target.mkdir()
    (target / "00000000000000000000.index").write_bytes(b"another's")
    with pytest.raises(KafkaSpecError, match="already"):
        writer.close()
    assert [item.name for item in target.iterdir()] == ["00000000000000000000.index"]
    assert [item.name for item in tmp_path.iterdir()] == ["a-0"]


def test_nothing_is_forced_without_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", _full)
    with ks.SegmentWriter(tmp_path / "a-0", sync=False) as writer:
        writer.append_records(RECORDS)
    assert (tmp_path / "a-0" / "00000000000000000000.log").exists()


def test_everything_is_forced_with_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forced: set[int] = set()
    real = os.fsync

    def remember(descriptor: int) -> None:
        forced.add(os.fstat(descriptor).st_ino)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", remember)
    target = tmp_path / "a-0"
    with ks.SegmentWriter(target, segment_bytes=100, leader_epoch=0) as writer:
        writer.append_records(RECORDS)
        writer.append_records(RECORDS, offsets="assign")
    paths = [*target.iterdir(), target, tmp_path]
    assert len(paths) == 11
    assert {item.stat().st_ino for item in paths} <= forced
