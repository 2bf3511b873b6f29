"""``kafkaspec compaction``: what the cleaner would remove, why not yet, and what it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import click

from kafkaspec.cli.checkpoints import CHECKPOINT, report_carried
from kafkaspec.cli.command import command, option
from kafkaspec.cli.commands.cleaning import Cleaning, cleaning_options, views
from kafkaspec.cli.console import count_text, iso
from kafkaspec.cli.inputs import Inputs, place_of
from kafkaspec.cli.options import DIRECTORY, Paths, TopicName, wrong_usage
from kafkaspec.cli.report import LinePlace, Output, Reporter, line
from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.cleaner.compaction import Compaction, compaction
from kafkaspec.forensics.cleaner.dirty import Dirty
from kafkaspec.forensics.cleaner.passes import Removed
from kafkaspec.forensics.cleaner.view import LogView, SegmentView
from kafkaspec.output.atomic import DirectoryAside, require_new
from kafkaspec.output.places import check_output
from kafkaspec.results import OffsetRange
from kafkaspec.shown import size_text
from kafkaspec.writing.carried import WrittenLog, carry


class HeldBy(NamedTuple):
    """The segment that a pass of the cleaner does not go beyond, for its timestamp."""

    segment: int
    timestamp: int


OUTPUT = Output(
    record=line(LinePlace, Removed, file=str),
    group=line(
        LinePlace, file=str, position=int, offsets=OffsetRange, segments=list[int], bytes=int
    ),
    compaction=line(
        LinePlace,
        Dirty,
        Compaction,
        held_by=HeldBy | None,
        without=("dirty", "holder", "groups"),
    ),
    checkpoint=CHECKPOINT,
    summary={"removed": int},
)
_EPILOG = """
Example, two days from now, with the cleaned log in a new log directory:
  kafkaspec compaction --config delete.retention.ms=1000 --clock 2026-12-01 \\
    -o cleaned /var/kafka/orders-0

The settings are Kafka's: cleanup.policy, min.cleanable.dirty.ratio,
min.compaction.lag.ms, max.compaction.lag.ms, delete.retention.ms, segment.bytes,
segment.index.bytes, index.interval.bytes, max.message.bytes; of the broker
producer.id.expiration.ms, message.max.bytes, log.cleaner.threads,
log.cleaner.dedupe.buffer.size, log.cleaner.io.buffer.size and
log.cleaner.io.buffer.load.factor. A pass is shown even if it is not due.

With -o, OUT has the checkpoints that hold: the log start offset, the high
watermark, and the end of the pass as first dirty offset.

Exit codes: 0 the cleaner would remove nothing, 1 it would, or would fail, or
something cannot be read, 2 wrong usage, or nothing in a PATH can be read or
written, and there is no output.
"""


@command(OUTPUT, _EPILOG)
def compaction_command(
    report: Reporter,
    *,
    paths: Paths,
    asked: Annotated[
        Cleaning, cleaning_options("Version of Kafka whose rules apply, from 2.4.1 on.")
    ],
    topic: TopicName,
    show_records: bool = option("Show each record that goes, and why.", former="--records"),
    output: Path | None = option(
        "-o",
        "--output",
        "New log directory for the logs that the cleaner leaves.",
        type=DIRECTORY,
        metavar="OUT",
    ),
) -> None:
    """Show what the cleaner would make of a log now, and why it does not do so yet.

    A PATH is a partition directory, a log directory, or a segment, which stands for its partition.
    """
    inputs = Inputs(paths, topic=topic)
    gone = 0
    logs: list[WrittenLog] = []
    with ExitStack() as stack:
        aside: DirectoryAside | None = None
        if output is not None:
            check_output(output, *paths)
            require_new(output)
            aside = DirectoryAside(output)
            stack.callback(aside.discard)
        for view, settings in views(inputs, asked):
            target = None
            if aside is not None:
                target = aside.path / view.partition.path.absolute().name
                if target.exists():
                    raise click.UsageError(f"two of the paths are called {target.name}")
                target.mkdir()
            place = place_of(view.partition)
            note = partial(_show_records, report, place) if show_records else None
            try:
                if view.damaged is not None:
                    raise view.damaged
                with wrong_usage(ValueError):
                    made = compaction(
                        view, settings, asked.now, asked.rules, target=target, note=note
                    )
            except KafkaSpecError as error:
                if aside is not None:
                    raise
                inputs.stopped_by(error)
                continue
            gone += made.removed_records
            inputs.findings += made.removed_records + (made.fails is not None)
            _show(report, view, made)
            if target is not None:
                logs.append(WrittenLog(view.partition, target, cleaned=made.cleaned))
        if aside is not None and inputs.exit_code < 2:
            carried = carry(aside, logs)
            aside.commit()
            report_carried(carried, report)
            inputs.unreadable += len(carried.errors)
    report.finish(inputs, removed=gone)


def _show_records(
    report: Reporter, place: LinePlace, segment: SegmentView, removed: Sequence[Removed]
) -> None:
    report.lines("record", removed, place, file=segment.path)
    name = segment.path.name
    for record in () if report.as_json else removed:
        newest = "" if record.newest is None else f" by {record.newest}"
        report.say(f"{name}: offset {record.offset}: {record.rule}{newest}")


def _show(report: Reporter, view: LogView, made: Compaction) -> None:
    dirty, place = made.dirty, place_of(view.partition)
    for group in made.groups:
        report.line(
            "group",
            place,
            file=group[0].path,
            position=0,
            offsets=OffsetRange(group[0].base_offset, group[-1].following),
            segments=[segment.base_offset for segment in group],
            bytes=sum(segment.size for segment in group),
        )
    holder = dirty.holder
    held_by = holder and HeldBy(holder.base_offset, holder.largest.value)
    report.line("compaction", place, dirty, made, held_by=held_by)
    checkpoint = "no checkpoint" if dirty.checkpoint is None else "by its checkpoint"
    report.say(f"{view.partition.path}")
    report.say(
        f"  first dirty offset {dirty.first_dirty:,} ({checkpoint}), uncleanable from "
        f"{dirty.first_uncleanable:,} ({dirty.bound})"
    )
    if holder is not None:
        time = iso(holder.largest.value)
        report.say(f"  held by {holder.path.name}, whose largest timestamp is {time}")
    report.say(
        f"  dirty ratio {dirty.ratio:.3f}: {size_text(dirty.cleanable_bytes)} dirty, "
        f"{size_text(dirty.clean_bytes)} clean; least ratio {dirty.least_ratio}"
        + ("; max.compaction.lag.ms is over" if dirty.overdue else "")
    )
    not_yet = f"  not yet: {dirty.not_yet}"
    report.say("  a broker cleans it now" if dirty.not_yet is None else not_yet)
    if made.fails is not None:
        report.say(f"  the cleaner fails: {made.fails}")
    elif made.groups:
        _say_pass(report, made)
    report.say(f"  evidence: {made.strength}")
    report.assume(made.assumptions)


def _say_pass(report: Reporter, made: Compaction) -> None:
    full = ", when the table of keys is full" if made.full else ""
    keys = count_text(made.keys, "key")
    report.say(f"  a pass reads {keys}, up to offset {made.end_offset:,}{full}")
    removed = ", ".join(f"{count:,} {rule}" for rule, count in made.removed.items()) or "-"
    records = count_text(made.records, "record")
    report.say(f"  of {records} go {made.removed_records:,}: {removed}")
    batches = ", ".join(f"{count:,} {action.value}" for action, count in made.batches.items())
    report.say(f"  batches: {batches}")
    if made.horizons:
        kept = count_text(made.horizons, "batch", "batches")
        report.say(f"  tombstones or markers in {kept} may go at {iso(made.horizon)}")
    segments = count_text(sum(map(len, made.groups)), "segment")
    report.say(f"  {segments} become {len(made.groups):,}")
