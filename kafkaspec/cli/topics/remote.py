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
from kafkaspec.cli.options import epilog, format_option, iso, paths_argument, wrong_usage

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
Exit codes: 0 all was read, 1 something could not be decoded, or an update is
about a segment that nothing announced, 2 wrong usage, or nothing can be read.
""",
)


@click.command("remote", epilog=_EPILOG)
@paths_argument
@at_option
@click.option("--unfinished", is_flag=True, help="Show copies and deletions that did not end.")
@release_option
@skip_option
@format_option
@click.pass_context
def remote_command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    at: int | None,
    unfinished: bool,
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
        from kafkaspec.state.plain import plain
        from kafkaspec.state.remote import FINISHED, read_remote_segments
    logs = Logs(ctx, paths, Topic.REMOTE_LOG_METADATA, on_error)
    rows = []
    for log in logs.of(Topic.REMOTE_LOG_METADATA):
        with logs.reading(log):
            found = read_remote_segments(log, at=at, release=release, on_error=logs.on_error)
            logs.left_out(log, found)
            for segment, count in found.orphans.items():
                text = f"{count_text(count, 'update')} of segment {segment}, left out"
                logs.found(f"{log.path}: {text}")
            rows += plain(found.segments)
    if unfinished:
        rows = [row for row in rows if row["state"] not in FINISHED]
    if output_format == "json":
        for row in rows:
            print_json("remote_segment", row)
    elif rows:
        table = new_table(
            "partition", ">first offset", ">last offset", "state", ">size", "updated", "segment"
        )
        for row in rows:
            table.add_row(
                f"{row['topic']}-{row['partition']}",
                str(row["start_offset"]),
                str(row["end_offset"]),
                row["state"],
                size_text(row["size"]),
                iso(row["updated"]),
                row["segment_id"],
            )
        console = stdout_console()
        console.print(table)
    note(count_text(len(rows), "segment"))
    ctx.exit(logs.code)
