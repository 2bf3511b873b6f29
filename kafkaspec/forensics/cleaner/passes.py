"""One pass of the cleaner: which records and batches stay, by which rule.

This is the one place of the rules: ``compaction`` reports them and writes what they leave, and
Spark's job asks them too. Kafka: ``Cleaner``, ``MemoryRecords.filterTo``.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from itertools import zip_longest
from typing import Final

from kafkaspec._generated.python.model.transaction_index import AbortedTransaction
from kafkaspec.analysis.text_checks import size_of
from kafkaspec.broker.profiles import Profile
from kafkaspec.columns.key_table import GONE, SLOT_BYTES, KeyTable, KeyVerdict
from kafkaspec.columns.memory import Columns
from kafkaspec.columns.reader import Reader
from kafkaspec.columns.wanted import BATCH_POSITION, Wanted
from kafkaspec.files import names as files
from kafkaspec.files.indexes import LARGEST_RELATIVE_OFFSET
from kafkaspec.forensics.cleaner.aborts import AbortedRanges, AbortIndex
from kafkaspec.forensics.cleaner.dirty import Dirty, between
from kafkaspec.forensics.cleaner.settings import Settings
from kafkaspec.forensics.cleaner.view import LogView, SegmentView
from kafkaspec.layout import names
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import NONE
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import read_headers
from kafkaspec.log.lookup import start_position
from kafkaspec.log.segment import Segment

_INDEXES: Final = (files.OFFSET_INDEX, files.TIME_INDEX)
_BATCHES: Final = frozenset(magic for magic, kind in KINDS.items() if kind.has_record_sets)


class CleanerRule(StrEnum):
    """Why a record goes."""

    SUPERSEDED = "superseded"
    """A later record has its key."""
    KEYLESS = "without a key"
    TOMBSTONE = "tombstone"
    """It has no value, and is old enough."""
    ABORTED = "aborted"
    """Its transaction was aborted."""
    MARKER = "marker"
    """Nothing is left of its transaction, and it is old enough."""


class Action(Enum):
    """The fate of a batch."""

    COPY = "copied as it is"
    REWRITE = "written again"
    EMPTY = "kept without records"
    DROP = "removed"


@dataclass(frozen=True, slots=True)
class Decision:
    """The fate of consecutive batches: of many if they are copied, else of one.

    Attributes:
        keep: for REWRITE, a byte for each record, not 0 if it stays; None if all do.
        horizon: for REWRITE, the delete horizon, ms; None for none.
    """

    headers: HeaderTable
    first: int
    last: int
    action: Action
    keep: bytes | None = None
    horizon: int | None = None


@dataclass(frozen=True, slots=True)
class Removed:
    """A record that goes."""

    offset: int
    rule: CleanerRule
    newest: int | None
    position: int


Note = Callable[[SegmentView, Sequence[Removed]], object]
"""Takes the records of a segment that go."""


class CleanerFailsError(Exception):
    """The cleaner of a broker fails here, and marks the partition as one that it cannot clean."""


class Pass:
    """One pass over a log.

    Attributes:
        latest: last offset that the table knows; the next one goes into the checkpoint.
        full: whether the table was full before the end of the dirty range.
        full_at: segment, byte offset that it was read from, and byte offset of the batch whose key
            there was no room for; None if there was.
    """

    def __init__(
        self, log: LogView, found: Dirty, settings: Settings, now: int, profile: Profile
    ) -> None:
        """Read the keys of the dirty range."""
        self.log, self.settings, self.profile = log, settings, profile
        self._dirty, self._now = found, now
        self._retention = settings.number("delete.retention.ms")
        self._segment_bytes = settings.number("segment.bytes")
        self._index_bytes = settings.number("segment.index.bytes")
        threads = settings.number("log.cleaner.threads")
        slots = min(settings.number("log.cleaner.dedupe.buffer.size") // threads, 2**31 - 1)
        slots //= SLOT_BYTES
        limit = int(slots * settings.ratio("log.cleaner.io.buffer.load.factor"))
        span = max(found.first_uncleanable - found.first_dirty, 0)
        core = log.codec.core
        # As many slots as Kafka's, unless there cannot be so many keys.
        self.table = KeyTable(core, min(slots, span * 4 // 3 + 16), limit)
        self._aborts = AbortIndex(log.segments, log.log_start)
        self.latest, self.full = NONE, False
        self.full_at: tuple[SegmentView, int, int] | None = None
        self.counts: Counter[CleanerRule] = Counter()
        self.actions: Counter[Action] = Counter()
        self.records = self.horizons = 0
        expires = settings.number("producer.id.expiration.ms")
        self._last_of = {
            entry.producer_id: (entry.last_offset, entry.producer_epoch)
            for entry in log.producers(profile).entries
            if entry.current_txn_first_offset != NONE or now - entry.timestamp < expires
        }
        before = between(log.segments, 0, found.first_dirty)
        self._legacy_horizon = before[-1].modified - self._retention if before else 0
        self._build()
        self._transactions = AbortedRanges()
        self._removed: list[Removed] | None = None
        self._retains = False

    # -- the table of keys ------------------------------------------------------------------

    def _build(self) -> None:
        start, end = self._dirty.first_dirty, self._dirty.first_uncleanable
        segments = between(self.log.segments, start, end)
        transactions = AbortedRanges()
        transactions.add(self._aborts.between(start, end))
        for number, segment in enumerate(segments):
            following = segments[number + 1].base_offset if number + 1 < len(segments) else end
            with self.log.partition.open_segment(segment.path) as opened:
                place = self._put_segment(opened, transactions)
                if place is not None:
                    self.full = True
                    self.full_at = segment, *place
                    return
            self.latest = following - 1

    def _put_segment(self, segment: Segment, transactions: AbortedRanges) -> tuple[int, int] | None:
        """Put the keys of a segment; return its begin and where the table is full, or None."""
        start = self._dirty.first_dirty
        begin = start_position(segment, start)[0]
        aborted: list[int] = []
        # Where a broker begins to read matters: a transaction that it is told of, but whose marker
        # lies before that, goes on for it.
        for headers in read_headers(segment, begin):
            for number in _transactional(headers):
                end, producer = headers.last_offset[number], headers.producer_id[number]
                if headers.control[number]:
                    transactions.marker(end, producer, headers.batch(number).marker())
                elif transactions.data(end, producer, True):
                    aborted.append(headers.position[number])
        wanted = Wanted(start_offset=start)
        last: tuple[int, int] | None = None  # position of the batch, and offset, of the last put
        for columns in Reader(segment, (names.OFFSET, names.KEY, BATCH_POSITION), wanted):
            positions = columns.integer_column(BATCH_POSITION).integers
            offsets = columns.integer_column(names.OFFSET).integers
            for first, stop in _besides(aborted, positions, columns):
                done = self.table.put(columns, first, stop, start)
                if self.table.last >= 0:
                    row = self.table.last
                    last = columns.start + positions[row], offsets[row]
                if done < stop:
                    place = columns.start + positions[done]
                    if last is not None and last[0] == place:
                        self.latest = last[1]
                    else:
                        self._reach(segment, place)
                    return begin, place
        return None

    def _reach(self, segment: Segment, position: int) -> None:
        """Note the last offset of the batch before a position."""
        for headers in read_headers(segment):
            number = bisect_left(headers.position, position)
            if number and headers.last_offset[number - 1] >= self._dirty.first_dirty:
                self.latest = max(self.latest, headers.last_offset[number - 1])
            if number < len(headers):
                return

    # -- groups of segments -----------------------------------------------------------------

    @property
    def end_offset(self) -> int:
        """The offset for the checkpoint of the cleaner."""
        return self.latest + 1

    @property
    def groups(self) -> list[list[SegmentView]]:
        """The segments that are cleaned, each group into one. Kafka: ``groupSegmentsBySize``."""
        left = between(self.log.segments, 0, self.end_offset)
        found: list[list[SegmentView]] = []
        sizes = [0, 0, 0]
        for number, segment in enumerate(left):
            # A broker builds an index again that is not there, or cannot be read.
            own = [segment.size, *(size_of(segment.path.with_suffix(kind)) for kind in _INDEXES)]
            after = number + 1 < len(left)
            last = left[number + 1].base_offset if after else self._dirty.first_uncleanable
            near = bool(found) and (
                last - 1 - found[-1][-1].base_offset <= LARGEST_RELATIVE_OFFSET
                or (self.profile.cleaner_groups_empty and not segment.size)
            )
            sums = [a + b for a, b in zip(sizes, own, strict=True)]
            limits = (self._segment_bytes, self._index_bytes, self._index_bytes)
            if near and all(a <= b for a, b in zip(sums, limits, strict=True)):
                found[-1].append(segment)
                sizes = sums
            else:
                found.append([segment])
                sizes = own
        return found

    # -- batches ----------------------------------------------------------------------------

    @property
    def kept(self) -> list[AbortedTransaction]:
        """The aborted transactions of the group whose markers stay."""
        return self._transactions.kept

    def decided(
        self, group: Sequence[SegmentView], note: Note | None
    ) -> Iterator[tuple[SegmentView, Iterator[Decision]]]:
        """Yield the segments of a group, each with what happens to its batches; take all of it."""
        self._transactions.kept = []
        for segment, following in zip_longest(group, group[1:]):
            self._removed = None if note is None else []
            base = None if following is None else following.base_offset
            yield segment, self._decisions(segment, base)
            if note is not None and self._removed:
                note(segment, self._removed)

    def _decisions(self, segment: SegmentView, following: int | None) -> Iterator[Decision]:
        """Yield what happens to the batches of a segment, given the next one of its group."""
        end = segment.following if following is None else following
        if following is None and segment.size:
            end = self._next_offset(segment)
        self._transactions.add(self._aborts.between(segment.base_offset, end))
        self._retains = segment.modified > self._legacy_horizon
        with self.log.partition.open_segment(segment.path) as opened:
            rows = _Rows(opened, self.table, self.latest, wanted=self._removed is not None)
            for headers in read_headers(opened):
                copied = 0
                for number in range(len(headers)):
                    made = self._decide(headers, number, rows)
                    if made is None:
                        self.actions[Action.COPY] += 1
                        continue
                    if copied < number:
                        yield Decision(headers, copied, number, Action.COPY)
                    self.actions[made.action] += 1
                    yield made
                    copied = number + 1
                if copied < len(headers):
                    yield Decision(headers, copied, len(headers), Action.COPY)

    def _next_offset(self, segment: SegmentView) -> int:
        """``LogSegment.readNextOffset``: after the last batch that is there."""
        end = segment.base_offset
        with self.log.partition.open_segment(segment.path) as opened:
            for headers in read_headers(opened):
                end = headers.last_offset[-1] + 1
        return end

    def _decide(self, headers: HeaderTable, number: int, rows: _Rows) -> Decision | None:
        """Return what happens to a batch; None if it is copied."""
        last, producer = headers.last_offset[number], headers.producer_id[number]
        if headers.control[number]:
            return self._control_batch(headers, number)
        discarded = self._transactions.data(last, producer, bool(headers.transactional[number]))
        verdicts = rows.of(headers.position[number])
        self.records += len(verdicts)
        if discarded:
            self._count(CleanerRule.ABORTED, len(verdicts))
            if self._removed is not None:
                place = headers.position[number]
                self._removed += [
                    Removed(each, CleanerRule.ABORTED, None, place) for each in rows.offsets
                ]
            return self._without(headers, number)
        is_batch = headers.magic[number] in _BATCHES
        converts = self.profile.cleaner_converts and not is_batch
        if verdicts.count(0) + verdicts.count(KeyVerdict.AFTER) == len(verdicts) and verdicts:
            return self._again(headers, number, None, None) if converts else None
        by_batch = is_batch and self.profile.batch_horizons
        horizon, expired = None, False
        if by_batch:
            horizon = _horizon(headers, number)
            expired = horizon is not None and self._now >= horizon
        else:
            expired = not self._retains
        keep = verdicts.translate(_STAYS[expired])
        gone = keep.count(0)
        if gone:
            self._note(headers.position[number], verdicts, keep, rows)
        if gone == len(verdicts):
            return self._without(headers, number)
        tombstones = 1 in verdicts.translate(_KEPT_TOMBSTONE[expired])
        sets = tombstones and horizon is None and (by_batch or converts)
        if not gone and not sets and not converts:
            return None
        if sets:
            horizon = self._now + self._retention
            self.horizons += 1
        return self._again(headers, number, keep if gone else None, horizon)

    def _note(self, position: int, verdicts: bytes, keep: bytes, rows: _Rows) -> None:
        """Count the records that go, by rule."""
        keyless = verdicts.translate(_KEYLESS).count(1)
        superseded = verdicts.translate(_SUPERSEDED).count(1)
        self._count(CleanerRule.KEYLESS, keyless)
        self._count(CleanerRule.SUPERSEDED, superseded)
        self._count(CleanerRule.TOMBSTONE, keep.count(0) - keyless - superseded)
        if self._removed is None:
            return
        for row, verdict in enumerate(verdicts):
            if not keep[row]:
                rule, newest = CleanerRule.TOMBSTONE, None
                if verdict & KeyVerdict.KEYLESS:
                    rule = CleanerRule.KEYLESS
                elif verdict & KeyVerdict.SUPERSEDED:
                    rule, newest = CleanerRule.SUPERSEDED, rows.newest[row]
                self._removed.append(Removed(rows.offsets[row], rule, newest, position))

    def _control_batch(self, headers: HeaderTable, number: int) -> Decision | None:
        control = headers.batch(number).marker()
        idle = self._transactions.marker(
            headers.last_offset[number], headers.producer_id[number], control
        )
        self.records += control is not None
        horizon: int | None = None
        if self.profile.batch_horizons:
            horizon = _horizon(headers, number)
            discarded = idle and horizon is not None and horizon <= self._now
        else:
            discarded = idle and not self._retains
        stays = control is not None and not discarded
        if stays and not self.profile.batch_horizons:
            # Before KIP-534 the record of a marker is treated like one of data.
            assert control is not None
            record = control.record
            key = record.key or b""
            stays = record.offset > self.latest or record.offset >= self.table.newest_of(key)
        if not stays:
            if control is not None:
                self._count(CleanerRule.MARKER, 1)
                if self._removed is not None:
                    place, offset = headers.position[number], control.record.offset
                    self._removed.append(Removed(offset, CleanerRule.MARKER, None, place))
            return self._without(headers, number)
        if not (self.profile.batch_horizons and idle and horizon is None):
            return None
        self.horizons += 1
        return self._again(headers, number, None, self._now + self._retention)

    def _again(
        self, headers: HeaderTable, number: int, keep: bytes | None, horizon: int | None
    ) -> Decision:
        return Decision(headers, number, number + 1, Action.REWRITE, keep, horizon)

    def _without(self, headers: HeaderTable, number: int) -> Decision:
        """Return what happens to a batch of which no record stays."""
        action = Action.EMPTY if self._keeps_shell(headers, number) else Action.DROP
        if action is Action.EMPTY and headers.magic[number] not in _BATCHES:
            raise CleanerFailsError(
                f"{headers.segment.name}: byte {headers.position[number]}: the last batch of what "
                "is cleaned has no record left, and its format has no batches without records"
            )
        return Decision(headers, number, number + 1, action)

    def _keeps_shell(self, headers: HeaderTable, number: int) -> bool:
        producer = headers.producer_id[number]
        if producer > NONE and producer in self._last_of:
            last_offset, epoch = self._last_of[producer]
            if last_offset != NONE:
                if headers.last_offset[number] == last_offset:
                    return True
            elif headers.control[number] and headers.producer_epoch[number] == epoch:
                return True
        end = headers.last_offset[number] + 1
        return self.profile.cleaner_keeps_end and end == self._dirty.first_uncleanable

    def _count(self, rule: CleanerRule, number: int) -> None:
        if number:
            self.counts[rule] += number


def _horizon(headers: HeaderTable, number: int) -> int | None:
    horizon = headers.list(names.DELETE_HORIZON)[number]
    return None if horizon == NONE else horizon


class _Rows:
    """The verdicts about the records of a segment, batch by batch; offsets too, if wanted."""

    def __init__(self, segment: Segment, table: KeyTable, latest: int, *, wanted: bool) -> None:
        columns = (names.OFFSET, names.KEY, names.VALUE, BATCH_POSITION)
        self._chunks = iter(Reader(segment, columns, Wanted()))
        self._table, self._latest, self._wanted = table, latest, wanted
        self._verdicts, self._newest = bytearray(), array("q")
        self._offsets: Sequence[int] = ()
        self._positions: Sequence[int] = ()
        self._start = self._row = 0
        self.offsets, self.newest = array("q"), array("q")

    def _advance(self) -> bool:
        """Read the next chunk; return whether there is one."""
        columns = next(self._chunks, None)
        if columns is None:
            return False
        judged = self._table.judge(columns, self._latest)
        self._verdicts, self._newest = judged.verdicts, judged.newest
        self._offsets = columns.integer_column(names.OFFSET).integers[: columns.rows]
        self._positions = columns.integer_column(BATCH_POSITION).integers[: columns.rows]
        self._start, self._row = columns.start, 0
        return True

    def of(self, position: int) -> bytes:
        """Return the verdicts about the records of the batch at a position; none if it is empty.

        Batches must come in order.
        """
        found = b""
        if self._wanted:
            self.offsets, self.newest = array("q"), array("q")
        while True:  # a large batch is in several chunks
            while self._row == len(self._verdicts):
                if not self._advance():
                    return found
            place = position - self._start
            if self._positions[self._row] != place:
                return found
            stop = bisect_right(self._positions, place, self._row)
            found += self._verdicts[self._row : stop]
            if self._wanted:
                self.offsets.extend(self._offsets[self._row : stop])
                self.newest.extend(self._newest[self._row : stop])
            self._row = stop
            if stop < len(self._verdicts):
                return found


def _table_of(says: Callable[[int], object]) -> bytes:
    """Return a table for ``bytes.translate``: 1 for verdicts of which something is true."""
    return bytes(bool(says(verdict)) for verdict in range(256))


def _stays(verdict: int, expired: bool) -> bool:
    if verdict & KeyVerdict.AFTER:
        return True
    return not verdict & GONE and not (expired and verdict & KeyVerdict.VALUELESS)


_SUPERSEDED: Final = _table_of(lambda verdict: verdict & KeyVerdict.SUPERSEDED)
_KEYLESS: Final = _table_of(lambda verdict: verdict & KeyVerdict.KEYLESS)
_STAYS: Final = {
    expired: bytes(_stays(verdict, expired) for verdict in range(256)) for expired in (False, True)
}
"""Whether a record stays, by its verdict; in a batch whose tombstones go, and in others."""
_KEPT_TOMBSTONE: Final = {
    expired: bytes(
        _stays(verdict, expired) and bool(verdict & KeyVerdict.VALUELESS) for verdict in range(256)
    )
    for expired in (False, True)
}


def _transactional(headers: HeaderTable) -> list[int]:
    """Return the numbers of the batches that transactions consist of."""
    if not any(headers.transactional) and not any(headers.control):
        return []
    flags = zip(headers.transactional, headers.control, strict=True)
    return [number for number, pair in enumerate(flags) if any(pair)]


def _besides(
    positions: Sequence[int], of_rows: Sequence[int], columns: Columns
) -> Iterator[tuple[int, int]]:
    """Yield the ranges of rows that are not of the batches at some positions, in order."""
    first = 0
    if positions and columns.rows:
        low = bisect_left(positions, columns.start + of_rows[0])
        for position in positions[low:]:
            place = position - columns.start
            start = bisect_left(of_rows, place, first, columns.rows)
            if start == columns.rows:
                break
            stop = bisect_right(of_rows, place, start, columns.rows)
            if first < start:
                yield first, start
            first = stop
    if first < columns.rows:
        yield first, columns.rows
