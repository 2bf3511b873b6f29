"""Headers of the entries of a log in columns, whatever reads them, some thousand at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.checksum import crc32, crc32c
from kafkaspec.codecs.native.scan import End, EntryTable, scan
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout.framing import FRAMING, LEGACY_MESSAGE, RECORD_BATCH
from kafkaspec.log.batch import LOG_APPEND_TIME, NO_TIMESTAMP, Batch
from kafkaspec.log.segment import Segment

UNKNOWN: Final = -1
"""First offset of a compressed message of magic 0 or 1: only decompression tells it."""

NONE: Final = -1
"""No leader epoch, producer, epoch or sequence number."""

BATCH_MAGIC: Final = next(
    item.constant for item in LAYOUTS[RECORD_BATCH].fields if item.constant is not None
)
"""The magic of a record batch; those below are messages."""

_ENTRIES: Final = 1 << 14
"""Entries at a time: their columns stay in a few MiB."""
_BYTES: Final = 8 << 20
"""Bytes of entries at a time that are not scanned in C."""

_CRCS: Final = {"crc32": crc32, "crc32c": crc32c}


@dataclass(frozen=True, slots=True)
class Headers:
    """Entries that follow each other, in columns.

    Attributes:
        segment: that they are of.
        buffer: bytes that hold all of them.
        start: position in the segment of the first byte of ``buffer``.
        position: of each entry in the segment.
        size: bytes of each entry.
        magic: 0, 1 or 2.
        crc: as stored.
        compression: id.
        append_time: 1 for ``LogAppendTime``.
        first_offset: of magic 2 the base offset; ``UNKNOWN`` of a compressed message.
        last_offset: as first written.
        max_timestamp: ms, -1 for none.
        leader_epoch: -1 below magic 2.
        producer_id: -1 for none; the other columns about producers likewise.
        producer_epoch: of the producer.
        base_sequence: of the first record.
        last_sequence: of the last record as first written.
        transactional: 1 if records belong to a transaction.
        control: 1 for control batches.
        markers: what control batches of producers say, by number, as far as they were read.
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
        """Position behind the last entry."""
        return self.position[-1] + self.size[-1]

    def data(self, first: int, last: int) -> memoryview:
        """The bytes from entry ``first`` up to, and without, entry ``last``."""
        stop = self.position[last] if last < len(self) else self.end
        return self.buffer[self.position[first] - self.start : stop - self.start]

    def with_epochs(self, epochs: Sequence[int]) -> Headers:
        """The same entries with other leader epochs."""
        return replace(self, leader_epoch=epochs)

    def batch(self, number: int) -> Batch:
        """The entry as an object."""
        return self.segment.batch_at(self.position[number])

    def first_offset_of(self, number: int) -> int:
        """First offset of an entry; a compressed message is decompressed for it.

        Of one that cannot be read it is the last offset, which is what followers take.
        """
        known = self.first_offset[number]
        if known != UNKNOWN:
            return known
        try:
            return self.batch(number).base_offset
        except KafkaSpecError:
            return self.last_offset[number]

    def wrong_checksum(self) -> int | None:
        """Number of the first entry whose checksum is not that of its bytes."""
        batch, message = (_checksum(key) for key in (RECORD_BATCH, LEGACY_MESSAGE))
        buffer, start = self.buffer, self.start
        entries = enumerate(zip(self.position, self.size, self.crc, strict=True))
        if min(self.magic) >= BATCH_MAGIC or max(self.magic) < BATCH_MAGIC:
            compute, skip = batch if self.magic[0] >= BATCH_MAGIC else message
            for number, (position, size, stored) in entries:
                at = position - start
                if compute(buffer[at + skip : at + size]) != stored:
                    return number
            return None
        for number, (position, size, stored) in entries:
            compute, skip = batch if self.magic[number] >= BATCH_MAGIC else message
            at = position - start
            if compute(buffer[at + skip : at + size]) != stored:
                return number
        return None


def _checksum(key: str) -> tuple[Any, int]:
    """What computes the checksum, and how many bytes of an entry it leaves out."""
    checksum = LAYOUTS[key].checksum
    assert checksum is not None
    return _CRCS[checksum.algorithm], FRAMING + checksum.start


def read_headers(segment: Segment, position: int = 0) -> Iterator[Headers]:
    """The headers of a segment from ``position`` on, in the order of the file.

    Checksums are not looked at. Where the log ends, ``segment.tail`` says why, as after
    ``Segment.batches``.

    Raises:
        KafkaSpecError: an entry that cannot be parsed; behind what is before it.
    """
    core = segment.codec.core
    cursor = segment.cursor()
    while position < segment.size:
        segment.check()
        if core is not None:
            buffer, start = segment.around(cursor, position)
            table = scan(core, buffer, position - start, capacity=_ENTRIES)
            if table.count:
                found = _of_table(table, segment, buffer, start)
                yield found
                position = found.end
                continue
        batches: list[Batch] = []
        failed: KafkaSpecError | None = None
        try:
            for batch in segment.batches(position):
                batches.append(batch)
                if core is not None or len(batches) == _ENTRIES or batch.end - position >= _BYTES:
                    break
        except KafkaSpecError as error:
            failed = error
        if batches:
            size = batches[-1].end - position
            buffer, start = cursor.at(position, size)
            yield _of_batches(segment, buffer, start, batches)
            position += size
        if failed is not None:
            raise failed
        if not batches:
            return


def read_all_headers(segment: Segment) -> Headers | None:
    """The headers of all entries of a segment that is in memory, in one piece; None without any.

    Raises:
        KafkaSpecError: an entry that cannot be parsed.
    """
    core = segment.codec.core
    buffer, start = segment.cursor().at(0, segment.size)
    if core is not None:
        table = scan(core, buffer)
        if table.count and table.end is End.COMPLETE:
            return _of_table(table, segment, buffer, start)
    batches = list(segment.batches())
    return _of_batches(segment, buffer, start, batches) if batches else None


def _of_table(table: EntryTable, segment: Segment, buffer: memoryview, start: int) -> Headers:
    column = table.column
    magic = column("magic")
    legacy = min(magic) < BATCH_MAGIC
    positions: Sequence[int] = column("position")
    if start:
        positions = [at + start for at in positions]
    make = partial(
        Headers,
        segment=segment,
        buffer=buffer,
        start=start,
        position=positions,
        size=column("size"),
        magic=magic,
        crc=column("crc"),
        compression=column("attributes.compression"),
    )
    if legacy:
        return make(**_mixed(table, magic))
    return make(
        append_time=column("attributes.timestamp_type"),
        first_offset=column("base_offset"),
        last_offset=column("last_offset"),
        max_timestamp=column("max_timestamp"),
        leader_epoch=column("partition_leader_epoch"),
        producer_id=column("producer_id"),
        producer_epoch=column("producer_epoch"),
        base_sequence=column("base_sequence"),
        last_sequence=column("last_sequence"),
        transactional=column("attributes.is_transactional"),
        control=column("attributes.is_control"),
    )


def _mixed(table: EntryTable, magic: Sequence[int]) -> dict[str, Any]:
    """Columns where some entries are messages, which lack most of what a batch has."""

    count = len(magic)
    none, no = [NONE] * count, [0] * count
    only_messages = max(magic) < BATCH_MAGIC

    def choose(batch: str, message: Sequence[int]) -> Sequence[int]:
        if only_messages:
            return message
        rows = zip(magic, table.column(batch), message, strict=True)
        return [own if kind >= BATCH_MAGIC else other for kind, own, other in rows]

    def stamped(name: str, otherwise: int) -> Sequence[int]:
        """What messages of magic 1 have and those of magic 0 lack."""
        values = table.column(name)
        if min(magic) > 0:
            return values
        rows = zip(values, magic, strict=True)
        return [value if kind else otherwise for value, kind in rows]

    offset, compression = table.column("offset"), table.column("attributes.compression")
    first: Sequence[int] = offset
    if any(compression):
        rows = zip(offset, compression, strict=True)
        first = [UNKNOWN if codec else value for value, codec in rows]
    return {
        "append_time": stamped("attributes.timestamp_type", 0),
        "first_offset": choose("base_offset", first),
        "last_offset": choose("last_offset", offset),
        "max_timestamp": choose("max_timestamp", stamped("timestamp", NO_TIMESTAMP)),
        "leader_epoch": choose("partition_leader_epoch", none),
        "producer_id": choose("producer_id", none),
        "producer_epoch": choose("producer_epoch", none),
        "base_sequence": choose("base_sequence", none),
        "last_sequence": choose("last_sequence", none),
        "transactional": choose("attributes.is_transactional", no),
        "control": choose("attributes.is_control", no),
    }


def _of_batches(
    segment: Segment, buffer: memoryview, start: int, batches: Sequence[Batch]
) -> Headers:
    return Headers(
        segment=segment,
        buffer=buffer,
        start=start,
        position=[batch.position for batch in batches],
        size=[batch.size for batch in batches],
        magic=[batch.magic for batch in batches],
        crc=[batch.crc for batch in batches],
        compression=[batch.compression for batch in batches],
        append_time=[int(batch.timestamp_type == LOG_APPEND_TIME) for batch in batches],
        first_offset=[
            UNKNOWN if batch.magic < BATCH_MAGIC and batch.is_compressed else batch.base_offset
            for batch in batches
        ],
        last_offset=[batch.last_offset for batch in batches],
        max_timestamp=[batch.max_timestamp for batch in batches],
        leader_epoch=[batch.partition_leader_epoch for batch in batches],
        producer_id=[batch.producer_id for batch in batches],
        producer_epoch=[batch.producer_epoch for batch in batches],
        base_sequence=[batch.base_sequence for batch in batches],
        last_sequence=[batch.last_sequence for batch in batches],
        transactional=[int(batch.is_transactional) for batch in batches],
        control=[int(batch.is_control) for batch in batches],
    )
