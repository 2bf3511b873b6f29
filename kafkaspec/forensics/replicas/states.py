"""Compare copies of logs by what ``verify --state`` remembers of them, without their segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafkaspec.analysis.state_file import StateStore, read_state
from kafkaspec.analysis.state_memory import LogMemory, SegmentMemory
from kafkaspec.analysis.tree import DigestLeaf, RangeDifference, each_difference, merged
from kafkaspec.errors import unreadable
from kafkaspec.files import names
from kafkaspec.forensics.replicas.comparison import DifferenceKind, Extent, LogDifference
from kafkaspec.log.batch import NONE
from kafkaspec.results import OffsetRange

__all__ = ["RememberedCopy", "StateComparison", "compare_states"]

_OTHER: Final = (
    "other batches; their segments say whether a cleaner, a leader or damage explains it"
)


@dataclass(frozen=True, slots=True)
class RememberedCopy:
    """A copy of a partition as a state has it.

    Attributes:
        path: of the partition.
        first_offset: in the name of its first segment.
        end_offset: the offset after the last batch.
        entries: number of its batches.
    """

    path: Path
    first_offset: int
    end_offset: int
    entries: int


@dataclass(frozen=True, slots=True)
class StateComparison:
    """Two copies of a partition.

    Attributes:
        topic: the topic.
        partition: its number.
        a: one of them.
        b: the other.
        differences: where they differ, in the order of offsets.
        same_segments: whether their segments begin at the same offsets.
        divergence: offset from which on two leaders wrote; states do not know that.
    """

    topic: str
    partition: int
    a: RememberedCopy
    b: RememberedCopy
    differences: list[LogDifference]
    same_segments: bool
    divergence: None = None

    @property
    def same(self) -> bool:
        """Whether all that differs is legal."""
        return all(each.legal for each in self.differences)


def compare_states(a: StateStore, b: StateStore) -> tuple[list[StateComparison], list[int]]:
    """Compare the partitions that two states have.

    Args:
        a: state of one broker, or copy.
        b: of the other.

    Returns:
        The comparisons, and for each state the number of partitions that only it has.

    Raises:
        KafkaSpecError: a state is damaged, or they have no partition in common.
    """
    first, second = _logs(a), _logs(b)
    shared = sorted(first.keys() & second.keys())
    if not shared:
        raise unreadable(f"{a.place}, {b.place}", "they have no partition in common")
    found = [_compared(key, first[key], second[key]) for key in shared]
    return found, [len(each) - len(shared) for each in (first, second)]


def _logs(store: StateStore) -> dict[tuple[str, int], LogMemory]:
    known = read_state(store)
    if known is None:
        raise unreadable(store.place, "verify has kept no state there")
    found = {}
    for line in known[1]:
        name = names.parse_partition(Path(line.path).name)
        if name is not None and not name.state:
            log = line.read()
            if len(log.segments):
                found[name.topic, name.partition] = log
    return found


def _compared(key: tuple[str, int], a: LogMemory, b: LogMemory) -> StateComparison:
    segments = list(a.segments), list(b.segments)
    mine, its = map(_copy, (a, b), segments)
    starts, ends = ({getattr(each, name) for each in (mine, its)}
                    for name in ("first_offset", "end_offset"))  # fmt: skip
    trees = ([segment.watch.tree for segment in log] for log in segments)
    by_kind: dict[DifferenceKind, list[RangeDifference]] = {}
    for item in each_difference(*trees):
        by_kind.setdefault(_kind(item, starts, ends), []).append(item)
    differences = [
        LogDifference(
            reason=kind,
            message=_message(kind, mine, its),
            offsets=item.offsets,
            a=_extent(item.offsets, item.a, segments[0]),
            b=_extent(item.offsets, item.b, segments[1]),
        )
        for kind, items in by_kind.items()
        for item in merged(items)
    ]
    differences.sort(key=lambda item: item.offsets.start)
    same = a.segments.names == b.segments.names
    return StateComparison(*key, mine, its, differences, same)


def _kind(item: RangeDifference, starts: set[int], ends: set[int]) -> DifferenceKind:
    """Return how two copies differ in a range, by where each begins and ends."""
    start, end = item.offsets.start, item.end
    if len(starts) > 1 and start < max(starts):
        return DifferenceKind.LOG_START
    if len(ends) > 1 and end > min(ends):
        return DifferenceKind.END
    return DifferenceKind.OTHER


def _message(kind: DifferenceKind, a: RememberedCopy, b: RememberedCopy) -> str:
    if kind is DifferenceKind.LOG_START:
        text = f"A begins at {a.first_offset}, B at {b.first_offset}"
    elif kind is DifferenceKind.END:
        text = f"A ended at {a.end_offset}, B at {b.end_offset}, when they were read"
    else:
        return _OTHER
    return f"{text}: not compared in this range"


def _copy(log: LogMemory, segments: Sequence[SegmentMemory]) -> RememberedCopy:
    name = names.parse_segment(log.segments.names[0])
    first = 0 if name is None else name.base_offset
    last = max(segment.watch.survey.highest_last for segment in segments)
    batches = sum(segment.watch.survey.batches for segment in segments)
    return RememberedCopy(Path(log.path), first, max(first, last + 1), batches)


def _extent(
    offsets: OffsetRange, leaf: DigestLeaf, segments: Sequence[SegmentMemory]
) -> Extent | None:
    """Return what a log has in a range; its epochs are those of the batches there."""
    if not leaf.batches:
        return None
    epochs = set(_epochs(offsets, segments)) or {NONE}
    return Extent(leaf.batches, leaf.size, min(epochs), max(epochs), None, NONE)


def _epochs(offsets: OffsetRange, segments: Sequence[SegmentMemory]) -> Iterator[int]:
    runs = (run for segment in segments for run in segment.watch.epochs)
    for run in runs:
        if run.last_offset >= offsets.start and (
            offsets.end is None or run.base_offset < offsets.end
        ):
            yield run.epoch
