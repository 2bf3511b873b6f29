"""What a conversion did, what did not come through, and whether the result is right."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final

from kafkaspec.analysis.findings import Finding, Severity
from kafkaspec.conversion.losses import Losses
from kafkaspec.errors import KafkaSpecError

MOST_SHOWN: Final = 100
"""Damages of a partition that are kept one by one; all are counted."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A batch that was left out since it cannot be read or written.

    Attributes:
        file: path of the segment.
        position: byte offset of what is wrong, None if that is not known.
        reason: of the error.
        message: for people.
    """

    file: str
    position: int | None
    reason: str
    message: str

    @classmethod
    def of(cls, error: KafkaSpecError) -> Damage:
        """What an error says."""
        return cls(error.file or "", error.offset, str(error.reason), error.detail)


@dataclass(frozen=True, slots=True)
class TailNote:
    """Bytes at the end of a segment that are no batch: Kafka ends the log there, and so do we.

    Attributes:
        file: path of the segment.
        position: byte offset where they begin.
        size: how many there are.
        reason: see ``kafkaspec.log.segment.Tail``.
    """

    file: str
    position: int
    size: int
    reason: str


@dataclass(slots=True)
class Comparison:
    """Input and output read again and compared record by record.

    Attributes:
        records: how many were compared.
        columns: what of them was.
        differences: number of differences.
        examples: the first ones, for people.
    """

    records: int = 0
    columns: tuple[str, ...] = ()
    differences: int = 0
    examples: list[str] = field(default_factory=list)

    def differ(self, example: str, most: int = 10) -> None:
        """Note a difference."""
        self.differences += 1
        if len(self.examples) < most:
            self.examples.append(example)


@dataclass(slots=True, kw_only=True)
class PartitionResult:
    """What became of one partition.

    Attributes:
        source: path of what was read.
        target: path of the directory that was made.
        segments: segments that were read.
        written_segments: segments that were made.
        size: bytes of the segments that were read.
        written_size: bytes of the segments that were made.
        batches: entries that were read.
        taken: of those, entries that were taken, all of them or a part.
        losses: what did not come through.
        damages: what cannot be read; ``damaged`` is their number.
        damaged: number of damages.
        tails: bytes at the end of segments that are no batch.
        comparison: None if it was not asked for.
        findings: of ``verify`` in what was made.
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
    tails: list[TailNote] = field(default_factory=list)
    comparison: Comparison | None = None
    findings: list[Finding] = field(default_factory=list)

    @property
    def verified(self) -> bool:
        """Whether what was made is sound and holds the records that it must."""
        sound = all(finding.severity is Severity.INFO for finding in self.findings)
        return sound and (self.comparison is None or not self.comparison.differences)

    @property
    def clean(self) -> bool:
        """Whether nothing was left out as damaged, and the result is right."""
        return self.verified and not self.damaged

    def damage(self, error: KafkaSpecError) -> None:
        """Note what is left out."""
        self.damaged += 1
        if len(self.damages) < MOST_SHOWN:
            self.damages.append(Damage.of(error))

    def as_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {
            "source": self.source,
            "target": self.target,
            "clean": self.clean,
            "verified": self.verified,
            "segments": self.segments,
            "written_segments": self.written_segments,
            "size": self.size,
            "written_size": self.written_size,
            "batches": self.batches,
            "taken": self.taken,
            "losses": self.losses.as_dict(),
            "damaged": self.damaged,
            "damages": [asdict(item) for item in self.damages],
            "tails": [asdict(item) for item in self.tails],
            "comparison": None if self.comparison is None else asdict(self.comparison),
            "findings": [finding.as_dict() for finding in self.findings],
        }


@dataclass(slots=True)
class ConversionReport:
    """What became of everything under a path.

    Attributes:
        partitions: one result each.
        left_out: what was not converted, each path with the reason.
    """

    partitions: list[PartitionResult] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)

    @property
    def losses(self) -> Losses:
        """Sums over the partitions."""
        total = Losses()
        for result in self.partitions:
            total.update(result.losses)
        return total

    @property
    def clean(self) -> bool:
        """Whether nothing was left out as damaged, and all results are right."""
        return all(result.clean for result in self.partitions)

    def as_dict(self) -> dict[str, Any]:
        """Sums, ready for JSON; ``partitions`` have their own."""
        results = self.partitions
        compared = [item.comparison for item in results if item.comparison is not None]
        return {
            "clean": self.clean,
            "verified": all(item.verified for item in results),
            "partitions": len(results),
            "left_out": [{"path": path, "why": why} for path, why in self.left_out],
            "segments": sum(item.segments for item in results),
            "written_segments": sum(item.written_segments for item in results),
            "size": sum(item.size for item in results),
            "written_size": sum(item.written_size for item in results),
            "batches": sum(item.batches for item in results),
            "records_compared": sum(item.records for item in compared),
            "differences": sum(item.differences for item in compared),
            "findings": sum(len(item.findings) for item in results),
            "damaged": sum(item.damaged for item in results),
            "losses": self.losses.as_dict(),
        }
