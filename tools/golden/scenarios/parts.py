"""Common parts of scenarios."""

from __future__ import annotations

from collections.abc import Iterable

from tools.brokers.client import Record
from tools.brokers.versions import SEGMENT_BYTES
from tools.golden import payloads
from tools.golden.model import DEFAULT_PRODUCER, Alter, AwaitCleaned, Begin, End, Send, Step

TEN_YEARS_MS = "315360000000"
SMALL_SEGMENTS = {SEGMENT_BYTES: "1600", "index.interval.bytes": "250"}
COMPACT = {
    SEGMENT_BYTES: "800",
    "index.interval.bytes": "200",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": TEN_YEARS_MS,  # the tombstones stay
    "file.delete.delay.ms": "500",
}
# Compaction is switched on when everything is written, so that one pass of the cleaner sees it all.
CLEAN = (Alter({"cleanup.policy": "compact"}), AwaitCleaned())
UPDATES = payloads.keyed("compacted", 80, 24, 0.2)


def with_codec(codec: str) -> dict[str, dict[str, str]]:
    """Return one producer that compresses so."""
    return {DEFAULT_PRODUCER: {"compression.type": codec}}


def sends(records: tuple[Record, ...], size: int) -> tuple[Step, ...]:
    """Return the records in batches of ``size``."""
    return tuple(Send(batch) for batch in payloads.batches(records, size))


def transaction(
    name: str, outcome: str, producer: str, sizes: tuple[tuple[int, int], ...]
) -> Iterable[Step]:
    """Yield a transaction that writes so many records to each partition, in this order."""
    yield Begin(producer)
    for part, (partition, count) in enumerate(sizes):
        records = payloads.words(f"{name}-{part}", count, 40)
        yield Send(records, producer, partition)
    yield End(outcome, producer)
