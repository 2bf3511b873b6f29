"""``kafkaspec spark export``: write records to Parquet by topic and day, and back."""

from __future__ import annotations

import click

from kafkaspec.cli.console import count_text, say
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.spark.options import (
    compression_option,
    create_time_option,
    output_option,
    paths_argument,
)
from kafkaspec.cli.spark.session import check_outputs, name_missing, session


@click.command("export")
@paths_argument
@output_option("Directory or URL to write to.", required=True)
@click.option(
    "--to",
    "to",
    default="parquet",
    show_default=True,
    metavar="FORMAT",
    help="A format of Spark: parquet, orc, json ...",
)
@click.option(
    "--restore",
    "is_back",
    is_flag=True,
    help="Do the reverse: PATH is an export, and partition directories are written to OUT.",
)
@click.option("--batch-columns", is_flag=True, help="Export the columns of batches too.")
@click.option(
    "--committed",
    is_flag=True,
    help="Export only records that a consumer with read_committed sees.",
)
@create_time_option
@compression_option
@click.pass_context
def export_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    output: str,
    to: str,
    is_back: bool,
    batch_columns: bool,
    committed: bool,
    as_create_time: bool,
    compression: str,
) -> None:
    """Write records to folders topic=.../day=..., by the UTC day of their timestamps.

    With --restore, exported records become segments again, with the same offsets.

    Exit codes: 0 all was written, 1 all but what is missing, 2 wrong usage or unreadable.
    """
    from kafkaspec.spark.jobs.export import export, exported, restore

    if is_back and len(paths) > 1:
        raise click.UsageError("--restore takes one PATH")
    check_outputs(paths, output)
    lost = not is_back and name_missing(paths)
    with session(ctx) as spark:
        if is_back:
            restore(
                spark,
                paths[0],
                output,
                to=to,
                as_create_time=as_create_time,
                compression=compression,
            )
            rows = exported(spark, paths[0], to=to)
        else:
            export(
                spark,
                paths,
                output,
                to=to,
                batch=batch_columns,
                isolation_level="read_committed" if committed else "read_uncommitted",
                failOnDataLoss=not lost,  # what is lost is named
            )
            rows = exported(spark, output, to=to)
        counts = rows.groupBy("topic").count().orderBy("topic").collect()
    for row in counts:
        say(f"{row[0]}: {count_text(row[1], 'record')}")
    say(f"{count_text(sum(row[1] for row in counts), 'record')} in {output}")
    ctx.exit(FINDINGS if lost else CLEAN)
