"""The records of one group or transactional id in the order of their offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.messages.arrays import table_of
from kafkaspec.arrow.outcomes import OFFSET, PRODUCER, outcomes
from kafkaspec.log.partition import PartitionLog
from kafkaspec.log.transactions import Outcome
from kafkaspec.messages.tables import with_names
from kafkaspec.state.framed import OWNERS
from kafkaspec.state.latest import (
    KEY,
    TIMESTAMP,
    TRANSACTIONAL,
    VALUE,
    Latest,
    StateOptions,
    pieces,
)
from kafkaspec.tables.json_values import json_rows


class TopicEvent(NamedTuple):
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
    log: PartitionLog,
    topic: str,
    name: str,
    found: Latest,
    *,
    names: set[str] | None = None,
    **options: Unpack[StateOptions],
) -> list[TopicEvent]:
    """Return the records of a group or transactional id that a log still holds.

    Args:
        log: the partition of the internal topic, or a segment of it.
        topic: name of the internal topic.
        name: the group's, or the transactional id.
        found: notes what is left out.
        names: gets the names that the log has records of.
        options: see ``StateOptions``.
    """
    rows: list[tuple[str, dict[str, Any]]] = []
    markers = []
    for tables, ends in pieces(log, topic, found, **options):
        markers.append(ends)
        for kind, table in tables.items():
            key = table[KEY].combine_chunks()
            owner = next((each for each in OWNERS if key.type.get_field_index(each) >= 0), None)
            if owner is None:
                continue
            owners = pc.struct_field(key, owner)
            if names is not None:
                names.update(pc.unique(owners).to_pylist())
            own = table.filter(pc.equal(owners, name))
            rows += [(kind, row) for row in json_rows(own)]
    rows.sort(key=lambda each: each[1][OFFSET])
    fates = _fates([row for _, row in rows if row[TRANSACTIONAL]], markers)
    return [
        TopicEvent(row[OFFSET], row[TIMESTAMP], kind, row[KEY], row[VALUE], fates.get(row[OFFSET]))
        for kind, row in rows
    ]


def _fates(rows: Sequence[Mapping[str, Any]], markers: list[pa.Table]) -> dict[int, Outcome]:
    """Return the outcome of the transaction of each row by its offset."""
    if not rows:
        return {}
    columns = {name: pa.array([row[name] for row in rows], pa.int64()) for name in _PLACE}
    ended = outcomes(pa.table(columns), pa.concat_tables(markers)).to_pylist()
    return {row[OFFSET]: Outcome(fate) for row, fate in zip(rows, ended, strict=True)}


_PLACE: Final = (OFFSET, PRODUCER)
