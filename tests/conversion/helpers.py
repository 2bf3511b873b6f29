"""Converts buffers of entries."""

from __future__ import annotations

from typing import Any

from kafkaspec import decode
from kafkaspec.codecs import get_codec
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.entries import EntryConverter
from kafkaspec.log.headers import readable_headers
from kafkaspec.log.segment import Segment
from kafkaspec.log.transactions import Markers
from kafkaspec.model import Record


def converted(
    data: bytes, *, codec: str | None = None, log_start_offset: int | None = None, **choices: Any
) -> tuple[bytes, EntryConverter]:
    """The converted entries, and the converter with its counts."""
    segment = Segment(data, codec=codec, tail="raise")
    converter = EntryConverter(
        Choices(**choices),
        get_codec(codec),
        markers=Markers(readable_headers(segment)),
        log_start_offset=log_start_offset,
    )
    made = bytearray()
    for batch in segment.batches():
        for entries in converter.convert(batch):
            made += entries
    for entries in converter.flush():
        made += entries
    return bytes(made), converter


def converted_bytes(data: bytes, **choices: Any) -> bytes:
    return converted(data, **choices)[0]


def data_records(data: bytes) -> list[Record]:
    """The records of entries but those of control batches, as the Python codec reads them."""
    return list(Segment(data, codec="python", tail="raise").records())


def all_records(data: bytes) -> list[Record]:
    """The records of entries, those of control batches among them, by the Python codec."""
    return decode(data, codec="python")


def as_magic(record: Record, magic: int) -> Record:
    """The parts of a record that an older format keeps."""
    if magic == 2:
        return record
    return Record(record.offset, record.timestamp if magic else -1, record.key, record.value)
