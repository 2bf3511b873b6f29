"""``kafkaspec verify``: check everything under the given paths."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from kafkaspec.analysis.files import segment_bytes
from kafkaspec.analysis.findings import Finding
from kafkaspec.analysis.reasons import FindingReason
from kafkaspec.analysis.report import FileResult, Report
from kafkaspec.analysis.verification import codecs_of, verify_events
from kafkaspec.analysis.verify_segment import Event
from kafkaspec.cli.console import progress_bar, stdout_console
from kafkaspec.cli.exits import CLEAN, FINDINGS, USAGE
from kafkaspec.cli.options import LogPath, codec_option, format_option
from kafkaspec.errors import KafkaSpecError

_EPILOG = """\b
Output of --format json, one object a line, told apart by "type":
  finding  file, severity (error, warning, info), area, reason, message,
           position (byte offset or null), offset (log offset or null), path,
           codec, reader and broker (what they do with it), action (the same
           for programs: nothing, cuts_log, refuses_log, empties_segment,
           hides_records, keeps_unreadable, rebuilds_index,
           forgets_producers, deletes_file, deletes_log, recovers_log,
           resets_offset, refuses_start)
  file     file, kind, partition, checked, clean, size, entries, padding,
           batches, control_batches, records, unread, magics, codecs,
           first_offset, last_offset, findings (number by severity)
  failure  file, message: a PATH that could not be read at all
  summary  the last line: clean, sums over all files, codecs_used

\b
Exit codes: 0 clean, 1 errors or warnings (info does not count), 2 wrong usage
or a PATH, or a file under it, that cannot be read.
"""


@click.command(
    "verify",
    epilog=_EPILOG,
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=LogPath())
@codec_option("all", help="Codec that reads the data; all: every installed one, compared.")
@click.option(
    "--max-output",
    type=click.IntRange(min=1),
    metavar="BYTES",
    help="Maximum number of bytes that one batch may decompress to.",
)
@click.option(
    "--one-broker",
    is_flag=True,
    help="The PATHs are all log.dirs of one broker: compare their cluster, node and directory ids.",
)
@format_option
@click.pass_context
def verify_command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    codec: str,
    max_output: int | None,
    one_broker: bool,
    output_format: str,
) -> None:
    """Check segments, indexes, snapshots, partitions and log directories.

    Every batch, checksum and record is read; offsets and sequences, headers against records,
    indexes against their log, names against contents, and segments against each other. Each
    finding says what Kafka's reader and a broker that loads the log would do.

    Checkpoints and other text files are compared with the logs: this needs the whole log directory,
    and for a leader epoch checkpoint its partition.

    A PATH is a segment (.log, .kafka), an index or snapshot beside one, a KRaft snapshot
    (.checkpoint), a text file (meta.properties ...), a partition directory or a whole log
    directory. Nothing is written anywhere.
    """
    run = _Run(paths, codec, max_output, one_broker)
    if output_format == "json":
        _print_json(run)
    else:
        _print_text(run)
    if run.failures or run.unreadable:
        ctx.exit(USAGE)
    ctx.exit(CLEAN if run.report.clean else FINDINGS)


class _Run:
    """Verification of several paths."""

    def __init__(
        self, paths: tuple[Path, ...], codec: str, max_output: int | None, one_broker: bool
    ) -> None:
        self._paths = paths
        self._codec = codec
        self._max_output = max_output
        self._one_broker = one_broker
        self.report: Report = Report(codecs=codecs_of(codec))
        self.failures: list[tuple[Path, str]] = []
        self.unreadable = False

    @property
    def size(self) -> int:
        """Return the number of bytes to read, as far as it is known."""
        return sum(segment_bytes(path) for path in self._paths)

    def events(self, progress: Callable[[int, str], None] | None = None) -> Iterator[Event]:
        """Verify the paths; a path that cannot be read becomes a failure."""
        for number, path in enumerate(self._paths):
            try:
                for event in verify_events(
                    path,
                    codec=self._codec,
                    max_output=self._max_output,
                    progress=progress,
                    beside=self._paths[:number] if self._one_broker else (),
                ):
                    if isinstance(event, FileResult):
                        self.report.totals.add(event)
                    elif event.reason is FindingReason.UNREADABLE:
                        self.unreadable = True
                    yield event
            except KafkaSpecError as error:
                self.failures.append((path, str(error)))


def _print_text(run: _Run) -> None:
    from kafkaspec.cli.verify_text import print_report

    with progress_bar("verify", run.size) as advance:
        for event in run.events(advance):
            if isinstance(event, Finding):
                run.report.findings.append(event)
            else:
                run.report.files.append(event)
    for _, message in run.failures:
        click.echo(f"kafkaspec: {message}", err=True)
    if run.report.files or run.report.findings:
        print_report(run.report, stdout_console())


def _print_json(run: _Run) -> None:
    with progress_bar("verify", run.size) as advance:
        told = 0
        for event in run.events(advance):
            _line("finding" if isinstance(event, Finding) else "file", event.as_dict())
            told = _tell(run, told)
        _tell(run, told)
    totals = run.report.totals
    summary = totals.as_dict() | {"clean": totals.clean and not run.failures}
    _line("summary", summary | {"codecs_used": list(run.report.codecs)})


def _tell(run: _Run, told: int) -> int:
    """Write the failures after the first ``told``."""
    for path, message in run.failures[told:]:
        _line("failure", {"file": str(path), "message": message})
        click.echo(f"kafkaspec: {message}", err=True)
    return len(run.failures)


def _line(kind: str, content: dict[str, Any]) -> None:
    click.echo(json.dumps({"type": kind} | content))
