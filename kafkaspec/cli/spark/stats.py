"""``kafkaspec spark stats``: count the content of logs by topic-partition."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console

from kafkaspec.cli.console import count_text, new_table, note, print_json, size_text, stdout_console
from kafkaspec.cli.exits import FINDINGS
from kafkaspec.cli.options import format_option
from kafkaspec.cli.spark.options import output_option, paths_argument, tasks_option
from kafkaspec.cli.spark.session import check_outputs, name_missing, save, session

_TABLES = ("partitions", "codecs", "sizes", "producers", "times", "gaps")
_SHOWN = 60


@click.command("stats")
@paths_argument
@click.option(
    "--headers-only",
    is_flag=True,
    help="Do not decompress: no ratios, and no records of wrappers of magic 0 and 1.",
)
@click.option("--plots", metavar="DIR", help='Directory for plots as PNG (the extra "stats").')
@tasks_option
@output_option("Directory for all tables as Parquet, each in its own directory.")
@format_option
@click.pass_context
def stats_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    headers_only: bool,
    plots: str | None,
    tasks: int | None,
    output: str | None,
    output_format: str,
) -> None:
    """Count what logs hold, from the headers of all batches.

    A PATH is a segment, a partition or log directory, a glob or a URL. With --format json, each
    line is a row of the table that its "type" names: partition, codec, size, producer, time, gap.

    Exit codes: 0 all was read, 1 something is missing or some batches cannot be read, 2 wrong usage
    or unreadable.
    """
    from kafkaspec.spark.jobs.stats import stats

    if plots is not None:
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            raise click.UsageError(
                "plots need matplotlib: pip install 'kafkaspec[stats]'"
            ) from None
    check_outputs(paths, output, plots)
    lost = name_missing(paths, log_start=False)
    with session(ctx) as spark:
        found = stats(spark, paths, ratios=not headers_only, tasks=tasks)
        save(output, **{name: getattr(found, name) for name in _TABLES})
        order = ("topic", "partition")
        tables = _TABLES if output_format == "json" else ("partitions", "codecs")
        rows = {
            name: [row.asDict() for row in getattr(found, name).orderBy(*order).collect()]
            for name in tables
        }
        if plots is not None:
            from kafkaspec.spark.jobs.plots import plot

            for path in plot(found, plots):
                note(f"wrote {path}")
        found.unpersist()
    if output_format == "json":
        for name, items in rows.items():
            for item in items:
                print_json(name.removesuffix("s"), item)
    else:
        _print(rows, stdout_console())
    if lost or any(row["errors"] for row in rows["partitions"]):
        ctx.exit(FINDINGS)


def _print(rows: dict[str, list[dict[str, Any]]], console: Console) -> None:
    partitions = rows["partitions"]
    counted = (">segments", ">batches", ">records", ">offsets", ">size", ">not read")
    table = new_table("partition", ">magic", "codecs", *counted)
    for row in partitions[:_SHOWN]:
        offsets = "-"
        if row["first_offset"] is not None:
            offsets = f"{row['first_offset']}..{row['last_offset']}"
        name = row["directory"] if row["topic"] is None else f"{row['topic']}-{row['partition']}"
        table.add_row(
            name,
            " ".join(map(str, row["magics"] or ())) or "-",
            " ".join(row["codecs"] or ()) or "-",
            f"{row['segments']:,}",
            f"{row['batches']:,}",
            f"{row['records']:,}",
            offsets,
            size_text(row["file_bytes"]),
            f"{row['errors']:,}" if row["errors"] else "",
        )
    console.print(table)
    if len(partitions) > _SHOWN:
        console.print(f"... and {len(partitions) - _SHOWN:,} more partitions; --format json")
    codecs = new_table("compression", ">batches", ">size", ">ratio")
    for name in sorted({row["compression"] for row in rows["codecs"]}):
        chosen = [row for row in rows["codecs"] if row["compression"] == name]
        payload = sum(row["payload"] or 0 for row in chosen)
        ratio = sum(row["uncompressed"] or 0 for row in chosen) / payload if payload else None
        codecs.add_row(
            name,
            f"{sum(row['batches'] for row in chosen):,}",
            size_text(sum(row["bytes"] for row in chosen)),
            "-" if ratio is None else f"{ratio:.2f}",
        )
    console.print(codecs)
    totals = [
        count_text(len(partitions), "partition"),
        count_text(sum(row["segments"] for row in partitions), "segment"),
        count_text(sum(row["batches"] for row in partitions), "batch", "batches"),
        count_text(sum(row["records"] for row in partitions), "record"),
        size_text(sum(row["file_bytes"] for row in partitions)),
    ]
    console.print(", ".join(totals))
