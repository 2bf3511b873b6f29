"""``kafkaspec index``: rebuild the indexes of segments in a new directory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from kafkaspec.broker.recovery import Recovery
from kafkaspec.cli.command import command, option
from kafkaspec.cli.console import (
    count_text,
    limited,
    new_table,
    progress_bar,
    size_text,
    stdout_console,
    warn,
)
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.inputs import log_bytes
from kafkaspec.cli.options import (
    Jobs,
    OnePath,
    output_option,
    profile_option,
)
from kafkaspec.cli.report import Output, Reporter, Tally, line
from kafkaspec.cli.rules import Interval, rules_of
from kafkaspec.log.opening import open_log
from kafkaspec.writing.comparison import Comparison
from kafkaspec.writing.rebuild import rebuild_indexes
from kafkaspec.writing.rebuilt import RebuildReport, RebuiltSegment


class _File(TypedDict):
    """A file that was made; why is null where nothing is to explain."""

    name: str
    size: int
    entries: int
    compared: Comparison
    why: str | None


OUTPUT = Output(
    segment=line(
        file=str,
        size=int,
        valid_bytes=int,
        error=str | None,
        refused=list[str],
        recovery=Recovery | None,
        note=str | None,
        files=list[_File],
    ),
    summary={"segments": int},
)
_EPILOG = """
Compared with the file beside the log:
  equal         byte for byte
  preallocated  byte for byte, with zeros after it
  reordered     the same entries, in the order of a hash map
  different     with the reason if it is known
  missing       the log has no such file
  not_made      the log has such a file, which cannot or need not be made

A broker that recovers a damaged log cuts it, or empties a segment, splits it or
does not load the log at all; it also keeps entries that kafkaspec refuses. The
report says what it would do.

Of a log directory, partitions that are being deleted or moved are left out, and
one that cannot be read does not stop the others: stderr names them.

Exit codes: 0 all logs are sound, 1 one is damaged, and the files are those of the
part that a broker keeps, or one of several cannot be read, 2 wrong usage, or
nothing can be read or written, and there is no output.
"""


@command(OUTPUT, _EPILOG)
def index_command(
    reporter: Reporter,
    *,
    path: OnePath,
    output: Annotated[Path, output_option("New directory for the files.")],
    rule: Literal["recovery", "append"] = option(
        "As a starting broker that does not trust its indexes, or as a leader that appends.",
        default="recovery",
    ),
    profile: Annotated[str, profile_option("Version of Kafka whose rules apply.")],
    interval: Interval,
    jobs: Jobs,
) -> None:
    """Rebuild indexes, producer snapshots and leader epoch checkpoints, and compare them.

    PATH is a segment (.log), a partition directory or a whole log directory. The rebuilt files go
    to a new directory, and nothing under PATH is changed.
    """
    rules = rules_of(profile)
    with open_log(path) as opened, progress_bar("index", log_bytes(opened)) as bar:
        report = rebuild_indexes(
            opened,
            output,
            rule=rule,
            profile=rules,
            index_interval_bytes=interval,
            progress=bar,
            jobs=jobs,
        )
    if reporter.as_json:
        for segment in report.segments:
            _report(reporter, segment)
    else:
        _as_text(report)
    for note in report.notes:
        warn(f"note: {note}")
    for place, why in report.failed.items():
        warn(f"not read: {why.at(place)}")
    broken = sum(not segment.is_sound for segment in report.segments)
    counts = Tally(
        CLEAN if report.is_sound else FINDINGS,
        logs=len(report.segments),
        unreadable=len(report.failed),
        findings=broken,
    )
    reporter.finish(counts, segments=len(report.segments))


def _report(reporter: Reporter, segment: RebuiltSegment) -> None:
    files: list[_File] = [
        {
            "name": file.name,
            "size": file.size,
            "entries": file.entries,
            "compared": file.comparison,
            "why": file.why or None,
        }
        for file in segment.files
    ]
    reporter.line(
        "segment",
        file=segment.path,
        size=segment.size,
        valid_bytes=segment.valid_bytes,
        error=segment.error,
        refused=segment.refused,
        recovery=segment.recovery,
        note=segment.note or None,
        files=files,
    )


def _as_text(report: RebuildReport) -> None:
    from rich.box import SIMPLE_HEAD

    console = stdout_console()
    look: dict[str, Any] = {"box": SIMPLE_HEAD, "show_edge": False, "pad_edge": True}
    table = new_table("file", ">entries", ">size", "compared", **look)
    equal = (Comparison.EQUAL, Comparison.PREALLOCATED)
    files, rest = limited(report.files, lambda file: file.comparison not in equal)
    for file in files:
        table.add_row(file.name, f"{file.entries:,}", size_text(file.size), str(file.comparison))
    if rest:
        sizes = size_text(sum(file.size for file in rest))
        entries = sum(file.entries for file in rest)
        table.add_row(f"... {len(rest):,} more", f"{entries:,}", sizes, "")
    console.print(table)
    reasons = Counter(
        (str(file.comparison), Path(file.name).suffix or Path(file.name).name, file.why)
        for file in report.files
        if file.why
    )
    for (comparison, kind, why), count in sorted(reasons.items()):
        console.print(f"{comparison} ({count_text(count, f'{kind} file')}): {why}")
    for segment in report.segments:
        if segment.error is not None:
            console.print(str(segment.error))
        if segment.note:
            console.print(f"{segment.path}: {segment.note}")
    totals = Counter(str(file.comparison) for file in report.files)
    parts = ", ".join(f"{count:,} {name}" for name, count in sorted(totals.items()))
    made = sum(1 for file in report.files if file.comparison != "not_made")
    console.print(f"{count_text(made, 'file')} made by the rule of {report.rule}: {parts}")
