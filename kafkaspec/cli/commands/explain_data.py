"""Sections of ``explain``: positions of fields, as the Kaitai codec reports them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.codecs import Origin, get_codec
from kafkaspec.codecs.references.kaitai.codec import KaitaiCodec
from kafkaspec.codecs.references.kaitai.positions import FieldPosition, with_error
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files import names
from kafkaspec.io.local import read_beside
from kafkaspec.layout import MessageLayout
from kafkaspec.layout.framing import fixed_size
from kafkaspec.layout.names import HEADERS, KEY, PROTOCOL_TYPE, VALUE
from kafkaspec.log import control
from kafkaspec.log.batch import Batch, computed_crc, held_payload, payload_chunks, payload_path
from kafkaspec.log.default import DefaultBatch
from kafkaspec.log.lookup import first_reaching, holds, start_position
from kafkaspec.log.pieces import PIECE_BYTES, PieceWindow
from kafkaspec.log.segment import Segment
from kafkaspec.messages.decoding import decode_by, layouts_of
from kafkaspec.messages.lookup import CONSUMER, EMBEDDED, by_name
from kafkaspec.model import Buffer, Record

_AT_ONCE = 1000
"""Records that are decoded together."""


@dataclass(frozen=True, slots=True)
class Section:
    """Some bytes and the fields in them.

    Attributes:
        title: title of the section.
        data: the bytes.
        start: position of the first byte.
        fields: in the order of the bytes, structures before what is in them.
        note: a remark to print after it, "" for none.
        is_wrong: whether the remark says that the bytes are wrong.
    """

    title: str
    data: Buffer
    start: int
    fields: list[FieldPosition]
    note: str = ""
    is_wrong: bool = False

    def bytes_of(self, field: FieldPosition) -> memoryview:
        """Return the bytes of a field."""
        return memoryview(self.data)[field.start - self.start : field.end - self.start]


def find_position(segment: Segment, offset: int) -> int:
    """Return the byte offset of the batch that holds a log offset, found as ``find`` does.

    Raises:
        KafkaSpecError: no batch holds it, or one that may hold it cannot be read.
    """
    batch, _ = first_reaching(segment, offset, start_position(segment, offset)[0])
    if batch is not None and holds(batch, offset):
        return batch.position
    detail = f"no batch holds offset {offset}"
    if batch is not None:
        detail += f"; the next one begins with {batch.base_offset}, at {batch.position}"
    raise make_error(Reason.INVALID_VALUE, detail, file=segment.name)


def entry_at(segment: Segment, position: int) -> int:
    """Return where the entry begins that holds a byte, or the byte itself if none is known to."""
    start = 0
    item: Batch | KafkaSpecError | None = None
    for following, item in segment.scan_entries():
        if following > position:
            return start
        start = following
        if isinstance(item, Batch) and position < item.end:
            return start
    # The size of a broken entry at the end is not known, only where it could not be read.
    known = isinstance(item, KafkaSpecError) and position <= (item.position or start)
    return start if known else position


def explain_batch(
    segment: Segment, byte: int, max_records: int, topic: str | None = None
) -> Iterator[Section]:
    """Yield the entry that holds a byte, and its content, decompressed if necessary.

    Args:
        segment: the segment that holds it.
        byte: byte offset of any byte of the entry.
        max_records: number of records or inner messages to show.
        topic: the internal topic that has the records, whose messages are shown too; None for that
            of a user.

    Raises:
        KafkaSpecError: ``byte`` is outside the file.
    """
    codec = KaitaiCodec()
    framing = segment.format.framing
    if not 0 <= byte < segment.size:
        raise make_error(
            Reason.INVALID_VALUE,
            f"byte {byte} is not in the file, which has {segment.size}",
            file=segment.name,
        )
    position = entry_at(segment, byte)
    buffer, start = segment.around(segment.cursor(), position)
    end = min(segment.size, start + len(buffer))
    if end - position >= framing.size:
        size = framing.message_size(buffer, position - start)
        end = min(end, position + framing.size + max(size, 0))
    data = bytes(buffer[position - start : end - start])
    # Bytes after the entry do not belong to it, but a cut entry must be seen as cut.
    origin = Origin(segment.name, position)
    fields = codec.positions(framing.entry, data, origin=origin)
    title = f"entry at byte {position}, {len(data)} bytes"
    entry = Section(title, data, position, fields, "" if byte == position else _which(fields, byte))
    yield entry
    if any(field.error for field in fields):
        return
    batch = segment.batch_at(position)
    yield _checksum(batch)
    try:
        if topic is not None and not batch.kind.has_record_sets and not batch.is_compressed:
            yield from message_sections(codec, topic, entry, origin)
        yield from _content(codec, batch, max_records, topic)
    except KafkaSpecError as error:
        yield Section("content", b"", 0, [], f"cannot be read: {error}", is_wrong=True)


def _which(fields: list[FieldPosition], byte: int) -> str:
    """Say which field holds a byte: structures come before what is in them."""
    paths = [field.path for field in fields if field.start <= byte < field.end]
    return f"byte {byte} is in {paths[-1]}" if paths else ""


def _checksum(batch: Batch) -> Section:
    right = "right" if batch.crc_valid else f"WRONG: of the bytes it is {computed_crc(batch):#x}"
    text = f"checksum {batch.crc:#x}: {right}"
    return Section("", b"", 0, [], text, is_wrong=not batch.crc_valid)


def _content(
    codec: KaitaiCodec, batch: Batch, max_records: int, topic: str | None
) -> Iterator[Section]:
    if isinstance(batch, DefaultBatch):
        if batch.num_records:
            yield from _record_set(codec, batch, max_records, None if batch.is_control else topic)
    elif batch.is_compressed:
        payload = bytes(batch.decompressed())
        where = _where(batch, len(payload))
        yield from _inner_messages(codec, batch, payload, where, max_records, topic)


def _where(batch: Batch, size: int) -> str:
    where = f"{size} bytes"
    if batch.is_compressed:
        where += (
            f" decompressed with {batch.compression_name} from {len(batch.payload or b'')} bytes "
            f"at byte {batch.payload_position}; positions count in the decompressed bytes"
        )
    return where


def _record_set(
    codec: KaitaiCodec, batch: DefaultBatch, max_records: int, topic: str | None
) -> Iterator[Section]:
    """Yield the first records, some at a time, and the fault that ends them all."""
    total = batch.num_records
    most = min(max_records, total) if max_records else total
    chunks = payload_chunks(batch, held_payload(batch))
    where = _where(batch, sum(map(len, chunks())))
    start = 0 if batch.is_compressed else batch.payload_position
    origin = Origin(batch.file, start, batch.is_compressed, payload_path(batch))
    window = PieceWindow(chunks())
    number = position = 0
    whole = True
    while whole and number < most:
        wanted = min(most - number, _AT_ONCE)
        count, end = _whole(codec, batch, window, position, wanted)
        whole = count == wanted
        end = end if whole else len(window.data)
        fields = codec.positions(
            batch.kind.record_set,
            window.data[:end],
            position,
            parameters=(batch.header_of(wanted),),
            complete=True,
            origin=origin,
        )
        title = f"records from number {number} on: {where}" if number else f"records: {where}"
        number += wanted
        left = total - number if number == most else 0
        note = f"{left} more records; --records 0 shows all" if left and whole else ""
        fields = _renumbered(fields, f"{payload_path(batch)}/records", number - wanted)
        section = Section(title, window.data, start, fields, note)
        yield section
        if topic is not None:
            yield from message_sections(codec, topic, section, origin)
        position = end
    if not whole:
        return
    try:
        records = batch.pieces(held_payload(batch), codec=get_codec()).records()
    except KafkaSpecError as error:
        yield Section("the first fault after these records", b"", 0, with_error([], error))
        return
    if batch.is_control:
        yield from _control(codec, islice(records, most))


def _whole(
    codec: KaitaiCodec, batch: DefaultBatch, window: PieceWindow, position: int, wanted: int
) -> tuple[int, int]:
    """Return how many of the wanted records there are, and where the last one ends."""
    size = PIECE_BYTES
    while True:
        window.fill(position + size)
        try:
            count, end = codec.whole_records(batch.message, window.data[position:], wanted)
        except KafkaSpecError:
            return 0, position
        if count == wanted or window.ended:
            return count, position + end
        size *= 2


def _renumbered(fields: list[FieldPosition], path: str, first: int) -> list[FieldPosition]:
    """Return the fields of records with their number in the batch."""
    if not first:
        return fields
    found = []
    for field in fields:
        if field.path == path:
            continue
        number, _, rest = field.path.removeprefix(f"{path}/").partition("/")
        own = f"{path}/{int(number) + first}/{rest}".rstrip("/")
        if field.error is not None:
            field.error.path = own
        found.append(replace(field, path=own))
    return found


def _inner_messages(
    codec: KaitaiCodec,
    batch: Batch,
    payload: bytes,
    where: str,
    max_records: int,
    topic: str | None,
) -> Iterator[Section]:
    position = number = 0
    framing = batch.framing
    while len(payload) - position >= framing.size:
        end = position + framing.size + max(framing.message_size(payload, position), 0)
        if max_records and number >= max_records:
            left = len(payload) - position
            note = f"{left} more bytes of messages; --records 0 shows all"
            yield Section("", b"", 0, [], note)
            return
        data = payload[position:end]
        origin = Origin(batch.file, position, path=payload_path(batch))
        fields = codec.positions(framing.entry, data, origin=origin)
        title = f"message {number}" + (f": {where}" if number == 0 else "")
        section = Section(title, data, position, fields)
        yield section
        if topic is not None and not any(field.error for field in fields):
            yield from message_sections(codec, topic, section, origin)
        position, number = end, number + 1


def _control(codec: KaitaiCodec, records: Iterable[Record]) -> Iterator[Section]:
    for record in records:
        for name, data, type_key in (
            ("key", record.key, control.KEY),
            ("value", record.value, control.VALUE),
        ):
            if data is None:
                continue
            parameters: tuple[Any, ...] = ()
            if name == "value":
                key, _ = codec.parse(control.KEY, record.key or b"", complete=True)
                parameters = (key.type,)
            fields = codec.positions(type_key, data, parameters=parameters, complete=True)
            title = f"{name} of control record {record.offset}: positions count in the {name}"
            yield Section(title, data, 0, fields)


def explain_sidecar(path: Path, position: int, most: int) -> Iterator[Section]:
    """Yield the entries of an index, or the whole of another file beside a segment.

    Args:
        path: path of the file.
        position: byte offset in the first entry to show.
        most: number of entries to show, 0 for all.

    Raises:
        KafkaSpecError: unreadable, or no entry holds the byte at ``position``.
    """
    name = names.parse_segment(path.name)
    assert name is not None
    codec = KaitaiCodec()
    data = bytes(read_beside(path).buffer)
    type_key = name.layout.entry
    is_array = bool(type_key) and LAYOUTS[type_key].fixed_size is not None
    parameters = name.parameters
    if not is_array:
        origin = Origin(str(path))
        fields = codec.positions(
            name.layout.type, data, parameters=parameters, complete=True, origin=origin
        )
        yield Section(f"{name.layout.name}, {len(data)} bytes", data, 0, fields)
        return
    size = fixed_size(type_key)
    count, first = len(data) // size, position // size
    if first >= count:
        raise make_error(
            Reason.INVALID_VALUE,
            f"no entry holds byte {position}: entries have {size} bytes, the file has {len(data)}",
            file=str(path),
        )
    end = min(count, first + most) if most else count
    for number in range(first, end):
        start = number * size
        entry = data[start : start + size]
        origin = Origin(str(path), start)
        fields = codec.positions(type_key, entry, parameters=parameters, origin=origin)
        left = count - end if number + 1 == end else 0
        note = f"{left} more entries; --records 0 shows all" if left else ""
        yield Section(f"entry {number} of {count}", entry, start, fields, note)


_PARTS: Final = (KEY, VALUE)
_HEADERS: Final = f"/{HEADERS}/"


def message_sections(
    codec: KaitaiCodec, topic: str, section: Section, origin: Origin
) -> Iterator[Section]:
    """Yield the messages in the keys and values of the records that a section has.

    Positions count as those of the section do.

    Args:
        codec: reads them.
        topic: the topic that has the records.
        section: some records, or one message of magic 0 or 1.
        origin: where the bytes of the section are.
    """
    records: dict[str, dict[str, FieldPosition]] = {}
    for field in section.fields:
        parent, _, name = field.path.rpartition("/")
        if name in _PARTS and _HEADERS not in field.path:
            records.setdefault(parent, {})[name] = field
    for found in records.values():
        if all(name in found for name in _PARTS):
            yield from _record(codec, topic, section, [found[name] for name in _PARTS], origin)


def _record(
    codec: KaitaiCodec,
    topic: str,
    section: Section,
    parts: Sequence[FieldPosition],
    origin: Origin,
) -> Iterator[Section]:
    key, value = (part.value for part in parts)
    try:
        known = layouts_of(topic, Record(0, 0, key, value), codec)
    except KafkaSpecError as error:
        yield Section("", b"", 0, [], f"{parts[0].path}: {error.detail}", is_wrong=True)
        return
    for part, layouts in zip(parts, known, strict=True):
        if layouts:
            yield from _message(codec, section, part, layouts, origin)


def _message(
    codec: KaitaiCodec,
    section: Section,
    part: FieldPosition,
    layouts: Sequence[MessageLayout],
    origin: Origin,
) -> Iterator[Section]:
    """Yield a message that a field holds, and those of consumers that are in it."""
    try:
        layout = decode_by(codec, layouts, part.value).layout
    except KafkaSpecError:
        layout = layouts[0]  # whose error it is
    start, end = part.end - len(part.value) - section.start, part.end - section.start
    place = replace(origin, path=part.path)
    fields = codec.positions(layout.key, section.data, start, end, complete=True, origin=place)
    yield Section(f"{layout.name} in {part.path}", section.data, section.start, fields)
    protocols = [field for field in fields if field.path.endswith(f"/{PROTOCOL_TYPE}")]
    if any(bytes(field.value or b"") == CONSUMER.encode() for field in protocols):
        for field in fields:
            name = EMBEDDED.get(field.path.rpartition("/")[2])
            if name is not None and field.value:
                yield from _message(codec, section, field, by_name(name), origin)
