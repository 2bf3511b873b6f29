"""``kafkaspec verify``: check everything under the given paths."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, NoReturn

import click

from kafkaspec.analysis.files import segment_bytes
from kafkaspec.analysis.findings import Finding, Severity
from kafkaspec.analysis.reasons import FindingReason
from kafkaspec.analysis.report import LOG_KINDS, FileResult, Report, Totals
from kafkaspec.analysis.verification import codecs_of, verify_events
from kafkaspec.analysis.verify_segment import VerifyEvent
from kafkaspec.cli.command import command, option
from kafkaspec.cli.console import progress_bar, stdout_console, warn
from kafkaspec.cli.exits import CLEAN, FINDINGS, USAGE
from kafkaspec.cli.options import (
    Jobs,
    MaxOutput,
    PathsOrUrls,
    codec_option,
    no_mmap_option,
    wrong_usage,
)
from kafkaspec.cli.outputs import opened_report, report_options, require_html
from kafkaspec.cli.report import Output, Reporter, Tally, line
from kafkaspec.errors import KafkaSpecError

OUTPUT = Output(
    finding=line(Finding, without=("predicted",)),
    file=line(FileResult),
    failure=line(file=str, message=str),
    summary=line(Totals, codecs_used=list[str]),
)
_EPILOG = """
Exit codes: 0 clean, 1 errors or warnings (info does not count), 2 wrong usage,
or nothing in a PATH can be read.
"""


@command(OUTPUT, _EPILOG, shared=(no_mmap_option,))
def verify_command(
    reporter: Reporter,
    *,
    paths: PathsOrUrls,
    codec: Annotated[
        str,
        codec_option(
            "all", help="Codec that reads the data; several with commas, or all, are compared."
        ),
    ],
    max_output: MaxOutput,
    one_broker: bool = option(
        "The PATHs are all log.dirs of one broker: compare their cluster, node and directory ids."
    ),
    least: str = option(
        "--severity",
        "Show findings of this severity and above. The exit code stays the same.",
        type=click.Choice([str(severity) for severity in Severity]),
        default=str(Severity.INFO),
    ),
    quiet: bool = option(
        "-q", "--quiet", "Show findings and totals only, and nothing at all if everything is clean."
    ),
    report: Annotated[Path | None, report_options],
    force: bool,
    jobs: Jobs,
) -> None:
    """Check segments, indexes, snapshots, partitions and log directories.

    This reads every batch, checksum and record, checks offsets and sequences, and compares headers
    with records, indexes with their log, names with contents, and segments with each other. Each
    finding says what Kafka's reader, and a broker that loads the log, would do.

    Checkpoints and other text files are compared with the logs: this needs the whole log directory,
    or, for a leader epoch checkpoint, its partition.

    A PATH is a segment (.log, .kafka), an index or snapshot beside one, a KRaft snapshot
    (.checkpoint), a text file (meta.properties ...), a partition directory or a whole log
    directory. Nothing is written.
    """
    if report is not None:
        with wrong_usage(ImportError):
            require_html()
    with opened_report(report, *paths, replace=force) as file:
        result, failures, unreadable = _verified(
            reporter,
            paths,
            codec=codec,
            max_output=max_output,
            one_broker=one_broker,
            least=Severity(least),
            quiet=quiet,
            jobs=jobs,
            keep=file is not None,
        )
        if file is not None:
            from kafkaspec.cli.commands.verify_text import next_command
            from kafkaspec.reports.verification import verify_page

            then = next_command(result.findings)
            file.write(verify_page(result, failures=failures, then=then))
    finish(reporter, result, failed=len(failures) + unreadable)


def finish(reporter: Reporter, report: Report, *, failed: int = 0) -> NoReturn:
    """Print the summary as JSON, and exit.

    Args:
        reporter: prints it.
        report: what was found.
        failed: number of paths of which nothing could be read.
    """
    totals = report.totals
    clean = report.clean and not failed
    tally = Tally(
        USAGE if failed else CLEAN if clean else FINDINGS,
        logs=sum(totals.files[kind] for kind in LOG_KINDS),
        unreadable=failed,
        undecoded=totals.unread,
    )
    sums = totals.as_dict() | {"clean": clean, "codecs_used": report.codecs}
    reporter.finish(tally, **sums)


def _verified(
    reporter: Reporter,
    paths: tuple[Path, ...],
    *,
    codec: str,
    max_output: int | None,
    one_broker: bool,
    least: Severity,
    quiet: bool,
    jobs: int,
    keep: bool,
) -> tuple[Report, list[str], bool]:
    """Verify and print; return the report, what failed, and whether nothing in a path was read.

    With ``keep``, the report has all events, which are printed all the same.
    """
    report = Report(codecs=codecs_of(codec))
    failures: list[str] = []
    unreadable = False
    severities = list(Severity)
    severities = severities[: severities.index(least) + 1]
    with progress_bar("verify", sum(segment_bytes(path) for path in paths)) as advance:
        for number, path in enumerate(paths):
            beside = paths[:number] if one_broker else ()
            refused = checked = False
            try:
                for event in verify_events(
                    path,
                    codec=codec,
                    max_output=max_output,
                    progress=advance,
                    beside=beside,
                    jobs=jobs,
                ):
                    if isinstance(event, FileResult):
                        checked |= event.checked
                        report.totals.add(event)
                        if keep or not quiet:
                            _keep(event, report, reporter, quiet=quiet, keep=keep)
                        continue
                    refused |= event.reason is FindingReason.UNREADABLE
                    if event.severity in severities:
                        _keep(event, report, reporter, keep=keep)
            except KafkaSpecError as error:
                failures.append(str(error))
                if reporter.as_json:
                    reporter.line("failure", file=path, message=str(error))
            unreadable |= refused and not checked
    for message in failures:
        warn(message)
    if not reporter.as_json and report.totals.files and not (quiet and report.clean):
        from kafkaspec.cli.commands.verify_text import print_report

        shown = replace(report, files=[]) if quiet else report
        print_report(shown, stdout_console())
    return report, failures, unreadable


def _keep(
    event: VerifyEvent, report: Report, reporter: Reporter, *, keep: bool, quiet: bool = False
) -> None:
    """Print an event as JSON, or keep it for the report, or both."""
    is_file = isinstance(event, FileResult)
    if reporter.as_json and not quiet:
        reporter.line("file" if is_file else "finding", event.as_dict())
    if not keep and reporter.as_json:
        return
    if isinstance(event, FileResult):
        report.files.append(event)
    else:
        report.findings.append(event)
