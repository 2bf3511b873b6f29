"""``kafkaspec spark export``: write records to Parquet by topic and day, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from kafkaspec.cli.command import command, defined, option
from kafkaspec.cli.console import count_text, say, warn
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.options import FormerName, library_option
from kafkaspec.cli.spark.options import JobPaths, output_option, restore_option
from kafkaspec.cli.spark.session import check_outputs, name_missing, session
from kafkaspec.compression import NAMES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def _isolation_option(command: Any) -> Any:
    """Add ``--isolation``, and the flag that ``read_committed`` was."""
    former = {"cls": FormerName, "now": "--isolation", "flag_value": "read_committed"}
    flag = click.option("--committed", "former_committed", **former)  # type: ignore[arg-type]
    return library_option("isolation", default="read_uncommitted")(flag(command))


@command(None, shared=())
def export_command(
    ctx: click.Context,
    *,
    paths: JobPaths,
    output: str = output_option("Directory or URL to write to.", required=True),
    to: str = option(
        "A format of Spark: parquet, orc, json ...", default="parquet", metavar="FORMAT"
    ),
    is_back: bool = restore_option(),
    batch_columns: bool = option("Export the columns of batches too."),
    isolation: Annotated[str, _isolation_option],
    value: str | None = defined(metavar="FORMAT", help="Type values: decode, auto, json, long ..."),
    key: str | None = defined(former="--key", metavar="FORMAT", help="Type keys, likewise."),
    schemas: str | None = defined(
        metavar="PATH", help="Log directory with _schemas, or files; beside PATH if not."
    ),
    evolve: str | int | None = defined(
        kind=Literal["latest"] | int,
        metavar="VERSION",
        help="Version of the subject as which values are read: latest.",
    ),
    on_value_error: str | None = defined(
        help="Say in a column why a row has no key or value (default), leave the row out, or end."
    ),
    topics: tuple[str, ...] = defined("topic", multiple=True, metavar="TOPIC"),
    as_create_time: bool = option(
        "Write timestamps of brokers (LogAppendTime) as ones of producers."
    ),
    compression: str = defined(
        type=click.Choice(NAMES), default="none", help="Compression of new batches."
    ),
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
        "isolation_level": isolation,
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
                spark, paths[0], output, to=to, as_create_time=as_create_time,
                compression=compression,
            )  # fmt: skip
            rows = exported(spark, paths[0], to=to)
        else:
            export(spark, paths, output, to=to, batch=batch_columns, **options)
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
