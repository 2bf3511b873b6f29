"""Choose which runs of sound entries belong to a log: values of records may hold others.

A batch inside a value passes every test by itself. Its surroundings betray it: sizes of headers
that lead past it, bytes that are left before and after it, and offsets that others have.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import accumulate, pairwise
from typing import Final

from kafkaspec.intact.heads import LENGTH_BYTES, SMALLEST, Head
from kafkaspec.intact.walk import Broken, Gap, IntactRun, Item
from kafkaspec.layout import varints
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.layout.kinds import KINDS
from kafkaspec.results import Strength

_MOST_PAIRS: Final = 250_000
"""Pairs of runs that are compared; of more runs, each is compared with fewer before it."""
_LEAST_NEAR: Final = 8
_LARGEST_VALUE: Final = 1 << 20
"""Bytes that no value has, as far as nobody raised ``max.message.bytes``."""
_PADDING: Final = SMALLEST[max(KINDS)]
"""Zeros at the end of a segment that are not part of a value, at least."""
_LONGEST_LENGTH: Final = varints.longest("varint32")


class Support(IntEnum):
    """The evidence that a run is not part of a value."""

    NONE = 0
    FOLLOWED = 1
    """A header with the next offset follows it."""
    ENDS = 2
    """It leads to the end of the segment: a value always leaves bytes after it."""
    KNOWN = 3
    """The segment begins with it, or the offset index has an entry of it.

    A segment that begins inside the log is all of it, from the first byte to the last.
    """


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The fate of a run.

    Attributes:
        keeps: whether it belongs to the log.
        strength: how well that is proven.
        why: why it is not kept, "" if it is.
        is_moved: whether its offsets are those before or after others than its bytes are.
    """

    keeps: bool
    strength: Strength
    why: str = ""
    is_moved: bool = False


EMBEDDED: Final = "inside a value"
OUTSIDE: Final = "offsets of another segment"
REPEATED: Final = "offsets that others have"
UNORDERED: Final = "offsets out of order"
UNCLEAR: Final = "may be inside a value"

_STRENGTHS: Final = {
    Support.KNOWN: Strength.PROOF,
    Support.ENDS: Strength.STRONG,
    Support.FOLLOWED: Strength.STRONG,
    Support.NONE: Strength.LIKELY,
}


def choose(
    items: Sequence[Item],
    base: int,
    limit: int | None,
    bound: int,
    buffer: memoryview,
    is_indexed: Callable[[IntactRun], bool],
) -> list[RunVerdict]:
    """Return a verdict for each run, in order.

    Args:
        items: what the segment consists of.
        limit: base offset of the next one, None for the last segment.
        bound: offset that none of the segment reaches.
        is_indexed: function that returns whether an index has an entry of a run.
    """
    runs = [item for item in items if isinstance(item, IntactRun)]
    if len(runs) == len(items) == 1:
        inside = base <= runs[0].first <= runs[0].last < bound
        if inside:
            return [RunVerdict(True, Strength.PROOF)]
    displaced = _is_displaced(items, base)
    nodes = _nodes(items, len(buffer), is_indexed, displaced=displaced)
    legacy = any(not KINDS[magic].has_record_sets for run in runs for magic in run.magics)
    verdicts: dict[int, RunVerdict] = {}
    rest = []
    for number, node in enumerate(nodes):
        run = node.run
        if not base <= run.first <= run.last < bound:
            verdicts[number] = RunVerdict(False, Strength.STRONG, OUTSIDE)
        elif node.support <= Support.FOLLOWED and _is_value(buffer, node, legacy):
            verdicts[number] = _embedded(node)
        else:
            rest.append(number)
    left, leading = [nodes[number] for number in rest], items[0] if items else None
    path = _path(left, leading, base, limit, len(buffer), displaced=displaced)
    verdicts.update(zip(rest, path, strict=True))
    return [verdicts[number] for number in range(len(nodes))]


def _is_displaced(items: Sequence[Item], base: int) -> bool:
    """Return whether the segment begins and ends somewhere inside the log, perhaps in a value."""
    # An entry that goes across both ends shows it, and a later run that the log begins with.
    if any(isinstance(item, Broken) and item.is_part for item in items):
        return True
    firsts = [item.first for item in items if isinstance(item, IntactRun)]
    return bool(firsts) and firsts[0] > base and base in firsts


@dataclass(frozen=True, slots=True)
class _Node:
    """A run, and what is around it.

    Attributes:
        support: of the run, or of others that it touches.
        start: byte offset of the first of all that touch each other.
        size: bytes of them.
        claimed: header that follows it and has the next offset, None without.
        exact: whether nothing comes after all that touch each other.
        falls: whether their offsets fall somewhere, as those of a segment in a value do not.
    """

    run: IntactRun
    support: Support
    start: int
    size: int
    claimed: Head | None
    exact: bool = False
    falls: bool = False


def _nodes(
    items: Sequence[Item], size: int, is_indexed: Callable[[IntactRun], bool], *, displaced: bool
) -> list[_Node]:
    found: list[_Node] = []
    first = 0
    while first < len(items):
        stop = first
        while stop < len(items) and not isinstance(items[stop], Gap):
            stop += 1
        after = items[stop] if stop < len(items) else None
        runs = [item for item in items[first:stop] if isinstance(item, IntactRun)]
        if runs:
            start, end = items[first].start, items[stop - 1].end
            claimed = _claimed(items[stop - 1], after)
            support = Support.NONE if claimed is None else Support.FOLLOWED
            padded = isinstance(after, Gap) and after.zeros and after.end - end >= _PADDING
            if (end == size or padded) and not displaced:
                support = Support.ENDS
            begins = start == 0 and (not displaced or end == size or padded)
            if begins or any(map(is_indexed, runs)):
                support = Support.KNOWN
            falls = any(one.last >= other.first for one, other in pairwise(runs))
            found += [
                _Node(run, support, start, end - start, None, end == size, falls) for run in runs
            ]
            if found[-1].run.end == end:
                found[-1] = replace(found[-1], claimed=claimed)
        first = stop + 1
    return found


def _claimed(before: Item, after: Item | None) -> Head | None:
    """Return a header after an entry that has the next offset, None if there is no such header."""
    if isinstance(before, Gap) or not isinstance(after, Gap) or after.head is None:
        return None
    head, last = after.head, None
    if isinstance(before, IntactRun):
        last = before.last
    elif before.head is not None:
        last = before.head.last
    if last is None or head.first <= last:
        return None
    is_next = head.first == last + 1 or not KINDS[head.magic].has_record_sets
    return head if is_next else None


def _is_value(buffer: memoryview, node: _Node, legacy: bool) -> bool:
    """Return whether the length of a value that holds all of the node stands right before it."""
    start, left = node.start, len(buffer) - node.start
    lengths = []
    for size in range(1, min(_LONGEST_LENGTH, start) + 1):
        stored = buffer[start - size : start]
        if stored[-1] & varints.MORE or not all(byte & varints.MORE for byte in stored[:-1]):
            break
        if size > 1 and not stored[-1]:  # nobody writes a number longer than it is
            break
        number = varints.code_of(stored)
        lengths.append(number >> 1 if not number & 1 else -1)
    if legacy and start >= LENGTH_BYTES:
        lengths.append(int.from_bytes(buffer[start - LENGTH_BYTES : start], "big"))
    return any(node.size <= length < left for length in lengths)


def _path(
    nodes: Sequence[_Node],
    leading: Item | None,
    base: int,
    limit: int | None,
    size: int,
    *,
    displaced: bool,
) -> list[RunVerdict]:
    """Return verdicts by the path with the most bytes on which bytes and offsets agree."""
    top = LARGEST_OFFSET + 1 if limit is None else limit
    before = IntactRun(0, 0, base - 1, base - 1, 0, set(), -1)
    begin = _Node(before, Support.KNOWN, 0, 0, _claimed(before, leading))
    end = _Node(IntactRun(size, size, top, top, 0, set(), -1), Support.KNOWN, size, 0, None)
    every = [begin, *nodes, end]
    within = [0, *accumulate(node.run.end - node.run.start for node in every)]
    near = max(_LEAST_NEAR, _MOST_PAIRS // len(every))
    score, previous, best = [0], [0], [0]
    best_far = 0
    for number in range(1, len(every)):
        found, chosen = -1, -1
        first = max(0, number - near)
        if first > 0 and score[first - 1] > score[best_far]:
            best_far = first - 1
        candidates = [*range(number - 1, first - 1, -1)]
        if first > 0:
            candidates.append(best_far)
        for other in candidates:
            # Only where one run is left out does more than the score count.
            if number - other > 2 and best[other] <= found:
                break
            if score[other] < 0:
                continue
            bytes_between = within[number] - within[other + 1]
            is_end = number == len(every) - 1
            is_edge = displaced and (is_end or not other)
            if _agree(every[other], every[number], bytes_between, is_end, touches=not is_edge):
                own = score[other]
                if number - other == 2:
                    is_open = is_end and limit is None
                    own += _refuted(every[other], every[other + 1], every[number], is_open)
                if own > found:
                    found, chosen = own, other
        own = every[number].run.end - every[number].run.start
        score.append(found + own if chosen >= 0 else -1)
        previous.append(chosen)
        best.append(max(best[-1], score[-1]))
    path, number = set[int](), previous[-1]
    if number < 0:  # nothing agrees with the end: the best path, wherever it ends
        number = max(range(len(every) - 1), key=lambda place: score[place])
    while number > 0:
        path.add(number)
        number = previous[number]
    return _verdicts(every, path)


def _agree(one: _Node, other: _Node, sound: int, is_end: bool, *, touches: bool) -> bool:
    """Return whether one run may be the next one after another, if what is between is lost."""
    # ``sound``: bytes of other runs between them: copies, or what one of them makes impossible.
    missing = other.run.first - one.run.last - 1
    if missing < 0:
        return False
    between = other.run.start - one.run.end - sound
    if between == 0 and touches:
        return True
    if is_end:
        return one.support > Support.FOLLOWED or _is_large(one)
    claimed = one.claimed
    if other.support <= Support.FOLLOWED and not (
        _is_large(other) or (claimed is not None and _comes_after(claimed, one, other))
    ):
        return False
    inside = claimed is not None and claimed.end > other.run.start
    if inside and other.support is Support.ENDS and not other.exact:
        return False
    weak = min(one.support, other.support) <= Support.FOLLOWED
    smallest = SMALLEST[max(KINDS)]
    if any(not KINDS[magic].has_record_sets for magic in one.run.magics | other.run.magics):
        smallest = min(SMALLEST.values())
    fits = missing >= 1 and between >= smallest
    if claimed is not None:
        fits = fits and other.run.first > claimed.last
    return fits or not weak


def _refuted(one: _Node, wrong: _Node, other: _Node, is_open: bool) -> int:
    """Return the bytes of an entry between two runs that only its offset keeps from being there."""
    # No checksum covers the offset. Where as many offsets are missing as the entry has, its offset
    # is wrong, and not that of a neighbour that has the same one. At the end of the log (open), any
    # number of offsets is free.
    run = wrong.run
    touches = one.run.end == run.start and run.end == other.run.start
    missing = other.run.first - one.run.last - 1
    if not touches or run.count != 1 or missing < 1:
        return 0
    size, span = run.end - run.start, run.last - run.first + 1
    if missing == span:
        return size
    if is_open:
        return max(size - 2, 0)  # less than a hole proves
    if missing > span:  # as compaction leaves it
        return max(size - 1, 0)
    # Of a compressed message, a wrong offset changes the span too.
    legacy = any(not KINDS[magic].has_record_sets for magic in run.magics)
    return max(size - 2, 0) if legacy else 0


def _is_large(node: _Node) -> bool:
    return node.run.end - node.run.start >= _LARGEST_VALUE


def _comes_after(claimed: Head, one: _Node, other: _Node) -> bool:
    """Return whether a run comes after a broken batch, and at least one more that is lost."""
    left = other.run.start - claimed.end
    return (
        KINDS[claimed.magic].has_record_sets
        and left >= SMALLEST[claimed.magic]
        and other.run.first > claimed.last + 1
        and other.run.epoch >= one.run.epoch
    )


def _verdicts(nodes: Sequence[_Node], path: set[int]) -> list[RunVerdict]:
    verdicts = [RunVerdict(True, _STRENGTHS[node.support]) for node in nodes]
    ordered = sorted(path)
    kept = [nodes[number] for number in ordered]
    firsts = [node.run.first for node in kept]
    place = 0
    for number in range(1, len(nodes) - 1):
        if number in path:
            place += 1
            continue
        node = nodes[number]
        before = kept[place - 1] if place else nodes[0]
        after = kept[place] if place < len(kept) else nodes[-1]
        last = bisect_right(firsts, node.run.last) - 1
        is_repeated = last >= 0 and kept[last].run.last >= node.run.first
        verdicts[number] = _refused(node, before, after, is_repeated=is_repeated)
    return verdicts[1:-1]


def _refused(node: _Node, before: _Node, after: _Node, *, is_repeated: bool) -> RunVerdict:
    """Return why a run is not on the path, between two that are."""
    run = node.run
    low, high = run.first <= before.run.last, run.last >= after.run.first
    if low or high:
        other = before if low else after
        strength = Strength.STRONG if other.support > Support.NONE else Strength.LIKELY
        return RunVerdict(False, strength, REPEATED if is_repeated else UNORDERED)
    if node.support == Support.NONE and (
        after.run.first - before.run.last - 1 == run.last - run.first + 1
        or run.first == before.run.last + 1
    ):
        return _embedded(node)
    return RunVerdict(False, Strength.UNKNOWN, UNCLEAR)


def _embedded(node: _Node) -> RunVerdict:
    """Return that a run is inside a value; not known if it is beside one with other offsets."""
    if node.falls:
        return RunVerdict(False, Strength.UNKNOWN, UNCLEAR)
    return RunVerdict(False, Strength.STRONG, EMBEDDED)
