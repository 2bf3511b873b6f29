"""Columns, and record objects, to the bytes of batches; against the builders of the peers."""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice

import pyarrow as pa

from benchmarks.data import SMALL_BATCH, Shape, header_of, records_of
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number, times
from benchmarks.peers import (
    AIOKAFKA,
    KAFKA_PYTHON,
    aiokafka_builder,
    build,
    kafka_python_builder,
    records_aiokafka,
    rows_of,
)
from benchmarks.timing import Candidate, measure
from kafkaspec._generated.python.model.recordbatch import Entry, RecordBatch
from kafkaspec.codecs.native import NativeCodec
from kafkaspec.model import Record

_COLUMNS, _OBJECTS = "columns", "objects"
_SHAPES = (Shape(20), Shape(100), Shape(1024), Shape(100, headers=3))
_GATES = {AIOKAFKA: 6.0, KAFKA_PYTHON: 40.0}
_GATED = Shape(100)
_TIMES = 50
_ROOM = 1 << 20


def inputs_of(codec: NativeCodec, records: list[Record]) -> tuple[object, ...]:
    """The columns that the core encodes, in Arrow's layout."""
    columns = codec.core.columns
    inputs: list[object] = [None] * len(columns)

    def put(name: str, value: object) -> None:
        inputs[columns[name].number] = value

    def octets(values: list[bytes | None]) -> tuple[object, ...]:
        return tuple(pa.array(values, pa.binary()).buffers())

    put("offset", array("q", [record.offset for record in records]))
    put("timestamp", array("q", [record.timestamp for record in records]))
    put("key", octets([record.key for record in records]))
    put("value", octets([record.value for record in records]))
    ends = array("i", [0])
    for record in records:
        ends.append(ends[-1] + len(record.headers))
    put("headers", ends)
    pairs = [pair for record in records for pair in record.headers]
    put("headers.key", octets([key.encode() for key, _ in pairs]))
    put("headers.value", octets([value for _, value in pairs]))
    return tuple(inputs)


def run(settings: Settings) -> Outcome:
    """Batches of 16 KiB, uncompressed, checksum included."""
    codec = NativeCodec()
    module = codec.core.module
    outcome = Outcome()
    table = Table(
        "Encoding, ns a record",
        (
            "records", "columns", "objects", AIOKAFKA, "against columns", "against objects",
            KAFKA_PYTHON, "against columns", "against objects",
        ),
        notes=["Whole batches with their checksums. Columns are Arrow's, objects our `Record`."],
    )  # fmt: skip
    repeat = 2 if settings.quick else _TIMES
    for shape in _SHAPES:
        per_record = shape.value + 20 + 24 * shape.headers
        count = SMALL_BATCH // per_record
        records = list(islice(records_of(shape, random.Random(3)), count))
        batch = header_of(records)
        kind = codec.core.kind_of(batch)
        header = kind.header(batch)
        inputs = inputs_of(codec, records)

        def columns(
            number: int = kind.number,
            header: tuple[int, ...] = header,
            count: int = count,
            inputs: tuple[object, ...] = inputs,
        ) -> bytes:
            made: bytes = module.encode(number, header, count, inputs, True)
            return made

        def objects(batch: RecordBatch = batch, records: list[Record] = records) -> bytes:
            message = replace(batch, records=codec.encode_records(batch, records))
            entry = Entry(base_offset=batch.base_offset, message=message)
            return codec.serialize("recordbatch.entry", entry)

        rows = rows_of(records)

        makers: dict[str, Callable[[], bytes]] = {
            _COLUMNS: columns,
            _OBJECTS: objects,
            AIOKAFKA: partial(build, aiokafka_builder, _ROOM, rows),
            KAFKA_PYTHON: partial(build, kafka_python_builder, _ROOM, rows),
        }
        for name, make in makers.items():
            if records_aiokafka(make()) != records:
                raise AssertionError(f"{name} wrote other records: {shape.name}")
        total = repeat * count
        found = measure(
            [Candidate(name, _repeat(make, repeat, total), total) for name, make in makers.items()],
            settings.rounds(9),
        )
        ratios = {
            (peer, ours): found.ratio(peer, ours)
            for peer in (AIOKAFKA, KAFKA_PYTHON)
            for ours in (_COLUMNS, _OBJECTS)
        }
        row = [shape.name, number(found.median(_COLUMNS)), number(found.median(_OBJECTS))]
        for peer in (AIOKAFKA, KAFKA_PYTHON):
            row.append(number(found.median(peer)))
            row += [times(ratios[peer, ours]) for ours in (_COLUMNS, _OBJECTS)]
        table.rows.append(tuple(row))
        if shape == _GATED:
            for peer, gate in _GATES.items():
                what = f"encode against {peer}, {shape.name}"
                outcome.figures.append(Figure(what, ratios[peer, _COLUMNS], gate))
    outcome.tables.append(table)
    return outcome


def _repeat(make: Callable[[], bytes], repeat: int, records: int) -> Callable[[], int]:
    def run() -> int:
        for _ in range(repeat):
            make()
        return records

    return run


CASE = Case("encode", "Encoding", run)
