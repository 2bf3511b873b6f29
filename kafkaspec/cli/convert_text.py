"""Show the result of ``convert`` as text: a table, losses, problems and sums."""

from __future__ import annotations

import os

from rich.console import Console
from rich.text import Text

from kafkaspec.cli.console import count_text, new_table, size_text
from kafkaspec.conversion.losses import Count, Loss
from kafkaspec.conversion.report import ConversionReport, PartitionResult

_TEXTS = {
    Loss.HEADERS: "headers lost: the format has none",
    Loss.TIMESTAMPS: "timestamps lost: the format has none",
    Loss.TIMESTAMP_TYPES: "timestamp type changed: the format cannot say LogAppendTime there",
    Loss.PRODUCERS: "producer id, epoch and sequence lost: the format has none",
    Loss.SEQUENCES: "sequence numbers changed with their offsets",
    Loss.TRANSACTIONS: "of a transaction, which the format does not show",
    Loss.LEADER_EPOCHS: "leader epoch lost: the format has none",
    Loss.DELETE_HORIZONS: "delete horizon lost: the format has none",
    Loss.CONTROL_RECORDS: "control records left out: the format has none",
    Loss.EMPTY_BATCHES: "emptied batches left out: there is no place for them",
    Loss.ABORTED_KEPT: "of aborted transactions kept: every consumer will see them",
    Loss.ABORTED_DROPPED: "of aborted transactions left out",
    Loss.OPEN_KEPT: "of transactions without an end kept: every consumer will see them",
    Loss.DELETED: "below the log start offset left out: they were deleted",
    Loss.OUT_OF_RANGE: "outside the wanted offsets left out",
    Loss.DAMAGED: "damaged and left out",
    Loss.UNUSED_BYTES: "bytes after the value, which nobody reads, left out",
}
_FIELD = "{} lost: the format has no place for it"


def print_conversion(report: ConversionReport, console: Console) -> None:
    """Print the table, losses, damages, differences and sums."""
    if report.partitions:
        console.print(_table(report.partitions))
    _print_losses(report, console)
    for path, why in report.left_out:
        console.print(f"not converted: {path}: {why}")
    for result in report.partitions:
        _print_troubles(result, console)
    console.print(_last_line(report))


def _table(results: list[PartitionResult]) -> object:
    table = new_table("partition", ">segments", ">batches", ">records", ">size", "result")
    for result in results:
        compared = result.comparison
        table.add_row(
            Text(os.path.basename(os.path.abspath(result.source))),
            f"{result.segments} -> {result.written_segments}",
            f"{result.taken:,} of {result.batches:,}",
            "-" if compared is None else f"{compared.records:,}",
            f"{size_text(result.size)} -> {size_text(result.written_size)}",
            _state(result.verified, result.damaged, compared is not None),
        )
    return table


def _state(verified: bool, damaged: int, checked: bool) -> Text:
    if not verified:
        return Text("not right", style="bold red")
    if damaged:
        return Text(count_text(damaged, "batch", "batches") + " left out", style="red")
    return Text("verified", style="green") if checked else Text("not checked", style="yellow")


def _print_losses(report: ConversionReport, console: Console) -> None:
    losses = report.losses
    shown: list[tuple[Count, str, Loss]] = [
        (losses[kind], _TEXTS[kind], kind) for kind in Loss if kind is not Loss.FIELDS
    ]
    shown += [
        (count, _FIELD.format(name), Loss.FIELDS) for name, count in sorted(losses.fields.items())
    ]
    for count, text, kind in shown:
        if count.batches or count.records:
            batches = count_text(count.batches, "batch", "batches")
            records = f", {count_text(count.records, 'record')}" if count.records else ""
            console.print(f"{batches}{records}: {text} [{kind}]")


def _print_troubles(result: PartitionResult, console: Console) -> None:
    for tail in result.tails:
        console.print(
            f"{tail.file} at byte {tail.position}: {count_text(tail.size, 'byte')} at the end are "
            f"no batch ({tail.reason}) and were left out"
        )
    for damage in result.damages:
        place = "" if damage.position is None else f" at byte {damage.position}"
        console.print(f"left out: {damage.file}{place}: {damage.message} [{damage.reason}]")
    if result.damaged > len(result.damages):
        more = result.damaged - len(result.damages)
        console.print(f"left out: {count_text(more, 'batch', 'batches')} more in {result.source}")
    for finding in result.findings:
        place = "" if finding.position is None else f" at byte {finding.position}"
        console.print(f"{finding.severity} {finding.file}{place}: {finding.message}")
    compared = result.comparison
    if compared is not None and compared.differences:
        for example in compared.examples:
            console.print(f"not the same in {result.target}: {example}")
        more = compared.differences - len(compared.examples)
        if more:
            console.print(f"... and {count_text(more, 'difference')} more")


def _last_line(report: ConversionReport) -> str:
    total = report.as_dict()
    checked = all(item.comparison is not None for item in report.partitions)
    state = _state(total["verified"], total["damaged"], checked).plain
    parts = [
        count_text(total["partitions"], "partition"),
        count_text(total["segments"], "segment") + f" to {total['written_segments']:,}",
        f"{count_text(total['records_compared'], 'record')} compared",
        f"{size_text(total['size'])} to {size_text(total['written_size'])}",
    ]
    return f"{state}: {', '.join(parts)}"
