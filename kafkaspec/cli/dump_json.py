"""Write records and batches as JSON lines, line by line, without objects.

Lossless: bytes that are valid UTF-8 are JSON strings, other bytes ``{"base64": "..."}``, null is
``null``. A timestamp of -1, which is Kafka's "none", is ``null``; every other number is as Kafka
has it, -1 for no producer id, epoch or sequence.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from itertools import repeat
from json.encoder import encode_basestring as _quote
from typing import Any

from kafkaspec.codecs import Origin
from kafkaspec.conversion.fields import RecordValues, header_values
from kafkaspec.log.batch import Batch
from kafkaspec.log.control import ControlRecord, decode_control
from kafkaspec.model import Headers, Record

BytesWriter = Callable[[bytes | None], str]


def text_or_base64(data: bytes | None) -> str:
    """Return JSON of bytes: a string if they are UTF-8, else base64."""
    if data is None:
        return "null"
    try:
        return _quote(data.decode())
    except UnicodeDecodeError:
        return always_base64(data)


def always_base64(data: bytes | None) -> str:
    """Return JSON of bytes, always as base64."""
    return "null" if data is None else f'{{"base64": "{b64encode(data).decode("ascii")}"}}'


WRITERS: dict[str, BytesWriter] = {"text": text_or_base64, "base64": always_base64}
"""Values of ``--bytes``."""


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
) -> list[str]:
    """Return one line for each record, with its line end.

    Args:
        batch: the batch of the records.
        records: the records.
        file: path of the segment.
        write: function that returns the JSON of bytes.
        controls: for a control batch, each record decoded.
        others: fields of each record that have no name here.
    """
    head = f'{{"file": {json.dumps(file)}, "position": {batch.position}, "offset": '
    middle = (
        f', "timestamp_type": "{batch.timestamp_type}", "magic": {batch.magic}, {_format(batch)}'
        f'"compression": "{batch.compression_name}", "key": '
    )
    tail = (
        f', "producer_id": {batch.producer_id}, "producer_epoch": {batch.producer_epoch}, '
        '"sequence": '
    )
    transactional = "true" if batch.is_transactional else "false"
    has_sequence = batch.base_sequence >= 0
    decoded: Iterable[str] = repeat("null")
    if controls is not None:
        decoded = [json.dumps(control_json(control, write)) for control in controls]
    if others is not None:
        decoded = [
            f"{control}{_others(values, write)}"
            for control, values in zip(decoded, others, strict=False)
        ]
    return [
        f'{head}{offset}, "timestamp": {"null" if timestamp == -1 else timestamp}{middle}'
        f'{write(key)}, "value": {write(value)}, "headers": '
        f"{headers_json(headers, write) if headers else '[]'}{tail}"
        f"{batch.sequence(offset) if has_sequence else -1}"
        f', "transactional": {transactional}, "control": {control}}}\n'
        for (offset, timestamp, key, value, headers), control in zip(records, decoded, strict=False)
    ]


def decode_controls(
    batch: Batch, records: Sequence[Record], codec: str
) -> list[ControlRecord] | None:
    """Return the records of a control batch, decoded; None for other batches.

    Raises:
        KafkaSpecError: one cannot be decoded.
    """
    if not batch.is_control:
        return None
    origin = Origin(batch.file, batch.position, path=batch.payload_path)
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
        + _others(dict(header_values(batch.kind, batch.message)), text_or_base64)
        + "}\n"
    )


def _others(values: RecordValues, write: BytesWriter) -> str:
    """Return JSON of fields that have no name of their own in a line, to follow others."""
    if not values:
        return ""
    return f', "fields": {json.dumps({name: plain(item, write) for name, item in values.items()})}'


def _format(batch: Batch) -> str:
    return f'"format": "{batch.log_format}", ' if batch.log_format else ""


def _time(timestamp: int | None) -> int | None:
    return None if timestamp == -1 else timestamp
