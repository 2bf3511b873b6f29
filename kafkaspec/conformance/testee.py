"""A codec of this library as a testee: ``python -m kafkaspec.conformance.testee CODEC``."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from uuid import UUID

from kafkaspec import compression
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.layout.texts import TEXTS
from kafkaspec.codecs import Codec, get_codec
from kafkaspec.conformance.protocol import (
    RequestKind,
    decode_bytes,
    encode_bytes,
    record_of,
)
from kafkaspec.conformance.serving import Handler, SkippedError, serve
from kafkaspec.conformance.written import WRITTEN
from kafkaspec.files import names
from kafkaspec.files.checkpoints import (
    kafka_uuid,
    leader_epoch_checkpoint,
    meta_properties,
    offset_checkpoint,
    partition_metadata,
    quorum_state,
)
from kafkaspec.files.snapshots import ABORTED_TRANSACTION, ProducerSnapshot
from kafkaspec.layout import Kind as FieldKind
from kafkaspec.layout import TextLayout, TypeLayout
from kafkaspec.log.control import ControlRecord
from kafkaspec.log.encoding import encode
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record

_INDEXES = {
    RequestKind.OFFSET_INDEX: "index.offset_index",
    RequestKind.TIME_INDEX: "index.time_index",
}


def main() -> None:
    """Serve with the codec that the argument names, or the default one."""
    codec = get_codec(sys.argv[1] if len(sys.argv) > 1 else None)
    try:
        number = version("kafkaspec")
    except PackageNotFoundError:
        number = ""
    serve(
        f"kafkaspec {codec.name}",
        number,
        handlers_of(codec),
        compression=compression.NAMES,
        checksums=True,
    )


def handlers_of(codec: Codec) -> dict[RequestKind, Handler]:
    """Return what answers each kind of request with a codec."""
    return {
        RequestKind.LOG: partial(_log, codec),
        RequestKind.CONTROL_RECORDS: partial(_control_records, codec),
        RequestKind.COMMITTED_RECORDS: partial(_committed, codec),
        RequestKind.ENCODE: partial(_encode, codec),
        RequestKind.OFFSET_INDEX: partial(_index, codec),
        RequestKind.TIME_INDEX: partial(_index, codec),
        RequestKind.TRANSACTION_INDEX: partial(_transaction_index, codec),
        RequestKind.PRODUCER_SNAPSHOT: partial(_producer_snapshot, codec),
        RequestKind.TEXT: _text,
        RequestKind.TYPE: partial(_type, codec),
    }


def _log(codec: Codec, data: bytes, request: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for batch in Segment(data, codec=codec).batches():
        records = batch.records()
        if not batch.is_control:  # a consumer reads and verifies those too
            found += map(record_of, records)
    return found


def _committed(codec: Codec, data: bytes, request: dict[str, Any]) -> list[dict[str, Any]]:
    first = next(Segment(data, codec=codec).batches(), None)
    if first is None:
        return []
    with tempfile.TemporaryDirectory(prefix="kafkaspec-") as folder:
        path = Path(folder) / "topic-0"
        path.mkdir()
        (path / names.segment_name(first.base_offset, names.LOG)).write_bytes(data)
        with Partition(path, codec=codec) as log:
            return list(map(record_of, log.records(isolation="read_committed")))


def _encode(codec: Codec, _: bytes, request: dict[str, Any]) -> bytes:
    given = {name: request[name] for name in WRITTEN if name in request}
    records = [
        Record(
            item["offset"], item["timestamp"], decode_bytes(item["key"]),
            decode_bytes(item["value"]),
            tuple(
                ((decode_bytes(key) or b"").decode("utf-8", "surrogateescape"), decode_bytes(value))
                for key, value in item["headers"]
            ),
        )
        for item in request["records"]
    ]  # fmt: skip
    return encode(records, codec=codec, **given)


def _control_records(codec: Codec, data: bytes, request: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        _control(item)
        for batch in Segment(data, codec=codec).batches()
        for item in batch.control_records()
    ]


def _control(item: ControlRecord) -> dict[str, Any]:
    found = {"offset": item.record.offset, "type": int(item.key.type)}
    epoch = getattr(item.body, "coordinator_epoch", None)
    return found if epoch is None else found | {"coordinator_epoch": epoch}


def _index(codec: Codec, data: bytes, request: dict[str, Any]) -> list[dict[str, Any]]:
    parameters = (request.get("base_offset", 0),)
    type_key = _INDEXES[RequestKind(request["kind"])]
    index, _ = codec.parse(type_key, data, parameters=parameters, complete=True)
    return [_tree(entry) for entry in index.entries]


def _transaction_index(codec: Codec, data: bytes, request: dict[str, Any]) -> list[dict[str, Any]]:
    entries, position = [], 0
    size = LAYOUTS[ABORTED_TRANSACTION].minimum_size
    while position + size <= len(data):  # a part of an entry at the end is ignored
        entry, position = codec.parse(ABORTED_TRANSACTION, data, position, position + size)
        entries.append(_tree(entry))
    return entries


def _producer_snapshot(codec: Codec, data: bytes, request: dict[str, Any]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="kafkaspec-") as folder:
        path = Path(folder) / names.segment_name(0, names.PRODUCER_SNAPSHOT)
        path.write_bytes(data)
        snapshot = ProducerSnapshot(path, codec=codec)
        if not snapshot.crc_valid:
            raise snapshot.crc_error()
        return [_tree(entry) for entry in snapshot.entries]


_PARSERS: dict[str, Callable[[bytes], Any]] = {
    names.LEADER_EPOCHS: leader_epoch_checkpoint.parse,
    names.PARTITION_METADATA: lambda data: [partition_metadata.parse(data)],
    names.QUORUM_STATE: lambda data: [quorum_state.parse(data)],
    names.META_PROPERTIES: lambda data: [meta_properties.parse(data)],
}


def _text(data: bytes, request: dict[str, Any]) -> list[dict[str, Any]]:
    name = request["file"]
    if name not in TEXTS:
        raise SkippedError(f"does not know {name}")
    if name in names.OFFSET_CHECKPOINTS:
        listed = offset_checkpoint.by_partition(offset_checkpoint.parse(data))
        entries: Iterable[Any] = (listed[place] for place in sorted(listed))
    else:
        entries = _PARSERS[name](data)
    return [_said(TEXTS[name], each) for each in entries]


def _said(layout: TextLayout, entry: Any) -> dict[str, Any]:
    """Return what an entry has in its version."""
    version = getattr(entry, "data_version", getattr(entry, "version", layout.versions[-1]))
    last = min(version, layout.versions[-1])
    found = {
        key.attribute: getattr(entry, key.attribute, version)
        for key in layout.keys
        if last in key.versions
    }
    return {
        name: kafka_uuid.to_text(value)
        if isinstance(value, UUID)
        else list(value)
        if isinstance(value, tuple)
        else value
        for name, value in found.items()
    }


def _type(codec: Codec, data: bytes, request: dict[str, Any]) -> tuple[Any, int]:
    parameters = [_parameter(codec, item) for item in request["parameters"]]
    value, end = codec.parse(request["type"], data, parameters=parameters)
    return _tree(value), end


def _parameter(codec: Codec, item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    parameters = [_parameter(codec, inner) for inner in item["parameters"]]
    data = decode_bytes(item["data"]) or b""
    return codec.parse(item["type"], data, parameters=parameters)[0]


def _tree(value: Any) -> Any:
    """Return a value for JSON: structures as objects, with the names of the specification."""
    if isinstance(value, bytes | bytearray | memoryview):
        return encode_bytes(value)
    if isinstance(value, list | tuple):
        return [_tree(item) for item in value]
    if value is None or isinstance(value, float):
        return value
    if isinstance(value, int):
        return int(value)
    layout = _layouts()[type(value).__module__.rsplit(".", 1)[-1], type(value).__name__]
    own = [item.id for item in layout.fields if item.kind is not FieldKind.GUARD]
    return {name: _tree(getattr(value, name, None)) for name in [*own, *layout.instances]}


@cache
def _layouts() -> dict[tuple[str, str], TypeLayout]:
    return {(key.split(".")[0], item.class_name): item for key, item in LAYOUTS.items()}


if __name__ == "__main__":
    main()
