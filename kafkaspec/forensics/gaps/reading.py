"""Read a partition for the offsets that no consumer gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.snapshots import TransactionIndex
from kafkaspec.forensics.gaps.explained import ask_other, before_and_after, divided, explain
from kafkaspec.forensics.gaps.ranges import KIND_NUMBERS, GapColumns, GapKind, Gaps
from kafkaspec.forensics.headers import PerBatch, Unread, open_before, segment_paths, tables
from kafkaspec.forensics.producers.sequences import SequenceWalk
from kafkaspec.forensics.timeline.indexes import index_paths
from kafkaspec.layout import names
from kafkaspec.log.batch import NO_TIMESTAMP, NONE
from kafkaspec.log.damage import Kept, judge
from kafkaspec.log.header_table import POSITION, HeaderTable
from kafkaspec.log.missing import Account
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.log.transactions import AbortedTransactions, Transactions
from kafkaspec.results import Assumption

_NONE: Final = np.empty(0, np.int64)
_OFFSETS: Final = (names.BASE_OFFSET, names.LAST_OFFSET, names.NUM_RECORDS)


@dataclass
class GapWalk:
    """Missing offsets of a log, table by table; only a cleaner leaves what ``cleaned`` says."""

    found: list[GapColumns] = field(default_factory=list)
    end: int | None = None
    cleaned: bool = False
    data: list[GapColumns] = field(default_factory=list)
    """Runs of records of transactions of one producer."""
    _before: tuple[int, int] = (NONE, 0)
    """File of the batch before a table, and whether it is data in a transaction."""

    def take(self, table: HeaderTable, base: int | None) -> None:
        """Take the next headers of a log that begins with ``base`` by its name, if that says it."""
        first, last, count = map(table.numpy, _OFFSETS)
        producer, control = table.numpy(names.PRODUCER_ID), table.numpy(names.IS_CONTROL) != 0
        transactional = (table.numpy(names.IS_TRANSACTIONAL) != 0) & ~control
        previous = np.empty_like(first)
        previous[1:] = last[:-1] + 1
        same_file = table.file == self._before[0]
        start = first[0] if self.end is None else self.end
        if self.end is None and base is not None:
            start = min(base, int(start)) if start >= 0 else base
        previous[0] = start
        # Damaged logs repeat offsets: what was there before is not missing.
        previous = np.maximum.accumulate(previous)
        known = first >= 0
        rows = np.flatnonzero(known & (first > previous))
        if len(rows):
            data = transactional.astype(np.int64)
            before = np.append(np.int64(self._before[1]), data[:-1])[rows]
            at_start = rows == 0
            self._add(
                GapKind.BETWEEN, table, rows, previous[rows], first[rows] - 1,
                transactional=before,
                boundary=(at_start & (not same_file)).astype(np.int64),
            )  # fmt: skip
        span = last - first + 1
        rows = np.flatnonzero(known & (count >= 0) & (count < span))
        if len(rows):
            emptied = count[rows] == 0
            filled = emptied & (producer[rows] == NONE)
            filled &= table.numpy(names.MAX_TIMESTAMP)[rows] == NO_TIMESTAMP
            self.cleaned |= not filled.all()
            for kind, which in ((GapKind.EMPTIED, emptied), (GapKind.INSIDE, ~emptied)):
                chosen = rows[which]
                if len(chosen):
                    less = span[chosen] - count[chosen]
                    self._add(
                        kind, table, chosen, first[chosen], last[chosen], missing=less,
                        filled=filled[which].astype(np.int64),
                    )  # fmt: skip
        rows = np.flatnonzero(control & (count > 0))
        if len(rows):
            self._add(GapKind.WITHHELD, table, rows, first[rows], last[rows])
        self._note_data(first, last, count, producer, transactional)
        self.end = max(int(last.max()) + 1, self.end or 0)
        is_data = bool(transactional[-1]) and producer[-1] >= 0
        self._before = table.file, int(is_data)

    def _add(
        self, kind: GapKind, table: HeaderTable, rows: PerBatch, first: PerBatch, last: PerBatch,
        **more: PerBatch,
    ) -> None:  # fmt: skip
        nothing = np.zeros(len(rows), np.int64)
        columns = {
            "first_offset": first,
            "last_offset": last,
            "missing": last - first + 1,
            "kind": np.full(len(rows), KIND_NUMBERS[kind], np.int64),
            "file": np.full(len(rows), table.file, np.int64),
            "position": table.numpy(POSITION)[rows],
            "transactional": nothing,
            "boundary": nothing,
            "filled": nothing,
        }
        self.found.append(columns | more)

    def _note_data(
        self, first: PerBatch, last: PerBatch, count: PerBatch, producer: PerBatch, chosen: PerBatch
    ) -> None:
        """Note the batches of transactions, one row for those that follow each other."""
        rows = np.flatnonzero(chosen & (count > 0))
        if not len(rows):
            return
        first, last, count, producer = first[rows], last[rows], count[rows], producer[rows]
        whole = count == last - first + 1
        begins = np.ones(len(rows), bool)
        begins[1:] = (first[1:] != last[:-1] + 1) | (producer[1:] != producer[:-1])
        begins[1:] |= ~whole[1:] | ~whole[:-1]
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], len(rows)) - 1
        self.data.append(
            {
                "first_offset": first[starts],
                "last_offset": last[ends],
                "missing": np.add.reduceat(count, starts),
                "aborted": producer[starts],
            }
        )

    def _withheld(self, aborted: AbortedTransactions) -> GapColumns:
        """Return the records of aborted transactions: ranges of one producer each."""
        wanted = ("first_offset", "last_offset", "missing", "aborted")
        columns = {
            name: np.concatenate([part[name] for part in self.data] or [_NONE]) for name in wanted
        }
        first = columns["first_offset"]
        kept = aborted.among(columns["aborted"], first, first)
        return {name: column[kept] for name, column in columns.items()}

    def joined(self, aborted: AbortedTransactions) -> GapColumns:
        """Return all that was found, and the ranges of aborted transactions."""
        wanted = (
            "first_offset", "last_offset", "missing", "kind", "file", "position", "transactional",
            "boundary", "filled",
        )  # fmt: skip
        withheld = self._withheld(aborted)
        count = len(withheld["aborted"])
        nothing, none = np.zeros(count, np.int64), np.full(count, NONE, np.int64)
        producers = withheld.pop("aborted")
        withheld |= {
            "kind": np.full(count, KIND_NUMBERS[GapKind.WITHHELD], np.int64),
            "file": none,
            "position": none,
        }
        found = {
            name: np.concatenate(
                [*(part[name] for part in self.found), withheld.get(name, nothing)]
            )
            for name in wanted
        }
        others = np.full(len(found["kind"]) - count, NONE, np.int64)
        return found | {"aborted": np.concatenate([others, producers])}


def read_gaps(
    log: Partition | Segment,
    other: Partition | Segment | None = None,
    *,
    checksums: bool = True,
    each: Callable[[HeaderTable], None] = lambda _: None,
) -> Gaps:
    """Return the offsets of a partition that no consumer gets, and why.

    Headers are read, and all bytes for their checksums; with another copy, the keys of its records
    from the first gap on too.

    Args:
        log: the partition, or a segment alone.
        other: another copy of the same partition: a replica, a backup, segments in remote storage.
        checksums: whether a batch with a wrong checksum counts as missing; otherwise only headers
            are read.
        each: also takes the headers, those of all batches.

    Raises:
        KafkaSpecError: nothing in it can be read.
    """
    unread = Unread()
    walk = GapWalk()
    positions = isinstance(log, Segment) and log.format.offsets_are_positions
    sequences = SequenceWalk(log)
    indexes = list(index_paths(log))
    # A broker makes a transaction index where one was aborted; what was copied alone has none.
    lacking = isinstance(log, Segment) or len(log.segment_paths) > sum(
        path is not None for _, path in indexes
    )
    transactions = Transactions(open_before(log)) if lacking else None
    base = log.first_base_offset if isinstance(log, Partition) else log.base_offset
    account = Account(log, judge=judge)
    around = list(account.beside())

    def kept(segment: Segment) -> Kept | None:
        around.extend(account.of(segment, check=checksums) or ())
        return account.kept

    for table in tables(log, unread, kept, each):
        positions |= table.segment.format.offsets_are_positions
        if positions:
            walk.end = max(walk.end or 0, int(table.numpy(names.LAST_OFFSET).max()) + 1)
            continue
        walk.take(table, base)
        sequences.take(table)
        if transactions is not None:
            transactions.step(table)
            unread.errors += transactions.errors
            transactions.errors.clear()
    aborted = _aborted(indexes, transactions)
    rows = divided(walk.joined(aborted), around)
    assumptions: list[Assumption] = []
    compacted = _compacted(log, walk, assumptions)
    explained = explain(rows, compacted, aborted, around, sequences.owners)
    if other is not None:
        ask_other(log, other, explained, compacted, assumptions)
    explained.more += before_and_after(log, walk.end, around, rows)
    start = (log.log_start_offset if isinstance(log, Partition) else base) or 0
    return Gaps(explained.table(segment_paths(log)), start, walk.end or start, assumptions,
                unread.errors)  # fmt: skip


def _compacted(log: Partition | Segment, walk: GapWalk, assumptions: list[Assumption]) -> int:
    """Return the offset below which compaction can have removed batches; -1 for none."""
    listed = None
    here = False
    if isinstance(log, Partition):
        here = log.has_cleaner_checkpoint
        try:
            listed = log.cleaner_offset
        except KafkaSpecError:
            here = False
    if listed:
        return listed
    if here and not walk.cleaned:
        return NONE
    value, why = ("delete", "nothing in the log shows a cleaner")
    if walk.cleaned:
        value, why = ("compact", "batches have fewer records than offsets")
    assumptions.append(Assumption("cleanup.policy", value, f"{why}; no checkpoint of it is here"))
    return (walk.end or 0) if walk.cleaned else NONE


def _aborted(
    indexes: list[tuple[int, Path | None]], transactions: Transactions | None
) -> AbortedTransactions:
    """Return the aborted transactions of which there is data, or an entry in an index."""
    found = AbortedTransactions()
    for _, index in indexes:
        if index is None:
            continue
        try:
            found.extend(AbortedTransactions.listed_in(TransactionIndex(index)))
        except KafkaSpecError:
            continue  # ``transactions`` reports it
    if transactions is not None:
        found.extend(transactions.aborted)
    return found
