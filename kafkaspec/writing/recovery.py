"""Entries as a broker that recovers a log takes them, where kafkaspec refuses them.

Recovery looks at less than a reader: at the size of an entry, its checksum and its offsets, and at
the first record of a transaction marker. Kafka: ``FileLogInputStream.nextBatch``,
``LogSegment.recover``, ``ProducerAppendInfo.append``, ``LocalLog.splitOverflowedSegment``.
"""

from __future__ import annotations

from typing import Any, Final

from kafkaspec import compression as compressions
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.headers import KINDS
from kafkaspec._generated.python.model.recordbatch import (
    LegacyMessage,
    RecordBatch,
)
from kafkaspec.codecs import Origin
from kafkaspec.codecs.headers import Headers as Columns
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.layout.framing import (
    ENTRY,
    FRAMING,
    HEADER_UP_TO_MAGIC,
    LEGACY_MESSAGE,
    MINIMUM_MESSAGE,
    RECORD_BATCH,
    RECORD_SET,
    field_of,
    message_size,
)
from kafkaspec.log.batch import NO_TIMESTAMP
from kafkaspec.log.control import decode_control
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from kafkaspec.writing.headers import BATCH_MAGIC, NONE, UNKNOWN, Headers
from kafkaspec.writing.index_rules import LARGEST_RELATIVE_OFFSET
from kafkaspec.writing.producer_state import Marker, marker_of, read_marker
from kafkaspec.writing.rebuilt import Recovery

_BATCH: Final = next(kind for kind in KINDS if kind.key == RECORD_BATCH)
_MAGIC: Final = _BATCH.integers["magic"]
_FRAMED_RECORD: Final = field_of(RECORD_SET, "records").type
_STRINGS: Final = sum(
    LAYOUTS[field_of(LEGACY_MESSAGE, name).type].minimum_size for name in ("key", "value")
)
"""Bytes of two strings that are null."""
_NULLS: Final = b"\xff" * _STRINGS
_LARGEST_OFFSET: Final = (1 << 63) - 1
"""No offset follows it."""
_TIMESTAMP: Final = field_of(LEGACY_MESSAGE, "timestamp").size


def entry_at(segment: Segment, position: int) -> Headers | None:
    """The entry at a position as recovery takes it, or None if recovery cuts the log there.

    Offsets are not looked at.
    """
    found = _taken(segment, position)
    return None if found is None or found.wrong_checksum() is not None else found


def _taken(segment: Segment, position: int) -> Headers | None:
    """The same, whatever its checksum is."""
    buffer, size = _whole(segment, position)
    if size == 0:
        return None
    magic = int.from_bytes(buffer[_MAGIC.position : _MAGIC.position + _MAGIC.size], signed=True)
    if magic < BATCH_MAGIC:
        return _message(segment, position, buffer, 1 if magic else 0)
    return _batch(segment, position, buffer) if size >= _BATCH.size else None


def _whole(segment: Segment, position: int) -> tuple[memoryview, int]:
    """The bytes of the entry at a position, and how many they are; none if the log ends there."""
    left = segment.size - position
    nothing = memoryview(b""), 0
    if left <= HEADER_UP_TO_MAGIC:
        return nothing
    buffer, start = segment.cursor().at(position, HEADER_UP_TO_MAGIC)
    size = FRAMING + message_size(buffer, position - start)
    if not FRAMING + MINIMUM_MESSAGE <= size <= left:
        return nothing
    buffer, start = segment.cursor().at(position, size)
    return buffer[position - start : position - start + size], size


def _batch(segment: Segment, position: int, buffer: memoryview) -> Headers:
    """A batch; any magic above that of batches is taken for it."""
    columns = Columns(_BATCH, [position, position + len(buffer)], bytes(buffer[: _BATCH.size]))

    def one(name: str) -> list[int]:
        return [columns.column(name)[0]]

    return Headers(
        segment=segment,
        buffer=buffer,
        start=position,
        position=[position],
        size=[len(buffer)],
        magic=[BATCH_MAGIC],
        crc=one("crc"),
        compression=one("attributes.compression"),
        append_time=one("attributes.timestamp_type"),
        first_offset=one("base_offset"),
        last_offset=one("last_offset"),
        max_timestamp=one("max_timestamp"),
        leader_epoch=one("partition_leader_epoch"),
        producer_id=one("producer_id"),
        producer_epoch=one("producer_epoch"),
        base_sequence=one("base_sequence"),
        last_sequence=one("last_sequence"),
        transactional=one("attributes.is_transactional"),
        control=one("attributes.is_control"),
    )


def _message(segment: Segment, position: int, buffer: memoryview, magic: int) -> Headers:
    """A message, without its key and value; a negative magic is taken for 1."""
    head = bytearray(buffer[: FRAMING + MINIMUM_MESSAGE - _STRINGS + (_TIMESTAMP if magic else 0)])
    head[_MAGIC.position] = magic
    message: LegacyMessage = segment.codec.parse(ENTRY, _sized(bytes(head) + _NULLS))[0].message
    compressed = message.attributes.compression
    none = [NONE]
    return Headers(
        segment=segment,
        buffer=buffer,
        start=position,
        position=[position],
        size=[len(buffer)],
        magic=[magic],
        crc=[message.crc or 0],
        compression=[int(compressed)],
        append_time=[int(message.attributes.timestamp_type) if magic else 0],
        first_offset=[UNKNOWN if compressed else message.offset],
        last_offset=[message.offset],
        max_timestamp=[NO_TIMESTAMP if message.timestamp is None else message.timestamp],
        leader_epoch=none,
        producer_id=none,
        producer_epoch=none,
        base_sequence=none,
        last_sequence=none,
        transactional=[0],
        control=[0],
    )


def _sized(entry: bytes) -> bytes:
    """The entry with a size field that says how long it is."""
    size = _BATCH.integers["len_message"]
    stored = (len(entry) - FRAMING).to_bytes(size.size, "big")
    return entry[: size.position] + stored + entry[size.position + size.size :]


# -- transaction markers --------------------------------------------------------------------


def unreadable_marker(headers: Headers, count: int) -> tuple[int, KafkaSpecError] | None:
    """The first transaction marker among ``count`` entries that a broker cannot read, and why.

    A broker reads the first record of its batch and nothing else.
    """
    for number in range(count):
        if headers.control[number] and headers.producer_id[number] > NONE:
            try:
                read_marker(headers, number)
            except KafkaSpecError as error:
                try:
                    headers.markers[number] = _lenient_marker(headers, number)
                except KafkaSpecError:
                    return number, error
    return None


def _lenient_marker(headers: Headers, number: int) -> Marker | None:
    """The marker by the first record of its batch; None if that says that it has none.

    Raises:
        KafkaSpecError: it cannot be read, or ends no transaction.
    """
    segment, data = headers.segment, bytearray(headers.data(number, number + 1))
    data[_MAGIC.position] = BATCH_MAGIC
    batch: RecordBatch = segment.codec.parse(ENTRY, data, complete=True)[0].message
    if not batch.num_records:
        return None
    compression, payload = batch.attributes.compression, batch.records
    if compression:
        payload = compressions.decompress(
            compression, payload, magic=BATCH_MAGIC, max_output=segment.max_output
        )
    stored: Any
    if batch.num_records == 1:  # nothing may be left behind the last one
        records = segment.codec.parse(RECORD_SET, payload, parameters=(batch,), complete=True)[0]
        stored = records.records[0]
    else:
        stored = segment.codec.parse(_FRAMED_RECORD, payload, parameters=(batch,))[0]
    record = Record(stored.offset, stored.timestamp, stored.key, stored.value)
    return marker_of(decode_control(record, codec=segment.codec), Origin(segment.name))


# -- offsets that do not fit ----------------------------------------------------------------


def of_overflow(segment: Segment) -> Recovery:
    """What a broker does with a segment that has an offset which does not fit into it.

    It splits the segment if its last offset is too far from the base offset, and if each entry fits
    into a segment that begins with itself. Kafka: ``LocalLog.splitOverflowedSegment``.
    """
    assert segment.base_offset is not None
    base = last = None
    position = 0
    while (entry := _taken(segment, position)) is not None:
        last = entry.last_offset[0]
        if base is None or not _fits(base, last):
            base = _first_offset(entry)
            if base is None or not _fits(base, last):
                return Recovery.REFUSES
        position = entry.end
    if last is None or position < segment.size or last == _LARGEST_OFFSET:
        return Recovery.REFUSES
    too_far = last - segment.base_offset > LARGEST_RELATIVE_OFFSET
    return Recovery.SPLITS if too_far else Recovery.REFUSES


def _fits(base_offset: int, offset: int) -> bool:
    return 0 <= offset - base_offset <= LARGEST_RELATIVE_OFFSET


def _first_offset(entry: Headers) -> int | None:
    """First offset of an entry, None of a wrapper that cannot be read."""
    if entry.magic[0] >= BATCH_MAGIC or entry.first_offset[0] != UNKNOWN:
        return entry.first_offset[0]
    if wrapper_fault(entry) is not None:
        return None
    return entry.first_offset_of(0)


# -- compressed messages of magic 0 and 1 ---------------------------------------------------


def unreadable_wrapper(segment: Segment, start: int, end: int) -> KafkaSpecError | None:
    """Why a look-up by offset fails that passes over some entries, None if it does not.

    Args:
        segment: of the entries.
        start: position of the first entry.
        end: position behind the last one.
    """
    while start < end and (entry := _taken(segment, start)) is not None:
        fault = wrapper_fault(entry)
        if fault is not None:
            return fault
        start = entry.end
    return None


def wrapper_fault(entry: Headers) -> KafkaSpecError | None:
    """Why Kafka cannot tell the first offset of an entry, None if it can.

    Of the messages in a wrapper it looks at their sizes, at the last offset, and whether the first
    one is compressed too. Kafka: ``AbstractLegacyRecordBatch.DeepRecordsIterator``.
    """
    if entry.magic[0] >= BATCH_MAGIC or not entry.compression[0]:
        return None
    segment, at = entry.segment, entry.position[0]
    try:
        payload = memoryview(entry.batch(0).decompressed())
    except KafkaSpecError as error:
        return error
    first = last = None
    position = 0
    while len(payload) - position >= FRAMING:
        size = message_size(payload, position)
        if size < MINIMUM_MESSAGE:
            return _fault(segment, at, f"a message in it has a size of {size}")
        end = position + FRAMING + size
        if end > len(payload):
            break
        inner = payload[position:end]
        last = _message(segment, at, inner, 1 if inner[_MAGIC.position] else 0)
        first = first or last
        position = end
    if first is None or last is None:
        return _fault(segment, at, "there is no message in it")
    if first.compression[0]:
        return _fault(segment, at, "the first message in it is compressed too")
    if entry.magic[0] and 0 != entry.last_offset[0] < last.last_offset[0]:
        return _fault(segment, at, "its offset is smaller than that of its last message")
    return None


def _fault(segment: Segment, position: int, what: str) -> KafkaSpecError:
    detail = f"a compressed message whose first offset cannot be told: {what}"
    return make_error(Reason.INVALID_VALUE, detail, file=segment.name, offset=position)
