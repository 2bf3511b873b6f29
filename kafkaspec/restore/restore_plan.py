"""The plan of a restore: what will be served, from where, and what is lost or guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from kafkaspec.results import Finding


class RestoreReason(StrEnum):
    """The kinds of findings of a restore. The list is closed."""

    REPLICA = "replica"
    """A copy that was not taken, and holds nothing that the one taken lacks."""
    UNCOMMITTED = "uncommitted"
    """Records above the high watermark of the checkpoints, which may never have been committed."""
    PROTECTION = "protection"
    """A setting that would delete or block what is restored is replaced; see ``before``."""
    PRODUCER_IDS = "producer_ids"
    """New producers get ids above all that are on the disks."""
    TRANSACTION = "transaction"
    """A transaction that is open at the end, and is ended here, or by its coordinator."""
    MARKER = "marker"
    """A marker that is added for a transaction of which no coordinator knows."""
    REMOTE = "remote"
    """Segments in remote storage are announced again, since the topic that did it is lost."""
    RENEWED = "renewed"
    """A commit that says itself when it expires is written again without that (KAFKA-4682)."""
    FILLED = "filled"
    """Batches that a damaged copy had lost, and another copy has."""
    COPY = "copy"
    """What is not restored: strays, copies and remote segments being deleted, other folders."""
    LEFT_OUT = "left_out"
    """Settings of nodes, and settings that no broker of the target knows."""
    CONFIGURE = "configure"
    """What the new node has to be configured with, or what is restored has no effect."""
    STRAY = "stray"
    """A copy of a topic that the cluster had deleted, or made again with another id."""
    NO_METADATA = "no_metadata"
    """No metadata was found: settings, ACLs, quotas and users of the cluster are not known."""
    GUESSED_CONFIG = "guessed_config"
    """A setting of a topic that only the files suggest."""
    GUESSED_ID = "guessed_id"
    """A topic without an id on any disk gets a new one."""
    GUESSED_COUNT = "guessed_count"
    """The number of partitions of a topic, as far as the files say it."""
    METADATA = "metadata"
    """The metadata that was found cannot be read in full."""
    LOST_OFFSETS = "lost_offsets"
    """Offsets that no copy has."""
    LOST_PARTITION = "lost_partition"
    """A partition that is on no disk: it comes back empty."""
    UNDECODED = "undecoded"
    """Records of a coordinator's topic that are served, and that nobody here can decode."""
    UNLOADABLE = "unloadable"
    """Records that no coordinator of the target decodes: with one, it would load no group."""
    CLAMPED = "clamped"
    """A committed offset, or what a share group is done with, beyond the end is set to it."""
    CUT = "cut"
    """What came after the point in time is left out."""
    UNREADABLE = "unreadable"
    """A partition, a file or a checkpoint that cannot be read."""
    OPEN = "open"
    """A transaction that stays open for ever: consumers that read committed records stop there."""
    DIVERGED = "diverged"
    """Two copies of a partition have other batches at the same offsets."""
    TOPIC_IDS = "topic_ids"
    """One topic has several ids, and nothing says which one is right."""
    UNSETTLED = "unsettled"
    """A transaction or commit that is left as it is, since brokers are kept as they are."""
    NODES = "nodes"
    """Brokers cannot be kept: a log directory is of no known node, or of the controller's."""
    UNPROVEN_LEADER = "unproven_leader"
    """A copy has what the one to lead lacks: the others would be cut."""


HANDLED: Final = frozenset({
    RestoreReason.REPLICA, RestoreReason.UNCOMMITTED, RestoreReason.PROTECTION,
    RestoreReason.PRODUCER_IDS, RestoreReason.TRANSACTION, RestoreReason.MARKER,
    RestoreReason.COPY, RestoreReason.RENEWED, RestoreReason.LEFT_OUT,
    RestoreReason.CONFIGURE, RestoreReason.FILLED, RestoreReason.REMOTE,
})  # fmt: skip
"""What is only worth knowing."""
REFUSALS: Final = frozenset({
    RestoreReason.DIVERGED, RestoreReason.TOPIC_IDS, RestoreReason.NODES,
    RestoreReason.UNPROVEN_LEADER,
})  # fmt: skip
"""What nothing is written for until somebody decides it."""


class RestoreVerdict(StrEnum):
    """The outcome of a restore."""

    WHOLE = "whole"
    """Everything is restored, and nothing is guessed."""
    PARTIAL = "partial"
    """Something is lost or guessed; the findings name it."""
    REFUSED = "refused"
    """Nothing is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreFinding(Finding):
    """Something that is lost, guessed, handled or to be decided.

    Attributes:
        topic: it is about this topic, None for no single one.
        partition: and this partition of it.
        group: it is about this group.
    """

    reason: RestoreReason
    topic: str | None = None
    partition: int | None = None
    group: str | None = None

    @property
    def counts(self) -> bool:
        """Whether it is a loss, a guess or a refusal."""
        return self.reason not in HANDLED


@dataclass(frozen=True, slots=True)
class RestoredPartition:
    """A partition as it will be served.

    Attributes:
        topic: its name.
        partition: its number.
        topic_id: id of the topic.
        source: path of the copy that is taken; None for one that comes back empty.
        why: why it is that copy.
        others: paths of the other copies.
        leader_epoch: the epoch that it begins with.
        log_start: its log start offset.
        end_offset: its end, with what is added.
        records: number of records that are not control records and not below the log start.
        added: number of batches that are added: markers and commits.
        salvaged: whether it is damaged, and its intact batches were taken.
        cut: the offset that it is cut at, None for none.
    """

    topic: str
    partition: int
    topic_id: str
    source: str | None
    why: str
    others: tuple[str, ...]
    leader_epoch: int
    log_start: int
    end_offset: int
    records: int
    added: int
    salvaged: bool
    cut: int | None


@dataclass(frozen=True, slots=True)
class RestoredVoter:
    """A controller of the quorum.

    Attributes:
        node_id: the node.
        directory_id: id of its log directory.
        address: host and port of its listener.
    """

    node_id: int
    directory_id: str
    address: str

    @property
    def folder(self) -> str:
        """Name of its directory in the output, if it is not the first."""
        return f"voter-{self.node_id}"


@dataclass(frozen=True, slots=True)
class RestoredGroup:
    """A group as it will be served.

    Attributes:
        group: its name.
        kind: classic, consumer, share or streams; ``simple`` for commits without a group.
        offsets: number of committed offsets that are kept.
        clamped: number of those, or of deliveries, that were beyond the end of their partition.
        deliveries: of a share group, number of partitions whose deliveries are kept.
    """

    group: str
    kind: str
    offsets: int
    clamped: int
    deliveries: int


@dataclass(frozen=True, slots=True)
class RestoredBytes:
    """Sizes of the segments in the output, in bytes, by how their contents came there.

    Attributes:
        shared: they share the blocks of their sources.
        linked: they are hard links to their sources.
        copied: they are copies of them.
        made: salvaged, fetched, written without some records, or appended.
    """

    shared: int
    linked: int
    copied: int
    made: int


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """The output of a restore, made or planned.

    Attributes:
        release: minor release of the target, ``4.4``.
        cluster_id: id of the cluster.
        voters: the controllers of its quorum. The first is the node that serves it too, unless
            brokers are kept.
        metadata: path of the metadata that it begins with; None if it is made from directories.
        partitions: by topic and number.
        groups: by name.
        configs: settings of topics, by topic.
        before: settings of topics that were replaced, with their values before, None for not set.
        next_producer_id: the first id that a new producer gets.
        findings: what is lost, guessed, handled or refused.
        target: path of the directory that was written; None for a plan alone.
        written: sizes of its segments; None for a plan alone, and if brokers are kept.
    """

    release: str
    cluster_id: str
    voters: tuple[RestoredVoter, ...]
    metadata: str | None
    partitions: tuple[RestoredPartition, ...]
    groups: tuple[RestoredGroup, ...]
    configs: Mapping[str, Mapping[str, str]]
    before: Mapping[str, Mapping[str, str | None]]
    next_producer_id: int
    findings: tuple[RestoreFinding, ...] = field(default=())
    target: str | None = None
    written: RestoredBytes | None = None

    @property
    def node_id(self) -> int:
        """The node that serves it, or the first of its controllers."""
        return self.voters[0].node_id

    @property
    def directory_id(self) -> str:
        """Id of the log directory of that node."""
        return self.voters[0].directory_id

    @property
    def verdict(self) -> RestoreVerdict:
        """The outcome."""
        reasons = {finding.reason for finding in self.findings}
        if reasons & REFUSALS:
            return RestoreVerdict.REFUSED
        return RestoreVerdict.PARTIAL if reasons - HANDLED else RestoreVerdict.WHOLE

    @property
    def records(self) -> int:
        """Number of records in all partitions."""
        return sum(partition.records for partition in self.partitions)
