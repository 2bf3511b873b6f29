"""Compare two copies of a partition: replicas, a backup, a copy that someone changed.

Also, where a follower truncates its log when it fetches from a leader whose log differs. Kafka:
``AbstractFetcherThread.getOffsetTruncationState``, ``LeaderEpochFileCache.endOffsetFor``; KIP-101,
KIP-279.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar, Final, Literal

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.checkpoints.leader_epoch_checkpoint import EpochEntry
from kafkaspec.forensics.replicas.entries import EntryPlace, Pair, ReplicaSide, different
from kafkaspec.io.remote import RemotePath
from kafkaspec.log.batch import NONE
from kafkaspec.log.partition import Partition, PartitionLog
from kafkaspec.options import checked
from kafkaspec.provider import require_pyarrow
from kafkaspec.results import Assumption, Finding, OffsetRange, Strength


@dataclass(frozen=True, slots=True)
class TruncationStep:
    """One question of the follower.

    Attributes:
        epoch: the follower's last epoch, which it asks for.
        leader_epoch: the leader's largest epoch up to that one, None if it has none.
        end_offset: where that epoch ends in the leader's log, None if it does not know.
        offset: the follower truncates to this offset.
    """

    epoch: int
    leader_epoch: int | None
    end_offset: int | None
    offset: int


class ReplicaEpochs:
    """The leader epochs of a log, as a running broker has them."""

    def __init__(self, entries: Sequence[EpochEntry], end_offset: int) -> None:
        self._epochs = [entry.epoch for entry in entries]
        self._starts = [entry.start_offset for entry in entries]
        self.end_offset = end_offset

    @property
    def latest(self) -> int | None:
        """The last epoch; None without any."""
        return self._epochs[-1] if self._epochs else None

    def end_of(self, epoch: int) -> tuple[int, int] | None:
        """Return the largest epoch up to one, and the offset that it ends at.

        None for an epoch above all. One below all ends where the first one begins: what was
        between them has been deleted.
        """
        if epoch == self.latest:
            return epoch, self.end_offset
        after = bisect_right(self._epochs, epoch)
        if after == len(self._epochs):
            return None
        return (self._epochs[after - 1] if after else epoch), self._starts[after]

    def truncated(self, end_offset: int) -> ReplicaEpochs:
        """Return the epochs of the log that ends at an offset; those that begin there are gone."""
        pairs = zip(self._epochs, self._starts, strict=True)
        kept = [EpochEntry(epoch, start) for epoch, start in pairs if start < end_offset]
        return ReplicaEpochs(kept, end_offset)

    def elected(self, epoch: int) -> ReplicaEpochs:
        """Return the epochs after this log's broker was elected: the new one begins at the end."""
        pairs = zip(self._epochs, self._starts, strict=True)
        entries = [EpochEntry(each, start) for each, start in pairs]
        return ReplicaEpochs([*entries, EpochEntry(epoch, self.end_offset)], self.end_offset)


def truncation(
    follower: ReplicaEpochs, leader: ReplicaEpochs, high_watermark: int
) -> tuple[int, list[TruncationStep]]:
    """Return the offset that a follower truncates its log to, and how it finds it.

    If it knows no epoch, or the leader none like it, that is its high watermark.
    """
    steps: list[TruncationStep] = []
    while follower.latest is not None:
        asked, end = follower.latest, follower.end_offset
        answer = leader.end_of(asked)
        if answer is None:
            offset, done = min(high_watermark, end), True
        else:
            epoch, leader_end = answer
            own, own_end = follower.end_of(epoch) or (epoch, end)
            done = own == epoch
            # Unless both mean the same epoch, the follower asks again, for its next lower one.
            offset = min(own_end, leader_end, end) if done else min(own_end, end)
        found, found_end = answer or (None, None)
        steps.append(TruncationStep(asked, found, found_end, offset))
        if done:
            return offset, steps
        follower = follower.truncated(offset)
    return min(high_watermark, follower.end_offset), steps


Name = Literal["a", "b"]


class DifferenceKind(StrEnum):
    """How two logs differ in a range of offsets."""

    LOG_START = "log_start"
    """One of them begins later: retention or deleteRecords."""
    END = "end"
    """One of them ends earlier."""
    CLEANED = "cleaned"
    """The cleaner of one broker was there, and a newer record of the same key, or what else the
    cleaner goes by, explains each record that is gone."""
    DIVERGED = "diverged"
    """They have other batches from here on: two leaders wrote them."""
    MISSING = "missing"
    """One of them has records that the other one has not, and nothing explains it."""
    CHANGED = "changed"
    """Both have a batch of these offsets and this epoch, with right checksums and other bytes."""
    DAMAGED = "damaged"
    """The same, and the checksum of one of them, or of both, is wrong."""
    OTHER = "other"
    """They have other batches, of which only states of ``verify`` are known."""


LEGAL: Final = frozenset({DifferenceKind.LOG_START, DifferenceKind.END, DifferenceKind.CLEANED})
"""What differs between sound replicas."""


@dataclass(slots=True)
class Extent:
    """The content of one log in a range of offsets.

    Attributes:
        entries: number of batches, or messages.
        size: their bytes.
        first_epoch: smallest leader epoch, -1 for none.
        last_epoch: largest leader epoch.
        file: path of the segment of the first one.
        position: byte offset of the first one.
    """

    entries: int
    size: int
    first_epoch: int
    last_epoch: int
    file: str | None
    position: int
    ALSO: ClassVar = ("bytes", "epochs")

    @property
    def bytes(self) -> int:
        """``size``, by the name that it has in JSON."""
        return self.size

    @property
    def epochs(self) -> tuple[int, int]:
        """The smallest and the largest leader epoch."""
        return self.first_epoch, self.last_epoch

    def add(self, place: EntryPlace) -> None:
        """Add a batch."""
        self.entries += 1
        self.size += place.size
        self.first_epoch = min(self.first_epoch, place.epoch)
        self.last_epoch = max(self.last_epoch, place.epoch)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDifference(Finding):
    """A range of offsets in which two logs differ; ``message`` explains it.

    Attributes:
        a: what A has there that is not the same in B; None for nothing.
        b: what B has there that is not the same in A; None for nothing.
        records: number of records that only one log has, or that differ, where records were
            compared; None where batches were.
    """

    reason: DifferenceKind
    offsets: OffsetRange
    a: Extent | None = None
    b: Extent | None = None
    records: int | None = None
    ALSO: ClassVar = ("kind", "first_offset", "last_offset", "legal", "why")

    @property
    def kind(self) -> DifferenceKind:
        """``reason``, by the name that it had before 0.3."""
        return self.reason

    @property
    def why(self) -> str:
        """``message``, by the name that it had before 0.3."""
        return self.message

    @property
    def first_offset(self) -> int:
        """The first of ``offsets``."""
        return self.offsets.start

    @property
    def last_offset(self) -> int:
        """The last of ``offsets``."""
        assert self.offsets.end is not None
        return self.offsets.end - 1

    @property
    def legal(self) -> bool:
        """Whether sound replicas differ in this way."""
        return self.reason in LEGAL


@dataclass(frozen=True, slots=True)
class Truncation:
    """The fate of a follower when the other log's broker is the leader.

    Attributes:
        leader: the log that is the leader's.
        offset: the follower truncates to this offset.
        end_offset: its end before.
        high_watermark: of the follower, None if it is not known.
        steps: what it asks the leader for, and what it makes of the answer.
        agrees: whether nothing that differs is left below that offset.
    """

    leader: Name
    offset: int
    end_offset: int
    high_watermark: int | None
    steps: tuple[TruncationStep, ...]
    agrees: bool

    @property
    def removed(self) -> OffsetRange | None:
        """The offsets that the follower loses; None for none."""
        return OffsetRange(self.offset, self.end_offset) if self.offset < self.end_offset else None

    @property
    def acknowledged(self) -> OffsetRange | None:
        """Those that were below its high watermark: acknowledged records, also with acks=all."""
        end = min(self.high_watermark or 0, self.end_offset)
        return OffsetRange(self.offset, end) if self.offset < end else None


@dataclass
class ReplicaComparison:
    """How two copies of a partition differ.

    Attributes:
        a: what was read of A.
        b: what was read of B.
        differences: the ranges in which they differ, by first offset.
        divergence: the first offset at which two leaders wrote other batches; None without any.
        leader: the log that is taken for the leader's.
        truncations: what a follower does, with the log of ``leader`` first.
        assumptions: what the files do not say.
        errors: entries and files of A and B that cannot be read.
    """

    a: ReplicaSide
    b: ReplicaSide
    differences: list[LogDifference] = field(default_factory=list)
    divergence: int | None = None
    leader: Name = "a"
    truncations: list[Truncation] = field(default_factory=list)
    assumptions: list[Assumption] = field(default_factory=list)
    errors: list[KafkaSpecError] = field(default_factory=list)

    @property
    def same(self) -> bool:
        """Whether all that differs is legal, and everything could be read."""
        return not self.errors and all(each.legal for each in self.differences)

    @property
    def same_segments(self) -> bool:
        """Whether the segments begin at the same offsets, as far as both logs reach."""
        start = max(side.bases[0] if side.bases else 0 for side in (self.a, self.b))
        end = min(self.a.end_offset, self.b.end_offset)
        first, second = (
            [base for base in side.bases if start < base < end] for side in (self.a, self.b)
        )
        return first == second


@checked
def compare_replicas(
    a: PartitionLog, b: PartitionLog, *, leader: Name | None = None
) -> ReplicaComparison:
    """Compare two copies of a partition byte by byte, and say what a follower would do.

    Each batch is the same in all replicas: a follower appends the bytes that the leader sent. What
    sound replicas differ in is where they begin and end, their segments, and what each cleaner has
    left; below the checkpoint of a cleaner, records are compared in place of batches. For that it
    needs PyArrow.

    Epochs are those of ``leader-epoch-checkpoint``, as a broker takes them when it starts; without
    that file those of the batches. Kafka: ``AbstractFetcherThread``, ``LeaderEpochFileCache``;
    KIP-101, KIP-279.

    Args:
        a: a partition, or a segment.
        b: another copy.
        leader: the one that is the leader's; by default the one with the higher last epoch, and of
            two with the same the longer one.

    Raises:
        KafkaSpecError: a file cannot be read, or a checkpoint.
        ImportError: a cleaner was there, and PyArrow is not installed.
    """
    found = ReplicaComparison(ReplicaSide(a), ReplicaSide(b))
    sorter = _Sorter(found, _log_start(found.a), _log_start(found.b), _cleaner(a), _cleaner(b))
    for pair in different(found.a, found.b):
        sorter.add(pair)
    found.differences = sorter.finish()
    found.errors += found.a.errors + found.b.errors
    _truncate(found, leader)
    return found


class _Sorter:
    """Sorts what differs into kinds, and joins neighbours of one kind."""

    def __init__(
        self, found: ReplicaComparison, start_a: int, start_b: int, cleaner_a: int, cleaner_b: int
    ) -> None:
        self._found = found
        self._starts = start_a, start_b
        self._wrong: list[str] = []
        """Which entries of the last pair have wrong checksums."""
        self._cleaners = cleaner_a, cleaner_b
        self._differences: list[LogDifference] = []
        self._cleaned: LogDifference | None = None

    def add(self, pair: Pair) -> None:
        """Add entries that are not the same."""
        kind = self._kind(pair)
        if kind is None:
            self._cleaned = _joined(self._cleaned, DifferenceKind.CLEANED, pair)
            return
        if kind is DifferenceKind.DIVERGED and self._found.divergence is None:
            self._found.divergence = pair.first_offset
        last = self._differences[-1] if self._differences else None
        if last is not None and last.kind is kind and _alike(last, pair):
            self._differences[-1] = _joined(last, kind, pair)
        else:
            are = "is" if len(self._wrong) == 1 else "are"
            damage = f"a checksum is wrong: {' and '.join(self._wrong)} {are} damaged"
            self._differences.append(replace(_joined(None, kind, pair), message=damage))

    def finish(self) -> list[LogDifference]:
        """Return all differences."""
        differences = []
        for each in self._differences:
            strength, message = self._reason(each)
            differences.append(replace(each, strength=strength, message=message))
        if self._cleaned is not None:
            differences += self._compare_records(self._cleaned)
        return sorted(differences, key=lambda each: each.first_offset)

    def _kind(self, pair: Pair) -> DifferenceKind | None:
        """Return how two logs differ in a pair; None if their records have to be compared."""
        a, b = pair.a, pair.b
        if self._found.divergence is not None:
            return DifferenceKind.DIVERGED
        if a is None or b is None:
            other = self._found.b if b is None else self._found.a
            if not other.ended and other.place.first_offset <= pair.last_offset:
                return DifferenceKind.DIVERGED  # it has some of these offsets
            if pair.last_offset < self._starts[b is None]:
                return DifferenceKind.LOG_START
            if other.ended and pair.first_offset >= other.end_offset:
                return DifferenceKind.END
            return None if pair.first_offset < max(self._cleaners) else DifferenceKind.MISSING
        if a.epoch != b.epoch:
            return DifferenceKind.DIVERGED
        if pair.first_offset < max(self._cleaners):
            return None
        self._wrong = [name for name, place in (("A", a), ("B", b)) if not _intact(place)]
        return DifferenceKind.DAMAGED if self._wrong else DifferenceKind.CHANGED

    def _reason(self, item: LogDifference) -> tuple[Strength, str]:
        only = "A" if item.b is None else "B"
        other = "B" if item.b is None else "A"
        if item.kind is DifferenceKind.LOG_START:
            return Strength.LIKELY, f"{other} begins later: retention, or records were deleted"
        if item.kind is DifferenceKind.END:
            text = f"{other} ends earlier: it has not got these yet, or lost them"
            return Strength.CONSISTENT, text
        if item.kind is DifferenceKind.DIVERGED:
            a, b = item.a, item.b
            if a is not None and b is not None and a.last_epoch == b.last_epoch:
                text = "other batches of one leader epoch: no leader of a sound cluster does that"
                return Strength.UNKNOWN, text
            return Strength.PROOF, "two leaders wrote these offsets"
        if item.kind is DifferenceKind.MISSING:
            return Strength.UNKNOWN, f"only {only} has these; no cleaner was there"
        if item.kind is DifferenceKind.CHANGED:
            text = "right checksums on both sides: one copy was changed, no broker does that"
            return Strength.PROOF, text
        return Strength.PROOF, item.message

    def _compare_records(self, span: LogDifference) -> list[LogDifference]:
        require_pyarrow()  # says what is not installed
        from kafkaspec.forensics.replicas.compacted import compare_cleaned

        logs = self._found.a.log, self._found.b.log
        start, end = span.first_offset, span.last_offset + 1
        only_a, only_b = compare_cleaned(*logs, start, end, *self._cleaners)
        gone = [*only_a.superseded, *only_a.expired, *only_b.superseded, *only_b.expired]
        proven = not only_a.expired and not only_b.expired
        message = "a newer record of the same key is there"
        message += "" if proven else ", or the record has no value or no key, or was aborted"
        strength = Strength.PROOF if proven else Strength.CONSISTENT
        result = [replace(span, records=len(gone), strength=strength, message=message)]
        for name, own in (("A", only_a), ("B", only_b)):
            self._found.errors += own.errors
            missing = f"only {name} has these; no newer record of the key"
            changed = "records of one offset differ: one copy was changed"
            for kind, offsets, strength, why in (
                (DifferenceKind.MISSING, own.missing, Strength.UNKNOWN, missing),
                (DifferenceKind.CHANGED, own.changed, Strength.PROOF, changed),
            ):
                result += (
                    LogDifference(
                        reason=kind,
                        message=why,
                        offsets=OffsetRange(each[0], each[-1] + 1),
                        strength=strength,
                        records=len(each),
                    )
                    for each in _runs(offsets)
                )
        return result


def _joined(item: LogDifference | None, kind: DifferenceKind, pair: Pair) -> LogDifference:
    """Return a difference with one more pair in it, a new one if there is none yet."""
    first, last = pair.first_offset, pair.last_offset
    if item is None:
        item = LogDifference(
            reason=kind, message="", offsets=OffsetRange(first, last + 1), strength=Strength.UNKNOWN
        )
    return replace(
        item,
        offsets=OffsetRange(min(item.first_offset, first), max(item.last_offset, last) + 1),
        a=_with(item.a, pair.a),
        b=_with(item.b, pair.b),
    )


def _with(extent: Extent | None, place: EntryPlace | None) -> Extent | None:
    if place is None:
        return extent
    if extent is None:
        name, position = place.segment.name, place.position
        return Extent(1, place.size, place.epoch, place.epoch, name, position)
    extent.add(place)
    return extent


def _alike(last: LogDifference, pair: Pair) -> bool:
    """Return whether a pair belongs to the difference before it."""
    if last.kind is DifferenceKind.DIVERGED:
        return True
    sides = (last.a is None) == (pair.a is None) and (last.b is None) == (pair.b is None)
    near = pair.first_offset <= last.last_offset + 1
    return sides and (near or last.kind in LEGAL) and last.kind is not DifferenceKind.DAMAGED


def _intact(place: EntryPlace) -> bool:
    try:
        return place.segment.batch_at(place.position).crc_valid
    except KafkaSpecError:
        return False


def _runs(offsets: Iterable[int]) -> list[list[int]]:
    """Divide offsets into runs without a gap."""
    runs: list[list[int]] = []
    for offset in sorted(offsets):
        if runs and offset == runs[-1][-1] + 1:
            runs[-1].append(offset)
        else:
            runs.append([offset])
    return runs


def _log_start(side: ReplicaSide) -> int:
    listed = side.log.log_start_offset if isinstance(side.log, Partition) else None
    return max(listed or 0, side.first_offset or 0)


def _cleaner(log: PartitionLog) -> int:
    return (log.cleaner_offset or 0) if isinstance(log, Partition) else 0


# -- truncation ------------------------------------------------------------------------------------


def _truncate(found: ReplicaComparison, leader: Name | None) -> None:
    """Add what followers do; nothing where the logs are alike, or one is not a broker's."""
    if not found.differences or any(
        isinstance(side.log.path, RemotePath) for side in (found.a, found.b)
    ):
        return
    sides: dict[Name, ReplicaSide] = {"a": found.a, "b": found.b}
    epochs = {name: _epochs(side) for name, side in sides.items()}
    if leader is None:
        ranks = {name: (_latest(each), each.end_offset) for name, each in epochs.items()}
        leader = "a" if ranks["a"] >= ranks["b"] else "b"
        why = "its last epoch is higher, or its log is longer; --leader says otherwise"
        found.assumptions.append(Assumption("leader", leader.upper(), why))
        choices: tuple[Name, ...] = ("a", "b") if leader == "a" else ("b", "a")
    else:
        choices = (leader,)
    found.leader = leader
    latest = max(map(_latest, epochs.values()))
    if latest == NONE:
        return
    why = "a controller gives the elected leader a new epoch, which begins at the end of its log"
    found.assumptions.append(Assumption("epoch of the leader", str(latest + 1), why))
    illegal = [each.first_offset for each in found.differences if not each.legal]
    for each in choices:
        follower: Name = "b" if each == "a" else "a"
        log = sides[follower].log
        mark = log.high_watermark if isinstance(log, Partition) else None
        start = _log_start(sides[follower])
        if mark is None and epochs[follower].latest is None:
            why = "no checkpoint says it: a broker takes the log start offset"
            found.assumptions.append(Assumption("high watermark", str(start), why))
        offset, steps = truncation(
            epochs[follower], epochs[each].elected(latest + 1), start if mark is None else mark
        )
        end = epochs[follower].end_offset
        agrees = all(first >= offset for first in illegal)
        found.truncations.append(Truncation(each, offset, end, mark, tuple(steps), agrees))


def _latest(epochs: ReplicaEpochs) -> int:
    return NONE if epochs.latest is None else epochs.latest


def _epochs(side: ReplicaSide) -> ReplicaEpochs:
    """Return the epochs of a log as a broker has them after it started."""
    listed: tuple[EpochEntry, ...] = ()
    if isinstance(side.log, Partition):
        listed = side.log.leader_epochs
    return ReplicaEpochs(listed or side.epochs, side.end_offset).truncated(side.end_offset)
