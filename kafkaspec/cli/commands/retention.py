"""``kafkaspec retention``: the segments that a broker would delete, and what holds the others."""

from __future__ import annotations

from pathlib import Path

import click

from kafkaspec.cli.commands.cleaning import (
    asked,
    cleaning_options,
    open_inputs,
    views,
)
from kafkaspec.cli.console import (
    count_text,
    limited,
    new_table,
    say,
    size_text,
    stdout_console,
)
from kafkaspec.cli.inputs import place_of
from kafkaspec.cli.options import (
    epilog,
    format_option,
    iso,
    profile_option,
    reading_options,
)
from kafkaspec.cli.report import (
    LinePlace,
    Output,
    ReportCommand,
    Reporter,
    line,
    say_assumptions,
)
from kafkaspec.forensics.cleaner.retention import Fate, Hold, Holder, Retention, retention
from kafkaspec.forensics.cleaner.view import LogView
from kafkaspec.results import OffsetRange

OUTPUT = Output(
    segment=line(
        LinePlace,
        Fate,
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
_EPILOG = epilog(
    """\
Example, a week from now under other limits:
  kafkaspec retention --clock 2026-12-01T00:00:00Z --config retention.ms=86400000 \\
    --config cleanup.policy=delete /var/kafka/orders-0
""",
    """\
Rules, in Kafka's order: start (below the log start offset), size
(retention.bytes), time (retention.ms). Each deletes from the oldest segment, and
stops at the first that stays, so that one record with a future timestamp holds its
segment and all later ones. The active segment is deleted too.
""",
    """\
Exit codes: 0 nothing would be deleted, and nothing is held; 1 segments would be
deleted, or are held by an earlier one or a future time, or something cannot be
read; 2 wrong usage, or nothing in a PATH can be read.
""",
)


@click.command("retention", cls=ReportCommand, output=OUTPUT, epilog=_EPILOG)
@cleaning_options
@profile_option("Version of Kafka whose rules apply.")
@reading_options
@format_option
@click.pass_context
def retention_command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    config: tuple[str, ...],
    clock: int | None,
    high_watermark: int | None,
    profile: str,
    output_format: str,
) -> None:
    """Show which segments a broker would delete, by which rule, and what holds the others.

    A PATH is a partition directory, a log directory, or a segment, which stands for its partition.
    """
    given, now, rules = asked(config, clock, profile)
    report = Reporter(ctx, output_format)
    inputs = open_inputs(paths)
    deleted = held = 0
    for view, settings in views(inputs, given, high_watermark):
        result = retention(view, settings, now, rules)
        deleted, held = deleted + len(result.deleted), held + len(result.held)
        inputs.findings += len(result.deleted) + len(result.held)
        if report.as_json:
            _report(report, view, result)
        else:
            _print_text(view, result)
    report.finish(inputs, deleted=deleted, held=held)


def _report(report: Reporter, view: LogView, result: Retention) -> None:
    place = place_of(view.partition)
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
    report.line(
        "retention",
        place,
        result,
        deleted=len(result.deleted),
        deleted_bytes=sum(fate.segment.size for fate in result.deleted),
        held=len(result.held),
    )


def _print_text(view: LogView, result: Retention) -> None:
    table = new_table(
        "segment", ">size", "largest timestamp", "fate", title=str(view.partition.path)
    )
    fates, rest = limited(result.fates, lambda fate: fate.rule is not None or fate in result.held)
    for fate in fates:
        segment = fate.segment
        time = iso(segment.largest.value)
        if segment.largest.source == "file time":
            time += " (of the file)"
        table.add_row(segment.path.name, size_text(segment.size), time, _text(fate))
    if rest:
        table.add_row(f"... {len(rest):,} more", "", "", "")
    console = stdout_console()
    console.print(table)
    size = size_text(sum(fate.segment.size for fate in result.deleted))
    text = f"{count_text(len(result.deleted), 'segment')} ({size}) would be deleted"
    if result.deleted:
        text += f"; log start offset {result.log_start:,}"
    if result.rolls:
        text += ", where a new empty segment begins"
    say(f"{text}; {count_text(len(result.held), 'segment')} held; proof: {result.strength}")
    say_assumptions(result.assumptions)


def _text(fate: Fate) -> str:
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
    return text
