"""``kafkaspec retention``: the segments that a broker would delete, and what holds the others."""

from __future__ import annotations

from typing import Annotated

from kafkaspec.cli.command import command
from kafkaspec.cli.commands.cleaning import Cleaning, cleaning_options, views
from kafkaspec.cli.console import TableColumn, count_text, iso
from kafkaspec.cli.inputs import Inputs, place_of
from kafkaspec.cli.options import Paths, TopicName
from kafkaspec.cli.report import LinePlace, Output, Reporter, line
from kafkaspec.forensics.cleaner.retention import Hold, Holder, Retention, SegmentFate, retention
from kafkaspec.forensics.cleaner.view import LogView
from kafkaspec.results import OffsetRange
from kafkaspec.shown import size_text

OUTPUT = Output(
    segment=line(
        LinePlace,
        SegmentFate,
        file=str,
        position=int,
        offsets=OffsetRange,
        size=int,
        largest_timestamp=int,
        timestamp_source=str,
        deleted=bool,
        held_by=Holder | None,
        without=("segment", "holder"),
    ),
    retention=line(
        LinePlace, Retention, deleted=int, deleted_bytes=int, held=int, without=("fates",)
    ),
    summary={"deleted": int, "held": int},
)
_EPILOG = """
Example, a week from now under other limits:
  kafkaspec retention --clock 2026-12-01T00:00:00Z --config retention.ms=86400000 \\
    --config cleanup.policy=delete /var/kafka/orders-0

Rules, in Kafka's order: start (below the log start offset), size
(retention.bytes), time (retention.ms). Each deletes from the oldest segment, and
stops at the first that stays, so that one record with a future timestamp holds its
segment and all later ones. The active segment is deleted too. With
remote.storage.enable, local.retention.* counts, and only what is due in remote
storage is deleted (remote.copy.lag.*, from Kafka 4.4 on).

Exit codes: 0 nothing would be deleted, and nothing is held; 1 segments would be
deleted, or are held by an earlier one or a future time, or something cannot be
read; 2 wrong usage, or nothing in a PATH can be read.
"""


@command(OUTPUT, _EPILOG)
def retention_command(
    report: Reporter,
    *,
    paths: Paths,
    asked: Annotated[Cleaning, cleaning_options("Version of Kafka whose rules apply.")],
    topic: TopicName,
) -> None:
    """Show which segments a broker would delete, by which rule, and what holds the others.

    A PATH is a partition directory, a log directory, or a segment, which stands for its partition.
    """
    inputs = Inputs(paths, topic=topic)
    deleted = held = 0
    for view, settings in views(inputs, asked):
        if view.damaged is not None:
            inputs.cannot_decode(view.damaged)
        result = retention(view, settings, asked.now, asked.rules)
        deleted, held = deleted + len(result.deleted), held + len(result.held)
        inputs.findings += len(result.deleted) + len(result.held)
        _show(report, view, result)
    report.finish(inputs, deleted=deleted, held=held)


_COLUMNS: dict[str, TableColumn] = {
    "segment": lambda fate: fate.segment.path.name,
    ">size": lambda fate: size_text(fate.segment.size),
    "largest timestamp": lambda fate: (
        iso(fate.segment.largest.value)
        + (" (of the file)" if fate.segment.largest.source == "file time" else "")
    ),
    "fate": lambda fate: _text(fate),
}


def _show(report: Reporter, view: LogView, result: Retention) -> None:
    place, size = place_of(view.partition), sum(fate.segment.size for fate in result.deleted)
    for fate in result.fates:
        segment = fate.segment
        report.line(
            "segment",
            place,
            fate,
            file=segment.path,
            position=0,
            offsets=OffsetRange(segment.base_offset, segment.following),
            size=segment.size,
            largest_timestamp=segment.largest.value,
            timestamp_source=segment.largest.source,
            deleted=fate.rule is not None,
            held_by=fate.holder,
        )
    sums = {"deleted": len(result.deleted), "deleted_bytes": size, "held": len(result.held)}
    report.line("retention", place, result, sums)
    report.table(
        _COLUMNS,
        result.fates,
        lambda fate: fate.rule is not None or fate in result.held,
        title=str(view.partition.path),
    )
    text = f"{count_text(len(result.deleted), 'segment')} ({size_text(size)}) would be deleted"
    if result.deleted:
        text += f"; log start offset {result.log_start:,}"
    if result.rolls:
        text += ", where a new empty segment begins"
    held = count_text(len(result.held), "segment")
    report.say(f"{text}; {held} held; evidence: {result.strength}")
    report.assume(result.assumptions)


def _text(fate: SegmentFate) -> str:
    if fate.rule is not None:
        return f"deleted: {fate.rule}"
    text = f"stays: {fate.hold}"
    if fate.hold is Hold.FUTURE and fate.holder is not None:
        where = "" if fate.holder.offset is None else f" of offset {fate.holder.offset:,}"
        text += f" {iso(fate.holder.timestamp)}{where}"
    if fate.due:
        text += ", or it would go"
    elif fate.goes_at is not None:
        text += f"; old enough at {iso(fate.goes_at)}"
    return text + ("; in remote storage" if fate.copied else "")
