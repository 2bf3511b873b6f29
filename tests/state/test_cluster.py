"""The metadata of a cluster: a snapshot of a controller is what the log before it makes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kafkaspec.files.names import parse_checkpoint
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.state.cluster import read_cluster
from kafkaspec.state.directory import Mismatch, compare_directory
from kafkaspec.state.image import ClusterKind, Image, differences
from tests.goldens import GOLDEN, VERSIONS

LOGS = sorted(
    path
    for version in VERSIONS
    for path in (GOLDEN / version).glob("**/__cluster_metadata-0")
    if any(each.stat().st_size for each in path.glob("*.log"))
)
ADMINISTERED = GOLDEN / "4.3.1" / "administered" / "logs"


def _release(path: Path) -> str:
    return path.relative_to(GOLDEN).parts[0]


def _snapshots(path: Path) -> list[tuple[int, Path]]:
    """The end offsets and paths of the snapshots that are not the first, of nothing."""
    named = ((parse_checkpoint(each.name), each) for each in sorted(path.glob("*.checkpoint")))
    return [(name.end_offset, each) for name, each in named if name and name.end_offset]


def test_a_snapshot_holds_what_the_log_before_it_makes(tmp_path: Path) -> None:
    """Kafka wrote both: the log record by record, the snapshot from the state it had then."""
    compared = 0
    for number, path in enumerate(LOGS):
        alone = tmp_path / str(number) / path.name
        shutil.copytree(path, alone, ignore=shutil.ignore_patterns("*.checkpoint"))
        for end, snapshot in _snapshots(path):
            release = _release(path)
            of_log = read_cluster(Partition(alone), end_offset=end, release=release)
            of_snapshot = read_cluster(Segment(snapshot), release=release)
            assert not of_log.errors + of_snapshot.errors
            assert not of_log.unknown | of_snapshot.unknown
            changed = differences(of_log.image, of_snapshot.image)
            assert not changed, f"{snapshot.relative_to(GOLDEN)}: {changed[:3]}"
            compared += 1
    assert compared >= len(VERSIONS) // 4


def test_snapshot_and_log_are_the_log_alone(tmp_path: Path) -> None:
    for number, path in enumerate(LOGS):
        alone = tmp_path / str(number) / path.name
        shutil.copytree(path, alone, ignore=shutil.ignore_patterns("*.checkpoint"))
        both = read_cluster(Partition(path), release=_release(path))
        log = read_cluster(Partition(alone), release=_release(path))
        assert log.snapshot is None
        assert (both.end_offset, both.image.offset) == (log.end_offset, log.image.offset)
        assert not differences(both.image, log.image), path


def _image() -> Image:
    return read_cluster(Partition(ADMINISTERED / "__cluster_metadata-0")).image


def test_what_the_administrator_did_is_there() -> None:
    """The steps of the scenario: see tools/golden/scenarios/brokers.py."""
    items = _image().items
    assert set(items[ClusterKind.BROKER]) == {(0,)}  # the second node is unregistered
    assert [voter["voter_id"] for voter in items[ClusterKind.VOTER].values()] == [0]
    names = {topic["name"] for topic in items[ClusterKind.TOPIC].values()}
    assert "administered" in names
    assert "administered-deleted" not in names
    topic = next(
        key for (key,), each in items[ClusterKind.TOPIC].items() if each["name"] == "administered"
    )
    partitions = {
        key[1]: each for key, each in items[ClusterKind.PARTITION].items() if key[0] == topic
    }
    assert set(partitions) == {0, 1}
    assert partitions[0]["replicas"] == [0]  # back from 0,1 and 1,0
    configs = {key[1:]: each["value"] for key, each in items[ClusterKind.CONFIG].items()}
    assert configs["administered", "retention.ms"] == "-1"
    assert configs["0", "background.threads"] == "5"
    assert [name for name, _ in items[ClusterKind.SCRAM]] == ["user-a"]
    quotas = [(each["key"], each["value"]) for each in items[ClusterKind.QUOTA].values()]
    assert quotas == [("request_percentage", 12.5)]
    acls = [(each["resource_name"], each["principal"]) for each in items[ClusterKind.ACL].values()]
    assert acls == [("administered", "User:user-a")]
    assert len(items[ClusterKind.DELEGATION_TOKEN]) == 1
    assert items[ClusterKind.FEATURE]["transaction.version",]["feature_level"] == 2


def test_the_log_directory_of_the_cluster_has_what_the_metadata_says() -> None:
    for path in LOGS:
        logs = path.parent
        image = read_cluster(Partition(path), release=_release(path)).image
        with LogDirectory(logs) as directory:
            found = list(compare_directory(image, directory))
        # Internal topics without records are not kept in the golden folders.
        missing = {each.topic for each in found if each.kind is Mismatch.MISSING}
        assert all(name.startswith("__") for name in missing), (path, missing)
        assert all(each.kind is Mismatch.MISSING for each in found), (path, found)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ("other-id", Mismatch.TOPIC_ID), ("gone", Mismatch.MISSING),
        ("unknown", Mismatch.STRAY), ("number", Mismatch.STRAY),
    ],
)  # fmt: skip
def test_each_mismatch_is_named(tmp_path: Path, change: str, kind: Mismatch) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(ADMINISTERED, logs)
    place = logs / "administered-0"
    if change == "other-id":
        shutil.copy(logs / "administered-1" / "partition.metadata", tmp_path / "same")
        text = (place / "partition.metadata").read_text()
        (place / "partition.metadata").write_text(
            text.replace(text[-6:], "AAAAAA"[: len(text[-6:])])
        )
    elif change == "gone":
        shutil.rmtree(place)
    else:
        shutil.copytree(place, logs / ("unknown-0" if change == "unknown" else "administered-7"))
    with LogDirectory(logs) as directory:
        found = [each for each in compare_directory(_image(), directory) if "__" not in each.topic]
    assert [each.kind for each in found] == [kind], found


def test_a_number_that_kafka_does_not_know_is_shown_with_it() -> None:
    known, other = (
        Image.named(ClusterKind.CONFIG, {"resource_type": number, "name": "n"}) for number in (2, 3)
    )
    assert known == {"resource_type": "TOPIC", "name": "n"}
    assert other == {"resource_type": "UNKNOWN(3)", "name": "n"}


@pytest.mark.slow
def test_a_torn_snapshot_is_said_and_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    """An older snapshot and the log give the same; without these, the state is not proven."""
    source = GOLDEN / "4.3.1" / "logs" / "__cluster_metadata-0"
    wanted = read_cluster(Partition(source)).image
    for cut in (3, 76, 1_000):
        copy = tmp_path / str(cut) / source.name
        shutil.copytree(source, copy)
        *_, (_, newest) = _snapshots(copy)
        newest.write_bytes(newest.read_bytes()[:-cut])
        found = read_cluster(Partition(copy))
        assert found.snapshot is not None
        assert found.snapshot != newest
        assert not differences(wanted, found.image)
        assert any("does not end with its footer" in note for note in found.notes)
        assert any("footer" in note for note in read_cluster(Segment(newest)).notes)
