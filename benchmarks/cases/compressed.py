"""Columns of compressed segments in memory, against aiokafka and kafka-python."""

from __future__ import annotations

from benchmarks.cases.columns import check_equal
from benchmarks.core import PLAIN, read_columns, record_batches
from benchmarks.data import LARGE_BATCH, MIB, SMALL_BATCH, Shape, segment
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number, times
from benchmarks.peers import AIOKAFKA, KAFKA_PYTHON, read_aiokafka, read_kafka_python
from benchmarks.timing import Candidate, measure
from kafkaspec import compression as compressions
from kafkaspec.log.segment import Segment

_BATCHES, _COLUMNS, _DECOMPRESS = "record batches", "columns", "decompression"
_GATES = {"lz4": 5.0, "zstd": 2.6, "snappy": 3.5, "gzip": 4.0}


def run(settings: Settings) -> Outcome:
    """All compressions, batches of both sizes."""
    outcome = Outcome()
    table = Table(
        "Columns of compressed records of 100 B in memory, ns a record",
        (
            "records", "decompression alone", "columns", "`to_batches`", "GB/s of records",
            "aiokafka", "against `to_batches`", "kafka-python", "against `to_batches`",
        ),
        notes=["Decompression alone: `kafkaspec.compression` of each payload, no records."],
    )  # fmt: skip
    for batch in (SMALL_BATCH, LARGE_BATCH):
        for name, gate in _GATES.items():
            shape = Shape(100, batch=batch, compression=name)
            check_equal(shape)
            row, against = _compare(shape, settings)
            table.rows.append(row)
            if batch == SMALL_BATCH:
                what = f"compressed against aiokafka, {name}"
                outcome.figures.append(Figure(what, against, gate))
    outcome.tables.append(table)
    return outcome


def _compare(shape: Shape, settings: Settings) -> tuple[tuple[str, ...], float]:
    """A row of the table, and how much longer aiokafka takes."""
    data = segment(shape, settings.size(48 * MIB))
    small = segment(shape, settings.size(2 * MIB))
    tiny = segment(shape, settings.size(MIB))
    payloads = [
        (entry.compression, bytes(entry.payload or b"")) for entry in Segment(data.data).batches()
    ]

    def inflate() -> int:
        for kind, payload in payloads:
            compressions.decompress(kind, payload, magic=2)
        return data.records

    found = measure(
        [
            Candidate(_DECOMPRESS, inflate, data.records),
            Candidate(_COLUMNS, lambda: read_columns(data.data, PLAIN), data.records),
            Candidate(_BATCHES, lambda: record_batches(data.data, PLAIN), data.records),
            Candidate(AIOKAFKA, lambda: read_aiokafka(small.data), small.records),
            Candidate(KAFKA_PYTHON, lambda: read_kafka_python(tiny.data), tiny.records),
        ],
        settings.rounds(5),
    )
    against = found.ratio(AIOKAFKA, _BATCHES)
    row = (
        shape.name,
        number(found.median(_DECOMPRESS)),
        number(found.median(_COLUMNS)),
        number(found.median(_BATCHES)),
        number(data.payload / data.records / found.median(_BATCHES)),
        number(found.median(AIOKAFKA)),
        times(against),
        number(found.median(KAFKA_PYTHON)),
        times(found.ratio(KAFKA_PYTHON, _BATCHES)),
    )
    return row, against


CASE = Case("compressed", "Compressed columns in memory", run)
