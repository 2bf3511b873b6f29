"""Compare records whose sequence numbers repeat with those that had the numbers before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.headers import Column, Unread, tables
from kafkaspec.layout import names
from kafkaspec.layout.sequences import LARGEST_SEQUENCE
from kafkaspec.log.batch import NONE, Batch
from kafkaspec.log.header_table import POSITION
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record

_COMPARED: Final = 1 << 20
"""Records that are compared of all repeats; more are counted, and not compared."""


@dataclass(slots=True)
class _Place:
    """A batch of a producer."""

    first: int
    last: int
    offset: int
    file: int
    position: int


_OF_BATCH: Final = (
    names.PRODUCER_ID, names.PRODUCER_EPOCH, names.BASE_SEQUENCE, names.LAST_SEQUENCE,
    names.BASE_OFFSET, POSITION,
)  # fmt: skip


class Repeats:
    """The records of batches whose sequence numbers repeat, and of those with the same before.

    The headers of the producers that repeat are read again; a batch is compared with the latest
    earlier one that has its first number.
    """

    def __init__(self, log: Partition | Segment, producers: Column) -> None:
        """Read where the batches of some producers are.

        Args:
            log: the log.
            producers: ids of the producers.
        """
        self._log = log
        self._left = _COMPARED
        self._segments: dict[int, Segment] = {}
        self._batches: dict[tuple[int, int], list[_Place]] = {}
        if len(producers):
            self._collect(producers)

    def _collect(self, ids: Column) -> None:
        for table in tables(self._log, Unread()):
            wanted = np.isin(table.numpy(names.PRODUCER_ID), ids)
            wanted &= table.numpy(names.BASE_SEQUENCE) > NONE
            wanted &= table.numpy(names.IS_CONTROL) == 0
            found = np.flatnonzero(wanted)
            columns = [table.numpy(name)[found].tolist() for name in _OF_BATCH]
            for producer, epoch, first, last, offset, place in zip(*columns, strict=True):
                batches = self._batches.setdefault((producer, epoch), [])
                batches.append(_Place(first, last, offset, table.file, place))

    def compared(
        self, producer: tuple[int, int], base: int, count: int, start: int, end: int
    ) -> tuple[int, int, int]:
        """Return how many batches have the records of before, others, and which is not known.

        Args:
            producer: its id and epoch.
            base: first sequence number that repeats.
            count: how many repeat.
            start: first offset of the batches that repeat them.
            end: last offset of those.
        """
        equal = different = unknown = 0
        earlier: dict[int, _Place] = {}
        for place in self._batches.get(producer, ()):
            if place.offset > end:
                break
            if place.offset >= start and (place.first - base) & LARGEST_SEQUENCE < count:
                same = self._same(earlier.get(place.first), place)
                equal += same is True
                different += same is False
                unknown += same is None
            earlier[place.first] = place
        return equal, different, unknown

    def _same(self, one: _Place | None, other: _Place) -> bool | None:
        """Return whether two batches have the same records; None if that cannot be said."""
        if one is None or self._left <= 0:
            return None
        try:
            first, second = self._records(one), self._records(other)
        except (KafkaSpecError, OSError):
            return None
        self._left -= len(first) + len(second)
        common = first.keys() & second.keys()
        if not common:
            return None
        return all(_content(first[number]) == _content(second[number]) for number in common)

    def _records(self, place: _Place) -> dict[int, Record]:
        batch = self._batch(place)
        base = place.first - batch.base_offset
        return {(record.offset + base) & LARGEST_SEQUENCE: record for record in batch.records()}

    def _batch(self, place: _Place) -> Batch:
        if isinstance(self._log, Segment):
            return self._log.batch_at(place.position)
        segment = self._segments.get(place.file)
        if segment is None:
            if len(self._segments) > 1:
                self._segments.pop(next(iter(self._segments))).close()
            segment = self._log.open_segment(self._log.segment_paths[place.file])
            self._segments[place.file] = segment
        return segment.batch_at(place.position)


def _content(record: Record) -> tuple[Any, ...]:
    return record.key, record.value, record.headers
