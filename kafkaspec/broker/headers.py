"""Headers of the entries of a log in columns, with any codec, some thousands at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any, Final

from kafkaspec.checksum import CHECKSUMS
from kafkaspec.codecs.headers import HeaderTable
from kafkaspec.codecs.native.entries import intact
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import EntryKind, names
from kafkaspec.layout.framing import FRAMING, checksum_of
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.batch import LOG_APPEND_TIME, NO_TIMESTAMP, NONE, Batch, crc_error
from kafkaspec.log.segment import Segment

UNKNOWN: Final = -1
"""First offset of a compressed message: only decompression reveals it."""

_BATCHES: Final = frozenset(magic for magic, kind in KINDS.items() if kind.has_record_sets)
"""Magics of batches; entries of the other magics are messages."""

_ENTRIES: Final = 1 << 14
"""Most entries at a time: their columns take a few MiB."""
_OBJECTS: Final = 256
"""Most messages at a time that the codec does not scan."""


@dataclass(frozen=True, slots=True)
class Headers:
    """Headers of consecutive entries, in columns.

    Attributes:
        segment: the segment that contains the entries.
        buffer: bytes that contain all of them.
        start: position in the segment of the first byte of ``buffer``.
        position: position of each entry in the segment.
        size: size of each entry in bytes.
        magic: magic of each entry.
        crc: stored checksum.
        compression: id of the compression.
        append_time: 1 for ``LogAppendTime``.
        first_offset: base offset of a batch; ``UNKNOWN`` for a compressed message.
        last_offset: last offset, as first written.
        max_timestamp: largest timestamp in ms, -1 for none.
        leader_epoch: leader epoch, -1 for none.
        producer_id: id of the producer, -1 for none, as in the other columns about producers.
        producer_epoch: epoch of the producer.
        base_sequence: sequence number of the first record.
        last_sequence: sequence number of the last record, as first written.
        transactional: 1 if the records belong to a transaction.
        control: 1 for control batches.
        markers: contents of control batches of producers, by number, if they were read already.
    """

    segment: Segment
    buffer: memoryview
    start: int
    position: Sequence[int]
    size: Sequence[int]
    magic: Sequence[int]
    crc: Sequence[int]
    compression: Sequence[int]
    append_time: Sequence[int]
    first_offset: Sequence[int]
    last_offset: Sequence[int]
    max_timestamp: Sequence[int]
    leader_epoch: Sequence[int]
    producer_id: Sequence[int]
    producer_epoch: Sequence[int]
    base_sequence: Sequence[int]
    last_sequence: Sequence[int]
    transactional: Sequence[int]
    control: Sequence[int]
    markers: dict[int, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.position)

    @property
    def end(self) -> int:
        """Position after the last entry."""
        return self.position[-1] + self.size[-1]

    def data(self, first: int, last: int) -> memoryview:
        """Return the bytes from entry ``first`` up to, but not including, entry ``last``."""
        stop = self.position[last] if last < len(self) else self.end
        return self.buffer[self.position[first] - self.start : stop - self.start]

    def has_messages(self, first: int, last: int) -> bool:
        """Return whether one of the entries from ``first`` to before ``last`` is a message."""
        return not _BATCHES.issuperset(self.magic[first:last])

    def with_epochs(self, epochs: Sequence[int]) -> Headers:
        """Return the same entries with other leader epochs."""
        return replace(self, leader_epoch=epochs)

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
        """Return the number of the first entry whose checksum is wrong; None if all are right.

        Args:
            first: number of the entry to begin with.
        """
        buffer, start = self.buffer, self.start
        core = self.segment.codec.core
        columns = self.position[first:], self.size[first:], self.crc[first:]
        magics = set(self.magic[first:])
        if core is not None and len(magics) == 1:
            kind = KINDS[magics.pop()]
            number = first + intact(core, kind, buffer, *columns, start)
            return None if number == len(self) else number
        entries = enumerate(zip(*columns, strict=True), first)
        rules = {_CHECKSUMS[magic] for magic in magics}
        if len(rules) == 1:
            ((compute, skip),) = rules
            for number, (position, size, stored) in entries:
                at = position - start
                if compute(buffer[at + skip : at + size]) != stored:
                    return number
            return None
        for number, (position, size, stored) in entries:
            compute, skip = _CHECKSUMS[self.magic[number]]
            at = position - start
            if compute(buffer[at + skip : at + size]) != stored:
                return number
        return None


_RULES: Final = {magic: checksum_of(kind.key) for magic, kind in KINDS.items()}
_CHECKSUMS: Final = {
    magic: (CHECKSUMS[rule.algorithm], FRAMING + rule.start) for magic, rule in _RULES.items()
}
"""Function of the checksum, and number of leading bytes of an entry that it skips, by magic."""
_CRC_FIELDS: Final = {magic: rule.field for magic, rule in _RULES.items()}


def read_headers(segment: Segment, position: int = 0) -> Iterator[Headers]:
    """Yield the headers of a segment, in the order of the file.

    Checksums are not verified. At the end, ``segment.tail`` says why the log ends there, as after
    ``Segment.batches``.

    Args:
        segment: the segment.
        position: position of the first entry to read.

    Raises:
        KafkaSpecError: an entry cannot be parsed; raised after the entries before it.
    """
    cursor = segment.cursor()
    while position < segment.size:
        segment.check()
        buffer, start = segment.around(cursor, position)
        table = segment.codec.scan(buffer, position - start, capacity=_ENTRIES)
        if table is not None:
            found = of_table(table, segment, buffer, start)
            yield found
            position = found.end
            continue
        # The codec does not scan this entry: read some as objects, then try to scan again.
        batches: list[Batch] = []
        failed: KafkaSpecError | None = None
        try:
            for batch in segment.batches(position):
                batches.append(batch)
                if batch.kind.has_record_sets or len(batches) == _OBJECTS:
                    break
        except KafkaSpecError as error:
            failed = error
        if batches:
            size = batches[-1].end - position
            buffer, start = cursor.at(position, size)
            yield of_batches(segment, buffer, start, batches)
            position += size
        if failed is not None:
            raise failed
        if not batches:
            return


def read_all_headers(segment: Segment) -> Headers | None:
    """Return the headers of all entries of a segment in memory; None if it has no entries.

    Raises:
        KafkaSpecError: an entry cannot be parsed.
    """
    buffer, start = segment.cursor().at(0, segment.size)
    table = segment.codec.scan(buffer)
    if table is not None and table.position == len(buffer):
        return of_table(table, segment, buffer, start)
    batches = list(segment.batches())
    return of_batches(segment, buffer, start, batches) if batches else None


def of_table(table: HeaderTable, segment: Segment, buffer: memoryview, start: int) -> Headers:
    """Return the headers in a table.

    Args:
        table: headers as the codec scanned them.
        segment: the segment that contains the entries.
        buffer: bytes that contain all of them.
        start: position in the segment of the first byte of ``buffer``.
    """
    column = table.column
    magic, count = column(names.MAGIC), table.count
    kinds = {number: KINDS[number] for number in set(magic)}
    none, no, never = [NONE] * count, [0] * count, [NO_TIMESTAMP] * count

    def pick(name: str, has: Callable[[EntryKind], bool], other: Sequence[int]) -> Sequence[int]:
        """Return a column for the kinds that have it, with defaults for the others."""
        there = {number for number, kind in kinds.items() if has(kind)}
        if len(there) == len(kinds):
            return column(name)
        if not there:
            return other
        rows = zip(magic, column(name), other, strict=True)
        return [own if number in there else default for number, own, default in rows]

    def sets(kind: EntryKind) -> bool:
        return kind.has_record_sets

    def times(kind: EntryKind) -> bool:
        return kind.has_timestamps

    def producers(kind: EntryKind) -> bool:
        return kind.has_producers

    def transactions(kind: EntryKind) -> bool:
        return kind.has_transactions

    compression = column(names.COMPRESSION)
    offset: Sequence[int] = none
    timestamp: Sequence[int] = never
    if not all(kind.has_record_sets for kind in kinds.values()):
        offset = column(names.OFFSET)
        if any(kind.has_timestamps and not kind.has_record_sets for kind in kinds.values()):
            timestamp = pick(names.TIMESTAMP, times, never)
    first = offset
    if offset is not none and any(compression):
        rows = zip(offset, compression, strict=True)
        first = [UNKNOWN if codec else value for value, codec in rows]
    positions: Sequence[int] = column("position")
    return Headers(
        segment=segment,
        buffer=buffer,
        start=start,
        position=[at + start for at in positions] if start else positions,
        size=column("size"),
        magic=magic,
        crc=_crc(table, magic),
        compression=compression,
        append_time=pick(names.TIMESTAMP_TYPE, times, no),
        first_offset=pick(names.BASE_OFFSET, sets, first),
        last_offset=pick(names.LAST_OFFSET, sets, offset),
        max_timestamp=pick(names.MAX_TIMESTAMP, sets, timestamp),
        leader_epoch=pick(names.LEADER_EPOCH, lambda kind: kind.has_leader_epochs, none),
        producer_id=pick(names.PRODUCER_ID, producers, none),
        producer_epoch=pick(names.PRODUCER_EPOCH, producers, none),
        base_sequence=pick(names.BASE_SEQUENCE, producers, none),
        last_sequence=pick(names.LAST_SEQUENCE, producers, none),
        transactional=pick(names.IS_TRANSACTIONAL, transactions, no),
        control=pick(names.IS_CONTROL, transactions, no),
    )


def _crc(table: HeaderTable, magic: Sequence[int]) -> Sequence[int]:
    fields = {number: _CRC_FIELDS[number] for number in set(magic)}
    columns = {field: table.column(field) for field in fields.values()}
    if len(columns) == 1:
        return columns.popitem()[1]
    return [columns[fields[number]][row] for row, number in enumerate(magic)]


def of_batches(
    segment: Segment, buffer: memoryview, start: int, batches: Sequence[Batch]
) -> Headers:
    """Return the headers of batches.

    Args:
        segment: the segment that contains the batches.
        buffer: bytes that contain all of them.
        start: position in the segment of the first byte of ``buffer``.
        batches: the batches, consecutive.
    """
    made: dict[str, Callable[[Batch], int]] = {
        "append_time": lambda batch: batch.timestamp_type == LOG_APPEND_TIME,
        "first_offset": lambda batch: UNKNOWN if batch.is_wrapper else batch.base_offset,
        "leader_epoch": lambda batch: batch.partition_leader_epoch,
        "transactional": lambda batch: batch.is_transactional,
        "control": lambda batch: batch.is_control,
    }
    columns: dict[str, Any] = {
        name: [int(made.get(name, attrgetter(name))(batch)) for batch in batches]
        for name in (item.name for item in fields(Headers))
        if name not in ("segment", "buffer", "start", "markers")
    }
    return Headers(segment=segment, buffer=buffer, start=start, **columns)
