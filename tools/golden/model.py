"""What a scenario is made of: steps in order, on one topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tools.golden.payloads import Record
from tools.golden.versions import Feature, Version

FORMAT = "message.format.version"
DEFAULT_PRODUCER = "p"


@dataclass(frozen=True)
class Send:
    """Send records and wait for all acknowledgements: one batch on disk where batches exist."""

    records: tuple[Record, ...]
    producer: str = DEFAULT_PRODUCER
    partition: int = 0


@dataclass(frozen=True)
class Begin:
    """Begin a transaction."""

    producer: str = DEFAULT_PRODUCER


@dataclass(frozen=True)
class End:
    """End a transaction, or leave it open (nothing is sent then)."""

    outcome: str
    """``committed``, ``aborted`` or ``open``."""
    producer: str = DEFAULT_PRODUCER


@dataclass(frozen=True)
class Alter:
    """Give the topic these settings besides those it has, and wait until the broker uses them."""

    settings: Mapping[str, str]


@dataclass(frozen=True)
class Reopen:
    """Close a producer and open it again: a new producer id, or a new epoch if transactional."""

    producer: str = DEFAULT_PRODUCER


@dataclass(frozen=True)
class AwaitCleaned:
    """Wait until the cleaner has finished everything below the active segment."""


Step = Send | Begin | End | Alter | Reopen | AwaitCleaned


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
    needs: frozenset[Feature] = frozenset()
    only: frozenset[str] | None = None
    """Names of the versions that run it; ``None`` for all that can."""

    @property
    def codecs(self) -> frozenset[str]:
        """Every codec that a producer or the topic uses."""
        settings = [*self.producers.values(), self.topic]
        return frozenset(s["compression.type"] for s in settings if "compression.type" in s)

    @property
    def compacted(self) -> bool:
        """Whether the log lacks records that were acknowledged."""
        return any(isinstance(step, AwaitCleaned) for step in self.steps)

    def applies_to(self, version: Version) -> bool:
        """Whether ``version`` can run this scenario."""
        needs = set(self.needs)
        if self.topic:
            needs.add(Feature.TOPIC_SETTINGS)
        if self.compacted:
            needs.add(Feature.COMPACTION)
        formats = {name for _, name in version.old_formats}
        return (
            (self.only is None or version.name in self.only)
            and needs <= version.features
            and self.codecs <= set(version.codecs)
            and (FORMAT not in self.topic or self.topic[FORMAT] in formats)
        )
