"""Measures each command along each axis, and writes the page."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path

import click

from benchmarks.growth.inputs import AXES
from benchmarks.growth.measuring import Cell, measure
from benchmarks.growth.page import page, rows_of, with_cells
from benchmarks.growth.ways import WAYS

PAGE = Path(__file__).parent.parent / "GROWTH.md"
NOTES = Path(__file__).parent / "NOTES.md"
_MINUTES = 20.0
_QUICK = 100


@click.command()
@click.option("--quick", is_flag=True, help="Tiny inputs: that it runs, not how it grows.")
@click.option("--only", metavar="COMMAND", multiple=True, help="This one; may be given again.")
@click.option("--along", metavar="AXIS", multiple=True, help="This one; may be given again.")
@click.option("--missing", is_flag=True, help="What has no row yet.")
@click.option("--minutes", type=float, default=_MINUTES, show_default=True, help="For all.")
@click.option(
    "--write",
    is_flag=True,
    help=f"Also write each row into {PAGE.name} when it is measured; the other rows stay.",
)
def main(
    quick: bool,
    only: tuple[str, ...],
    along: tuple[str, ...],
    missing: bool,
    minutes: float,
    write: bool,
) -> None:
    """Measure how the time and the memory of each command grow with its input."""
    for given, known, what in ((only, WAYS, "command"), (along, AXES, "axis")):
        _require_known(given, known, what)
    every = [
        (command, way)
        for command, several in WAYS.items()
        if not isinstance(several, str)
        for way in several
    ]
    rows = rows_of(PAGE.read_text(encoding="utf-8")) if missing else {}
    cells = [
        Cell(command, way, AXES[axis])
        for command, way in every
        for axis in way.axes
        if (not only or command in only)
        and (not along or axis in along)
        and (way.title, axis) not in rows
    ]
    failures: dict[tuple[str, str], str] = {}
    notes = "" if quick else NOTES.read_text(encoding="utf-8")

    def text(cells: Iterable[Cell], base: str) -> str:
        failures.update({(c.way.title, c.axis.name): c.failure for c in cells if c.failure})
        rows = with_cells(rows_of(base), cells)
        return page(rows, [way for _, way in every], failures, notes)

    def tell(cell: Cell) -> None:
        click.echo(line(cell), err=True)
        if write:  # another run may have written meanwhile
            PAGE.write_text(text([cell], PAGE.read_text(encoding="utf-8")), encoding="utf-8")

    with tempfile.TemporaryDirectory(prefix="kafkaspec-growth-") as work:
        most = _QUICK if quick else max(axis.most for axis in AXES.values())
        measure(cells, Path(work), minutes * 60, most, tell)
    click.echo(PAGE.read_text(encoding="utf-8") if write else text(cells, ""))
    if any(cell.failure for cell in cells):
        sys.exit(1)


def _require_known(given: Iterable[str], known: Collection[str], what: str) -> None:
    if unknown := sorted(name for name in given if name not in known):
        raise click.UsageError(f"no {what} {', '.join(unknown)}; there are {', '.join(known)}")


def line(cell: Cell) -> str:
    """Return a cell as a line that shows the progress of a run."""
    times = ", ".join(
        f"{size:,}: {each.seconds:.2f} s {each.memory:.0f} MiB" for size, each in cell.spent.items()
    )
    return f"{cell.way.title}, {cell.axis.name}: {times}{cell.failure}"


if __name__ == "__main__":
    main()
