"""The units that a measurement is dealt out in: each segment, and the history of each log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafkaspec.io.remote import address
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.shown import without_credentials


@dataclass(frozen=True)
class StatsUnit:
    """A part of the work.

    Attributes:
        directory: of the log.
        topic: from its name, None if that is not one of a partition.
        partition: from its name, or None.
        paths: of a segment; or of all segments of the log that count, for what needs all of them.
        is_history: whether it is the second.
        records: whether records are read, or headers only.
        mapped: whether files are mapped into memory, if that is possible.
        start: of a part of a segment, the position of its first entry.
        end: the position after its last one; None for the end of the file.
    """

    directory: str
    topic: str | None
    partition: int | None
    paths: tuple[str, ...]
    is_history: bool
    records: bool = True
    mapped: bool = True
    start: int = 0
    end: int | None = None

    @property
    def place(self) -> tuple[Any, ...]:
        """Values of the columns ``kafkaspec.stats.tables.LOG``."""
        return without_credentials(self.directory), self.topic, self.partition


def units_of(
    directory: str,
    topic: str | None,
    partition: int | None,
    paths: Iterable[str],
    *,
    records: bool = True,
    mapped: bool = True,
) -> Iterator[StatsUnit]:
    """Yield the units of a log, the history first; see the class."""
    files = tuple(paths)
    for some, is_history in ((files, True), *(((path,), False) for path in files)):
        yield StatsUnit(directory, topic, partition, some, is_history, records, mapped)


def units_of_log(
    log: Partition | Segment, *, records: bool = True, mapped: bool = True
) -> Iterator[StatsUnit]:
    """Yield the units of an opened log; see ``units_of``."""
    partition = log if isinstance(log, Partition) else None
    paths: list[Path]
    if partition is None:
        assert isinstance(log, Segment)
        assert log.path is not None
        paths = [log.path]
        partition = Partition(log.path.absolute().parent)
    else:
        paths = partition.segment_paths
    yield from units_of(
        address(partition.path),
        partition.topic,
        partition.partition,
        map(address, paths),
        records=records,
        mapped=mapped,
    )
