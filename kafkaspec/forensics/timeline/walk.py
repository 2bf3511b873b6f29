"""Transactions of a partition in the order of their offsets, from the headers of its batches.

Data and markers belong together by the id of the producer, not by its epoch: with transaction
version 2 a marker has the epoch after that of the data (KIP-890). A marker that compaction has
emptied ends nothing. Kafka: ``ProducerStateManager``, ``ProducerAppendInfo``; KIP-98.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import numpy as np

from kafkaspec._generated.python.model.control_record import ControlRecordType, EndTransactionMarker
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.forensics.headers import Column, Unread, first_timestamps, joined_rows
from kafkaspec.layout import names
from kafkaspec.log.batch import NO_TIMESTAMP, NONE
from kafkaspec.log.header_table import POSITION, SIZE, HeaderTable
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment


class Outcome(StrEnum):
    """The fate of a transaction; a closed list."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"
    """No marker has ended it."""
    UNKNOWN = "unknown"
    """Its marker cannot be read."""


OUTCOMES: Final = tuple(str(each) for each in Outcome)
_COMMITTED, ABORTED, OPEN, UNKNOWN = range(4)
_EMPTIED: Final = 4
"""A marker that compaction has emptied."""
_DATA: Final = -1
_PARTS: Final = (
    "producer_id", "kind", "epoch", "last_epoch", "first_offset", "last_offset", "batches",
    "records", "first_timestamp", "last_timestamp", "coordinator_epoch", "file", "position",
)  # fmt: skip
_ENDS: Final = frozenset({"last_epoch", "last_offset", "last_timestamp"})
_SUMS: Final = frozenset({"batches", "records"})
_MOST_MARKERS: Final = 1 << 12
"""Markers that are remembered by their bytes; they differ by the epoch of their coordinator."""

_Parts = dict[str, Column]
"""Data of a producer without a marker of it in between, or a marker, in each row."""
Rows = dict[str, Column]
"""A transaction in each row, by first offset, those without data by their marker."""
_Marker = tuple[int, int]
"""What a marker does, and the epoch of its coordinator."""


@dataclass
class _Read:
    parts: list[_Parts] = field(default_factory=list)
    first: int | None = None
    end: int = 0
    known: dict[bytes, _Marker] = field(default_factory=dict)


class TransactionWalk:
    """Joins the transactions of a log, table by table."""

    def __init__(self, log: Partition | Segment, unread: Unread) -> None:
        """Begin with the transactions that the snapshot at the start of the log has open."""
        self._unread = unread
        self._read = _Read()
        before = _before(log)
        if before is not None:
            self._read.parts.append(before)

    def take(self, table: HeaderTable) -> None:
        """Take the next headers."""
        _take(table, self._read, self._unread)

    @property
    def first(self) -> int | None:
        """The first offset of the first batch, None without one."""
        return self._read.first

    @property
    def end(self) -> int:
        """The offset after the last batch."""
        return self._read.end

    @property
    def joined(self) -> _Parts:
        """The data of each producer between its markers, and the markers."""
        parts = self._read.parts
        if len(parts) == 1:
            return parts[0]
        return _grouped(
            {name: np.concatenate([part[name] for part in parts] or [_none()]) for name in _PARTS}
        )

    @property
    def transactions(self) -> Rows:
        """The transactions; ``outcome`` is a number of ``OUTCOMES``."""
        return _rows(self.joined)

    @property
    def aborted(self) -> Column:
        """The aborted transactions that have data in the log: producer, first offset, marker."""
        rows = self.transactions
        chosen = (rows["outcome"] == ABORTED) & (rows["first_offset"] >= 0)
        names_of = ("producer_id", "first_offset", "marker")
        return np.stack([rows[name][chosen] for name in names_of], axis=1)


def _none() -> Column:
    return np.empty(0, np.int64)


def _before(log: Partition | Segment) -> _Parts | None:
    """Return the transactions that were open at the start of the log, by its first snapshot."""
    if not isinstance(log, Partition) or log.first_base_offset is None:
        return None
    open_then = log.open_at(log.first_base_offset)
    if not open_then:
        return None
    found = sorted(open_then, key=lambda each: each.first_offset)
    count = len(found)
    columns = {name: np.zeros(count, np.int64) for name in _PARTS}
    columns["producer_id"] = np.array([each.producer_id for each in found], np.int64)
    columns["epoch"] = columns["last_epoch"] = np.array(
        [each.producer_epoch for each in found], np.int64
    )
    columns["first_offset"] = np.array([each.first_offset for each in found], np.int64)
    columns["last_offset"] = columns["first_offset"]
    columns["first_timestamp"] = np.full(count, NO_TIMESTAMP, np.int64)
    columns["last_timestamp"] = np.array([each.last_timestamp for each in found], np.int64)
    columns["kind"] = np.full(count, _DATA, np.int64)
    columns["position"] = columns["coordinator_epoch"] = np.full(count, NONE, np.int64)
    return columns


# -- reading ----------------------------------------------------------------------------------


def _take(table: HeaderTable, read: _Read, unread: Unread) -> None:
    last = table.numpy(names.LAST_OFFSET)
    if read.first is None:
        read.first = int(table.numpy(names.BASE_OFFSET)[0])
    read.end = max(read.end, int(last.max()) + 1)
    producer = table.numpy(names.PRODUCER_ID)
    control = table.numpy(names.IS_CONTROL) != 0
    wanted = (producer > NONE) & (control | (table.numpy(names.IS_TRANSACTIONAL) != 0))
    if not wanted.any():
        return
    rows = np.flatnonzero(wanted)
    kind = np.full(len(rows), _DATA, np.int64)
    coordinator = np.full(len(rows), NONE, np.int64)
    at_control = np.flatnonzero(control[rows])
    markers = _markers(table, rows[at_control], read.known, unread)
    kind[at_control], coordinator[at_control] = markers[:, 0], markers[:, 1]
    parts = {
        "producer_id": producer[rows],
        "kind": kind,
        "epoch": table.numpy(names.PRODUCER_EPOCH)[rows],
        "last_epoch": table.numpy(names.PRODUCER_EPOCH)[rows],
        "first_offset": table.numpy(names.BASE_OFFSET)[rows],
        "last_offset": last[rows],
        "batches": np.ones(len(rows), np.int64),
        "records": table.numpy(names.NUM_RECORDS)[rows],
        "first_timestamp": first_timestamps(table)[rows],
        "last_timestamp": table.numpy(names.MAX_TIMESTAMP)[rows],
        "coordinator_epoch": coordinator,
        "file": np.full(len(rows), table.file, np.int64),
        "position": table.numpy(POSITION)[rows],
    }
    there = kind != _EMPTIED
    if not there.all():
        parts = {name: column[there] for name, column in parts.items()}
    read.parts.append(_grouped(parts))


def _markers(
    table: HeaderTable, rows: Column, known: dict[bytes, _Marker], unread: Unread
) -> Column:
    """Return what the markers in some rows do, and the epochs of their coordinators.

    A marker is decoded once for all batches with the same bytes.
    """
    found = np.empty((len(rows), 2), np.int64)
    if not len(rows):
        return found
    places = _payloads(table, rows)
    if places is None:
        for number, row in enumerate(rows.tolist()):
            found[number] = _marker(table, row, unread)
        return found
    at, sizes = places
    cursor = table.segment.cursor()
    memory: np.ndarray[Any, np.dtype[np.uint8]] | None = None
    buffer, base = cursor.at(int(at[0]), 1)
    if base + len(buffer) >= int((at + sizes).max()):
        memory = np.frombuffer(buffer, np.uint8)
    for size in np.unique(sizes).tolist():
        alike = np.flatnonzero(sizes == size)
        if memory is not None and 0 < size <= _LARGEST:
            content = memory[(at[alike] - base)[:, None] + np.arange(size)]
            keys, firsts, which = np.unique(
                content.view(f"V{size}").ravel(), return_index=True, return_inverse=True
            )
            values = np.empty((len(keys), 2), np.int64)
            for number, (key, first) in enumerate(zip(keys, firsts.tolist(), strict=True)):
                row = int(rows[alike[first]])
                values[number] = _known(table, row, bytes(key), known, unread)
            found[alike] = values[which]
            continue
        for number in alike.tolist():
            found[number] = _marker(table, int(rows[number]), unread)
    return found


_LARGEST: Final = 256
"""Bytes of a marker that are compared; it has about 20."""


def _payloads(table: HeaderTable, rows: Column) -> tuple[Column, Column] | None:
    """Return where the records of batches are, and their sizes; None if the codec does not say."""
    place, size = f"{names.RECORDS}.{POSITION}", f"{names.RECORDS}.{SIZE}"
    if not table.has(place):
        return None
    # Kind and number of records are in the header, so the same bytes may be emptied or packed.
    usual = table.numpy(names.NUM_RECORDS)[rows] == 1
    usual &= table.numpy(names.COMPRESSION)[rows] == 0
    return table.numpy(place)[rows], np.where(usual, table.numpy(size)[rows], 0)


def _known(
    table: HeaderTable, row: int, key: bytes, known: dict[bytes, _Marker], unread: Unread
) -> _Marker:
    found = known.get(key)
    if found is None:
        errors = len(unread.errors)
        found = _marker(table, row, unread)
        if len(unread.errors) == errors and len(known) < _MOST_MARKERS:
            known[key] = found
    return found


def _marker(table: HeaderTable, row: int, unread: Unread) -> _Marker:
    """Return what the marker in a row does, and the epoch of its coordinator."""
    segment, position = table.segment, int(table.numpy(POSITION)[row])
    try:
        control = segment.batch_at(position).marker()
        if control is None:
            return _EMPTIED, NONE
        if not isinstance(control.body, EndTransactionMarker):
            text = f"a control record of a producer has type {control.key.type}"
            error = make_error(Reason.INVALID_VALUE, text, file=segment.name, offset=position)
            unread.errors.append(error)
            return UNKNOWN, NONE
        aborts = control.key.type == ControlRecordType.ABORT
        return ABORTED if aborts else _COMMITTED, control.body.coordinator_epoch
    except KafkaSpecError as error:
        unread.errors.append(error)
        return UNKNOWN, NONE


# -- joining ----------------------------------------------------------------------------------


def _grouped(parts: _Parts) -> _Parts:
    """Join the data of each producer between its markers; by producer, each in order."""
    if not len(parts["producer_id"]):
        return parts
    order = np.argsort(parts["producer_id"], kind="stable")
    producer, is_marker = parts["producer_id"][order], parts["kind"][order] != _DATA
    begins = np.ones(len(order), bool)
    begins[1:] = (producer[1:] != producer[:-1]) | is_marker[1:] | is_marker[:-1]
    return joined_rows(parts, order, begins, _ENDS, _SUMS)


def _rows(parts: _Parts) -> Rows:
    """Return the transactions of grouped parts: data with the marker after it, or one alone."""
    kind, producer = parts["kind"], parts["producer_id"]
    is_data = kind == _DATA
    count = len(kind)
    follows = np.zeros(count, bool)
    follows[1:] = ~is_data[1:] & is_data[:-1] & (producer[1:] == producer[:-1])
    begins = np.flatnonzero(~follows)
    ended = np.zeros(count, bool)
    ended[:-1] = follows[1:]
    marker = np.where(ended[begins], begins + 1, np.where(is_data[begins], NONE, begins))
    has_marker, has_data = marker >= 0, is_data[begins]

    def of_marker(name: str) -> Column:
        return np.where(has_marker, parts[name][marker], NONE) if count else parts[name]

    def of_data(name: str) -> Column:
        return np.where(has_data, parts[name][begins], NONE) if count else parts[name]

    rows = {
        "producer_id": producer[begins],
        "producer_epoch": of_data("epoch"),
        "last_epoch": of_data("last_epoch"),
        "first_offset": of_data("first_offset"),
        "last_offset": of_data("last_offset"),
        "batches": np.where(has_data, parts["batches"][begins], 0) if count else parts["batches"],
        "records": np.where(has_data, parts["records"][begins], 0) if count else parts["records"],
        "first_timestamp": of_data("first_timestamp"),
        "last_timestamp": of_data("last_timestamp"),
        "marker": of_marker("first_offset"),
        "marker_epoch": of_marker("epoch"),
        "coordinator_epoch": of_marker("coordinator_epoch"),
        "marker_timestamp": of_marker("last_timestamp"),
        "file": parts["file"][begins],
        "position": parts["position"][begins],
        "marker_file": of_marker("file"),
        "outcome": np.where(has_marker, of_marker("kind"), OPEN),
    }
    order = np.argsort(
        np.where(rows["first_offset"] >= 0, rows["first_offset"], rows["marker"]), kind="stable"
    )
    return {name: column[order] for name, column in rows.items()}
