"""Records of entries that stay broken: what can be read of them, without any proof.

The checksum of a batch says that something in it is wrong, not what. Records that can be read are
right more often than not, but some are not, and nothing tells them apart. Only messages inside a
wrapper have their own checksums.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO, Any, Final

from kafkaspec import compression as compressions
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.codecs import Codec
from kafkaspec.columns.json_lines import bytes_value
from kafkaspec.errors import KafkaSpecError
from kafkaspec.intact.heads import SMALLEST, Head, Seeker, head_at
from kafkaspec.layout import names, varints
from kafkaspec.layout.framing import ENTRY, FRAMING, LOG_FRAMING, field_of
from kafkaspec.layout.kinds import KINDS
from kafkaspec.log.legacy import has_relative_offsets
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from kafkaspec.output.atomic import file_aside, writing

_WARNING: Final = (
    "the batches of these records have wrong checksums: some records are wrong, and nothing says "
    "which, but for messages with crc_valid"
)
_CHAIN: Final = 3
"""Records in a row that show where to go on after one that cannot be read."""
_SHORTEST: Final = LAYOUTS["recordbatch.record"].minimum_size
_LONGEST_LENGTH: Final = varints.longest("varint32")
_MOST_TRIES: Final = 1 << 22
"""Places of a segment at which records may begin again that are tried."""
_LEAST_OUTPUT: Final = 1 << 20
_MOST_RATIO: Final = 256
"""Bytes that a byte of a broken payload may become."""


@dataclass(frozen=True, slots=True)
class UnprovenRecord:
    """A record that was read of a broken entry, and whether a separate checksum of it is right."""

    position: int
    record: Record
    crc_valid: bool = False


@dataclass
class UnprovenReader:
    """Reads records of broken entries of a segment."""

    buffer: memoryview
    codec: Codec
    _tries: int = _MOST_TRIES

    def records(self, start: int, end: int, last: int) -> Iterator[UnprovenRecord]:
        """Yield the records that can be read of a broken entry, or of what is left of it."""
        head = head_at(self.buffer, start)
        if head is None or not head.is_plausible:
            return
        end = min(end, head.end)
        if KINDS[head.magic].has_record_sets:
            yield from self._of_batch(head, end)
        else:
            yield from self._of_message(head, end, last)

    def _of_batch(self, head: Head, end: int) -> Iterator[UnprovenRecord]:
        kind, smallest = KINDS[head.magic], SMALLEST[head.magic]
        header = bytearray(self.buffer[head.position : head.position + smallest])
        LOG_FRAMING.set_message_size(header, smallest - FRAMING)
        try:
            batch = self.codec.parse(ENTRY, header, complete=True)[0].message
        except KafkaSpecError:
            return
        stored = self.buffer[head.position + smallest : end]
        payload = stored
        if head.compression:
            payload = memoryview(bytes(_payload(head.compression, head.magic, stored)))
        parse = self.codec.parser(field_of(kind.record_set, names.RECORDS).type)

        def record_at(position: int) -> tuple[Any, int] | None:
            with suppress(KafkaSpecError):
                return parse(payload, position, len(payload), True, batch)
            return None

        position, delta, most = 0, -1, head.last - head.first
        while position < len(payload):
            found = record_at(position)
            own = -1 if found is None else found[0].offset - head.first
            if found is not None and delta < own <= most:
                stored_record, position = found
                delta = own
                yield UnprovenRecord(head.position, _record(stored_record))
                continue
            if head.compression:
                return
            following = self._resumed(record_at, payload, position + 1, head, delta)
            if following is None:
                return
            position = following

    def _resumed(
        self,
        record_at: Callable[[int], tuple[Any, int] | None],
        payload: memoryview,
        position: int,
        head: Head,
        delta: int,
    ) -> int | None:
        """Return where records follow each other again whose offsets rise by one, if anywhere."""
        most = head.last - head.first
        while position < len(payload) and self._tries:
            self._tries -= 1
            at, before, records = position, -1, 0
            while records < _CHAIN and _may_begin(payload, at):
                found = record_at(at)
                own = -1 if found is None else found[0].offset - head.first
                if found is None or not delta < own <= most or (records and own != before + 1):
                    break
                before, at, records = own, found[1], records + 1
                if at == len(payload) and own == most:
                    return position
            if records == _CHAIN:
                return position
            position += 1
        return None

    def _of_message(self, head: Head, end: int, last: int) -> Iterator[UnprovenRecord]:
        if end != head.end:
            return
        entry = bytes(self.buffer[head.position : end])
        try:
            batch = Segment(entry, codec=self.codec, crc="ignore").batch_at(0)
            if not batch.is_wrapper:
                for record in batch.records():
                    yield UnprovenRecord(head.position, record)
                return
            value = memoryview(batch.message.value or b"")
        except KafkaSpecError:
            return
        payload = memoryview(bytes(_payload(head.compression, head.magic, value)))
        seeker, position = Seeker(payload, None), 0
        relative = has_relative_offsets(KINDS[head.magic]) and head.first != 0
        while position < len(payload):
            found = head_at(payload, position)
            if found is None or not found.is_plausible or found.end > len(payload):
                return
            try:
                inner = Segment(
                    bytes(payload[position : found.end]), codec=self.codec, crc="ignore"
                )
                for record in inner.records():
                    if relative:  # to the first message, as far as none was compacted away
                        record = record._replace(offset=last + 1 + record.offset)
                    yield UnprovenRecord(head.position, record, seeker.is_sound(found))
            except KafkaSpecError:
                return
            position = found.end


def _may_begin(payload: memoryview, position: int) -> bool:
    """Return whether the length of a record that fits is there, and attributes of 0 after it."""
    for end in range(position + 1, min(position + _LONGEST_LENGTH + 1, len(payload))):
        if not payload[end - 1] & varints.MORE:
            length = varints.code_of(payload[position:end])
            fits = not length & 1 and _SHORTEST <= length >> 1 <= len(payload) - end
            return fits and payload[end] == 0
    return False


def _payload(codec: int, magic: int, stored: memoryview) -> bytearray:
    """Return what can be decompressed, up to the first fault."""
    found = bytearray()
    most = min(max(_LEAST_OUTPUT, _MOST_RATIO * len(stored)), compressions.DEFAULT_MAX_OUTPUT)
    with suppress(KafkaSpecError):
        for piece in compressions.decompress_pieces(codec, stored, magic=magic, max_output=most):
            found += piece
    return found


def _record(stored: Any) -> Record:
    return Record(
        stored.offset,
        stored.timestamp,
        None if stored.key is None else bytes(stored.key),
        None if stored.value is None else bytes(stored.value),
        tuple(
            (
                bytes(item.key).decode(errors="replace"),
                None if item.value is None else bytes(item.value),
            )
            for item in stored.headers
        ),
    )


@dataclass
class UnprovenFile:
    """JSON lines with records that nothing proves; the first line says so."""

    file: IO[bytes]
    path: Path
    count: int = 0

    def add(
        self, topic: str | None, partition: int | None, path: Path, found: UnprovenRecord
    ) -> None:
        """Write a record of a segment of a partition."""
        self.count += 1
        record = found.record
        self.line({
            "type": "unproven_record",
            "topic": topic,
            "partition": partition,
            "file": str(path),
            "position": found.position,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "key": bytes_value(record.key),
            "value": bytes_value(record.value),
            "headers": [[key, bytes_value(value)] for key, value in record.headers],
            "crc_valid": found.crc_valid,
        })  # fmt: skip

    def line(self, content: dict[str, Any]) -> None:
        """Write a line."""
        with writing(self.path):
            self.file.write(json.dumps(content).encode() + b"\n")


@contextmanager
def unproven_file(path: str | PathLike[str]) -> Iterator[UnprovenFile]:
    """Open a new file for records that nothing proves.

    It appears at the end of the block, unless that fails.

    Raises:
        KafkaSpecError: ``unreadable``: it cannot be written, or is there already.
    """
    with writing(Path(path)), file_aside(Path(path), replace=False) as file:
        made = UnprovenFile(file, Path(path))
        made.line({"type": "unproven", "warning": _WARNING})
        yield made
