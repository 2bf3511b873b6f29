"""What ``rebuild_indexes`` did."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kafkaspec.errors import KafkaSpecError
from kafkaspec.writing.comparison import Comparison
from kafkaspec.writing.index_rules import Rule
from kafkaspec.writing.profiles import Profile


class Recovery(StrEnum):
    """What a broker that recovers a log does with a segment, after a crash and with its indexes.

    Kafka: ``LogSegment.recover``, ``LogLoader.recoverLog``, ``LogLoader.retryOnOffsetOverflow``, as
    the loader of 4.4 does it; those of releases before 4.1 were not asked.
    """

    KEEPS = "keeps"
    """All of it."""
    CUTS = "cuts"
    """Up to ``valid_bytes``; what is behind them is lost, and so are the segments behind it."""
    EMPTIES = "empties"
    """Nothing: offsets go back where an index gets an entry. The segments behind it are lost too.
    Where an index was missing, the broker refuses the log instead."""
    SPLITS = "splits"
    """All of it, in several segments: from ``valid_bytes`` on offsets do not fit into this one
    (KAFKA-6264)."""
    REFUSES = "refuses"
    """The broker fails at what lies at ``valid_bytes`` and does not load the log."""
    REMOVES = "removes"
    """Nothing: a segment before it was cut or emptied."""


@dataclass(frozen=True, slots=True)
class RebuiltFile:
    """A file that was made.

    Attributes:
        name: its path below the output directory.
        size: bytes.
        entries: how many it has.
        comparison: with the file of that name beside the log.
        why: what is known of why they differ, "" for nothing.
    """

    name: str
    size: int
    entries: int
    comparison: Comparison
    why: str = ""


@dataclass(frozen=True, slots=True)
class RebuiltSegment:
    """A segment whose indexes were made.

    Attributes:
        path: of the log.
        size: bytes of the log.
        valid_bytes: bytes up to which the indexes were made.
        error: what is wrong behind them, None for a cut entry or zeros, or if nothing is.
        refused: entries that kafkaspec refuses and recovery keeps, since it does not look at what
            is wrong with them. They are in the indexes.
        recovery: what a broker does with the log, None by another rule than that of recovery.
        note: the same in words, "" for nothing.
        files: what was made; with the last segment of a partition its leader epoch checkpoint.
    """

    path: str
    size: int
    valid_bytes: int
    error: KafkaSpecError | None
    note: str
    files: tuple[RebuiltFile, ...]
    refused: tuple[KafkaSpecError, ...] = ()
    recovery: Recovery | None = None

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong with the log."""
        taken = self.valid_bytes == self.size and self.recovery in (None, Recovery.KEEPS)
        return taken and not self.refused and self.error is None


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """What ``rebuild_indexes`` did.

    Attributes:
        rule: that was followed.
        profile: version whose rules they are.
        index_interval_bytes: that was used.
        segments: in order.
    """

    rule: Rule
    profile: Profile
    index_interval_bytes: int
    segments: tuple[RebuiltSegment, ...]

    @property
    def files(self) -> tuple[RebuiltFile, ...]:
        """All files of all segments."""
        return tuple(file for segment in self.segments for file in segment.files)

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong with any log."""
        return all(segment.is_sound for segment in self.segments)
