"""``kafkaspec spark verify``: the checks of ``kafkaspec verify`` as Spark tasks."""

from __future__ import annotations

from collections import Counter

import click

from kafkaspec.analysis.reasons import FindingReason
from kafkaspec.cli.command import command, defined, option
from kafkaspec.cli.commands.verify import OUTPUT, Reread, StartOver, finish, print_report
from kafkaspec.cli.console import stdout_console
from kafkaspec.cli.options import CodecName, is_given, wrong_usage
from kafkaspec.cli.report import Reporter
from kafkaspec.cli.spark.options import JobPaths, output_option, tasks_option
from kafkaspec.cli.spark.session import check_outputs, save, session
from kafkaspec.codecs import DEFAULT_CODEC


@command(OUTPUT, shared=())
def verify_command(
    ctx: click.Context,
    reporter: Reporter,
    *,
    paths: JobPaths,
    codec: str = defined(
        type=CodecName("all"),
        default=DEFAULT_CODEC,
        help="Codec that reads the data; several with commas, or all, are compared.",
    ),
    split_bytes: int = option(
        "--split",
        "Read larger segments in parts.",
        type=click.IntRange(min=1),
        default=256,
        callback=lambda _, __, value: value << 20,
        metavar="MIB",
    ),
    tasks: int | None = tasks_option(),
    output: str | None = output_option(
        "Findings and results of files as Parquet: OUT/findings, OUT/files."
    ),
    state: str | None = option(
        "Remember in this table of Delta, or file of verify, what was read, and read only what is "
        "new since. A task reads a partition.",
        metavar="TABLE",
    ),
    start_over: StartOver,
    reread: Reread,
) -> None:
    """Check segments, indexes, snapshots, partitions and log directories.

    The report is that of "kafkaspec verify" for the same paths. Spark's tasks verify the
    segments, large ones in parts.

    Exit codes: 0 clean, 1 errors or warnings, 2 wrong usage, or nothing can be read.
    """
    from kafkaspec.spark.jobs.verify import verify

    if state is None and (start_over or reread):
        raise click.UsageError("--start-over and --reread need --state")
    if state is not None and is_given(ctx, "split_bytes"):
        raise click.UsageError("--split does not go with --state: a task reads a partition")
    check_outputs(paths, output)
    with session(ctx) as spark, wrong_usage(ImportError):
        done = verify(
            spark, paths, codec=codec, split_bytes=split_bytes, tasks=tasks,
            state=state, start_over=start_over, reread=f"{reread:.9%}",
        )  # fmt: skip
        save(output, findings=done.findings, files=done.files)
    report = done.report
    if reporter.as_json:
        for finding in report.findings:
            reporter.line("finding", finding.as_dict())
        for result in report.files:
            reporter.line("file", result.as_dict())
    else:
        print_report(report, stdout_console())
    refused = any(finding.reason is FindingReason.UNREADABLE for finding in report.findings)
    reasons = Counter(finding.reason for finding in report.findings)
    failed = int(refused and not report.totals.checked)
    finish(reporter, report, failed=failed, more={"reasons": reasons, **done.remembered})
