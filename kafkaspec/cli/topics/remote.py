"""``kafkaspec remote``: segments in remote storage and what became of them."""

from __future__ import annotations

from pathlib import Path

import click

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.arrow import provider
from kafkaspec.cli.console import (
    count_text,
    new_table,
    note,
    print_json,
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
    wrong_usage,
)
from kafkaspec.results import as_json

_EPILOG = epilog(
    """\
Output of --format json, one object for each segment: topic, topic_id, partition,
segment_id, start_offset, end_offset (of the last record), state, size (bytes),
max_timestamp, leader_epochs, broker_id, started and updated (times of the first
and the last event).
""",
    """\
COPY_SEGMENT_STARTED without an end is a copy that was never finished, and
DELETE_SEGMENT_STARTED a deletion that was not: --unfinished shows these only.
""",
    """\
With --objects, each segment has a verdict too: stored, deleted, copy_unfinished,
delete_unfinished, left_behind (deleted, and something is there), gone (copied, and
something that is needed is not there), other_size, orphan (there, and nothing
names it); strength (proof, strong, likely, consistent, unknown), objects (paths)
and stored_bytes. "assumption" objects follow: name, value, why.
  kafkaspec remote /var/lib/kafka --objects s3://bucket/prefix
""",
    """\
Exit codes: 0 all was read, 1 something could not be decoded, or an update is
about a segment that nothing announced, or a verdict is neither stored nor deleted,
2 wrong usage, or nothing can be read.
""",
)


@click.command("remote", epilog=_EPILOG)
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
@click.option(
    "--all",
    "whole",
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
    whole: bool,
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
        joined = join_objects(segments, storage, whole=whole, at=at)
        rows, assumptions = json_rows(joined.segments), joined.assumptions
        for error in joined.errors:
            logs.found(str(error))
        for path in joined.others:
            logs.found(f"{path}: not an object of remote storage")
        if any(row["verdict"] not in SOUND for row in rows):
            logs.found()
    if unfinished:
        rows = [row for row in rows if row["state"] not in FINISHED]
    if output_format == "json":
        for row in rows:
            print_json("remote_segment", row)
        for item in assumptions:
            print_json("assumption", as_json(item))
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
    note(count_text(len(rows), "segment"))
    if output_format != "json":
        for item in assumptions:
            note(str(item))
    ctx.exit(logs.code)


def _shown(value: object) -> str:
    return "-" if value is None else str(value)
