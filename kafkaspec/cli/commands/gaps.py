"""``kafkaspec gaps``: offsets that no consumer gets, why, and how well the files prove it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kafkaspec.arrow import provider
from kafkaspec.cli.console import (
    count_text,
    new_table,
    say,
    stdout_console,
    warn,
)
from kafkaspec.cli.inputs import Inputs, place_of
from kafkaspec.cli.options import (
    epilog,
    format_option,
    paths_argument,
    reading_options,
    wrong_usage,
)
from kafkaspec.cli.report import LinePlace, Output, ReportCommand, Reporter, line, say_assumptions
from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.results import Assumption, Strength

if TYPE_CHECKING:
    from kafkaspec.forensics.gaps import Gaps

_MOST_ROWS: Final = 50
"""Ranges that are shown in text; JSON has all."""
_RANGES: Final = "kafkaspec.forensics.gaps.ranges"

OUTPUT = Output(
    gap=line(
        LinePlace,
        f"{_RANGES}:GAPS",
        kind=f"{_RANGES}:GapKind",
        why=f"{_RANGES}:Why",
        strength=Strength,
    ),
    partition=line(
        LinePlace,
        log_start_offset=int,
        log_end_offset=int,
        ranges=int,
        unexplained=int,
        assumptions=list[Assumption],
    ),
    summary={"ranges": int},
)
_EPILOG = epilog(
    """\
Example: is it compaction or loss? A replica may prove it
  kafkaspec gaps /broker-1/orders-0 --with /broker-2/orders-0
""",
    """\
Exit codes: 0 what is missing has an explanation that is not a loss, 1 something may be
lost (behind, unreadable, segment_lost, cut, lost, unknown), or cannot be read, 2 wrong
usage, or nothing in a PATH can be read.
""",
)


@click.command("gaps", cls=ReportCommand, output=OUTPUT, epilog=_EPILOG)
@paths_argument
@click.option(
    "--with",
    "other",
    type=click.Path(path_type=Path),
    metavar="OTHER",
    help="Another copy of the partition, or a log directory with one: a replica or a backup.",
)
@reading_options
@format_option
@click.pass_context
def gaps_command(
    ctx: click.Context, paths: tuple[Path, ...], other: Path | None, output_format: str
) -> None:
    """Show which offsets no consumer gets, why, and how well that is proven.

    A PATH is a log directory, a partition, or a segment.
    """
    with wrong_usage(ImportError):
        provider()
        from kafkaspec.forensics.gaps import read_gaps
    report = Reporter(ctx, output_format)
    found = Inputs(paths)
    ranges = 0
    copy: Segment | Partition | LogDirectory | None = None
    if other is not None:
        copy = open_log(other)
        ctx.with_resource(copy)
    for name, log in found.whole_logs():
        beside = None if copy is None else _copy_of(log, copy)
        if copy is not None and beside is None:
            warn(f"{name}: {other} has no copy of it")
            found.findings += 1
        try:
            result = read_gaps(log, beside)
        except KafkaSpecError as error:
            found.nothing_read(error)
            continue
        found.undecoded(result.unread)
        found.findings += result.illegal
        ranges += len(result.ranges)
        place = place_of(log)
        if report.as_json:
            _report(report, place, result)
        else:
            _print_text(place, result)
    report.finish(found, f"{count_text(ranges, 'range')} of missing offsets", ranges=ranges)


def _copy_of(
    log: Segment | Partition, other: Segment | Partition | LogDirectory
) -> Segment | Partition | None:
    """Return the copy of a log; None if a log directory has none, or it has another topic id."""
    found: Segment | Partition | None
    if isinstance(other, LogDirectory):
        place = place_of(log)
        same = (
            each for each in other.current
            if place == {"topic": each.topic, "partition": each.partition}
        )  # fmt: skip
        found = next(same, None)
    else:
        found = other
    if isinstance(log, Partition) and isinstance(found, Partition):
        ids = [each.topic_id for each in (log, found)]
        if None not in ids and ids[0] != ids[1]:
            raise unreadable(str(found.path), f"topic id {ids[1]}, and {log.path} has {ids[0]}")
    return found


def _report(report: Reporter, place: LinePlace, result: Gaps) -> None:
    report.rows("gap", result.ranges, place)
    report.line(
        "partition",
        place,
        log_start_offset=result.log_start_offset,
        log_end_offset=result.log_end_offset,
        ranges=len(result.ranges),
        unexplained=result.illegal,
        assumptions=result.assumptions,
    )


def _print_text(place: LinePlace, result: Gaps) -> None:
    ranges = result.ranges
    if not len(ranges):
        return
    name = "-" if place["topic"] is None else f"{place['topic']}-{place['partition']}"
    keys = ["kind", "why", "strength"]
    grouped = ranges.group_by(keys, use_threads=False).aggregate(
        [("missing", "count"), ("missing", "sum"), ("first_offset", "min"), ("last_offset", "max")]
    )
    table = new_table(
        f"missing in {name}", "why", "proof", ">ranges", ">offsets", ">first", ">last"
    )
    for row in grouped.to_pylist():
        table.add_row(
            row["kind"],
            row["why"].replace("_", " "),
            row["strength"],
            f"{row['missing_count']:,}",
            f"{row['missing_sum']:,}",
            str(row["first_offset_min"]),
            str(row["last_offset_max"]),
        )
    console = stdout_console()
    console.print(table)
    shown = result.unexplained.slice(0, _MOST_ROWS).to_pylist()
    for row in shown:
        say(_text(row, name))
    left = result.illegal - len(shown)
    if left > 0:
        say(f"... and {left:,} more; --format json has all")
    say_assumptions(result.assumptions)


def _text(row: dict[str, Any], name: str) -> str:
    first, last = row["first_offset"], row["last_offset"]
    at = f", before byte {row['position']}" if row["position"] is not None else ""
    detail = f": {row['detail']}" if row["detail"] else ""
    producer = "" if row["producer_id"] is None else f", records of producer {row['producer_id']}"
    offsets = f"offset {first}" if first == last else f"offsets {first} to {last}"
    why = row["why"].replace("_", " ")
    return f"{row['file'] or name}{at}: {offsets} [{why}, {row['strength']}]{producer}{detail}"
