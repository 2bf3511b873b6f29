"""Columns in memory against the limit of the machine, aiokafka and kafka-python."""

from __future__ import annotations

from benchmarks.core import names_of, read_columns, records_of_batches, records_of_columns
from benchmarks.data import KIB, LARGE_BATCH, MIB, Shape, segment
from benchmarks.limits import CRC, MEMCPY, Limits
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number, times
from benchmarks.peers import (
    AIOKAFKA,
    KAFKA_PYTHON,
    read_aiokafka,
    read_kafka_python,
    records_aiokafka,
    records_kafka_python,
)
from benchmarks.timing import Candidate, Times, measure
from kafkaspec.codecs.native import NativeCodec
from kafkaspec.columns.memory import Layout

_VIEW, _COPY, _NARROW = "views", "copies", "narrow"
_NARROW_NAMES = ("offset", "timestamp")

_SHAPES = (
    Shape(20),
    Shape(100),
    Shape(1024),
    Shape(100, headers=3),
    Shape(20, headers=3),
    Shape(1024, headers=3),
    Shape(20, batch=LARGE_BATCH),
    Shape(100, batch=LARGE_BATCH),
    Shape(1024, batch=LARGE_BATCH),
    Shape(100, headers=3, batch=LARGE_BATCH),
)
_VIEW_GATES = {Shape(20): 2.2, Shape(100): 1.2, Shape(1024): 0.8, Shape(100, headers=3): 1.7}
_COPY_GATES = {Shape(20): 2.6, Shape(100): 1.9, Shape(1024): 1.7, Shape(100, headers=3): 2.1}
_NARROW_GATES = {Shape(1024): 1.3}
_AIOKAFKA_GATES = {Shape(100): 12, Shape(1024): 6}
_KAFKA_PYTHON_GATES = {Shape(100): 100, Shape(1024): 25}


def check_equal(shape: Shape) -> None:
    """Every reader has to give the same records."""
    data = segment(shape, 3 * shape.batch if shape.batch < MIB else 64 * KIB).data
    ours = records_of_columns(data, Layout.VIEW)
    for other in (
        records_of_columns(data, Layout.BINARY),
        records_of_batches(data, "view"),
        records_of_batches(data, "binary"),
        records_aiokafka(data),
        records_kafka_python(data),
    ):
        if other != ours:
            raise AssertionError(f"readers differ in records of {shape.name}")


def _measure(codec: NativeCodec, shape: Shape, settings: Settings) -> tuple[Times, float]:
    big = segment(shape, settings.size(128 * MIB))
    small = segment(shape, settings.size(4 * MIB))
    tiny = segment(shape, settings.size(max(MIB, shape.batch)))
    limits = Limits(codec, big.data)
    names = names_of(shape.headers)

    def copy() -> int:
        limits.copy()
        return big.records

    def checksum() -> int:
        limits.checksum()
        return big.records

    candidates = [
        Candidate(MEMCPY, copy, big.records),
        Candidate(CRC, checksum, big.records),
        Candidate(_VIEW, lambda: read_columns(big.data, names), big.records),
        Candidate(_COPY, lambda: read_columns(big.data, names, Layout.BINARY), big.records),
        Candidate(_NARROW, lambda: read_columns(big.data, _NARROW_NAMES), big.records),
        Candidate(AIOKAFKA, lambda: read_aiokafka(small.data), small.records),
        Candidate(KAFKA_PYTHON, lambda: read_kafka_python(tiny.data), tiny.records),
    ]
    return measure(candidates, settings.rounds(9)), len(big.data) / big.records


def run(settings: Settings) -> Outcome:
    """All shapes, uncompressed."""
    codec = NativeCodec()
    outcome = Outcome()
    table = Table(
        "Columns in memory, ns a record",
        (
            "records", "memcpy", "CRC", "views", "copies", "narrow", "GB/s of views",
            "views ÷ (memcpy + CRC)", "copies ÷ (memcpy + CRC)", "narrow ÷ CRC",
            "aiokafka", "against views", "kafka-python", "against views",
        ),
        notes=[
            "Views point into the input, copies are Arrow's `binary`; both verify checksums, into"
            " memory of Arrow's pool: the reader of `to_batches`, headers included. Peers make a"
            " tuple or an object of each record. Narrow: views of offset and timestamp alone, with"
            " all checks of the whole record."
        ],
    )  # fmt: skip
    for shape in _SHAPES:
        check_equal(shape)
        found, width = _measure(codec, shape, settings)
        view = found.ratio(_VIEW, MEMCPY, CRC)
        copies = found.ratio(_COPY, MEMCPY, CRC)
        narrow = found.ratio(_NARROW, CRC)
        aiokafka = found.ratio(AIOKAFKA, _VIEW)
        kafka_python = found.ratio(KAFKA_PYTHON, _VIEW)
        table.rows.append(
            (
                shape.name,
                *(number(found.median(name)) for name in (MEMCPY, CRC, _VIEW, _COPY, _NARROW)),
                number(width / found.median(_VIEW)),
                number(view),
                number(copies),
                number(narrow),
                number(found.median(AIOKAFKA)),
                times(aiokafka),
                number(found.median(KAFKA_PYTHON)),
                times(kafka_python),
            )
        )
        for gates, value, what, at_most in (
            (_VIEW_GATES, view, "columns, time ÷ (memcpy + CRC)", True),
            (_COPY_GATES, copies, "copying layout, time ÷ (memcpy + CRC)", True),
            (_NARROW_GATES, narrow, "offset and timestamp, time ÷ CRC", True),
            (_AIOKAFKA_GATES, aiokafka, "columns against aiokafka", False),
            (_KAFKA_PYTHON_GATES, kafka_python, "columns against kafka-python", False),
        ):
            if shape in gates:
                unit = "" if at_most else "x"
                outcome.figures.append(
                    Figure(f"{what}, {shape.name}", value, gates[shape], at_most, unit)
                )
    outcome.tables.append(table)
    return outcome


CASE = Case("columns", "Columns in memory", run)
