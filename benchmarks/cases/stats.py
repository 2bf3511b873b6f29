"""Figures of a segment against ``verify`` of the same file, and a count record by record."""

from __future__ import annotations

import shutil
from collections import Counter
from functools import partial
from pathlib import Path

from kafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]

from benchmarks.data import MIB, Shape, segment_file
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number, times
from benchmarks.timing import Candidate, measure
from kafkaspec.analysis.verification import verify
from kafkaspec.log.partition import Partition
from kafkaspec.stats.measure import measure as figures_of
from kafkaspec.stats.units import units_of_log

_SIZE = 128 * MIB
_SMALL = 2 * MIB
_SHAPES = (Shape(100), Shape(1024), Shape(100, compression="zstd"))
_GATE = 3.0
"""Most time of the figures, as a multiple of that of ``verify``, which is one pass in C."""
_PEER_GATES = {Shape(100): 12, Shape(1024): 4, Shape(100, compression="zstd"): 6}
"""Least time of the loop over kafka-python, as a multiple of that of the figures."""


def _partition(shape: Shape, settings: Settings, size: int, name: str) -> tuple[Path, int]:
    """A partition with one segment, and its number of records."""
    directory = settings.work / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    _, data = segment_file(directory, shape, settings.size(size))
    return directory, data.records


def _figures(directory: Path, *, records: bool = True) -> int:
    with Partition(directory) as log:
        units = list(units_of_log(log, records=records))
    return int(figures_of(units).total["records"])


def _verify(directory: Path) -> int:
    return verify(directory).totals.records


def _one_by_one(directory: Path) -> int:
    """Count sizes, keys and steps back of time with kafka-python, as anyone would write it."""
    (path,) = directory.glob("*.log")
    keys, sizes = Counter[bytes](), Counter[int]()
    records = steps = before = 0
    source = MemoryRecords(path.read_bytes())
    while source.has_next():
        batch = source.next_batch()
        if not batch.validate_crc():
            raise AssertionError("checksum")
        for record in batch:
            records += 1
            keys[record.key] += 1
            sizes[len(record.value).bit_length()] += 1
            steps += record.timestamp < before
            before = record.timestamp
    return records


def run(settings: Settings) -> Outcome:
    """Each shape: CPU time of one process."""
    outcome = Outcome()
    table = Table(
        "Figures of 128 MiB of records in 16 KiB batches",
        (
            "records", "`verify`, ns", "`stats`, ns", "ratio", "headers only, ns",
            "kafka-python, ns", "against `stats`",
        ),
        notes=[
            "Nanoseconds a record, CPU time of one process, in turns. kafka-python: a loop that"
            " counts keys, sizes of values and steps back of time in 2 MiB."
        ],
    )  # fmt: skip
    for shape in _SHAPES:
        directory, records = _partition(shape, settings, _SIZE, "stats-0")
        small, few = _partition(shape, settings, _SMALL, "small-0")
        candidates = [
            Candidate("verify", partial(_verify, directory), records),
            Candidate("stats", partial(_figures, directory), records),
            Candidate("headers", partial(_figures, directory, records=False), records),
            Candidate("kafka-python", partial(_one_by_one, small), few),
        ]
        found = measure(candidates, settings.rounds(7))
        ratio, peer = found.ratio("stats", "verify"), found.ratio("kafka-python", "stats")
        table.rows.append(
            (
                shape.name,
                number(found.median("verify")),
                number(found.median("stats")),
                f"{number(ratio)} x",
                number(found.median("headers")),
                number(found.median("kafka-python")),
                times(peer),
            )
        )
        what = f"`stats` against `verify`, {shape.name}"
        outcome.figures.append(Figure(what, ratio, _GATE, at_most=True))
        what = f"a count with kafka-python against `stats`, {shape.name}"
        outcome.figures.append(Figure(what, peer, _PEER_GATES[shape], unit="x"))
        shutil.rmtree(directory)
        shutil.rmtree(small)
    outcome.tables.append(table)
    return outcome


CASE = Case("stats", "Figures", run)
