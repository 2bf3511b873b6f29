"""Export of typed values to Parquet, against decoding and writing alone, and to JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from shutil import rmtree

import duckdb
import pyarrow as pa
from pyarrow import parquet

import kafkaspec as ks
from benchmarks.cases.avro import FIELDS, definition_of, payloads_of, schema_of
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number, times
from benchmarks.timing import Candidate, measure
from kafkaspec.codecs import get_codec
from kafkaspec.tables import json_values
from kafkaspec.tables.json_plan import json_lines
from kafkaspec.tables.typed_exports import export_typed
from kafkaspec.values.avro import compile_avro
from kafkaspec.values.decoded import Decoder

_GATE = 1.2
_DUCKDB_GATE = 1.5
_OBJECTS_GATE = 6.0
_OURS, _THEIRS = "`export_typed`", "decoder and writer alone"
_LINES, _DUCKDB, _OBJECTS = "`export_typed(to='jsonl')`", "DuckDB", "objects and `orjson`"
_ID = 1
_BATCH = 250


def _records(payloads: pa.Array) -> Iterator[list[ks.Record]]:
    frame = b"\0" + _ID.to_bytes(4, "big")
    rows = [frame + payload for payload in payloads.to_pylist()]
    for start in range(0, len(rows), _BATCH):
        yield [
            ks.Record(offset, 1_735_689_600_000 + offset, None, rows[offset])
            for offset in range(start, min(start + _BATCH, len(rows)))
        ]


def typed_log(place: Path, payloads: pa.Array) -> Path:
    """Write a topic with frames, and the registry's topic beside it."""
    place.mkdir()
    with ks.SegmentWriter(place / "orders-0") as writer:
        for records in _records(payloads):
            writer.append_records(records)
    subject = {"subject": "orders-value", "version": 1}
    key = {"keytype": "SCHEMA", "magic": 1} | subject
    value = subject | {"id": _ID, "schema": json.dumps(schema_of(FIELDS)), "deleted": False}
    with ks.SegmentWriter(place / "_schemas-0") as writer:
        record = ks.Record(0, 1, json.dumps(key).encode(), json.dumps(value).encode())
        writer.append_records([record])
    return place / "orders-0"


def _ours(log: Path, output: Path) -> int:
    with ks.open(log) as opened:
        return export_typed(opened, output, "parquet", replace_existing=True).rows


def _theirs(decoder: Decoder, payloads: pa.Array, rest: pa.RecordBatch, output: Path) -> int:
    values = decoder.decode(payloads).values
    batch = rest.set_column(rest.schema.get_field_index("value"), "value", values)
    with output.open("wb") as file:
        writer = parquet.ParquetWriter(file, batch.schema, compression="zstd")
        writer.write_batch(batch)
        writer.close()
    return len(values)


def _lines(log: Path) -> int:
    with ks.open(log) as opened, open(os.devnull, "wb") as file:
        return export_typed(opened, file, "jsonl").rows


def _copy(log: Path, database: duckdb.DuckDBPyConnection) -> int:
    with ks.open(log) as opened:
        database.register("stream", opened.to_typed())
        copy = f"COPY (SELECT * FROM stream) TO '{os.devnull}' (FORMAT json)"
        found = database.execute(copy).fetchone()
    assert found is not None
    return int(found[0])


def _objects(log: Path) -> int:
    rows = 0
    with ks.open(log) as opened:
        for batch in opened.to_typed():
            rows += json_values.json_lines(batch, compact=True).count(b"\n")
    return rows


def _as_lines(log: Path, count: int, rounds: int) -> Outcome:
    """The topic as JSON lines, nothing is kept."""
    with ks.open(log) as opened:
        for batch in opened.to_typed():
            made = b"".join(json_lines(get_codec().core, batch, compact=True))
            if made != json_values.json_lines(batch, compact=True):
                raise AssertionError("both ways have other lines")
    database = duckdb.connect()
    database.execute("SET threads = 1")
    found = measure(
        [
            Candidate(_LINES, partial(_lines, log), count),
            Candidate(_DUCKDB, partial(_copy, log, database), count),
            Candidate(_OBJECTS, partial(_objects, log), count),
        ],
        rounds,
    )
    table = Table(
        "Framed Avro values of a topic as JSON lines, ns a record, one thread",
        ("records", _LINES, _DUCKDB, "ratio", _OBJECTS, "ratio "),
        notes=[
            "The same topic, written to the null device. DuckDB: `COPY ... (FORMAT json)` of the"
            " stream of `to_typed`, `threads` 1. Objects: the rows of the same stream as dicts, as"
            " they are written without the extension."
        ],
    )
    ratios = [found.ratio(name, _LINES) for name in (_DUCKDB, _OBJECTS)]
    own, duck, objects = (number(found.median(name)) for name in (_LINES, _DUCKDB, _OBJECTS))
    table.rows.append((f"{count:,}", own, duck, times(ratios[0]), objects, times(ratios[1])))
    figures = [
        Figure("JSON lines of typed columns, DuckDB ÷ ours", ratios[0], _DUCKDB_GATE),
        Figure("JSON lines of typed columns, objects and orjson ÷ ours", ratios[1], _OBJECTS_GATE),
    ]
    return Outcome([table], figures)


def run(settings: Settings) -> Outcome:
    """A topic of Avro values with frames to a Parquet file and to JSON lines, one thread."""
    count = 500 if settings.quick else 100_000
    payloads = payloads_of(count)
    place = settings.work / "typed"
    rmtree(place, ignore_errors=True)
    log = typed_log(place, payloads)
    output = settings.work / "typed.parquet"
    decoder = compile_avro(definition_of(FIELDS))
    with ks.open(log) as opened:
        rest = opened.to_typed().read_all().combine_chunks().to_batches()[0]
    found = measure(
        [
            Candidate(_OURS, partial(_ours, log, output), count),
            Candidate(_THEIRS, partial(_theirs, decoder, payloads, rest, output), count),
        ],
        settings.rounds(7),
    )
    ratio = found.ratio(_OURS, _THEIRS)
    table = Table(
        "Framed Avro values of a topic to a Parquet file, ns a record, one thread",
        ("records", _OURS, _THEIRS, "ratio"),
        notes=[
            "Nine fields. Alone: the decoder, of payloads without frames that are in memory, and"
            " `ParquetWriter.write_batch` of the same columns. `export_typed` reads the log and the"
            " schemas, finds out how values are framed, and takes the frames off too."
        ],
    )
    shown = (number(found.median(_OURS)), number(found.median(_THEIRS)), number(ratio))
    table.rows.append((f"{count:,}", *shown))
    lines = _as_lines(log, count, settings.rounds(7))
    rmtree(place)
    output.unlink()
    what = "typed export to Parquet ÷ decoder and pyarrow's writer alone"
    figure = Figure(what, ratio, _GATE, at_most=True, unit="")
    return Outcome([table, *lines.tables], [figure, *lines.figures])


CASE = Case("typed", "Typed export", run)
