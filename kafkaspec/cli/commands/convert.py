"""``kafkaspec convert``: rewrite logs in another magic, compression, offsets or segments."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import click
from rich.text import Text

from kafkaspec.analysis.files import segment_bytes as bytes_of
from kafkaspec.broker.settings import SEGMENT_BYTES
from kafkaspec.cli import options
from kafkaspec.cli.checkpoints import CHECKPOINT, report_carried
from kafkaspec.cli.command import command, option
from kafkaspec.cli.console import TableColumn, count_text, progress_bar, styled
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.report import Output, Reporter, Tally, line
from kafkaspec.cli.rules import profile_option
from kafkaspec.compression import NAMES
from kafkaspec.conversion.losses import Count, Loss
from kafkaspec.conversion.report import ConversionReport as ConversionReport
from kafkaspec.conversion.report import PartitionResult
from kafkaspec.conversion.running import convert
from kafkaspec.layout.kinds import MAGICS
from kafkaspec.log.damage import ALWAYS_RAISED
from kafkaspec.shown import size_text

_SUMS = (
    "segments", "written_segments", "size", "written_size", "batches", "records_compared",
    "differences", "damaged", "lost",
)  # fmt: skip
_Lost = dict[Loss, dict[str, Any]]
"""Batches and records by kind of loss, and of other fields by name."""

OUTPUT = Output(
    partition=line(PartitionResult, losses=_Lost, findings=list[dict[str, Any]]),
    checkpoint=CHECKPOINT,
    summary={
        "clean": bool,
        "verified": bool,
        "partitions": int,
        "left_out": list[dict[str, str]],
        "failed": list[dict[str, Any]],
        **dict.fromkeys(_SUMS, int),
        "losses": _Lost,
    },
)
_EPILOG = f"""
Data that old formats cannot hold is counted by kind and shown: headers,
timestamps (magic 0), timestamp types, producers, transactions, leader epochs,
delete horizons, control records, empty batches, and any other field by name.
Records of aborted transactions stay, as in a broker's down-conversion, and
every consumer of magic 0 or 1 sees them; --aborted drop leaves them out.
Records below the log start offset were deleted and are left out; --log-start
ignore keeps them. A range of times applies to data; control records stay, since
transactions would have no end without them. --isolation read_committed implies
--aborted drop.

Indexes, snapshots and checkpoints of partitions are rebuilt by the rules of
the profile; a topic id is kept. Of a log directory, the checkpoints that hold are
written with the new offsets. Its other files, KRaft snapshots and partitions that
are being deleted or moved are not converted.
An error of one partition of a log directory stays with it: it is named, and the
others are in OUT. With --on-error skip, what can be read of it is in OUT too.
OUT appears as a whole at the end, or not at all.

{options.MISSING_EPILOG.rstrip()}

Exit codes: 0 all was converted and verified, 1 something is missing, cannot be
read, was left out as damaged, or the result is not right, 2 wrong usage, or
nothing can be read, or OUT cannot be written: there is no OUT.
"""


_CHOICES: Final = {
    "magic": options.library_option(
        "magic",
        type=click.Choice([*map(str, MAGICS)]),
        callback=lambda _, __, value: value and int(value),
    ),
    "compression": options.library_option("compression", type=click.Choice(NAMES)),
    "level": options.library_option("level"),
    "profile": profile_option(),
    "offsets": options.library_option("offsets", default="keep"),
    "base_offset": options.library_option("base_offset", default=0, show_default=False),
    "leader_epoch": options.library_option("leader_epoch"),
    "segment_bytes": options.library_option(
        "segment_bytes", default=SEGMENT_BYTES, show_default=size_text(SEGMENT_BYTES)
    ),
    "batch_bytes": options.library_option("batch_bytes"),
    "aborted": options.library_option("aborted", default="keep"),
}


@command(OUTPUT, _EPILOG, shared=(options.no_mmap_option,))
def convert_command(
    report: Reporter,
    *,
    path: options.OnePath,
    output: Annotated[
        Path, options.output_option("New directory for the partition, or for all partitions.")
    ],
    choices: Annotated[dict[str, Any], options.packed("choices", _CHOICES)],
    selection: Annotated[dict[str, Any], options.selection_options(on_error="raise")],
    max_output: options.MaxOutput,
    no_check: bool = option("Do not read the result back."),
    codec: options.Codec,
    jobs: options.Jobs,
) -> None:
    """Rewrite the logs under PATH into OUT, and check the result against PATH.

    PATH is a segment (.log, .kafka), a partition directory or a whole log directory. Without
    options, records, offsets and batches stay as they are, and segments are merged up to
    --segment-bytes. Segments of Kafka 0.7 need --magic. Nothing under PATH is changed.
    """
    size = bytes_of(path) if path.exists() else 0
    bar = progress_bar("convert", size if no_check else 2 * size)
    with bar as advance, options.wrong_usage(ValueError):
        result = convert(
            path,
            output,
            codec=codec,
            check=not no_check,
            jobs=jobs,
            progress=lambda name, done: advance(done, name),
            **choices,
            max_output=max_output,
            **selection,
        )
    for each in result.partitions:
        report.line("partition", each.as_dict())
    if result.partitions:
        report.table(_COLUMNS, result.partitions, lambda each: not each.clean, last=_rest)
    _say_losses(report, result)
    for place, why in result.left_out:
        report.say(f"note: {place}: {why}")
    for each in result.partitions:
        _say_troubles(report, each)
    report_carried(result.checkpoints, report)
    for name, error in result.failed.items():
        report.say(f"not converted: {error.at(name)}")
    report.say(_last_line(result))
    if any(error.reason not in ALWAYS_RAISED for error in result.failed.values()):
        report.say("next: --on-error skip converts the rest of a damaged partition")
    tally = Tally(
        CLEAN if result.clean else FINDINGS,
        logs=len(result.partitions),
        unreadable=len(result.failed) + sum(len(each.unread) for each in result.partitions),
        undecoded=sum(each.damaged for each in result.partitions),
        missing=sum(each.lost for each in result.partitions),
    )
    report.finish(tally, **result.as_dict())


_TEXTS: Final = {
    Loss.HEADERS: "headers lost: the format has none",
    Loss.TIMESTAMPS: "timestamps lost: the format has none",
    Loss.TIMESTAMP_TYPES: "timestamp type changed: the format cannot say LogAppendTime there",
    Loss.PRODUCERS: "producer id, epoch and sequence lost: the format has none",
    Loss.SEQUENCES: "sequence numbers changed with their offsets",
    Loss.TRANSACTIONS: "of a transaction, which the format does not show",
    Loss.LEADER_EPOCHS: "leader epoch lost: the format has none",
    Loss.DELETE_HORIZONS: "delete horizon lost: the format has none",
    Loss.CONTROL_RECORDS: "control records left out: the format has none",
    Loss.EMPTY_BATCHES: "emptied batches left out: the format cannot hold them",
    Loss.ABORTED_KEPT: "of aborted transactions kept: every consumer will see them",
    Loss.ABORTED_DROPPED: "of aborted transactions left out",
    Loss.OPEN_KEPT: "of transactions without an end kept: every consumer will see them",
    Loss.DELETED: "below the log start offset left out: they were deleted",
    Loss.OUT_OF_RANGE: "outside the wanted offsets and times left out",
    Loss.DAMAGED: "damaged and left out",
    Loss.UNUSED_BYTES: "bytes after the value, which nobody reads, left out",
}
_FIELD: Final = "{} lost: the format has no place for it"
_COLUMNS: Final[dict[str, TableColumn]] = {
    "partition": lambda each: os.path.basename(os.path.abspath(each.source)),
    ">segments": lambda each: f"{each.segments} -> {each.written_segments}",
    ">batches": lambda each: f"{each.taken:,} of {each.batches:,}",
    ">records": lambda each: each.comparison and f"{each.comparison.records:,}",
    ">size": lambda each: f"{size_text(each.size)} -> {size_text(each.written_size)}",
    "result": lambda each: styled(_state([each])),
}


def _rest(results: Sequence[PartitionResult]) -> tuple[str | Text, ...]:
    """Return the last row of the table, which counts the partitions that are not listed."""
    return f"... {len(results):,} more", "", "", "", "", styled(_state(results))


def _state(results: Sequence[PartitionResult]) -> tuple[str, str]:
    """Return the verdict, with the number of what is not in the output, and its style."""
    if not all(item.verified for item in results):
        return "not right", "bold red"
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
        return ", ".join(troubles), "red"
    checked = all(item.comparison is not None for item in results)
    state = "verified" if checked else "not checked"
    left = [item.losses.left_out for item in results]
    records, batches = sum(one.records for one in left), sum(one.batches for one in left)
    if records or batches:
        state += f", left out: {count_text(records, 'record')}, "
        state += count_text(batches, "whole batch", "whole batches")
    return state, "green" if checked else "yellow"


def _say_losses(report: Reporter, result: ConversionReport) -> None:
    losses = result.losses
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
            report.say(f"{batches}{records}: {text} [{kind}]")


def _say_troubles(report: Reporter, result: PartitionResult) -> None:
    for item in result.missing:
        report.say(f"{'missing' if item.is_loss else 'note'}: {item}")
    for what, damages in (("left out", result.damages), ("not read", result.unread)):
        for damage in damages:
            place = "" if damage.position is None else f" at byte {damage.position}"
            report.say(f"{what}: {damage.file}{place}: {damage.message} [{damage.reason}]")
    if result.damaged > len(result.damages):
        more = result.damaged - len(result.damages)
        report.say(f"left out: {count_text(more, 'batch', 'batches')} more in {result.source}")
    for finding in result.findings:
        place = "" if finding.position is None else f" at byte {finding.position}"
        report.say(f"{finding.severity} {finding.file}{place}: {finding.message}")
    compared = result.comparison
    if compared is not None and compared.differences:
        for example in compared.examples:
            report.say(f"not the same in {result.target}: {example}")
        more = compared.differences - len(compared.examples)
        if more:
            report.say(f"... and {count_text(more, 'difference')} more")


def _last_line(result: ConversionReport) -> str:
    total = result.as_dict()
    state, _ = _state(result.partitions)
    if result.failed:
        state = f"{count_text(len(result.failed), 'partition')} not converted; others {state}"
    parts = [
        count_text(total["partitions"], "partition"),
        count_text(total["segments"], "segment") + f" to {total['written_segments']:,}",
        f"{count_text(total['records_compared'], 'record')} compared",
        f"{size_text(total['size'])} to {size_text(total['written_size'])}",
    ]
    return f"{state}: {', '.join(parts)}"
