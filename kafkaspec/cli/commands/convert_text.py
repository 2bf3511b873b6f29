"""Show the result of ``convert`` as text: a table, losses, problems and sums."""

from __future__ import annotations

import os

from rich.console import Console
from rich.text import Text

from kafkaspec.cli.checkpoints import show_carried
from kafkaspec.cli.console import count_text, limited, new_table, size_text
from kafkaspec.conversion.losses import Count, Loss
from kafkaspec.conversion.report import ConversionReport, PartitionResult
from kafkaspec.log.damage import ALWAYS_RAISED

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
    Loss.OUT_OF_RANGE: "outside the wanted offsets and times left out",
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
        console.print(f"note: {path}: {why}")
    for result in report.partitions:
        _print_troubles(result, console)
    show_carried(report.checkpoints)
    for path, error in report.failed.items():
        console.print(f"not converted: {error.at(path)}")
    console.print(_last_line(report))
    if any(error.reason not in ALWAYS_RAISED for error in report.failed.values()):
        console.print("next: --on-error skip converts the rest of a damaged partition")


def _table(results: list[PartitionResult]) -> object:
    table = new_table("partition", ">segments", ">batches", ">records", ">size", "result")
    shown, rest = limited(results, lambda result: not result.clean)
    for result in shown:
        compared = result.comparison
        table.add_row(
            Text(os.path.basename(os.path.abspath(result.source))),
            f"{result.segments} -> {result.written_segments}",
            f"{result.taken:,} of {result.batches:,}",
            "-" if compared is None else f"{compared.records:,}",
            f"{size_text(result.size)} -> {size_text(result.written_size)}",
            _state([result]),
        )
    if rest:
        table.add_row(f"... {len(rest):,} more", "", "", "", "", _state(rest))
    return table


def _state(results: list[PartitionResult]) -> Text:
    """Return the verdict, with the number of what is not in the output."""
    if not all(item.verified for item in results):
        return Text("not right", style="bold red")
    troubles = []
    if damaged := sum(item.damaged for item in results):
        troubles.append(count_text(damaged, "batch", "batches") + " left out")
    if unread := sum(len(item.unread) for item in results):
        troubles.append(count_text(unread, "file") + " not read")
    if offsets := sum(item.missing_offsets for item in results):
        troubles.append(count_text(offsets, "offset") + " missing")
    elif lost := sum(item.lost for item in results):
        troubles.append("data missing in " + count_text(lost, "place"))
    if troubles:
        return Text(", ".join(troubles), style="red")
    checked = all(item.comparison is not None for item in results)
    state = "verified" if checked else "not checked"
    left = [item.losses.left_out for item in results]
    records, batches = sum(one.records for one in left), sum(one.batches for one in left)
    if records or batches:
        state += f", left out: {count_text(records, 'record')}, "
        state += count_text(batches, "whole batch", "whole batches")
    return Text(state, style="green" if checked else "yellow")


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
    for item in result.missing:
        console.print(f"{'missing' if item.is_loss else 'note'}: {item}")
    for what, damages in (("left out", result.damages), ("not read", result.unread)):
        for damage in damages:
            place = "" if damage.position is None else f" at byte {damage.position}"
            console.print(f"{what}: {damage.file}{place}: {damage.message} [{damage.reason}]")
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
    state = _state(report.partitions).plain
    if report.failed:
        state = f"{count_text(len(report.failed), 'partition')} not converted; others {state}"
    parts = [
        count_text(total["partitions"], "partition"),
        count_text(total["segments"], "segment") + f" to {total['written_segments']:,}",
        f"{count_text(total['records_compared'], 'record')} compared",
        f"{size_text(total['size'])} to {size_text(total['written_size'])}",
    ]
    return f"{state}: {', '.join(parts)}"
