"""The fate of each byte of a salvaged log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.missing import Missing, MissingWhy
from kafkaspec.results import Assumption, Finding, OffsetRange, Strength
from kafkaspec.writing.carried import Carried


class Fate(StrEnum):
    """The fate of bytes."""

    KEPT = "kept"
    """Intact entries, in the output byte for byte."""
    REPAIRED = "repaired"
    """An entry that is in the output with the bytes that it must have had."""
    LOST = "lost"
    """Not in the output."""
    AMBIGUOUS = "ambiguous"
    """Intact entries that may belong to the log, or be inside a value: not in the output."""
    UNPROVEN = "unproven"
    """A broken entry of which records could be read: they are in a separate file."""
    UNUSED = "unused"
    """Zeros at the end, as in a preallocated segment."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes of a segment with one fate.

    Attributes:
        position: byte offset of the first one.
        size: number of bytes.
        fate: what happened to them.
        strength: how well that is proven.
        first_offset: first offset of what they are or were, None if that is none.
        last_offset: last offset.
        entries: number of entries, 0 if that is not known.
        cause: why it is not kept, or what was repaired, or where it was moved; "" for all else.
        records: unproven records that were read.
        moved: whether it has another place in the output: the one by its offsets.
    """

    position: int
    size: int
    fate: Fate
    strength: Strength
    first_offset: int | None = None
    last_offset: int | None = None
    entries: int = 0
    cause: str = ""
    records: int = 0
    moved: bool = False

    @property
    def end(self) -> int:
        """Byte offset after the last one."""
        return self.position + self.size


@dataclass(frozen=True, slots=True)
class Added:
    """An entry that no input has.

    Attributes:
        base_offset: base offset of the segment of the output that has it.
        kind: ``filler``, an empty batch in the place of lost offsets, or ``marker``.
        first_offset: its first offset.
        last_offset: its last offset.
        producer_id: producer of a marker, -1 for none.
        strength: how well it is proven that there was one like it.
        why: why it is there.
    """

    base_offset: int
    kind: str
    first_offset: int
    last_offset: int
    strength: Strength
    why: str
    producer_id: int = -1


@dataclass(frozen=True, slots=True)
class SalvagedSegment:
    """A segment, byte for byte.

    Attributes:
        path: path of the segment.
        base_offset: base offset of it and of its output.
        size: number of bytes.
        stretches: all of its bytes, in order.
    """

    path: str
    base_offset: int
    size: int
    stretches: tuple[Stretch, ...]

    @property
    def bytes(self) -> Mapping[Fate, int]:
        """Number of bytes of each fate; together as many as the segment has."""
        found: Counter[Fate] = Counter()
        for stretch in self.stretches:
            found[stretch.fate] += stretch.size
        return {fate: found[fate] for fate in Fate}


@dataclass(frozen=True, slots=True, kw_only=True)
class LostOffsets(Finding):
    """Offsets that no segment of the output has a record for.

    Attributes:
        reason: the kind of loss.
        message: what happened to them.
        file: path of the segment with the bytes that they were in, None if there is none.
        offsets: the offsets.
        strength: how well that is proven. In a compacted log some may have been gone before.
    """

    reason: MissingWhy
    offsets: OffsetRange
    ALSO: ClassVar = ("why", "first_offset", "last_offset")

    @property
    def why(self) -> str:
        """``message``, by the name that it had before 0.3; as ``segment``, a member until 0.2."""
        return self.message

    @property
    def segment(self) -> str | None:
        """``file``, by the name that it had before 0.3."""
        return self.file

    @property
    def first_offset(self) -> int:
        """The start of ``offsets``; as ``last_offset``, a member until 0.2."""
        return self.offsets.start

    @property
    def last_offset(self) -> int:
        """The last of ``offsets``."""
        return (self.offsets.end or 0) - 1

    @classmethod
    def of(cls, item: Missing) -> LostOffsets:
        """Return the offsets that are missing without their bytes."""
        first, last = item.through
        return cls(reason=item.reason, message=item.proof, offsets=OffsetRange(first, last + 1))


@dataclass(frozen=True, slots=True)
class OpenInOutput:
    """A transaction that no marker in the output ends.

    Attributes:
        producer_id: its producer.
        producer_epoch: epoch of the producer.
        first_offset: first offset.
        why: why nothing was added.
    """

    producer_id: int
    producer_epoch: int
    first_offset: int
    why: str


@dataclass(frozen=True, slots=True)
class SalvagedPartition:
    """A partition, or a segment by itself.

    Attributes:
        source: its path.
        target: path of the output.
        topic: topic, None if the path does not say it.
        partition: number.
        segments: the segments in order.
        lost: offsets that are lost.
        added: entries that were added.
        open: transactions that stay open.
        old_end: offset after the last one that anything speaks of.
        new_end: offset after the last one of the output.
        cut: what a broker would cut of the output; "" for nothing.
        assumptions: what the answers depend on.
        notes: what else is there and was not read.
        unreadable: errors of segments that could not be opened.
        unknown: transactions that the next marker of their producer ends in the output, though a
            marker between may be lost: how they ended is not known.
        deleted: number of entries below the log start offset, all or in part, that are cut of the
            output; only of a partition whose output has no checkpoint that says so.
    """

    source: str
    target: str
    topic: str | None
    partition: int | None
    segments: tuple[SalvagedSegment, ...]
    lost: tuple[LostOffsets, ...]
    added: tuple[Added, ...]
    open: tuple[OpenInOutput, ...]
    old_end: int
    new_end: int
    cut: str = ""
    assumptions: tuple[Assumption, ...] = ()
    notes: tuple[Missing, ...] = ()
    unreadable: tuple[KafkaSpecError, ...] = ()
    unknown: tuple[OpenInOutput, ...] = ()
    deleted: int = 0

    @property
    def bytes(self) -> Mapping[Fate, int]:
        """Number of bytes of each fate."""
        return {fate: sum(item.bytes[fate] for item in self.segments) for fate in Fate}

    @property
    def size(self) -> int:
        """Number of bytes of all segments."""
        return sum(item.size for item in self.segments)

    @property
    def is_sound(self) -> bool:
        """Whether all of it was kept, and nothing was added."""
        kept = {Fate.KEPT, Fate.UNUSED}
        return (
            all(
                stretch.fate in kept and not stretch.moved
                for item in self.segments
                for stretch in item.stretches
            )
            and not (self.lost or self.added or self.unreadable or self.cut)
            and self.old_end <= self.new_end
        )


@dataclass(frozen=True, slots=True)
class SalvageReport:
    """Result of ``salvage``.

    Attributes:
        partitions: of each partition.
        failed: partitions that could not be read, each with the error.
        notes: what else is in a log directory and was not read.
        unproven: path of the file with unproven records, None if there is none.
        unproven_records: number of records in it.
        checkpoints: which checkpoints of the log directory are in the output.
    """

    partitions: tuple[SalvagedPartition, ...]
    failed: Mapping[str, KafkaSpecError] = field(default_factory=dict)
    notes: tuple[Missing, ...] = ()
    unproven: str | None = None
    unproven_records: int = 0
    checkpoints: Carried = field(default_factory=Carried)

    @property
    def is_sound(self) -> bool:
        """Whether there was nothing to salvage."""
        failed = self.failed or self.checkpoints.errors
        return not failed and all(item.is_sound for item in self.partitions)
