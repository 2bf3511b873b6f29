"""Logs with transaction indexes that say too much, and what Kafka's consumer makes of them."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from heapq import heapify, heappop
from pathlib import Path
from typing import Any, NamedTuple

import kafkaspec as ks
from kafkaspec._generated.python.model.transaction_index import AbortedTransaction
from kafkaspec.broker.producer_state import transaction_index
from kafkaspec.files.names import LOG, TRANSACTION_INDEX

ABORT, COMMIT = 0, 1
NO_PRODUCER = -1


class Appended(NamedTuple):
    """A batch: its producer, its first and last offset, and what it is."""

    producer: int
    first: int
    last: int
    kind: str
    """``data`` of a transaction, ``plain``, ``abort`` or ``commit``."""


def marker(offset: int, producer: int, kind: int) -> bytes:
    """Return a batch with a marker."""
    record = ks.Record(offset, offset, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 0))
    return ks.encode(
        [record], producer_id=producer, producer_epoch=0, transactional=True, control=True
    )


def delivered(batches: Sequence[Appended], aborted: Sequence[tuple[int, int]]) -> list[int]:
    """Return the offsets that a consumer with ``read_committed`` gets of one fetch.

    It is told of producers and first offsets. Kafka: ``CompletedFetch.nextFetchedRecord``,
    ``consumeAbortedTransactionsUpTo``, ``isBatchAborted``, ``containsAbortMarker``.
    """
    queue = [(first, producer) for producer, first in aborted]
    heapify(queue)
    producers: set[int] = set()
    found: list[int] = []
    for batch in batches:
        if batch.producer != NO_PRODUCER:
            while queue and queue[0][0] <= batch.last:
                producers.add(heappop(queue)[1])
            if batch.kind == "abort":
                producers.discard(batch.producer)
            elif batch.kind == "data" and batch.producer in producers:
                continue
        if batch.kind in ("data", "plain"):
            found += range(batch.first, batch.last + 1)
    return found


def with_wrong_first_offsets(folder: Path, chance: random.Random) -> tuple[Path, list[int]]:
    """Write a partition whose transaction index begins transactions anywhere, and some twice.

    Each ABORT marker of the log is in it.

    Returns:
        The log, and the offsets that a consumer gets.
    """
    batches: list[Appended] = []
    data = b""
    offset = 0
    actions = [chance.choice(("data", "data", "plain", "abort", "commit")) for _ in range(30)]
    steps = [(chance.randrange(3), action) for action in actions]
    for producer, action in [*steps, *((each, "abort") for each in range(3))]:  # all of them end
        count = 1 if action in ("abort", "commit") else chance.randrange(1, 5)
        if action == "plain":
            producer = NO_PRODUCER
        batches.append(Appended(producer, offset, offset + count - 1, action))
        if action in ("abort", "commit"):
            data += marker(offset, producer, ABORT if action == "abort" else COMMIT)
        else:
            records = [ks.Record(offset + i, offset, b"k", b"v") for i in range(count)]
            own: dict[str, Any] = {
                "producer_id": producer,
                "producer_epoch": 0,
                "transactional": True,
            }
            data += ks.encode(records, **own if action == "data" else {})
        offset += count
    with ks.SegmentWriter(folder) as writer:
        writer.append(data)
    (log,) = folder.glob(f"*{LOG}")
    entries = [
        AbortedTransaction(
            producer_id=batch.producer,
            first_offset=chance.randrange(offset),
            last_offset=batch.last,
            last_stable_offset=batch.last,
        )
        for batch in batches
        if batch.kind == "abort"
        for _ in range(chance.choice((1, 1, 1, 2)))
    ]
    log.with_suffix(TRANSACTION_INDEX).write_bytes(transaction_index(entries))
    told = [(entry.producer_id, entry.first_offset) for entry in entries]
    return log, delivered(batches, told)
