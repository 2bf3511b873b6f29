"""``kafkaspec salvage``: get back the intact batches of damaged logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import click

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.analysis.files import segment_bytes as bytes_of
from kafkaspec.cli.checkpoints import CHECKPOINT, report_carried
from kafkaspec.cli.command import command, defined
from kafkaspec.cli.console import TableColumn, count_text, limited, progress_bar, warn
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.options import (
    FILE,
    Paths,
    States,
    output_option,
    wrong_usage,
)
from kafkaspec.cli.report import LinePlace, Output, Reporter, Tally, line
from kafkaspec.cli.rules import Interval, profile_option
from kafkaspec.forensics.salvage import (
    Added,
    Fate,
    LostOffsets,
    OpenInOutput,
    SalvagedPartition,
    SalvageReport,
    Stretch,
    salvage,
)
from kafkaspec.forensics.salvage.additions import AddedMarkers, Fill
from kafkaspec.forensics.salvage.running import SalvageOptions
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.provider import require_pyarrow
from kafkaspec.results import Assumption
from kafkaspec.shown import size_text

_STRETCH = line(LinePlace, {"file": str}, Stretch, without=("fate",))
_TRANSACTION = line(LinePlace, OpenInOutput)

OUTPUT = Output(
    lost_offsets=line(LinePlace, LostOffsets),
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
_EPILOG = """
Example:
  kafkaspec salvage --repair bits,headers /var/kafka/orders-0 -o /tmp/salvaged/orders-0

OUT has the partition, or for a log directory and for several PATHs a directory for
each: segments under their old names, indexes, snapshots, the leader epoch
checkpoint, and partition.metadata; and the checkpoints of the log directory that
hold. Of a partition alone, what is below its log start offset is cut. It appears
as a whole at the end, or not at all. A broker takes it as it is. Make it the
leader before replicas fetch from it.

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

Exit codes: 0 nothing was wrong, 1 something was lost, repaired or added, or could not
be read, 2 wrong usage, or nothing can be read, or OUT cannot be written.
"""


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


@command(OUTPUT, _EPILOG)
def salvage_command(
    reporter: Reporter,
    *,
    paths: Paths,
    output: Annotated[
        Path, output_option("New directory for the partition, or for all partitions.")
    ],
    repair: tuple[Any, ...] = defined(
        of=SalvageOptions, type=_Repairs(), default=(), show_default=False
    ),
    fill: Fill = defined(of=SalvageOptions, default="tail"),
    ambiguous: str = defined(
        of=SalvageOptions,
        type=click.Choice(["leave", "keep"]),
        is_flag=False,
        default="leave",
    ),
    markers: AddedMarkers = defined(of=SalvageOptions, default="none"),
    states: States,
    unproven: Path | None = defined(of=SalvageOptions, type=FILE, metavar="FILE"),
    profile: Annotated[str, profile_option()],
    interval: Interval,
) -> None:
    """Get the intact batches of damaged logs into new segments; account for every byte.

    A PATH is a segment (.log), a partition directory or a whole log directory. Batches after
    damage are found by their checksums; batches inside values are told apart by the bytes and
    offsets around them. Nothing under PATH is changed.
    """
    if (markers == "state") != bool(states):
        raise click.UsageError("--markers state and --state need each other")
    ids = _ids(states) if states else None
    size = sum(bytes_of(path) for path in paths if path.exists())
    with progress_bar("salvage", size) as advance, wrong_usage(ValueError):
        report = salvage(
            paths,
            output,
            repair=repair,
            fill=fill,
            markers=markers,
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
    _show(reporter, report)
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
        require_pyarrow()
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


_STATES: Final = {"open": "open", "unknown": "outcome not known"}


def _transactions(item: SalvagedPartition) -> list[tuple[str, OpenInOutput]]:
    """Return the transactions that are open, or ended in a way that is not known."""
    return [*(("open", each) for each in item.open), *(("unknown", each) for each in item.unknown)]


def _totals(report: SalvageReport) -> dict[Fate, int]:
    return {fate: sum(item.bytes[fate] for item in report.partitions) for fate in Fate}


_Row = tuple[SalvagedPartition, str, Stretch]
_COLUMNS: Final[dict[str, TableColumn]] = {
    "segment": lambda row: _short(row[1], row[0]),
    ">byte": lambda row: f"{row[2].position:,}",
    ">size": lambda row: size_text(row[2].size),
    "fate": lambda row: row[2].fate.value,
    "offsets": lambda row: _offsets(row[2]),
    "what": lambda row: (
        row[2].cause + (f"; {count_text(row[2].records, 'record')} read" if row[2].records else "")
    ),
    "proof": lambda row: row[2].strength.value,
}


def _show(reporter: Reporter, report: SalvageReport) -> None:
    rows: list[_Row] = []
    for item in report.partitions:
        place = {"topic": item.topic, "partition": item.partition}
        for segment in item.segments:
            for stretch in segment.stretches:
                reporter.line(stretch.fate, place, stretch, file=segment.path)
                if stretch.moved or stretch.fate not in (Fate.KEPT, Fate.UNUSED):
                    rows.append((item, segment.path, stretch))
        for lost in item.lost:
            reporter.line("lost_offsets", place, lost)
        for added in item.added:
            reporter.line("added", place, added)
        for kind, transaction in _transactions(item):
            reporter.line(kind, place, transaction)
        reporter.line("partition", item)
    if rows:
        reporter.table(_COLUMNS, rows, lambda row: row[2].fate is not Fate.REPAIRED)
    for item in report.partitions:
        if not item.is_sound or item.deleted or len(report.partitions) == 1:
            _say_partition(reporter.say, item)
    report_carried(report.checkpoints, reporter)
    totals = (f"{size_text(size)} {fate.value}" for fate, size in _totals(report).items() if size)
    many = count_text(len(report.partitions), "partition")
    reporter.say(f"{many}: {', '.join(totals) or 'no bytes'}")
    if report.unproven is not None:
        records = count_text(report.unproven_records, "record")
        reporter.say(f"{report.unproven}: {records} that nothing proves")


def _say_partition(say: Callable[[str], None], item: SalvagedPartition) -> None:
    say(f"{item.source} to {item.target}")
    lost, more = limited(item.lost)
    for each in lost:
        say(f"  lost: offsets {_offsets(each)} ({each.message}; evidence: {each.strength})")
    if more:
        say(f"  lost: {count_text(len(more), 'more range')}")
    added, more_added = limited(item.added, lambda each: each.kind == "marker")
    for entry in added:
        say(f"  added: {entry.kind} at offsets {_offsets(entry)}, {entry.why}")
    if more_added:
        say(f"  added: {count_text(len(more_added), 'more entry', 'more entries')}")
    shown, more_open = limited(_transactions(item))
    for kind, transaction in shown:
        say(
            f"  {_STATES[kind]}: transaction of producer {transaction.producer_id} since offset "
            f"{transaction.first_offset}: {transaction.why}"
        )
    if more_open:
        say(f"  open, or not known: {count_text(len(more_open), 'more transaction')}")
    if item.deleted:
        entries = count_text(item.deleted, "entry", "entries")
        say(f"  cut: {entries}, at least in part, below the log start offset")
    if item.cut:
        say(f"  a broker cuts the output: {item.cut}")
    for assumed in item.assumptions:
        say(f"  {assumed}")
    end = f"  end of the log: {item.old_end:,} before, {item.new_end:,} now"
    again = "; the broker will give out the offsets between them again"
    say(end + (again if item.new_end < item.old_end else ""))


def _short(path: str, item: SalvagedPartition) -> str:
    name = Path(path).name
    return f"{item.topic}-{item.partition}/{name}" if item.topic is not None else name


def _offsets(item: Stretch | LostOffsets | Added) -> str:
    first, last = item.first_offset, item.last_offset
    return "-" if first is None or last is None else f"{first:,}-{last:,}"
