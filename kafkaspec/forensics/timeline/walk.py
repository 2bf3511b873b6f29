"""Transactions of a partition in the order of their offsets, from the headers of its batches.

Data and markers belong together by the id of the producer, not by its epoch: with transaction
version 2 a marker has the epoch after that of the data (KIP-890). A marker that compaction has
emptied ends nothing. Kafka: ``ProducerStateManager``, ``ProducerAppendInfo``; KIP-98.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Final

import numpy as np

from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.headers import PerBatch, Unread, joined_rows, open_before, rows_of
from kafkaspec.layout import names
from kafkaspec.log.batch import NO_TIMESTAMP, NONE
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.markers import markers
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.log.transactions import OpenTransaction, Outcome, producer_runs

OUTCOMES: Final = tuple(str(each) for each in Outcome)
_COMMITTED, ABORTED, OPEN, UNKNOWN = range(4)
_EMPTIED: Final = 4
"""A marker that compaction has emptied."""
_DATA: Final = -1
_PARTS: Final = (
    "producer_id", "kind", "epoch", "last_epoch", "first_offset", "last_offset", "batches",
    "records", "first_timestamp", "last_timestamp", "coordinator_epoch", "file", "position",
)  # fmt: skip
_OF_OPEN: Final = ("producer_id", "epoch", "first_offset", "last_timestamp")
"""The columns of an ``OpenTransaction``."""
_ENDS: Final = frozenset({"last_epoch", "last_offset", "last_timestamp"})
_SUMS: Final = frozenset({"batches", "records"})

_Parts = dict[str, PerBatch]
"""Data of a producer without a marker of it in between, or a marker, in each row."""
TransactionRows = dict[str, PerBatch]
"""A transaction in each row, by first offset, those without data by their marker."""


class TimelineRows:
    """Joins the transactions of a log, table by table."""

    def __init__(self, log: Partition | Segment, unread: Unread) -> None:
        """Begin with the transactions that the snapshot at the start of the log has open."""
        self.first: int | None = None
        self.end = 0
        self._unread = unread
        self._parts = [_before(open_before(log))]

    def take(self, table: HeaderTable) -> None:
        """Take the next headers."""
        if self.first is None:
            self.first = int(table.numpy(names.BASE_OFFSET)[0])
        self.end = max(self.end, int(table.numpy(names.LAST_OFFSET).max()) + 1)
        part = _part(table, self._unread)
        if part is not None:
            self._parts.append(part)

    @property
    def transactions(self) -> TransactionRows:
        """The transactions; ``outcome`` is a number of ``OUTCOMES``."""
        parts = self._parts
        return _rows(
            _grouped({name: np.concatenate([part[name] for part in parts]) for name in _PARTS})
        )


def _before(found: Sequence[OpenTransaction]) -> _Parts:
    """Return the transactions that were open at the start of the log."""
    columns = np.array(sorted(found, key=attrgetter("first_offset")), np.int64).reshape(-1, 4)
    made = {name: np.zeros(len(found), np.int64) for name in _PARTS}
    made |= dict(zip(_OF_OPEN, columns.T, strict=True))
    made["last_epoch"], made["last_offset"] = made["epoch"], made["first_offset"]
    made["first_timestamp"] = np.full(len(found), NO_TIMESTAMP, np.int64)
    made["kind"] = np.full(len(found), _DATA, np.int64)
    made["position"] = made["coordinator_epoch"] = np.full(len(found), NONE, np.int64)
    return made


def _part(table: HeaderTable, unread: Unread) -> _Parts | None:
    """Return the rows of a table that are of transactions."""
    producer = table.numpy(names.PRODUCER_ID)
    control = table.numpy(names.IS_CONTROL) != 0
    wanted = (producer > NONE) & (control | (table.numpy(names.IS_TRANSACTIONAL) != 0))
    if not wanted.any():
        return None
    rows = np.flatnonzero(wanted)
    kind = np.full(len(rows), _DATA, np.int64)
    coordinator = np.full(len(rows), NONE, np.int64)
    at_control = np.flatnonzero(control[rows])
    for number, marker in zip(at_control, markers(table, rows[at_control].tolist()), strict=True):
        if isinstance(marker, KafkaSpecError):
            unread.errors.append(marker)
            kind[number] = UNKNOWN
        elif marker is None:
            kind[number] = _EMPTIED
        else:
            kind[number] = ABORTED if marker.aborts else _COMMITTED
            coordinator[number] = marker.coordinator_epoch
    parts = rows_of(table, rows) | {"kind": kind, "coordinator_epoch": coordinator}
    parts["last_epoch"] = parts["epoch"]
    there = kind != _EMPTIED
    return _grouped({name: column[there] for name, column in parts.items()})


# -- joining ----------------------------------------------------------------------------------


def _grouped(parts: _Parts) -> _Parts:
    """Join the data of each producer between its markers; by producer, each in order."""
    if not len(parts["producer_id"]):
        return parts
    order, begins = producer_runs(parts["producer_id"], parts["kind"] != _DATA)
    return joined_rows(parts, order, begins, _ENDS, _SUMS)


def _rows(parts: _Parts) -> TransactionRows:
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

    def of_marker(name: str) -> PerBatch:
        return np.where(has_marker, parts[name][marker], NONE) if count else parts[name]

    def of_data(name: str) -> PerBatch:
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
