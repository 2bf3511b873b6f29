"""``kafkaspec spark compact``: compact logs as Kafka's cleaner does."""

from __future__ import annotations

from typing import Literal

import click

from kafkaspec.cli.console import say
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.options import format_option
from kafkaspec.cli.report import Output, Place, ReportCommand, Reporter, Tally, line
from kafkaspec.cli.spark.options import (
    compression_option,
    create_time_option,
    output_option,
    paths_argument,
)
from kafkaspec.cli.spark.session import check_outputs, name_missing, session

_COUNTS = ("records", "kept", "superseded", "keyless", "tombstones", "not_committed")

OUTPUT = Output(partition=line(Place, dict.fromkeys(_COUNTS, int)))


@click.command("compact", cls=ReportCommand, output=OUTPUT)
@paths_argument
@output_option("Directory for new partition directories. Without it, only counts are shown.")
@click.option(
    "--clean",
    type=click.Choice(["closed", "all"]),
    default="closed",
    show_default=True,
    help="Clean all segments except the active one, the last, as Kafka does; or all.",
)
@click.option(
    "--drop-tombstones", is_flag=True, help="Drop tombstones, as after delete.retention.ms."
)
@create_time_option
@compression_option
@format_option
@click.pass_context
def compact_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    output: str | None,
    clean: Literal["closed", "all"],
    drop_tombstones: bool,
    as_create_time: bool,
    compression: str,
    output_format: str,
) -> None:
    """Keep the last record of each key.

    Records without a key, and those of aborted transactions, are left out. Offsets stay as they
    are, and nothing under PATH is changed.

    Exit codes: 0 all was read, 1 all but what is missing, 2 wrong usage or unreadable.
    """
    from kafkaspec.spark.jobs.compact import compact, write_compacted

    check_outputs(paths, output)
    lost = name_missing(paths)
    with session(ctx) as spark:
        done = compact(
            spark,
            paths,
            clean=clean,
            keep_tombstones=not drop_tombstones,
            failOnDataLoss=not lost,  # what is lost is named
        )
        if output is not None:
            write_compacted(done, output, as_create_time=as_create_time, compression=compression)
        rows = [row.asDict() for row in done.counts.orderBy("topic", "partition").collect()]
    report = Reporter(ctx, output_format)
    for row in rows:
        if report.as_json:
            report.line("partition", row)
            continue
        left_out = ", ".join(
            f"{row[name]:,} {name.replace('_', ' ')}"
            for name in ("superseded", "keyless", "tombstones", "not_committed")
            if row[name]
        )
        place = f"{row['topic']}-{row['partition']}"
        text = f"{place}: {row['kept']:,} of {row['records']:,} records kept"
        say(f"{text}; left out: {left_out}" if left_out else text)
    report.finish(Tally(FINDINGS if lost else CLEAN, logs=len(rows), missing=int(lost)))
