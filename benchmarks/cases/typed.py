"""Export of typed values to Parquet, against decoding and writing alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from shutil import rmtree

import pyarrow as pa
from pyarrow import parquet

import kafkaspec as ks
from benchmarks.cases.avro import FIELDS, definition_of, payloads_of, schema_of
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number
from benchmarks.timing import Candidate, measure
from kafkaspec.tables.typed_exports import export_typed
from kafkaspec.values.avro import compile_avro
from kafkaspec.values.decoded import Decoder

_GATE = 1.5
_OURS, _THEIRS = "`export_typed`", "decoder and writer alone"
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


def _log(place: Path, payloads: pa.Array) -> Path:
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


def run(settings: Settings) -> Outcome:
    """A topic of Avro values with frames to a Parquet file, one thread."""
    count = 500 if settings.quick else 100_000
    payloads = payloads_of(count)
    place = settings.work / "typed"
    rmtree(place, ignore_errors=True)
    log = _log(place, payloads)
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
    rmtree(place)
    output.unlink()
    what = "typed export to Parquet ÷ decoder and pyarrow's writer alone"
    return Outcome([table], [Figure(what, ratio, _GATE, at_most=True, unit="")])


CASE = Case("typed", "Typed export", run)
