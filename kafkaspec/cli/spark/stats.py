"""``kafkaspec spark stats``: what ``kafkaspec stats`` does, in tasks of Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from kafkaspec.cli.command import command
from kafkaspec.cli.commands.stats import (
    OUTPUT,
    HeadersOnly,
    Plots,
    ShowKeys,
    require_stats,
    show_figures,
    write_page,
    write_plots,
)
from kafkaspec.cli.console import note
from kafkaspec.cli.inputs import Inputs
from kafkaspec.cli.options import wrong_usage
from kafkaspec.cli.outputs import opened_report, report_options
from kafkaspec.cli.report import Reporter
from kafkaspec.cli.spark.options import JobPaths, output_option, tasks_option
from kafkaspec.cli.spark.session import check_outputs, name_missing, save, session
from kafkaspec.spark.paths import local


@command(
    OUTPUT,
    "Exit codes: 0 all was read; 1 something is missing, or cannot be read; 2 wrong usage,\n"
    "or unreadable.",
    shared=(),
)
def stats_command(
    ctx: click.Context,
    reporter: Reporter,
    *,
    paths: JobPaths,
    headers_only: HeadersOnly,
    show_keys: ShowKeys,
    report: Annotated[Path | None, report_options],
    force: bool,
    plots: Plots,
    tasks: int | None = tasks_option(),
    output: str | None = output_option(
        "Directory for all tables as Parquet, each in its own directory."
    ),
) -> None:
    """Measure logs as "kafkaspec stats" does, with the same figures.

    A PATH is a segment, a partition or log directory, a glob or a URL.
    """
    from kafkaspec.spark.jobs.stats import frames, stats

    with wrong_usage(ImportError):
        require_stats(html=report is not None, plots=plots is not None)
    check_outputs(paths, output, None if plots is None else str(plots))
    inputs = [path for path in map(local, paths) if path is not None]
    with opened_report(report, *inputs, replace=force) as file:
        lost = name_missing(paths, log_start=False)
        with session(ctx) as spark:
            figures = stats(spark, paths, records=not headers_only, tasks=tasks)
            if output is not None:
                save(output, **frames(spark, figures))
        write_page(file, figures, paths, show_keys=show_keys)
    for path in write_plots(plots, figures):
        note(f"wrote {path}")
    counts = Inputs(())
    counts.lost = int(lost)
    show_figures(reporter, figures, counts, show_keys=show_keys)
