"""Write records and batches as JSON lines, line by line, without objects.

Lossless: bytes that are valid UTF-8 are JSON strings, other bytes ``{"base64": "..."}``, null is
``null``. A timestamp of -1, which is Kafka's "none", is ``null``; every other number is as Kafka
has it, -1 for no producer id, epoch or sequence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from functools import partial
from itertools import compress, repeat
from typing import Any, Final, NamedTuple

from kafkaspec.codecs import Origin
from kafkaspec.columns.json_lines import bytes_json, bytes_pieces
from kafkaspec.compression import NAMES
from kafkaspec.conversion.fields import RecordValues, header_values
from kafkaspec.layout.kinds import MAGICS
from kafkaspec.log.batch import Batch, payload_path
from kafkaspec.log.control import ControlRecord, decode_control
from kafkaspec.model import Headers, Record


class _Key(StrEnum):
    """The fields of the line of a record, in order."""

    FILE = "file"
    POSITION = "position"
    OFFSET = "offset"
    TIMESTAMP = "timestamp"
    TIMESTAMP_TYPE = "timestamp_type"
    MAGIC = "magic"
    FORMAT = "format"
    COMPRESSION = "compression"
    KEY = "key"
    VALUE = "value"
    HEADERS = "headers"
    PRODUCER_ID = "producer_id"
    PRODUCER_EPOCH = "producer_epoch"
    SEQUENCE = "sequence"
    TRANSACTIONAL = "transactional"
    CONTROL = "control"
    FIELDS = "fields"
    PROBLEM = "problem"

    @property
    def json(self) -> str:
        """It with quotes."""
        return f'"{self}"'


MEANINGS: Final[tuple[tuple[tuple[_Key, ...], str], ...]] = (
    ((_Key.FILE,), "path of the segment"),
    ((_Key.POSITION,), "byte offset of the batch in it"),
    ((_Key.OFFSET,), "offset of the record"),
    ((_Key.TIMESTAMP,), "milliseconds since the Unix epoch, null for none"),
    ((_Key.TIMESTAMP_TYPE,), "CreateTime, LogAppendTime, NoTimestampType (magic 0)"),
    ((_Key.MAGIC,), ", ".join(map(str, MAGICS))),
    ((_Key.FORMAT,), 'only of entries of Kafka 0.7: "0.7"'),
    ((_Key.COMPRESSION,), ", ".join(NAMES)),
    (
        (_Key.KEY, _Key.VALUE),
        'a string where the bytes are UTF-8, {"base64": "..."} where\nthey are not, null for null',
    ),
    ((_Key.HEADERS,), "list of [key, value], bytes as above"),
    ((_Key.PRODUCER_ID, _Key.PRODUCER_EPOCH, _Key.SEQUENCE), "-1 for none"),
    ((_Key.TRANSACTIONAL,), "true or false"),
    (
        (_Key.CONTROL,),
        "null, or the control record: type (ABORT, COMMIT ...; null\n"
        "if it is not known), type_id, version, value",
    ),
    (
        (_Key.FIELDS,),
        "only where there are any: other fields of the format that do\nnot have their default",
    ),
    (
        (_Key.PROBLEM,),
        "only in Kafka's own topics: why a key or value is shown as\nbytes, and not as the message "
        "in it: an object of type,\nversion and Kafka's fields; unknown_tags are tagged fields\n"
        "that the specification does not know",
    ),
)
"""What the fields of a line mean, several together where it is the same."""

_OF_RECORD: Final = (
    _Key.OFFSET, _Key.TIMESTAMP, _Key.KEY, _Key.VALUE, _Key.HEADERS, _Key.SEQUENCE, _Key.CONTROL
)  # fmt: skip
"""Fields that each record of a batch has."""

_LARGE: Final = 1 << 20
"""Bytes of a key or value that is written in pieces: as text it takes up to six times as many."""

BytesWriter = Callable[[bytes | None], str]

WRITERS: dict[str, BytesWriter] = {"text": bytes_json, "base64": partial(bytes_json, base64=True)}
"""Values of ``--bytes``."""


class ShownMessage(NamedTuple):
    """A record as it is shown.

    Attributes:
        key: JSON of the message in its key, None to show the bytes.
        value: the same of its value.
        problem: why one of them could not be decoded, "" if both could.
    """

    key: str | None
    value: str | None
    problem: str = ""


def headers_json(headers: Headers, write: BytesWriter) -> str:
    """Return JSON of the headers of a record: a list of pairs."""
    pairs = [
        f"[{write(key.encode('utf-8', 'surrogateescape'))}, {write(value)}]"
        for key, value in headers
    ]
    return f"[{', '.join(pairs)}]"


def record_lines(
    batch: Batch,
    records: Sequence[Record],
    file: str,
    write: BytesWriter,
    controls: Sequence[ControlRecord] | None = None,
    others: Sequence[RecordValues] | None = None,
    shown: Iterable[ShownMessage] | None = None,
) -> list[str | Iterator[str]]:
    """Return one line for each record, with its line end; one with a large record in pieces.

    Args:
        batch: the batch of the records.
        records: the records.
        file: path of the segment.
        write: function that returns the JSON of bytes.
        controls: for a control batch, each record decoded.
        others: fields of each record that have no name here.
        shown: of an internal topic, each record with its messages.
    """
    line = _line(batch, file)
    has_sequence = batch.base_sequence >= 0
    decoded: Iterable[str] = repeat("null")
    if controls is not None:
        decoded = [json.dumps(control_json(control, write)) for control in controls]
    if others is not None:
        decoded = [
            f"{control}{_others(values, write)}"
            for control, values in zip(decoded, others, strict=False)
        ]
    large = [shown is None and _is_large(record) for record in records]
    contents: Iterable[tuple[str, str]] = (
        _IN_PIECES if is_large else (write(each.key), write(each.value))
        for each, is_large in zip(records, large, strict=True)
    )
    if shown is not None:
        messages = list(shown)
        contents = [
            (each.key or write(record.key), each.value or write(record.value))
            for record, each in zip(records, messages, strict=True)
        ]
        decoded = [
            f"{control}{problem_json(each)}"
            for control, each in zip(decoded, messages, strict=False)
        ]
    lines: list[str | Iterator[str]] = [
        line
        % (
            offset,
            "null" if timestamp == -1 else timestamp,
            key,
            value,
            headers_json(headers, write) if headers else "[]",
            batch.sequence(offset) if has_sequence else -1,
            control,
        )
        for (offset, timestamp, _, _, headers), (key, value), control in zip(
            records, contents, decoded, strict=False
        )
    ]
    for number in compress(range(len(lines)), large):
        lines[number] = _pieces(str(lines[number]), records[number], write)
    return lines


_IN_PIECES: Final = "\0k", "\0v"
"""Placeholder for a large key or value in a line. No other text of the line can contain it."""


def _is_large(record: Record) -> bool:
    return len(record.key or b"") > _LARGE or len(record.value or b"") > _LARGE


def _pieces(line: str, record: Record, write: BytesWriter) -> Iterator[str]:
    """Yield a line with the key and the value in it."""
    for mark, data in zip(_IN_PIECES, (record.key, record.value), strict=True):
        before, _, line = line.partition(mark)
        yield before
        if data is None:
            yield write(None)
        else:
            yield from bytes_pieces(data, base64=write is WRITERS["base64"])
    yield line


def problem_json(shown: ShownMessage) -> str:
    """Return what follows the other fields of a line where a message cannot be shown."""
    return f", {_Key.PROBLEM.json}: {json.dumps(shown.problem)}" if shown.problem else ""


def _line(batch: Batch, file: str) -> str:
    """Return a line with what all records of a batch share, and ``%s`` for each ``_OF_RECORD``."""
    shared: dict[_Key, Any] = {
        _Key.FILE: json.dumps(file),
        _Key.POSITION: batch.position,
        _Key.TIMESTAMP_TYPE: json.dumps(batch.timestamp_type),
        _Key.MAGIC: batch.magic,
        _Key.COMPRESSION: json.dumps(batch.compression_name),
        _Key.PRODUCER_ID: batch.producer_id,
        _Key.PRODUCER_EPOCH: batch.producer_epoch,
        _Key.TRANSACTIONAL: json.dumps(batch.is_transactional),
    }
    if batch.log_format:
        shared[_Key.FORMAT] = json.dumps(batch.log_format)
    texts = {key: str(value).replace("%", "%%") for key, value in shared.items()}
    texts |= dict.fromkeys(_OF_RECORD, "%s")
    return f"{{{', '.join(f'{key.json}: {texts[key]}' for key in _Key if key in texts)}}}\n"


def decode_controls(
    batch: Batch, records: Sequence[Record], codec: str
) -> list[ControlRecord] | None:
    """Return the records of a control batch, decoded; None for other batches.

    Raises:
        KafkaSpecError: one cannot be decoded.
    """
    if not batch.is_control:
        return None
    origin = Origin(batch.file, batch.position, path=payload_path(batch))
    return [decode_control(record, codec=codec, origin=origin) for record in records]


def control_json(control: ControlRecord, write: BytesWriter) -> dict[str, Any]:
    """Return a control record: name (None if unknown) and number of its type, and its value."""
    name = control.type_name
    return {
        "type": None if name == "UNKNOWN" else name,
        "type_id": control.key.type,
        "version": control.key.version,
        "value": plain(control.body, write),
    }


def plain(value: Any, write: BytesWriter) -> Any:
    """Return a value of the typed model as a JSON value: fields by name.

    Fields that writers compute, and empty structures and bytes that are empty by default, are
    left out.
    """
    if isinstance(value, bytes | bytearray | memoryview):
        return json.loads(write(bytes(value)))
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name), write)
            for field in fields(value)
            if field.init and not _is_empty(field, getattr(value, field.name))
        }
    if isinstance(value, list | tuple):
        return [plain(item, write) for item in value]
    return value


def _is_empty(field: Field[Any], value: Any) -> bool:
    if isinstance(field.default, bytes):
        return bytes(value) == field.default
    if field.default_factory is not MISSING:
        return bool(value == field.default_factory())
    return False


def batch_line(batch: Batch, file: str) -> str:
    """Return the header of a batch as one line with its line end.

    ``base_offset`` of a compressed message of magic 0 or 1 is ``null``, and so is
    ``record_count``: finding them takes decompression.
    """
    legacy_wrapper = batch.is_wrapper
    return (
        json.dumps(
            {
                "file": file,
                "position": batch.position,
                "size": batch.size,
                "base_offset": None if legacy_wrapper else batch.base_offset,
                "last_offset": batch.last_offset,
                "record_count": None if legacy_wrapper else batch.num_records,
                "magic": batch.magic,
                **({"format": batch.log_format} if batch.log_format else {}),
                "compression": batch.compression_name,
                "timestamp_type": batch.timestamp_type,
                "base_timestamp": _time(batch.base_timestamp),
                "max_timestamp": _time(batch.max_timestamp),
                "delete_horizon": batch.delete_horizon,
                "partition_leader_epoch": batch.partition_leader_epoch,
                "producer_id": batch.producer_id,
                "producer_epoch": batch.producer_epoch,
                "base_sequence": batch.base_sequence,
                "last_sequence": batch.last_sequence,
                "transactional": batch.is_transactional,
                "control": batch.is_control,
                "crc": batch.crc,
                "crc_valid": batch.crc_valid,
            }
        )[:-1]
        + _others(dict(header_values(batch.kind, batch.message)), bytes_json)
        + "}\n"
    )


def _others(values: RecordValues, write: BytesWriter) -> str:
    """Return JSON of fields that have no special name in a line, to follow others."""
    if not values:
        return ""
    shown = {name: plain(item, write) for name, item in values.items()}
    return f", {_Key.FIELDS.json}: {json.dumps(shown)}"


def _time(timestamp: int | None) -> int | None:
    return None if timestamp == -1 else timestamp
