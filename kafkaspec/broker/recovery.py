"""Read entries that kafkaspec refuses as a broker does when it recovers a log.

Recovery checks less than a reader: the size of an entry, its checksum and its offsets, and the
first record of a transaction marker. Kafka: ``FileLogInputStream.nextBatch``,
``LogSegment.recover``, ``ProducerAppendInfo.append``, ``LocalLog.splitOverflowedSegment``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from kafkaspec import compression as compressions
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.headers import KINDS as HEADERS
from kafkaspec.broker.actions import Recovery
from kafkaspec.broker.producer_state import EndMarker, marker_of, read_marker
from kafkaspec.codecs import Origin
from kafkaspec.codecs.headers import HeaderScan
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files.indexes import LARGEST_RELATIVE_OFFSET
from kafkaspec.layout import framing, names
from kafkaspec.layout.kinds import KINDS, MAGICS, compression_of
from kafkaspec.layout.stand_ins import UNKNOWN
from kafkaspec.log.batch import NONE
from kafkaspec.log.control import decode_control
from kafkaspec.log.entries import Entries
from kafkaspec.log.header_table import POSITION, SIZE, HeaderTable, of_batches, of_scan
from kafkaspec.log.headers import read_headers
from kafkaspec.log.legacy import has_relative_offsets
from kafkaspec.log.segment import Segment
from kafkaspec.model import Buffer, Record

_COLUMNS: Final = {columns.key: columns for columns in HEADERS}
"""Headers of a fixed size, by the key of their type."""
_MESSAGES: Final = [magic for magic in MAGICS if not KINDS[magic].has_record_sets]
_BATCHES: Final = [magic for magic in MAGICS if KINDS[magic].has_record_sets]
_PEEK: Final = LAYOUTS[framing.MESSAGE].peeks[0]
_MAGIC: Final = framing.FRAMING + _PEEK.position
_SIZE: Final = next(item for item in LAYOUTS[framing.ENTRY].fields if item.derive == "len")
_SIZE_POSITION: Final = framing.field_position(LAYOUTS[framing.ENTRY], _SIZE.id)


def entry_at(segment: Entries, position: int) -> HeaderTable | None:
    """Return the entry at a position as recovery reads it; None if it truncates the log there.

    Offsets are not checked.
    """
    found = entry_unchecked(segment, position)
    if found is None or found.wrong_checksum() is not None:
        return None
    columns = _COLUMNS.get(KINDS[found.magic[0]].key)
    return None if columns is not None and found.size[0] < columns.size else found


def entry_unchecked(segment: Entries, position: int) -> HeaderTable | None:
    """Return the entry at a position as recovery reads it, without checking its checksum."""
    buffer, size = _whole(segment, position)
    if size == 0:
        return None
    magic = _magic(buffer)
    if magic < _BATCHES[0]:
        return _message(segment, position, buffer, magic)
    layout = _COLUMNS.get(KINDS[magic].key)
    if layout is None:
        return None
    head = bytearray(buffer[: layout.size])
    if size < layout.size:  # Kafka reads a whole header, even beyond the end of the entry
        ahead, start = segment.cursor().at(position, min(layout.size, segment.size - position))
        head = bytearray(ahead[position - start : position - start + layout.size])
        head += bytes(layout.size - len(head))
    _put_magic(head, magic)
    return of_scan(HeaderScan(layout, [0, size], bytes(head)), segment, buffer, position)


def entries(segment: Entries, position: int, end: int) -> Iterator[tuple[HeaderTable, int, int]]:
    """Yield entries as a broker walks through them: unchecked, as far as they are whole.

    Yields:
        Headers, and the numbers of the first of these entries and of the one after the last.

    Raises:
        KafkaSpecError: an entry is smaller than any entry can be.
    """
    while True:
        try:
            for headers in read_headers(segment, position):
                places = zip(headers.position, headers.size, strict=True)
                count = sum(at + size <= end for at, size in places)
                if count:
                    yield headers, 0, count
                if count < len(headers):
                    return
                position = headers.end
            break
        except KafkaSpecError as error:
            if error.reason in (Reason.UNREADABLE, Reason.CHANGED):
                raise
            entry = entry_unchecked(segment, position)
            if entry is None:
                break
            if entry.end > end:
                return
            yield entry, 0, 1
            position = entry.end
    fault = _size_fault(segment, position, end)
    if fault is not None:
        raise fault


def _magic(entry: Buffer) -> int:
    """Return the magic that a broker assumes for an entry."""
    # A broker takes a magic above the newest for the newest, and a negative one for that of a
    # message with a timestamp.
    magic = int.from_bytes(entry[_MAGIC : _MAGIC + _PEEK.size], "big", signed=_PEEK.signed)
    if magic in KINDS:
        return magic
    return _MESSAGES[-1] if magic < _BATCHES[0] else _BATCHES[-1]


def _whole(segment: Entries, position: int) -> tuple[memoryview, int]:
    """Return the entry at a position and its size in bytes; 0 bytes if the log ends there."""
    left = segment.size - position
    nothing = memoryview(b""), 0
    if left <= framing.HEADER_UP_TO_MAGIC:
        return nothing
    buffer, start = segment.cursor().at(position, framing.HEADER_UP_TO_MAGIC)
    size = framing.FRAMING + framing.message_size(buffer, position - start)
    if not framing.FRAMING + framing.MINIMUM_MESSAGE <= size <= left:
        return nothing
    buffer, start = segment.cursor().at(position, size)
    return buffer[position - start : position - start + size], size


def _message(segment: Entries, position: int, buffer: memoryview, magic: int) -> HeaderTable:
    """Return the headers of a message, without reading its key and value."""
    before, strings = _sizes(magic)
    head = bytearray(buffer[: framing.FRAMING + before])
    _put_magic(head, magic)
    entry = _sized(bytes(head) + b"\xff" * strings)
    batch = Segment(entry, codec=segment.codec, crc="ignore").batch_at(0)
    found = of_batches(segment, buffer, position, [batch])
    return found.replaced({POSITION: [position], SIZE: [len(buffer)]})


@cache
def _sizes(magic: int) -> tuple[int, int]:
    """Return the bytes of a message before its key, and those after if key and value are null."""
    kind = KINDS[magic]
    fields = [item for item in LAYOUTS[kind.key].fields if item.id in kind.header]
    sizes = [LAYOUTS[item.type].minimum_size if item.type else item.size for item in fields]
    key = [item.id for item in fields].index(names.KEY)
    return sum(sizes[:key]), sum(sizes[key:])


def _sized(entry: bytes) -> bytes:
    """Return the entry with its actual size in the size field."""
    stored = (len(entry) - framing.FRAMING).to_bytes(_SIZE.size, "big")
    return entry[:_SIZE_POSITION] + stored + entry[_SIZE_POSITION + _SIZE.size :]


def _put_magic(entry: bytearray, magic: int) -> None:
    entry[_MAGIC : _MAGIC + _PEEK.size] = magic.to_bytes(_PEEK.size, "big", signed=_PEEK.signed)


# -- transaction markers --------------------------------------------------------------------


def unreadable_marker(headers: HeaderTable, count: int) -> tuple[int, KafkaSpecError] | None:
    """Return the first transaction marker that a broker cannot read, and why.

    Of a batch that is not compressed a broker only reads the first record.
    """
    for number in range(count):
        if headers.control[number] and headers.producer_id[number] > NONE:
            try:
                read_marker(headers, number)
            except KafkaSpecError as error:
                try:
                    headers.known[number] = _lenient_marker(headers, number)
                except KafkaSpecError:
                    return number, error
    return None


def _lenient_marker(headers: HeaderTable, number: int) -> EndMarker | None:
    """Return the marker in the first record of its batch; None if the batch has no records."""
    segment, data = headers.segment, bytearray(headers.data(number, number + 1))
    magic = headers.magic[number]
    kind = KINDS[magic]
    _put_magic(data, magic)
    batch = segment.codec.parse(framing.ENTRY, data, complete=True)[0].message
    count, payload = getattr(batch, kind.count), getattr(batch, kind.payload)
    if not count:
        return None
    compression = compression_of(batch)
    if compression:
        payload = compressions.decompress(
            compression, payload, magic=magic, max_output=segment.max_output
        )
    stored: Any
    if count == 1 or compression:  # no bytes may follow the last record
        found = segment.codec.parse(kind.record_set, payload, parameters=(batch,), complete=True)
        stored = getattr(found[0], names.RECORDS)[0]
    else:
        framed = framing.field_of(kind.record_set, names.RECORDS).type
        stored = segment.codec.parse(framed, payload, parameters=(batch,))[0]
    record = Record(stored.offset, stored.timestamp, stored.key, stored.value)
    return marker_of(decode_control(record, codec=segment.codec), Origin(segment.name))


# -- offsets that do not fit ----------------------------------------------------------------


def of_overflow(segment: Entries) -> Recovery:
    """Return the action of a broker on a segment with an offset that does not fit into it.

    It splits the segment if its last offset is too far from the base offset, and if each entry fits
    into a segment that begins with this entry. Kafka: ``LocalLog.splitOverflowedSegment``.
    """
    assert segment.base_offset is not None
    base = last = None
    position = 0
    while (entry := entry_unchecked(segment, position)) is not None:
        last = entry.last_offset[0]
        if base is None or not _fits(base, last):
            base = _first_offset(entry)
            if base is None or not _fits(base, last):
                return Recovery.REFUSES
        position = entry.end
    if last is None or position < segment.size or last == framing.LARGEST_OFFSET:
        return Recovery.REFUSES
    too_far = last - segment.base_offset > LARGEST_RELATIVE_OFFSET
    return Recovery.SPLITS if too_far else Recovery.REFUSES


def _fits(base_offset: int, offset: int) -> bool:
    return 0 <= offset - base_offset <= LARGEST_RELATIVE_OFFSET


def _first_offset(entry: HeaderTable) -> int | None:
    """Return the first offset of an entry; None for a wrapper that cannot be read."""
    if not entry.has_messages(0, 1) or entry.first_offset[0] != UNKNOWN:
        return entry.first_offset[0]
    if wrapper_fault(entry) is not None:
        return None
    return entry.first_offset_of(0)


# -- compressed messages of magic 0 and 1 ---------------------------------------------------


def first_offset_of(headers: HeaderTable, number: int) -> int:
    """Return the first offset of an entry; decompress a compressed message to find it.

    Raises:
        KafkaSpecError: the broker cannot determine it.
    """
    if headers.first_offset[number] != UNKNOWN or not headers.has_messages(number, number + 1):
        return headers.first_offset[number]
    position = headers.position[number]
    entry = entry_unchecked(headers.segment, position)
    if entry is None:
        return headers.last_offset[number]
    fault = wrapper_fault(entry)
    if fault is not None:
        raise fault
    return entry.first_offset_of(0)


def _size_fault(segment: Entries, position: int, end: int) -> KafkaSpecError | None:
    """Return the error for an entry that is too small, at which a lookup fails; None otherwise."""
    if end - position <= framing.HEADER_UP_TO_MAGIC:
        return None
    buffer, start = segment.cursor().at(position, framing.HEADER_UP_TO_MAGIC)
    size = framing.message_size(buffer, position - start)
    if size >= framing.MINIMUM_MESSAGE:
        return None
    detail = f"the size {size} is below the {framing.MINIMUM_MESSAGE} of the smallest entry"
    return make_error(Reason.INVALID_VALUE, detail, file=segment.name, offset=position)


def wrapper_fault(entry: HeaderTable) -> KafkaSpecError | None:
    """Return why Kafka cannot determine the first offset of an entry; None if it can.

    Of the messages in a wrapper, Kafka checks their sizes, the last offset, and whether the first
    one is compressed too. Kafka: ``AbstractLegacyRecordBatch.DeepRecordsIterator``.
    """
    if not entry.has_messages(0, 1) or not entry.compression[0]:
        return None
    segment, at = entry.segment, entry.position[0]
    try:
        payload = memoryview(entry.batch(0).decompressed())
    except KafkaSpecError as error:
        return error
    ends: list[memoryview] = []
    position = 0
    while len(payload) - position >= framing.FRAMING:
        size = framing.message_size(payload, position)
        if size < framing.MINIMUM_MESSAGE:
            return _fault(segment, at, f"a message in it has a size of {size}")
        end = position + framing.FRAMING + size
        if end > len(payload):
            break
        ends[1:] = [payload[position:end]]
        position = end
    if not ends:
        return _fault(segment, at, "there is no message in it")
    first, last = (
        _message(segment, at, inner, min(_magic(inner), _MESSAGES[-1]))
        for inner in (ends[0], ends[-1])
    )
    if first.compression[0]:
        return _fault(segment, at, "the first message in it is compressed too")
    relative = has_relative_offsets(KINDS[entry.magic[0]])
    if relative and 0 != entry.last_offset[0] < last.last_offset[0]:
        return _fault(segment, at, "its offset is smaller than that of its last message")
    return None


def _fault(segment: Entries, position: int, what: str) -> KafkaSpecError:
    detail = f"a compressed message whose first offset cannot be determined: {what}"
    return make_error(Reason.INVALID_VALUE, detail, file=segment.name, offset=position)
