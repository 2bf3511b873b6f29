"""Choose which copy of a partition is restored, and show what the other ones differ in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kafkaspec.forensics.replicas.comparison import (
    DifferenceKind,
    LogDifference,
    ReplicaComparison,
    compare_replicas,
)
from kafkaspec.log.batch import NONE
from kafkaspec.log.partition import Partition
from kafkaspec.restore.replica_inventory import PartitionCopy
from kafkaspec.restore.restore_plan import RestoreFinding, RestoreReason
from kafkaspec.results import OffsetRange, Strength

_TORN = frozenset({DifferenceKind.DIVERGED, DifferenceKind.CHANGED})
"""Differences after which two copies are no longer copies of each other."""


@dataclass(slots=True)
class Choice:
    """A partition and its copies.

    Attributes:
        taken: the copy that is restored.
        others: the other ones.
        why: why it is that one.
        leader_epoch: 1 more than the largest epoch that any copy knows.
        log_start: the largest log start offset of all copies that do not contradict it before.
        high_watermark: the largest of all checkpoints: what was committed at least; None for none.
        asked: whether somebody asked for the copy that is taken.
        findings: what the copies differ in.
        beyond: the other copies that have what the one taken lacks.
    """

    taken: PartitionCopy
    others: list[PartitionCopy]
    why: str
    leader_epoch: int
    log_start: int
    high_watermark: int | None
    asked: bool
    findings: list[RestoreFinding] = field(default_factory=list)
    beyond: list[PartitionCopy] = field(default_factory=list)

    def contradictions(
        self, salvaged: Partition, lost: Sequence[OffsetRange]
    ) -> Iterator[RestoreFinding]:
        """Yield which copies have other batches than what was salvaged of the damaged one.

        After damage that hides where the next batch begins, two copies cannot be compared.

        Args:
            salvaged: the salvaged log.
            lost: offsets that it does not have.
        """
        known = {each.file for each in self.findings if each.offsets is not None}
        for other in self.others:
            cleaned = any(each.log.cleaner_offset for each in (self.taken, other))
            if other.path in known or other.is_remote or cleaned:
                continue
            torn = [
                each
                for each in compare_replicas(salvaged, other.log, leader="a").differences
                if each.reason in _TORN
                and not any(
                    start <= each.offsets.start and (end is None or each.offsets.start < end)
                    for start, end in lost
                )
            ]
            if torn:
                yield _contradiction(torn, self.taken, other, asked=self.asked)


def choose(replicas: Sequence[PartitionCopy], preferred: Collection[Path] = ()) -> Choice:
    """Return the choice among the copies of a partition.

    The copy with the largest last leader epoch wins, and among those the longest one, as Kafka
    compares logs (KIP-101, KIP-279); the others have to be a part of it.

    Args:
        replicas: the copies.
        preferred: resolved paths of log directories whose copy wins whatever it is.

    Raises:
        KafkaSpecError: a copy or its checkpoint cannot be read.
    """
    order = sorted(replicas, key=lambda each: (_negative(each.rank), each.path))
    wanted = [each for each in order if each.place in preferred]
    taken = (wanted or order)[0]
    others = [each for each in order if each is not taken]
    epochs = [each.content.last_epoch for each in order]
    epochs += [entry.epoch for each in order for entry in each.log.leader_epochs[-1:]]
    marks = [mark for each in order if (mark := each.log.high_watermark) is not None]
    why = _why(taken, others, asked=bool(wanted))
    epoch, mark = max([NONE, *epochs]) + 1, max(marks, default=None)
    choice = Choice(taken, others, why, epoch, taken.log_start, mark, bool(wanted))
    same = [taken]
    for other in others:
        found = compare_replicas(taken.log, other.log, leader="a")
        said = _said(found, taken, other, asked=bool(wanted))
        choice.findings.append(said)
        if said.offsets is None or other.log_start < said.offsets.start:
            same.append(other)
        longer = other.content.end_offset > taken.content.end_offset
        if longer or not all(each.legal for each in found.differences):
            choice.beyond.append(other)
    if any(each.is_remote for each in order):
        choice.log_start = _start_of_tiered(order)
    else:
        choice.log_start = max(each.log_start for each in same)
    end = taken.content.end_offset
    if mark is not None and mark < end:
        choice.findings.append(
            RestoreFinding(
                reason=RestoreReason.UNCOMMITTED,
                message=f"the high watermark of the checkpoint is {mark}, and the log goes on",
                file=taken.path, offsets=OffsetRange(mark, end), strength=Strength.UNKNOWN,
                topic=taken.topic, partition=taken.partition,
            )
        )  # fmt: skip
    return choice


def _start_of_tiered(copies: Sequence[PartitionCopy]) -> int:
    """Return the log start offset of a log whose first segments are in remote storage alone.

    The checkpoint says it; where the local segments begin does not (KIP-405). A broker raises it
    before it deletes segments, and writes the checkpoint later.
    """
    first = min(copy.log.first_base_offset or 0 for copy in copies)
    known = [copy.listed for copy in copies if copy.listed is not None]
    start = max(known, default=first)
    deleted = [copy.deleted for copy in copies if copy.deleted is not None]
    return max(start, first) if deleted and min(deleted) < first else start


def _negative(rank: tuple[int, int, bool]) -> tuple[int, int, int]:
    return -rank[0], -rank[1], -rank[2]


def _why(taken: PartitionCopy, others: Sequence[PartitionCopy], *, asked: bool) -> str:
    if not others:
        return "the only copy"
    if asked:
        return "it was asked for"
    epoch, end, sound = others[0].rank
    if taken.content.last_epoch > epoch:
        return f"last leader epoch {taken.content.last_epoch}, {epoch} in the next one"
    if taken.content.end_offset > end:
        return f"end offset {taken.content.end_offset}, {end} in the next one"
    if not taken.is_damaged and not sound:
        return "as long as the others, and not damaged"
    return "all copies end alike"


def _said(
    found: ReplicaComparison, taken: PartitionCopy, other: PartitionCopy, *, asked: bool
) -> RestoreFinding:
    """Return how a copy differs from the one taken."""
    if torn := [each for each in found.differences if each.reason in _TORN]:
        return _contradiction(torn, taken, other, asked=asked)
    end = other.content.end_offset
    first = max(taken.content.end_offset, other.log.first_base_offset or 0)
    if first < end and other.content.last_epoch < taken.content.last_epoch:
        text = f"it goes on to offset {end} at epoch {other.content.last_epoch}, and what is taken"
        text += f" ends at {taken.content.end_offset} at epoch {taken.content.last_epoch}"
        return _contradicts(text, first, taken, other, asked=asked)
    text = "the same" if end == taken.content.end_offset else f"a part of it, up to offset {end}"
    if kinds := sorted({each.reason.value for each in found.differences} - {"end"}):
        text += f"; differences: {', '.join(kinds)}"
    if found.errors:
        text += "; as far as both can be read"
    return RestoreFinding(
        reason=RestoreReason.REPLICA, message=text, topic=taken.topic, partition=taken.partition,
        file=other.path,
    )  # fmt: skip


def _contradiction(
    torn: Sequence[LogDifference], taken: PartitionCopy, other: PartitionCopy, *, asked: bool
) -> RestoreFinding:
    """Return that a copy has other batches than the one taken."""
    first = torn[0].offsets.start
    mine, theirs = (
        sum(side.entries for each in torn if (side := each.a if name == "a" else each.b))
        for name in ("a", "b")
    )
    text = (
        f"it has other batches from offset {first} on: {theirs} at epoch"
        f" {other.content.last_epoch}, and {mine} at epoch {taken.content.last_epoch} in"
        f" {taken.path}"
    )
    return _contradicts(text, first, taken, other, asked=asked)


def _contradicts(
    text: str, first: int, taken: PartitionCopy, other: PartitionCopy, *, asked: bool
) -> RestoreFinding:
    """Return the finding about a copy that contradicts the one taken from an offset on."""
    return RestoreFinding(
        reason=RestoreReason.REPLICA if asked else RestoreReason.DIVERGED, message=text,
        offsets=OffsetRange(first, other.content.end_offset), topic=taken.topic,
        partition=taken.partition, file=other.path,
    )  # fmt: skip
