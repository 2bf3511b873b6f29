"""Headers of entries in columns: one table for all formats and all codecs."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import compress
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final

from kafkaspec.checksum import CHECKSUMS
from kafkaspec.codecs import Scan
from kafkaspec.codecs.native.scan import intact
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import names
from kafkaspec.layout.framing import FRAMING, checksum_of
from kafkaspec.layout.kinds import KINDS
from kafkaspec.layout.stand_ins import (
    CONDITIONS,
    IN_WRAPPERS,
    LACKING,
    NONE,
    STAND_INS,
    UNKNOWN,
    UNTYPED,
)
from kafkaspec.log.batch import TIMESTAMP_TYPES, Batch, crc_error
from kafkaspec.log.entries import Entries

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

POSITION: Final = "position"
SIZE: Final = "size"
CRC: Final = "crc"
"""Names of columns of every entry: where it is in the segment, its bytes, its stored checksum."""

EntryNumbers = Sequence[int]
"""A number for each entry, in a buffer of signed 64-bit integers."""

_BATCHES: Final = frozenset(magic for magic, kind in KINDS.items() if kind.has_record_sets)
"""Magics of batches; entries of the other magics are messages."""
_PLACE: Final = f".{POSITION}"
_RULES: Final = {magic: checksum_of(kind.key) for magic, kind in KINDS.items()}
_CHECKSUMS: Final = {
    magic: (CHECKSUMS[rule.algorithm], FRAMING + rule.start) for magic, rule in _RULES.items()
}
"""Function of the checksum, and number of leading bytes of an entry that it skips, by magic."""


class _Listed:
    """A column as an attribute, which is looked up once."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __set_name__(self, owner: type[Any], attribute: str) -> None:
        self._attribute = attribute

    def __get__(self, table: HeaderTable, owner: type[Any]) -> EntryNumbers:
        column = table.__dict__[self._attribute] = table.list(self._name)
        return column


class HeaderTable:
    """Headers of consecutive entries of one segment, in columns; ``len`` is their number.

    A column is made when it is asked for. Columns have the names of ``kafkaspec.layout.names``, and
    ``POSITION``, ``SIZE`` and ``CRC``; what an entry has in place of a field that its format lacks
    is in ``kafkaspec.layout.stand_ins``.

    Attributes:
        segment: the segment that contains the entries.
        buffer: bytes that contain their headers; all of their bytes if so much was asked for.
        start: position in the segment of the first byte of ``buffer``.
        batches: the entries as objects, if the codec did not scan them.
        scan: what the codec found, if it did.
        file: number of the segment in its log, for whoever reads several.
        known: what was read of the contents of an entry, by its number.
        markers_read: whether the markers with equal bytes were, at once.
        position: position of each entry in the segment, and so on: the columns that are asked for
            most.
    """

    position = _Listed(POSITION)
    size = _Listed(SIZE)
    crc = _Listed(CRC)
    magic = _Listed(names.MAGIC)
    compression = _Listed(names.COMPRESSION)
    timestamp_type = _Listed(names.TIMESTAMP_TYPE)
    first_offset = _Listed(names.BASE_OFFSET)
    last_offset = _Listed(names.LAST_OFFSET)
    max_timestamp = _Listed(names.MAX_TIMESTAMP)
    leader_epoch = _Listed(names.LEADER_EPOCH)
    producer_id = _Listed(names.PRODUCER_ID)
    producer_epoch = _Listed(names.PRODUCER_EPOCH)
    base_sequence = _Listed(names.BASE_SEQUENCE)
    last_sequence = _Listed(names.LAST_SEQUENCE)
    transactional = _Listed(names.IS_TRANSACTIONAL)
    control = _Listed(names.IS_CONTROL)

    def __init__(
        self,
        segment: Entries,
        count: int,
        source: Callable[[str], EntryNumbers],
        buffer: memoryview,
        start: int,
        batches: Sequence[Batch] | None = None,
    ) -> None:
        """Keep where columns come from; see ``of_scan`` and ``of_batches``."""
        self.segment = segment
        self.buffer = buffer
        self.start = start
        self.batches = batches
        self.scan: Scan | None = None
        self.file = 0
        self.known: dict[int, Any] = {}
        self.markers_read = False
        self._count = count
        self._source = source
        self._columns: dict[str, EntryNumbers] = {}

    def __len__(self) -> int:
        return self._count

    # -- columns ----------------------------------------------------------------------------

    def list(self, name: str) -> EntryNumbers:
        """Return a column."""
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = self._source(name)
        return found

    def has(self, name: str) -> bool:
        """Return whether there is a column that not every codec and format has."""
        try:
            self.list(name)
        except (KeyError, ValueError):
            return False
        return True

    def numpy(self, name: str) -> NDArray[np.int64]:
        """Return a column as an array that shares its memory: not to be changed."""
        import numpy as np

        return np.frombuffer(self.list(name), np.int64, self._count)  # type: ignore[call-overload,no-any-return]

    def arrow(self, name: str) -> pa.Array:
        """Return a column as an int64 array that shares its memory; null for what is unknown."""
        import pyarrow as pa

        column = self.list(name)
        validity = None
        if name in IN_WRAPPERS and self.has_wrappers:
            known = (value != UNKNOWN for value in column)
            validity = pa.array(known, pa.bool_()).buffers()[1]
        return pa.Array.from_buffers(pa.int64(), self._count, [validity, pa.py_buffer(column)])

    @cached_property
    def end(self) -> int:
        """Position after the last entry."""
        return self.position[-1] + self.size[-1]

    @property
    def next_offset(self) -> int:
        """The smallest offset that an entry after these may have."""
        if self.batches is not None:  # also of Kafka 0.7, whose offsets are positions
            return max(batch.next_offset for batch in self.batches)
        return max(self.last_offset) + 1

    @cached_property
    def magics(self) -> frozenset[int]:
        """The magics of the entries."""
        return _distinct(self.magic)

    @cached_property
    def has_wrappers(self) -> bool:
        """Whether one of the entries is a compressed message, which holds others."""
        packed = not self.magics <= _BATCHES and any(self.compression)
        return packed and any(_wraps(self.magic, self.compression))

    def replaced(self, columns: Mapping[str, EntryNumbers]) -> HeaderTable:
        """Return the same entries with other numbers in some columns."""
        known = {name: _packed(column) for name, column in columns.items()}
        return self._with(lambda name: known[name] if name in known else self.list(name))

    def some(self, rows: Sequence[int] | NDArray[np.int64]) -> HeaderTable:
        """Return some of the entries, which need not follow each other, by their numbers."""
        found = HeaderTable(
            self.segment,
            len(rows),
            lambda name: picked(self.list(name), rows),
            self.buffer,
            self.start,
            None if self.batches is None else [self.batches[row] for row in rows],
        )
        found.file = self.file
        return found

    def _with(self, source: Callable[[str], EntryNumbers]) -> HeaderTable:
        return HeaderTable(self.segment, self._count, source, self.buffer, self.start, self.batches)

    def opened(self) -> HeaderTable:
        """Return the same entries with what is in compressed messages, which are read for it.

        Their first offsets and numbers of records stay unknown if they cannot be read.
        """
        if not self.has_wrappers:
            return self

        def source(name: str) -> EntryNumbers:
            return self._contents[name] if name in IN_WRAPPERS else self.list(name)

        return self._with(source)

    @cached_property
    def _contents(self) -> Mapping[str, EntryNumbers]:
        """First offsets and numbers of records, with compressed messages read."""
        firsts, counts = (array("q", self.list(name)) for name in IN_WRAPPERS)
        for number in compress(range(len(self)), _wraps(self.magic, self.compression)):
            try:
                records = self.batch(number).records()
            except KafkaSpecError:
                continue
            firsts[number] = records[0].offset if records else UNKNOWN
            counts[number] = len(records)
        return dict(zip(IN_WRAPPERS, (firsts, counts), strict=True))

    # -- entries ----------------------------------------------------------------------------

    def data(self, first: int, last: int) -> memoryview:
        """Return the bytes from entry ``first`` up to, but not including, entry ``last``."""
        stop = self.position[last] if last < self._count else self.end
        start = self.position[first]
        found = self.buffer[start - self.start : stop - self.start]
        if len(found) < stop - start:
            raise ValueError("the table has no more than headers: see read_headers")
        return found

    def has_messages(self, first: int, last: int) -> bool:
        """Return whether one of the entries from ``first`` to before ``last`` is a message."""
        return not _BATCHES.issuperset(self.magic[first:last])

    def batch(self, number: int) -> Batch:
        """Return an entry as an object."""
        return self.segment.batch_at(self.position[number])

    def first_offset_of(self, number: int) -> int:
        """Return the first offset of an entry; decompress a compressed message to find it.

        For a compressed message that cannot be read, this is the last offset, as for followers.
        """
        known = self.first_offset[number]
        if known != UNKNOWN:
            return known
        try:
            return self.batch(number).base_offset
        except KafkaSpecError:
            return self.last_offset[number]

    def crc_error(self, number: int) -> KafkaSpecError:
        """Return the error for an entry whose checksum does not match its bytes."""
        try:
            return crc_error(self.batch(number))
        except KafkaSpecError as error:  # it cannot be parsed either
            return error

    def wrong_checksum(self, first: int = 0) -> int | None:
        """Return the number of the first entry whose checksum is wrong; None if all are right."""
        return next(self.wrong_checksums(range(first, len(self))), None)

    def wrong_checksums(
        self, rows: Sequence[int], buffer: memoryview | None = None, start: int = 0
    ) -> Iterator[int]:
        """Yield the entries whose checksum is wrong.

        Args:
            rows: numbers of the entries to look at, in order.
            buffer: bytes that contain them, those of the table if None.
            start: position in the segment of the first byte of ``buffer``.
        """
        if buffer is None:
            buffer, start = self.buffer, self.start
        core = self.segment.codec.core
        columns: list[Any] = [self.position, self.size, self.crc]
        if isinstance(rows, range):
            columns = [column[rows.start : rows.stop] for column in columns]
        else:
            columns = [picked(column, rows) for column in columns]
        magics = self.magics if len(self.magics) == 1 else {self.magic[row] for row in rows}
        if core is not None and len(magics) == 1:
            (magic,) = magics
            views = [memoryview(column) for column in columns]
            number = 0
            while number < len(rows):
                rest = [view[number:] for view in views]
                number += intact(core, KINDS[magic], buffer, rest[0], rest[1], rest[2], start)
                if number < len(rows):
                    yield rows[number]
                    number += 1
            return
        for row, position, size, stored in zip(rows, *columns, strict=True):
            compute, skip = _CHECKSUMS[self.magic[row]]
            at = position - start
            if compute(buffer[at + skip : at + size]) != stored:
                yield row


def picked(column: EntryNumbers, rows: Sequence[int] | NDArray[np.int64]) -> array[int]:
    """Return the numbers of a column in some rows; with NumPy, where a program has loaded it."""
    if "numpy" in sys.modules:
        import numpy as np

        return array("q", np.asarray(column)[np.asarray(rows)].tobytes())
    pick = itemgetter(*rows, *rows[-1:])  # a tuple, of one row too
    return array("q", pick(column)[: len(rows)])


def of_scan(scan: Scan, segment: Entries, buffer: memoryview, start: int) -> HeaderTable:
    """Return the headers that a codec has scanned.

    Args:
        start: position in the segment of the first byte of ``buffer``.
    """
    table = HeaderTable(segment, scan.count, _Scanned(scan, start), buffer, start)
    table.end, table.scan = start + scan.position, scan
    return table


def of_batches(
    segment: Entries, buffer: memoryview, start: int, batches: Sequence[Batch]
) -> HeaderTable:
    """Return the headers of batches.

    Args:
        start: position in the segment of the first byte of ``buffer``.
    """

    def source(name: str) -> EntryNumbers:
        return array("q", map(number_of(name), batches))

    return HeaderTable(segment, len(batches), source, buffer, start, batches)


@cache
def number_of(name: str) -> Callable[[Batch], int]:
    """Return what gives the number of a column for a batch."""
    if name in _OF_BATCH:
        return _OF_BATCH[name]
    stand_in, field = STAND_INS[name], attrgetter(name)
    assert isinstance(stand_in, int)

    def value(batch: Batch) -> int:
        found: int = field(batch.message) if name in batch.kind.header else stand_in
        return found

    return value


def joined(tables: Sequence[HeaderTable]) -> HeaderTable:
    """Return one table of tables that come one after the other, with the same buffer."""
    first = tables[0]

    def source(name: str) -> EntryNumbers:
        return array("q", [value for table in tables for value in table.list(name)])

    return HeaderTable(first.segment, sum(map(len, tables)), source, first.buffer, first.start)


class _Scanned:
    """The columns of a scan, with what stands in for fields that entries lack."""

    def __init__(self, scan: Scan, start: int) -> None:
        self._scan = scan
        self._start = start
        self._kinds: frozenset[int] | None = None

    def __call__(self, name: str) -> EntryNumbers:
        scan = self._scan
        if name == POSITION:
            places: EntryNumbers = scan.column(POSITION)
            return array("q", [at + self._start for at in places]) if self._start else places
        if name == CRC:
            return self._checksums()
        if self._start and name.endswith(_PLACE):
            return array("q", [at + self._start for at in scan.column(name)])
        magics = self._kinds or self._magics
        lacking = magics & LACKING[name] if name in LACKING else None
        if not lacking and name not in CONDITIONS and magics <= _BATCHES:
            stored = scan.column(name)
            return stored if type(stored) is memoryview else _packed(stored)
        if not lacking:
            column = self._own(name) if name in CONDITIONS else scan.column(name)
        elif lacking == magics:
            column = self._other(name)
        else:
            stored = self._own(name) if name in CONDITIONS else scan.column(name)
            rows = zip(self._magic, stored, self._other(name), strict=True)
            column = [other if magic in lacking else own for magic, own, other in rows]
        if name in IN_WRAPPERS and not magics <= _BATCHES:
            codecs = scan.column(names.COMPRESSION)
            if any(codecs):
                wrapped = zip(column, _wraps(self._magic, codecs), strict=True)
                column = [UNKNOWN if wraps else own for own, wraps in wrapped]
        return _packed(column)

    @property
    def _magic(self) -> EntryNumbers:
        return self._scan.column(names.MAGIC)

    @property
    def _magics(self) -> frozenset[int]:
        # A cached property takes a lock, for each of many small tables.
        self._kinds = self._kinds or _distinct(self._magic)
        return self._kinds

    def _own(self, name: str) -> EntryNumbers:
        """Return a column as it is stored, which entries have on a condition."""
        column = self._scan.column(name)
        flags = self._scan.column(CONDITIONS[name])
        if not any(flags):
            return self._constant(NONE)
        rows = zip(column, flags, strict=True)
        return [value if flag else NONE for value, flag in rows]

    def _other(self, name: str) -> EntryNumbers:
        """Return what entries have that lack a column."""
        value = STAND_INS[name]
        if isinstance(value, int):
            return self._constant(value)
        return self(value) if value in STAND_INS else self._scan.column(value)

    def _constant(self, value: int) -> EntryNumbers:
        return array("q", (value,)) * self._scan.count

    def _checksums(self) -> EntryNumbers:
        fields = {magic: _RULES[magic].field for magic in self._magics}
        columns = {field: self._scan.column(field) for field in fields.values()}
        if len(columns) == 1:
            return columns.popitem()[1]
        return array("q", [columns[fields[magic]][row] for row, magic in enumerate(self._magic)])


def _wraps(magic: EntryNumbers, compression: EntryNumbers) -> Iterator[bool]:
    """Return which entries are compressed messages."""
    rows = zip(magic, compression, strict=True)
    return (bool(codec) and number not in _BATCHES for number, codec in rows)


def is_constant(column: EntryNumbers) -> bool:
    """Return whether all values of a column are the same, without looking at each."""
    if len(column) == 1:
        return True
    data, width = bytes(column), array("q").itemsize
    return data[width:] == data[:-width]


def _distinct(column: EntryNumbers) -> frozenset[int]:
    return frozenset(column[:1] if is_constant(column) else column)


def _packed(column: EntryNumbers) -> EntryNumbers:
    """Return numbers of 64 bits that stand one after the other."""
    return column if isinstance(column, memoryview | array) else array("q", column)


_TYPES: Final = {name: number for number, name in enumerate(TIMESTAMP_TYPES)}


def _or_none(name: str) -> Callable[[Batch], int]:
    field = attrgetter(name)

    def value(batch: Batch) -> int:
        found: int | None = field(batch)
        return NONE if found is None else found

    return value


_OF_BATCH: Final[Mapping[str, Callable[[Batch], int]]] = {
    POSITION: attrgetter("position"),
    SIZE: attrgetter("size"),
    CRC: attrgetter("crc"),
    names.MAGIC: attrgetter("magic"),
    names.BASE_OFFSET: lambda batch: UNKNOWN if batch.is_wrapper else batch.base_offset,
    names.LAST_OFFSET: attrgetter("last_offset"),
    names.NUM_RECORDS: lambda batch: UNKNOWN if batch.is_wrapper else batch.num_records or 0,
    names.COMPRESSION: attrgetter("compression"),
    names.TIMESTAMP_TYPE: lambda batch: _TYPES.get(batch.timestamp_type, UNTYPED),
    names.BASE_TIMESTAMP: _or_none("base_timestamp"),
    names.MAX_TIMESTAMP: attrgetter("max_timestamp"),
    names.DELETE_HORIZON: _or_none("delete_horizon"),
    names.HAS_DELETE_HORIZON: lambda batch: batch.delete_horizon is not None,
    names.LEADER_EPOCH: attrgetter("partition_leader_epoch"),
    names.PRODUCER_ID: attrgetter("producer_id"),
    names.PRODUCER_EPOCH: attrgetter("producer_epoch"),
    names.BASE_SEQUENCE: attrgetter("base_sequence"),
    names.LAST_SEQUENCE: attrgetter("last_sequence"),
    names.IS_TRANSACTIONAL: attrgetter("is_transactional"),
    names.IS_CONTROL: attrgetter("is_control"),
}
"""What a batch says in the place of each column."""
