"""The page of all measurements: rows of this run, and those that the page has from earlier ones."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from benchmarks.growth.measuring import START, Cell
from benchmarks.growth.ways import WAYS, Way
from benchmarks.outcome import Table, number
from benchmarks.report import machine, markdown

GATE: Final = 1.1
"""Largest exponent."""
_BOUNDED: Final = 16
"""MiB that a command may take above its start, whatever the size, and count as bounded."""
_COLUMNS: Final = (
    "command", "axis", "largest", "start", "CPU", "of one", "exponent", "memory", "of one", "day",
    "load",
)  # fmt: skip

GrowthRows = dict[tuple[str, str], tuple[str, ...]]
"""Rows of the table by title and axis."""


def rows_of(text: str) -> GrowthRows:
    """Return the rows of a page."""
    found = (tuple(line.strip("| ").split(" | ")) for line in text.splitlines() if line[:1] == "|")
    rows = [row for row in found if len(row) == len(_COLUMNS) and row[0].startswith("`")]
    return {(row[0].strip("`"), row[1]): row for row in rows}


def row_of(cell: Cell) -> tuple[str, ...]:
    """Return the row of a measurement that ended now."""
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
        f"{datetime.now(UTC):%Y-%m-%d}",
        f"{os.getloadavg()[0]:.1f}",
    )


def with_cells(
    rows: Mapping[tuple[str, str], tuple[str, ...]], cells: Iterable[Cell]
) -> GrowthRows:
    """Return rows with those of some cells in place of earlier ones; a failed cell has none."""
    found = dict(rows)
    for cell in cells:
        found.pop((cell.way.title, cell.axis.name), None)
        if not cell.failure:
            found[cell.way.title, cell.axis.name] = row_of(cell)
    return found


def page(
    rows: Mapping[tuple[str, str], tuple[str, ...]],
    ways: Iterable[Way],
    failures: Mapping[tuple[str, str], str],
    notes: str,
) -> str:
    """Return the page.

    Args:
        rows: by title and axis. Rows of commands and axes that no longer exist are left out.
        ways: all that are measured, in the order of the page.
        failures: why a row is missing, by title and axis.
        notes: what is to be said beside the figures.
    """
    wanted = [(way.title, axis) for way in ways for axis in way.axes]
    shown = Table("", _COLUMNS, [rows[key] for key in wanted if key in rows])
    beyond = [f"{row[0]} along {row[1]}" for row in shown.rows if row[6].startswith("**")]
    others = Table("", ("command", "why it has no row"))
    others.rows += [(f"`{name}`", why) for name, why in WAYS.items() if isinstance(why, str)]
    parts = [
        "# Growth\n",
        "Made by `python -m benchmarks.growth --write`, in parts (`--only`, `--along`,"
        " `--missing`): a run keeps the rows of the others, and each row has its day"
        " and the load of the machine at its end."
        f" {machine()}\n",
        "How the time and the memory of each command grow with its input, along one axis at a time."
        " A new command without a row, or a reason for none, fails a test.\n",
        "- Times are those of the processor, of the process and its children: the machine was busy"
        " with other work. `start` is that of the smallest input.\n"
        f"- The exponent is the slope of log (time - start) over log size in the upper half. It is"
        f" left out where the largest size takes less than {START} s above the start, or only that"
        " size takes more: such a command does not grow, or too little to tell.\n"
        "- Memory is the largest anonymous memory of a process, without pages of files. `bounded`:"
        f" at most {_BOUNDED} MiB above the start, whatever the size.\n"
        "- Sizes go up to 10^5, of batches, files and records of a batch to 10^6, of a record to"
        " 256 MiB, if a share of the time of the run is enough: see `largest`."
        " Damage is half of the batches: with a wrong checksum, or cut.\n"
        "- Commands that read any log have the axes of logs, others those of what they read. A"
        " command that ends at the first damage has no row for damage.\n",
        f"Largest exponent: {GATE}. Rows beyond it: {', '.join(beyond) or 'none'}.\n",
        markdown(shown),
        "## Commands without a row\n",
        markdown(others),
    ]
    if notes:
        parts.append(notes)
    lacking: dict[tuple[str, str], list[str]] = {}
    for title, axis in wanted:
        if (title, axis) not in rows:
            why = failures.get((title, axis), "not run yet")
            lacking.setdefault((title, why), []).append(axis)
    if lacking:
        parts.append("## Not measured\n")
        parts += [
            f"- `{title}`: {why}: {', '.join(axes)}" for (title, why), axes in lacking.items()
        ]
    return "\n".join(parts).rstrip("\n") + "\n"


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
