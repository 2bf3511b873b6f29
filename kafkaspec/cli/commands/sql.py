"""``kafkaspec sql``: query topics with DuckDB."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Final

import click

from kafkaspec.cli.command import command, defined, option
from kafkaspec.cli.console import (
    MAX_ROWS,
    count_text,
    iso,
    new_table,
    note,
    say,
    stdout_console,
    warn,
)
from kafkaspec.cli.inputs import Inputs
from kafkaspec.cli.options import (
    MISSING_EPILOG,
    Codec,
    ColumnNames,
    OnePathOrUrl,
    crc_option,
    selection_options,
    wrong_usage,
)
from kafkaspec.cli.outputs import (
    OUTPUT_EPILOG,
    Force,
    content_of,
    file_option,
    is_file,
    opened_output,
    require_all,
)
from kafkaspec.cli.typed import TYPED_EPILOG, beside, taken, tell, typed_options
from kafkaspec.columns.value_text import bytes_text
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.policy import CrcPolicy
from kafkaspec.shown import size_text
from kafkaspec.tables import SessionOptions, TableFormat

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkaspec.arrow.record_batches import AnyLog
    from kafkaspec.arrow.schema import Request
    from kafkaspec.tables.sql.topics import Scans

_EPILOG = f"""
There is a view for each topic, with its name; one that is not a word stands in
double quotes: "my-topic". SQL ignores the case of names: topics that differ
only in case get a number each, which stderr says. SHOW TABLES lists them, DESCRIBE "my-topic"
its columns: partition, offset, timestamp, timestamp_type, key, value, headers,
or those of --columns. offset is a word of SQL, and stands in quotes as well.

The view batches has a row for each batch of all topics, by headers alone:
SELECT topic, sum(records) FROM batches GROUP BY ALL counts records, those of
control batches (where control) and of aborted transactions too.

text(value) are bytes as text, null where they are not UTF-8; header(headers,
'name') is the value of the last header of a name. Keys and values are BLOB:
key = 'a'::BLOB.

Conditions on partition, offset and timestamp decide what is read at all.
Queries touch no files and no network, without --files; what they create is in
memory, and gone afterwards.

{TYPED_EPILOG.rstrip()}

{OUTPUT_EPILOG.rstrip()}

{MISSING_EPILOG.rstrip()}

Exit codes: 0 done, 1 done, but something of what was read is missing or cannot
be read (stderr says what), 2 not done.
"""

_FORMATS: Final[dict[str, TableFormat]] = {
    "json": "jsonl", "csv": "csv", "parquet": "parquet", "arrow": "arrow"
}  # fmt: skip
_SUFFIXES: Final = {suffix: name for name, suffix in _FORMATS.items()}


@command(None, _EPILOG)
def sql_command(
    ctx: click.Context,
    *,
    path: OnePathOrUrl,
    query: Annotated[str, click.argument("query", metavar="QUERY")],
    output_format: str | None = option(
        "--format",
        "Text for people, or a format for programs; by default that of the suffix of OUT.",
        type=click.Choice(["text", *_FORMATS]),
    ),
    output: Annotated[Path | None, file_option(required=False)],
    force: Force,
    columns: ColumnNames,
    selection: Annotated[dict[str, Any], selection_options(on_error="skip")],
    files: bool = defined(of=SessionOptions),
    threads: int | None = defined(of=SessionOptions, type=click.IntRange(min=1)),
    memory: str | None = defined(of=SessionOptions, metavar="SIZE"),
    crc: Annotated[
        CrcPolicy, crc_option("Report and skip batches with a wrong checksum, or do not check.")
    ],
    codec: Codec,
    **arguments: Annotated[Any, typed_options],
) -> None:
    """Query topics with SQL: DuckDB, with a view for each topic of PATH.

    PATH is a log directory, a partition directory or a segment, or the URL of one. With --value
    or --key, the topics that a query names have typed keys and values; without, if there are
    schemas in the topic _schemas beside them.

    Control records are in no view; records of aborted transactions are, without --isolation
    read_committed.
    """
    suffix: Any = output.suffix[1:] if output else ""
    form = output_format or _SUFFIXES.get(suffix, "text")
    if form in ("parquet", "arrow") and output is None:
        raise click.UsageError(f"--format {form} needs -o OUT")
    if form == "text" and output is not None:
        raise click.UsageError(f"name the format of {output}: --format")
    typed = taken(arguments)
    if typed is not None and (typed["topic"] is not None or typed["evolve"] == "each"):
        raise click.UsageError("a view has one schema, and a query names its topics: no --topic")
    with wrong_usage(ImportError):
        require_all("duckdb", "pyarrow", what="queries need", extra="sql")
    from kafkaspec.tables.sql.session import Session, SqlError

    inputs = Inputs([], codec, crc, selection)
    told = _Once(inputs.cannot_decode)
    chosen = selection | {"on_unreadable": _Once(inputs.cannot_read)}
    if selection["on_error"] == "skip":
        chosen["on_error"] = told
    with (
        wrong_usage(SqlError, ValueError),
        open_log(path, codec=codec, crc=crc) as opened,
        Session(
            opened,
            columns=columns,
            threads=threads,
            memory=memory,
            files=files,
            decoding=beside(opened) if typed is None else typed,
            **chosen,
        ) as session,
    ):
        for topic, name in session.renamed.items():
            note(f'topic {topic} is the view "{name}": SQL ignores the case of names')
        if session.batches != "batches":
            note(f'headers of batches are the view "{session.batches}": a topic has that name')
        with session.query(query) as result:
            if form == "text":
                rows = _show(result)
            else:
                with opened_output(output, path, replace=force, content=content_of(form)) as file:
                    rows = _write(result, file, _FORMATS[form])
        _report(opened, session.scans, inputs)
    if is_file(output):
        assert output is not None
        note(f"{count_text(rows, 'row')} to {output} ({size_text(output.stat().st_size)})")
    ctx.exit(inputs.exit_code)


class _Once:
    """Reports each error once, however often a query reads its place."""

    def __init__(self, tell: Callable[[KafkaSpecError], None]) -> None:
        self._tell = tell
        self._known = set[str]()

    def __call__(self, error: KafkaSpecError) -> None:
        if str(error) not in self._known:
            self._known.add(str(error))
            self._tell(error)


def _report(log: AnyLog, scans: Scans, inputs: Inputs) -> None:
    """Report what was missing in the partitions that a query read."""
    if scans.untimed:
        warn(f"{count_text(scans.untimed, 'timestamp')} are none that DuckDB has, and null here")
        inputs.broken += 1
    for report in scans.reports.values():
        inputs.broken += tell(report)
    read: dict[str | None, list[Request]] = {}
    for topic, request in scans.requests:
        read.setdefault(topic, []).append(request)
    for topic, requests in read.items():
        first = _bound(min, [request.start_offset for request in requests])
        end = _bound(max, [request.end_offset for request in requests])
        for part in log.current if isinstance(log, LogDirectory) else [log]:
            if topic is None or isinstance(part, Segment) or _reads(requests, topic, part):
                inputs.report_missing(part, end, start_offset=first)


def _reads(requests: Iterable[Request], topic: str | None, part: Partition) -> bool:
    """Return whether one of the requests for a topic reads a partition."""
    return (part.topic or "log") == topic and any(
        request.where is None or request.where.may_be_in(part.topic, part.partition)
        for request in requests
    )


def _bound(choose: Callable[[list[int]], int], bounds: list[int | None]) -> int | None:
    """Return the widest of some bounds."""
    known = [bound for bound in bounds if bound is not None]
    return choose(known) if len(known) == len(bounds) else None


def _show(result: pa.RecordBatchReader) -> int:
    """Print a table of the first rows, and how many there are more; return their number."""
    table = new_table(*(f">{field.name}" if _is_number(field.type) else field.name
                        for field in result.schema))  # fmt: skip
    rows = 0
    for batch in result:
        shown = batch.slice(0, max(0, MAX_ROWS - rows))
        for row in zip(*map(_cells, shown.columns), strict=True):
            table.add_row(*row)
        rows += batch.num_rows
    if result.schema.names:
        console = stdout_console()
        console.print(table)
    if rows > MAX_ROWS:
        say(f"and {count_text(rows - MAX_ROWS, 'row')} more; --format json has all of them")
    return rows


def _is_number(kind: pa.DataType) -> bool:
    return str(kind).startswith(("int", "uint", "float", "double", "decimal"))


def _cells(array: pa.Array) -> Iterable[str]:
    if str(array.type).startswith("timestamp[us"):
        counts = array.cast("int64").to_pylist()
        return (iso(None if each is None else each // 1000) for each in counts)
    if array.type.num_fields:
        from kafkaspec.tables.json_values import json_values

        return (json.dumps(each, ensure_ascii=False) for each in json_values(array))
    return map(_cell, array.to_pylist())


def _cell(value: Any) -> str:
    if value is None or isinstance(value, bytes):
        return bytes_text(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _write(result: pa.RecordBatchReader, file: IO[bytes], to: TableFormat) -> int:
    """Write all rows to a file, and return their number."""
    from kafkaspec.tables.writers import write_all, writer_of

    lists = [each.name for each in result.schema if str(each.type).startswith("list")]
    if to == "csv" and "headers" in lists:
        note("CSV has no lists: the headers of records are left out")
    with wrong_usage(ImportError):  # of the extra for values
        return write_all(writer_of(to, file, result.schema, fitted=True), result, file)
