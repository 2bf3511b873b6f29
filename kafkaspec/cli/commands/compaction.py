"""``kafkaspec compaction``: what the cleaner would remove, why not yet, and what it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import click

from kafkaspec.cli.checkpoints import CHECKPOINT, report_carried
from kafkaspec.cli.commands.cleaning import (
    asked,
    cleaning_options,
    open_inputs,
    views,
)
from kafkaspec.cli.console import count_text, say, size_text
from kafkaspec.cli.inputs import place_of
from kafkaspec.cli.options import (
    epilog,
    format_option,
    iso,
    profile_option,
    reading_options,
    renamed_option,
    wrong_usage,
)
from kafkaspec.cli.report import (
    LinePlace,
    Output,
    ReportCommand,
    Reporter,
    line,
    say_assumptions,
)
from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.cleaner.compaction import Compaction, compaction
from kafkaspec.forensics.cleaner.dirty import Dirty
from kafkaspec.forensics.cleaner.passes import Removed
from kafkaspec.forensics.cleaner.view import LogView, SegmentView
from kafkaspec.output.atomic import DirectoryAside, require_new
from kafkaspec.output.places import check_output
from kafkaspec.results import OffsetRange
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
_EPILOG = epilog(
    """\
Example, two days from now, with the cleaned log in a new log directory:
  kafkaspec compaction --config delete.retention.ms=1000 --clock 2026-12-01 \\
    -o cleaned /var/kafka/orders-0
""",
    """\
The settings are Kafka's: cleanup.policy, min.cleanable.dirty.ratio,
min.compaction.lag.ms, max.compaction.lag.ms, delete.retention.ms, segment.bytes,
segment.index.bytes, index.interval.bytes, max.message.bytes; of the broker
producer.id.expiration.ms, message.max.bytes, log.cleaner.threads,
log.cleaner.dedupe.buffer.size, log.cleaner.io.buffer.size and
log.cleaner.io.buffer.load.factor. A pass is shown even if it is not due.
""",
    """\
With -o, OUT has the checkpoints that hold: the log start offset, the high
watermark, and the end of the pass as first dirty offset.
""",
    """\
Exit codes: 0 the cleaner would remove nothing, 1 it would, or would fail, or
something cannot be read, 2 wrong usage, or nothing in a PATH can be read or
written, and there is no output.
""",
)


@click.command("compaction", cls=ReportCommand, output=OUTPUT, epilog=_EPILOG)
@cleaning_options
@renamed_option(
    "--show-records",
    old="--records",
    is_flag=True,
    help="Show each record that goes, and why.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="OUT",
    help="New log directory for the logs that the cleaner leaves.",
)
@profile_option("Version of Kafka whose rules apply, from 2.4.1 on.")
@reading_options
@format_option
@click.pass_context
def compaction_command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    config: tuple[str, ...],
    clock: int | None,
    high_watermark: int | None,
    show_records: bool,
    output: Path | None,
    profile: str,
    output_format: str,
) -> None:
    """Show what the cleaner would make of a log now, and why it does not do so yet.

    A PATH is a partition directory, a log directory, or a segment, which stands for its partition.
    """
    given, now, rules = asked(config, clock, profile)
    report = Reporter(ctx, output_format)
    inputs = open_inputs(paths)
    gone = 0
    logs: list[WrittenLog] = []
    with ExitStack() as stack:
        aside: DirectoryAside | None = None
        if output is not None:
            check_output(output, *paths)
            require_new(output)
            aside = DirectoryAside(output)
            stack.callback(aside.discard)
        for view, settings in views(inputs, given, high_watermark):
            target = None
            if aside is not None:
                target = aside.path / view.partition.path.absolute().name
                if target.exists():
                    raise click.UsageError(f"two of the paths are called {target.name}")
                target.mkdir()

            def note(
                segment: SegmentView, removed: Sequence[Removed], view: LogView = view
            ) -> None:
                _print_records(view, segment, removed, report)

            try:
                with wrong_usage(ValueError):
                    made = compaction(
                        view,
                        settings,
                        now,
                        rules,
                        target=target,
                        note=note if show_records else None,
                    )
            except KafkaSpecError as error:
                if aside is not None:
                    raise
                inputs.cannot_read(error)
                continue
            gone += made.removed_records
            inputs.findings += made.removed_records + (made.fails is not None)
            if report.as_json:
                _report(report, view, made)
            else:
                _print_text(view, made)
            if target is not None:
                logs.append(WrittenLog(view.partition, target, cleaned=made.cleaned))
        if aside is not None and inputs.exit_code < 2:
            carried = carry(aside, logs)
            aside.commit()
            report_carried(carried, report)
            inputs.unreadable += len(carried.errors)
    report.finish(inputs, removed=gone)


def _print_records(
    view: LogView, segment: SegmentView, removed: Sequence[Removed], report: Reporter
) -> None:
    for record in removed:
        if report.as_json:
            report.line("record", place_of(view.partition), record, file=segment.path)
            continue
        newest = "" if record.newest is None else f" by {record.newest}"
        say(f"{segment.path.name}: offset {record.offset}: {record.rule}{newest}")


def _report(report: Reporter, view: LogView, made: Compaction) -> None:
    place = place_of(view.partition)
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
    holder = made.dirty.holder
    held_by = holder and HeldBy(holder.base_offset, holder.largest.value)
    report.line("compaction", place, made.dirty, made, held_by=held_by)


def _print_text(view: LogView, made: Compaction) -> None:
    dirty = made.dirty
    say(f"{view.partition.path}")
    checkpoint = "no checkpoint" if dirty.checkpoint is None else "by its checkpoint"
    say(
        f"  first dirty offset {dirty.first_dirty:,} ({checkpoint}), uncleanable from "
        f"{dirty.first_uncleanable:,} ({dirty.bound})"
    )
    if dirty.holder is not None:
        time = iso(dirty.holder.largest.value)
        say(f"  held by {dirty.holder.path.name}, whose largest timestamp is {time}")
    say(
        f"  dirty ratio {dirty.ratio:.3f}: {size_text(dirty.cleanable_bytes)} dirty, "
        f"{size_text(dirty.clean_bytes)} clean; least ratio {dirty.least_ratio}"
        + ("; max.compaction.lag.ms is over" if dirty.overdue else "")
    )
    say("  a broker cleans it now" if dirty.not_yet is None else f"  not yet: {dirty.not_yet}")
    if made.fails is not None:
        say(f"  the cleaner fails: {made.fails}")
    elif made.groups:
        _print_pass(made)
    say(f"  proof: {made.strength}")
    say_assumptions(made.assumptions)


def _print_pass(made: Compaction) -> None:
    full = ", when the table of keys is full" if made.full else ""
    say(f"  a pass reads {count_text(made.keys, 'key')}, up to offset {made.end_offset:,}{full}")
    removed = ", ".join(f"{count:,} {rule}" for rule, count in made.removed.items())
    say(f"  of {count_text(made.records, 'record')} go {made.removed_records:,}: {removed or '-'}")
    batches = ", ".join(f"{count:,} {action.value}" for action, count in made.batches.items())
    say(f"  batches: {batches}")
    if made.horizons:
        say(
            f"  tombstones or markers in {count_text(made.horizons, 'batch', 'batches')} may go "
            f"at {iso(made.horizon)}"
        )
    segments = sum(map(len, made.groups))
    say(f"  {count_text(segments, 'segment')} become {len(made.groups):,}")
