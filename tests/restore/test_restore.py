"""A restored log directory has the records, groups and metadata of its sources."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import IO, Any, get_args

import pytest

import kafkaspec as ks
from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model.enumeration import (
    RemoteLogSegmentState,
    RemotePartitionDeleteState,
)
from kafkaspec.analysis.verification import verify
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.files.checkpoints.log_directory import Checkpoints
from kafkaspec.files.checkpoints.partition_metadata import read as read_partition_metadata
from kafkaspec.io.local import FileReading
from kafkaspec.log.control import encode_control
from kafkaspec.log.damage import judge
from kafkaspec.log.encoding import encode
from kafkaspec.log.missing import MissingWhy, missing
from kafkaspec.restore import restoring, staging
from kafkaspec.restore.coordinator_topics import java_hash, partition_count
from kafkaspec.restore.feature_levels import FEATURE_LEVELS
from kafkaspec.restore.restore_options import RestoreReflink
from kafkaspec.restore.restore_plan import (
    RestoredBytes,
    RestorePlan,
    RestoreReason,
    RestoreVerdict,
)
from kafkaspec.restore.restoring import restore
from kafkaspec.results import OffsetRange, Strength
from kafkaspec.scenarios.making import scenario
from kafkaspec.state.cluster import read_cluster
from kafkaspec.state.groups import read_groups
from kafkaspec.state.image import ClusterKind
from kafkaspec.state.message_bytes import message_bytes
from kafkaspec.state.remote import read_remote_segments
from kafkaspec.state.share import read_deliveries
from tests.goldens import GOLDEN, VERSIONS
from tests.kafka import start_answers, start_cases
from tests.restore.damages import DAMAGES, assert_served_or_named, damaged_logs
from tests.serving import object_store
from tests.work import lines

pytest.importorskip("pyarrow")

LOGS = [path for version in VERSIONS for path in sorted((GOLDEN / version).glob("**/logs"))]
_NEWEST = GOLDEN / "4.3.1" / "logs"


def _digests(*directories: Path) -> dict[Path, str]:
    return {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for directory in directories
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def _reasons(plan: RestorePlan, reason: RestoreReason) -> list[tuple[str | None, int | None]]:
    return [(each.topic, each.partition) for each in plan.findings if each.reason is reason]


def _records(path: str | Path, isolation: str = "read_uncommitted") -> list[ks.Record]:
    with ks.Partition(path) as log:
        return list(log.records(isolation=isolation))  # type: ignore[arg-type]


@pytest.mark.slow
def test_every_log_directory_comes_back(tmp_path: Path) -> None:
    """Of all releases: records, ids, log starts, groups; and the sources stay as they were."""
    for number, source in enumerate(LOGS):
        before = _digests(source)
        out = tmp_path / str(number)
        plan = restore(source, out, write=True, id_seed=number)
        label = str(source.relative_to(GOLDEN))
        assert _digests(source) == before, label
        assert plan.target == str(out), label
        image = read_cluster(ks.Partition(out / "logs" / f"{Topic.CLUSTER_METADATA}-0")).image
        assert {each["name"] for each in image.items[ClusterKind.TOPIC].values()} == {
            item.topic for item in plan.partitions
        }, label
        with ks.LogDirectory(out / "logs") as logs, ks.LogDirectory(source) as theirs:
            restored = {
                log.path.name: log for log in logs.current if log.topic != Topic.CLUSTER_METADATA
            }
            known = {log.path.name for log in theirs.current if log.topic != Topic.CLUSTER_METADATA}
            assert restored.keys() == known, label
        for item in plan.partitions:
            assert item.source is not None
            path = out / "logs" / f"{item.topic}-{item.partition}"
            topic_id = kafka_uuid.to_text(
                read_partition_metadata(path / names.PARTITION_METADATA).topic_id
            )
            assert topic_id == item.topic_id, label
            assert image.topic_name(topic_id) == item.topic, label
            if item.salvaged:
                continue
            own, other = _records(path), _records(item.source)
            if (item.topic, item.partition) in _reasons(plan, RestoreReason.UNLOADABLE):
                kept = {each.offset for each in own}
                other = [each for each in other if each.offset in kept]
                assert label == "4.0.2/logs"
            assert own[: len(other)] == other, f"{label}: {item.topic}"
            assert len(own) - len(other) == sum(
                each.group is not None for each in plan.findings
                if item.topic == Topic.CONSUMER_OFFSETS
            ), label  # fmt: skip
        found = verify(out / "logs")
        assert not [each for each in found.findings if each.severity == "error"], label
    assert len(LOGS) >= len(VERSIONS)


@pytest.mark.slow
def test_a_surviving_snapshot_is_carried_over(tmp_path: Path) -> None:
    source = GOLDEN / "4.3.1" / "administered" / "logs"
    plan = restore(source, tmp_path / "out", write=True, target_release="4.3", node_id=7)
    assert plan.verdict is RestoreVerdict.WHOLE
    before = read_cluster(ks.Partition(source / f"{Topic.CLUSTER_METADATA}-0")).image
    after = read_cluster(ks.Partition(tmp_path / "out/logs" / f"{Topic.CLUSTER_METADATA}-0")).image
    for kind in (
        ClusterKind.FEATURE, ClusterKind.TOPIC, ClusterKind.ACL, ClusterKind.SCRAM,
        ClusterKind.QUOTA, ClusterKind.DELEGATION_TOKEN,
    ):  # fmt: skip
        assert after.items[kind] == before.items[kind], kind
    assert list(after.items[ClusterKind.VOTER]) == [(7,)]
    assert not after.items[ClusterKind.BROKER]
    for key, partition in before.items[ClusterKind.PARTITION].items():
        again = after.items[ClusterKind.PARTITION][key]
        assert again["replicas"] == again["isr"] == [again["leader"]] == [7]
        assert again["leader_epoch"] > partition["leader_epoch"]
        assert again["directories"] == [plan.directory_id]
    properties = Checkpoints(tmp_path / "out" / "logs").meta_properties
    assert properties is not None
    assert (properties.node_id, properties.cluster_id) == (7, plan.cluster_id)
    assert kafka_uuid.to_text(properties.directory_id) == plan.directory_id  # type: ignore[arg-type]
    own = {("administered", "retention.ms"): "-1"}
    assert (
        own.items()
        <= {
            (each["resource_name"], each["name"]): each["value"]
            for each in after.items[ClusterKind.CONFIG].values()
        }.items()
    )


@pytest.mark.slow
def test_levels_are_those_that_each_release_begins_with() -> None:
    """By the files that ``kafka-storage format`` of that release wrote."""
    compared = set()
    for path in sorted(GOLDEN.glob("*/**/bootstrap.checkpoint")):
        release = ".".join(path.relative_to(GOLDEN).parts[0].split(".")[:2])
        if release in FEATURE_LEVELS and path.parent.parent.parent == GOLDEN:
            image = read_cluster(ks.Segment(path)).image
            found = {
                each["name"]: each["feature_level"]
                for each in image.items[ClusterKind.FEATURE].values()
            }
            assert found == FEATURE_LEVELS[release], release
            compared.add(release)
    path = GOLDEN / "4.4.0/administered/logs" / f"{Topic.CLUSTER_METADATA}-0"
    image = read_cluster(ks.Partition(path)).image
    levels = {
        each["name"]: each["feature_level"] for each in image.items[ClusterKind.FEATURE].values()
    }
    assert levels == FEATURE_LEVELS["4.4"]
    assert {"4.4", *compared} == set(FEATURE_LEVELS)


@pytest.mark.slow
def test_an_old_level_gets_no_directories(tmp_path: Path) -> None:
    """A controller whose level does not know them ends when it finds them."""
    for version, known in (("3.3.2", False), ("3.7.2", True)):
        restore(GOLDEN / version / "logs", tmp_path / version, write=True)
        path = tmp_path / version / "logs" / f"{Topic.CLUSTER_METADATA}-0"
        image = read_cluster(ks.Partition(path)).image
        for partition in image.items[ClusterKind.PARTITION].values():
            assert (partition["directories"] is not None) == known, version


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        restore(GOLDEN / "2.8.2/unclean/logs", tmp_path / name, write=True, id_seed=5)
    first, second = (_digests(tmp_path / name / "logs") for name in ("a", "b"))
    assert [path.relative_to(tmp_path / "a") for path in first] == [
        path.relative_to(tmp_path / "b") for path in second
    ]
    assert list(first.values()) == list(second.values())


@pytest.mark.slow
def test_an_error_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in ("write_snapshot", "server_properties", "_force"):
        with monkeypatch.context() as patched:

            def fail(*_: object, **__: object) -> None:
                raise OSError("no space left")

            patched.setattr(restoring, step, fail)
            with pytest.raises(OSError, match="no space left"):
                restore(_NEWEST, tmp_path / "out", write=True)
        assert not list(tmp_path.iterdir()), step


def test_a_target_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "file").touch()
    with pytest.raises(KafkaSpecError):
        restore(_NEWEST, tmp_path / "out", write=True)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["file"]


# -- several copies -----------------------------------------------------------------------------


def _copies(tmp_path: Path, ends: list[int], seed: int) -> Iterator[Path]:
    """Yield log directories with copies of one partition that end after some batches."""
    (tmp_path / "made").mkdir(parents=True)
    scenario("transactions", tmp_path / "made", seed=seed)
    source = tmp_path / "made" / "logs" / "payments-0"
    for number, end in enumerate(ends):
        target = tmp_path / f"disk-{number}" / source.name
        target.mkdir(parents=True)
        left = end
        for path in sorted(source.glob(f"*{names.LOG}")):
            batches = list(ks.Segment(path).batches())[:left]
            left -= len(batches)
            (target / path.name).write_bytes(b"".join(bytes(batch.data) for batch in batches))
            if not left:
                break
        yield target.parent


@pytest.mark.slow
def test_the_longest_copy_wins_in_any_order(tmp_path: Path) -> None:
    chance = random.Random(4)
    for seed in range(4):
        ends = [chance.randrange(1, 60) for _ in range(3)]
        disks = list(_copies(tmp_path / str(seed), ends, seed))
        wanted = disks[ends.index(max(ends))]
        plans = []
        for _ in range(3):
            chance.shuffle(disks)
            plans.append(restore(disks, id_seed=1))
        assert all(plan == plans[0] for plan in plans)
        (item,) = plans[0].partitions
        assert item.source == str(wanted / "payments-0")
        assert len(item.others) == 2
        assert plans[0].verdict is not RestoreVerdict.REFUSED


@pytest.mark.slow
def test_copies_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    disks = list(_copies(tmp_path, [30, 20], 1))
    log = sorted((disks[1] / "payments-0").glob(f"*{names.LOG}"))[-1]
    segment = ks.Segment(log)
    *_, last = segment.batches()
    other = encode(
        [ks.Record(last.base_offset, 1, b"key", b"another leader wrote this")],
        last_offset=last.last_offset, partition_leader_epoch=last.partition_leader_epoch,
    )  # fmt: skip
    log.write_bytes(log.read_bytes()[: last.position] + other)
    plan = restore(disks, tmp_path / "out", write=True)
    assert plan.verdict is RestoreVerdict.REFUSED
    assert plan.target is None
    assert not (tmp_path / "out").exists()
    (found,) = (each for each in plan.findings if each.reason is RestoreReason.DIVERGED)
    assert found.offsets is not None
    assert found.offsets.start == last.base_offset
    for disk in disks:
        plan = restore(disks, prefer=[disk])
        assert plan.verdict is not RestoreVerdict.REFUSED
        assert plan.partitions[0].source == str(disk / "payments-0")


@pytest.mark.slow
def test_one_topic_with_two_ids_is_refused(tmp_path: Path) -> None:
    disks = list(_copies(tmp_path, [30, 20], 1))
    for letter, disk in zip("CB", disks, strict=True):
        text = f"version: 0\ntopic_id: {letter * 21}A"
        (disk / "payments-0" / names.PARTITION_METADATA).write_text(text)
    plan = restore(disks)
    assert plan.verdict is RestoreVerdict.REFUSED
    assert _reasons(plan, RestoreReason.TOPIC_IDS) == [("payments", None)]
    assert restore(disks, prefer=[disks[1]]).partitions[0].topic_id == "B" * 21 + "A"


@pytest.mark.slow
def test_several_log_directories_of_one_broker_become_one(tmp_path: Path) -> None:
    """JBOD: each has a part of the partitions, and lines of checkpoints about them."""
    both = [tmp_path / "disk-1", tmp_path / "disk-2"]
    for number, disk in enumerate(both):
        shutil.copytree(_NEWEST, disk)
        for at, path in enumerate(sorted(each for each in disk.iterdir() if each.is_dir())):
            if at % 2 == number and not path.name.startswith(Topic.CLUSTER_METADATA):
                shutil.rmtree(path)
    one = restore(_NEWEST, tmp_path / "one", write=True, id_seed=3)
    two = restore(both, tmp_path / "two", write=True, id_seed=3)
    assert two.verdict is RestoreVerdict.WHOLE
    assert {each.source is None for each in two.partitions} == {False}
    first, second = (
        {path.relative_to(place): digest for path, digest in _digests(place).items()}
        for place in (tmp_path / "one/logs", tmp_path / "two/logs")
    )
    assert first == second
    assert [*one.groups] == [*two.groups]
    kept = restore(both, tmp_path / "kept", write=True, keep_brokers=True, node_id=9)
    image = read_cluster(ks.Partition(tmp_path / "kept/logs" / f"{Topic.CLUSTER_METADATA}-0")).image
    assert kept.target is not None
    assert {tuple(each["replicas"]) for each in image.items[ClusterKind.PARTITION].values()} == {
        (0,)
    }


@pytest.mark.slow
def test_a_log_start_of_any_copy_holds(tmp_path: Path) -> None:
    """Records that deleteRecords removed do not come back because one disk does not say so."""
    shutil.copytree(_NEWEST / "deleted-records-0", tmp_path / "a" / "deleted-records-0")
    with ks.LogDirectory(_NEWEST) as logs:
        start = logs["deleted-records-0"].log_start_offset
    plan = restore(
        [tmp_path / "a", _NEWEST], tmp_path / "out", write=True, include=["deleted-records"]
    )
    (item,) = (each for each in plan.partitions if each.topic == "deleted-records")
    assert item.log_start == start != 0
    assert _records(tmp_path / "out/logs/deleted-records-0")[0].offset == start


@pytest.mark.slow
def test_a_log_start_outside_the_log_does_what_it_does_to_a_broker(tmp_path: Path) -> None:
    """By what brokers were recorded to make of such a checkpoint: ``tests/kafka/test_start.py``."""
    release, end, compared = "4.3.1", 45, 0
    for case in start_cases.cases(release):
        if not case.clean or not case.name.startswith("log start "):
            continue
        offset = int(case.name.removeprefix("log start "))
        _, trees = start_answers.recorded()[release][case.name]
        left = trees[0]["segments-0"]
        first = min(int(name.removesuffix(names.LOG)) for name in left)
        (logs,) = case.make(release, tmp_path / case.name)
        plan = restore(logs, tmp_path / case.name / "out", write=True, include=["segments"])
        (item,) = (each for each in plan.partitions if each.topic == "segments")
        assert item.log_start == max(offset, first), case.name
        assert item.end_offset == (end if offset <= end else first), case.name
        path = tmp_path / case.name / "out/logs/segments-0"
        offsets = [each.offset for each in _records(path)]
        assert offsets == list(range(item.log_start, item.end_offset)), case.name
        assert (offset > end) == (not any(left.values())), case.name
        lost = [
            each.offsets
            for each in plan.findings
            if each.reason is RestoreReason.LOST_OFFSETS and each.topic == "segments"
        ]
        assert lost == ([(end, offset)] if offset > end else []), case.name
        compared += 1
    assert compared == 8


def _part(disk: Path, topic: str, first: int, end: int, epoch: int) -> list[ks.Record]:
    """Write a copy with the records from an offset to another, in batches of four."""
    (disk / f"{topic}-0").mkdir(parents=True)
    records = [ks.Record(offset, 1_000 + offset, b"key", b"%d" % offset) for offset in range(end)]
    pieces = [
        encode(records[number : number + 4], partition_leader_epoch=epoch)
        for number in range(first, end, 4)
    ]
    (disk / f"{topic}-0" / f"{first:020}{names.LOG}").write_bytes(b"".join(pieces))
    return records[first:]


def test_a_copy_that_begins_above_the_end_of_a_newer_one_contradicts_it(tmp_path: Path) -> None:
    """An older leader's log, whose log start is not that of the one that is asked for."""
    records = _part(tmp_path / "a", "apart", 0, 12, 5)
    _part(tmp_path / "b", "apart", 24, 40, 1)
    sources = [tmp_path / "a", tmp_path / "b"]
    plan = restore(sources, tmp_path / "out", write=True)
    assert plan.verdict is RestoreVerdict.REFUSED
    (found,) = (each for each in plan.findings if each.reason is RestoreReason.DIVERGED)
    assert (found.file, found.offsets) == (str(tmp_path / "b" / "apart-0"), (24, 40))
    plan = restore(sources, tmp_path / "out", write=True, prefer=sources[:1])
    (item,) = plan.partitions
    assert (item.log_start, item.end_offset, item.records) == (0, 12, 12)
    assert _records(tmp_path / "out/logs/apart-0") == records
    assert not _reasons(plan, RestoreReason.LOST_OFFSETS)


def test_a_copy_of_which_all_is_deleted_says_where_the_log_starts(tmp_path: Path) -> None:
    """It is empty, and does not contradict one with records below that, which stay deleted."""
    _part(tmp_path / "a", "emptied", 0, 12, 1)
    _part(tmp_path / "b", "emptied", 24, 24, 1)
    plan = restore([tmp_path / "a", tmp_path / "b"])
    (item,) = plan.partitions
    assert (item.log_start, item.end_offset, item.records) == (24, 24, 0)
    assert plan.verdict is RestoreVerdict.PARTIAL
    assert _reasons(plan, RestoreReason.LOST_OFFSETS) == [("emptied", 0)]


def test_a_log_start_before_the_first_segment_is_named(tmp_path: Path) -> None:
    """A broker takes the first segment; whether the rest was deleted or lost, nobody knows."""
    source = tmp_path / "logs"
    shutil.copytree(_NEWEST / "deleted-records-0", source / "deleted-records-0")
    (source / names.LOG_START_OFFSETS).write_text("0\n1\ndeleted-records 0 5\n")
    plan = restore(source)
    (item,) = plan.partitions
    assert item.log_start == 24
    (lost,) = (each for each in plan.findings if each.reason is RestoreReason.LOST_OFFSETS)
    assert (lost.offsets, lost.strength) == (OffsetRange(5, 24), Strength.UNKNOWN)
    (source / names.LOG_START_OFFSETS).write_text("no number\n")
    plan = restore(source)
    assert plan.partitions[0].log_start == 24  # what was deleted within a segment comes back
    (found,) = (each for each in plan.findings if each.reason is RestoreReason.UNREADABLE)
    assert found.file == str(source / names.LOG_START_OFFSETS)


@pytest.mark.parametrize(
    "name",
    [
        names.HIGH_WATERMARKS,
        names.LOG_START_OFFSETS,
        names.CLEANER_OFFSETS,
        f"segments-0/{names.LEADER_EPOCHS}",
    ],
)
def test_a_checkpoint_that_cannot_be_read_is_named_and_left_out(tmp_path: Path, name: str) -> None:
    """The records are there all the same; a broker would not start with such a file."""
    for copy in "ab":  # replicas are compared, and the checkpoints of each are read
        shutil.copytree(_NEWEST / "segments-0", tmp_path / copy / "segments-0")
    sources = [tmp_path / "a", tmp_path / "b"]
    sound = restore(sources)
    for source in sources:
        (source / name).write_bytes(b"\xff\x00no number")
    plan = restore(sources, tmp_path / "out", write=True)
    found = {each.file for each in plan.findings if each.reason is RestoreReason.UNREADABLE}
    assert found == {str(source / name) for source in sources}
    ((before,), (after,)) = sound.partitions, plan.partitions
    assert (after.log_start, after.end_offset) == (before.log_start, before.end_offset)
    restored = _records(tmp_path / "out" / "logs" / "segments-0")
    assert restored == _records(_NEWEST / "segments-0")


@pytest.mark.slow
def test_a_hole_is_filled_from_another_copy(tmp_path: Path) -> None:
    """Two copies, damaged in different places, give the whole log; one place in both is lost."""
    for name in ("whole", "a", "b"):
        shutil.copytree(_NEWEST / "segments-0", tmp_path / name / "segments-0")
    whole = _records(tmp_path / "whole" / "segments-0")
    paths = sorted((tmp_path / "a" / "segments-0").glob(f"*{names.LOG}"))

    def damage(disk: str, segment: int) -> ks.Batch:
        path = tmp_path / disk / "segments-0" / paths[segment].name
        data = bytearray(path.read_bytes())
        batch = next(iter(ks.Segment(path).batches()))
        data[len(batch.data) - 1] ^= 1
        path.write_bytes(data)
        return batch

    damage("a", 1)
    damage("b", 2)
    sources = [tmp_path / "a", tmp_path / "b"]
    plan = restore(sources, tmp_path / "out", write=True, fill_from_copies=True)
    assert _records(tmp_path / "out/logs/segments-0") == whole
    assert _reasons(plan, RestoreReason.FILLED)
    assert not _reasons(plan, RestoreReason.LOST_OFFSETS)
    assert _reasons(restore(sources), RestoreReason.LOST_OFFSETS)
    damage("a", 3)
    both = damage("b", 3)
    plan = restore(sources, tmp_path / "again", write=True, fill_from_copies=True)
    lost = [each.offsets for each in plan.findings if each.reason is RestoreReason.LOST_OFFSETS]
    assert lost == [(both.base_offset, both.last_offset + 1)]
    kept = [record for record in whole if not both.base_offset <= record.offset <= both.last_offset]
    assert _records(tmp_path / "again/logs/segments-0") == kept


@pytest.mark.parametrize("size", ["same", "none"])
def test_a_segment_of_which_nothing_is_left_comes_from_another_copy(
    size: str, tmp_path: Path
) -> None:
    whole = _records(_NEWEST / "segments-0")
    for number in range(4):
        sources = [tmp_path / f"a{number}", tmp_path / f"b{number}"]
        for source in sources:
            shutil.copytree(_NEWEST / "segments-0", source / "segments-0")
        path = sorted((sources[0] / "segments-0").glob(f"*{names.LOG}"))[number]
        path.write_bytes(bytes(path.stat().st_size if size == "same" else 0))
        out = tmp_path / f"out{number}"
        prefer = sources[:1] if number < 3 else ()
        restore(sources, out, write=True, fill_from_copies=True, prefer=prefer)
        assert _records(out / "logs" / "segments-0") == whole


@pytest.mark.parametrize("damaged", [False, True])
def test_first_segments_that_are_proven_to_be_gone_come_from_another_copy(
    tmp_path: Path, damaged: bool
) -> None:
    """By the checkpoint of epochs, the log began before its first segment; no log start is listed.

    The copies end before, in the middle of and after what is missing.
    """
    whole = _records(_NEWEST / "segments-0")
    (tmp_path / "a").mkdir()
    first = shutil.copytree(_NEWEST / "segments-0", tmp_path / "a" / "segments-0")
    bases = [int(path.stem) for path in sorted(first.glob(f"*{names.LOG}"))]
    for base in bases[:2]:
        for path in first.glob(f"{base:020}.*"):
            path.unlink()
    if damaged:
        path = first / names.segment_name(bases[3], names.LOG)
        path.write_bytes(bytes(100) + path.read_bytes()[100:])
    begins, sources = bases[2], [tmp_path / "a"]
    sound = [each for each in whole if not damaged or each.offset < bases[3]]
    for number, kept in enumerate((1, 2, 3)):
        other = tmp_path / f"b{number}" / "segments-0"
        shutil.copytree(_NEWEST / "segments-0", other)
        for base in bases[kept:]:
            for path in other.glob(f"{base:020}.*"):
                path.unlink()
        plan = restore([*sources, other.parent], fill_from_copies=True)
        filled = [each.offsets for each in plan.findings if each.reason is RestoreReason.FILLED]
        assert filled == [(0, min(bases[kept], begins))]
        lost = {each.offsets for each in plan.findings if each.reason is RestoreReason.LOST_OFFSETS}
        assert ((bases[1], begins) in lost) == (kept == 1)
        assert plan.partitions[0].log_start == 0
    plan = restore([*sources, other.parent], tmp_path / "out", write=True, fill_from_copies=True)
    assert _records(tmp_path / "out/logs/segments-0")[: len(sound)] == sound
    assert not (tmp_path / "out/logs" / names.LOG_START_OFFSETS).exists()
    # Nothing is taken without being asked, or where no file says that the copy had it.
    plan = restore([*sources, other.parent])
    assert plan.partitions[0].log_start == begins
    text = (first / names.LEADER_EPOCHS).read_text()
    (first / names.LEADER_EPOCHS).write_text(text.replace("\n0 0\n", f"\n0 {begins}\n"))
    plan = restore([*sources, other.parent], fill_from_copies=True)
    assert plan.partitions[0].log_start == begins
    assert not [each for each in plan.findings if each.offsets == (0, begins)]


@pytest.mark.parametrize(
    ("epochs", "is_filled"),
    [
        ([3, 3], True),  # the epoch that the checkpoint has there
        ([2, 2], False),  # what another leader wrote
        ([3, 2], False),
        ([2, 2, 3, 3], True),  # the same batches after it: the same log before them
    ],
)
def test_first_segments_of_another_leader_are_not_taken(
    epochs: list[int], is_filled: bool, tmp_path: Path
) -> None:
    """Two batches are gone, and two of epoch 3 are left; the checkpoint says that it began at 0."""
    for disk, first, found in (("a", 2, [3, 3]), ("b", 0, epochs)):
        place = tmp_path / disk / "t-0"
        place.mkdir(parents=True)
        batches = [
            encode([ks.Record(offset, 1, b"k", b"v")], partition_leader_epoch=epoch)
            for offset, epoch in enumerate(found, first)
        ]
        (place / names.segment_name(first, names.LOG)).write_bytes(b"".join(batches))
    (tmp_path / "a" / "t-0" / names.LEADER_EPOCHS).write_text("0\n1\n3 0\n")
    sources = [tmp_path / "a", tmp_path / "b"]
    plan = restore(sources, fill_from_copies=True, prefer=sources[:1])
    offsets = {each.reason: each.offsets for each in plan.findings if each.offsets}
    assert (offsets.get(RestoreReason.FILLED) == (0, 2)) == is_filled
    assert (offsets.get(RestoreReason.LOST_OFFSETS) == (0, 2)) != is_filled
    assert plan.partitions[0].log_start == (0 if is_filled else 2)


@pytest.mark.parametrize(
    ("theirs", "listed", "is_filled"),
    [
        ([1, 1, 2], None, False),  # another leader's, whose epoch fits between those around
        ([1, 1, 1], None, False),  # the copy that is damaged may have had epoch 3 there
        ([1, 1, 2, 3], None, True),  # the same batch after the hole: the same log before it
        ([1, 1, 3], 8, True),  # the checkpoint of epochs says that it had epoch 3 there
        ([1, 1, 2], 8, False),
        ([1, 1, 1], 12, True),
        ([1, 1, 2, 2, 2], None, False),
    ],
)
def test_a_hole_is_filled_only_by_what_was_there(
    theirs: list[int], listed: int | None, is_filled: bool, tmp_path: Path
) -> None:
    """Epochs 1, 1, a hole, 3, 3; another copy may have what another leader wrote in its place."""
    sizes = 4

    def put(disk: str, epochs: Sequence[int]) -> list[bytes]:
        place = tmp_path / disk / "filled-0"
        place.mkdir(parents=True)
        pieces = []
        for number, epoch in enumerate(epochs):
            offset = number * sizes
            value = b"of epoch %d" % epoch
            records = [ks.Record(offset + each, 1, b"key", value) for each in range(sizes)]
            pieces.append(encode(records, partition_leader_epoch=epoch))
        (place / f"{0:020}{names.LOG}").write_bytes(b"".join(pieces))
        return pieces

    mine = put("a", [1, 1, 2, 3, 3])
    mine[2] = bytes(len(mine[2]))
    (tmp_path / "a" / "filled-0" / f"{0:020}{names.LOG}").write_bytes(b"".join(mine))
    if listed is not None:
        text = f"0\n2\n1 0\n3 {listed}\n"
        (tmp_path / "a" / "filled-0" / names.LEADER_EPOCHS).write_text(text)
    put("b", theirs)
    sources = [tmp_path / "a", tmp_path / "b"]
    plan = restore(sources, tmp_path / "out", write=True, fill_from_copies=True, prefer=sources[:1])
    lost = [each.offsets for each in plan.findings if each.reason is RestoreReason.LOST_OFFSETS]
    assert lost == ([] if is_filled else [(8, 12)])
    assert bool(_reasons(plan, RestoreReason.FILLED)) == is_filled
    offsets = [each.offset for each in _records(tmp_path / "out/logs/filled-0")]
    assert [each for each in range(20) if each not in offsets] == (
        [] if is_filled else list(range(8, 12))
    )
    other = [each.offsets for each in plan.findings if each.reason is RestoreReason.REPLICA]
    has_more = theirs[3:] != [3] * len(theirs[3:])
    assert [each for each in other if each] == ([(12, 20)] if has_more else [])
    assert (restore(sources).verdict is RestoreVerdict.REFUSED) == has_more


@pytest.mark.slow
def test_damage_of_every_reason_comes_back_or_is_named(tmp_path: Path) -> None:
    """The list of reasons is closed: a new one needs a kind of damage here."""
    assert set(DAMAGES) == set(MissingWhy)
    whole = damaged_logs(tmp_path / "logs")
    with ks.open(tmp_path / "logs") as found:
        assert isinstance(found, ks.LogDirectory)
        assert {each.reason for each in missing(found, judge=judge, check=True)} == set(MissingWhy)
    plan = restore(tmp_path / "logs", tmp_path / "out", write=True)
    assert_served_or_named(plan, whole, tmp_path / "out/logs")


def test_batches_that_were_cut_at_the_end_of_a_log_are_said(tmp_path: Path) -> None:
    """More than one of them: a reader takes only the last for the end that was never written."""
    batches = [ks.encode([ks.Record(at, 5, b"k%d" % at, b"v")]) for at in range(5)]
    source = tmp_path / "source" / "t-0"
    source.mkdir(parents=True)
    cut = [data[:-at] for at, data in enumerate(batches[2:5], 50)]
    (source / f"{0:020}.log").write_bytes(b"".join([*batches[:2], *cut]))
    plan = restore(source.parent, tmp_path / "out", write=True)
    assert _reasons(plan, RestoreReason.LOST_OFFSETS) == [("t", 0)]
    restored = _records(tmp_path / "out" / "logs" / "t-0")
    assert [record.offset for record in restored] == [0, 1]


def test_segments_in_remote_storage_are_fetched(tmp_path: Path) -> None:
    """A topic that has most of its log in remote storage comes back whole, without it."""
    tiered = GOLDEN / "4.3.1" / "tiered"
    plan = restore([tiered / "logs", tiered / "remote"], tmp_path / "out", write=True)
    assert plan.verdict is RestoreVerdict.WHOLE
    with (
        ks.open(tiered / "remote") as store,
        ks.Partition(tiered / "logs" / "tiered-0") as local,
    ):
        assert isinstance(store, ks.LogDirectory)
        (remote,) = store.partitions
        wanted = [*remote.records(), *local.records()]
    assert _records(tmp_path / "out/logs/tiered-0") == wanted
    (item,) = (each for each in plan.partitions if each.topic == "tiered")
    assert (item.log_start, item.end_offset) == (wanted[0].offset, wanted[-1].offset + 1)
    assert plan.configs["tiered"]["remote.storage.enable"] == "false"
    alone = restore(tiered / "remote", tmp_path / "alone", write=True)
    (item,) = alone.partitions
    assert item.records == len(_records(tmp_path / "alone/logs/tiered-0")) > 0


def _without(source: Path, target: Path, *gone: str) -> Path:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*gone))
    return target


@pytest.mark.slow
@pytest.mark.parametrize(
    "version", [each for each in VERSIONS if (GOLDEN / each / "tiered").is_dir()]
)
def test_segments_that_stay_are_announced_as_their_broker_did(version: str, tmp_path: Path) -> None:
    """Ids, offsets, epochs, sizes and times of the objects are those of the topic that is lost."""
    tiered = GOLDEN / version / "tiered"
    topic = f"{Topic.REMOTE_LOG_METADATA}-0"
    lost = _without(tiered / "logs", tmp_path / "logs", topic)
    plan = restore([lost, tiered / "remote"], tmp_path / "out", write=True, remote="keep")
    assert _reasons(plan, RestoreReason.REMOTE) == [("tiered", 0)]
    assert not _reasons(plan, RestoreReason.LOST_PARTITION)
    with (
        ks.Partition(tiered / "logs" / topic) as theirs,
        ks.Partition(tmp_path / "out/logs" / topic) as ours,
    ):
        wanted, found = (
            [row for row in read_remote_segments(log).segments.to_pylist()
             if row["topic"] == "tiered"]
            for log in (theirs, ours)
        )  # fmt: skip
    for row in [*wanted, *found]:
        del row["started"], row["updated"], row["broker_id"]
    if wanted[0]["txn_index_empty"] is None:  # brokers before 4.0 do not record it
        for row in found:
            assert row.pop("txn_index_empty") is True
        for row in wanted:
            del row["txn_index_empty"]
    assert found == wanted
    assert len(found) == 2
    assert _records(tmp_path / "out/logs/tiered-0") == _records(tiered / "logs/tiered-0")
    (item,) = (each for each in plan.partitions if each.topic == "tiered")
    assert (item.log_start, item.records) == (0, item.end_offset)
    assert plan.configs["tiered"]["remote.storage.enable"] == "true"
    text = (tmp_path / "out" / "server.properties").read_text()
    assert "topic.num.partitions=1\n" in text
    again = restore([tiered / "logs", tiered / "remote"], remote="keep")
    assert again.verdict is RestoreVerdict.WHOLE
    assert not _reasons(again, RestoreReason.REMOTE)
    assert again.records == plan.records + len(_records(tiered / "logs" / topic)) - 4


@pytest.mark.slow
def test_segments_are_announced_where_a_broker_looks(tmp_path: Path) -> None:
    """What another number of partitions put elsewhere is announced as without the old topic."""
    tiered = GOLDEN / "4.3.1" / "tiered"
    options: dict[str, Any] = {"remote": "keep", "partitions": {Topic.REMOTE_LOG_METADATA: 5}}
    places = []
    for name, sources in (
        ("new", [tiered / "remote"]),
        ("old", [tiered / "logs", tiered / "remote"]),
    ):
        plan = restore(sources, tmp_path / name, write=True, **options)
        assert ("tiered", 0) in _reasons(plan, RestoreReason.REMOTE)
        found = set()
        for path in (tmp_path / name / "logs").glob(f"{Topic.REMOTE_LOG_METADATA}-*"):
            with ks.Partition(path) as log:
                rows = read_remote_segments(log).segments.to_pylist()
            found |= {(path.name, each["segment_id"]) for each in rows if each["topic"] == "tiered"}
        places.append(found)
    new, old = places
    assert new < old  # and where they were
    assert len({place for place, _ in new}) == 1


@pytest.mark.slow
def test_a_segment_whose_end_of_copying_is_lost_is_announced(tmp_path: Path) -> None:
    """A broker deletes a segment after its copy is whole; one that it has is copied again."""
    tiered = GOLDEN / "4.3.1" / "tiered"
    topic = f"{Topic.REMOTE_LOG_METADATA}-0"
    shutil.copytree(tiered / "logs", tmp_path / "logs")
    (path,) = (tmp_path / "logs" / topic).glob("*.log")
    with ks.Segment(path) as segment:
        first, *_ = segment.batches()
    path.write_bytes(path.read_bytes()[: first.end])
    for has_local in (False, True):
        if has_local:
            for remote in (tiered / "remote").rglob("*.log"):
                base = remote.name.partition("-")[0]
                shutil.copy(remote, tmp_path / "logs/tiered-0" / f"{base}.log")
        out = tmp_path / f"out-{has_local}"
        restore([tmp_path / "logs", tiered / "remote"], out, write=True, remote="keep")
        with ks.Partition(out / "logs" / topic) as log:
            rows = read_remote_segments(log).segments.to_pylist()
        states = {each["start_offset"]: each["state"] for each in rows}
        finished = "COPY_SEGMENT_FINISHED"
        assert states == {0: "COPY_SEGMENT_STARTED" if has_local else finished, 12: finished}


def append_remote_states(logs: Path, name: str, fields: Sequence[dict[str, Any]]) -> None:
    """Append messages to ``__remote_log_metadata-0`` of a log directory."""
    (path,) = (logs / f"{Topic.REMOTE_LOG_METADATA}-0").glob("*.log")
    with ks.Segment(path) as segment:
        end = list(segment.batches())[-1].next_offset
    values = message_bytes(
        name, [{"broker_id": 0, "event_timestamp_ms": 1, **each} for each in fields]
    )
    records = [ks.Record(end + number, 1, None, value) for number, value in enumerate(values)]
    path.write_bytes(path.read_bytes() + encode(records))


def remote_place(logs: Path) -> dict[str, Any]:
    """Return topic, id and partition of the golden log in remote storage."""
    text = read_partition_metadata(logs / "tiered-0" / names.PARTITION_METADATA).topic_id
    return {"name": "tiered", "id": kafka_uuid.to_text(text), "partition": 0}


def state_of_first(logs: Path, state: RemoteLogSegmentState) -> None:
    """Let the first segment of the golden log in remote storage have a state."""
    with ks.Partition(logs / f"{Topic.REMOTE_LOG_METADATA}-0") as log:
        rows = read_remote_segments(log).segments.to_pylist()
    (first,) = (row for row in rows if row["topic"] == "tiered" and row["start_offset"] == 0)
    own = {"topic_id_partition": remote_place(logs), "id": first["segment_id"]}
    message = {"remote_log_segment_id": own, "remote_log_segment_state": int(state)}
    append_remote_states(logs, "RemoteLogSegmentMetadataUpdateRecord", [message])


@pytest.mark.slow
@pytest.mark.parametrize("remote", ["fetch", "keep"])
@pytest.mark.parametrize("partitions", [1, 5])
@pytest.mark.parametrize("start_is_known", [False, True])
@pytest.mark.parametrize("state", list(RemoteLogSegmentState)[2:])
def test_segments_that_were_being_deleted_stay_deleted(
    remote: Any, partitions: int, start_is_known: bool, state: RemoteLogSegmentState, tmp_path: Path
) -> None:
    """Though their objects are there: a broker reads none, and begins after them."""
    tiered = GOLDEN / "4.3.1" / "tiered"
    logs = tmp_path / "logs"
    shutil.copytree(tiered / "logs", logs)
    state_of_first(logs, state)
    checkpoint = logs / names.LOG_START_OFFSETS
    checkpoint.unlink(missing_ok=True)
    if start_is_known:  # by a checkpoint that is older than the deletion
        checkpoint.write_text("0\n1\ntiered 0 0\n")
    before = restore([tiered / "logs", tiered / "remote"])
    (whole,) = (each for each in before.partitions if each.topic == "tiered")
    plan = restore(
        [logs, tiered / "remote"], tmp_path / "out", write=True, remote=remote,
        partitions={Topic.REMOTE_LOG_METADATA: partitions},
    )  # fmt: skip
    (item,) = (each for each in plan.partitions if each.topic == "tiered")
    assert (item.log_start, item.end_offset) == (12, whole.end_offset)
    assert item.records == whole.records - 12
    assert ("tiered", 0) in _reasons(plan, RestoreReason.COPY)
    assert not _reasons(plan, RestoreReason.LOST_OFFSETS)
    found = _records(tmp_path / "out/logs/tiered-0")
    if remote == "fetch":
        assert [each.offset for each in found] == list(range(12, whole.end_offset))
        return
    starts = (tmp_path / "out/logs" / names.LOG_START_OFFSETS).read_text()
    assert starts.endswith("\ntiered 0 12\n")
    assert found == _records(tiered / "logs/tiered-0")
    rows = []
    for path in (tmp_path / "out/logs").glob(f"{Topic.REMOTE_LOG_METADATA}-*"):
        with ks.Partition(path) as log:
            rows += read_remote_segments(log).segments.to_pylist()
    firsts = {
        each["state"] for each in rows if each["start_offset"] == 0 and each["topic"] == "tiered"
    }
    assert firsts == {state.name}


@pytest.mark.slow
@pytest.mark.parametrize("remote", ["fetch", "keep"])
@pytest.mark.parametrize("state", list(RemotePartitionDeleteState))
def test_a_partition_that_was_being_deleted_loses_its_objects(
    remote: Any, state: RemotePartitionDeleteState, tmp_path: Path
) -> None:
    """The local log is served; what would end a broker's reading of the topic is left out."""
    tiered = GOLDEN / "4.3.1" / "tiered"
    logs = tmp_path / "logs"
    shutil.copytree(tiered / "logs", logs)
    message = {
        "topic_id_partition": remote_place(logs), "remote_partition_delete_state": int(state),
    }  # fmt: skip
    append_remote_states(logs, "RemotePartitionDeleteMetadataRecord", [message])
    plan = restore([logs, tiered / "remote"], tmp_path / "out", write=True, remote=remote)
    assert ("tiered", 0) in _reasons(plan, RestoreReason.COPY)
    assert _records(tmp_path / "out/logs/tiered-0") == _records(tiered / "logs/tiered-0")
    with ks.Partition(tmp_path / "out/logs" / f"{Topic.REMOTE_LOG_METADATA}-0") as log:
        assert bool(read_remote_segments(log).deletions) == (remote == "fetch")
    shutil.rmtree(logs / "tiered-0")
    shutil.rmtree(logs / f"{Topic.CLUSTER_METADATA}-0")
    alone = restore([logs, tiered / "remote"], remote=remote)
    assert "tiered" not in {each.topic for each in alone.partitions}


@pytest.mark.slow
def test_segments_of_another_plugin_are_announced_too(tmp_path: Path) -> None:
    """Those with aborted transactions have an index of them, by the manifests of Aiven's."""
    store = Path(__file__).parents[1] / "tiered" / "golden" / "zstd"
    restore(store, tmp_path / "out", write=True, remote="keep")
    with ks.Partition(tmp_path / "out/logs" / f"{Topic.REMOTE_LOG_METADATA}-0") as log:
        rows = read_remote_segments(log).segments.to_pylist()
    manifests = {path: json.loads(path.read_text()) for path in store.rglob("*.rsm-manifest")}
    assert len(rows) == len(manifests) > 0
    for path, manifest in manifests.items():
        (row,) = (each for each in rows if each["segment_id"] in path.name)
        said = manifest["remoteLogSegmentMetadata"]
        assert (row["start_offset"], row["end_offset"]) == (said["startOffset"], said["endOffset"])
        assert row["size"] == manifest["chunkIndex"]["originalFileSize"]
        assert row["max_timestamp"] == said["maxTimestampMs"]
        epochs = {str(each["leader_epoch"]): each["offset"] for each in row["leader_epochs"]}
        assert epochs == said["segmentLeaderEpochs"]
        known = manifest["segmentIndexes"].get("transaction")
        assert bool(row["txn_index_empty"]) == (known is None)  # false is not written


def test_objects_that_cannot_be_announced_do_not_stay() -> None:
    """Batches of many partitions in one object are no segments: nothing would be served of them."""
    wal = Path(__file__).parents[1] / "tiered" / "wal" / "all.coordinates.jsonl"
    with pytest.raises(KafkaSpecError, match=r"topic|segment"):
        restore(wal, remote="keep")


def test_a_bucket_alone_can_stay_where_it_is(tmp_path: Path) -> None:
    tiered = GOLDEN / "4.3.1" / "tiered"
    plan = restore(tiered / "remote", tmp_path / "out", write=True, remote="keep",
                   partitions={Topic.REMOTE_LOG_METADATA: 5})  # fmt: skip
    (item,) = (each for each in plan.partitions if each.topic == "tiered")
    assert (item.log_start, item.end_offset, item.records) == (0, 24, 24)
    made = [each for each in plan.partitions if each.topic == Topic.REMOTE_LOG_METADATA]
    assert [each.end_offset for each in made].count(0) == 4
    logs = tmp_path / "out/logs"
    assert (logs / "tiered-0" / f"{24:020}.log").stat().st_size == 0
    with ks.Partition(logs / "tiered-0") as log, ks.open(tiered / "remote") as store:
        assert isinstance(store, ks.LogDirectory)
        assert log.leader_epochs == store.partitions[0].leader_epochs
    assert (logs / names.LOG_START_OFFSETS).read_text().endswith("\ntiered 0 0\n")
    for wrong in ({"at": 0}, {"keep_brokers": True}):
        with pytest.raises(ValueError, match="remote storage"):
            restore(tiered / "remote", remote="keep", **wrong)


@pytest.mark.parametrize("remote", ["fetch", "keep"])
def test_a_hole_between_remote_and_local_segments_is_said(remote: Any, tmp_path: Path) -> None:
    tiered = GOLDEN / "4.3.1" / "tiered"
    store = _without(tiered / "remote", tmp_path / "remote", f"{12:020}*")
    plan = restore([tiered / "logs", store], remote=remote)
    (lost,) = (each for each in plan.findings if each.reason is RestoreReason.LOST_OFFSETS)
    assert (lost.topic, lost.offsets) == ("tiered", OffsetRange(12, 24))


@pytest.mark.slow
def test_log_directories_in_an_object_store_are_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies of disks by URL come back as the disks do: damaged, with metadata, and tiered."""
    pytest.importorskip("moto")
    s3fs = pytest.importorskip("s3fs")
    (tmp_path / "made").mkdir()
    scenario("damage", tmp_path / "made", seed=1)
    tiered = GOLDEN / "4.3.1" / "tiered"
    cases = {
        "plain": [GOLDEN / "4.3.1" / "unclean" / "logs"], "damage": [tmp_path / "made" / "logs"],
        "tiers": [tiered / "logs", tiered / "remote"],
    }  # fmt: skip
    with object_store() as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        store = s3fs.S3FileSystem()
        for name, disks in cases.items():
            store.mkdir(f"restore-{name}")
            urls = []
            for number, disk in enumerate(disks):
                store.put(str(disk), f"restore-{name}/{number}", recursive=True)
                urls.append(f"s3://restore-{name}/{number}")
            here = restore(disks, tmp_path / f"disks-{name}", write=True, id_seed=2)
            there = restore(urls, tmp_path / f"urls-{name}", write=True, id_seed=2)
            assert there.verdict is here.verdict
            assert _reasons_of(there) == _reasons_of(here)
            ours, theirs = (
                {path.relative_to(place): digest for path, digest in _digests(place).items()
                 if path.suffix != names.CHECKPOINT}
                for place in (tmp_path / f"{kind}-{name}/logs" for kind in ("disks", "urls"))
            )  # fmt: skip
            assert ours == theirs


def _reasons_of(plan: RestorePlan) -> list[tuple[Any, ...]]:
    return sorted(
        (each.reason, each.topic or "", each.partition or 0, str(each.offsets))
        for each in plan.findings
    )


# -- what is appended, counted and left out -----------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("is_over", [False, True])
def test_no_transaction_hangs(
    is_over: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decided transactions get their marker; one that may still be committed stays open."""
    (tmp_path / "made").mkdir()
    scenario("transactions", tmp_path / "made", seed=3)
    if not is_over:
        monkeypatch.setattr("kafkaspec.restore.planning.time.time_ns", lambda: 0)
    plan = restore(tmp_path / "made/logs", tmp_path / "out", write=True)
    by_coordinator = [each for each in plan.findings if each.reason is RestoreReason.TRANSACTION]
    assert any("Prepare" in each.message for each in by_coordinator)
    assert all(
        ("COMMIT is added" in each.message) == ("PrepareCommit" in each.message)
        for each in by_coordinator
    )
    ongoing = {
        (each.topic, each.partition, each.offsets and each.offsets.start)
        for each in by_coordinator
        if "Ongoing" in each.message
    }
    assert ongoing
    still = set()
    with ks.LogDirectory(tmp_path / "out" / "logs") as logs:
        for log in logs.current:
            still |= {
                (log.topic, log.partition, each.first_offset) for each in log.open_transactions
            }
    assert still == (set() if is_over else ongoing)
    assert is_over or all(
        "KAFKA-20734" in each.message for each in by_coordinator if "is added" not in each.message
    )
    assert _reasons(plan, RestoreReason.MARKER)
    left = restore(tmp_path / "made/logs", open_transactions="leave")
    assert _reasons(left, RestoreReason.OPEN) == _reasons(plan, RestoreReason.MARKER)


@pytest.mark.slow
@pytest.mark.parametrize(("release", "refused"), [("4.0", 0), ("4.4", 2)])
def test_what_no_coordinator_loads_is_left_out(release: str, refused: int, tmp_path: Path) -> None:
    """Share groups of 4.0 had another layout: later brokers end at it, and load no group at all."""
    source = GOLDEN / "4.0.2" / "logs"
    plan = restore(source, tmp_path / "out", write=True, target_release=release)
    found = [each for each in plan.findings if each.reason is RestoreReason.UNLOADABLE]
    assert [each.topic for each in found] == [
        Topic.CONSUMER_OFFSETS, Topic.SHARE_GROUP_STATE
    ] * (refused > 0)  # fmt: skip
    for topic in (Topic.CONSUMER_OFFSETS, Topic.SHARE_GROUP_STATE):
        before, after = (_records(logs / f"{topic}-0") for logs in (source, tmp_path / "out/logs"))
        gone = [each for each in before if each not in after]
        assert (len(gone), len(before) - len(after)) == (refused, refused)
        assert [each for each in before if each not in gone] == after
    with ks.Partition(tmp_path / "out/logs" / f"{Topic.CONSUMER_OFFSETS}-0") as log:
        assert not read_groups(log, release=release).errors
        assert (
            log.log_end_offset
            == ks.Partition(source / f"{Topic.CONSUMER_OFFSETS}-0").log_end_offset
        )
    assert _offsets(source) == _offsets(tmp_path / "out/logs")


@pytest.mark.parametrize("release", ["0.9.0.1", "0.10.2.2"])
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_message_that_no_coordinator_loads_is_left_out(
    release: str, compression: Any, tmp_path: Path
) -> None:
    """Of magic 0 and 1, whose messages have no header that stays without its records."""
    topic = f"{Topic.CONSUMER_OFFSETS}-0"
    shutil.copytree(GOLDEN / release / "logs" / topic, tmp_path / "logs" / topic)
    before = _records(tmp_path / "logs" / topic)
    path = max((tmp_path / "logs" / topic).glob("*.log"))
    with ks.Segment(path) as segment:
        *_, last = segment.batches()
        record, end = last.records()[-1], last.next_offset
        magic = last.magic
    wrong, right = (
        ks.encode([ks.Record(end + number, record.timestamp, record.key, value)], magic=magic,
                  compression=compression)
        for number, value in enumerate((b"\x7f", record.value))
    )  # fmt: skip
    path.write_bytes(path.read_bytes() + wrong + right)
    plan = restore(tmp_path / "logs", tmp_path / "out", write=True)
    assert _reasons(plan, RestoreReason.UNLOADABLE) == [(Topic.CONSUMER_OFFSETS, 0)]
    after = _records(tmp_path / "out/logs" / topic)
    assert after[: len(before)] == before
    assert after[len(before)].value == record.value
    assert b"\x7f" not in {each.value for each in after}


@pytest.mark.slow
def test_commits_beyond_the_end_are_clamped(tmp_path: Path) -> None:
    source = tmp_path / "logs"
    for name in ("groups-0", f"{Topic.CONSUMER_OFFSETS}-0"):
        shutil.copytree(_NEWEST / name, source / name)
    before = _offsets(source)
    log = source / "groups-0" / f"{0:020}{names.LOG}"
    first, *_ = ks.Segment(log).batches()
    log.write_bytes(bytes(first.data))
    for path in (source / "groups-0").iterdir():
        if path.suffix not in (names.LOG,):
            path.unlink()
    plan = restore(source, tmp_path / "out", write=True)
    end = first.last_offset + 1
    clamped = {each.group for each in plan.findings if each.reason is RestoreReason.CLAMPED}
    after = _offsets(tmp_path / "out" / "logs")
    assert clamped
    for place, offset in before.items():
        if place[0] in clamped and place[1] == "groups":
            assert after[place] == (end, -1)
        else:
            assert after[place] == offset
    assert {each.group: each.clamped for each in plan.groups if each.clamped} == dict.fromkeys(
        clamped, 1
    )


def _share_group_beyond_the_end(source: Path) -> int:
    """Write a log directory with a share group; cut what it was done with, and return the end."""
    for name in ("groups-share-0", f"{Topic.CONSUMER_OFFSETS}-0", f"{Topic.SHARE_GROUP_STATE}-0"):
        shutil.copytree(GOLDEN / "4.4.0" / "logs" / name, source / name)
    assert {each.group: each.deliveries for each in restore(source).groups if each.deliveries} == {
        "group-s": 1
    }
    (path,) = (source / "groups-share-0").glob("*.log")
    with ks.Segment(path) as segment:
        first, *rest = segment.batches()
    assert rest
    path.write_bytes(bytes(first.data))
    for other in path.parent.iterdir():  # which say how long the log was
        if other.name not in (path.name, names.PARTITION_METADATA):
            other.unlink()
    return first.next_offset


@pytest.mark.slow
def test_deliveries_beyond_the_end_are_clamped(tmp_path: Path) -> None:
    """A share group that was done with what is lost gets what is written there later."""
    source = tmp_path / "logs"
    end = _share_group_beyond_the_end(source)
    plan = restore(source, tmp_path / "out", write=True)
    clamped = [each.group for each in plan.findings if each.reason is RestoreReason.CLAMPED]
    assert clamped == ["group-s"]
    before, after = (_delivered(logs) for logs in (source, tmp_path / "out/logs"))
    assert after == {offset: state for offset, state in before.items() if offset < end}
    assert {each.group for each in plan.groups if each.clamped} == {"group-s"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "wanted"), [("3.9", RestoreReason.UNSETTLED), ("4.0", RestoreReason.UNLOADABLE)]
)
def test_deliveries_beyond_the_end_are_only_named_for_releases_that_do_not_load_them(
    release: str, wanted: RestoreReason, tmp_path: Path
) -> None:
    """One without share groups is given them as they are; one with other messages, none of them."""
    source, out = tmp_path / "logs", tmp_path / "out"
    end = _share_group_beyond_the_end(source)
    before = _delivered(source)
    plan = restore(source, out, write=True, target_release=release)
    reasons = {each.reason for each in plan.findings}
    assert RestoreReason.CLAMPED not in reasons
    assert {RestoreReason.UNSETTLED, RestoreReason.UNLOADABLE} & reasons == {wanted}
    assert plan.verdict is RestoreVerdict.PARTIAL
    assert not any(each.clamped for each in plan.groups if each.kind == "share")
    name = f"{Topic.SHARE_GROUP_STATE}-0"
    item = next(each for each in plan.partitions if each.topic == Topic.SHARE_GROUP_STATE)
    assert item.added == 0
    if wanted is RestoreReason.UNSETTLED:
        (found,) = (each for each in plan.findings if each.reason is wanted)
        assert (found.group, found.topic, found.partition) == ("group-s", "groups-share", 0)
        assert found.offsets == (end, max(before) + 1)
        assert _records(out / "logs" / name) == _records(source / name)
    else:
        places = _reasons(plan, RestoreReason.UNLOADABLE)
        assert (Topic.SHARE_GROUP_STATE, 0) in places
        assert _records(out / "logs" / name) == []


def _delivered(logs: Path) -> dict[int, str]:
    """Return what became of each offset, by the only partition of the only share group."""
    with ks.Partition(logs / f"{Topic.SHARE_GROUP_STATE}-0") as log:
        state = read_deliveries(log)
    (row,) = state.partitions.to_pylist()
    assert not state.alone
    done = dict.fromkeys(range(row["start_offset"]), "done")
    return done | {
        offset: batch["state"]
        for batch in row["batches"]
        for offset in range(batch["first_offset"], batch["last_offset"] + 1)
    }


def _offsets(logs: Path) -> dict[tuple[str, str, int], tuple[int, int]]:
    with ks.Partition(logs / f"{Topic.CONSUMER_OFFSETS}-0") as log:
        return {
            (row["group"], row["topic"], row["partition"]): (row["offset"], row["leader_epoch"])
            for row in read_groups(log).offsets.to_pylist()
        }


def test_commits_of_old_brokers_do_not_expire(tmp_path: Path) -> None:
    """Their values say themselves when: a broker that loads them later drops them at once."""
    source = GOLDEN / "0.10.0.1" / "logs"
    plan = restore(source, tmp_path / "out", write=True, include=["groups"])
    with ks.Partition(tmp_path / "out/logs" / f"{Topic.CONSUMER_OFFSETS}-0") as log:
        rows = read_groups(log).offsets.to_pylist()
    assert {(row["group"], row["offset"]) for row in rows} == {("group-a", 12), ("group-b", 12)}
    assert [row["expire_timestamp"] for row in rows] == [None, None]
    assert len(_reasons(plan, RestoreReason.RENEWED)) == len(rows)


def test_producer_ids_are_above_all_that_are_on_the_disks(tmp_path: Path) -> None:
    target = tmp_path / "logs" / "topic-0"
    target.mkdir(parents=True)
    batch = encode(
        [ks.Record(0, 1, None, b"a")], producer_id=123_456, producer_epoch=0, base_sequence=0
    )
    (target / f"{0:020}{names.LOG}").write_bytes(batch)
    assert restore(tmp_path / "logs").next_producer_id == 124_000


def test_java_hash_is_that_of_strings() -> None:
    """Values of ``String.hashCode`` that Java's own documents and tests are known for."""
    known = {"": 0, "a": 97, "Hello": 69609650, "polygenelubricants": 0, "hello world": 1794106052}
    assert {text: java_hash(text) for text in known} == known
    assert java_hash("\N{GRINNING FACE}") == (31 * 0xD83D + 0xDE00) & 0x7FFFFFFF


def test_a_count_puts_each_name_where_it_was() -> None:
    chance = random.Random(9)
    for count in (1, 3, 7, 50):
        owners = [(f"group-{chance.random()}", 0) for _ in range(200)]
        placed = [(name, java_hash(name) % count) for name, _ in owners]
        assert partition_count(placed, max(part for _, part in placed) + 1) == count
    assert partition_count([("a", 0), ("b", 0), ("c", 0), ("d", 2)], 3) is None


@pytest.mark.slow
def test_a_partition_that_no_disk_has_comes_back_empty(tmp_path: Path) -> None:
    shutil.copytree(_NEWEST, tmp_path / "logs")
    shutil.rmtree(tmp_path / "logs" / "transactions-0")
    plan = restore(tmp_path / "logs")
    assert _reasons(plan, RestoreReason.LOST_PARTITION) == [("transactions", 0)]
    assert plan.verdict is RestoreVerdict.PARTIAL


@pytest.mark.slow
def test_a_directory_of_another_topic_is_left_out(tmp_path: Path) -> None:
    shutil.copytree(_NEWEST, tmp_path / "logs")
    text = f"version: 0\ntopic_id: {'A' * 20}BA"
    (tmp_path / "logs" / "plain-0" / names.PARTITION_METADATA).write_text(text)
    plan = restore(tmp_path / "logs")
    assert _reasons(plan, RestoreReason.STRAY) == [("plain", 0)]
    assert _reasons(plan, RestoreReason.LOST_PARTITION) == [("plain", 0)]


@pytest.mark.slow
def test_metadata_that_is_not_whole_drops_no_topic(tmp_path: Path) -> None:
    """The newest snapshot is torn, the log after it gone: an older one knows fewer topics."""
    source = tmp_path / "logs"
    shutil.copytree(_NEWEST, source)
    metadata = source / f"{Topic.CLUSTER_METADATA}-0"
    for path in metadata.iterdir():
        if path.suffix != names.CHECKPOINT:
            path.unlink()
    newest = sorted(metadata.iterdir())[-1]
    newest.write_bytes(newest.read_bytes()[:-3])
    plan = restore(source, tmp_path / "out", write=True)
    assert plan.verdict is RestoreVerdict.PARTIAL
    assert _reasons(plan, RestoreReason.METADATA)
    assert not _reasons(plan, RestoreReason.STRAY)
    whole = restore(_NEWEST)
    assert [(item.topic, item.records) for item in plan.partitions] == [
        (item.topic, item.records) for item in whole.partitions
    ]
    assert plan.metadata == str(metadata)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"include": ["plian"]}, {"exclude": ["plian"]}, {"partitions": {"plian": 3}},
     {"prefer": ["elsewhere"]}, {"configs": {"plian": {"a": "b"}}}, {"controller": "here"},
     {"target_release": "5.0"}],
    ids=lambda options: next(iter(options)),
)  # fmt: skip
def test_a_name_that_is_not_there_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"plian|elsewhere|HOST:PORT|5\.0"):
        restore(_NEWEST, **options)


@pytest.mark.slow
def test_a_preferred_source_is_the_same_by_any_path(tmp_path: Path) -> None:
    disks = list(_copies(tmp_path, [30, 20], 1))
    for path in (disks[1], Path(f"{disks[0]}/../{disks[1].name}/")):
        assert restore(disks, prefer=[path]).partitions[0].source == str(disks[1] / "payments-0")


@pytest.mark.slow
def test_what_is_served_and_not_understood_is_counted(tmp_path: Path) -> None:
    """Records of a type that is not known, in the topics of two coordinators."""
    source = tmp_path / "logs"
    for topic in (Topic.CONSUMER_OFFSETS, Topic.TRANSACTION_STATE):
        shutil.copytree(_NEWEST / f"{topic}-0", source / f"{topic}-0")
        *_, log = sorted((source / f"{topic}-0").glob(f"*{names.LOG}"))
        end = list(ks.Segment(log).batches())[-1].last_offset + 1
        unknown = encode([ks.Record(end, 1, b"\0\x63key", b"\0\1value")])
        log.write_bytes(log.read_bytes() + unknown)
    plan = restore(source, tmp_path / "out", write=True)
    assert _reasons(plan, RestoreReason.UNDECODED) == [
        (Topic.TRANSACTION_STATE, None), (Topic.CONSUMER_OFFSETS, None)
    ]  # fmt: skip
    assert plan.verdict is RestoreVerdict.PARTIAL
    assert len(plan.groups) == 5


@pytest.mark.slow
def test_a_point_in_time_is_a_prefix_without_open_transactions(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    scenario("transactions", tmp_path / "made", seed=5)
    source = tmp_path / "made" / "logs"
    times = sorted(
        batch.max_timestamp
        for path in source.glob(f"*/*{names.LOG}")
        for batch in ks.Segment(path).batches()
    )
    for number, at in enumerate((times[0] - 1, times[len(times) // 2], times[-1])):
        plan = restore(source, tmp_path / str(number), write=True, at=at)
        by_coordinator = set(_reasons(plan, RestoreReason.TRANSACTION))
        for item in plan.partitions:
            path = tmp_path / str(number) / "logs" / f"{item.topic}-{item.partition}"
            own, whole = _records(path), _records(str(item.source))
            assert own == whole[: len(own)]
            late = [batch for batch in _batches(str(item.source)) if batch.max_timestamp > at]
            assert item.cut == (late[0].base_offset if late else None)
            assert all(record.timestamp <= at for record in own)
            with ks.Partition(path) as log:
                open_ = bool(log.open_transactions)
            assert open_ <= ((item.topic, item.partition) in by_coordinator)
        assert bool(_reasons(plan, RestoreReason.CUT)) == (at < times[-1])


def _batches(path: str) -> list[ks.Batch]:
    with ks.Partition(path) as log:
        return list(log.batches())


def test_what_cannot_be_restored_is_said(tmp_path: Path) -> None:
    """A segment of Kafka 0.7 that no broker reads, and an id that cannot be read."""
    (tmp_path / "logs" / "old-0").mkdir(parents=True)
    (tmp_path / "logs" / "old-0" / f"{0:020}{names.MESSAGE_SET}").touch()
    shutil.copytree(_NEWEST / "plain-0", tmp_path / "logs" / "plain-0")
    (tmp_path / "logs" / "plain-0" / names.PARTITION_METADATA).write_text("version: 0")
    plan = restore(tmp_path / "logs")
    assert _reasons(plan, RestoreReason.UNREADABLE) == [("old", 0), ("plain", 0)]
    assert _reasons(plan, RestoreReason.GUESSED_ID) == [("plain", None)]
    assert [item.records for item in plan.partitions] == [30]


@pytest.mark.slow
def test_protections_name_what_was_set(tmp_path: Path) -> None:
    plan = restore(_NEWEST, tmp_path / "out", write=True)
    assert plan.configs["plain"]["retention.ms"] == "-1"
    assert plan.before["plain"]["retention.ms"] != "-1"
    text = (tmp_path / "out" / "RESTORE.md").read_text()
    assert "--alter --topic plain" in text
    assert "retention.ms" not in restore(_NEWEST, retention="keep").before.get("plain", {})


def _node(directory: Path, node: int) -> None:
    text = f"version=1\ncluster.id=a2Fma2FzcGVjLWdvbGRlbg\nnode.id={node}\n"
    (directory / names.META_PROPERTIES).write_text(text + f"directory.id={'B' * 20}{node}A\n")


@pytest.mark.slow
def test_brokers_are_kept_where_each_leader_is_proven(tmp_path: Path) -> None:
    disks = list(_copies(tmp_path, [20, 30, 25], 1))
    for number, disk in enumerate(disks):
        _node(disk, number)
        text = f"version: 0\ntopic_id: {'C' * 21}A"
        (disk / "payments-0" / names.PARTITION_METADATA).write_text(text)
    before = _digests(*disks)
    plan = restore(disks, tmp_path / "out", write=True, keep_brokers=True, node_id=9)
    assert _digests(*disks) == before
    assert plan.target is not None
    logs = tmp_path / "out" / "logs"
    assert sorted(path.name for path in logs.iterdir()) == [
        f"{Topic.CLUSTER_METADATA}-0", names.META_PROPERTIES
    ]  # fmt: skip
    image = read_cluster(ks.Partition(logs / f"{Topic.CLUSTER_METADATA}-0")).image
    ((_, partition),) = image.items[ClusterKind.PARTITION].items()
    assert partition["leader"] == 1
    assert partition["isr"] == [1]
    assert sorted(partition["replicas"]) == [0, 1, 2]
    assert partition["directories"] == [f"{'B' * 20}{node}A" for node in partition["replicas"]]
    assert "process.roles=controller" in (tmp_path / "out" / "server.properties").read_text()
    assert _reasons(plan, RestoreReason.OPEN) or not _reasons(plan, RestoreReason.MARKER)
    for own in (restore(disks, keep_brokers=True, node_id=1),
                restore(disks, keep_brokers=True, node_id=9, voters=["2@host:1"])):  # fmt: skip
        assert own.verdict is RestoreVerdict.REFUSED
    path = sorted((disks[1] / "payments-0").glob(f"*{names.LOG}"))[0]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert _reasons(restore(disks, keep_brokers=True, node_id=9), RestoreReason.UNPROVEN_LEADER)
    (disks[0] / "payments-0" / names.PARTITION_METADATA).unlink()
    assert _reasons(restore(disks, keep_brokers=True, node_id=9), RestoreReason.TOPIC_IDS)


def test_every_controller_of_a_quorum_begins_with_the_same(tmp_path: Path) -> None:
    source = tmp_path / "logs"
    shutil.copytree(_NEWEST / "plain-0", source / "plain-0")
    voters = ["2@127.0.0.2:9093", "3@[::1]:9093"]
    plan = restore(source, tmp_path / "out", write=True, voters=voters)
    places = [tmp_path / "out", tmp_path / "out/voter-2", tmp_path / "out/voter-3"]
    metadata = [place / "logs" / f"{Topic.CLUSTER_METADATA}-0" for place in places]
    first, second, third = (list(_digests(path).values()) for path in metadata)
    assert first == second == third
    known = read_cluster(ks.Partition(metadata[2])).image.items[ClusterKind.VOTER]
    hosts = {1: "127.0.0.1", 2: "127.0.0.2", 3: "::1"}  # without brackets: DynamicVoter.parse
    for place, voter in zip(places, plan.voters, strict=True):
        properties = Checkpoints(place / "logs").meta_properties
        assert properties is not None
        assert properties.node_id == voter.node_id
        assert kafka_uuid.to_text(properties.directory_id) == voter.directory_id  # type: ignore[arg-type]
        assert known[voter.node_id,]["voter_directory_id"] == voter.directory_id
        assert known[voter.node_id,]["endpoints"] == [
            {"name": "CONTROLLER", "host": hosts[voter.node_id], "port": 9093}
        ]
        text = (place / "server.properties").read_text()
        assert "bootstrap.servers=127.0.0.1:9093,127.0.0.2:9093,[::1]:9093\n" in text
        assert f"log.dirs={place / 'logs'}\n" in text
    assert len({each.directory_id for each in plan.voters}) == 3
    assert "voter-2`, `voter-3" in (tmp_path / "out" / "RESTORE.md").read_text()
    for wrong in (["1@other:9093"], ["2@127.0.0.1:9093"], ["2"], ["2@host"], ["x@host:1"],
                  ["2@host:0"]):  # fmt: skip
        with pytest.raises(ValueError, match=r"controller|voter"):
            restore(source, voters=wrong)


@pytest.mark.parametrize("number", [-1, 1 << 31, 1 << 40])
def test_a_number_that_no_node_can_have_is_refused(number: int, tmp_path: Path) -> None:
    """In the plan as in the output: that of the node, of another controller, of a kept broker."""
    source = tmp_path / "logs"
    shutil.copytree(_NEWEST / "plain-0", source / "plain-0")
    for options in ({"node_id": number}, {"voters": [f"{number}@other:9093"]}):
        for write in (False, True):
            with pytest.raises(ValueError, match=str(number)):
                restore(source, tmp_path / "out", write=write, **options)
    (source / names.META_PROPERTIES).write_text(f"version=1\ncluster.id=c\nnode.id={number}\n")
    plan = restore(source, keep_brokers=True)
    assert RestoreReason.NODES in {each.reason for each in plan.findings}
    assert not (tmp_path / "out").exists()


def test_links_share_what_no_broker_appends_to(tmp_path: Path) -> None:
    source = tmp_path / "logs"
    shutil.copytree(_NEWEST / "segments-0", source / "segments-0")
    restore(source, tmp_path / "out", write=True, link=True)
    paths = sorted((tmp_path / "out/logs/segments-0").glob(f"*{names.LOG}"))
    shared = [path.samefile(source / "segments-0" / path.name) for path in paths]
    assert shared == [True] * (len(paths) - 1) + [False]


def _sizes(logs: Path) -> int:
    return sum(path.stat().st_size for path in logs.glob(f"*/*{names.LOG}"))


@pytest.mark.slow
def test_the_bytes_of_segments_are_counted_by_how_they_came(tmp_path: Path) -> None:
    """Linked, copied, and what is made: of a damaged partition, and what is appended."""
    (tmp_path / "made").mkdir()
    scenario("transactions", tmp_path / "made", seed=3)
    source = tmp_path / "made/logs"
    for name in ("segments-0", "plain-0"):
        shutil.copytree(_NEWEST / name, source / name)
    (damaged,) = (source / "plain-0").glob(f"*{names.LOG}")
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\1")
    for link in (False, True):
        out = tmp_path / f"out-{link}"
        plan = restore(source, out, write=True, link=link, reflink="never")
        assert plan.written is not None
        assert sum(astuple(plan.written)) == _sizes(out / "logs")
        files = [path.stat() for path in (out / "logs").glob(f"*/*{names.LOG}")]
        linked = sum(each.st_size for each in files if each.st_nlink > 1)
        assert plan.written.linked == linked
        assert bool(linked) == link
        assert plan.written.made >= (out / "logs/plain-0" / damaged.name).stat().st_size
        assert plan.written.copied > 0
        assert plan.written.shared == 0
    assert restore(source).written is None


@pytest.mark.parametrize("is_able", [True, False])
def test_blocks_are_shared_as_asked(
    is_able: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a system call that is in place of the kernel's; a real one is in the next test."""

    def clone(source: FileReading, target: IO[bytes]) -> bool:
        if is_able:
            target.write(source.read(0, source.size))
        return is_able

    monkeypatch.setattr(staging, "cloned", clone)
    source = tmp_path / "logs"
    shutil.copytree(_NEWEST / "segments-0", source / "segments-0")
    size = _sizes(source)
    for number, mode in enumerate(get_args(RestoreReflink)):
        out = tmp_path / f"{number}"
        if mode == "always" and not is_able:
            with pytest.raises(KafkaSpecError, match="no blocks can be shared") as caught:
                restore(source, out, write=True, reflink=mode)
            assert caught.value.file == str(out)
            assert not out.exists()
            continue
        plan = restore(source, out, write=True, reflink=mode)
        is_shared = is_able and mode != "never"
        assert plan.written == RestoredBytes(
            shared=size if is_shared else 0, linked=0, copied=0 if is_shared else size, made=0
        )
        assert _records(out / "logs/segments-0") == _records(source / "segments-0")
    with pytest.raises(ValueError, match="reflink"):
        restore(source, keep_brokers=True, reflink="never")


@contextmanager
def _mounted(kind: str, place: Path) -> Iterator[Path]:
    """Yield a new file system; only an administrator of Linux can mount one."""
    if sys.platform != "linux" or os.geteuid() or not shutil.which(f"mkfs.{kind}"):
        pytest.skip(f"needs an administrator and mkfs.{kind}")
    image, target = place / f"{kind}.image", place / kind
    target.mkdir()
    with open(image, "xb") as file:
        file.truncate(400 << 20)
    subprocess.run([f"mkfs.{kind}", "-q", str(image)], check=True, capture_output=True)
    mount = ["mount", "-o", "loop", str(image), str(target)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip(f"nobody can mount {kind} here")
    try:
        yield target
    finally:
        subprocess.run(["umount", str(target)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["xfs", "btrfs"])
def test_a_file_system_shares_blocks(kind: str, tmp_path: Path) -> None:
    """Shared blocks take no space and copies do; another file system shares nothing."""
    with _mounted(kind, tmp_path) as place:
        source, log = place / "logs", place / "logs" / "large-0"
        log.mkdir(parents=True)
        data = encode([ks.Record(0, 1, None, random.Random(1).randbytes(8 << 20))])
        (log / f"{0:020}{names.LOG}").write_bytes(data)
        used = {}
        for mode in get_args(RestoreReflink):
            os.sync()
            before = os.statvfs(place).f_bfree
            plan = restore(source, place / mode, write=True, reflink=mode)
            os.sync()
            used[mode] = (before - os.statvfs(place).f_bfree) * os.statvfs(place).f_frsize
            is_shared = mode != "never"
            assert plan.written == RestoredBytes(
                shared=len(data) if is_shared else 0, linked=0,
                copied=0 if is_shared else len(data), made=0,
            )  # fmt: skip
            assert (place / mode / "logs/large-0" / f"{0:020}{names.LOG}").read_bytes() == data
        assert used["always"] < len(data) // 2 > used["auto"]
        assert used["never"] >= len(data)
        with pytest.raises(KafkaSpecError, match="no blocks can be shared"):
            restore(source, tmp_path / "elsewhere", write=True, reflink="always")
        assert not (tmp_path / "elsewhere").exists()
        with pytest.raises(KafkaSpecError, match="no hard link"):
            restore(source, tmp_path / "elsewhere", write=True, link=True)


@pytest.mark.skipif(not hasattr(os, "copy_file_range"), reason="no copy_file_range here")
@pytest.mark.parametrize("is_able", [True, False])
def test_segments_are_copied_by_the_kernel(
    is_able: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where blocks are not shared; where its call fails, bytes are read and written."""
    monkeypatch.setattr(staging, "cloned", lambda *_: False)
    source = tmp_path / "logs"
    called: list[tuple[int, int]] = []
    shutil.copytree(_NEWEST / "segments-0", source / "segments-0")
    original = os.copy_file_range

    def copy_file_range(src: int, dst: int, count: int, offset_src: int | None = None) -> int:
        called.append((os.fstat(src).st_ino, count))
        if not is_able:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return original(src, dst, count, offset_src)

    monkeypatch.setattr(os, "copy_file_range", copy_file_range)
    restore(source, tmp_path / "out", write=True)
    segments = sorted((source / "segments-0").glob(f"*{names.LOG}"))
    whole = {(path.stat().st_ino, path.stat().st_size) for path in segments}
    assert whole <= set(called)  # each in one call, from its own file
    for path in segments:
        copy = tmp_path / "out/logs/segments-0" / path.name
        assert copy.read_bytes() == path.read_bytes()
        assert not copy.samefile(path)


@pytest.mark.slow
def test_a_marker_that_no_one_knows_reads(tmp_path: Path) -> None:
    """The control records that are added decode as those of Kafka."""
    (tmp_path / "made").mkdir()
    scenario("groups", tmp_path / "made", seed=3)
    restore(tmp_path / "made/logs", tmp_path / "out", write=True)
    *_, last = _batches(str(tmp_path / "out/logs" / f"{Topic.CONSUMER_OFFSETS}-0"))
    (control,) = last.control_records()
    assert control.type_name == "ABORT"
    assert (control.record.key, control.record.value) == encode_control(
        control.key.type, control.body
    )


@pytest.mark.slow
def test_a_kill_leaves_nothing_or_the_whole(tmp_path: Path) -> None:
    """At moments from the start of a run to its end; a later run takes the same place."""
    out = tmp_path / "out"
    command = [
        sys.executable, "-m", "kafkaspec", "restore", "--write", "-o", str(out), "--id-seed", "1",
        str(_NEWEST),
    ]  # fmt: skip
    begun = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    whole, took = _digests(out), time.monotonic() - begun
    killed = 0
    for moment in range(1, 11):
        shutil.rmtree(out)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            time.sleep(took * moment / 10)
            killed += process.poll() is None
            process.kill()
        if out.exists():
            assert _digests(out) == whole, moment
        else:
            subprocess.run(command, check=True, capture_output=True)
        assert _digests(out) == whole, moment
        assert [path.name for path in tmp_path.iterdir()] == [out.name], moment
    assert killed


@pytest.mark.slow
def test_a_partition_costs_the_same_beside_many(tmp_path: Path) -> None:
    data = ks.encode([ks.Record(0, 5, b"k", b"v")])
    work = []
    for number in (100, 200, 400):
        for partition in range(number):
            path = tmp_path / str(number) / f"t-{partition}"
            path.mkdir(parents=True)
            (path / f"{0:020}.log").write_bytes(data)
        work.append(lines(partial(restore, tmp_path / str(number)), "restore/replica_inventory.py"))
    assert work[2] - work[1] < 2.05 * (work[1] - work[0]), work
