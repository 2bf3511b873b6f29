"""A second opinion: kafka-python and aiokafka read what we write, and we what they write."""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka.record.default_records import (  # type: ignore[import-untyped]
    DefaultRecordBatchBuilder as AioBatchBuilder,
)
from aiokafka.record.legacy_records import (  # type: ignore[import-untyped]
    LegacyRecordBatchBuilder as AioLegacyBuilder,
)
from aiokafka.record.memory_records import (  # type: ignore[import-untyped]
    MemoryRecords as AioRecords,
)
from hypothesis import given, settings
from kafka.record.default_records import (  # type: ignore[import-untyped]
    DefaultRecordBatchBuilder,
)
from kafka.record.legacy_records import (  # type: ignore[import-untyped]
    LegacyRecordBatchBuilder,
)
from kafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]

from kafkaspec import decode, encode
from kafkaspec.codecs import Codec
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from tests.extent import examples
from tests.goldens import Directory, directories, distinct
from tests.log.strategies import CODECS, records
from tests.loops import each

IDS = {name: number for number, name in enumerate(CODECS)}
AIOKAFKA_LACKS = (0, "lz4")
FEW = settings(max_examples=examples(40), deadline=None)

# Plain data: neither library takes header keys that are no text, or negative timestamps.
ITEMS = [
    Record(0, 1_000, b"key", b"value", (("name", b"content"), ("none", None), ("", b""))),
    Record(1, 900, None, b"older"),
    Record(2, 1_000_000_000_000, b"", None),
    Record(3, 1_000_000_000_000, None, b"a text that repeats itself, a text that repeats " * 300),
]


def legacy_items(magic: int) -> list[Record]:
    return [item._replace(headers=(), timestamp=item.timestamp if magic else -1) for item in ITEMS]


def as_read_by_kafka_python(data: bytes) -> list[Record]:
    found = []
    for batch in MemoryRecords(data):
        assert batch.validate_crc()
        found += [
            Record(
                item.offset,
                -1 if item.timestamp is None else item.timestamp,
                item.key,
                item.value,
                tuple(item.headers),
            )
            for item in batch
        ]
    return found


def as_read_by_aiokafka(data: bytes) -> list[Record]:
    found = []
    source = AioRecords(data)
    while source.has_next():
        batch = source.next_batch()
        assert batch is not None
        assert batch.validate_crc()
        for item in batch:
            timestamp = -1 if item.timestamp is None else item.timestamp
            found.append(Record(item.offset, timestamp, item.key, item.value, tuple(item.headers)))
    return found


# -- they read what we write ---------------------------------------------------------------------


@pytest.mark.parametrize("compression", CODECS)
def test_they_read_our_batches(compression: str, codec: Codec) -> None:
    data = encode(
        ITEMS,
        compression=compression,
        producer_id=5,
        producer_epoch=2,
        base_sequence=10,
        transactional=True,
        codec=codec,
    )
    assert as_read_by_kafka_python(data) == ITEMS
    assert as_read_by_aiokafka(data) == ITEMS
    batch = MemoryRecords(data).next_batch()
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (5, 2, 10)
    assert (batch.last_sequence, batch.records_count, batch.is_transactional) == (13, 4, True)
    assert batch.max_timestamp == 1_000_000_000_000


@pytest.mark.parametrize("compression", CODECS[:4])
@pytest.mark.parametrize("magic", [0, 1])
def test_they_read_our_messages(magic: int, compression: str, codec: Codec) -> None:
    items = legacy_items(magic)
    data = encode(items, magic=magic, compression=compression, codec=codec)
    assert as_read_by_kafka_python(data) == items
    if (magic, compression) != AIOKAFKA_LACKS:
        assert as_read_by_aiokafka(data) == items


@FEW
@given(items=records(2, least=1))
def test_kafka_python_reads_our_batches_whatever_is_in_them(items: list[Record]) -> None:
    text_only = [
        item._replace(
            headers=tuple((key, value) for key, value in item.headers if key.isprintable()),
            timestamp=abs(item.timestamp) % 2**50,
        )
        for item in items
    ]
    assert as_read_by_kafka_python(encode(text_only)) == text_only


# -- we read what they write ---------------------------------------------------------------------


def fill(builder: Any, items: list[Record], magic: int) -> bytes:
    for item in items:
        taken = builder.append(
            item.offset,
            item.timestamp if magic else None,
            item.key,
            item.value,
            list(item.headers),
        )
        assert taken is not None
    return bytes(builder.build())


@pytest.mark.parametrize("builder", [DefaultRecordBatchBuilder, AioBatchBuilder])
@pytest.mark.parametrize("compression", CODECS)
def test_we_read_their_batches(compression: str, builder: Any, codec: Codec) -> None:
    batch = builder(
        magic=2,
        compression_type=IDS[compression],
        is_transactional=1,
        producer_id=7,
        producer_epoch=1,
        base_sequence=3,
        batch_size=1_000_000,
    )
    data = fill(batch, ITEMS, 2)
    assert decode(data, codec=codec) == ITEMS
    (found,) = Segment(data, codec=codec).batches()
    assert found.compression_name == compression
    assert (found.producer_id, found.producer_epoch, found.base_sequence) == (7, 1, 3)
    assert found.is_transactional
    if compression == "none":
        written = encode(
            ITEMS,
            producer_id=7,
            producer_epoch=1,
            base_sequence=3,
            transactional=True,
            partition_leader_epoch=found.partition_leader_epoch,
            codec=codec,
        )
        assert written == data


@pytest.mark.parametrize(
    ("builder", "magic", "compression"),
    [
        (builder, magic, compression)
        for builder in (LegacyRecordBatchBuilder, AioLegacyBuilder)
        for magic in (0, 1)
        for compression in CODECS[:4]
        if builder is LegacyRecordBatchBuilder or (magic, compression) != AIOKAFKA_LACKS
    ],
)
def test_we_read_their_messages(magic: int, compression: str, builder: Any, codec: Codec) -> None:
    items = legacy_items(magic)
    batch = builder(magic=magic, compression_type=IDS[compression], batch_size=1_000_000)
    for item in items:
        timestamp = item.timestamp if magic else None
        batch.append(item.offset, timestamp, item.key, item.value)
    data = bytes(batch.build())
    found = decode(data, codec=codec)
    assert [item._replace(offset=0) for item in found] == [
        item._replace(offset=0) for item in items
    ]
    if compression == "none":
        assert [item.offset for item in found] == [0, 1, 2, 3]
        assert encode(items, magic=magic, codec=codec) == data


# -- golden files --------------------------------------------------------------------------------


@pytest.mark.core
@each("directory", directories(of=distinct(".log")))
def test_kafka_python_reads_the_same_from_golden_files(directory: Directory) -> None:
    for golden in directory.files:
        data = golden.path.read_bytes()
        assert as_read_by_kafka_python(data) == list(Segment(data).records(include_control=True)), (
            golden
        )
