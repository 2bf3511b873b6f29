"""A partition as the cleaner and the retention of a broker see it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from kafkaspec.broker.producer_state import ProducerState
from kafkaspec.broker.profiles import Profile
from kafkaspec.codecs import get_codec
from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.files import names
from kafkaspec.files.snapshots import find_snapshots, read_snapshot
from kafkaspec.forensics.cleaner.settings import ClusterSettings, Settings
from kafkaspec.log.batch import NO_TIMESTAMP
from kafkaspec.log.damage import ALWAYS_RAISED
from kafkaspec.log.headers import read_headers
from kafkaspec.log.lookup import LargestTimestamp
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.results import Assumption

HIGH_WATERMARK: Final = "high watermark"
CLOCK: Final = "clock"


@dataclass(frozen=True, slots=True)
class SegmentView:
    """A segment of a log.

    Attributes:
        path: of its file.
        base_offset: the offset in its name.
        following: base offset of the next segment; the end of the log for the last one.
        size: bytes of its log.
        modified: when its file was changed last, ms.
        largest: its largest timestamp as a broker has it, and where that is from.
        first_timestamp: that of its first batch, ms; -1 for none.
    """

    path: Path
    base_offset: int
    following: int
    size: int
    modified: int
    largest: LargestTimestamp
    first_timestamp: int


class LogView:
    """The segments of a partition, and the offsets that a broker knows.

    Attributes:
        partition: the log.
        segments: in order; the last one is the active segment.
        codec: that reads them.
        log_start: first offset that is delivered.
        log_end: offset after the last record.
        high_watermark: first offset that need not be on all replicas.
        assumptions: what the files do not say.
        damaged: why the last segment is only read up to a position; None if all of it is.
    """

    def __init__(
        self,
        partition: Partition,
        *,
        log_start: int | None = None,
        high_watermark: int | None = None,
    ) -> None:
        """Read what is known of each segment: little but of the last one, whose headers are read.

        Args:
            log_start: first offset that is delivered; None for that of the broker's checkpoint.
            high_watermark: None if all records are on all replicas.
        """
        self.partition = partition
        found: list[SegmentView] = []
        end = 0
        self.codec = get_codec()
        self.damaged: KafkaSpecError | None = None
        for number, path in enumerate(partition.segment_paths):
            last = number + 1 == len(partition.segment_paths)
            with partition.open_segment(path) as segment:
                self.codec = segment.codec
                base = partition.base_offsets[number]
                view, self.damaged = _view(segment, base, last)
            end = view.following
            if found:
                found[-1] = replace(found[-1], following=base)
            found.append(view)
        self.segments = tuple(found)
        self.log_end = end
        start = partition.log_start_offset if log_start is None else log_start
        self.log_start = max(start or 0, found[0].base_offset if found else 0)
        self.high_watermark = end if high_watermark is None else min(high_watermark, end)
        why = "all records are on all replicas" if high_watermark is None else "given"
        self.assumptions = [Assumption(HIGH_WATERMARK, str(self.high_watermark), why)]

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return sum(segment.size for segment in self.segments)

    def assumed(self, settings: Settings, now: int) -> tuple[Assumption, ...]:
        """Return what answers at a time depend on."""
        clock = Assumption(CLOCK, str(now), "the time that was asked for")
        return clock, *settings.assumptions, *self.assumptions

    @cached_property
    def last_stable_offset(self) -> int:
        """First offset of an open transaction, or the high watermark, if that is below."""
        return min(self.high_watermark, self.partition.last_stable_offset)

    def producers(self, profile: Profile) -> ProducerState:
        """Return the state of all producers at the end of the log.

        It begins with the newest sound snapshot, as that of a broker that starts.
        """
        state, start = ProducerState(profile), 0
        snapshots = find_snapshots(self.partition.snapshot_paths)
        for offset in sorted(snapshots, reverse=True):
            entries = read_snapshot(snapshots[offset]) if offset <= self.log_end else None
            if entries is not None:
                state, start = ProducerState(profile, entries), offset
                break
        for path in self.partition.paths_from(start):
            with self.partition.open_segment(path) as segment:
                for headers in read_headers(segment):
                    state.append(headers, bisect_left(headers.last_offset, start), len(headers))
        return state


def _view(segment: Segment, base: int, last: bool) -> tuple[SegmentView, KafkaSpecError | None]:
    """Return what is known of a segment, and what is damaged in it if it is the last one."""
    end, largest, damaged = base, segment.largest_timestamp, None
    try:
        for headers in read_headers(segment) if last else ():
            end = max(end, headers.last_offset[-1] + 1)
            time = max(headers.max_timestamp)
            if (largest.source == "file time" and time >= 0) or time > largest.value:
                largest = LargestTimestamp(time, "batches")
    except KafkaSpecError as error:
        if error.reason in ALWAYS_RAISED:
            raise
        damaged = error
    try:
        first = next(iter(segment.entries(0)), None)
    except KafkaSpecError as error:
        if error.reason in ALWAYS_RAISED:
            raise
        first = None
    time = NO_TIMESTAMP if first is None else first.max_timestamp
    assert segment.path is not None
    view = SegmentView(
        path=segment.path,
        base_offset=base,
        following=end,
        size=segment.size,
        modified=segment.modified or 0,
        largest=largest,
        first_timestamp=time,
    )
    return view, damaged


def opened(
    partition: Partition,
    config: Mapping[str, str],
    cluster: ClusterSettings,
    high_watermark: int | None = None,
) -> tuple[LogView, Settings, list[str]]:
    """Return a partition, the settings of its topic, and notes about these.

    Args:
        partition: the partition.
        config: settings that are given, by Kafka's names.
        cluster: what the metadata beside it says of others.
        high_watermark: of the partition, None if all records are on all replicas.

    Raises:
        KafkaSpecError: ``unreadable``: it has no segments, or those of Kafka 0.7.
    """
    if not partition.segment_paths:
        raise unreadable(str(partition.path), "there is no segment in it")
    if any(item.suffix != names.LOG for item in partition.segment_paths):
        detail = "brokers of this version of Kafka have no such cleaner and retention"
        raise unreadable(str(partition.path), detail)
    of_topic = cluster.of(partition.topic or "")
    notes = [cluster.note] if cluster.note else []
    cluster.note = ""
    view = LogView(partition, high_watermark=high_watermark)
    try:
        return view, Settings(config, of_topic), notes
    except ValueError as error:
        notes.append(f"{partition.path}: the metadata beside it: {error}")
        return view, Settings(config), notes
