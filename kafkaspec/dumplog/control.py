"""The text of the dump tool about control records."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Final

from kafkaspec._generated.python.model.control_record import EndTransactionMarker
from kafkaspec.codecs import Codec, Origin
from kafkaspec.dumplog.families import Family
from kafkaspec.log.batch import Batch, payload_path
from kafkaspec.log.control import decode_control
from kafkaspec.messages.json_text import java_text
from kafkaspec.model import Record

_UUIDS: Final = frozenset({"voter_directory_id"})
_KRAFT: Final = "kraft"


def control_text(family: Family, batch: Batch, record: Record, codec: Codec) -> str:
    """Return what follows the sizes and keys in the line of a control record.

    Raises:
        KafkaSpecError: it cannot be decoded.
    """
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
