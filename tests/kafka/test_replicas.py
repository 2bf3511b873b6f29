"""An unclean election on real brokers: ``diff`` says beforehand what the follower truncates.

One node is the controller, and two are the replicas. A alone writes and is killed; B, which was not
in sync, is elected and writes other records; then A comes back.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.forensics.replicas.comparison import DifferenceKind, compare_replicas
from kafkaspec.forensics.replicas.elections import unclean_elections
from kafkaspec.log.partition import Partition
from kafkaspec.results import OffsetRange
from tests.kafka.chosen import VERSIONS
from tests.structure.source import ROOT
from tools.brokers.broker import Broker, Node
from tools.brokers.client import Client, Record
from tools.brokers.versions import Version

pytestmark = pytest.mark.kafka

JUDGES = [version for version in VERSIONS if version.release >= (3, 9) and not version.missing]
"""KRaft with a quorum that grows; not the newest, so that not each run of all tests starts it."""
TOPIC = "elected"
SETTINGS = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "replica.high.watermark.checkpoint.interval.ms": "200",
    "replica.lag.time.max.ms": "3000",
}
SHARED, LOST, OTHERS = 48, 45, 25
REPLICAS = ROOT / "tests" / "forensics" / "replicas"
"""What two brokers of the last of these releases had on disk: ``make test-kafka RECORD=1``."""
SECONDS = 60


@dataclass
class Story:
    """What was on disk before A came back, what A did then, and what both have afterwards."""

    before: tuple[Path, Path]
    after: tuple[Path, Path]
    metadata: Path
    warned: str


def _wait(done: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < end, what
        time.sleep(0.2)


def _send(client: Client, name: str, count: int) -> None:
    client.open(name, {"acks": "all", "linger.ms": "5"})
    for first in range(0, count, 4):
        values = [b"%s %d" % (name.encode(), n) for n in range(first, min(first + 4, count))]
        client.send(name, TOPIC, 0, [Record(value, value) for value in values])
    client.call(name, "close")


def _copied(node: Node, target: Path) -> Path:
    """The partition of a node, and the checkpoints above it."""
    target.mkdir()
    shutil.copytree(node.logs / f"{TOPIC}-0", target / f"{TOPIC}-0")
    for path in node.logs.glob("*-checkpoint"):
        shutil.copy(path, target)
    return target / f"{TOPIC}-0"


def _record(before: tuple[Path, Path]) -> None:
    """Keep what was on disk, but indexes, which a killed broker leaves as large as it made them."""
    for name, path in zip("ab", before, strict=True):
        target = REPLICAS / name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(path.parent, target, ignore=shutil.ignore_patterns("*index", "*.snapshot"))


@pytest.fixture(scope="module", params=JUDGES, ids=lambda version: version.name)
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Story:
    version: Version = request.param
    work = tmp_path_factory.mktemp(f"replicas-{version.name}")
    (work / "run").mkdir()
    with Broker(version, work / "run", SETTINGS).running() as broker:
        a, b = broker.join(1), broker.join(2)
        with Client(broker) as client:
            settings = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
            client.place(TOPIC, [a.number, b.number], settings)
            _send(client, "shared", SHARED)
            b.server.stop()
            _wait(lambda: client.leader(TOPIC) == (1, [1]), "B still in sync")
            _send(client, "lost", LOST)
            time.sleep(1)  # the high watermark comes to the disk
            a.server.kill()
            b.server.start()
            _wait(lambda: client.leader(TOPIC)[0] == b.number, "B not elected")
            _send(client, "others", OTHERS)
            b.server.stop()
            before = _copied(a, work / "a"), _copied(b, work / "b")
            name = f"{Topic.CLUSTER_METADATA}-0"
            metadata = shutil.copytree(broker.logs / name, work / name)
            b.server.start()
            _wait(lambda: client.leader(TOPIC)[0] == b.number, "B not elected again")
            a.server.start()
            _wait(lambda: sorted(client.leader(TOPIC)[1]) == [1, 2], "A not in sync")
            log = "".join(
                each.read_text(errors="replace") for each in broker.work.glob("node-1.out")
            )
            a.server.stop()
            b.server.stop()
            after = _copied(a, work / "a-after"), _copied(b, work / "b-after")
            for node in (a, b):  # the block stops what it started
                node.server.start()
            if os.environ.get("RECORD") and version is JUDGES[-1]:
                _record(before)
    return Story(before, after, metadata, log)


def test_the_follower_truncates_as_predicted(story: Story) -> None:
    with Partition(story.before[0]) as a, Partition(story.before[1]) as b:
        found = compare_replicas(a, b)
    assert (found.leader, found.divergence, found.same) == ("b", SHARED, False)
    (difference,) = found.differences
    assert difference.kind is DifferenceKind.DIVERGED
    first, second = found.truncations
    assert first.offset == SHARED
    moved = re.search(r"high watermark from \(offset=(\d+).*? to \(offset=(\d+)", story.warned)
    assert moved is not None, story.warned
    assert (int(moved[1]), int(moved[2])) == (first.high_watermark, first.offset)
    assert first.removed == OffsetRange(SHARED, SHARED + LOST)
    assert first.acknowledged == first.removed, "they were acknowledged with acks=all"
    assert first.agrees
    assert second.offset == SHARED, "and the other way round B would lose its records"
    assert second.removed is not None
    assert second.removed.end == SHARED + OTHERS


def test_afterwards_both_are_the_same(story: Story) -> None:
    with Partition(story.after[0]) as a, Partition(story.after[1]) as b:
        found = compare_replicas(a, b)
    assert found.same
    assert found.differences == []
    assert found.a.end_offset == SHARED + OTHERS


def test_the_metadata_tells_of_the_election(story: Story) -> None:
    with Partition(story.metadata) as metadata:
        every = unclean_elections(metadata)
    (election,) = [each for each in every if each.topic == TOPIC]
    assert (election.partition, election.leader, election.former_isr) == (0, 2, (1,))
