"""``kafkaspec transactions``: transactions in partitions, and what their coordinators knew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.arrow import provider
from kafkaspec.cli.console import count_text, new_table, say, stdout_console
from kafkaspec.cli.inputs import place_of
from kafkaspec.cli.internal import EVENT, Logs, at_option, release_option, show_history, skip_option
from kafkaspec.cli.options import (
    epilog,
    format_option,
    iso,
    paths_argument,
    reading_options,
    renamed_option,
    state_option,
    wrong_usage,
)
from kafkaspec.cli.report import LinePlace, Output, ReportCommand, Reporter, line
from kafkaspec.errors import KafkaSpecError
from kafkaspec.results import Assumption, Strength

if TYPE_CHECKING:
    from kafkaspec.forensics.timeline import Timeline

_MOST_ROWS: Final = 50
"""Transactions that are shown in text; JSON has all."""
_AT_ONCE: Final = 1 << 12
_TIMELINE: Final = "kafkaspec.forensics.timeline"

OUTPUT = Output(
    transactional_id=line("kafkaspec.state.transactions:TRANSACTIONS"),
    transaction=line(
        LinePlace,
        f"{_TIMELINE}:TIMELINE",
        outcome=f"{_TIMELINE}:Outcome",
        strength=Strength,
        transactional_id=str | None,
    ),
    partition=line(
        LinePlace,
        log_start_offset=int | None,
        log_end_offset=int,
        last_stable_offset=int,
        transactions=int,
        committed=int,
        aborted=int,
        open=int,
        unknown=int,
        index_entries=int,
        assumptions=list[Assumption],
    ),
    finding=line(LinePlace, f"{_TIMELINE}:IndexFinding"),
    open=line(
        "kafkaspec.forensics.transactions:OPEN",
        verdict="kafkaspec.forensics.transactions:TransactionVerdict",
        strength=Strength,
    ),
    event=EVENT,
    summary={"transactional_ids": int | None, "open": int | None},
)
_EPILOG = epilog(
    """\
"event" lines are those of --history; hanging is null where no coordinator's
partition was there to ask, or not all of them.
""",
    """\
A transaction hangs when its coordinator knows that it has ended, or does not
know it: no marker will come, and consumers with read_committed wait for it. A log
directory with all partitions of __transaction_state proves it (--complete).
""",
    """\
Example: what holds back consumers of one partition, without its coordinator
  kafkaspec transactions /var/kafka-logs/orders-0
""",
    """\
Exit codes: 0 nothing hangs, 1 something hangs, an index contradicts its log,
something could not be read or decoded, or an ID is not there, 2 wrong usage, or
nothing in a PATH can be read.
""",
)


@click.command("transactions", cls=ReportCommand, output=OUTPUT, epilog=_EPILOG)
@paths_argument
@state_option
@at_option
@click.option("--history", metavar="ID", help="Show the records of this transactional id in order.")
@renamed_option(
    "--complete",
    old="--all",
    is_flag=True,
    help="The partitions of __transaction_state at PATH are all of the cluster's.",
)
@release_option
@skip_option
@reading_options
@format_option
@click.pass_context
def transactions_command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    states: tuple[Path, ...],
    at: int | None,
    history: str | None,
    complete: bool,
    release: str | None,
    on_error: str,
    output_format: str,
) -> None:
    """Show transactions in partitions, which of them are open or hang, and transactional ids.

    A PATH is a log directory, a partition, or a segment. Partitions of __transaction_state in the
    same log directory, or at --state, say what happened to what is open.
    """
    with wrong_usage(ImportError):
        provider()
        from kafkaspec.state.transactions import joined, read_transactions
        from kafkaspec.tables.json_values import json_rows
    only_state = at is not None or history is not None
    report = Reporter(ctx, output_format)
    logs = Logs(
        ctx, paths, Topic.TRANSACTION_STATE, on_error, beside=None if only_state else states
    )
    options: dict[str, Any] = {"at": at, "release": release, "on_error": logs.on_error}
    logs.compacted(Topic.TRANSACTION_STATE, at)
    if history is not None:
        show_history(logs, Topic.TRANSACTION_STATE, history, options, report)
    found = []
    for log in logs.of(Topic.TRANSACTION_STATE):
        with logs.reading(log):
            found.append(read_transactions(log, **options))
            logs.left_out(log, found[-1])
    ids = joined(found)
    id_rows = json_rows(ids)
    if report.as_json:
        for row in id_rows:
            report.line("transactional_id", row)
    elif id_rows:
        _print_ids(id_rows)
    opened = _show_partitions(logs, ids, complete, report) if at is None else 0
    from kafkaspec.forensics.transactions import ONGOING

    ongoing = sum(row["state"] == ONGOING for row in id_rows)
    text = f"{ongoing:,} {ONGOING}" if at is not None else count_text(opened, "open transaction")
    text = f"{count_text(len(id_rows), 'transactional id')}, {text}"
    report.finish(logs, text, transactional_ids=len(id_rows), open=opened)


class _Place(NamedTuple):
    """Topic and partition of a log."""

    topic: str | None
    partition: int | None


def _show_partitions(logs: Logs, ids: Any, complete: bool, report: Reporter) -> int:
    """Show the transactions of each partition; return the number of open ones."""
    from kafkaspec.forensics.timeline import read_timeline
    from kafkaspec.forensics.transactions import SAME_TIME, TransactionVerdict, by_producer, judged

    known = by_producer(ids)
    open_rows: list[dict[str, Any]] = []
    shown: list[tuple[_Place, Timeline]] = []
    for log in logs.given:
        place = _Place(**place_of(log))
        try:
            timeline = read_timeline(log)
        except KafkaSpecError as error:
            logs.cannot_read(error)
            continue
        logs.read += 1
        logs.report_missing(log, ends_only=True)
        logs.undecoded(timeline.unread)
        opened = [
            judged(place, each, known, complete=complete) for each in timeline.open_transactions
        ]
        open_rows += opened
        if any(row["verdict"] == TransactionVerdict.HANGING for row in opened):
            logs.found()
        for finding in timeline.index:
            logs.found(None if report.as_json else f"{finding.file}: {finding.message}")
        if not report.as_json:
            if len(timeline.transactions):
                shown.append((place, timeline))
            continue
        for batch in timeline.transactions.to_batches(max_chunksize=_AT_ONCE):
            for row in batch.to_pylist():
                report.line("transaction", place, row, _named(row, known))
        report.line(
            "partition",
            place,
            log_start_offset=timeline.log_start_offset,
            log_end_offset=timeline.log_end_offset,
            last_stable_offset=timeline.last_stable_offset,
            transactions=len(timeline.transactions),
            **timeline.outcomes,
            index_entries=timeline.index_entries,
            assumptions=[*timeline.assumptions, *([SAME_TIME] if opened and known else [])],
        )
        for finding in timeline.index:
            report.line("finding", place, finding)
        for row in opened:
            report.line("open", row)
    if shown:
        _print_partitions(shown)
        if len(shown) == 1:
            _print_transactions(shown[0][1], known)
    if not report.as_json and open_rows:
        _print_open(open_rows)
    return len(open_rows)


def _named(row: Mapping[str, Any], known: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    found = known.get(row["producer_id"])
    return {"transactional_id": found and found["transactional_id"]}


def _print_partitions(shown: list[tuple[_Place, Timeline]]) -> None:
    from kafkaspec.forensics.timeline import Outcome

    rare = Outcome.UNKNOWN
    several = any(timeline.outcomes[rare] for _, timeline in shown)
    columns = tuple(each for each in Outcome if several or each is not rare)
    names = (f">{name}" for name in ("transactions", *columns))
    table = new_table("partition", *names, ">stable to", ">end")
    for place, timeline in shown[:_MOST_ROWS]:
        table.add_row(
            f"{place.topic}-{place.partition}" if place.topic else "-",
            f"{len(timeline.transactions):,}",
            *(f"{timeline.outcomes[name]:,}" for name in columns),
            str(timeline.last_stable_offset),
            str(timeline.log_end_offset),
        )
    console = stdout_console()
    console.print(table)
    if len(shown) > _MOST_ROWS:
        say(f"... and {len(shown) - _MOST_ROWS:,} more partitions")


def _print_transactions(timeline: Timeline, known: Mapping[int, Mapping[str, Any]]) -> None:
    table = new_table(
        ">first offset", ">last", ">marker", "outcome", ">producer", ">epoch", ">records",
        "began", ">ms", "transactional id",
    )  # fmt: skip
    for row in timeline.transactions.slice(0, _MOST_ROWS).to_pylist():
        epochs = {row["producer_epoch"], row["marker_epoch"]} - {None}
        table.add_row(
            *("-" if row[name] is None else str(row[name]) for name in (
                "first_offset", "last_offset", "marker")),
            row["outcome"],
            str(row["producer_id"]),
            "-".join(map(str, sorted(epochs))),
            f"{row['records']:,}",
            iso(row["first_timestamp"]),
            "-" if row["duration_ms"] is None else str(row["duration_ms"]),
            _named(row, known)["transactional_id"] or "-",
        )  # fmt: skip
    console = stdout_console()
    console.print(table)
    left = len(timeline.transactions) - _MOST_ROWS
    if left > 0:
        say(f"... and {left:,} more; --format json has all")


def _print_ids(rows: list[dict[str, Any]]) -> None:
    left = len(rows) - _MOST_ROWS
    table = new_table("transactional id", "state", ">producer", ">epoch", "updated", "partitions")
    for row in rows[:_MOST_ROWS]:
        table.add_row(
            row["transactional_id"],
            row["state"],
            str(row["producer_id"]),
            str(row["producer_epoch"]),
            iso(row["update_timestamp"]),
            " ".join(_partitions(row)),
        )
    console = stdout_console()
    console.print(table)
    if left > 0:
        say(f"... and {left:,} more; --format json has all")


_VERDICTS: Final = {
    "open": "goes on", "ending": "marker on the way", "hanging": "hangs", "unknown": "not known",
}  # fmt: skip


def _print_open(rows: list[dict[str, Any]]) -> None:
    table = new_table(
        "open in", ">producer", ">epoch", ">since offset", "last record", "transactional id",
        "coordinator", "verdict", "proof",
    )  # fmt: skip
    from kafkaspec.forensics.transactions import TransactionVerdict

    hanging_first = sorted(rows, key=lambda row: row["verdict"] != TransactionVerdict.HANGING)
    for row in hanging_first[:_MOST_ROWS]:
        table.add_row(
            f"{row['topic']}-{row['partition']}",
            str(row["producer_id"]),
            str(row["producer_epoch"]),
            str(row["first_offset"]),
            iso(row["last_timestamp"]),
            row["transactional_id"] or "-",
            row["state"] or "-",
            _VERDICTS[row["verdict"]],
            row["strength"],
        )
    console = stdout_console()
    console.print(table)
    if len(rows) > _MOST_ROWS:
        say(f"... and {len(rows) - _MOST_ROWS:,} more open; --format json has all")


def _partitions(row: Mapping[str, Any]) -> Iterator[str]:
    for item in row["partitions"]:
        yield f"{item['topic']}:{','.join(map(str, item['partition_ids']))}"
