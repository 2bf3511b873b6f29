"""Plan the tasks of Spark for the logs at a path, in a process that does nothing else."""

from __future__ import annotations

import sys

from kafkaspec.spark.options import read_options
from kafkaspec.spark.planning import plan

if __name__ == "__main__":
    plan(read_options({"path": sys.argv[1]}, streaming=False))
