"""Which segments retention deletes at a time, by which rule, and what holds the others.

Kafka: ``UnifiedLog.deleteOldSegments``, ``deletableSegments``, ``LogSegment.largestTimestamp``;
with remote storage, ``RemoteLogManager.RLMCopyTask.candidateLogSegments``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from kafkaspec.broker.profiles import DEFAULT_PROFILE, Profile, get_profile
from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.cleaner.settings import (
    AS_ALL,
    CLEANUP_POLICY,
    COPY_DISABLE,
    DELETE,
    REMOTE_STORAGE,
    Settings,
)
from kafkaspec.forensics.cleaner.view import LogView, SegmentView
from kafkaspec.log.lookup import find_max_timestamp
from kafkaspec.results import Assumption, Strength

_UNITS: Final = ("ms", "bytes")
_IN_REMOTE: Final = (Assumption("remote storage", "current", "what is due there was copied"),)


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
    REMOTE = "not in remote storage"
    """It is not copied yet: it is active, or waits for ``remote.copy.lag.*`` (KIP-1241)."""
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
        copied: whether it is due in remote storage; None if the topic has none.
    """

    segment: SegmentView
    rule: RetentionRule | None
    hold: Hold | None = None
    due: bool = False
    holder: Holder | None = None
    goes_at: int | None = None
    copied: bool | None = None


@dataclass(frozen=True, slots=True)
class _Remote:
    """The copies in remote storage, if there are any.

    Attributes:
        end: first offset that is not copied; None if nothing is, and deletion does not wait for it.
        lag_ms: age at which a segment is copied, whatever follows it; not above 0 for none.
    """

    end: int | None = None
    lag_ms: int = 0

    @classmethod
    def of(
        cls, log: LogView, settings: Settings, now: int, local_ms: int, local_bytes: int
    ) -> _Remote:
        """Return what a broker has copied at a time: from the oldest on, until one is not due."""
        lag_ms, lag_bytes = (
            local if (lag := settings.number(f"remote.copy.lag.{unit}")) < 0 else lag
            for unit, local in (("ms", local_ms), ("bytes", local_bytes))
        )
        end, newer = log.segments[0].base_offset if log.segments else 0, log.size
        for segment in log.segments[:-1]:
            if segment.following <= log.log_start:
                newer -= segment.size
                continue
            age, newer = now - segment.largest.value, newer - segment.size
            due = not (lag_ms and lag_bytes)
            due = due or (lag_ms > 0 and not 0 <= age < lag_ms) or 0 < lag_bytes <= newer
            if not due or segment.following > log.last_stable_offset:
                break
            end = segment.following
        return cls(end, lag_ms)

    def has(self, segment: SegmentView) -> bool:
        """Return whether a segment may go, as far as remote storage is concerned."""
        return self.end is None or segment.following <= self.end


@dataclass(frozen=True, slots=True)
class Retention:
    """The result of retention for a partition.

    Attributes:
        fates: of each segment, in order.
        log_start: log start offset afterwards; of what is on the local disk, if there is remote
            storage.
        log_end: offset after the last record.
        rolls: whether all segments go, or the active one is to be copied before it goes, and a new
            empty one begins at the end of the log.
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
    like the others. Of a topic with remote storage, ``local.retention.*`` counts, and a segment
    goes when it was copied; what is due for that is taken to be copied.

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
    remote = _Remote()
    if settings.flag(REMOTE_STORAGE) and not settings.flag(COPY_DISABLE):
        local_ms, local_bytes = (settings.number(f"local.retention.{unit}") for unit in _UNITS)
        most_ms = most_ms if local_ms == AS_ALL or not deletes else local_ms
        bytes_kept = bytes_kept if local_bytes == AS_ALL or not deletes else local_bytes
        remote = _Remote.of(log, settings, now, most_ms, bytes_kept)
    left, start = list(log.segments), log.log_start
    rules: dict[int, RetentionRule] = {}
    waits: set[int] = set()
    bases: dict[int, int | None] = {segment.base_offset: segment.following for segment in left}
    bases |= {segment.base_offset: None for segment in left[-1:]}
    order = (RetentionRule.START, RetentionRule.SIZE, RetentionRule.TIME)
    for rule in order if rules_of.start_first else reversed(order):
        count, over = 0, sum(segment.size for segment in left) - bytes_kept
        while count < len(left) and log.high_watermark >= left[count].following:
            segment = left[count]
            following = bases[left[count].base_offset]
            goes = {
                RetentionRule.START: following is not None and following <= start,
                RetentionRule.SIZE: bytes_kept >= 0 and over >= segment.size,
                RetentionRule.TIME: _is_old(segment, now, most_ms),
            }[rule]
            if not goes or (following is None and not segment.size):
                break
            below = following is not None and following <= log.log_start
            if not remote.has(segment) and not below:
                waits.add(segment.base_offset)
                if following is None:  # a broker rolls it, to copy it
                    bases[segment.base_offset] = log.log_end
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
        if why is None:
            first = bool(left) and segment is left[0]
            fate = _kept(log, segment, now, most_ms, first=first, deletes=deletes)
            if segment.base_offset in waits:
                at = segment.largest.value + remote.lag_ms if remote.lag_ms > 0 else None
                fate = SegmentFate(segment, None, Hold.REMOTE, goes_at=at)
        else:
            fate = SegmentFate(segment, why)
        fates.append(fate if remote.end is None else replace(fate, copied=remote.has(segment)))
    sure = settings.is_set(CLEANUP_POLICY) and (
        not deletes or settings.is_set("retention.ms") or settings.is_set("retention.bytes")
    )
    return Retention(
        fates=tuple(fates),
        log_start=start,
        log_end=log.log_end,
        rolls=bool(log.segments) and (not left or None not in bases.values()),
        strength=Strength.STRONG if sure else Strength.LIKELY,
        assumptions=(*log.assumed(settings, now), *(_IN_REMOTE if remote.end is not None else ())),
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
