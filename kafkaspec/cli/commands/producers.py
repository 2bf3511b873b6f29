"""``kafkaspec producers``: sequence numbers of producers, repeats, gaps, epochs and snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from kafkaspec.arrow import provider
from kafkaspec.broker.loading import PRODUCER_EXPIRATION_MS
from kafkaspec.cli.console import (
    count_text,
    limited,
    new_table,
    say,
    stdout_console,
)
from kafkaspec.cli.inputs import Inputs, place_of
from kafkaspec.cli.options import (
    epilog,
    format_option,
    iso,
    paths_argument,
    reading_options,
    wrong_usage,
)
from kafkaspec.cli.report import LinePlace, Output, ReportCommand, Reporter, line, say_assumptions
from kafkaspec.errors import KafkaSpecError
from kafkaspec.results import Assumption

if TYPE_CHECKING:
    from kafkaspec.forensics.producers import Break, Producer, Producers

_MOST_ROWS: Final = 50
"""Breaks that are shown in text; JSON has all."""
_RESULTS: Final = "kafkaspec.forensics.producers"

OUTPUT = Output(
    run=line(LinePlace, f"{_RESULTS}.reading:RUNS", follows=f"{_RESULTS}.sequences:Follows"),
    break_=line(LinePlace, f"{_RESULTS}.sequences:Break"),
    producer=line(LinePlace, f"{_RESULTS}.reading:Producer"),
    partition=line(
        LinePlace, producers=int, runs=int, breaks=int, snapshots=int, assumptions=list[Assumption]
    ),
    summary={"producers": int, "breaks": int},
)
_EPILOG = epilog(
    """\
A duplicate is proved by records that are equal to those with the same sequence
numbers before. Breaks that are legal, such as after compaction, are shown and do
not count.
""",
    """\
Example: were records written twice?
  kafkaspec producers /var/kafka-logs/orders-0
""",
    """\
Exit codes: 0 nothing found, 1 a break that is not legal, or something that cannot
be read, 2 wrong usage, or nothing in a PATH can be read.
""",
)


@click.command("producers", cls=ReportCommand, output=OUTPUT, epilog=_EPILOG)
@paths_argument
@click.option(
    "--expiration",
    type=click.IntRange(min=1),
    default=PRODUCER_EXPIRATION_MS,
    show_default=True,
    metavar="MS",
    help="producer.id.expiration.ms of the brokers: when they forget a producer.",
)
@reading_options
@format_option
@click.pass_context
def producers_command(
    ctx: click.Context, paths: tuple[Path, ...], expiration: int, output_format: str
) -> None:
    """Show what producers wrote, by their sequence numbers: runs, duplicates, gaps, epochs.

    A PATH is a log directory, a partition, or a segment. Producer snapshots are compared with the
    log before them.
    """
    with wrong_usage(ImportError):
        provider()
        from kafkaspec.forensics.producers import by_producer, read_producers
    report = Reporter(ctx, output_format)
    found = Inputs(paths)
    producers = breaks = 0
    for _, log in found.whole_logs():
        try:
            result = read_producers(log, expiration_ms=expiration)
        except KafkaSpecError as error:
            found.nothing_read(error)
            continue
        found.undecoded(result.unread)
        place = place_of(log)
        rows = list(by_producer(result))
        found.findings += sum(item.legal is not True for item in result.breaks)
        producers, breaks = producers + len(rows), breaks + len(result.breaks)
        if report.as_json:
            _report(report, place, result, rows)
        elif rows or result.breaks:
            _print_text(place, result, rows)
    text = f"{count_text(producers, 'producer')}, {count_text(breaks, 'break')}"
    report.finish(found, text, producers=producers, breaks=breaks)


def _report(
    report: Reporter, place: LinePlace, result: Producers, rows: Sequence[Producer]
) -> None:
    report.rows("run", result.runs, place)
    for item in result.breaks:
        report.line("break", place, item)
    for producer in rows:
        report.line("producer", place, producer)
    report.line(
        "partition",
        place,
        producers=len(rows),
        runs=len(result.runs),
        breaks=len(result.breaks),
        snapshots=result.snapshots,
        assumptions=result.assumptions,
    )


def _print_text(place: LinePlace, result: Producers, rows: Sequence[Producer]) -> None:
    console = stdout_console()
    name = "-" if place["topic"] is None else f"{place['topic']}-{place['partition']}"
    table = new_table(
        f"producer in {name}", ">epochs", ">batches", ">records", ">runs", ">last sequence",
        ">last offset", "last record",
    )  # fmt: skip
    broken = {item.producer_id for item in result.breaks}
    shown, rest = limited(rows, lambda row: row["producer_id"] in broken)
    for row in shown:
        epochs = sorted({row["first_epoch"], row["last_epoch"]})
        table.add_row(
            str(row["producer_id"]),
            "-".join(map(str, epochs)),
            f"{row['batches']:,}",
            f"{row['records']:,}",
            f"{row['runs']:,}",
            str(row["last_sequence"]),
            str(row["last_offset"]),
            iso(row["last_timestamp"]),
        )
    console.print(table)
    if rest:
        say(f"... and {len(rest):,} more; --format json has all")
    ranked = sorted(result.breaks, key=lambda item: item.legal is True)
    for item in ranked[:_MOST_ROWS]:
        say(_break_text(item))
    if len(ranked) > _MOST_ROWS:
        say(f"... and {len(ranked) - _MOST_ROWS:,} more breaks; --format json has all")
    if result.breaks:
        say_assumptions(result.assumptions)


def _break_text(item: Break) -> str:
    at = "" if item.position is None else f" at byte {item.position}"
    legal = {True: "legal", False: "not legal", None: "legal or not"}[item.legal]
    offsets = (
        "" if item.first_offset < 0
        else f", offset {item.first_offset}" if item.first_offset >= item.last_offset
        else f", offsets {item.first_offset} to {item.last_offset}"
    )  # fmt: skip
    verdict = str(item.verdict).replace("_", " ")
    return f"{item.file}{at}{offsets}: {item.message} [{verdict}, {legal}, {item.strength}]"
