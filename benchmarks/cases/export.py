"""Export to Parquet against pyarrow's writer alone, which has its record batches already."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from benchmarks.data import MIB, Shape, segment_file
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number
from benchmarks.timing import Candidate, measure
from kafkaspec.log.segment import Segment
from kafkaspec.tables.exports import FILE_CHUNK, export

_GATE = 1.25
_OURS, _THEIRS = "`export(to='parquet')`", "writer alone"
_SHAPES = (Shape(100), Shape(1024), Shape(100, headers=3), Shape(100, compression="zstd"))


def _export(path: Path, output: Path) -> int:
    with Segment(path) as log:
        return export(log, output, "parquet", replace_existing=True)


def _write(batches: list[pa.RecordBatch], output: Path) -> int:
    with output.open("wb") as file:
        writer = parquet.ParquetWriter(file, batches[0].schema, compression="zstd")
        for batch in batches:
            writer.write_batch(batch)
        writer.close()
    return sum(batch.num_rows for batch in batches)


def run(settings: Settings) -> Outcome:
    """The default columns, in one thread."""
    table = Table(
        "Segment to a Parquet file, ns a record, one thread",
        ("records", _OURS, _THEIRS, "ratio"),
        notes=[
            "Writer alone: `ParquetWriter.write_batch` of record batches that are in memory, of the"
            " same columns and types and with the same rows (those of"
            f" {FILE_CHUNK // MIB} MiB of the log)."
        ],
    )
    outcome = Outcome([table])
    output = settings.work / "export.parquet"
    for shape in _SHAPES:
        path, data = segment_file(settings.work, shape, settings.size(64 * MIB))
        with Segment(path) as log:
            batches = list(
                log.to_batches(layout="binary", header_keys="strict", max_bytes=FILE_CHUNK)
            )
        found = measure(
            [
                Candidate(_OURS, partial(_export, path, output), data.records),
                Candidate(_THEIRS, partial(_write, batches, output), data.records),
            ],
            settings.rounds(7),
        )
        ratio = found.ratio(_OURS, _THEIRS)
        table.rows.append(
            (shape.name, number(found.median(_OURS)), number(found.median(_THEIRS)), number(ratio))
        )
        if shape == _SHAPES[0]:
            what = f"export to Parquet ÷ pyarrow's writer alone, {shape.name}"
            outcome.figures.append(Figure(what, ratio, _GATE, at_most=True, unit=""))
        path.unlink()
        output.unlink()
    return outcome


CASE = Case("export", "Export to Parquet", run)
