"""Evidence about the offsets of a segment: its headers, and the files around it.

``kafkaspec.log.missing`` concludes from this what is missing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from operator import lt
from pathlib import Path
from typing import NamedTuple

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names as files
from kafkaspec.files.indexes import INDEXES, LARGEST_RELATIVE_OFFSET
from kafkaspec.io.window import LEAST_SPARSE
from kafkaspec.layout import names
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.layout.stand_ins import UNKNOWN
from kafkaspec.log.damage import ALWAYS_RAISED, Judge, Kept, KeptRange
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import header_tables, readable_headers
from kafkaspec.log.lookup import last_headers
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.results import OffsetRange


class OffsetHole(NamedTuple):
    """Offsets that a segment has lost, with the bytes there; whether a file names them."""

    offsets: OffsetRange
    proof: str
    position: int | None
    size: int
    named: bool


@dataclass(slots=True)
class NormalGaps:
    """Gaps between batches that are not loss, as far as they are wanted."""

    low: int
    high: int
    gaps: int = 0
    offsets: int = 0
    first: int | None = None
    last: int | None = None

    def add(self, start: int, end: int) -> None:
        """Add the offsets from ``start`` to before ``end``."""
        start, end = max(start, self.low), min(end, self.high)
        if start >= end:
            return
        self.gaps += 1
        self.offsets += end - start
        self.first = start if self.first is None else self.first
        self.last = end - 1

    def take(self, other: NormalGaps) -> None:
        """Add the gaps of the next segment."""
        self.gaps += other.gaps
        self.offsets += other.offsets
        self.first = other.first if self.first is None else self.first
        self.last = self.last if other.last is None else other.last


class SegmentExtent:
    """The facts in the headers of a segment.

    Args:
        inside: takes gaps between batches; None for nothing.
        kept: its intact entries, to read no others; None for all.

    Attributes:
        zeros: what is said of zeros after the last batch, None for none.
        end: offset after the last batch; the base offset if there is none.
        stop: byte offset after the last batch.
        cleaned: whether compaction left something out.
        below: number of batches that begin below the log start offset.
        is_odd: whether an entry cannot be parsed, or offsets do not rise.
        tail: bytes after the last batch that are none, None if there are none or all are zeros.
        tail_size: number of bytes after the last batch.
        claimed_end: offset after the last one of broken headers at the end, 0 for none.
        holes: offsets that no intact batch has, though batches before and after them are.
        behind: intact batches that no reader reaches.
    """

    def __init__(
        self,
        segment: Segment,
        inside: NormalGaps | None,
        log_start: int | None,
        ends_only: bool,
        kept: Kept | None = None,
    ) -> None:
        self.end = segment.base_offset or 0
        self.cleaned = self.is_odd = False
        self.below = self.claimed_end = 0
        self.kept = kept
        self.tail: str | None = None
        self.zeros: str | None = None
        self.tail_size = 0
        self.holes: list[OffsetHole] = []
        self.behind: list[KeptRange] = []
        # Between offsets that are positions lie the bytes of the messages.
        form = segment.format
        self._inside = inside if form.has_offsets and not form.offsets_are_positions else None
        self._segment = segment
        self._log_start = -1 if log_start is None else log_start
        if kept is not None:
            self._follows = segment.base_offset is not None
            self._read_kept(segment, kept)
            return
        items = last_headers(segment) if ends_only else None
        self._follows = segment.base_offset is not None and items is None
        self._take(readable_headers(segment) if items is None else items)
        tail = segment.tail
        self.stop = segment.size if tail is None else tail.position
        if tail is not None:
            self.tail_size = tail.size
            self.tail = None if tail.reason == "zeros" else str(tail)
            self.zeros = str(tail) if tail.reason == "zeros" else None
        if form.offsets_are_positions:
            self.end, self.cleaned = (segment.base_offset or 0) + self.stop, False

    def _take(self, items: Iterable[HeaderTable | KafkaSpecError]) -> None:
        for item in items:
            if isinstance(item, KafkaSpecError):
                self._follows = False  # whoever reads it reports it
                self.is_odd = True
            else:
                self._table(item)

    def _read_kept(self, segment: Segment, kept: Kept) -> None:
        near = _Near(segment)
        for (start, stop, first, last, is_there), lost in zip(
            kept.ranges, kept.breaks, strict=True
        ):
            if lost is not None and first > self.end:
                position, size = lost
                text = f"the {size:,} bytes there are not an intact batch of the log"
                if not size:
                    text = "the batches around them are out of order, with other bytes beside them"
                self._lose(first, text, position, size)
            self._follows = self._follows and lost is None
            if is_there:
                table = near.of(start)
                rows = None if table is None else _rows(table, start, stop)
                if table is None or rows is None:
                    self._take(readable_headers(segment, start, stop))
                else:
                    self._table(table, *rows)
            self.end = max(self.end, last + 1)
        self.stop = max((item.end for item in kept.ranges), default=0)
        self.tail_size = segment.size - self.stop
        if kept.stop > self.stop:
            self.claimed_end = kept.claimed_end
            size = kept.stop - self.stop
            self.tail = f"the last {size:,} bytes are not an intact batch of the log"
        elif self.tail_size:
            self.zeros = f"the last {self.tail_size:,} bytes are zeros"

    def _lose(
        self, first: int, text: str, position: int | None = None, size: int = 0, named: bool = False
    ) -> None:
        """Note that the offsets up to ``first`` are lost."""
        self.holes.append(OffsetHole(OffsetRange(self.end, first), text, position, size, named))

    def _table(self, table: HeaderTable, begin: int = 0, end: int | None = None) -> None:
        """Take some headers; as a whole if no offset is left out between the first and the last."""
        columns = table.first_offset, table.last_offset, table.list(names.NUM_RECORDS)
        firsts, lasts, counts = (column[begin:end] for column in columns)
        if not table.has_wrappers:
            span = lasts[-1] - firsts[0] + 1
            held = sum(lasts) - sum(firsts) + len(firsts)
            dense = span == held == sum(counts) and all(map(lt, lasts, firsts[1:]))
            if self._whole(firsts[0], lasts[-1], len(firsts), dense):
                return
        for first, last, count in zip(firsts, lasts, counts, strict=True):
            unknown = count == UNKNOWN
            self._add(None if unknown else first, last, None if unknown else count)

    def _whole(self, first: int, last: int, batches: int, dense: bool) -> bool:
        """Take batches without a gap, if they are."""
        below = self._log_start
        if not dense or not self._follows or first != self.end or first < below <= last:
            return False
        self.end = last + 1
        self.below += batches if last < below else 0
        return True

    def _add(self, first: int | None, last: int, count: int | None) -> None:
        self.is_odd |= (last if first is None else first) < self.end and self._follows
        if first is not None:
            if self._follows and first > self.end:
                self._gap(first)
            self.cleaned |= count is not None and count < last - first + 1
        self.end = max(self.end, last + 1)
        self._follows = True
        self.below += (last if first is None else first) < self._log_start

    def _gap(self, first: int) -> None:
        """Take offsets without a batch: compaction removed them, unless an index lists one."""
        # The cleaner makes the indexes of what it cleans again.
        place = bisect_left(self._listed, self.end)
        if place < len(self._listed) and self._listed[place] < first:
            text = f"an index of the segment lists offset {self._listed[place]}"
            self._lose(first, text, named=True)
            return
        self.cleaned = True
        if self._inside is not None:
            self._inside.add(self.end, first)

    @cached_property
    def _listed(self) -> Sequence[int]:
        """The offsets that the indexes list, in order; a damaged one lists none."""
        found: set[int] = set()
        for name in ("offset_index", "time_index"):
            try:
                index = getattr(self._segment, name)
                offsets = [] if index is None else index.slot_columns()[0][: len(index)]
            except KafkaSpecError:
                continue  # of files that say nothing about records
            if all(map(lt, offsets, offsets[1:])):
                found.update(offsets)
        return sorted(found)


class _Near:
    """The headers at places that mostly ascend: many are read at once."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._tables: Iterator[HeaderTable] = iter(())
        self._table: HeaderTable | None = None

    def of(self, place: int) -> HeaderTable | None:
        """Return a table with the entry at a place; None if the codec does not scan it."""
        while self._table is not None and self._table.end <= place:
            self._table = next(self._tables, None)
        if self._table is None or place < self._table.position[0]:
            self._tables = header_tables(self._segment, place, few=True)
            self._table = next(self._tables, None)
        return self._table


def _rows(table: HeaderTable, start: int, stop: int) -> tuple[int, int] | None:
    """Return the numbers of the entries in a range; None if the table does not have them all."""
    places = table.position
    first, end = bisect_left(places, start), bisect_left(places, stop)
    ends = places[end] if end < len(places) else table.end
    return (first, end) if first < end and places[first] == start and ends == stop else None


def whole_end(segment: Segment) -> int | None:
    """Return the offset after the last batch, by one read; None unless the file ends with it.

    Also None where offsets do not follow each other in what is read, or go beyond those that a
    segment can have: from the last entry of the offset index on, or in the whole of a small one.
    """
    if segment.format.offsets_are_positions:
        return None
    is_small = segment.size <= LEAST_SPARSE  # one read gets it, without its index
    end, stop = segment.base_offset if is_small else None, 0
    try:
        for table in header_tables(segment) if is_small else last_headers(segment) or ():
            if isinstance(table, KafkaSpecError):
                return None
            for first, last in zip(table.first_offset, table.last_offset, strict=True):
                if end is not None and not first <= end <= last:
                    return None
                end = last + 1
            stop = table.end
    except KafkaSpecError:
        return None
    is_whole = end is not None and end <= _bound(segment) and 0 < stop == segment.size
    return end if is_whole else None


def _bound(segment: Segment) -> int:
    """Return the offset after the largest one that a segment can have, by its name."""
    return (segment.base_offset or 0) + LARGEST_RELATIVE_OFFSET + 1


def extent_of(
    segment: Segment,
    inside: NormalGaps | None,
    log_start: int | None,
    ends_only: bool,
    limit: int | None,
    judge: Judge | None,
    *,
    check: bool = False,
) -> SegmentExtent | None:
    """Return what headers say of a segment, or the judge if they are odd; None if unreadable."""
    try:
        noted = None if inside is None else NormalGaps(inside.low, inside.high)
        extent = SegmentExtent(segment, noted, log_start, ends_only)
        bound = _bound(segment)
        too_far = extent.end > (bound if limit is None else min(bound, limit))
        if (
            judge is not None
            and (check or extent.is_odd or extent.tail is not None or too_far)
            # Of a remote segment, who checks it has read all of it; others read its ends only.
            and (check or isinstance(segment.path, Path))
            and segment.base_offset is not None
            and segment.format.is_written
        ):
            plain, kept = extent, judge(segment, limit)
            plain.kept = kept
            if plain.is_odd or ends_only or not kept.is_whole(segment.size):
                noted = None if inside is None else NormalGaps(inside.low, inside.high)
                extent = SegmentExtent(segment, noted, log_start, ends_only, kept)
            if plain.tail is not None:
                extent.behind = [item for item in kept.ranges if item.start >= plain.stop]
                if extent.stop == plain.stop:
                    extent.tail = plain.tail
    except KafkaSpecError as error:
        if error.reason not in ALWAYS_RAISED:
            raise
        return None
    if inside is not None and noted is not None:
        inside.take(noted)
    return extent


class FilesAround:
    """The files around a segment."""

    def __init__(self, name: str, partition: Partition | None, judge: Judge | None) -> None:
        """Take the path of the partition, or of a segment alone, as the name."""
        self.name = name
        self._partition = partition
        self._judge = judge
        self.bases = [] if partition is None else partition.base_offsets

    def next_base(self, base: int | None) -> int | None:
        """Return the base offset of the next segment, None after the last one."""
        if base is None:
            return None
        following = bisect_right(self.bases, base)
        return self.bases[following] if following < len(self.bases) else None

    def orphans(self, start: int, end: int | None) -> Iterator[tuple[int, str]]:
        """Yield the offsets up to which indexes without a segment between two offsets reach."""
        for base, path in self._orphans:
            if start <= base and (end is None or base < end):
                reach = _end_of_index(path)
                text = f"{path.name} is there without its segment"
                yield (base, text) if reach is None else (reach, f"{text}, and goes to {reach - 1}")

    @cached_property
    def _orphans(self) -> list[tuple[int, Path]]:
        known = set(self.bases)
        return [
            (item.base_offset, path)
            for item, path in (() if self._partition is None else self._partition.named_files)
            if item.kind in files.REMOTE_INDEXES
            and not item.state
            and not item.remote_id
            and item.base_offset not in known
        ]

    def before_first(self) -> list[tuple[int, str]]:
        """Return where offsets before the first segment begin that something names, and what."""
        partition = self._partition
        if partition is None or not self.bases or not self.bases[0] or partition.state:
            return []
        first = self.bases[0]
        proofs_of = (
            (self._orphans, "is there without its segment"),
            (self._snapshots, "is of a segment before it"),
        )
        claims = [(base, f"{path.name} {text}") for listed, text in proofs_of
                  for base, path in listed if base < first]  # fmt: skip
        try:
            tiered = partition.log_start_checkpoint is not None
        except KafkaSpecError:
            tiered = True
        tiered |= any(path.name == files.REMOTE_LOG_SNAPSHOT for path in partition.files)
        if not tiered:
            claims += [claim for claim in self._epochs[:1] if claim[0] < first]
        return claims

    def begun(self, start: int, end: int) -> Iterator[tuple[int, str]]:
        """Yield what began between two offsets, above the cleaner's checkpoint: it is lost."""
        try:
            reached = self._partition.cleaner_offset if self._partition else None
            known = self._partition is not None and self._partition.has_cleaner_checkpoint
        except KafkaSpecError:
            return
        if not known:
            return
        start = max(start, reached or 0)
        for base, path in self._snapshots:
            if start < base < end:
                yield base, f"{path.name} is of that offset"
        yield from (claim for claim in self._epochs if start < claim[0] < end)

    @cached_property
    def _snapshots(self) -> list[tuple[int, Path]]:
        paths = [] if self._partition is None else self._partition.snapshot_paths
        parsed = [(files.parse_segment(path.name), path) for path in paths]
        return [(name.base_offset, path) for name, path in parsed if name is not None]

    @cached_property
    def _epochs(self) -> list[tuple[int, str]]:
        try:
            entries = self._partition.leader_epochs if self._partition else ()
        except KafkaSpecError:
            return []
        return [
            (item.start_offset, f"epoch {item.epoch} in {files.LEADER_EPOCHS} begins there")
            for item in entries
        ]

    def ends(self) -> Iterator[tuple[int, str]]:
        """Yield the ends of the log by its last producer snapshot and the broker's checkpoints."""
        partition = self._partition
        if partition is None:
            return
        for offset, path in self._snapshots[-1:]:
            yield offset, f"{path.name} is of that offset"
        if partition.state:
            return
        known = {"high_watermark": files.HIGH_WATERMARKS, "recovery_point": files.RECOVERY_POINTS}
        for what, name in known.items():
            try:
                offset = getattr(partition, what)
            except KafkaSpecError:
                continue  # of files that say nothing about records
            if offset is not None:
                yield offset, f"the {what.replace('_', ' ')} in {name} is {offset}"

    def compacted(self, end: int) -> bool:
        """Return whether compaction can have left a gap that ends at an offset."""
        if self._partition is None or self._shows_compaction:
            return self._partition is not None
        try:
            reached = self._partition.cleaner_offset
        except KafkaSpecError:
            return False
        return reached is not None and reached >= end

    @cached_property
    def _shows_compaction(self) -> bool:
        segments = segments_of(self._partition, -1, LARGEST_OFFSET) if self._partition else ()
        extents = (
            extent_of(item, None, None, False, self.next_base(item.base_offset), self._judge)
            for item in segments
            if item is not None
        )
        return any(extent is not None and extent.cleaned for extent in extents)


def files_around(log: Segment | Partition, judge: Judge | None) -> FilesAround:
    if isinstance(log, Partition):
        return FilesAround(str(log.path), log, judge)
    name = log.name or ""
    path = log.path
    if log.base_offset is None or not isinstance(path, Path):
        return FilesAround(name, None, judge)
    try:
        beside = Partition(path.absolute().parent)
    except KafkaSpecError:
        return FilesAround(name, None, judge)
    listed = path.name in (item.name for item in beside.segment_paths)
    return FilesAround(name, beside if listed else None, judge)


def segments_of(log: Partition, low: int, high: int) -> Iterator[Segment | None]:
    """Yield each segment with offsets in a range, None for one that cannot be opened."""
    for path in log.paths_from(low, high):
        try:
            yield log.open_segment(path)
        except KafkaSpecError:
            yield None


def _end_of_index(path: Path) -> int | None:
    """Return the offset after the last one that an index lists, None if it lists none."""
    reader = next((made for kind, made in INDEXES.items() if path.name.endswith(kind)), None)
    if reader is None:
        return None
    try:
        with closing(reader(path)) as index:
            return index.entry(len(index) - 1).offset + 1 if index else None
    except KafkaSpecError:  # of a file that says nothing about records
        return None


def listed_after(segment: Segment, stop: int) -> Iterator[tuple[int, str]]:
    """Yield the offsets after the batches that the indexes list after the end of a segment."""
    try:
        index = segment.offset_index
        entry = index.entry(len(index) - 1) if index else None
        # One of both alone is a damaged index.
        if entry is not None and entry.position >= stop:
            yield entry.offset + 1, f"its offset index goes to offset {entry.offset}"
        times = segment.time_index
        last = times.entry(len(times) - 1) if times else None
        if last is not None:
            yield last.offset + 1, f"its time index goes to offset {last.offset}"
    except KafkaSpecError:
        return  # of files that say nothing about records
