"""Which segments retention deletes at a time, by which rule, and what holds the others.

Kafka: ``UnifiedLog.deleteOldSegments``, ``deletableSegments``, ``LogSegment.largestTimestamp``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kafkaspec.broker.profiles import DEFAULT_PROFILE, Profile, get_profile
from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.cleaner.settings import CLEANUP_POLICY, DELETE, Settings
from kafkaspec.forensics.cleaner.view import LogView, SegmentView
from kafkaspec.log.lookup import find_max_timestamp
from kafkaspec.results import Assumption, Strength


class RetentionRule(StrEnum):
    """A rule by which a segment goes."""

    START = "start"
    """Its records lie below the log start offset."""
    SIZE = "size"
    """Without it the log still has ``retention.bytes``."""
    TIME = "time"
    """Its largest timestamp is older than ``retention.ms``."""


class Hold(StrEnum):
    """Why a segment stays."""

    POLICY = "policy"
    """``cleanup.policy`` does not list ``delete``."""
    HIGH_WATERMARK = "high watermark"
    """Not all of its records are on all replicas."""
    EMPTY = "empty"
    """It is the active segment, and empty."""
    FUTURE = "future timestamp"
    """A record in it has a timestamp after the time."""
    LIMITS = "within limits"
    """It is neither too old, nor is the log too large without it."""
    EARLIER = "earlier segment"
    """An earlier segment stays: retention deletes from the oldest, and stops at the first."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The record with the largest timestamp of a segment that stays.

    Attributes:
        timestamp: ms since the Unix epoch.
        offset: of the record; None if no record has what the time index says.
        position: byte offset of its batch.
    """

    timestamp: int
    offset: int | None
    position: int | None


@dataclass(frozen=True, slots=True)
class SegmentFate:
    """The fate of a segment.

    Attributes:
        segment: the segment.
        rule: the rule by which it goes; None if it stays.
        hold: why it stays; None if it goes.
        due: whether it would go by itself if no earlier segment stayed.
        holder: for a future timestamp, the record that has it.
        goes_at: when it will go by its age if nothing changes, ms; None if it goes, or never.
    """

    segment: SegmentView
    rule: RetentionRule | None
    hold: Hold | None = None
    due: bool = False
    holder: Holder | None = None
    goes_at: int | None = None


@dataclass(frozen=True, slots=True)
class Retention:
    """The result of retention for a partition.

    Attributes:
        fates: of each segment, in order.
        log_start: log start offset afterwards.
        log_end: offset after the last record.
        rolls: whether all segments go, and a new empty one begins at the end of the log.
        strength: how well this is proven.
        assumptions: what it depends on.
    """

    fates: tuple[SegmentFate, ...]
    log_start: int
    log_end: int
    rolls: bool
    strength: Strength
    assumptions: tuple[Assumption, ...]

    @property
    def deleted(self) -> list[SegmentFate]:
        """The segments that go."""
        return [fate for fate in self.fates if fate.rule is not None]

    @property
    def held(self) -> list[SegmentFate]:
        """The segments that would go by themselves, but for an earlier one, or a future time."""
        return [fate for fate in self.fates if fate.hold is Hold.FUTURE or fate.due]


def retention(
    log: LogView, settings: Settings, now: int, profile: str | Profile = DEFAULT_PROFILE
) -> Retention:
    """Return what a broker deletes of a log at a time.

    Rules go in Kafka's order: log start offset, size, time; before 3.0 the other way round. Each
    goes from the oldest segment on, and stops at the first one that stays. The active segment goes
    like the others.

    Args:
        log: the log.
        settings: of its topic.
        now: the broker's clock, ms since the Unix epoch.
        profile: version of Kafka.

    Raises:
        KafkaSpecError: a segment cannot be read.
        ValueError: the profile is unknown.
    """
    rules_of = get_profile(profile) if isinstance(profile, str) else profile
    deletes = DELETE in settings.policy(DELETE)
    bytes_kept = settings.number("retention.bytes") if deletes else -1
    most_ms = settings.number("retention.ms") if deletes else -1
    left, start = list(log.segments), log.log_start
    rules: dict[int, RetentionRule] = {}
    order = (RetentionRule.START, RetentionRule.SIZE, RetentionRule.TIME)
    for rule in order if rules_of.start_first else reversed(order):
        count, over = 0, sum(segment.size for segment in left) - bytes_kept
        while count < len(left) and log.high_watermark >= left[count].following:
            segment = left[count]
            following = left[count + 1] if count + 1 < len(left) else None
            goes = {
                RetentionRule.START: following is not None and following.base_offset <= start,
                RetentionRule.SIZE: bytes_kept >= 0 and over >= segment.size,
                RetentionRule.TIME: _is_old(segment, now, most_ms),
            }[rule]
            if not goes or (following is None and not segment.size):
                break
            rules[segment.base_offset] = rule
            over -= segment.size
            count += 1
        left = left[count:]
        if count:
            start = max(start, left[0].base_offset if left else log.log_end)

    fates = []
    for segment in log.segments:
        why = rules.get(segment.base_offset)
        if why is not None:
            fates.append(SegmentFate(segment, why))
            continue
        first = bool(left) and segment is left[0]
        fates.append(_kept(log, segment, now, most_ms, first=first, deletes=deletes))
    sure = settings.is_set(CLEANUP_POLICY) and (
        not deletes or settings.is_set("retention.ms") or settings.is_set("retention.bytes")
    )
    return Retention(
        fates=tuple(fates),
        log_start=start,
        log_end=log.log_end,
        rolls=bool(log.segments) and not left,
        strength=Strength.STRONG if sure else Strength.LIKELY,
        assumptions=log.assumed(settings, now),
    )


def _is_old(segment: SegmentView, now: int, most_ms: int) -> bool:
    return most_ms >= 0 and now - segment.largest.value > most_ms


def _kept(
    log: LogView, segment: SegmentView, now: int, most_ms: int, *, first: bool, deletes: bool
) -> SegmentFate:
    if not deletes:
        return SegmentFate(segment, None, Hold.POLICY)
    active = segment is log.segments[-1]
    future = segment.largest.value > now and most_ms >= 0
    holder = _holder(log, segment) if future and segment.largest.source != "file time" else None
    due = _is_old(segment, now, most_ms) and log.high_watermark >= segment.following
    if active and not segment.size:
        return SegmentFate(segment, None, Hold.EMPTY)
    goes_at = segment.largest.value + most_ms + 1 if most_ms >= 0 else None
    if log.high_watermark < segment.following:
        hold, goes_at = Hold.HIGH_WATERMARK, None
    elif future:
        hold = Hold.FUTURE
    else:
        hold = Hold.EARLIER if due or not first else Hold.LIMITS
    return SegmentFate(segment, None, hold, due and not first, holder, None if due else goes_at)


def _holder(log: LogView, segment: SegmentView) -> Holder:
    """Return the record with the largest timestamp of a segment."""
    try:
        with log.partition.open_segment(segment.path) as opened:
            found = find_max_timestamp(opened)
    except KafkaSpecError:  # its batch cannot be read: the time index says it alone
        return Holder(segment.largest.value, None, None)
    if found.record is None or found.batch is None:
        return Holder(segment.largest.value, None, None)
    return Holder(found.record.timestamp, found.record.offset, found.batch.position)
