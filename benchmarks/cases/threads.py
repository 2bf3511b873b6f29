"""Two threads, each with its half of a segment, against one thread with both."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median

from benchmarks.core import PLAIN, read_columns
from benchmarks.data import MIB, Shape, segment
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number
from kafkaspec.codecs.native import NativeCodec
from kafkaspec.codecs.native.scan import scan

_GATES = {"none": 1.5, "lz4": 1.6, "zstd": 1.6}


class _Workers:
    """Two threads, each on a core of its own where the system lets us say so."""

    def __init__(self) -> None:
        self._each = [ThreadPoolExecutor(1), ThreadPoolExecutor(1)]
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        if len(cores) > 1:
            for executor, core in zip(self._each, cores, strict=False):
                executor.submit(os.sched_setaffinity, 0, {core}).result()

    def wall(self, parts: Sequence[memoryview], records: int, first: int = 0) -> float:
        """Seconds until each part was read by a thread of its own, from thread ``first`` on."""
        before = time.perf_counter()
        started = [
            executor.submit(read_columns, part, PLAIN)
            for executor, part in zip(self._each[first:], parts, strict=False)
        ]
        rows = sum(each.result() for each in started)
        spent = time.perf_counter() - before
        if rows != records:
            raise AssertionError("a thread missed records")
        return spent

    def close(self) -> None:
        """End both."""
        for executor in self._each:
            executor.shutdown()


def run(settings: Settings) -> Outcome:
    """Wall time, of many short runs the best: other work on the machine only ever adds."""
    outcome = Outcome()
    table = Table(
        "Two threads on half of a segment each, wall time",
        ("records", "one thread, ms", "two threads, ms", "ratio of the best", "of the medians"),
        notes=[
            "Columns as views, CRC verified; each thread on a separate core, the best of many"
            " short runs in turns. What else runs on the machine lowers the ratio."
        ],
    )
    codec = NativeCodec()
    workers = _Workers()
    for compression, gate in _GATES.items():
        shape = Shape(100, compression=compression)
        data = segment(shape, settings.size(64 * MIB))
        whole = memoryview(data.data)
        starts = scan(codec.core, whole).column("position")
        middle = starts[len(starts) // 2]
        halves = [whole[:middle], whole[middle:]]
        one = [partial(workers.wall, [whole], data.records, first) for first in (0, 1)]
        singles: list[float] = []
        doubles: list[float] = []
        end = time.monotonic() + (0 if settings.quick else 8)
        while not singles or time.monotonic() < end:
            singles += [run() for run in one]
            doubles.append(workers.wall(halves, data.records))
        best = min(singles) / min(doubles)
        table.rows.append(
            (
                shape.name,
                number(min(singles) * 1e3),
                number(min(doubles) * 1e3),
                f"{number(best)} x",
                f"{number(median(singles) / median(doubles))} x",
            )
        )
        name = "" if compression == "none" else f", {compression}"
        outcome.figures.append(Figure(f"two threads on two halves{name}", best, gate))
    workers.close()
    outcome.tables.append(table)
    return outcome


CASE = Case("threads", "Two threads", run)
