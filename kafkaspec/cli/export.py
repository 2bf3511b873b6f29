"""``kafkaspec export``: write records to a Parquet, Arrow or JSON file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from kafkaspec.arrow import provider
from kafkaspec.cli.console import count_text, note, progress_bar, size_text, warn
from kafkaspec.cli.exits import FINDINGS, USAGE
from kafkaspec.cli.inputs import Inputs, log_bytes
from kafkaspec.cli.options import (
    MISSING_EPILOG,
    codec_option,
    crc_option,
    no_mmap_option,
    selection_options,
    wrong_usage,
)
from kafkaspec.log.batch import CrcPolicy
from kafkaspec.log.opening import open_log

_EPILOG = (
    """\b
Columns:
  by default  offset, timestamp, timestamp_type, key, value, headers; for a
              directory also topic, partition
  on request  leader_epoch, magic, compression, producer_id, producer_epoch,
              sequence, transactional, control_type, batch_position,
              batch_base_offset

\b
A timestamp is in UTC, null for none. In JSON lines it is milliseconds since
1970, bytes are a string where they are UTF-8 and {"base64": "..."} where
they are not, and headers are pairs [key, value].

\b
The file is written under another name and renamed when it is complete. It must
not be, or lie in, PATH.

"""
    + MISSING_EPILOG
    + """
\b
Exit codes: 0 all was written, 1 all but what is missing, or was skipped with
--on-error skip (stderr says what), 2 something cannot be read or written, and
there is no file.
"""
)


def _columns(_: click.Context, __: click.Parameter, value: str | None) -> list[str] | None:
    return None if value is None else [name.strip() for name in value.split(",")]


@click.command("export", epilog=_EPILOG)
@click.argument("path", metavar="PATH")
@click.option(
    "--to",
    "to",
    type=click.Choice(["parquet", "arrow", "jsonl"]),
    required=True,
    help="Format: Parquet, Arrow IPC, or one JSON object a line.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    required=True,
    metavar="OUT",
    help="File to write, or - for standard output.",
)
@click.option("--columns", callback=_columns, metavar="A,B,...", help="Columns, in this order.")
@selection_options(on_error="fail")
@click.option("--include-control", is_flag=True, help="Export control records too.")
@click.option(
    "--header-keys",
    type=click.Choice(["string", "binary"]),
    default="string",
    show_default=True,
    help="Type of header keys. A key that is not UTF-8 needs binary.",
)
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
@crc_option("Treat a batch with a wrong checksum as an error, or do not check.")
@codec_option()
@no_mmap_option
@click.pass_context
def export_command(
    ctx: click.Context,
    path: str,
    to: str,
    output: Path,
    columns: list[str] | None,
    include_control: bool,
    header_keys: str,
    force: bool,
    crc: CrcPolicy,
    codec: str,
    selection: dict[str, Any],
) -> None:
    """Write the records of PATH to a file.

    Every value is written as it is, or it is an error. Control records are left out without
    --include-control; records of aborted transactions are included without --isolation
    read_committed.

    PATH is a segment (.log, .kafka), a KRaft snapshot (.checkpoint), a partition directory, a
    whole log directory, or the URL of a segment (s3://..., with fsspec).
    """
    with wrong_usage(ImportError):
        provider()
        from kafkaspec.arrow.export import export
    to_stdout = str(output) == "-"
    inputs = Inputs([], codec, crc, selection)
    chosen = selection
    if selection["on_error"] == "skip":
        chosen = selection | {"on_error": inputs.cannot_decode}
    exact = {} if to == "jsonl" or header_keys == "string" else {"header_keys": "binary"}
    with (
        open_log(path, codec=codec, crc=crc) as opened,
        progress_bar("export", log_bytes(opened)) as bar,
        wrong_usage(ValueError),
    ):
        try:
            rows = export(
                opened,
                sys.stdout.buffer if to_stdout else output,
                to,  # type: ignore[arg-type]  # one of the choices
                columns=columns,
                replace_existing=force,
                progress=lambda name, done: bar(done, name),
                include_control=include_control,
                **exact,
                **chosen,
            )
            inputs.report_missing(opened)
        except FileExistsError:
            raise click.UsageError(f"{output} exists already; --force replaces it") from None
        except OSError as error:
            warn(f"{output}: {error.strerror or error}")
            ctx.exit(USAGE)
    size = "" if to_stdout else f" to {output} ({size_text(output.stat().st_size)})"
    note(count_text(rows, "record") + size)
    if inputs.unreadable:
        ctx.exit(USAGE)
    if inputs.broken or inputs.lost:
        ctx.exit(FINDINGS)
