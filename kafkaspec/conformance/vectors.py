"""Cases from the vectors that are generated from the specification, which every wheel holds.

Each vector is a separate case, for testees that parse types of the specification. Vectors of
records and of legacy messages are also put into a log, with a valid header around them, for testees
that only read logs. Verdicts and values come from the vectors, never from a codec.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model.recordbatch import Entry, RecordBatch
from kafkaspec._generated.python.model.recordbatch import Record as RecordStructure
from kafkaspec.checksum import crc32
from kafkaspec.codecs import get_codec
from kafkaspec.conformance.cases import Case, CaseValue, Items, Refusal, reasons_of
from kafkaspec.conformance.protocol import RequestKind, encode_bytes
from kafkaspec.errors import Reason
from kafkaspec.layout import Kind as FieldKind
from kafkaspec.layout.framing import (
    ENTRY,
    LEGACY_MESSAGE,
    MINIMUM_MESSAGE,
    RECORD_BATCH,
    field_of,
)

_RECORD: Final = "recordbatch.record"
_HEADER: Final = "recordbatch.header"
_VARINT: Final = "varint.varint32"

_OFFSET: Final = 100
"""Of the legacy messages. The offset of a record follows from the header that its vector names."""

_CODEC: Final = get_codec("python")
"""Writes the bytes around a vector; any codec would do."""


def vector_cases() -> Iterator[Case]:
    """Yield the cases of all vectors, in order."""
    vectors = _vectors()
    for vector in vectors:
        yield _structure(vector)
    header = next(item for item in vectors if item["type"] == _RECORD)["parameters"][0]
    for vector in vectors:
        wrapped = _wrapped(vector, header)
        if wrapped is not None:
            yield wrapped


def _vectors() -> list[dict[str, Any]]:
    folder = files("kafkaspec._generated.vectors")
    texts = {
        item.name: item.read_text(encoding="utf-8")
        for item in folder.iterdir()
        if item.name.endswith(".json")
    }
    return [vector for name in sorted(texts) for vector in json.loads(texts[name])["vectors"]]


def _structure(vector: dict[str, Any]) -> Case:
    expected: Refusal | CaseValue
    if vector["verdict"] == "reject":
        reasons = frozenset({vector["reason"]})
        expected = Refusal(reasons, vector["path"], vector["offset"])
    else:
        members = dict(vector.get("instances", {}))
        if "field" in vector:
            members[vector["field"]] = _plain(vector)
        expected = CaseValue(vector["end"], members)
    return Case(
        f"structure/{vector['type']}/{vector['name']}",
        RequestKind.TYPE,
        bytes.fromhex(vector["hex"]),
        expected,
        vector["why"],
        {
            "type": vector["type"],
            "parameters": [_parameter(item) for item in vector["parameters"]],
        },
    )


def _plain(vector: dict[str, Any]) -> int | str | None:
    """Return the value of the field; vectors have bytes in hexadecimal, the protocol in base64."""
    value: int | str | None = vector["value"]
    return encode_bytes(bytes.fromhex(value)) if isinstance(value, str) else value


def _parameter(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    return {
        "type": item["type"],
        "parameters": [_parameter(inner) for inner in item["parameters"]],
        "data": encode_bytes(bytes.fromhex(item["hex"])),
    }


# -- in a log ------------------------------------------------------------------------------------


def _wrapped(vector: dict[str, Any], header: dict[str, Any]) -> Case | None:
    """Return the vector in a log, None if it says nothing about logs."""
    data = bytes.fromhex(vector["hex"])
    if vector["verdict"] == "accept" and vector["end"] not in (len(data), 0):
        return None  # in a log, what follows would be refused
    items: list[dict[str, Any]] = [{}]
    match vector["type"]:
        case "recordbatch.legacy_message":
            if not _sound(vector, data):
                return None
            log = _framing(len(data)) + data
            items = [{"offset": _OFFSET} | _members(vector, ("timestamp", "key", "value"))]
        case "recordbatch.record_set":
            batch = _batch(vector["parameters"][0])
            log, items = _log(batch, data), [{}] * batch.num_records
        case "recordbatch.framed_record":
            log = _log(_batch(header), data)
        case "recordbatch.record":
            log = _log(_batch(header), _varint(len(data)) + data)
            items = [
                {name: vector["instances"][name] for name in ("offset", "timestamp")}
                | _members(vector, ("key", "value"))
                if vector["verdict"] == "accept"
                else {}
            ]
        case "recordbatch.header":
            body = _record_up_to_headers(header) + _varint(1) + data
            log = _log(_batch(header), _varint(len(body)) + body)
        case _:
            return None
    expected: Refusal | Items = Items(items)
    if vector["verdict"] == "reject":
        expected = Refusal(reasons_of(vector["reason"]) | _also(vector))
    return Case(
        f"record/{vector['type']}/{vector['name']}", RequestKind.LOG, log, expected, vector["why"]
    )


def _also(vector: dict[str, Any]) -> frozenset[str]:
    """Return other reasons, for bytes that also break another rule inside a record."""
    short = vector["reason"] == Reason.TRUNCATED
    return frozenset({Reason.INVALID_VALUE}) if short and vector["type"] == _HEADER else frozenset()


def _sound(vector: dict[str, Any], data: bytes) -> bool:
    """Return whether all readers accept a legacy message: not compressed, right checksum."""
    if len(data) < MINIMUM_MESSAGE or "compression" in vector["name"]:
        return False
    if vector["path"] == "/magic":  # it would be another layout
        return False
    checksum = LAYOUTS[LEGACY_MESSAGE].checksum
    assert checksum is not None
    end = checksum.position + field_of(LEGACY_MESSAGE, checksum.field).size
    return int.from_bytes(data[checksum.position : end], "big") == crc32(data[checksum.start :])


def _members(vector: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {vector["field"]: _plain(vector)} if vector.get("field") in names else {}


def _framing(size: int) -> bytes:
    """Return the bytes of an entry before its message."""
    offset, length = (item for item in LAYOUTS[ENTRY].fields if item.kind is FieldKind.INTEGER)
    return _OFFSET.to_bytes(offset.size, "big", signed=offset.signed) + size.to_bytes(
        length.size, "big", signed=length.signed
    )


def _batch(parameter: dict[str, Any]) -> RecordBatch:
    """Return the header that belongs to the records of a vector."""
    data = bytes.fromhex(parameter["hex"])
    batch, _ = _CODEC.parse(RECORD_BATCH, data, parameters=parameter["parameters"])
    assert isinstance(batch, RecordBatch)
    return batch


def _log(batch: RecordBatch, records: bytes) -> bytes:
    """Return a log of one batch with these records, and with the right checksum and sizes."""
    batch.records = records
    entry = Entry(base_offset=batch.base_offset, message=batch)
    return _CODEC.serialize(ENTRY, entry)


def _record_up_to_headers(header: dict[str, Any]) -> bytes:
    """Return a record up to, but without, the number of its headers."""
    batch = _batch(header)
    record = RecordStructure(batch=batch, timestamp_delta=0, offset_delta=0)
    return _CODEC.serialize(_RECORD, record, parameters=(batch,))[: -len(_varint(0))]


def _varint(value: int) -> bytes:
    return _CODEC.serialize(_VARINT, value)
