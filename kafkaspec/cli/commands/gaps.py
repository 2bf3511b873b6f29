"""``kafkaspec gaps``: offsets that no consumer gets, why, and how well the files prove it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kafkaspec.cli.command import command, option
from kafkaspec.cli.console import MORE, TableColumn, count_text, warn
from kafkaspec.cli.inputs import Inputs, place_of, place_text
from kafkaspec.cli.options import Codec, PathsOrUrls, TopicName, wrong_usage
from kafkaspec.cli.report import LinePlace, Output, Reporter, line
from kafkaspec.errors import unreadable
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.provider import require_pyarrow
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
_EPILOG = """
Example: is it compaction or loss? A replica may prove it
  kafkaspec gaps /broker-1/orders-0 --with /broker-2/orders-0

Exit codes: 0 each missing offset has an explanation other than loss, 1 something may be
lost (behind, unreadable, segment_lost, cut, lost, unknown), or cannot be read, 2 wrong
usage, or nothing in a PATH can be read.
"""


@command(OUTPUT, _EPILOG)
def gaps_command(
    ctx: click.Context,
    report: Reporter,
    *,
    paths: PathsOrUrls,
    topic: TopicName,
    codec: Codec,
    other: Path | None = option(
        "--with",
        "Another copy of the partition, or a log directory with one: a replica or a backup.",
        metavar="OTHER",
    ),
) -> None:
    """Show which offsets no consumer gets, why, and how well that is proven.

    A PATH is a log directory, a partition, or a segment.
    """
    with wrong_usage(ImportError):
        require_pyarrow()
        from kafkaspec.forensics.gaps import read_gaps
    inputs = Inputs(paths, codec, topic=topic)
    copy = None if other is None else open_log(other)
    if copy is not None:
        ctx.with_resource(copy)

    def read(log: Segment | Partition) -> Gaps:
        beside = None if copy is None else _copy_of(log, copy)
        if copy is not None and beside is None:
            warn(f"{log.path}: {other} has no copy of it")
            inputs.findings += 1
        return read_gaps(log, beside)

    ranges = 0
    for log, result in inputs.results(read):
        inputs.findings += result.illegal
        ranges += len(result.ranges)
        place = place_of(log)
        report.rows("gap", result.ranges, place)
        report.line("partition", place, result)
        if len(result.ranges):
            _print(report, place_text(place), result)
    report.finish(inputs, f"{count_text(ranges, 'range')} of missing offsets", ranges=ranges)


def _copy_of(
    log: Segment | Partition, other: Segment | Partition | LogDirectory
) -> Segment | Partition | None:
    """Return the copy of a log; None if a log directory has none, or it has another topic id."""
    found: Segment | Partition | None
    if isinstance(other, LogDirectory):
        found = next((each for each in other.current if place_of(each) == place_of(log)), None)
    else:
        found = other
    if isinstance(log, Partition) and isinstance(found, Partition):
        ids = [each.topic_id for each in (log, found)]
        if None not in ids and ids[0] != ids[1]:
            raise unreadable(str(found.path), f"topic id {ids[1]}, and {log.path} has {ids[0]}")
    return found


def _print(report: Reporter, name: str, result: Gaps) -> None:
    grouped = result.ranges.group_by(["kind", "why", "strength"], use_threads=False).aggregate(
        [("missing", "count"), ("missing", "sum"), ("first_offset", "min"), ("last_offset", "max")]
    )
    columns: dict[str, TableColumn] = {
        f"missing in {name}": "kind",
        "why": _why,
        "proof": "strength",
        ">ranges": "missing_count:,",
        ">offsets": "missing_sum:,",
        ">first": "first_offset_min",
        ">last": "last_offset_max",
    }
    report.table(columns, grouped.to_pylist())
    shown = result.unexplained.slice(0, _MOST_ROWS).to_pylist()
    for row in shown:
        report.say(_text(row, name))
    left = result.illegal - len(shown)
    if left > 0:
        report.say(MORE.format(left))
    report.assume(result.assumptions)


def _why(row: dict[str, Any]) -> str:
    return str(row["why"]).replace("_", " ")


def _text(row: dict[str, Any], name: str) -> str:
    first, last = row["first_offset"], row["last_offset"]
    at = f", before byte {row['position']}" if row["position"] is not None else ""
    detail = f": {row['detail']}" if row["detail"] else ""
    producer = "" if row["producer_id"] is None else f", records of producer {row['producer_id']}"
    offsets = f"offset {first}" if first == last else f"offsets {first} to {last}"
    where = f"{row['file'] or name}{at}: {offsets}"
    return f"{where} [{_why(row)}, {row['strength']}]{producer}{detail}"
