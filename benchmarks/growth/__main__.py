"""Measures each command along each axis, and writes the page."""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from benchmarks.growth.inputs import AXES
from benchmarks.growth.measuring import START, Cell, measure
from benchmarks.growth.ways import WAYS
from benchmarks.outcome import Table, number
from benchmarks.report import machine, markdown

PAGE = Path(__file__).parent.parent / "GROWTH.md"
NOTES = Path(__file__).parent / "NOTES.md"
GATE = 1.1
"""Largest exponent."""
_MINUTES = 20.0
_QUICK = 100
_BOUNDED = 16
"""MiB that a command may take above its start, whatever the size, and count as bounded."""


@click.command()
@click.option("--quick", is_flag=True, help="Tiny inputs: that it runs, not how it grows.")
@click.option("--only", metavar="COMMAND", multiple=True, help="This one; may be given again.")
@click.option("--minutes", type=float, default=_MINUTES, show_default=True, help="For all.")
@click.option("--write", is_flag=True, help=f"Write the page to {PAGE.name} too.")
def main(quick: bool, only: tuple[str, ...], minutes: float, write: bool) -> None:
    """Measure how the time and the memory of each command grow with its input."""
    if unknown := set(only) - WAYS.keys():
        names = ", ".join(WAYS)
        raise click.UsageError(f"no command {', '.join(sorted(unknown))}; there are {names}")
    ways = [
        (command, way)
        for command, several in WAYS.items()
        if not isinstance(several, str) and (not only or command in only)
        for way in several
    ]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kafkaspec-growth-") as work:
        most = _QUICK if quick else max(axis.most for axis in AXES.values())
        cells = measure(
            ways, Path(work), minutes * 60, most, lambda cell: click.echo(line(cell), err=True)
        )
    spent = (time.monotonic() - began) / 60
    arguments = " ".join((*(["--quick"] if quick else []), *(f"--only {name}" for name in only)))
    notes = "" if quick else NOTES.read_text(encoding="utf-8")
    text = page(cells, f"python -m benchmarks.growth {arguments}".rstrip(), spent, notes)
    click.echo(text)
    if write:
        PAGE.write_text(text, encoding="utf-8")
        click.echo(f"written to {PAGE}", err=True)
    if any(cell.failure for cell in cells):
        sys.exit(1)


def line(cell: Cell) -> str:
    """Return a cell as a line that shows the progress of a run."""
    times = ", ".join(
        f"{size:,}: {each.seconds:.2f} s {each.memory:.0f} MiB" for size, each in cell.spent.items()
    )
    return f"{cell.way.title}, {cell.axis.name}: {times}{cell.failure}"


def page(cells: Sequence[Cell], command: str, minutes: float, notes: str) -> str:
    """Return the page, with what is to be said beside the figures."""
    failed = [cell for cell in cells if cell.failure]
    cells = [cell for cell in cells if not cell.failure]
    beyond = [cell for cell in cells if (cell.exponent or 0) > GATE]
    shown = Table(
        "", ("command", "axis", "largest", "start", "CPU", "of one", "exponent", "memory", "of one")
    )
    for cell in cells:
        shown.rows.append(_row(cell))
    others = Table("", ("command", "why it has no row"))
    others.rows += [(f"`{name}`", why) for name, why in WAYS.items() if isinstance(why, str)]
    found = ", ".join(f"`{cell.way.title}` along {cell.axis.name}" for cell in beyond)
    parts = [
        "# Growth\n",
        f"Made by `{command}` in {minutes:.0f} minutes. {machine()}\n",
        "How the time and the memory of each command grow with its input, along one axis at a time."
        " A new command without a row, or a reason for none, fails a test.\n",
        "- Times are those of the processor, of the process and its children: the machine has other"
        " work. `start` is that of the smallest input.\n"
        f"- The exponent is the slope of log (time - start) over log size in the upper half. It is"
        f" left out where the largest size takes less than {START} s above the start, or only that"
        " size takes more: such a command does not grow, or too little to tell.\n"
        "- Memory is the largest anonymous memory of a process, without pages of files. `bounded`:"
        f" at most {_BOUNDED} MiB above the start, whatever the size.\n"
        "- Sizes go up to 10^5, of batches, files and records of a batch to 10^6, of a record to"
        " 256 MiB, if a share of the time of the whole run is enough: see `largest`."
        " Damage is half of the batches: with a wrong checksum, or cut.\n"
        "- Commands that read any log have the axes of logs, others those of what they read. A"
        " command that ends at the first damage has no row for damage.\n",
        f"Largest exponent: {GATE}. Rows beyond it: {found or 'none'}.\n",
        markdown(shown),
        "## Commands without a row\n",
        markdown(others),
    ]
    if notes:
        parts.append(notes)
    if failed:
        parts.append("## Not measured\n")
        for why in dict.fromkeys((each.way.title, each.failure) for each in failed):
            axes = ", ".join(
                each.axis.name for each in failed if (each.way.title, each.failure) == why
            )
            parts.append(f"- `{why[0]}`: {why[1]}: {axes}")
    return "\n".join(parts)


def _row(cell: Cell) -> tuple[str, ...]:
    least = cell.spent[min(cell.spent)]
    largest = cell.spent[cell.largest]
    unit = f" {cell.axis.unit}" if cell.axis.unit else ""
    above = cell.above.get(cell.largest)
    stopped = largest.seconds == math.inf
    more = largest.memory - least.memory
    return (
        f"`{cell.way.title}`",
        cell.axis.name,
        f"{cell.largest:,}{unit}",
        f"{least.seconds:.2f} s",
        "stopped" if stopped else f"{number(largest.seconds)} s",
        "-" if above is None else _time(above / cell.largest),
        _exponent(cell),
        f"{number(largest.memory)} MiB",
        "bounded" if more <= _BOUNDED else _size(more * (1 << 20) / cell.largest),
    )


def _exponent(cell: Cell) -> str:
    found = cell.exponent
    if found is None:
        return "-"
    text = "stopped" if found == math.inf else f"{found:.2f}"
    return f"**{text}**" if found > GATE else text


def _time(seconds: float) -> str:
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{number(seconds * factor)} {unit}"
    return f"{seconds * 1e6:.2f} µs"


def _size(octets: float) -> str:
    units: Iterator[tuple[float, str]] = iter(((1, "B"), (1024, "KiB"), (1 << 20, "MiB")))
    text = ""
    for factor, unit in units:
        if octets >= factor or not text:
            text = f"{number(octets / factor)} {unit}"
    return text


if __name__ == "__main__":
    main()
