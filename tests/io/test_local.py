"""Files as an operating system hands them out: too many, none at all, or not files."""

from __future__ import annotations

import errno
import mmap
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.io.remote import remote_path
from tests.log.forge import legacy

SEGMENTS = 300
READ_ALL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
import kafkaspec as ks
partition = ks.open(sys.argv[1])
print(sum(1 for _ in partition.records()), sum(1 for _ in partition.batches(start_offset=250)))
found = partition.find(timestamp=1299, plain=True)
print(partition.find(offset=299).record.offset, found.record.offset)
"""


def write_segments(directory: Path, count: int) -> Path:
    directory.mkdir()
    for offset in range(count):
        data = legacy(offset, b"v", timestamp=1000 + offset)
        (directory / f"{offset:020}.log").write_bytes(data)
        (directory / f"{offset:020}.index").write_bytes(b"")
    return directory


@pytest.mark.slow
def test_one_segment_is_open_at_a_time(tmp_path: Path) -> None:
    directory = write_segments(tmp_path / "many-0", SEGMENTS)
    done = subprocess.run(
        [sys.executable, "-c", READ_ALL, str(directory)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stdout.split() == ["300", "50", "299", "299"], done.stderr


def test_batches_outlive_their_segment(tmp_path: Path) -> None:
    directory = write_segments(tmp_path / "few-0", 3)
    partition = ks.Partition(directory)
    batches = list(partition.batches())
    assert [batch.records()[0].offset for batch in batches] == [0, 1, 2]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / f"{0:020}.log"
    os.mkfifo(pipe)
    for read in (lambda: ks.Segment(pipe), lambda: list(ks.Partition(tmp_path).records())):
        with pytest.raises(ks.KafkaSpecError, match="not a regular file") as caught:
            read()
        assert caught.value.reason is ks.Reason.UNREADABLE


def test_a_link_that_leads_nowhere_is_no_silent_gap(tmp_path: Path) -> None:
    directory = write_segments(tmp_path / "linked-0", 2)
    (directory / f"{1:020}.log").unlink()
    (directory / f"{1:020}.log").symlink_to(tmp_path / "gone")
    with pytest.raises(ks.KafkaSpecError) as caught:
        list(ks.Partition(directory).records())
    assert caught.value.reason is ks.Reason.UNREADABLE
    assert caught.value.file == str(directory / f"{1:020}.log")


def test_files_that_cannot_be_opened_are_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, **_: object) -> os.stat_result:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(ks.KafkaSpecError, match="Permission denied") as caught:
        ks.open(tmp_path / "x")
    assert caught.value.reason is ks.Reason.UNREADABLE


@pytest.mark.parametrize(
    ("number", "readable"), [(errno.ENOMEM, True), (errno.EACCES, False), (errno.ENODEV, False)]
)
def test_what_does_not_fit_into_the_address_space_is_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, readable: bool
) -> None:
    path = write_segments(tmp_path / "t-0", 1) / f"{0:020}.log"

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(mmap, "mmap", refuse)
    if readable:
        assert [record.value for record in ks.open(path).records()] == [b"v"]
    else:
        with pytest.raises(ks.KafkaSpecError, match=os.strerror(number)):
            ks.open(path)


def file_systems() -> list[Any]:
    fsspec = pytest.importorskip("fsspec.implementations.local")
    arrow = pytest.importorskip("pyarrow.fs")
    return [fsspec.LocalFileSystem(), arrow.LocalFileSystem()]


def test_file_systems_know_the_times_and_kinds_of_files(tmp_path: Path) -> None:
    """A broker takes the time of the file for a segment without timestamps."""
    path = write_segments(tmp_path / "t-0", 1) / f"{0:020}.log"
    os.utime(path, (1_700_000_000.5, 1_700_000_000.5))
    for files in file_systems():
        segment = ks.open(str(path), filesystem=files)
        assert isinstance(segment, ks.Segment)
        assert segment.modified == 1_700_000_000_500
        remote = remote_path(str(path), files)
        assert remote.stat().st_mtime == 1_700_000_000
        assert (remote.is_file(), remote.is_dir(), remote.exists()) == (True, False, True)
        assert (remote.parent.is_file(), remote.parent.is_dir()) == (False, True)
        gone = remote.with_name("gone")
        assert (gone.is_file(), gone.is_dir(), gone.exists()) == (False, False, False)
