"""The parts of a scenario: steps in order, on one topic."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tools.brokers.client import Record
from tools.brokers.versions import Feature, Version

FORMAT = "message.format.version"
DEFAULT_PRODUCER = "p"


class Step:
    """Something that happens to the topic of a scenario."""


@dataclass(frozen=True)
class Send(Step):
    """Send records and wait for all acknowledgements: one batch on disk where batches exist."""

    records: tuple[Record, ...]
    producer: str = DEFAULT_PRODUCER
    partition: int = 0


@dataclass(frozen=True)
class Begin(Step):
    """Begin a transaction."""

    producer: str = DEFAULT_PRODUCER


@dataclass(frozen=True)
class End(Step):
    """End a transaction, or leave it open (nothing is sent then)."""

    outcome: str
    """``committed``, ``aborted`` or ``open``."""
    producer: str = DEFAULT_PRODUCER


@dataclass(frozen=True)
class Alter(Step):
    """Give the topic these settings in addition to its own, and wait until the broker uses them."""

    settings: Mapping[str, str]


@dataclass(frozen=True)
class Reopen(Step):
    """Close a producer and open it again: a new producer id, or a new epoch if transactional."""

    producer: str = DEFAULT_PRODUCER


@dataclass(frozen=True)
class AwaitCleaned(Step):
    """Wait until the cleaner has finished everything below the active segment."""


@dataclass(frozen=True)
class Restart(Step):
    """Close the producers, stop the broker cleanly, start it again: a new leader epoch."""


@dataclass(frozen=True)
class Fence(Step):
    """Open a producer with the ``transactional.id`` of one that is in a transaction.

    The broker aborts that transaction; the first producer tries to commit and must be refused.
    """

    producer: str
    by: str


@dataclass(frozen=True)
class DeleteRecords(Step):
    """Raise the log start offset; wait until the segments that lie below it are gone."""

    before: int
    partition: int = 0


@dataclass(frozen=True)
class Consume(Step):
    """A consumer of a group reads records and commits, with metadata, the offset after the last.

    It subscribes to the topic, or to the regular expression ``pattern`` of its settings.
    """

    group: str
    count: int
    metadata: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ConsumeShared(Step):
    """A member of a share group accepts, rejects and releases records in turn."""

    group: str
    count: int


@dataclass(frozen=True)
class SendOffsets(Step):
    """Commit an offset of the topic's partition 0 for a group inside a transaction."""

    group: str
    offset: int
    producer: str = DEFAULT_PRODUCER


@dataclass(frozen=True)
class AwaitTiered(Step):
    """Wait until all but the active segment is in remote storage, and some only there."""


@dataclass(frozen=True)
class Administer(Step):
    """Change the cluster as an administrator: an action of ``Administer.java``."""

    action: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Join(Step):
    """Start a second node, broker and controller, and make it a voter of the quorum."""


@dataclass(frozen=True)
class Leave(Step):
    """Take the second node's vote, stop it, and unregister its broker.

    From 4.4 on, its controller too.
    """


@dataclass(frozen=True)
class Stream(Step):
    """A streams group reads the topic and counts."""

    group: str


@dataclass(frozen=True)
class AwaitRemoteDeleted(Step):
    """Wait until remote storage has no part of the topic any more."""


class Occasion(enum.StrEnum):
    """A separate broker, with its own log directories."""

    CLEAN = "clean"
    """Stopped cleanly."""
    UNCLEAN = "unclean"
    """Killed, then started again on its files, some of them damaged as by a power failure."""
    TIERED = "tiered"
    """With remote storage."""
    ADMINISTERED = "administered"
    """With everything that an administrator can change, and a second node for a while."""


class Damage(enum.StrEnum):
    """Damage at the end of a log when the machine, not only the broker, dies."""

    TORN = "torn"
    """The last batch is cut in its records."""
    TORN_HEADER = "torn-header"
    """Less is left of the last batch than its offset and size."""
    ZEROS = "zeros"
    """The file system made the file longer than its content."""


@dataclass(frozen=True)
class Scenario:
    """One topic and all that happens to it."""

    name: str
    description: str
    steps: tuple[Step, ...]
    topic: Mapping[str, str] = field(default_factory=dict)
    producers: Mapping[str, Mapping[str, str]] = field(
        default_factory=lambda: {DEFAULT_PRODUCER: {}}
    )
    partitions: int = 1
    needs: Collection[Feature] = ()
    occasion: Occasion = Occasion.CLEAN
    damage: Damage | None = None
    late: Collection[str] = ()
    """Producers that a step opens, not the start of the scenario."""
    sample: bool = False
    """Whether some versions stand for all: those whose manifests have it, and the newest."""

    @property
    def codecs(self) -> frozenset[str]:
        """Every codec that a producer or the topic uses."""
        settings = [*self.producers.values(), self.topic]
        return frozenset(s["compression.type"] for s in settings if "compression.type" in s)

    @property
    def compacted(self) -> bool:
        """Whether the log lacks records that were acknowledged."""
        return any(isinstance(step, AwaitCleaned) for step in self.steps)

    @property
    def log_start_offset(self) -> int:
        """The log start offset after the last deletion of records."""
        deleted = [step.before for step in self.steps if isinstance(step, DeleteRecords)]
        return max(deleted, default=0)

    def applies_to(self, version: Version) -> bool:
        """Return whether ``version`` can run this scenario."""
        needs = set(self.needs)
        if self.topic:
            needs.add(Feature.TOPIC_SETTINGS)
        if self.compacted:
            needs.add(Feature.COMPACTION)
        formats = {name for _, name in version.old_formats}
        return (
            needs <= version.features
            and self.codecs <= set(version.codecs)
            and (FORMAT not in self.topic or self.topic[FORMAT] in formats)
        )
