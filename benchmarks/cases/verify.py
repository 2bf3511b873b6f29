"""``verify`` of a segment with its indexes against reading all default columns of the same file."""

from __future__ import annotations

import shutil
import time
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.data import MIB, Shape, segment_file
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number
from benchmarks.timing import Candidate, measure
from kafkaspec.analysis.verification import verify
from kafkaspec.log.segment import Segment
from kafkaspec.writing.rebuild import rebuild_indexes

_SIZE = 256 * MIB
_GATES = {"none": 2.0, "lz4": 1.4, "zstd": 1.2}
"""Most time of ``verify``, as a multiple of that of the columns."""
_SECOND = 1024 * MIB
_SECOND_GATES = {"none": 0.01, "zstd": 0.01}
"""Most time of a second pass, as a share of the first."""
_TWO_JOBS = 1.7
_TWO_JOBS_OF = ("none", "zstd")


def _partition(shape: Shape, settings: Settings, size: int = _SIZE) -> tuple[Path, int]:
    """A partition with one segment, and its number of records."""
    directory = settings.work / "verify-0"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    log, data = segment_file(directory, shape, settings.size(size))
    made = settings.work / "indexes"
    rebuild_indexes(log, made, sync=False)
    for path in made.rglob("*index"):
        path.rename(directory / path.name)
    shutil.rmtree(made)
    return directory, data.records


def _verify(directory: Path, jobs: int = 1) -> int:
    report = verify(directory, jobs=jobs)
    return report.totals.records if report.clean else 0


def _columns(directory: Path) -> int:
    (log,) = directory.glob("*.log")
    with Segment(log) as opened:
        return sum(batch.num_rows for batch in opened.to_batches())


def _wall(directory: Path, jobs: int) -> float:
    before = time.perf_counter()
    _verify(directory, jobs)
    return time.perf_counter() - before


def run(settings: Settings) -> Outcome:
    """Each compression: CPU time of one thread, and wall time of two jobs."""
    outcome = Outcome()
    table = Table(
        "Verification of 256 MiB of records of 100 B in 16 KiB batches, with indexes",
        ("records", "all default columns, ns", "`verify`, ns", "ratio", "two jobs, wall"),
        notes=[
            "Nanoseconds a record, CPU time of one thread, in turns; ratios of the medians of"
            " rounds. Two jobs: wall time of one against two, the best of rounds in turns."
        ],
    )
    for compression, gate in _GATES.items():
        shape = Shape(100, compression=compression)
        directory, records = _partition(shape, settings)
        candidates = [
            Candidate("columns", partial(_columns, directory), records),
            Candidate("verify", partial(_verify, directory), records),
        ]
        found = measure(candidates, settings.rounds(9))
        ratio = found.ratio("verify", "columns")
        walls: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(settings.rounds(9)):
            for jobs, spent in walls.items():
                spent.append(_wall(directory, jobs))
        gain = min(walls[1]) / min(walls[2])
        table.rows.append(
            (
                shape.name,
                number(found.median("columns")),
                number(found.median("verify")),
                f"{number(ratio)} x",
                f"{number(gain)} x ({number(median(walls[1]) / median(walls[2]))} x of medians)",
            )
        )
        what = f"`verify` against all default columns, {compression}"
        outcome.figures.append(Figure(what, ratio, gate, at_most=True))
        if compression in _TWO_JOBS_OF:
            what = f"`verify` with two jobs against one, wall, {compression}"
            outcome.figures.append(Figure(what, gain, _TWO_JOBS))
        shutil.rmtree(directory)
    outcome.tables.append(table)
    _second_pass(outcome, settings)
    return outcome


def _second_pass(outcome: Outcome, settings: Settings) -> None:
    """CPU time of a pass over unchanged data, and of the first one, which makes the state."""
    table = Table(
        "A second pass over 1 GiB of records of 100 B, with `--state`",
        ("records", "no state, ms", "first pass, ms", "second pass, ms", "ratio"),
        notes=[
            "CPU time of one thread, medians of rounds in turns. A second pass reads no segment. It"
            " takes about 3 ms a partition, whatever its size: the directory, text files, the end"
            " of the log, and the state."
        ],
    )
    state = settings.work / "verify.state"
    for compression, gate in _SECOND_GATES.items():
        shape = Shape(100, compression=compression)
        directory, _ = _partition(shape, settings, _SECOND)
        times: list[list[float]] = [[], [], []]
        for _ in range(settings.rounds(5)):
            state.unlink(missing_ok=True)
            for spent, kept in zip(times, (None, state, state), strict=True):
                before = time.process_time()
                verify(directory, state=kept)
                spent.append(time.process_time() - before)
        plain, first, second = map(median, times)
        shown = (number(1000 * each) for each in (plain, first, second))
        table.rows.append((shape.name, *shown, f"{100 * second / plain:.2f} %"))
        what = f"second pass of `verify --state` against a first one, {compression}"
        outcome.figures.append(Figure(what, second / plain, gate, at_most=True))
        shutil.rmtree(directory)
    outcome.tables.append(table)


CASE = Case("verify", "Verification", run)
