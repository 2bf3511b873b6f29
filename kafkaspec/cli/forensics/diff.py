"""``kafkaspec diff``: two copies of a partition, and what truncation would remove."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.arrow import provider
from kafkaspec.cli.console import count_text, new_table, note, print_json, say, stdout_console, warn
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.options import epilog, format_option, iso, reading_options, wrong_usage
from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.forensics.replicas.comparison import (
    Comparison,
    Difference,
    Extent,
    Log,
    Truncation,
    compare_replicas,
)
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.missing import missing
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.results import as_json

if TYPE_CHECKING:
    from kafkaspec.forensics.replicas.elections import UncleanElection

_EPILOG = epilog(
    """\
Example:
  kafkaspec diff broker1/logs/orders-0 broker2/logs/orders-0
""",
    """\
Output of --format json, one object for each line, by "type":
  difference  topic, partition, kind, offsets (first, last), a and b (entries,
          bytes, epochs, file, position; null for nothing there), records,
          legal, strength, why
  truncation  topic, partition, leader, offset, end_offset, high_watermark,
          removed, acknowledged (first, last; null for none), agrees, steps
  election    topic, partition, offset, timestamp, leader, leader_epoch,
          former_leader, former_isr: an unclean one, from __cluster_metadata
  assumption  topic, partition, name, value, why
  partition   topic, partition, a and b (path, first_offset, end_offset,
          entries), divergence, same, same_segments
""",
    """\
Kinds: log_start, end, cleaned are legal; diverged, missing, changed, damaged
are not.
""",
    """\
Exit codes: 0 what differs is legal, 1 something else differs, or could not be
read, 2 wrong usage, or nothing of A or B can be read.
""",
)


@click.command("diff", epilog=_EPILOG)
@click.argument("a", metavar="A", type=click.Path(path_type=Path))
@click.argument("b", metavar="B", type=click.Path(path_type=Path))
@click.option(
    "--leader",
    type=click.Choice(["A", "B"]),
    help="The one that is the leader's; by default the one with the higher last epoch.",
)
@reading_options
@format_option
@click.pass_context
def diff_command(
    ctx: click.Context, a: Path, b: Path, leader: str | None, output_format: str
) -> None:
    """Compare two copies of a partition, and show what a follower would truncate.

    A and B are replicas, a backup, a tiered copy: the directory of a partition, a segment, or log
    directories, of which the partitions that both have are compared. Unclean elections are shown
    where a log directory has the metadata of its cluster.
    """
    code = CLEAN
    opened = [ctx.with_resource(open_log(path)) for path in (a, b)]
    same = 0
    for log in opened:
        if isinstance(log, LogDirectory):
            for error in log.unreadable.values():
                warn(str(error))
                code = FINDINGS
    for first, second in _pairs(opened):
        with wrong_usage(ImportError):
            found = compare_replicas(first, second, leader=_name(leader))
        for error in found.errors:
            warn(str(error))
        elections, whole = _elections(first, second)
        for log in (first, second):
            for item in missing(log, ends_only=True):
                warn(str(item) if item.is_loss else f"note: {item}")
                whole &= not item.is_loss
        if not found.same or elections or not whole:
            code = FINDINGS
        place = _place(first, second)
        if output_format == "json":
            _print_json(place, found, elections)
        elif found.differences or elections or not isinstance(opened[0], LogDirectory):
            _print(place, found, elections)
        same += not found.differences
    if isinstance(opened[0], LogDirectory):
        note(f"{count_text(same, 'partition')} the same")
    ctx.exit(code)


def _name(leader: str | None) -> Any:
    return None if leader is None else leader.lower()


def _pairs(opened: list[Any]) -> Iterator[tuple[Log, Log]]:
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


def _place(a: Log, b: Log) -> dict[str, Any]:
    for log in (a, b):
        if isinstance(log, Partition) and log.topic is not None:
            return {"topic": log.topic, "partition": log.partition}
    return {"topic": None, "partition": None}


def _elections(a: Log, b: Log) -> tuple[list[UncleanElection], bool]:
    """Return the unclean elections that the log directories tell of, and whether all was read."""
    errors: list[KafkaSpecError] = []
    for log in (a, b):
        if not isinstance(log, Partition):
            continue
        metadata = log.path.absolute().parent / f"{Topic.CLUSTER_METADATA}-0"
        if metadata == log.path.absolute() or not metadata.is_dir():
            continue
        try:
            provider()
            from kafkaspec.forensics.replicas.elections import unclean_elections
        except ImportError as missed:
            note(f"{metadata}: not searched for unclean elections: {missed}")
            return [], True
        try:
            with Partition(metadata) as records:
                every = unclean_elections(records, on_error=errors.append)
        except KafkaSpecError as error:
            errors.append(error)
            continue
        own = log.topic, log.partition
        _warn(errors)
        return [each for each in every if (each.topic, each.partition) == own], not errors
    _warn(errors)
    return [], not errors


def _warn(errors: list[KafkaSpecError]) -> None:
    for error in errors:
        warn(str(error))


# -- JSON ------------------------------------------------------------------------------------------


def _print_json(place: dict[str, Any], found: Comparison, elections: list[UncleanElection]) -> None:
    for each in found.differences:
        fields = {
            "kind": each.kind,
            "offsets": [each.first_offset, each.last_offset],
            "a": _extent(each.a),
            "b": _extent(each.b),
            "records": each.records,
            "legal": each.legal,
            "strength": each.strength,
            "why": each.why,
        }
        print_json("difference", place | fields)
    for truncation in found.truncations:
        fields = asdict(truncation) | {
            "leader": truncation.leader.upper(),
            "removed": _ends(truncation.removed),
            "acknowledged": _ends(truncation.acknowledged),
        }
        print_json("truncation", place | fields)
    for election in elections:
        print_json("election", asdict(election))
    for assumption in found.assumptions:
        print_json("assumption", place | as_json(assumption))
    sides = {
        name: {
            "path": str(side.log.path),
            "first_offset": side.first_offset,
            "end_offset": side.end_offset,
            "entries": side.entries,
        }
        for name, side in (("a", found.a), ("b", found.b))
    }
    whole = {
        "divergence": found.divergence,
        "same": found.same,
        "same_segments": found.same_segments,
    }
    print_json("partition", place | sides | whole)


def _extent(extent: Extent | None) -> dict[str, Any] | None:
    if extent is None:
        return None
    return {
        "entries": extent.entries,
        "bytes": extent.size,
        "epochs": [extent.first_epoch, extent.last_epoch],
        "file": extent.file,
        "position": extent.position,
    }


def _ends(offsets: range) -> list[int] | None:
    return [offsets.start, offsets.stop - 1] if offsets else None


# -- text ------------------------------------------------------------------------------------------


def _print(place: dict[str, Any], found: Comparison, elections: list[UncleanElection]) -> None:
    for name, side in (("A", found.a), ("B", found.b)):
        end = (
            "nothing"
            if side.first_offset is None
            else f"{side.first_offset} to {side.end_offset - 1}"
        )
        say(f"{name}  {side.log.path}: offsets {end}, {_entries(side.entries)}")
    if found.differences:
        table = new_table("differs", ">offsets", "A", "B", "legal", "proof", "why")
        for each in found.differences:
            table.add_row(
                each.kind,
                f"{each.first_offset} to {each.last_offset}",
                _content(each, each.a),
                _content(each, each.b),
                "yes" if each.legal else "no",
                each.strength,
                each.why,
            )
        console = stdout_console()
        console.print(table)
    for truncation in found.truncations:
        say(_truncation(truncation))
    for election in elections:
        say(
            f"unclean election at {iso(election.timestamp)}: broker {election.leader}, not among "
            f"the in-sync replicas {list(election.former_isr)}, became leader of "
            f"{election.topic}-{election.partition} in epoch {election.leader_epoch} "
            f"(proof: record {election.offset} of {Topic.CLUSTER_METADATA})"
        )
    for assumption in found.assumptions:
        note(str(assumption))
    if not found.differences:
        say("the same" + ("" if found.same_segments else ", in other segments"))


def _entries(count: int) -> str:
    return count_text(count, "entry", "entries")


def _content(item: Difference, extent: Extent | None) -> str:
    if extent is None:
        return "-" if item.records is None else f"{count_text(item.records, 'record')}"
    epochs = f"{extent.first_epoch}"
    if extent.last_epoch != extent.first_epoch:
        epochs += f" to {extent.last_epoch}"
    return f"{_entries(extent.entries)}, epoch {epochs}"


def _truncation(item: Truncation) -> str:
    follower = "B" if item.leader == "a" else "A"
    text = f"if {item.leader.upper()} leads: "
    if not item.removed:
        text += f"{follower} truncates nothing"
    else:
        text += (
            f"{follower} truncates to {item.offset} and loses offsets "
            f"{item.removed.start} to {item.removed.stop - 1}"
        )
    if item.acknowledged:
        text += (
            f"; {item.acknowledged.start} to {item.acknowledged.stop - 1} are below its high "
            f"watermark {item.high_watermark}: acknowledged records"
        )
    return text + ("" if item.agrees else "; what differs below stays different")
