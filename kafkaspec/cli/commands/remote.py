"""``kafkaspec remote``: segments in remote storage and what happened to them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.cli.command import command, option
from kafkaspec.cli.console import TableColumn, count_text
from kafkaspec.cli.internal import (
    LEFT_OUT,
    LEFT_OUT_EPILOG,
    At,
    Logs,
    ReleaseText,
    Skip,
    complete_option,
)
from kafkaspec.cli.options import LogPath, PathsOrUrls, wrong_usage
from kafkaspec.cli.report import Output, Reporter, line
from kafkaspec.provider import require_pyarrow
from kafkaspec.results import Assumption, OffsetRange, Strength

_JOIN: Final = "kafkaspec.forensics.remote_objects"

OUTPUT = Output(
    remote_segment=line(
        f"{_JOIN}:JOINED",
        verdict=f"{_JOIN}:RemoteVerdict",
        strength=Strength,
        offsets=OffsetRange | None,
        optional=("verdict", "strength", "objects", "stored_bytes"),
    ),
    assumption=line(Assumption),
    **LEFT_OUT,
    summary={"segments": int},
)
_EPILOG = f"""
end_offset is the last offset of the segment; started and updated are the times of
the first and the last event.

COPY_SEGMENT_STARTED without an end is a copy that was never finished, and
DELETE_SEGMENT_STARTED a deletion that was not: --unfinished shows these only.

With --objects, each segment has a verdict: left_behind is deleted, and something
is there; gone is copied, and something that is needed is not there; an orphan is
there, and nothing names it.
  kafkaspec remote /var/lib/kafka --objects s3://bucket/prefix

{LEFT_OUT_EPILOG}

Exit codes: 0 all was read, 1 something could not be decoded, or an update is
about a segment that nothing announced, or a verdict is neither stored nor deleted,
2 wrong usage, or nothing can be read.
"""


@command(OUTPUT, _EPILOG)
def remote_command(
    ctx: click.Context,
    report: Reporter,
    *,
    paths: PathsOrUrls,
    at: At,
    unfinished: bool = option("Show copies and deletions that did not end."),
    storage: Path | None = option(
        "--objects",
        "Compare with the objects in this remote storage, a directory or URL.",
        type=LogPath(urls=True),
        metavar="STORE",
    ),
    complete: bool = complete_option(
        "With --objects: PATH has all partitions of __remote_log_metadata of the cluster."
    ),
    release: ReleaseText,
    on_error: Skip,
) -> None:
    """Show the segments in remote storage that __remote_log_metadata names, in any state.

    A PATH is a log directory, the directory of a partition of __remote_log_metadata, or a segment
    of one.
    """
    with wrong_usage(ImportError):
        require_pyarrow()
        from kafkaspec.forensics.remote_objects import SOUND, join_objects
        from kafkaspec.state.remote import FINISHED, read_remote_segments, together
        from kafkaspec.tables.json_values import json_rows
    logs = Logs(ctx, paths, Topic.REMOTE_LOG_METADATA, on_error, report, at=at, release=release)
    read = []
    for log, found in logs.states(Topic.REMOTE_LOG_METADATA, read_remote_segments):
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
    for row in rows:
        offsets = OffsetRange.through(row["start_offset"], row["end_offset"])
        report.line("remote_segment", row, offsets=offsets)
    if rows:
        verdict = {} if storage is None else {"verdict": "verdict", "strength": "strength"}
        report.table(_COLUMNS | verdict, rows, most=len(rows))
    report.assume(assumptions)
    report.finish(logs, count_text(len(rows), "segment"), segments=len(rows))


_COLUMNS: Final[dict[str, TableColumn]] = {
    "partition": lambda row: f"{row['topic']}-{row['partition']}",
    ">first offset": "start_offset",
    ">last offset": "end_offset",
    "state": "state",
    ">size": "size:size",
    "updated": "updated:iso",
    "segment": "segment_id",
}
