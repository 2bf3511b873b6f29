"""Which transactions of a partition ``read_committed`` does not deliver.

A broker tells a consumer which transactions were aborted, by producer id and first offset, and the
consumer leaves out what that producer wrote up to the marker. Kafka: ``UnifiedLog.read``,
``LocalLog.collectAbortedTransactions``, ``CompletedFetch.nextFetchedRecord``; KIP-98.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.codecs import HeaderTable
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import names
from kafkaspec.log.batch import Batch
from kafkaspec.log.entries import Entries
from kafkaspec.log.headers import readable_headers


class Aborted(NamedTuple):
    """An aborted transaction: its producer, its first offset, and the offset of its marker."""

    producer_id: int
    first_offset: int
    marker: int


class OpenTransaction(NamedTuple):
    """A transaction that no marker has ended.

    Attributes:
        producer_id: of its producer.
        producer_epoch: the one it last wrote with.
        first_offset: of the transaction.
        last_timestamp: the largest of its last batch, ms; -1 for none.
    """

    producer_id: int
    producer_epoch: int
    first_offset: int
    last_timestamp: int


class _Part(NamedTuple):
    """What a batch of a transaction says about it."""

    producer_id: int
    is_control: bool
    base_offset: int
    last_offset: int
    position: int

    @property
    def is_transactional(self) -> bool:
        """No other batch is a part of one."""
        return True


def is_aborted(batch: Batch | _Part, aborted: Sequence[Aborted]) -> bool:
    """Return whether a batch belongs to one of these transactions; a marker does not."""
    if not batch.is_transactional or batch.is_control:
        return False
    return any(
        item.producer_id == batch.producer_id
        and item.first_offset <= batch.base_offset < item.marker
        for item in aborted
    )


def aborted_positions(table: HeaderTable, base: int, aborted: Sequence[Aborted]) -> set[int]:
    """Return the byte offsets of the batches in a table that belong to one of these transactions.

    Args:
        table: headers of entries.
        base: byte offset that its positions count from.
        aborted: the transactions.
    """
    return {part.position for part in _parts(table, base) if is_aborted(part, aborted)}


def aborted_transactions(segments: Callable[[], Iterable[Entries]]) -> list[Aborted]:
    """Return the aborted transactions that have their markers in some segments.

    The transaction index of a segment is trusted. Brokers make one only if a transaction was
    aborted, so for segments without one, the headers of all batches and the markers are read.

    Args:
        segments: returns the segments in order, each time that it is called.

    Raises:
        KafkaSpecError: a file cannot be opened.
    """
    found: list[Aborted] = []
    missing = False
    for segment in segments():
        listed = _listed(segment)
        missing |= listed is None
        found.extend(listed or ())
    if not missing:
        return found
    first: dict[int, int] = {}
    for segment in segments():
        indexed = _listed(segment) is not None
        for part in _transactional(segment):
            if not part.is_control:
                first.setdefault(part.producer_id, part.base_offset)
                continue
            began = first.pop(part.producer_id, None)
            if began is not None and not indexed and _is_abort(segment, part.position):
                found.append(Aborted(part.producer_id, began, part.last_offset))
    return found


def _listed(segment: Entries) -> list[Aborted] | None:
    """Return the entries of the transaction index; None without a readable one."""
    try:
        index = segment.transaction_index
        if index is None:
            return None
        return [
            Aborted(item.producer_id, item.first_offset, item.last_offset) for item in index.entries
        ]
    except KafkaSpecError:
        return None


def _transactional(segment: Entries) -> Iterator[_Part]:
    """Yield what transactional batches say; where some cannot be read, of the others."""
    for found in readable_headers(segment):
        if isinstance(found, tuple):
            yield from _parts(*found)
        elif isinstance(found, Batch) and found.is_transactional:
            yield _Part(
                found.producer_id,
                found.is_control,
                found.base_offset,
                found.last_offset,
                found.position,
            )


def _parts(table: HeaderTable, base: int) -> Iterator[_Part]:
    if names.IS_TRANSACTIONAL not in table.names or not any(table.column(names.IS_TRANSACTIONAL)):
        return
    flags = table.column(names.IS_TRANSACTIONAL)
    columns = [
        table.column(name)
        for name in (names.PRODUCER_ID, names.IS_CONTROL, names.BASE_OFFSET, names.LAST_OFFSET)
    ]
    positions = table.column("position")
    for entry, flag in enumerate(flags):
        if flag and table.has(names.IS_TRANSACTIONAL, entry):
            producer_id, is_control, first, last = (column[entry] for column in columns)
            yield _Part(producer_id, bool(is_control), first, last, base + positions[entry])


def _is_abort(segment: Entries, position: int) -> bool:
    """Return whether a marker aborts; a consumer also skips one that cannot be read."""
    try:
        marker = segment.batch_at(position).marker()
    except KafkaSpecError:
        return False
    return marker is not None and marker.key.type == ControlRecordType.ABORT
