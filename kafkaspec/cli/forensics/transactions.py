"""``kafkaspec transactions``: transactional ids, and transactions that are open or hang."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.arrow import provider
from kafkaspec.cli.console import count_text, new_table, note, print_json, stdout_console
from kafkaspec.cli.internal import Logs, at_option, release_option, show_history, skip_option
from kafkaspec.cli.options import epilog, format_option, iso, paths_argument, wrong_usage
from kafkaspec.errors import KafkaSpecError

_EPILOG = epilog(
    """\
Output of --format json, one object for each line, by "type":
  transactional_id  transactional_id, state, producer_id, producer_epoch,
          previous_producer_id, next_producer_id, timeout_ms, partitions,
          start_timestamp, update_timestamp, log_offset and timestamp of the
          record that says so
  open    topic, partition, producer_id, producer_epoch, first_offset,
          last_timestamp, transactional_id, state, hanging (null: no
          coordinator's partition was there to ask, or not all of them)
  event   with --history: offset, timestamp, name, key, value, transaction
          (committed, aborted, open; null outside of one)
""",
    """\
A transaction hangs when its coordinator knows that it has ended, or does not
know it: no marker will come, and consumers with read_committed wait for it. A log
directory with all partitions of __transaction_state proves it (--all).
""",
    """\
Exit codes: 0 nothing hangs, 1 something hangs, or could not be read or decoded, 2
wrong usage, or nothing of a PATH can be read.
""",
)


@click.command("transactions", epilog=_EPILOG)
@paths_argument
@at_option
@click.option("--history", metavar="ID", help="Show the records of this transactional id in order.")
@click.option(
    "--all",
    "complete",
    is_flag=True,
    help="The partitions of __transaction_state at PATH are all of the cluster's.",
)
@release_option
@skip_option
@format_option
@click.pass_context
def transactions_command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    at: int | None,
    history: str | None,
    complete: bool,
    release: str | None,
    on_error: str,
    output_format: str,
) -> None:
    """Show transactional ids and their state, and transactions that are open in partitions.

    A PATH is a log directory, the directory of a partition of __transaction_state, or a segment of
    one. Data partitions in the same log directory are searched for transactions that no marker has
    ended.
    """
    with wrong_usage(ImportError):
        provider()
        from kafkaspec.forensics.transactions import open_transactions
        from kafkaspec.state.plain import plain
        from kafkaspec.state.transactions import joined, read_transactions
    logs = Logs(ctx, paths, Topic.TRANSACTION_STATE, on_error)
    options: dict[str, Any] = {"at": at, "release": release, "on_error": logs.on_error}
    logs.compacted(Topic.TRANSACTION_STATE, at)
    if history is not None:
        show_history(logs, Topic.TRANSACTION_STATE, history, options, output_format)
        ctx.exit(logs.code)
    found = []
    for log in logs.of(Topic.TRANSACTION_STATE):
        with logs.reading(log):
            found.append(read_transactions(log, **options))
            logs.left_out(log, found[-1])
    ids = joined(found)
    rows = {"transactional_id": plain(ids), "open": []}
    for partition in logs.data if at is None else ():
        try:
            rows["open"] += plain(open_transactions([partition], ids, complete=complete))
        except KafkaSpecError as error:
            logs.found(str(error))
    if any(row["hanging"] for row in rows["open"]):
        logs.found()
    if output_format == "json":
        for kind, table in rows.items():
            for row in table:
                print_json(kind, row)
    else:
        _print(rows)
    ctx.exit(logs.code)


def _print(rows: Mapping[str, list[dict[str, Any]]]) -> None:
    console = stdout_console()
    if rows["transactional_id"]:
        table = new_table(
            "transactional id", "state", ">producer", ">epoch", "updated", "partitions"
        )
        for row in rows["transactional_id"]:
            table.add_row(
                row["transactional_id"],
                row["state"],
                str(row["producer_id"]),
                str(row["producer_epoch"]),
                iso(row["update_timestamp"]),
                " ".join(_partitions(row)),
            )
        console.print(table)
    if rows["open"]:
        table = new_table(
            "open in", ">producer", ">epoch", ">since offset", "last record", "transactional id",
            "coordinator", "verdict",
        )  # fmt: skip
        for row in rows["open"]:
            table.add_row(
                f"{row['topic']}-{row['partition']}",
                str(row["producer_id"]),
                str(row["producer_epoch"]),
                str(row["first_offset"]),
                iso(row["last_timestamp"]),
                row["transactional_id"] or "-",
                row["state"] or "-",
                {True: "hangs", False: "goes on", None: "not known"}[row["hanging"]],
            )
        console.print(table)
    note(
        f"{count_text(len(rows['transactional_id']), 'transactional id')}, "
        f"{count_text(len(rows['open']), 'open transaction')}"
    )


def _partitions(row: Mapping[str, Any]) -> Iterator[str]:
    for item in row["partitions"]:
        yield f"{item['topic']}:{','.join(map(str, item['partition_ids']))}"
