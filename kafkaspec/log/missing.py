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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Final

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names as files
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.log import evidence
from kafkaspec.log.damage import Judge, Kept
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.evidence import FilesAround, NormalGaps, OffsetHole, SegmentExtent
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
    return missing_of(
        log, start_offset=start_offset, end_offset=end_offset, log_start=log_start,
        ends_only=ends_only, judge=judge, check=check,
    )  # fmt: skip


def missing_of(
    log: Segment | Partition | LogDirectory,
    *,
    start_offset: int | None = None,
    end_offset: int | None = None,
    log_start: LogStart = LOG_START,
    ends_only: bool = False,
    judge: Judge | None = None,
    check: bool = False,
) -> Iterator[Missing]:
    """Do what ``missing`` does, for callers that do it for each of many logs."""
    yield from passed_over(log)
    if not isinstance(log, Partition) and isinstance(log, LogDirectory):
        for partition in log.current:
            yield from missing_of(
                partition, start_offset=start_offset, end_offset=end_offset, log_start=log_start,
                ends_only=ends_only, judge=judge, check=check,
            )  # fmt: skip
        return
    low = -1 if start_offset is None else start_offset
    high = LARGEST_OFFSET if end_offset is None else end_offset
    start = None
    own = log if isinstance(log, Partition) else None
    if own is not None:
        start, problem = _log_start(own, log_start)
        if problem is not None:
            yield problem
    wanted = low if start is None else max(low, start)
    account = Account(log, wanted, high, start, ends_only=ends_only or None, judge=judge)
    yield from account.beside()
    below = end = 0
    whole = True
    for segment in evidence.segments_of(own, low, high) if own is not None else [log]:
        assert not isinstance(segment, Partition)
        found = None if segment is None else account.of(segment, check=check)
        if found is None:
            whole = False  # whoever reads it reports it
            continue
        below, end = below + account.below, account.end
        yield from found
    inside = account.inside
    if own is not None and start is not None:
        if whole and start > end and (own.last_base_offset or 0) < high:
            text = f"the log start offset {start} is after the end of the log, {end}: everything is"
            text += " left out"
            yield Missing(file=str(log.path), reason=MissingWhy.LOG_START, message=text)
        yield from _deleted(own, low, start, None if account.ends_only else below)
    if inside.gaps:
        text = f"{inside.offsets} offsets are not there, as after compaction; gaps: {inside.gaps}"
        offsets = OffsetRange.through(inside.first, inside.last)
        yield replace(_note(account.around.name, MissingWhy.COMPACTED, text), offsets=offsets)


class Account:
    """The records that a log does not deliver between two offsets, segment by segment.

    Attributes:
        ends_only: whether only the ends of segments are read; by default of those with a URL.
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
        ends_only: bool | None = None,
        judge: Judge | None = None,
    ) -> None:
        self._log, self._low, self._high, self._start = log, low, high, log_start
        by_url = not isinstance(log.path, Path | None)
        self.ends_only = by_url if ends_only is None else ends_only
        self._judge = judge
        self.around = evidence.files_around(log, judge)
        self.inside = NormalGaps(low, high)
        self.below = self.end = 0
        self.kept: Kept | None = None

    def beside(self) -> Iterator[Missing]:
        """Yield what is missing before the first segment, or without any."""
        if not isinstance(self._log, Partition):
            return
        found = [_before_first(self._log, self.around)]
        if not self._log.segment_paths:
            found.append(_without_segments(self.around))
        yield from self._wanted(found)

    def of(self, segment: Segment, *, check: bool = False) -> list[Missing] | None:
        """Return what is missing in a segment and after it; None if the file cannot be read.

        Args:
            check: whether batches in it are known to be damaged.
        """
        limit = self.around.next_base(segment.base_offset)
        if self.ends_only and not check:
            end = evidence.whole_end(segment)
            if end is not None and (
                end == limit
                or (limit is None and not _claims(segment, end, segment.size, self.around, limit))
            ):
                self.below, self.end, self.kept = 0, end, None
                return []
        extent = evidence.extent_of(
            segment, self.inside, self._start, self.ends_only, limit, self._judge, check=check
        )
        if extent is None:
            return None
        self.below, self.end, self.kept = extent.below, extent.end, extent.kept
        found = [_in_hole(segment, hole) for hole in extent.holes]
        more = (_behind(segment, extent), _after(segment, extent, self.around, self.inside))
        return list(self._wanted([*found, *more]))

    def _wanted(self, found: Iterable[Missing | None]) -> Iterator[Missing]:
        for item in found:
            if item is not None:
                first, end = item.offsets or (0, None)
                if first < self._high and (end is None or end > self._low):
                    yield item


def passed_over(log: Segment | Partition | LogDirectory) -> Iterator[Missing]:
    """Yield what is beside the logs of a directory and not read, and whether a log is a copy."""
    place = str(log.path)
    if isinstance(log, Partition):
        if log.state:
            yield _note(place, MissingWhy.COPY, files.copy_text(log.state))
    elif isinstance(log, Segment):
        name = log.path and files.parse_partition(log.path.absolute().parent.name)
        if name and name.state:
            yield _note(place, MissingWhy.COPY, files.copy_text(name.state))
        return
    else:
        for partition in log.readable:
            if partition.state:
                text = f"left out: {files.copy_text(partition.state)}"
                yield _note(str(partition.path), MissingWhy.COPY, text)
        if log.folders:
            text = f"{_not_read(log.folders, 'folder')}; no partition is named like this"
            yield _note(place, MissingWhy.FOLDER, text)
        return
    if log.folders:
        yield _note(place, MissingWhy.FOLDER, _not_read(log.folders, "folder"))
    for path in log.other_files:
        if files.is_beyond_offsets(path.name):
            text = "not read: the number in its name is not an offset. "
            text += "No broker starts with such a file"
            is_loss = path.suffix in files.SEGMENTS
            yield Missing(file=str(path), reason=MissingWhy.NAME, message=text, is_loss=is_loss)
    named = log.named_files
    left = [path for each, path in named if each.state and each.kind in files.SEGMENTS]
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


def _in_hole(segment: Segment, hole: OffsetHole) -> Missing:
    """Return what is missing between two batches of a segment."""
    text = f"{_text(hole.offsets)} missing: {hole.proof}"
    return Missing(
        file=segment.name or "", reason=MissingWhy.BROKEN, message=text, offsets=hole.offsets,
        position=hole.position, size=hole.size, named=hole.named,
        proof="" if hole.size else hole.proof,
    )  # fmt: skip


def _behind(segment: Segment, extent: SegmentExtent) -> Missing | None:
    """Return the intact batches after a place at which readers stop."""
    if not extent.behind:
        return None
    offsets = OffsetRange(extent.behind[0].first, extent.behind[-1].last + 1)
    text = f"{_text(offsets)} not delivered: intact batches with them come after bytes that "
    text += "cannot be divided into batches; kafkaspec salvage gets them back"
    return Missing(
        file=segment.name or "", reason=MissingWhy.BEHIND, message=text, offsets=offsets,
        position=min(item.start for item in extent.behind),
        size=sum(item.end - item.start for item in extent.behind),
    )  # fmt: skip


def _before_first(log: Partition, around: FilesAround) -> Missing | None:
    """Return which offsets before the first segment are missing, None if nothing shows any."""
    claims = around.before_first()
    if not claims:
        return None
    offsets = OffsetRange(min(offset for offset, _ in claims), around.bases[0])
    proofs = "; ".join(dict.fromkeys(text for _, text in claims))
    text = f"{_text(offsets)} missing: {proofs}; the first segment begins at {offsets.end}"
    return Missing(
        file=str(log.segment_paths[0]), reason=MissingWhy.START, message=text, offsets=offsets,
        position=0, named=True, proof=proofs,
    )  # fmt: skip


def _without_segments(around: FilesAround) -> Missing | None:
    """Return which offsets a partition without a segment has lost, None if nothing says any."""
    claims = [*around.ends(), *around.orphans(0, None)]
    end = max((offset for offset, _ in claims), default=0)
    if not end:
        return None
    proofs = "; ".join(dict.fromkeys(text for _, text in claims))
    lost = OffsetRange(0, end)
    text = f"no segment; {_text(lost)} missing: {proofs}"
    return Missing(
        file=around.name, reason=MissingWhy.END, message=text, offsets=lost, named=True
    )  # fmt: skip


def _after(
    segment: Segment, extent: SegmentExtent, around: FilesAround, inside: NormalGaps
) -> Missing | None:
    """Return what is missing between the last batch of a segment and the next segment."""
    end, following = extent.end, around.next_base(segment.base_offset)
    claims = _claims(segment, end, extent.stop, around, following)
    if extent.claimed_end > end:
        claims.append((extent.claimed_end, "a header there has them"))
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
        text = f"{_text(OffsetRange(end, upto))} missing: {text}"
    elif following is None:
        text += "; the log ends there"
    cut = MissingWhy.END if following is None else MissingWhy.CUT
    offsets = OffsetRange(end, upto if upto > end else None if following is None else end + 1)
    return Missing(
        file=segment.name or "", reason=MissingWhy.TAIL if upto == end else cut, message=text,
        is_loss=is_loss, offsets=offsets, position=extent.stop, size=extent.tail_size,
        named=bool(claims), proof="; ".join(proofs),
    )  # fmt: skip


def _claims(
    segment: Segment, end: int, stop: int, around: FilesAround, following: int | None
) -> list[tuple[int, str]]:
    """Return what says that offsets follow those of a segment, and up to which one."""
    claims = [*evidence.listed_after(segment, stop)]
    if following is None:
        claims += around.ends()
    claims = [claim for claim in claims if claim[0] > end] + [*around.orphans(end, following)]
    return claims if following is None else [*claims, *around.begun(end, following)]


def _text(offsets: OffsetRange) -> str:
    """Return offsets as the subject of a sentence."""
    return f"{offsets} {'is' if offsets.size == 1 else 'are'}"
