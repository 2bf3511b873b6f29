"""Transactions of a partition in the order of their offsets, from the headers of its batches.

Data and markers belong together by the id of the producer, not by its epoch: with transaction
version 2 a marker has the epoch after that of the data (KIP-890). A marker that compaction has
emptied ends nothing. Kafka: ``ProducerStateManager``, ``ProducerAppendInfo``; KIP-98.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec._generated.python.model.control_record import ControlRecordType, EndTransactionMarker
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files import names as files
from kafkaspec.files.snapshots import TransactionIndex
from kafkaspec.forensics.headers import (
    NAMED,
    BatchRows,
    Column,
    Unread,
    joined_rows,
    named,
    segment_paths,
    tables,
)
from kafkaspec.forensics.strength import Assumption, Strength
from kafkaspec.layout import names
from kafkaspec.log.batch import NO_TIMESTAMP, NONE
from kafkaspec.log.isolation import OpenTransaction
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment

TIMELINE: Final = pa.schema([
    ("producer_id", pa.int64()),
    ("producer_epoch", pa.int16()),
    ("last_epoch", pa.int16()),
    ("first_offset", pa.int64()),
    ("last_offset", pa.int64()),
    ("batches", pa.int64()),
    ("records", pa.int64()),
    ("first_timestamp", pa.int64()),
    ("last_timestamp", pa.int64()),
    ("marker", pa.int64()),
    ("marker_epoch", pa.int16()),
    ("coordinator_epoch", pa.int32()),
    ("marker_timestamp", pa.int64()),
    ("duration_ms", pa.int64()),
    ("outcome", NAMED),
    ("strength", NAMED),
    ("file", NAMED),
    ("position", pa.int64()),
])  # fmt: skip
"""Columns of transactions; timestamps in ms, null for none. ``producer_epoch`` is that of the first
batch, ``last_epoch`` that of the last one; ``file`` and ``position`` are those of the first batch,
or of a marker without data.
``outcome`` is ``committed``, ``aborted``, ``open``, or ``unknown`` where the marker cannot be read.
``duration_ms`` is the marker's time, of the broker's clock, less that of the first record, of the
producer's: it can be negative."""

_COMMITTED, _ABORTED, _OPEN, _UNKNOWN = range(4)
_OUTCOMES: Final = ("committed", "aborted", "open", "unknown")
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
_Marker = tuple[int, int]
"""What a marker does, and the epoch of its coordinator."""


@dataclass
class IndexFinding:
    """A contradiction between a transaction index and the log.

    Attributes:
        file: path of the index, or of the segment that has none.
        entry: number of the entry; None for one that is missing.
        offset: of the marker.
        message: what is wrong.
        strength: how far it is proven.
    """

    file: str
    entry: int | None
    offset: int
    message: str
    strength: Strength = Strength.PROOF

    def row(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self) | {"strength": str(self.strength)}


@dataclass
class Timeline:
    """Transactions of a partition.

    Attributes:
        transactions: see ``TIMELINE``; by first offset, those without data by their marker.
        log_start_offset: the first offset that was read; None without a batch.
        log_end_offset: the offset after the last batch.
        last_stable_offset: first offset of the earliest open transaction, or the end: consumers
            with ``read_committed`` read up to here.
        index: contradictions between transaction indexes and the log.
        index_entries: number of entries that were compared.
        assumptions: what the answers depend on.
        unread: what could not be read.
    """

    transactions: pa.Table
    log_start_offset: int | None
    log_end_offset: int
    last_stable_offset: int
    index: list[IndexFinding]
    index_entries: int
    assumptions: list[Assumption]
    unread: list[KafkaSpecError]

    @property
    def outcomes(self) -> dict[str, int]:
        """Number of transactions by outcome."""
        counted = self.transactions["outcome"].cast(pa.string()).value_counts().to_pylist()
        found = {item["values"]: item["counts"] for item in counted}
        return {name: found.get(name, 0) for name in _OUTCOMES}

    @property
    def open_transactions(self) -> list[OpenTransaction]:
        """The transactions that no marker has ended, by first offset."""
        rows = self.transactions.filter(
            pc.equal(self.transactions["outcome"].cast(pa.string()), "open")
        )
        names_of = ("producer_id", "last_epoch", "first_offset", "last_timestamp")
        return [
            OpenTransaction(*(NONE if row[name] is None else row[name] for name in names_of))
            for row in rows.to_pylist()
        ]


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

    def take(self, table: BatchRows) -> None:
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
    def aborted(self) -> Column:
        """The aborted transactions that have data in the log: producer, first offset, marker."""
        rows = _rows(self.joined)
        chosen = (rows["outcome"] == _ABORTED) & (rows["first_offset"] >= 0)
        names_of = ("producer_id", "first_offset", "marker")
        return np.stack([rows[name][chosen] for name in names_of], axis=1)


def read_timeline(log: Partition | Segment) -> Timeline:
    """Return the transactions of a partition, or of a segment alone.

    Only headers of batches and the records of markers are read; checksums are not verified. A
    transaction that began before the first batch begins where the producer snapshot at the start of
    the log says.

    Args:
        log: the partition or segment.

    Raises:
        KafkaSpecError: nothing of it can be read.
    """
    unread = Unread()
    walk = TransactionWalk(log, unread)
    for table in tables(log, unread):
        walk.take(table)
    rows = _rows(walk.joined)
    transactions = _transactions(rows, segment_paths(log))
    is_open = (rows["outcome"] == _OPEN) & (rows["first_offset"] >= 0)
    open_offsets = rows["first_offset"][is_open]
    start = (log.log_start_offset or 0) if isinstance(log, Partition) else 0
    stable = int(open_offsets.min()) if len(open_offsets) else walk.end
    index, entries = _check_index(log, rows, walk.end, unread)
    return Timeline(
        transactions=transactions,
        log_start_offset=walk.first,
        log_end_offset=walk.end,
        last_stable_offset=max(stable, start),
        index=index,
        index_entries=entries,
        assumptions=_assumptions(log, walk.end),
        unread=unread.errors,
    )


def _none() -> Column:
    return np.empty(0, np.int64)


def _assumptions(log: Partition | Segment, end: int) -> list[Assumption]:
    listed = None
    if isinstance(log, Partition):
        try:
            listed = log.high_watermark
        except KafkaSpecError:
            listed = None
    why = "every record counts as replicated"
    if listed is not None and listed < end:
        why += f"; the checkpoint of the broker says {listed}"
    return [Assumption("high watermark", str(end), why)]


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


def _take(table: BatchRows, read: _Read, unread: Unread) -> None:
    last = table["last_offset"]
    if read.first is None:
        read.first = int(table["base_offset"][0])
    read.end = max(read.end, int(last.max()) + 1)
    producer = table["producer_id"]
    control = table["control"] != 0
    wanted = (producer > NONE) & (control | (table["transactional"] != 0))
    if not wanted.any():
        return
    rows = np.flatnonzero(wanted)
    kind = np.full(len(rows), _DATA, np.int64)
    coordinator = np.full(len(rows), NONE, np.int64)
    at_control = np.flatnonzero(control[rows])
    markers = _markers(table, rows[at_control], read.known, unread)
    kind[at_control], coordinator[at_control] = markers[:, 0], markers[:, 1]
    max_timestamp, horizon = table["max_timestamp"][rows], table["delete_horizon"][rows]
    parts = {
        "producer_id": producer[rows],
        "kind": kind,
        "epoch": table["producer_epoch"][rows],
        "last_epoch": table["producer_epoch"][rows],
        "first_offset": table["base_offset"][rows],
        "last_offset": last[rows],
        "batches": np.ones(len(rows), np.int64),
        "records": table["num_records"][rows],
        "first_timestamp": np.where(horizon != 0, NO_TIMESTAMP, table["base_timestamp"][rows]),
        "last_timestamp": max_timestamp,
        "coordinator_epoch": coordinator,
        "file": np.full(len(rows), table.file, np.int64),
        "position": table.position[rows],
    }
    there = kind != _EMPTIED
    if not there.all():
        parts = {name: column[there] for name, column in parts.items()}
    read.parts.append(_grouped(parts))


def _markers(table: BatchRows, rows: Column, known: dict[bytes, _Marker], unread: Unread) -> Column:
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


def _payloads(table: BatchRows, rows: Column) -> tuple[Column, Column] | None:
    """Return where the records of batches are, and their sizes; None if the codec does not say."""
    if table.scanned is None:
        return None
    headers, base = table.scanned
    place, size = f"{names.RECORDS}.position", f"{names.RECORDS}.size"
    if place not in headers.names:
        return None
    columns = (
        np.frombuffer(headers.column(name), np.int64, headers.count)[rows]  # type: ignore[call-overload]
        for name in (place, size)
    )
    at, sizes = columns
    # Kind and number of records are in the header, so the same bytes may be emptied or packed.
    usual = (table["num_records"][rows] == 1) & _plain(headers, rows)
    return (at + base, np.where(usual, sizes, 0))


def _plain(headers: Any, rows: Column) -> Any:
    packed = np.frombuffer(headers.column(names.COMPRESSION), np.int64, headers.count)
    return packed[rows] == 0


def _known(
    table: BatchRows, row: int, key: bytes, known: dict[bytes, _Marker], unread: Unread
) -> _Marker:
    found = known.get(key)
    if found is None:
        errors = len(unread.errors)
        found = _marker(table, row, unread)
        if len(unread.errors) == errors and len(known) < _MOST_MARKERS:
            known[key] = found
    return found


def _marker(table: BatchRows, row: int, unread: Unread) -> _Marker:
    """Return what the marker in a row does, and the epoch of its coordinator."""
    segment, position = table.segment, int(table.position[row])
    try:
        control = segment.batch_at(position).marker()
        if control is None:
            return _EMPTIED, NONE
        if not isinstance(control.body, EndTransactionMarker):
            text = f"a control record of a producer has type {control.key.type}"
            error = make_error(Reason.INVALID_VALUE, text, file=segment.name, offset=position)
            unread.errors.append(error)
            return _UNKNOWN, NONE
        aborts = control.key.type == ControlRecordType.ABORT
        return _ABORTED if aborts else _COMMITTED, control.body.coordinator_epoch
    except KafkaSpecError as error:
        unread.errors.append(error)
        return _UNKNOWN, NONE


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


def _rows(parts: _Parts) -> _Parts:
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
        "outcome": np.where(has_marker, of_marker("kind"), _OPEN),
    }
    order = np.argsort(
        np.where(rows["first_offset"] >= 0, rows["first_offset"], rows["marker"]), kind="stable"
    )
    return {name: column[order] for name, column in rows.items()}


def _transactions(rows: _Parts, paths: list[str]) -> pa.Table:
    timed = (rows["first_timestamp"] >= 0) & (rows["marker_timestamp"] >= 0)
    arrays = []
    for item in TIMELINE:
        if item.name == "outcome":
            array = named(rows["outcome"], _OUTCOMES)
        elif item.name == "strength":
            array = named((rows["outcome"] == _UNKNOWN).astype(np.int64), ("proof", "unknown"))
        elif item.name == "file":
            array = named(rows["file"], paths)
        elif item.name == "duration_ms":
            spent = rows["marker_timestamp"] - rows["first_timestamp"]
            array = pa.array(spent, item.type, mask=~timed)
        elif item.name in ("producer_id", "batches", "records"):
            array = pa.array(rows[item.name], item.type)
        else:
            array = pa.array(rows[item.name], mask=rows[item.name] < 0).cast(item.type)
        arrays.append(array.cast(item.type))
    return pa.Table.from_arrays(arrays, schema=TIMELINE)


# -- the transaction index --------------------------------------------------------------------


def stable_offsets(first: Column, marker: Column, ends: Column) -> Column:
    """Return the last stable offset after each of some markers.

    Args:
        first: first offsets of transactions, ascending.
        marker: offsets of their markers; the largest number for open ones.
        ends: offsets of markers.

    The earliest transaction that is still open is the first one whose marker is later; the largest
    marker of all transactions up to one rises, so that a binary search finds it.
    """
    reached = np.maximum.accumulate(marker) if len(marker) else marker
    place = np.searchsorted(reached, ends, side="right")
    still = np.append(first, np.iinfo(np.int64).max)[place]
    stable: Column = np.minimum(still, ends + 1)
    return stable


def _check_index(
    log: Partition | Segment, rows: _Parts, end: int, unread: Unread
) -> tuple[list[IndexFinding], int]:
    """Compare the transaction indexes with the ABORT markers."""
    found: list[IndexFinding] = []
    compared = 0
    paths_of_indexes = list(index_paths(log))
    if all(path is None for _, path in paths_of_indexes):
        return found, compared
    data = rows["first_offset"] >= 0
    first = rows["first_offset"][data]
    marker = np.where(rows["marker"] < 0, np.iinfo(np.int64).max, rows["marker"])[data]
    aborts = np.flatnonzero(data & (rows["outcome"] == _ABORTED))
    stable = stable_offsets(first, marker, rows["marker"][aborts])
    by_marker = np.argsort(rows["marker"][aborts], kind="stable")
    aborts, stable = aborts[by_marker], stable[by_marker]
    markers = rows["marker"][aborts]
    bare = rows["marker"][~data & (rows["outcome"] == _ABORTED)]
    listed: list[Column] = []
    without: set[int] = set()
    left: list[tuple[str, int, int, int]] = []
    for number, path in paths_of_indexes:
        if path is None:
            without.add(number)
            continue
        try:
            columns = _entries(path)
        except KafkaSpecError as error:
            unread.errors.append(error)
            without.add(number)
            continue
        last = columns["last_offset"]
        compared += len(last)
        listed.append(last)
        at = np.searchsorted(markers, last)
        known = at < len(markers)
        known[known] = markers[at[known]] == last[known]
        found += _of_known(path, columns, rows, aborts, stable, at, known)
        for place in np.flatnonzero(~known & ~np.isin(last, bare)).tolist():
            offset = int(last[place])
            if offset >= end:
                text = f"its marker at {offset} is after the end of the log, {end}"
                found.append(IndexFinding(str(path), place, offset, text))
            else:
                left.append((str(path), place, offset, int(columns["producer_id"][place])))
    held = _held(log, np.array(sorted({item[2] for item in left}), np.int64))
    for file, place, offset, producer in left:
        if offset in held:
            text = f"there is no ABORT marker of producer {producer} at {offset}"
            found.append(IndexFinding(file, place, offset, text))
    paths = segment_paths(log)
    missing = ~np.isin(markers, np.concatenate(listed)) if listed else np.ones(len(markers), bool)
    missing &= ~np.isin(rows["marker_file"][aborts], sorted(without))
    for row in aborts[missing].tolist():
        offset, producer, begin, number = (
            int(rows[name][row])
            for name in ("marker", "producer_id", "first_offset", "marker_file")
        )
        text = f"no entry for the transaction of producer {producer} from {begin}"
        found.append(IndexFinding(paths[number], None, offset, f"{text}, aborted at {offset}"))
    return found, compared


def _entries(path: Path) -> dict[str, Column]:
    """Return the entries of a transaction index in columns."""
    columns = TransactionIndex(path).columns()
    return {name: np.array(values, np.int64) for name, values in columns.items()}


def _of_known(
    path: Path,
    columns: dict[str, Column],
    rows: _Parts,
    aborts: Column,
    stable: Column,
    at: Column,
    known: Any,
) -> Iterator[IndexFinding]:
    """Yield what the entries for markers with data say otherwise than the log."""
    places = np.flatnonzero(known)
    mine = at[places]
    producer, begin = (rows[name][aborts[mine]] for name in ("producer_id", "first_offset"))
    after, first = stable[mine], columns["first_offset"][places]
    other = columns["producer_id"][places] != producer
    later = first > begin
    # Compaction may have removed what was open then, or the beginning.
    stays = columns["last_stable_offset"][places] != after
    stays &= ~other & (first == begin)
    for number in np.flatnonzero(other | later | stays).tolist():
        place = int(places[number])
        entry = {name: int(column[place]) for name, column in columns.items()}
        problems = []
        strength = Strength.PROOF
        if other[number]:
            problems.append(f"producer {entry['producer_id']}, in the log {producer[number]}")
        if later[number]:
            problems.append(f"first offset {entry['first_offset']}, in the log {begin[number]}")
        if stays[number]:
            strength = Strength.LIKELY
            text = f"last stable offset {entry['last_stable_offset']}, by the log {after[number]}"
            problems.append(text)
        text = "; ".join(problems)
        yield IndexFinding(str(path), place, entry["last_offset"], text, strength)


def index_paths(log: Partition | Segment) -> Iterator[tuple[int, Path | None]]:
    """Yield the transaction index of each segment; None for one that was copied without files."""
    paths = log.segment_paths if isinstance(log, Partition) else [log.path]
    for number, path in enumerate(paths):
        parsed = None if path is None else files.parse_segment(path.name)
        if path is None or parsed is None:
            continue
        index = path.with_name(parsed.sibling(files.TRANSACTION_INDEX))
        if index.exists():
            yield number, index
        elif not path.with_name(parsed.sibling(files.OFFSET_INDEX)).exists():
            yield number, None


def _held(log: Partition | Segment, offsets: Column) -> set[int]:
    """Return those of some offsets at which the log has a batch that is not emptied."""
    found: set[int] = set()
    for table in tables(log, Unread()) if len(offsets) else ():
        row = np.searchsorted(table["base_offset"], offsets, side="right") - 1
        inside = (row >= 0) & (table["last_offset"][row] >= offsets)
        inside &= (table["base_offset"][row] <= offsets) & (table["num_records"][row] > 0)
        found.update(offsets[inside].tolist())
    return found
