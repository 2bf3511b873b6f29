"""Track the state of producers, and make producer snapshots and aborted transactions from batches.

Kafka: ``ProducerStateManager``, ``ProducerAppendInfo``, ``ProducerStateEntry``; KIP-98. Batches are
accepted as by a follower: an epoch or a sequence number that a leader would refuse is already in
the log.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model.producer_snapshot import ProducerEntry
from kafkaspec._generated.python.model.transaction_index import AbortedTransaction
from kafkaspec.broker.profiles import MarkerTrace, Profile
from kafkaspec.codecs import Codec, Origin
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import snapshots
from kafkaspec.files.arrays import serialize_array
from kafkaspec.layout import names
from kafkaspec.log import markers
from kafkaspec.log.batch import NO_TIMESTAMP, NONE, payload_origin
from kafkaspec.log.control import ControlRecord
from kafkaspec.log.header_table import HeaderTable


@dataclass(slots=True)
class EndMarker:
    """The end of a transaction, from its control record."""

    aborted: bool
    coordinator_epoch: int
    timestamp: int


_NAMES: Final = tuple(field.name for field in fields(ProducerEntry))
_VALUES: Final = attrgetter(*_NAMES)
_SAFE_TIMESTAMP: Final = 1 << 62
"""Sums of smaller timestamps do not overflow."""


class ProducerState:
    """The state of all producers of a partition.

    Args:
        entries: entries of a snapshot that is valid at the first offset to be appended.

    Attributes:
        refused: number of the first entry, in the last call of ``append``, that a broker which
            recovers the log fails at, and why; None if there is none.
    """

    def __init__(self, profile: Profile, entries: Iterable[ProducerEntry] = ()) -> None:
        self._trace = profile.marker_trace
        self._empty_aborts = profile.empty_aborts
        self._delta_of_sequence = profile.delta_of_sequence
        self._entries: dict[int, ProducerEntry] = {}
        self.refused: tuple[int, str] | None = None
        self._last_aborted = NONE
        """Offset of the last marker in the transaction index of the segment."""
        self._replayed: list[tuple[int, int]] | None = None
        self._ongoing: set[int] = set()
        """First offsets of open transactions: a broker has one for each offset."""
        self._order: list[int] = []
        self._changed: set[int] = set()
        self._written: dict[int, bytes] = {}
        self._open: dict[int, int] = {}
        """First offset of the open transaction of a producer, by its id."""
        self._begun: list[tuple[int, int]] = []
        """A heap of first offsets and producers; transactions not in ``_open`` have ended."""
        for entry in entries:
            self._entries[entry.producer_id] = replace(entry)
            self._changed.add(entry.producer_id)
            if entry.current_txn_first_offset != NONE:
                self._begin(entry.producer_id, entry.current_txn_first_offset)

    def __len__(self) -> int:
        """Number of producers."""
        return len(self._entries)

    @property
    def entries(self) -> list[ProducerEntry]:
        """The state of each producer, ordered by id. Kafka has them in hash order."""
        ordered = (self._entries[producer_id] for producer_id in sorted(self._entries))
        return [
            ProducerEntry(**dict(zip(_NAMES, _VALUES(entry), strict=True))) for entry in ordered
        ]

    @property
    def first_open_offset(self) -> int | None:
        """First offset of the earliest open transaction; None if none is open."""
        while self._begun:
            offset, producer_id = self._begun[0]
            if self._open.get(producer_id) == offset:
                return offset
            heapq.heappop(self._begun)
        return None

    def begin_segment(self) -> None:
        """Begin a segment, whose transaction index is empty."""
        self._last_aborted = NONE

    def _begin(self, producer_id: int, first_offset: int) -> None:
        self._ongoing.add(first_offset)
        self._open[producer_id] = first_offset
        heapq.heappush(self._begun, (first_offset, producer_id))

    def append(self, headers: HeaderTable, first: int, last: int) -> list[AbortedTransaction]:
        """Add the entries from number ``first`` up to, but not including, ``last``.

        Returns:
            The transactions that these entries abort, before one that is ``refused``.

        Raises:
            KafkaSpecError: a transaction marker cannot be read.
        """
        self.refused = None
        ids = headers.producer_id[first:last]
        aborted: list[AbortedTransaction] = []
        if max(ids, default=NONE) <= NONE:
            return aborted
        for number, producer_id in enumerate(ids, first):
            if producer_id <= NONE:
                continue
            if headers.control[number]:
                found = self._end(headers, number)
                if found is not None and self.refused is None:
                    aborted.append(found)
            else:
                self._data(headers, number, producer_id)
        return aborted

    def _data(self, headers: HeaderTable, number: int, producer_id: int) -> None:
        entry = self._of(producer_id, headers.producer_epoch[number])
        last_offset, first_offset = headers.last_offset[number], headers.first_offset[number]
        if self._delta_of_sequence:
            delta = headers.last_sequence[number] - headers.base_sequence[number]
            first_offset = last_offset - delta
        entry.last_sequence = headers.last_sequence[number]
        entry.last_offset = last_offset
        entry.offset_delta = last_offset - first_offset
        entry.timestamp = headers.max_timestamp[number]
        if not headers.transactional[number]:
            if entry.current_txn_first_offset != NONE:
                detail = "the batch is in no transaction, but its producer has one open"
                self._refuse(number, detail)
        elif entry.current_txn_first_offset == NONE:
            entry.current_txn_first_offset = first_offset
            self._begin(producer_id, first_offset)

    def _complete(self, number: int, first_offset: int) -> None:
        if first_offset in self._ongoing:
            self._ongoing.discard(first_offset)
        else:
            self._refuse(number, f"a transaction from offset {first_offset} has ended before")

    def replay(self, headers: HeaderTable, first: int, last: int) -> None:
        """Add entries that a broker reads at once: transactions end after the last of them.

        Raises:
            KafkaSpecError: a transaction marker cannot be read.
        """
        self._replayed = []
        self.append(headers, first, last)
        completed, self._replayed = self._replayed, None
        for number, first_offset in completed:
            self._complete(number, first_offset)

    def _refuse(self, number: int, detail: str) -> None:
        if self.refused is None:
            self.refused = number, detail

    def _of(self, producer_id: int, epoch: int) -> ProducerEntry:
        """Return the entry of a producer, without its last batch if that has another epoch."""
        self._changed.add(producer_id)
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = snapshots.new_producer_entry(
                producer_id=producer_id,
                producer_epoch=epoch,
                last_sequence=NONE,
                last_offset=NONE,
                offset_delta=0,
                timestamp=NO_TIMESTAMP,
                coordinator_epoch=NONE,
                current_txn_first_offset=NONE,
            )
        elif entry.producer_epoch != epoch:
            entry.producer_epoch = epoch
            entry.last_sequence = entry.last_offset = NONE
            entry.offset_delta = 0
            if self._trace is MarkerTrace.NOTHING:
                entry.timestamp = NO_TIMESTAMP
        return entry

    def _end(self, headers: HeaderTable, number: int) -> AbortedTransaction | None:
        """Add a transaction marker; return the transaction if the marker aborts one."""
        marker = read_marker(headers, number)
        offset, producer_id = headers.first_offset[number], headers.producer_id[number]
        if marker is None:
            if producer_id not in self._entries:
                self._of(producer_id, NONE)
            return None
        entry = self._of(producer_id, headers.producer_epoch[number])
        entry.coordinator_epoch = marker.coordinator_epoch
        if self._trace is not MarkerTrace.NOTHING:
            entry.timestamp = marker.timestamp
        if self._trace is MarkerTrace.BATCH:
            entry.last_offset, entry.offset_delta = offset, 0
        entry.current_txn_first_offset = NONE
        first_offset = self._open.pop(producer_id, None)
        if first_offset is None:
            if not self._empty_aborts:
                return None
            first_offset = offset
        elif self._replayed is None:
            self._complete(number, first_offset)
        else:
            self._replayed.append((number, first_offset))
        if not marker.aborted:
            return None
        if self._replayed is None and offset <= self._last_aborted:
            last = self._last_aborted
            self._refuse(number, f"its transaction ends at {offset}, and one before it at {last}")
        self._last_aborted = offset
        still_open = self.first_open_offset
        return AbortedTransaction(
            producer_id=producer_id,
            first_offset=first_offset,
            last_offset=offset,
            last_stable_offset=offset + 1 if still_open is None else still_open,
        )

    def snapshot(self, codec: Codec) -> bytes:
        """Return the bytes of a producer snapshot, with entries ordered by producer id.

        An entry is written once for all snapshots until it changes: there are as many snapshots as
        segments, and most producers write to few of them.
        """
        if len(self._order) < len(self._entries):
            self._order = sorted(self._entries)
        for producer_id in self._changed:
            entry = self._entries[producer_id]
            self._written[producer_id] = snapshots.serialize_entry(entry, codec)
        self._changed.clear()
        joined = snapshots.join_entries([self._written[item] for item in self._order], codec)
        if joined is None:
            entries = [self._entries[item] for item in self._order]
            return snapshots.serialize_snapshot(entries, codec)
        return joined


def transaction_index(aborted: Iterable[AbortedTransaction]) -> bytes:
    """Return the bytes of a transaction index."""
    items = list(aborted)
    key = snapshots.ABORTED_TRANSACTION
    columns = {
        field.id: [getattr(item, field.id) for item in items] for field in LAYOUTS[key].fields
    }
    return serialize_array(key, columns)


def read_marker(headers: HeaderTable, number: int) -> EndMarker | None:
    """Return the marker of a producer's control batch; None if compaction emptied the batch.

    The marker is read once and kept in ``headers``.

    Raises:
        KafkaSpecError: the marker cannot be read, or is of another kind.
    """
    if not headers.markers_read:
        headers.markers_read = True
        headers.known |= _alike_markers(headers)
    if number not in headers.known:
        headers.known[number] = _read_alone(headers, number)
    marker: EndMarker | None = headers.known[number]
    return marker


def _read_alone(headers: HeaderTable, number: int) -> EndMarker | None:
    batch = headers.batch(number)
    found = batch.marker()
    return None if found is None else marker_of(found, payload_origin(batch))


def _alike_markers(headers: HeaderTable) -> dict[int, EndMarker]:
    """Return the markers of a table, of which those with the same bytes are read once.

    Their bytes hold the difference of the timestamp from that of the batch.
    """
    pairs = enumerate(zip(headers.control, headers.producer_id, strict=True))
    rows = [number for number, (control, producer) in pairs if control and producer > NONE]
    read: dict[bytes, EndMarker] = {}
    found = {}
    for row, payload in zip(rows, markers.payloads(headers, rows), strict=True):
        if payload is None or headers.timestamp_type[row]:
            continue
        base = headers.list(names.BASE_TIMESTAMP)[row]
        if not 0 <= base < _SAFE_TIMESTAMP:
            continue
        alike = read.get(payload)
        if alike is None:
            with suppress(KafkaSpecError):  # each of them is an error at its own place
                marker = _read_alone(headers, row)
                if marker is not None and 0 <= marker.timestamp < _SAFE_TIMESTAMP:
                    read[payload] = replace(marker, timestamp=marker.timestamp - base)
                    found[row] = marker
        else:
            found[row] = EndMarker(alike.aborted, alike.coordinator_epoch, alike.timestamp + base)
    return found


def marker_of(control: ControlRecord, origin: Origin) -> EndMarker:
    """Return the marker of a control record; see ``kafkaspec.log.markers.marker_of``."""
    marker = markers.marker_of(control, origin)
    return EndMarker(marker.aborts, marker.coordinator_epoch, control.record.timestamp)
