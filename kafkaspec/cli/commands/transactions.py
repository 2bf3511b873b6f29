"""``kafkaspec transactions``: transactions in partitions, and what their coordinators knew."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.cli.command import command
from kafkaspec.cli.console import MORE, TableColumn, count_text
from kafkaspec.cli.inputs import place_of, place_text
from kafkaspec.cli.internal import (
    EVENT,
    LEFT_OUT,
    LEFT_OUT_EPILOG,
    At,
    Logs,
    ReleaseText,
    Skip,
    complete_option,
    history_option,
    show_history,
)
from kafkaspec.cli.options import PathsOrUrls, States, TopicName, wrong_usage
from kafkaspec.cli.report import LinePlace, Output, Reporter, line, rows_of
from kafkaspec.errors import KafkaSpecError
from kafkaspec.provider import require_pyarrow
from kafkaspec.results import Assumption, Strength
from kafkaspec.shown import clocks_text

if TYPE_CHECKING:
    from kafkaspec.forensics.timeline import Timeline

_MOST_ROWS: Final = 50
"""Transactions that are shown in text; JSON has all."""
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
    **LEFT_OUT,
    summary={"transactional_ids": int | None, "open": int | None},
)
_EPILOG = f"""
"event" lines are those of --history; hanging is null where no coordinator's
partition was there to ask, or not all of them.

A transaction hangs when its coordinator knows that it has ended, or does not
know it: no marker will come, and consumers with read_committed wait for it. A log
directory with all partitions of __transaction_state proves it (--complete).

Example: what holds back consumers of one partition, without its coordinator
  kafkaspec transactions /var/kafka-logs/orders-0

{LEFT_OUT_EPILOG}

Exit codes: 0 nothing hangs, 1 something hangs, an index contradicts its log,
something could not be read or decoded, or an ID is not there, 2 wrong usage, or
nothing in a PATH can be read.
"""


@command(OUTPUT, _EPILOG)
def transactions_command(
    ctx: click.Context,
    report: Reporter,
    *,
    paths: PathsOrUrls,
    topic: TopicName,
    states: States,
    at: At,
    history: str | None = history_option("transactional id", "ID"),
    complete: bool = complete_option(
        "The partitions of __transaction_state at PATH are all of the cluster's."
    ),
    release: ReleaseText,
    on_error: Skip,
) -> None:
    """Show transactions in partitions, which of them are open or hang, and transactional ids.

    A PATH is a log directory, a partition, or a segment. Partitions of __transaction_state in the
    same log directory, or at --state, give the outcome of those that are open.
    """
    with wrong_usage(ImportError):
        require_pyarrow()
        from kafkaspec.state.transactions import joined, read_transactions
        from kafkaspec.tables.json_values import json_rows
    only_state = at is not None or history is not None
    logs = Logs(
        ctx, paths, Topic.TRANSACTION_STATE, on_error, report,
        beside=None if only_state else states, at=at, release=release,
    )  # fmt: skip
    logs.compacted(Topic.TRANSACTION_STATE)
    if history is not None:
        show_history(logs, Topic.TRANSACTION_STATE, history, report)
    known = logs.states(Topic.TRANSACTION_STATE, read_transactions)
    ids = joined([found for _, found in known])
    id_rows = json_rows(ids)
    for row in id_rows:
        report.line("transactional_id", row)
    if id_rows:
        report.table(_IDS, id_rows, most=_MOST_ROWS, more=MORE)
    opened = _show_partitions(logs, ids, topic, complete, report) if at is None else 0
    from kafkaspec.forensics.transactions import ONGOING

    ongoing = sum(row["state"] == ONGOING for row in id_rows)
    text = f"{ongoing:,} {ONGOING}" if at is not None else count_text(opened, "open transaction")
    text = f"{count_text(len(id_rows), 'transactional id')}, {text}"
    report.finish(logs, text, transactional_ids=len(id_rows), open=opened)


_IDS: Final[dict[str, TableColumn]] = {
    "transactional id": "transactional_id",
    "state": "state",
    ">producer": "producer_id",
    ">epoch": "producer_epoch",
    "updated": "update_timestamp:iso",
    "partitions": lambda row: " ".join(
        f"{item['topic']}:{','.join(map(str, item['partition_ids']))}" for item in row["partitions"]
    ),
}
_TRANSACTIONS: Final[dict[str, TableColumn]] = {
    ">first offset": "first_offset",
    ">last": "last_offset",
    ">marker": "marker",
    "outcome": "outcome",
    ">producer": "producer_id",
    ">epoch": lambda row: "-".join(
        map(str, sorted({row["producer_epoch"], row["marker_epoch"]} - {None}))
    ),
    ">records": "records:,",
    "began": "first_timestamp:iso",
    ">lasted": lambda row: None if row["duration_ms"] is None else clocks_text(row["duration_ms"]),
}
_CLOCKS: Final = (
    "lasted: from the first record's timestamp, of the producer's clock unless the topic has "
    "LogAppendTime, to the marker's, of the broker's clock"
)
_VERDICTS: Final = {
    "open": "goes on", "ending": "marker on the way", "hanging": "hangs", "unknown": "not known",
}  # fmt: skip
_OPEN: Final[dict[str, TableColumn]] = {
    "open in": lambda row: f"{row['topic']}-{row['partition']}",
    ">producer": "producer_id",
    ">epoch": "producer_epoch",
    ">since offset": "first_offset",
    "last record": "last_timestamp:iso",
    "transactional id": lambda row: row["transactional_id"] or None,
    "coordinator": lambda row: row["state"] or None,
    "verdict": lambda row: _VERDICTS[row["verdict"]],
    "proof": "strength",
}


class _Placed(NamedTuple):
    """Topic and partition of a log."""

    topic: str | None
    partition: int | None


def _show_partitions(
    logs: Logs, ids: Any, topic: str | None, complete: bool, report: Reporter
) -> int:
    """Show the transactions of each partition; return the number of open ones."""
    from kafkaspec.forensics.timeline import Outcome, read_timeline
    from kafkaspec.forensics.transactions import SAME_TIME, TransactionVerdict, by_producer, judged

    known = by_producer([] if ids is None else ids.to_pylist())

    def name_of(row: Mapping[str, Any]) -> str | None:
        found = known.get(row["producer_id"])
        return None if found is None else found["transactional_id"]

    open_rows: list[dict[str, Any]] = []
    shown: list[tuple[str, Timeline]] = []
    for log in logs.wanted(topic):
        place = place_of(log)
        try:
            timeline = read_timeline(log)
        except KafkaSpecError as error:
            logs.cannot_read(error)
            continue
        logs.read += 1
        logs.report_missing(log, ends_only=True)
        logs.undecoded(timeline.unread)
        opened = [
            judged(_Placed(**place), each, known, complete=complete)
            for each in timeline.open_transactions
        ]
        open_rows += opened
        if any(row["verdict"] == TransactionVerdict.HANGING for row in opened):
            logs.found()
        for finding in timeline.index:
            logs.found(None if report.as_json else f"{finding.file}: {finding.message}")
        if len(timeline.transactions):
            shown.append((place_text(place), timeline))
        for row in rows_of(timeline.transactions) if report.as_json else ():
            report.line("transaction", place, row, transactional_id=name_of(row))
        same_time = [SAME_TIME] if opened and known else []
        report.line(
            "partition",
            place,
            timeline,
            timeline.outcomes,
            assumptions=[*timeline.assumptions, *same_time],
        )
        for finding in timeline.index:
            report.line("finding", place, finding)
        for row in opened:
            report.line("open", row)
    if shown:
        rare = Outcome.UNKNOWN
        several = any(timeline.outcomes[rare] for _, timeline in shown)
        columns: dict[str, TableColumn] = {
            "partition": lambda item: item[0],
            ">transactions": lambda item: f"{len(item[1].transactions):,}",
        }
        for outcome in Outcome:
            if several or outcome is not rare:
                columns[f">{outcome}"] = partial(_number, outcome)
        columns[">stable to"] = lambda item: item[1].last_stable_offset
        columns[">end"] = lambda item: item[1].log_end_offset
        report.table(columns, shown, most=_MOST_ROWS, more="... and {:,} more partitions")
    if len(shown) == 1:
        timeline = shown[0][1]
        rows = timeline.transactions.slice(0, _MOST_ROWS).to_pylist()
        report.table(_TRANSACTIONS | {"transactional id": name_of}, rows)
        if (left := len(timeline.transactions) - _MOST_ROWS) > 0:
            report.say(MORE.format(left))
        if any(row["duration_ms"] is not None for row in rows):
            report.say(_CLOCKS)
    if open_rows:
        open_rows.sort(key=lambda row: row["verdict"] != TransactionVerdict.HANGING)
        more = "... and {:,} more open; --format json has all"
        report.table(_OPEN, open_rows, most=_MOST_ROWS, more=more)
    return len(open_rows)


def _number(outcome: str, item: tuple[str, Timeline]) -> str:
    return f"{item[1].outcomes[outcome]:,}"
