"""Partitions as they were listed, with those of their segments that are to be read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath

from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.files.names import LOG_START_OFFSETS
from kafkaspec.log.missing import Missing, MissingWhy, missing_of
from kafkaspec.log.options import LogStart
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment


@dataclass(frozen=True)
class SegmentFile:
    """A segment, the base offset in its name, and that of the next one; None if there is none."""

    path: Path
    base_offset: int | None = None
    next_offset: int | None = None

    @cached_property
    def size(self) -> int:
        """Bytes of the file now."""
        try:
            return int(self.path.stat().st_size)
        except OSError as error:
            detail = error.strerror or str(error)
            raise make_error(Reason.UNREADABLE, detail, file=str(self.path)) from None


@dataclass(frozen=True)
class TopicLog:
    """A partition, and those of its segments that are to be read.

    Attributes:
        opened: the partition with all of its files, for lookups.
        segments: in the order of their offsets.
        start_offset: log start offset, if it is above the first offset of the segments: a broker
            delivers nothing below it. None otherwise.
    """

    opened: Partition
    segments: tuple[SegmentFile, ...]
    start_offset: int | None = None

    @cached_property
    def bases(self) -> list[int] | None:
        """The base offsets of the segments; None if a name has none."""
        known = [item.base_offset for item in self.segments if item.base_offset is not None]
        return known if len(known) == len(self.segments) else None

    @property
    def directory(self) -> Path:
        """Where the segments are."""
        return self.opened.path

    @property
    def topic(self) -> str | None:
        """From the name of the directory."""
        return self.opened.topic

    @property
    def partition(self) -> int | None:
        """From the name of the directory."""
        return self.opened.partition

    @cached_property
    def topic_id(self) -> str | None:
        """The id of its topic as Kafka shows it; None without a sound ``partition.metadata``."""
        try:
            found = self.opened.topic_id
        except KafkaSpecError:
            return None
        return None if found is None else kafka_uuid.to_text(found)

    @property
    def first_offset(self) -> int:
        """The first offset that it delivers, as far as names and checkpoints say."""
        base = (self.segments[0].base_offset or 0) if self.segments else 0
        return base if self.start_offset is None else self.start_offset

    def __str__(self) -> str:
        return str(self.directory) if self.topic is None else f"{self.topic}-{self.partition}"


def missing_in(
    log: TopicLog, low: int | None = None, high: int | None = None, *, log_start: bool = True
) -> Iterator[Missing]:
    """Yield what a log does not deliver between two offsets; only ends of segments are read."""
    known = log.bases
    if known is None:  # files of other names
        for item in log.segments:
            with Segment(item.path, mapped=False) as segment:
                yield from missing_of(segment, start_offset=low, end_offset=high, ends_only=True)
        return
    if known:  # perhaps not all segments of the directory
        low = known[0] if low is None else max(low, known[0])
        bases = log.opened.base_offsets
        following = bases[bisect_right(bases, known[-1]) :]
        high = min([*following[:1], *([] if high is None else [high])], default=None)
    choice: LogStart = "checkpoint" if log_start else "ignore"
    for found in missing_of(
        log.opened, start_offset=low, end_offset=high, log_start=choice, ends_only=True
    ):
        others = {path.name for path in log.opened.segment_paths}
        others -= {item.path.name for item in log.segments}
        if PurePath(found.file).name not in others:
            yield found


def delivers_all(item: Missing) -> bool:
    """Return whether no offset is known to be missing.

    A broker may be writing the batch at the end of a log. Nothing is left out because of a
    checkpoint that cannot be read.
    """
    return item.reason is MissingWhy.TAIL or PurePath(item.file).name == LOG_START_OFFSETS
