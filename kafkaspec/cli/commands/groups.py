"""``kafkaspec groups``: members, assignments and committed offsets of groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

import click

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.cli.command import command, option
from kafkaspec.cli.console import TableColumn, count_text, iso
from kafkaspec.cli.internal import (
    EVENT,
    LEFT_OUT,
    LEFT_OUT_EPILOG,
    At,
    Logs,
    ReleaseText,
    Skip,
    history_option,
    show_history,
)
from kafkaspec.cli.options import PathsOrUrls, wrong_usage
from kafkaspec.cli.report import Output, Reporter, line
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.provider import require_pyarrow

_STATE: Final = "kafkaspec.state"

OUTPUT = Output(
    group=line(f"{_STATE}.groups:GROUPS"),
    member=line(f"{_STATE}.groups:MEMBERS"),
    offset=line(f"{_STATE}.groups:OFFSETS", f"{_STATE}.lag:LAG"),
    delivery=line(f"{_STATE}.share:DELIVERIES"),
    event=EVENT,
    **LEFT_OUT,
    summary={"groups": int | None},
)
_EPILOG = f"""
"delivery" lines are those of share groups, "event" lines those of --history. An
offset is pending in a transaction that is open. The epoch of a classic group is
its generation.

Lag is measured against the data partitions in the log directories: in records,
and as the time between the first record that was not consumed and the last one.
With --at, both are those of that time. Where a partition ended then, LogAppendTime
and the markers of transactions say, which a broker stamps as it appends them;
between two of these, the timestamps of producers. Such an end is assumed: its
bounds are shown, "9 (4 to 12)", and the exit code is 1.

A log that was compacted has only the last commits before the offset up to which
the cleaner came: --at before that time shows what is left of it, and says so.

{LEFT_OUT_EPILOG}

Exit codes: 0 all was read, 1 something could not be read or decoded, or is not
proven, or a GROUP is not there, 2 wrong usage, or nothing in a PATH can be read.
"""


@command(OUTPUT, _EPILOG)
def groups_command(
    ctx: click.Context,
    report: Reporter,
    *,
    paths: PathsOrUrls,
    at: At,
    wanted: tuple[str, ...] = option("--group", "Show this group only.", metavar="GROUP"),
    history: str | None = history_option("group", "GROUP"),
    release: ReleaseText,
    on_error: Skip,
) -> None:
    """Show groups: their members, assignments, committed offsets and lag.

    A PATH is a log directory, the directory of a partition of __consumer_offsets, or a segment of
    one. No broker is needed, and any release's files will do.
    """
    with wrong_usage(ImportError):
        require_pyarrow()
    logs = Logs(ctx, paths, Topic.CONSUMER_OFFSETS, on_error, report, at=at, release=release)
    logs.compacted(Topic.CONSUMER_OFFSETS)
    if history is not None:
        show_history(logs, Topic.CONSUMER_OFFSETS, history, report)
    names = set[str]()
    shown = 0
    for log in logs.of(Topic.CONSUMER_OFFSETS):
        with logs.reading(log):
            rows = _read(logs, log, wanted)
            names.update(row["group"] for table in rows.values() for row in table)
            rows = {kind: _chosen(table, wanted) for kind, table in rows.items()}
            _say_assumed(logs, rows["offset"], at)
            _show(rows, report)
            if at is not None and any(row["lag_ms"] for row in rows["offset"]):
                report.say(_CLOCKS)
            shown += len(rows["group"])
    names |= _show_deliveries(logs, wanted, report)
    text = count_text(shown, "group") if shown or not wanted else ""
    logs.check_there("group", wanted, names)
    report.finish(logs, text, groups=shown)


_Rows = list[dict[str, Any]]


def _read(logs: Logs, log: Segment | Partition, wanted: tuple[str, ...]) -> dict[str, _Rows]:
    """Return rows by their type."""
    from kafkaspec.state.groups import read_groups
    from kafkaspec.state.lag import with_lag
    from kafkaspec.tables.json_values import json_rows

    topics = {each.topic_id.bytes: each.topic or "" for each in logs.data if each.topic_id}
    groups = read_groups(log, topics=topics, **logs.options)
    logs.left_out(log, groups, wanted)
    offsets, errors = with_lag(groups.offsets, logs.data, at=logs.options["at"])
    for error in errors:
        logs.found(str(error))
    tables = {"group": groups.groups, "member": groups.members, "offset": offsets}
    return {kind: json_rows(table) for kind, table in tables.items()}


def _chosen(rows: _Rows, wanted: tuple[str, ...]) -> _Rows:
    """Return the rows of the wanted groups, all of them if none is named."""
    return [row for row in rows if not wanted or row["group"] in wanted]


def _say_assumed(logs: Logs, offsets: _Rows, at: int | None) -> None:
    """Say in how many partitions brokers' timestamps leave open where they ended."""
    open_ends = (row for row in offsets if row["log_end_least"] != row["log_end_most"])
    assumed = len({(row["topic"], row["partition"]) for row in open_ends})
    if assumed and at is not None:
        logs.found(
            f"where {count_text(assumed, 'partition')} ended at {iso(at)} is assumed by timestamps "
            "of producers; bounds by those of brokers are in brackets"
        )


def _show_deliveries(logs: Logs, wanted: tuple[str, ...], report: Reporter) -> set[str]:
    """Print what share groups had delivered, and return the names of all of them."""
    from kafkaspec.state.share import read_deliveries
    from kafkaspec.tables.json_values import json_rows

    names = set[str]()
    for log, found in logs.states(Topic.SHARE_GROUP_STATE, read_deliveries, wanted):
        for group, count in found.alone.items():
            text = f"{count_text(count, 'update')} of {group} without a snapshot, left out"
            logs.found(f"{log.path}: {text}")
        every = json_rows(found.partitions)
        names.update(row["group"] for row in every)
        rows = _chosen(every, wanted)
        for row in rows:
            report.line("delivery", row)
        if rows:
            report.table(_DELIVERIES, rows, most=len(rows))
    return names


_DELIVERIES: Final[dict[str, TableColumn]] = {
    "share group": "group",
    "topic id": "topic_id",
    ">partition": "partition",
    ">start": "start_offset",
    "batches": lambda row: ", ".join(
        f"{each['first_offset']}-{each['last_offset']} {each['state'].lower()}"
        for each in row["batches"]
    ),
}
_MEMBERS: Final[dict[str, TableColumn]] = {
    "member": "member_id",
    "client": "client_id",
    "host": "client_host",
    "assignment": lambda row: " ".join(
        f"{item['topic'] or item['topic_id']}:{','.join(map(str, item['partitions']))}"
        for item in row["assignment"] or ()
    ),
}
_CLOCKS: Final = (
    "lag time: from timestamps of records, which are of the producers' clocks unless the topic has "
    "LogAppendTime, to the time of --at"
)
_OFFSETS: Final[dict[str, TableColumn]] = {
    "topic": "topic",
    ">partition": "partition",
    ">committed": lambda row: f"{row['offset']}{' (pending)' if row['pending'] else ''}",
    ">end": lambda row: _end(row),
    ">lag": "lag",
    ">lag time": "lag_ms:duration",
    "committed at": "commit_timestamp:iso",
    "metadata": lambda row: row["metadata"] or "",
}


def _end(row: Mapping[str, Any]) -> str | None:
    end, least, most = (row[name] for name in ("log_end_offset", "log_end_least", "log_end_most"))
    return end if end is None or least == most else f"{end} ({least} to {most})"


def _show(rows: Mapping[str, _Rows], report: Reporter) -> None:
    """Print groups of a log."""
    for kind, table in rows.items():
        for row in table:
            report.line(kind, row)
    parts = {kind: _by_group(rows[kind]) for kind in ("member", "offset")}
    for group in rows["group"]:
        report.say("  ".join(_headline(group)))
        for kind, columns in (("member", _MEMBERS), ("offset", _OFFSETS)):
            if own := parts[kind].get(group["group"]):
                report.table(columns, own, most=len(own))


def _by_group(rows: _Rows) -> Mapping[str, _Rows]:
    found = defaultdict[str, _Rows](list)
    for row in rows:
        found[row["group"]].append(row)
    return found


def _headline(group: Mapping[str, Any]) -> Iterator[str]:
    yield f"{group['group']}: {group['kind']}, {group['state']}"
    protocols = [group[name] for name in ("protocol_type", "protocol") if group[name]]
    if protocols:
        yield "/".join(protocols)
    if group["epoch"] is not None:
        yield f"{'generation' if group['kind'] == 'classic' else 'epoch'} {group['epoch']}"
    yield count_text(group["members"], "member")
    if group["timestamp"] is not None:
        yield f"since {iso(group['timestamp'])}"
