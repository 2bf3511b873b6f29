"""``kafkaspec spark lake``: segments to tables of Delta or Iceberg, exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from typing import Annotated, Any, Final, Literal

import click

from kafkaspec.cli.command import command, defined, option
from kafkaspec.cli.console import count_text, note, warn
from kafkaspec.cli.exits import CLEAN, FINDINGS, REFUSED
from kafkaspec.cli.options import Parsed, is_given, wrong_usage
from kafkaspec.cli.report import Output, Reporter, Tally, line
from kafkaspec.cli.spark.options import restore_option, tasks_option
from kafkaspec.cli.spark.session import check_outputs, session
from kafkaspec.lake.options import LakeOptions
from kafkaspec.lake.restored import LakeSegment
from kafkaspec.lake.results import LakeIncrement, LakeLoss, LakeReport, LakeStatus
from kafkaspec.shown import size_text, without_credentials
from kafkaspec.spark.parsing import size

OUTPUT = Output(
    increment=line(LakeIncrement),
    loss=line(LakeLoss),
    status=line(LakeStatus),
    segment=line(LakeSegment, topic=str, partition=int, generation=int),
    table=line(table=str, merged=int, made=int, orphans=int, expired=int),
)
_EPILOG = """
LAKE gets the tables raw (a row for each record), batches (a row for each batch), dead (what
could not be read) and progress. Segments to which a broker may still write wait for the next run,
unless --active is given.

Exit codes: 0 all was read; 1 something is lost, damaged or has no value, or a restored segment
has other bytes; 2 wrong usage, or unreadable; 3 something is lost, and --on-loss is stop.
"""


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError("write NAME=VALUE")
    return name, value


def _lake(name: str, **settings: Any) -> Any:
    """Declare an option of the library's lake."""
    return defined(name, of=LakeOptions, **settings)


_USED: Final = {"--restore": {"topics"}, "--maintain": {"file_size"}}
"""Options about filling a lake that other actions take too."""
_OF_FILLING: Final = (
    "topics", "value", "key", "schemas", "evolve", "exact", "max_segments", "file_size", "active",
    "on_loss", "tasks",
)  # fmt: skip


def _check_used(ctx: click.Context, action: str | None) -> None:
    """Refuse options that an action would not use."""
    for name in _OF_FILLING if action is not None else ():
        if is_given(ctx, name) and name not in _USED[str(action)]:
            (parameter,) = (each for each in ctx.command.params if each.name == name)
            raise click.UsageError(f"{parameter.opts[0]} does not go with {action}")


@command(OUTPUT, _EPILOG, shared=())
def lake_command(
    ctx: click.Context,
    report: Reporter,
    *,
    paths: Annotated[tuple[str, ...], click.argument("paths", metavar="[PATH...]", nargs=-1)],
    output: str = option(
        "-o", "--output", "The lake, a directory or URL; with --restore, a new log directory.",
        metavar="LAKE", required=True,
    ),
    to: str | None = option(
        "delta or iceberg; the format of LAKE by default, delta if it is new.", metavar="FORMAT"
    ),
    catalog: tuple[tuple[str, str], ...] = _lake(
        "catalog", multiple=True, type=Parsed(_setting), metavar="NAME=VALUE"
    ),
    topics: tuple[str, ...] = _lake("topics", multiple=True, metavar="TOPIC"),
    value: str | None = _lake("value", metavar="FORMAT"),
    key: str | None = _lake("key", metavar="FORMAT"),
    schemas: str | None = _lake("schemas", metavar="PATH"),
    evolve: str | int | None = _lake(
        "evolve", kind=Literal["latest"] | int, metavar="VERSION", default="latest"
    ),
    exact: bool = _lake("exact"),
    max_segments: int | None = _lake("max_segments", type=click.IntRange(min=1)),
    file_size: int = _lake(
        "file_size", type=Parsed(lambda text: size("file_size", text)), metavar="SIZE",
        default="512m",
    ),
    active: bool = _lake("active"),
    on_loss: str = _lake("on_loss", default="stop"),
    dry_run: bool = option("Show what the next increment would read, and write nothing."),
    status: bool = option("Show what LAKE has, what is new in PATHs, and how long that takes."),
    is_back: bool = restore_option(),
    maintain: bool = option("Merge small files, expire snapshots and remove files without use."),
    tasks: int | None = tasks_option(),
) -> None:  # fmt: skip
    """Add what is new in segments to tables of Delta or Iceberg, each record exactly once.

    A PATH is a partition or log directory, a glob, a URL, or remote storage. Run it again, by a
    scheduler, to add what came since; a run that was killed is finished by the next one.
    """
    if dry_run + status + is_back + maintain > 1:
        raise click.UsageError("give one of --dry-run, --status, --restore and --maintain")
    if not paths and not (status or maintain):
        raise click.UsageError("Missing argument 'PATH...'.")
    if (len(paths) > 1 and is_back) or (paths and maintain):
        raise click.UsageError("--restore takes one PATH, --maintain none")
    _check_used(ctx, "--restore" if is_back else "--maintain" if maintain else None)
    with wrong_usage(ImportError):
        from kafkaspec.lake.increments import LakeLossError
        from kafkaspec.lake.tables import open_lake
        from kafkaspec.spark.jobs.lake import LakeJob, fill
    options: Any = {
        "to": to, "catalog": dict(catalog) or None, "topics": topics or None,
        "value": value, "key": key, "schemas": schemas, "evolve": evolve, "exact": exact,
        "max_segments": max_segments, "file_size": file_size, "active": active, "on_loss": on_loss,
    }  # fmt: skip
    shown = without_credentials(output)
    done = LakeReport()
    try:
        with wrong_usage(ValueError, ImportError):
            if is_back:
                check_outputs(paths, output)
                _restore(report, open_lake(paths[0], to, catalog=dict(catalog)), output, topics)
            elif maintain:
                lake = open_lake(output, to, catalog=dict(catalog))
                _maintain(report, lake, file_size)
            elif status:
                _show_status(report, LakeJob(paths, output, options).status(), shown, bool(paths))
            elif dry_run:
                done = _dry_run(report, LakeJob(paths, output, options, create=True))
            else:
                with ExitStack() as stack:
                    done = fill(
                        # Without news, and with little to plan, no JVM has to start.
                        cache(lambda: stack.enter_context(session(ctx))),
                        paths, output, options, tasks=tasks,
                        on_increment=lambda made: _show(report, made),
                    )  # fmt: skip
    except LakeLossError as error:
        warn(str(error))
        ctx.exit(REFUSED)
    _finish(report, done, shown, quiet=status or dry_run)


def _show(report: Reporter, made: LakeIncrement) -> None:
    report.line("increment", made)
    text = f"increment {made.epoch}: {count_text(made.rows, 'record')} of"
    text += f" {count_text(made.segments, 'segment')}, {size_text(made.bytes)}"
    text += f", in {made.seconds:.1f} s"
    if made.dead:
        text += f"; {count_text(made.dead, 'row')} in dead"
    if made.lost:
        text += f"; {count_text(made.lost, 'offset')} lost"
    report.say(text)


def _dry_run(report: Reporter, job: Any) -> LakeReport:
    mark, found = job.plan(dry=True)
    epoch = 1 if mark is None else mark.epoch + 1
    for item in found.segments:
        place = f"{item.unit.topic}-{item.unit.partition}"
        report.say(f"{place}: {without_credentials(item.unit.path)}: {size_text(item.size)}")
    report.line("increment", LakeIncrement(epoch, len(found.segments), found.size, 0, 0, 0, 0))
    text = f"increment {epoch} would read {count_text(len(found.segments), 'segment')}"
    text += f", {size_text(found.size)}"
    report.say(text + (f"; {count_text(found.left, 'segment')} more later" if found.left else ""))
    return LakeReport(losses=found.losses, active=found.active)


def _restore(report: Reporter, lake: Any, output: str, topics: Sequence[str]) -> None:
    from kafkaspec.lake.restoring import restore_logs

    found = restore_logs(lake, output, topics=topics)
    for log in found.logs:
        name = f"{log.topic}-{log.partition}"
        for item in log.segments:
            place = {"topic": log.topic, "partition": log.partition, "generation": log.generation}
            report.line("segment", item, place)
            if not item.is_identical:
                fields = f" in {', '.join(item.fields)}" if item.fields else ""
                text = f"{count_text(item.changed, 'entry', 'entries')} of {item.entries:,} differ"
                warn(f"{name}/{item.file}: {text}{fields}")
            if item.gaps or item.start:
                warn(f"{name}/{item.file}: the lake lacks bytes of it")
        for text in log.notes:
            warn(f"note: {name}: {text}")
    total = len(found.segments)
    report.say(
        f"{count_text(len(found.logs), 'partition')} in {output}:"
        f" {found.identical:,} of {count_text(total, 'segment')} have the same bytes"
    )
    others = total - found.identical
    report.finish(Tally(FINDINGS if others else CLEAN, logs=len(found.logs), findings=others))


def _maintain(report: Reporter, lake: Any, file_size: int) -> None:
    from kafkaspec.lake.maintenance import maintain

    for item in maintain(lake, file_size=file_size):
        report.line("table", item)
        text = f"{item.table}: {count_text(item.merged, 'file')} merged into {item.made:,}"
        text += f", {count_text(len(item.orphans), 'file')} without use removed"
        report.say(text + f", {item.expired:,} expired")
    report.finish(Tally(CLEAN))


def _show_status(report: Reporter, status: LakeStatus, place: str, asked: bool) -> None:
    report.line("status", status)
    text = f"{place}: {status.format}, {count_text(status.epoch, 'increment')},"
    text += f" {count_text(status.partitions, 'partition')},"
    text += (
        f" {count_text(status.rows, 'record')} of {count_text(status.batches, 'batch', 'batches')}"
    )
    report.say(text)
    if status.dead or status.lost:
        report.say(f"{status.dead:,} damaged or without a value; {status.lost:,} offsets lost")
    if status.pending:
        report.say(f"increment {status.epoch} is not in all tables; the next run finishes it")
    if asked:
        text = f"new: {count_text(status.new_segments, 'segment')}, {size_text(status.new_bytes)}"
        report.say(text + (f"; about {status.seconds:.0f} s" if status.seconds >= 1 else ""))
        _show_active(status.active_bytes)


def _show_active(size: int) -> None:
    if size:
        text = "to which brokers may still write wait for the next run; --active reads them"
        note(f"{size_text(size)} in segments {text}")


def _finish(report: Reporter, done: LakeReport, place: str, *, quiet: bool) -> None:
    """Say what is lost and what was left, and end with the exit code."""
    if done.finished is not None:
        note(f"increment {done.finished}, which an earlier run left, is in all tables now")
    for loss in done.losses:
        report.line("loss", loss)
        warn(str(loss))
    for topic, why in done.untyped.items():
        warn(f"{topic}: no typed table: {why}")
    _show_active(done.active)
    made = done.increments
    if not quiet:
        rows = sum(item.rows for item in made)
        report.say(f"{count_text(rows, 'record')} added to {place}" if made else "nothing is new")
    dead = sum(item.dead for item in made)
    code = FINDINGS if dead or done.losses or done.untyped else CLEAN
    report.finish(Tally(code, undecoded=dead, missing=len(done.losses)))
