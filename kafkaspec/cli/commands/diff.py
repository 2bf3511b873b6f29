"""``kafkaspec diff``: two copies of a partition, and what truncation would remove."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NoReturn

import click

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.analysis.state_file import StateFile, StateStore, is_state
from kafkaspec.cli.command import command, option
from kafkaspec.cli.console import TableColumn, count_text, iso, note, say
from kafkaspec.cli.inputs import Inputs
from kafkaspec.cli.options import wrong_usage
from kafkaspec.cli.report import LinePlace, Output, Reporter, line
from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.forensics.replicas.comparison import (
    Extent,
    LogDifference,
    ReplicaComparison,
    Truncation,
    compare_replicas,
)
from kafkaspec.forensics.replicas.entries import ReplicaSide
from kafkaspec.forensics.replicas.states import compare_states
from kafkaspec.lake.manifest import DELTA_LOG
from kafkaspec.log.batch import NONE
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition, PartitionLog
from kafkaspec.provider import require_pyarrow
from kafkaspec.results import Assumption, OffsetRange

if TYPE_CHECKING:
    from kafkaspec.forensics.replicas.elections import UncleanElection


class _Copy(NamedTuple):
    """One of the copies."""

    path: Path
    first_offset: int | None
    end_offset: int
    entries: int


OUTPUT = Output(
    difference=line(LinePlace, LogDifference),
    truncation=line(
        LinePlace,
        Truncation,
        leader=Literal["A", "B"],
        removed=OffsetRange | None,
        acknowledged=OffsetRange | None,
    ),
    election=line("kafkaspec.forensics.replicas.elections:UncleanElection"),
    assumption=line(LinePlace, Assumption),
    partition=line(
        LinePlace, a=_Copy, b=_Copy, divergence=int | None, same=bool, same_segments=bool
    ),
    summary={"same": int, "differences": int},
)
_EPILOG = """
Example:
  kafkaspec diff broker1/logs/orders-0 broker2/logs/orders-0

Kinds: log_start, end, cleaned are legal; diverged, missing, changed, damaged,
and other of states, are not.

Exit codes: 0 what differs is legal, 1 something else differs, or could not be
read, 2 wrong usage, or nothing in A or B can be read.
"""


@command(OUTPUT, _EPILOG)
def diff_command(
    ctx: click.Context,
    report: Reporter,
    *,
    a: Annotated[Path, click.argument("a", metavar="A", type=click.Path(path_type=Path))],
    b: Annotated[Path, click.argument("b", metavar="B", type=click.Path(path_type=Path))],
    leader: Literal["A", "B"] | None = option(
        "The one that is the leader's; by default the one with the higher last epoch."
    ),
) -> None:
    """Compare two copies of a partition, and show what a follower would truncate.

    A and B are replicas, a backup, a tiered copy: the directory of a partition, a segment, or log
    directories, of which the partitions that both have are compared; or two files or tables of
    verify --state, whose partitions are compared without their segments. Unclean elections are
    shown where a log directory has the metadata of its cluster.
    """
    counts = Inputs(())
    states = [_state(path) for path in (a, b)]
    if any(states):
        if leader is not None or states[0] is None or states[1] is None:
            raise click.UsageError("A and B are both states, without --leader, or none is one")
        _diff_states(report, counts, states[0], states[1])
    opened = [ctx.with_resource(open_log(path)) for path in (a, b)]
    same = differences = 0
    for log in opened:
        if isinstance(log, LogDirectory):
            for error in log.unreadable.values():
                counts.cannot_read(error)
    several = isinstance(opened[0], LogDirectory)
    leads: Any = leader and leader.lower()
    for first, second in _pairs(opened):
        with wrong_usage(ImportError):
            found = compare_replicas(first, second, leader=leads)
        counts.read += 2
        counts.undecoded(found.errors)
        elections = _elections(first, second, counts)
        for log in (first, second):
            counts.report_missing(log, ends_only=True)
        counts.findings += len(elections) + sum(not each.legal for each in found.differences)
        _report(report, _place(first, second), found, elections)
        if not report.as_json and (found.differences or elections or not several):
            _print(report, found, elections)
        same += not found.differences
        differences += len(found.differences)
    text = f"{count_text(same, 'partition')} the same" if several else ""
    report.finish(counts, text, same=same, differences=differences)


def _state(path: Path) -> StateStore | None:
    """Return the state of ``verify`` that a file or a table of Delta is; None for anything else."""
    if is_state(path):
        return StateFile(path)
    if not (path / DELTA_LOG).is_dir():
        return None
    with wrong_usage(ImportError):
        from kafkaspec.lake.state_table import RememberedTable
    return RememberedTable(str(path))


def _diff_states(report: Reporter, counts: Inputs, a: StateStore, b: StateStore) -> NoReturn:
    """Compare two states of ``verify``, report, and exit."""
    found, alone = compare_states(a, b)
    for store, count in zip((a, b), alone, strict=True):
        if count:
            note(f"{store.place}: {count_text(count, 'partition')} without a copy")
    for item in found:
        place: LinePlace = {"topic": item.topic, "partition": item.partition}
        counts.read += 2
        counts.findings += sum(not each.legal for each in item.differences)
        for difference in item.differences:
            report.line("difference", place, difference)
        report.line("partition", place, item, a=_Copy(*astuple(item.a)), b=_Copy(*astuple(item.b)))
        if not report.as_json and item.differences:
            say(f"{item.topic}-{item.partition}")
            report.table(_COLUMNS, item.differences, most=len(item.differences))
    same = sum(not item.differences for item in found)
    text = f"{count_text(same, 'partition')} the same, by what verify remembers"
    report.finish(counts, text, same=same, differences=sum(len(x.differences) for x in found))


def _pairs(opened: list[Any]) -> Iterator[tuple[PartitionLog, PartitionLog]]:
    a, b = opened
    if not isinstance(a, LogDirectory) and not isinstance(b, LogDirectory):
        yield a, b
        return
    if not (isinstance(a, LogDirectory) and isinstance(b, LogDirectory)):
        raise click.UsageError("A and B are both log directories, or none of them is one")
    there = {(each.topic, each.partition): each for each in b.current}
    shared = [each for each in a.current if (each.topic, each.partition) in there]
    for log, count in ((a, len(a.current)), (b, len(b.current))):
        if count > len(shared):
            note(f"{log.path}: {count_text(count - len(shared), 'partition')} without a copy")
    if not shared:
        raise unreadable(f"{a.path}, {b.path}", "they have no partition in common")
    for each in shared:
        yield each, there[each.topic, each.partition]


def _place(a: PartitionLog, b: PartitionLog) -> LinePlace:
    for log in (a, b):
        if isinstance(log, Partition) and log.topic is not None:
            return {"topic": log.topic, "partition": log.partition}
    return {"topic": None, "partition": None}


def _elections(a: PartitionLog, b: PartitionLog, counts: Inputs) -> list[UncleanElection]:
    """Return the unclean elections that the log directories tell of."""
    for log in (a, b):
        if not isinstance(log, Partition):
            continue
        metadata = log.path.absolute().parent / f"{Topic.CLUSTER_METADATA}-0"
        if metadata == log.path.absolute() or not metadata.is_dir():
            continue
        try:
            require_pyarrow()
            from kafkaspec.forensics.replicas.elections import unclean_elections
        except ImportError as missed:
            note(f"{metadata}: not searched for unclean elections: {missed}")
            return []
        try:
            with Partition(metadata) as records:
                every = unclean_elections(records, on_error=counts.cannot_decode)
        except KafkaSpecError as error:
            counts.cannot_read(error)
            continue
        own = log.topic, log.partition
        return [each for each in every if (each.topic, each.partition) == own]
    return []


def _report(
    report: Reporter, place: LinePlace, found: ReplicaComparison, elections: list[UncleanElection]
) -> None:
    for each in found.differences:
        report.line("difference", place, each)
    for truncation in found.truncations:
        report.line(
            "truncation",
            place,
            truncation,
            leader=truncation.leader.upper(),
            removed=truncation.removed,
            acknowledged=truncation.acknowledged,
        )
    for election in elections:
        report.line("election", election)
    for assumption in found.assumptions:
        report.line("assumption", place, assumption)
    report.line("partition", place, found, a=_copy(found.a), b=_copy(found.b))


def _copy(side: ReplicaSide) -> _Copy:
    path = side.log.path
    assert path is not None
    return _Copy(path, side.first_offset, side.end_offset, side.entries)


_COLUMNS: dict[str, TableColumn] = {
    "differs": "kind",
    ">offsets": lambda each: f"{each.first_offset} to {each.last_offset}",
    "A": lambda each: _content(each, each.a),
    "B": lambda each: _content(each, each.b),
    "legal": lambda each: "yes" if each.legal else "no",
    "proof": "strength",
    "why": "why",
}


def _print(report: Reporter, found: ReplicaComparison, elections: list[UncleanElection]) -> None:
    for name, side in (("A", found.a), ("B", found.b)):
        first = side.first_offset
        end = "nothing" if first is None else f"{first} to {side.end_offset - 1}"
        say(f"{name}  {side.log.path}: offsets {end}, {_entries(side.entries)}")
    if found.differences:
        report.table(_COLUMNS, found.differences, most=len(found.differences))
    for truncation in found.truncations:
        say(_truncation(truncation))
    for election in elections:
        say(
            f"unclean election at {iso(election.timestamp)}: broker {election.leader}, not among "
            f"the in-sync replicas {list(election.former_isr)}, became leader of "
            f"{election.topic}-{election.partition} in epoch {election.leader_epoch} "
            f"(proof: record {election.offset} of {Topic.CLUSTER_METADATA})"
        )
    report.assume(found.assumptions)
    if not found.differences:
        say("the same" + ("" if found.same_segments else ", in other segments"))


def _entries(count: int) -> str:
    return count_text(count, "entry", "entries")


def _content(item: LogDifference, extent: Extent | None) -> str:
    if extent is None:
        return "-" if item.records is None else f"{count_text(item.records, 'record')}"
    if extent.last_epoch == NONE:
        return _entries(extent.entries)
    epochs = f"{extent.first_epoch}"
    if extent.last_epoch != extent.first_epoch:
        epochs += f" to {extent.last_epoch}"
    return f"{_entries(extent.entries)}, epoch {epochs}"


def _truncation(item: Truncation) -> str:
    follower = "B" if item.leader == "a" else "A"
    text = f"if {item.leader.upper()} leads: "
    if item.removed is None:
        text += f"{follower} truncates nothing"
    else:
        text += f"{follower} truncates to {item.offset} and loses {item.removed}"
    if item.acknowledged is not None:
        text += f"; below its high watermark {item.high_watermark} are {item.acknowledged}: "
        text += "acknowledged records"
    return text + ("" if item.agrees else "; what differs below stays different")
