"""The native core against memcpy + CRC of the same bytes, aiokafka and kafka-python, in one run.

    python -m benchmarks.native_core [--rounds N] [--megabytes N] [--only TEXT]

Thread CPU time, all candidates of a case in turns, medians; a ratio is the median of the ratios
of neighbouring rounds. Needs ``pyarrow`` (memory pool), ``aiokafka`` and ``kafka-python``.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import struct
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import pyarrow as pa
from aiokafka.record import MemoryRecords as AioRecords  # type: ignore[import-untyped]
from aiokafka.record.default_records import (  # type: ignore[import-untyped]
    DefaultRecordBatchBuilder as AioBuilder,
)
from kafka.record.default_records import (  # type: ignore[import-untyped]
    DefaultRecordBatchBuilder as KafkaBuilder,
)
from kafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]

from kafkaspec.codecs.native.codec import NativeCodec
from kafkaspec.codecs.native.columns import ColumnSet, Layout
from kafkaspec.codecs.native.scan import EntryTable, scan
from kafkaspec.model import Record

CHUNK = 8 << 20
_memcpy = ctypes.CDLL(None).memcpy
_memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
_memcpy.restype = ctypes.c_void_p
_address = ctypes.pythonapi.PyBytes_AsString
_address.argtypes = [ctypes.py_object]
_address.restype = ctypes.c_void_p


@dataclass(frozen=True)
class Shape:
    """What the records of a case look like."""

    name: str
    value: int
    headers: int = 0


SHAPES = (
    Shape("20 B", 20),
    Shape("100 B", 100),
    Shape("1 KB", 1024),
    Shape("100 B+3h", 100, 3),
    Shape("20 B+3h", 20, 3),
)


def records_of(shape: Shape, chance: random.Random, count: int) -> list[Record]:
    """Producer-like records: 10 byte keys, JSON-like values of +-25 %, few distinct header keys."""
    text = (b'{"id":%d,"user":"u-%d","amount":%d,"note":"' % (count, count * 7, count * 13)) * 64
    records = []
    stamp = 1_700_000_000_000
    for offset in range(count):
        size = chance.randint(shape.value * 3 // 4, shape.value * 5 // 4)
        start = chance.randrange(64)
        headers = (
            ("trace-id", chance.randbytes(16)),
            ("source", b"checkout-service"),
            ("content-type", b"application/json"),
        )[: shape.headers]
        stamp += chance.randrange(3)
        value = text[start : start + size]
        records.append(Record(offset, stamp, b"key-%06d" % (offset % 10**6), value, headers))
    return records


def segment_of(shape: Shape, megabytes: int, batch_bytes: int = 16384) -> bytes:
    """Batches of one shape: distinct data of 16 MB, repeated with other offsets."""
    chance = random.Random(7)
    made: list[bytes] = []
    offset = 0
    per_record = shape.value + 20 + 24 * shape.headers
    total = 0
    while total < min(megabytes, 16) << 20:
        builder = AioBuilder(2, 0, False, -1, -1, -1, batch_bytes)
        pool = records_of(shape, chance, batch_bytes // per_record + 50)
        for number, record in enumerate(pool):
            done = builder.append(
                number, record.timestamp, record.key, record.value, list(record.headers)
            )
            if done is None:
                break
        data = bytes(builder.build())
        made.append(data)
        total += len(data)
    out = []
    size = 0
    while size < megabytes << 20:
        for data in made:
            count = struct.unpack_from(">i", data, 57)[0]
            out.append(struct.pack(">q", offset) + data[8:])
            offset += count
            size += len(data)
    return b"".join(out)


def allocate(size: int) -> pa.Buffer:
    """Memory of Arrow's pool, as the public layer uses it."""
    return pa.allocate_buffer(size)


@dataclass
class Prepared:
    """A chunk ready to decode: descriptors of its batches, and how many records it has."""

    view: memoryview
    batches: array[int]
    count: int
    rows: int


def prepare(codec: NativeCodec, data: bytes, chunk: int = CHUNK) -> list[Prepared]:
    """Chunks of whole batches, from a scan of the headers."""
    table = scan(codec.core, data)
    positions, sizes = table.column("position"), table.column("size")
    counts = table.column("num_records")
    chunks, first = [], 0
    for i in range(table.count):
        end = positions[i] + sizes[i]
        if i + 1 == table.count or end + sizes[i + 1] - positions[first] > chunk:
            chunks.append(_chunk(codec, data, table, first, i + 1, sum(counts[first : i + 1])))
            first = i + 1
    return chunks


def _chunk(
    codec: NativeCodec, data: bytes, table: EntryTable, first: int, last: int, rows: int
) -> Prepared:
    positions, sizes = table.column("position"), table.column("size")
    counts = table.column("num_records")
    base = positions[first]
    batches = array("q")
    for i in range(first, last):
        batches.extend((0, positions[i] - base, sizes[i], -1, 0, 0, counts[i], 1))
    end = positions[last - 1] + sizes[last - 1]
    return Prepared(memoryview(data)[base:end], batches, last - first, rows)


def decode(codec: NativeCodec, chunks: list[Prepared], layout: Layout, names: list[str]) -> int:
    """All chunks into fresh columns, which are dropped again; records seen."""
    rows = 0
    for chunk in chunks:
        columns = ColumnSet(codec.core, names, chunk.rows, layout, len(chunk.view), allocate)
        done = 0
        while True:
            status, failed, _ = codec.core.module.decode(
                (chunk.view,),
                chunk.batches,
                done,
                chunk.count - done,
                layout,
                tuple(columns.outputs),
                columns.capacities,
                columns.state,
            )
            if status == codec.core.module.OK:
                break
            if status != codec.core.module.GROW:
                raise AssertionError(status)
            columns.grow()
            done = failed
        rows += columns.filled
    return rows


def objects(codec: NativeCodec, chunks: list[Prepared]) -> int:
    """All records as objects, batch by batch."""
    core = codec.core
    rows = 0
    for chunk in chunks:
        for number in range(chunk.count):
            found: list[Record] = []
            status, _, _ = core.module.decode_objects(
                (chunk.view,), chunk.batches, number, 1, found, Record, core.record_plan,
                core.record_text,
            )  # fmt: skip
            assert status == 0
            rows += len(found)
    return rows


def aiokafka(data: bytes) -> int:
    """Tuples by aiokafka's Cython reader, CRC verified."""
    rows = 0
    source = AioRecords(data)
    while source.has_next():
        batch = source.next_batch()
        assert batch.validate_crc()
        for record in batch:
            _touched = (record.offset, record.timestamp, record.key, record.value, record.headers)
            rows += 1
    return rows


def kafka_python(data: bytes) -> int:
    """The same by kafka-python."""
    rows = 0
    source = MemoryRecords(data)
    while source.has_next():
        batch = source.next_batch()
        assert batch.validate_crc()
        for record in batch:
            _touched = (record.offset, record.timestamp, record.key, record.value, record.headers)
            rows += 1
    return rows


def measure(candidates: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of thread CPU of each candidate, all in turns."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds + 1):
        for name, run in candidates.items():
            before = time.thread_time()
            run()
            times[name].append(time.thread_time() - before)
    return {name: values[1:] for name, values in times.items()}


def ratio(a: list[float], b: list[float]) -> float:
    """Median of the ratios of neighbouring rounds."""
    return median(x / y for x, y in zip(a, b, strict=True))


def copier(data: bytes) -> Callable[[], object]:
    """memcpy of everything, in chunks, into memory that is used again."""
    target = ctypes.create_string_buffer(CHUNK)
    source = _address(data)

    def run() -> None:
        for start in range(0, len(data), CHUNK):
            _memcpy(target, source + start, min(CHUNK, len(data) - start))

    return run


def summer(codec: NativeCodec, chunks: list[Prepared]) -> Callable[[], object]:
    """The codec's own CRC of the same bytes, batch by batch as in a segment."""
    crc = codec.core.module.crc32c

    def run() -> None:
        for chunk in chunks:
            crc(chunk.view)

    return run


def columns_case(codec: NativeCodec, shape: Shape, megabytes: int, rounds: int) -> None:
    """Columns of one shape against the limit and the peers."""
    data = segment_of(shape, megabytes)
    chunks = prepare(codec, data)
    rows = sum(chunk.rows for chunk in chunks)
    names = ["offset", "timestamp", "key", "value", "headers"]
    plain = names if shape.headers else names[:4]
    small = segment_of(shape, 2)
    small_chunks = prepare(codec, small)
    few = sum(chunk.rows for chunk in small_chunks)
    times = measure(
        {
            "memcpy": copier(data),
            "crc": summer(codec, chunks),
            "view": lambda: decode(codec, chunks, Layout.VIEW, plain),
            "binary": lambda: decode(codec, chunks, Layout.BINARY, plain),
            "objects": lambda: objects(codec, small_chunks),
            "aiokafka": lambda: aiokafka(small),
        },
        rounds,
    )
    limit = [a + b for a, b in zip(times["memcpy"], times["crc"], strict=True)]
    per = {name: median(values) / rows * 1e9 for name, values in times.items()}
    per["objects"] = median(times["objects"]) / few * 1e9
    per["aiokafka"] = median(times["aiokafka"]) / few * 1e9
    print(
        f"{shape.name:9} ns/record: "
        + " ".join(f"{name} {value:.1f}" for name, value in per.items())
    )
    scale = rows / few
    aio = [value * scale for value in times["aiokafka"]]
    print(
        f"{'':9} view/limit {ratio(times['view'], limit):.2f}"
        f"  binary/limit {ratio(times['binary'], limit):.2f}"
        f"  aiokafka/view {ratio(aio, times['view']):.1f}"
        f"  aiokafka/objects {ratio(times['aiokafka'], times['objects']):.2f}"
        f"  {len(data) / median(times['view']) / 1e9:.2f} GB/s"
    )


def encode_case(codec: NativeCodec, shape: Shape, rounds: int) -> None:
    """Columns and record objects to bytes, against the builders of the peers."""
    records = records_of(shape, random.Random(3), 16384 // (shape.value + 24 + 24 * shape.headers))
    batch = _header(codec, records)
    kind = codec.kind_of(batch)
    header = kind.header(batch)
    inputs = _inputs(codec, records)
    module = codec.core.module
    whole = module.encode(kind.number, header, len(records), inputs, True)
    assert whole == codec.encode_records(batch, records, whole=True)
    plain = [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in records]

    def builder(maker: Callable[[], object]) -> Callable[[], object]:
        def run() -> None:
            for _ in range(20):
                made = maker()
                for row in plain:
                    made.append(*row)  # type: ignore[attr-defined]
                made.build()  # type: ignore[attr-defined]

        return run

    def columns() -> None:
        for _ in range(20):
            module.encode(kind.number, header, len(records), inputs, True)

    def from_objects() -> None:
        for _ in range(20):
            codec.encode_records(batch, records, whole=True)

    size = 1 << 20
    times = measure(
        {
            "columns": columns,
            "objects": from_objects,
            "aiokafka": builder(lambda: AioBuilder(2, 0, False, -1, -1, -1, size)),
            "kafka-python": builder(lambda: KafkaBuilder(2, 0, 0, -1, -1, -1, size)),
        },
        rounds,
    )
    per = {name: median(v) / (20 * len(records)) * 1e9 for name, v in times.items()}
    print(
        f"encode {shape.name:9} " + " ".join(f"{name} {value:.0f}" for name, value in per.items())
    )
    print(
        f"{'':9} aiokafka/columns {ratio(times['aiokafka'], times['columns']):.1f}"
        f"  kafka-python/columns {ratio(times['kafka-python'], times['columns']):.1f}"
        f"  aiokafka/objects {ratio(times['aiokafka'], times['objects']):.1f}"
        f"  kafka-python/objects {ratio(times['kafka-python'], times['objects']):.1f}"
    )


def _header(codec: NativeCodec, records: list[Record]) -> object:
    from kafkaspec._generated.python.model.recordbatch import RecordBatch

    return RecordBatch(
        base_offset=0,
        last_offset_delta=len(records) - 1,
        base_timestamp=records[0].timestamp,
        max_timestamp=max(record.timestamp for record in records),
        num_records=len(records),
        records=b"",
    )


def _inputs(codec: NativeCodec, records: list[Record]) -> tuple[object, ...]:
    columns = codec.core.columns
    inputs: list[object] = [None] * len(columns)

    def binary(values: list[bytes | None]) -> tuple[object, ...]:
        table = pa.array(values, pa.binary())
        return tuple(table.buffers())

    def put(name: str, value: object) -> None:
        inputs[columns[name].number] = value

    put("offset", array("q", [r.offset for r in records]))
    put("timestamp", array("q", [r.timestamp for r in records]))
    put("key", binary([r.key for r in records]))
    put("value", binary([r.value for r in records]))
    offsets = array("i", [0])
    for record in records:
        offsets.append(offsets[-1] + len(record.headers))
    put("headers", offsets)
    pairs = [pair for record in records for pair in record.headers]
    put("headers.key", binary([key.encode() for key, _ in pairs]))
    put("headers.value", binary([value for _, value in pairs]))
    return tuple(inputs)


def scan_case(codec: NativeCodec, rounds: int) -> None:
    """All headers of 256 MB of 16 KB batches; the gate is 20 ms a GiB."""
    data = segment_of(SHAPES[1], 256)
    times = measure({"scan": lambda: scan(codec.core, data)}, rounds)
    per = median(times["scan"]) * (1 << 30) / len(data) * 1000
    print(f"scan      {per:.1f} ms a GiB of 16 KB batches")


def main() -> None:
    """Runs the cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--megabytes", type=int, default=128)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    codec = NativeCodec()
    print(f"CRC-32C: {codec.core.module.CRC32C_KERNEL}")
    for shape in SHAPES:
        if options.only in f"columns {shape.name}":
            columns_case(codec, shape, options.megabytes, options.rounds)
    for shape in (SHAPES[1], SHAPES[3]):
        if options.only in f"encode {shape.name}":
            encode_case(codec, shape, options.rounds)
    if options.only in "scan":
        scan_case(codec, options.rounds)


if __name__ == "__main__":
    main()
