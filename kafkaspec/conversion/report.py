"""Results of a conversion: counts, losses, damages, and the comparison with the input."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from kafkaspec import results
from kafkaspec.analysis.findings import Finding, Severity
from kafkaspec.conversion.losses import Losses
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.log.missing import Missing, MissingWhy
from kafkaspec.results import as_json
from kafkaspec.writing.carried import Carried

MOST_SHOWN: Final = 100
"""Most damages of a partition that are listed; all are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage(results.Finding):
    """A batch that was left out since it cannot be read or written."""

    file: str
    reason: Reason

    @classmethod
    def of(cls, error: KafkaSpecError) -> Damage:
        """Return the damage that an error describes."""
        return cls(
            file=error.file or "",
            position=error.position,
            reason=error.reason,
            message=error.detail,
        )


@dataclass(frozen=True, slots=True)
class TailNote:
    """Bytes at the end of a segment that are not a batch. The log ends before them, as in Kafka.

    Attributes:
        file: path of the segment.
        position: byte position of the first of them.
        size: number of bytes.
        reason: see ``kafkaspec.log.segment.Tail``.
    """

    file: str
    position: int
    size: int
    reason: str


@dataclass(slots=True)
class SideComparison:
    """Result of comparing input and output record by record.

    Attributes:
        records: number of compared records.
        columns: names of compared columns.
        differences: number of differences.
        examples: descriptions of the first differences.
    """

    records: int = 0
    columns: tuple[str, ...] = ()
    differences: int = 0
    examples: list[str] = field(default_factory=list)

    def differ(self, example: str, most: int = 10) -> None:
        """Count a difference, and list it if it is one of the first.

        Args:
            example: description of the difference.
            most: most descriptions to list.
        """
        self.differences += 1
        if len(self.examples) < most:
            self.examples.append(example)


@dataclass(slots=True, kw_only=True)
class PartitionResult:
    """Result for one partition.

    Attributes:
        source: path of the input.
        target: path of the new directory.
        segments: number of segments read.
        written_segments: number of segments written.
        size: bytes of the segments read.
        written_size: bytes of the segments written.
        batches: number of entries read.
        taken: number of these entries that were taken, whole or in part.
        losses: counts of losses and changes.
        damages: batches that cannot be read, up to a limit; ``damaged`` is their number.
        damaged: number of damages.
        unread: segments and files beside them that cannot be read and were left out.
        tails: bytes at the end of segments that are not a batch.
        missing: what the input does not deliver.
        comparison: result of the comparison; None if it was not requested.
        findings: findings of ``verify`` in the output.
    """

    source: str
    target: str
    segments: int = 0
    written_segments: int = 0
    size: int = 0
    written_size: int = 0
    batches: int = 0
    taken: int = 0
    losses: Losses = field(default_factory=Losses)
    damages: list[Damage] = field(default_factory=list)
    damaged: int = 0
    unread: list[Damage] = field(default_factory=list)
    tails: list[TailNote] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    comparison: SideComparison | None = None
    findings: list[Finding] = field(default_factory=list)
    ALSO: ClassVar = ("clean", "verified")

    @property
    def verified(self) -> bool:
        """Whether the output is sound and contains all expected records."""
        sound = all(finding.severity is Severity.INFO for finding in self.findings)
        return sound and (self.comparison is None or not self.comparison.differences)

    @property
    def clean(self) -> bool:
        """Whether nothing is missing or was left out as damaged, and the result is correct."""
        return self.verified and not self.damaged and not self.unread and not self.lost

    @property
    def lost(self) -> int:
        """Number of places in the input where something is missing."""
        return sum(item.is_loss for item in self.missing)

    @property
    def missing_offsets(self) -> int:
        """Number of offsets that are missing, as far as they are known."""
        return sum(item.count for item in self.missing if item.is_loss)

    def note_missing(self, found: Iterable[Missing]) -> None:
        """Note what is missing; ``losses`` count what lies below the log start offset."""
        self.missing += [item for item in found if item.reason is not MissingWhy.DELETED]

    def damage(self, error: KafkaSpecError) -> None:
        """Count a batch that is left out, and list it if it is one of the first."""
        self.damaged += 1
        if len(self.damages) < MOST_SHOWN:
            self.damages.append(Damage.of(error))

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        content: dict[str, Any] = as_json(self, ("losses", "findings"))
        findings = [finding.as_dict() for finding in self.findings]
        return content | {"losses": self.losses.as_dict(), "findings": findings}


@dataclass(slots=True)
class ConversionReport:
    """Results for everything under a path.

    Attributes:
        partitions: one result per partition.
        left_out: paths that are not converted, each with the reason.
        failed: partitions that could not be converted, each with the error.
        checkpoints: which checkpoints of the log directory are in the output.
    """

    partitions: list[PartitionResult] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    failed: dict[str, KafkaSpecError] = field(default_factory=dict)
    checkpoints: Carried = field(default_factory=Carried)

    @property
    def losses(self) -> Losses:
        """Sums over the partitions."""
        total = Losses()
        for result in self.partitions:
            total.update(result.losses)
        return total

    @property
    def clean(self) -> bool:
        """Whether nothing is missing or was left out as damaged, and all results are correct."""
        failed = self.failed or self.checkpoints.errors
        return not failed and all(result.clean for result in self.partitions)

    def as_dict(self) -> dict[str, Any]:
        """Return the sums for JSON; ``partitions`` have their own."""
        results = self.partitions
        compared = [item.comparison for item in results if item.comparison is not None]
        return {
            "clean": self.clean,
            "verified": all(item.verified for item in results),
            "partitions": len(results),
            "left_out": [{"path": path, "why": why} for path, why in self.left_out],
            "failed": [
                {"path": path} | as_json(Damage.of(error)) for path, error in self.failed.items()
            ],
            "segments": sum(item.segments for item in results),
            "written_segments": sum(item.written_segments for item in results),
            "size": sum(item.size for item in results),
            "written_size": sum(item.written_size for item in results),
            "batches": sum(item.batches for item in results),
            "records_compared": sum(item.records for item in compared),
            "differences": sum(item.differences for item in compared),
            "findings": sum(len(item.findings) for item in results),
            "damaged": sum(item.damaged for item in results),
            "lost": sum(item.lost for item in results),
            "losses": self.losses.as_dict(),
        }
