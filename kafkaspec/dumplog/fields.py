"""The values of the names in a template, and the text of control records."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Final, NamedTuple

from kafkaspec._generated.python.model.control_record import EndTransactionMarker
from kafkaspec.codecs import Codec, Origin
from kafkaspec.dumplog.families import Family
from kafkaspec.log.batch import NO_TIMESTAMP_TYPE, NONE, Batch, payload_path
from kafkaspec.log.control import decode_control
from kafkaspec.log.legacy import LegacyBatch
from kafkaspec.messages.json_text import java_text
from kafkaspec.model import Record

TRUE, FALSE = "true", "false"
NO_HORIZON: Final = "OptionalLong.empty"


class DumpRow(NamedTuple):
    """A record with the fields that only messages of magic 0 and 1 have; None for no checksum."""

    record: Record
    crc: int | None
    valid: bool
    magic: int
    codec: int
    timestamp_type: str


def boolean(value: bool) -> str:
    """Return a boolean as Java prints it."""
    return TRUE if value else FALSE


def codec_name(family: Family, codec: int) -> str:
    """Return the name of a codec; a release has none for those that came later."""
    return family.codecs[codec] if codec < len(family.codecs) else f"unknown({codec})"


_OF_BATCH: Final[dict[str, Callable[[Batch], object]]] = {
    "base_offset": lambda batch: batch.base_offset,
    "last_offset": lambda batch: batch.last_offset,
    "count": lambda batch: batch.num_records,
    "base_sequence": lambda batch: batch.base_sequence,
    "last_sequence": lambda batch: batch.last_sequence if batch.base_sequence >= 0 else NONE,
    "producer_id": lambda batch: batch.producer_id,
    "producer_epoch": lambda batch: batch.producer_epoch,
    "leader_epoch": lambda batch: batch.partition_leader_epoch,
    "transactional": lambda batch: boolean(batch.is_transactional),
    "control": lambda batch: boolean(batch.is_control),
    "delete_horizon": lambda batch: (
        NO_HORIZON if batch.delete_horizon is None else f"OptionalLong[{batch.delete_horizon}]"
    ),
    "position": lambda batch: batch.position,
    "timestamp_type": lambda batch: batch.timestamp_type,
    "max_timestamp": lambda batch: batch.max_timestamp,
    "size": lambda batch: batch.size,
    "magic": lambda batch: batch.magic,
    "batch_crc": lambda batch: batch.crc,
    "batch_valid": lambda batch: boolean(batch.crc_valid),
}


def batch_values(family: Family, batch: Batch, template: str) -> dict[str, object]:
    """Return what the names in some templates stand for that are about a batch."""
    values = {name: get(batch) for name, get in _OF_BATCH.items() if f"{{{name}}}" in template}
    return values | {"codec": codec_name(family, batch.compression)}


def rows_of(batch: Batch) -> Iterator[DumpRow]:
    """Yield the records of a batch."""
    records = batch.records()
    if not isinstance(batch, LegacyBatch):
        for record in records:
            yield DumpRow(record, None, True, batch.magic, 0, batch.timestamp_type)
    elif not batch.is_compressed:
        yield own_row(batch, records[0])
    else:
        for record, inner in zip(records, batch.inner_messages(), strict=True):
            kind = batch.timestamp_type if inner.magic else NO_TIMESTAMP_TYPE
            yield DumpRow(record, inner.crc, inner.crc_valid, inner.magic, 0, kind)


def own_row(batch: LegacyBatch, record: Record | None = None) -> DumpRow:
    """Return the message of an entry as it stands, a wrapper with its compressed value too."""
    if record is None:
        value = batch.payload
        record = Record(
            batch.last_offset,
            batch.max_timestamp,
            batch.message.key,
            None if value is None else bytes(value),
        )
    return DumpRow(
        record, batch.crc, batch.crc_valid, batch.magic, batch.compression, batch.timestamp_type
    )


def row_values(family: Family, batch: Batch, row: DumpRow) -> dict[str, Any]:
    """Return what the names in a template stand for that are about a record."""
    record = row.record
    key_size = NONE if record.key is None else len(record.key)
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key_size": key_size,
        "key_size_if_any": "" if record.key is None else f" keysize: {key_size}",
        "value_size": NONE if record.value is None else len(record.value),
        "sequence": batch.sequence(record.offset) if batch.base_sequence >= 0 else NONE,
        "header_keys": header_keys(record),
        "crc": "null" if row.crc is None else row.crc,
        "valid": boolean(row.valid),
        "own_magic": row.magic,
        "own_codec": codec_name(family, row.codec),
        "own_timestamp_type": row.timestamp_type,
    }


def header_keys(record: Record) -> str:
    """Return the keys of the headers of a record, in brackets."""
    keys = (java_text(key.encode("utf-8", "surrogateescape")) for key, _ in record.headers)
    return f"[{','.join(keys)}]"


_UUIDS: Final = frozenset({"voter_directory_id"})
_KRAFT: Final = "kraft"


def control_text(family: Family, batch: Batch, record: Record, codec: Codec) -> str:
    """Return what follows the sizes and keys in the line of a control record."""
    origin = Origin(batch.file, batch.position, path=payload_path(batch))
    found = decode_control(record, codec=codec, origin=origin)
    number = found.key.type
    name = family.controls[number] if 0 <= number < len(family.controls) else "UNKNOWN"
    if isinstance(found.body, EndTransactionMarker):
        return f" endTxnMarker: {name} coordinatorEpoch: {found.body.coordinator_epoch}"
    before = dict(family.control_json).get(name)
    if before is None:
        return f" controlType: {name}({number})"
    return before + json.dumps(_plain(found.body), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any, name: str = "") -> Any:
    """Return a value of the typed model as Kafka's converters to JSON name and order it."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            _camel(field.name): _plain(getattr(value, field.name), field.name)
            for field in fields(value)
            if field.init and field.default != b"" and field.default_factory is MISSING
        }
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, bytes | bytearray | memoryview):
        if name in _UUIDS:
            return urlsafe_b64encode(value).decode("ascii").rstrip("=")
        return java_text(value)
    return value


def _camel(name: str) -> str:
    first, *others = name.split("_")
    first = "kRaft" if first == _KRAFT else first
    return first + "".join(map(str.capitalize, others))
