"""Results of ``rebuild_indexes``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafkaspec.broker.actions import Recovery
from kafkaspec.broker.index_rules import Rule
from kafkaspec.broker.profiles import Profile
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.missing import Missing
from kafkaspec.writing.comparison import Comparison


@dataclass(frozen=True, slots=True)
class RebuiltFile:
    """A rebuilt file.

    Attributes:
        name: path of the file below the output directory.
        size: size in bytes.
        entries: number of entries.
        comparison: result of the comparison with the file of that name beside the log.
        why: explanation of a difference, "" if there is none.
    """

    name: str
    size: int
    entries: int
    comparison: Comparison
    why: str = ""


@dataclass(frozen=True, slots=True)
class RebuiltSegment:
    """A segment whose indexes were rebuilt.

    Attributes:
        path: path of the log.
        size: size of the log in bytes.
        valid_bytes: size in bytes of the part of the log that the indexes cover.
        error: the error after these bytes; None for a cut entry, for zeros, or if there is none.
        refused: errors of entries that kafkaspec refuses but recovery keeps, since it does not
            check what is wrong with them. The indexes cover these entries.
        recovery: action of a broker on the log; None with another rule than recovery.
        note: what happened, in words; "" if all went well.
        files: rebuilt files; the last segment of a partition includes its leader epoch checkpoint.
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
    """Result of ``rebuild_indexes``.

    Attributes:
        rule: the rule that was followed.
        profile: profile of the version whose rules were followed.
        index_interval_bytes: the ``index.interval.bytes`` that was used.
        segments: the segments, in order.
        failed: partitions of a log directory that cannot be read, each with the error.
        notes: what else is in the directory, see ``kafkaspec.log.missing.passed_over``.
    """

    rule: Rule
    profile: Profile
    index_interval_bytes: int
    segments: tuple[RebuiltSegment, ...]
    failed: Mapping[str, KafkaSpecError] = field(default_factory=dict)
    notes: tuple[Missing, ...] = ()

    @property
    def files(self) -> tuple[RebuiltFile, ...]:
        """All files of all segments."""
        return tuple(file for segment in self.segments for file in segment.files)

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong with any log."""
        return not self.failed and all(segment.is_sound for segment in self.segments)
