"""A broker starts on every scenario that is not damaged, and serves what the scenario says."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient  # type: ignore[import-untyped]
from kafka.errors import CoordinatorLoadInProgressError, NotCoordinatorError  # type: ignore[import-untyped]

import kafkaspec as ks
from kafkaspec._generated.layout.topics import Topic
from kafkaspec.files import names
from kafkaspec.files.checkpoints import offset_checkpoint
from kafkaspec.files.checkpoints.offset_checkpoint import PartitionOffset
from kafkaspec.scenarios.making import SCENARIOS, scenario, scenario_plan
from kafkaspec.scenarios.scenario_plan import ScenarioPlan
from tests.kafka.chosen import VERSIONS
from tools.brokers.client import Client
from tools.brokers.versions import Version
from tools.kafka.serving import Template

pytestmark = pytest.mark.kafka

_SINCE = (3, 1)
"""The first release that reads all that is in them: delete horizons."""
_EPOCHS = "LeaderEpochFileCache"
"""It drops the epochs above those of the controller, for which the topics are new."""
SEEDS = (0, 7)
UNDAMAGED = [name for name in SCENARIOS if name != "damage"]


def _plans(version: Version, top: Path) -> dict[str, tuple[ScenarioPlan, Path]]:
    found = {}
    for name in UNDAMAGED:
        for seed in SEEDS:
            plan = scenario_plan(name, seed=seed, profile=version.name)
            found[f"{name}.{seed}"] = plan, top / f"{name}-{seed}"
            plan.write(top / f"{name}-{seed}")
    return found


@pytest.mark.parametrize(
    "version", [each for each in VERSIONS if each.release >= _SINCE], ids=lambda each: each.name
)
def test_a_broker_serves_what_the_scenario_says(version: Version, tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "run").mkdir()
    topics = {
        # Partition 0 of a topic of its own: Kafka's own topics would be changed by the broker.
        f"{label}.{directory}.{made.name}": (made, path / directory / made.name)
        for label, (plan, path) in _plans(version, tmp_path / "ours").items()
        for directory, partitions in plan.logs.items()
        for made in partitions
    }
    template = Template(version, tmp_path / "run", topics, {})
    template.place([(topic, path) for topic, (_, path) in topics.items()], clean=True)
    starts = [PartitionOffset(topic, 0, made.log_start) for topic, (made, _) in topics.items()]
    ends = [PartitionOffset(topic, 0, made.end) for topic, (made, _) in topics.items()]
    for file, entries in ((names.LOG_START_OFFSETS, starts), (names.HIGH_WATERMARKS, ends)):
        (template.logs / file).write_bytes(offset_checkpoint.serialize(entries))
    wrong: list[tuple[str, Any, Any]] = []

    def expect(what: str, found: Any, wanted: Any) -> None:
        if found != wanted:
            wrong.append((what, found, wanted))

    with template.running(), Client(template) as client:
        for topic, (made, _) in topics.items():
            got = client.consume(topic, "read_uncommitted")
            expect(f"{topic} records", got.records, made.uncommitted)
            expect(f"{topic} borders", (got.start, got.end), (made.log_start, made.end))
            got = client.consume(topic, "read_committed")
            expect(f"{topic} committed", got.records, made.committed)
            expect(f"{topic} last stable offset", got.end, made.stable)
            expect(f"{topic} append", client.append(topic), made.end)
    assert wrong == []
    complaints = [line for line in template.complaints(topics) if _EPOCHS not in line]
    assert not complaints, "\n".join(complaints)
    assert len(topics) >= len(SEEDS) * len(UNDAMAGED)
    with ks.LogDirectory(template.logs) as logs:
        assert len(logs) >= len(topics)


def _once_loaded(ask: Callable[[], Any]) -> Any:
    """Ask until the coordinator has read its log."""
    for _ in range(100):
        try:
            return ask()
        except (CoordinatorLoadInProgressError, NotCoordinatorError):
            time.sleep(0.1)
    return ask()


@pytest.mark.parametrize(
    "version", [each for each in VERSIONS if each.release >= _SINCE], ids=lambda each: each.name
)
def test_a_coordinator_knows_the_groups_of_the_scenario(version: Version, tmp_path: Path) -> None:
    made = scenario("groups", tmp_path / "groups", seed=7, profile=version.name)
    (facts,) = made["logs"]["logs"].values()
    (tmp_path / "run").mkdir()
    template = Template(version, tmp_path / "run", [Topic.CONSUMER_OFFSETS], {})
    partition = tmp_path / "groups" / "logs" / f"{Topic.CONSUMER_OFFSETS}-0"
    template.place([(Topic.CONSUMER_OFFSETS, partition)], clean=True)
    groups = {each["group"] for each in facts["offsets"]} | set(facts["groups"])
    with template.running():
        admin = KafkaAdminClient(bootstrap_servers=template.bootstrap)
        try:
            listed = _once_loaded(admin.list_groups)
            offsets = admin.list_group_offsets(dict.fromkeys(sorted(groups)))
            described = admin.describe_groups(sorted(facts["groups"]))
        finally:
            admin.close()
    assert {each["group_id"] for each in listed} == groups
    assert {
        (group, place.topic, place.partition, found.offset)
        for group, places in offsets.items()
        for place, found in places.items()
    } == {tuple(each.values()) for each in facts["offsets"]}
    assert {
        name: (each["group_state"], sorted(member["member_id"] for member in each["members"]))
        for name, each in described.items()
    } == {name: (each["state"], each["members"]) for name, each in facts["groups"].items()}


@pytest.mark.parametrize(
    "version", [each for each in VERSIONS if each.release >= (4, 0)], ids=lambda each: each.name
)
def test_a_coordinator_knows_the_groups_of_the_consumer_protocol(
    version: Version, tmp_path: Path
) -> None:
    made = scenario("consumer-groups", tmp_path / "groups", seed=7, profile=version.name)
    (facts,) = made["logs"]["logs"].values()
    (tmp_path / "run").mkdir()
    template = Template(version, tmp_path / "run", [Topic.CONSUMER_OFFSETS], {})
    partition = tmp_path / "groups" / "logs" / f"{Topic.CONSUMER_OFFSETS}-0"
    template.place([(Topic.CONSUMER_OFFSETS, partition)], clean=True)
    groups = {each["group"] for each in facts["offsets"]} | set(facts["consumer_groups"])
    with template.running():
        admin = KafkaAdminClient(bootstrap_servers=template.bootstrap)
        try:
            listed = _once_loaded(admin.list_groups)
            offsets = _once_loaded(lambda: admin.list_group_offsets(dict.fromkeys(sorted(groups))))
        finally:
            admin.close()
    assert {each["group_id"] for each in listed} == groups
    assert {
        (group, place.topic, place.partition, found.offset)
        for group, places in offsets.items()
        for place, found in places.items()
    } == {tuple(each.values()) for each in facts["offsets"]}
    said = {each["group_id"]: each["group_state"] for each in listed}
    wanted = {name: each["state"] for name, each in facts["consumer_groups"].items()}
    assert {name: said[name] for name in wanted} == wanted
