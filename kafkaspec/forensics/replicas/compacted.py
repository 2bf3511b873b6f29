"""Compare the records of two logs where a cleaner has been: each replica cleans alone.

Kafka: ``Cleaner.shouldRetainRecord``, ``LogCleanerManager``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.keys import aborted_of, is_aborted, newest_offsets
from kafkaspec.log.partition import PartitionLog

_COLUMNS: Final = ("offset", "timestamp", "key", "value", "headers", "producer_id")
_REMOVED: Final = pa.schema([
    ("offset", pa.int64()), ("producer_id", pa.int64()), ("key", pa.binary()), ("dead", pa.bool_()),
])  # fmt: skip
"""A record that only one log has; it is dead if it has no value or no key."""


@dataclass
class Cleaned:
    """The result of a comparison of records; offsets are of records that only one log has.

    Attributes:
        changed: offsets of records that both have, with other content.
        superseded: of those that a newer record of the same key replaced.
        expired: of those that the cleaner removes for other reasons: without a value or a key, or
            of an aborted transaction.
    """

    changed: list[int] = field(default_factory=list)
    superseded: list[int] = field(default_factory=list)
    expired: list[int] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    errors: list[KafkaSpecError] = field(default_factory=list)


def compare_cleaned(
    a: PartitionLog, b: PartitionLog, start: int, end: int, cleaner_a: int, cleaner_b: int
) -> tuple[Cleaned, Cleaned]:
    """Return what only one of two logs has of some records, and why; first what only A has.

    Memory grows with the records that only one of them has, not with the logs.

    Args:
        cleaner_a: first offset that compaction has not reached in A, 0 without any.
    """
    found = Cleaned(), Cleaned()
    only: tuple[list[pa.Table], list[pa.Table]] = [], []
    streams = tuple(
        _tables(log, start, end, each.errors) for log, each in zip((a, b), found, strict=True)
    )
    for first, second in _aligned(streams[0], streams[1]):
        in_b = pc.is_in(first["offset"], value_set=second["offset"].combine_chunks())
        in_a = pc.is_in(second["offset"], value_set=first["offset"].combine_chunks())
        both, others = first.filter(in_b), second.filter(in_a)
        if not both.equals(others):
            found[0].changed += _changed(both, others)
        only[0].append(_removed(first.filter(pc.invert(in_b))))
        only[1].append(_removed(second.filter(pc.invert(in_a))))
    for own, parts, has, other, cleaner in (
        (found[0], only[0], a, b, cleaner_b),
        (found[1], only[1], b, a, cleaner_a),
    ):
        _explain(own, pa.concat_tables([_REMOVED.empty_table(), *parts]), has, other, cleaner)
    return found


def _tables(
    log: PartitionLog, start: int, end: int, errors: list[KafkaSpecError]
) -> Iterator[pa.Table]:
    reader = log.to_batches(
        _COLUMNS, layout="binary", start_offset=start, end_offset=end, header_keys="binary",
        log_start="ignore", on_error=errors.append,
    )  # fmt: skip
    for batch in reader:
        if batch.num_rows:
            yield pa.Table.from_batches([batch])


def _aligned(a: Iterator[pa.Table], b: Iterator[pa.Table]) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Yield tables of the same ranges of offsets."""
    left, right = next(a, None), next(b, None)
    while left is not None and right is not None:
        last = min(pc.max(table["offset"]).as_py() for table in (left, right))
        below = [pc.less_equal(table["offset"], last) for table in (left, right)]
        yield left.filter(below[0]), right.filter(below[1])
        left, right = left.filter(pc.invert(below[0])), right.filter(pc.invert(below[1]))
        left = left if left.num_rows else next(a, None)
        right = right if right.num_rows else next(b, None)
    while left is not None:
        yield left, left.slice(0, 0)
        left = next(a, None)
    while right is not None:
        yield right.slice(0, 0), right
        right = next(b, None)


def _changed(a: pa.Table, b: pa.Table) -> Iterator[int]:
    if a.num_rows != b.num_rows:  # an offset is there twice
        yield from sorted(set(a["offset"].to_pylist()))
        return
    for first, second in zip(a.to_pylist(), b.to_pylist(), strict=True):
        if first != second:
            yield first["offset"]


def _removed(table: pa.Table) -> pa.Table:
    dead = pc.or_(pc.is_null(table["value"]), pc.is_null(table["key"]))
    key = table["key"].cast(pa.binary())
    arrays = [table["offset"], table["producer_id"].cast(pa.int64()), key, dead]
    return pa.table(arrays, schema=_REMOVED)


def _explain(
    found: Cleaned, only: pa.Table, has: PartitionLog, other: PartitionLog, cleaner: int
) -> None:
    """Sort the records that one log has and the other one, which was cleaned, has not."""
    if not only.num_rows:
        return
    start = pc.min(only["offset"]).as_py()
    newest = newest_offsets((has, other), only["key"], start, cleaner)
    at = pc.index_in(only["key"], value_set=newest["key"].combine_chunks())
    later = pc.fill_null(pc.greater(newest["offset"].take(at), only["offset"]), False)
    aborted = pa.array(is_aborted(only, aborted_of(has)))
    below = pc.less(only["offset"], cleaner)
    expired = pc.and_(below, pc.or_(only["dead"], aborted))
    offsets = only["offset"]
    found.superseded += offsets.filter(later).to_pylist()
    found.expired += offsets.filter(pc.and_(expired, pc.invert(later))).to_pylist()
    found.missing += offsets.filter(pc.invert(pc.or_(expired, later))).to_pylist()
