"""One core against two: each a process of its own that has no more of them, JVM and all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import click

from benchmarks.data import Shape
from benchmarks.spark.queries import in_turns, noop
from benchmarks.spark.session import session
from benchmarks.spark.sources import OURS, PARQUET, Rows

ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 1200


def scaling(rows: Rows, rounds: int) -> dict[str, float]:
    """Return the speed of a scan on two cores over one, by source; empty where there is one core.

    Raises:
        RuntimeError: a measurement failed.
    """
    if not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2:
        return {}
    one, two = (_seconds(rows, cores, rounds) for cores in (1, 2))
    return {name: one[name] / two[name] for name in one}


def _seconds(rows: Rows, cores: int, rounds: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.spark.cores", str(rows.root), str(rows.count)]
    command += ["--cores", str(cores), "--rounds", str(rounds)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_SECONDS)
    if done.returncode:
        raise RuntimeError(f"with {cores} cores: {done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


@click.command()
@click.argument("root", type=click.Path(exists=True, path_type=Path))
@click.argument("count", type=int)
@click.option("--cores", type=int, required=True)
@click.option("--rounds", type=int, required=True)
def main(root: Path, count: int, cores: int, rounds: int) -> None:
    """Time the scan on so many cores; the median of each source goes to the standard output."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    rows = Rows(Shape(0), root, count)
    with (
        tempfile.TemporaryDirectory(prefix="kafkaspec-bench-") as work,
        session(Path(work), cores=cores) as spark,
    ):
        sources = {OURS: lambda: rows.segments(spark), PARQUET: lambda: rows.files(spark)}
        found = in_turns(noop, sources, count, rounds)
    click.echo(json.dumps({name: median(times) for name, times in found.rounds.items()}))


if __name__ == "__main__":
    main()
