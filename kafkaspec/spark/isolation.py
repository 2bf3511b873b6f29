"""Filter for ``read_committed``, which does not deliver records of aborted transactions.

A broker tells a consumer which transactions were aborted, by producer id and first offset, and the
consumer leaves out what that producer wrote up to the marker. Kafka: ``UnifiedLog.read``,
``LocalLog.collectAbortedTransactions``, ``CompletedFetch.nextFetchedRecord``; KIP-98.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.arrow.headers import readable_headers
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment

Aborted = tuple[int, int, int]
"""Producer id, first offset, offset of the marker."""

COLUMNS: Final = ("offset", "producer_id", "transactional")
"""Columns that ``without_aborted`` reads."""
_HEADERS: Final = ["producer_id", "control", "base_offset", "last_offset", "position"]


def aborted_transactions(partition: Partition, start_offset: int | None = None) -> list[Aborted]:
    """Return the aborted transactions with markers from the segment of ``start_offset`` on.

    The transaction index of a segment is trusted. Brokers make one only if a transaction was
    aborted, so for segments without one, the headers of all batches and the markers are read.

    Raises:
        KafkaSpecError: a file cannot be opened.
    """
    found: list[Aborted] = []
    missing = False
    for segment in partition.segments_from(start_offset):
        listed = _listed(segment)
        missing |= listed is None
        found.extend(listed or ())
    if not missing:
        return found
    first: dict[int, int] = {}
    for segment in partition.segments_from(start_offset):
        indexed = _listed(segment) is not None
        for batch in _transactional(segment):
            producer_id = batch["producer_id"]
            if not batch["control"]:
                first.setdefault(producer_id, batch["base_offset"])
                continue
            began = first.pop(producer_id, None)
            if began is not None and not indexed and _is_abort(segment, batch["position"]):
                found.append((producer_id, began, batch["last_offset"]))
    return found


def _listed(segment: Segment) -> list[Aborted] | None:
    """Return the entries of the transaction index; None without a readable one."""
    try:
        index = segment.transaction_index
        if index is None:
            return None
        return [(item.producer_id, item.first_offset, item.last_offset) for item in index.entries]
    except KafkaSpecError:
        return None


def _transactional(segment: Segment) -> Iterator[dict[str, Any]]:
    """Yield the headers of transactional batches; where some cannot be read, of the others."""
    for found in readable_headers(segment):
        if isinstance(found, pa.RecordBatch):
            yield from found.filter(found.column("transactional")).select(_HEADERS).to_pylist()


def _is_abort(segment: Segment, position: int) -> bool:
    """Return whether a marker aborts; a consumer also skips one that cannot be read."""
    try:
        records = segment.batch_at(position).control_records()
    except KafkaSpecError:
        return False
    return bool(records) and records[0].type_name == ControlRecordType.ABORT.name


def last_stable_offset(partition: Partition, *, strict: bool) -> int | None:
    """Return where ``read_committed`` ends; None if damage hides it and that is no error.

    Raises:
        KafkaSpecError: a segment cannot be read, and ``strict``.
    """
    try:
        return partition.last_stable_offset
    except KafkaSpecError:
        if strict:
            raise
        return None


def without_aborted(batch: pa.RecordBatch, aborted: Sequence[Aborted]) -> pa.RecordBatch:
    """Return the rows outside aborted transactions; markers stay."""
    if batch.num_rows == 0:
        return batch
    offsets, producers = batch.column("offset"), batch.column("producer_id")
    span = pc.min_max(offsets)
    low, high = span["min"].as_py(), span["max"].as_py()
    dropped = None
    for producer_id, first, marker in aborted:
        if first > high or marker < low:
            continue
        inside = pc.and_(pc.greater_equal(offsets, first), pc.less(offsets, marker))
        inside = pc.and_(inside, pc.equal(producers, producer_id))
        dropped = inside if dropped is None else pc.or_(dropped, inside)
    if dropped is None:
        return batch
    return batch.filter(pc.invert(pc.and_(dropped, batch.column("transactional"))))
