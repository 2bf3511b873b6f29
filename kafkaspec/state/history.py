"""The records of one group or transactional id in the order of their offsets."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from enum import StrEnum
from typing import Any, NamedTuple, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.messages.arrays import table_of
from kafkaspec.log.columnar import RangeOptions
from kafkaspec.messages.tables import with_names
from kafkaspec.state.latest import (
    COMMIT,
    CONTROL,
    KEY,
    MARKER,
    OFFSET,
    PRODUCER,
    TIMESTAMP,
    TRANSACTIONAL,
    VALUE,
    Latest,
    Source,
    pieces,
)
from kafkaspec.tables.json_values import json_rows
from kafkaspec.times import Time


class Outcome(StrEnum):
    """The fate of the transaction that wrote a record."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    """The record never counted."""
    OPEN = "open"
    """No marker has come: the record does not count yet."""


class Event(NamedTuple):
    """A record.

    Attributes:
        offset: of the record.
        timestamp: of the record, ms.
        name: type of the record, ``OffsetCommit``.
        key: fields of the key, as ``json_rows`` has them.
        value: fields of the value, None where the record deletes the key.
        transaction: what happened to its transaction, None for a record without one.
    """

    offset: int
    timestamp: int
    name: str
    key: dict[str, Any]
    value: dict[str, Any] | None
    transaction: Outcome | None

    @property
    def named(self) -> dict[str, Any] | None:
        """The value with Kafka's names in place of numbers that stand for them."""
        found: dict[str, Any] | None = with_names(table_of(self.name).layout.root, self.value)
        return found


def history(
    log: Source,
    topic: str,
    name: str,
    found: Latest,
    *,
    names: set[str] | None = None,
    at: Time | None = None,
    release: str | None = None,
    **options: Unpack[RangeOptions],
) -> list[Event]:
    """Return the records of a group or transactional id that a log still holds.

    Args:
        log: the partition of the internal topic, or a segment of it.
        topic: name of the internal topic.
        name: the group's, or the transactional id.
        found: notes what is left out.
        names: gets the names that the log has records of.
        at: as ``latest`` takes it, and so are the others.
        release: of the brokers that wrote it.
        options: which records.

    Raises:
        KafkaSpecError: a batch cannot be read.
    """
    rows: list[tuple[str, dict[str, Any]]] = []
    markers = []
    for tables, ends in pieces(log, topic, found, at=at, release=release, **options):
        markers.append(ends)
        for kind, table in tables.items():
            key = table[KEY].combine_chunks()
            owner = next(each for each in _OWNERS if key.type.get_field_index(each) >= 0)
            owners = pc.struct_field(key, owner)
            if names is not None:
                names.update(pc.unique(owners).to_pylist())
            own = table.filter(pc.equal(owners, name))
            rows += [(kind, row) for row in json_rows(own)]
    outcomes = _Outcomes(markers, {row[PRODUCER] for _, row in rows if row[TRANSACTIONAL]})
    return [
        Event(
            row[OFFSET], row[TIMESTAMP], kind, row[KEY], row[VALUE],
            outcomes.of(row[PRODUCER], row[OFFSET]) if row[TRANSACTIONAL] else None,
        )
        for kind, row in sorted(rows, key=lambda each: each[1][OFFSET])
    ]  # fmt: skip


_OWNERS = ("group_id", "group", "transactional_id")
"""Fields that say whose a record is."""


class _Outcomes:
    """How the transactions of some producers ended."""

    def __init__(self, markers: list[pa.Table], producers: set[int]) -> None:
        self._ends: dict[int, list[tuple[int, Outcome]]] = defaultdict(list)
        for table in markers if producers else ():
            wanted = pc.is_in(table[PRODUCER], pa.array(sorted(producers), pa.int64()))
            for end in table.filter(wanted).to_pylist():
                kind = Outcome.COMMITTED if end[CONTROL] == COMMIT else Outcome.ABORTED
                self._ends[end[PRODUCER]].append((end[MARKER], kind))

    def of(self, producer: int, offset: int) -> Outcome:
        """Return what the first marker of a producer after an offset says."""
        ends = self._ends[producer]
        place = bisect(ends, offset, key=lambda end: end[0])
        return ends[place][1] if place < len(ends) else Outcome.OPEN
