"""The driver of a lake in this process: tasks run here, so that no JVM has to start.

As a program, it fills lakes and ends by SIGKILL at each moment of the ``STEPS``. It forks each
driver, so that none has to import anything, and uses neither format itself.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from kafkaspec.lake import delta, iceberg, parquet
from kafkaspec.lake.results import LakeReport
from kafkaspec.spark.jobs import lake as job
from tests.lake.killing import LOADED

HAND_BYTES = 4096
"""Nearly each segment is cut."""
STEPS = {
    "tasks": (job, "write_units"),
    "progress file": (parquet.LakeWriter, "finish"),
    "manifest": (job, "write_manifest"),
    "delta": (delta.DeltaLakeTable, "append"),
    "iceberg": (iceberg.IcebergLakeTable, "append"),
}
"""What a driver does, in its order; the last ones commit a table each."""


def computed(
    _: Any, units: Sequence[Any], sizes: Any, function: Callable[[Any], Any], tasks: Any
) -> Iterator[tuple[int, Any]]:
    """Do what ``kafkaspec.spark.jobs.units.computed`` does."""
    for number, unit in enumerate(units):
        yield number, pickle.loads(pickle.dumps(function(pickle.loads(pickle.dumps(unit)))))


def filled(paths: str | Sequence[str], place: Path, **options: Any) -> LakeReport:
    """Fill a lake as ``kafkaspec.spark.lake`` does."""
    with (
        patch.object(job, "computed", computed),
        patch.object(job, "slots_of", lambda _: 2),
        patch.object(job, "HAND_FILES", 1),  # little is planned in the driver, and cut in tasks
        patch.object(job, "HAND_BYTES", HAND_BYTES),
    ):
        return job.fill(lambda: None, paths, str(place), options)  # type: ignore[arg-type]


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


def ended(paths: str, place: Path, to: str, moment: int | None = None) -> int:
    """Fork a driver that fills a lake, kill it at a moment, and return how it ended."""
    process = os.fork()
    if not process:
        try:
            most = None
            if moment is not None:
                most, killer = 4, Killer(moment)
                for owner, name in STEPS.values():
                    setattr(owner, name, killer.passes(getattr(owner, name)))
            filled(paths, place, to=to, active=True, exact=True, max_segments=most)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def main() -> None:
    """Make a lake for each moment, killed there and filled then, and one that was killed at all."""
    assert LOADED
    paths, places, to = sys.argv[1:]
    moment = 0
    while (code := ended(paths, Path(places, str(moment)), to, moment)) == -signal.SIGKILL:
        assert ended(paths, Path(places, str(moment)), to) == 0, moment
        moment += 1
    assert code == 0, moment
    for step in range(moment):  # an increment that was there before takes its steps away
        assert ended(paths, Path(places, "again"), to, step) in (0, -signal.SIGKILL), step
    assert ended(paths, Path(places, "again"), to) == 0


if __name__ == "__main__":
    main()
