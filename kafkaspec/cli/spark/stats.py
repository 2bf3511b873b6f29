"""``kafkaspec spark stats``: what ``kafkaspec stats`` does, in tasks of Spark."""

from __future__ import annotations

from pathlib import Path

import click

from kafkaspec.cli.commands.stats import (
    OUTPUT,
    keys_option,
    plots_option,
    require_stats,
    show_figures,
    write_page,
    write_plots,
)
from kafkaspec.cli.console import note
from kafkaspec.cli.inputs import Inputs
from kafkaspec.cli.options import format_option, wrong_usage
from kafkaspec.cli.outputs import opened_report, report_options
from kafkaspec.cli.report import ReportCommand, Reporter
from kafkaspec.cli.spark.options import output_option, paths_argument, tasks_option
from kafkaspec.cli.spark.session import check_outputs, name_missing, save, session
from kafkaspec.spark.paths import local


@click.command(
    "stats",
    cls=ReportCommand,
    output=OUTPUT,
    epilog="\b\n"
    "Exit codes: 0 all was read; 1 something is missing, or cannot be read; 2 wrong usage,\n"
    "or unreadable.",
)
@paths_argument
@click.option(
    "--headers-only",
    is_flag=True,
    help="Read headers of batches, no records: fast, without keys, sizes of records and ratios.",
)
@keys_option
@report_options
@plots_option
@tasks_option
@output_option("Directory for all tables as Parquet, each in its own directory.")
@format_option
@click.pass_context
def stats_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    headers_only: bool,
    show_keys: bool,
    report: Path | None,
    force: bool,
    plots: Path | None,
    tasks: int | None,
    output: str | None,
    output_format: str,
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
        write_page(file, figures, show_keys=show_keys)
    for path in write_plots(plots, figures):
        note(f"wrote {path}")
    counts = Inputs(())
    counts.lost = int(lost)
    show_figures(Reporter(ctx, output_format), figures, counts, show_keys=show_keys)
