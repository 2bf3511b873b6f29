"""``kafkaspec producers``: sequence numbers of producers, repeats, gaps, epochs and snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from kafkaspec.broker.profiles import PRODUCER_EXPIRATION_MS
from kafkaspec.cli.command import command, option
from kafkaspec.cli.console import MORE, TableColumn, count_text
from kafkaspec.cli.inputs import Inputs, place_of, place_text
from kafkaspec.cli.options import Codec, PathsOrUrls, TopicName, wrong_usage
from kafkaspec.cli.report import LinePlace, Output, Reporter, line
from kafkaspec.provider import require_pyarrow
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
        LinePlace,
        producers=int,
        runs=int,
        breaks=int,
        snapshots=int,
        foreign=dict[str, int],
        assumptions=list[Assumption],
    ),
    summary={"producers": int, "breaks": int},
)
_EPILOG = """
A duplicate is proved by records that are equal to those with the same sequence
numbers before. Breaks that are legal, such as after compaction, are shown and do
not count.

Example: were records written twice?
  kafkaspec producers /var/kafka-logs/orders-0

Exit codes: 0 nothing found, 1 a break that is not legal, a producer id below -1
("foreign" has them), or something that cannot be read, 2 wrong usage, or nothing
in a PATH can be read.
"""


@command(OUTPUT, _EPILOG)
def producers_command(
    report: Reporter,
    *,
    paths: PathsOrUrls,
    topic: TopicName,
    codec: Codec,
    expiration: int = option(
        "producer.id.expiration.ms of the brokers: when they forget a producer.",
        type=click.IntRange(min=1),
        default=PRODUCER_EXPIRATION_MS,
        metavar="MS",
    ),
) -> None:
    """Show what producers wrote, by their sequence numbers: runs, duplicates, gaps, epochs.

    A PATH is a log directory, a partition, or a segment. Producer snapshots are compared with the
    log before them.
    """
    with wrong_usage(ImportError):
        require_pyarrow()
        from kafkaspec.forensics.producers import by_producer, read_producers
    inputs = Inputs(paths, codec, topic=topic)
    producers = breaks = 0
    for log, result in inputs.results(lambda log: read_producers(log, expiration_ms=expiration)):
        place = place_of(log)
        rows = list(by_producer(result))
        inputs.findings += sum(item.legal is not True for item in result.breaks)
        producers, breaks = producers + len(rows), breaks + len(result.breaks)
        report.rows("run", result.runs, place)
        for item in result.breaks:
            report.line("break", place, item)
        for producer in rows:
            report.line("producer", place, producer)
        for number, count in sorted(result.foreign.items()):
            text = f"{count_text(count, 'batch', 'batches')} of producer {number}"
            inputs.found(f"{place_text(place)}: {text}, which brokers take for none")
        report.line("partition", place, result, producers=len(rows))
        if rows or result.breaks:
            _print(report, place_text(place), result, rows)
    text = f"{count_text(producers, 'producer')}, {count_text(breaks, 'break')}"
    report.finish(inputs, text, producers=producers, breaks=breaks)


def _print(report: Reporter, name: str, result: Producers, rows: Sequence[Producer]) -> None:
    columns: dict[str, TableColumn] = {
        f"producer in {name}": "producer_id",
        ">epochs": lambda row: "-".join(map(str, sorted({row["first_epoch"], row["last_epoch"]}))),
        ">batches": "batches:,",
        ">records": "records:,",
        ">runs": "runs:,",
        ">last sequence": "last_sequence",
        ">last offset": "last_offset",
        "last record": "last_timestamp:iso",
    }
    broken = {item.producer_id for item in result.breaks}
    report.table(columns, rows, lambda row: row["producer_id"] in broken, more=MORE)
    ranked = sorted(result.breaks, key=lambda item: item.legal is True)
    for item in ranked[:_MOST_ROWS]:
        report.say(_break_text(item))
    if len(ranked) > _MOST_ROWS:
        report.say(f"... and {len(ranked) - _MOST_ROWS:,} more breaks; --format json has all")
    if result.breaks:
        report.assume(result.assumptions)


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
