"""``kafkaspec remote``: segments in remote storage and what happened to them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.arrow import provider
from kafkaspec.cli.console import (
    count_text,
    new_table,
    size_text,
    stdout_console,
)
from kafkaspec.cli.internal import Logs, at_option, release_option, skip_option
from kafkaspec.cli.options import (
    LogPath,
    epilog,
    format_option,
    iso,
    paths_argument,
    reading_options,
    renamed_option,
    wrong_usage,
)
from kafkaspec.cli.report import Output, ReportCommand, Reporter, line, say_assumptions
from kafkaspec.results import Assumption, OffsetRange, Strength

_JOIN: Final = "kafkaspec.forensics.remote_objects"

OUTPUT = Output(
    remote_segment=line(
        f"{_JOIN}:JOINED",
        verdict=f"{_JOIN}:RemoteVerdict",
        strength=Strength,
        offsets=OffsetRange,
        optional=("verdict", "strength", "objects", "stored_bytes"),
    ),
    assumption=line(Assumption),
    summary={"segments": int},
)
_EPILOG = epilog(
    """\
end_offset is the last offset of the segment; started and updated are the times of
the first and the last event.
""",
    """\
COPY_SEGMENT_STARTED without an end is a copy that was never finished, and
DELETE_SEGMENT_STARTED a deletion that was not: --unfinished shows these only.
""",
    """\
With --objects, each segment has a verdict: left_behind is deleted, and something
is there; gone is copied, and something that is needed is not there; an orphan is
there, and nothing names it.
  kafkaspec remote /var/lib/kafka --objects s3://bucket/prefix
""",
    """\
Exit codes: 0 all was read, 1 something could not be decoded, or an update is
about a segment that nothing announced, or a verdict is neither stored nor deleted,
2 wrong usage, or nothing can be read.
""",
)


@click.command("remote", cls=ReportCommand, output=OUTPUT, epilog=_EPILOG)
@paths_argument
@at_option
@click.option("--unfinished", is_flag=True, help="Show copies and deletions that did not end.")
@click.option(
    "--objects",
    "storage",
    type=LogPath(urls=True),
    metavar="STORE",
    help="Compare with the objects in this remote storage, a directory or URL.",
)
@renamed_option(
    "--complete",
    old="--all",
    is_flag=True,
    help="With --objects: PATH has all partitions of __remote_log_metadata of the cluster.",
)
@release_option
@skip_option
@reading_options
@format_option
@click.pass_context
def remote_command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    at: int | None,
    unfinished: bool,
    storage: Path | None,
    complete: bool,
    release: str | None,
    on_error: str,
    output_format: str,
) -> None:
    """Show the segments in remote storage that __remote_log_metadata names, in any state.

    A PATH is a log directory, the directory of a partition of __remote_log_metadata, or a segment
    of one.
    """
    with wrong_usage(ImportError):
        provider()
        from kafkaspec.forensics.remote_objects import SOUND, join_objects
        from kafkaspec.state.remote import FINISHED, read_remote_segments, together
        from kafkaspec.tables.json_values import json_rows
    report = Reporter(ctx, output_format)
    logs = Logs(ctx, paths, Topic.REMOTE_LOG_METADATA, on_error)
    read = []
    for log in logs.of(Topic.REMOTE_LOG_METADATA):
        with logs.reading(log):
            found = read_remote_segments(log, at=at, release=release, on_error=logs.on_error)
            logs.left_out(log, found)
            for segment, count in found.orphans.items():
                text = f"{count_text(count, 'update')} of segment {segment}, left out"
                logs.found(f"{log.path}: {text}")
            read.append(found)
    segments = together(read)
    assumptions = []
    if storage is None:
        rows = json_rows(segments)
    else:
        joined = join_objects(segments, storage, whole=complete, at=at)
        rows, assumptions = json_rows(joined.segments), joined.assumptions
        for error in joined.errors:
            logs.found(str(error))
        for path in joined.others:
            logs.found(f"{path}: not an object of remote storage")
        if any(row["verdict"] not in SOUND for row in rows):
            logs.found()
    if unfinished:
        rows = [row for row in rows if row["state"] not in FINISHED]
    if report.as_json:
        for row in rows:
            offsets = OffsetRange.through(row["start_offset"], row["end_offset"])
            report.line("remote_segment", row, offsets=offsets)
        for item in assumptions:
            report.line("assumption", item)
    elif rows:
        verdict = () if storage is None else ("verdict", "strength")
        table = new_table(
            "partition", ">first offset", ">last offset", "state", ">size", "updated", "segment",
            *verdict,
        )  # fmt: skip
        for row in rows:
            table.add_row(
                f"{row['topic']}-{row['partition']}",
                str(row["start_offset"]),
                _shown(row["end_offset"]),
                _shown(row["state"]),
                "-" if row["size"] is None else size_text(row["size"]),
                iso(row["updated"]),
                row["segment_id"],
                *(row[name] for name in verdict),
            )
        console = stdout_console()
        console.print(table)
    if not report.as_json:
        say_assumptions(assumptions)
    report.finish(logs, count_text(len(rows), "segment"), segments=len(rows))


def _shown(value: object) -> str:
    return "-" if value is None else str(value)
