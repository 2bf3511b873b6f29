"""``kafkaspec verify``: check everything under the given paths."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from kafkaspec.analysis.files import segment_bytes
from kafkaspec.analysis.findings import Severity
from kafkaspec.analysis.reasons import FindingReason
from kafkaspec.analysis.report import FileResult, Report
from kafkaspec.analysis.verification import codecs_of, verify_events
from kafkaspec.analysis.verify_segment import Event
from kafkaspec.cli.console import print_json, progress_bar, stdout_console, warn
from kafkaspec.cli.exits import CLEAN, FINDINGS, USAGE
from kafkaspec.cli.options import (
    codec_option,
    format_option,
    jobs_option,
    max_output_option,
    no_mmap_option,
    paths_or_urls_argument,
    wrong_usage,
)
from kafkaspec.cli.outputs import opened_report, report_options, require_html
from kafkaspec.errors import KafkaSpecError

_EPILOG = """\b
Output of --format json, one object per line, with its "type":
  finding  file, severity (error, warning, info), area, reason, message,
           position (byte offset or null), offset (log offset or null), path,
           codec, entry (byte offset of the batch that holds position, or null),
           reader and broker (what they do with it), action (the same
           for programs: nothing, cuts_log, refuses_log, empties_segment,
           splits_segment, hides_records, keeps_unreadable, fails_to_load,
           rebuilds_index, forgets_producers, mistakes_producers, deletes_file,
           deletes_log, recovers_log, resets_offset, refuses_start)
  file     file, kind, partition, checked, clean, size, entries, padding,
           batches, control_batches, records, unread, magics, codecs,
           first_offset, last_offset, findings (number by severity)
  failure  file, message: a PATH that could not be read at all
  summary  the last line: clean, sums over all files, codecs_used

\b
Exit codes: 0 clean, 1 errors or warnings (info does not count), 2 wrong usage,
or nothing of a PATH can be read.
"""


@click.command("verify", epilog=_EPILOG)
@paths_or_urls_argument
@codec_option("all", text="Codec that reads the data; all: every installed one, compared.")
@max_output_option
@click.option(
    "--one-broker",
    is_flag=True,
    help="The PATHs are all log.dirs of one broker: compare their cluster, node and directory ids.",
)
@click.option(
    "--severity",
    "least",
    type=click.Choice([str(severity) for severity in Severity]),
    default=str(Severity.INFO),
    show_default=True,
    help="Show findings of this severity and above. The exit code stays the same.",
)
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Show findings and totals only, and nothing at all if everything is clean.",
)
@report_options
@jobs_option
@no_mmap_option
@format_option
@click.pass_context
def verify_command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    codec: str,
    max_output: int | None,
    one_broker: bool,
    least: str,
    quiet: bool,
    report: Path | None,
    force: bool,
    jobs: int,
    output_format: str,
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
            paths,
            codec=codec,
            max_output=max_output,
            one_broker=one_broker,
            least=Severity(least),
            quiet=quiet,
            jobs=jobs,
            as_json=output_format == "json",
            keep=file is not None,
        )
        if file is not None:
            from kafkaspec.cli.checking.verify_text import next_command
            from kafkaspec.reports.verification import verify_page

            then = next_command(result.findings)
            file.write(verify_page(result, failures=failures, then=then))
    if failures or unreadable:
        ctx.exit(USAGE)
    ctx.exit(CLEAN if result.clean else FINDINGS)


def _verified(
    paths: tuple[Path, ...],
    *,
    codec: str,
    max_output: int | None,
    one_broker: bool,
    least: Severity,
    quiet: bool,
    jobs: int,
    as_json: bool,
    keep: bool,
) -> tuple[Report, list[str], bool]:
    """Verify and print; return the report, what failed, and whether nothing of a path was read.

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
                            _keep(event, report, as_json and not quiet, keep=keep or not as_json)
                        continue
                    refused |= event.reason is FindingReason.UNREADABLE
                    if event.severity in severities:
                        _keep(event, report, as_json, keep=keep or not as_json)
            except KafkaSpecError as error:
                failures.append(str(error))
                if as_json:
                    print_json("failure", {"file": str(path), "message": str(error)})
            unreadable |= refused and not checked
    for message in failures:
        warn(message)
    if as_json:
        clean = report.clean and not failures
        summary = report.totals.as_dict() | {"clean": clean, "codecs_used": report.codecs}
        print_json("summary", summary)
    elif report.totals.files and not (quiet and report.clean):
        from kafkaspec.cli.checking.verify_text import print_report

        shown = replace(report, files=[]) if quiet else report
        print_report(shown, stdout_console())
    return report, failures, unreadable


def _keep(event: Event, report: Report, as_json: bool, *, keep: bool) -> None:
    """Print an event as JSON, or keep it for the report, or both."""
    if as_json:
        print_json("file" if isinstance(event, FileResult) else "finding", event.as_dict())
    if not keep:
        return
    if isinstance(event, FileResult):
        report.files.append(event)
    else:
        report.findings.append(event)
