"""Files as an operating system hands them out: too many, none at all, or not files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import kafkaspec as ks
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


def test_one_segment_is_open_at_a_time(tmp_path: Path) -> None:
    directory = write_segments(tmp_path / "many-0", SEGMENTS)
    done = subprocess.run(
        [sys.executable, "-c", READ_ALL, str(directory)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
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
