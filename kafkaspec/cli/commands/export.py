"""``kafkaspec export``: write records to Parquet, Arrow, JSON or CSV files."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from kafkaspec.cli.command import command, defined, option
from kafkaspec.cli.console import count_text, note, progress_bar, warn
from kafkaspec.cli.exits import USAGE
from kafkaspec.cli.inputs import Inputs, log_bytes
from kafkaspec.cli.internal import ReleaseText
from kafkaspec.cli.options import (
    MISSING_EPILOG,
    Codec,
    ColumnNames,
    Jobs,
    OnePathOrUrl,
    WhereText,
    comma_separated,
    condition_of,
    crc_option,
    selection_options,
    wrong_usage,
)
from kafkaspec.cli.outputs import OUTPUT_EPILOG, Force, content_of, is_file, opened_output
from kafkaspec.cli.typed import TYPED_EPILOG, taken, tell, typed_options
from kafkaspec.log.opening import open_log
from kafkaspec.policy import CrcPolicy, RaiseOrColumn
from kafkaspec.provider import require_pyarrow
from kafkaspec.shown import size_text
from kafkaspec.tables import FORMATS, FolderOptions, TableFormat

_EPILOG = f"""
Columns:
  by default  offset, timestamp, timestamp_type, key, value, headers; for a
              directory also topic, partition
  on request  leader_epoch, magic, compression, producer_id, producer_epoch,
              sequence, transactional, control_type, batch_position,
              batch_base_offset, own_timestamp (as stored, also where
              LogAppendTime replaces it)

Columns with --messages: offset, timestamp, key and value, after partition if
PATH is not a segment; with --on-error skip also error, why one of them is null.
In JSON lines UUIDs are in Kafka's form.

A timestamp is in UTC, null for none. In JSON lines it is milliseconds since
1970, bytes are a string where they are UTF-8 and {{"base64": "..."}} where
they are not, and headers are pairs [key, value].

{TYPED_EPILOG.rstrip()}

{OUTPUT_EPILOG.rstrip()}

{MISSING_EPILOG.rstrip()}

Exit codes: 0 all was written, 1 all but what is missing, cannot be read, or was
skipped with --on-error skip (stderr says what), 2 not done, and there is no
file.
"""


@command(None, _EPILOG)
def export_command(
    ctx: click.Context,
    *,
    path: OnePathOrUrl,
    to: str | None = option(
        "Format: Parquet, Arrow IPC, a JSON object a line, CSV; by default that of the suffix.",
        type=click.Choice(FORMATS),
    ),
    output: Path = option(
        "-o",
        "--output",
        "File to write, or - for standard output; with --split-by a new directory.",
        type=click.Path(path_type=Path, allow_dash=True),
        required=True,
        metavar="OUT",
    ),
    columns: ColumnNames,
    message: str | None = option(
        "--messages",
        "Export the records of one type of one of Kafka's own topics, decoded: OffsetCommit ...",
        metavar="NAME",
    ),
    release: ReleaseText,
    split_by: list[str] | None = defined(
        of=FolderOptions, callback=comma_separated, metavar="A,B,..."
    ),
    flatten: str | None = defined(of=FolderOptions, is_flag=False, flag_value=".", metavar="[SEP]"),
    selection: Annotated[dict[str, Any], selection_options(on_error="raise")],
    where: WhereText,
    include_control: bool = defined(),
    header_keys: str = defined(
        kind=Literal["string", "binary"],
        default="string",
        help="Type of header keys. A key that is not UTF-8 needs binary.",
    ),
    force: Force,
    crc: Annotated[
        CrcPolicy, crc_option("Treat a batch with a wrong checksum as an error, or do not check.")
    ],
    codec: Codec,
    jobs: Jobs,
    **arguments: Annotated[Any, typed_options],
) -> None:
    """Write the records of PATH to a file, or to files in folders.

    Every value is written as it is, or it is an error. Control records are left out without
    --include-control; records of aborted transactions are included without --isolation
    read_committed.

    With --messages, PATH is of the topic, or a log directory that has it. NAME is the name of
    Kafka's schema without Key, Value or Record: OffsetCommit, GroupMetadata, TransactionLog,
    PartitionChange ... Keys and values are nested columns.

    PATH is a segment (.log, .kafka), a KRaft snapshot (.checkpoint), a partition directory, a
    whole log directory, or the URL of a segment (s3://..., with fsspec).
    """
    to = to or ("parquet" if split_by else output.suffix.removeprefix("."))
    if to not in FORMATS:
        suffixes = ", ".join(f".{name}" for name in FORMATS)
        raise click.UsageError(f"{output} ends in none of {suffixes}; name the format: --to")
    typed = taken(arguments, needed=bool(split_by) or flatten is not None or to == "csv")
    if message is None and release is not None:
        raise click.UsageError("--release goes with --messages")
    others = columns or include_control or header_keys != "string" or where or typed
    if message is not None and others:
        raise click.UsageError(
            "--columns, --include-control, --header-keys, --where, --value, --key, --split-by, "
            "--flatten and CSV cannot be combined with --messages"
        )
    if output.is_dir() and not split_by:
        raise click.UsageError(f"{output} is a directory: --split-by writes folders")
    with wrong_usage(ImportError):
        require_pyarrow()
        from kafkaspec.tables.exports import export, export_messages, logs_of, unasked
    condition = condition_of(where, typed=typed is not None)
    inputs = Inputs([], codec, crc, selection, condition)
    chosen: dict[str, Any] = selection | {"on_unreadable": inputs.cannot_read}
    if selection["on_error"] == "skip":
        chosen["on_error"] = inputs.cannot_decode
    if to != "jsonl" and header_keys == "binary":
        chosen["header_keys"] = header_keys
    with (
        open_log(path, codec=codec, crc=crc) as opened,
        nullcontext(output)
        if split_by  # which makes the directory
        else opened_output(output, path, replace=force, content=content_of(to)) as place,
        progress_bar("export", log_bytes(opened)) as bar,
        wrong_usage(ValueError),
    ):
        read = set[str]()

        def advance(name: str, done: int) -> None:
            read.add(name)
            bar(done, name)

        def left_out(topic: str, error: Exception) -> None:
            inputs.broken += 1
            warn(f"topic {topic} left out: {error}")

        form: TableFormat = to
        chosen |= {"progress": advance, "jobs": jobs}
        bad = 0
        if message is None:
            chosen |= {"columns": columns, "include_control": include_control, "where": condition}
        if typed is not None:
            from kafkaspec.tables.typed_exports import export_typed

            made = export_typed(
                opened, place, form, split_by=split_by or (), flatten=flatten, on_topic=left_out,
                **typed, **chosen,
            )  # fmt: skip
            rows = int(made.rows)
        elif message is None:
            rows = export(opened, place, form, **chosen)
        else:
            kept: RaiseOrColumn = "column" if selection["on_error"] == "skip" else "raise"
            rows, bad = export_messages(
                opened, place, form, message, release=release, on_value_error=kept, **chosen
            )
        for each in [opened] if message is None else logs_of(opened, message, release):
            inputs.report_missing(each)
        if inputs.unreadable and not read:
            ctx.exit(USAGE)
    if bad:
        inputs.broken += bad
        warn(f"{count_text(bad, 'record')} not decoded: see the column error")
    if typed is not None:
        inputs.broken += tell(typed["report"])
    if to == "csv" and (columns is None or "headers" in columns):
        note("CSV has no lists: the headers of records are left out")
    if message is None and columns is None and (left := unasked(typed=typed is not None)):
        note(f"left out: {left}")
    size = ""
    if is_file(output):
        size = f" to {output}" + ("" if split_by else f" ({size_text(output.stat().st_size)})")
    note(count_text(rows, "record") + size)
    ctx.exit(inputs.exit_code)
