"""The lines about producer snapshots and transaction indexes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kafkaspec.codecs import Codec
from kafkaspec.dumplog.families import Family
from kafkaspec.dumplog.options import Found
from kafkaspec.files.snapshots import ProducerSnapshot, TransactionIndex
from kafkaspec.layout.sequences import sequence_after

_NONE = -1


def snapshot_lines(family: Family, path: Path, codec: Codec) -> Iterator[str]:
    """Yield a line for each producer.

    Args:
        family: text of a release.
        path: of the snapshot.
        codec: reads it.

    Raises:
        KafkaSpecError: the file cannot be read.
    """
    snapshot = ProducerSnapshot(path, codec=codec)
    entries = snapshot.entries
    if not snapshot.crc_valid:
        raise snapshot.crc_error()
    for entry in entries:
        first = entry.current_txn_first_offset
        values = {name: getattr(entry, name) for name in _NAMES} | {
            "current_txn_first_offset": (
                family.no_offset if first == _NONE else family.some_offset.format(first)
            ),
            "first_sequence": sequence_after(entry.last_sequence, -entry.offset_delta),
        }
        line = family.snapshot.format_map(values)
        if entry.last_offset >= 0:
            line += family.snapshot_batch.format_map(values)
        yield line + "\n"


_NAMES = (
    "producer_id", "producer_epoch", "coordinator_epoch", "last_sequence", "last_offset",
    "offset_delta", "timestamp",
)  # fmt: skip


def aborted_lines(path: Path, codec: Codec, found: Found) -> Iterator[str]:
    """Yield a line for each aborted transaction of an index.

    Args:
        path: of the transaction index.
        codec: reads it.
        found: takes what is wrong.

    Raises:
        KafkaSpecError: the file cannot be read.
    """
    index = TransactionIndex(path, codec=codec)
    for entry in index.entries:
        yield (
            f"version: {entry.version} producerId: {entry.producer_id}"
            f" firstOffset: {entry.first_offset} lastOffset: {entry.last_offset}"
            f" lastStableOffset: {entry.last_stable_offset}\n"
        )
    if index.trailing_bytes:
        found(f"{path}: the last {index.trailing_bytes} bytes are not a whole entry")
