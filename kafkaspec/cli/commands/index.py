"""``kafkaspec index``: rebuild the indexes of segments in a new directory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, TypedDict

import click

from kafkaspec.analysis.files import segment_bytes as bytes_of
from kafkaspec.broker.actions import Recovery
from kafkaspec.broker.index_rules import Rule
from kafkaspec.cli.command import command, defined
from kafkaspec.cli.console import TableColumn, count_text, progress_bar, warn
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.options import (
    Jobs,
    Paths,
    output_option,
    wrong_usage,
)
from kafkaspec.cli.report import Output, Reporter, Tally, line
from kafkaspec.cli.rules import Interval, profile_option, rules_of
from kafkaspec.shown import size_text
from kafkaspec.writing.comparison import Comparison
from kafkaspec.writing.rebuild import RebuildOptions, rebuild_indexes
from kafkaspec.writing.rebuilt import RebuildReport, RebuiltFile


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

Of a log directory, partitions that are being deleted or moved are left out. A
partition that cannot be read does not stop the others: stderr names them.

Exit codes: 0 all logs are sound, 1 one is damaged, and the files are those of the
part that a broker keeps, or one of several cannot be read, 2 wrong usage, or
nothing can be read or written, and there is no output.
"""


@command(OUTPUT, _EPILOG)
def index_command(
    reporter: Reporter,
    *,
    paths: Paths,
    output: Annotated[Path, output_option("New directory for the files.")],
    rule: str = defined(
        of=RebuildOptions, type=click.Choice([Rule.RECOVERY, Rule.APPEND]), default=Rule.RECOVERY
    ),
    profile: Annotated[str, profile_option(help="Version of Kafka whose rules apply.")],
    interval: Interval,
    jobs: Jobs,
) -> None:
    """Rebuild indexes, producer snapshots and leader epoch checkpoints, and compare them.

    A PATH is a segment (.log), a partition directory or a whole log directory. The rebuilt files
    go to a new directory: OUT, or for a log directory and for several PATHs one for each partition
    in OUT. Nothing under PATH is changed.
    """
    rules = rules_of(profile)
    size = sum(bytes_of(path) for path in paths if path.exists())
    with progress_bar("index", size) as bar, wrong_usage(ValueError):
        report = rebuild_indexes(
            paths[0] if len(paths) == 1 else paths,
            output,
            rule=rule,
            profile=rules,
            index_interval_bytes=interval,
            progress=bar,
            jobs=jobs,
        )
    _show(reporter, report)
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


_COLUMNS: Final[dict[str, TableColumn]] = {
    "file": "name", ">entries": "entries:,", ">size": "size:size", "compared": "comparison",
}  # fmt: skip
_EQUAL: Final = (Comparison.EQUAL, Comparison.PREALLOCATED)


def _show(reporter: Reporter, report: RebuildReport) -> None:
    for segment in report.segments:
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
        own = {"file": segment.path, "note": segment.note or None}
        reporter.line("segment", segment, own, files=files)
    look = {"box": "SIMPLE_HEAD", "show_edge": False, "pad_edge": True}
    reporter.table(
        _COLUMNS, report.files, lambda file: file.comparison not in _EQUAL, last=_rest, **look
    )
    reasons = Counter(
        (str(file.comparison), Path(file.name).suffix or Path(file.name).name, file.why)
        for file in report.files
        if file.why
    )
    for (comparison, kind, why), count in sorted(reasons.items()):
        reporter.say(f"{comparison} ({count_text(count, f'{kind} file')}): {why}")
    for segment in report.segments:
        if segment.error is not None:
            reporter.say(str(segment.error))
        if segment.note:
            reporter.say(f"{segment.path}: {segment.note}")
    totals = Counter(str(file.comparison) for file in report.files)
    parts = ", ".join(f"{count:,} {name}" for name, count in sorted(totals.items()))
    made = sum(1 for file in report.files if file.comparison != "not_made")
    reporter.say(f"{count_text(made, 'file')} made by the rule of {report.rule}: {parts}")


def _rest(files: Sequence[RebuiltFile]) -> tuple[str, ...]:
    """Return the last row, which counts the files that are not listed."""
    entries = sum(file.entries for file in files)
    return f"... {len(files):,} more", f"{entries:,}", size_text(sum(file.size for file in files))
