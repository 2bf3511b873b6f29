"""Read a partition for the offsets that no consumer gets."""

from __future__ import annotations

from pathlib import Path

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names as files
from kafkaspec.files.snapshots import TransactionIndex
from kafkaspec.forensics.gaps.around import before_and_after
from kafkaspec.forensics.gaps.explained import divided, explain
from kafkaspec.forensics.gaps.other_copy import ask_other
from kafkaspec.forensics.gaps.ranges import Gaps
from kafkaspec.forensics.gaps.walk import GapWalk
from kafkaspec.forensics.headers import Unread, open_before, segment_paths, tables
from kafkaspec.forensics.producers.sequences import SequenceHoles
from kafkaspec.forensics.timeline.indexes import index_paths
from kafkaspec.intact.division import judge
from kafkaspec.layout import names
from kafkaspec.log.batch import NONE
from kafkaspec.log.damage import Kept
from kafkaspec.log.missing import Account
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.log.transactions import AbortedTransactions, Transactions
from kafkaspec.results import Assumption


def read_gaps(
    log: Partition | Segment,
    other: Partition | Segment | None = None,
    *,
    checksums: bool = True,
) -> Gaps:
    """Return the offsets of a partition that no consumer gets, and why.

    Headers are read, and all bytes for their checksums; with another copy, the keys of its records
    from the first gap on too.

    Args:
        log: the partition, or a segment alone.
        other: another copy of the same partition: a replica, a backup, segments in remote storage.
        checksums: whether a batch with a wrong checksum counts as missing; otherwise only headers
            are read.

    Raises:
        KafkaSpecError: nothing in it can be read.
    """
    unread = Unread()
    walk = GapWalk()
    positions = isinstance(log, Segment) and log.format.offsets_are_positions
    holes = SequenceHoles(log)
    indexes = list(index_paths(log))
    # A broker makes a transaction index where one was aborted; what was copied alone has none.
    transactions = Transactions(open_before(log)) if _lacks(log, indexes) else None
    base = log.first_base_offset if isinstance(log, Partition) else log.base_offset
    account = Account(log, judge=judge)
    around = list(account.beside())

    def kept(segment: Segment) -> Kept | None:
        around.extend(account.of(segment, check=checksums) or ())
        return account.kept

    for table in tables(log, unread, kept):
        positions |= table.segment.format.offsets_are_positions
        if positions:
            walk.end = max(walk.end or 0, int(table.numpy(names.LAST_OFFSET).max()) + 1)
            continue
        walk.take(table, base)
        holes.take(table)
        if transactions is not None:
            transactions.step(table)
            unread.errors += transactions.errors
            transactions.errors.clear()
    aborted = _aborted(indexes, transactions)
    rows = divided(walk.joined(aborted), around)
    assumptions: list[Assumption] = []
    compacted = _compacted(log, walk, assumptions)
    explained = explain(rows, compacted, aborted, around, holes.owners)
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
        here = (log.path.parent / files.CLEANER_OFFSETS).exists()
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


def _lacks(log: Partition | Segment, indexes: list[tuple[int, Path | None]]) -> bool:
    """Return whether transactions of a segment are in no index."""
    if isinstance(log, Segment):
        return True
    return sum(path is not None for _, path in indexes) < len(log.segment_paths)


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
