"""What brokers of each version write beside a log, as a table.

A profile says which files there are and by which rules their entries are made. Every row names the
first version that it is true of; what a row does not say, it has from the row before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Final

from kafkaspec.layout import EntryKind
from kafkaspec.layout.kinds import KINDS, MAGICS


class IndexKey(StrEnum):
    """Which offset of what is appended an entry of the offset index has."""

    FIRST = "first"
    LAST = "last"


class Unit(StrEnum):
    """What gets an entry of the indexes."""

    APPEND = "append"
    """One append, however many batches it has: one entry at most, at the first of them."""
    BATCH = "batch"
    """Each batch by itself (KAFKA-806)."""


class TimeEntry(StrEnum):
    """Which offset an entry of the time index has, of data that is not compressed."""

    NONE = "none"
    """There is no time index."""
    RECORD = "record"
    """That of the record with the largest timestamp."""
    BATCH = "batch"
    """The last one of the batch that holds it."""


class MarkerTrace(StrEnum):
    """What a transaction marker leaves in the state of its producer, besides epochs."""

    BATCH = "batch"
    """Its offset and its time, as if it were a batch of one record."""
    NOTHING = "nothing"
    TIME = "time"
    """Its time (KAFKA-9144)."""


class EpochFile(StrEnum):
    """When there is a ``leader-epoch-checkpoint``."""

    NEVER = "never"
    ALWAYS = "always"
    """Empty as long as no batch of magic 2 was appended."""
    ALWAYS_ASSIGNED = "always_assigned"
    """The epoch of the leader is assigned when it becomes one, whatever the message format."""
    ASSIGNED = "assigned"
    """The same, but not where messages have a magic below 2: then there is no file."""


class CleanShutdownFile(StrEnum):
    """Content of ``.kafka_cleanshutdown`` in the log directory."""

    EMPTY = "empty"
    JSON = "json"
    """With the epoch of the broker."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Rules of the brokers from a version on.

    Attributes:
        since: the first version that they are true of.
        magic: the newest message format that these brokers know. A format that came with none of
            the versions below is known to the newest of them.
        size_of_append: whether a segment is rolled before an append that would make it larger than
            ``segment.bytes``, and not only after it has become larger.
        timestamp_roll: whether the time of records, not of the clock, decides when to roll.
        roll_to_first: whether a new segment is named after the first offset of the append that it
            is made for, and not after the end of the log.
        index_key: see ``IndexKey``.
        index_unit: see ``Unit``.
        time_entry: see ``TimeEntry``.
        producer_state: whether there are transaction indexes and producer snapshots.
        snapshot_per_segment: whether all snapshots of segments are kept, and not those of the last
            two only.
        delta_of_sequence: whether the distance from the last to the first offset of a producer's
            batch is computed from its sequence numbers, which are -1 where there are none.
        marker_trace: see ``MarkerTrace``.
        empty_aborts: whether an aborted transaction without data here is in the transaction index.
        epoch_file: see ``EpochFile``.
        partition_metadata: whether there is ``partition.metadata``, with the id of the topic.
        clean_shutdown: see ``CleanShutdownFile``.
        first_offset_lookups: whether a look-up by offset compares first offsets of entries, for
            which a compressed message of magic 0 or 1 is decompressed, and the last offset of one
            only. A log with such a message that cannot be read is not loaded then.
    """

    since: str
    magic: int
    size_of_append: bool = False
    timestamp_roll: bool = False
    roll_to_first: bool = False
    index_key: IndexKey = IndexKey.FIRST
    index_unit: Unit = Unit.APPEND
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

    @property
    def has_time_index(self) -> bool:
        """Whether segments have a time index."""
        return self.time_entry is not TimeEntry.NONE


def _first(has: Callable[[EntryKind], bool]) -> int:
    """The oldest format that has something."""
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
    since("2.4.1", marker_trace=MarkerTrace.TIME)
    since("2.8.0", partition_metadata=True, snapshot_per_segment=True)
    since("3.0.0", empty_aborts=False)
    since("3.7.0", time_entry=TimeEntry.BATCH, clean_shutdown=CleanShutdownFile.JSON)
    since("3.9.1", index_unit=Unit.BATCH)
    since("4.1.0", first_offset_lookups=True, magic=MAGICS[-1])
    return tuple(rows)


PROFILES: Final = _table()
"""All rows, the oldest first."""

NEWEST: Final = "4.4"
"""The newest line of versions whose files the last row was compared with."""

_LATEST_PATCH: Final = 1 << 30


def get_profile(version: str) -> Profile:
    """The rules of that version.

    Args:
        version: ``3.9.1``, or ``3.9`` for the newest patch of that line.

    Raises:
        ValueError: it is no version, or one that the table does not reach.
    """
    parts = _parts(version)
    wanted = (*parts, _LATEST_PATCH)
    if not _parts(PROFILES[0].since) <= wanted or parts[:2] > _parts(NEWEST):
        raise ValueError(
            f"no profile for Kafka {version}; there are those from {PROFILES[0].since} to {NEWEST}"
        )
    for row, following in pairwise(PROFILES):
        if _parts(following.since) > wanted:
            return row
    return PROFILES[-1]


def _parts(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    if not 2 <= len(parts) <= 4 or not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"{version!r} is no version of Kafka; one is 3.9 or 3.9.1")
    return tuple(int(part) for part in parts)
