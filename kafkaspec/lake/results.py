"""The results of a run over a lake, which ``--help`` describes where no library of lakes is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafkaspec.results import OffsetRange


@dataclass(frozen=True, slots=True)
class LakeLoss:
    """Something that a lake will never get, or a log that is not the one that was read.

    Attributes:
        topic: its topic.
        partition: its partition.
        message: what is lost, with the offsets, or what happened to the log.
        offsets: those that are lost; None if none is known to be.
        is_damage: whether they were in a damaged end of a segment, whose bytes are in ``dead``.
    """

    topic: str
    partition: int
    message: str
    offsets: OffsetRange | None = None
    is_damage: bool = False

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}: {self.message}"


@dataclass(frozen=True, slots=True)
class LakeIncrement:
    """An increment that was committed.

    Attributes:
        epoch: its number.
        segments: number of segments, or parts of them.
        bytes: of Kafka's data.
        rows: records in ``raw``.
        batches: entries in ``batches``.
        dead: damaged ranges, and records without a value, in ``dead``.
        lost: number of offsets that were gone before they were read.
        seconds: from planning to the last commit.
    """

    epoch: int
    segments: int
    bytes: int
    rows: int
    batches: int
    dead: int
    lost: int
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class LakeReport:
    """The result of a run.

    Attributes:
        increments: those that were committed.
        losses: what is lost, and logs that are not the ones that were read.
        finished: number of an increment of an earlier run that this one finished; None for none.
        active: bytes in segments to which a broker may still write, which were left out.
        untyped: topics that got no typed table though it was asked for, and why.
    """

    increments: tuple[LakeIncrement, ...] = ()
    losses: tuple[LakeLoss, ...] = ()
    finished: int | None = None
    active: int = 0
    untyped: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LakeStatus:
    """The contents of a lake, and what is new.

    Attributes:
        format: ``delta`` or ``iceberg``.
        epoch: number of the last increment; 0 without one.
        pending: whether some table has not got it yet: the next run finishes it.
        partitions: number of partitions.
        rows: records in ``raw``.
        batches: entries in ``batches``.
        dead: damaged ranges, and records without a value.
        lost: number of offsets that were gone before they were read.
        new_segments: number of segments that can be read now.
        new_bytes: their bytes.
        active_bytes: bytes in segments to which a broker may still write.
        seconds: how long the new ones take here, about.
    """

    format: str
    epoch: int
    pending: bool
    partitions: int
    rows: int
    batches: int
    dead: int
    lost: int
    new_segments: int = 0
    new_bytes: int = 0
    active_bytes: int = 0
    seconds: float = 0.0
