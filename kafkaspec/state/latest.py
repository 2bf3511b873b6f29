"""The last record of each key of a topic, as a coordinator loads it: by record type, in columns.

A transactional record counts when its producer has committed, and an aborted one never. Of the
records of a key that count, the one with the largest offset wins, and a null value deletes. Kafka:
``OffsetMetadataManager.replay`` and ``replayEndTransactionMarker``, ``CoordinatorLoaderImpl``. Up
to 3.9, ``GroupMetadataManager`` could take an offset back that a tombstone had deleted between it
and the marker of its transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.messages.topics import by_type, located, record_types
from kafkaspec.arrow.outcomes import CONTROL, OFFSET, PRODUCER, markers_in, outcomes
from kafkaspec.codecs import get_codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import MessageLayout, Role
from kafkaspec.layout.names import UNUSED
from kafkaspec.log.options import RangeOptions
from kafkaspec.log.partition import PartitionLog
from kafkaspec.log.transactions import Outcome
from kafkaspec.messages.lookup import in_topic
from kafkaspec.state.framed import LeftOut, OtherRecord, decode
from kafkaspec.tables.json_values import json_rows
from kafkaspec.times import Time, milliseconds

TIMESTAMP, KEY, VALUE, PENDING = "timestamp", "key", "value", "pending"
TRANSACTIONAL: Final = "transactional"
_KEPT: Final = [OFFSET, TIMESTAMP, KEY, VALUE]
_COLUMNS: Final = (OFFSET, TIMESTAMP, KEY, VALUE, TRANSACTIONAL, PRODUCER, CONTROL)
_LARGEST: Final = "largest"
_AT_ONCE: Final = 1 << 18
"""Rows that are kept before it pays to look for the last ones of each key."""


@dataclass
class Latest(LeftOut):
    """The latest records of a topic, by record type.

    Attributes:
        file: path of the log, for errors.
        tables: by the name of the type without ``Key`` and ``Value``, ``OffsetCommit``: ``offset``
            and ``timestamp`` of the record, ``key`` and ``value`` as structs, and ``pending``:
            whether its transaction has not ended.
    """

    file: str | None = None
    tables: dict[str, pa.Table] = field(default_factory=dict)

    def left_to(self, state: LeftOut, *known: str) -> None:
        """Pass on to a state what it does not say; it has the tables that are ``known``."""
        state.errors, state.unknown = self.errors, self.unknown
        state.records += [
            OtherRecord.of(name, row, pending=row[PENDING])
            for name in self.tables.keys() - {*known}
            for row in json_rows(self.tables[name])
            if row[VALUE] is not None
        ]
        state.records.sort(key=lambda each: each.log_offset)


class StateOptions(RangeOptions, total=False):
    """Options of functions that read the state in an internal topic.

    Attributes:
        at: the state at this time: later records and markers do not count.
        release: of the brokers that wrote it, ``4.0``; None if it is not known.
    """

    at: Time | None
    release: str | None


def latest(log: PartitionLog, topic: str, **options: Unpack[StateOptions]) -> Latest:
    """Return the last record of each key of a partition of an internal topic."""
    found = Latest(None if log.path is None else str(log.path))
    kept: dict[str, _Kept] = {}
    for tables, ends in pieces(log, topic, found, **options):
        for name in tables:
            kept.setdefault(name, _Kept())
        for name, rows in kept.items():
            rows.add(tables.get(name), ends)
    found.tables = {name: rows.table() for name, rows in sorted(kept.items())}
    return found


def tables_of(
    log: PartitionLog,
    columns: Sequence[str],
    *,
    include_control: bool = False,
    **options: Unpack[StateOptions],
) -> Iterator[pa.Table]:
    """Yield the records of a log up to a time, with their times in ms, in pieces."""
    at = options.get("at")
    until = None if at is None else milliseconds(at, "at")
    ranges: Any = {name: each for name, each in options.items() if name not in ("at", "release")}
    wanted = list(columns)
    for batch in log.to_batches(wanted, include_control=include_control, layout="binary", **ranges):
        table = pa.Table.from_batches([batch])
        place = wanted.index(TIMESTAMP)
        table = table.set_column(place, TIMESTAMP, table[TIMESTAMP].cast(pa.int64()))
        yield table if until is None else table.filter(pc.less_equal(table[TIMESTAMP], until))


def pieces(
    log: PartitionLog, topic: str, found: Latest, **options: Unpack[StateOptions]
) -> Iterator[tuple[dict[str, pa.Table], pa.Table]]:
    """Yield the decoded records of a log by record type, and the markers among them, in pieces.

    The tables of records have ``offset``, ``timestamp``, ``key``, ``value``, ``transactional`` and
    ``producer_id``, that of markers ``offset``, ``producer_id`` and ``control_type``.
    What is left out is noted in ``found``.
    """
    release = options.get("release")
    for table in tables_of(log, _COLUMNS, include_control=True, **options):
        data = table.filter(table[CONTROL].is_null())
        yield _by_type(data, topic, release, found), markers_in(table)


def _by_type(
    table: pa.Table, topic: str, release: str | None, found: Latest
) -> dict[str, pa.Table]:
    table = table.drop_columns([CONTROL]).combine_chunks()
    if not table.num_rows:
        return {}
    types = record_types(topic, table[KEY].combine_chunks(), get_codec())
    tables = {}
    for number, rows in by_type(table, types):
        keys, values = (
            () if number is None else in_topic(topic, role, number)
            for role in (Role.KEY, Role.VALUE)
        )
        if keys and values:
            name = values[0].name.removesuffix("Value")
            tables[name] = _decoded(rows, {KEY: keys, VALUE: values}, release, found)
        else:
            found.is_unknown(rows[OFFSET].to_pylist(), number)
    return tables


def _decoded(
    rows: pa.Table,
    layouts: Mapping[str, Sequence[MessageLayout]],
    release: str | None,
    found: Latest,
) -> pa.Table:
    bad: set[int] = set()
    offsets = rows[OFFSET]
    for part, known in layouts.items():

        def refuse(row: int, error: KafkaSpecError, part: str = part) -> None:
            bad.add(row)
            found.errors.append(located(error, found.file, offsets[row].as_py(), part))

        made = decode(known, rows[part].combine_chunks(), release, refuse)
        found.note_tags(known[0], made, offsets.combine_chunks())
        rows = rows.set_column(rows.schema.get_field_index(part), part, made)
    if bad:
        rows = rows.filter(pa.array([row not in bad for row in range(rows.num_rows)]))
    return rows


class _Kept:
    """The rows of a record type that can be the last of their keys."""

    def __init__(self) -> None:
        self._counting: list[pa.Table] = []
        self._rows = self._least = 0
        self._open: pa.Table | None = None
        """Rows of transactions that have not ended."""

    def add(self, rows: pa.Table | None, ends: pa.Table) -> None:
        """Take rows, and the markers up to the last of them."""
        if rows is not None and not self._counting:
            self._counting = [rows.select(_KEPT).slice(0, 0)]
        both = [each for each in (self._open, rows) if each is not None and each.num_rows]
        if not both:
            return
        rows = pa.concat_tables(both)
        transactional = rows[TRANSACTIONAL]
        self._count(rows.filter(pc.invert(transactional)))
        rows = rows.filter(transactional)
        if rows.num_rows and ends.num_rows:
            found = outcomes(rows, ends)
            self._count(rows.filter(pc.equal(found, str(Outcome.COMMITTED))))
            rows = rows.filter(pc.equal(found, str(Outcome.OPEN)))
        self._open = rows

    def _count(self, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        self._counting.append(rows.select(_KEPT))
        self._rows += rows.num_rows
        if self._rows > max(2 * self._least, _AT_ONCE):
            self._reduce()

    def _reduce(self) -> None:
        rows = _last(pa.concat_tables(self._counting))
        self._counting, self._rows, self._least = [rows], rows.num_rows, rows.num_rows

    def table(self) -> pa.Table:
        """Return the last row of each key without those that delete it, then the open ones."""
        self._reduce()
        (rows,) = self._counting
        rows = rows.filter(rows[VALUE].is_valid()).sort_by(OFFSET)
        rows = rows.append_column(PENDING, pa.repeat(False, rows.num_rows))
        if self._open is None:
            return rows
        held = self._open.select(_KEPT)
        return pa.concat_tables([rows, held.append_column(PENDING, pa.repeat(True, held.num_rows))])


def _last(rows: pa.Table) -> pa.Table:
    """Return the row with the largest offset of each key."""
    key = rows[KEY].combine_chunks()
    fields = {
        field.name: key.field(index) for index, field in enumerate(key.type) if field.name != UNUSED
    }
    largest = pa.table(fields | {_LARGEST: rows[OFFSET]}).group_by(list(fields))
    offsets = largest.aggregate([(_LARGEST, "max")])[f"{_LARGEST}_max"]
    return rows.filter(pc.is_in(rows[OFFSET], offsets))
