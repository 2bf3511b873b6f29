"""Brokers start on what ``restore`` writes of log directories of all releases, and serve it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from kafka import (  # type: ignore[import-untyped]
    KafkaAdminClient,
    KafkaConsumer,
    OffsetAndMetadata,
    TopicPartition,
)
from kafka.errors import CoordinatorLoadInProgressError  # type: ignore[import-untyped]

import kafkaspec as ks
from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model.enumeration import (
    RemoteLogSegmentState,
    RemotePartitionDeleteState,
)
from kafkaspec.analysis.findings import Finding
from kafkaspec.analysis.verification import verify
from kafkaspec.files import names
from kafkaspec.log.batch import NONE
from kafkaspec.log.encoding import encode
from kafkaspec.restore.feature_levels import FEATURE_LEVELS
from kafkaspec.restore.restore_plan import RestorePlan, RestoreReason, RestoreVerdict
from kafkaspec.restore.restoring import restore
from kafkaspec.scenarios.damage import CRASHED
from kafkaspec.scenarios.making import scenario
from kafkaspec.scenarios.scenario_plan import LOGS
from kafkaspec.state.cluster import read_cluster
from kafkaspec.state.edited import edit_cluster, write_edited
from kafkaspec.state.groups import read_groups
from kafkaspec.state.image import ClusterKind
from kafkaspec.state.transactions import read_transactions
from tests.goldens import GOLDEN
from tests.kafka.chosen import SAMPLE, VERSIONS
from tests.restore.damages import assert_served_or_named, damaged_logs
from tests.restore.test_restore import append_remote_states, remote_place, state_of_first
from tools.brokers.broker import Broker, scram_settings, tiered_settings
from tools.brokers.client import Client, Consumed, Record
from tools.brokers.maven import ToolError
from tools.brokers.processes import LOOPBACK, Server, free_ports
from tools.brokers.versions import Feature, Version, newest_complete

pytestmark = pytest.mark.kafka

_TARGETS = [
    each for each in VERSIONS if ".".join(each.name.split(".")[:2]) in FEATURE_LEVELS
]  # fmt: skip
_OF_TIERS = [each for each in _TARGETS if Feature.TIERED in each.features] or [newest_complete()]
_OF_SHARES = [
    each for each in _TARGETS if Feature.SHARE_GROUPS in each.features and each.release >= (4, 2)
] or [newest_complete()]
"""Releases in which share groups are no preview."""
_OF_STREAMS = [each for each in _TARGETS if Feature.STREAMS_GROUPS in each.features] or [
    newest_complete()
]
_ALWAYS = ("0.8.0/logs", "0.10.2.2/logs", "2.8.2/logs", "4.3.1/logs", "4.3.1/unclean/logs")
"""One of each magic and of each kind of metadata; the others are sampled."""
_OTHERS = sorted(
    source
    for path in GOLDEN.glob("*/**/logs")
    if (source := str(path.relative_to(GOLDEN))) not in _ALWAYS and "/tiered" not in source
)
_MADE = "made"
_TIERED = "4.3.1/tiered"
SOURCES = [
    *_ALWAYS,
    _TIERED,
    f"{_MADE}/damage/{LOGS}",
    f"{_MADE}/damage/{CRASHED}",
    *_OTHERS[:: max(SAMPLE, 1)],
]
"""Golden log directories, and a scenario: damage of each kind that is known, by a crash too."""
_WITHOUT_PROTECTION = {
    "log.retention.ms": "1000",
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": "500",
    "log.cleaner.backoff.ms": "300",
    "offsets.retention.check.interval.ms": "500",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}
"""With these, what is not protected is gone within seconds, and what is open is ended."""
_ISOLATIONS = ("read_uncommitted", "read_committed")
_LAST = b"after the restore"
_COORDINATED = (Topic.CONSUMER_OFFSETS, Topic.TRANSACTION_STATE)
_OFFSETS_LIFE = "offsets.retention.minutes"
_TIMES = 12
"""Most times of a partition that are looked up."""
_ROUND_SECONDS = 4
_ENDS_SECONDS = 90
"""Most time after which a coordinator has ended all that was open."""
_SECRET = {"delegation.token.secret.key": "made-up"}


def _older(source: str, target: Version) -> bool:
    """Return whether a target reads all that a release wrote."""
    release = tuple(int(part) for part in source.split("/")[0].split("."))
    return release[:2] <= target.release[:2]


def _restored(
    version: Version,
    work: Path,
    *sources: Path,
    settings: Mapping[str, str] = MappingProxyType({}),
    **options: Any,
) -> tuple[Broker, RestorePlan]:
    """Return a broker on what is restored, and the plan."""
    (work / "run").mkdir(parents=True)
    broker = Broker(version, work / "run", _WITHOUT_PROTECTION | _SECRET | dict(settings))
    plan = restore(
        sources, work / "out", write=True, node_id=0, controller=broker.controller,
        target_release=".".join(version.name.split(".")[:2]), **options,
    )  # fmt: skip
    assert plan.target is not None
    shutil.rmtree(broker.logs)
    shutil.move(work / "out" / "logs", broker.logs)
    ours = (work / "out" / "server.properties").read_text().splitlines()
    (kept,) = (line for line in ours if line.startswith(_OFFSETS_LIFE))
    with open(work / "run" / "kafka.properties", "a") as file:
        file.write(f"{kept}\n")
    return broker, plan


def _expected(plan: RestorePlan, logs: Path, isolation: str) -> dict[str, list[ks.Record]]:
    """Return the records of the first partitions of all topics, as the library reads them."""
    found = {}
    for item in plan.partitions:
        if not item.partition:
            with ks.Partition(logs / f"{item.topic}-0") as log:
                found[item.topic] = _delivered(log, isolation)
    return found


def _delivered(log: ks.Partition, isolation: Any) -> list[ks.Record]:
    """Return the records that a consumer gets, which skips what it has passed.

    Of a batch that is there twice, it gets one.
    """
    records = {each.offset: each for each in reversed(list(log.records(isolation=isolation)))}
    return [records[offset] for offset in sorted(records)]


def _times(records: Sequence[ks.Record]) -> list[int]:
    """Return times of records, and those beside them."""
    near = {each.timestamp + step for each in records for step in (-1, 0, 1) if each.timestamp > 0}
    return sorted(near)[:: len(near) // _TIMES + 1]


def _looked_up(client: Client, logs: Path, topic: str, times: Sequence[int]) -> list[str]:
    """Return the times at which broker and library find other records."""
    theirs = client.times(topic, times)
    with ks.Partition(logs / f"{topic}-0") as log:
        ours = [log.find(timestamp=each) for each in times]
    return [
        f"{at}: {answer} by the broker, {found.offset} at {found.timestamp} by the library"
        for at, answer, found in zip(times, theirs, ours, strict=True)
        if (answer or (None, None)) != (found.offset, found.timestamp)
    ]


def _commit(client: Client, topics: Sequence[str]) -> None:
    """Append to all topics, by an idempotent producer and in one transaction."""
    client.open("idempotent", {"enable.idempotence": "true", "acks": "all"})
    for topic in topics:
        client.send("idempotent", topic, 0, [Record(b"once", b"once")])
    client.call("idempotent", "close")
    client.open("last", {"transactional.id": "made-after-the-restore"})
    client.call("last", "beginTransaction")
    for topic in topics:
        client.send("last", topic, 0, [Record(b"restored", _LAST)])
    client.call("last", "commitTransaction")
    client.call("last", "close")


def _last(client: Client, topic: str, wanted: bytes) -> bytes | None:
    """Return the last committed value of a topic; wait for the wanted one, which an open
    transaction may hold back."""
    deadline = time.monotonic() + _ENDS_SECONDS
    while True:
        records = client.consume(topic, "read_committed").records
        last = records[-1].value if records else None
        if last == wanted or time.monotonic() > deadline:
            return last
        time.sleep(1)


def _positions(
    broker: Broker, groups: Mapping[tuple[str, str, int], int]
) -> dict[tuple[str, str, int], int]:
    """Return where a consumer of each group goes on."""
    found = {}
    for group in sorted({group for group, _, _ in groups}):
        places = [TopicPartition(*place) for name, *place in groups if name == group]
        consumer = KafkaConsumer(
            bootstrap_servers=broker.bootstrap, group_id=group, enable_auto_commit=False,
            auto_offset_reset="none",
        )  # fmt: skip
        consumer.assign(places)
        for place in places:
            found[group, place.topic, place.partition] = consumer.position(place)
        consumer.close()
    return found


def _starts_again(broker: Broker, topics: Sequence[str]) -> None:
    """Start it a second time: nothing changes."""
    paths = [broker.logs / f"{topic}-0" for topic in topics]

    def contents() -> list[list[ks.Record]]:
        return [list(log.records()) for log in map(ks.Partition, paths)]

    before, names = contents(), sorted(path.name for path in broker.logs.iterdir())
    with broker.running(), Client(broker) as client:
        for topic in topics:
            assert client.leader(topic) == (0, [0])
    assert contents() == before
    assert sorted(path.name for path in broker.logs.iterdir()) == names


@pytest.mark.parametrize("version", _TARGETS, ids=lambda each: each.name)
@pytest.mark.parametrize("source", SOURCES)
def test_a_broker_serves_what_is_restored(version: Version, source: str, tmp_path: Path) -> None:
    place = GOLDEN / source
    if source.startswith(f"{_MADE}/"):
        _, name, logs = source.split("/")
        scenario(name, tmp_path / _MADE)
        place = tmp_path / _MADE / logs
    elif not _older(source, version):
        pytest.skip("a newer release wrote it")
    sources = [place]
    if source == _TIERED:
        sources = [place / "logs", place / "remote"]
        place /= "logs"
    broker, plan = _restored(version, tmp_path, *sources)
    by_coordinator = {
        each.topic for each in plan.findings if each.reason is RestoreReason.TRANSACTION
    }
    if by_coordinator:
        by_coordinator.add(Topic.TRANSACTION_STATE)
    wanted = {each: _expected(plan, broker.logs, each) for each in _ISOLATIONS}
    ends = {item.topic: item for item in plan.partitions if not item.partition}
    users = [topic for topic in ends if topic not in {*Topic}]
    wrong: list[tuple[str, Any, Any]] = []
    looked_up = 0
    with broker.running(), Client(broker) as client:
        time.sleep(_ROUND_SECONDS)
        for isolation, topics in wanted.items():
            for topic, records in topics.items():
                if isolation == "read_committed" and topic in by_coordinator:
                    continue  # the coordinator has ended what was open
                got = client.consume(topic, isolation)
                if topic == Topic.TRANSACTION_STATE and topic in by_coordinator:
                    got = got._replace(records=got.records[: len(records)])
                if topic == Topic.CONSUMER_OFFSETS:  # groups without members and offsets end
                    added = len(got.records) - len(records)
                    assert all(each.value is None for each in got.records[len(records) :])
                    got = got._replace(records=got.records[: len(records)], end=got.end - added)
                if got.records != records:
                    wrong.append((f"{topic} {isolation}", len(got.records), len(records)))
                item = ends[topic]
                if isolation == "read_uncommitted" and topic not in by_coordinator:
                    borders = (item.log_start, item.end_offset)
                    if (got.start, got.end) != borders:
                        wrong.append((f"{topic} borders", (got.start, got.end), borders))
        for topic, records in wanted["read_uncommitted"].items():
            asked = _times(records) if topic not in _COORDINATED else []
            looked_up += len(asked)
            wrong += [
                (topic, "times", each) for each in _looked_up(client, broker.logs, topic, asked)
            ]
        known = _groups_of(place)
        groups = _served_groups(broker, {group for group, _, _ in known})
        positions = _positions(broker, groups)
        for topic in users:
            offset = client.append(topic)
            if topic not in by_coordinator and offset != ends[topic].end_offset:
                wrong.append((f"{topic} append", offset, ends[topic].end_offset))
        _commit(client, users)
        for topic in users:  # the coordinator ends what was open when it comes to it
            assert _last(client, topic, _LAST) == _LAST, topic
        later = {
            (topic, each): client.consume(topic, each) for topic in users for each in _ISOLATIONS
        }
    assert not wrong
    assert positions == groups
    for topic in users:
        with ks.Partition(broker.logs / f"{topic}-0") as log:
            new = {
                each.producer_id
                for each in log.batches()
                if each.base_offset >= ends[topic].end_offset and not each.is_control
            }
            assert len(new) == 3, topic
            assert sorted(new)[0] == NONE < plan.next_producer_id <= sorted(new)[1], topic
            for isolation in _ISOLATIONS:
                records, got = _delivered(log, isolation), later[topic, isolation]
                if _is_compacted(plan, topic):  # the cleaner may have come since
                    got = got._replace(records=[each for each in got.records if each in records])
                assert got.records == records, (topic, isolation)
                assert records[-1].value == _LAST, topic
    _starts_again(broker, [each for each in users if not _is_compacted(plan, each)])
    print(f"{source}: {len(plan.partitions)} partitions, {plan.records} records,"
          f" {sum(map(len, wanted['read_uncommitted'].values()))} uncommitted and"
          f" {sum(map(len, wanted['read_committed'].values()))} committed of partitions 0 compared,"
          f" {looked_up} times, {len(known)} committed offsets")  # fmt: skip
    clamped = {each.group for each in plan.findings if each.reason is RestoreReason.CLAMPED}
    for commit, offset in known.items():
        assert groups.get(commit) == offset or commit[0] in clamped, commit
    assert not [path.name for path in broker.logs.iterdir() if "-stray" in path.name]
    before = {_fault(each) for each in verify(place).findings}
    own = [each for each in verify(broker.logs).findings if each.severity == "error"]
    assert not [each for each in own if _fault(each) not in before]


def _is_compacted(plan: RestorePlan, topic: str) -> bool:
    return "compact" in plan.configs[topic].get("cleanup.policy", "")


def _fault(finding: Finding) -> tuple[str, str]:
    """Return the partition and the reason of a finding."""
    return Path(finding.file or "").parent.name, finding.reason


def _groups_of(logs: Path) -> dict[tuple[str, str, int], int]:
    path = logs / f"{Topic.CONSUMER_OFFSETS}-0"
    if not path.is_dir():
        return {}
    with ks.Partition(path) as log:
        return {
            (row["group"], row["topic"], row["partition"]): row["offset"]
            for row in read_groups(log).offsets.to_pylist()
            if not row["pending"]
        }


def _served_groups(broker: Broker, known: set[str]) -> dict[tuple[str, str, int], int]:
    """Return the committed offsets, once the coordinator has read its log."""
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    deadline = time.monotonic() + 30
    try:
        names: set[str] = set()
        while not known <= names and time.monotonic() < deadline:
            try:
                names = {each["group_id"] for each in admin.list_groups()}
            except CoordinatorLoadInProgressError:
                time.sleep(0.2)
        found = admin.list_group_offsets(dict.fromkeys(sorted(names))) if names else {}
    finally:
        admin.close()
    return {
        (group, place.topic, place.partition): committed.offset
        for group, places in found.items()
        for place, committed in places.items()
    }


@pytest.mark.parametrize("version", _TARGETS, ids=lambda each: each.name)
def test_nothing_hangs_and_no_producer_id_comes_again(version: Version, tmp_path: Path) -> None:
    """After what is restored was open in all ways, a new transaction can be read at the end."""
    (tmp_path / "made").mkdir()
    scenario("transactions", tmp_path / "made", seed=3)
    broker, plan = _restored(version, tmp_path, tmp_path / "made" / "logs")
    with broker.running(), Client(broker) as client:
        time.sleep(_ROUND_SECONDS)
        client.open("new", {"transactional.id": "new"})
        client.call("new", "beginTransaction")
        client.send("new", "payments", 0, [Record(b"key", b"the last one")])
        client.call("new", "commitTransaction")
        last = _last(client, "payments", b"the last one")
    assert last == b"the last one"
    with ks.Partition(broker.logs / "payments-0") as log:
        *_, batch = [each for each in log.batches() if not each.is_control]
    assert batch.producer_id >= plan.next_producer_id


@pytest.mark.parametrize("version", _TARGETS, ids=lambda each: each.name)
def test_the_controllers_own_snapshot_equals_ours(version: Version, tmp_path: Path) -> None:
    """What the controller has after its start, without registrations, is what was asked for."""
    broker, _ = _restored(version, tmp_path, GOLDEN / "3.9.2" / "logs")
    path = broker.logs / f"{Topic.CLUSTER_METADATA}-0"
    asked = read_cluster(ks.Partition(path)).image
    with broker.running():
        time.sleep(_ROUND_SECONDS)
        found = read_cluster(ks.Partition(path)).image  # a node that stops gives up what it leads
    for kind in ClusterKind:
        if kind in (ClusterKind.BROKER, ClusterKind.CONTROLLER, ClusterKind.PRODUCER_IDS):
            continue
        if kind is ClusterKind.PARTITION:
            assert found.items[kind].keys() == asked.items[kind].keys()
            for key, item in asked.items[kind].items():
                again = found.items[kind][key]
                assert again["leader"] == item["leader"], key
                assert again["isr"] == item["isr"], key
                assert again["directories"] == item["directories"], key
            continue
        assert found.items[kind] == asked.items[kind], kind


@pytest.mark.parametrize("version", _TARGETS, ids=lambda each: each.name)
def test_a_controller_begins_with_edited_metadata(version: Version, tmp_path: Path) -> None:
    """A setting that is changed and a topic that is removed are so for the broker too."""
    broker, _ = _restored(version, tmp_path, GOLDEN / "3.9.2" / "logs")
    path = broker.logs / f"{Topic.CLUSTER_METADATA}-0"
    setting = {
        "record": "ConfigRecord", "resource_type": 2, "resource_name": "plain",
        "name": "max.message.bytes", "value": "54321",
    }  # fmt: skip
    with ks.Partition(path) as log:
        topics = read_cluster(log).image.items[ClusterKind.TOPIC].values()
        (removed,) = (each["topic_id"] for each in topics if each["name"] == "empty")
        edits = [setting, {"record": "RemoveTopicRecord", "topic_id": removed}]
        edited = edit_cluster(log, edits=edits)
    shutil.rmtree(path)
    write_edited(edited, path)
    with broker.running():
        admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
        assert "empty" not in admin.list_topics()
        assert "plain" in admin.list_topics()
        admin.close()
        time.sleep(_ROUND_SECONDS)
        found = read_cluster(ks.Partition(path)).image
    assert found.topic_configs()["plain"]["max.message.bytes"] == "54321"
    assert removed not in {each["topic_id"] for each in found.items[ClusterKind.TOPIC].values()}


@pytest.mark.parametrize("version", _TARGETS[-1:], ids=lambda each: each.name)
def test_damage_of_every_reason_is_served(version: Version, tmp_path: Path) -> None:
    """What was there before the damage is served, or named as lost."""
    whole = damaged_logs(tmp_path / "damaged")
    broker, plan = _restored(version, tmp_path, tmp_path / "damaged")
    assert_served_or_named(plan, whole, broker.logs)
    wanted = {topic: _expected(plan, broker.logs, "read_uncommitted")[topic] for topic in whole}
    ends = {item.topic: item.end_offset for item in plan.partitions}
    with broker.running(), Client(broker) as client:
        for topic, records in wanted.items():
            got = client.consume(topic, "read_uncommitted")
            assert (got.records, got.end) == (records, ends[topic]), topic
            assert client.append(topic) == ends[topic], topic


@pytest.mark.parametrize("version", _TARGETS, ids=lambda each: each.name)
def test_a_quorum_of_three_begins_with_what_is_restored(version: Version, tmp_path: Path) -> None:
    """All three know each other and the topics; two of them are enough to go on, one is not."""
    ports = free_ports(2)
    voters = [f"{number}@{LOOPBACK}:{port}" for number, port in enumerate(ports, 1)]
    broker, plan = _restored(version, tmp_path, GOLDEN / "3.9.2" / "logs", voters=voters)
    assert [each.node_id for each in plan.voters] == [0, 1, 2]
    servers = [_controller(broker, tmp_path / "out", number + 1, port)
               for number, port in enumerate(ports)]  # fmt: skip
    addresses = ",".join(each.address for each in plan.voters)
    with open(broker.work / "kafka.properties", "a") as file:
        file.write(f"controller.quorum.bootstrap.servers={addresses}\n")
    wanted = _expected(plan, broker.logs, "read_uncommitted")["plain"]
    places = [broker.logs, *(tmp_path / "out" / each.folder / "logs" for each in plan.voters[1:])]
    paths = [place / f"{Topic.CLUSTER_METADATA}-0" for place in places]
    try:
        for server in servers:
            server.start()
        with broker.running(), Client(broker) as client:
            assert client.consume("plain", "read_uncommitted").records == wanted
            client.create("with-three", 1, {})
            time.sleep(_ROUND_SECONDS)
            images = [read_cluster(ks.Partition(path)).image for path in paths]
            for kind in (ClusterKind.VOTER, ClusterKind.TOPIC, ClusterKind.CONFIG):
                assert images[0].items[kind] == images[1].items[kind] == images[2].items[kind]
            assert sorted(images[0].items[ClusterKind.VOTER]) == [(0,), (1,), (2,)]
            assert "with-three" in {
                each["name"] for each in images[2].items[ClusterKind.TOPIC].values()
            }
            servers[1].stop()
            client.create("with-two", 1, {})
            assert client.append("with-two") == 0
        servers[0].stop()
    finally:
        for server in servers:
            server.kill()
    assert not [path.name for path in broker.logs.iterdir() if "-stray" in path.name]


@pytest.mark.parametrize("version", _OF_TIERS, ids=lambda each: each.name)
@pytest.mark.parametrize("bucket_alone", [False, True])
def test_segments_that_stay_in_remote_storage_are_served(
    version: Version, bucket_alone: bool, tmp_path: Path
) -> None:
    """The topic that names them is lost, and made again with as many partitions as brokers make."""
    count = 50
    store = tmp_path / "store"
    shutil.copytree(GOLDEN / _TIERED / "remote", store)
    lost = tmp_path / "lost"
    shutil.copytree(GOLDEN / _TIERED / "logs", lost)
    shutil.rmtree(lost / f"{Topic.REMOTE_LOG_METADATA}-0")
    with ks.open(store) as found, ks.Partition(lost / "tiered-0") as local:
        assert isinstance(found, ks.LogDirectory)
        wanted = [*found.partitions[0].records(), *([] if bucket_alone else local.records())]
    settings = tiered_settings(store)
    settings["rlmm.config.remote.log.metadata.topic.num.partitions"] = str(count)
    broker, plan = _restored(
        version, tmp_path, *([] if bucket_alone else [lost]), store, settings=settings,
        remote="keep", partitions={Topic.REMOTE_LOG_METADATA: count},
    )  # fmt: skip
    (item,) = (each for each in plan.partitions if each.topic == "tiered")
    with broker.running(), Client(broker) as client:
        got = _read_in_time(client, "tiered", wanted)
        assert (got.start, got.end) == (0, item.end_offset)
        assert got.records == wanted
        assert client.times("tiered", [wanted[3].timestamp]) == [(3, wanted[3].timestamp)]
        assert client.append("tiered") == item.end_offset
    assert sorted(store.rglob("*.log"))[:2] == sorted(
        store / path.relative_to(GOLDEN / _TIERED / "remote")
        for path in (GOLDEN / _TIERED / "remote").rglob("*.log")
    )


@pytest.mark.parametrize("version", _OF_TIERS, ids=lambda each: each.name)
@pytest.mark.parametrize("whole", [False, True])
def test_what_was_being_deleted_in_remote_storage_stays_deleted(
    version: Version, whole: bool, tmp_path: Path
) -> None:
    """A segment, or the whole partition; the log start is lost, and the objects are there."""
    store, logs = tmp_path / "store", tmp_path / "logs"
    shutil.copytree(GOLDEN / _TIERED / "remote", store)
    shutil.copytree(GOLDEN / _TIERED / "logs", logs)
    (logs / names.LOG_START_OFFSETS).unlink()
    first = 12
    if whole:
        state = int(RemotePartitionDeleteState.DELETE_PARTITION_FINISHED)
        message = {
            "topic_id_partition": remote_place(logs), "remote_partition_delete_state": state,
        }  # fmt: skip
        append_remote_states(logs, "RemotePartitionDeleteMetadataRecord", [message])
        first = 24
    else:
        state_of_first(logs, RemoteLogSegmentState.DELETE_SEGMENT_STARTED)
    with ks.open(store) as found, ks.Partition(logs / "tiered-0") as local:
        assert isinstance(found, ks.LogDirectory)
        (remote,) = found.partitions
        wanted = [each for each in (*remote.records(), *local.records()) if each.offset >= first]
    broker, plan = _restored(
        version, tmp_path / "work", logs, store, settings=tiered_settings(store), remote="keep"
    )
    (item,) = (each for each in plan.partitions if each.topic == "tiered")
    assert (item.log_start, item.records) == (first, len(wanted))
    with broker.running(), Client(broker) as client:
        got = _read_in_time(client, "tiered", wanted)
        assert (got.start, got.end) == (first, item.end_offset)
        assert got.records == wanted
        assert client.append("tiered") == item.end_offset
        time.sleep(_ROUND_SECONDS)
        assert client.consume("tiered", "read_uncommitted").records[:-1] == wanted
    assert "No partition metadata found" not in broker.log()


@pytest.mark.parametrize("version", _OF_SHARES, ids=lambda each: each.name)
@pytest.mark.parametrize("is_cut", [False, True])
def test_a_share_group_goes_on(version: Version, is_cut: bool, tmp_path: Path) -> None:
    """It gets what it had not answered, or had released, and what is new; nothing else.

    The end of the log is lost too: new records at these offsets were never delivered.
    """
    work = tmp_path / "before"
    work.mkdir()
    old = Broker(version, work)
    topic, count, kept = "shared", 12, 6

    def send(client: Client, many: int) -> None:
        client.open("plain", {"acks": "all"})
        for number in range(many):  # in separate batches
            client.send("plain", topic, 0, [Record(b"key", b"%d" % number)])
        client.call("plain", "close")

    with old.running(), Client(old) as client:
        client.create(topic, 1, {})
        send(client, count)
        told = dict(client.ask("ConsumeShared", topic, count, "sharers"))
        send(client, count // 3)
    assert set(told.values()) == {"ACCEPT", "REJECT", "RELEASE"}
    if is_cut:
        (path,) = (old.logs / f"{topic}-0").glob("*.log")
        with ks.Segment(path) as segment:
            end = list(segment.batches())[kept].position
        path.write_bytes(path.read_bytes()[:end])
        for other in path.parent.iterdir():  # which say how long the log was
            if other.name not in (path.name, names.PARTITION_METADATA):
                other.unlink()
        for checkpoint in old.logs.glob("re*-offset-checkpoint"):
            checkpoint.unlink()
    broker, plan = _restored(version, tmp_path / "after", old.logs)
    (group,) = (each for each in plan.groups if each.group == "sharers")
    assert (group.kind, group.deliveries, group.clamped) == ("share", 1, int(is_cut))
    with broker.running(), Client(broker) as client:
        if is_cut:
            send(client, count - kept)
        first_new = kept if is_cut else count
        with ks.Partition(broker.logs / f"{topic}-0") as log:
            end = log.log_end_offset
        wanted = {int(offset) for offset, answer in told.items() if answer == "RELEASE"}
        wanted = {each for each in wanted if each < first_new} | set(range(first_new, end))
        got = client.ask("ConsumeShared", topic, len(wanted), "sharers", "ACCEPT")
    assert sorted(int(offset) for offset, _ in got) == sorted(wanted)


@pytest.mark.parametrize("version", _OF_STREAMS, ids=lambda each: each.name)
@pytest.mark.parametrize("metadata", [None, "none"])
def test_a_streams_group_goes_on(version: Version, metadata: str | None, tmp_path: Path) -> None:
    """A member without state has the counts of before, from its changelog, and goes on counting.

    Had the group lost its offsets, it would count records twice; had it lost its state, from 0.
    """
    (tmp_path / "before").mkdir()
    old = Broker(version, tmp_path / "before")
    topic, group, values = "streamed", "streamers", [b"%d" % number for number in range(20)]

    def counted(broker: Broker, client: Client, some: Sequence[bytes], name: str) -> list[int]:
        """Send records, let a member count them, and return the counts that it has had."""
        client.open("plain", {"acks": "all"})
        client.send("plain", topic, 0, [Record(b"key", value) for value in some])
        client.call("plain", "close")
        client.ask("Stream", topic, group, str(tmp_path / name))
        (log,) = broker.logs.glob(f"{group}-*-changelog-0")
        got = client.consume(log.name.removesuffix("-0"), "read_uncommitted").records
        return [int.from_bytes(each.value or b"") for each in got]

    with old.running(), Client(old) as client:
        client.create(topic, 1, {})
        before = counted(old, client, values[:12], "state")
    assert before[-1] == 12
    broker, plan = _restored(version, tmp_path / "after", old.logs, metadata=metadata)
    (kept,) = (each for each in plan.groups if each.group == group)
    assert (kept.kind, kept.offsets, kept.clamped) == ("streams", 2, 0)
    with broker.running(), Client(broker) as client:
        after = counted(broker, client, values[12:], "other")
    assert after[: len(before)] == before
    assert after[-1] == len(values)
    assert min(after[len(before) :]) > before[-1]


@pytest.mark.parametrize("version", _TARGETS, ids=lambda each: each.name)
def test_a_user_logs_in_and_keeps_its_quota(version: Version, tmp_path: Path) -> None:
    """By the password of before, which is on no disk, and by no other."""
    (tmp_path / "before").mkdir()
    settings = scram_settings()
    old = Broker(version, tmp_path / "before", settings)

    def asked(client: Client) -> tuple[list[list[str]], list[list[str]]]:
        with pytest.raises(ToolError, match="SaslAuthenticationException"):
            client.ask("Administer", "login", "user", "wrong")
        login = client.ask("Administer", "login", "user", "right")
        return login, client.ask("Administer", "quotas")

    with old.running(), Client(old) as client:
        client.ask("Administer", "scram", "user", "right")
        client.ask("Administer", "quota", "user", "user", "producer_byte_rate", "1048576")
        before = asked(client)
    assert "1048576" in before[1][0][1]
    broker, _ = _restored(version, tmp_path / "after", old.logs, settings=settings)
    with broker.running(), Client(broker) as client:
        assert asked(client) == before


def _read_in_time(client: Client, topic: str, wanted: Sequence[ks.Record]) -> Consumed:
    """Return what a consumer gets, once the broker has read what names its remote segments."""
    deadline = time.monotonic() + 60
    while True:
        try:
            got = client.consume(topic, "read_uncommitted")
        except ToolError:
            if time.monotonic() > deadline:
                raise
        else:
            if len(got.records) >= len(wanted) or time.monotonic() > deadline:
                return got
        time.sleep(1)


@contextmanager
def _started(servers: Sequence[Server]) -> Iterator[None]:
    """Start servers in their order, and stop them in the other one."""
    try:
        for server in servers:
            server.start()
        yield
        for server in reversed(servers):
            server.stop()
    finally:
        for server in servers:
            server.kill()


def _as_told(broker: Broker, restored: Path) -> Server:
    """Return the controller that a restored directory is for; the broker's nodes follow it."""
    text = (restored / "server.properties").read_text()
    (broker.work / "controller.properties").write_text(text)
    found = next(line for line in text.splitlines() if line.startswith("listeners="))
    address = found.rpartition("/")[2]
    for name in ("kafka", "node-1"):
        _as_broker(broker.work / f"{name}.properties", address)
    return broker.server("controller", int(address.rpartition(":")[2]))


def _controller(broker: Broker, restored: Path, number: int, port: int) -> Server:
    """Return another controller of what was restored."""
    text = (restored / f"voter-{number}" / "server.properties").read_text()
    (broker.work / f"voter-{number}.properties").write_text(text)
    return broker.server(f"voter-{number}", port)


def _as_broker(path: Path, controller: str) -> None:
    """Let a node that was its own controller be a broker of another one."""
    lines = dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)
    lines["process.roles"] = "broker"
    lines["controller.quorum.bootstrap.servers"] = controller
    for name in ("listeners", "advertised.listeners"):
        lines[name] = lines[name].split(",")[0]
    path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))


@pytest.mark.parametrize("version", _TARGETS, ids=lambda each: each.name)
def test_brokers_that_are_kept_come_back(version: Version, tmp_path: Path) -> None:
    """Two nodes lose their controllers; three new ones give them their topic: both are in sync."""
    work = tmp_path / "run"
    work.mkdir()
    broker = Broker(version, work)
    with broker.running(), Client(broker) as client:
        second = broker.join()
        client.place("two", [0, 1], {"min.insync.replicas": "2"})
        client.open("plain", {"acks": "all"})
        client.send("plain", "two", 0, [Record(b"key", b"%d" % n) for n in range(30)])
        broker.leave()
    metadata = f"{Topic.CLUSTER_METADATA}-0"
    disks = [broker.logs, second.logs]
    port, *others = free_ports(3)
    controller = f"{LOOPBACK}:{port}"
    voters = [f"{number}@{LOOPBACK}:{other}" for number, other in enumerate(others, 10)]
    plan = restore(
        disks, tmp_path / "out", write=True, keep_brokers=True, node_id=9, controller=controller,
        voters=voters,
        target_release=".".join(version.name.split(".")[:2]),
    )  # fmt: skip
    assert plan.target is not None, plan.findings
    for disk in disks:
        shutil.rmtree(disk / metadata)
    first = _as_told(broker, tmp_path / "out")
    servers = [
        *(
            _controller(broker, tmp_path / "out", number, other)
            for number, other in enumerate(others, 10)
        ),
        first,
        broker.server("kafka", int(broker.bootstrap.rpartition(":")[2])),
        second.server,
    ]
    with _started(servers), Client(broker) as client:
        deadline = time.monotonic() + 60
        leader, isr = client.leader("two")
        while sorted(isr) != [0, 1] and time.monotonic() < deadline:
            time.sleep(0.5)
            leader, isr = client.leader("two")
        got = client.consume("two", "read_uncommitted")
    assert sorted(isr) == [0, 1]
    assert leader in (0, 1)
    assert [record.value for record in got.records] == [b"%d" % number for number in range(30)]
    for disk in disks:
        assert not [path.name for path in disk.iterdir() if "-stray" in path.name]
        with ks.Partition(disk / "two-0") as log:
            assert len(list(log.records())) == 30


@pytest.mark.parametrize("version", _TARGETS[-1:], ids=lambda each: each.name)
def test_an_empty_node_that_a_copy_has_in_sync_alone_leads_nothing(
    version: Version, tmp_path: Path
) -> None:
    """The copy of a broker that was stopped says so of the other one, whose disk is lost."""
    work = tmp_path / "run"
    work.mkdir()
    broker = Broker(version, work)
    with broker.running(), Client(broker) as client:
        second = broker.join()
        client.place("two", [0, 1], {})
        client.open("plain", {"acks": "all"})
        client.send("plain", "two", 0, [Record(b"key", b"%d" % n) for n in range(30)])
        broker.leave()
    copy = second.logs / f"{Topic.CLUSTER_METADATA}-0"
    with ks.Partition(copy) as log:
        partitions = read_cluster(log).image.items[ClusterKind.PARTITION].values()
    assert [each["isr"] for each in partitions if sorted(each["replicas"]) == [0, 1]] == [[0]]
    (port,) = free_ports(1)
    controller = f"{LOOPBACK}:{port}"
    plan = restore(
        second.logs, tmp_path / "out", write=True, keep_brokers=True, node_id=9,
        controller=controller, target_release=".".join(version.name.split(".")[:2]),
    )  # fmt: skip
    assert plan.target is not None, plan.findings
    shutil.rmtree(copy)
    shutil.rmtree(broker.logs)
    broker.logs.mkdir()
    known = (second.logs / names.META_PROPERTIES).read_text().splitlines()
    lines = [line for line in known if not line.startswith(("directory.id", "node.id"))]
    (broker.logs / names.META_PROPERTIES).write_text("\n".join([*lines, "node.id=0", ""]))
    servers = [
        _as_told(broker, tmp_path / "out"),
        broker.server("kafka", int(broker.bootstrap.rpartition(":")[2])),  # the empty one first
        second.server,
    ]
    with _started(servers), Client(broker) as client:
        got = client.consume("two", "read_uncommitted")
        leader, isr = client.leader("two")
    assert (leader, isr) == (1, [1])
    assert [record.value for record in got.records] == [b"%d" % number for number in range(30)]
    with ks.Partition(second.logs / "two-0") as log:
        assert len(list(log.records())) == 30


@pytest.mark.parametrize("version", _TARGETS[-1:], ids=lambda each: each.name)
def test_of_three_brokers_one_is_lost_one_behind_and_one_diverged(
    version: Version, tmp_path: Path
) -> None:
    """What is left is served; a copy with other batches is refused, or taken if that is asked."""
    (tmp_path / "before").mkdir()
    old = Broker(version, tmp_path / "before")
    with old.running(), Client(old) as client:
        whole, behind = old.join(1), old.join(2)
        client.place("three", [0, 1, 2], {})
        client.open("plain", {"acks": "all"})
        client.send("plain", "three", 0, [Record(b"key", b"%d" % n) for n in range(20)])
        old.leave()
        client.send("plain", "three", 0, [Record(b"key", b"%d" % n) for n in range(20, 30)])
    diverged = tmp_path / "diverged"
    shutil.copytree(behind.logs, diverged)
    (path,) = (diverged / "three-0").glob("*.log")
    with ks.Segment(path) as segment:
        *_, last = segment.batches()
    end, epoch = last.next_offset, last.partition_leader_epoch
    other = [ks.Record(end, 1, b"key", b"of another leader")]
    path.write_bytes(path.read_bytes() + encode(other, partition_leader_epoch=epoch))
    plan = restore([whole.logs, diverged], tmp_path / "none", write=True)
    assert plan.verdict is RestoreVerdict.REFUSED
    (found,) = (each for each in plan.findings if each.reason is RestoreReason.DIVERGED)
    assert found.offsets is not None
    assert (found.topic, found.offsets.start) == ("three", end)
    assert not (tmp_path / "none").exists()
    for name, disks, count in (
        ("rest", [behind.logs, whole.logs], 30), ("asked", [whole.logs, diverged], end + 1),
    ):  # fmt: skip
        prefer = [diverged] if name == "asked" else []
        broker, plan = _restored(version, tmp_path / name, *disks, prefer=prefer)
        wanted = _expected(plan, broker.logs, "read_uncommitted")["three"]
        assert len(wanted) == count
        with broker.running(), Client(broker) as client:
            got = client.consume("three", "read_uncommitted")
            assert got.records == wanted
            assert client.append("three") == count
        _starts_again(broker, ["three"])


@pytest.mark.parametrize("version", _TARGETS[-1:], ids=lambda each: each.name)
def test_a_hole_is_filled_from_a_replica_that_agrees(version: Version, tmp_path: Path) -> None:
    """Of three replicas the longest has a hole. Another leader wrote there in the second, and the
    third, which ends earlier, gives it back: a consumer gets every record."""
    (tmp_path / "before").mkdir()
    old = Broker(version, tmp_path / "before")
    topic = "three"
    sent: list[ks.Record] = []
    with old.running(), Client(old) as client:
        second, third = old.join(1), old.join(2)
        client.place(topic, [0, 1, 2], {})
        client.open("idempotent", {"enable.idempotence": "true", "linger.ms": "200"})
        for number in range(8):
            if number == 6:
                old.leave()
            client.send("idempotent", topic, 0, [Record(b"key", b"%d" % n) for n in range(4)])
        sent = client.consume(topic, "read_committed").records
    assert len(sent) == 32
    (winner,) = (old.logs / f"{topic}-0").glob(f"*{names.LOG}")
    with ks.Segment(winner) as segment:
        batches = list(segment.batches())
    zeroed, flipped, after = batches[2:5]
    data = bytearray(winner.read_bytes())
    data[zeroed.position : flipped.position] = bytes(flipped.position - zeroed.position)
    data[after.position - 1] ^= 1
    winner.write_bytes(data)
    (path,) = (second.logs / f"{topic}-0").glob(f"*{names.LOG}")
    records = [ks.Record(zeroed.base_offset + n, 1, b"key", b"another") for n in range(12)]
    epoch = zeroed.partition_leader_epoch + 1
    pieces = [encode(some, partition_leader_epoch=epoch) for some in (records[:4], records[4:])]
    path.write_bytes(path.read_bytes()[: zeroed.position] + b"".join(pieces))
    sources = [old.logs, second.logs, third.logs]
    options: dict[str, Any] = {"prefer": [old.logs], "fill_from_copies": True}
    assert restore(sources, fill_from_copies=True).verdict is RestoreVerdict.REFUSED
    broker, plan = _restored(version, tmp_path / "after", *sources, **options)
    filled = [each for each in plan.findings if each.reason is RestoreReason.FILLED]
    assert [each.offsets for each in filled] == [
        (each.base_offset, each.next_offset) for each in (zeroed, flipped)
    ]
    assert all(str(third.logs) in each.message for each in filled)
    assert not [each for each in plan.findings if each.topic == topic and each.counts]
    with broker.running(), Client(broker) as client:
        for isolation in _ISOLATIONS:
            got = client.consume(topic, isolation)
            assert (got.start, got.end, got.records) == (0, len(sent), sent)
        assert not _looked_up(client, broker.logs, topic, _times(sent))
        assert client.append(topic) == len(sent)
    _starts_again(broker, [topic])
    assert not [each for each in verify(broker.logs).findings if each.severity == "error"]


def _put(disk: Path, topic: str, first: int, end: int, epoch: int) -> list[ks.Record]:
    """Write a copy of a partition with the records from an offset to another."""
    (disk / f"{topic}-0").mkdir(parents=True, exist_ok=True)
    records = [ks.Record(offset, 1_000 + offset, b"key", b"value") for offset in range(first, end)]
    pieces = [encode([each], partition_leader_epoch=epoch) for each in records]
    (disk / f"{topic}-0" / f"{first:020}{names.LOG}").write_bytes(b"".join(pieces))
    return records


@pytest.mark.parametrize("version", _TARGETS, ids=lambda each: each.name)
def test_first_segments_come_from_another_copy(version: Version, tmp_path: Path) -> None:
    """The longest copy has lost them, and its checkpoint of epochs says that it had them."""
    topic, (a, b) = "gone", (tmp_path / disk for disk in "ab")
    sent = _put(b, topic, 0, 10, 3) + _put(b, topic, 10, 20, 3)
    sent = [*sent[:15], *_put(a, topic, 15, 30, 3)]
    (a / f"{topic}-0" / names.LEADER_EPOCHS).write_text("0\n1\n3 0\n")
    broker, plan = _restored(version, tmp_path / "after", a, b, fill_from_copies=True)
    filled = [each for each in plan.findings if each.reason is RestoreReason.FILLED]
    assert [(each.offsets, each.file) for each in filled] == [((0, 15), str(a / f"{topic}-0"))]
    assert RestoreReason.LOST_OFFSETS not in {each.reason for each in plan.findings}
    with broker.running(), Client(broker) as client:
        got = client.consume(topic, "read_committed")
        assert (got.start, got.end, got.records) == (0, len(sent), sent)
        assert not _looked_up(client, broker.logs, topic, _times(sent))
        assert client.append(topic) == len(sent)
    _starts_again(broker, [topic])
    assert not [each for each in verify(broker.logs).findings if each.severity == "error"]


@pytest.mark.parametrize("version", _TARGETS, ids=lambda each: each.name)
def test_a_log_begins_above_an_old_end(version: Version, tmp_path: Path) -> None:
    """Above its own end, by its checkpoint or that of another copy: at the log start, and empty.

    Above that of an older copy: where it begins. One that is asked for is not cut by the log start
    of another leader.
    """
    disks = [tmp_path / name for name in "abcd"]
    wanted: dict[str, tuple[int, list[ks.Record]]] = {"own": (24, []), "other": (24, [])}
    _put(disks[0], "own", 0, 12, 1)
    _put(disks[0], "other", 0, 20, 1)
    _put(disks[1], "other", 0, 12, 1)
    for disk, topic in zip(disks, ("own", "other"), strict=False):
        (disk / names.LOG_START_OFFSETS).write_text(f"0\n1\n{topic} 0 24\n")
    _put(disks[0], "segment", 0, 20, 1)
    wanted["segment"] = 24, _put(disks[1], "segment", 24, 40, 1)
    wanted["asked"] = 0, _put(disks[2], "asked", 0, 12, 5)
    _put(disks[3], "asked", 24, 40, 1)
    assert restore(disks).verdict is RestoreVerdict.REFUSED
    broker, plan = _restored(version, tmp_path / "after", *disks, prefer=disks[2:3])
    lost = {each.topic: each.offsets for each in plan.findings
            if each.reason is RestoreReason.LOST_OFFSETS}  # fmt: skip
    assert lost == {"own": (12, 24), "other": (20, 24)}
    ends = {item.topic: item.end_offset for item in plan.partitions}
    with broker.running(), Client(broker) as client:
        time.sleep(_ROUND_SECONDS)
        for topic, (start, records) in wanted.items():
            for isolation in _ISOLATIONS:
                got = client.consume(topic, isolation)
                assert (got.start, got.end, got.records) == (start, ends[topic], records), topic
            assert not _looked_up(client, broker.logs, topic, _times(records)), topic
            assert client.append(topic) == ends[topic], topic
        _commit(client, list(wanted))
        for topic in wanted:
            assert _last(client, topic, _LAST) == _LAST, topic
    _starts_again(broker, list(wanted))
    assert not [path.name for path in broker.logs.iterdir() if "-stray" in path.name]
    assert not [each for each in verify(broker.logs).findings if each.severity == "error"]


def _commit_offset(broker: Broker, group: str, topic: str, offset: int) -> None:
    """Commit an offset of partition 0, as a group without members does."""
    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap, group_id=group, enable_auto_commit=False
    )
    consumer.commit({TopicPartition(topic, 0): OffsetAndMetadata(offset, "", NONE)})
    consumer.close()


def _committing(logs: Path, transactional_id: str) -> int:
    """Return the last time, ms, at which a transaction was committed and not yet everywhere."""
    with ks.Partition(logs / f"{Topic.TRANSACTION_STATE}-0") as log:
        times = sorted({record.timestamp for record in log.records()})
        for at in reversed(times):
            for row in read_transactions(log, at=at).ids.to_pylist():
                if (row["transactional_id"], row["state"]) == (transactional_id, "PrepareCommit"):
                    return at
    raise AssertionError("each transaction was committed everywhere within 1 ms")


@pytest.mark.parametrize("version", _TARGETS[-1:], ids=lambda each: each.name)
def test_back_to_a_point_in_time(version: Version, tmp_path: Path) -> None:
    """A transaction that was being committed then comes back whole, with the offsets of its group.

    Of one that was open, or that no coordinator knew yet, nothing is committed; a group beyond the
    end of what is left goes on there.
    """
    (tmp_path / "before").mkdir()
    never = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "3600000"}
    old = Broker(version, tmp_path / "before", never)
    topics, many = ("left", "right", "ahead", "unknown"), 12

    def record(value: bytes, later: int = 0) -> Record:
        return Record(b"key", value, time.time_ns() // 1_000_000 + later)

    with old.running(), Client(old) as client:
        for topic in topics:
            client.create(topic, 1, {})
        client.open("plain", {"acks": "all"})
        for name in ("open", "many", "unknown"):
            client.open(name, {"transactional.id": name, "transaction.timeout.ms": "2000"})
        early = record(b"early")
        client.send("plain", "left", 0, [record(b"first")])
        for later in (0, 3_600_000):
            client.send("plain", "ahead", 0, [record(b"%d" % number, later) for number in range(3)])
        _commit_offset(old, "goes-on", "left", 1)
        _commit_offset(old, "beyond", "ahead", 6)
        client.call("open", "beginTransaction")
        for topic in ("left", "right"):
            client.send("open", topic, 0, [record(b"open")])
        for number in range(many):
            client.call("many", "beginTransaction")
            for topic in ("left", "right"):
                client.send("many", topic, 0, [record(b"%d" % number)])
            client.ask("Producers", "offsets", "many", "left", 0, number, "transactional")
            client.call("many", "commitTransaction")
            time.sleep(0.01)
        client.call("unknown", "beginTransaction")
        client.send("unknown", "unknown", 0, [early])
        for name in ("open", "unknown"):
            client.call(name, "commitTransaction")
        client.send("plain", "left", 0, [record(b"after")])
        _commit_offset(old, "goes-on", "left", 5)
    at = _committing(old.logs, "many")
    broker, plan = _restored(version, tmp_path / "after", old.logs, at=at)
    items = {item.topic: item for item in plan.partitions}
    reasons = {each.reason for each in plan.findings if each.topic == "unknown"}
    assert reasons >= {RestoreReason.CUT, RestoreReason.MARKER}
    kept = {}
    for topic in topics:
        with ks.Partition(broker.logs / f"{topic}-0") as log:
            kept[topic] = list(log.records())
        with ks.Partition(old.logs / f"{topic}-0") as log:
            whole = list(log.records())
        assert kept[topic] == [
            each for each in whole[: len(kept[topic])] if each.timestamp <= at
        ], topic
    last = max(int(each.value or b"") for each in kept["right"] if each.value != b"open")
    sent = [b"%d" % number for number in range(last + 1)]
    committed = {
        "left": [b"first", *sent], "right": sent, "ahead": [b"0", b"1", b"2"], "unknown": [],
    }  # fmt: skip
    with broker.running(), Client(broker) as client:
        _last(client, "left", sent[-1])
        _last(client, "right", sent[-1])
        for topic, values in committed.items():
            got = client.consume(topic, "read_committed")
            assert [each.value for each in got.records] == values, topic
            got = client.consume(topic, "read_uncommitted")
            assert got.records == kept[topic], topic
            asked = _times(kept[topic])
            assert not _looked_up(client, broker.logs, topic, asked), topic
        wanted = {
            ("goes-on", "left", 0): 1, ("beyond", "ahead", 0): 3,
            ("transactional", "left", 0): last,
        }  # fmt: skip
        deadline = time.monotonic() + _ENDS_SECONDS
        known = {group for group, _, _ in wanted}
        while (groups := _served_groups(broker, known)) != wanted and time.monotonic() < deadline:
            time.sleep(1)  # the coordinator commits in all places, one after the other
        assert groups == wanted
        assert _positions(broker, groups) == groups
        assert client.append("ahead") == items["ahead"].end_offset == 3
        _commit(client, topics)
        for topic in topics:
            assert _last(client, topic, _LAST) == _LAST, topic
        served = {
            (topic, each): client.consume(topic, each) for topic in topics for each in _ISOLATIONS
        }
    for topic, isolation in served:
        with ks.Partition(broker.logs / f"{topic}-0") as log:
            assert served[topic, isolation].records == _delivered(log, isolation), topic
    _starts_again(broker, topics)
    assert not [each for each in verify(broker.logs).findings if each.severity == "error"]
