"""Which record of a key is the newest, as a cleaner sees it: aborted ones do not count."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.log.transactions import NO_TRANSACTIONS, AbortedTransactions


def aborted_of(log: Partition | Segment) -> AbortedTransactions:
    """Return the aborted transactions of a partition; nothing is known of those of a segment."""
    return log.aborted_transactions() if isinstance(log, Partition) else NO_TRANSACTIONS


def is_aborted(batch: pa.RecordBatch | pa.Table, aborted: AbortedTransactions) -> Any:
    """Return which records, by ``offset`` and ``producer_id``, are of aborted transactions."""
    offsets = batch["offset"].to_numpy()
    return aborted.among(batch["producer_id"].to_numpy(), offsets, offsets)


def newest_offsets(
    logs: Iterable[Partition | Segment], keys: pa.ChunkedArray, start: int, end: int
) -> pa.Table:
    """Return the newest offset of some keys in several copies of a log: ``key`` and ``offset``.

    Batches that cannot be read are passed over.

    Args:
        keys: the keys, as binary; null is none.
    """
    wanted = pc.unique(keys).drop_null()
    parts = [pa.table({"key": wanted.slice(0, 0), "offset": pa.array([], pa.int64())})]
    for log in logs if len(wanted) else ():
        aborted = aborted_of(log)
        reader = log.to_batches(
            ["offset", "key", "producer_id"], start_offset=start, end_offset=end,
            on_error=lambda _: None, layout="binary", log_start="ignore",
        )  # fmt: skip
        for batch in reader:
            found = pc.is_in(batch["key"].cast(pa.binary()), value_set=wanted)
            if aborted:
                found = pc.and_(found, pa.array(~is_aborted(batch, aborted)))
            kept = batch.filter(found)
            plain = pa.table({"key": kept["key"].cast(pa.binary()), "offset": kept["offset"]})
            parts.append(plain.group_by("key").aggregate([("offset", "max")]).rename_columns(
                ["key", "offset"]))  # fmt: skip
    newest = pa.concat_tables(parts).group_by("key").aggregate([("offset", "max")])
    return newest.rename_columns(["key", "offset"])
