"""Read a partition for its producers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypedDict

import numpy as np
import pyarrow as pa

from kafkaspec.broker.profiles import PRODUCER_EXPIRATION_MS
from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics import headers
from kafkaspec.forensics.producers.breaks import breaks_of
from kafkaspec.forensics.producers.sequences import Break, SequenceWalk, SnapshotCheck
from kafkaspec.layout import names
from kafkaspec.log.batch import NONE
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.results import Assumption

RUNS: Final = pa.schema([
    ("producer_id", pa.int64()), ("producer_epoch", headers.EPOCH),
    ("first_sequence", headers.SEQUENCE), ("last_sequence", headers.SEQUENCE),
    ("first_offset", pa.int64()), ("last_offset", pa.int64()), ("batches", pa.int64()),
    ("records", pa.int64()), ("first_timestamp", pa.int64()), ("last_timestamp", pa.int64()),
    ("follows", pa.string()), ("file", headers.NAMED), ("position", pa.int64()),
])  # fmt: skip
"""Columns of runs of sequence numbers, by producer, each in order; timestamps in ms, null for none.
``records`` are those that are there: compaction can have left fewer than the numbers say."""


@dataclass
class Producers:
    """The producers of a partition.

    Attributes:
        runs: see ``RUNS``.
        breaks: breaks in the sequences, by producer; then contradictions of snapshots.
        snapshots: number of producer snapshots that were compared.
        assumptions: what the answers depend on.
        unread: what could not be read.
        foreign: numbers of batches by producer ids below -1, as a mirror may write them (KIP-1279):
            brokers take them for none, ``RecordBatch.hasProducerId``.
    """

    runs: pa.Table
    breaks: list[Break]
    snapshots: int
    assumptions: list[Assumption]
    unread: list[KafkaSpecError]
    foreign: dict[int, int]


def read_producers(
    log: Partition | Segment, *, expiration_ms: int = PRODUCER_EXPIRATION_MS
) -> Producers:
    """Return the sequence numbers of the producers of a partition, and what is wrong with them.

    Only headers are read, and the records of batches whose numbers repeat; checksums of the other
    batches are not verified.

    Args:
        log: the partition, or a segment alone.
        expiration_ms: ``producer.id.expiration.ms`` of the brokers that wrote it.

    Raises:
        KafkaSpecError: nothing in it can be read.
    """
    unread = headers.Unread()
    check = SnapshotCheck(log)
    walk = SequenceWalk(log, check)
    foreign = Counter[int]()
    for table in headers.tables(log, unread):
        ids = table.numpy(names.PRODUCER_ID)
        foreign.update(ids[ids < NONE].tolist())
        walk.take(table)
    walk.finish()
    runs = walk.runs
    breaks = [*breaks_of(log, runs, expiration_ms, check.compacted), *check.breaks]
    assumed = [
        Assumption(
            "producer.id.expiration.ms",
            str(expiration_ms),
            "Kafka's default" if expiration_ms == PRODUCER_EXPIRATION_MS else "as it was given",
        ),
        Assumption("clock", "timestamps of records", "the log has no times of the broker for data"),
    ]
    rows = runs.rows | {"producer_epoch": runs.rows["epoch"]}
    made = {
        "follows": pa.array(runs.follows.tolist()),
        "file": headers.named(rows["file"], headers.segment_paths(log)),
    }
    known = rows.keys() - {"first_timestamp", "last_timestamp"}
    table = headers.table_of(RUNS, rows, made, known)
    return Producers(table, breaks, check.compared, assumed, unread.errors, dict(foreign))


class Producer(TypedDict):
    """The runs of a producer together, and the last that the log has of it."""

    producer_id: int
    first_epoch: int
    last_epoch: int
    last_sequence: int
    first_offset: int
    last_offset: int
    last_timestamp: int | None
    batches: int
    records: int
    runs: int


def by_producer(found: Producers) -> Iterator[Producer]:
    """Yield a row for each producer: its runs together, and the last that the log has of it."""
    runs = found.runs
    ids = runs["producer_id"].to_numpy()
    if not len(ids):
        return
    first = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    ends = np.append(first[1:], len(ids))
    sums = {name: np.add.reduceat(runs[name].to_numpy(), first) for name in ("batches", "records")}
    starts, lasts = (runs.take(pa.array(places)).to_pylist() for places in (first, ends - 1))
    for number, (start, last) in enumerate(zip(starts, lasts, strict=True)):
        yield {
            "producer_id": start["producer_id"],
            "first_epoch": start["producer_epoch"],
            "last_epoch": last["producer_epoch"],
            "last_sequence": last["last_sequence"],
            "first_offset": start["first_offset"],
            "last_offset": last["last_offset"],
            "last_timestamp": last["last_timestamp"],
            "batches": int(sums["batches"][number]),
            "records": int(sums["records"][number]),
            "runs": int(ends[number] - first[number]),
        }
