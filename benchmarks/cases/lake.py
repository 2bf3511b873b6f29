"""Rows of a lake, against Parquet written again by pyarrow, and against typed columns alone."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from shutil import rmtree
from statistics import median
from typing import Any

from pyarrow import parquet

import kafkaspec as ks
from benchmarks.cases.avro import payloads_of
from benchmarks.cases.typed import typed_log
from benchmarks.data import MIB, Shape, segment_file
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number
from benchmarks.timing import Candidate, measure
from kafkaspec.lake.manifest import Mark
from kafkaspec.lake.schema import RAW
from kafkaspec.lake.typed_rows import TypedRows, plans_of
from kafkaspec.lake.units import LakeSettings, LakeUnit, write_units

_GATE = 0.9
_TYPED_GATE = 2.0
_OURS, _PEER = "`write_units`", "pyarrow, Parquet to Parquet"
_BOTH, _RAW, _READ, _ALONE = "all tables", "`raw` and `batches`", "reading", "typed rows alone"
_SHAPES = (Shape(200), Shape(1024), Shape(200, compression="zstd"))
_TOPIC = "orders"


def _written(path: Path, place: Path, **settings: Any) -> dict[str, int]:
    """Write the tables of a segment, and return the rows of each."""
    rmtree(place, ignore_errors=True)
    units = [LakeUnit(path=str(path), topic=_TOPIC, partition=0)]
    (result,) = write_units(units, LakeSettings(place=str(place), **settings), Mark(1, "run"))
    rows: dict[str, int] = {}
    for file in result.files:
        rows[file.table] = rows.get(file.table, 0) + file.rows
    return rows


def _raw_rows(path: Path, place: Path) -> int:
    return _written(path, place)[RAW]


def _again(place: Path, output: Path) -> int:
    """Read the rows of ``raw``, and write them as pyarrow does by default."""
    rows = 0
    for path in (place / RAW).rglob("*.parquet"):
        file = parquet.ParquetFile(path)
        with parquet.ParquetWriter(output, file.schema_arrow, compression="zstd") as writer:
            for batch in file.iter_batches(use_threads=False):
                writer.write_batch(batch)
                rows += batch.num_rows
    return rows


def _raw(settings: Settings) -> Outcome:
    table = Table(
        "Segment to the tables of a lake, ns a record, one thread",
        ("records", _OURS, _PEER, "ratio"),
        notes=[
            "The tables `raw` and `batches`, with the proof which batches the rows give again. The"
            " peer reads the file of `raw`, from which nothing has to be decoded, and writes it."
        ],
    )
    outcome = Outcome([table])
    output = settings.work / "again.parquet"
    place, kept = settings.work / "lake", settings.work / "kept"
    for shape in _SHAPES:
        path, data = segment_file(settings.work, shape, settings.size(64 * MIB))
        _written(path, kept)
        found = measure(
            [
                Candidate(_OURS, partial(_raw_rows, path, place), data.records),
                Candidate(_PEER, partial(_again, kept, output), data.records),
            ],
            settings.rounds(7),
        )
        ratio = found.ratio(_PEER, _OURS)
        own, peer = (number(found.median(name)) for name in (_OURS, _PEER))
        table.rows.append((shape.name, own, peer, number(ratio)))
        what = f"segment to a lake, Parquet to Parquet ÷ ours, {shape.name}"
        outcome.figures.append(Figure(what, ratio, _GATE))
        path.unlink()
        for each in (place, kept):
            rmtree(each)
    output.unlink()
    return outcome


def _read(log: Path) -> int:
    with ks.open(log) as opened:
        return sum(batch.num_rows for batch in opened.to_batches(layout="binary"))


def _typed_alone(log: Path, plans: Any) -> int:
    """Decode the values, and drop them."""
    rows, typed = 0, TypedRows(_TOPIC, plans)
    with ks.open(log) as opened:
        for batch in opened.to_batches(layout="binary"):
            columns, _, _ = typed.divided(batch)
            rows += len(columns["value"])
    return rows


def _typed(settings: Settings) -> Outcome:
    count = 500 if settings.quick else 200_000
    home = settings.work / "typed-lake"
    rmtree(home, ignore_errors=True)
    log = typed_log(home, payloads_of(count))
    with ks.open(log) as opened:
        plans, _ = plans_of(opened)
    (path,) = log.glob("*.log")
    place = settings.work / "lake"
    table = f"typed_{_TOPIC}"

    def both() -> int:
        return _written(path, place, typed={_TOPIC: plans})[table]

    found = measure(
        [
            Candidate(_BOTH, both, count),
            Candidate(_RAW, partial(_raw_rows, path, place), count),
            Candidate(_READ, partial(_read, log), count),
            Candidate(_ALONE, partial(_typed_alone, log, plans), count),
        ],
        settings.rounds(7),
    )
    rounds = zip(*(found.rounds[name] for name in (_BOTH, _RAW, _READ, _ALONE)), strict=True)
    ratio = median((both - raw + read) / alone for both, raw, read, alone in rounds)
    shown = Table(
        "Framed Avro values of a topic to the tables of a lake, ns a record, one thread",
        ("records", _BOTH, _RAW, _READ, _ALONE, "ratio"),
        notes=[
            "Nine fields. Alone: read and decoded. Ratio: reading and what the typed table adds to"
            " the other two, its Parquet too, to typed rows alone."
        ],
    )
    figures = (number(found.median(name)) for name in (_BOTH, _RAW, _READ, _ALONE))
    shown.rows.append((f"{count:,}", *figures, number(ratio)))
    for each in (home, place):
        rmtree(each)
    what = "typed rows and Parquet of a lake ÷ typed rows alone"
    return Outcome([shown], [Figure(what, ratio, _TYPED_GATE, at_most=True, unit="")])


def run(settings: Settings) -> Outcome:
    """Run the work of one task of `kafkaspec spark lake`, without Spark."""
    raw, typed = _raw(settings), _typed(settings)
    return Outcome([*raw.tables, *typed.tables], [*raw.figures, *typed.figures])


CASE = Case("lake", "Tables of a lake", run)
