"""``kafkaspec spark export``: write records to Parquet by topic and day, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import click

from kafkaspec.cli.console import count_text, say, warn
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.options import library_option
from kafkaspec.cli.spark.options import (
    compression_option,
    create_time_option,
    output_option,
    paths_argument,
)
from kafkaspec.cli.spark.session import check_outputs, name_missing, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
@library_option("value", metavar="FORMAT", help="Type values: decode, auto, json, long ...")
@library_option("key", former="--key", metavar="FORMAT", help="Type keys, likewise.")
@library_option(
    "schemas", metavar="PATH", help="Log directory with _schemas, or files; beside PATH if not."
)
@library_option(
    "evolve",
    kind=Literal["latest"] | int,
    metavar="VERSION",
    help="Version of the subject as which values are read: latest.",
)
@library_option(
    "on_value_error",
    help="A row without a key or value: say why in a column (default), leave it out, or end.",
)
@click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="TOPIC",
    help="Only this topic of a log directory.",
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
    value: str | None,
    key: str | None,
    schemas: str | None,
    evolve: str | int | None,
    on_value_error: str | None,
    topics: tuple[str, ...],
) -> None:
    """Write records to folders topic=.../day=..., by the UTC day of their timestamps.

    With --restore, exported records become segments again, with the same offsets.

    With --value or --key-format, each topic has its own columns, with the types of the schemas
    that lie beside the logs; Kafka's own topics are left out.

    Exit codes: 0 all was written, 1 all but what is missing or has no value, 2 wrong usage or
    unreadable.
    """
    from kafkaspec.spark.jobs.export import export, export_typed, exported, restore

    given: dict[str, str | int | None] = {
        "value_decode": value,
        "key_decode": key,
        "schemas": schemas,
        "evolve": evolve,
        "onValueError": on_value_error,
    }
    typed: dict[str, Any] = {name: item for name, item in given.items() if item is not None}
    if (typed or topics) and (is_back or (value is None and key is None)):
        raise click.UsageError("say what values or keys are, without --restore: --value decode")
    if is_back and len(paths) > 1:
        raise click.UsageError("--restore takes one PATH")
    check_outputs(paths, output)
    lost = not is_back and name_missing(paths)
    options: dict[str, Any] = {
        "isolation_level": "read_committed" if committed else "read_uncommitted",
        "failOnDataLoss": not lost,  # what is lost is named
    }
    refused: list[str] = []

    def not_exported(topic: str, error: Exception) -> None:
        warn(f"{topic}: not exported: {error}")
        refused.append(topic)

    with session(ctx) as spark:
        if typed:
            written = export_typed(
                spark, paths, output, topics=topics or None, to=to, batch=batch_columns,
                on_topic=not_exported, **options, **typed,
            )  # fmt: skip
            lost |= bool(refused)
            ctx.exit(max(_count(written, output), FINDINGS if lost else CLEAN))
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
                **options,
            )
            rows = exported(spark, output, to=to)
        counts = rows.groupBy("topic").count().orderBy("topic").collect()
    for row in counts:
        say(f"{row[0]}: {count_text(row[1], 'record')}")
    say(f"{count_text(sum(row[1] for row in counts), 'record')} in {output}")
    ctx.exit(FINDINGS if lost else CLEAN)


def _count(written: Mapping[str, DataFrame], output: str) -> int:
    """Print the numbers of records, and of those without a key or value; return the exit code."""
    from kafkaspec.spark.jobs.export import count_failed

    total = failed = 0
    for topic, rows in written.items():
        count, errors = count_failed(rows)
        say(f"{topic}: {count_text(count, 'record')}")
        for name, number in errors.items():
            if number:
                side = name.removesuffix("_error")
                warn(f"{topic}: {count_text(number, side)} not decoded: see the column {name}")
        total += count
        failed += sum(errors.values())
    say(f"{count_text(total, 'record')} in {output}")
    return FINDINGS if failed else CLEAN
