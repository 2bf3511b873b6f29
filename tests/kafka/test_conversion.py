"""Down-conversion as brokers up to 3.9 did it for old consumers, entry by entry."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kafkaspec import encode
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.log.batch import Batch
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from tests.conversion.helpers import converted_bytes
from tests.goldens import distinct
from tools.brokers.versions import by_name
from tools.kafka.conversion import down_convert

pytestmark = pytest.mark.kafka
CODECS = ("none", "gzip", "snappy", "lz4")


@cache
def cases() -> list[tuple[int, bytes]]:
    """Magic, and entries that all have a larger one: Kafka leaves others as they are."""
    logs = [item.path.read_bytes() for item in distinct(".log")]
    logs += made(random.Random(7))
    found = []
    for log in logs:
        batches = list(Segment(log).batches())
        for magic in (0, 1):
            entries = b"".join(bytes(item.data) for item in batches if item.magic > magic)
            if entries:
                found.append((magic, entries))
    return found


def made(chance: random.Random) -> list[bytes]:
    """Logs with gaps, old timestamps, every codec, both timestamp types."""
    logs = []
    for number in range(300):
        log, offset = b"", chance.choice([0, 0, 1, 500, 1 << 40])
        for _ in range(chance.randint(1, 4)):
            records = []
            for _ in range(chance.randint(1, 8)):
                key, value = (
                    chance.choice([None, b"", chance.randbytes(chance.randint(1, 60))])
                    for _ in range(2)
                )
                headers = (("h", b"1"),) * chance.randint(0, 1)
                records.append(
                    Record(offset, chance.choice([-1, 0, 1 << 40, offset]), key, value, headers)
                )
                offset += chance.choice([1, 1, 1, 7])
            magic = 1 + number % 2
            options: dict[str, Any] = {"magic": magic, "compression": chance.choice(CODECS)}
            if magic == 1:
                records = [record._replace(headers=()) for record in records]
            if chance.random() < 0.3:
                options |= {"timestamp_type": "LogAppendTime", "max_timestamp": 1 << 41}
            log += encode(records, **options)
        logs.append(log)
    return logs


def shape(batch: Batch) -> tuple[Any, ...]:
    """An entry without its compressed bytes; all bytes if it is not compressed."""
    if not batch.is_compressed:
        return (bytes(batch.data),)
    frame = bytes(batch.payload or b"")[:7] if batch.compression_name == "lz4" else b""
    inner = batch.decompressed()
    return (batch.magic, batch.message.attributes, batch.last_offset, batch.max_timestamp,
            batch.crc_valid, frame, bytes(inner))  # fmt: skip


@cache
def shapes(log: bytes) -> list[tuple[Any, ...]]:
    """Those of all entries; both releases answer the same."""
    return [shape(batch) for batch in Segment(log).batches()]


@cache
def our_shapes(log: bytes, magic: int) -> list[tuple[Any, ...]]:
    """Those that we make of a log."""
    return shapes(converted_bytes(log, magic=magic))


@pytest.mark.parametrize("name", ["2.8.2", "3.9.2"])
def test_entries_are_those_of_a_broker(name: str, tmp_path: Path) -> None:
    version = by_name(name)
    everything = cases()
    answers = down_convert(version, tmp_path, everything)
    assert len(answers) == len(everything)
    compared = refused = 0
    for (magic, log), answer in zip(everything, answers, strict=True):
        if isinstance(answer, str):
            assert answer == "UnsupportedCompressionTypeException"
            with pytest.raises(KafkaSpecError) as caught:
                converted_bytes(log, magic=magic)
            assert caught.value.reason is Reason.UNSUPPORTED_COMPRESSION
            refused += 1
            continue
        ours = our_shapes(log, magic)
        if answer == log:  # of which nothing can be converted: Kafka hands it out as it is
            assert ours == []
            continue
        theirs = shapes(answer)
        assert ours == theirs
        compared += len(theirs)
    assert compared > 1000
    assert refused
