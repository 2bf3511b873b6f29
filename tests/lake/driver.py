"""The driver of a lake in this process: tasks run here, so that no JVM has to start.

As a program, it fills a lake and ends by SIGKILL at a moment of its steps; see ``MOMENTS``.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from kafkaspec.lake import delta, iceberg, parquet
from kafkaspec.lake.results import LakeReport
from kafkaspec.spark.jobs import lake as job

STEPS = {
    "tasks": (job, "write_units"),
    "progress file": (parquet.LakeWriter, "finish"),
    "manifest": (job, "write_manifest"),
    "delta": (delta.DeltaLakeTable, "append"),
    "iceberg": (iceberg.IcebergLakeTable, "append"),
}
"""What a driver does, in its order; the last ones commit a table each."""


def filled(paths: str | Sequence[str], place: Path, **options: Any) -> LakeReport:
    """Fill a lake as ``kafkaspec.spark.lake`` does."""

    # As ``kafkaspec.spark.jobs.units.computed`` does.
    def computed(
        _: Any, units: Sequence[Any], sizes: Any, function: Callable[[Any], Any], tasks: Any
    ) -> Iterator[tuple[int, Any]]:
        for number, unit in enumerate(units):
            yield number, function(unit)

    with patch.object(job, "computed", computed), patch.object(job, "slots_of", lambda _: 2):
        spark: Any = None
        return job.fill(spark, paths, str(place), options)  # type: ignore[arg-type]


class Killer:
    """Kills this process before or after a step is taken for the n-th time."""

    def __init__(self, moment: int) -> None:
        self.left = moment

    def passes(self, function: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            self.count()
            result = function(*args, **options)
            self.count()
            return result

        return call

    def count(self) -> None:
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1


def main() -> None:
    paths, place, to, moment = sys.argv[1:]
    killer = Killer(int(moment))
    for owner, name in STEPS.values():
        setattr(owner, name, killer.passes(getattr(owner, name)))
    filled(paths, Path(place), to=to, active=True, exact=True, max_segments=2)


if __name__ == "__main__":
    main()
