"""Restore a cluster: plan it from log directories, and write what a broker starts with."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model.enumeration import ConfigResourceType
from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.files import names as files
from kafkaspec.files.checkpoints import kafka_uuid, meta_properties, partition_metadata
from kafkaspec.files.checkpoints.meta_properties import MetaProperties
from kafkaspec.log.batch import NONE
from kafkaspec.log.partition import Partition
from kafkaspec.options import checked, explained, one_of
from kafkaspec.output.atomic import DirectoryAside, force_directory, require_new
from kafkaspec.output.places import check_output
from kafkaspec.restore.coordinator_topics import TOPIC_CONFIGS, partition_count
from kafkaspec.restore.endings import commits, endings, to_commit
from kafkaspec.restore.feature_levels import DEFAULT_RELEASE, FEATURE_LEVELS
from kafkaspec.restore.filling import unfilled
from kafkaspec.restore.instructions import instructions, server_properties
from kafkaspec.restore.kept_brokers import placement, refusals
from kafkaspec.restore.replica_choice import Choice, choose
from kafkaspec.restore.replica_inventory import Inventory, PartitionCopy, content_of, take_inventory
from kafkaspec.restore.restore_options import (
    CONTROLLER,
    NO_METADATA,
    OpenTransactions,
    RestoreOptions,
    RestoreRetention,
)
from kafkaspec.restore.restore_plan import (
    RestoredGroup,
    RestoredPartition,
    RestoreFinding,
    RestorePlan,
    RestoreReason,
    RestoreVerdict,
)
from kafkaspec.restore.restored_image import restored_image
from kafkaspec.restore.staging import RestoredLogs
from kafkaspec.results import OffsetRange, Strength
from kafkaspec.state.cluster import Cluster, read_cluster
from kafkaspec.state.groups import GroupsState, read_groups
from kafkaspec.state.image import ClusterKind
from kafkaspec.state.snapshot import write_snapshot
from kafkaspec.state.transactions import joined, read_transactions
from kafkaspec.times import Time, milliseconds

LOGS: Final = "logs"
"""Name of the log directory in the output."""
SNAPSHOT_END: Final = 100
"""End offset of the snapshot. One that ends at 0 is appended to the metadata log as one
transaction instead."""
SNAPSHOT_EPOCH: Final = 1
_LISTENER: Final = "CONTROLLER"
_BLOCK: Final = 1_000
"""Producer ids that a broker takes at a time: ``ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE``."""
_PROTECTED: Final = {"retention.ms": "-1", "retention.bytes": "-1"}
_GONE: Final = frozenset({
    "message.format.version", "message.downconversion.enable",
    "message.timestamp.difference.max.ms",
})  # fmt: skip
"""Settings of topics that 4.0 no longer knows (KIP-724)."""
_POLICY: Final = "cleanup.policy"
_DEFAULT_POLICY: Final = "delete"
_IN_SYNC: Final = "min.insync.replicas"
_REMOTE: Final = "remote.storage.enable"
_SEGMENT: Final = "segment.bytes"
_LEAST_SEGMENT: Final = 1 << 20
"""Since 4.0 a broker does not start with less in its metadata (KIP-1030)."""


@explained(RestoreOptions)
@checked
def restore(
    sources: str | PathLike[str] | Sequence[str | PathLike[str]],
    to: str | PathLike[str] | None = None,
    *,
    write: bool = False,
    target_release: str = DEFAULT_RELEASE,
    node_id: int = 1,
    controller: str = CONTROLLER,
    cluster_id: str | None = None,
    metadata: str | PathLike[str] | None = None,
    include: Collection[str] = (),
    exclude: Collection[str] = (),
    configs: Mapping[str, Mapping[str, str]] | None = None,
    retention: RestoreRetention = "off",
    partitions: Mapping[str, int] | None = None,
    prefer: Collection[str | PathLike[str]] = (),
    at: Time | None = None,
    open_transactions: OpenTransactions = "abort",
    fill_from_copies: bool = False,
    keep_brokers: bool = False,
    link: bool = False,
    id_seed: int | None = None,
) -> RestorePlan:
    """Plan a cluster of one node from the log directories that are left, and write it if asked.

    Of each partition, the copy with the largest last leader epoch, and of those the longest, is
    taken; damaged ones as ``salvage`` gives them. The metadata is the newest that survived, on any
    node, or is made from the directories. Sources are never changed. Kafka: KIP-630, KIP-853,
    KIP-858; KIP-101 for the order of copies.

    Args:
        sources: log directories, of one or several brokers, or ``__cluster_metadata-0`` alone.
        to: a new or empty directory for the output.
        ...

    Returns:
        The plan; ``target`` is set if it was written.

    Raises:
        KafkaSpecError: ``unreadable``: a source or the output.
        ValueError: an option has an unknown value, or ``to`` is missing.
    """
    if target_release not in FEATURE_LEVELS:
        raise one_of("target_release", target_release, FEATURE_LEVELS)
    if write and to is None:
        raise ValueError("an output directory is needed to write")
    if keep_brokers and (at is not None or fill_from_copies or link or prefer):
        raise ValueError("brokers that are kept are not changed: no at, prefer, fill or link")
    given = [sources] if isinstance(sources, str | PathLike) else list(sources)
    settings = _Settings(
        target_release, node_id, controller, cluster_id, metadata, frozenset(include),
        frozenset(exclude), configs or {}, retention, partitions or {},
        frozenset(os.fspath(Path(each)) for each in prefer),
        None if at is None else milliseconds(at, "at"), open_transactions, fill_from_copies,
        keep_brokers, link,
        random.Random(id_seed) if id_seed is not None else random.SystemRandom(),
    )  # fmt: skip
    if to is not None:
        check_output(to, *given)
        require_new(Path(to))
    with ExitStack() as stack:
        found = take_inventory([Path(each) for each in given], stack, settings.at)
        if not write or to is None:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            return _Restore(settings, found, RestoredLogs(scratch)).plan()
        aside = DirectoryAside(to)
        try:
            (aside.path / LOGS).mkdir()
            work = _Restore(settings, found, RestoredLogs(aside.path / LOGS))
            plan = work.plan()
            if plan.verdict is not RestoreVerdict.REFUSED:
                plan = replace(plan, target=os.fspath(to))
                work.write(plan, aside)
                _force(aside)
                aside.commit()
            return plan
        finally:
            aside.discard()


@dataclass(frozen=True, slots=True)
class _Settings:
    release: str
    node_id: int
    controller: str
    cluster_id: str | None
    metadata: str | PathLike[str] | None
    include: frozenset[str]
    exclude: frozenset[str]
    configs: Mapping[str, Mapping[str, str]]
    retention: RestoreRetention
    partitions: Mapping[str, int]
    prefer: frozenset[str]
    at: int | None
    open_transactions: OpenTransactions
    fill_from_copies: bool
    keep_brokers: bool
    link: bool
    random: random.Random


@dataclass(slots=True)
class _Served:
    """A partition in the staged log directory."""

    choice: Choice
    log: Partition
    salvaged: bool
    cut: int | None
    added: int = 0

    @property
    def epoch(self) -> int:
        """The leader epoch of what is appended."""
        return max(self.choice.leader_epoch - 1, 0)


@dataclass
class _Restore:
    settings: _Settings
    found: Inventory
    staging: RestoredLogs
    findings: list[RestoreFinding] = field(default_factory=list)
    served: dict[tuple[str, int], _Served] = field(default_factory=dict)
    topic_ids: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def plan(self) -> RestorePlan:
        """Stage what is restored, and return the plan."""
        self.findings += self.found.findings
        where, cluster = self._metadata()
        self.cluster = cluster
        chosen = list(self._choices(cluster))
        if self.settings.keep_brokers:
            own = self.settings.node_id
            self.findings += refusals(chosen, self.found.directories, own)
        for choice in chosen:
            self._stage(choice)
        self._log_starts()
        self._end_transactions()
        groups = self._groups()
        self._count(cluster, groups)
        configs, before = self._configs(cluster)
        partitions = tuple(self._partitions())
        owner = self._cluster_id()
        self.directory = self._new_id()
        return RestorePlan(
            self.settings.release, owner, self.settings.node_id, kafka_uuid.to_text(self.directory),
            where, partitions, tuple(self._restored(groups)), configs, before,
            self._next_producer_id(cluster), tuple(self.findings),
        )  # fmt: skip

    def write(self, plan: RestorePlan, aside: DirectoryAside) -> None:
        """Write a plan into the staged directory."""
        logs = aside.path / LOGS
        if self.settings.keep_brokers:
            shutil.rmtree(logs)
            logs.mkdir()
        else:
            self.staging.materialize(link=self.settings.link)
            for topic, number in self.served:
                text = partition_metadata.serialize(_uuid(self.topic_ids[topic]))
                (logs / f"{topic}-{number}" / files.PARTITION_METADATA).write_bytes(text)
        properties = MetaProperties(
            node_id=plan.node_id, cluster_id=plan.cluster_id, directory_id=self.directory
        )
        (logs / files.META_PROPERTIES).write_bytes(meta_properties.serialize(properties))
        host, _, port = self.settings.controller.rpartition(":")
        voter = {
            "voter_id": plan.node_id, "voter_directory_id": plan.directory_id,
            "endpoints": [{"name": _LISTENER, "host": host, "port": int(port)}],
        }  # fmt: skip
        only = {
            "replicas": [plan.node_id], "isr": [plan.node_id], "leader": plan.node_id,
            "directories": [plan.directory_id],
        }  # fmt: skip
        places = [(item.topic, item.partition) for item in plan.partitions]
        placed = dict.fromkeys(places, only)
        if self.settings.keep_brokers:
            placed = {place: placement(self.served[place].choice) for place in self.served}
        image = restored_image(
            None if self.cluster is None else self.cluster.image, plan.release, voter,
            [each for each in plan.partitions if (each.topic, each.partition) in placed],
            placed, plan.configs, plan.next_producer_id,
        )  # fmt: skip
        directory = logs / f"{Topic.CLUSTER_METADATA}-0"
        directory.mkdir()
        write_snapshot(
            image, directory, end_offset=SNAPSHOT_END, epoch=SNAPSHOT_EPOCH,
            timestamp=self._newest(),
        )  # fmt: skip
        target = Path(os.path.abspath(plan.target or ""))
        keep = self.settings.keep_brokers
        settings = server_properties(plan, target / LOGS, self.settings.controller, keep=keep)
        (aside.path / "server.properties").write_text(settings, "utf-8")
        (aside.path / "RESTORE.md").write_text(instructions(plan, keep=keep), "utf-8")

    # -- what is taken ------------------------------------------------------------------------

    def _metadata(self) -> tuple[str | None, Cluster | None]:
        """Return the metadata to begin with, and where it is."""
        wanted = self.settings.metadata
        places = self.found.metadata if wanted is None else []
        if wanted is not None and os.fspath(wanted) != NO_METADATA:
            places = [Path(wanted)]
        ranked: list[tuple[int, int, str, Cluster]] = []
        for place in places:
            try:
                with closing(Partition(place)) as log:
                    cluster = read_cluster(log)
                    epoch = content_of(log).last_epoch
            except KafkaSpecError as error:
                if wanted is not None:
                    raise
                self._find(RestoreReason.METADATA, error.detail, file=str(place))
                continue
            if cluster.image.items[ClusterKind.FEATURE] or cluster.image.items[ClusterKind.TOPIC]:
                ranked.append((epoch, cluster.end_offset, str(place), cluster))
        if not ranked:
            if wanted is not None and places:
                raise unreadable(str(wanted), "it has no metadata of a cluster")
            text = "no metadata of the cluster is here: ids and numbers of partitions are those of"
            text += " the directories, and settings, ACLs, quotas and users are not known"
            self._find(RestoreReason.NO_METADATA, text, strength=Strength.UNKNOWN)
            return None, None
        _, _, where, cluster = max(ranked, key=lambda each: each[:3])
        for note in (*cluster.notes, *(error.detail for error in cluster.errors)):
            self._find(RestoreReason.METADATA, note, file=where)
        if cluster.unknown:
            many = sum(part.count for part in cluster.unknown.values())
            text = f"records of unknown types are left out: {many}"
            self._find(RestoreReason.METADATA, text, file=where)
        return where, cluster

    def _choices(self, cluster: Cluster | None) -> Iterator[Choice]:
        known = {} if cluster is None else {
            item["name"]: item["topic_id"]
            for item in cluster.image.items[ClusterKind.TOPIC].values()
        }  # fmt: skip
        by_topic: dict[str, list[PartitionCopy]] = {}
        for (topic, _), replicas in sorted(self.found.replicas.items()):
            if self._is_wanted(topic):
                by_topic.setdefault(topic, []).extend(replicas)
        for topic, replicas in by_topic.items():
            kept = self._of_topic(topic, replicas, known if cluster else None)
            numbers = sorted({each.partition for each in kept})
            for number in numbers:
                choice = choose(
                    [each for each in kept if each.partition == number], self.settings.prefer
                )
                self.findings += choice.findings
                yield choice

    def _is_wanted(self, topic: str) -> bool:
        if topic in self.settings.exclude:
            return False
        return not self.settings.include or topic in self.settings.include or topic in TOPIC_CONFIGS

    def _of_topic(
        self, topic: str, replicas: Sequence[PartitionCopy], known: Mapping[str, str] | None
    ) -> list[PartitionCopy]:
        """Return the copies that are of the topic, and note which id it has."""
        ids = Counter(each.topic_id for each in replicas if each.topic_id is not None)
        if known is not None:
            wanted = known.get(topic)
            strays = [each for each in replicas if each.topic_id not in (wanted, None)]
            strays = list(replicas) if wanted is None else strays
            for each in strays:
                why = "has no such topic" if wanted is None else f"knows it by another id, {wanted}"
                self._find(
                    RestoreReason.STRAY, f"the cluster {why}", file=each.path, topic=topic,
                    partition=each.partition,
                )  # fmt: skip
            if wanted is not None:
                self.topic_ids[topic] = wanted
            return [each for each in replicas if each not in strays]
        if len(ids) > 1:
            preferred = {
                each.topic_id for each in replicas
                if str(each.directory) in self.settings.prefer and each.topic_id
            }  # fmt: skip
            if len(preferred) != 1:
                text = f"its copies have the ids {', '.join(sorted(map(str, ids)))}"
                self._find(RestoreReason.TOPIC_IDS, text, topic=topic)
                ids = Counter(sorted(ids)[:1])
            else:
                ids = Counter(preferred)
            replicas = [each for each in replicas if each.topic_id in (*ids, None)]
        if ids:
            (self.topic_ids[topic],) = ids
        else:
            self.topic_ids[topic] = kafka_uuid.to_text(self._new_id())
            text = "no disk has an id of it: brokers before 2.8 and with ZooKeeper wrote none"
            self._find(
                RestoreReason.GUESSED_ID, text, topic=topic, strength=Strength.CONSISTENT
            )  # fmt: skip
        return list(replicas)

    def _stage(self, choice: Choice) -> None:
        taken = choice.taken
        cut = taken.content.late if self.settings.at is not None else None
        log, report, filled = self.staging.take(choice, cut, fill=self.settings.fill_from_copies)
        place = {"topic": taken.topic, "partition": taken.partition}
        for batch in filled:
            self._find(
                RestoreReason.FILLED, f"taken from {batch.source}", file=taken.path,
                offsets=OffsetRange(batch.first_offset, batch.last_offset + 1), **place,
            )  # fmt: skip
        lost = (
            [each for each in taken.content.lost if each.is_loss] if report is None else report.lost
        )
        for each in lost:
            for offsets in [None] if each.offsets is None else unfilled(each.offsets, filled):
                self._find(
                    RestoreReason.LOST_OFFSETS, each.message, file=taken.path, offsets=offsets,
                    **place,
                )  # fmt: skip
        if cut is not None:
            end = taken.content.end_offset
            text = f"batches from offset {cut} on are left out"
            offsets = OffsetRange(cut, end)
            self._find(RestoreReason.CUT, text, file=taken.path, offsets=offsets, **place)
        self.served[taken.topic, taken.partition] = _Served(choice, log, report is not None, cut)

    def _log_starts(self) -> None:
        starts = {}
        for place, item in self.served.items():
            start = item.choice.log_start
            if start > (item.log.first_base_offset or 0):
                starts[place] = min(start, item.log.log_end_offset)
        self.staging.put_log_starts(starts)
        for item in self.served.values():
            item.log = Partition(item.log.path)

    # -- what is appended ---------------------------------------------------------------------

    def _end_transactions(self) -> None:
        parts = [
            read_transactions(item.log)
            for (topic, _), item in self.served.items()
            if topic == Topic.TRANSACTION_STATE
        ]
        ids = joined(parts).to_pylist()
        for (topic, number), item in sorted(self.served.items()):
            wanted = "leave" if self.settings.keep_brokers else self.settings.open_transactions
            made, found = endings(item.log, ids, wanted, item.epoch)
            self.findings += [replace(each, file=item.choice.taken.path) for each in found]
            if made:
                item.log = self.staging.append(topic, number, b"".join(made))
                item.added += len(made)

    def _groups(self) -> dict[int, GroupsState]:
        names = {
            kafka_uuid.from_text(text).bytes: topic  # type: ignore[union-attr]
            for topic, text in self.topic_ids.items()
        }
        ends = {place: item.log.log_end_offset for place, item in self.served.items()}
        found: dict[int, GroupsState] = {}
        for (topic, number), item in sorted(self.served.items()):
            if topic != Topic.CONSUMER_OFFSETS:
                continue
            state = read_groups(item.log, topics=names)
            found[number] = state
            rows = [row for row in state.offsets.to_pylist() if not row["pending"]]
            again, findings = to_commit(rows, ends, item.choice.taken.path)
            if self.settings.keep_brokers:
                findings = [replace(each, reason=RestoreReason.UNSETTLED) for each in findings]
                again = []
            self.findings += findings
            if again:
                data = commits(again, item.log.log_end_offset, item.epoch)
                item.log = self.staging.append(topic, number, data)
                item.added += 1
        return found

    # -- what the metadata says ---------------------------------------------------------------

    def _count(self, cluster: Cluster | None, groups: Mapping[int, GroupsState]) -> None:
        """Find the number of partitions of each topic, and which of them are on no disk."""
        least: dict[str, int] = {}
        for topic, number in self.served:
            least[topic] = max(least.get(topic, 0), number + 1)
        if cluster is not None:
            self._count_known(cluster, least)
        owners: dict[str, list[tuple[str, int]]] = {
            Topic.CONSUMER_OFFSETS: [
                (name, number)
                for number, state in groups.items()
                for table in (state.groups, state.offsets)
                for name in table["group"].to_pylist()
            ],
            Topic.TRANSACTION_STATE: [
                (name, number)
                for (topic, number), item in self.served.items()
                if topic == Topic.TRANSACTION_STATE
                for name in read_transactions(item.log).ids["transactional_id"].to_pylist()
            ],
        }  # fmt: skip
        for topic, count in least.items():
            wanted = self.settings.partitions.get(topic)
            if wanted is not None:
                if wanted < count:
                    raise ValueError(f"{topic} has at least {count} partitions, not {wanted}")
                count = wanted
            elif cluster is None and topic in owners:
                fits = partition_count(owners[topic], count)
                if fits is None:
                    text = "no number of partitions puts all names where they are"
                elif fits > count or owners[topic]:
                    text = f"{fits} partitions: the smallest number that puts all names where they"
                    text += " are" if owners[topic] else ""
                else:
                    text = f"{fits} partitions: no name in it says more"
                self._find(RestoreReason.GUESSED_COUNT, text, topic=topic, strength=Strength.LIKELY)
                count = fits or count
            self.counts[topic] = count
        for topic, count in sorted(self.counts.items()):
            for number in range(count):
                if (topic, number) not in self.served:
                    text = "no disk has it: it comes back empty"
                    self._find(RestoreReason.LOST_PARTITION, text, topic=topic, partition=number)

    def _count_known(self, cluster: Cluster, least: dict[str, int]) -> None:
        for topic_id, number in cluster.image.items[ClusterKind.PARTITION]:
            name = cluster.image.topic_name(topic_id)
            if name is not None and self._is_wanted(name):
                self.topic_ids.setdefault(name, topic_id)
                least[name] = max(least.get(name, 0), number + 1)

    def _configs(
        self, cluster: Cluster | None
    ) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str | None]]]:
        """Return the settings of topics, and those before that were replaced."""
        known = {} if cluster is None else cluster.image.topic_configs()
        if cluster is not None:
            self._note_nodes(cluster)
        configs: dict[str, dict[str, str]] = {}
        before: dict[str, dict[str, str | None]] = {}
        for topic in sorted(self.counts):
            own = dict(known.get(topic, {}))
            for name in sorted(own.keys() & _GONE):
                text = f"{name}={own.pop(name)}: no broker from 4.0 on knows it"
                self._find(RestoreReason.LEFT_OUT, text, topic=topic)
            if topic in TOPIC_CONFIGS:
                own = {**TOPIC_CONFIGS[topic], **own}
            elif cluster is None and self._is_compacted(topic):
                own[_POLICY] = "compact"
                text = f"{_POLICY}=compact: the checkpoint of the cleaner names it"
                self._find(
                    RestoreReason.GUESSED_CONFIG, text, topic=topic, strength=Strength.STRONG
                )
            replaced: dict[str, str] = {}
            if self.settings.retention == "off" and _DEFAULT_POLICY in own.get(
                _POLICY, _DEFAULT_POLICY
            ):
                replaced |= _PROTECTED
            if own.get(_IN_SYNC, "1") != "1" and not self.settings.keep_brokers:
                replaced[_IN_SYNC] = "1"
            if int(own.get(_SEGMENT, _LEAST_SEGMENT)) < _LEAST_SEGMENT:
                replaced[_SEGMENT] = str(_LEAST_SEGMENT)
            if own.get(_REMOTE) == "true":
                replaced[_REMOTE] = "false"
                text = "its segments in remote storage are not restored"
                self._find(RestoreReason.LOST_OFFSETS, text, topic=topic)
            changed = {name: value for name, value in replaced.items() if own.get(name) != value}
            if changed and topic not in TOPIC_CONFIGS:
                before[topic] = {name: own.get(name) for name in changed}
                text = ", ".join(f"{name}={value}" for name, value in changed.items())
                self._find(RestoreReason.PROTECTION, text, topic=topic)
            configs[topic] = {**own, **replaced, **self.settings.configs.get(topic, {})}
        for topic in self.settings.configs.keys() - configs.keys():
            raise one_of("topic", topic, configs)
        return configs, before

    def _note_nodes(self, cluster: Cluster) -> None:
        items = cluster.image.items
        many = sum(item["resource_type"] == _BROKER for item in items[ClusterKind.CONFIG].values())
        if many:
            text = f"settings of brokers are not carried over: {many}"
            self._find(RestoreReason.LEFT_OUT, text)
        for kind, what in _CONFIGURE.items():
            if items[kind]:
                self._find(RestoreReason.CONFIGURE, f"{kind}s ({len(items[kind])}): {what}")

    def _is_compacted(self, topic: str) -> bool:
        for (name, _), item in self.served.items():
            if name == topic:
                copies = (item.choice.taken, *item.choice.others)
                if any((copy.log.cleaner_offset or 0) > 0 for copy in copies):
                    return True
        return False

    def _next_producer_id(self, cluster: Cluster | None) -> int:
        largest = NONE
        for item in self.served.values():
            for copy in (item.choice.taken, *item.choice.others):
                largest = max(largest, copy.content.producer_id)
                for snapshot in copy.log.snapshots:
                    try:
                        known = [entry.producer_id for entry in snapshot.entries]
                    except KafkaSpecError:
                        continue
                    largest = max([largest, *known])
        for (topic, _), item in self.served.items():
            if topic == Topic.TRANSACTION_STATE:
                rows = read_transactions(item.log).ids.to_pylist()
                for row in rows:
                    ids = (row["producer_id"], row["next_producer_id"], row["previous_producer_id"])
                    largest = max([largest, *(each for each in ids if each is not None)])
        least = 0
        if cluster is not None:
            for fields in cluster.image.items[ClusterKind.PRODUCER_IDS].values():
                least = fields["next_producer_id"]
        found = max(least, (largest // _BLOCK + 1) * _BLOCK)
        text = f"new producers get ids from {found} on; the largest on the disks is {largest}"
        self._find(RestoreReason.PRODUCER_IDS, text)
        return found

    def _partitions(self) -> Iterator[RestoredPartition]:
        for topic, count in sorted(self.counts.items()):
            for number in range(count):
                item = self.served.get((topic, number))
                if item is None:
                    yield RestoredPartition(
                        topic, number, self.topic_ids[topic], None, "no disk has it", (), 0, 0, 0,
                        0, 0, salvaged=False, cut=None,
                    )  # fmt: skip
                    continue
                reader = item.log.to_batches(["offset"])
                yield RestoredPartition(
                    topic, number, self.topic_ids[topic], item.choice.taken.path, item.choice.why,
                    tuple(each.path for each in item.choice.others), item.choice.leader_epoch,
                    item.log.log_start_offset or 0, item.log.log_end_offset,
                    sum(batch.num_rows for batch in reader), item.added, item.salvaged, item.cut,
                )  # fmt: skip

    def _restored(self, groups: Mapping[int, GroupsState]) -> Iterator[RestoredGroup]:
        clamped = Counter(
            each.group for each in self.findings if each.reason is RestoreReason.CLAMPED
        )
        for state in groups.values():
            kinds = {row["group"]: row["kind"] for row in state.groups.to_pylist()}
            kept = Counter(state.offsets["group"].to_pylist())
            for name in sorted({*kinds, *kept}):
                yield RestoredGroup(name, kinds.get(name, "simple"), kept[name], clamped[name])

    # -- ids and times ------------------------------------------------------------------------

    def _cluster_id(self) -> str:
        if self.settings.cluster_id is not None:
            return self.settings.cluster_id
        owners = [each.cluster_id for each in self.found.directories.values() if each is not None]
        known = sorted({each for each in owners if each is not None})
        if len(known) > 1:
            text = f"the sources are of several clusters: {', '.join(known)}"
            self._find(RestoreReason.GUESSED_ID, text, strength=Strength.UNKNOWN)
        return known[0] if known else kafka_uuid.to_text(self._new_id())

    def _new_id(self) -> UUID:
        while True:
            made = UUID(int=self.settings.random.getrandbits(128), version=4)
            if not kafka_uuid.to_text(made).startswith("-"):
                return made

    def _newest(self) -> int:
        """Return the time of the newest segment, ms: that of the snapshot, whenever it is made."""
        times = [
            path.stat().st_mtime_ns // 1_000_000
            for item in self.served.values()
            for path in item.choice.taken.log.segment_paths
            if isinstance(path, Path)
        ]
        return max(times, default=0)

    def _find(self, reason: RestoreReason, message: str, **more: Any) -> None:
        self.findings.append(RestoreFinding(reason=reason, message=message, **more))


def _force(aside: DirectoryAside) -> None:
    """Force all that was written to disk, so that it is whole when it has its name."""
    for path in aside.path.rglob("*"):
        if path.is_dir():
            force_directory(path, sync=True)
        else:
            with open(path, "rb") as file:
                aside.force(file.fileno())


def _uuid(text: str) -> UUID:
    found = kafka_uuid.from_text(text)
    assert found is not None
    return found


_BROKER: Final = int(ConfigResourceType.BROKER)
_CONFIGURE: Final = {
    ClusterKind.ACL: "set authorizer.class.name and super.users, or all of them are ignored",
    ClusterKind.SCRAM: "set a listener with SASL/SCRAM, or nobody can use them",
    ClusterKind.DELEGATION_TOKEN: "set delegation.token.secret.key to that of the old cluster",
}
