"""The records of one group or transactional id in the order of their offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow.compute as pc

from kafkaspec.state.latest import (
    KEY,
    OFFSET,
    TIMESTAMP,
    TRANSACTIONAL,
    VALUE,
    Latest,
    Source,
    pieces,
)
from kafkaspec.state.plain import plain


class Event(NamedTuple):
    """A record.

    Attributes:
        offset: of the record.
        timestamp: of the record, ms.
        name: type of the record, ``OffsetCommit``.
        key: fields of the key, as ``plain`` has them.
        value: fields of the value, None where the record deletes the key.
        transactional: whether a marker has to come before it counts.
    """

    offset: int
    timestamp: int
    name: str
    key: dict[str, Any]
    value: dict[str, Any] | None
    transactional: bool


def history(log: Source, topic: str, name: str, found: Latest, **options: Any) -> Iterator[Event]:
    """Yield the records of a group or transactional id that a log still holds.

    Args:
        log: the partition of the internal topic, or a segment of it.
        topic: name of the internal topic.
        name: the group's, or the transactional id.
        found: notes what is left out.
        options: ``at``, ``release``, and which records, as ``latest`` takes them.

    Raises:
        KafkaSpecError: a batch cannot be read.
    """
    for tables, _ in pieces(log, topic, found, **options):
        events = []
        for kind, table in tables.items():
            key = table[KEY].combine_chunks()
            owner = next(each for each in _OWNERS if key.type.get_field_index(each) >= 0)
            rows = table.filter(pc.equal(pc.struct_field(key, owner), name))
            events += [
                Event(
                    row[OFFSET], row[TIMESTAMP], kind, row[KEY], row[VALUE], row[TRANSACTIONAL]
                )
                for row in plain(rows)
            ]  # fmt: skip
        yield from sorted(events, key=lambda event: event.offset)


_OWNERS = ("group_id", "group", "transactional_id")
"""Fields that say whose a record is."""
