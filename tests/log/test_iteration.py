"""``for``, ``[]``, ``in`` and ``len`` of logs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import kafkaspec as ks
from tests.goldens import GOLDEN

LOGS = GOLDEN / "4.4.0" / "logs"
FOLDERS = {path.name for path in LOGS.iterdir() if path.is_dir()}


@pytest.fixture
def log() -> ks.LogDirectory:
    return ks.LogDirectory(LOGS)


def test_a_log_directory_is_its_current_partitions(log: ks.LogDirectory) -> None:
    assert {partition.path.name for partition in log} == FOLDERS
    assert len(log) == len(FOLDERS)
    assert [partition.path for partition in log] == [item.path for item in log.current]
    for name in FOLDERS:
        topic, _, number = name.rpartition("-")
        assert name in log
        assert (topic, int(number)) in log
        assert log[name] is log[topic, int(number)]
        assert log[name].topic == topic
    assert [part.path.name for part in ks.open(LOGS) if isinstance(part, ks.Partition)] == [
        part.path.name for part in log
    ]


@pytest.mark.parametrize("name", ["plain-1", "plain", "", ("plain", 1), ("plain", "0"), 0, None])
def test_an_unknown_partition_names_the_nearest(log: ks.LogDirectory, name: object) -> None:
    assert name not in log
    with pytest.raises(KeyError) as caught:
        log[name]  # type: ignore[index]
    text = str(caught.value)
    assert text.startswith(f"{LOGS}: there is no current partition ")
    if name and not isinstance(name, int):
        assert "did you mean 'plain-0'" in text
    else:
        assert "; there are '" in text


def test_what_is_deleted_or_cannot_be_listed(tmp_path: Path) -> None:
    shutil.copytree(LOGS / "plain-0", tmp_path / "a-0")
    (tmp_path / "a-1.0123456789abcdef0123456789abcdef-delete").mkdir()
    (tmp_path / "b-0").symlink_to(tmp_path / "nowhere")
    log = ks.LogDirectory(tmp_path)
    assert "a-0" in log
    assert log["a-0"].topic == "a"
    assert not [name for name in ("a-1", "b-0") if name in log]
    with pytest.raises(KeyError, match="no current partition 'a-1'"):
        log["a-1"]
    for name in ("b-0", ("b", 0)):
        with pytest.raises(ks.KafkaSpecError, match="unreadable"):
            log[name]
    with pytest.raises(ks.KafkaSpecError, match="unreadable"):  # as batches and records do
        list(log)
    (tmp_path / "b-0").unlink()
    log = ks.LogDirectory(tmp_path)
    assert [part.path.name for part in log] == ["a-0"]
    assert len(log) == 1
    assert len(log.partitions) == 2


def test_a_partition_is_its_segments() -> None:
    partition = ks.Partition(LOGS / "segments-0")
    assert len(partition) == len(partition.segment_paths) > 1
    assert [segment.path for segment in partition] == partition.segment_paths
    for path in partition.segment_paths:
        assert path.name in partition
        assert partition[path.name].path == path
    assert "plain" not in partition
    with pytest.raises(KeyError, match=r"no segment '0\.log'"):
        partition["0.log"]
    with pytest.raises(TypeError, match=r"segments\[0\] or find\(offset=0\)"):
        partition[0]  # type: ignore[index]


def test_a_segment_is_its_batches() -> None:
    segment = ks.Partition(LOGS / "segments-0").segments[0]
    found = [batch.position for batch in segment]
    assert found == [batch.position for batch in segment.batches()]
    assert found[0] == 0 < len(found)
    with pytest.raises(TypeError, match=r"sum\(1 for batch in segment\)"):
        len(segment)
    with pytest.raises(TypeError, match=r"find\(offset=3\)"):
        _ = 3 in segment
    with pytest.raises(TypeError, match=r"batch_at\(3\)"):
        segment[3]


def test_a_log_is_true_even_if_it_is_empty(tmp_path: Path) -> None:
    (tmp_path / "a-0").mkdir()
    assert ks.LogDirectory(tmp_path / "a-0")
    assert len(ks.LogDirectory(tmp_path / "a-0")) == 0
    assert ks.Partition(tmp_path / "a-0")
    assert ks.Segment(b"")


def test_a_missing_topic_says_so_plainly(log: ks.LogDirectory) -> None:
    with pytest.raises(KeyError) as caught:
        log.of_topic("plian")
    assert str(caught.value).startswith(f"{LOGS}: there is no topic 'plian'")
