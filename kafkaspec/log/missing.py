"""Say what a log does not deliver: the one rule for all commands that deliver records.

Offsets without a record are normal in a compacted log, inside segments and between them, and
nothing in a log says whether its topic was compacted. So a gap alone is not a loss. It is one

* if the segment before it does not end with a batch, but with a part of one;
* if an index of that segment lists batches after its end, or a file of a segment in the gap is
  there without its ``.log``;
* if nothing shows that the log was ever compacted: neither the cleaner's checkpoint, nor a gap
  inside a segment, nor a batch with fewer records than offsets. Brokers begin a segment with the
  offset after the last one;
* if it is above the cleaner's checkpoint, and a producer snapshot or a leader epoch begins in it.

Segments before the first one are lost if an index or snapshot of one of them is there, or if a
leader epoch begins before the first segment: retention removes them from the checkpoint of epochs.
A log in remote storage keeps those epochs too: the broker's checkpoint has its log start offset,
or its directory a snapshot of the remote log's metadata.

The log itself ends too early if an index, a file of a later segment, a producer snapshot or a
checkpoint of its broker (high watermark, recovery point) goes beyond its last batch. Zeros at the
end alone are not loss: preallocated files have them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from operator import lt
from pathlib import Path
from typing import ClassVar, Final

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names as files
from kafkaspec.files.indexes import INDEXES, LARGEST_RELATIVE_OFFSET
from kafkaspec.layout import names
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.layout.stand_ins import UNKNOWN
from kafkaspec.log.damage import ALWAYS_RAISED, Judge, Kept
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import readable_headers
from kafkaspec.log.lookup import start_position
from kafkaspec.log.options import LOG_START, LogStart
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.options import checked
from kafkaspec.results import Finding, OffsetRange
from kafkaspec.shown import some_of


class MissingWhy(StrEnum):
    """Why something is not delivered. The list is closed."""

    CUT = "cut"
    """A segment ends before the next one begins, or before its index says."""
    START = "start"
    """Files of segments before the first one, or leader epochs, say that the log began earlier."""
    END = "end"
    """The log ends before a later file or a checkpoint of the broker says."""
    TAIL = "tail"
    """The bytes at the end of a segment are not a batch."""
    LOG_START = "log_start"
    """The log start offset contradicts the log, or cannot be read."""
    DELETED = "deleted"
    """Batches below the log start offset, which no broker delivers, are left out."""
    COMPACTED = "compacted"
    """Gaps as compaction leaves them."""
    COPY = "copy"
    """A directory of a partition that is being deleted, moved, or unknown to its cluster."""
    FOLDER = "folder"
    """Folders in a log directory or partition that are not Kafka's."""
    NAME = "name"
    """A segment, index or snapshot whose number is not an offset. Brokers do not start with it."""
    BROKEN = "broken"
    """In a segment, no intact batch has them: between those that are, bytes are lost."""
    BEHIND = "behind"
    """Batches are intact, and come after bytes that no reader gets past."""
    LEFTOVER = "leftover"
    """Segments that a broker was about to delete, or to put in place of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing(Finding):
    """Something that a log does not deliver.

    Attributes:
        file: path of the segment, or of the partition.
        reason: the kind.
        message: what is missing, and what shows it.
        position: byte offset in the file where something is missing; None for none.
        offsets: the missing offsets; None if they are not known.
        is_loss: whether records are lost or unreadable; else it is normal and only worth knowing.
        size: number of bytes there that are not a batch.
        batches: number of batches that are left out, as far as they are known.
        named: whether a file that is there names what is missing.
        proof: what shows that offsets are missing.
    """

    file: str
    reason: MissingWhy
    is_loss: bool = True
    size: int = 0
    batches: int = 0
    named: bool = False
    proof: str = ""
    ALSO: ClassVar = ("why", "first_offset", "last_offset")

    @property
    def lost(self) -> OffsetRange | None:
        """The offsets that nobody can get back from this log; None for none."""
        return self.offsets if self.is_loss and self.reason in _LOST and self.count else None

    @property
    def why(self) -> MissingWhy:
        """``reason``, by the name that it had before 0.3."""
        return self.reason

    @property
    def first_offset(self) -> int | None:
        """The start of ``offsets``; as ``last_offset``, a member until 0.2."""
        return self.offsets and self.offsets.start

    @property
    def last_offset(self) -> int | None:
        """The last of ``offsets``."""
        return None if not self.offsets or self.offsets.end is None else self.offsets.end - 1

    @property
    def through(self) -> tuple[int, int]:
        """The first and the last of the missing offsets."""
        first, end = self.offsets or (0, None)
        return first, first if end is None else end - 1

    @property
    def count(self) -> int:
        """Number of missing offsets, 0 if they are not known."""
        return (self.offsets and self.offsets.size) or 0

    def __str__(self) -> str:
        place = "" if self.position is None else f" at byte {self.position}"
        return f"{self.file}{place}: {self.message}"


_LOST: Final = frozenset({MissingWhy.START, MissingWhy.BROKEN, MissingWhy.CUT, MissingWhy.END})


@checked
def missing(
    log: Segment | Partition | LogDirectory,
    *,
    start_offset: int | None = None,
    end_offset: int | None = None,
    log_start: LogStart = LOG_START,
    ends_only: bool = False,
    judge: Judge | None = None,
    check: bool = False,
) -> Iterator[Missing]:
    """Yield what a log does not deliver between two offsets. Only headers of batches are read.

    Segments that cannot be read are not listed: reading them raises the error. Lost offsets inside
        segments are listed with a judge, without which reading raises the error of each batch.

    Args:
        log: the log. Of a segment in a partition directory, the files beside it count too.
        start_offset: smallest offset to deliver.
        end_offset: first offset not to deliver.
        log_start: see ``LogStart``. For partitions.
        ends_only: whether to read only the end of each segment, from the last entry of its offset
            index on. Gaps inside segments are then not seen. Of a remote log, nothing else is
            read.
        judge: finds the intact batches of a local segment whose headers show damage.
        check: whether to ask the judge about each segment, as where checksums are wrong.
    """
    yield from passed_over(log)
    if isinstance(log, LogDirectory):
        for partition in log.current:
            yield from missing(
                partition, start_offset=start_offset, end_offset=end_offset, log_start=log_start,
                ends_only=ends_only, judge=judge, check=check,
            )  # fmt: skip
        return
    low = -1 if start_offset is None else start_offset
    high = LARGEST_OFFSET if end_offset is None else end_offset
    start = None
    if isinstance(log, Partition):
        start, problem = _log_start(log, log_start)
        if problem is not None:
            yield problem
    wanted = low if start is None else max(low, start)
    account = Account(log, wanted, high, start, ends_only=ends_only, judge=judge)
    yield from account.beside()
    below = end = 0
    whole = True
    for segment in [log] if isinstance(log, Segment) else _segments(log, low, high):
        found = None if segment is None else account.of(segment, check=check)
        if found is None:
            whole = False  # whoever reads it reports it
            continue
        below, end = below + account.below, account.end
        yield from found
    inside, around = account.inside, account.around
    ends_only = account.ends_only
    if isinstance(log, Partition) and start is not None:
        if whole and start > end and (log.last_base_offset or 0) < high:
            text = f"the log start offset {start} is after the end of the log, {end}: everything is"
            text += " left out"
            yield Missing(file=str(log.path), reason=MissingWhy.LOG_START, message=text)
        yield from _deleted(log, low, start, None if ends_only else below)
    if inside.gaps:
        text = f"{inside.offsets} offsets are not there, as after compaction; gaps: {inside.gaps}"
        offsets = OffsetRange.through(inside.first, inside.last)
        yield replace(_note(around.name, MissingWhy.COMPACTED, text), offsets=offsets)


class Account:
    """The records that a log does not deliver between two offsets, segment by segment.

    Attributes:
        ends_only: whether only the ends of segments are read.
        inside: the gaps that are not loss.
        around: the files around a segment.
        below: number of batches below the log start offset in the last segment.
        end: the offset after it.
        kept: its intact entries, None where its headers show no damage.
    """

    def __init__(
        self,
        log: Segment | Partition,
        low: int = -1,
        high: int = LARGEST_OFFSET,
        log_start: int | None = None,
        *,
        ends_only: bool = False,
        judge: Judge | None = None,
    ) -> None:
        self._log, self._low, self._high, self._start = log, low, high, log_start
        self.ends_only = ends_only or not isinstance(log.path, Path | None)
        self._judge = judge
        self.around = _around(log, judge)
        self.inside = _Gaps(low, high)
        self.below = self.end = 0
        self.kept: Kept | None = None

    def beside(self) -> Iterator[Missing]:
        """Yield what is missing before the first segment, or without any."""
        if not isinstance(self._log, Partition):
            return
        found = [self.around.before_first()]
        if not self._log.segment_paths:
            found.append(self.around.without_segments())
        yield from self._wanted(found)

    def of(self, segment: Segment, *, check: bool = False) -> list[Missing] | None:
        """Return what is missing in a segment and after it; None if the file cannot be read.

        Args:
            check: whether batches in it are known to be damaged.
        """
        limit = self.around.next_base(segment.base_offset)
        extent = _extent_of(
            segment, self.inside, self._start, self.ends_only, limit, self._judge, check=check
        )
        if extent is None:
            return None
        self.below, self.end, self.kept = extent.below, extent.end, extent.kept
        found = [*extent.lost, *extent.behind, _after(segment, extent, self.around, self.inside)]
        return list(self._wanted(found))

    def _wanted(self, found: Iterable[Missing | None]) -> Iterator[Missing]:
        for item in found:
            if item is not None:
                first, end = item.offsets or (0, None)
                if first < self._high and (end is None or end > self._low):
                    yield item


def passed_over(log: Segment | Partition | LogDirectory) -> Iterator[Missing]:
    """Yield what is beside the logs of a directory and not read, and whether a log is a copy."""
    place = str(log.path)
    if isinstance(log, LogDirectory):
        for partition in log.readable:
            if partition.state:
                text = f"left out: {files.copy_text(partition.state)}"
                yield _note(str(partition.path), MissingWhy.COPY, text)
    elif log.path is not None:
        holder = log.path if isinstance(log, Partition) else log.path.absolute().parent
        name = files.parse_partition(holder.absolute().name)
        if name is not None and name.state:
            yield _note(place, MissingWhy.COPY, files.copy_text(name.state))
    if isinstance(log, Segment):
        return
    if log.folders:
        text = _not_read(log.folders, "folder")
        if isinstance(log, LogDirectory):
            text += "; no partition is named like this"
        yield _note(place, MissingWhy.FOLDER, text)
    if isinstance(log, LogDirectory):
        return
    for path in log.files:
        if files.is_beyond_offsets(path.name):
            text = "not read: the number in its name is not an offset. "
            text += "No broker starts with such a file"
            is_loss = path.suffix in files.SEGMENTS
            yield Missing(file=str(path), reason=MissingWhy.NAME, message=text, is_loss=is_loss)
    parsed = [(path, files.parse_segment(path.name)) for path in log.files]
    left = [path for path, each in parsed if each and each.state and each.kind in files.SEGMENTS]
    if left:
        text = f"{_not_read(left, 'segment')}; a broker was about to delete or rename it"
        yield _note(place, MissingWhy.LEFTOVER, text)


def _not_read(paths: Sequence[Path], what: str) -> str:
    number = f"1 {what} was" if len(paths) == 1 else f"{len(paths):,} {what}s were"
    return f"{number} not read: {some_of([path.name for path in paths])}"


def _note(file: str, why: MissingWhy, message: str) -> Missing:
    return Missing(file=file, reason=why, message=message, is_loss=False)


def _log_start(partition: Partition, choice: LogStart) -> tuple[int | None, Missing | None]:
    """Return the first offset to deliver, and what is wrong with the checkpoint that says it."""
    if choice == "ignore":
        return None, None
    if choice != "checkpoint":
        return choice, None
    try:
        listed = partition.log_start_checkpoint
    except KafkaSpecError as error:
        text = f"it cannot be read, and nothing is left out because of it: {error.detail}"
        file = error.file or str(partition.path)
        return None, Missing(
            file=file, reason=MissingWhy.LOG_START, message=text, position=error.position
        )
    first = partition.first_base_offset
    if listed is None or first is None or listed >= first:
        return listed, None
    text = f"the log start offset {listed} is before the first segment, {first}"
    note = _note(str(partition.path), MissingWhy.LOG_START, text)
    return None, replace(note, offsets=OffsetRange(listed, first))


def _deleted(log: Partition, low: int, start: int, below: int | None) -> Iterator[Missing]:
    """Yield a note on the batches below a log start offset; ``below`` is their number, if known."""
    first = log.first_base_offset
    if below is None and (first is None or max(first, low) >= start):
        return
    what = "batches" if below is None else "1 batch" if below == 1 else f"{below:,} batches"
    if below != 0:
        text = f"{what}, in whole or in part, below the log start offset {start} left out"
        note = _note(str(log.path), MissingWhy.DELETED, text)
        yield replace(note, offsets=OffsetRange(0, max(low, start)), batches=below or 0)


def _segments(log: Partition, low: int, high: int) -> Iterator[Segment | None]:
    """Yield each segment with offsets in a range, None for one that cannot be opened."""
    for path in log.paths_from(low, high):
        try:
            yield log.open_segment(path)
        except KafkaSpecError:
            yield None


# -- what a segment holds ---------------------------------------------------------------------


@dataclass(slots=True)
class _Gaps:
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

    def take(self, other: _Gaps) -> None:
        """Add the gaps of the next segment."""
        self.gaps += other.gaps
        self.offsets += other.offsets
        self.first = other.first if self.first is None else self.first
        self.last = self.last if other.last is None else other.last


class _Extent:
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
        lost: offsets that no intact batch has, though batches before and after them are.
        behind: offsets of intact batches that no reader reaches.
    """

    def __init__(
        self,
        segment: Segment,
        inside: _Gaps | None,
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
        self.lost: list[Missing] = []
        self.behind: list[Missing] = []
        # Between offsets that are positions lie the bytes of the messages.
        form = segment.format
        self._inside = inside if form.has_offsets and not form.offsets_are_positions else None
        self._segment = segment
        self._log_start = -1 if log_start is None else log_start
        if kept is not None:
            self._follows = segment.base_offset is not None
            self._read_kept(segment, kept)
            return
        position = start_position(segment, LARGEST_OFFSET)[0] if ends_only else 0
        self._follows = segment.base_offset is not None and position == 0
        self._read(segment, position)
        tail = segment.tail
        self.stop = segment.size if tail is None else tail.position
        if tail is not None:
            self.tail_size = tail.size
            self.tail = None if tail.reason == "zeros" else str(tail)
            self.zeros = str(tail) if tail.reason == "zeros" else None
        if form.offsets_are_positions:
            self.end, self.cleaned = (segment.base_offset or 0) + self.stop, False

    def _read(self, segment: Segment, position: int, stop: int | None = None) -> None:
        for item in readable_headers(segment, position, stop):
            if isinstance(item, KafkaSpecError):
                self._follows = False  # whoever reads it reports it
                self.is_odd = True
            else:
                self._table(item)

    def _read_kept(self, segment: Segment, kept: Kept) -> None:
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
                self._read(segment, start, stop)
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
        self.lost.append(
            Missing(
                file=self._segment.name or "",
                reason=MissingWhy.BROKEN,
                message=f"{offsets_text(self.end, first - 1)} missing: {text}",
                offsets=OffsetRange(self.end, first),
                position=position,
                size=size,
                named=named,
                proof="" if size else text,
            )
        )

    def after(self, stop: int, file: str) -> None:
        """Note the intact batches after a place at which readers stop."""
        ranges = [item for item in self.kept.ranges if item.start >= stop] if self.kept else []
        if not ranges:
            return
        first, last = ranges[0].first, ranges[-1].last
        self.behind.append(
            Missing(
                file=file,
                reason=MissingWhy.BEHIND,
                message=f"{offsets_text(first, last)} not delivered: intact batches with them come "
                "after bytes that cannot be divided into batches; kafkaspec salvage gets them back",
                offsets=OffsetRange(first, last + 1),
                position=min(item.start for item in ranges),
                size=sum(item.end - item.start for item in ranges),
            )
        )

    def _table(self, table: HeaderTable) -> None:
        """Take headers; as a whole if no offset is left out between the first and the last."""
        firsts, lasts, counts = table.first_offset, table.last_offset, table.list(names.NUM_RECORDS)
        if not table.has_wrappers:
            span = lasts[-1] - firsts[0] + 1
            held = sum(lasts) - sum(firsts) + len(table)
            dense = span == held == sum(counts) and all(map(lt, lasts, firsts[1:]))
            if self._whole(firsts[0], lasts[-1], len(table), dense):
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


def _extent_of(
    segment: Segment,
    inside: _Gaps | None,
    log_start: int | None,
    ends_only: bool,
    limit: int | None,
    judge: Judge | None,
    *,
    check: bool = False,
) -> _Extent | None:
    """Return what headers say of a segment, or the judge if they are odd; None if unreadable."""
    try:
        noted = None if inside is None else _Gaps(inside.low, inside.high)
        extent = _Extent(segment, noted, log_start, ends_only)
        bound = (segment.base_offset or 0) + LARGEST_RELATIVE_OFFSET + 1
        too_far = extent.end > (bound if limit is None else min(bound, limit))
        if (
            judge is not None
            and (check or extent.is_odd or extent.tail is not None or too_far)
            # Of a remote segment, who checks it has read all of it; others read its ends only.
            and (check or isinstance(segment.path, Path))
            and segment.base_offset is not None
            and segment.format.is_written
        ):
            noted = None if inside is None else _Gaps(inside.low, inside.high)
            plain, kept = extent, judge(segment, limit)
            extent = _Extent(segment, noted, log_start, ends_only, kept)
            if plain.tail is not None:
                extent.after(plain.stop, segment.name or "")
                if extent.stop == plain.stop:
                    extent.tail = plain.tail
    except KafkaSpecError as error:
        if error.reason not in ALWAYS_RAISED:
            raise
        return None
    if inside is not None and noted is not None:
        inside.take(noted)
    return extent


# -- what the files around it say -------------------------------------------------------------


class _Around:
    """The files around a segment."""

    def __init__(self, name: str, partition: Partition | None, judge: Judge | None) -> None:
        """Take the path of the partition, or of a segment alone, as the name."""
        self.name = name
        self._partition = partition
        self._judge = judge
        self._bases = partition.base_offsets if partition else []

    def next_base(self, base: int | None) -> int | None:
        """Return the base offset of the next segment, None after the last one."""
        if base is None:
            return None
        following = bisect_right(self._bases, base)
        return self._bases[following] if following < len(self._bases) else None

    def orphans(self, start: int, end: int | None) -> Iterator[tuple[int, str]]:
        """Yield the offsets up to which indexes without a segment between two offsets reach."""
        for base, path in self._orphans:
            if start <= base and (end is None or base < end):
                reach = _end_of_index(path)
                text = f"{path.name} is there without its segment"
                yield (base, text) if reach is None else (reach, f"{text}, and goes to {reach - 1}")

    @cached_property
    def _orphans(self) -> list[tuple[int, Path]]:
        paths = self._partition.files if self._partition else []
        parsed = [(files.parse_segment(path.name), path) for path in paths]
        known = set(self._bases)
        return [
            (item.base_offset, path)
            for item, path in parsed
            if item is not None
            and item.kind in files.REMOTE_INDEXES
            and not item.state
            and not item.remote_id
            and item.base_offset not in known
        ]

    def before_first(self) -> Missing | None:
        """Return which offsets before the first segment are missing, None if nothing shows any."""
        partition = self._partition
        if partition is None or not self._bases or partition.state:
            return None
        first = self._bases[0]
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
        if not claims:
            return None
        start = min(offset for offset, _ in claims)
        proofs = "; ".join(dict.fromkeys(text for _, text in claims))
        return Missing(
            file=str(partition.segment_paths[0]),
            reason=MissingWhy.START,
            message=f"{offsets_text(start, first - 1)} missing: {proofs}; "
            f"the first segment begins at {first}",
            offsets=OffsetRange(start, first),
            position=0,
            named=True,
            proof=proofs,
        )

    def without_segments(self) -> Missing | None:
        """Return which offsets a partition without a segment has lost, None if nothing says any."""
        claims = [*self.ends(), *self.orphans(0, None)]
        end = max((offset for offset, _ in claims), default=0)
        if not end:
            return None
        proofs = "; ".join(dict.fromkeys(text for _, text in claims))
        return Missing(
            file=self.name,
            reason=MissingWhy.END,
            message=f"there is no segment, and offsets up to {end - 1} are missing: {proofs}",
            offsets=OffsetRange(0, end),
            named=True,
        )

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
        paths = self._partition.snapshot_paths if self._partition else []
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
        segments = _segments(self._partition, -1, LARGEST_OFFSET) if self._partition else ()
        extents = (
            _extent_of(item, None, None, False, self.next_base(item.base_offset), self._judge)
            for item in segments
            if item is not None
        )
        return any(extent is not None and extent.cleaned for extent in extents)


def _around(log: Segment | Partition, judge: Judge | None) -> _Around:
    if isinstance(log, Partition):
        return _Around(str(log.path), log, judge)
    name = log.name or ""
    path = log.path
    if log.base_offset is None or not isinstance(path, Path):
        return _Around(name, None, judge)
    try:
        beside = Partition(path.absolute().parent)
    except KafkaSpecError:
        return _Around(name, None, judge)
    listed = path.name in (item.name for item in beside.segment_paths)
    return _Around(name, beside if listed else None, judge)


def _after(segment: Segment, extent: _Extent, around: _Around, inside: _Gaps) -> Missing | None:
    """Return what is missing between the last batch of a segment and the next segment."""
    end, following = extent.end, around.next_base(segment.base_offset)
    claims = [*_listed(segment, extent)]
    if extent.claimed_end > end:
        claims.append((extent.claimed_end, "a header there has them"))
    if following is None:
        claims += around.ends()
    claims = [claim for claim in claims if claim[0] > end] + [*around.orphans(end, following)]
    if following is not None:
        claims += around.begun(end, following)
    is_loss = bool(claims) or extent.tail is not None
    upto = max((offset for offset, _ in claims), default=end)
    tail = extent.tail or extent.zeros
    proofs = ([tail] if tail else []) + [text for _, text in claims]
    if following is not None:
        upto = max(following, end)
        if following > end and not is_loss and around.compacted(following):
            inside.add(end, following)
            upto = end
        elif following > end:
            proofs += [] if is_loss else ["nothing shows that compaction removed them"]
            proofs.append(f"the next segment begins at {following}")
            is_loss = True
    if not proofs:
        return None
    text = "; ".join(proofs)
    if upto > end:
        text = f"{offsets_text(end, upto - 1)} missing: {text}"
    elif following is None:
        text += "; the log ends there"
    why = MissingWhy.END if following is None else MissingWhy.CUT
    why = MissingWhy.TAIL if upto == end else why
    return Missing(
        file=segment.name or "",
        reason=why,
        message=text,
        is_loss=is_loss,
        offsets=OffsetRange(end, upto if upto > end else None if following is None else end + 1),
        position=extent.stop,
        size=extent.tail_size,
        named=bool(claims),
        proof="; ".join(proofs),
    )


def offsets_text(first: int, last: int) -> str:
    """Return a range of offsets as the subject of a sentence."""
    return f"offset {first} is" if first == last else f"offsets {first} to {last} are"


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


def _listed(segment: Segment, extent: _Extent) -> Iterator[tuple[int, str]]:
    """Yield the offsets after the batches that the indexes of a segment list after its end."""
    try:
        index = segment.offset_index
        entry = index.entry(len(index) - 1) if index else None
        # One of both alone is a damaged index.
        if entry is not None and entry.position >= extent.stop:
            yield entry.offset + 1, f"its offset index goes to offset {entry.offset}"
        times = segment.time_index
        last = times.entry(len(times) - 1) if times else None
        if last is not None:
            yield last.offset + 1, f"its time index goes to offset {last.offset}"
    except KafkaSpecError:
        return  # of files that say nothing about records
