"""Join dead letters with the records that they are about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.names import LARGEST_PARTITION, is_topic
from kafkaspec.forensics.dead_letters.letters import LETTERS, read_letters
from kafkaspec.forensics.dead_letters.sources import SourceLog, SourceLogs, SourcePlace
from kafkaspec.forensics.gaps import Why
from kafkaspec.forensics.headers import NAMED
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment


class SourceState(StrEnum):
    """State of the record that a dead letter is about."""

    SAME = "same"
    """It is there, with the key and value of the letter."""
    DIFFERENT = "different"
    """It is there, with another key or value."""
    REFERENCE = "reference"
    """It is there, and the letter has neither key nor value: it only says where."""
    GONE = "gone"
    """Its log has no record at its offset; ``why`` and ``strength`` say what is known."""
    UNREADABLE = "unreadable"
    """Bytes that cannot be read lie in its place."""
    BEYOND = "beyond"
    """Its log ends before its offset: this copy is older, or was cut back."""
    NO_LOG = "no_log"
    """No log of its partition is there."""
    UNNAMED = "unnamed"
    """The letter does not say topic, partition and offset, or none that Kafka can have."""


THERE: Final = frozenset({SourceState.SAME, SourceState.DIFFERENT, SourceState.REFERENCE})
"""States of records that can be read."""
_STATES: Final = list(SourceState)

DEAD_LETTERS: Final = pa.schema(
    [
        *LETTERS,
        ("has_content", pa.bool_()),
        ("source", NAMED),
        ("why", NAMED),
        ("strength", NAMED),
    ]
)
"""Columns of dead letters joined with their sources: those of ``LETTERS``; whether the letter has a
key or a value; a ``SourceState``; of a record that is gone, ``gaps.Why`` and a ``Strength``."""


_GROUPED: Final = (
    "source_topic", "writer", "group", "connector", "exception", "source", "why"
)  # fmt: skip


@dataclass(frozen=True)
class DeadLetters:
    """The dead letters of some logs.

    Attributes:
        letters: see ``DEAD_LETTERS``, in the order of the logs and offsets.
        sources: the partitions in which the records were looked up.
        unread: what could not be read.
    """

    letters: pa.Table
    sources: SourceLogs
    unread: list[KafkaSpecError]

    @property
    def groups(self) -> pa.Table:
        """The letters by what failed: their count, and the times of the first and the last."""
        grouped = self.letters.group_by(list(_GROUPED), use_threads=False).aggregate(
            [("offset", "count"), ("timestamp", "min"), ("timestamp", "max")]
        )
        plain = [grouped[name].cast(pa.string()) for name in _GROUPED]
        table = pa.table([*plain, *grouped.columns[len(_GROUPED) :]], grouped.column_names)
        return table.sort_by([("source_topic", "ascending"), ("offset_count", "descending")])

    @property
    def lost(self) -> int:
        """Number of letters whose record is not there."""
        there = pc.is_in(self.letters["source"].cast(pa.string()), pa.array(sorted(THERE)))
        return len(there) - (pc.sum(there).as_py() or 0)


def read_dead_letters(
    logs: Iterable[Partition | Segment], sources: Iterable[Partition]
) -> DeadLetters:
    """Return the dead letters in logs, joined with the records that they are about.

    Logs are read once, in columns. Memory grows with the number of letters, not with their keys
    and values. Of a record that is not there, the log is asked why, as ``gaps`` asks it.

    Args:
        logs: partitions and segments in which dead letters are looked for, one after the other.
        sources: partitions in which their records are looked up. They stay open.

    Raises:
        KafkaSpecError: a file cannot be read at all.
    """
    there = SourceLogs(sources)
    unread: list[KafkaSpecError] = []
    tables = [pa.Table.from_batches([], DEAD_LETTERS)]
    for log in logs:
        for letters, records in read_letters(log, unread.append):
            tables.append(join_letters(letters, records, there))
    for source in there.values():
        unread += source.unread
    letters = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    return DeadLetters(letters, there, unread)


def join_letters(
    letters: pa.RecordBatch, records: pa.RecordBatch, logs: Mapping[SourcePlace, SourceLog]
) -> pa.Table:
    """Return dead letters as ``DEAD_LETTERS``.

    Args:
        letters: as ``LETTERS`` has them.
        records: their keys and values.
        logs: the logs in which their records are looked up.
    """
    count = letters.num_rows
    numbers = dict(zip(_STATES, range(len(_STATES)), strict=True))
    state = np.full(count, numbers[SourceState.UNNAMED], np.int64)
    why: list[str | None] = [None] * count
    strength: list[str | None] = [None] * count
    has_content = pc.or_(records["key"].is_valid(), records["value"].is_valid())
    content = has_content.to_numpy(zero_copy_only=False)
    for place, rows in places_of(letters).items():
        source = logs.get(place)
        if source is None:
            state[rows] = numbers[SourceState.NO_LOG]
            continue
        offsets = letters["source_offset"].take(pa.array(rows)).to_numpy()
        found, same = _compared(source, offsets, records.take(pa.array(rows)))
        state[rows] = np.where(
            same,
            numbers[SourceState.SAME],
            np.where(content[rows], numbers[SourceState.DIFFERENT], numbers[SourceState.REFERENCE]),
        )
        absent = ~found
        if not absent.any():
            continue
        wanted, back = np.unique(offsets[absent], return_inverse=True)
        reasons, proofs = (item.take(pa.array(back)).to_pylist() for item in source.reasons(wanted))
        end = source.gaps.log_end_offset
        for row, offset, reason, proof in zip(
            rows[absent].tolist(), offsets[absent].tolist(), reasons, proofs, strict=True
        ):
            why[row], strength[row] = reason, proof
            if reason is None and offset >= end:
                state[row] = numbers[SourceState.BEYOND]
            elif reason == Why.UNREADABLE:
                state[row] = numbers[SourceState.UNREADABLE]
            else:
                state[row] = numbers[SourceState.GONE]
    columns = {
        **{name: letters[name] for name in LETTERS.names},
        "has_content": has_content,
        "source": pa.array([str(each) for each in _STATES]).take(pa.array(state)),
        "why": pa.array(why, pa.string()),
        "strength": pa.array(strength, pa.string()),
    }
    arrays = [columns[item.name].cast(item.type) for item in DEAD_LETTERS]
    return pa.Table.from_arrays(arrays, schema=DEAD_LETTERS)


def places_of(letters: pa.RecordBatch | pa.Table) -> dict[SourcePlace, NDArray[np.int64]]:
    """Return the rows of letters by the partition that they name; others are left out."""
    named = ["source_topic", "source_partition"]
    table = pa.table({name: letters[name] for name in (*named, "source_offset")})
    table = table.append_column("row", pa.array(np.arange(table.num_rows)))
    partition, offset = table["source_partition"], table["source_offset"]
    legal = [pc.greater_equal(partition, 0), pc.less_equal(partition, LARGEST_PARTITION)]
    table = table.filter(pc.and_(pc.and_(*legal), pc.greater_equal(offset, 0)))
    grouped = table.group_by(named, use_threads=False).aggregate([("row", "list")])
    lists = grouped["row_list"].combine_chunks()
    places = zip(*(grouped[name].to_pylist() for name in named), strict=True)
    return {
        (topic, number): lists[at].values.to_numpy()
        for at, (topic, number) in enumerate(places)
        if topic is not None and is_topic(topic)
    }


def _compared(
    source: SourceLog, offsets: NDArray[np.int64], letters: pa.RecordBatch
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which offsets have records, and which of these the key and value of their letters."""
    found, same = np.zeros(len(offsets), bool), np.zeros(len(offsets), bool)
    order = np.argsort(offsets, kind="stable")
    ascending = offsets[order]
    for table in source.records(np.unique(offsets)):
        there = table["offset"].to_numpy()
        if not len(there):
            continue
        low = np.searchsorted(ascending, there[0])
        high = np.searchsorted(ascending, there[-1], side="right")
        rows = order[low:high]
        at = np.minimum(np.searchsorted(there, offsets[rows]), len(there) - 1)
        hit = there[at] == offsets[rows]
        rows, at = rows[hit], at[hit]
        found[rows] = True
        equal = [
            _equal(letters[name].take(pa.array(rows)), table[name].take(pa.array(at)))
            for name in ("key", "value")
        ]
        same[rows] = equal[0] & equal[1]
    return found, same


def _equal(one: pa.Array, other: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return which bytes are equal; null equals null."""
    equal = pc.equal(one, other.combine_chunks())
    both = pc.and_(one.is_null(), other.is_null())
    return np.asarray(pc.coalesce(equal, both).to_numpy(zero_copy_only=False), bool)
