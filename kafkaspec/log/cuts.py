"""Cut segments where their offset index says that batches begin, without opening them.

An index may be wrong, or older than its segment. So each reader of a piece settles both of its
ends: the segment itself says, by one rule, where the batch at or after a cut begins. Whoever reads
the piece before it settles it in the same way, so that each batch is in one piece.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files.indexes import OffsetIndex
from kafkaspec.io.ahead import read_ahead
from kafkaspec.io.local import open_source
from kafkaspec.io.remote import as_path
from kafkaspec.io.window import Reading
from kafkaspec.layout import names
from kafkaspec.layout.framing import LARGEST_OFFSET
from kafkaspec.layout.kinds import KINDS
from kafkaspec.layout.stand_ins import UNKNOWN
from kafkaspec.log.entries import entry_end
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import header_tables, readable_headers
from kafkaspec.log.segment import Segment

SLACK: Final = 8
"""A piece may be larger by an eighth before it is cut."""


class CutClaim(NamedTuple):
    """The claim of an index about a cut: which base offset the batch there has, and what follows.

    Values may hold whole batches, so that one batch alone proves nothing.

    Attributes:
        low: smallest base offset.
        high: largest base offset.
        reach: byte offset of the batch that the next entry leads to, or the size of the segment.
        otherwise: where to cut if that is not so: where the ``next`` batch begins, or at the
            ``start`` or ``end`` of the segment.
    """

    low: int
    high: int
    reach: int
    otherwise: Literal["next", "start", "end"]


class Cut(NamedTuple):
    """A place at which a segment is cut.

    Attributes:
        position: byte offset.
        claim: what an index says about it; None if a batch is known to begin there.
        offset: base offset of the batch, None if it is not known.
    """

    position: int
    claim: CutClaim | None = None
    offset: int | None = None


def too_large(size: int, target: int) -> bool:
    """Return whether so many bytes are to be cut into pieces of about ``target``."""
    return size > target + target // SLACK


def cuts_by_index(
    index: OffsetIndex,
    size: int,
    target: int,
    start_offset: int | None = None,
    end_offset: int | None = None,
) -> list[Cut] | None:
    """Return where pieces of about ``target`` bytes begin, and where the last of them ends.

    Args:
        index: the index of the segment.
        size: bytes of the segment.
        target: bytes of a piece.
        start_offset: smallest wanted offset, None for all.
        end_offset: first offset that is not wanted, None for all.

    Returns:
        At least two cuts; None if the index has too few entries.
    """
    entries = _Entries(index)
    made = [Cut(0)]
    if start_offset is not None:
        number = bisect_right(entries.numbers, start_offset, key=entries.offset) - 1
        place = entries.position(number) if number >= 0 else 0
        if 0 < place < size:
            low, reach = entries.low(number), entries.reach(number, size)
            made = [Cut(place, CutClaim(low, start_offset, reach, "start"))]
    stop = Cut(size)
    if end_offset is not None:
        # The batch at an entry has its offset or reaches it; all that the next entry leads to come
        # after it.
        number = bisect_left(entries.numbers, end_offset, key=entries.offset) + 1
        place = entries.position(number) if number < len(index) else size
        if made[0].position < place < size:
            reach = entries.reach(number, size)
            stop = Cut(place, CutClaim(end_offset, LARGEST_OFFSET, reach, "end"))
    while too_large(stop.position - made[-1].position, target):
        wanted = made[-1].position + target
        number = bisect_left(entries.numbers, wanted, key=entries.position)
        place = entries.position(number) if number < len(index) else stop.position
        if place <= made[-1].position:
            return None
        if place >= stop.position:
            if stop.position - made[-1].position > 2 * target:
                return None
            break
        low, reach = entries.low(number), entries.reach(number, size)
        made.append(Cut(place, CutClaim(low, entries.offset(number), reach, "next")))
    return [*made, stop]


def cuts_by_headers(
    segment: Segment,
    size: int,
    target: int,
    start_offset: int | None = None,
    max_records: int = 0,
) -> list[Cut]:
    """Return cuts from the headers of all batches, from the first wanted one on.

    Args:
        segment: the segment.
        size: its bytes.
        target: bytes of a piece.
        start_offset: smallest wanted offset, None for all.
        max_records: offsets after which a piece ends too; 0 for any number.
    """
    index = None if start_offset is None else segment.offset_index
    found = None if index is None else cuts_by_index(index, size, size, start_offset)
    start = settled(segment, found[0]) if found else 0
    made = [Cut(start, offset=segment.base_offset if start == 0 else None)]
    first = made[-1].offset
    for table in header_tables(segment, start, end=size):
        entries = zip(
            table.position, table.first_offset, table.last_offset, table.magic, strict=True
        )
        for at, offset, last, magic in entries:
            known = KINDS[magic].has_record_sets
            many = bool(max_records) and known and first is not None and last >= first + max_records
            if at > made[-1].position and (at - made[-1].position >= target or many):
                made.append(Cut(at, offset=offset if known else None))
                first = offset if known else last
            elif first is None:
                first = offset if known else last
    return [*made, Cut(size)]


def open_between(path: str, start: Cut, end: Cut | None, size: int | None) -> tuple[Reading, int]:
    """Open a file for one pass over a piece of it.

    Args:
        path: path or URL of the segment.
        start: where the piece begins.
        end: where it ends; None for the end of the file.
        size: bytes when it was planned: what was appended since is ignored; None if unknown.

    Returns:
        The file, which ends where the piece does, and where the piece begins.

    Raises:
        KafkaSpecError: ``changed``, it has fewer bytes now; ``unreadable``.
    """
    file = open_source(as_path(path), mapped=False)
    assert isinstance(file, Reading)
    try:
        if size is not None:
            now, file.size = file.size, size
            if now < size:
                detail = f"it had {size} bytes or more when it was planned and has {now} now"
                raise make_error(Reason.CHANGED, detail, file=file.name, offset=now)
        segment = Segment(file) if start.claim or (end and end.claim) else None
        begin = start.position if segment is None else settled(segment, start)
        if end is not None:
            file.size = end.position if segment is None else max(begin, settled(segment, end))
    except BaseException:
        file.close()
        raise
    return read_ahead(file, begin), begin


class _Entries:
    """The entries of an offset index, as ``bisect`` takes them."""

    def __init__(self, index: OffsetIndex) -> None:
        self._index = index
        self.numbers: Sequence[int] = range(len(index))

    def offset(self, number: int) -> int:
        return self._index.entry(number).offset

    def position(self, number: int) -> int:
        return self._index.entry(number).position

    def low(self, number: int) -> int:
        """Return the smallest base offset of the batch that an entry leads to."""
        return self.offset(number - 1) + 1 if number else self._index.base_offset

    def reach(self, number: int, size: int) -> int:
        """Return the position of the entry after one."""
        return self.position(number + 1) if number + 1 < len(self.numbers) else size


def settled(segment: Segment, cut: Cut) -> int:
    """Return the byte offset at which a segment is cut: of a batch, or the end of the segment.

    Raises:
        KafkaSpecError: the segment cannot be read.
    """
    position, claim, _ = cut
    if holds(segment, cut):
        return min(position, segment.size)
    assert claim is not None
    if claim.otherwise != "next":
        return 0 if claim.otherwise == "start" else segment.size
    at = segment.first
    for item in readable_headers(segment):
        if at >= position:
            break
        if isinstance(item, KafkaSpecError):  # whose position is that of a field
            at = entry_end(segment, at) or segment.size
            continue
        number = bisect_left(item.position, position)
        if number < len(item):
            return item.position[number]
        at = item.end
    return at if position <= at < segment.size else segment.size


def holds(segment: Segment, cut: Cut) -> bool:
    """Return whether batches lead from a cut to the next entry, the first with such an offset."""
    position, claim, _ = cut
    if claim is None or position >= segment.size:
        return True
    if not position < claim.reach <= segment.size:
        return False
    end = position
    try:
        for item in readable_headers(segment, position, claim.reach):
            if isinstance(item, KafkaSpecError) or (end == position and not _fits(item, claim)):
                return False
            end = item.end
    except KafkaSpecError:
        return False
    return end == claim.reach


def _fits(table: HeaderTable, claim: CutClaim) -> bool:
    first, last = table.first_offset[0], table.last_offset[0]
    if table.list(names.NUM_RECORDS)[0] != UNKNOWN:
        return claim.low <= first <= claim.high
    # Of a wrapper, whose first offset is inside: up to 1.1 that was the one in the index.
    if claim.otherwise == "next":
        return last >= claim.low
    return claim.otherwise == "start" and last <= claim.high
