"""``kafkaspec stats``: measure logs, and show it as text, JSON, a page and pictures."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Final, NoReturn

import click

from kafkaspec.cli.command import command
from kafkaspec.cli.console import progress_bar
from kafkaspec.cli.inputs import Inputs, log_bytes
from kafkaspec.cli.options import DIRECTORY, Jobs, PathsOrUrls, TopicName, wrong_usage
from kafkaspec.cli.outputs import (
    opened_report,
    report_options,
    report_source,
    require_all,
    require_html,
)
from kafkaspec.cli.report import Output, Reporter, line
from kafkaspec.errors import KafkaSpecError
from kafkaspec.io.local import are_mapped
from kafkaspec.io.remote import as_path
from kafkaspec.output.atomic import require_new
from kafkaspec.output.places import check_output

if TYPE_CHECKING:
    from kafkaspec.stats.figures import Figures
    from kafkaspec.stats.units import StatsUnit

OUTPUT: Final = Output(
    key=line(
        directory=str,
        topic=str | None,
        partition=int | None,
        count=int,
        at_most=int,
        size=int,
        key=str,
        optional=("key",),
    ),
    more="kafkaspec.stats.figures:members",
)
_EPILOG = """
The count of a key is the least, at_most the most; with --show-keys the key is there,
in hex. "total" has the sums of everything.

Keys are data: no output has one without --show-keys. Names of topics and paths of
files are always there.

Exit codes: 0 all was read; 1 something is missing, or cannot be read; 2 wrong
usage, or nothing in a PATH can be read.
"""

HeadersOnly = Annotated[
    bool,
    click.option(
        "--headers-only",
        is_flag=True,
        help="Read headers of batches, no records: fast, without keys, sizes of records and "
        "ratios.",
    ),
]
ShowKeys = Annotated[
    bool,
    click.option(
        "--show-keys", is_flag=True, help="Show the heaviest keys, not only their counts."
    ),
]
Plots = Annotated[
    Path | None,
    click.option(
        "--plots",
        type=DIRECTORY,
        metavar="DIR",
        help="Write each chart as PNG and SVG into a new or empty directory.",
    ),
]


@command(OUTPUT, _EPILOG)
def stats_command(
    reporter: Reporter,
    *,
    paths: PathsOrUrls,
    topic: TopicName,
    headers_only: HeadersOnly,
    show_keys: ShowKeys,
    report: Annotated[Path | None, report_options],
    force: bool,
    plots: Plots,
    jobs: Jobs,
) -> None:
    """Measure logs: sizes, rates, codecs, producers, transactions, gaps, keys.

    A PATH is a log directory, a partition, or a segment. What cannot be read is counted, and left
    out of all other figures.
    """
    with wrong_usage(ImportError):
        require_stats(html=report is not None, plots=plots is not None)
    if plots is not None:
        check_output(plots, *paths)
        require_new(plots)
    with opened_report(report, *paths, replace=force) as file:
        figures, found = _measured(paths, topic, jobs, records=not headers_only)
        write_page(file, figures, paths, show_keys=show_keys)
    write_plots(plots, figures)
    show_figures(reporter, figures, found, show_keys=show_keys)


_FOR_ONE_PROCESS: Final = 32 << 20
"""Bytes that are measured before a further process has imported what it needs."""


def _measured(
    paths: tuple[Path, ...], topic: str | None, jobs: int, *, records: bool
) -> tuple[Figures, Inputs]:
    """Return the figures, and what could not be opened."""
    from kafkaspec.stats.measure import measure
    from kafkaspec.stats.units import units_of_log

    found = Inputs(paths, topic=topic)
    units: dict[StatsUnit, None] = {}
    total = 0
    for _, log in found.whole_logs():
        total += log_bytes(log)
        units |= dict.fromkeys(units_of_log(log, records=records, mapped=are_mapped()))
    with progress_bar("stats", total) as advance:

        def done(unit: StatsUnit) -> None:
            for path in () if unit.is_history else unit.paths:
                with suppress(OSError, KafkaSpecError):  # the figures say why
                    advance(as_path(path).stat().st_size, path)

        if total < _FOR_ONE_PROCESS:
            jobs = 1
        return measure(list(units), jobs=jobs, done=done), found


def require_stats(*, html: bool = False, plots: bool = False) -> None:
    """Look for what figures need.

    Args:
        html: whether a page is wanted too.
        plots: whether pictures are.

    Raises:
        ImportError: it is not installed.
    """
    require_all("numpy", "pyarrow", "datasketches", what="figures need", extra="stats")
    if plots:
        require_all("matplotlib", what="pictures need", extra="stats")
    if html:
        require_html()


def write_page(
    file: IO[bytes] | None,
    figures: Figures,
    paths: Iterable[str | PathLike[str]],
    *,
    show_keys: bool,
) -> None:
    """Write the page of ``--html``, if it was given, about what was read in some paths."""
    if file is not None:
        from kafkaspec.reports.measurement import stats_page

        file.write(stats_page(figures, source=report_source(paths), show_keys=show_keys))


def write_plots(directory: Path | None, figures: Figures) -> list[Path]:
    """Write the pictures of ``--plots``, if it was given; return their paths."""
    if directory is None:
        return []
    from kafkaspec.reports.plots import plot
    from kafkaspec.stats.charts import charts_of

    return plot(charts_of(figures), directory)


def show_figures(
    report: Reporter, figures: Figures, counts: Inputs, *, show_keys: bool
) -> NoReturn:
    """Print the figures, and exit."""
    counts.broken += figures.total["errors"]
    if not report.as_json:
        from kafkaspec.cli.commands.stats_text import print_text

        print_text(figures, report, show_keys=show_keys)
        report.finish(counts)
    from kafkaspec.stats.figures import LINES

    for row in figures.codecs():
        report.line("codec", row)
    for kind in LINES:
        for row in figures.rows(f"{kind}s"):
            report.line(kind, row)
    for row in figures.heaviest():
        shown = {name: row[name] for name in row if name not in ("digest", "key")}
        report.line("key", shown | ({"key": row["key"].hex()} if show_keys else {}))
    for row in figures.partitions:
        report.line("partition", row)
    for row in figures.topics:
        report.line("topic", row)
    report.line("total", figures.total)
    report.finish(counts)
