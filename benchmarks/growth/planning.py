"""Plan the work of Spark on the logs at a path, in a process that does nothing else.

The words are a path; or a path, ``lake`` and an output, for an increment of a new lake; or a path,
``state`` and a table, for ``spark verify --state`` twice, of which the second run plans alone.
"""

from __future__ import annotations

import sys

from kafkaspec.spark.options import read_options
from kafkaspec.spark.planning import plan


def _lake(path: str, output: str) -> None:
    from kafkaspec.spark.jobs.lake import LakeJob

    LakeJob(path, output, {"active": True}, create=True).plan(dry=True)


def _state(path: str, output: str) -> None:
    from kafkaspec.analysis.remembered import Memory
    from kafkaspec.analysis.verification import memory_options, verify_events
    from kafkaspec.lake.state_table import RememberedTable

    for _ in range(2):
        with Memory.of_store(RememberedTable(output), memory_options("native", None)) as memory:
            for _ in verify_events(path, memory=memory):
                pass


if __name__ == "__main__":
    match sys.argv[1:]:
        case [path, "lake", output]:
            _lake(path, output)
        case [path, "state", output]:
            _state(path, output)
        case [path]:
            plan(read_options({"path": path}, streaming=False))
