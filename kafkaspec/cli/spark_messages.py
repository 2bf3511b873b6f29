"""``kafkaspec spark messages``: Kafka's own topics of many brokers as typed tables."""

from __future__ import annotations

import click

from kafkaspec.cli.console import count_text, say
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.internal import at_option, release_option
from kafkaspec.cli.spark_options import output_option, paths_argument, tasks_option
from kafkaspec.cli.spark_session import check_outputs, save, session


@click.command("messages")
@click.argument("name", metavar="NAME")
@paths_argument
@output_option("Write the table as Parquet: OUT/NAME.", required=True)
@at_option
@release_option
@tasks_option
@click.pass_context
def messages_command(
    ctx: click.Context,
    name: str,
    paths: tuple[str, ...],
    output: str,
    at: int | None,
    release: str | None,
    tasks: int | None,
) -> None:
    """Write records of one type, or a table of states, of Kafka's own topics as Parquet.

    NAME is a type of record, as Kafka calls it: OffsetCommit, GroupMetadata, TransactionLog,
    PartitionChange ... Or it is a table of states: groups, members, offsets, transactional_ids,
    remote_segments, deliveries; see "kafkaspec groups --help" and its like. PATHs are log
    directories of brokers, or partitions of the topic; the column log says which one a row is of.

    Exit codes: 0 all was written, 1 some records could not be decoded (column error), 2 wrong
    usage, or nothing can be read.
    """
    from kafkaspec.spark.jobs.messages import ERROR, STATES, state, topic_messages

    check_outputs(paths, output)
    with session(ctx) as spark:
        if name in STATES:
            rows = state(spark, paths, name, at=at, release=release, tasks=tasks)
        elif at is not None:
            raise click.UsageError("--at goes with a table of states")
        else:
            try:
                rows = topic_messages(spark, paths, name, release=release, tasks=tasks)
            except ValueError as error:
                raise click.UsageError(str(error)) from None
        save(output, **{name: rows})
        written = spark.read.parquet(f"{output}/{name}")
        count, bad = written.count(), 0
        if name not in STATES:
            bad = written.filter(f"{ERROR} is not null").count()
    say(f"{count_text(count, 'row')} in {output}/{name}")
    if bad:
        say(f"{count_text(bad, 'record')} not decoded: see the column {ERROR}")
    ctx.exit(FINDINGS if bad else CLEAN)
