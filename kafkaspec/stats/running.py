"""Measure many units at the same time, in processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kafkaspec.jobs import in_processes
from kafkaspec.stats.figures import Figures
from kafkaspec.stats.measure import measured
from kafkaspec.stats.tables import StatsTables, merged
from kafkaspec.stats.units import StatsUnit


def measure(
    units: Sequence[StatsUnit], *, jobs: int = 1, done: Callable[[StatsUnit], None] | None = None
) -> Figures:
    """Return the figures of all units of a measurement.

    Args:
        units: the units.
        jobs: number of processes that measure at the same time.
        done: is called after each unit.
    """

    def parts() -> Iterator[StatsTables]:
        work = in_processes(measured, units, min(jobs, len(units)))
        for unit, part in zip(units, work, strict=True):
            yield part
            if done is not None:
                done(unit)

    return Figures(merged(parts()))
