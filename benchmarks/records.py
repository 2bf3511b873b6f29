"""Objects from a segment in plain Python: ours against kafka-python, over the same bytes.

    python -m benchmarks.records [--rounds N] [--batches N] [--codec NAME]

Every batch has its CRC verified, every record its offset, timestamp, key, value and headers
touched. Both sides run in one process, in turns, on thread CPU time; a figure is the median of all
rounds, the ratio the median of the ratios of neighbouring rounds. Needs ``kafka-python`` and
``crc32c``, without which kafka-python takes five times as long.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

import crc32c  # noqa: F401  (what kafka-python computes checksums with, if it is there)
from kafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model.recordbatch import (
    Entry,
    Header,
    Record,
    RecordBatch,
    RecordSet,
)
from kafkaspec.checksum import crc32c as checksum
from kafkaspec.codecs import Codec, codec_names, get_codec

BATCH_BYTES = 16 * 1024
BASE_TIMESTAMP = 1_700_000_000_000


@dataclass(frozen=True)
class Shape:
    """The shape of the records of a data set."""

    name: str
    value_bytes: int
    headers: int = 0


SHAPES = (
    Shape("20 B", 20),
    Shape("100 B", 100),
    Shape("100 B, 3 headers", 100, headers=3),
    Shape("1 KB", 1000),
)


def make_segment(shape: Shape, batches: int) -> tuple[bytes, int]:
    """Deterministic uncompressed batches of about 16 KB, and how many records they hold."""
    chance = random.Random(20240229)
    codec = get_codec("python")
    entries = []
    base_offset = 0
    for _ in range(batches):
        batch = RecordBatch(
            base_offset=base_offset,
            last_offset_delta=0,
            base_timestamp=BASE_TIMESTAMP + base_offset,
            max_timestamp=0,
            num_records=0,
            records=b"",
        )
        records = list(_records(shape, batch, chance))
        batch.num_records = len(records)
        batch.last_offset_delta = len(records) - 1
        batch.max_timestamp = batch.base_timestamp + records[-1].timestamp_delta
        batch.records = codec.serialize(
            "recordbatch.record_set", RecordSet(batch=batch, records=records)
        )
        entry = Entry(base_offset=base_offset, message=batch)
        entries.append(codec.serialize("recordbatch.entry", entry))
        base_offset += len(records)
    return b"".join(entries), base_offset


def _records(shape: Shape, batch: RecordBatch, chance: random.Random) -> Iterator[Record]:
    header_bytes = shape.headers * len("trace-0 12345678")
    count = max(1, BATCH_BYTES // (shape.value_bytes + 8 + header_bytes + 8))
    for delta in range(count):
        yield Record(
            batch=batch,
            timestamp_delta=delta + chance.randrange(3),
            offset_delta=delta,
            key=chance.randbytes(8),
            value=chance.randbytes(shape.value_bytes),
            headers=[
                Header(key=f"trace-{i}".encode(), value=chance.randbytes(8))
                for i in range(shape.headers)
            ],
        )


def read_ours(codec: Codec, data: bytes) -> int:
    """Decode everything with one of our codecs; the number of records."""
    rule = LAYOUTS["recordbatch.record_batch"].checksum
    framing = (
        LAYOUTS["recordbatch.entry"].minimum_size - LAYOUTS["recordbatch.message"].minimum_size
    )
    assert rule is not None
    view = memoryview(data)
    position = count = 0
    while position < len(data):
        entry, end = codec.parse("recordbatch.entry", data, position)
        batch = entry.message
        if checksum(view[position + framing + rule.start : end]) != batch.crc:
            raise AssertionError("checksum")
        for record in codec.decode_records(batch, batch.records):
            _ = record.offset, record.timestamp, record.key, record.value, record.headers
            count += 1
        position = end
    return count


def read_kafka_python(data: bytes) -> int:
    """Decode everything with kafka-python; the number of records."""
    records = MemoryRecords(data)
    count = 0
    while (batch := records.next_batch()) is not None:
        if not batch.validate_crc():
            raise AssertionError("checksum")
        for record in batch:
            _ = record.offset, record.timestamp, record.key, record.value, record.headers
            count += 1
    return count


def cpu_seconds(read: Callable[[], int], expected: int) -> float:
    """CPU time of this thread for one pass."""
    start = time.thread_time()
    found = read()
    seconds = time.thread_time() - start
    if found != expected:
        raise AssertionError(f"{found} records instead of {expected}")
    return seconds


def compare(shape: Shape, codec: Codec, batches: int, rounds: int) -> tuple[float, float, float]:
    """Nanoseconds a record, ours and kafka-python's, and how many times faster ours is."""
    data, count = make_segment(shape, batches)
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(cpu_seconds(lambda: read_ours(codec, data), count))
        theirs.append(cpu_seconds(lambda: read_kafka_python(data), count))
    ratio = median(b / a for a, b in zip(ours, theirs, strict=True))
    return median(ours) / count * 1e9, median(theirs) / count * 1e9, ratio


def main() -> None:
    parser = argparse.ArgumentParser(description="Records a second, against kafka-python.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--codec", choices=codec_names(), default="python")
    options = parser.parse_args()
    codec = get_codec(options.codec)
    print(f"Python {sys.version.split()[0]}, codec {codec.name}, ns of CPU time a record")
    print(f"{'records':<18}{codec.name:>10}{'kafka-python':>14}{'ratio':>8}")
    for shape in SHAPES:
        ours, theirs, ratio = compare(shape, codec, options.batches, options.rounds)
        print(f"{shape.name:<18}{ours:>10.0f}{theirs:>14.0f}{ratio:>7.2f}x")


if __name__ == "__main__":
    main()
