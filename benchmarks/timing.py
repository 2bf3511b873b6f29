"""Candidates of one case in turns, on the CPU time of this thread."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Candidate:
    """Something to time.

    Attributes:
        name: in tables.
        run: does the work once; returns how many records it has seen.
        records: how many it has to see.
        seconds: where it measures itself (another process): seconds of the last run.
    """

    name: str
    run: Callable[[], int]
    records: int
    seconds: Callable[[], float] | None = None


@dataclass(frozen=True)
class Times:
    """Nanoseconds a record of every round, by name of the candidate."""

    rounds: dict[str, list[float]]

    def median(self, name: str) -> float:
        """Nanoseconds a record."""
        return median(self.rounds[name])

    def ratio(self, name: str, *others: str) -> float:
        """Return the ratio of its time to that of all of ``others`` together.

        The median of the ratios within each round: what slows a machine down for a while slows
        neighbours down alike.
        """
        together = [sum(row) for row in zip(*(self.rounds[o] for o in others), strict=True)]
        own = self.rounds[name]
        ratios: list[float] = [a / b for a, b in zip(own, together, strict=True)]
        return median(ratios)


def measure(candidates: Sequence[Candidate], rounds: int, most: float = math.inf) -> Times:
    """All candidates in turns, after one round that does not count.

    Args:
        candidates: what is timed.
        rounds: how many; fewer, but one at least, where ``most`` seconds have gone by.
        most: seconds.
    """
    times: dict[str, list[float]] = {candidate.name: [] for candidate in candidates}
    began = time.monotonic()
    for turn in range(rounds + 1):
        if turn > 1 and time.monotonic() - began > most:
            break
        for candidate in candidates:
            before = time.thread_time()
            seen = candidate.run()
            seconds = time.thread_time() - before
            if candidate.seconds is not None:
                seconds = candidate.seconds()
            if seen != candidate.records:
                raise AssertionError(
                    f"{candidate.name} saw {seen} records instead of {candidate.records}"
                )
            if turn:
                times[candidate.name].append(seconds / candidate.records * 1e9)
    return Times(times)
