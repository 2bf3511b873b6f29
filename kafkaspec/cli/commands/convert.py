"""``kafkaspec convert``: rewrite logs in another magic, compression, offsets or segments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kafkaspec.analysis.files import segment_bytes as bytes_of
from kafkaspec.cli.checkpoints import CHECKPOINT, report_carried
from kafkaspec.cli.console import progress_bar, stdout_console
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.options import (
    MISSING_EPILOG,
    LogPath,
    codec_option,
    epilog,
    format_option,
    jobs_option,
    max_output_option,
    no_mmap_option,
    output_option,
    profile_option,
    selection_options,
    wrong_usage,
)
from kafkaspec.cli.report import Output, ReportCommand, Reporter, Tally, line
from kafkaspec.compression import NAMES
from kafkaspec.conversion.losses import Loss
from kafkaspec.conversion.report import PartitionResult
from kafkaspec.conversion.running import convert
from kafkaspec.layout.kinds import MAGICS

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
        **dict.fromkeys(
            (
                "segments",
                "written_segments",
                "size",
                "written_size",
                "batches",
                "records_compared",
                "differences",
                "damaged",
                "lost",
            ),
            int,
        ),
        "losses": _Lost,
    },
)
_EPILOG = epilog(
    """\
Data that old formats cannot hold is counted by kind and shown: headers,
timestamps (magic 0), timestamp types, producers, transactions, leader epochs,
delete horizons, control records, empty batches, and any other field by name.
Records of aborted transactions stay, as in a broker's down-conversion, and
every consumer of magic 0 or 1 sees them; --aborted drop leaves them out.
Records below the log start offset were deleted and are left out; --log-start
ignore keeps them. A range of times applies to data; control records stay, since
transactions would have no end without them. --isolation read_committed implies
--aborted drop.
""",
    """\
Indexes, snapshots and checkpoints of partitions are rebuilt by the rules of
the profile; a topic id is kept. Of a log directory, the checkpoints that hold are
written with the new offsets. Its other files, KRaft snapshots and partitions that
are being deleted or moved are not converted.
An error of one partition of a log directory stays with it: it is named, and the
others are in OUT. With --on-error skip, what can be read of it is in OUT too.
OUT appears as a whole at the end, or not at all.
""",
    MISSING_EPILOG,
    """\
Exit codes: 0 all was converted and verified, 1 something is missing, cannot be
read, was left out as damaged, or the result is not right, 2 wrong usage, or
nothing can be read, or OUT cannot be written: there is no OUT.
""",
)


@click.command("convert", cls=ReportCommand, output=OUTPUT, epilog=_EPILOG)
@click.argument("path", metavar="PATH", type=LogPath())
@output_option("New directory for the partition, or for all partitions.")
@click.option(
    "--magic", type=click.Choice([str(magic) for magic in MAGICS]), help="Format of all entries."
)
@click.option(
    "--compression",
    type=click.Choice(NAMES),
    help="Compression of all batches except control batches.",
)
@click.option("--level", type=int, metavar="N", help="Level of the compression (KIP-390).")
@profile_option("Version of Kafka whose rules apply to the files beside the segments.")
@click.option(
    "--offsets",
    type=click.Choice(["keep", "shift", "renumber"]),
    default="keep",
    show_default=True,
    help="Keep offsets, shift all by the same number, or renumber them without gaps.",
)
@click.option(
    "--base-offset", type=int, default=0, metavar="N", help="First offset after the shift."
)
@click.option(
    "--leader-epoch", type=int, metavar="N", help="Leader epoch of all batches, -1 for none."
)
@click.option("--segment-bytes", type=int, metavar="N", help="Size of a segment, 1 GiB by default.")
@click.option(
    "--batch-bytes", type=int, metavar="N", help="Put records into new batches of about this size."
)
@selection_options(on_error="raise")
@click.option(
    "--aborted",
    type=click.Choice(["keep", "drop"]),
    default="keep",
    show_default=True,
    help="Whether to keep the records of aborted transactions.",
)
@max_output_option
@click.option("--no-check", is_flag=True, help="Do not read the result back.")
@codec_option()
@no_mmap_option
@jobs_option
@format_option
@click.pass_context
def convert_command(
    ctx: click.Context,
    /,
    path: Path,
    output: Path,
    magic: str | None,
    segment_bytes: int | None,
    no_check: bool,
    codec: str,
    jobs: int,
    output_format: str,
    selection: dict[str, Any],
    **choices: Any,
) -> None:
    """Rewrite the logs under PATH into OUT, and check the result against PATH.

    PATH is a segment (.log, .kafka), a partition directory or a whole log directory. Without
    options, records, offsets and batches stay as they are, and segments are merged up to
    --segment-bytes. Segments of Kafka 0.7 need --magic. Nothing under PATH is changed.
    """
    from kafkaspec.cli.commands.convert_text import print_conversion

    if segment_bytes is not None:
        choices["segment_bytes"] = segment_bytes
    size = bytes_of(path) if path.exists() else 0
    bar = progress_bar("convert", size if no_check else 2 * size)
    with bar as advance, wrong_usage(ValueError):
        report = convert(
            path,
            output,
            codec=codec,
            check=not no_check,
            jobs=jobs,
            progress=lambda name, done: advance(done, name),
            magic=None if magic is None else int(magic),
            **selection,
            **choices,
        )
    reporter = Reporter(ctx, output_format)
    if reporter.as_json:
        for result in report.partitions:
            reporter.line("partition", result.as_dict())
        report_carried(report.checkpoints, reporter)
    else:
        print_conversion(report, stdout_console())
    results = report.partitions
    tally = Tally(
        CLEAN if report.clean else FINDINGS,
        logs=len(results),
        unreadable=len(report.failed) + sum(len(result.unread) for result in results),
        undecoded=sum(result.damaged for result in results),
        missing=sum(result.lost for result in results),
    )
    reporter.finish(tally, **report.as_dict())
