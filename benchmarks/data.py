"""Segments that look like a producer's, the same on every machine and in every run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from kafkaspec import compression as compressions
from kafkaspec._generated.python.model.recordbatch import (
    BatchAttributes,
    CompressionType,
    Entry,
    RecordBatch,
)
from kafkaspec.codecs.native import NativeCodec
from kafkaspec.files.names import LOG, segment_name
from kafkaspec.model import Record

KIB = 1024
MIB = 1024 * KIB
SMALL_BATCH = 16 * KIB
LARGE_BATCH = MIB

_SEED = 20240229
_FIRST_TIMESTAMP = 1_700_000_000_000
_DISTINCT = 16 * MIB
_TEXT = 512 * KIB
_WORDS = 400


@dataclass(frozen=True)
class Shape:
    """The shape of the records of a segment, and of the batches that hold them.

    Attributes:
        value: bytes of a value, +-25 %.
        headers: headers of a record, 0 to 3.
        batch: bytes of records in a batch before compression.
        compression: as in Kafka's configuration.
    """

    value: int
    headers: int = 0
    batch: int = SMALL_BATCH
    compression: str = "none"

    @property
    def name(self) -> str:
        """The name in a table, without usual properties."""
        size = f"{self.value // KIB} KB" if self.value >= KIB else f"{self.value} B"
        parts = [size]
        if self.headers:
            parts.append(f"{self.headers} headers")
        if self.compression != "none":
            parts.append(self.compression)
        if self.batch != SMALL_BATCH:
            parts.append(f"{self.batch // KIB} KiB batches")
        return ", ".join(parts)


@dataclass(frozen=True)
class Data:
    """A segment, and how many records and bytes of records before compression it has."""

    data: bytes
    records: int
    payload: int


def records_of(shape: Shape, chance: random.Random, first: int = 0) -> Iterator[Record]:
    """Endless records: 10 byte keys, slices of JSON text as values, ids of traces in headers."""
    text = _text()
    timestamp = _FIRST_TIMESTAMP
    offset = first
    low, high = shape.value * 3 // 4, shape.value * 5 // 4
    while True:
        size = chance.randint(low, high)
        start = chance.randrange(len(text) - size)
        headers = (
            ("trace-id", chance.randbytes(8).hex().encode()),
            ("source", b"checkout-service"),
            ("content-type", b"application/json"),
        )[: shape.headers]
        timestamp += chance.randrange(3)
        key = b"key-%06d" % chance.randrange(1_000_000)
        yield Record(offset, timestamp, key, text[start : start + size], headers)
        offset += 1


def batches_of(shape: Shape, total: int) -> Iterator[tuple[bytes, int, int]]:
    """Entries until their records have ``total`` bytes; with each its records and their bytes."""
    codec = NativeCodec()
    chance = random.Random(_SEED)
    offset = done = 0
    source = records_of(shape, chance)
    while done < total:
        records: list[Record] = []
        size = 0
        while size < shape.batch:
            record = replace_offset(next(source), offset + len(records))
            size += _wire_size(record)
            records.append(record)
        entry, payload = encode_batch(codec, records, shape.compression)
        yield entry, len(records), payload
        offset += len(records)
        done += payload


def replace_offset(record: Record, offset: int) -> Record:
    """The record at another offset."""
    return Record(offset, *record[1:])


def header_of(records: list[Record], compression: str = "none") -> RecordBatch:
    """The header of a batch of these records, the payload empty."""
    return RecordBatch(
        base_offset=records[0].offset,
        attributes=BatchAttributes(compression=CompressionType[compression.upper()]),
        last_offset_delta=len(records) - 1,
        base_timestamp=records[0].timestamp,
        max_timestamp=max(record.timestamp for record in records),
        num_records=len(records),
        records=b"",
    )


def encode_batch(codec: NativeCodec, records: list[Record], compression: str) -> tuple[bytes, int]:
    """An entry with these records, and their bytes before compression."""
    batch = header_of(records, compression)
    payload = codec.encode_records(batch, records)
    stored = payload
    if batch.attributes.compression:
        stored = compressions.compress(batch.attributes.compression, payload, magic=2)
    message = replace(batch, records=stored)
    entry = Entry(base_offset=batch.base_offset, message=message)
    return codec.serialize("recordbatch.entry", entry), len(payload)


@lru_cache(maxsize=2)
def segment(shape: Shape, size: int) -> Data:
    """A segment with ``size`` bytes of records before compression.

    Up to 16 MiB of them are distinct; what is more repeats those entries at later offsets, which a
    checksum does not cover.
    """
    made = list(batches_of(shape, min(size, _DISTINCT)))
    parts = []
    offset = payload = 0
    while payload < size:
        for entry, count, octets in made:
            parts.append(at_offset(entry, offset))
            offset += count
            payload += octets
    return Data(b"".join(parts), offset, payload)


def segment_file(directory: Path, shape: Shape, size: int) -> tuple[Path, Data]:
    """Write a segment to a file with the name of one, and return both."""
    data = segment(shape, size)
    path = directory / segment_name(0, LOG)
    path.write_bytes(data.data)
    return path, data


def at_offset(entry: bytes, offset: int) -> bytes:
    """The entry at another base offset: its first field, which its checksum does not cover."""
    width = 8
    return offset.to_bytes(width, "big") + entry[width:]


def _wire_size(record: Record) -> int:
    """About what a record takes on the wire; close enough to fill batches."""
    size = 8 + len(record.key or b"") + len(record.value or b"")
    return size + sum(2 + len(key) + len(value or b"") for key, value in record.headers)


@lru_cache(maxsize=1)
def _text() -> bytes:
    """JSON of orders, about twice as small after lz4 or snappy."""
    chance = random.Random(_SEED)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(_WORDS)]
    parts: list[str] = []
    size = 0
    while size < _TEXT:
        note = " ".join(chance.choices(words, k=chance.randint(3, 8)))
        parts.append(
            f'{{"id":{chance.randrange(10**9)},"user":"u-{chance.randrange(10**6)}",'
            f'"amount":{chance.randrange(10**5) / 100},"city":"{chance.choice(words)}",'
            f'"note":"{note}"}}'
        )
        size += len(parts[-1])
    return "".join(parts).encode()
