"""The cost of a start, by partition: the sum of what ``diagnose`` finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from kafkaspec.forensics.doctor.troubles import Trouble, TroubleKind
from kafkaspec.results import OffsetRange


class LossKind(StrEnum):
    """The fates of data of a partition, the worst first."""

    CUT = "cut"
    """Bytes of segments are cut off or deleted."""
    HIDDEN = "hidden"
    """Records are not delivered, and their offsets are given out again."""
    RENAMED = "renamed"
    """The directory becomes a stray one, and is served no more."""
    DELETED = "deleted"
    """The directory is deleted."""
    DAMAGED = "damaged"
    """Damage that the start does not look at: consumers fail at it."""
    MISSING = "missing"
    """The only replica is not there: an empty directory takes its place."""


_KINDS: Final = {
    TroubleKind.CUT: LossKind.CUT,
    TroubleKind.REMOVED: LossKind.CUT,
    TroubleKind.ENDS_BEFORE_START: LossKind.CUT,
    TroubleKind.HIDDEN: LossKind.HIDDEN,
    TroubleKind.STRAY: LossKind.RENAMED,
    TroubleKind.DELETED_PARTITION: LossKind.DELETED,
    TroubleKind.MISSING: LossKind.MISSING,
    TroubleKind.DAMAGED: LossKind.DAMAGED,
}


@dataclass(slots=True)
class PartitionLoss:
    """The fate of data of one partition.

    Attributes:
        what: what happens.
        topic: topic of the partition.
        partition: its number.
        size: bytes that are concerned, 0 if that does not matter.
        offsets: ranges of offsets that are concerned, in order.
    """

    what: LossKind
    topic: str
    partition: int
    size: int = 0
    offsets: list[OffsetRange] = field(default_factory=list)


def losses(troubles: Iterable[Trouble], offline: Iterable[Path]) -> list[PartitionLoss]:
    """Return what is lost, the worst first, by partition in the order of the directories.

    Args:
        troubles: what was found.
        offline: log directories that the broker gives up: nothing happens to their partitions.
    """
    found: dict[tuple[LossKind, str, int], PartitionLoss] = {}
    given_up = tuple(offline)
    for trouble in troubles:
        kind = _KINDS.get(trouble.reason)
        if kind is None or trouble.topic is None or trouble.partition is None or not trouble.counts:
            continue
        if any(root in Path(trouble.file).parents for root in given_up):
            continue
        key = (kind, trouble.topic, trouble.partition)
        loss = found.setdefault(key, PartitionLoss(*key))
        loss.size += trouble.size or 0
        if trouble.offsets is not None:
            loss.offsets.append(trouble.offsets)
    for loss in found.values():
        loss.offsets = list(_joined(loss.offsets))
    ranks = list(LossKind)
    return sorted(found.values(), key=lambda loss: ranks.index(loss.what))


def _joined(ranges: Sequence[OffsetRange]) -> Iterator[OffsetRange]:
    """Yield ranges in order, adjacent ones as one."""
    begin: int | None = None
    end: int | None = None
    for first, stop in sorted(ranges, key=lambda each: each[0]):
        if begin is not None and (end is None or first <= end):
            end = None if end is None or stop is None else max(end, stop)
            continue
        if begin is not None:
            yield OffsetRange(begin, end)
        begin, end = first, stop
    if begin is not None:
        yield OffsetRange(begin, end)
