"""Logs that grow along one axis, and as little as can be along the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

import kafkaspec as ks
from benchmarks.data import MIB, at_offset
from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.arrow.messages.arrays import array_type, encode_array
from kafkaspec.files.names import LOG, segment_name
from kafkaspec.log.encoding import encode_marker
from kafkaspec.model import Record

TIME: Final = 1_767_225_600_000
"""Of the first record, ms."""
_IN_BATCH: Final = 100
"""Records of a batch, where an axis is about something in them."""
_LINKS: Final = 10_000
"""Names of one file; file systems have a bound."""
_ID: Final = 16


@dataclass(frozen=True)
class Axis:
    """Something of which an input has more and more.

    Attributes:
        name: what there is more of.
        make: writes an input into an empty folder, with so many; returns what a command is given.
        most: the largest size.
        unit: of the sizes, where they do not count.
    """

    name: str
    make: Callable[[Path, int], Path]
    most: int = 100_000
    unit: str = ""


def log_of(directory: Path, base: int = 0) -> Path:
    """The name of a segment, its directory made."""
    directory.mkdir(parents=True, exist_ok=True)
    return directory / segment_name(base, LOG)


def _write(directory: Path, entries: Iterable[bytes]) -> Path:
    with log_of(directory).open("wb") as out:
        out.writelines(entries)
    return directory


def _record(offset: int, key: bytes | None = b"k", value: bytes | None = b"v") -> Record:
    return Record(offset, TIME + offset, key, value)


def _one(offset: int = 0, **options: Any) -> bytes:
    return ks.encode([_record(offset)], partition_leader_epoch=0, **options)


def _by(producer: int) -> dict[str, Any]:
    return {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0}


def _partitions(folder: Path, size: int) -> Path:
    file, entry = folder / "logs", _one()
    source = file
    for number in range(size):
        target = log_of(folder / "logs" / f"t-{number}")
        if number % _LINKS:
            os.link(source, target)
        else:
            target.write_bytes(entry)
            source = target
    return file


def _segments(folder: Path, size: int) -> Path:
    entry = _one()
    for number in range(size):
        log_of(folder / "t-0", number).write_bytes(at_offset(entry, number))
    return folder / "t-0"


def _batches(folder: Path, size: int) -> Path:
    entry = _one()
    return _write(folder / "t-0", (at_offset(entry, number) for number in range(size)))


def _producers(folder: Path, size: int) -> Path:
    return _write(folder / "t-0", (_one(number, **_by(number)) for number in range(size)))


def _keys(folder: Path, size: int) -> Path:
    def entries() -> Iterator[bytes]:
        for first in range(0, size, _IN_BATCH):
            several = range(first, min(size, first + _IN_BATCH))
            yield ks.encode(
                [_record(n, b"key-%d" % n, b"v") for n in several], partition_leader_epoch=0
            )

    return _write(folder / "t-0", entries())


def _open(folder: Path, size: int) -> Path:
    entries = (_one(number, transactional=True, **_by(number)) for number in range(size))
    return _write(folder / "t-0", entries)


def _aborted(folder: Path, size: int) -> Path:
    def entries() -> Iterator[bytes]:
        for number in range(size):
            yield _one(2 * number, transactional=True, **_by(number))
            yield encode_marker(
                ControlRecordType.ABORT, 2 * number + 1, TIME + 2 * number + 1,
                producer_id=number, producer_epoch=0, partition_leader_epoch=0,
            )  # fmt: skip

    with ks.SegmentWriter(folder / "t-0", sync=False) as writer:
        writer.append(b"".join(entries()))
    return folder / "t-0"


def _damage(folder: Path, size: int) -> Path:
    entry = _one()
    broken = entry[:-1] + bytes([entry[-1] ^ 0xFF])
    entries = (
        at_offset(whole, number)
        for number in range(2 * size)
        for whole in [(entry, broken)[number % 2]]
    )
    return _write(folder / "t-0", entries)


def _torn(folder: Path, size: int) -> Path:
    entry = _one()

    def entries() -> Iterator[bytes]:
        for number in range(size):
            yield at_offset(entry, 2 * number)
            yield at_offset(entry, 2 * number + 1)[: 20 + number % 40]

    return _write(folder / "t-0", entries())


def _files(folder: Path, size: int) -> Path:
    directory = _batches(folder, 100)
    source = directory / "other"
    for number in range(size):
        target = directory / f"other-{number}"
        if number % _LINKS:
            os.link(source, target)
        else:
            target.touch()
            source = target
    return directory


def _records(folder: Path, size: int) -> Path:
    return _write(
        folder / "t-0",
        [ks.encode([_record(n) for n in range(size)], partition_leader_epoch=0)],
    )


def _bytes(folder: Path, size: int) -> Path:
    record = _record(0, value=b"\0" * (size * MIB))
    return _write(folder / "t-0", [ks.encode([record], partition_leader_epoch=0)])


def _topic(folder: Path, topic: str, pairs: Iterable[tuple[bytes | None, bytes | None]]) -> Path:
    def entries() -> Iterator[bytes]:
        records: list[Record] = []
        for number, (key, value) in enumerate(pairs):
            records.append(_record(number, key, value))
            if len(records) == _IN_BATCH:
                yield ks.encode(records, partition_leader_epoch=0)
                records.clear()
        if records:
            yield ks.encode(records, partition_leader_epoch=0)

    _write(folder / "logs" / f"{topic}-0", entries())
    return folder / "logs"


def _messages(name: str, rows: list[dict[str, Any]]) -> list[bytes]:
    filled = [_filled(array_type(name), row) for row in rows]
    encoded: list[bytes] = encode_array(name, pa.array(filled, array_type(name))).to_pylist()
    return encoded


def _filled(kind: pa.DataType, row: Any) -> Any:
    """A value of a type: what is not given is empty, zero or null."""
    if pa.types.is_struct(kind):
        given = row or {}
        return {
            each.name: _filled(each.type, given.get(each.name))
            if each.name in given or not each.nullable
            else None
            for each in kind
        }
    if row is not None:
        return [_filled(kind.value_type, item) for item in row] if pa.types.is_list(kind) else row
    if pa.types.is_list(kind):
        return []
    if pa.types.is_fixed_size_binary(kind):
        return bytes(kind.byte_width)
    return "" if pa.types.is_string(kind) else b"" if pa.types.is_binary(kind) else 0


def _groups(folder: Path, size: int) -> Path:
    names = [f"group-{number}" for number in range(size)]
    keys = _messages("GroupMetadataKey", [{"group": name} for name in names])
    values = _messages(
        "GroupMetadataValue",
        [{"schema_version": 3, "protocol_type": "consumer", "current_state_timestamp": TIME}]
        * size,
    )
    places = _messages("OffsetCommitKey", [{"group": name, "topic": "t"} for name in names])
    offsets = _messages(
        "OffsetCommitValue",
        [{"schema_version": 3, "commit_timestamp": TIME, "leader_epoch": 0}] * size,
    )
    pairs = zip(keys + places, values + offsets, strict=True)
    return _topic(folder, Topic.CONSUMER_OFFSETS, pairs)


def _ids(folder: Path, size: int) -> Path:
    keys = _messages("TransactionLogKey", [{"transactional_id": f"id-{n}"} for n in range(size)])
    values = _messages(
        "TransactionLogValue",
        [{"schema_version": 0, "producer_id": n, "transaction_timeout_ms": 60_000,
          "transaction_last_update_timestamp_ms": TIME, "transaction_start_timestamp_ms": TIME,
          "transaction_partitions": [], "transaction_status": 0}
         for n in range(size)],
    )  # fmt: skip
    return _topic(folder, Topic.TRANSACTION_STATE, zip(keys, values, strict=True))


def _schema(subject: str, version: int, number: int) -> tuple[bytes, bytes]:
    text = {"type": "record", "name": f"R{number}", "fields": [{"name": "a", "type": "long"}]}
    key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
    value = {
        "subject": subject, "version": version, "id": number, "schema": json.dumps(text),
        "deleted": False,
    }  # fmt: skip
    return json.dumps(key).encode(), json.dumps(value).encode()


def _subjects(folder: Path, size: int) -> Path:
    return _topic(folder, "_schemas", (_schema(f"t-{n}", 1, n + 1) for n in range(size)))


def _schemas(folder: Path, size: int) -> Path:
    return _topic(folder, "_schemas", (_schema("t-value", n + 1, n + 1) for n in range(size)))


def _cluster(folder: Path, size: int) -> Path:
    """Topics of 100 partitions each."""
    topics, partitions = [], []
    for number in range(-(-size // _IN_BATCH)):
        identity = (number + 2).to_bytes(_ID, "big")
        topics.append({"name": f"topic-{number}", "topic_id": identity})
        partitions += [
            {"partition_id": n, "topic_id": identity, "replicas": [1], "isr": [1], "leader": 1}
            for n in range(min(_IN_BATCH, size - number * _IN_BATCH))
        ]
    values = _messages("TopicRecord", topics) + _messages("PartitionRecord", partitions)
    return _topic(folder, Topic.CLUSTER_METADATA, ((None, value) for value in values))


def _remote(folder: Path, size: int) -> Path:
    rows = [
        {"remote_log_segment_id": {
            "topic_id_partition": {"name": "t", "id": (2).to_bytes(_ID, "big"), "partition": 0},
            "id": (number + 2).to_bytes(_ID, "big")},
         "start_offset": 10 * number, "end_offset": 10 * number + 9, "broker_id": 1,
         "max_timestamp_ms": TIME, "event_timestamp_ms": TIME, "segment_size_in_bytes": 1000,
         "segment_leader_epochs": [{"leader_epoch": 0, "offset": 0}]}
        for number in range(size)
    ]  # fmt: skip
    values = _messages("RemoteLogSegmentMetadataRecord", rows)
    return _topic(folder, Topic.REMOTE_LOG_METADATA, ((None, value) for value in values))


def _text(folder: Path, size: int) -> Path:
    """The text of a segment of so many batches."""
    log = log_of(_batches(folder, size))
    made, text = folder / "made", folder / "text"
    command = [sys.executable, "-m", "kafkaspec", "explain", "--format", "assembly", str(log)]
    with made.open("wb") as out:
        subprocess.run(command, stdout=out, check=True)
    return made.rename(text)


def _nothing(folder: Path, _: int) -> Path:
    return folder


AXES: Final = {
    axis.name: axis
    for axis in (
        Axis("aborted transactions", _aborted),
        Axis("broken batches", _damage),
        Axis("batches", _batches, 1_000_000),
        Axis("open transactions", _open),
        Axis("segments", _segments),
        Axis("groups", _groups),
        Axis("transactional ids", _ids),
        Axis("subjects", _subjects),
        Axis("schemas", _schemas),
        Axis("partitions of a cluster", _cluster),
        Axis("remote segments", _remote),
        Axis("batches as text", _text),
        Axis("partitions", _partitions),
        Axis("cut batches", _torn),
        Axis("producers", _producers),
        Axis("keys", _keys),
        Axis("files", _files, 1_000_000),
        Axis("records of a batch", _records, 1_000_000),
        Axis("size of a record", _bytes, 256, "MiB"),
        Axis("random logs", _nothing),
    )
}
