"""Runs the cases and writes the report."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import click

from benchmarks.cases import all_cases
from benchmarks.outcome import Settings
from benchmarks.report import report

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
LIMITS = HERE / "LIMITS.md"


@click.command()
@click.option("--quick", is_flag=True, help="Tiny data, one round: that it runs, not how fast.")
@click.option("--only", metavar="CASE", multiple=True, help="This case; may be given again.")
@click.option("--write", is_flag=True, help=f"Write the report to {RESULTS.name} too.")
def main(quick: bool, only: tuple[str, ...], write: bool) -> None:
    """Compare with other readers; every figure is shown beside its gate."""
    cases = all_cases()
    unknown = set(only) - {case.name for case in cases}
    if unknown:
        names = ", ".join(case.name for case in cases)
        raise click.UsageError(f"no case {', '.join(sorted(unknown))}; there are {names}")
    # An installation has bytecode; without it, each process would compile all that it imports.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="kafkaspec-bench-") as name:
        for case in cases:
            if only and case.name not in only:
                continue
            work = Path(name) / case.name  # names of files are those of topics: each its own
            work.mkdir()
            before = time.monotonic()
            outcomes.append(case.run(Settings(quick, work)))
            spent = time.monotonic() - before
            click.echo(f"{case.title}: {spent:.0f} s", err=True)
    arguments = " ".join((*(["--quick"] if quick else []), *(f"--only {name}" for name in only)))
    command = f"python -m benchmarks {arguments}".rstrip()
    limits = LIMITS.read_text(encoding="utf-8") if LIMITS.exists() and not quick else ""
    text = report(outcomes, command, limits)
    click.echo(text)
    if write:
        RESULTS.write_text(text, encoding="utf-8")
        click.echo(f"written to {RESULTS}", err=True)
    if not outcomes:
        sys.exit(1)


if __name__ == "__main__":
    main()
