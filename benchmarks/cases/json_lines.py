"""JSON lines against DuckDB, which writes the same columns of the same stream."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import duckdb

from benchmarks.data import MIB, Shape, segment_file
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number, times
from benchmarks.timing import Candidate, measure
from kafkaspec.log.segment import Segment
from kafkaspec.tables.exports import export

_GATE = 1.3
_COLUMNS = ("offset", "timestamp", "timestamp_type", "key", "value")
_OURS, _THEIRS = "`export(to='jsonl')`", "DuckDB"
_SHAPES = (Shape(100), Shape(1024), Shape(100, compression="zstd"))
_COPY = f"""
    COPY (SELECT "offset", timestamp, timestamp_type, decode(key) AS key, decode(value) AS value
          FROM stream) TO '{os.devnull}' (FORMAT json)
"""


def _export(path: Path) -> int:
    with Segment(path) as log, open(os.devnull, "wb") as file:
        return export(log, file, "jsonl", columns=_COLUMNS)


def _copy(path: Path, database: duckdb.DuckDBPyConnection) -> int:
    with Segment(path) as log:
        database.register("stream", log.to_batches(_COLUMNS))
        found = database.execute(_COPY).fetchone()
    assert found is not None
    return int(found[0])


def run(settings: Settings) -> Outcome:
    """Offset, timestamp, type, key and value as JSON, one thread, nothing is kept."""
    table = Table(
        "JSON lines, ns a record, one thread",
        ("records", _OURS, _THEIRS, "ratio"),
        notes=[
            "Five columns, written to the null device. DuckDB: `COPY ... (FORMAT json)` of the"
            " stream of `to_batches`, with bytes decoded as text, `threads` 1."
        ],
    )
    outcome = Outcome([table])
    database = duckdb.connect()
    database.execute("SET threads = 1")
    for shape in _SHAPES:
        path, data = segment_file(settings.work, shape, settings.size(64 * MIB))
        found = measure(
            [
                Candidate(_OURS, partial(_export, path), data.records),
                Candidate(_THEIRS, partial(_copy, path, database), data.records),
            ],
            settings.rounds(7),
        )
        ratio = found.ratio(_THEIRS, _OURS)
        table.rows.append(
            (
                shape.name, number(found.median(_OURS)), number(found.median(_THEIRS)),
                times(ratio),
            )
        )  # fmt: skip
        if shape == _SHAPES[0]:
            what = f"JSON of offset, timestamp, type, key, value, DuckDB ÷ ours, {shape.name}"
            outcome.figures.append(Figure(what, ratio, _GATE))
        path.unlink()
    return outcome


CASE = Case("json", "JSON lines", run)
