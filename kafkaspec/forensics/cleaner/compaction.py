"""The result of a pass of the cleaner on a log now, and the log that it would leave."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path

from kafkaspec.broker.profiles import DEFAULT_PROFILE, Profile, get_profile
from kafkaspec.errors import unreadable
from kafkaspec.forensics.cleaner.dirty import Dirty, dirty
from kafkaspec.forensics.cleaner.passes import Action, CleanerFailsError, CleanerRule, Note, Pass
from kafkaspec.forensics.cleaner.settings import CLEANUP_POLICY, Settings
from kafkaspec.forensics.cleaner.view import LogView, SegmentView
from kafkaspec.forensics.cleaner.writing import copy_files, write_cleaned
from kafkaspec.io.remote import is_mounted
from kafkaspec.results import Assumption, Strength


@dataclass(frozen=True, slots=True)
class Compaction:
    """The result of a pass of the cleaner on a log.

    Attributes:
        dirty: the dirty range of the log, and whether a broker would clean it now.
        end_offset: what goes into the checkpoint of the cleaner afterwards.
        keys: number of keys of the dirty range.
        full: whether the table of keys was full, so that the rest waits for the next pass.
        records: number of records in the segments that are cleaned.
        removed: number of those that go, by rule.
        batches: number of batches, by what happens to them.
        horizons: number of batches whose tombstones or marker may go at ``horizon``.
        horizon: the clock plus ``delete.retention.ms``, ms.
        groups: the segments that are cleaned, each group into one.
        fails: what the cleaner of a broker fails at; it marks the partition as one that it cannot
            clean. None if it does not.
        strength: how well this is proven.
        assumptions: what it depends on.
    """

    dirty: Dirty
    end_offset: int
    keys: int
    full: bool
    records: int
    removed: dict[CleanerRule, int]
    batches: dict[Action, int]
    horizons: int
    horizon: int
    groups: tuple[tuple[SegmentView, ...], ...]
    fails: str | None
    strength: Strength
    assumptions: tuple[Assumption, ...]

    @property
    def cleaned(self) -> int | None:
        """First dirty offset of the log that the pass leaves; None if the cleaner fails."""
        return None if self.fails is not None else self.end_offset

    @property
    def removed_records(self) -> int:
        """Number of records that go."""
        return sum(self.removed.values())


def compaction(
    log: LogView,
    settings: Settings,
    now: int,
    profile: str | Profile = DEFAULT_PROFILE,
    *,
    target: Path | None = None,
    note: Note | None = None,
) -> Compaction:
    """Return what a pass of the cleaner makes of a log at a time, whether or not it is due.

    Args:
        log: the log.
        settings: of its topic.
        now: the broker's clock, ms since the Unix epoch.
        profile: version of Kafka, from 2.4.1 on.
        target: an empty directory that gets the log as it is afterwards; None for none.
        note: gets the records that go.

    Raises:
        KafkaSpecError: a batch cannot be read, or a file cannot be written; ``unreadable``: the log
            is in remote storage, where brokers put no topics that are compacted.
        ValueError: the profile is unknown, or older than these rules.
    """
    rules = get_profile(profile) if isinstance(profile, str) else profile
    if not rules.has_cleaner_rules:
        raise ValueError("the cleaner of Kafka before 2.4.1 had other rules")
    if is_mounted(log.partition.path):
        detail = "no cleaner works on remote storage, and brokers put no compacted topics there"
        raise unreadable(str(log.partition.path), detail)
    found = dirty(log, settings, now, rules)
    work: Pass | None = None
    groups: list[list[SegmentView]] = []
    fails = None
    if found.cleanable_bytes:
        work = Pass(log, found, settings, now, rules)
        groups = work.groups
        try:
            if target is not None:
                write_cleaned(work, groups, target, note)
            else:
                for group in groups:
                    for _, decisions in work.decided(group, note):
                        deque(decisions, 0)
        except CleanerFailsError as error:
            fails = str(error)
    if target is not None and (work is None or fails is not None):
        for path in target.iterdir():
            path.unlink()
        copy_files(log, target)
    return Compaction(
        dirty=found,
        end_offset=found.first_dirty if work is None or fails is not None else work.end_offset,
        keys=0 if work is None else work.table.keys,
        full=work is not None and work.full,
        records=0 if work is None else work.records,
        removed={} if work is None else dict(work.counts),
        batches={} if work is None else dict(work.actions),
        horizons=0 if work is None else work.horizons,
        horizon=now + settings.number("delete.retention.ms"),
        groups=tuple(map(tuple, groups)),
        fails=fails,
        strength=Strength.STRONG if settings.is_set(CLEANUP_POLICY) else Strength.LIKELY,
        assumptions=log.assumed(settings, now),
    )
