"""Logs that were written again from the tables of a lake, and where they differ."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LakeSegment:
    """A segment that was written again.

    Attributes:
        file: its name.
        start: position in the segment that was read of the first byte that is here; it is above 0
            if the lake has no part of what is before it.
        size: bytes that were written.
        entries: batches, and messages and wrappers of magic 0 and 1.
        records: rows of ``raw``.
        payloads: entries whose bytes the lake had.
        changed: entries that came out with other bytes: compressed again, or, of a lake without
            payloads, such as Kafka does not write.
        fields: columns of ``batches`` in which those differ: ``length`` and ``crc``.
        damaged: ranges of damaged bytes, torn and preallocated ends among them, that are put back.
        gaps: places where the lake lacks the bytes in between, as where a broker cleaned
            the segment between two increments. Ranges of damage are left out then.
    """

    file: str
    start: int
    size: int
    entries: int
    records: int
    payloads: int
    changed: int
    fields: tuple[str, ...]
    damaged: int
    gaps: int

    @property
    def is_identical(self) -> bool:
        """Whether its bytes are those that were read."""
        return not (self.start or self.changed or self.gaps)


@dataclass(frozen=True, slots=True)
class LakeLog:
    """A partition that was written again.

    Attributes:
        topic: the topic.
        partition: number of the partition.
        generation: the newest one; below its first offset, older ones of the same log.
        topic_id: in ``partition.metadata``; None if it is not known, and the file is not there.
        segments: in order.
        notes: which offsets are of an older generation, as where a log was cut back, and what a
            broker that loads the directory would do about damage.
    """

    topic: str
    partition: int
    generation: int
    topic_id: str | None
    segments: tuple[LakeSegment, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LakeRestore:
    """The logs of a lake that were written again.

    Attributes:
        lake: directory or URL of the lake.
        output: the log directory that was written.
        logs: its partitions.
    """

    lake: str
    output: str
    logs: tuple[LakeLog, ...]

    @property
    def segments(self) -> tuple[LakeSegment, ...]:
        """All segments."""
        return tuple(segment for log in self.logs for segment in log.segments)

    @property
    def identical(self) -> int:
        """How many segments have the same bytes as those that were read."""
        return sum(segment.is_identical for segment in self.segments)
