"""The page about a verification: what to attach to a ticket."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from kafkaspec.analysis.findings import Finding, Severity
from kafkaspec.analysis.report import FileResult, Report, Totals
from kafkaspec.broker.actions import BrokerAction
from kafkaspec.reports.drawing import WIDTH
from kafkaspec.reports.page import (
    NONE,
    Listing,
    ReportSource,
    bytes_of,
    counted,
    listing,
    number,
    rendered,
)

MOST_FINDINGS: Final = 200
"""Kinds of findings that are shown one by one; the others are counted."""
_MOST_STRIPS: Final = 24
_MOST_MARKS: Final = 200
_LEAST: Final = 3.0
"""Width of a mark, so that it can be seen in a file of any size."""
_CLASSES: Final = {Severity.ERROR: "bad", Severity.WARNING: "warn", Severity.INFO: "note"}


@dataclass(frozen=True)
class ByteMark:
    """A place in the picture of a file."""

    x: float
    width: float
    kind: str
    title: str


@dataclass(frozen=True)
class Strip:
    """The picture of a file, from its first byte to its last, and where recovery cuts it, if so."""

    file: str
    size: int
    marks: list[ByteMark]
    cut: float | None
    cut_at: int | None
    text: str


@dataclass(frozen=True)
class AlikeFindings:
    """Findings of one kind in one file: the first, how many more, and the byte of the last one."""

    first: Finding
    others: int
    last: int | None


def verify_page(
    report: Report,
    *,
    source: ReportSource = (),
    failures: Sequence[str] = (),
    then: str = "",
    made: float | None = None,
) -> bytes:
    """Return the page about a verification.

    Args:
        report: what was found, of all severities that are to be shown.
        source: where it comes from, see ``ReportSource``.
        failures: messages about paths that could not be read at all.
        then: the command to run next, or "".
    """
    kinds = _kinds(report.findings)
    totals = report.totals
    clean = report.clean and not failures
    skipped = [(result.file, str(result.kind)) for result in report.files if not result.checked]
    return rendered(
        "verify",
        {
            "title": "Verification: clean" if clean else "Verification: not clean",
            "about": f"Read by the codecs: {', '.join(report.codecs)}.",
            "source": source,
            "made": int((time.time() if made is None else made) * 1000),
            "clean": clean,
            "tiles": list(_tiles(totals)),
            "failures": failures,
            "next": then,
            "width": WIDTH,
            "strips": list(islice(_strips(report), _MOST_STRIPS)),
            "kinds": kinds[:MOST_FINDINGS],
            "left": sum(1 + kind.others for kind in kinds[MOST_FINDINGS:]),
            "classes": _CLASSES,
            "tables": [
                item
                for item in (
                    _partitions(report.files),
                    _files(report.files),
                    listing("Not checked", ("~file", "kind"), skipped),
                )
                if item.rows
            ],
        },
    )


def _tiles(totals: Totals) -> Iterable[tuple[str, str, str]]:
    for severity, name in zip(Severity, ("Errors", "Warnings", "Notes"), strict=True):
        yield name, number(totals.findings[severity]), ""
    yield "Files checked", number(totals.checked), bytes_of(totals.size)
    yield "Batches", number(totals.batches), " ".join(sorted(totals.codecs)) or NONE
    yield "Records", number(totals.records), "magic " + (" ".join(sorted(totals.magics)) or NONE)
    yield "Batches not read", number(totals.unread), ""


def _kinds(findings: Iterable[Finding]) -> list[AlikeFindings]:
    """Return findings in groups of one kind in one file, the worst first."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        key = finding.file, finding.severity, finding.area, finding.reason, finding.codec
        groups.setdefault(key, []).append(finding)
    found = [
        AlikeFindings(group[0], len(group) - 1, group[-1].position) for group in groups.values()
    ]
    order = list(Severity)
    return sorted(found, key=lambda kind: order.index(kind.first.severity))


def _strips(report: Report) -> Iterable[Strip]:
    """Yield a picture of each file with findings that are at a byte."""
    sizes = {result.file: result.size for result in report.files}
    placed: dict[str, list[Finding]] = {}
    for finding in report.findings:
        if finding.position is not None and sizes.get(finding.file):
            placed.setdefault(finding.file, []).append(finding)
    for file, findings in placed.items():
        yield _strip(file, sizes[file], findings)


def _strip(file: str, size: int, findings: list[Finding]) -> Strip:
    scale = WIDTH / size
    marks = []
    order = list(Severity)
    for finding in sorted(findings, key=lambda item: -order.index(item.severity))[-_MOST_MARKS:]:
        position = finding.position or 0
        first = position if finding.entry is None else finding.entry
        width = max(_LEAST, (position - first + 1) * scale)
        marks.append(
            ByteMark(
                round(min(first * scale, WIDTH - width), 2),
                round(width, 2),
                _CLASSES[finding.severity],
                f"byte {position:,}: {finding.message} [{finding.reason}]",
            )
        )
    cuts = [
        finding.position if finding.entry is None else finding.entry
        for finding in findings
        if finding.action is BrokerAction.CUTS_LOG
    ]
    at = min((cut for cut in cuts if cut is not None), default=None)
    text = f"{bytes_of(size)}, {counted(len(findings), 'finding')}"
    if at is not None:
        text += f"; a broker that recovers cuts {bytes_of(size - at)} from byte {at:,} on"
    cut = None if at is None else round(at * scale, 2)
    return Strip(file, size, marks, cut, at, text)


def _result(totals: Totals) -> str:
    if not totals.checked:
        return "not checked"
    words = [
        counted(totals.findings[severity], name)
        for severity, name in zip(Severity, ("error", "warning", "note"), strict=True)
        if totals.findings[severity]
    ]
    return ", ".join(words) or "ok"


def _partitions(files: list[FileResult]) -> Listing:
    groups: dict[str, Totals] = {}
    for result in files:
        groups.setdefault(result.partition or result.file, Totals()).add(result)
    ranked = sorted(groups.items(), key=lambda item: item[1].clean)
    columns = ("~partition", ">files", ">batches", ">records", ">size", "magic", "codecs", "result")
    rows = [
        (
            name,
            number(sum(totals.files.values())),
            number(totals.batches),
            number(totals.records),
            bytes_of(totals.size),
            " ".join(sorted(totals.magics)) or NONE,
            " ".join(sorted(totals.codecs)) or NONE,
            _result(totals),
        )
        for name, totals in ranked
    ]
    return listing("Partitions", columns, rows)


def _files(files: list[FileResult]) -> Listing:
    columns = ("~file", "kind", ">size", ">entries", ">batches", ">records", ">offsets",
               ">not read", "result")  # fmt: skip
    rows: list[Sequence[Any]] = []
    for result in sorted(files, key=lambda result: result.clean):
        if not result.checked:
            continue
        totals = Totals()
        totals.add(result)
        empty = result.first_offset is None
        rows.append(
            (
                result.file,
                str(result.kind),
                bytes_of(result.size),
                number(result.entries) if result.entries else NONE,
                number(result.batches) if result.batches else NONE,
                number(result.records) if result.records else NONE,
                NONE if empty else f"{result.first_offset}..{result.last_offset}",
                number(result.unread) if result.unread else NONE,
                _result(totals),
            )
        )
    return listing("Files", columns, rows)
