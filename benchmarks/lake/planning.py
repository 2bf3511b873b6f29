"""Plan an increment of a lake in a process that does nothing else, and its tasks in another one.

It prints what both take, as JSON. Spark is not needed: units go to the other process, and results
come back, in the bytes that tasks would get.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any, Final

from kafkaspec.lake.increments import plan_increment
from kafkaspec.spark.jobs.lake import HAND_FILES
from kafkaspec.spark.jobs.units import dealt, packed, unpacked
from kafkaspec.spark.paths import find_logs

HANDS: Final = 96
"""Tasks: three for each slot of a cluster with 32."""


def resident() -> int:
    """Return the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def task(data: bytes) -> tuple[bytes, float, int]:
    """Return the results of a task, the time of the processor, and how many files it opened."""
    opened: list[object] = []
    real, began = os.open, time.process_time()

    def noting(*arguments: Any, **options: Any) -> int:
        opened.append(arguments[0])
        return real(*arguments, **options)

    os.open = noting
    try:
        function, units = unpacked(data)
        made = packed(function(units))
    finally:
        os.open = real
    return made, time.process_time() - began, len(opened)


def planned(path: str) -> dict[str, float]:
    """Return what the plan of all segments at a path takes."""
    found: dict[str, float] = {"tasks": 0.0, "opened": 0, "shipped": 0}
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(task, packed((list, []))).result()  # what is imported is so

        def planner(function: Any, units: Sequence[Any], sizes: Sequence[int], /) -> Iterable[Any]:
            hands = dealt(sizes, min(HANDS, -(-sum(sizes) // HAND_FILES)))
            work = (packed((function, [units[number] for number in hand])) for hand in hands)
            made: dict[int, Any] = {}
            for hand, data in zip(hands, work, strict=True):
                result, seconds, opened = pool.submit(task, data).result()
                found["tasks"] += seconds
                found["opened"] += opened
                found["shipped"] += len(data) + len(result)
                made |= zip(hand, unpacked(result), strict=True)
            return map(made.__getitem__, range(len(units)))

        before, began, wall = resident(), time.process_time(), time.monotonic()
        logs = find_logs(path, log_start=False)
        found["listing"] = time.process_time() - began
        made = plan_increment(logs, {}, planner=partial(planner))
        found["driver"] = time.process_time() - began
        found["wall"] = time.monotonic() - wall
        found["memory"] = resident() - before
        found["segments"] = len(made.segments)
    return found


if __name__ == "__main__":
    print(json.dumps(planned(sys.argv[1])))
