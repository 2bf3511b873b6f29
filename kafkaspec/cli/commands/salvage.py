"""``kafkaspec salvage``: get back the intact batches of damaged logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.analysis.files import segment_bytes as bytes_of
from kafkaspec.arrow import provider
from kafkaspec.cli.checkpoints import CHECKPOINT, report_carried, show_carried
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
from kafkaspec.cli.options import (
    epilog,
    format_option,
    output_option,
    paths_argument,
    profile_option,
    reading_options,
    state_option,
    wrong_usage,
)
from kafkaspec.cli.report import LinePlace, Output, ReportCommand, Reporter, Tally, line
from kafkaspec.cli.rules import interval_option
from kafkaspec.forensics.salvage import (
    Added,
    Fate,
    LostOffsets,
    OpenTransaction,
    SalvagedPartition,
    SalvageReport,
    Stretch,
    salvage,
)
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.results import Assumption

_STRETCH = line(LinePlace, {"file": str}, Stretch, without=("fate",))
_TRANSACTION = line(LinePlace, OpenTransaction)

OUTPUT = Output(
    lost_offsets=line(LinePlace, {"file": str | None}, LostOffsets, without=("segment",)),
    added=line(LinePlace, Added, without=("base_offset",)),
    open=_TRANSACTION,
    unknown=_TRANSACTION,
    partition=line(
        LinePlace,
        source=str,
        target=str,
        size=int,
        bytes=dict[Fate, int],
        old_end=int,
        new_end=int,
        cut=str,
        deleted=int,
        assumptions=list[Assumption],
    ),
    checkpoint=CHECKPOINT,
    summary={
        "partitions": int,
        "bytes": dict[Fate, int],
        "failed": dict[str, str],
        "unproven": dict[str, Any] | None,
    },
    **{fate.value: _STRETCH for fate in Fate},  # type: ignore[arg-type]  # lines only
)
_EPILOG = epilog(
    """\
Example:
  kafkaspec salvage --repair bits,headers /var/kafka/orders-0 -o /tmp/salvaged/orders-0
""",
    """\
OUT has the partition, or for a log directory and for several PATHs a directory for
each: segments under their old names, indexes, snapshots, the leader epoch
checkpoint, and partition.metadata; and the checkpoints of the log directory that
hold. Of a partition alone, what is below its log start offset is cut. It appears
as a whole at the end, or not at all. A broker takes it as it is. Make it the
leader before replicas fetch from it.
""",
    """\
Every byte has one fate:
  kept       intact entries, in OUT byte for byte
  repaired   in OUT with the one bit back that its checksum names (bits), or the
             fields that no checksum covers (headers): base offset, size, leader
             epoch, magic
  lost       no intact entry, or one that is not part of this log
  ambiguous  intact entries that may be inside a value: not in OUT, or kept with
             the strength "unknown" (--ambiguous keep)
  unproven   with --unproven: broken, and records of it are in FILE; nothing says
             which of them are right
  unused     zeros at the end of a preallocated segment
""",
    """\
Exit codes: 0 nothing was wrong, 1 something was lost, repaired or added, or could not
be read, 2 wrong usage, or nothing can be read, or OUT cannot be written.
""",
)


class _Repairs(click.ParamType):  # type: ignore[type-arg]
    """Parameter type: ``bits``, ``headers``, or both with a comma."""

    name = "repair"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "[bits,headers]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        found = tuple(part for part in value.split(",") if part)
        for part in found:
            if part not in ("bits", "headers"):
                self.fail(f"{part!r} is neither bits nor headers", param, ctx)
        return found


@click.command("salvage", cls=ReportCommand, output=OUTPUT, epilog=_EPILOG)
@paths_argument
@output_option("New directory for the partition, or for all partitions.")
@click.option(
    "--repair",
    type=_Repairs(),
    default=(),
    help="Repair single flipped bits, and fields of headers that no checksum covers.",
)
@click.option(
    "--fill",
    type=click.Choice(["none", "tail", "all"]),
    default="tail",
    show_default=True,
    help="Put an empty batch in the place of lost offsets: those at the end, so that the broker "
    "does not give them out again, or all.",
)
@click.option(
    "--ambiguous",
    type=click.Choice(["leave", "keep"]),
    default="leave",
    show_default=True,
    help="Leave out intact batches that may be inside a value, or keep them.",
)
@click.option(
    "--markers",
    type=click.Choice(["none", "abort", "from"]),
    default="none",
    show_default=True,
    help="End transactions whose markers may be lost: abort them, or ask --state.",
)
@state_option
@click.option(
    "--unproven",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="New file for records of batches that stay broken, as JSON lines: not proven.",
)
@profile_option("Version of Kafka whose rules apply to the files beside the segments.")
@interval_option
@reading_options
@format_option
@click.pass_context
def salvage_command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    output: Path,
    repair: tuple[Any, ...],
    fill: Any,
    ambiguous: str,
    markers: str,
    states: tuple[Path, ...],
    unproven: Path | None,
    profile: str,
    interval: int,
    output_format: str,
) -> None:
    """Get the intact batches of damaged logs into new segments; account for every byte.

    A PATH is a segment (.log), a partition directory or a whole log directory. Batches after
    damage are found by their checksums; batches inside values are told apart by the bytes and
    offsets around them. Nothing under PATH is changed.
    """
    if (markers == "from") != bool(states):
        raise click.UsageError("--markers from and --state need each other")
    ids = _ids(states) if states else None
    size = sum(bytes_of(path) for path in paths if path.exists())
    with progress_bar("salvage", size) as advance, wrong_usage(ValueError):
        report = salvage(
            paths,
            output,
            repair=repair,
            fill=fill,
            markers="state" if states else markers,  # type: ignore[arg-type]  # one of them
            ambiguous=ambiguous == "keep",
            transaction_ids=ids,
            unproven=unproven,
            profile=profile,
            index_interval_bytes=interval,
            progress=advance,
        )
    for note in (*report.notes, *(note for item in report.partitions for note in item.notes)):
        warn(f"note: {note}")
    for place, error in report.failed.items():
        warn(f"not read: {error.at(place)}")
    for partition in report.partitions:
        for error in partition.unreadable:
            warn(str(error))
    reporter = Reporter(ctx, output_format)
    if reporter.as_json:
        _report(reporter, report)
    else:
        _print_text(report)
    tally = Tally(
        CLEAN if report.is_sound else FINDINGS,
        logs=len(report.partitions),
        unreadable=len(report.failed) + sum(len(each.unreadable) for each in report.partitions),
        missing=sum(len(each.lost) for each in report.partitions),
    )
    reporter.finish(
        tally,
        partitions=len(report.partitions),
        bytes=_totals(report),
        failed={place: str(error.at(place)) for place, error in report.failed.items()},
        unproven={"file": report.unproven, "records": report.unproven_records}
        if report.unproven
        else None,
    )


def _ids(paths: Sequence[Path]) -> Any:
    """Return what coordinators last knew of transactions."""
    with wrong_usage(ImportError):
        provider()
        from kafkaspec.state.transactions import joined, read_transactions
    found = []
    for path in paths:
        with open_log(path) as log:
            parts: list[Partition | Segment] = (
                [item for item in log.current if item.topic == Topic.TRANSACTION_STATE]
                if isinstance(log, LogDirectory)
                else [log]
            )
            if not parts:
                raise click.UsageError(f"{path} has no partition of {Topic.TRANSACTION_STATE}")
            found += [read_transactions(part) for part in parts]
    return joined(found)


# -- JSON ---------------------------------------------------------------------------------------


def _report(reporter: Reporter, report: SalvageReport) -> None:
    for item in report.partitions:
        place = {"topic": item.topic, "partition": item.partition}
        for segment in item.segments:
            for stretch in segment.stretches:
                reporter.line(stretch.fate, place, stretch, file=segment.path)
        for lost in item.lost:
            reporter.line("lost_offsets", place, lost, file=lost.segment)
        for added in item.added:
            reporter.line("added", place, added)
        for kind, transaction in _transactions(item):
            reporter.line(kind, place, transaction)
        reporter.line(
            "partition",
            place,
            source=item.source,
            target=item.target,
            size=item.size,
            bytes=item.bytes,
            old_end=item.old_end,
            new_end=item.new_end,
            cut=item.cut,
            deleted=item.deleted,
            assumptions=item.assumptions,
        )
    report_carried(report.checkpoints, reporter)


_STATES: Final = {"open": "open", "unknown": "outcome not known"}


def _transactions(item: SalvagedPartition) -> Iterator[tuple[str, OpenTransaction]]:
    """Yield the transactions that are open, or ended in a way that is not known."""
    yield from (("open", each) for each in item.open)
    yield from (("unknown", each) for each in item.unknown)


def _totals(report: SalvageReport) -> dict[Fate, int]:
    return {fate: sum(item.bytes[fate] for item in report.partitions) for fate in Fate}


# -- text ---------------------------------------------------------------------------------------


def _print_text(report: SalvageReport) -> None:
    console = stdout_console()
    rows = [
        (item, segment.path, stretch)
        for item in report.partitions
        for segment in item.segments
        for stretch in segment.stretches
        if stretch.moved or stretch.fate not in (Fate.KEPT, Fate.UNUSED)
    ]
    if rows:
        table = new_table("segment", ">byte", ">size", "fate", "offsets", "what", "proof")
        shown, rest = limited(rows, lambda row: row[2].fate is not Fate.REPAIRED)
        for item, path, stretch in shown:
            table.add_row(
                _short(path, item), f"{stretch.position:,}", size_text(stretch.size),
                stretch.fate.value, _offsets(stretch.first_offset, stretch.last_offset),
                _what(stretch), stretch.strength.value,
            )  # fmt: skip
        if rest:
            table.add_row(f"... {len(rest):,} more", "", "", "", "", "", "")
        console.print(table)
    for item in report.partitions:
        if not item.is_sound or item.deleted or len(report.partitions) == 1:
            _print_partition(item)
    show_carried(report.checkpoints)
    totals = ", ".join(
        f"{size_text(size)} {fate.value}" for fate, size in _totals(report).items() if size
    )
    console.print(f"{count_text(len(report.partitions), 'partition')}: {totals or 'no bytes'}")
    if report.unproven is not None:
        records = count_text(report.unproven_records, "record")
        console.print(f"{report.unproven}: {records} that nothing proves")


def _print_partition(item: SalvagedPartition) -> None:
    console = stdout_console()
    console.print(f"{item.source} to {item.target}")
    lost, more = limited(item.lost, lambda _: True)
    for each in lost:
        offsets = _offsets(each.first_offset, each.last_offset)
        console.print(f"  lost: offsets {offsets} ({each.why}; proof: {each.strength})")
    if more:
        console.print(f"  lost: {count_text(len(more), 'more range')}")
    added, more_added = limited(item.added, lambda each: each.kind == "marker")
    for entry in added:
        offsets = _offsets(entry.first_offset, entry.last_offset)
        console.print(f"  added: {entry.kind} at offsets {offsets}, {entry.why}")
    if more_added:
        console.print(f"  added: {count_text(len(more_added), 'more entry', 'more entries')}")
    shown, more_open = limited([*_transactions(item)], lambda _: True)
    for kind, transaction in shown:
        console.print(
            f"  {_STATES[kind]}: transaction of producer {transaction.producer_id} since offset "
            f"{transaction.first_offset}: {transaction.why}"
        )
    if more_open:
        console.print(f"  open, or not known: {count_text(len(more_open), 'more transaction')}")
    if item.deleted:
        entries = count_text(item.deleted, "entry", "entries")
        console.print(f"  cut: {entries}, at least in part, below the log start offset")
    if item.cut:
        console.print(f"  a broker cuts the output: {item.cut}")
    for assumed in item.assumptions:
        console.print(f"  {assumed}")
    end = f"  end of the log: {item.old_end:,} before, {item.new_end:,} now"
    if item.new_end < item.old_end:
        end += "; the broker will give out the offsets between them again"
    console.print(end)


def _short(path: str, item: SalvagedPartition) -> str:
    name = Path(path).name
    return f"{item.topic}-{item.partition}/{name}" if item.topic is not None else name


def _offsets(first: int | None, last: int | None) -> str:
    return "-" if first is None or last is None else f"{first:,}-{last:,}"


def _what(stretch: Stretch) -> str:
    text = stretch.cause
    if stretch.records:
        text += f"; {count_text(stretch.records, 'record')} read"
    return text
