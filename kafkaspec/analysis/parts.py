"""Verification in parts that can be read at the same time, on other machines too.

A part is a segment or a piece of one. Its verification needs the state after the parts before it,
which comes from a ``PartSurvey`` of each. A survey reads headers and markers only; joined in order,
surveys are the state after one pass over the log. So findings and totals are those of one pass.
One thing is not carried over: record timestamps above that in the header of their batch, which are
a separate finding.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from kafkaspec.analysis.check_order import LogOrder
from kafkaspec.analysis.findings import Finding, FindingReason, Severity
from kafkaspec.analysis.report import FileResult
from kafkaspec.analysis.text_checks import EpochRun
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.indexes import INDEXED, OffsetIndex
from kafkaspec.log.batch import Batch, stored_offset
from kafkaspec.log.header_table import number_of
from kafkaspec.log.segment import Segment

MAX_ALIKE = 100
"""Number of findings of the same file and reason to report; the rest is counted."""


@dataclass(frozen=True, slots=True)
class BatchSpan:
    """The byte range of a part of a segment.

    Attributes:
        start: byte offset of its first batch.
        end: byte offset of the batch after it, to which an entry of the offset index points; None
            for the end of the segment.
    """

    start: int = 0
    end: int | None = None


WHOLE = BatchSpan()


@dataclass(slots=True)
class PartSurvey:
    """The state that the batches of a part leave for the next part.

    Attributes:
        order: state of the partition.
        batches: number of batches of the same segment.
        sound: whether all entries were read, and the part ended where it should. A segment with a
            part that is not sound cannot be split.
        highest_first: largest first offset of a batch of the same segment.
        highest_last: largest last offset of a batch of the same segment.
        last_offset: last offset of the last batch.
        numbers: largest numbers of the same segment, of those in headers that are indexed.
        has_untimed: whether the same segment has a message without a timestamp.
    """

    order: LogOrder
    batches: int = 0
    sound: bool = True
    highest_first: int = -1
    highest_last: int = -1
    last_offset: int | None = None
    numbers: Counter[str] = field(default_factory=Counter)
    has_untimed: bool = False

    def follow(self, before: PartSurvey, *, same_segment: bool) -> None:
        """Take over the state of the previous part. ``before`` cannot be used afterwards."""
        self.order.follow(before.order)
        if not same_segment:
            return
        if not self.batches:
            self.last_offset = before.last_offset
        self.highest_first = max(self.highest_first, before.highest_first)
        self.highest_last = max(self.highest_last, before.highest_last)
        self.batches += before.batches
        self.numbers |= before.numbers
        self.has_untimed |= before.has_untimed


def survey(
    path: Path, span: BatchSpan, codec: str, *, group_offsets: bool = False, mapped: bool = True
) -> PartSurvey:
    """Survey the headers and transaction markers of a part.

    Args:
        mapped: whether it is mapped into memory, if that is possible.
    """
    found = PartSurvey(LogOrder(group_offsets=group_offsets))
    file = os.fspath(path)
    base = names.parse_segment(path.name)
    try:
        with Segment(path, codec=codec, mapped=mapped) as segment:
            end = None
            for item in segment.scan(span.start):
                if isinstance(item, KafkaSpecError):
                    found.sound = False
                    continue
                if span.end is not None and item.position >= span.end:
                    end = item.position
                    break
                _note(found, item, base.base_offset if base else None, file)
            if span.end is not None and end != span.end:
                found.sound = False
    except KafkaSpecError:
        found.sound = False
    return found


def _note(found: PartSurvey, batch: Batch, base: int | None, file: str) -> None:
    first = stored_offset(batch)
    for _ in found.order.check(batch, first, base, file):
        pass  # reported when the part itself is verified
    found.batches += 1
    found.last_offset = batch.last_offset
    found.highest_first = max(found.highest_first, first)
    found.highest_last = max(found.highest_last, batch.last_offset)
    found.numbers |= Counter({name: number_of(name)(batch) for name in INDEXED})
    found.has_untimed |= not batch.kind.has_timestamps
    if not batch.is_control or batch.producer_id < 0 or not batch.crc_valid:
        return
    try:
        marker = batch.marker()
    except KafkaSpecError:
        return
    if marker is not None:
        found.order.end_transaction(batch, bool(marker.aborts), file)


def spans_of(path: Path, most: int) -> list[BatchSpan]:
    """Split a segment at entries of its offset index into parts of about ``most`` bytes each.

    The surveys show whether the index is right.
    """
    name = names.parse_segment(path.name)
    try:
        size = path.stat().st_size
        if size <= most or name is None or name.kind != names.LOG:
            return [WHOLE]
        with closing(OffsetIndex(path.with_name(name.sibling(names.OFFSET_INDEX)))) as index:
            positions = [entry.position for entry in index.entries]
    except (OSError, KafkaSpecError):
        return [WHOLE]
    cuts = [0]
    before = 0
    for position in positions:
        if position <= before:
            return [WHOLE]  # each entry is after the one before it
        before = position
        if position - cuts[-1] >= most and position < size:
            cuts.append(position)
    return [BatchSpan(a, b) for a, b in zip(cuts, [*cuts[1:], None], strict=True)]


@dataclass(slots=True)
class Settled:
    """The result of a part: findings, of which at most ``MAX_ALIKE`` are alike.

    Attributes:
        findings: findings in order.
        results: results of the files that are done.
        alike: number of findings by file and reason, including those that are not in ``findings``.
        counts: number of findings by file and severity.
        last_offset: last offset of the log so far, None for none.
        epochs: leader epochs of the batches of the part.
    """

    findings: list[Finding] = field(default_factory=list)
    results: list[FileResult] = field(default_factory=list)
    alike: Counter[tuple[str, FindingReason]] = field(default_factory=Counter)
    counts: dict[str, Counter[Severity]] = field(default_factory=dict)
    last_offset: int | None = None
    epochs: list[EpochRun] = field(default_factory=list)

    def take(self, event: Finding | FileResult) -> None:
        """Add the next event of the part."""
        if isinstance(event, FileResult):
            self.results.append(event)
            return
        self.counts.setdefault(event.file, Counter())[event.severity] += 1
        key = event.file, event.reason
        self.alike[key] += 1
        if self.alike[key] <= MAX_ALIKE:
            self.findings.append(event)

    def append(self, other: Settled) -> None:
        """Add the next part of the same segment."""
        self.findings += other.findings
        self.alike.update(other.alike)
        for file, counts in other.counts.items():
            self.counts.setdefault(file, Counter()).update(counts)
        mine = {result.file: result for result in self.results}
        for result in other.results:
            if result.file in mine:
                mine[result.file].append(result)
            else:
                self.results.append(result)
        self.last_offset = other.last_offset
        self.epochs = [*self.epochs, *other.epochs]


Elsewhere = Callable[[Path], Settled | None]
"""Returns the result of a segment that was verified elsewhere; None for any other."""


def nowhere(path: Path) -> None:
    """Return that no segment was verified elsewhere."""


def in_results(events: Iterable[Finding | FileResult | Settled]) -> list[Settled]:
    """Collect events that another process passes on: what comes up to each result is one item."""
    items = [Settled()]
    for event in events:
        if isinstance(event, Settled):
            items += [event, Settled()]
            continue
        items[-1].take(event)
        if isinstance(event, FileResult):
            items.append(Settled())
    return items


def settled(events: Iterable[Finding | FileResult], order: LogOrder) -> Settled:
    """Collect the events of a part.

    Args:
        order: order state of the verification, read after the last event.
    """
    done = Settled()
    for event in events:
        done.take(event)
    done.last_offset, done.epochs = order.last_offset, order.epochs
    return done
