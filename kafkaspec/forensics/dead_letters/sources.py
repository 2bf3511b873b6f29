"""Look records up by topic, partition and offset, in the logs that are there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.dead_letters.letters import CONTENT
from kafkaspec.forensics.gaps import Gaps, read_gaps
from kafkaspec.log.partition import Partition

SourcePlace = tuple[str, int]
"""A topic and a partition of it."""

COLUMNS: Final = ("offset", "timestamp", "timestamp_type", *CONTENT)
_APART: Final = 4096
"""Offsets that are read although nobody wants them, rather than to begin again after them."""
AT_ONCE: Final = 1 << 14
"""Most records that are looked up at a time."""


@dataclass
class SourceLog:
    """A partition, and what is missing in it.

    Attributes:
        log: the partition.
        unread: entries that a lookup could not read.
    """

    log: Partition
    unread: list[KafkaSpecError] = field(default_factory=list)

    @cached_property
    def gaps(self) -> Gaps:
        """The offsets that the partition does not have, and why."""
        return read_gaps(self.log)

    def records(self, offsets: NDArray[np.int64]) -> Iterator[pa.Table]:
        """Yield the records at ascending offsets, as far as they are there: ``COLUMNS``."""
        for begin in range(0, len(offsets), AT_ONCE):
            yield self._records(offsets[begin : begin + AT_ONCE])

    def _records(self, offsets: NDArray[np.int64]) -> pa.Table:
        options: dict[str, Any] = {"layout": "binary", "header_keys": "binary"}
        found = []
        for part in np.split(offsets, np.flatnonzero(np.diff(offsets) > _APART) + 1):
            wanted = pa.array(part)
            reader = self.log.to_batches(
                COLUMNS, start_offset=int(part[0]), end_offset=int(part[-1]) + 1,
                log_start="ignore", on_error=self.unread.append, **options,
            )  # fmt: skip
            found += [batch.filter(pc.is_in(batch["offset"], wanted)) for batch in reader]
            schema = reader.schema
        return pa.Table.from_batches(found, schema)

    def reasons(self, offsets: NDArray[np.int64]) -> tuple[pa.Array, pa.Array]:
        """Return why ascending offsets have no record, and the proof; null if the log says nothing.

        Where one missing range lies in another, the smaller one counts.
        """
        rows = self.gaps.ranges
        first, last = (rows[name].to_numpy() for name in ("first_offset", "last_offset"))
        begins = np.searchsorted(offsets, first)
        ends = np.searchsorted(offsets, last, side="right")
        of = np.full(len(offsets), -1, np.int64)
        touched = np.flatnonzero(begins < ends)
        for row in touched[np.argsort((first - last)[touched], kind="stable")].tolist():
            of[begins[row] : ends[row]] = row
        taken = rows.take(pa.array(of, mask=of < 0))
        why, strength = (taken[name].cast(pa.string()).combine_chunks() for name in _REASON)
        return why, strength


_REASON: Final = ("why", "strength")


class SourceLogs(Mapping[SourcePlace, SourceLog]):
    """The partitions by topic and number; of several copies, the one with the largest end."""

    def __init__(self, logs: Iterable[Partition]) -> None:
        """Take some partitions; those whose directories have other names cannot be looked up."""
        self._logs: dict[SourcePlace, SourceLog] = {}
        for log in logs:
            if log.topic is None or log.partition is None:
                continue
            place = log.topic, log.partition
            if place not in self._logs or _end(log) > _end(self._logs[place].log):
                self._logs[place] = SourceLog(log)

    def __getitem__(self, place: SourcePlace) -> SourceLog:
        return self._logs[place]

    def __iter__(self) -> Iterator[SourcePlace]:
        return iter(self._logs)

    def __len__(self) -> int:
        return len(self._logs)


def _end(log: Partition) -> int:
    try:
        return log.log_end_offset
    except KafkaSpecError:
        return -1
