"""``kafkaspec spark messages``: Kafka's own topics of many brokers as typed tables."""

from __future__ import annotations

from typing import Annotated

import click

from kafkaspec.cli.command import command
from kafkaspec.cli.console import count_text, say
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.internal import At, ReleaseText
from kafkaspec.cli.options import wrong_usage
from kafkaspec.cli.spark.options import JobPaths, output_option, tasks_option
from kafkaspec.cli.spark.session import check_outputs, name_missing, save, session


@command(None, shared=())
def messages_command(
    ctx: click.Context,
    *,
    name: Annotated[str, click.argument("name", metavar="NAME")],
    paths: JobPaths,
    output: str = output_option("Write the table as Parquet: OUT/NAME.", required=True),
    at: At,
    release: ReleaseText,
    tasks: int | None = tasks_option(),
) -> None:
    """Write records of one type, or a table of states, of Kafka's own topics as Parquet.

    NAME is a type of record, as Kafka calls it: OffsetCommit, GroupMetadata, TransactionLog,
    PartitionChange ... Or it is a table of states: groups, members, offsets, transactional_ids,
    remote_segments, deliveries; see "kafkaspec groups --help" and its like. PATHs are log
    directories of brokers, or partitions of the topic; the column log says which one a row is of.

    Exit codes: 0 all was written, 1 something is missing, or some records could not be decoded
    (columns error and left_out), 2 wrong usage, or something cannot be read.
    """
    from kafkaspec.spark.jobs.messages import (
        ERROR,
        LEFT_OUT,
        LOG,
        STATES,
        logs_of,
        state,
        topic_messages,
    )

    check_outputs(paths, output)
    if at is not None and name not in STATES:
        raise click.UsageError("--at goes with a table of states")
    with wrong_usage(ValueError):
        lost = name_missing([str(log.path) for log in logs_of(paths, name)], log_start=False)
    with session(ctx) as spark:
        if name in STATES:
            rows = state(spark, paths, name, at=at, release=release, tasks=tasks)
        else:
            with wrong_usage(ValueError):
                rows = topic_messages(spark, paths, name, release=release, tasks=tasks)
        save(output, **{name: rows})
        written = spark.read.parquet(f"{output}/{name}")
        count, bad = written.count(), 0
        if name in STATES:
            logs = written.select(LOG, LEFT_OUT).distinct().collect()
            bad = sum(row[LEFT_OUT] for row in logs)
        else:
            bad = written.filter(f"{ERROR} is not null").count()
    say(f"{count_text(count, 'row')} in {output}/{name}")
    if bad:
        column = LEFT_OUT if name in STATES else ERROR
        say(f"{count_text(bad, 'record')} not decoded: see the column {column}")
    ctx.exit(FINDINGS if bad or lost else CLEAN)
