"""Check the indexes of a segment against its log, in one pass over the log in its order."""

from __future__ import annotations

from abc import abstractmethod
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from kafkaspec._generated.layout.files import FILES
from kafkaspec._generated.python.model.index import OffsetIndexEntry
from kafkaspec._generated.python.model.transaction_index import (
    AbortedTransaction as ListedTransaction,
)
from kafkaspec.analysis.check_order import AbortedTransaction
from kafkaspec.analysis.findings import Area, Finding, Place, Severity
from kafkaspec.analysis.reasons import FindingReason as R
from kafkaspec.columns.conditions import BEFORE, Compare, Marks
from kafkaspec.columns.wanted import LOWEST, POSITION
from kafkaspec.files import names
from kafkaspec.layout import EntrySource
from kafkaspec.layout.kinds import KINDS
from kafkaspec.layout.names import BASE_OFFSET, LAST_OFFSET, MAGIC, OFFSET, TIMESTAMP
from kafkaspec.log.batch import NONE
from kafkaspec.log.header_table import number_of
from kafkaspec.model import Record

if TYPE_CHECKING:
    from kafkaspec.analysis.check_order import Header
    from kafkaspec.analysis.parts import PartSurvey
    from kafkaspec.codecs.native.core import Core
    from kafkaspec.columns.inspection import Inspected
    from kafkaspec.log.batch import Batch

Entry = TypeVar("Entry")

_FOLLOWED: Final = (
    POSITION, f"{OFFSET}.first", f"{OFFSET}.last", BASE_OFFSET, LAST_OFFSET, f"{TIMESTAMP}.largest"
)  # fmt: skip
"""Columns of batches that the core compares with an offset index or time index, in its order."""


@cache
def _above(ascending: tuple[tuple[str, int], ...]) -> Marks:
    """Return the condition for each field of an entry; see ``IndexCheck.ascending``."""
    return Marks((((Compare(name, ">=", BEFORE + name, least),), 1) for name, least in ascending))


class EntryCheck(Generic[Entry]):
    """Checks the entries of an index against the batches of its log, which come in order."""

    area: ClassVar[Area]
    offset_name: ClassVar[str] = "offset"
    """Name of the field with the log offset of an entry."""

    def __init__(
        self, count: int, entry: Callable[[int], Entry], file: str, entry_size: int
    ) -> None:
        """Begin with the first entry.

        Args:
            count: number of entries without the padding.
            entry: function that returns the entry with a number.
            entry_size: bytes of an entry, for the positions of findings.
        """
        self._count = count
        self._entry = entry
        self._place = Place(file, self.area)
        self._entry_size = entry_size
        self._next = 0

    def _found(
        self, number: int, reason: R, text: str, severity: Severity = Severity.ERROR
    ) -> Finding:
        offset = getattr(self._entry(number), self.offset_name)
        position = number * self._entry_size
        return self._place.found(severity, reason, f"entry {number}: {text}", position, offset)

    @abstractmethod
    def resume(self, start: int, before: PartSurvey) -> None:
        """Begin at the byte offset ``start``, as if the batches of ``before`` had been checked."""

    def unread(self, end: int) -> Iterator[Finding]:
        """Report that the rest is not compared, as the log cannot be read from ``end`` on."""
        if self._next < self._count:
            text = f"not compared: the log cannot be read from byte {end} on"
            yield self._rest(R.INDEX_UNCHECKED, text, Severity.INFO)

    def _rest(self, reason: R, text: str, severity: Severity = Severity.ERROR) -> Finding:
        """Return one finding about all entries that are left: they have one cause."""
        first, self._next = self._next, self._count
        more = self._count - first - 1
        if more:
            text += f" (and {more} more {'entry' if more == 1 else 'entries'})"
        return self._found(first, reason, text, severity)

    def _skip(self, wanted: int, name: str) -> None:
        """Go to the first entry whose field is not below ``wanted``."""
        self._next = bisect_left(
            range(self._count), wanted, key=lambda number: getattr(self._entry(number), name)
        )


class IndexCheck(EntryCheck[Entry]):
    """Checks an offset index or a time index."""

    ascending: ClassVar[tuple[tuple[str, int], ...]]
    """The fields of an entry, and by how much each must be above that of the entry before it."""
    followed: ClassVar[tuple[str, str]]
    """The fields of an entry that batches are compared with in the core."""
    compared: ClassVar[tuple[str, ...]] = _FOLLOWED
    """Columns of batches that the core compares with them, in its order."""
    by_time: ClassVar[bool] = False
    _last_offset: int | None = None
    """Last offset of the batches so far."""
    _core: Core | None = None
    _columns: Mapping[str, array[int]] | None = None
    _numbers_followed: tuple[array[int] | None, ...] = ()

    def use(self, core: Core | None, columns: Mapping[str, array[int]] | None) -> None:
        """Check in the core what can be checked by columns.

        Args:
            core: the extension, None to check entry by entry.
            columns: fields of all entries, None if they are not in columns.
        """
        self._core, self._columns = core, columns
        self._numbers_followed = tuple((columns or {}).get(name) for name in self.followed)

    def order(self) -> Iterator[Finding]:
        """Check the entries against each other, without the log."""
        if self._is_ascending():
            return
        for number, (entry, following) in enumerate(pairwise(map(self._entry, range(self._count)))):
            for name, least in self.ascending:
                before, after = getattr(entry, name), getattr(following, name)
                if after - before < least:
                    text = f"{name} {before} is followed by {after}"
                    yield self._found(number + 1, R.INDEX_ORDER, text)
                    break

    def _is_ascending(self) -> bool:
        """Whether the core can say that each entry is above the one before it."""
        if self._core is None or self._columns is None:
            return False
        columns = {name: memoryview(column) for name, column in self._columns.items()}
        marks = _above(self.ascending).of(self._core, columns.__getitem__, self._count)
        return not any(marks[1:])

    def follow(self, part: Inspected, first: int, stop: int) -> int:
        """Return up to which batch of a run the batches agree with the entries, and take nothing.

        Args:
            part: batches, of which the run is sound and in order.
        """
        return self._follow(part, first, stop)[0]

    def take(self, part: Inspected, first: int, stop: int) -> None:
        """Take the batches of a run, with which the entries agree. All have the same magic."""
        if first < stop:
            _, state = self._follow(part, first, stop)
            self._last_offset = part.column(LAST_OFFSET)[stop - 1]
            self._next = state[0]
            self._leave(*state[1:])

    def _follow(self, part: Inspected, first: int, stop: int) -> tuple[int, array[int]]:
        state = array("q", (self._next, *self._state()))
        if self._core is None or self._columns is None:
            return first, state
        batches = part.columns(self.compared)
        end = self._core.module.follow(
            self.by_time,
            self._numbers_followed,
            self._count,
            batches,
            part.start,
            first,
            stop,
            state,
        )
        return end, state

    @abstractmethod
    def _state(self) -> tuple[int, int]:
        """Return two numbers of the state for the core, besides the number of the next entry."""

    @abstractmethod
    def _leave(self, opened: int, reached: int) -> None:
        """Take over these numbers from the core."""

    @abstractmethod
    def batch(self, batch: Batch, records: Sequence[Record]) -> Iterator[Finding]:
        """Take the next batch of the log.

        Args:
            records: its records, empty if there are none or they cannot be read.
        """

    def pause(self) -> Iterator[Finding]:
        """Check the rest at the end of a part, where the next entry of an offset index points."""
        yield from ()

    @abstractmethod
    def finish(self, end: int) -> Iterator[Finding]:
        """Check the rest at the end of the log, the position ``end`` after its last entry."""


class OffsetIndexCheck(IndexCheck[OffsetIndexEntry]):
    """Checks the entries of an offset index.

    An entry is right if it points at the start of a batch and no earlier batch holds its offset or
    a larger one: then a lookup that starts there misses nothing. In addition, its offset must be
    one that some version writes: the first offset of the append (up to 1.1), its last offset (since
    2.0; an append is one batch or a fetched chunk), or that of the last record that compaction
    kept. The file does not say which.
    """

    area = Area.OFFSET_INDEX
    ascending = (("offset", 1), ("position", 1))
    followed = ("offset", "position")
    _open: int | None = None
    """Number of the last entry while the batches that it may stand for follow."""

    def batch(self, batch: Batch, records: Sequence[Record]) -> Iterator[Finding]:
        last = records[-1].offset if records else batch.last_offset
        while self._next < self._count:
            number, entry = self._next, self._entry(self._next)
            if entry.position > batch.position:
                break
            yield from self.pause()
            self._next += 1
            if entry.position < batch.position:
                text = f"position {entry.position} is not the start of a batch"
                yield self._found(number, R.INDEX_POSITION, text)
            elif self._last_offset is not None and entry.offset <= self._last_offset:
                text = f"offset {entry.offset} is before position {entry.position}, in a batch "
                text += f"that ends with offset {self._last_offset}"
                yield self._found(number, R.INDEX_OFFSET, text)
            else:
                first = {records[0].offset if records else batch.last_offset}
                if batch.kind.has_record_sets:
                    first.add(batch.base_offset)
                self._open = None if entry.offset in first else number
        if self._open is not None and self._entry(self._open).offset in (batch.last_offset, last):
            self._open = None
        self._last_offset = batch.last_offset

    def _state(self) -> tuple[int, int]:
        last = LOWEST if self._last_offset is None else self._last_offset
        return NONE if self._open is None else self._open, last

    def _leave(self, opened: int, reached: int) -> None:
        self._open = None if opened == NONE else opened

    def pause(self) -> Iterator[Finding]:
        if self._open is None:
            return
        number, self._open = self._open, None
        offset = self._entry(number).offset
        beyond = self._last_offset is not None and offset > self._last_offset
        yield self._found(
            number,
            R.INDEX_OFFSET if beyond else R.INDEX_KEY,
            f"offset {offset} is neither the first nor the last of the batches that begin "
            f"at position {self._entry(number).position}",
            Severity.ERROR if beyond else Severity.WARNING,
        )

    def resume(self, start: int, before: PartSurvey) -> None:
        self._skip(start, "position")
        self._last_offset = before.last_offset

    def finish(self, end: int) -> Iterator[Finding]:
        yield from self.pause()
        if self._next < self._count:
            position = self._entry(self._next).position
            text = f"position {position} is at or after the end of the log at {end}"
            yield self._rest(R.INDEX_BEYOND_LOG, text)


class LargestIndexCheck(IndexCheck[Any]):
    """Checks an index of the largest numbers so far.

    An entry (N, O) means that every later batch with a number above N has offsets above O. N itself
    is the largest number up to O, so the log must contain it.
    """

    area = Area.INDEX
    kind: ClassVar[str]
    """How the name of the file ends."""
    source: ClassVar[EntrySource]
    """The number in headers that the entries have."""
    by_time = True
    _reported = -1
    _latest = -1
    _has_untimed = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Take the names of the fields of an entry from the specification."""
        super().__init_subclass__(**options)
        source = FILES[cls.kind].largest
        assert source is not None
        cls.source = source
        cls.ascending = ((source.field, 1), (OFFSET, 0))
        cls.followed = (OFFSET, source.field)
        if "compared" not in cls.__dict__:
            places = (POSITION, LAST_OFFSET, LAST_OFFSET, BASE_OFFSET, LAST_OFFSET)
            cls.compared = (*places, source.name)

    def batch(self, batch: Batch, records: Sequence[Record]) -> Iterator[Finding]:
        found = self._numbers(batch, records)
        first = found[0][0] if found else batch.last_offset
        while self._next < self._count and self._entry(self._next).offset < first:
            yield from self._reach(self._next)
            self._next += 1
        yield from self._compare(found)
        self._latest = max(self._latest, self._largest(batch))
        self._last_offset = batch.last_offset

    def _largest(self, batch: Batch) -> int:
        """Return the number of a batch."""
        return number_of(self.source.name)(batch)

    def _numbers(self, batch: Batch, records: Sequence[Record]) -> Sequence[tuple[int, int]]:
        """Return offsets of a batch with their numbers, in order."""
        return [(batch.last_offset, self._largest(batch))]

    def resume(self, start: int, before: PartSurvey) -> None:
        self._skip(before.highest_first, OFFSET)
        self._last_offset = before.last_offset
        self._latest = before.numbers.get(self.source.name, NONE)
        self._has_untimed = before.has_untimed

    def _state(self) -> tuple[int, int]:
        return NONE, self._latest

    def _leave(self, opened: int, reached: int) -> None:
        self._latest = reached

    def _compare(self, found: Sequence[tuple[int, int]]) -> Iterator[Finding]:
        """Check each number against the first entry at or after it, which limits it."""
        number, latest = self._next, self._latest
        offset, bound = self._bound(number)
        for at, value in found:
            if value > latest:
                latest = value
            while offset is not None and offset < at:
                number += 1
                offset, bound = self._bound(number)
            if offset is not None and value > bound and number > self._reported:
                self._reported = number
                text = f"its {self.source.field} {bound} is not the largest up to offset {offset}: "
                text += f"offset {at} has {value}"
                yield self._found(number, R.TIME_INDEX_MEANING, text)
        self._latest = latest

    def _bound(self, number: int) -> tuple[int | None, int]:
        if number >= self._count:
            return None, 0
        entry = self._entry(number)
        return entry.offset, getattr(entry, self.source.field)

    def _reach(self, number: int) -> Iterator[Finding]:
        value = getattr(self._entry(number), self.source.field)
        if value > self._latest and not self._has_untimed:
            text = f"{self.source.field} {value} is above the largest up to its offset, "
            text += f"{self._latest}"
            yield self._found(number, R.TIME_INDEX_TIMESTAMP, text, Severity.WARNING)

    def finish(self, end: int) -> Iterator[Finding]:
        last = self._last_offset
        while self._next < self._count:
            offset = self._entry(self._next).offset
            if last is None or offset > last:
                text = f"offset {offset} is after the end of the log"
                yield self._rest(R.INDEX_BEYOND_LOG, text if last is None else f"{text} at {last}")
            else:
                yield from self._reach(self._next)
                self._next += 1


class TimeIndexCheck(LargestIndexCheck):
    """Checks the entries of a time index, against the timestamp of each record."""

    area = Area.TIME_INDEX
    kind = names.TIME_INDEX
    compared = _FOLLOWED

    def _largest(self, batch: Batch) -> int:
        return batch.max_timestamp

    def _numbers(self, batch: Batch, records: Sequence[Record]) -> Sequence[tuple[int, int]]:
        if not batch.kind.has_timestamps:
            # 0.10.2 wrote time entries before it removed the timestamps.
            self._has_untimed = True
        elif batch.is_wrapper:  # counts with its own timestamp, which 0.10.0 did not correct
            cap = batch.max_timestamp
            return [(record.offset, min(record.timestamp, cap)) for record in records]
        return [(record.offset, record.timestamp) for record in records]

    def take(self, part: Inspected, first: int, stop: int) -> None:
        super().take(part, first, stop)
        if first < stop:
            self._has_untimed |= not KINDS[part.column(MAGIC)[first]].has_timestamps


def check_of(kind: str) -> type[IndexCheck[Any]]:
    """Return the check of a kind of index."""
    if kind == names.TIME_INDEX:
        return TimeIndexCheck
    if kind == names.OFFSET_INDEX:
        return OffsetIndexCheck
    if FILES[kind].largest is None:
        return type("PositionIndexCheck", (OffsetIndexCheck,), {"area": Area.INDEX})
    return type("NumberIndexCheck", (LargestIndexCheck,), {"kind": kind})


class TransactionIndexCheck(EntryCheck[ListedTransaction]):
    """Checks the entries of a transaction index.

    An entry is legal if compaction has removed its marker, but not if the log has something else at
    the marker's offset. An ABORT marker without an entry is a finding if records of its transaction
    are in the log.
    """

    area = Area.TRANSACTION_INDEX
    offset_name = "last_offset"

    def __init__(
        self,
        count: int,
        entry: Callable[[int], ListedTransaction],
        file: str,
        entry_size: int,
        segment_base: int | None,
    ) -> None:
        """See ``EntryCheck``; ``segment_base`` is the offset in the name of the segment, if any."""
        super().__init__(count, entry, file, entry_size)
        self._base = segment_base

    def order(self) -> Iterator[Finding]:
        """Check the entries against each other and the file name, without the log."""
        previous: int | None = None
        for number, entry in enumerate(map(self._entry, range(self._count))):
            first, last, stable = entry.first_offset, entry.last_offset, entry.last_stable_offset
            if previous is not None and last <= previous:
                text = f"last offset {previous} is followed by {last}"
                yield self._found(number, R.TRANSACTION_ORDER, text)
            previous = last
            if self._base is not None and last < self._base:
                text = f"last offset {last} is below the {self._base} of the file name"
                yield self._found(number, R.TRANSACTION_ORDER, text)
            if first > last:
                text = f"first offset {first} is above last offset {last}"
                yield self._found(number, R.TRANSACTION_RANGE, text)
            if entry.version != 0:
                text = f"version {entry.version} is not 0; Kafka reads only its first byte"
                yield self._found(number, R.TRANSACTION_VERSION, text, Severity.WARNING)
            if first < 0 or stable < 0:
                text = f"last stable offset {stable} differs from first offset {first}"
                yield self._found(number, R.TRANSACTION_RANGE, text)
            if stable > last + 1:
                text = f"last stable offset {stable} is after its marker"
                yield self._found(number, R.TRANSACTION_RANGE, text)

    def resume(self, start: int, before: PartSurvey) -> None:
        while self._next < self._count:
            if self._entry(self._next).last_offset > before.highest_last:
                break
            self._next += 1

    def follow(self, part: Inspected, first: int, stop: int) -> int:
        """Return up to which batch of a run of data no entry is compared; see ``IndexCheck``."""
        if self._next >= self._count:
            return stop
        wanted = self._entry(self._next).last_offset
        return bisect_left(part.column(LAST_OFFSET), wanted, first, stop)

    def batch(
        self, batch: Header, aborts: bool, aborted: AbortedTransaction | None
    ) -> Iterator[Finding]:
        """Take the next batch of the log.

        Args:
            aborts: whether it is an ABORT marker.
            aborted: transaction that it ends, if records of it are in the log.
        """
        named = False
        while self._next < self._count:
            number, entry = self._next, self._entry(self._next)
            if entry.last_offset > batch.last_offset:
                break
            self._next += 1
            if not batch.kind.has_record_sets or entry.last_offset < batch.base_offset:
                # Compaction removes markers and keeps entries.
                continue
            if not aborts or batch.producer_id != entry.producer_id:
                text = f"there is no ABORT marker of producer {entry.producer_id} "
                text += f"at offset {entry.last_offset}"
                yield self._found(number, R.TRANSACTION_MARKER, text)
                continue
            named = True
            if aborted is not None and entry.first_offset <= aborted.previous_marker:
                text = f"begins at offset {entry.first_offset}, but the producer ended another "
                text += f"transaction at {aborted.previous_marker}, whose records are withheld"
                yield self._found(number, R.TRANSACTION_RANGE, text)
            if aborted is not None and entry.first_offset > aborted.first_offset:
                text = f"begins at offset {entry.first_offset}, but the transaction has records "
                text += f"from {aborted.first_offset} on"
                yield self._found(number, R.TRANSACTION_RANGE, text, Severity.WARNING)
        if aborted is not None and not named:
            text = f"the transaction of producer {aborted.producer_id} from offset "
            text += f"{aborted.first_offset}, aborted at {aborted.last_offset}, has no entry"
            yield self._place.error(R.TRANSACTION_MISSING, text, offset=aborted.last_offset)

    def finish(self) -> Iterator[Finding]:
        """Check the rest at the end of the log."""
        if self._next < self._count:
            offset = self._entry(self._next).last_offset
            text = f"last offset {offset} is after the end of the log"
            yield self._rest(R.TRANSACTION_MARKER, text)
