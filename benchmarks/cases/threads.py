"""Two threads, each with its half of the chunks, against one thread with both."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from threading import Thread

from benchmarks.core import PLAIN, Core
from benchmarks.data import MIB, Shape, segment
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number
from kafkaspec.codecs.native import NativeCodec
from kafkaspec.codecs.native.chunks import Chunk
from kafkaspec.codecs.native.columns import Layout

_GATE = 1.5


def _wall(run: Callable[[], object]) -> float:
    before = time.perf_counter()
    run()
    return time.perf_counter() - before


def run(settings: Settings) -> Outcome:
    """Wall time, of many short runs the best: other work on the machine only ever adds."""
    codec = NativeCodec()
    outcome = Outcome()
    table = Table(
        "Two threads on two chunks each, wall time",
        ("records", "one thread, ms", "two threads, ms", "ratio of the best", "of the medians"),
        notes=["Columns as views, CRC verified; the best of many short runs, in turns."],
    )
    for shape in (Shape(100), Shape(100, compression="lz4"), Shape(100, compression="zstd")):
        data = segment(shape, settings.size(32 * MIB))
        core = Core(codec, data.data)
        middle = max(1, len(core.plan) // 2)
        halves = [core.plan[:middle], core.plan[middle:]]
        seen: list[int] = []

        def one(core: Core = core) -> int:
            return core.columns(PLAIN)

        def two(
            core: Core = core, halves: list[list[Chunk]] = halves, seen: list[int] = seen
        ) -> None:
            seen.clear()
            threads = [
                Thread(target=lambda h=half: seen.append(core.some_columns(h, PLAIN, Layout.VIEW)))
                for half in halves
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        if one() != data.records:
            raise AssertionError("one thread")
        two()
        if sum(seen) != data.records:
            raise AssertionError("two threads")
        rounds = settings.rounds(60 if shape.compression == "none" else 20)
        singles, doubles = [], []
        for _ in range(rounds):
            singles.append(_wall(one))
            doubles.append(_wall(two))
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
        if shape.compression == "none":
            outcome.figures.append(Figure("two threads on two chunks", best, _GATE))
    outcome.tables.append(table)
    return outcome


CASE = Case("threads", "Two threads", run)
