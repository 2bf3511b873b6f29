"""The range of a log that would be cleaned, and whether it is dirty enough.

Kafka: ``LogCleanerManager.grabFilthiestCompactedLog``, ``cleanableOffsets``,
``calculateCleanableBytes``, ``maxCompactionDelay``, ``LogToClean``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar

from kafkaspec.broker.profiles import Profile
from kafkaspec.forensics.cleaner.settings import COMPACT, Settings
from kafkaspec.forensics.cleaner.view import LogView, SegmentView


class DirtyBound(StrEnum):
    """A limit of the cleaner."""

    ACTIVE = "active segment"
    STABLE = "last stable offset"
    HIGH_WATERMARK = "high watermark"
    LAG = "min.compaction.lag.ms"


class NotYet(StrEnum):
    """Why a log is not cleaned."""

    POLICY = "cleanup.policy does not list compact"
    EMPTY = "there are no bytes in front of what cannot be cleaned"
    NOTHING = "no whole segment is dirty and may be cleaned"
    RATIO = "the dirty ratio is not above min.cleanable.dirty.ratio"


@dataclass(frozen=True, slots=True)
class Dirty:
    """The range of a log that would be cleaned.

    Attributes:
        checkpoint: offset in ``cleaner-offset-checkpoint``; None without one.
        first_dirty: first offset that was not cleaned yet.
        first_uncleanable: first offset that is left, the base offset of a segment.
        bound: what it is left for.
        holder: the segment with a timestamp within ``min.compaction.lag.ms``, or None.
        clean_bytes: bytes of the segments before ``first_dirty``.
        cleanable_bytes: bytes from there up to ``first_uncleanable``.
        least_ratio: ``min.cleanable.dirty.ratio``.
        overdue: whether ``max.compaction.lag.ms`` is over, so that the ratio does not count.
        not_yet: why it is not cleaned; None if it is.
    """

    checkpoint: int | None
    first_dirty: int
    first_uncleanable: int
    bound: DirtyBound
    holder: SegmentView | None
    clean_bytes: int
    cleanable_bytes: int
    least_ratio: float
    overdue: bool
    not_yet: NotYet | None
    ALSO: ClassVar = ("ratio",)

    @property
    def ratio(self) -> float:
        """The dirty ratio; 0 of an empty log."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0


def between(segments: Sequence[SegmentView], start: int, end: int) -> list[SegmentView]:
    """Return the segments from that with an offset on, up to those that begin at another.

    Kafka: ``LogSegments.values``. Below the first segment it begins with that.
    """
    if start >= end:
        return []
    first = max((s.base_offset for s in segments if s.base_offset <= start), default=start)
    return [s for s in segments if first <= s.base_offset < end]


def dirty(log: LogView, settings: Settings, now: int, profile: Profile) -> Dirty:
    """Return the range of a log that would be cleaned at a time, and why not yet."""
    policy = settings.policy(COMPACT)
    checkpoint = log.partition.cleaner_offset
    first = log.log_start if checkpoint is None else checkpoint
    if not log.log_start <= first <= log.log_end:
        first = log.log_start
    active = log.segments[-1]
    closed = log.segments[:-1]

    bound, offset = DirtyBound.ACTIVE, active.base_offset
    stable = log.last_stable_offset if profile.batch_horizons else log.partition.last_stable_offset
    if stable < offset:
        bound = DirtyBound.STABLE if stable < log.high_watermark else DirtyBound.HIGH_WATERMARK
        offset = stable
    lag, holder = settings.number("min.compaction.lag.ms"), None
    if lag > 0:
        for segment in _from(closed, first, active):
            if segment.largest.value > now - lag:
                if segment.base_offset < offset:
                    bound, offset, holder = DirtyBound.LAG, segment.base_offset, segment
                break
    offset = max(first, offset)
    left = _from(closed, offset, active)
    uncleanable = (left[0] if left else active).base_offset
    clean_bytes = sum(s.size for s in log.segments if s.base_offset < first)
    cleanable = sum(s.size for s in between(log.segments, min(first, uncleanable), uncleanable))

    clean_until = now - settings.number("max.compaction.lag.ms")
    times = [s.first_timestamp for s in _from(closed, first, active) if s.first_timestamp > 0]
    overdue = min(times, default=clean_until) < clean_until
    found = Dirty(
        checkpoint=checkpoint,
        first_dirty=first,
        first_uncleanable=uncleanable,
        bound=bound,
        holder=holder,
        clean_bytes=clean_bytes,
        cleanable_bytes=cleanable,
        least_ratio=settings.ratio("min.cleanable.dirty.ratio"),
        overdue=overdue,
        not_yet=None,
    )
    why: NotYet | None = None
    if COMPACT not in policy:
        why = NotYet.POLICY
    elif not found.clean_bytes + found.cleanable_bytes:
        why = NotYet.EMPTY
    elif not found.cleanable_bytes:
        why = NotYet.NOTHING
    elif not (found.overdue or found.ratio > found.least_ratio):
        why = NotYet.RATIO
    return replace(found, not_yet=why)


def _from(closed: Sequence[SegmentView], offset: int, active: SegmentView) -> list[SegmentView]:
    """``LogSegments.nonActiveLogSegmentsFrom``."""
    return between(closed, offset, active.base_offset) if offset <= active.base_offset else []
