"""``kafkaspec verify``: check everything under the given paths."""

from __future__ import annotations

import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import click

from kafkaspec.analysis.files import segment_bytes
from kafkaspec.analysis.findings import Area as Area
from kafkaspec.analysis.findings import Finding, Severity
from kafkaspec.analysis.pace import paced, rate_of, share_of
from kafkaspec.analysis.reasons import FindingReason
from kafkaspec.analysis.report import LOG_KINDS, FileResult, Report, Totals
from kafkaspec.analysis.report import FileKind as FileKind
from kafkaspec.analysis.verification import (
    check_state,
    codecs_of,
    memory_options,
    verify_events,
)
from kafkaspec.cli.command import command, option
from kafkaspec.cli.console import (
    count_text,
    limited,
    new_table,
    progress_bar,
    stdout_console,
    styled,
    warn,
)
from kafkaspec.cli.exits import CLEAN, FINDINGS, USAGE
from kafkaspec.cli.options import (
    FileFormat,
    Jobs,
    MaxOutput,
    Parsed,
    PathsOrUrls,
    codec_option,
    no_mmap_option,
    wrong_usage,
)
from kafkaspec.cli.outputs import opened_report, report_options, report_source, require_html
from kafkaspec.cli.report import Output, Reporter, Tally, line
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.log.formats import FormatName, format_named
from kafkaspec.output.metrics import write_metrics
from kafkaspec.output.places import check_output
from kafkaspec.shown import size_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text


StartOver = Annotated[
    bool,
    click.option("--start-over", is_flag=True, help="Forget what the state remembers."),
]
Reread = Annotated[
    float,
    click.option(
        "--reread",
        type=Parsed(share_of),
        metavar="SHARE",
        default="0%",
        help="With --state, read this share of the old again, what was not read for longest: 5%.",
    ),
]

OUTPUT = Output(
    forms={"sarif": "kafkaspec.cli.forms:Sarif"},
    finding=line(Finding, without=("predicted",)),
    file=line(FileResult),
    failure=line(file=str, message=str),
    summary=line(
        Totals,
        codecs_used=list[str],
        reasons=dict[str, int] | None,
        bytes_read=int | None,
        segments=dict[str, int] | None,
        all_read_since_timestamp_seconds=float | None,
    ),
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
    log_format: FileFormat,
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
    metrics: Path | None = option(
        "Also write the totals for Prometheus to this file, which is replaced when it is whole.",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
    ),
    state: Path | None = option(
        "Remember in this file what was read, and read only what is new since it was written.",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
    ),
    start_over: StartOver,
    reread: Reread,
    rate: float | None = option(
        "Read at most as many bytes in a second: 50MB/s.", type=Parsed(rate_of), metavar="RATE"
    ),
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
    if metrics is not None:
        check_output(metrics, *paths)
    memory = None
    if state is not None:
        from kafkaspec.analysis.remembered import Memory
        from kafkaspec.analysis.state_file import StateFile

        check_state(state, *paths, log_format=log_format)
        options = memory_options(codec, max_output)
        memory = Memory.of_store(StateFile(state), options, start_over=start_over, reread=reread)
    elif start_over or reread:
        raise click.UsageError("--start-over and --reread need --state")
    severities = list(Severity)[: list(Severity).index(Severity(least)) + 1]
    reasons: Counter[str] = Counter()
    with (
        opened_report(report, *paths, replace=force) as file,
        nullcontext() if memory is None else memory,
    ):
        result = Report(codecs=codecs_of(codec))
        failures: list[str] = []
        unreadable = False
        keep = file is not None or not reporter.as_json
        with progress_bar("verify", sum(segment_bytes(path) for path in paths)) as moved:
            advance = moved if rate is None else paced(moved, rate)
            for number, path in enumerate(paths):
                refused = checked = False
                try:
                    for event in verify_events(
                        path,
                        codec=codec,
                        max_output=max_output,
                        log_format=log_format,
                        progress=advance,
                        beside=paths[:number] if one_broker else (),
                        jobs=jobs,
                        memory=memory,
                    ):
                        if isinstance(event, FileResult):
                            checked |= event.checked
                            result.totals.add(event)
                            if not quiet:
                                reporter.line("file", event.as_dict())
                            if keep and (file is not None or not quiet):
                                result.files.append(event)
                            continue
                        reasons[event.reason] += 1
                        refused |= event.reason is FindingReason.UNREADABLE
                        if event.severity in severities:
                            reporter.line("finding", event.as_dict())
                            if keep:
                                result.findings.append(event)
                except KafkaSpecError as error:
                    failures.append(str(error))
                    reporter.line("failure", file=path, message=str(error))
                unreadable |= refused and not checked
        for message in failures:
            warn(message)
        if not reporter.as_json and result.totals.files and not (quiet and result.clean):
            shown = replace(result, files=[]) if quiet else result
            print_report(shown, stdout_console(), log_format)
        if file is not None:
            from kafkaspec.reports.verification import verify_page

            then = next_command(result.findings, log_format)
            source = report_source(paths)
            file.write(verify_page(result, source=source, failures=failures, then=then))
    more = {"reasons": reasons} | ({} if memory is None else memory.as_dict())
    finish(reporter, result, failed=len(failures) + unreadable, metrics=metrics, more=more)


def finish(
    reporter: Reporter,
    report: Report,
    *,
    failed: int = 0,
    metrics: Path | None = None,
    more: Mapping[str, Any] | None = None,
) -> NoReturn:
    """Print the summary as JSON, and exit.

    Args:
        reporter: prints it.
        report: what was found.
        failed: number of paths of which nothing could be read.
        metrics: file to write the totals to.
        more: further members of the summary.
    """
    totals = report.totals
    clean = report.clean and not failed
    tally = Tally(
        USAGE if failed else CLEAN if clean else FINDINGS,
        logs=sum(totals.files[kind] for kind in LOG_KINDS),
        unreadable=failed,
        undecoded=totals.unread,
    )
    sums = totals.as_dict() | {"clean": clean, "codecs_used": report.codecs, **(more or {})}
    also = None if metrics is None else partial(write_metrics, metrics)
    reporter.finish(tally, also=also, **sums)


# -- text ------------------------------------------------------------------------------------

MAX_SHOWN = 200
"""Number of findings to print; the rest is counted. JSON has all of them."""

_MAX_ALIKE = 3
"""Number of findings of one kind in one file to print; of more, the first stands for all."""

_MANY_ROWS = 60

_DISPENSABLE = ("files", "size", "magic", "codecs")
"""Columns of the table that a narrow terminal leaves out, the first one first."""

_MENDED = frozenset(
    {Area.OFFSET_INDEX, Area.TIME_INDEX, Area.TRANSACTION_INDEX, Area.PRODUCER_SNAPSHOT}
)
"""Areas of files that ``index`` makes again."""

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def print_report(report: Report, console: Console, log_format: FormatName | None = None) -> None:
    """Print the table, findings and totals."""
    if report.files:
        console.print(_table(report.files, console))
    left = len(report.findings)
    for alike in islice(_kinds(report.findings), MAX_SHOWN):
        few = len(alike) <= _MAX_ALIKE
        for finding in alike if few else alike[:1]:
            console.print(_finding(finding))
            if finding.counts:
                console.print(styled((f"    reader: {finding.reader}", "dim")))
                console.print(styled((f"    broker: {finding.broker}", "dim")))
        if not few:
            console.print(styled((_others(alike[1:]), "dim")))
        left -= len(alike)
    if left:
        console.print(f"... and {count_text(left, 'finding')} more; --format json lists all")
    console.print(_last_line(report))
    command = next_command(report.findings, log_format)
    if command:
        console.print(f"next: {command}")


def _kinds(findings: list[Finding]) -> Iterator[list[Finding]]:
    """Yield the findings in groups of one kind in one file, in the order of their first ones."""
    kinds: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        key = finding.file, finding.severity, finding.area, finding.reason, finding.codec
        kinds.setdefault(key, []).append(finding)
    yield from kinds.values()


def _others(findings: list[Finding]) -> str:
    last = findings[-1].position
    where = "" if last is None else f", the last at byte {last}"
    return f"    and {len(findings)} more of this kind in the same file{where}"


def next_command(findings: list[Finding], log_format: FormatName | None = None) -> str:
    """Return the command that shows or mends the worst finding, "" if there is none."""
    counted = [finding for finding in findings if finding.counts]
    if not counted:
        return ""
    worst = min(
        counted, key=lambda finding: (finding.severity != Severity.ERROR, finding.area in _MENDED)
    )
    file = shlex.quote(worst.file)
    if worst.area in _MENDED:
        return f"kafkaspec index {shlex.quote(os.path.dirname(worst.file) or os.curdir)} -o OUT"
    if worst.area is Area.FILES or worst.reason is FindingReason.UNREADABLE:
        return ""
    if log_format is not None:  # only a type and a position say where an entry is
        if worst.entry is None:
            return ""
        entry = format_named(log_format).framing.entry
        return f"kafkaspec explain {file} --as {entry} --position {worst.entry}"
    if worst.entry is not None or (worst.area is Area.BATCH and worst.position is not None):
        return f"kafkaspec explain {file} --position {worst.position}"
    return f"kafkaspec explain {file}"


def _groups(files: list[FileResult]) -> tuple[str, dict[str, list[FileResult]]]:
    """Return the rows of the table, by segment, partition or log directory to keep it readable."""
    partitions = {result.partition for result in files}
    if len(partitions) == 1:
        by_segment = _by(files, _segment_row)
        # A row has the name of its segment, unless that is not among the files.
        named = {
            name if len(results) > 1 else results[0].file: results
            for name, results in by_segment.items()
        }
        return "file", named
    rows = _by(files, _partition_row)
    if len(rows) > _MANY_ROWS:
        directories = _by(files, lambda each: os.path.dirname(each.partition or each.file) or ".")
        if len(directories) > 1:
            return "log directory", directories
    return "partition", rows


def _by(files: list[FileResult], row: Callable[[FileResult], str]) -> dict[str, list[FileResult]]:
    rows: dict[str, list[FileResult]] = {}
    for result in files:
        rows.setdefault(row(result), []).append(result)
    return rows


def _segment_row(result: FileResult) -> str:
    name = names.parse_segment(os.path.basename(result.file))
    if name is None or name.kind in (names.PRODUCER_SNAPSHOT, names.MESSAGE_SET):
        return result.file
    return os.path.join(os.path.dirname(result.file), name.sibling(names.LOG))


def _partition_row(result: FileResult) -> str:
    if result.partition:
        return result.partition
    # Files of the log directory itself share a row, unless they were named one by one.
    return result.file if result.checked else os.path.dirname(result.file) or os.curdir


def _common_path(paths: Sequence[str]) -> str:
    """Return the directory that all paths are in, of one path the directory of it; or a URL."""
    before, mark, _ = paths[0].partition("://")
    if mark:
        paths = [path.removeprefix(before + mark) for path in paths]
    common = os.path.commonpath(paths) if len(paths) > 1 else os.path.dirname(paths[0])
    return before + mark + common if mark else common


def _table(files: list[FileResult], console: Console) -> Table:
    """Return the table with as many columns as the console has room for."""
    title, groups = _groups(files)
    rows, rest = limited(
        [_row(*group) for group in groups.items()], lambda row: not row.totals.clean
    )
    if rest:
        together = [result for row in rest for result in row.files]
        rows.append(_row(f"... {len(rest):,} more", together, is_path=False))
    common = _common_path(list(groups))
    without_limit = console.options.update_width(sys.maxsize)
    for omitted in range(len(_DISPENSABLE)):
        table = _table_without(_DISPENSABLE[:omitted], title, common, rows)
        if console.measure(table, options=without_limit).maximum <= console.width:
            return table
    return _table_without(_DISPENSABLE, title, common, rows)


@dataclass(slots=True)
class _Row:
    """A row of the table: files of the same segment, partition or log directory."""

    name: str
    files: list[FileResult]
    totals: Totals
    is_path: bool


def _row(name: str, files: list[FileResult], *, is_path: bool = True) -> _Row:
    totals = Totals()
    for result in files:
        totals.add(result)
    return _Row(name, files, totals, is_path)


def _table_without(omitted: Sequence[str], title: str, common: str, rows: Sequence[_Row]) -> Table:
    columns = (">files", "magic", "codecs", ">batches", ">records", ">size", "result")
    shown = [column.lstrip(">") not in omitted for column in columns]
    table = new_table(title, *compress(columns, shown), title=common or None, title_justify="left")
    for row in rows:
        totals = row.totals
        cells: tuple[str | Text, ...] = (
            f"{len(row.files):,}",
            " ".join(sorted(totals.magics)) or "-",
            " ".join(sorted(totals.codecs)) or "-",
            f"{totals.batches:,}",
            f"{totals.records:,}",
            size_text(totals.size),
            _verdict(totals, empty=_is_empty(row.files)),
        )
        first = styled(os.path.relpath(row.name, common) if common and row.is_path else row.name)
        table.add_row(first, *compress(cells, shown))
    return table


def _is_empty(results: list[FileResult]) -> bool:
    logs = [result for result in results if result.kind in LOG_KINDS]
    return bool(logs) and not any(result.size for result in logs)


def _verdict(totals: Totals, *, empty: bool) -> Text:
    parts: list[tuple[str, str]] = []
    if totals.clean and totals.checked:
        parts.append(("empty" if empty else "ok", "green"))
    elif totals.clean:
        parts.append(("not checked", "cyan"))
    for severity in Severity:
        if count := totals.findings[severity]:
            noun = "note" if severity is Severity.INFO else str(severity)
            parts += [(", ", ""), (count_text(count, noun), _STYLES[severity])]
    return styled(*(parts[1:] if parts[:1] == [(", ", "")] else parts))


def _finding(finding: Finding) -> Text:
    text = "" if finding.position is None else f" at byte {finding.position}"
    if finding.entry not in (None, finding.position):
        text += f", in the batch at byte {finding.entry}"
    if finding.offset is not None:
        text += f", offset {finding.offset}"
    text += f": {finding.message} [{finding.reason}]"
    return styled(
        (f"{finding.severity}", _STYLES[finding.severity]),
        (f" {finding.file}", "bold"),
        text,
        (f" {finding.path}" if finding.path else "", "dim"),
        f" (codec {finding.codec})" if finding.codec else "",
    )


def _last_line(report: Report) -> Text:
    totals = report.totals
    verdict = ("clean", "green") if totals.clean else ("not clean", "red")
    parts = [
        count_text(totals.checked, "file") + " checked",
        count_text(totals.batches, "batch", "batches"),
        count_text(totals.records, "record"),
        size_text(totals.size),
        "codec " + report.codecs[0]
        if len(report.codecs) == 1
        else "codecs " + ", ".join(report.codecs) + " agree"
        if not any(finding.reason == "codecs_disagree" for finding in report.findings)
        else "codecs " + ", ".join(report.codecs) + " do not agree",
    ]
    parts += [
        count_text(totals.findings[severity], "note" if severity is Severity.INFO else severity)
        for severity in Severity
        if totals.findings[severity]
    ]
    if totals.unread:
        parts.append(count_text(totals.unread, "batch", "batches") + " not read")
    if totals.files[FileKind.UNKNOWN]:
        parts.append(count_text(totals.files[FileKind.UNKNOWN], "unknown file") + " not checked")
    return styled(verdict, ": " + ", ".join(parts))
