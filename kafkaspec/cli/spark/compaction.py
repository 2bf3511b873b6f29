"""``kafkaspec spark compaction``: what brokers' cleaners leave of many logs, byte for byte."""

from __future__ import annotations

from typing import Annotated

import click

from kafkaspec.cli.checkpoints import CHECKPOINT, report_carried
from kafkaspec.cli.command import command
from kafkaspec.cli.commands.cleaning import Cleaning, cleaning_options
from kafkaspec.cli.console import count_text, say, warn
from kafkaspec.cli.inputs import Inputs
from kafkaspec.cli.options import wrong_usage
from kafkaspec.cli.report import Output, Reporter, line
from kafkaspec.cli.spark.options import JobPaths, output_option
from kafkaspec.cli.spark.session import check_outputs, session
from kafkaspec.log.damage import ALWAYS_RAISED
from kafkaspec.writing.carried import Carried

OUTPUT = Output(
    compaction=line(
        "kafkaspec.spark.jobs.cleaned:CleanedLog",
        removed=dict[str, int],
        without=("notes", "error", "missing", "checkpoints"),
    ),
    checkpoint=CHECKPOINT,
)


@command(OUTPUT, shared=())
def compaction_command(
    ctx: click.Context,
    report: Reporter,
    *,
    paths: JobPaths,
    output: str | None = output_option(
        "New log directory for what the cleaner leaves. Without it, only counts are shown."
    ),
    asked: Annotated[
        Cleaning,
        cleaning_options(
            "Version of Kafka whose rules apply, from 2.4.1 on.", high_watermark=False
        ),
    ],
) -> None:
    """Clean logs as brokers do, byte for byte, each partition as one task.

    The result is that of "kafkaspec compaction" for the same paths.

    Exit codes: 0 nothing would be removed, 1 something would, or cannot be read, 2 wrong usage, or
    nothing can be read.
    """
    from kafkaspec.spark.jobs.compaction import compact_logs

    check_outputs(paths, output)
    with session(ctx) as spark, wrong_usage(ValueError):
        results = compact_logs(
            spark, paths, output, now=asked.now, config=asked.config, profile=asked.profile
        )
    counts = Inputs(())
    for item in results:
        for note in item.notes:
            warn(f"note: {note}")
        counts.read += item.error is None or item.error.reason not in ALWAYS_RAISED
        if item.error is not None:
            counts.stopped_by(item.error)
        for lost in item.missing:
            counts.misses(lost)
        if item.error is not None:
            continue
        removed = dict(item.removed or {})
        counts.findings += sum(removed.values()) + (item.fails is not None)
        if report.as_json:
            report.line("compaction", item, removed=removed)
            continue
        rules = ", ".join(f"{count:,} {rule}" for rule, count in removed.items())
        text = f"{item.directory}: {count_text(sum(removed.values()), 'record')} removed"
        text += f" of {item.records:,}" + (f" ({rules})" if rules else "")
        say(text + (f"; the cleaner fails: {item.fails}" if item.fails else ""))
    entries = tuple(entry for item in results for entry in item.checkpoints)
    report_carried(Carried(entries), report)
    report.finish(counts)
