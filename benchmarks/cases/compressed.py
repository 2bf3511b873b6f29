"""Columns of compressed segments in memory, against aiokafka and kafka-python."""

from __future__ import annotations

from benchmarks.cases.columns import check_equal
from benchmarks.core import PLAIN, Core
from benchmarks.data import LARGE_BATCH, MIB, SMALL_BATCH, Shape, segment
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number, times
from benchmarks.peers import AIOKAFKA, KAFKA_PYTHON, read_aiokafka, read_kafka_python
from benchmarks.timing import Candidate, measure
from kafkaspec import compression as compressions
from kafkaspec.codecs.native import NativeCodec
from kafkaspec.log.segment import Segment

_COLUMNS, _DECOMPRESS = "columns", "decompression"
_GATES = {"lz4": 3.5, "zstd": 2.3, "snappy": 2.5, "gzip": 2.8}


def run(settings: Settings) -> Outcome:
    """All compressions, batches of both sizes."""
    codec = NativeCodec()
    outcome = Outcome()
    table = Table(
        "Columns of compressed records of 100 B in memory, ns a record",
        (
            "records", "decompression alone", "columns", "GB/s of records", "aiokafka",
            "against columns", "kafka-python", "against columns",
        ),
        notes=["Decompression alone: `kafkaspec.compression` of each payload, no records."],
    )  # fmt: skip
    for batch in (SMALL_BATCH, LARGE_BATCH):
        for name, gate in _GATES.items():
            shape = Shape(100, batch=batch, compression=name)
            check_equal(codec, shape)
            data = segment(shape, settings.size(16 * MIB))
            small = segment(shape, settings.size(2 * MIB))
            tiny = segment(shape, settings.size(MIB))
            core = Core(codec, data.data)
            payloads = [
                (entry.compression, bytes(entry.payload or b"")) for entry in _batches(data.data)
            ]

            def inflate(payloads: list[tuple[int, bytes]] = payloads, rows: int = 0) -> int:
                for kind, payload in payloads:
                    compressions.decompress(kind, payload, magic=2)
                return rows

            found = measure(
                [
                    Candidate(_DECOMPRESS, lambda f=inflate, n=data.records: f(rows=n), data.records),  # type: ignore[misc]
                    Candidate(_COLUMNS, lambda c=core: c.columns(PLAIN), data.records),  # type: ignore[misc]
                    Candidate(AIOKAFKA, lambda d=small.data: read_aiokafka(d), small.records),  # type: ignore[misc]
                    Candidate(KAFKA_PYTHON, lambda d=tiny.data: read_kafka_python(d), tiny.records),  # type: ignore[misc]
                ],
                settings.rounds(7),
            )
            against = found.ratio(AIOKAFKA, _COLUMNS)
            table.rows.append(
                (
                    shape.name,
                    number(found.median(_DECOMPRESS)),
                    number(found.median(_COLUMNS)),
                    number(data.payload / data.records / found.median(_COLUMNS)),
                    number(found.median(AIOKAFKA)),
                    times(against),
                    number(found.median(KAFKA_PYTHON)),
                    times(found.ratio(KAFKA_PYTHON, _COLUMNS)),
                )
            )
            if batch == SMALL_BATCH:
                outcome.figures.append(Figure(f"compressed against aiokafka, {name}", against, gate))
    outcome.tables.append(table)
    return outcome


def _batches(data: bytes):  # type: ignore[no-untyped-def]
    return Segment(data).batches()


CASE = Case("compressed", "Compressed columns in memory", run)
