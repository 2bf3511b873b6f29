"""Profiles: a table of the files that brokers of each version write beside a log.

A profile determines which files there are and the rules for their entries. Each row names the first
version that it applies to, and inherits everything else from the row before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Final

from kafkaspec.layout import EntryKind
from kafkaspec.layout.kinds import KINDS, MAGICS
from kafkaspec.release import parse_release

PRODUCER_EXPIRATION_MS: Final = 86_400_000
"""Kafka's default of ``producer.id.expiration.ms``."""


class IndexKey(StrEnum):
    """Offset of an append that goes into the offset index."""

    FIRST = "first"
    LAST = "last"


class IndexUnit(StrEnum):
    """Unit that gets at most one entry in each index."""

    APPEND = "append"
    """One append with all its batches: the entry is at the first of them."""
    BATCH = "batch"
    """Each batch by itself (KAFKA-806)."""


class TimeEntry(StrEnum):
    """Offset that goes into the time index, for data that is not compressed."""

    NONE = "none"
    """There is no time index."""
    RECORD = "record"
    """Offset of the record with the largest timestamp."""
    BATCH = "batch"
    """Last offset of the batch that contains this record."""


class MarkerTrace(StrEnum):
    """Effect of a transaction marker on the state of its producer, besides epochs."""

    BATCH = "batch"
    """Its offset and its time, as if it were a batch of one record."""
    NOTHING = "nothing"
    TIME = "time"
    """Its time (KAFKA-9144)."""


class EpochFile(StrEnum):
    """Condition for a ``leader-epoch-checkpoint``."""

    NEVER = "never"
    ALWAYS = "always"
    """There is always one; it is empty until a batch of magic 2 is appended."""
    ALWAYS_ASSIGNED = "always_assigned"
    """As ``ALWAYS``, but a new leader adds its epoch at once, whatever the message format."""
    ASSIGNED = "assigned"
    """As ``ALWAYS_ASSIGNED``, but there is no file if messages have a magic below 2."""


class CleanShutdownFile(StrEnum):
    """Content of ``.kafka_cleanshutdown`` in the log directory."""

    EMPTY = "empty"
    JSON = "json"
    """With the epoch of the broker."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Rules of the brokers from a version on.

    Attributes:
        since: first version that the rules apply to.
        magic: newest message format that these brokers know. The last row has the newest format
            of the specification, even if no version in the table introduced it.
        size_of_append: whether a segment is rolled before an append that would make it larger than
            ``segment.bytes``, and not only after it has become larger.
        timestamp_roll: whether the time of records, not of the clock, decides when to roll.
        roll_to_first: whether a new segment is named after the first offset of the append that
            causes the roll, and not after the end of the log.
        index_key: see ``IndexKey``.
        index_unit: see ``IndexUnit``.
        time_entry: see ``TimeEntry``.
        producer_state: whether there are transaction indexes and producer snapshots.
        snapshot_per_segment: whether the snapshots of all segments are kept, and not only those of
            the last two.
        delta_of_sequence: whether the distance from the last to the first offset of a producer's
            batch is computed from its sequence numbers, which are -1 if there are none.
        marker_trace: see ``MarkerTrace``.
        empty_aborts: whether the transaction index lists aborted transactions without data in the
            partition.
        epoch_file: see ``EpochFile``.
        partition_metadata: whether there is ``partition.metadata``, with the id of the topic.
        clean_shutdown: see ``CleanShutdownFile``.
        first_offset_lookups: whether a lookup by offset compares the first offsets of entries, and
            so decompresses compressed messages of magic 0 and 1. A broker then does not load a log
            with such a message that it cannot read.
        start_first: whether retention goes by the log start offset first, then by size, then by
            time; before, the other way round.
        has_cleaner_rules: whether what is said of the cleaner here holds.
        batch_horizons: whether the cleaner writes into batches of magic 2 when tombstones and
            markers may go (KIP-534); before, the times of files say it.
        cleaner_keeps_end: whether the cleaner keeps the last batch of what it cleans, emptied if
            need be.
        cleaner_groups_empty: whether an empty segment joins the one before it, however far their
            offsets are apart.
        cleaner_converts: whether the cleaner writes what it keeps of magic 0 and 1 as magic 2.
        whole_versions: whether the version in an entry of a transaction index is checked as a
            whole; before, only its first byte is read.
    """

    since: str
    magic: int
    size_of_append: bool = False
    timestamp_roll: bool = False
    roll_to_first: bool = False
    index_key: IndexKey = IndexKey.FIRST
    index_unit: IndexUnit = IndexUnit.APPEND
    time_entry: TimeEntry = TimeEntry.NONE
    producer_state: bool = False
    snapshot_per_segment: bool = False
    delta_of_sequence: bool = True
    marker_trace: MarkerTrace = MarkerTrace.NOTHING
    empty_aborts: bool = True
    epoch_file: EpochFile = EpochFile.NEVER
    partition_metadata: bool = False
    clean_shutdown: CleanShutdownFile = CleanShutdownFile.EMPTY
    first_offset_lookups: bool = False
    start_first: bool = False
    has_cleaner_rules: bool = False
    batch_horizons: bool = False
    cleaner_keeps_end: bool = False
    cleaner_groups_empty: bool = False
    cleaner_converts: bool = False
    whole_versions: bool = False

    @property
    def has_time_index(self) -> bool:
        """Whether segments have a time index."""
        return self.time_entry is not TimeEntry.NONE


def _first(has: Callable[[EntryKind], bool]) -> int:
    """Return the oldest message format with a property."""
    return next(magic for magic in MAGICS if has(KINDS[magic]))


def _table() -> tuple[Profile, ...]:
    rows = [Profile("0.8.0", magic=MAGICS[0])]

    def since(version: str, **changes: object) -> None:
        rows.append(replace(rows[-1], since=version, **changes))  # type: ignore[arg-type]

    since("0.8.2", size_of_append=True)
    since("0.10.0", magic=_first(lambda kind: kind.has_timestamps))
    since("0.10.1", time_entry=TimeEntry.RECORD, timestamp_roll=True)  # KIP-33
    since(
        "0.11.0",  # KIP-98, KIP-101
        magic=_first(lambda kind: kind.has_record_sets),
        producer_state=True,
        marker_trace=MarkerTrace.BATCH,
        epoch_file=EpochFile.ALWAYS,
    )
    since("1.0.0", marker_trace=MarkerTrace.NOTHING)
    since(
        "2.0.0", index_key=IndexKey.LAST, epoch_file=EpochFile.ALWAYS_ASSIGNED, roll_to_first=True
    )
    since("2.1.0", epoch_file=EpochFile.ASSIGNED, delta_of_sequence=False)
    since("2.4.1", marker_trace=MarkerTrace.TIME, has_cleaner_rules=True)
    since("2.8.0", partition_metadata=True, snapshot_per_segment=True)
    since("3.0.0", empty_aborts=False, start_first=True, cleaner_groups_empty=True)
    since("3.1.0", batch_horizons=True)
    since("3.7.0", time_entry=TimeEntry.BATCH, clean_shutdown=CleanShutdownFile.JSON)
    since("3.9.1", index_unit=IndexUnit.BATCH)
    since("3.9.2", cleaner_keeps_end=True)
    since("4.0.0", cleaner_converts=True)
    since("4.1.0", first_offset_lookups=True, magic=MAGICS[-1])
    since("4.4.0", whole_versions=True)
    return tuple(rows)


PROFILES: Final = _table()
"""All rows, oldest first."""

NEWEST: Final = "4.4"
"""Newest line of versions whose files were compared with the last row."""

DEFAULT_PROFILE: Final = "4.3"
"""Version of Kafka whose rules apply unless another one is asked for."""

_LATEST_PATCH: Final = 1 << 30


def get_profile(version: str) -> Profile:
    """Return the rules of a version.

    Args:
        version: such as ``3.9.1``, or ``3.9`` for the newest patch of that line.

    Raises:
        ValueError: the text is not a release, or the table does not cover it.
    """
    parts = parse_release(version)
    wanted = (*parts, _LATEST_PATCH)
    if not parse_release(PROFILES[0].since) <= wanted or parts[:2] > parse_release(NEWEST):
        raise ValueError(
            f"no profile for Kafka {version}; profiles cover {PROFILES[0].since} to {NEWEST}"
        )
    for row, following in pairwise(PROFILES):
        if parse_release(following.since) > wanted:
            return row
    return PROFILES[-1]
