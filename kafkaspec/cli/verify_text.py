"""Show the result of ``verify`` as text: a table, the findings, a line with the totals."""

from __future__ import annotations

import os
from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from kafkaspec.analysis.findings import Finding, Severity
from kafkaspec.analysis.report import LOG_KINDS, FileKind, FileResult, Report, Totals
from kafkaspec.cli.console import count_text, new_table, size_text
from kafkaspec.files import names

MAX_SHOWN = 200
"""Number of findings to print; the rest is counted. JSON has all of them."""

_MANY_ROWS = 60

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def print_report(report: Report, console: Console) -> None:
    """Print the table, findings and totals."""
    if report.files:
        console.print(_table(report.files))
    shown = report.findings[:MAX_SHOWN]
    for finding in shown:
        console.print(_finding(finding))
    if len(report.findings) > len(shown):
        console.print(
            f"... and {count_text(len(report.findings) - len(shown), 'finding')} more; "
            "--format json lists all of them"
        )
    console.print(_last_line(report))


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
        directories = _by(files, _directory_row)
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


def _directory_row(result: FileResult) -> str:
    return os.path.dirname(result.partition or result.file) or os.curdir


def _table(files: list[FileResult]) -> object:
    title, rows = _groups(files)
    common = os.path.commonpath(list(rows)) if len(rows) > 1 else os.path.dirname(next(iter(rows)))
    columns = (title, ">files", "magic", "codecs", ">batches", ">records", ">size", "result")
    table = new_table(*columns, title=common or None, title_justify="left")
    for name, results in rows.items():
        totals = Totals()
        for result in results:
            totals.add(result)
        table.add_row(
            Text(os.path.relpath(name, common) if common else name),
            str(len(results)),
            " ".join(sorted(totals.magics)) or "-",
            " ".join(sorted(totals.codecs)) or "-",
            f"{totals.batches:,}",
            f"{totals.records:,}",
            size_text(totals.size),
            _verdict(totals, empty=_is_empty(results)),
        )
    return table


def _is_empty(results: list[FileResult]) -> bool:
    logs = [result for result in results if result.kind in LOG_KINDS]
    return bool(logs) and not any(result.size for result in logs)


def _verdict(totals: Totals, *, empty: bool) -> Text:
    text = Text()
    if totals.clean:
        text.append("empty" if empty else "ok", style="green")
        if not totals.checked:
            text = Text("not checked", style="cyan")
    for severity in Severity:
        count = totals.findings[severity]
        if not count:
            continue
        if text:
            text.append(", ")
        noun = "note" if severity is Severity.INFO else str(severity)
        text.append(count_text(count, noun), style=_STYLES[severity])
    return text


def _finding(finding: Finding) -> Text:
    text = Text()
    text.append(f"{finding.severity}", style=_STYLES[finding.severity])
    text.append(f" {finding.file}", style="bold")
    if finding.position is not None:
        text.append(f" at byte {finding.position}")
    if finding.offset is not None:
        text.append(f", offset {finding.offset}")
    text.append(f": {finding.message} [{finding.reason}]")
    if finding.path:
        text.append(f" {finding.path}", style="dim")
    if finding.codec:
        text.append(f" (codec {finding.codec})")
    if finding.counts:
        text.append(f"\n    reader: {finding.reader}\n    broker: {finding.broker}", style="dim")
    return text


def _last_line(report: Report) -> Text:
    totals = report.totals
    text = Text()
    text.append("clean" if totals.clean else "not clean", style="green" if totals.clean else "red")
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
    text.append(": " + ", ".join(parts))
    return text
