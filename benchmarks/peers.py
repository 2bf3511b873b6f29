"""Other readers and writers of the format. Each touches all parts of each record, CRC verified."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import crc32c  # noqa: F401  (what kafka-python computes checksums with; slow without it)
from aiokafka.record import MemoryRecords as AioRecords  # type: ignore[import-untyped]
from aiokafka.record.default_records import (  # type: ignore[import-untyped]
    DefaultRecordBatchBuilder as AioBuilder,
)
from kafka.record.default_records import (  # type: ignore[import-untyped]
    DefaultRecordBatchBuilder as KafkaBuilder,
)
from kafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]

from kafkaspec.log.segment import Segment
from kafkaspec.model import Record

AIOKAFKA = "aiokafka"
KAFKA_PYTHON = "kafka-python"


def read_aiokafka(data: bytes) -> int:
    """All records with aiokafka's Cython reader."""
    rows = 0
    source = AioRecords(data)
    while source.has_next():
        batch = source.next_batch()
        if not batch.validate_crc():
            raise AssertionError("checksum")
        for record in batch:
            _ = record.offset, record.timestamp, record.key, record.value, record.headers
            rows += 1
    return rows


def read_kafka_python(data: bytes) -> int:
    """All records with kafka-python."""
    rows = 0
    source = MemoryRecords(data)
    while source.has_next():
        batch = source.next_batch()
        if not batch.validate_crc():
            raise AssertionError("checksum")
        for record in batch:
            _ = record.offset, record.timestamp, record.key, record.value, record.headers
            rows += 1
    return rows


def read_codec(data: bytes, codec: str) -> int:
    """All records with one of our codecs, through the public interface.

    They are tuples with all parts in them; those of the peers make a part when it is asked for.
    """
    rows = 0
    for _ in Segment(data, codec=codec).records():
        rows += 1
    return rows


def read_parts(data: bytes, codec: str) -> int:
    """The same, and each part is read once more by its name."""
    rows = 0
    for record in Segment(data, codec=codec).records():
        _ = record.offset, record.timestamp, record.key, record.value, record.headers
        rows += 1
    return rows


def records_aiokafka(data: bytes) -> list[Record]:
    """Return the records that aiokafka reads, to compare."""
    return _collect(AioRecords(data))


def records_kafka_python(data: bytes) -> list[Record]:
    """Return the records that kafka-python reads, to compare."""
    return _collect(MemoryRecords(data))


def _collect(source: Any) -> list[Record]:
    found = []
    while source.has_next():
        for record in source.next_batch():
            headers = tuple((str(key), value) for key, value in record.headers)
            found.append(Record(record.offset, record.timestamp, record.key, record.value, headers))
    return found


Row = tuple[int, int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]


def rows_of(records: list[Record]) -> list[Row]:
    """Arguments for ``append`` of the peers' builders."""
    return [
        (number, record.timestamp, record.key, record.value, list(record.headers))
        for number, record in enumerate(records)
    ]


def build(maker: Callable[[int], Any], size: int, rows: list[Row]) -> bytes:
    """A batch of these rows with a peer's builder."""
    made = maker(size)
    append = made.append
    for row in rows:
        append(*row)
    return bytes(made.build())


def aiokafka_builder(size: int) -> Any:
    """A builder of uncompressed batches."""
    return AioBuilder(2, 0, False, -1, -1, -1, size)


def kafka_python_builder(size: int) -> Any:
    """A builder of uncompressed batches."""
    return KafkaBuilder(2, 0, 0, -1, -1, -1, size)
