"""Plan a restore: choose and stage what is taken, and find what is lost, guessed or handled."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from os import PathLike
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import numpy as np

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.log.batch import NONE
from kafkaspec.log.missing import Missing, MissingWhy
from kafkaspec.log.partition import Partition
from kafkaspec.messages.lookup import key_says
from kafkaspec.model import Record
from kafkaspec.options import not_there
from kafkaspec.policy import OnError
from kafkaspec.restore.coordinator_topics import TOPIC_CONFIGS, partition_count
from kafkaspec.restore.endings import commits, endings, to_commit
from kafkaspec.restore.feature_levels import FEATURE_LEVELS
from kafkaspec.restore.filling import unfilled
from kafkaspec.restore.kept_brokers import refusals
from kafkaspec.restore.loadable import unloadable
from kafkaspec.restore.remote_metadata import encoded, metadata_partition, remote_records
from kafkaspec.restore.replica_choice import Choice, choose
from kafkaspec.restore.replica_inventory import Inventory, PartitionCopy, resolved
from kafkaspec.restore.restore_options import OpenTransactions, RestoreReflink, RestoreRetention
from kafkaspec.restore.restore_plan import (
    RestoredGroup,
    RestoredPartition,
    RestoredVoter,
    RestoreFinding,
    RestorePlan,
    RestoreReason,
)
from kafkaspec.restore.share_groups import deliveries, to_deliver
from kafkaspec.restore.staging import RestoredLogs
from kafkaspec.restore.surviving_metadata import surviving_metadata
from kafkaspec.restore.topic_settings import topic_settings
from kafkaspec.results import Finding, OffsetRange, Strength
from kafkaspec.state.cluster import Cluster
from kafkaspec.state.framed import LeftOut
from kafkaspec.state.groups import GroupsState, read_groups
from kafkaspec.state.image import ClusterKind
from kafkaspec.state.remote import STARTED, RemoteSegments, read_remote_segments
from kafkaspec.state.share import read_deliveries
from kafkaspec.state.transactions import TransactionsState, joined, read_transactions

_BLOCK: Final = 1_000
"""Producer ids that a broker takes at a time: ``ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE``."""
_SHARED: Final = "share.version"
_number: Final = attrgetter("partition")


@dataclass(frozen=True, slots=True)
class RestoreSettings:
    """The options of ``restore``, checked."""

    release: str
    controllers: tuple[tuple[int, str], ...]
    cluster_id: str | None
    metadata: str | PathLike[str] | None
    include: frozenset[str]
    exclude: frozenset[str]
    configs: Mapping[str, Mapping[str, str]]
    retention: RestoreRetention
    partitions: Mapping[str, int]
    prefer: frozenset[Path]
    at: int | None
    open_transactions: OpenTransactions
    fill_from_copies: bool
    keep_remote: bool
    keep_brokers: bool
    link: bool
    reflink: RestoreReflink
    random: random.Random


@dataclass(slots=True)
class ServedPartition:
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
class RestorePlanner:
    """Stages what is restored, and makes the plan of it."""

    settings: RestoreSettings
    found: Inventory
    staging: RestoredLogs
    findings: list[RestoreFinding] = field(default_factory=list)
    served: dict[tuple[str, int], ServedPartition] = field(default_factory=dict)
    made: dict[tuple[str, int], Partition] = field(default_factory=dict)
    topic_ids: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    transactions: dict[int, TransactionsState] = field(default_factory=dict)
    ids: list[dict[str, Any]] = field(default_factory=list)
    known_epochs: dict[tuple[str, int], int] = field(default_factory=dict)
    _unread: set[tuple[Any, ...]] = field(default_factory=set)

    def plan(self) -> RestorePlan:
        """Stage what is restored, and return the plan."""
        self.findings += self.found.findings
        survived = surviving_metadata(self.found.metadata, self.settings.metadata)
        self.findings += survived.findings
        self.is_whole = not survived.findings
        cluster = self.cluster = survived.cluster
        self._check_names(cluster)
        chosen = list(self._choices(cluster))
        if self.settings.keep_brokers:
            own = [node for node, _ in self.settings.controllers]
            self.findings += refusals(chosen, self.found.directories, own)
        for choice in chosen:
            self._stage(choice)
        self._log_starts()
        self._end_transactions()
        groups = self._groups()
        shared = self._deliveries()
        self._count(cluster, groups)
        if self.settings.keep_remote:
            self._announce_remote()
        self._find_lost()
        settings = topic_settings(
            self.counts, None if cluster is None else cluster.image, self._compacted(),
            self.settings.configs, fetched=self._fetched(), stays=self.settings.keep_remote,
            protects=self.settings.retention == "off", one_node=not self.settings.keep_brokers,
        )  # fmt: skip
        self.findings += settings.findings
        partitions = tuple(self._partitions())
        owner = self._cluster_id()
        voters = tuple(
            RestoredVoter(node, kafka_uuid.to_text(self._new_id()), address)
            for node, address in self.settings.controllers
        )
        return RestorePlan(
            self.settings.release, owner, voters, survived.path, partitions,
            tuple(self._restored(groups, shared)), settings.configs, settings.before,
            self._next_producer_id(cluster), tuple(self.findings),
        )  # fmt: skip

    # -- what is taken ------------------------------------------------------------------------

    def _check_names(self, cluster: Cluster | None) -> None:
        """Refuse names of topics and directories that are not there."""
        topics = {topic for topic, _ in self.found.replicas}
        if self.settings.keep_remote:
            topics.add(Topic.REMOTE_LOG_METADATA)
        if cluster is not None:
            topics |= {each["name"] for each in cluster.image.items[ClusterKind.TOPIC].values()}
        for option in ("include", "exclude", "partitions"):
            if unknown := sorted(set(getattr(self.settings, option)) - topics):
                raise ValueError(f"{option}: {not_there('topic', unknown[0], topics)}")
        places = {resolved(path) for path in self.found.directories}
        if strange := sorted(self.settings.prefer - places):
            found = not_there("source", str(strange[0]), map(str, places))
            raise ValueError(f"prefer: {found}")

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
            for _, copies in groupby(sorted(kept, key=_number), key=_number):
                choice = choose(list(copies), self.settings.prefer)
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
        if known is not None and (topic in known or self.is_whole):
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
                if each.place in self.settings.prefer and each.topic_id
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
        log, report, filled = self.staging.take(
            choice, cut, fill=self.settings.fill_from_copies, fetch=not self.settings.keep_remote
        )
        place = {"topic": taken.topic, "partition": taken.partition}
        for part in filled:
            self._find(
                RestoreReason.FILLED, f"taken from {part.source}", file=taken.path,
                offsets=OffsetRange(part.first_offset, part.last_offset + 1), **place,
            )  # fmt: skip
        first = min((part.first_offset for part in filled), default=choice.log_start)
        if first < (taken.log.first_base_offset or 0):
            listed = [copy.listed or 0 for copy in (taken, *choice.others)]
            choice.log_start = max(first, *listed)
        lost = [
            each for each in taken.content.lost if each.is_loss and not _is_of_tier(each, choice)
        ]
        read: list[Finding] = list(lost)
        if report is not None:  # a salvaged log ends before its tail, whose offsets no one knows
            read = [*report.lost, *(each for each in lost if each.reason is MissingWhy.TAIL)]
            gone = [each.offsets for each in report.lost]
            self.findings += choice.contradictions(log, gone)
        for each in read:
            for offsets in [None] if each.offsets is None else unfilled(each.offsets, filled):
                self._find_lost_offsets(taken, each.message, offsets)
        log = self._loadable(choice, log)
        for offsets in _between_tiers(choice):
            text = "neither the log nor remote storage has them"
            self._find_lost_offsets(taken, text, offsets)
        if cut is not None:
            end = taken.content.end_offset
            text = f"batches from offset {cut} on are left out"
            offsets = OffsetRange(cut, end)
            self._find(RestoreReason.CUT, text, file=taken.path, offsets=offsets, **place)
        self.served[taken.topic, taken.partition] = ServedPartition(
            choice, log, report is not None, cut
        )

    def _loadable(self, choice: Choice, log: Partition) -> Partition:
        """Return a staged partition without what no coordinator of the target decodes."""
        topic, number = choice.taken.topic, choice.taken.partition
        if topic not in TOPIC_CONFIGS or not key_says(topic):
            return log
        noted = self._noted(topic, number)
        offsets = unloadable(log, topic, self.settings.release, noted)
        if not offsets:
            return log
        kept = self.settings.keep_brokers
        text = f"records that no broker of {self.settings.release} can load: {len(offsets)};"
        text += " it loads none of this partition" if kept else " they are left out"
        self._find(
            RestoreReason.UNLOADABLE, text, file=choice.taken.path, topic=topic, partition=number,
            offsets=OffsetRange(offsets[0], offsets[-1] + 1),
        )  # fmt: skip
        return log if kept else self.staging.leave_out(topic, number, offsets)

    def _log_starts(self) -> None:
        starts = {}
        for place, item in self.served.items():
            start, end = item.choice.log_start, item.log.log_end_offset
            self._find_before_first(item.choice)
            if start > end and item.cut is None:  # as LogLoader does
                text = f"the log start offset {start} is after the end, {end}: no broker serves"
                text += f" anything of the log, which begins again at {start}"
                self._find_lost_offsets(item.choice.taken, text, OffsetRange(end, start))
                item.log = self.staging.begin_again(*place, start)
            if start > (item.log.first_base_offset or 0) or self._remote_copy(item) is not None:
                starts[place] = min(start, item.log.log_end_offset)
        self.staging.put_log_starts(starts)
        for item in self.served.values():
            item.log = Partition(item.log.path)

    def _find_before_first(self, choice: Choice) -> None:
        """Say what is between the log start offset and the first segment.

        A broker begins with that segment. It lists only logs that begin within one, or in remote
        storage, so such an offset is from before a crash, or segments are gone.
        """
        taken = choice.taken
        first, listed = taken.log.first_base_offset or 0, max(taken.listed or 0, 0)
        known = any(each.reason is MissingWhy.START for each in taken.content.lost)
        tiered = any(each.is_remote for each in (taken, *choice.others))
        if taken.listed is None or listed >= first or known or tiered:
            return
        text = f"the log start offset {listed} is before the first segment, {first}: what is"
        text += " between was deleted before a crash, is in remote storage, or is lost"
        self._find_lost_offsets(taken, text, OffsetRange(listed, first), Strength.UNKNOWN)

    # -- what is appended ---------------------------------------------------------------------

    def _end_transactions(self) -> None:
        for (topic, number), item in self.served.items():
            if topic == Topic.TRANSACTION_STATE:
                state = read_transactions(item.log, on_error=self._noted(topic, number))
                self._note_undecoded(topic, state)
                self.transactions[number] = state
        self.ids = joined(self.transactions.values()).to_pylist()
        now = time.time_ns() // 1_000_000
        for (topic, number), item in sorted(self.served.items()):
            wanted = "leave" if self.settings.keep_brokers else self.settings.open_transactions
            made, found = endings(item.log, self.ids, wanted, item.epoch, now)
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
            state = read_groups(item.log, topics=names, on_error=self._noted(topic, number))
            self._note_undecoded(topic, state)
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

    def _deliveries(self) -> Counter[str]:
        """Return the number of partitions whose deliveries are kept, by share group."""
        topics = {text: topic for topic, text in self.topic_ids.items()}
        ends = {place: item.log.log_end_offset for place, item in self.served.items()}
        kept: Counter[str] = Counter()
        for (topic, number), item in sorted(self.served.items()):
            if topic != Topic.SHARE_GROUP_STATE:
                continue
            state = read_deliveries(item.log, on_error=self._noted(topic, number))
            self._note_undecoded(topic, state)
            rows = state.partitions.to_pylist()
            kept.update(row["group"] for row in rows)
            for row in rows:
                if row["topic_id"] in topics:
                    self._note_epoch(topics[row["topic_id"]], row["partition"], row["leader_epoch"])
            again, findings = to_deliver(rows, topics, ends, item.choice.taken.path)
            # Brokers of other releases do not have share groups, or write them in another way.
            if self.settings.keep_brokers or _SHARED not in FEATURE_LEVELS[self.settings.release]:
                findings = [replace(each, reason=RestoreReason.UNSETTLED) for each in findings]
                again = []
            self.findings += findings
            if again:
                data = deliveries(again, item.log.log_end_offset, item.epoch)
                item.log = self.staging.append(topic, number, data)
                item.added += 1
        return kept

    # -- what the metadata says ---------------------------------------------------------------

    def _note_epoch(self, topic: str, partition: int, epoch: int) -> None:
        """Note a leader epoch that a partition has had, perhaps without a batch."""
        place = topic, partition
        self.known_epochs[place] = max(self.known_epochs.get(place, NONE), epoch)

    def _leader_epoch(self, topic: str, partition: int, least: int) -> int:
        """Return the epoch that a partition begins with; an older one would be refused."""
        return max(least, self.known_epochs.get((topic, partition), NONE) + 1)

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
                for number, state in self.transactions.items()
                for name in state.ids["transactional_id"].to_pylist()
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

    def _find_lost(self) -> None:
        for topic, count in sorted(self.counts.items()):
            for number in range(count):
                if (topic, number) not in {*self.served, *self.made}:
                    text = "no disk has it: it comes back empty"
                    self._find(RestoreReason.LOST_PARTITION, text, topic=topic, partition=number)

    def _remote_copy(self, item: ServedPartition) -> PartitionCopy | None:
        """Return the segments of a partition that stay in remote storage; None for none."""
        copies = (item.choice.taken, *item.choice.others) if self.settings.keep_remote else ()
        return next((each for each in copies if each.is_remote), None)

    def _announce_remote(self) -> None:
        """Complete ``__remote_log_metadata``, which may be lost, by the objects that are there."""
        topic = Topic.REMOTE_LOG_METADATA
        known: dict[int, list[dict[str, Any]]] = {}
        for (name, number), item in self.served.items():
            if name == topic:
                state = read_remote_segments(item.log, on_error=self._noted(topic, number))
                self._note_undecoded(topic, state)
                known[number] = state.segments.to_pylist()
                self._unsay_deletions(item, number, state)
        count = self.counts.get(topic, self.settings.partitions.get(topic, 1))
        records: dict[int, list[Record]] = {}
        copies = [(item, self._remote_copy(item)) for item in self.served.values()]
        if any(copy for _, copy in copies):
            text = "set remote.log.storage.manager.class.name and the settings of its plugin"
            self._find(RestoreReason.CONFIGURE, text)
        for item, copy in copies:
            if copy is not None:
                number = metadata_partition(copy.log, count)
                # A broker looks in no other partition, whatever another number of them was.
                # It deletes a segment after its copy is whole, and copies again what it has.
                local = item.log.first_base_offset or 0
                done = [
                    row["segment_id"] for row in known.get(number, ())
                    if row["state"] != STARTED or row["start_offset"] >= local
                ]  # fmt: skip
                made = remote_records(copy.log, done, self.settings.controllers[0][0])
                if made:
                    records.setdefault(number, []).extend(made)
                    text = f"segments in remote storage are announced again: {len(made) // 2}"
                    self._find(
                        RestoreReason.REMOTE, text, topic=copy.topic, partition=copy.partition
                    )
        if not records:
            return
        self.counts[topic] = count
        if topic not in self.topic_ids:
            self.topic_ids[topic] = kafka_uuid.to_text(self._new_id())
        for number, made in sorted(records.items()):
            served = self.served.get((topic, number))
            log = self.staging.make(topic, number, 0) if served is None else served.log
            epoch = 0 if served is None else served.epoch
            log = self.staging.append(topic, number, encoded(made, log.log_end_offset, epoch))
            if served is None:
                self.made[topic, number] = log
            else:
                served.log, served.added = log, served.added + 1

    def _unsay_deletions(self, item: ServedPartition, number: int, state: RemoteSegments) -> None:
        """Leave out that a partition is deleted that is served: brokers would end at what follows.

        Kafka: ``RemotePartitionMetadataStore``, which then has no place for its segments.
        """
        served = {(self.topic_ids[topic], partition) for topic, partition in self.served}
        said = {place: each.log_offset for place, each in state.deletions.items()}
        offsets = sorted(offset for place, offset in said.items() if place in served)
        if offsets:
            topic = Topic.REMOTE_LOG_METADATA
            text = f"records that say that a partition that is served is deleted: {len(offsets)}"
            self._find(RestoreReason.UNLOADABLE, text, topic=topic, partition=number)
            item.log = self.staging.leave_out(topic, number, offsets)

    def _count_known(self, cluster: Cluster, least: dict[str, int]) -> None:
        for (topic_id, number), fields in cluster.image.items[ClusterKind.PARTITION].items():
            name = cluster.image.topic_name(topic_id)
            if name is not None and self._is_wanted(name):
                self.topic_ids.setdefault(name, topic_id)
                least[name] = max(least.get(name, 0), number + 1)
                self._note_epoch(name, number, fields["leader_epoch"])

    def _fetched(self) -> set[str]:
        """Return the topics of which the sources have segments in remote storage."""
        return {
            topic
            for (topic, _), item in self.served.items()
            if any(copy.is_remote for copy in (item.choice.taken, *item.choice.others))
        }

    def _compacted(self) -> set[str]:
        """Return the topics that the checkpoint of a cleaner names."""
        return {
            topic
            for (topic, _), item in self.served.items()
            for copy in (item.choice.taken, *item.choice.others)
            if (copy.log.cleaner_offset or 0) > 0
        }

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
        for row in self.ids:
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
                epoch = partial(self._leader_epoch, topic, number)
                if item is None and (log := self.made.get((topic, number))) is not None:
                    yield RestoredPartition(
                        topic, number, self.topic_ids[topic], None, "made from remote storage", (),
                        epoch(0), 0, log.log_end_offset, log.log_end_offset, 1, salvaged=False,
                        cut=None,
                    )  # fmt: skip
                    continue
                if item is None:
                    yield RestoredPartition(
                        topic, number, self.topic_ids[topic], None, "no disk has it", (), epoch(0),
                        0, 0, 0, 0, salvaged=False, cut=None,
                    )  # fmt: skip
                    continue
                noted, begins = self._noted(topic, number), item.log.log_start_offset or 0
                records, copy = _delivered(item.log, noted), self._remote_copy(item)
                if copy is not None:
                    records += _delivered(copy.log, noted, item.choice.log_start, begins)
                    begins = item.choice.log_start
                yield RestoredPartition(
                    topic, number, self.topic_ids[topic], item.choice.taken.path, item.choice.why,
                    tuple(each.path for each in item.choice.others),
                    epoch(item.choice.leader_epoch), begins, item.log.log_end_offset, records,
                    item.added, item.salvaged, item.cut,
                )  # fmt: skip

    def _restored(
        self, groups: Mapping[int, GroupsState], shared: Mapping[str, int]
    ) -> Iterator[RestoredGroup]:
        clamped = Counter(
            each.group for each in self.findings if each.reason is RestoreReason.CLAMPED
        )
        for state in groups.values():
            kinds = {row["group"]: row["kind"] for row in state.groups.to_pylist()}
            kept = Counter(state.offsets["group"].to_pylist())
            for name in sorted({*kinds, *kept}):
                yield RestoredGroup(
                    name, kinds.get(name, "simple"), kept[name], clamped[name], shared.get(name, 0)
                )

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

    def _noted(self, topic: str, partition: int) -> OnError:
        """Return what notes a batch that is served, and that cannot be read here; each once."""

        def note(error: KafkaSpecError) -> None:
            place = (topic, partition, error.position, error.detail)
            if place not in self._unread:
                self._unread.add(place)
                self._find(
                    RestoreReason.UNREADABLE, error.detail, file=error.file, topic=topic,
                    partition=partition, position=error.position,
                )  # fmt: skip

        return note

    def _note_undecoded(self, topic: str, state: LeftOut) -> None:
        if state.left_out:
            text = f"records that cannot be decoded: {state.left_out}"
            self._find(RestoreReason.UNDECODED, text, topic=topic)

    def _find_lost_offsets(
        self,
        copy: PartitionCopy,
        message: str,
        offsets: OffsetRange | None,
        strength: Strength = Strength.PROOF,
    ) -> None:
        self._find(
            RestoreReason.LOST_OFFSETS, message, file=copy.path, offsets=offsets,
            strength=strength, topic=copy.topic, partition=copy.partition,
        )  # fmt: skip

    def _find(self, reason: RestoreReason, message: str, **more: Any) -> None:
        self.findings.append(RestoreFinding(reason=reason, message=message, **more))


def _is_of_tier(missing: Missing, choice: Choice) -> bool:
    """Return whether offsets are before the local segments, where those in remote storage are."""
    first, offsets = choice.taken.log.first_base_offset or 0, missing.offsets
    before = offsets is not None and offsets.end is not None and offsets.end <= first
    return before and any(each.is_remote for each in choice.others)


def _between_tiers(choice: Choice) -> Iterator[OffsetRange]:
    """Yield the offsets from the log start on that are before, between or in the two tiers' parts.

    Holes in the copy that is taken are not among them.
    """
    taken = choice.taken
    remote = next((each for each in choice.others if each.is_remote), taken)
    if not remote.is_remote:
        return
    local = taken.content.end_offset if taken is remote else taken.log.first_base_offset or 0
    known = [] if taken is remote else [
        each.offsets for each in remote.content.lost if each.is_loss and each.offsets
    ]  # fmt: skip
    ranges = [
        OffsetRange(0, remote.log.first_base_offset or 0), *known,
        OffsetRange(remote.content.end_offset, local),
    ]  # fmt: skip
    for each in ranges:
        start, end = max(each.start, choice.log_start), local
        if each.end is not None:
            end = min(end, each.end)
        if start < end:
            yield OffsetRange(start, end)


def _delivered(log: Partition, on_error: OnError, start: int = 0, end: int | None = None) -> int:
    """Return the number of records that a consumer gets, which skips what it has passed."""
    number, last = 0, start - 1
    for batch in log.to_batches(["offset"], on_error=on_error):
        offsets = batch["offset"].to_numpy()
        offsets = offsets if end is None else offsets[offsets < end]
        if not len(offsets):
            continue
        passed = np.maximum.accumulate(np.append(last, offsets))
        number += int(np.count_nonzero(offsets > passed[:-1]))
        last = int(passed[-1])
    return number
